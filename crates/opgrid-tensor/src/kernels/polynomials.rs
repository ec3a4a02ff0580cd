//! Elementary functions of real numbers as polynomials, without branches and calls: loops over them become vector code.
//!
//! Errors are below two units in the last place; the tests compare with the standard library. Where a number is
//! rounded to an integer, that happens by adding and subtracting 1.5 * 2^p, p being the bits of the fraction: then the
//! integer stands in the lowest bits, and no conversion has to look for overflow.
//!
//! The series of exponentials and of the logarithm in single precision are the polynomials that equal `(e^r - 1 - r) / r^2` and
//! `(ln(1 + f) - f + f^2 / 2) / f^3` at the Chebyshev nodes, within 0.17 units of the result. They have fewer terms than Taylor's.

/// Exponential, logarithm, hyperbolic tangent, sine and cosine.
pub(super) trait Polynomials: Sized {
    /// `e` to the power of this.
    fn exponential(self) -> Self;

    /// The same where [`has_near_exponential`](Self::has_near_exponential), in half the steps.
    fn exponential_near(self) -> Self;

    /// Whether this is a number whose exponential is a normal number.
    fn has_near_exponential(self) -> bool;

    /// `e^self - 1`.
    fn exponential_less_one(self) -> Self;

    /// The natural logarithm.
    fn logarithm(self) -> Self;

    /// The same where [`has_near_logarithm`](Self::has_near_logarithm).
    fn logarithm_near(self) -> Self;

    /// Whether this is a positive normal number.
    fn has_near_logarithm(self) -> bool;

    /// The hyperbolic tangent.
    fn hyperbolic_tangent(self) -> Self;

    /// Sine and cosine of the angle that is this part of a full turn, from 0 to 1.
    fn sine_and_cosine_of_turn(self) -> (Self, Self);
}

/// `first + x * (second + x * (…))`, each step rounded once: processors without such an instruction are rare, and slow.
macro_rules! horner {
    ($x:expr; $last:expr) => { $last };
    ($x:expr; $first:expr, $($rest:expr),+) => { $x.mul_add(horner!($x; $($rest),+), $first) };
}
pub(super) use horner;

