//! `aten::_safe_softmax`: exponentials divided by their sum along a dimension, and zeros where all are minus infinity.
//!
//! `out[…, i, …] = e ^ self[…, i, …] / (e ^ self[…, 0, …] + e ^ self[…, 1, …] + …)`
//!
//! - Shapes: that of `self`; row-major.
//! - Dtypes: `dtype` if given, to which elements are converted first, otherwise that of `self`; floating-point ones.
//! - Dispatch: a composite of `amax`, `exp`, `sum` and others. 16-bit floats are rounded once.
//! - Errors: another dtype, a dimension out of range.
//! - Source: torch.ops.aten._safe_softmax, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::{
    Amax, DivTensor, EqScalar, Exp, MaskedFillScalar, SoftmaxBackwardData, SubTensor, SumDim, ToCopy,
};
use opgrid_tensor::tensor::views::normalise_dim;

pub use opgrid_tensor::ops::attention::safe_softmax::*;

pub(super) fn register(library: &mut Library) {
    library.define(SafeSoftmax).kind(&kind::ATTENTION).on_every_backend(safe_softmax).derivative(
        |d, (input, dim, _)| {
            let dtype = input.dtype();
            d.by(input, [d.result(0)], move |grad, [out]| {
                SoftmaxBackwardData.call(
                    grad,
                    out,
                    dim,
                    if grad.dtype() == out.dtype() { out.dtype() } else { dtype },
                )
            })
        },
    );
}

fn safe_softmax(input: &Tensor, dim: i64, dtype: Option<DType>) -> Result<Tensor> {
    let spec = input.spec()?;
    let dtype = dtype.unwrap_or(spec.dtype());
    normalise_dim(dim, spec.sizes().len())?;
    with_dtype!(dtype, T: Float => Ok(size_of::<T>()))?;
    result::check_cast(spec.dtype(), dtype)?;
    let to = |tensor: &Tensor, dtype: DType| {
        if tensor.dtype() == dtype {
            Ok(tensor.clone())
        } else {
            ToCopy.call(tensor, Some(dtype), None, None, None, false, None)
        }
    };
    let rows = input.contiguous()?;
    if spec.numel() == 0 {
        return opgrid_tensor::ops::CloneTensor.call(&to(&rows, dtype)?, None);
    }
    let wide = to(&to(&rows, dtype)?, if dtype.size_in_bytes() == 2 { DType::F32 } else { dtype })?;
    let largest = Amax.call(&wide, &[dim], true)?;
    let hidden = EqScalar.call(&largest, f64::NEG_INFINITY.into())?;
    let largest = MaskedFillScalar.call(&largest, &hidden, 0.into())?;
    let weights = Exp.call(&SubTensor.call(&wide, &largest, 1.into())?)?;
    let sum = SumDim.call(&weights, Some(&[dim]), true, None)?;
    let sum = MaskedFillScalar.call(&sum, &hidden, 1.into())?;
    to(&DivTensor.call(&weights, &sum)?, dtype)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples
            .operator(SafeSoftmax, normalisations::samples::FLOATS, inputs, reference)
            .tolerance(16.0)
            .refuses(
                "can't be cast",
                given(generate::numbers(DType::Complex64, &[2], 0)).and(0).and(DType::F64),
            )
            .refuses("range", given(generate::numbers(DType::F32, &[2], 0)).and(1));
        samples.rounds(SafeSoftmax, Roundings::all(Rounding::Result(16)));
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        let cases: [(&[i64], i64); 6] =
            [(&[2, 3], -1), (&[2, 3], 0), (&[3, 2, 4], 1), (&[], 0), (&[0, 3], 1), (&[2, 40], 1)];
        let mut samples: Vec<Sample> = cases
            .into_iter()
            .map(|(sizes, dim)| given(generate::numbers(dtype, sizes, 1)).and(dim))
            .collect();
        if dtype.is_floating_point() {
            let hidden = [f64::NEG_INFINITY, f64::NEG_INFINITY, 1.0, f64::NEG_INFINITY];
            samples.push(given(Plain::from_elements(dtype, &[2, 2], &hidden)).and(1));
            samples.push(given(generate::numbers(dtype, &[2, 3], 1)).and(1).and(DType::F64));
        }
        samples
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let (x, dim) = (it.tensor("self")?, it.value::<i64>("dim")?);
        let dtype = it.option::<DType>("dtype")?.unwrap_or(x.dtype());
        let dim = naive::dimension(dim, x.sizes().len());
        let result = Plain::from_fn(dtype, x.sizes(), |position| {
            let at = |index: i64| {
                let mut position = position.to_vec();
                if let Some(place) = position.get_mut(dim) {
                    *place = index;
                }
                x.at(&position).to_complex().re
            };
            let n = x.sizes().get(dim).copied().unwrap_or(1);
            let largest = (0..n).map(at).fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = (0..n).map(|index| (at(index) - largest).exp()).sum();
            let own = at(position.get(dim).copied().unwrap_or(0));
            Scalar::Float(if largest == f64::NEG_INFINITY { 0.0 } else { (own - largest).exp() / sum })
        });
        Ok(result.into())
    }
}
