//! Functions on single numbers, of which references are made.
//!
//! Integers wrap around at 64 bits; converting the result to a narrower dtype keeps what would have been left there.

use std::cmp::Ordering;

use num_complex::Complex64;
use opgrid_core::Scalar::{self, Bool, Complex, Float, Int, UInt};

use super::plain::real;
pub use super::plain::{exact, integer};

/// The function of both numbers' common kind.
pub fn of_two(
    a: Scalar,
    b: Scalar,
    bools: fn(bool, bool) -> bool,
    integers: fn(i64, i64) -> i64,
    floats: fn(f64, f64) -> f64,
    complex: fn(Complex64, Complex64) -> Complex64,
) -> Scalar {
    match (a, b) {
        (Bool(a), Bool(b)) => Bool(bools(a, b)),
        (Complex(_), _) | (_, Complex(_)) => Complex(complex(a.to_complex(), b.to_complex())),
        (Float(_), _) | (_, Float(_)) => Float(floats(real(a), real(b))),
        _ => Int(integers(whole(a), whole(b))),
    }
}

/// The function of floats or of complex numbers; integers and bools count as floats.
pub fn inexact(x: Scalar, floats: fn(f64) -> f64, complex: fn(Complex64) -> Complex64) -> Scalar {
    match x {
        Complex(x) => Complex(complex(x)),
        x => Float(floats(real(x))),
    }
}

/// The float that a function of floats gives; integers and bools count as floats.
pub fn float_by(x: Scalar, function: impl Fn(f64) -> f64) -> Scalar {
    Float(function(real(x)))
}

/// The whole number that a function of floats gives; integers are whole.
pub fn whole_by(x: Scalar, floats: fn(f64) -> f64) -> Scalar {
    match x {
        Float(x) => Float(floats(x)),
        x => x,
    }
}

/// A number beside branch cuts, on the side that the signs of zeros say.
pub fn off_cuts(x: Complex64) -> Complex64 {
    let beside = |part: f64| if part == 0.0 { f64::copysign(1e-30, part) } else { part };
    Complex64::new(beside(x.re), beside(x.im))
}

/// The distance from zero; that of the smallest integer is the integer itself.
pub fn magnitude(x: Scalar) -> Scalar {
    match x {
        Int(x) => Int(x.wrapping_abs()),
        UInt(x) => UInt(x),
        x => Float(x.to_complex().norm()),
    }
}

/// The conjugate, which a real number is itself.
pub fn conjugate(x: Scalar) -> Scalar {
    match x {
        Complex(x) => Complex(x.conj()),
        x => x,
    }
}

/// The number at distance one from zero in the direction of `x`, or zero.
pub fn direction(x: Scalar) -> Scalar {
    match x {
        Bool(x) => Bool(x),
        Int(x) => Int(x.signum()),
        UInt(_) => Int(1),
        Complex(x) if x == Complex64::ZERO => Complex(x),
        Complex(x) => Complex(x / x.norm()),
        Float(x) => Float(f64::from(i8::from(x > 0.0) - i8::from(x < 0.0))),
    }
}

/// The angle of a complex number; pi of negative real ones, 0 of others.
pub fn angle(x: Scalar) -> Scalar {
    Float(match x {
        Complex(x) => x.im.atan2(x.re),
        x if is_nan(x) => f64::NAN,
        x if real(x) < 0.0 => std::f64::consts::PI,
        _ => 0.0,
    })
}

/// The sine of pi times a number, divided by its angle.
pub fn sinc(x: f64) -> f64 {
    let angle = std::f64::consts::PI * x;
    if x == 0.0 { 1.0 } else { angle.sin() / angle }
}

/// Computes `sin(πx) / (πx)` of a complex number.
pub fn complex_sinc(x: Complex64) -> Complex64 {
    let angle = std::f64::consts::PI * x;
    if x == Complex64::ZERO { Complex64::ONE } else { angle.sin() / angle }
}

/// The logarithm of the logistic function.
pub fn log_sigmoid(x: f64) -> f64 {
    let below = if x > 0.0 { 0.0 } else { x };
    below - (-x.abs()).exp().ln_1p()
}

/// The inverse of the error function, by halving the interval in which it lies.
pub fn erf_inverse(x: f64) -> f64 {
    if x.is_nan() || x.abs() > 1.0 {
        return f64::NAN;
    }
    if x.abs() == 1.0 {
        return x * f64::INFINITY;
    }
    let (mut low, mut high) = (0.0, 6.0);
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if libm::erf(middle) < x.abs() { low = middle } else { high = middle }
    }
    (0.5 * (low + high)).copysign(x)
}