/// What differs between the types: widths, ranges and how many terms are needed.
macro_rules! polynomials {
    ($float:ident, $unsigned:ident {
        fraction: $fraction:literal,
        bias: $bias:literal,
        exponents: $lowest:literal to $highest:literal, near: $near:literal,
        ln2: $ln2_high:literal + $ln2_low:literal,
        exponential: [$($exp:expr),+],
        logarithm: $log_of_one_and:ident,
        tangent: [$($top:expr),+] / [$($bottom:expr),+],
        sine: [$($sine:expr),+],
        cosine: [$($cosine:expr),+],
    }) => {
        const _: () = {
            const ROUND: $float = 1.5 * (1u64 << $fraction) as $float;

            /// The number `n + ROUND` with the integer `n` next to `x / ln 2`, and what is left of `x`: at most `ln 2 / 2`.
            #[inline(always)]
            fn reduced(x: $float) -> ($float, $float) {
                let shifted = x.mul_add(std::$float::consts::LOG2_E, ROUND);
                let whole = shifted - ROUND;
                (shifted, whole.mul_add(-$ln2_low, whole.mul_add(-$ln2_high, x)))
            }

            /// The rest `r` for the nearest number that has an exponential, and the two halves of the power of two. They
            /// are multiplied one after the other, because the power may be out of range alone.
            #[inline(always)]
            fn parts(x: $float) -> ($float, $float, $float) {
                // Written so that NaN stays NaN.
                let x = if x > $highest { $highest } else { x };
                let x = if x < $lowest { $lowest } else { x };
                let (shifted, r) = reduced(x);
                // Twice the bias on top of `n` is positive, so that halves are found by a shift of bits.
                let both = shifted.to_bits().wrapping_sub(ROUND.to_bits() - 2 * $bias);
                let half = both >> 1;
                let power = |biased: $unsigned| $float::from_bits(biased << $fraction);
                (r, power(half), power(both.wrapping_sub(half)))
            }

            /// `e^r`.
            #[inline(always)]
            fn of_rest(r: $float) -> $float {
                horner!(r; 1.0, 1.0, $($exp),+)
            }

            /// `k` and `f` with `x = 2^k (1 + f)` and `1 + f` between the roots of 1/2 and 2, of a positive normal number.
            #[inline(always)]
            fn split(x: $float) -> ($float, $float) {
                const SCALE: $float = (1u64 << $fraction) as $float;
                const ROOT: $unsigned = std::$float::consts::FRAC_1_SQRT_2.to_bits();
                const ONE: $unsigned = (1.0 as $float).to_bits();
                let shifted = x.to_bits().wrapping_add(ONE - ROOT);
                let f = $float::from_bits((shifted & ((1 << $fraction) - 1)).wrapping_add(ROOT)) - 1.0;
                // In the lowest bits of a number whose steps are 1, the exponent is its own value.
                let k = $float::from_bits((shifted >> $fraction) | SCALE.to_bits()) - (SCALE + $bias as $float);
                (k, f)
            }

        impl Polynomials for $float {
            /// `2^n * e^r`.
            #[inline(always)]
            fn exponential(self) -> Self {
                let (r, one, other) = parts(self);
                of_rest(r) * one * other
            }

            /// `2^n * e^r` by adding `n` to the exponent.
            #[inline(always)]
            fn exponential_near(self) -> Self {
                let (shifted, r) = reduced(self);
                Self::from_bits(of_rest(r).to_bits().wrapping_add(shifted.to_bits() << $fraction))
            }

            #[inline(always)]
            fn has_near_exponential(self) -> bool {
                self.abs() < $near
            }

            /// `2^n (e^r - 1) + (2^n - 1)`, of which the last difference is exact where it matters.
            #[inline(always)]
            fn exponential_less_one(self) -> Self {
                let (r, one, other) = parts(self);
                let series = (r * r).mul_add(horner!(r; $($exp),+), r);
                let power = one * other;
                let near = series.mul_add(power, power - 1.0);
                let result = if self > 20.0 { (1.0 + series) * one * other } else { near };
                // The sign of zero stays.
                if self == 0.0 { self } else { result }
            }

            /// `k ln 2 + ln(1 + f)`.
            #[inline(always)]
            fn logarithm(self) -> Self {
                const SCALE: $float = (1u64 << $fraction) as $float;
                let subnormal = self < $float::MIN_POSITIVE;
                let (k, f) = split(if subnormal { self * SCALE } else { self });
                let k = if subnormal { k - $fraction as $float } else { k };
                let result = $log_of_one_and(f, [k * $ln2_high, k * $ln2_low]);
                let result = if self == 0.0 { $float::NEG_INFINITY } else { result };
                let result = if self == $float::INFINITY { self } else { result };
                // Negative numbers and NaN.
                if self >= 0.0 { result } else { $float::NAN }
            }

            #[inline(always)]
            fn logarithm_near(self) -> Self {
                let (k, f) = split(self);
                $log_of_one_and(f, [k * $ln2_high, k * $ln2_low])
            }

            #[inline(always)]
            fn has_near_logarithm(self) -> bool {
                (self >= $float::MIN_POSITIVE) & (self <= $float::MAX)
            }

            /// A quotient of polynomials near zero, otherwise `1 - 2 / (e^2|x| + 1)` with the sign of `x`.
            ///
            /// Source of the coefficients: S. L. Moshier, Cephes Mathematical Library, `tanh` and `tanhf`.
            #[inline(always)]
            fn hyperbolic_tangent(self) -> Self {
                let magnitude = self.abs();
                let z = self * self;
                let near = self + self * z * ((horner!(z; $($top),+)) / (horner!(z; $($bottom),+)));
                // Above, the result is 1.
                let twice = if magnitude < 20.0 { magnitude + magnitude } else { 40.0 };
                let far = 1.0 - 2.0 / (twice.exponential_near() + 1.0);
                // Written so that NaN stays NaN.
                (if magnitude >= 0.625 { far } else { near }).copysign(self)
            }

            /// The series at the distance `r` from the next quarter of a turn, at most an eighth.
            #[inline(always)]
            fn sine_and_cosine_of_turn(self) -> (Self, Self) {
                let quarters = self * 4.0;
                let whole = (quarters + 0.5).floor();
                let r = (quarters - whole) * std::$float::consts::FRAC_PI_2;
                let z = r * r;
                let sine = r + r * z * (horner!(z; $($sine),+));
                let cosine = 1.0 + z * (horner!(z; $($cosine),+));
                let odd = (whole == 1.0) | (whole == 3.0);
                let (sine, cosine) = if odd { (cosine, sine) } else { (sine, cosine) };
                let sine = if (whole == 2.0) | (whole == 3.0) { -sine } else { sine };
                (sine, if (whole == 1.0) | (whole == 2.0) { -cosine } else { cosine })
            }
        }
        };
    };
}

