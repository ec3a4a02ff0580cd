//! Functions of floating-point and complex numbers, for [`elementwise`](super::elementwise) loops.
//!
//! Those of real numbers are in `polynomials`, without branches, so that they become vector code; those of complex
//! numbers are made of the standard library's.

use num_complex::Complex;

use super::arithmetic::Arithmetic;
use super::function::{Function, methods, partial, unfused};
use super::polynomials::{Elementary, Polynomials};
use crate::{Bool, Element};

/// A type with the elementary functions.
pub trait Inexact: Arithmetic {
    /// Whether loops of its functions gain by the widest vectors: those of complex numbers are calls.
    const IS_WIDE: bool = false;

    /// `e` to the power of this.
    fn exp(self) -> Self;

    /// The natural logarithm.
    fn log(self) -> Self;

    /// The square root.
    fn sqrt(self) -> Self;

    /// The hyperbolic tangent.
    fn tanh(self) -> Self;

    /// The quotient.
    fn over(self, other: Self) -> Self;

    /// One divided by this.
    #[inline(always)]
    fn reciprocal(self) -> Self {
        Self::ONE.over(self)
    }

    /// `1 / (1 + e ^ -self)`.
    #[inline(always)]
    fn sigmoid(self) -> Self {
        Self::ONE.plus(Inexact::exp(self.negated())).reciprocal()
    }

    /// One divided by the square root.
    #[inline(always)]
    fn reciprocal_root(self) -> Self {
        Inexact::sqrt(self).reciprocal()
    }

    /// The largest [`exp_distance`](Self::exp_distance) of numbers whose exponentials can be had in fewer steps.
    const EXP_REACH: u32 = 0;

    /// How far this and its negative are from numbers whose exponentials can be had in fewer steps.
    #[inline(always)]
    fn exp_distance(self) -> u32 {
        0
    }

    /// The exponential in fewer steps.
    #[inline(always)]
    fn exp_near(self) -> Self {
        Inexact::exp(self)
    }

    /// `1 / (1 + e ^ -self)` in fewer steps.
    #[inline(always)]
    fn sigmoid_near(self) -> Self {
        self.sigmoid()
    }

    /// The largest [`log_distance`](Self::log_distance) of numbers whose logarithms can be had in fewer steps.
    const LOG_REACH: u32 = 0;

    /// How far this is from numbers whose logarithms can be had in fewer steps.
    #[inline(always)]
    fn log_distance(self) -> u32 {
        0
    }

    /// The natural logarithm in fewer steps.
    #[inline(always)]
    fn log_near(self) -> Self {
        Inexact::log(self)
    }

    unfused! { Inexact:
        exp_unfused = exp,
        exp_near_unfused = exp_near,
        log_unfused = log,
        log_near_unfused = log_near,
        tanh_unfused = tanh,
        sigmoid_unfused = sigmoid,
        sigmoid_near_unfused = sigmoid_near,
    }
}

/// The hyperbolic tangent.
#[derive(Clone, Copy, Debug)]
pub struct HyperbolicTangent;

impl<T: Inexact> Function<(T,)> for HyperbolicTangent {
    type Output = T;
    const IS_LONG: bool = true;
    const IS_WIDE: bool = T::IS_WIDE;

    #[inline(always)]
    fn call(self, (x,): (T,)) -> T {
        Inexact::tanh(x)
    }

    #[inline(always)]
    fn call_unfused(self, (x,): (T,)) -> T {
        Inexact::tanh_unfused(x)
    }
}

methods! { Inexact, long: false:
    /// The square root.
    SquareRoot = sqrt(x);
    /// One divided by a number.
    Reciprocal = reciprocal(x);
    /// One divided by the square root.
    ReciprocalRoot = reciprocal_root(x);
}

partial! { Inexact, long: true:
    /// The exponential.
    Exponential = exp_near if exp_distance <= T::EXP_REACH, else exp, unfused exp_near_unfused and exp_unfused;
    /// The natural logarithm.
    Logarithm = log_near if log_distance <= T::LOG_REACH, else log, unfused log_near_unfused and log_unfused;
    /// `1 / (1 + e ^ -x)`.
    Logistic = sigmoid_near if exp_distance <= T::EXP_REACH, else sigmoid, unfused sigmoid_near_unfused and sigmoid_unfused;
}

/// A type with a distance from zero.
pub trait Magnitude: Sized {
    /// What distances are.
    type Real: Element;

