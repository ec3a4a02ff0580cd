//! Raises elements to the power of others.

use num_complex::Complex;

use opgrid_array::loops::arithmetic::Arithmetic;
use opgrid_array::loops::function::Function;
use opgrid_array::loops::math::Inexact;
use opgrid_array::loops::polynomials::{Fused, horner};

/// A type with powers.
pub trait Power: Arithmetic {
    /// This to the power of `exponent`. Integers wrap around, and to a negative power are 0 unless 1 or -1.
    fn power(self, exponent: Self) -> Self;

    /// Returns this to the power of `exponent` without fused multiply-add, for processors that lack the instruction.
    #[inline(always)]
    fn power_unfused(self, exponent: Self) -> Self {
        self.power(exponent)
    }

    /// Whether loops gain by the widest vectors.
    const IS_LONG: bool = false;
}

/// Raises elements to the power of others.
#[derive(Clone, Copy)]
pub struct Raise;

impl<T: Power> Function<(T, T)> for Raise {
    type Output = T;
    const IS_LONG: bool = T::IS_LONG;

    #[inline(always)]
    fn call(self, (base, exponent): (T, T)) -> T {
        base.power(exponent)
    }

    #[inline(always)]
    fn call_unfused(self, (base, exponent): (T, T)) -> T {
        base.power_unfused(exponent)
    }
}

/// Raises single-precision elements to the power of a number with more digits, which would change rounded to single
/// precision: 16777217 is odd.
#[derive(Clone, Copy)]
pub struct RaiseTo(pub f64);

impl Function<(f32,)> for RaiseTo {
    type Output = f32;
    const IS_LONG: bool = true;

    #[inline(always)]
    fn call(self, (base,): (f32,)) -> f32 {
        self.raise::<true>(base)
    }

    #[inline(always)]
    fn call_unfused(self, (base,): (f32,)) -> f32 {
        self.raise::<false>(base)
    }
}

impl RaiseTo {
    #[inline(always)]
    fn raise<const FUSED: bool>(self, base: f32) -> f32 {
        let Self(exponent) = self;
        let (whole, half) = (exponent.trunc() == exponent, 0.5 * exponent);
        raised::<FUSED>(base, exponent, whole, whole && half.trunc() != half)
    }
}

macro_rules! integers {
    ($($type:ty),*) => {
        $(impl Power for $type {
            #[allow(unused_comparisons, reason = "the same body for signed and unsigned types")]
            fn power(self, exponent: Self) -> Self {
                if exponent < 0 {
                    let odd = exponent & 1 == 1;
                    return match (self == 1, self.wrapping_add(1) == 0) {
                        (true, _) => 1,
                        (_, true) => if odd { self } else { 1 },
                        _ => 0,
                    };
                }
                let (mut base, mut rest, mut result): (Self, Self, Self) = (self, exponent, 1);
                while rest > 0 {
                    if rest & 1 == 1 {
                        result = result.wrapping_mul(base);
                    }
                    base = base.wrapping_mul(base);
                    rest >>= 1;
                }
                result
            }
        })*
    };
}

integers!(u8, i8, i16, i32, i64, u64);

impl Power for f64 {
    #[inline]
    fn power(self, exponent: Self) -> Self {
        self.powf(exponent)
    }
}

impl Power for f32 {
    const IS_LONG: bool = true;

    #[inline(always)]
    fn power(self, exponent: Self) -> Self {
        single::<true>(self, exponent)
    }

    #[inline(always)]
    fn power_unfused(self, exponent: Self) -> Self {
        single::<false>(self, exponent)
    }
}

#[inline(always)]
fn single<const FUSED: bool>(base: f32, exponent: f32) -> f32 {
    let whole = is_whole::<FUSED>(exponent);
    raised::<FUSED>(base, exponent.into(), whole, whole && !is_whole::<FUSED>(0.5 * exponent))
}

/// Whether a number is an integer. Processors without fused products may also lack an instruction that cuts fractions off, for
/// which there is a call then.
#[inline(always)]
fn is_whole<const FUSED: bool>(x: f32) -> bool {
    /// From here on every number is one.
    const STEP_OF_ONE: f32 = (1u32 << 23) as f32;
    if FUSED {
        return x.trunc() == x;
    }
    let magnitude = x.abs();
    (magnitude >= STEP_OF_ONE) | ((magnitude + STEP_OF_ONE) - STEP_OF_ONE == magnitude)
}

/// `2 ^ (exponent * log2 |base|)` in double precision, and what the sign and the ends of the range make of it.
/// Without a call, so that loops become vector code.
#[inline(always)]
fn raised<const FUSED: bool>(base: f32, exponent: f64, whole: bool, odd: bool) -> f32 {
    let magnitude = base.abs();
    let power = exp2::<FUSED>(exponent * log2::<FUSED>(magnitude)) as f32;
    let power = if magnitude == 1.0 || exponent == 0.0 { 1.0 } else { power };
    let negative = base.is_sign_negative() && odd;
    let real = whole || base >= 0.0 || base == f32::NEG_INFINITY || base.is_nan();
    let result = if negative { -power } else { power };
    let result = if real { result } else { f32::NAN };
    // One to any power, and anything to the power of zero, is one, NaN included.
    if base == 1.0 || exponent == 0.0 { 1.0 } else { result }
}

