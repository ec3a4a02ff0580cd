//! Elementary functions of complex numbers, made of real ones so that none loses digits near the branch points.
//!
//! Branch cuts are where C has them; a zero's sign says on which side of a cut a number lies. Results for infinite parts and
//! for NaN are those of C, annex G.
//!
//! Source of the inverse functions: W. Kahan, Branch Cuts for Complex Elementary Functions, in: The State of the Art in
//! Numerical Analysis (1987).

use num_complex::Complex;

use super::functions::Functions;
use opgrid_array::loops::math::Inexact;

/// `i z`.
#[inline]
fn turned<T: std::ops::Neg<Output = T>>(z: Complex<T>) -> Complex<T> {
    Complex::new(-z.im, z.re)
}

/// Numbers near the end of the range and beyond it, whose inverse functions are logarithms of twice the number: products of
/// square roots leave the range there.
trait Far: Sized {
    type Part;

    /// The logarithm of twice the magnitude, for such numbers.
    fn far(self) -> Option<Self::Part>;

    /// What a function gives where a part is NaN: `far` beside an infinite part, `on_axis` beside a real part of zero, and
    /// else NaN.
    fn without_number(self, far: Self, on_axis: Self) -> Option<Self>;

    /// A factor times half the exponential of the magnitude of the real part: what the hyperbolic functions of a large number
    /// are. The product may be in the range where the exponential is not.
    fn grown(self, factor: Self::Part) -> Self::Part;
}

/// `-i z`.
#[inline]
fn turned_back<T: std::ops::Neg<Output = T>>(z: Complex<T>) -> Complex<T> {
    Complex::new(z.im, -z.re)
}

