//! Functions of real numbers in double precision, without branches and calls, so that loops become vector code; single
//! precision takes them too, and rounds once.
//!
//! Errors are below four units in the last place of double precision; the tests compare with the standard library.

use std::f64::consts::{LN_2, LOG2_E};

use opgrid_array::loops::polynomials::{Fused, Polynomials, horner, in_pairs};

/// Above this, squares of numbers may be infinite, and adding one does not change them.
const LARGE: f64 = 1e150;

/// 2 to the power of `x`: the exponential of what is left of it beside the next integer, and that power of two.
#[inline(always)]
pub(super) fn exp2(x: f64) -> f64 {
    // Written so that NaN stays NaN. All that lies beyond is infinite or zero.
    let x = if x > 1100.0 { 1100.0 } else { x };
    let x = if x < -1100.0 { -1100.0 } else { x };
    let whole = x.round_ties_even();
    // In the lowest bits of such a number stands the integer: twice the bias and `whole`, which is positive.
    const STEP_OF_ONE: f64 = 1.5 * (1u64 << 52) as f64;
    let both = (whole + STEP_OF_ONE).to_bits().wrapping_sub(STEP_OF_ONE.to_bits() - 2 * 1023);
    let half = both >> 1;
    let power = |biased: u64| f64::from_bits(biased << 52);
    ((x - whole) * LN_2).exponential() * power(half) * power(both.wrapping_sub(half))
}

/// The logarithm to base 2, which is exact for powers of two: the exponent, and the logarithm of a number between the
/// roots of 1/2 and 2.
#[inline(always)]
pub(super) fn log2(x: f64) -> f64 {
    const ROOT: u64 = std::f64::consts::FRAC_1_SQRT_2.to_bits();
    const STEP_OF_ONE: f64 = (1u64 << 52) as f64;
    let subnormal = x < f64::MIN_POSITIVE;
    let normal = if subnormal { x * STEP_OF_ONE } else { x };
    let shifted = normal.to_bits().wrapping_add(1.0f64.to_bits() - ROOT);
    let m = f64::from_bits((shifted & ((1 << 52) - 1)) + ROOT);
    let k = f64::from_bits((shifted >> 52) | STEP_OF_ONE.to_bits()) - (STEP_OF_ONE + 1023.0);
    let k = if subnormal { k - 52.0 } else { k };
    let result = m.logarithm().mul_add(LOG2_E, k);
    let result = if x == 0.0 { f64::NEG_INFINITY } else { result };
    let result = if x == f64::INFINITY { x } else { result };
    // Negative numbers and NaN.
    if x >= 0.0 { result } else { f64::NAN }
}

/// `ln(1 + x)`: the logarithm of the rounded sum, times what rounding has changed.
///
/// Source: W. Kahan; in N. J. Higham, Accuracy and Stability of Numerical Algorithms (2002), section 1.14.
#[inline(always)]
pub(super) fn ln_1p(x: f64) -> f64 {
    let sum = 1.0 + x;
    let added = sum - 1.0;
    let result = sum.logarithm() * (x / added);
    let result = if added == 0.0 { x } else { result };
    let result = if sum == 0.0 { f64::NEG_INFINITY } else { result };
    if sum == f64::INFINITY { sum } else { result }
}

/// `e^x - 1`, in the same way.
#[inline(always)]
pub(super) fn exp_m1(x: f64) -> f64 {
    let power = x.exponential();
    let less = power - 1.0;
    let result = less * (x / power.logarithm());
    let result = if less == 0.0 { x } else { result };
    let result = if less == -1.0 { -1.0 } else { result };
    if power == f64::INFINITY { power } else { result }
}

/// The hyperbolic sine; where the exponential is infinite, by that of the half.
#[inline(always)]
pub(super) fn sinh(x: f64) -> f64 {
    let magnitude = x.abs();
    let less = exp_m1(magnitude);
    let near = 0.5 * (less + less / (less + 1.0));
    let root = (0.5 * magnitude).exponential();
    (if magnitude > 700.0 { 0.5 * root * root } else { near }).copysign(x)
}