/// The logarithm to base 2 of a number that is not negative: `k + log2(m)` with `m` between the roots of 1/2 and 2, and
/// the series of `ln((1 + s) / (1 - s))`, up to what single precision needs after a multiplication by 128.
#[inline(always)]
fn log2<const FUSED: bool>(x: f32) -> f64 {
    const ROOT: u64 = std::f64::consts::FRAC_1_SQRT_2.to_bits();
    const STEP_OF_ONE: f64 = (1u64 << 52) as f64;
    let shifted = f64::from(x).to_bits().wrapping_add(1.0f64.to_bits() - ROOT);
    let m = f64::from_bits((shifted & ((1 << 52) - 1)) + ROOT);
    let k = f64::from_bits((shifted >> 52) | STEP_OF_ONE.to_bits()) - (STEP_OF_ONE + 1023.0);
    let s = (m - 1.0) / (m + 1.0);
    let z = s * s;
    let series = horner!(FUSED: z; 1.0, 1.0 / 3.0, 1.0 / 5.0, 1.0 / 7.0, 1.0 / 9.0, 1.0 / 11.0);
    let result = (s * series).fused::<FUSED>(2.0 * std::f64::consts::LOG2_E, k);
    let result = if x == 0.0 { f64::NEG_INFINITY } else { result };
    // Infinity and NaN.
    if x < f32::INFINITY { result } else { f64::from(x) }
}

/// 2 to a power, which is limited to what overflows or vanishes in single precision.
#[inline(always)]
fn exp2<const FUSED: bool>(x: f64) -> f64 {
    const ROUND: f64 = 1.5 * (1u64 << 52) as f64;
    // Written so that NaN stays NaN.
    let x = if x > 160.0 { 160.0 } else { x };
    let x = if x < -160.0 { -160.0 } else { x };
    let shifted = x + ROUND;
    let r = (x - (shifted - ROUND)) * std::f64::consts::LN_2;
    let series = horner!(
        FUSED: r;
        1.0,
        1.0,
        1.0 / 2.0,
        1.0 / 6.0,
        1.0 / 24.0,
        1.0 / 120.0,
        1.0 / 720.0,
        1.0 / 5040.0,
        1.0 / 40_320.0
    );
    let power = f64::from_bits(shifted.to_bits().wrapping_sub(ROUND.to_bits() - 1023) << 52);
    series * power
}

impl Power for Complex<f64> {
    /// Zero to any power is what comes of its logarithm, as in C.
    fn power(self, exponent: Self) -> Self {
        Inexact::exp(exponent * Inexact::log(self))
    }
}

impl Power for Complex<f32> {
    /// In double precision, because the exponential of a rounded logarithm has few right digits.
    fn power(self, exponent: Self) -> Self {
        let wide = |number: Self| Complex::new(f64::from(number.re), f64::from(number.im));
        let result = wide(self).power(wide(exponent));
        Complex::new(result.re as f32, result.im as f32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_are_those_of_the_standard_library() {
        let ends = [0.0, 1.0, 2.0, 3.0, 0.5, 1e-45, f32::MAX, f32::INFINITY, 2f32.powi(24), 0.9999999];
        let ends = ends.into_iter().flat_map(|x| [x, -x]).chain([f32::NAN]);
        let bases: Vec<f32> = ends.clone().chain((0..200).map(|i| 1.37f32.powi(i - 100))).collect();
        let exponents: Vec<f32> = ends.chain((0..400).map(|i| (i - 200) as f32 * 0.37)).collect();
        for (&x, &y) in bases.iter().flat_map(|x| exponents.iter().map(move |y| (x, y))) {
            let (found, exact) = (x.power(y), x.powf(y));
            let distance = i64::from(found.to_bits() as i32) - i64::from(exact.to_bits() as i32);
            assert!(distance.abs() <= 1 || (found.is_nan() && exact.is_nan()), "{x} ^ {y}: {found}, {exact}");
            let unfused = x.power_unfused(y);
            let distance = i64::from(unfused.to_bits() as i32) - i64::from(exact.to_bits() as i32);
            assert!(
                distance.abs() <= 1 || (unfused.is_nan() && exact.is_nan()),
                "{x} ^ {y}: {unfused}, {exact}"
            );
        }
    }

    #[test]
    fn integers_to_negative_powers_are_units_or_zero() {
        assert_eq!((1i32.power(-3), (-1i32).power(-3), (-1i32).power(-2), 2i32.power(-1)), (1, -1, 1, 0));
        assert_eq!((2i8.power(7), 3u8.power(5), 0i64.power(0)), (-128, 243, 1));
    }
}
