//! Elementary functions of real numbers as polynomials, without branches and calls: loops over them become vector code.
//!
//! Errors are below two units in the last place; the tests compare with the standard library. Where a number is
//! rounded to an integer, that happens by adding and subtracting 1.5 * 2^p, p being the bits of the fraction: then the
//! integer stands in the lowest bits, and no conversion has to look for overflow.
//!
//! The series of exponentials and of the logarithm in single precision are the polynomials that equal `(e^r - 1 - r) / r^2` and
//! `(ln(1 + f) - f + f^2 / 2) / f^3` at the Chebyshev nodes, within 0.17 units of the result. They have fewer terms than Taylor's.

/// The functions that there are with fused products and sums and without.
#[derive(Clone, Copy)]
pub enum Elementary {
    Exponential,
    ExponentialNear,
    Logarithm,
    LogarithmNear,
    HyperbolicTangent,
    /// `e` to the power of minus half of the square, of which nothing is rounded before it is reduced; within
    /// [`NORMAL_REACH`](Polynomials::NORMAL_REACH) of zero.
    ExponentialOfHalfSquare,
}

/// Exponential, logarithm, hyperbolic tangent, sine and cosine.
pub trait Polynomials: Sized {
    /// `e` to the power of this.
    fn exponential(self) -> Self;

    /// Returns `e` to the power of this in half the steps, where [`exponential_distance`](Self::exponential_distance)
    /// is at most [`EXPONENTIAL_REACH`](Self::EXPONENTIAL_REACH).
    fn exponential_near(self) -> Self;

    /// Returns what [`exponential_near`](Self::exponential_near) does, with more products and a shorter chain of
    /// dependent steps, for loops that are bound by latency.
    fn exponential_near_in_pairs(self) -> Self;

    /// The upper bits of the distance from zero.
    fn exponential_distance(self) -> u32;

    /// The exponential distance of the largest number whose exponential, and that of its negative, are normal
    /// numbers.
    const EXPONENTIAL_REACH: u32;

    /// How far from zero the exponential of minus half of the square is a normal number.
    const NORMAL_REACH: Self;

    /// `e^self - 1`.
    fn exponential_less_one(self) -> Self;

    /// The natural logarithm.
    fn logarithm(self) -> Self;

    /// Returns the natural logarithm, where [`logarithm_distance`](Self::logarithm_distance) is at most
    /// [`LOGARITHM_REACH`](Self::LOGARITHM_REACH).
    fn logarithm_near(self) -> Self;

    /// The upper bits, counted from those of the smallest positive normal number; others are beyond the largest.
    fn logarithm_distance(self) -> u32;

    /// The logarithm distance of the largest number.
    const LOGARITHM_REACH: u32;

    /// The hyperbolic tangent.
    fn hyperbolic_tangent(self) -> Self;

    /// One of these functions, by products and sums at once or, for processors without such instructions, rounded apart.
    fn elementary<const FUSED: bool>(self, function: Elementary) -> Self;

    /// Sine and cosine of the angle that is this part of a full turn, from 0 to 1.
    fn sine_and_cosine_of_turn<const FUSED: bool>(self) -> (Self, Self);
}

/// `first + x * (second + x * (…))`, each step rounded once; where a constant is named first, only if it is true.
#[doc(hidden)]
#[macro_export]
macro_rules! __polynomial_horner {
    ($fused:ident: $x:expr; $last:expr) => { $last };
    ($fused:ident: $x:expr; $first:expr, $($rest:expr),+) => {
        $x.fused::<$fused>($crate::__polynomial_horner!($fused: $x; $($rest),+), $first)
    };
    ($x:expr; $last:expr) => { $last };
    ($x:expr; $first:expr, $($rest:expr),+) => { $x.mul_add($crate::__polynomial_horner!($x; $($rest),+), $first) };
}
pub use crate::__polynomial_horner as horner;

