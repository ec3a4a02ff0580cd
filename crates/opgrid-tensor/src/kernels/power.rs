//! Raises elements to the power of others.

use num_complex::Complex;

use super::arithmetic::Arithmetic;
use super::math::Inexact;

/// A type with powers.
pub trait Power: Arithmetic {
    /// This to the power of `exponent`. Integers wrap around, and to a negative power are 0 unless 1 or -1.
    fn power(self, exponent: Self) -> Self;
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

integers!(u8, i8, i16, i32, i64);

macro_rules! floats {
    ($($type:ty, $power:ident;)*) => {
        $(impl Power for $type {
            #[inline]
            fn power(self, exponent: Self) -> Self {
                self.$power(exponent)
            }
        })*
    };
}

floats! {
    f32, powf;
    f64, powf;
}

impl Power for Complex<f64> {
    /// Zero to any power is what comes of its logarithm, as in C.
    fn power(self, exponent: Self) -> Self {
        (exponent * Inexact::log(self)).exp()
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
    fn integers_to_negative_powers_are_units_or_zero() {
        assert_eq!((1i32.power(-3), (-1i32).power(-3), (-1i32).power(-2), 2i32.power(-1)), (1, -1, 1, 0));
        assert_eq!((2i8.power(7), 3u8.power(5), 0i64.power(0)), (-128, 243, 1));
    }
}
