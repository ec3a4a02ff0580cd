//! Promotion of dtypes.

use num_complex::Complex64;
use opgrid_core::{DType, Scalar};

use crate::{Difference, Operand, Part};

/// The differences from torch that come of it.
pub const DIFFERENCES: &[Difference] = &[Difference {
    id: "complex-of-16-bit-floats",
    what: "torch promotes complex numbers with 16-bit floats to a 16-bit complex dtype, in which \
         results overflow; here they are complex64",
    why: "no processor supports 16-bit complex numbers, and torch has few kernels for them",
    test: ("opgrid-operators/tests/turns/promotion.rs", "every_category_under_every_default"),
    when: |seen| {
        let narrow = seen.meets_dtype(&[DType::F16, DType::BF16]);
        let is_number = seen.numbers().any(|number| matches!(number, Scalar::Complex(_)));
        let is_complex = is_number
            || seen.tensors().iter().any(|(_, tensor)| tensor.dtype.is_complex())
            || matches!(seen.family(), "linspace" | "full" | "scalar_tensor" | "rand" | "randn");
        let told = seen.torch.to_lowercase();
        let is_told = ["complex32", "complexhalf", "complex<c10::"].iter().any(|words| told.contains(words));
        let leaves =
            seen.each(|(dtype, ours, torch)| dtype.is_complex() && ours.is_finite() && !torch.is_finite());
        // Rounded to 16 bits, numbers are equal that are not.
        let is_equal_there = |ours: &Complex64, torch: &Complex64| match seen.family() {
            "eq" => ours.re == 0.0 && torch.re == 1.0,
            _ => ours.re == 1.0 && torch.re == 0.0,
        };
        let is_single =
            |(_, tensor): &(&str, &Operand)| tensor.dtype.is_complex() && tensor.geometry.dims() == 0;
        let is_compared = matches!(seen.family(), "eq" | "ne")
            && (is_number || seen.tensors().iter().any(is_single))
            && seen.each(|(_, ours, torch)| is_equal_there(ours, torch));
        let is_refused = matches!(seen.part, Part::Outcome | Part::Kind) && is_told;
        narrow && is_complex && (is_refused || leaves || is_compared)
    },
    directed: None,
}];
