//! How far an operator's results may lie from torch's.

/// How results are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// Bit by bit: elements are moved, compared, or computed by operations that are correctly rounded. NaN equals NaN.
    Exact,
    /// By so many times the precision of the dtype, beside the result: neither side rounds the function correctly.
    Result(u32),
    /// By so many times the precision, beside the largest sum that the inputs could have: the order of the terms is
    /// not the same, and both sides keep more digits than the result has.
    Sum(u32),
    /// As [`Sum`](Self::Sum), where the terms are products of two elements.
    Products(u32),
    /// As [`Result`](Self::Result), but beside one where the result is smaller: terms near one cancel at its zeros.
    Near(u32),
    /// As [`Result`](Self::Result), and coarser the larger exponents are: the error of a logarithm is multiplied.
    Power(u32),
    /// Not at all: the elements were never written, or which ones of several are given is not defined.
    Unset,
}

/// The roundings of an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Roundings {
    real: Rounding,
    complex: Rounding,
    scaled: Option<Rounding>,
}

impl Roundings {
    /// Uses one rounding for all calls.
    pub const fn all(rounding: Rounding) -> Self {
        Self { real: rounding, complex: rounding, scaled: None }
    }

    /// Another one where complex numbers are computed with: several roundings, which are fused and ordered otherwise.
    #[must_use]
    pub const fn complex(self, complex: Rounding) -> Self {
        Self { complex, ..self }
    }

    /// Another one where a factor other than one is given: a product and a sum, fused where the processor can.
    #[must_use]
    pub const fn scaled(self, scaled: Rounding) -> Self {
        Self { scaled: Some(scaled), ..self }
    }

    /// The one for a call.
    pub fn select(self, is_complex: bool, is_scaled: bool) -> Rounding {
        match self.scaled {
            Some(scaled) if is_scaled => scaled,
            _ if is_complex => self.complex,
            _ => self.real,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_come_before_complex_numbers() {
        let sum = Roundings::all(Rounding::Exact).complex(Rounding::Result(4)).scaled(Rounding::Sum(2));
        let found = [(false, false), (true, false), (false, true), (true, true)]
            .map(|(is_complex, is_scaled)| sum.select(is_complex, is_scaled));
        assert_eq!(found, [Rounding::Exact, Rounding::Result(4), Rounding::Sum(2), Rounding::Sum(2)]);
        assert_eq!(Roundings::all(Rounding::Power(4)).select(true, true), Rounding::Power(4));
    }
}
