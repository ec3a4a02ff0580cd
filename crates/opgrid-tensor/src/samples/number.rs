//! Functions on single numbers, of which references are made.
//!
//! Integers wrap around at 64 bits; converting the result to a narrower dtype keeps what would have been left there.

use std::cmp::Ordering;

use num_complex::Complex64;
use opgrid_core::Scalar::{self, Bool, Complex, Float, Int};

use super::plain::real;

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
    match (a, b) {
        (Int(a), Int(b)) => Some(a.cmp(&b)),
        _ => real(a).partial_cmp(&real(b)),
    }
}

/// Whether two numbers are equal; NaN is not.
pub fn same(a: Scalar, b: Scalar) -> bool {
    match (a, b) {
        (Int(a), Int(b)) => a == b,
        _ => a.to_complex() == b.to_complex(),
    }
}

/// Whether a number is NaN, or one of its parts.
pub fn is_nan(x: Scalar) -> bool {
    x.to_complex().is_nan()
}

/// The number as an integer, without its fraction.
pub fn whole(x: Scalar) -> i64 {
    match x {
        Int(x) => x,
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
pub fn chosen(a: Scalar, b: Scalar, replaces: impl Fn(Ordering) -> bool) -> Scalar {
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
