//! `aten::conj_physical`: complex numbers with the other sign of the imaginary part, in memory of their own.
//!
//! `out[i]` is the conjugate of `self[i]`
//!
//! - Shapes: that of `self`.
//! - Dtypes: that of `self`; real numbers are their own conjugates.
//! - Aliasing: real numbers give `self` itself, complex ones a new tensor. `conj_physical_` writes `self`, the `out` overloads
//!   write `out`, which has the dtype of `self`.
//! - Dispatch: a composite of `_conj_physical`.
//! - Source: torch.conj_physical, PyTorch 2.15.

use crate::kernels::access::check_written;
use crate::kernels::math::Conjugate;
use crate::ops::prelude::*;

operator! {
    home = crate::home_of(register);
    /// Complex numbers with the other sign of the imaginary part, in memory of their own.
    pub ConjPhysical = "aten::conj_physical(Tensor self) -> Tensor", in_place, out, method;
    pub ConjPhysicalKernel = "aten::_conj_physical(Tensor self) -> Tensor";
    pub ConjPhysicalKernelOut = "aten::_conj_physical.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)";
}

/// Kind, shape rule and `out` rule, for everybody.
pub const CONJ_PHYSICAL_KERNEL: Family<ConjPhysicalKernel> =
    Family::new(ConjPhysicalKernel, &kind::POINTWISE_UNARY, pointwise::unary);

pub(super) fn register(library: &mut Library) {
    library
        .family(&CONJ_PHYSICAL_KERNEL)
        .cpu(cpu)
        .derivative(|d, (input,)| d.by(input, [], |grad, []| derivatives::conjugate(grad)));
    library.define(ConjPhysicalKernelOut).kind(&kind::POINTWISE_UNARY).on_cpu_and_meta(into);
    library.define_with_forms(ConjPhysical, &kind::POINTWISE_UNARY).implicit(complex::conjugate);
    library.implement(ConjPhysicalOut).on_cpu_and_meta(into);
    library
        .implement(ConjPhysicalInplace)
        .on_cpu_and_meta(|input| match input.dtype().is_complex() {
            true => into(input, input),
            false => check_written(input.geometry()),
        })
        .derivative(|d, (input,)| d.by(input, [], |grad, []| derivatives::conjugate(grad)));
}

pub(super) fn samples(samples: &mut Samples) {
    samples.unary(ConjPhysical, ANY, DTypeRule::Promoted, number::conjugate);
    samples.unary(ConjPhysicalKernel, ANY, DTypeRule::Promoted, number::conjugate);
    let with_output = |dtype| -> Vec<Sample> {
        let shapes: [&[i64]; 3] = [&[2, 3], &[], &[0]];
        shapes
            .map(|sizes| given(make::numbers(dtype, sizes, 1)).named("out", make::numbers(dtype, sizes, 2)))
            .to_vec()
    };
    samples.of_function(ConjPhysicalKernelOut, ANY, with_output, |it| {
        it.unary(DTypeRule::Promoted, number::conjugate)
    });
}

fn into(input: &Tensor, out: &Tensor) -> Result<()> {
    let spec = pointwise::unary(input)?;
    result::same_dtype(out, &spec)?;
    result::written(out, &spec, |out| cpu(input, out))
}

fn cpu(input: &Tensor, out: &Tensor) -> Result<()> {
    match input.dtype() {
        dtype if dtype.is_complex() => with_dtype!(dtype, T: Complex => {
            elementwise::unary::<T, T>(out, input, Conjugate::conjugate)
        }),
        _ => elementwise::copy(out, input),
    }
}
