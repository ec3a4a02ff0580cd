//! `aten::lift_fresh_copy`: a new tensor with the elements of one that a program holds as a constant.
//!
//! - Shapes: that of `self`; row-major.
//! - Aliasing: a new tensor, which the program may write; `lift_fresh_copy.out` writes `out`.
//! - Dispatch: a composite of `clone`.
//! - Source: torch.ops.aten.lift_fresh_copy, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::{CloneTensor, CopyInplace};

pub use opgrid_tensor::ops::copies::lift_fresh_copy::*;

pub(super) fn register(library: &mut Library) {
    library
        .define_with_forms(LiftFreshCopy, &kind::COPY)
        .on_every_backend(|input| CloneTensor.call(input, Some(MemoryFormat::Contiguous)))
        .derivative(|d, (input,)| d.by(input, [], |grad, []| Ok(grad.clone())));
    library.implement(LiftFreshCopyOut).on_every_backend(|input, out| {
        opgrid_kinds::factory::fill_like(out, input, None, |out| CopyInplace.call(out, input, false))
    });
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.operator(LiftFreshCopy, STORED, generate::unary, |it| Ok(it.tensor("self")?.clone().into()));
    }
}
