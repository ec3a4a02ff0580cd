//! `aten::linalg_vecdot`: products of vectors along a dimension.
//!
//! `out[i] = conj(x[i, 0]) * y[i, 0] + conj(x[i, 1]) * y[i, 1] + …`
//!
//! - Shapes: those of `x` and `y` broadcast, without dimension `dim`.
//! - Dtypes: floating-point and complex ones, one for both.
//! - Dispatch: composites of `conj`, `mul` and `sum`, and of `vdot` for vectors.
//! - Aliasing: `linalg_vecdot.out` writes `out`.
//! - Errors: integers and bools, two dtypes; shapes that do not broadcast; a dimension out of range; an `out` of another dtype.
//! - Source: torch.linalg.vecdot, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::Vdot;

pub use opgrid_tensor::ops::linalg::vecdot::*;

pub(super) fn register(library: &mut Library) {
    library.define_with_forms(LinalgVecdot, &kind::PRODUCT).implicit(product);
    library.implement(LinalgVecdotOut).implicit(|x, y, dim, out| result::copied(out, &product(x, y, dim)?));
}

fn product(x: &Tensor, y: &Tensor, dim: i64) -> Result<Tensor> {
    let (dtype, other) = (x.spec()?.dtype(), y.spec()?.dtype());
    pointwise::check_inexact(dtype)?;
    if dtype != other {
        return Err(argument(format!(
            "argument `y` is {other}, expected {dtype} as `x`; convert one of them"
        )));
    }
    if x.dim() == 1 && y.dim() == 1 && x.sizes() == y.sizes() && [0, -1].contains(&dim) {
        return Vdot.call(x, y);
    }
    x.conj()?.mul(y)?.sum_dim([dim], false)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = || given(generate::numbers(DType::F32, &[2, 3], 0));
        samples
            .operator(LinalgVecdot, INEXACT, inputs, reference)
            .tolerance(64.0)
            .refuses("convert one of them", x().and(generate::numbers(DType::F64, &[3], 0)))
            .refuses("range", x().and(generate::numbers(DType::F32, &[3], 0)).named("dim", 2));
        samples.rounds(LinalgVecdot, Roundings::all(Rounding::Sum(8)));
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        let cases: [(&[i64], &[i64], i64); 6] = [
            (&[3], &[3], -1),
            (&[2, 3], &[2, 3], 1),
            (&[2, 3], &[2, 3], 0),
            (&[2, 3], &[3], -1),
            (&[2, 1, 3], &[4, 3], -2),
            (&[2, 0], &[2, 0], -1),
        ];
        let one = |(x, y, dim): (&[i64], &[i64], i64)| {
            given(generate::numbers(dtype, x, 1)).and(generate::numbers(dtype, y, 2)).named("dim", dim)
        };
        cases.into_iter().map(one).collect()
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let (x, y, dim): (_, _, i64) = (it.tensor("x")?, it.tensor("y")?, it.value("dim")?);
        let sizes = naive::broadcast([x.sizes(), y.sizes()].into_iter())?;
        let own = |of: &Plain, at: &[i64]| {
            let at = &at[at.len() - of.sizes().len()..];
            of.at(&at
                .iter()
                .zip(of.sizes())
                .map(|(at, size)| if *size == 1 { 0 } else { *at })
                .collect::<Vec<_>>())
        };
        let dim = dim.rem_euclid(sizes.len() as i64) as usize;
        let mut kept = sizes.to_vec();
        let length = kept.remove(dim);
        Ok(Plain::from_fn(x.dtype(), &kept, |at| {
            let term = |place| {
                let mut whole = at.to_vec();
                whole.insert(dim, place);
                own(x, &whole).to_complex().conj() * own(y, &whole).to_complex()
            };
            let sum: Complex64 = (0..length).map(term).sum();
            if x.dtype().is_complex() { Scalar::Complex(sum) } else { Scalar::Float(sum.re) }
        })
        .into())
    }
}
