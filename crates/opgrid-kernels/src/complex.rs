//! Elementary functions of complex numbers, made of real ones so that none loses digits near the branch points.
//!
//! Branch cuts are where C has them; a zero's sign says on which side of a cut a number lies.
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

/// Numbers near the end of the range, whose inverse functions are logarithms of twice the number: products of square roots
/// leave the range there.
trait Far {
    type Part;

    /// The logarithm of twice the magnitude, for such numbers.
    fn far(self) -> Option<Self::Part>;

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
                let is_far = largest > <$part>::MAX / 8.0 && largest.is_finite();
                is_far.then(|| (self.re / 8.0).hypot(self.im / 8.0).ln() + 4.0 * std::$part::consts::LN_2)
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
                if let Some(log) = self.far() {
                    return Self::new(self.re.atan2(self.im.abs()), log.copysign(self.im));
                }
                let (less, more) = (Inexact::sqrt(Self::new(1.0 - self.re, -self.im)), Inexact::sqrt(Self::new(1.0 + self.re, self.im)));
                let re = self.re.atan2(less.re * more.re - less.im * more.im);
                Self::new(re, Functions::asinh(less.re * more.im - less.im * more.re))
            }

            fn acos(self) -> Self {
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
                    return Self::new(cosh, self.im * self.re.signum());
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
                let magnitude = re.abs();
                let large = 1.0 / <$part>::EPSILON / <$part>::EPSILON;
                if magnitude > large || im.abs() > large {
                    // One over the number, and a quarter of a turn.
                    let norm = re.hypot(im);
                    let far = if norm.is_finite() { re / norm / norm } else { (0.0 as $part).copysign(re) };
                    return Self::new(far, std::$part::consts::FRAC_PI_2.copysign(im));
                }
                let below = (1.0 - magnitude) * (1.0 - magnitude) + im * im;
                // Zero stays zero beside an imaginary part that is no number.
                let half_log = if re == 0.0 { 0.0 } else { 0.25 * Functions::ln_1p(4.0 * magnitude / below) };
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