/// `ln(1 + f) + parts[0] + parts[1]`, of which the first part is exact and the second one small.
#[inline(always)]
fn log_of_one_and_f32(f: f32, parts: [f32; 2]) -> f32 {
    let z = f * f;
    let series = horner!(
        f;
        0.333_333_31,
        -0.249_999_97,
        0.200_007_16,
        -0.166_678_03,
        0.142_490_4,
        -0.124_256_55,
        0.116_855_8,
        -0.114_800_68,
        0.069_715_85
    );
    let rest = z.mul_add(-0.5, (f * z).mul_add(series, parts[1]));
    parts[0] + (f + rest)
}

/// The same by the series of `ln((1 + s) / (1 - s))` at `s = f / (2 + f)`.
#[inline(always)]
fn log_of_one_and_f64(f: f64, parts: [f64; 2]) -> f64 {
    let s = f / (2.0 + f);
    let z = s * s;
    let rest = z * horner!(
        z;
        2.0 / 3.0,
        2.0 / 5.0,
        2.0 / 7.0,
        2.0 / 9.0,
        2.0 / 11.0,
        2.0 / 13.0,
        2.0 / 15.0,
        2.0 / 17.0,
        2.0 / 19.0,
        2.0 / 21.0,
        2.0 / 23.0
    );
    let half_square = 0.5 * f * f;
    parts[0] - ((half_square - (s * (half_square + rest) + parts[1])) - f)
}

polynomials!(f32, u32 {
    fraction: 23,
    bias: 127,
    exponents: -104.0 to 89.0, near: 87.0,
    ln2: 0.693_359_4 + -2.121_944_4e-4,
    exponential: [0.5, 0.166_665_77, 0.041_666_553, 0.008_363_179, 0.001_392_618_3],
    logarithm: log_of_one_and_f32,
    tangent: [
        -3.333_328e-1,
        1.333_144_2e-1,
        -5.373_971_6e-2,
        2.063_908_8e-2,
        -5.704_988_7e-3
    ] / [1.0],
    sine: [-1.0 / 6.0, 1.0 / 120.0, -1.0 / 5040.0, 1.0 / 362_880.0],
    cosine: [-1.0 / 2.0, 1.0 / 24.0, -1.0 / 720.0, 1.0 / 40_320.0, -1.0 / 3_628_800.0],
});

polynomials!(f64, u64 {
    fraction: 52,
    bias: 1023,
    exponents: -746.0 to 710.0, near: 708.0,
    ln2: 0.693_147_180_369_123_8 + 1.908_214_929_270_587_7e-10,
    exponential: [
        0.500_000_000_000_000_1,
        0.166_666_666_666_666_68,
        0.041_666_666_666_624_13,
        0.008_333_333_333_330_062,
        0.001_388_888_891_721_371_7,
        1.984_126_986_305_361_7e-4,
        2.480_152_129_595_435_1e-5,
        2.755_726_845_999_706_5e-6,
        2.762_008_844_540_974_8e-7,
        2.510_038_549_551_032e-8
    ],
    logarithm: log_of_one_and_f64,
    tangent: [
        -1.614_687_684_417_084_5e3,
        -9.928_772_310_019_186e1,
        -9.643_991_794_250_523e-1
    ] / [4.844_063_053_251_255e3, 2.235_488_390_601_004_5e3, 1.128_116_784_916_329_3e2, 1.0],
    sine: [
        -1.0 / 6.0,
        1.0 / 120.0,
        -1.0 / 5040.0,
        1.0 / 362_880.0,
        -1.0 / 39_916_800.0,
        1.0 / 6_227_020_800.0,
        -1.0 / 1_307_674_368_000.0,
        1.0 / 355_687_428_096_000.0
    ],
    cosine: [
        -1.0 / 2.0,
        1.0 / 24.0,
        -1.0 / 720.0,
        1.0 / 40_320.0,
        -1.0 / 3_628_800.0,
        1.0 / 479_001_600.0,
        -1.0 / 87_178_291_200.0,
        1.0 / 20_922_789_888_000.0
    ],
});

#[cfg(test)]
mod tests {
    use super::*;

    /// The largest distance from `exact`, in units in the last place of the single-precision results.
    fn error_f32(
        found: impl Fn(f32) -> f32,
        exact: impl Fn(f64) -> f64,
        inputs: impl Iterator<Item = f32>,
    ) -> f64 {
        let distance = |x: f32| {
            let (found, exact) = (f64::from(found(x)), exact(f64::from(x)));
            let unit = f64::from((exact as f32).abs().max(f32::MIN_POSITIVE)) * f64::from(f32::EPSILON);
            if exact as f32 == found as f32 { 0.0 } else { (found - exact).abs() / unit }
        };
        inputs.map(distance).fold(0.0, f64::max)
    }

