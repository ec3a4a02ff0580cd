//! What sums and products share, of dimensions and cumulative ones: the dtype that they are computed in.

use opgrid_core::{DType, Result};

use opgrid_array::error::argument;
use opgrid_tensor::tensor::Tensor;

/// The dtype that is computed in for an output: `dtype` if given, otherwise that of the output.
///
/// # Errors
///
/// An output of another dtype than `dtype`.
pub(crate) fn out_dtype(dtype: Option<DType>, out: &Tensor) -> Result<DType> {
    let found = out.dtype();
    match dtype {
        Some(dtype) if dtype != found => {
            Err(argument(format!("expected out tensor to have dtype {dtype}, but got {found} instead")))
        }
        _ => Ok(found),
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    /// The dtype of the result for a sample.
    pub(crate) fn expected_dtype(it: &Inputs, input: &Plain) -> Result<DType> {
        Ok(it.option::<DType>("dtype")?.unwrap_or(match input.dtype() {
            dtype if dtype.is_floating_point() || dtype.is_complex() => dtype,
            _ => DType::I64,
        }))
    }
}
