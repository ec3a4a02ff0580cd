//! `aten::addr`: a matrix, scaled, plus the product of a column and a row, scaled.
//!
//! `out[i, j] = beta * self[i, j] + alpha * vec1[i] * vec2[j]`
//!
//! - Shapes: `[m]` and `[n]`; `self` is stretched to `[m, n]`.
//! - Dtypes: promoted, `self` as the matrix that it is stretched to; of bools the product is "and", the sum "or". Integers wrap around.
//! - Values: with a `beta` of zero `self` does not count, not even NaN.
//! - Aliasing: `addr_` writes `self`, `addr.out` writes `out`.
//! - Errors: other shapes, several devices; an `alpha` or `beta` of a higher kind than the result, or beyond its dtype.
//! - Source: torch.addr, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::tensor::{Array, promote_types};

pub use opgrid_tensor::ops::products::addr::*;

/// The family of `aten::addr`: its kind, shape rule and `out` rule.
pub const ADDR: Family<Addr> = Family::new(Addr, &kind::PRODUCT, shape);

pub(super) fn register(library: &mut Library) {
    let orders =
        DeprecatedOrders(&[&["beta", "self", "alpha", "vec1", "vec2"], &["beta", "self", "vec1", "vec2"]]);
    library.family(&ADDR).cpu(cpu).column(orders).derivative(|d, (input, vec1, vec2, beta, alpha)| {
        d.by(input, [], move |grad, []| derivatives::times(grad, beta))?;
        d.by(vec1, [vec2], move |grad, [vec2]| {
            derivatives::times(&grad.mul(&vec2.conj()?)?.sum_dim(&[1], false)?, alpha)
        })?;
        d.by(vec2, [vec1], move |grad, [vec1]| {
            derivatives::times(&grad.t()?.mul(&vec1.conj()?)?.sum_dim(&[1], false)?, alpha)
        })
    });
}

fn shape(input: &Tensor, vec1: &Tensor, vec2: &Tensor, beta: Scalar, alpha: Scalar) -> Result<TensorSpec> {
    for (name, vector) in [("vec1", vec1), ("vec2", vec2)] {
        if vector.spec()?.sizes().len() != 1 {
            let message = format!("argument `{name}` has shape {:?}, expected a vector", vector.sizes());
            return Err(argument(message));
        }
    }
    let dtype = common_dtype(input, vec1, vec2)?;
    for (name, weight) in [("beta", beta), ("alpha", alpha)] {
        pointwise::check_factor(name, weight, dtype)?;
        with_dtype!(dtype, T: Any by itself => arithmetic::element::<Math<T>>(weight).map(drop))?;
    }
    let sizes = [vec1.sizes()[0], vec2.sizes()[0]];
    let Ok(stretched) = input.geometry().expand(&sizes) else {
        let message = format!(
            "argument `self` has shape {:?}, which does not broadcast to the product's shape {sizes:?}",
            input.sizes()
        );
        return Err(argument(message));
    };
    let device = pointwise::same_device([("self", input), ("vec1", vec1), ("vec2", vec2)])?;
    let column = vec1.geometry().unsqueeze(1)?;
    TensorSpec::elementwise(&[&stretched, &column, vec2.geometry()], dtype, device)
}

/// The dtype of the sum: `self` counts as the matrix that it is stretched to, also without dimensions.
fn common_dtype(input: &Tensor, vec1: &Tensor, vec2: &Tensor) -> Result<DType> {
    promote_types(input.spec()?.dtype(), result_type(&[vec1, vec2])?)
}

fn cpu(
    input: &Tensor,
    vec1: &Tensor,
    vec2: &Tensor,
    beta: Scalar,
    alpha: Scalar,
    out: &Tensor,
) -> Result<()> {
    let column: Array = products::column(vec1.array()?)?;
    let dtype = common_dtype(input, vec1, vec2)?;
    with_dtype!(dtype, T: Any by bits => {
        let [beta, alpha] = [arithmetic::element_for::<Math<T>>(beta, dtype)?, arithmetic::element_for::<Math<T>>(alpha, dtype)?];
        if beta == Math::<T>::ZERO {
            elementwise::binary::<T, T, T>(out, &column, vec2, move |a, b| alpha.times(a.times(b)))
        } else {
            elementwise::ternary::<T, T, T, T>(out, input, &column, vec2, move |x, a, b| {
                beta.times(x).plus(alpha.times(a.times(b)))
            })
        }
    })
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let (x, vector) = (generate::numbers(DType::F32, &[2, 3], 0), generate::numbers(DType::F32, &[3], 0));
        samples
            .operator(Addr, ANY, inputs, reference)
            .tolerance(8.0)
            .refuses("expected a vector", given(x.clone()).and(x.clone()).and(vector.clone()))
            .refuses("does not broadcast", given(x.clone()).and(vector.clone()).and(vector.clone()))
            .refuses(
                "floating-point number for integral",
                given(x.to(DType::I64))
                    .and(Plain::from_elements(DType::I64, &[2], &[1]))
                    .and(vector.to(DType::I64))
                    .named("beta", 0.5),
            );
        samples.differs_as(Addr, products::samples::DIFFERENCES);
        samples.differs_as(Addr, &[departures::arithmetic::SIGN_OF_ZERO, departures::math::NOT_FINITE]);
        samples.rounds(Addr, Roundings::all(Rounding::Sum(4)));
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        let shapes: [[&[i64]; 3]; 5] = [
            [&[2, 3], &[2], &[3]],
            [&[3], &[2], &[3]],
            [&[], &[2], &[3]],
            [&[0, 3], &[0], &[3]],
            [&[5, 37], &[5], &[37]],
        ];
        let mut samples = products::samples::weighed_samples(dtype, shapes.into_iter());
        let other = generate::beside(dtype, DType::F32);
        let [column, row] = [(&[2], 2), (&[3], 3)].map(|(sizes, seed)| generate::numbers(dtype, sizes, seed));
        samples.push(
            given(generate::numbers(dtype, &[2, 3], 1))
                .and(generate::numbers(other, &[2], 2))
                .and(row.clone()),
        );
        samples.push(given(generate::numbers(other, &[], 1)).and(column).and(row));
        samples
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let (x, column, row) = (it.tensor("self")?, it.tensor("vec1")?, it.tensor("vec2")?);
        let [beta, alpha]: [Scalar; 2] = [it.value("beta")?, it.value("alpha")?];
        let dtype = promote_types(x.dtype(), it.common_dtype(&["vec1", "vec2"])?)?;
        let [beta, alpha] = [beta, alpha].map(|weight| Plain::number(dtype, weight).at(&[]));
        let [x, column, row] = [x, column, row].map(|tensor| tensor.to(dtype));
        let sum = Plain::from_fn(dtype, &[column.sizes()[0], row.sizes()[0]], |position| {
            let product = number::times(column.at(&position[..1]), row.at(&position[1..]));
            let product = Plain::number(dtype, number::times(alpha, product)).at(&[]);
            number::plus(number::times(beta, x.at(position)), product)
        });
        Ok(sum.into())
    }
}
