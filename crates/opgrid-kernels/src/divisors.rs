//! Common divisors and multiples of integers.

use opgrid_array::loops::math::Magnitude;

/// An integer with divisors.
pub trait Divisors: Copy {
    /// The largest integer that divides both, by Euclid's algorithm; 0 for two zeros. It is negative where the size of the least
    /// number of the type, which the type does not have, is the largest divisor or leads to it, as in torch.
    fn common_divisor(self, other: Self) -> Self;

    /// The smallest integer that both divide, wrapping around; 0 where one is 0.
    fn common_multiple(self, other: Self) -> Self;
}

/// For each type and the one in which C computes with it.
macro_rules! divisors {
    ($($type:ident in $wide:ident),*) => {
        $(impl Divisors for $type {
            fn common_divisor(self, other: Self) -> Self {
                let [mut a, mut b] = [self, other].map(|x| $wide::from($wide::from(x).magnitude() as Self));
                while a != 0 {
                    (a, b) = (b.wrapping_rem(a), a);
                }
                b as Self
            }

            fn common_multiple(self, other: Self) -> Self {
                match $wide::from(self.common_divisor(other)) {
                    0 => 0,
                    divisor => {
                        let multiple = $wide::from(self).wrapping_div(divisor).wrapping_mul($wide::from(other));
                        multiple.magnitude() as Self
                    }
                }
            }
        })*
    };
}

divisors!(u8 in i32, i8 in i32, i16 in i32, i32 in i32, i64 in i64, u64 in u64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_number_has_no_size() {
        assert_eq!(
            [i8::MIN.common_divisor(i8::MIN), i8::MIN.common_divisor(0), i8::MIN.common_divisor(6)],
            [i8::MIN, i8::MIN, -2]
        );
        assert_eq!(
            [i8::MIN.common_multiple(i8::MIN), i8::MIN.common_multiple(3), 100i8.common_multiple(99)],
            [i8::MIN, i8::MIN, -84]
        );
        assert_eq!((i64::MIN.common_divisor(-1), i64::MIN.common_multiple(-1)), (1, i64::MIN));
    }
}