/// The derivative of the logarithm of the gamma function, by the recurrence up to numbers for which four terms of the series are
/// enough; a negative number is lifted, too.
pub fn digamma(x: f64) -> f64 {
    if x <= 0.0 && x.trunc() == x {
        return if x == 0.0 { f64::NEG_INFINITY.copysign(-x) } else { f64::NAN };
    }
    if x < -1e4 {
        return f64::NAN;
    }
    let (mut x, mut result) = (x, 0.0);
    while x < 40.0 {
        result -= 1.0 / x;
        x += 1.0;
    }
    let series = 1.0 / 12.0 - 1.0 / (120.0 * x * x) + 1.0 / (252.0 * x.powi(4));
    result + x.ln() - 0.5 / x - series / (x * x)
}

/// The sum; of bools whether one is true.
pub fn plus(a: Scalar, b: Scalar) -> Scalar {
    of_two(a, b, |a, b| a | b, i64::wrapping_add, |a, b| a + b, |a, b| a + b)
}

/// The product; of bools whether both are true.
pub fn times(a: Scalar, b: Scalar) -> Scalar {
    of_two(a, b, |a, b| a & b, i64::wrapping_mul, |a, b| a * b, |a, b| a * b)
}

/// The difference.
pub fn minus(a: Scalar, b: Scalar) -> Scalar {
    of_two(a, b, |a, b| a ^ b, i64::wrapping_sub, |a, b| a - b, |a, b| a - b)
}

/// The order of two numbers; none if one is NaN. Complex numbers are ordered by their real parts.
pub fn order(a: Scalar, b: Scalar) -> Option<Ordering> {
    match (exact(a), exact(b)) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        _ => real(a).partial_cmp(&real(b)),
    }
}

/// Whether two numbers are equal; NaN is not.
pub fn same(a: Scalar, b: Scalar) -> bool {
    match (exact(a), exact(b)) {
        (Some(a), Some(b)) => a == b,
        _ => a.to_complex() == b.to_complex(),
    }
}

/// Whether a number is NaN, or one of its parts.
pub fn is_nan(x: Scalar) -> bool {
    x.to_complex().is_nan()
}

/// Whether a number is infinite, or one of its parts.
pub fn is_infinite(x: Scalar) -> bool {
    let x = x.to_complex();
    x.re.is_infinite() || x.im.is_infinite()
}

/// The number as an integer, without its fraction and with its lowest 64 bits.
pub fn whole(x: Scalar) -> i64 {
    match x {
        Int(x) => x,
        UInt(x) => x as i64,
        other => real(other) as i64,
    }
}

/// The quotient of floats or complex numbers; of integers and bools that of the same floats.
pub fn over(a: Scalar, b: Scalar) -> Scalar {
    match (a, b) {
        (Complex(_), _) | (_, Complex(_)) => Complex(a.to_complex() / b.to_complex()),
        _ => Float(real(a) / real(b)),
    }
}

/// The quotient, rounded downwards. Nothing is below infinity by less than one, so that the remainder of that is no number.
pub fn floored(a: Scalar, b: Scalar) -> Scalar {
    if let (Some(a), Some(b)) = (exact(a), exact(b)) {
        let below = a % b != 0 && (a < 0) != (b < 0);
        return integer(a / b - i128::from(below));
    }
    match (a, b) {
        (a, b) if !a.to_complex().is_finite() => minus(over(a, b), a),
        (a, b) => inexact(over(a, b), f64::floor, |quotient| quotient),
    }
}

/// What a quotient that is rounded towards zero leaves.
pub fn left(a: Scalar, b: Scalar) -> Scalar {
    if let (Some(a), Some(b)) = (exact(a), exact(b)) {
        return integer(a.checked_rem(b).unwrap_or(0));
    }
    of_two(a, b, |_, _| false, |a, b| a.checked_rem(b).unwrap_or(0), |a, b| a % b, |a, _| a)
}

/// What a quotient that is rounded downwards leaves.
pub fn modulo(a: Scalar, b: Scalar) -> Scalar {
    let rest = left(a, b);
    let is_other_side = rest.to_bool() && (real(rest) < 0.0) != (real(b) < 0.0);
    if is_other_side { plus(rest, b) } else { rest }
}

/// The power. Integers to a negative one are what is left of the fraction without its digits.
pub fn power(a: Scalar, b: Scalar) -> Scalar {
    let integers = |base: i64, exponent: i64| match (base, exponent < 0) {
        (_, false) => base.wrapping_pow(exponent as u32),
        (1, true) => 1,
        (-1, true) => {
            if exponent % 2 == 0 {
                1
            } else {
                -1
            }
        }
        _ => 0,
    };
    of_two(a, b, |a, b| a | !b, integers, f64::powf, |a, b| a.powc(b))
}

/// The second of two numbers if their order is one that `replaces` the first; NaN before every number.
pub fn extremum(a: Scalar, b: Scalar, replaces: impl Fn(Ordering) -> bool) -> Scalar {
    match order(a, b) {
        Some(order) => {
            if replaces(order) {
                b
            } else {
                a
            }
        }
        None => {
            if is_nan(a) {
                a
            } else {
                b
            }
        }
    }
}
