//! Operations on the bits of integers and bools.

use opgrid_array::Bool;
use opgrid_array::loops::arithmetic::Arithmetic;

/// A type with bits; a bool is one.
pub trait Bits: Arithmetic {
    /// The bits that both have.
    fn and(self, other: Self) -> Self;

    /// The bits that one of both has.
    fn or(self, other: Self) -> Self;

    /// The bits that exactly one of both has.
    fn xor(self, other: Self) -> Self;

    /// The other bits.
    fn inverted(self) -> Self;
}

/// An integer whose bits can be moved.
pub trait Shift: Bits {
    /// The bits moved up, those at the end lost; all of them where `count` is negative or leads beyond the width.
    fn shifted_left(self, count: Self) -> Self;

    /// The bits moved down, with copies of the sign behind them; all of them where `count` is negative or leads beyond
    /// the width.
    fn shifted_right(self, count: Self) -> Self;
}

macro_rules! integers {
    ($($type:ty),*) => {
        $(impl Bits for $type {
            #[inline(always)]
            fn and(self, other: Self) -> Self {
                self & other
            }

            #[inline(always)]
            fn or(self, other: Self) -> Self {
                self | other
            }

            #[inline(always)]
            fn xor(self, other: Self) -> Self {
                self ^ other
            }

            #[inline(always)]
            fn inverted(self) -> Self {
                !self
            }
        }

        #[allow(unused_comparisons, reason = "the same body for signed and unsigned types")]
        impl Shift for $type {
            #[inline(always)]
            fn shifted_left(self, count: Self) -> Self {
                // A negative count is a large one.
                let moved = self.wrapping_shl(count as u32);
                if count as u64 >= u64::from(Self::BITS) { 0 } else { moved }
            }

            #[inline(always)]
            fn shifted_right(self, count: Self) -> Self {
                let beyond = count as u64 >= u64::from(Self::BITS);
                let rest = if self < 0 { !0 } else { 0 };
                if beyond { rest } else { self.wrapping_shr(count as u32) }
            }
        })*
    };
}

integers!(u8, i8, i16, i32, i64, u64);

impl Bits for Bool {
    #[inline(always)]
    fn and(self, other: Self) -> Self {
        (self.is_true() & other.is_true()).into()
    }

    #[inline(always)]
    fn or(self, other: Self) -> Self {
        (self.is_true() | other.is_true()).into()
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        (self.is_true() ^ other.is_true()).into()
    }

    #[inline(always)]
    fn inverted(self) -> Self {
        (!self.is_true()).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_that_are_moved_beyond_the_end_are_lost() {
        assert_eq!((1i8.shifted_left(7), 1i8.shifted_left(8), 1i8.shifted_left(-1)), (-128, 0, 0));
        assert_eq!((1u8.shifted_left(7), 3u8.shifted_left(255)), (128, 0));
        assert_eq!(
            (-8i32.shifted_right(1), (-8i32).shifted_right(40), (-8i64).shifted_right(-1)),
            (-4, -1, -1)
        );
        assert_eq!((200u8.shifted_right(3), 200u8.shifted_right(8), i64::MAX.shifted_right(64)), (25, 0, 0));
    }
}
