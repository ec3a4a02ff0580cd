//! What the factorizations need of a number, and matrices whose elements are far from 1.

use std::borrow::Cow;

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

/// By which power of two a matrix is multiplied so that squares of its elements neither overflow nor vanish, and by which what is
/// computed of it to make up for that. Both are 1 for most matrices.
pub(crate) struct Scale<R> {
    to: R,
    back: R,
}

impl<R: RealField + Copy> Scale<R> {
    pub(crate) fn new<T: Number<Real = R>>(elements: &[T]) -> Self {
        let parts = elements.iter().flat_map(|element| [element.real().size(), element.imaginary().size()]);
        let largest = parts.fold(zero::<R>(), |largest, part| if part > largest { part } else { largest });
        let down = R::sqrt_min_positive_impl();
        let up = one::<R>() / down;
        let (low, high) = (down.root(), up.root());
        let mut to = one::<R>();
        if largest > zero() && largest.is_finite() {
            while largest * to > high {
                to *= down;
            }
            while largest * to < low {
                to *= up;
            }
        }
        Self { to, back: one::<R>() / to }
    }

    /// The matrix to compute with.
    pub(crate) fn applied<'m, T: Number<Real = R>>(&self, elements: &'m [T]) -> Cow<'m, [T]> {
        if self.to == one() {
            return Cow::Borrowed(elements);
        }
        let mut scaled = elements.to_vec();
        self.apply(&mut scaled);
        Cow::Owned(scaled)
    }

    /// Makes a matrix the one to compute with.
    pub(crate) fn apply<T: Number<Real = R>>(&self, elements: &mut [T]) {
        if self.to != one() {
            elements.iter_mut().for_each(|element| *element *= T::from_real(self.to));
        }
    }

    /// A value of the matrix that was given, where it is one of the matrix that was computed with.
    pub(crate) fn undone<T: Number<Real = R>>(&self, value: T) -> T {
        if self.back == one() { value } else { value * T::from_real(self.back) }
    }
}

pub(crate) fn zero<T: ComplexField>() -> T {
    T::zero_impl()
}

pub(crate) fn one<T: ComplexField>() -> T {
    T::one_impl()
}
