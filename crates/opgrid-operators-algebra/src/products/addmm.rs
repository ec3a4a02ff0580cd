//! `aten::addmm`: a matrix, scaled, plus a product of two others, scaled.
//!
//! `out = beta * self + alpha * (mat1 @ mat2)`
//!
//! - Shapes: `mat1` and `mat2` as for `mm`; `self` is stretched to their product.
//! - Dtypes: one for all, no bools. Integers wrap around, and cut the fractions of `alpha` and
//!   `beta` off. The 16-bit floats are rounded once, after the sum.
//! - Values: with a `beta` of zero `self` does not count, not even NaN; nor do the factors with an `alpha` of zero,
//!   apart from 16-bit floats.
//! - Aliasing: `addmm_` writes `self`, `addmm.out` writes `out`; neither may overlap the factors.
//! - Errors: two dtypes or devices, other shapes; an `alpha` or `beta` beyond the dtype.
//! - Source: torch.addmm, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::products::sizes;

pub use opgrid_tensor::ops::products::addmm::*;

/// The family of `aten::addmm`: its kind, shape rule and `out` rule.
pub const ADDMM: Family<Addmm> = Family::new(Addmm, &kind::PRODUCT, shape).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    let orders =
        DeprecatedOrders(&[&["beta", "self", "alpha", "mat1", "mat2"], &["beta", "self", "mat1", "mat2"]]);
    library.family(&ADDMM).cpu(cpu).column(orders).derivative(|d, (input, mat1, mat2, beta, alpha)| {
        d.by(input, [], move |grad, []| derivatives::times(grad, beta))?;
        let transposed = [mat1, mat2].map(products::is_transposed);
        d.by(mat1, [mat2], move |grad, [mat2]| {
            derivatives::times(&products::left_gradient(grad, mat2, transposed[0])?, alpha)
        })?;
        d.by(mat2, [mat1], move |grad, [mat1]| {
            derivatives::times(&products::right_gradient(grad, mat1, transposed[1])?, alpha)
        })
    });
}

fn shape(input: &Tensor, mat1: &Tensor, mat2: &Tensor, beta: Scalar, alpha: Scalar) -> Result<TensorSpec> {
    let (a, b) = (mat1.spec()?, mat2.spec()?);
    let sizes = sizes(a.sizes(), b.sizes())?;
    products::weighed_sum(input.spec()?, [("mat1", a), ("mat2", b)], &sizes, [beta, alpha])
}

fn cpu(
    input: &Tensor,
    mat1: &Tensor,
    mat2: &Tensor,
    beta: Scalar,
    alpha: Scalar,
    out: &Tensor,
) -> Result<()> {
    let (target, added) = ((out, out.array()?), (input, input.array()?));
    products::write_weighed_sum(target, added, [beta, alpha], [mat1.array()?, mat2.array()?])
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = generate::numbers(DType::F32, &[2, 2], 0);
        samples.operator(Addmm, NUMBERS, inputs, reference).tolerance(64.0).refuses(
            "does not broadcast",
            given(generate::numbers(DType::F32, &[3], 0)).and(x.clone()).and(x),
        );
        samples.differs_as(Addmm, products::samples::DIFFERENCES);
        samples.differs(Addmm, departures::arithmetic::SIGN_OF_ZERO);
        samples.rounds(Addmm, Roundings::all(Rounding::Sum(2)));
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        let shapes: [[&[i64]; 3]; 5] = [
            [&[2, 4], &[2, 3], &[3, 4]],
            [&[4], &[2, 3], &[3, 4]],
            [&[], &[2, 3], &[3, 4]],
            [&[2, 4], &[2, 0], &[0, 4]],
            [&[17, 9], &[17, 33], &[33, 9]],
        ];
        let one = |[c, a, b]: [&[i64]; 3]| {
            given(generate::numbers(dtype, c, 1))
                .and(generate::numbers(dtype, a, 2))
                .and(generate::numbers(dtype, b, 3))
        };
        let plain = shapes.map(one);
        let scaled = plain.clone().map(|sample| sample.named("beta", 2).named("alpha", 3));
        plain.into_iter().chain(scaled).collect()
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        products::samples::expected_sum(it, &it.tensor("mat1")?.product(it.tensor("mat2")?)?)
    }
}
