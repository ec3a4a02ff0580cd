//! `aten::reshape`, `aten::reshape_as`, `aten::_reshape_copy`: the same elements in the same order under other sizes, copied where
//! no view has them.
//!
//! - Shapes: `shape`, of which one may be -1; as many elements as `self`.
//! - Aliasing: a view of `self` where strides can express it, otherwise a copy; `_reshape_copy` always copies.
//! - Dispatch: a composite of `view` and, where needed, `clone`.
//! - Errors: sizes that do not fit.
//! - Source: torch.reshape, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::View;
use opgrid_tensor::tensor::views::infer_sizes;

pub use opgrid_tensor::ops::views::reshape::*;

pub(super) fn register(library: &mut Library) {
    library.define(Reshape).kind(&kind::VIEW).implicit(reshape);
    library
        .define(ReshapeAs)
        .kind(&kind::VIEW)
        .implicit(|input, other| reshape(input, other.spec()?.sizes()));
    library.copy_of_view(ReshapeCopy, Reshape);
}

fn reshape(input: &Tensor, shape: &[i64]) -> Result<Tensor> {
    let geometry = input.spec()?.geometry();
    let sizes = infer_sizes(shape, geometry.numel())?;
    if geometry.view(&sizes).is_ok() {
        return View.call(input, &sizes);
    }
    View.call(&opgrid_tensor::ops::CloneTensor.call(input, Some(MemoryFormat::Contiguous))?, &sizes)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples
            .operator(Reshape, STORED, generate::other_sizes, |it| generate::same_elements(it, "shape"))
            .refuses("", given(generate::numbers(DType::F32, &[2, 3], 0)).and([4].to_vec()))
            .refuses("", given(generate::numbers(DType::F32, &[2, 3], 0)).and([-1, -1].to_vec()));
        samples
            .operator(ReshapeCopy, STORED, generate::other_sizes, |it| generate::same_elements(it, "size"))
            .refuses("", given(generate::numbers(DType::F32, &[2, 3], 0)).and([4].to_vec()));
        samples.operator(ReshapeAs, STORED, generate::beside_as_many, generate::as_the_other);
    }
}
