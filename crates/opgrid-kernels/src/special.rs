//! The error function, the gamma function and what belongs to them, of floats.
//!
//! Errors are below four units in the last place where the function is not near a zero or a pole. The error functions are
//! vector code.

use crate::{double, single};
use opgrid_array::loops::arithmetic::Arithmetic;
use opgrid_array::loops::function::{methods, unfused};
use opgrid_array::loops::polynomials::{Polynomials, horner};

/// A float with the error function, the gamma function and what belongs to them.
pub trait Special: Arithmetic {
    /// Whether loops gain by the widest vectors.
    const IS_WIDE: bool = true;

    /// The error function.
    fn erf(self) -> Self;

    /// One minus the error function.
    fn erfc(self) -> Self;

    /// A number times the part of a normal distribution that lies below it.
    fn gelu(self) -> Self;

    /// The inverse of the error function; NaN beyond 1 and -1.
    fn erfinv(self) -> Self;

    /// The logarithm of the distance of the gamma function from zero.
    fn lgamma(self) -> Self;

    /// The derivative of [`lgamma`](Self::lgamma); NaN at negative integers.
    fn digamma(self) -> Self;

    unfused! { Special:
        erf_unfused = erf,
        erfc_unfused = erfc,
        gelu_unfused = gelu,
    }
}

methods! { Special, unfused:
    /// The error function.
    ErrorFunction = erf and erf_unfused;
    /// One minus the error function.
    ErrorFunctionComplement = erfc and erfc_unfused;
}

methods! { Special:
    /// The inverse of the error function.
    ErrorFunctionInverse = erfinv(x);
}

macro_rules! special {
    ($($type:ident: $($name:ident = $function:expr),*;)*) => {
        $(impl Special for $type {
            $(#[inline(always)]
            fn $name(self) -> Self {
                $function(self)
            })*

            #[inline(always)]
            fn erfinv(self) -> Self {
                erfinv(self.into()) as $type
            }

            #[inline]
            fn lgamma(self) -> Self {
                opgrid_special::ln_gamma(self.into()) as $type
            }

            #[inline]
            fn digamma(self) -> Self {
                opgrid_special::digamma(self.into()) as $type
            }
        })*
    };
}

special! {
    f32: erf = single::erf::<true>, erfc = single::erfc::<true>, gelu = single::gelu::<true>,
        erf_unfused = single::erf::<false>, erfc_unfused = single::erfc::<false>, gelu_unfused = single::gelu::<false>;
    f64: erf = double::erf, erfc = double::erfc, gelu = double::gelu;
}

/// By the quantiles of the normal distribution: a quotient of polynomials in the middle, two in the square root of the
/// logarithm at the ends.
///
/// Source: M. J. Wichura, Algorithm AS 241: The Percentage Points of the Normal Distribution, Applied Statistics 37 (1988),
/// `PPND16`.
#[inline(always)]
fn erfinv(x: f64) -> f64 {
    let q = 0.5 * x;
    let r = 0.180625 - q * q;
    let middle = q * horner!(
        r;
        3.387_132_872_796_366_5,
        1.331_416_678_917_843_9e2,
        1.971_590_950_306_551_4e3,
        1.373_169_376_550_946e4,
        4.592_195_393_154_987e4,
        6.726_577_092_700_87e4,
        3.343_057_558_358_813e4,
        2.509_080_928_730_122_6e3
    ) / horner!(
        r;
        1.0,
        4.231_333_070_160_091e1,
        6.871_870_074_920_579e2,
        5.394_196_021_424_751e3,
        2.121_379_430_158_659_5e4,
        3.930_789_580_009_271e4,
        2.872_908_573_572_194_4e4,
        5.226_495_278_852_854e3
    );
    let root = (-(0.5 * (1.0 - x.abs())).logarithm()).sqrt();
    let r = root - 1.6;
    let outer = horner!(
        r;
        1.423_437_110_749_683_5,
        4.630_337_846_156_546,
        5.769_497_221_460_691,
        3.647_848_324_763_204_5,
        1.270_458_252_452_368_4,
        2.417_807_251_774_506e-1,
        2.272_384_498_926_918_4e-2,
        7.745_450_142_783_414e-4
    ) / horner!(
        r;
        1.0,
        2.053_191_626_637_759,
        1.676_384_830_183_803_8,
        6.897_673_349_851e-1,
        1.481_039_764_274_800_8e-1,
        1.519_866_656_361_645_7e-2,
        5.475_938_084_995_345e-4,
        1.050_750_071_644_416_9e-9
    );
    let r = root - 5.0;
    let end = horner!(
        r;
        6.657_904_643_501_103,
        5.463_784_911_164_114,
        1.784_826_539_917_291_3,
        2.965_605_718_285_048_8e-1,
        2.653_218_952_657_612_4e-2,
        1.242_660_947_388_078_5e-3,
        2.711_555_568_743_487_6e-5,
        2.010_334_399_292_288_1e-7
    ) / horner!(
        r;
        1.0,
        5.998_322_065_558_88e-1,
        1.369_298_809_227_358e-1,
        1.487_536_129_085_061_5e-2,
        7.868_691_311_456_133e-4,
        1.846_318_317_510_054_8e-5,
        1.421_511_758_316_446e-7,
        2.044_263_103_389_939_7e-15
    );
    let tail = (if root <= 5.0 { outer } else { end }).copysign(x);
    let result = (if q.abs() <= 0.425 { middle } else { tail }) * std::f64::consts::FRAC_1_SQRT_2;
    let result = if x.abs() == 1.0 { f64::INFINITY.copysign(x) } else { result };
    if x.abs() <= 1.0 { result } else { f64::NAN }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inverse_of_the_error_function_is_one() {
        for i in 0..=20_000 {
            let x = f64::from(i) / 20_000.0 * 5.5;
            let back = Special::erfinv(Special::erf(x));
            // Towards the ends the error function itself has few digits left.
            let slope = (x * x).exp();
            assert!((back - x).abs() < 4e-16 * (slope + 4.0 * x.max(1.0)), "{x} {back}");
        }
        assert_eq!((Special::erfinv(1.0f64), Special::erfinv(-1.0f32)), (f64::INFINITY, f32::NEG_INFINITY));
        assert!(Special::erfinv(1.5f64).is_nan() && Special::erfinv(f64::NAN).is_nan());
        assert!(Special::erfinv(-0.0f64).is_sign_negative());
    }
}
