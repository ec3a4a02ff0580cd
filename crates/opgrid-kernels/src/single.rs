//! Functions of real numbers in single precision, without branches and calls, so that loops become vector code of twice
//! as many numbers as in `double`.
//!
//! Errors are below four units in the last place; the tests compare with double precision.

use opgrid_array::loops::polynomials::{Elementary, Fused, Polynomials, horner};

/// `ln(1 + x)`: the logarithm of the rounded sum, and what rounding has left out.
#[inline(always)]
pub(super) fn ln_1p(x: f32) -> f32 {
    let sum = 1.0 + x;
    let left_out = x - (sum - 1.0);
    let result = sum.logarithm() + left_out / sum;
    let result = if sum == 1.0 { x } else { result };
    let result = if sum == 0.0 { f32::NEG_INFINITY } else { result };
    if sum == f32::INFINITY { sum } else { result }
}

/// `1 - erf` of a number that is not negative, as `t P(2 t - 1) exp(-z^2)` with `t = 2 / (2 + z)`.
///
/// `P` is the polynomial of degree 10 next to `exp(z^2) erfc(z) / t` up to 10.5, within 4e-9.
#[inline(always)]
fn erfc_far<const FUSED: bool>(z: f32) -> f32 {
    // Above, the result vanishes.
    let z = if z > 10.5 { 10.5 } else { z };
    let t = 2.0 / (2.0 + z);
    let y = t.fused::<FUSED>(2.0, -1.0);
    let series = horner!(
        FUSED: y;
        0.510_791_36,
        0.343_580_34,
        0.139_735_88,
        0.018_220_935,
        -0.010_752_753,
        -0.003_238_316_4,
        0.001_531_001_2,
        0.000_417_263_1,
        -0.000_296_349_3,
        -2.482_095_3e-5,
        3.546_660_4e-5
    );
    // The square in two parts, so that the exponential gets none of its rounding.
    let square = z * z;
    let rest = z.fused_exactly::<FUSED>(z, -square);
    let power = (-square).elementary::<FUSED>(Elementary::Exponential);
    t * series * rest.fused::<FUSED>(-power, power)
}

/// The error function: the quotient of polynomials of degree 5 in the square next to `erf(x) / x` up to 3.925, within 2e-8. Beyond,
/// it grows over 1, where it is cut off.
#[inline(always)]
pub(super) fn erf<const FUSED: bool>(x: f32) -> f32 {
    // Written so that NaN stays NaN.
    let bounded = |x: f32, bound: f32| {
        let x = if x > bound { bound } else { x };
        if x < -bound { -bound } else { x }
    };
    let x = bounded(x, 4.2);
    let z = x * x;
    let above = horner!(
        FUSED: z;
        std::f32::consts::FRAC_2_SQRT_PI,
        0.190_594_99,
        0.052_769_467,
        0.003_772_604_6,
        0.000_284_845_04,
        2.046_021_6e-6
    );
    let below = horner!(
        FUSED: z;
        1.0,
        0.502_243_14,
        0.114_183_24,
        0.014_983_307,
        0.001_163_871_5,
        3.804_779_4e-5
    );
    bounded(x * above / below, 1.0)
}

/// One minus the error function, with all its digits where that is next to one.
#[inline(always)]
pub(super) fn erfc<const FUSED: bool>(x: f32) -> f32 {
    let far = erfc_far::<FUSED>(x.abs());
    if x < 0.0 { 2.0 - far } else { far }
}

