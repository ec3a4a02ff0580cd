//! `aten::exp`: the exponential function.
//!
//! `out[i] = e ^ self[i]`
//!
//! - Shapes: that of `self`.
//! - Dtypes: floating-point and complex ones stay what they are; integers and bools give the default dtype.
//! - Aliasing: `exp_` writes `self`, `exp.out` writes `out`.
//! - Errors: `exp_` of integers and bools.
//! - Source: torch.exp, PyTorch 2.15.

use super::prelude::*;

operator! {
    home = crate::home;
    pub Exp = "aten::exp(Tensor self) -> Tensor";
    pub ExpInplace = "aten::exp_(Tensor(a!) self) -> Tensor(a!)";
    pub ExpOut = "aten::exp.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)";
}

pub(super) fn register(library: &mut Library) {
    library.define(Exp).structured(shape, cpu);
    library.define(ExpInplace).in_place(shape, cpu);
    library.define(ExpOut).out_of(Exp, shape, cpu);
}

pub(super) fn samples(samples: &mut Samples) {
    samples.of(Exp, ANY, make::unary, |it| it.inexact(f64::exp, Complex64::exp)).tolerance(4.0);
}

fn shape(input: &Tensor) -> Result<TensorSpec> {
    pointwise::inexact([("self", input)])
}

fn cpu(input: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(inexact(input.dtype()), T: Inexact => elementwise::unary::<T, T>(out, input, Inexact::exp))
}
