//! Trigonometric, hyperbolic, exponential and logarithmic functions beyond those of [`Inexact`], of floats and complex
//! numbers, for [`elementwise`](opgrid_array::loops::elementwise) loops.
//!
//! Those of real numbers are vector code, by `double` and `trigonometric`; only sines, cosines and tangents of very large
//! numbers are calls of the standard library. Those of complex numbers are in `complex`.

use crate::trigonometric::Trigonometric;
use crate::{double, single};
use opgrid_array::loops::function::{methods, partial, unfused};
use opgrid_array::loops::math::Inexact;
use opgrid_array::loops::polynomials::Polynomials;

/// A type with more of the elementary functions.
pub trait Functions: Inexact {
    /// 0 where the sine, the cosine and the tangent can be had by vector code.
    #[inline(always)]
    fn distance(self) -> u32 {
        0
    }

    /// The sine of a number that is near.
    #[inline(always)]
    fn sin_near(self) -> Self {
        Functions::sin(self)
    }

    /// The cosine of a number that is near.
    #[inline(always)]
    fn cos_near(self) -> Self {
        Functions::cos(self)
    }

    /// The tangent of a number that is near.
    #[inline(always)]
    fn tan_near(self) -> Self {
        Functions::tan(self)
    }

    unfused! { Functions:
        sin_near_unfused = sin_near,
        cos_near_unfused = cos_near,
        tan_near_unfused = tan_near,
    }

    /// The sine.
    fn sin(self) -> Self;

    /// The cosine.
    fn cos(self) -> Self;

    /// The tangent.
    fn tan(self) -> Self;

    /// The inverse of the sine.
    fn asin(self) -> Self;

    /// The inverse of the cosine.
    fn acos(self) -> Self;

    /// The inverse of the tangent.
    fn atan(self) -> Self;

    /// The hyperbolic sine.
    fn sinh(self) -> Self;

    /// The hyperbolic cosine.
    fn cosh(self) -> Self;

    /// The inverse of the hyperbolic sine.
    fn asinh(self) -> Self;

    /// The inverse of the hyperbolic cosine.
    fn acosh(self) -> Self;

    /// The inverse of the hyperbolic tangent.
    fn atanh(self) -> Self;

    /// Two to the power of this.
    fn exp2(self) -> Self;

    /// `e ^ self - 1`.
    fn exp_m1(self) -> Self;

    /// The logarithm of `1 + self`.
    fn ln_1p(self) -> Self;

    /// The logarithm to base 2.
    fn log2(self) -> Self;

    /// The logarithm to base 10.
    fn log10(self) -> Self;

    /// This times pi.
    fn times_pi(self) -> Self;

    /// Whether the real part is smaller.
    fn is_before(self, other: Self) -> bool;

    /// Whether the distance from zero is below one half.
    fn is_within_half(self) -> bool;

    /// The number at that part of the way from this one to `end`, from the nearer one of both.
    #[inline(always)]
    fn lerp(self, end: Self, weight: Self) -> Self {
        let way = end.minus(self);
        let from_start = self.plus(weight.times(way));
        let from_end = end.minus(way.times(Self::ONE.minus(weight)));
        if weight.is_within_half() { from_start } else { from_end }
    }

    /// The logarithm of the sum of both exponential functions: the larger number, and what the other one adds to it.
    #[inline(always)]
    fn logaddexp(self, other: Self) -> Self {
        let (small, large) = if self.is_before(other) { (self, other) } else { (other, self) };
        // Infinite ones have no difference.
        let difference = if self == other { Self::ZERO } else { small.minus(large) };
        large.plus(Functions::ln_1p(Inexact::exp(difference)))
    }

    /// The logarithm to base 2 of the sum of both powers of 2.
    #[inline(always)]
    fn logaddexp2(self, other: Self) -> Self {
        let (small, large) = if self.is_before(other) { (self, other) } else { (other, self) };
        let difference = if self == other { Self::ZERO } else { small.minus(large) };
        large.plus(Functions::log2(Self::ONE.plus(Functions::exp2(difference))))
    }

    /// `sin(pi self) / (pi self)`, which is 1 at 0.
    #[inline(always)]
    fn sinc(self) -> Self {
        let angle = self.times_pi();
        if self == Self::ZERO { Self::ONE } else { Functions::sin(angle).over(angle) }
    }
}

