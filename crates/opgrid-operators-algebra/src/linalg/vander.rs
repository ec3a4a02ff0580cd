//! `aten::linalg_vander`: powers of numbers.
//!
//! `out[.., i, j] = x[.., i] ^ j`
//!
//! - Shapes: with a last dimension of `N` powers, or of as many as there are numbers.
//! - Dtypes: all but 16-bit floats and bools; integers give int64.
//! - Dispatch: a composite of `cumprod` and `cat`.
//! - Errors: fewer than two powers; another dtype.
//! - Source: torch.linalg.vander, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::{Cat, Cumprod, Expand, Ones};

pub use opgrid_tensor::ops::linalg::vander::*;

pub(super) fn register(library: &mut Library) {
    library.define(LinalgVander).kind(&kind::FACTORIZATION).implicit(powers);
}

fn powers(x: &Tensor, n: Option<i64>) -> Result<Tensor> {
    let dtype = x.spec()?.dtype();
    if matches!(dtype, DType::F16 | DType::BF16 | DType::Bool) {
        let message = format!(
            "argument `x` is {dtype}, expected float32, float64, a complex or an integer dtype; convert it"
        );
        return Err(argument(message));
    }
    let x = if x.dim() == 0 { x.unsqueeze(-1)? } else { x.clone() };
    let n = n.unwrap_or(x.sizes()[x.dim() - 1]);
    if n < 2 {
        return Err(argument(format!("argument `N` is {n}, expected more than 1")));
    }
    let columns = |count: i64| [x.sizes(), &[count]].concat();
    let products = Cumprod.call(&Expand.call(&x.unsqueeze(-1)?, &columns(n - 1), false)?, -1, None)?;
    let ones = Ones.call(&columns(1), Some(products.dtype()), None, Some(x.device()), None)?;
    Cat.call(&[ones, products], -1)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    const DTYPES: &[DType] = &[
        DType::F32,
        DType::F64,
        DType::Complex64,
        DType::Complex128,
        DType::I64,
        DType::I32,
        DType::I16,
        DType::I8,
        DType::U8,
        DType::U16,
        DType::U32,
        DType::U64,
    ];

    pub(crate) fn collect(samples: &mut Samples) {
        let x = || generate::numbers(DType::F32, &[3], 0);
        samples
            .operator(
                LinalgVander,
                DTYPES,
                |dtype| {
                    let x = |sizes: &[i64]| given(generate::numbers(dtype, sizes, 1));
                    vec![x(&[3]), x(&[2, 4]), x(&[3]).named("N", 2), x(&[]).named("N", 3), x(&[0, 2])]
                },
                |it| {
                    let x = it.tensor("x")?;
                    let line = if x.sizes().is_empty() { x.with_sizes(&[1]) } else { x.clone() };
                    let n = it.option("N")?.unwrap_or(*line.sizes().last().unwrap_or(&0));
                    let is_integer = !x.dtype().is_floating_point() && !x.dtype().is_complex();
                    let dtype = if is_integer { DType::I64 } else { x.dtype() };
                    Ok(Plain::from_fn(dtype, &[line.sizes(), &[n]].concat(), |at| {
                        let (place, power) = at.split_at(at.len() - 1);
                        (0..power[0])
                            .fold(Scalar::Int(1), |product, _| number::times(product, line.at(place)))
                    })
                    .into())
                },
            )
            .tolerance(64.0)
            .refuses("more than 1", given(x()).named("N", 1))
            .refuses("an integer dtype", given(x().to(DType::F16)));
        samples.rounds(LinalgVander, Roundings::all(Rounding::Sum(64)));
    }
}