/// Evaluates a polynomial by pairs of terms, pairs of those and so on: some products more than [`horner`], and short
/// chains of dependent steps. It is faster where there are ten terms and more, and a little less exact.
#[doc(hidden)]
#[macro_export]
macro_rules! __polynomial_in_pairs {
    ($fused:ident: $x:expr; $only:expr $(,)?) => { $only };
    ($fused:ident: $x:expr; $($term:expr),+ $(,)?) => {{
        let x = $x;
        $crate::__polynomial_in_pairs!(@ $fused x [] $($term),+)
    }};
    (@ $fused:ident $x:ident [$($done:expr,)*] $a:expr, $b:expr $(, $rest:expr)*) => {
        $crate::__polynomial_in_pairs!(@ $fused $x [$($done,)* $x.fused::<$fused>($b, $a),] $($rest),*)
    };
    (@ $fused:ident $x:ident [$($done:expr,)*] $($last:expr)?) => {
        $crate::__polynomial_in_pairs!($fused: $x * $x; $($done,)* $($last)?)
    };
    ($x:expr; $($term:expr),+ $(,)?) => {{
        const FUSED: bool = true;
        $crate::__polynomial_in_pairs!(FUSED: $x; $($term),+)
    }};
}
pub use crate::__polynomial_in_pairs as in_pairs;

/// Products to which a number is added.
///
/// A processor without an instruction for both at once (below x86-64-v3) computes what is rounded once with a hundred
/// others. Its loops take the unfused functions, which round twice.
pub trait Fused: Copy {
    /// `self * factor + summand`, rounded once or twice.
    fn fused<const FUSED: bool>(self, factor: Self, summand: Self) -> Self;

    /// Returns `self * factor + summand` rounded once, for callers that need what the product loses by rounding.
    /// Without an instruction for it, single precision goes through double, where products are exact; double
    /// precision uses a slow call.
    fn fused_exactly<const FUSED: bool>(self, factor: Self, summand: Self) -> Self;
}

macro_rules! fused {
    ($($float:ident: |$first:ident, $second:ident, $third:ident| $exactly:expr;)*) => {
        $(impl Fused for $float {
            #[inline(always)]
            fn fused<const FUSED: bool>(self, factor: Self, summand: Self) -> Self {
                if FUSED { self.mul_add(factor, summand) } else { self * factor + summand }
            }

            #[inline(always)]
            fn fused_exactly<const FUSED: bool>(self, $second: Self, $third: Self) -> Self {
                let $first = self;
                if FUSED { self.mul_add($second, $third) } else { $exactly }
            }
        })*
    };
}

fused! {
    f32: |a, b, c| (f64::from(a) * f64::from(b) + f64::from(c)) as Self;
    f64: |a, b, c| a.mul_add(b, c);
}

