//! Floats of eight bits: values that are stored, read, copied and converted; kernels compute with none of them.
//!
//! ```text
//! float8_e5m2      sign 1 │ exponent 5, bias 15 │ fraction 2      the upper half of a float16
//! float8_e4m3fn    sign 1 │ exponent 4, bias 7  │ fraction 3      no infinities: 0x7f and 0xff are NaN
//! ```
//!
//! Rounding is to the nearest value, ties to the even one. What is beyond the range becomes infinite or, where there is
//! no infinity, the largest number, as in PyTorch 2.15.
//!
//! Source: Micikevicius et al., FP8 Formats for Deep Learning, 2022.

use super::half_bits::f16_to_f32;
use super::limits::Precision;

/// An element of dtype `float8_e5m2`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(transparent)]
pub struct F8E5M2(u8);

/// An element of dtype `float8_e4m3fn`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(transparent)]
pub struct F8E4M3(u8);

/// Gives a format its bits, equality and limits: the distance from 1 to the next number, the largest and the smallest normal one.
macro_rules! of_bits {
    ($($type:ident, $widen:ident, $limits:expr;)*) => {
        $(impl $type {
            /// The value with these bits.
            #[inline(always)]
            pub fn from_bits(bits: u8) -> Self {
                Self(bits)
            }

            /// The bits of the value.
            #[inline(always)]
            pub fn to_bits(self) -> u8 {
                self.0
            }
        }

        impl PartialEq for $type {
            #[inline(always)]
            fn eq(&self, other: &Self) -> bool {
                $widen(self.0) == $widen(other.0)
            }
        }

        impl Precision for $type {
            const EPS: f64 = $limits[0];
            const MAX: f64 = $limits[1];
            const SMALLEST_NORMAL: f64 = $limits[2];
        })*
    };
}

of_bits! {
    F8E5M2, e5m2_to_f32, [0.25, 57344.0, 0.00006103515625];
    F8E4M3, e4m3_to_f32, [0.125, 448.0, 0.015625];
}

/// The value of a `float8_e5m2`.
#[inline(always)]
pub(super) fn e5m2_to_f32(bits: u8) -> f32 {
    f16_to_f32(u16::from(bits) << 8)
}

/// The `float8_e5m2` next to a value.
#[inline(always)]
pub(super) fn f32_to_e5m2(value: f32) -> u8 {
    // From halfway between the largest number, 57344, and what would come next on.
    let magnitude = match value.abs() {
        nan if nan.is_nan() => 0x7f,
        large if large >= 61440.0 => 0x7c,
        magnitude => nearest::<2>(magnitude, -14),
    };
    sign(value) | magnitude
}

/// The value of a `float8_e4m3fn`.
#[inline(always)]
pub(super) fn e4m3_to_f32(bits: u8) -> f32 {
    if bits & 0x7f == 0x7f {
        return f32::NAN;
    }
    // Exponent and fraction in a float16's place: its bias is 15 instead of 7, a factor of 2^8.
    let sign = u16::from(bits & 0x80) << 8;
    f16_to_f32(sign | u16::from(bits & 0x7f) << 7) * 256.0
}

/// The `float8_e4m3fn` next to a value.
#[inline(always)]
pub(super) fn f32_to_e4m3(value: f32) -> u8 {
    let magnitude = match value.abs() {
        nan if nan.is_nan() => 0x7f,
        large if large >= 448.0 => 0x7e,
        magnitude => nearest::<3>(magnitude, -6),
    };
    sign(value) | magnitude
}

#[inline(always)]
fn sign(value: f32) -> u8 {
    (value.to_bits() >> 24) as u8 & 0x80
}

/// The bits of the number next to a magnitude within the range, in a format with `FRACTION` bits of fraction whose
/// smallest normal exponent is `least`.
#[inline(always)]
fn nearest<const FRACTION: i32>(magnitude: f32, least: i32) -> u8 {
    let exponent = ((magnitude.to_bits() >> 23) as i32 - 127).max(least);
    // In steps of the last bit of the fraction: exact, and rounded once. One step too many is the next exponent's first.
    let steps = magnitude * f32::from_bits(((127 + FRACTION - exponent) as u32) << 23);
    ((exponent - least) << FRACTION) as u8 + steps.round_ties_even() as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that every value of a format converts to itself, and what lies between two neighbours to the nearer one.
    fn check(widen: fn(u8) -> f32, narrow: fn(f32) -> u8, largest: u8) {
        for bits in 0..largest {
            let (low, high) = (widen(bits), widen(bits + 1));
            assert!(low < high, "{bits:x}");
            let middle = low + (high - low) / 2.0;
            let even = if bits % 2 == 0 { bits } else { bits + 1 };
            let expected =
                [(low, bits), (middle.next_down(), bits), (middle, even), (middle.next_up(), bits + 1)];
            for (value, bits) in expected {
                assert_eq!(narrow(value), bits, "{value:e}");
                assert_eq!(narrow(-value), bits | 0x80, "-{value:e}");
            }
        }
        assert_eq!(narrow(widen(largest)), largest);
        assert!(widen(narrow(f32::NAN)).is_nan());
    }

    #[test]
    fn values_round_to_the_nearest_even_one() {
        check(e5m2_to_f32, f32_to_e5m2, 0x7b);
        check(e4m3_to_f32, f32_to_e4m3, 0x7e);
    }

    #[test]
    fn what_is_beyond_the_range_is_infinite_or_the_largest() {
        for value in [448.0, 464.0, 480.0, 1e9, f32::INFINITY] {
            assert_eq!((f32_to_e4m3(value), f32_to_e4m3(-value)), (0x7e, 0xfe), "{value}");
        }
        assert_eq!((f32_to_e5m2(61439.0), f32_to_e5m2(61440.0)), (0x7b, 0x7c));
        assert_eq!(e5m2_to_f32(f32_to_e5m2(f32::NEG_INFINITY)), f32::NEG_INFINITY);
        assert_eq!((e4m3_to_f32(0x7e), e4m3_to_f32(1), e5m2_to_f32(0x7b)), (448.0, 2f32.powi(-9), 57344.0));
    }
}