methods! { Functions:
    /// The inverse of the sine.
    ArcSine = asin(x);
    /// The inverse of the cosine.
    ArcCosine = acos(x);
    /// The inverse of the tangent.
    ArcTangent = atan(x);
    /// The hyperbolic sine.
    HyperbolicSine = sinh(x);
    /// The hyperbolic cosine.
    HyperbolicCosine = cosh(x);
    /// The inverse of the hyperbolic sine.
    AreaSine = asinh(x);
    /// The inverse of the hyperbolic cosine.
    AreaCosine = acosh(x);
    /// The inverse of the hyperbolic tangent.
    AreaTangent = atanh(x);
    /// Two to the power of a number.
    PowerOfTwo = exp2(x);
    /// The exponential less one.
    ExponentialLessOne = exp_m1(x);
    /// The logarithm of one and a number.
    LogarithmOfOneAnd = ln_1p(x);
    /// The logarithm to base 2.
    BinaryLogarithm = log2(x);
    /// The logarithm to base 10.
    DecimalLogarithm = log10(x);
    /// The logarithm of the sum of both exponentials.
    LogarithmOfSum = logaddexp(x, y);
    /// The logarithm to base 2 of the sum of both powers of 2.
    BinaryLogarithmOfSum = logaddexp2(x, y);
    /// The sine of a multiple of pi, divided by the angle.
    CardinalSine = sinc(x);
}

methods! { Angle:
    /// The angle of a point, by its second and its first coordinate.
    AngleOf = angle(y, x);
}

/// A real number with an angle.
pub trait Angle: Functions {
    /// The angle of the point with this second coordinate and that first one.
    fn angle(self, x: Self) -> Self;
}

macro_rules! angles {
    ($($type:ident),*) => {
        $(impl Angle for $type {
            #[inline(always)]
            fn angle(self, x: Self) -> Self {
                Trigonometric::angle(self, x)
            }
        })*
    };
}

angles!(f32, f64);

macro_rules! real {
    ($($type:ident: $exp_m1:expr, $ln_1p:expr, $log10:expr;)*) => {
        $(impl Functions for $type {
            real!(@library $type sin cos tan);
            real!(@trigonometric $type sin_near: sine::<true>, cos_near: cosine::<true>, tan_near: tangent::<true>);
            real!(@trigonometric $type sin_near_unfused: sine::<false>, cos_near_unfused: cosine::<false>);
            real!(@trigonometric $type tan_near_unfused: tangent::<false>);
            real!(@trigonometric $type asin: arc_sine, acos: arc_cosine, atan: arc_tangent);

            #[inline(always)]
            fn distance(self) -> u32 {
                u32::from(!Trigonometric::is_near(self))
            }
            real!(@double $type sinh cosh asinh acosh atanh exp2 log2);

            #[inline(always)]
            fn exp_m1(self) -> Self {
                $exp_m1(self)
            }

            #[inline(always)]
            fn ln_1p(self) -> Self {
                $ln_1p(self)
            }

            #[inline(always)]
            fn log10(self) -> Self {
                $log10(self)
            }

            #[inline(always)]
            fn times_pi(self) -> Self {
                self * std::$type::consts::PI
            }

            #[inline(always)]
            fn is_before(self, other: Self) -> bool {
                self < other
            }

            #[inline(always)]
            fn is_within_half(self) -> bool {
                self.abs() < 0.5
            }
        })*
    };
    (@library $type:ident $($name:ident)*) => {
        $(#[inline]
        fn $name(self) -> Self {
            <$type>::$name(self)
        })*
    };
    (@trigonometric $type:ident $($name:ident: $function:ident $(::<$fused:literal>)?),*) => {
        $(#[inline(always)]
        fn $name(self) -> Self {
            Trigonometric::$function$(::<$fused>)?(self)
        })*
    };
    (@double $type:ident $($name:ident)*) => {
        $(#[inline(always)]
        fn $name(self) -> Self {
            double::$name(self.into()) as $type
        })*
    };
}

real! {
    // The product has one rounding too many for double precision, where powers of ten have to give integers.
    f32: Polynomials::exponential_less_one, single::ln_1p, |x: f32| (double::log2(x.into()) * std::f64::consts::LOG10_2) as f32;
    f64: double::exp_m1, double::ln_1p, f64::log10;
}

partial! { Functions, long: true:
    /// The sine.
    Sine = sin_near if distance <= 0, else sin, unfused sin_near_unfused and sin;
    /// The cosine.
    Cosine = cos_near if distance <= 0, else cos, unfused cos_near_unfused and cos;
    /// The tangent.
    Tangent = tan_near if distance <= 0, else tan, unfused tan_near_unfused and tan;
}