/// What differs between the types: widths, ranges and how many terms are needed.
macro_rules! polynomials {
    ($float:ident, $unsigned:ident {
        fraction: $fraction:literal,
        bias: $bias:literal,
        exponents: $lowest:literal to $highest:literal, near: $near:literal, normal: $normal:literal,
        ln2: $ln2_high:literal + $ln2_low:literal,
        exponential: [$($exp:expr),+],
        exponential_by_table: $by_table:expr,
        logarithm: $log_of_one_and:ident,
        sine: [$($sine:expr),+],
        cosine: [$($cosine:expr),+],
    }) => {
        const _: () = {
            const ROUND: $float = 1.5 * (1u64 << $fraction) as $float;

            /// The upper 32 bits.
            #[inline(always)]
            const fn upper(bits: $unsigned) -> u32 {
                (bits >> ($unsigned::BITS - 32)) as u32
            }

            /// The number `n + ROUND` with the integer `n` next to `x / ln 2`, and what is left of `x`: at most `ln 2 / 2`.
            #[inline(always)]
            fn reduced<const FUSED: bool>(x: $float) -> ($float, $float) {
                let shifted = x.fused::<FUSED>(std::$float::consts::LOG2_E, ROUND);
                let whole = shifted - ROUND;
                // The product with the upper part is exact.
                (shifted, whole.fused::<FUSED>(-$ln2_low, whole.fused::<FUSED>(-$ln2_high, x)))
            }

            /// The rest `r` for the nearest number in `exponents`, and the two halves of the power of two. They
            /// are multiplied one after the other, because the power may be out of range alone. At the lowest exponent both
            /// are zero, so that minus infinity, as scores that are hidden, gives zero without an underflow: one takes some
            /// hundred cycles on Intel's processors.
            #[inline(always)]
            fn parts<const FUSED: bool>(x: $float) -> ($float, $float, $float) {
                // Written so that NaN stays NaN.
                let x = if x > $highest { $highest } else { x };
                let x = if x < $lowest { $lowest } else { x };
                let (shifted, r) = reduced::<FUSED>(x);
                // Twice the bias on top of `n` is positive, so that halves are found by a shift of bits.
                let both = shifted.to_bits().wrapping_sub(ROUND.to_bits() - 2 * $bias);
                let half = both >> 1;
                let power = |biased: $unsigned| $float::from_bits(biased << $fraction);
                (r, power(half), power(both.wrapping_sub(half)))
            }

            /// `e^r`.
            #[inline(always)]
            fn of_rest<const FUSED: bool>(r: $float) -> $float {
                horner!(FUSED: r; 1.0, 1.0, $($exp),+)
            }

            /// The number times `2^n`, for the `n + ROUND` of [`reduced`], by adding `n` to the exponent.
            #[inline(always)]
            fn raised(x: $float, shifted: $float) -> $float {
                $float::from_bits(x.to_bits().wrapping_add(shifted.to_bits() << $fraction))
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

            /// `2^n * e^r`.
            #[inline(always)]
            fn exponential<const FUSED: bool>(x: $float) -> $float {
                let (r, one, other) = parts::<FUSED>(x);
                of_rest::<FUSED>(r) * one * other
            }

            /// `2^n * e^r`, where that is a normal number.
            #[inline(always)]
            fn exponential_near<const FUSED: bool>(x: $float) -> $float {
                if let (false, Some(by_table)) = (FUSED, $by_table) {
                    return by_table(x);
                }
                let (shifted, r) = reduced::<FUSED>(x);
                raised(of_rest::<FUSED>(r), shifted)
            }

            /// `k ln 2 + ln(1 + f)`.
            #[inline(always)]
            fn logarithm<const FUSED: bool>(x: $float) -> $float {
                const SCALE: $float = (1u64 << $fraction) as $float;
                let subnormal = x < $float::MIN_POSITIVE;
                let (k, f) = split(if subnormal { x * SCALE } else { x });
                let k = if subnormal { k - $fraction as $float } else { k };
                let result = $log_of_one_and::<FUSED>(f, [k * $ln2_high, k * $ln2_low]);
                let result = if x == 0.0 { $float::NEG_INFINITY } else { result };
                let result = if x == $float::INFINITY { x } else { result };
                // Negative numbers and NaN.
                if x >= 0.0 { result } else { $float::NAN }
            }

            #[inline(always)]
            fn logarithm_near<const FUSED: bool>(x: $float) -> $float {
                let (k, f) = split(x);
                $log_of_one_and::<FUSED>(f, [k * $ln2_high, k * $ln2_low])
            }

            /// `d / (d + 2)` with `d = e^2|x| - 1`, as in `exponential_less_one`, and the sign of `x`.
            #[inline(always)]
            fn hyperbolic_tangent<const FUSED: bool>(x: $float) -> $float {
                let magnitude = x.abs();
                // Above, the result is 1. Written so that NaN stays NaN.
                let magnitude = if magnitude > 20.0 { 20.0 } else { magnitude };
                let (shifted, r) = reduced::<FUSED>(magnitude + magnitude);
                let one = (1.0 as $float).to_bits();
                let power = $float::from_bits((shifted.to_bits() << $fraction).wrapping_add(one));
                let series = (r * r).fused::<FUSED>(horner!(FUSED: r; $($exp),+), r);
                let less_one = series.fused::<FUSED>(power, power - 1.0);
                (less_one / (less_one + 2.0)).copysign(x)
            }

            #[inline(always)]
            fn exponential_of_half_square<const FUSED: bool>(x: $float) -> $float {
                let half = 0.5 * x;
                let shifted = (half * x).fused::<FUSED>(-std::$float::consts::LOG2_E, ROUND);
                let whole = shifted - ROUND;
                let rest = half.fused_exactly::<FUSED>(-x, -(whole * $ln2_high));
                let r = whole.fused::<FUSED>(-$ln2_low, rest);
                raised(of_rest::<FUSED>(r), shifted)
            }

        impl Polynomials for $float {
            #[inline(always)]
            fn exponential(self) -> Self {
                exponential::<true>(self)
            }

            #[inline(always)]
            fn exponential_near(self) -> Self {
                exponential_near::<true>(self)
            }

            #[inline(always)]
            fn exponential_near_in_pairs(self) -> Self {
                let (shifted, r) = reduced::<true>(self);
                raised(1.0 + (r * r).mul_add(in_pairs!(r; $($exp),+), r), shifted)
            }

            #[inline(always)]
            fn logarithm(self) -> Self {
                logarithm::<true>(self)
            }

            #[inline(always)]
            fn logarithm_near(self) -> Self {
                logarithm_near::<true>(self)
            }

            #[inline(always)]
            fn hyperbolic_tangent(self) -> Self {
                hyperbolic_tangent::<true>(self)
            }

            #[inline(always)]
            fn elementary<const FUSED: bool>(self, function: Elementary) -> Self {
                match function {
                    Elementary::Exponential => exponential::<FUSED>(self),
                    Elementary::ExponentialNear => exponential_near::<FUSED>(self),
                    Elementary::Logarithm => logarithm::<FUSED>(self),
                    Elementary::LogarithmNear => logarithm_near::<FUSED>(self),
                    Elementary::HyperbolicTangent => hyperbolic_tangent::<FUSED>(self),
                    Elementary::ExponentialOfHalfSquare => exponential_of_half_square::<FUSED>(self),
                }
            }

            #[inline(always)]
            fn exponential_distance(self) -> u32 {
                upper(self.to_bits()) & !(1 << 31)
            }

            const EXPONENTIAL_REACH: u32 = upper(($near as $float).to_bits()) - 1;

            const NORMAL_REACH: Self = $normal;

            /// `2^n (e^r - 1) + (2^n - 1)`, of which the last difference is exact where it matters.
            #[inline(always)]
            fn exponential_less_one(self) -> Self {
                let (r, one, other) = parts::<true>(self);
                let series = (r * r).mul_add(horner!(r; $($exp),+), r);
                let power = one * other;
                let near = series.mul_add(power, power - 1.0);
                let result = if self > 20.0 { (1.0 + series) * one * other } else { near };
                // The sign of zero stays.
                if self == 0.0 { self } else { result }
            }


            #[inline(always)]
            fn logarithm_distance(self) -> u32 {
                upper(self.to_bits()).wrapping_sub(upper($float::MIN_POSITIVE.to_bits()))
            }

            const LOGARITHM_REACH: u32 =
                upper($float::MAX.to_bits()) - upper($float::MIN_POSITIVE.to_bits());

            /// The series at the distance `r` from the next quarter of a turn, at most an eighth.
            #[inline(always)]
            fn sine_and_cosine_of_turn<const FUSED: bool>(self) -> (Self, Self) {
                let quarters = self * 4.0;
                let whole = (quarters + ROUND) - ROUND;
                let r = (quarters - whole) * std::$float::consts::FRAC_PI_2;
                let z = r * r;
                let sine = r + r * z * (horner!(FUSED: z; $($sine),+));
                let cosine = 1.0 + z * (horner!(FUSED: z; $($cosine),+));
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
fn log_of_one_and_f32<const FUSED: bool>(f: f32, parts: [f32; 2]) -> f32 {
    let z = f * f;
    // In pairs, so that steps wait for fewer others.
    let pair = |first: f32, second: f32| f.fused::<FUSED>(second, first);
    let last = z.fused::<FUSED>(0.069_715_85, pair(0.116_855_8, -0.114_800_68));
    let lower = z.fused::<FUSED>(pair(0.200_007_16, -0.166_678_03), pair(0.333_333_3, -0.249_999_97));
    let upper = z.fused::<FUSED>(last, pair(0.142_490_4, -0.124_256_55));
    let series = (z * z).fused::<FUSED>(upper, lower);
    let rest = z.fused::<FUSED>(-0.5, (f * z).fused::<FUSED>(series, parts[1]));
    parts[0] + (f + rest)
}

/// Returns `ln(1 + f) + parts[0] + parts[1]` by the series of `ln((1 + s) / (1 - s))` at `s = f / (2 + f)`, odd and
/// even powers of its square apart.
///
/// Source of the coefficients: FDLIBM, `e_log.c`, whose polynomial is within 2^-58 of that series.
#[inline(always)]
fn log_of_one_and_f64<const FUSED: bool>(f: f64, parts: [f64; 2]) -> f64 {
    let s = f / (2.0 + f);
    let z = s * s;
    let w = z * z;
    let odd = horner!(
        FUSED: w;
        6.666_666_666_666_735e-1,
        2.857_142_874_366_239e-1,
        1.818_357_216_161_805e-1,
        1.479_819_860_511_658_6e-1
    );
    let even =
        horner!(FUSED: w; 3.999_999_999_940_942e-1, 2.222_219_843_214_978_4e-1, 1.531_383_769_920_937_3e-1);
    let rest = z.fused::<FUSED>(odd, w * even);
    let half_square = 0.5 * f * f;
    parts[0] - ((half_square - s.fused::<FUSED>(half_square + rest, parts[1])) - f)
}

/// Steps between a power of two and the next one.
const STEPS: u64 = 64;

/// How far a number of steps is shifted so that whole powers stand in the exponent.
const TO_EXPONENT: u32 = f64::MANTISSA_DIGITS - 1 - STEPS.ilog2();

/// `2^(j / STEPS)` for each step `j`, less the bits that shifting `j` brings into the fraction.
const POWERS: [u64; STEPS as usize] = {
    // The root of order 64 of two; 63 bits lie behind the point here and in its powers.
    const ROOT: u128 = 0x8164_d1f3_bc03_0773;
    let (mut powers, mut power, mut step) = ([0; STEPS as usize], 1_u128 << 63, 0);
    while step < STEPS {
        let fraction = ((power + (1 << 10)) >> 11) as u64 - (1 << 52);
        powers[step as usize] = (1_f64.to_bits() | fraction).wrapping_sub(step << TO_EXPONENT);
        power = (power * ROOT + (1 << 62)) >> 63;
        step += 1;
    }
    powers
};

/// `e^x`, where that is a normal number: a power from the table, and a series of half the terms for what is left. Without
/// fused products and sums, looking up takes less than the terms.
#[inline(always)]
fn exponential_by_table(x: f64) -> f64 {
    const ROUND: f64 = 1.5 * (1_u64 << 52) as f64;
    // The upper 33 bits of the logarithm of two, so that products with whole numbers of steps are exact, and the rest.
    const LN2: [f64; 2] = [f64::from_bits(0x3fe6_2e42_fee0_0000), 1.908_214_929_270_587_7e-10];
    let shifted = x * (STEPS as f64 * std::f64::consts::LOG2_E) + ROUND;
    let whole = shifted - ROUND;
    let r = x - whole * (LN2[0] / STEPS as f64);
    let r = r - whole * (LN2[1] / STEPS as f64);
    let steps = shifted.to_bits();
    let power = f64::from_bits(POWERS[(steps % STEPS) as usize].wrapping_add(steps << TO_EXPONENT));
    let square = r * r;
    let series = (0.5 + r * (1.0 / 6.0)) + square * (1.0 / 24.0 + r * (1.0 / 120.0));
    power + power * (r + square * series)
}

polynomials!(f32, u32 {
    fraction: 23,
    bias: 127,
    exponents: -176.0 to 89.0, near: 87.0, normal: 13.17,
    ln2: 0.693_359_4 + -2.121_944_4e-4,
    exponential: [0.5, 0.166_665_77, 0.041_666_553, 0.008_363_179, 0.001_392_618_3],
    exponential_by_table: None::<fn(f32) -> f32>,
    logarithm: log_of_one_and_f32,
    sine: [-1.0 / 6.0, 1.0 / 120.0, -1.0 / 5040.0, 1.0 / 362_880.0],
    cosine: [-1.0 / 2.0, 1.0 / 24.0, -1.0 / 720.0, 1.0 / 40_320.0, -1.0 / 3_628_800.0],
});

polynomials!(f64, u64 {
    fraction: 52,
    bias: 1023,
    exponents: -1418.0 to 710.0, near: 708.0, normal: 37.61,
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
    exponential_by_table: Some(exponential_by_table),
    logarithm: log_of_one_and_f64,
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
        assert!(error_f32(f32::hyperbolic_tangent, f64::tanh, singles(-0.01, 0.01)) < 2.0);
    }

    #[test]
    fn double_precision_is_within_two_units() {
        assert!(error_f64(f64::exponential, f64::exp, steps(-700.0, 709.7)) < 2.0);
        assert!(error_f64(f64::logarithm, f64::ln, steps(1e-6, 4.0).chain(steps(4.0, 1e300))) < 2.0);
        assert!(error_f64(f64::hyperbolic_tangent, f64::tanh, steps(-20.0, 20.0)) < 2.5);
    }

    #[test]
    fn powers_of_the_table_are_rounded_once() {
        for (step, power) in (0_u64..).zip(POWERS) {
            let (found, exact) =
                (power.wrapping_add(step << TO_EXPONENT), libm::exp2(step as f64 / STEPS as f64));
            assert!(found.abs_diff(exact.to_bits()) <= 1, "{step}: {found:x}, expected {exact}");
        }
        assert_eq!(POWERS[32].wrapping_add(32 << TO_EXPONENT), std::f64::consts::SQRT_2.to_bits());
    }

    #[test]
    fn functions_without_fused_steps_are_within_three_units() {
        let single = |of: Elementary| move |x: f32| x.elementary::<false>(of);
        let exponentials = [Elementary::Exponential, Elementary::ExponentialNear];
        let logarithms = [Elementary::Logarithm, Elementary::LogarithmNear];
        for of in exponentials {
            assert!(error_f32(single(of), f64::exp, singles(-86.0, 86.9)) < 3.0);
            assert!(error_f64(|x| x.elementary::<false>(of), f64::exp, steps(-707.9, 707.9)) < 3.0);
        }
        for of in logarithms {
            assert!(error_f32(single(of), f64::ln, singles(1e-6, 4.0).chain(singles(4.0, 3e38))) < 3.0);
            assert!(
                error_f64(|x| x.elementary::<false>(of), f64::ln, steps(1e-6, 4.0).chain(steps(4.0, 1e300)))
                    < 3.0
            );
        }
        let tangent = Elementary::HyperbolicTangent;
        assert!(error_f32(single(tangent), f64::tanh, singles(-10.0, 10.0)) < 3.0);
        assert!(error_f64(|x| x.elementary::<false>(tangent), f64::tanh, steps(-20.0, 20.0)) < 3.0);
        assert!(
            f32::NAN.elementary::<false>(tangent).is_nan()
                && f32::NAN.elementary::<false>(Elementary::Exponential).is_nan()
        );
        assert_eq!(f64::INFINITY.elementary::<false>(tangent), 1.0);
        assert_eq!(
            (
                f32::NEG_INFINITY.elementary::<false>(Elementary::Exponential),
                89.0f32.elementary::<false>(Elementary::Exponential)
            ),
            (0.0, f32::INFINITY)
        );
        assert_eq!(0.0f64.elementary::<false>(Elementary::Logarithm), f64::NEG_INFINITY);
    }

    /// Where loops take the functions with fewer steps, up to the ends of their reach and a step beyond.
    #[test]
    fn distances_say_where_few_steps_are_enough() {
        let near = |x: f32| x.exponential_distance() <= f32::EXPONENTIAL_REACH;
        assert!(near(86.99) && near(-86.99) && near(0.0) && near(-1e-45));
        assert!(!near(87.0) && !near(-87.0) && !near(f32::INFINITY) && !near(f32::NAN) && !near(-f32::NAN));
        let near = |x: f64| x.exponential_distance() <= f64::EXPONENTIAL_REACH;
        assert!(near(707.99) && near(-707.99) && !near(708.0) && !near(-708.0) && !near(f64::NAN));
        let near = |x: f32| x.logarithm_distance() <= f32::LOGARITHM_REACH;
        assert!(near(f32::MIN_POSITIVE) && near(f32::MAX) && near(1.0));
        let beyond = [
            0.0,
            -0.0,
            1e-40,
            -1.0,
            f32::INFINITY,
            f32::NEG_INFINITY,
            f32::NAN,
            -f32::NAN,
            -f32::MIN_POSITIVE,
        ];
        assert!(beyond.into_iter().all(|x| !near(x)));
        let near = |x: f64| x.logarithm_distance() <= f64::LOGARITHM_REACH;
        assert!(near(f64::MIN_POSITIVE) && near(f64::MAX) && near(1.0));
        let beyond = [
            0.0,
            -0.0,
            1e-310,
            -1.0,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
            -f64::NAN,
            -f64::MIN_POSITIVE,
        ];
        assert!(beyond.into_iter().all(|x| !near(x)));
    }

    #[test]
    fn turns_have_their_sine_and_cosine() {
        for turn in steps(0.0, 1.0) {
            let (sine, cosine) = turn.sine_and_cosine_of_turn::<true>();
            let angle = turn * std::f64::consts::TAU;
            // The angle itself is rounded, by up to half a unit of 2 pi.
            assert!((sine - angle.sin()).abs() < 2e-15 && (cosine - angle.cos()).abs() < 2e-15, "{turn}");
            let single = turn as f32;
            let angle = f64::from(single) * std::f64::consts::TAU;
            let (sine, cosine) = single.sine_and_cosine_of_turn::<true>();
            assert!((f64::from(sine) - angle.sin()).abs() < 2e-7, "{turn}");
            assert!((f64::from(cosine) - angle.cos()).abs() < 2e-7, "{turn}");
        }
        assert_eq!(0.25f64.sine_and_cosine_of_turn::<true>(), (1.0, 0.0));
        assert_eq!(0.5f32.sine_and_cosine_of_turn::<true>(), (-0.0, -1.0));
    }

    #[test]
    fn ends_of_the_range() {
        assert_eq!((f32::INFINITY.exponential(), f32::NEG_INFINITY.exponential()), (f32::INFINITY, 0.0));
        assert_eq!((89.0f32.exponential(), (-104.0f32).exponential()), (f32::INFINITY, 0.0));
        assert_eq!((f64::INFINITY.exponential(), f64::NEG_INFINITY.exponential()), (f64::INFINITY, 0.0));
        assert_eq!(((-150.0f32).exponential(), (-1e30f32).exponential()), (0.0, 0.0));
        assert_eq!(((-1000.0f64).exponential(), (-1e300f64).exponential()), (0.0, 0.0));
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