/// A number times the part of a normal distribution that lies below it. What lies beyond its magnitude is
/// `t P(t) exp(-x^2 / 2)` with `t = 3.5 / (3.5 + |x|)`.
///
/// `P` is the polynomial of degree 9 next to that up to 13.3, within 6e-9.
#[inline(always)]
pub(super) fn gelu<const FUSED: bool>(x: f32) -> f32 {
    let magnitude = x.abs();
    let t = 3.5 / (3.5 + magnitude);
    let series = horner!(
        FUSED: t;
        0.113_999_22,
        0.113_620_93,
        0.108_313_94,
        0.065_263_09,
        0.135_422_3,
        -0.144_082_11,
        0.277_107_7,
        -0.260_419_2,
        0.107_697_25,
        -0.016_923_118
    );
    // Nothing but numbers below the range of normal ones lies further away. They would take some hundred cycles each.
    let is_far = magnitude > f32::NORMAL_REACH;
    let near = if is_far { 0.0 } else { x };
    let beyond = t * series * near.elementary::<FUSED>(Elementary::ExponentialOfHalfSquare);
    // The sign of zero stays.
    let above = if x >= 0.0 { x } else { -0.0 };
    let result = (-magnitude).fused::<FUSED>(beyond, above);
    if is_far { above } else { result }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The largest distance in units in the last place, but for results below the range of normal numbers.
    fn error(found: fn(f32) -> f32, exact: fn(f64) -> f64, from: f64, to: f64) -> f64 {
        let inputs = (0..=100_000).map(|i| (from + (to - from) * f64::from(i) / 100_000.0) as f32);
        let distance = |x: f32| {
            let (found, exact) = (f64::from(found(x)), exact(f64::from(x)));
            let unit = exact.abs().max(f64::from(f32::MIN_POSITIVE)) * f64::from(f32::EPSILON);
            (found - exact).abs() / unit
        };
        inputs.map(distance).fold(0.0, f64::max)
    }

    #[test]
    fn errors_are_below_four_units() {
        /// A name, our function and the exact one, and where they are compared.
        pub type Case = (&'static str, fn(f32) -> f32, fn(f64) -> f64, &'static [(f64, f64)]);
        const GELU: &[(f64, f64)] = &[(-13.0, 13.0), (-1.0, 1.0), (-1e-6, 1e-6), (5.0, 1e30)];
        let exact_gelu = |x: f64| 0.5 * x * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2);
        let cases: [Case; 8] = [
            ("ln_1p", ln_1p, f64::ln_1p, &[(-0.999, 10.0), (-1e-6, 1e-6), (-0.01, 0.01), (0.0, 1e38)]),
            ("exp_m1", f32::exponential_less_one, f64::exp_m1, &[(-20.0, 88.7), (-1e-6, 1e-6), (-1.5, 1.5)]),
            ("erf", erf::<true>, libm::erf, &[(-4.0, 4.0), (-1e-5, 1e-5)]),
            ("erf, unfused", erf::<false>, libm::erf, &[(-4.0, 4.0), (-1e-5, 1e-5)]),
            ("erfc", erfc::<true>, libm::erfc, &[(-4.0, 9.0), (-1.0, 1.0)]),
            ("erfc, unfused", erfc::<false>, libm::erfc, &[(-4.0, 9.0), (-1.0, 1.0)]),
            ("gelu", gelu::<true>, exact_gelu, GELU),
            ("gelu, unfused", gelu::<false>, exact_gelu, GELU),
        ];
        for (name, found, exact, ranges) in cases {
            for (from, to) in ranges {
                let error = error(found, exact, *from, *to);
                assert!(error < 4.0, "{name} from {from} to {to}: {error}");
            }
        }
    }

    #[test]
    fn ends_of_the_range() {
        let inf = f32::INFINITY;
        assert_eq!((ln_1p(-1.0), ln_1p(inf), ln_1p(0.0)), (-inf, inf, 0.0));
        assert!(ln_1p(-2.0).is_nan() && ln_1p(f32::NAN).is_nan() && ln_1p(-0.0).is_sign_negative());
        let exp_m1 = f32::exponential_less_one;
        assert_eq!((exp_m1(inf), exp_m1(-inf), exp_m1(-30.0), exp_m1(89.0)), (inf, -1.0, -1.0, inf));
        assert!(exp_m1(-0.0).is_sign_negative() && exp_m1(f32::NAN).is_nan() && exp_m1(88.5).is_finite());
        ends_of_error_functions(erf::<true>, erfc::<true>, gelu::<true>);
        ends_of_error_functions(erf::<false>, erfc::<false>, gelu::<false>);
    }

    fn ends_of_error_functions(erf: fn(f32) -> f32, erfc: fn(f32) -> f32, gelu: fn(f32) -> f32) {
        let inf = f32::INFINITY;
        assert_eq!((erf(inf), erf(-inf), erfc(inf), erfc(-inf)), (1.0, -1.0, 0.0, 2.0));
        assert!(erf(f32::NAN).is_nan() && erfc(f32::NAN).is_nan() && erf(-0.0).is_sign_negative());
        assert_eq!((gelu(inf), gelu(-inf), gelu(-1e30), gelu(0.0), gelu(20.0)), (inf, 0.0, 0.0, 0.0, 20.0));
        assert!(
            gelu(-0.0).is_sign_negative() && gelu(-20.0).is_sign_negative() && gelu(0.0).is_sign_positive()
        );
        // NaN of any payload, though exponentials add to bits.
        for payload in 0..2048 {
            let nan = f32::from_bits(0x7fc0_0000 | payload);
            assert!(
                erf(nan).is_nan() && erf(-nan).is_nan() && erfc(nan).is_nan() && gelu(nan).is_nan(),
                "{payload}"
            );
        }
    }
}