macro_rules! complex {
    ($($part:ident),*) => {
        $(impl Far for Complex<$part> {
            type Part = $part;

            fn far(self) -> Option<$part> {
                let largest = self.re.abs().max(self.im.abs());
                let is_far = largest > <$part>::MAX / 8.0 && !self.is_nan();
                is_far.then(|| (self.re / 8.0).hypot(self.im / 8.0).ln() + 4.0 * std::$part::consts::LN_2)
            }

            fn without_number(self, far: Self, on_axis: Self) -> Option<Self> {
                self.is_nan().then(|| match self {
                    Self { re, im } if re.is_infinite() || im.is_infinite() => far,
                    Self { re: 0.0, .. } => on_axis,
                    _ => Self::new(<$part>::NAN, <$part>::NAN),
                })
            }

            fn grown(self, factor: $part) -> $part {
                let root = Inexact::exp(0.5 * self.re.abs());
                root * (0.5 * factor) * root
            }
        }

        impl Functions for Complex<$part> {
            #[inline]
            fn sin(self) -> Self {
                turned_back(Functions::sinh(turned(self)))
            }

            #[inline]
            fn cos(self) -> Self {
                Functions::cosh(turned(self))
            }

            #[inline]
            fn tan(self) -> Self {
                turned_back(Inexact::tanh(turned(self)))
            }

            fn asin(self) -> Self {
                let infinite = Self::new(<$part>::NAN, <$part>::INFINITY.copysign(self.im));
                if let Some(result) = self.without_number(infinite, Self::new(self.re, <$part>::NAN)) {
                    return result;
                }
                if let Some(log) = self.far() {
                    return Self::new(self.re.atan2(self.im.abs()), log.copysign(self.im));
                }
                let (less, more) = (Inexact::sqrt(Self::new(1.0 - self.re, -self.im)), Inexact::sqrt(Self::new(1.0 + self.re, self.im)));
                let re = self.re.atan2(less.re * more.re - less.im * more.im);
                Self::new(re, Functions::asinh(less.re * more.im - less.im * more.re))
            }

            fn acos(self) -> Self {
                let infinite = Self::new(<$part>::NAN, -<$part>::INFINITY.copysign(self.im));
                let on_axis = Self::new(std::$part::consts::FRAC_PI_2, <$part>::NAN);
                if let Some(result) = self.without_number(infinite, on_axis) {
                    return result;
                }
                if let Some(log) = self.far() {
                    return Self::new(self.im.abs().atan2(self.re), -log.copysign(self.im));
                }
                let (less, more) = (Inexact::sqrt(Self::new(1.0 - self.re, -self.im)), Inexact::sqrt(Self::new(1.0 + self.re, self.im)));
                let re = 2.0 * less.re.atan2(more.re);
                Self::new(re, Functions::asinh(more.re * less.im - more.im * less.re))
            }

            #[inline]
            fn atan(self) -> Self {
                turned_back(Functions::atanh(turned(self)))
            }

            /// Real numbers stay real, infinite ones as well.
            fn sinh(self) -> Self {
                if self.im == 0.0 {
                    return Self::new(Functions::sinh(self.re), self.im);
                }
                if !self.im.is_finite() && (self.re == 0.0 || self.re.is_infinite()) {
                    return Self::new(self.re, <$part>::NAN);
                }
                let ((sin, cos), cosh) = (self.im.sin_cos(), Functions::cosh(self.re));
                if self.re.is_finite() && cosh.is_infinite() {
                    Self::new(self.grown(cos).copysign(cos * self.re), self.grown(sin))
                } else {
                    Self::new(Functions::sinh(self.re) * cos, cosh * sin)
                }
            }

            fn cosh(self) -> Self {
                let cosh = Functions::cosh(self.re);
                if self.im == 0.0 {
                    // The sign is that of the product of both parts.
                    return Self::new(cosh, if self.re.is_sign_negative() { -self.im } else { self.im });
                }
                if !self.im.is_finite() && self.re == 0.0 {
                    return Self::new(<$part>::NAN, 0.0);
                }
                if !self.im.is_finite() && self.re.is_infinite() {
                    return Self::new(cosh, <$part>::NAN);
                }
                let (sin, cos) = self.im.sin_cos();
                if self.re.is_finite() && cosh.is_infinite() {
                    Self::new(self.grown(cos), self.grown(sin).copysign(sin * self.re))
                } else {
                    Self::new(cosh * cos, Functions::sinh(self.re) * sin)
                }
            }

            #[inline]
            fn asinh(self) -> Self {
                turned(Functions::asin(turned_back(self)))
            }

            fn acosh(self) -> Self {
                let infinite = Self::new(<$part>::INFINITY, <$part>::NAN);
                let on_axis = Self::new(<$part>::NAN, std::$part::consts::FRAC_PI_2);
                if let Some(result) = self.without_number(infinite, on_axis) {
                    return result;
                }
                if let Some(log) = self.far() {
                    return Self::new(log, self.im.atan2(self.re));
                }
                let (less, more) = (Inexact::sqrt(Self::new(self.re - 1.0, self.im)), Inexact::sqrt(Self::new(self.re + 1.0, self.im)));
                let re = Functions::asinh(less.re * more.re + less.im * more.im);
                Self::new(re, 2.0 * less.im.atan2(more.re))
            }

            /// The real part is a quarter of the logarithm of a quotient of squared distances from -1 and 1; the imaginary one
            /// half of an angle.
            fn atanh(self) -> Self {
                let Self { re, im } = self;
                let quarter_turn = std::$part::consts::FRAC_PI_2.copysign(im);
                let infinite = if re.is_nan() {
                    Self::new(0.0, quarter_turn)
                } else {
                    Self::new((0.0 as $part).copysign(re), <$part>::NAN)
                };
                if let Some(result) = self.without_number(infinite, Self::new(re, <$part>::NAN)) {
                    return result;
                }
                let magnitude = re.abs();
                let large = 1.0 / <$part>::EPSILON / <$part>::EPSILON;
                if magnitude > large || im.abs() > large {
                    // One over the number, and a quarter of a turn.
                    let norm = re.hypot(im);
                    let far = if norm.is_finite() { re / norm / norm } else { (0.0 as $part).copysign(re) };
                    return Self::new(far, quarter_turn);
                }
                let half_log = if magnitude == 1.0 && im.abs() < <$part>::EPSILON {
                    // Beside a pole, where the square of the distance may vanish.
                    0.5 * (std::$part::consts::LN_2 - im.abs().ln())
                } else {
                    let below = (1.0 - magnitude) * (1.0 - magnitude) + im * im;
                    0.25 * Functions::ln_1p(4.0 * magnitude / below)
                };
                let angle = (2.0 * im).atan2((1.0 - magnitude) * (1.0 + magnitude) - im * im);
                Self::new(half_log.copysign(re), 0.5 * angle)
            }

            #[inline]
            fn exp2(self) -> Self {
                Inexact::exp(self * std::$part::consts::LN_2)
            }

            /// Source of the formula: `e^x cos y - 1 = expm1(x) cos y - 2 sin(y / 2)^2`.
            fn exp_m1(self) -> Self {
                if self.im == 0.0 {
                    return Self::new(Functions::exp_m1(self.re), self.im);
                }
                // One is little beside a large exponential, which may be in the range where that of the real part is not.
                if self.re > 40.0 || !self.is_finite() {
                    let exp = Inexact::exp(self);
                    return Self::new(exp.re - 1.0, exp.im);
                }
                let (sin, cos) = self.im.sin_cos();
                let half = (0.5 * self.im).sin();
                let re = Functions::exp_m1(self.re) * cos - 2.0 * half * half;
                Self::new(re, Inexact::exp(self.re) * sin)
            }

            /// Near zero by the square of the distance of `1 + self` from zero, less one.
            fn ln_1p(self) -> Self {
                let sum = Self::new(1.0 + self.re, self.im);
                if self.re.abs() > 0.5 || self.im.abs() > 0.5 || !self.is_finite() {
                    return Inexact::log(sum);
                }
                let square = self.re.mul_add(2.0 + self.re, self.im * self.im);
                Self::new(0.5 * Functions::ln_1p(square), self.im.atan2(sum.re))
            }

            #[inline]
            fn log2(self) -> Self {
                Inexact::log(self) * std::$part::consts::LOG2_E
            }

            #[inline]
            fn log10(self) -> Self {
                Inexact::log(self) * std::$part::consts::LOG10_E
            }

            #[inline]
            fn times_pi(self) -> Self {
                self * std::$part::consts::PI
            }

            #[inline]
            fn is_before(self, other: Self) -> bool {
                self.re < other.re
            }

            #[inline]
            fn is_within_half(self) -> bool {
                self.norm_sqr() < 0.25
            }
        })*
    };
}

