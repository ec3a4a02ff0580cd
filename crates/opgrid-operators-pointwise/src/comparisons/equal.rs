//! `aten::equal`: whether two tensors have the same shape and elements.
//!
//! - Shapes: any; those that differ are not equal.
//! - Dtypes: promoted. NaN equals nothing.
//! - Dispatch: the answer depends on data, so there is no kernel for meta tensors.
//! - Errors: two devices.
//! - Source: torch.equal, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::choice;
use opgrid_tensor::tensor::Array;

pub use opgrid_tensor::ops::comparisons::equal::*;

pub(super) fn register(library: &mut Library) {
    library.define(Equal).kind(&kind::QUESTION).kernel(DispatchKey::Cpu, equal);
}

fn equal(input: &Tensor, other: &Tensor) -> Result<bool> {
    pointwise::check_one_device(("self", input), ("other", other))
        .map_err(|error| error.within("aten::equal"))?;
    let (a, b) = (input.spec()?, other.spec()?);
    if a.sizes() != b.sizes() {
        return Ok(false);
    }
    let bools = |sizes: &[i64]| Array::empty(TensorSpec::contiguous(sizes, DType::Bool, a.device())?);
    let (same, all) = (bools(a.sizes())?, bools(&[])?);
    with_dtype!(result_type(&[input, other])?, T: Stored => elementwise::binary::<Bool, T, T>(&same, input, other, |a, b| (a == b).into()))?;
    choice::all(&all, &same, &[])?;
    Ok(all.to_vec::<Bool>()? == [Bool::TRUE])
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples
            .operator(Equal, STORED, generate::nearby_pairs, |it| {
                let (a, b) = (it.tensor("self")?, it.tensor("other")?);
                let mut pairs = a.elements().iter().zip(b.elements());
                Ok(Expected::Value(
                    (a.sizes() == b.sizes() && pairs.all(|(a, b)| number::same(*a, *b))).into(),
                ))
            })
            .not_on_meta();
    }
}