    /// The distance from zero.
    fn magnitude(self) -> Self::Real;

    /// The distance from zero or its negative, whichever takes less work.
    #[inline(always)]
    fn with_any_sign(self) -> Self::Real {
        self.magnitude()
    }
}

macro_rules! real {
    ($($type:ty),*) => {
        $(impl Inexact for $type {
            const IS_WIDE: bool = true;
            const EXP_REACH: u32 = <$type as Polynomials>::EXPONENTIAL_REACH;
            const LOG_REACH: u32 = <$type as Polynomials>::LOGARITHM_REACH;

            #[inline(always)]
            fn exp(self) -> Self {
                self.exponential()
            }

            #[inline(always)]
            fn log(self) -> Self {
                self.logarithm()
            }

            #[inline(always)]
            fn exp_distance(self) -> u32 {
                self.exponential_distance()
            }

            #[inline(always)]
            fn exp_near(self) -> Self {
                self.exponential_near()
            }

            #[inline(always)]
            fn sigmoid_near(self) -> Self {
                1.0 / (1.0 + (-self).exponential_near())
            }

            #[inline(always)]
            fn log_distance(self) -> u32 {
                self.logarithm_distance()
            }

            #[inline(always)]
            fn log_near(self) -> Self {
                self.logarithm_near()
            }

            #[inline(always)]
            fn exp_unfused(self) -> Self {
                self.elementary::<false>(Elementary::Exponential)
            }

            #[inline(always)]
            fn exp_near_unfused(self) -> Self {
                self.elementary::<false>(Elementary::ExponentialNear)
            }

            #[inline(always)]
            fn log_unfused(self) -> Self {
                self.elementary::<false>(Elementary::Logarithm)
            }

            #[inline(always)]
            fn log_near_unfused(self) -> Self {
                self.elementary::<false>(Elementary::LogarithmNear)
            }

            #[inline(always)]
            fn tanh_unfused(self) -> Self {
                self.elementary::<false>(Elementary::HyperbolicTangent)
            }

            #[inline(always)]
            fn sigmoid_unfused(self) -> Self {
                1.0 / (1.0 + (-self).exp_unfused())
            }

            #[inline(always)]
            fn sigmoid_near_unfused(self) -> Self {
                1.0 / (1.0 + (-self).exp_near_unfused())
            }

            #[inline(always)]
            fn sqrt(self) -> Self {
                <$type>::sqrt(self)
            }

            #[inline(always)]
            fn tanh(self) -> Self {
                self.hyperbolic_tangent()
            }

            #[inline(always)]
            fn over(self, other: Self) -> Self {
                self / other
            }
        }

        impl Magnitude for $type {
            type Real = Self;

            #[inline(always)]
            fn magnitude(self) -> Self {
                self.abs()
            }

            #[inline(always)]
            fn with_any_sign(self) -> Self {
                self
            }
        })*
    };
}

real!(f32, f64);