    fn error_f64(
        found: impl Fn(f64) -> f64,
        exact: impl Fn(f64) -> f64,
        inputs: impl Iterator<Item = f64>,
    ) -> f64 {
        let distance = |x: f64| {
            let (found, exact) = (found(x), exact(x));
            let unit = exact.abs().max(f64::MIN_POSITIVE) * f64::EPSILON;
            if exact == found { 0.0 } else { (found - exact).abs() / unit }
        };
        inputs.map(distance).fold(0.0, f64::max)
    }

    fn steps(from: f64, to: f64) -> impl Iterator<Item = f64> {
        (0..=200_000).map(move |i| from + (to - from) * f64::from(i) / 200_000.0)
    }

    fn singles(from: f64, to: f64) -> impl Iterator<Item = f32> {
        steps(from, to).map(|x| x as f32)
    }

    #[test]
    fn single_precision_is_within_two_units() {
        assert!(error_f32(f32::exponential, f64::exp, singles(-86.0, 88.7)) < 2.0);
        assert!(error_f32(f32::logarithm, f64::ln, singles(1e-6, 4.0).chain(singles(4.0, 3e38))) < 2.0);
        assert!(error_f32(f32::hyperbolic_tangent, f64::tanh, singles(-10.0, 10.0)) < 2.0);
    }

    #[test]
    fn double_precision_is_within_two_units() {
        assert!(error_f64(f64::exponential, f64::exp, steps(-700.0, 709.7)) < 2.0);
        assert!(error_f64(f64::logarithm, f64::ln, steps(1e-6, 4.0).chain(steps(4.0, 1e300))) < 2.0);
        assert!(error_f64(f64::hyperbolic_tangent, f64::tanh, steps(-20.0, 20.0)) < 2.5);
    }

    #[test]
    fn turns_have_their_sine_and_cosine() {
        for turn in steps(0.0, 1.0) {
            let (sine, cosine) = turn.sine_and_cosine_of_turn();
            let angle = turn * std::f64::consts::TAU;
            // The angle itself is rounded, by up to half a unit of 2 pi.
            assert!((sine - angle.sin()).abs() < 2e-15 && (cosine - angle.cos()).abs() < 2e-15, "{turn}");
            let single = turn as f32;
            let angle = f64::from(single) * std::f64::consts::TAU;
            let (sine, cosine) = single.sine_and_cosine_of_turn();
            assert!((f64::from(sine) - angle.sin()).abs() < 2e-7, "{turn}");
            assert!((f64::from(cosine) - angle.cos()).abs() < 2e-7, "{turn}");
        }
        assert_eq!(0.25f64.sine_and_cosine_of_turn(), (1.0, 0.0));
        assert_eq!(0.5f32.sine_and_cosine_of_turn(), (-0.0, -1.0));
    }

    #[test]
    fn ends_of_the_range() {
        assert_eq!((f32::INFINITY.exponential(), f32::NEG_INFINITY.exponential()), (f32::INFINITY, 0.0));
        assert_eq!((89.0f32.exponential(), (-104.0f32).exponential()), (f32::INFINITY, 0.0));
        assert_eq!((f64::INFINITY.exponential(), f64::NEG_INFINITY.exponential()), (f64::INFINITY, 0.0));
        assert!(f32::NAN.exponential().is_nan() && f64::NAN.logarithm().is_nan());
        assert!((-95.0f32).exponential() > 0.0, "a subnormal number");
        assert_eq!((0.0f32.logarithm(), f64::INFINITY.logarithm()), (f32::NEG_INFINITY, f64::INFINITY));
        assert!((-1.0f32).logarithm().is_nan() && (-0.0f64).logarithm() == f64::NEG_INFINITY);
        let subnormal = f32::from_bits(3);
        assert!((subnormal.logarithm() - subnormal.ln()).abs() < 1e-5);
        assert_eq!((f32::INFINITY.hyperbolic_tangent(), (-1e30f64).hyperbolic_tangent()), (1.0, -1.0));
        assert!((-0.0f32).hyperbolic_tangent().is_sign_negative() && f32::NAN.hyperbolic_tangent().is_nan());
        assert_eq!((0.0f32.exponential(), 1.0f64.logarithm()), (1.0, 0.0));
    }
}