/// The hyperbolic cosine.
#[inline(always)]
pub(super) fn cosh(x: f64) -> f64 {
    let magnitude = x.abs();
    let power = magnitude.exponential();
    let root = (0.5 * magnitude).exponential();
    if magnitude > 700.0 { 0.5 * root * root } else { 0.5 * power + 0.5 / power }
}

/// The inverse of the hyperbolic sine.
#[inline(always)]
pub(super) fn asinh(x: f64) -> f64 {
    let magnitude = x.abs();
    let square = magnitude * magnitude;
    let near = ln_1p(magnitude + square / (1.0 + (square + 1.0).sqrt()));
    let far = magnitude.logarithm() + LN_2;
    (if magnitude > LARGE { far } else { near }).copysign(x)
}

/// The inverse of the hyperbolic cosine; NaN below 1.
#[inline(always)]
pub(super) fn acosh(x: f64) -> f64 {
    let above = x - 1.0;
    let near = ln_1p(above + (above * (above + 2.0)).sqrt());
    let far = x.logarithm() + LN_2;
    let result = if x > LARGE { far } else { near };
    if x >= 1.0 { result } else { f64::NAN }
}

/// The inverse of the hyperbolic tangent; NaN beyond 1 and -1.
#[inline(always)]
pub(super) fn atanh(x: f64) -> f64 {
    let magnitude = x.abs();
    (0.5 * ln_1p(2.0 * magnitude / (1.0 - magnitude))).copysign(x)
}

/// The error function up to 1, by the polynomial that equals `erf(x) / x` at the 12 Chebyshev nodes of the square, within
/// 1e-17.
#[inline(always)]
fn erf_near(x: f64) -> f64 {
    x * in_pairs!(
        x * x;
        std::f64::consts::FRAC_2_SQRT_PI,
        -0.376_126_389_031_835_43,
        0.112_837_916_709_450_06,
        -0.026_866_170_643_237_77,
        0.005_223_977_607_116_422_5,
        -0.000_854_832_597_538_969_2,
        0.000_120_552_949_048_397_07,
        -1.492_473_690_741_966e-5,
        1.644_742_470_331_736_2e-6,
        -1.620_848_380_187_170_5e-7,
        1.372_006_454_677_768_6e-8,
        -7.795_898_827_002_142e-10
    )
}

/// `1 - erf` of a number that is not negative, as `t exp(P(2 t - 1) - z^2)` with `t = 2 / (2 + z)`.
///
/// `P` is the polynomial that equals `ln(erfc(z) exp(z^2) / t)` at the 26 Chebyshev nodes, within 4e-16.
#[inline(always)]
fn erfc_far(z: f64) -> f64 {
    // Above, the result vanishes.
    let z = if z > 28.0 { 28.0 } else { z };
    let t = 2.0 / (2.0 + z);
    let y = t.mul_add(2.0, -1.0);
    let series = horner!(
        y;
        -0.671_794_084_056_692_2,
        0.672_643_223_977_656_7,
        0.047_343_306_841_863_754,
        -0.046_895_610_231_160_824,
        -0.009_872_689_364_108_46,
        0.008_824_938_556_113_83,
        0.001_758_933_507_548_039_7,
        -0.002_345_812_478_466_051_6,
        -0.000_146_246_288_597_182_52,
        0.000_673_678_537_136_992_1,
        -9.373_894_209_180_262e-5,
        -0.000_174_301_163_609_912_56,
        7.141_808_767_204_543e-5,
        3.173_732_815_534_939_5e-5,
        -3.023_780_825_572_967e-5,
        1.608_020_509_543_949_4e-7,
        8.662_494_482_986_981e-6,
        -2.994_294_118_363_313e-6,
        -1.409_412_730_702_420_6e-6,
        1.313_719_907_350_980_3e-6,
        -4.148_492_083_412_459_3e-8,
        -3.086_559_820_402_206e-7,
        7.746_001_345_360_312e-8,
        3.675_878_538_183_882e-8,
        -1.277_650_623_749_327_7e-8,
        -1.114_146_642_190_189e-9
    );
    // The square in two parts, so that the exponential gets none of its rounding.
    let square = z * z;
    let rest = z.mul_add(z, -square);
    t * (-square).exponential() * (series - rest).exponential()
}

