//! `aten::alias`, `aten::detach`, `aten::lift`: the same elements through another handle.
//!
//! - Shapes: that of `self`.
//! - Aliasing: `alias` and `detach` give views of `self`; `detach_`, `lift` and `lift_fresh` give `self` itself;
//!   `alias_copy` and `detach_copy` give new tensors.
//! - Derivative: `detach` is where derivatives end.
//! - Source: torch.Tensor.detach, torch.ops.aten.alias, PyTorch 2.15.

use crate::prelude::*;

pub use opgrid_tensor::ops::views::alias::*;

/// The view family of `aten::alias`: its place in the base.
pub const ALIAS: ViewFamily<Alias> = ViewFamily::new(Alias, |input| Ok(input.spec()?.geometry().clone()));

/// The view family of `aten::detach`: its place in the base.
pub const DETACH: ViewFamily<Detach> =
    ViewFamily::new(Detach, |input| Ok(input.spec()?.geometry().clone())).without_history();

pub(super) fn register(library: &mut Library) {
    library.view(Alias, &ALIAS).derivative(|d, (input,)| d.by(input, [], |grad, []| Ok(grad.clone())));
    library.view(Detach, &DETACH).non_differentiable();
    library
        .define(DetachInplace)
        .kind(&kind::VIEW)
        .on_every_backend(|input| input.spec().map(drop))
        .non_differentiable();
    library
        .define_with_forms(Lift, &kind::COPY)
        .on_every_backend(|input| input.spec().map(|_| input.clone()))
        .derivative(|d, (input,)| d.by(input, [], |grad, []| Ok(grad.clone())));
    library.implement(LiftOut).on_every_backend(|input, out| {
        if out.sizes() == input.sizes() {
            return result::copied(out, input);
        }
        // In rows, as in torch, and whole where the output is a part of the input.
        result::copied(out, &opgrid_tensor::ops::CloneTensor.call(input, Some(MemoryFormat::Contiguous))?)
    });
    library
        .define(LiftFresh)
        .kind(&kind::VIEW)
        .on_every_backend(|input| input.spec().map(|_| input.clone()))
        .derivative(|d, (input,)| d.by(input, [], |grad, []| Ok(grad.clone())));
    library.copy_of_view(AliasCopy, Alias);
    library.copy_of_view(DetachCopy, Detach);
    library.implement(DetachCopy).non_differentiable();
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::kinds::views;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.operator(Alias, STORED, generate::unary, views::samples::same).view();
        samples.operator(Detach, STORED, generate::unary, views::samples::same).view();
        samples.operator(DetachInplace, STORED, generate::unary, views::samples::same);
        samples.operator(Lift, STORED, generate::unary, views::samples::same);
        samples.operator(LiftFresh, STORED, generate::unary, views::samples::same).view();
        samples.copy_of_view(AliasCopy, Alias);
        samples.copy_of_view(DetachCopy, Detach);
    }
}