complex!(f32, f64);

#[cfg(test)]
mod tests {
    use num_complex::Complex64;

    use super::*;

    /// Inverse functions give back what the functions were given, in each quadrant and beside the branch points.
    #[test]
    fn inverse_functions_give_back_their_arguments() {
        type Pair = (fn(Complex64) -> Complex64, fn(Complex64) -> Complex64);
        let pairs: [Pair; 6] = [
            (Functions::asin, Functions::sin),
            (Functions::acos, Functions::cos),
            (Functions::atan, Functions::tan),
            (Functions::asinh, Functions::sinh),
            (Functions::acosh, Functions::cosh),
            (Functions::atanh, Inexact::tanh),
        ];
        let parts = [-3.0, -1.0, -0.75, -1e-3, 1e-3, 0.5, 1.0, 2.5];
        for z in parts.into_iter().flat_map(|re| parts.map(|im| Complex64::new(re, im))) {
            for (place, (inverse, function)) in pairs.into_iter().enumerate() {
                let back = function(inverse(z));
                assert!((back - z).norm() < 1e-13 * z.norm().max(1.0), "{place}: {z} {back}");
            }
        }
    }

    /// Annex G of C, which leaves some signs open: real and imaginary part of an argument, then of the result; `q` is a quarter
    /// of pi.
    #[test]
    fn results_at_infinity_and_for_nan_are_those_of_c() {
        type Row = (fn(Complex64) -> Complex64, &'static str);
        let rows: [Row; 9] = [
            (
                Inexact::sqrt,
                "1 inf inf inf, nan inf inf inf, 1 nan nan nan, -inf 1 0 inf, inf 1 inf 0, inf nan inf nan, nan 0 nan nan,
                 nan 1 nan nan, nan nan nan nan",
            ),
            (
                Functions::sinh,
                "0 inf 0 nan, 0 nan 0 nan, 1 inf nan nan, 1 nan nan nan, inf 0 inf 0, inf 1 inf inf, inf inf inf nan,
                 inf nan inf nan, nan 0 nan 0, nan 1 nan nan, nan nan nan nan",
            ),
            (
                Functions::cosh,
                "0 inf nan 0, 0 nan nan 0, 1 inf nan nan, 1 nan nan nan, inf 0 inf 0, inf 1 inf inf, inf inf inf nan,
                 inf nan inf nan, nan 0 nan 0, nan 1 nan nan, nan nan nan nan",
            ),
            (
                Inexact::tanh,
                "0 inf 0 nan, 0 nan 0 nan, 1 inf nan nan, 1 nan nan nan, inf 2 1 0, inf inf 1 0, inf nan 1 0, nan 0 nan 0,
                 nan 1 nan nan, nan nan nan nan",
            ),
            (
                Functions::asinh,
                "1 inf inf 2q, 1 nan nan nan, inf 1 inf 0, inf inf inf 1q, inf nan inf nan, nan 0 nan 0, nan 1 nan nan,
                 nan inf inf nan, nan nan nan nan",
            ),
            (
                Functions::acos,
                "0 0 2q -0, 0 nan 2q nan, 1 inf 2q -inf, 1 nan nan nan, -inf 1 4q -inf, inf 1 0 -inf, -inf inf 3q -inf,
                 inf inf 1q -inf, nan 1 nan nan, nan inf nan -inf, nan nan nan nan",
            ),
            (
                Functions::acosh,
                "0 0 0 2q, 0 nan nan 2q, 1 inf inf 2q, 1 nan nan nan, -inf 1 inf 4q, inf 1 inf 0, -inf inf inf 3q,
                 inf inf inf 1q, inf nan inf nan, -inf nan inf nan, nan 1 nan nan, nan inf inf nan, nan nan nan nan",
            ),
            (
                Functions::atanh,
                "0 0 0 0, 0 nan 0 nan, 1 0 inf 0, 1 inf 0 2q, 1 nan nan nan, 1e300 nan nan nan, inf 1 0 2q, inf inf 0 2q,
                 inf nan 0 nan, nan 1 nan nan, nan inf 0 2q, nan nan nan nan",
            ),
            (
                Functions::exp_m1,
                "1 inf nan nan, 1 nan nan nan, inf 0 inf 0, -inf 1 -1 0, inf 1 inf inf, -inf inf -1 0, inf inf inf nan,
                 -inf nan -1 0, inf nan inf nan, nan 0 nan 0, nan 1 nan nan, nan nan nan nan",
            ),
        ];
        let number = |word: &str| match word.strip_suffix('q') {
            Some(quarters) => quarters.parse::<f64>().unwrap() * std::f64::consts::FRAC_PI_4,
            None => word.parse().unwrap(),
        };
        let same = |a: f64, b: f64| a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() < 1e-15;
        for (row, (function, cases)) in rows.into_iter().enumerate() {
            for case in cases.split(',') {
                let numbers: Vec<f64> = case.split_whitespace().map(number).collect();
                let z = Complex64::new(numbers[0], numbers[1]);
                let found = function(z);
                assert!(same(found.re, numbers[2]) && same(found.im, numbers[3]), "{row}: {case}: {found}");
                // Below the real axis it is the conjugate, where no sign is open.
                let below = function(z.conj());
                let is_open = z.im.is_nan() || found.im.is_nan() || (z.re == 0.0 && !z.im.is_finite());
                assert!(
                    is_open || same(below.re, found.re) && same(below.im, -found.im),
                    "{row}: {case}: {below}"
                );
            }
        }
    }

    /// At the poles alone the inverse tangents are infinite.
    #[test]
    fn inverse_tangents_beside_their_poles_are_finite() {
        for distance in [f64::from_bits(1), 1e-320, 1e-200, 1e-100, 1e-17] {
            let expected = 0.5 * (std::f64::consts::LN_2 - distance.ln());
            let found = [
                Functions::atanh(Complex64::new(1.0, distance)),
                Functions::atan(Complex64::new(distance, 1.0)),
            ];
            assert!((found[0].re - expected).abs() < 1e-12 * expected, "{distance}: {}", found[0]);
            assert!((found[1].im - expected).abs() < 1e-12 * expected, "{distance}: {}", found[1]);
            assert!((found[0].im - std::f64::consts::FRAC_PI_4).abs() < 1e-15, "{distance}: {}", found[0]);
        }
        assert_eq!(Functions::atanh(Complex64::new(-1.0, 0.0)).re, f64::NEG_INFINITY);
    }

    #[test]
    fn small_numbers_keep_their_digits() {
        let z = Complex64::new(1e-12, -2e-12);
        let functions: [fn(Complex64) -> Complex64; 8] = [
            Functions::sin,
            Functions::tan,
            Functions::asin,
            Functions::atan,
            Functions::asinh,
            Functions::atanh,
            Functions::exp_m1,
            Functions::ln_1p,
        ];
        for function in functions {
            assert!((function(z) - z).norm() < 1e-22, "{}", function(z));
        }
        assert_eq!(Functions::sinc(Complex64::new(0.0, 0.0)), Complex64::new(1.0, 0.0));
    }
}