/// The error function; above 1 by the polynomial next to `-ln(1 - erf(x))` up to 5.93, within 1e-17 of the result. Nothing is
/// divided.
#[inline(always)]
pub(super) fn erf(x: f64) -> f64 {
    let magnitude = x.abs();
    // Above, the result is 1.
    let distance = if magnitude > 5.93 { 5.93 } else { magnitude };
    let logarithm = in_pairs!(
        distance;
        5.028_451_679_102_249e-7,
        1.128_374_089_523_791_5,
        0.636_643_627_861_453_8,
        0.102_703_440_175_154_77,
        -0.018_990_180_146_872_714,
        -0.000_410_626_095_750_011_4,
        0.001_915_941_513_150_546,
        -0.000_770_641_866_031_870_3,
        0.000_135_049_645_276_640_32,
        2.026_694_742_405_239_7e-5,
        -2.282_258_592_356_470_8e-5,
        8.667_181_052_624_56e-6,
        -2.135_679_271_544_796_4e-6,
        3.733_027_470_618_704e-7,
        -4.642_280_005_815_017_6e-8,
        3.934_245_792_744_172e-9,
        -2.044_952_172_575_123e-10,
        4.928_590_022_769_778e-12
    );
    let far = (1.0 - (-logarithm).exponential_near_in_pairs()).copysign(x);
    // NaN is near, because the exponential of what lies far adds to bits.
    if magnitude >= 1.0 { far } else { erf_near(x) }
}

/// One minus the error function, with all its digits where that is next to one.
#[inline(always)]
pub(super) fn erfc(x: f64) -> f64 {
    let magnitude = x.abs();
    let far = erfc_far(magnitude);
    let far = if x < 0.0 { 2.0 - far } else { far };
    if magnitude < 0.5 { 1.0 - erf_near(x) } else { far }
}

