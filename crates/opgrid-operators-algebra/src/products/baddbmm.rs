//! `aten::baddbmm`: a stack of matrices, scaled, plus the products of as many pairs of matrices, scaled.
//!
//! `out[b] = beta * self[b] + alpha * (batch1[b] @ batch2[b])`
//!
//! - Shapes: `[b, m, k]` and `[b, k, n]`; `self` is stretched to `[b, m, n]`.
//! - Dtypes: one for all, no bools. Integers wrap around, and cut the fractions of `alpha` and `beta` off. The 16-bit
//!   floats are rounded once, after the sum.
//! - Values: with a `beta` of zero `self` does not count, not even NaN.
//! - Aliasing: `baddbmm_` writes `self`, `baddbmm.out` writes `out`; neither may overlap the factors.
//! - Errors: two dtypes or devices, other shapes; an `alpha` or `beta` beyond the dtype.
//! - Source: torch.baddbmm, PyTorch 2.15.

use crate::prelude::*;

pub use opgrid_tensor::ops::products::baddbmm::*;

/// The family of `aten::baddbmm`: its kind, shape rule and `out` rule.
pub const BADDBMM: Family<Baddbmm> = Family::new(Baddbmm, &kind::PRODUCT_OF_STACKS, shape).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    let orders = DeprecatedOrders(&[
        &["beta", "self", "alpha", "batch1", "batch2"],
        &["beta", "self", "batch1", "batch2"],
    ]);
    library.family(&BADDBMM).cpu(cpu).column(orders).derivative(|d, (input, batch1, batch2, beta, alpha)| {
        d.by(input, [], move |grad, []| derivatives::times(grad, beta))?;
        let transposed = [batch1, batch2].map(products::is_transposed);
        d.by(batch1, [batch2], move |grad, [batch2]| {
            derivatives::times(&products::left_gradient(grad, batch2, transposed[0])?, alpha)
        })?;
        d.by(batch2, [batch1], move |grad, [batch1]| {
            derivatives::times(&products::right_gradient(grad, batch1, transposed[1])?, alpha)
        })
    });
}

fn shape(
    input: &Tensor,
    batch1: &Tensor,
    batch2: &Tensor,
    beta: Scalar,
    alpha: Scalar,
) -> Result<TensorSpec> {
    let factors = [("batch1", batch1.spec()?), ("batch2", batch2.spec()?)];
    let sizes = products::stack_sizes(factors[0], factors[1])?;
    products::weighed_sum(input.spec()?, factors, &sizes, [beta, alpha])
}

fn cpu(
    input: &Tensor,
    batch1: &Tensor,
    batch2: &Tensor,
    beta: Scalar,
    alpha: Scalar,
    out: &Tensor,
) -> Result<()> {
    let (target, added) = ((out, out.array()?), (input, input.array()?));
    products::write_weighed_sum(target, added, [beta, alpha], [batch1.array()?, batch2.array()?])
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = generate::numbers(DType::F32, &[2, 2, 2], 0);
        samples
            .operator(Baddbmm, NUMBERS, inputs, |it| {
                products::samples::expected_sum(it, &it.tensor("batch1")?.product(it.tensor("batch2")?)?)
            })
            .tolerance(64.0)
            .refuses(
                "does not broadcast",
                given(generate::numbers(DType::F32, &[3], 0)).and(x.clone()).and(x.clone()),
            )
            .refuses(
                "three dimensions",
                given(x.clone()).and(generate::numbers(DType::F32, &[2, 2], 0)).and(x.clone()),
            )
            .refuses(
                "convert one of them",
                given(generate::numbers(DType::F64, &[2], 0)).and(x.clone()).and(x),
            );
        samples.differs_as(Baddbmm, products::samples::DIFFERENCES);
        samples.differs(Baddbmm, departures::arithmetic::SIGN_OF_ZERO);
        samples.rounds(Baddbmm, Roundings::all(Rounding::Sum(2)));
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        let shapes: [[&[i64]; 3]; 6] = [
            [&[2, 2, 4], &[2, 2, 3], &[2, 3, 4]],
            [&[4], &[2, 2, 3], &[2, 3, 4]],
            [&[], &[1, 2, 3], &[1, 3, 4]],
            [&[2, 2, 4], &[2, 2, 0], &[2, 0, 4]],
            [&[0, 2, 4], &[0, 2, 3], &[0, 3, 4]],
            [&[3, 9, 5], &[3, 9, 17], &[3, 17, 5]],
        ];
        let shapes =
            shapes.into_iter().filter(|shapes| products::samples::is_sample(dtype, &shapes.concat()));
        products::samples::weighed_samples(dtype, shapes)
    }
}
