//! What the factorizations need of a number.

use faer::traits::{ComplexField, RealField};

/// A number of `faer` that is copied.
pub(crate) trait Number: ComplexField<Real: RealField + Copy> + Copy {
    fn conjugate(self) -> Self {
        Self::conj_impl(&self)
    }

    fn real(self) -> Self::Real {
        Self::real_part_impl(&self)
    }

    fn imaginary(self) -> Self::Real {
        Self::imag_part_impl(&self)
    }

    fn from_real(real: Self::Real) -> Self {
        Self::from_real_impl(&real)
    }

    /// The absolute value.
    fn size(self) -> Self::Real {
        Self::abs_impl(&self)
    }

    /// The sum of the absolute values of both parts, by which LAPACK chooses pivots.
    fn size_of_parts(self) -> Self::Real {
        Self::abs1_impl(&self)
    }

    fn root(self) -> Self {
        Self::sqrt_impl(&self)
    }

    fn is_finite(self) -> bool {
        Self::is_finite_impl(&self)
    }
}

impl<T: ComplexField<Real: RealField + Copy> + Copy> Number for T {}

pub(crate) fn zero<T: ComplexField>() -> T {
    T::zero_impl()
}

pub(crate) fn one<T: ComplexField>() -> T {
    T::one_impl()
}
