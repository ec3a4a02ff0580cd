//! `aten::addmv`: a vector, scaled, plus the product of a matrix and a vector, scaled.
//!
//! `out = beta * self + alpha * (mat @ vec)`
//!
//! - Shapes: `[m, k]` and `[k]`; `self` is stretched to `[m]`.
//! - Dtypes: one for all, no bools. Integers wrap around, and cut the fractions of `alpha` and `beta` off. The 16-bit
//!   floats are rounded once, after the sum.
//! - Values: with a `beta` of zero `self` does not count, not even NaN.
//! - Aliasing: `addmv_` writes `self`, `addmv.out` writes `out`; neither may overlap the factors.
//! - Errors: two dtypes or devices, other shapes; an `alpha` or `beta` beyond the dtype.
//! - Source: torch.addmv, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::Outer;

pub use opgrid_tensor::ops::products::addmv::*;

/// The family of `aten::addmv`: its kind, shape rule and `out` rule.
pub const ADDMV: Family<Addmv> = Family::new(Addmv, &kind::PRODUCT, shape).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    let orders =
        DeprecatedOrders(&[&["beta", "self", "alpha", "mat", "vec"], &["beta", "self", "mat", "vec"]]);
    library.family(&ADDMV).cpu(cpu).column(orders).derivative(|d, (input, mat, vec, beta, alpha)| {
        d.by(input, [], move |grad, []| derivatives::times(grad, beta))?;
        d.by(mat, [vec], move |grad, [vec]| derivatives::times(&Outer.call(grad, &vec.conj()?)?, alpha))?;
        d.by(vec, [mat], move |grad, [mat]| derivatives::times(&mat.t()?.conj()?.mv(grad)?, alpha))
    });
}

fn shape(input: &Tensor, mat: &Tensor, vec: &Tensor, beta: Scalar, alpha: Scalar) -> Result<TensorSpec> {
    let factors = [("mat", mat.spec()?), ("vec", vec.spec()?)];
    let rows = products::vector_size(factors[0], factors[1])?;
    products::weighed_sum(input.spec()?, factors, &[rows], [beta, alpha])
}

fn cpu(input: &Tensor, mat: &Tensor, vec: &Tensor, beta: Scalar, alpha: Scalar, out: &Tensor) -> Result<()> {
    let added = input.array()?;
    let added = added.view(added.geometry().expand(out.sizes())?)?;
    let [target, added, vector] = [out.array()?, &added, vec.array()?].map(products::column);
    products::write_weighed_sum((out, &target?), (input, &added?), [beta, alpha], [mat.array()?, &vector?])
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let (x, vector) = (generate::numbers(DType::F32, &[2, 3], 0), generate::numbers(DType::F32, &[3], 0));
        samples
            .operator(Addmv, NUMBERS, inputs, reference)
            .tolerance(64.0)
            .refuses("does not broadcast", given(x.clone()).and(x.clone()).and(vector.clone()))
            .refuses("a matrix and a vector", given(vector.clone()).and(x.clone()).and(x.clone()))
            .refuses(
                "expected 3 elements",
                given(vector.clone()).and(x.clone()).and(generate::numbers(DType::F32, &[2], 0)),
            )
            .refuses("convert one of them", given(generate::numbers(DType::F64, &[2], 0)).and(x).and(vector));
        samples.differs_as(Addmv, products::samples::DIFFERENCES);
        samples.differs(Addmv, departures::arithmetic::SIGN_OF_ZERO);
        samples.rounds(Addmv, Roundings::all(Rounding::Sum(2)));
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        let shapes: [[&[i64]; 3]; 6] = [
            [&[2], &[2, 3], &[3]],
            [&[1], &[2, 3], &[3]],
            [&[], &[2, 3], &[3]],
            [&[2], &[2, 0], &[0]],
            [&[0], &[0, 3], &[3]],
            [&[37], &[37, 19], &[19]],
        ];
        let shapes =
            shapes.into_iter().filter(|shapes| products::samples::is_sample(dtype, &shapes.concat()));
        products::samples::weighed_samples(dtype, shapes)
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        products::samples::expected_sum(
            it,
            &products::samples::expected_vector(it.tensor("mat")?, it.tensor("vec")?)?,
        )
    }
}
