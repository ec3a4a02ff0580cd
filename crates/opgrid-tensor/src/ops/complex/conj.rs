//! `aten::conj`: complex numbers with the other sign of the imaginary part.
//!
//! `out[i]` is the conjugate of `self[i]`
//!
//! - Shapes: that of `self`.
//! - Dtypes: that of `self`; real numbers are their own conjugates.
//! - Aliasing: real numbers give `self` itself, complex ones a new tensor. `conj_physical_` writes `self`, the `out` overloads
//!   write `out`, which has the dtype of `self`.
//! - Dispatch: `conj` and `conj_physical` are composites of `_conj_physical`.
//! - Source: torch.conj, PyTorch 2.15.
//!
//! Conjugates are computed when they are asked for. torch marks a view with a bit instead, and a layer of its dispatcher
//! computes the conjugate before any operator that does not know the bit. The bit saves a pass over memory in front of
//! products of matrices, which can conjugate while they read; nothing here does so, and every other operator would have to
//! ask for the bit or be kept from it. So `is_conj` and `is_neg` are false for every tensor, `resolve_conj` and
//! `resolve_neg` give the tensor itself, and programs that are written for the bit get the same numbers. What differs is
//! memory: writing to a conjugate does not write to what it is a conjugate of.

use crate::kernels::access::check_written;
use crate::kernels::math::Conjugate;
use crate::ops::prelude::*;

operator! {
    home = crate::home_of(register);
    /// Complex numbers with the other sign of the imaginary part.
    pub Conj = "aten::conj(Tensor(a) self) -> Tensor(a)", method;
    pub ConjKernel = "aten::_conj(Tensor(a) self) -> Tensor(a)";
    /// The same, in memory of its own for complex numbers.
    pub ConjPhysical = "aten::conj_physical(Tensor self) -> Tensor", in_place, out, method;
    pub ConjPhysicalKernel = "aten::_conj_physical(Tensor self) -> Tensor";
    pub ConjPhysicalKernelOut = "aten::_conj_physical.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)";
    /// The tensor itself: conjugates are computed when they are asked for.
    pub ResolveConj = "aten::resolve_conj(Tensor(a) self) -> Tensor(a)", method;
    /// The tensor itself: negatives are computed when they are asked for.
    pub ResolveNeg = "aten::resolve_neg(Tensor(a) self) -> Tensor(a)", method;
    pub IsConj = "aten::is_conj(Tensor self) -> bool";
    pub IsNeg = "aten::is_neg(Tensor self) -> bool";
}

/// Kind, shape rule and `out` rule, for everybody.
pub const CONJ_PHYSICAL_KERNEL: Family<ConjPhysicalKernel> =
    Family::new(ConjPhysicalKernel, &kind::POINTWISE_UNARY, shape);

pub(super) fn register(library: &mut Library) {
    library
        .family(&CONJ_PHYSICAL_KERNEL)
        .cpu(cpu)
        .derivative(|d, (input,)| d.by(input, [], |grad, []| derivatives::conjugate(grad)));
    library.define(ConjPhysicalKernelOut).kind(&kind::POINTWISE_UNARY).on_cpu_and_meta(into);
    library.define_with_forms(ConjPhysical, &kind::POINTWISE_UNARY).implicit(conj);
    library.implement(ConjPhysicalOut).on_cpu_and_meta(into);
    library
        .implement(ConjPhysicalInplace)
        .on_cpu_and_meta(|input| match input.dtype().is_complex() {
            true => into(input, input),
            false => check_written(input.geometry()),
        })
        .derivative(|d, (input,)| d.by(input, [], |grad, []| derivatives::conjugate(grad)));
    library.define(Conj).kind(&kind::POINTWISE_UNARY).implicit(conj);
    library
        .define(ConjKernel)
        .kind(&kind::POINTWISE_UNARY)
        .on_every_backend(conj)
        .derivative(|d, (input,)| d.by(input, [], |grad, []| derivatives::conjugate(grad)));
    library.define(ResolveConj).kind(&kind::VIEW).implicit(itself);
    library.define(ResolveNeg).kind(&kind::VIEW).implicit(itself);
    library.define(IsConj).kind(&kind::QUESTION).implicit(no);
    library.define(IsNeg).kind(&kind::QUESTION).implicit(no);
}

pub(super) fn samples(samples: &mut Samples) {
    let conjugate = |x| match x {
        Scalar::Complex(x) => Scalar::Complex(x.conj()),
        x => x,
    };
    samples.unary(Conj, ANY, DTypeRule::Promoted, conjugate);
    samples.unary(ConjKernel, ANY, DTypeRule::Promoted, conjugate);
    samples.unary(ConjPhysical, ANY, DTypeRule::Promoted, conjugate);
    samples.unary(ConjPhysicalKernel, ANY, DTypeRule::Promoted, conjugate);
    let with_output = |dtype| -> Vec<Sample> {
        let shapes: [&[i64]; 3] = [&[2, 3], &[], &[0]];
        shapes
            .map(|sizes| given(make::numbers(dtype, sizes, 1)).named("out", make::numbers(dtype, sizes, 2)))
            .to_vec()
    };
    samples.of_function(ConjPhysicalKernelOut, ANY, with_output, move |it| {
        it.unary(DTypeRule::Promoted, conjugate)
    });
    samples.unary(ResolveConj, STORED, DTypeRule::Promoted, |x| x).view();
    samples.unary(ResolveNeg, STORED, DTypeRule::Promoted, |x| x).view();
    samples.of(IsConj, STORED, make::unary, |_| Ok(Expected::Value(false.into())));
    samples.of(IsNeg, STORED, make::unary, |_| Ok(Expected::Value(false.into())));
    samples.differs(ResolveConj, complex::RESOLVED);
    samples.differs(ResolveNeg, complex::RESOLVED);
    samples.differs(Conj, complex::COMPUTED);
    let what = "torch's kernel of `conj` marks a view of complex numbers; here it computes new ones";
    samples
        .differs(ConjKernel, Difference { id: "kernels-of-conjugates-compute", what, ..complex::COMPUTED });
}

fn conj(input: &Tensor) -> Result<Tensor> {
    match input.spec()?.dtype().is_complex() {
        true => ConjPhysicalKernel.call(input),
        false => Ok(input.clone()),
    }
}

fn itself(input: &Tensor) -> Result<Tensor> {
    input.spec()?;
    Ok(input.clone())
}

fn no(input: &Tensor) -> Result<bool> {
    input.spec()?;
    Ok(false)
}

fn shape(input: &Tensor) -> Result<TensorSpec> {
    pointwise::promoted([("self", input)])
}

fn into(input: &Tensor, out: &Tensor) -> Result<()> {
    let spec = shape(input)?;
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
