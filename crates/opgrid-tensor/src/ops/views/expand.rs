//! `aten::expand`: stretched to other sizes by repeating elements.
//!
//! `out[…, i, …] = self[…, 0, …]` where `self` has size 1
//!
//! - Shapes: `size`, in which -1 keeps a size; new dimensions come first.
//! - Aliasing: a view of `self`; repeated elements have stride 0 and must not be written.
//! - Errors: fewer dimensions than there are, a size that does not fit.
//! - Source: torch.Tensor.expand, PyTorch 2.15. `implicit` is for tracers and makes no difference.

use crate::layers::gradient::{DefineDerivative, pullback, sum_to};
use crate::layers::vmap::DefineBatching;
use crate::ops::prelude::*;

operator! {
    home = crate::home;
    pub Expand = "aten::expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)";
}

/// Where the view lies, for everybody.
pub const EXPAND: ViewFamily<Expand> =
    ViewFamily::new(Expand, |input, size, _| input.spec()?.geometry().expand(size));

pub(super) fn register(library: &mut Library) {
    library
        .view(Expand, &EXPAND)
        .derivative(|_, (input, _, _), _| {
            let sizes = input.sizes().to_vec();
            pullback(move |grad| Ok(vec![Some(sum_to(grad, &sizes)?)]))
        })
        .batching(|call| {
            let sizes: Vec<i64> = Vec::from_value(call.args()[1])?;
            let Some(aligned) = call.aligned(0, sizes.len())? else { return call.one_by_one() };
            let sizes = [&[call.size()], sizes.as_slice()].concat();
            call.push(Expand.call(&aligned, &sizes, false)?.into())
        });
}

pub(super) fn samples(samples: &mut Samples) {
    let inputs = |dtype| {
        let cases: [(&[i64], &[i64]); 6] = [
            (&[3], &[2, 3]),
            (&[2, 1], &[-1, 4]),
            (&[], &[2]),
            (&[1], &[0]),
            (&[2, 3], &[2, 3]),
            (&[0, 1], &[0, 2]),
        ];
        cases.map(|(sizes, size)| given(make::numbers(dtype, sizes, 0)).and(size.to_vec())).to_vec()
    };
    samples
        .of(Expand, STORED, inputs, |it| {
            let (x, mut size) = (it.tensor("self")?, it.value::<Vec<i64>>("size")?);
            let behind = size.len() - x.sizes().len();
            size[behind..]
                .iter_mut()
                .zip(x.sizes())
                .filter(|(size, _)| **size < 0)
                .for_each(|(size, own)| *size = *own);
            Ok(Plain::from_fn(x.dtype(), &size, |position| x.at(position)).into())
        })
        .view()
        .refuses("", given(make::numbers(DType::F32, &[2], 0)).and([3].to_vec()))
        .refuses("", given(make::numbers(DType::F32, &[1, 1], 0)).and([3].to_vec()));
}

impl Tensor {
    /// Stretched to other sizes by repeating elements; -1 keeps a size.
    ///
    /// # Errors
    ///
    /// Those of [`Expand`].
    pub fn expand(&self, size: &[i64]) -> Result<Self> {
        Expand.call(self, size, false)
    }
}
