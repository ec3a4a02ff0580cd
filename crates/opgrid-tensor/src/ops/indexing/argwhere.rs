//! `aten::argwhere`: the indices of elements that are not zero.
//!
//! - Shapes: a row for each such element, with its index in each dimension; the columns lie one after the other.
//! - Dtypes: int64.
//! - Dispatch: how many there are is known from data only, so that there is no kernel for meta tensors.
//! - Source: torch.argwhere, PyTorch 2.15; there made of `nonzero`.

use crate::kernels::indexing;
use crate::ops::prelude::*;
use crate::tensor::Array;

operator! {
    home = crate::home;
    /// The indices of elements that are not zero.
    pub Argwhere = "aten::argwhere(Tensor self) -> Tensor", method;
}

pub(super) fn register(library: &mut Library) {
    library.define(Argwhere).kind(&kind::INDEXING).kernel(DispatchKey::Cpu, argwhere);
}

pub(super) fn samples(samples: &mut Samples) {
    let inputs = |dtype| {
        let of = |sizes: &[i64]| given(Plain::of(dtype, sizes, &[1, 0, 3, 0, 0, 2]));
        vec![of(&[2, 3]), of(&[4]), of(&[]), of(&[2, 0]), of(&[3, 2, 2]), given(Plain::number(dtype, 0))]
    };
    samples
        .of(Argwhere, ANY, inputs, |it| {
            let x = it.tensor("self")?;
            let found: Vec<Vec<i64>> =
                naive::positions(x.sizes()).filter(|position| x.at(position).to_bool()).collect();
            let sizes = [found.len() as i64, x.sizes().len() as i64];
            Ok(Plain::of(DType::I64, &sizes, &found.concat()).into())
        })
        .not_on_meta();
}

fn argwhere(input: &Tensor) -> Result<Tensor> {
    let found = || {
        let spec = input.spec()?;
        let mask = Array::empty(TensorSpec::contiguous(spec.sizes(), DType::Bool, spec.device())?)?;
        with_dtype!(spec.dtype(), T => elementwise::unary::<Bool, T>(&mask, input, |x| (x != Math::<T>::default()).into()))?;
        if spec.sizes().is_empty() {
            let count = i64::from(mask.to_vec::<Bool>()? == [Bool::TRUE]);
            return Tensor::from_slice::<i64>(&[], &[count, 0]);
        }
        let columns = indexing::columns(&mask)?;
        Tensor::from_array(columns.view(columns.geometry().transpose(0, 1)?)?)
    };
    found().map_err(|error| error.within("aten::argwhere"))
}
