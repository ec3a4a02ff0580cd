//! `aten::addbmm`: a matrix, scaled, plus the sum of the products of as many pairs of matrices, scaled.
//!
//! `out = beta * self + alpha * (batch1[0] @ batch2[0] + batch1[1] @ batch2[1] + …)`
//!
//! - Shapes: `[b, m, k]` and `[b, k, n]`; `self` is stretched to `[m, n]`.
//! - Dtypes: one for all, no bools. Integers wrap around, and cut the fractions of `alpha` and `beta` off. The 16-bit
//!   floats are rounded once, after all sums.
//! - Values: with a `beta` of zero `self` does not count, not even NaN.
//! - Aliasing: `addbmm_` writes `self`, `addbmm.out` writes `out`; neither may overlap `batch2`.
//! - Errors: two dtypes or devices, other shapes; an `alpha` or `beta` beyond the dtype.
//! - Source: torch.addbmm, PyTorch 2.15. Here it is one product: the matrices of `batch1` stand side by side, those of
//!   `batch2` on top of one another.

use crate::prelude::*;
use opgrid_kernels::copy;

pub use opgrid_tensor::ops::products::addbmm::*;

/// The family of `aten::addbmm`: its kind, shape rule and `out` rule.
pub const ADDBMM: Family<Addbmm> = Family::new(Addbmm, &kind::PRODUCT_OF_STACKS, shape).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    let orders = DeprecatedOrders(&[
        &["beta", "self", "alpha", "batch1", "batch2"],
        &["beta", "self", "batch1", "batch2"],
    ]);
    library.family(&ADDBMM).cpu(cpu).column(orders).derivative(|d, (input, batch1, batch2, beta, alpha)| {
        let [count, rows, columns] = [batch1.sizes()[0], batch1.sizes()[1], batch2.sizes()[2]];
        let stack = move |grad: &Tensor| derivatives::times(&grad.expand(&[count, rows, columns])?, alpha);
        d.by(input, [], move |grad, []| derivatives::times(grad, beta))?;
        let transposed = [batch1, batch2].map(products::is_transposed);
        d.by(batch1, [batch2], move |grad, [batch2]| {
            products::left_gradient(&stack(grad)?, batch2, transposed[0])
        })?;
        d.by(batch2, [batch1], move |grad, [batch1]| {
            products::right_gradient(&stack(grad)?, batch1, transposed[1])
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
    let [_, m, n] = products::stack_sizes(factors[0], factors[1])?;
    products::weighed_sum(input.spec()?, factors, &[m, n], [beta, alpha])
}

fn cpu(
    input: &Tensor,
    batch1: &Tensor,
    batch2: &Tensor,
    beta: Scalar,
    alpha: Scalar,
    out: &Tensor,
) -> Result<()> {
    let (a, b) = (batch1.array()?, batch2.array()?);
    let (target, added) = ((out, out.array()?), (input, input.array()?));
    let inner = i64::checked_mul(a.sizes()[0], a.sizes()[2]);
    let inner = inner.ok_or_else(|| argument("the sizes of `batch1` overflow 64 bits"))?;
    let [m, n] = [a.sizes()[1], b.sizes()[2]];
    let side_by_side = a.view(a.geometry().permute(&[1, 0, 2])?)?;
    let [left, right] = [(&side_by_side, [m, inner]), (b, [inner, n])].map(|(stack, sizes)| {
        match stack.geometry().view(&sizes) {
            Ok(geometry) => stack.view(geometry),
            Err(_) => {
                let copied = copy::contiguous(stack)?;
                copied.view(copied.geometry().view(&sizes)?)
            }
        }
    });
    products::write_weighed_sum(target, added, [beta, alpha], [&left?, &right?])
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = generate::numbers(DType::F32, &[2, 2, 2], 0);
        samples
            .operator(Addbmm, NUMBERS, inputs, reference)
            .tolerance(256.0)
            .refuses("does not broadcast", given(x.clone()).and(x.clone()).and(x.clone()))
            .refuses(
                "three dimensions",
                given(x.clone()).and(generate::numbers(DType::F32, &[2, 2], 0)).and(x.clone()),
            )
            .refuses(
                "convert one of them",
                given(generate::numbers(DType::F64, &[2], 0)).and(x.clone()).and(x),
            );
        samples.differs_as(Addbmm, products::samples::DIFFERENCES);
        samples.differs(Addbmm, departures::arithmetic::SIGN_OF_ZERO);
        samples.differs(
            Addbmm,
            Difference {
                id: "summands-of-one-dtype",
                what: "torch converts the summand of `addbmm` in the `out` form, and rejects it in the \
                     functional form; here it is rejected in both",
                why: "the functional and `out` forms agree",
                test: ("opgrid-operators/tests/all/differences/refused.rs", "dtypes_that_differ"),
                when: |seen| {
                    seen.out().is_some()
                        && seen.we_refuse("argument `self` is")
                        && seen.we_refuse("convert one of them")
                },
                directed: None,
            },
        );
        samples.rounds(Addbmm, Roundings::all(Rounding::Sum(4)));
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        let shapes: [[&[i64]; 3]; 6] = [
            [&[2, 4], &[2, 2, 3], &[2, 3, 4]],
            [&[4], &[2, 2, 3], &[2, 3, 4]],
            [&[], &[1, 2, 3], &[1, 3, 4]],
            [&[2, 4], &[2, 2, 0], &[2, 0, 4]],
            [&[2, 4], &[0, 2, 3], &[0, 3, 4]],
            [&[9, 5], &[3, 9, 7], &[3, 7, 5]],
        ];
        let shapes =
            shapes.into_iter().filter(|shapes| products::samples::is_sample(dtype, &shapes.concat()));
        products::samples::weighed_samples(dtype, shapes)
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let products = it.tensor("batch1")?.product(it.tensor("batch2")?)?;
        let sum = products.reduced(Some(&[0]), false, products.dtype(), |elements| {
            elements.iter().copied().reduce(number::plus).unwrap_or(Scalar::Int(0))
        });
        products::samples::expected_sum(it, &sum)
    }
}