macro_rules! complex {
    ($($part:ident),*) => {
        $(impl Inexact for Complex<$part> {
            /// At infinity and for NaN as in C. Beyond the range of the real exponential the result may still be in it,
            /// and is multiplied up to there.
            #[inline]
            fn exp(self) -> Self {
                let Self { re, im } = self;
                if im == 0.0 {
                    return Self::new(re.exp(), im);
                }
                if !im.is_finite() && re.is_infinite() {
                    let (re, im) = if re > 0.0 { (re, <$part>::NAN) } else { (0.0, 0.0) };
                    return Self::new(re, im);
                }
                let (sin, cos) = im.sin_cos();
                let whole = re.exp();
                if whole.is_finite() {
                    return Self::new(whole * cos, whole * sin);
                }
                // The difference is exact, and so is the number of times that it is made up for.
                const STEP: $part = <$part>::MAX_EXP as $part / 2.0;
                let (mut rest, mut steps) = (re, 0);
                while rest > STEP && steps < 3 {
                    (rest, steps) = (rest - STEP, steps + 1);
                }
                let (first, step) = (rest.exp(), STEP.exp());
                let scaled = |part: $part| (0..steps).fold(part * first, |scaled, _| scaled * step);
                Self::new(scaled(cos), scaled(sin))
            }

            #[inline]
            fn log(self) -> Self {
                let norm = self.norm();
                if norm.is_infinite() && self.is_finite() {
                    return Complex::ln(self * 0.5) + <$part>::ln(2.0);
                }
                if norm < <$part>::MIN_POSITIVE && norm > 0.0 {
                    return Complex::ln(self / <$part>::EPSILON) + <$part>::EPSILON.ln();
                }
                if !(0.5..=2.0).contains(&norm) {
                    return Complex::ln(self);
                }
                // Near the unit circle the square of the distance from it has more digits than the norm.
                let (large, small) = match (self.re.abs(), self.im.abs()) {
                    (re, im) if re > im => (re, im),
                    (re, im) => (im, re),
                };
                Self::new(((large - 1.0) * (large + 1.0) + small * small).ln_1p() * 0.5, self.arg())
            }

            /// At infinity as in C.
            #[inline]
            fn sqrt(self) -> Self {
                if self.is_finite() {
                    const TINY: $part = <$part>::EPSILON * <$part>::EPSILON;
                    return match self.norm() {
                        norm if norm.is_infinite() => Complex::sqrt(self * 0.25) * 2.0,
                        norm if norm < <$part>::MIN_POSITIVE => Complex::sqrt(self / TINY) * <$part>::EPSILON,
                        _ => Complex::sqrt(self),
                    };
                }
                let beside = if self.im.is_nan() { <$part>::NAN } else { 0.0 };
                match (self.re, self.im) {
                    (_, im) if im.is_infinite() => Self::new(<$part>::INFINITY, im),
                    (<$part>::INFINITY, im) => Self::new(<$part>::INFINITY, beside.copysign(im)),
                    (<$part>::NEG_INFINITY, im) => Self::new(beside, <$part>::INFINITY.copysign(im)),
                    _ => Self::new(<$part>::NAN, <$part>::NAN),
                }
            }

            /// Far from zero in the real direction hyperbolic sine and cosine overflow, but not their quotient.
            ///
            /// Source: W. Kahan, Branch Cuts for Complex Elementary Functions, in: The State of the Art in Numerical
            /// Analysis (1987).
            #[inline]
            fn tanh(self) -> Self {
                if self.im == 0.0 {
                    return Self::new(self.re.tanh(), self.im);
                }
                if self.re == 0.0 && !self.im.is_finite() {
                    return Self::new(self.re, <$part>::NAN);
                }
                if self.re.is_infinite() || (self.re.abs() > 20.0 && self.im.is_finite()) {
                    let far = <$part>::exp(-2.0 * self.re.abs());
                    let turn = if self.re.is_infinite() {
                        (0.0 as $part).copysign(self.im)
                    } else {
                        4.0 * self.im.sin() * self.im.cos() * far
                    };
                    return Self::new((1.0 as $part).copysign(self.re), turn);
                }
                let (sinh, tan) = (self.re.sinh(), self.im.tan());
                let beta = 1.0 + tan * tan;
                let below = 1.0 + beta * sinh * sinh;
                Self::new(beta * (1.0 + sinh * sinh).sqrt() * sinh / below, tan / below)
            }

            /// By the exponential that does not overflow.
            #[inline]
            fn sigmoid(self) -> Self {
                if self.re < 0.0 {
                    let small = Inexact::exp(self);
                    return small.over(Self::ONE + small);
                }
                Self::ONE.plus(Inexact::exp(self.negated())).reciprocal()
            }

            /// Scaled by the larger part of the divisor, so that squares neither overflow nor vanish.
            ///
            /// Source: R. L. Smith, Algorithm 116: Complex division, Communications of the ACM 5 (1962).
            #[inline]
            fn over(self, other: Self) -> Self {
                if other.re.abs() >= other.im.abs() {
                    if other == Self::ZERO {
                        return Self::new(self.re / other.re.abs(), self.im / other.im.abs());
                    }
                    let ratio = other.im / other.re;
                    let scale = 1.0 / (other.re + other.im * ratio);
                    Self::new((self.re + self.im * ratio) * scale, (self.im - self.re * ratio) * scale)
                } else {
                    let ratio = other.re / other.im;
                    let scale = 1.0 / (other.re * ratio + other.im);
                    Self::new((self.re * ratio + self.im) * scale, (self.im * ratio - self.re) * scale)
                }
            }
        }

        impl Magnitude for Complex<$part> {
            type Real = $part;

            #[inline]
            fn magnitude(self) -> $part {
                self.norm()
            }
        })*
    };
}

complex!(f32, f64);

