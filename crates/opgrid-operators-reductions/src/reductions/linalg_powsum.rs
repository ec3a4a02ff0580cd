//! `aten::linalg__powsum`: the sum of powers of magnitudes, from which a norm is the root.
//!
//! `out[j] = |self[0, j]| ^ ord + |self[1, j]| ^ ord + …`; for an `ord` of 0 how many elements are other than zero
//!
//! - Shapes: without the dimensions of `dim`, or with size 1 for them with `keepdim`; no `dim` means all.
//! - Dtypes: `dtype` if given, to which each element is converted first; otherwise that of `self`. The result has that of
//!   the parts for complex numbers.
//! - Dispatch: a composite of `abs`, `pow` and `sum`, or of `ne` and `sum`.
//! - Errors: integers and bools; a complex `ord`; a dimension out of range or named twice.
//! - Source: torch.ops.aten.linalg__powsum, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::{NeScalar, SumDim};

pub use opgrid_tensor::ops::reductions::linalg_powsum::*;

pub(super) fn register(library: &mut Library) {
    library.define(LinalgPowsum).kind(&kind::REDUCTION).implicit(powsum);
}

fn powsum(
    input: &Tensor,
    ord: Scalar,
    dim: Option<&[i64]>,
    keepdim: bool,
    dtype: Option<DType>,
) -> Result<Tensor> {
    let dtype = dtype.unwrap_or(input.spec()?.dtype());
    pointwise::check_inexact(dtype)?;
    if let Scalar::Complex(value) = ord {
        return Err(argument(format!("argument `ord` is {value}, expected a real number")));
    }
    let (input, order) = (input.to_dtype(dtype)?, ord.to_f64()?);
    let powers =
        if order == 0.0 { NeScalar.call(&input, Scalar::Int(0))? } else { input.abs()?.pow(order)? };
    SumDim.call(&powers, dim, keepdim, Some(part_of(dtype)))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let two = given(generate::numbers(DType::F32, &[2], 0));
        samples
            .operator(LinalgPowsum, INEXACT, inputs, reference)
            .tolerance(8.0)
            .refuses("range", two.clone().and(2).and([2].to_vec()))
            .refuses("expected a real number", two.and(Scalar::Complex(Complex64::I)));
        samples.rounds(LinalgPowsum, Roundings::all(Rounding::Power(32)));
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        let x = generate::nonzero(dtype, &[2, 3], 1);
        let over = |order: f64| given(x.clone()).and(order).and([1].to_vec()).and(true);
        let more = [
            given(x.clone()),
            given(x.clone()).and(0),
            given(Plain::number(dtype, 3)).and(3),
            given(generate::numbers(dtype, &[0], 0)).and(-1),
            given(generate::numbers(dtype, &[2, 3], 0)).and(0).and([0].to_vec()),
        ];
        [1.0, 2.0, -1.0, 0.5].map(over).into_iter().chain(more).collect()
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let x = it.tensor("self")?;
        let (order, dims): (f64, Option<Vec<i64>>) =
            (it.value::<Scalar>("ord")?.to_f64()?, it.option("dim")?);
        let sum = |elements: &[Scalar]| {
            let sizes = elements.iter().map(|element| element.to_complex().norm());
            Scalar::Float(match order {
                0.0 => sizes.filter(|size| *size != 0.0).count() as f64,
                order => sizes.map(|size| size.powf(order)).sum(),
            })
        };
        Ok(x.reduced(dims.as_deref(), it.value("keepdim")?, part_of(x.dtype()), sum).into())
    }
}
