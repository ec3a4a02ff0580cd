//! `aten::is_floating_point`, `aten::is_complex`, `aten::is_signed`: what the elements of a tensor are.
//!
//! - Answers: whether the dtype is one of floats or of complex numbers, and whether it has negative numbers.
//! - Source: torch.is_floating_point, torch.is_complex, torch.Tensor.is_signed, PyTorch 2.15.

use crate::prelude::*;

pub use opgrid_tensor::ops::questions::dtypes::*;

pub(super) fn register(library: &mut Library) {
    library
        .define(IsFloatingPoint)
        .kind(&kind::QUESTION)
        .implicit(|input| Ok(input.spec()?.dtype().is_floating_point()));
    library.define(IsComplex).kind(&kind::QUESTION).implicit(|input| Ok(input.spec()?.dtype().is_complex()));
    library.define(IsSigned).kind(&kind::QUESTION).implicit(|input| Ok(input.spec()?.dtype().is_signed()));
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let of_dtype = |it: &Inputs, prefixes: &[&str]| -> Result<Expected> {
            let name = it.tensor("self")?.dtype().to_string();
            Ok(Expected::Value(prefixes.iter().any(|prefix| name.starts_with(prefix)).into()))
        };
        samples.operator_with(IsFloatingPoint, STORED, generate::unary_numbers, move |it| {
            of_dtype(it, &["float", "bfloat"])
        });
        samples
            .operator_with(IsComplex, STORED, generate::unary_numbers, move |it| of_dtype(it, &["complex"]));
        let signed = ["int", "float", "bfloat", "complex"];
        samples.operator_with(IsSigned, STORED, generate::unary_numbers, move |it| of_dtype(it, &signed));
    }
}
