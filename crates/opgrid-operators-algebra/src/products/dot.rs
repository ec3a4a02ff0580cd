//! `aten::dot`, `aten::vdot`: the sum of the products of two vectors' elements.
//!
//! `dot = self[0] * other[0] + self[1] * other[1] + …`; in `vdot` the elements of `self` are conjugated.
//!
//! - Shapes: two vectors of one size give a tensor without dimensions.
//! - Dtypes: one for both, no bools. Integers wrap around. 16-bit floats are added in single precision.
//! - Aliasing: `dot.out` and `vdot.out` write `out`, which must not overlap the vectors.
//! - Errors: two dtypes or devices, other shapes; an `out` of another dtype.
//! - Source: torch.dot, torch.vdot, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::tensor::Array;

pub use opgrid_tensor::ops::products::dot::*;

/// The family of `aten::dot`: its kind, shape rule and `out` rule.
pub const DOT: Family<Dot> =
    Family::new(Dot, &kind::PRODUCT, |input, other| shape(input, ("tensor", other))).same_dtype_out();

/// The family of `aten::vdot`: its kind, shape rule and `out` rule.
pub const VDOT: Family<Vdot> =
    Family::new(Vdot, &kind::PRODUCT, |input, other| shape(input, ("other", other))).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&DOT).cpu(|input, tensor, out| write(out, input.array()?, tensor.array()?)).derivative(
        |d, (input, tensor)| {
            d.by(input, [tensor], |grad, [tensor]| grad.mul(&tensor.conj()?))?;
            d.by(tensor, [input], |grad, [input]| grad.mul(&input.conj()?))
        },
    );
    library
        .family(&VDOT)
        .cpu(|input, other, out| {
            if input.dtype().is_complex() {
                write(out, &conjugated(input.array()?)?, other.array()?)
            } else {
                write(out, input.array()?, other.array()?)
            }
        })
        .derivative(|d, (input, other)| {
            d.by(input, [other], |grad, [other]| grad.conj()?.mul(other))?;
            d.by(other, [input], |grad, [input]| grad.mul(input))
        });
}

fn shape(input: &Tensor, (name, other): (&str, &Tensor)) -> Result<TensorSpec> {
    let (a, b) = (input.spec()?, other.spec()?);
    match (a.sizes(), b.sizes()) {
        (&[size], &[other]) if size == other => {
            products::check_factors(&[("self", a), (name, b)])?;
            TensorSpec::contiguous(&[], a.dtype(), a.device())
        }
        (&[size], &[found]) => {
            let message = format!(
                "argument `{name}` has {found} elements, expected as many elements as `self`: {size}"
            );
            Err(argument(message))
        }
        (a, b) => Err(argument(format!("expected two vectors, found shapes {a:?} and {b:?}; use `matmul`"))),
    }
}

fn write(out: &Tensor, a: &Array, b: &Array) -> Result<()> {
    let target = out.array()?;
    let target = target.view(target.geometry().expand(&[1, 1])?)?;
    let row = a.view(a.geometry().unsqueeze(0)?)?;
    products::write_product(&target, &row, &products::column(b)?)
}

/// A copy with the other sign of the imaginary parts.
fn conjugated(input: &Array) -> Result<Array> {
    let copy = Array::empty(TensorSpec::contiguous(input.sizes(), input.dtype(), input.device())?)?;
    with_dtype!(input.dtype(), T: Complex => elementwise::unary::<T, T>(&copy, input, |x| x.conj()))?;
    Ok(copy)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = generate::numbers(DType::F32, &[3], 0);
        samples
            .operator(Dot, NUMBERS, inputs, |it| reference(it.tensor("self")?, it.tensor("tensor")?))
            .tolerance(64.0)
            .refuses("expected two vectors", given(x.clone()).and(generate::numbers(DType::F32, &[1, 3], 0)))
            .refuses("as many elements", given(x.clone()).and(generate::numbers(DType::F32, &[1], 0)))
            .refuses("convert one of them", given(x.clone()).and(x.to(DType::F64)));
        samples
            .operator(Vdot, NUMBERS, inputs, |it| {
                let x = it.tensor("self")?;
                let conjugated = Plain::from_fn(x.dtype(), x.sizes(), |position| match x.at(position) {
                    Scalar::Complex(x) => Scalar::Complex(x.conj()),
                    x => x,
                });
                reference(&conjugated, it.tensor("other")?)
            })
            .tolerance(64.0)
            .refuses("expected two vectors", given(generate::numbers(DType::F32, &[1, 3], 0)).and(x));
        samples.differs_as(Dot, products::samples::DIFFERENCES);
        samples.differs_as(Vdot, products::samples::DIFFERENCES);
        samples.rounds(Dot, Roundings::all(Rounding::Sum(2)));
        samples.rounds(Vdot, Roundings::all(Rounding::Sum(2)));
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        let sizes = [3, 1, 0, 70].into_iter().filter(|size| products::samples::is_sample(dtype, &[*size]));
        sizes
            .map(|k| given(generate::numbers(dtype, &[k], 1)).and(generate::numbers(dtype, &[k], 2)))
            .collect()
    }

    fn reference(a: &Plain, b: &Plain) -> Result<Expected> {
        let row = a.with_sizes(&[1, a.sizes()[0]]);
        Ok(products::samples::expected_vector(&row, b)?.with_sizes(&[]).into())
    }
}
