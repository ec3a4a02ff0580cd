//! Arrays of all dtypes, with the values at which arithmetic differs, and comparison of their bits.

use opgrid_array::{Array, Bool, Element, Geometry, bf16, f16};
use opgrid_core::DType;

use crate::random::Random;

/// The dtypes of fused loops.
pub const DTYPES: [DType; 8] =
    [DType::F32, DType::F64, DType::I32, DType::I64, DType::U8, DType::Bool, DType::BF16, DType::F16];

/// A type whose values tests draw and compare.
pub trait Sample: Element {
    /// A number that is special in some way, or any.
    fn draw(random: &mut Random) -> Self;

    /// The bits; those of one NaN for all, and of true for all bytes that are.
    fn canonical(self) -> u64;
}

macro_rules! floats {
    ($($type:ident, $bits:ident, $uniform:expr;)*) => {
        $(impl Sample for $type {
            fn draw(random: &mut Random) -> Self {
                let special = [
                    $type::NAN, -$type::NAN, $type::INFINITY, $type::NEG_INFINITY, $type::MAX, $type::MIN,
                    $type::MIN_POSITIVE, $type::from_bits(1), -$type::from_bits(3),
                    $type::from_bits($type::MIN_POSITIVE.to_bits() - 1),
                ];
                let small = [0.0, -0.0, 1.0, -1.0, 0.5, -1.5, 2.5, 1e4, -3e9, 3e38];
                match random.below(8) {
                    0 => special[random.below(special.len())],
                    1 => { let number: f64 = small[random.below(small.len())]; $uniform(number) }
                    2 => $type::from_bits(random.next() as $bits),
                    _ => $uniform(random.number()),
                }
            }

            fn canonical(self) -> u64 {
                if self.is_nan() { u64::MAX } else { self.to_bits().into() }
            }
        })*
    };
}

floats! {
    f32, u32, |number: f64| number as f32;
    f64, u64, |number: f64| number;
    bf16, u16, bf16::from_f64;
    f16, u16, f16::from_f64;
}

macro_rules! integers {
    ($($type:ident),*) => {
        $(impl Sample for $type {
            fn draw(random: &mut Random) -> Self {
                let special = [0, 1, $type::MAX, $type::MIN, $type::MAX - 1, 2];
                match random.below(4) {
                    0 => special[random.below(special.len())],
                    1 => random.next() as $type,
                    _ => (random.below(20) as $type).wrapping_sub(10),
                }
            }

            fn canonical(self) -> u64 {
                self as u64
            }
        })*
    };
}

integers!(i32, i64, u8);

impl Sample for Bool {
    fn draw(random: &mut Random) -> Self {
        (random.below(2) == 0).into()
    }

    fn canonical(self) -> u64 {
        self.is_true().into()
    }
}

/// Evaluates an expression with the Rust type of a dtype of fused loops.
#[macro_export]
macro_rules! with_sample {
    ($dtype:expr, $type:ident => $body:expr) => {
        match $dtype {
            opgrid_core::DType::F32 => {
                type $type = f32;
                $body
            }
            opgrid_core::DType::F64 => {
                type $type = f64;
                $body
            }
            opgrid_core::DType::I32 => {
                type $type = i32;
                $body
            }
            opgrid_core::DType::I64 => {
                type $type = i64;
                $body
            }
            opgrid_core::DType::U8 => {
                type $type = u8;
                $body
            }
            opgrid_core::DType::Bool => {
                type $type = opgrid_array::Bool;
                $body
            }
            opgrid_core::DType::BF16 => {
                type $type = opgrid_array::bf16;
                $body
            }
            opgrid_core::DType::F16 => {
                type $type = opgrid_array::f16;
                $body
            }
            other => panic!("no sample of {other}"),
        }
    };
}

/// A contiguous array of drawn values.
pub fn drawn(random: &mut Random, dtype: DType, sizes: &[i64]) -> Array {
    let count = sizes.iter().product::<i64>() as usize;
    with_sample!(dtype, T => {
        let elements: Vec<T> = (0..count).map(|_| T::draw(random)).collect();
        Array::from_slice(&elements, sizes).unwrap()
    })
}

/// The values of an array in their order, as bits that are equal if the values are.
pub fn canonical(array: &Array) -> Vec<u64> {
    with_sample!(array.dtype(), T => array.to_vec::<T>().unwrap().into_iter().map(Sample::canonical).collect())
}

/// An array of drawn values that broadcasts to a shape, at some offset and with some strides.
pub fn laid_out(random: &mut Random, dtype: DType, shape: &[i64]) -> Array {
    let mut sizes = shape.to_vec();
    for size in &mut sizes {
        if random.below(6) == 0 {
            *size = 1;
        }
    }
    if random.below(6) == 0 {
        sizes.remove(0);
    }
    // A larger array, of which every second or all elements are seen, in some order of dimensions.
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    if random.below(3) == 0 {
        order.reverse();
    }
    let step = if random.below(4) == 0 { 2 } else { 1 };
    let offset = random.below(4) as i64;
    let mut strides = vec![0; sizes.len()];
    let mut next = step;
    for &dim in order.iter().rev() {
        strides[dim] = next;
        next *= sizes[dim];
    }
    let base = drawn(random, dtype, &[next.max(step) + offset]);
    base.view(Geometry::strided(&sizes, &strides, offset).unwrap()).unwrap()
}
