//! `aten::linalg_cross`, `aten::cross`: the vector product of vectors of three elements.
//!
//! `out[k] = self[k + 1] * other[k + 2] - self[k + 2] * other[k + 1]`, where indices of dimension `dim` begin again after 2
//!
//! - Shapes: `self` and `other` have as many dimensions and broadcast, with size 3 in dimension `dim`. Without a `dim`
//!   `cross` takes the first dimension of `self` that has size 3.
//! - Dtypes: one for both, no bools. Integers wrap around; 16-bit floats are rounded after each step, as in torch.
//! - Dispatch: `cross` is a composite of `linalg_cross`.
//! - Aliasing: `linalg_cross.out` and `cross.out` write `out`, which must not overlap the inputs.
//! - Errors: other shapes, two dtypes or devices; an `out` of another dtype.
//! - Source: torch.linalg.cross, torch.cross, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::tensor::views::normalise_dim;
use opgrid_tensor::tensor::{Array, Element, broadcast};

pub use opgrid_tensor::ops::products::linalg_cross::*;

/// The family of `aten::linalg_cross`: its kind, shape rule and `out` rule.
pub const LINALG_CROSS: Family<LinalgCross> =
    Family::new(LinalgCross, &kind::POINTWISE_BINARY, shape).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&LINALG_CROSS).cpu(cpu).derivative(|d, (input, other, dim)| {
        // A dimension that counts from the end stays where it is when the arguments broadcast.
        let dim = if dim < 0 { dim } else { dim - input.dim().max(other.dim()) as i64 };
        d.by(input, [other], move |grad, [other]| LinalgCross.call(&other.conj()?, grad, dim))?;
        d.by(other, [input], move |grad, [input]| LinalgCross.call(grad, &input.conj()?, dim))
    });
    library
        .define_with_forms(Cross, &kind::POINTWISE_BINARY)
        .implicit(|input, other, dim| LinalgCross.call(input, other, dimension(input, dim)?));
    library
        .implement(CrossOut)
        .implicit(|input, other, dim, out| LinalgCrossOut.call(input, other, dimension(input, dim)?, out));
}

/// The dimension that is meant, or the first one of size 3.
fn dimension(input: &Tensor, dim: Option<i64>) -> Result<i64> {
    let sizes = input.spec()?.sizes();
    let first = || sizes.iter().position(|size| *size == 3).map(|dim| dim as i64);
    dim.or_else(first).ok_or_else(|| {
        argument(format!("argument `self` has shape {sizes:?}, expected a dimension of size 3"))
    })
}

fn shape(input: &Tensor, other: &Tensor, dim: i64) -> Result<TensorSpec> {
    let (a, b) = (input.spec()?, other.spec()?);
    if a.sizes().len() != b.sizes().len() {
        let message = format!(
            "argument `other` has shape {:?}, expected as many dimensions as `self` of shape {:?}",
            b.sizes(),
            a.sizes()
        );
        return Err(argument(message));
    }
    let at = normalise_dim(dim, a.sizes().len())?;
    if [a, b].iter().any(|spec| spec.sizes().get(at) != Some(&3)) {
        let message = format!(
            "the inputs have shapes {:?} and {:?}, expected size 3 in dimension {dim}",
            a.sizes(),
            b.sizes()
        );
        return Err(argument(message));
    }
    products::check_factors(&[("self", a), ("other", b)])?;
    TensorSpec::contiguous(&broadcast(&[a.sizes(), b.sizes()])?, a.dtype(), a.device())
}

fn cpu(input: &Tensor, other: &Tensor, dim: i64, out: &Tensor) -> Result<()> {
    let [a, b, out] = [input.array()?, other.array()?, out.array()?];
    for factor in [a, b] {
        opgrid_kernels::indexing::check_apart(out, factor)?;
    }
    let part = |array: &Array, index: i64| array.view(array.geometry().select(dim, index % 3)?);
    for k in 0..3 {
        let [x, y] = [part(a, k + 1)?, part(b, k + 2)?];
        let [later, earlier] = [part(a, k + 2)?, part(b, k + 1)?];
        let out = part(out, k)?;
        with_dtype!(out.dtype(), T: Number by bits => {
            elementwise::binary::<T, T, T>(&out, &x, &y, |x, y| x.times(y))?;
            elementwise::ternary::<T, T, T, T>(&out, &out, &later, &earlier, |one, x, y| {
                one.minus(T::narrow(x.times(y)).widen())
            })
        })?;
    }
    Ok(())
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let (x, two) = (generate::numbers(DType::F32, &[2, 3], 0), generate::numbers(DType::F32, &[2, 2], 0));
        samples
            .operator(LinalgCross, NUMBERS, inputs, reference)
            .tolerance(8.0)
            .refuses("as many dimensions", given(x.clone()).and(generate::numbers(DType::F32, &[3], 0)))
            .refuses("size 3", given(two.clone()).and(two.clone()))
            .refuses("convert one of them", given(x.clone()).and(x.to(DType::F64)))
            .refuses("range", given(x.clone()).and(x.clone()).named("dim", 2));
        samples
            .operator(Cross, NUMBERS, |dtype| inputs(dtype).into_iter().map(positional).collect(), reference)
            .tolerance(8.0)
            .refuses("expected a dimension of size 3", given(two.clone()).and(two));
        for difference in
            [departures::reduce::NOT_FINITE, departures::arithmetic::SIGN_OF_ZERO, READ_AFTER_WRITTEN]
        {
            samples.differs(LinalgCross, difference);
            samples.differs(Cross, difference);
        }
        samples.rounds(LinalgCross, Roundings::all(Rounding::Products(4)));
        samples.rounds(Cross, Roundings::all(Rounding::Products(4)));
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        let cases: [(&[i64], &[i64], i64); 6] = [
            (&[3], &[3], -1),
            (&[2, 3], &[2, 3], -1),
            (&[3, 2], &[3, 2], 0),
            (&[1, 3, 2], &[4, 3, 2], 1),
            (&[0, 3], &[0, 3], 1),
            (&[3, 37], &[3, 1], 0),
        ];
        let cases = cases.into_iter().filter(|(a, ..)| products::samples::is_sample(dtype, a));
        cases
            .map(|(a, b, dim)| {
                given(generate::numbers(dtype, a, 1)).and(generate::numbers(dtype, b, 2)).named("dim", dim)
            })
            .collect()
    }

    /// With the dimension left out where it is the first one of size 3.
    fn positional(mut sample: Sample) -> Sample {
        if sample.positional.iter().all(|given| given.tensors().iter().all(|tensor| tensor.sizes()[0] == 3)) {
            sample.keyword.clear();
        }
        sample
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let (a, b) = (it.tensor("self")?, it.tensor("other")?);
        let sizes = naive::broadcast([a.sizes(), b.sizes()].into_iter())?;
        let dim = naive::dimension(it.option("dim")?.unwrap_or(0), sizes.len());
        let product = Plain::from_fn(a.dtype(), &sizes, |position| {
            let moved = |steps: i64| {
                let mut position = position.to_vec();
                position[dim] = (position[dim] + steps) % 3;
                position
            };
            let one = number::times(a.at(&moved(1)), b.at(&moved(2)));
            number::minus(one, number::times(a.at(&moved(2)), b.at(&moved(1))))
        });
        Ok(product.into())
    }
}
