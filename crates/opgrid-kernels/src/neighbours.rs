//! The floats next to each other.

use half::{bf16, f16};

/// A float that has neighbours.
pub trait Neighbours: Copy {
    /// The next float in the direction of another one, which it is if both are equal; NaN beside NaN.
    fn next_towards(self, other: Self) -> Self;
}

/// By the bits: those of floats of one sign are in the order of their sizes.
macro_rules! neighbours {
    ($($type:ident $zero:expr),*) => {
        $(impl Neighbours for $type {
            fn next_towards(self, other: Self) -> Self {
                let zero: Self = $zero;
                let bits = self.to_bits();
                match self.partial_cmp(&other) {
                    None => Self::NAN,
                    Some(std::cmp::Ordering::Equal) => other,
                    // The smallest float, with the sign of the other one.
                    Some(_) if self == zero => Self::from_bits(1 | (other.to_bits() & !(Self::MAX.to_bits() | Self::INFINITY.to_bits()))),
                    Some(order) if order.is_lt() == (self > zero) => Self::from_bits(bits + 1),
                    Some(_) => Self::from_bits(bits - 1),
                }
            }
        })*
    };
}

neighbours!(f16 f16::ZERO, bf16 bf16::ZERO, f32 0.0, f64 0.0);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_and_ends_have_neighbours() {
        assert_eq!(0f32.next_towards(-1.0), -f32::from_bits(1));
        assert_eq!((-0.0f64).next_towards(1.0), f64::from_bits(1));
        assert_eq!(f16::MAX.next_towards(f16::INFINITY), f16::INFINITY);
        assert_eq!(f32::INFINITY.next_towards(0.0), f32::MAX);
        assert_eq!(bf16::ONE.next_towards(bf16::ZERO).to_f32(), 1.0 - 2f32.powi(-8));
        assert!(1f32.next_towards(f32::NAN).is_nan());
    }
}
