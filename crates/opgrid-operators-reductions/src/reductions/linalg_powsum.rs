//! `aten::linalg__powsum`: the sum of the powers of absolute values, of all elements or over dimensions.
//!
//! `out[j] = |self[0, j]| ^ ord + |self[1, j]| ^ ord + …`
//!
//! - Shapes: without the dimensions of `dim`, or with size 1 for them with `keepdim`; no `dim` means all.
//! - Dtypes: that of `self`, or `dtype`, to which each element is converted first; floating-point and complex ones, of which the result has the part.
//! - Dispatch: a composite of `abs`, `pow` and `sum`.
//! - Errors: integers and bools; a complex `ord`; a dimension out of range or named twice.
//! - Source: torch.ops.aten.linalg__powsum, PyTorch 2.15, of which distributed norms are made.

use crate::prelude::*;
use opgrid_tensor::ops::SumDim;

pub use opgrid_tensor::ops::reductions::linalg_powsum::*;

pub(super) fn register(library: &mut Library) {
    library.define(LinalgPowsum).kind(&kind::REDUCTION).implicit(|input, ord, dim, keepdim, dtype| {
        pointwise::check_inexact(input.spec()?.dtype())?;
        let ord = match ord {
            Scalar::Complex(ord) => {
                return Err(argument(format!("argument `ord` is {ord}, expected a real number")));
            }
            real => real.to_f64()?,
        };
        let input = dtype.map_or_else(|| Ok(input.clone()), |dtype| input.to_dtype(dtype))?;
        SumDim.call(&input.abs()?.pow(ord)?, dim, keepdim, None)
    });
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let inputs = |dtype| -> Vec<Sample> {
            let x = |sizes: &[i64]| given(generate::numbers(dtype, sizes, 1));
            vec![
                x(&[2, 3]),
                x(&[2, 3]).and(3).named("dim", vec![1]),
                x(&[2, 3]).and(1).named("dim", vec![0]).named("keepdim", true),
                x(&[4]).and(0),
                x(&[0, 2]).and(0.5).named("dim", vec![0]),
            ]
        };
        samples
            .operator(LinalgPowsum, INEXACT, inputs, |it| {
                let (x, ord): (_, Scalar) = (it.tensor("self")?, it.value("ord")?);
                let ord = ord.to_f64()?;
                let dims = it.option::<Vec<i64>>("dim")?;
                let power = |x: &Scalar| x.to_complex().norm().powf(ord);
                let sum = |elements: &[Scalar]| Scalar::Float(elements.iter().map(power).sum());
                Ok(x.reduced(dims.as_deref(), it.value("keepdim")?, part_of(x.dtype()), sum).into())
            })
            .tolerance(64.0)
            .refuses(
                "real number",
                given(generate::numbers(DType::F32, &[2], 0)).and(Scalar::Complex(Complex64::I)),
            );
        samples.rounds(LinalgPowsum, Roundings::all(Rounding::Sum(64)));
    }
}
