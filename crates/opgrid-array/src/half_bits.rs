//! Converts between single precision and the two 16-bit formats without branches, so that loops become vector code.
//!
//! ```text
//! float16    sign 1 │ exponent 5, bias 15  │ fraction 10
//! bfloat16   sign 1 │ exponent 8, bias 127 │ fraction 7      the upper half of a float32
//! float32    sign 1 │ exponent 8, bias 127 │ fraction 23
//! ```
//!
//! Rounding is to the nearest value, ties to the even one; every NaN becomes the quiet one.

/// The exponents' biases differ by this many steps of a float32's exponent.
const REBIAS: u32 = (127 - 15) << 23;
/// The exponent bits of a float16 that is infinite or no number, moved to a float32's place.
const TOP_EXPONENT: u32 = 0x1f << 23;

/// A float16's value.
#[inline(always)]
pub(super) fn f16_to_f32(bits: u16) -> f32 {
    let sign = u32::from(bits & 0x8000) << 16;
    let shifted = u32::from(bits & 0x7fff) << 13;
    let exponent = shifted & TOP_EXPONENT;
    let normal = shifted + REBIAS;
    // Without a leading one the fraction counts in steps of 2^-24: give it one, and subtract that as a float.
    let subnormal = (f32::from_bits(normal + (1 << 23)) - f32::from_bits(REBIAS + (1 << 23))).to_bits();
    let special = normal + REBIAS;
    let magnitude = if exponent == TOP_EXPONENT { special } else { normal };
    f32::from_bits(sign | if exponent == 0 { subnormal } else { magnitude })
}

/// The float16 next to a value.
#[inline(always)]
pub(super) fn f32_to_f16(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = (bits >> 16) as u16 & 0x8000;
    let magnitude = bits & 0x7fff_ffff;
    let odd = (magnitude >> 13) & 1;
    let normal = (magnitude.wrapping_sub(REBIAS).wrapping_add(0xfff + odd)) >> 13;
    // Adding 0.5 shifts the fraction so that the processor rounds at steps of 2^-24.
    let subnormal = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0.5f32.to_bits());
    let finite = if magnitude < (113 << 23) { subnormal } else { normal };
    let infinite = if magnitude >= (143 << 23) { 0x7c00 } else { finite };
    sign | if magnitude > 0x7f80_0000 { 0x7e00 } else { infinite as u16 }
}

/// A bfloat16's value.
#[inline(always)]
pub(super) fn bf16_to_f32(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// The bfloat16 next to a value.
#[inline(always)]
pub(super) fn f32_to_bf16(value: f32) -> u16 {
    let bits = value.to_bits();
    let rounded = bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) >> 16;
    if value.is_nan() { 0x7fc0 } else { rounded as u16 }
}

#[cfg(test)]
mod tests {
    use half::{bf16, f16};

    use super::*;

    #[test]
    fn every_half_has_its_value() {
        for bits in 0..=u16::MAX {
            let (ours, theirs) = (f16_to_f32(bits), f16::from_bits(bits).to_f32());
            assert!(ours.to_bits() == theirs.to_bits() || (ours.is_nan() && theirs.is_nan()), "{bits:x}");
            if !ours.is_nan() {
                assert_eq!(f32_to_f16(ours), bits);
                assert_eq!(f32_to_bf16(bf16_to_f32(bits)) == bits, !bf16_to_f32(bits).is_nan());
            }
        }
    }

    #[test]
    fn rounding_is_the_nearest_even_one() {
        // Every pattern of the upper 20 bits, with all kinds of tails: below, at and above a tie.
        for upper in 0..1u32 << 20 {
            for tail in [0, 1, 0x7ff, 0x800, 0x801, 0xfff] {
                let value = f32::from_bits(upper << 12 | tail);
                if value.is_nan() {
                    assert!(f16::from_bits(f32_to_f16(value)).is_nan());
                    assert!(bf16::from_bits(f32_to_bf16(value)).is_nan());
                } else {
                    assert_eq!(f32_to_f16(value), f16::from_f32(value).to_bits(), "{value:e}");
                    assert_eq!(f32_to_bf16(value), bf16::from_f32(value).to_bits(), "{value:e}");
                }
            }
        }
    }
}
