//! Conversion of elements.

use crate::{Difference, Operand};
use opgrid_tensor::tensor::iinfo;

/// The differences from torch that come of it.
pub const DIFFERENCES: &[Difference] = &[Difference {
    id: "floats-beyond-integers",
    what: "torch leaves conversions of floats that overflow an integer dtype to the processor, usually \
         through wider integers whose high bits are dropped; here the result is the nearest limit of \
         the dtype, and NaN becomes 0",
    why: "results must not depend on the processor or its vector width",
    test: ("opgrid-operators/tests/all/differences/numbers.rs", "floats_beyond_the_integers"),
    when: |seen| {
        let Some((dtype, ..)) = seen.elements.first() else { return false };
        let Ok(limits) = iinfo(*dtype) else { return false };
        let (least, most) = (limits.min as f64, limits.max as f64);
        let range = i128::from(limits.min)..=i128::from(limits.max);
        let is_beyond = |value: f64| value.is_nan() || !range.contains(&(value.trunc() as i128));
        let of_tensor = |(_, tensor): &(&str, &Operand)| {
            !tensor.dtype.is_integral() && tensor.elements.iter().any(|element| is_beyond(element.re))
        };
        // Sums and products are of elements that were converted.
        let is_total = matches!(seen.family(), "sum" | "nansum" | "prod" | "cumsum" | "cumprod");
        let is_drawn = seen.family() == "geometric";
        let is_end = |value: f64| value == 0.0 || value == least || value == most || is_total;
        (is_drawn || seen.tensors().iter().any(of_tensor)) && seen.each(|(_, ours, _)| is_end(ours.re))
    },
    directed: None,
}];