macro_rules! integers {
    ($($type:ty, |$value:ident| $magnitude:expr;)*) => {
        $(impl Magnitude for $type {
            type Real = Self;

            #[inline(always)]
            fn magnitude(self) -> Self {
                let $value = self;
                $magnitude
            }
        })*
    };
}

integers! {
    u8, |value| value;
    i8, |value| value.wrapping_abs();
    i16, |value| value.wrapping_abs();
    i32, |value| value.wrapping_abs();
    i64, |value| value.wrapping_abs();
    u64, |value| value;
}

/// A type whose values have a conjugate: themselves where they are real.
pub trait Conjugate: Arithmetic {
    /// The number with the other imaginary part.
    fn conjugate(self) -> Self;
}

macro_rules! conjugates {
    ($($type:ty, |$value:ident| $conjugate:expr;)*) => {
        $(impl Conjugate for $type {
            #[inline(always)]
            fn conjugate(self) -> Self {
                let $value = self;
                $conjugate
            }
        })*
    };
}

conjugates! {
    f32, |value| value;
    f64, |value| value;
    Complex<f32>, |value| value.conj();
    Complex<f64>, |value| value.conj();
}

/// A type whose values lie in a direction from zero.
pub trait Direction: Arithmetic {
    /// The number at distance one from zero in this direction, or zero; NaN has none.
    fn direction(self) -> Self;
}

macro_rules! directions {
    ($($type:ident),*) => {
        $(#[allow(unused_comparisons, reason = "the same body for signed and unsigned types")]
        impl Direction for $type {
            #[inline(always)]
            fn direction(self) -> Self {
                let one_if = |is_so: bool| if is_so { 1 as $type } else { 0 as $type };
                // No unsigned number is below zero, so that nothing wraps.
                one_if(self > (0 as $type)) - one_if(self < (0 as $type))
            }
        })*
    };
}

directions!(u8, i8, i16, i32, i64, u64, f32, f64);

impl Direction for Bool {
    #[inline(always)]
    fn direction(self) -> Self {
        self
    }
}

macro_rules! complex_directions {
    ($($part:ident),*) => {
        $(impl Direction for Complex<$part> {
            #[inline]
            fn direction(self) -> Self {
                if self == Self::ZERO { Self::ZERO } else { self / self.norm() }
            }
        })*
    };
}

complex_directions!(f32, f64);

/// A number with the type of its parts, which is its own for real ones: that of the dtype that
/// [`part_of`](crate::part_of) gives.
pub trait Parts {
    /// The type of the parts.
    type Part: Element;
}

/// The type of a number's parts.
pub type PartOf<T> = <T as Parts>::Part;

macro_rules! parts {
    ($($type:ty => $part:ty),*) => {
        $(impl Parts for $type {
            type Part = $part;
        })*
    };
}

parts!(u8 => Self, i8 => Self, i16 => Self, i32 => Self, i64 => Self, u64 => Self);
parts!(half::f16 => Self, half::bf16 => Self, f32 => Self, f64 => Self, Complex<f32> => f32, Complex<f64> => f64);

/// A type with an angle, seen from zero: that of real numbers is 0, or pi of negative ones.
pub trait Phase: Magnitude {
    /// The angle; NaN of NaN.
    fn phase(self) -> Self::Real;
}

macro_rules! phases {
    ($($part:ident),*) => {
        $(impl Phase for $part {
            #[inline(always)]
            fn phase(self) -> Self {
                let angle = if self < 0.0 { std::f64::consts::PI as $part } else { 0.0 };
                if self.is_nan() { self } else { angle }
            }
        }

        impl Phase for Complex<$part> {
            #[inline]
            fn phase(self) -> $part {
                self.im.atan2(self.re)
            }
        })*
    };
}

phases!(f32, f64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_of_complex_numbers_neither_overflow_nor_vanish() {
        let large = Complex::new(1e200, 1e200);
        assert_eq!(large.over(large), Complex::new(1.0, 0.0));
        let small = Complex::new(0.0, 1e-200);
        assert_eq!(small.over(small), Complex::new(1.0, 0.0));
        assert!(Complex::new(1.0f32, 0.0).over(Complex::ZERO).re.is_infinite());
    }

    #[test]
    fn the_smallest_integer_is_its_own_magnitude() {
        assert_eq!((i8::MIN.magnitude(), (-3i64).magnitude(), 200u8.magnitude()), (i8::MIN, 3, 200));
    }
}