/// A number times the part of a normal distribution that lies below it: by one minus the error function, so that the lower end
/// keeps its digits.
#[inline(always)]
pub(super) fn gelu(x: f64) -> f64 {
    // Below, the result vanishes, and that of minus infinity is no product of it.
    let x = if x < -40.0 { -40.0 } else { x };
    0.5 * x * erfc(-x * std::f64::consts::FRAC_1_SQRT_2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use opgrid_array::loops::polynomials::Elementary;

    /// The largest distance in units in the last place.
    fn error(found: fn(f64) -> f64, exact: fn(f64) -> f64, from: f64, to: f64) -> f64 {
        let inputs = (0..=100_000).map(|i| from + (to - from) * f64::from(i) / 100_000.0);
        let distance = |x: f64| {
            let (found, exact) = (found(x), exact(x));
            let unit = exact.abs().max(f64::MIN_POSITIVE) * f64::EPSILON;
            if exact == found { 0.0 } else { (found - exact).abs() / unit }
        };
        inputs.map(distance).fold(0.0, f64::max)
    }

    #[test]
    fn errors_are_below_four_units() {
        /// A name, our function and the exact one, and where they are compared.
        pub type Case = (&'static str, fn(f64) -> f64, fn(f64) -> f64, &'static [(f64, f64)]);
        let cases: [Case; 11] = [
            ("exp2", exp2, f64::exp2, &[(-1000.0, 1000.0), (-1.0, 1.0)]),
            ("log2", log2, f64::log2, &[(1e-300, 4.0), (0.9, 1.1), (1.0, 1e300)]),
            ("ln_1p", ln_1p, f64::ln_1p, &[(-0.999, 10.0), (-1e-9, 1e-9), (0.0, 1e300)]),
            ("exp_m1", exp_m1, f64::exp_m1, &[(-40.0, 709.0), (-1e-9, 1e-9), (-1.0, 1.0)]),
            ("sinh", sinh, f64::sinh, &[(-710.0, 710.0), (-1.0, 1.0)]),
            ("cosh", cosh, f64::cosh, &[(-710.0, 710.0), (-1.0, 1.0)]),
            ("asinh", asinh, libm::asinh, &[(-10.0, 10.0), (-1e300, 1e300)]),
            ("acosh", acosh, libm::acosh, &[(1.0, 10.0), (1.0, 1e300)]),
            ("atanh", atanh, libm::atanh, &[(-0.999, 0.999), (-1e-5, 1e-5)]),
            ("erf", erf, libm::erf, &[(-6.0, 6.0), (-1e-5, 1e-5)]),
            ("erfc", erfc, libm::erfc, &[(-6.0, 26.0), (-1.0, 1.0)]),
        ];
        for (name, found, exact, ranges) in cases {
            for (from, to) in ranges {
                let error = error(found, exact, *from, *to);
                assert!(error < 5.0, "{name} from {from} to {to}: {error}");
            }
        }
    }

    #[test]
    fn the_normal_curve_keeps_its_digits_to_its_end() {
        // Squares of these are exact.
        for x in (0..=37).map(f64::from).chain([0.25, 0.5, 1.5]) {
            let (found, exact) =
                (x.elementary::<true>(Elementary::ExponentialOfHalfSquare), (-0.5 * x * x).exp());
            assert!((found - exact).abs() <= 2.0 * f64::EPSILON * exact, "{x}: {found}, {exact}");
        }
        assert!(f64::NORMAL_REACH.elementary::<true>(Elementary::ExponentialOfHalfSquare).is_normal());
        assert!(f32::NORMAL_REACH.elementary::<true>(Elementary::ExponentialOfHalfSquare).is_normal());
    }

    #[test]
    fn ends_of_the_range() {
        let inf = f64::INFINITY;
        assert_eq!((exp2(inf), exp2(-inf), exp2(3.0), exp2(1023.0)), (inf, 0.0, 8.0, 2f64.powi(1023)));
        assert!(exp2(-1074.0) > 0.0 && exp2(f64::NAN).is_nan());
        assert_eq!((log2(0.0), log2(inf), log2(8.0), log2(f64::from_bits(1))), (-inf, inf, 3.0, -1074.0));
        assert!(log2(-1.0).is_nan() && log2(f64::NAN).is_nan());
        assert_eq!((ln_1p(-1.0), ln_1p(inf), ln_1p(0.0)), (-inf, inf, 0.0));
        assert!(ln_1p(-2.0).is_nan() && ln_1p(-0.0).is_sign_negative());
        assert_eq!((exp_m1(inf), exp_m1(-inf)), (inf, -1.0));
        assert!(exp_m1(-0.0).is_sign_negative() && exp_m1(f64::NAN).is_nan());
        assert_eq!((sinh(-inf), cosh(-inf), asinh(-inf), acosh(inf)), (-inf, inf, -inf, inf));
        assert!(sinh(-0.0).is_sign_negative() && asinh(-0.0).is_sign_negative() && acosh(0.5).is_nan());
        assert!(acosh(-5.0).is_nan() && atanh(1.5).is_nan() && atanh(-1.5).is_nan());
        assert_eq!((atanh(1.0), atanh(-1.0), acosh(1.0)), (inf, -inf, 0.0));
        assert_eq!((erf(inf), erf(-inf), erfc(inf), erfc(-inf), erfc(0.0)), (1.0, -1.0, 0.0, 2.0, 1.0));
        assert!(erf(f64::NAN).is_nan() && erfc(f64::NAN).is_nan() && erf(-0.0).is_sign_negative());
        assert_eq!((gelu(inf), gelu(-inf), gelu(-1e300), gelu(50.0)), (inf, 0.0, 0.0, 50.0));
        // NaN of any payload, though exponentials add to bits.
        for payload in 0..2048 {
            let nan = f64::from_bits(0x7ff8_0000_0000_0000 | payload);
            assert!(erf(nan).is_nan() && erf(-nan).is_nan() && erfc(nan).is_nan(), "{payload}");
        }
    }
}
