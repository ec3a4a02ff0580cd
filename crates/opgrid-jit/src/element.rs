//! The dtypes of values in loops, and blocks of their elements.

use opgrid_array::{Bool, Element};
use opgrid_array::{bf16, f16};
use opgrid_core::DType;

/// Elements of a block: what one step of a loop computes before the next step. Blocks of all values stay in the first cache.
pub(crate) const BLOCK: usize = 1024;

/// The elements of one value, as many as a block has room for.
#[derive(Debug)]
pub(crate) enum Block {
    F32(Vec<f32>),
    F64(Vec<f64>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    U8(Vec<u8>),
    Bool(Vec<Bool>),
    BF16(Vec<bf16>),
    F16(Vec<f16>),
}

/// A type of elements that blocks hold.
pub(crate) trait Lane: Element {
    /// The elements of a block of this type.
    fn elements(block: &Block) -> &[Self];

    /// The elements of a block of this type, for writing.
    fn elements_mut(block: &mut Block) -> &mut [Self];

    /// A block of zeros.
    fn block() -> Block;

    /// The bits, as the lowest of 64.
    fn to_bits64(self) -> u64;

    /// The element with these bits.
    fn from_bits64(bits: u64) -> Self;
}

/// Evaluates an expression with the Rust type of a dtype that blocks hold.
macro_rules! with_lane {
    ($dtype:expr, $type:ident => $body:expr) => {
        match $dtype {
            ::opgrid_core::DType::F32 => {
                type $type = f32;
                $body
            }
            ::opgrid_core::DType::F64 => {
                type $type = f64;
                $body
            }
            ::opgrid_core::DType::I32 => {
                type $type = i32;
                $body
            }
            ::opgrid_core::DType::I64 => {
                type $type = i64;
                $body
            }
            ::opgrid_core::DType::U8 => {
                type $type = u8;
                $body
            }
            ::opgrid_core::DType::Bool => {
                type $type = ::opgrid_array::Bool;
                $body
            }
            ::opgrid_core::DType::BF16 => {
                type $type = ::opgrid_array::bf16;
                $body
            }
            ::opgrid_core::DType::F16 => {
                type $type = ::opgrid_array::f16;
                $body
            }
            other => unreachable!("`load`, `constant` and `convert` refuse values of {other}"),
        }
    };
}
pub(crate) use with_lane;

macro_rules! lanes {
    ($($variant:ident, $type:ty, |$value:ident| $to_bits:expr, |$bits:ident| $from_bits:expr;)*) => {
        $(impl Lane for $type {
            fn elements(block: &Block) -> &[Self] {
                match block {
                    Block::$variant(elements) => elements,
                    other => unreachable!("expected a block of {}, found {other:?}", Self::DTYPE),
                }
            }

            fn elements_mut(block: &mut Block) -> &mut [Self] {
                match block {
                    Block::$variant(elements) => elements,
                    other => unreachable!("expected a block of {}, found {other:?}", Self::DTYPE),
                }
            }

            fn block() -> Block {
                Block::$variant(vec![Self::default(); BLOCK])
            }

            fn to_bits64(self) -> u64 {
                let $value = self;
                $to_bits
            }

            fn from_bits64($bits: u64) -> Self {
                $from_bits
            }
        })*

        impl Block {
            /// The address of the first element.
            pub(crate) fn start(&mut self) -> *mut u8 {
                match self {
                    $(Self::$variant(elements) => elements.as_mut_ptr().cast(),)*
                }
            }
        }

        /// Whether loops have values of a dtype: float32, float64, int32, int64, uint8, bool, bfloat16 and float16.
        pub fn is_supported(dtype: DType) -> bool {
            matches!(dtype, $(DType::$variant)|*)
        }
    };
}

lanes! {
    F32, f32, |value| value.to_bits().into(), |bits| f32::from_bits(bits as u32);
    F64, f64, |value| value.to_bits(), |bits| f64::from_bits(bits);
    I32, i32, |value| (value as u32).into(), |bits| bits as i32;
    I64, i64, |value| value as u64, |bits| bits as i64;
    U8, u8, |value| value.into(), |bits| bits as u8;
    Bool, Bool, |value| value.is_true().into(), |bits| (bits != 0).into();
    BF16, bf16, |value| value.to_bits().into(), |bits| bf16::from_bits(bits as u16);
    F16, f16, |value| value.to_bits().into(), |bits| f16::from_bits(bits as u16);
}

impl Block {
    /// Stands in for a block that is being written.
    pub(crate) const EMPTY: Self = Self::U8(Vec::new());

    /// A block of zeros.
    pub(crate) fn new(dtype: DType) -> Self {
        with_lane!(dtype, T => T::block())
    }

    /// Sets all elements to the one with these bits.
    pub(crate) fn fill(&mut self, dtype: DType, bits: u64) {
        with_lane!(dtype, T => T::elements_mut(self).fill(T::from_bits64(bits)));
    }
}

/// Whether values of a supported dtype are computed with.
pub(crate) fn is_computed(dtype: DType) -> bool {
    !matches!(dtype, DType::BF16 | DType::F16)
}
