//! What products of matrices share: the checks of their arguments.

use num_complex::Complex64;
use opgrid_core::{DType, Result, Scalar};

use super::pointwise;
use crate::error::argument;
use crate::kernels::access::READ_AFTER_WRITTEN;
use crate::kernels::reduce;
use crate::samples::{Difference, Operand, Part};
use crate::tensor::TensorSpec;

/// # Errors
///
/// Factors of different dtypes or devices, or of bools, which have no product: also where there is nothing to multiply.
pub(crate) fn check_factors(factors: &[(&str, &TensorSpec)]) -> Result<()> {
    let Some(((first, a), rest)) = factors.split_first() else { return Ok(()) };
    if let Some((name, b)) = rest.iter().find(|(_, b)| (a.dtype(), a.device()) != (b.dtype(), b.device())) {
        let message = format!(
            "argument `{name}` is {} on {}, expected {} on {} as `{first}`; convert one of them",
            b.dtype(),
            b.device(),
            a.dtype(),
            a.device()
        );
        return Err(argument(message));
    }
    pointwise::check_numbers(a.dtype())
}

/// Whether sizes are right for a sample: bools are refused only where something is multiplied.
pub(crate) fn is_sample(dtype: DType, sizes: &[i64]) -> bool {
    dtype != DType::Bool || !sizes.contains(&0)
}

/// The differences from torch that all products have.
pub(crate) const DIFFERENCES: &[Difference] =
    &[reduce::NOT_FINITE, CHECKED_WITHOUT_ELEMENTS, KEEPS_STRIDES, READ_AFTER_WRITTEN];

const CHECKED_WITHOUT_ELEMENTS: Difference = Difference {
    id: "products-are-checked-without-elements",
    what: "torch does not look at dtypes and numbers of a product of nothing; here they are checked and \
           converted as with elements",
    why: "whether a program is right must not depend on its data",
    test: ("opgrid-tensor/tests/differences.rs", "what_is_refused_with_elements_is_refused_without"),
    when: |seen| {
        let words = ["cannot be converted", "convert one of them", "not implemented for 'Bool'"];
        let vanishes = match seen.number("alpha") {
            Some(Scalar::Float(value)) => !value.is_finite() || value == 0.0,
            Some(Scalar::Int(value)) => value == 0,
            Some(Scalar::Bool(value)) => !value,
            Some(Scalar::Complex(value)) => !value.is_finite() || value == Complex64::ZERO,
            None => false,
        };
        let is_checked = words.iter().any(|words| seen.we_refuse(words));
        let is_empty = seen.inputs().iter().any(|input| input.is_empty());
        (is_checked && (is_empty || vanishes))
            || (vanishes && !seen.elements.is_empty())
            || (is_empty && seen.torch_refuses("can't be cast"))
    },
    directed: None,
};

const KEEPS_STRIDES: Difference = Difference {
    id: "outputs-of-products-keep-their-strides",
    what: "torch writes a product in rows, whatever strides an output of its shape has, and gives it \
           those; here the output keeps its strides",
    why: "others who look at the memory see what they asked for",
    test: ("opgrid-tensor/tests/differences.rs", "products_into_their_own_factors"),
    when: |seen| {
        let keeps = |out: &Operand| match seen.part {
            Part::Strides => format!("{:?}", out.geometry.strides()) == seen.ours,
            Part::Written => out.geometry.strides().iter().any(|stride| *stride != 1),
            _ => false,
        };
        seen.out().is_some_and(keeps)
    },
    directed: None,
};
