//! Random elements: small numbers with ties, ordinary ones, the ends of the range, and what is no number.

use opgrid_core::DType;
use opgrid_tensor::{bf16, f16};

use super::case::View;
use crate::random::Random;

/// Every dtype with data.
pub const DTYPES: [DType; 12] = [
    DType::Bool,
    DType::U8,
    DType::I8,
    DType::I16,
    DType::I32,
    DType::I64,
    DType::F16,
    DType::BF16,
    DType::F32,
    DType::F64,
    DType::Complex64,
    DType::Complex128,
];

/// What kind of numbers a tensor holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Between -4 and 4 in steps of a quarter, whole for integers: ties, zeros, equal elements.
    Small,
    /// Numbers of one magnitude.
    Ordinary,
    /// With infinities, NaN, zeros of both signs, the largest and the smallest numbers among them.
    Extreme,
    /// Between these powers of ten, each as often.
    Magnitudes(i32, i32),
    /// Zeros and ones.
    Flags,
    /// Integers from 0 to one below the number.
    Below(i64),
    /// Integers that count from either end of so many.
    Index(i64),
}

impl Style {
    /// A style that arithmetic is tried with.
    pub fn any(random: &mut Random) -> Self {
        match random.below(100) {
            0..45 => Self::Small,
            45..80 => Self::Ordinary,
            80..95 => Self::Extreme,
            _ => Self::Flags,
        }
    }

    /// A style whose sums and products stay far from the ends of the range.
    pub fn tame(random: &mut Random) -> Self {
        if random.chance(50) { Self::Small } else { Self::Ordinary }
    }
}

/// Random contents of a block.
pub fn bytes(random: &mut Random, dtype: DType, count: usize, style: Style) -> Vec<u8> {
    let scale = *random.pick(&[1.0, 1.0, 10.0, 100.0, 0.01]);
    let mut bytes = Vec::with_capacity(count * dtype.size_in_bytes());
    for _ in 0..count {
        push(random, dtype, style, scale, &mut bytes);
    }
    bytes
}

/// Adds one element.
fn push(random: &mut Random, dtype: DType, style: Style, scale: f64, bytes: &mut Vec<u8>) {
    if dtype.is_floating_point() || dtype.is_complex() {
        let parts = if dtype.is_complex() { 2 } else { 1 };
        for _ in 0..parts {
            push_real(random, dtype, style, scale, bytes);
        }
        return;
    }
    let value = integer(random, dtype, style, scale);
    match dtype {
        DType::Bool => bytes.push(u8::from(value & 1 != 0)),
        DType::U8 | DType::I8 => bytes.push(value as u8),
        DType::I16 => bytes.extend((value as i16).to_ne_bytes()),
        DType::I32 => bytes.extend((value as i32).to_ne_bytes()),
        _ => bytes.extend(value.to_ne_bytes()),
    }
}

fn integer(random: &mut Random, dtype: DType, style: Style, scale: f64) -> i64 {
    let small = random.below(9) as i64 - 4;
    match style {
        Style::Small if dtype == DType::U8 => small.abs(),
        Style::Small => small,
        Style::Flags => small & 1,
        Style::Ordinary => (unit(random) * scale * 10.0) as i64,
        Style::Magnitudes(..) => (real(random, style, scale) * 10.0) as i64,
        Style::Below(end) => random.below(end.max(1) as usize) as i64,
        Style::Index(end) if random.chance(30) => -1 - random.below(end.max(1) as usize) as i64,
        Style::Index(end) => random.below(end.max(1) as usize) as i64,
        Style::Extreme => {
            let bits = 8 * dtype.size_in_bytes() as u32;
            let (min, max) = (-1i64 << (bits - 1), (1i64 << (bits - 2)) - 1 + (1i64 << (bits - 2)));
            match random.below(6) {
                0 => min,
                1 => max,
                2 => -1,
                3 => random.bits() as i64,
                _ => small,
            }
        }
    }
}

/// A number between -1 and 1.
pub fn unit(random: &mut Random) -> f64 {
    (random.bits() >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

fn real(random: &mut Random, style: Style, scale: f64) -> f64 {
    match style {
        Style::Small => (random.below(33) as f64 - 16.0) / 4.0,
        Style::Flags => random.below(2) as f64,
        Style::Below(end) | Style::Index(end) => random.below(end.max(1) as usize) as f64,
        Style::Magnitudes(low, high) => {
            unit(random) * 10f64.powi(low + random.below((high - low).max(0) as usize + 1) as i32)
        }
        Style::Ordinary | Style::Extreme => unit(random) * scale,
    }
}

/// Adds a float, or a part of a complex number.
fn push_real(random: &mut Random, dtype: DType, style: Style, scale: f64, bytes: &mut Vec<u8>) {
    let special = (style == Style::Extreme && random.chance(40)).then(|| random.below(8));
    let value = match special {
        Some(0) => f64::NAN,
        Some(1) => f64::INFINITY,
        Some(2) => f64::NEG_INFINITY,
        Some(3) => -0.0,
        Some(4) => 0.0,
        _ => real(random, style, scale),
    };
    /// The largest, the smallest ordinary and the smallest number of all, in the dtype itself.
    macro_rules! write {
        ($type:ty, $bits:ty, $value:expr) => {
            match special {
                Some(5) => <$type>::MAX,
                Some(6) => <$type>::MIN_POSITIVE,
                Some(7) => <$type>::from_bits(1 as $bits),
                _ => $value,
            }
            .to_ne_bytes()
            .to_vec()
        };
    }
    bytes.extend(match dtype {
        DType::F16 => write!(f16, u16, f16::from_f64(value)),
        DType::BF16 => write!(bf16, u16, bf16::from_f64(value)),
        DType::F32 | DType::Complex64 => write!(f32, u32, value as f32),
        _ => write!(f64, u64, value),
    });
}

/// Where the elements of a tensor lie on its block, in row-major order.
pub fn places(view: &View) -> Vec<usize> {
    let mut places = vec![view.offset];
    for (size, stride) in view.sizes.iter().zip(&view.strides) {
        places = places.iter().flat_map(|at| (0..*size).map(move |step| at + step * stride)).collect();
    }
    places.into_iter().filter_map(|at| usize::try_from(at).ok()).collect()
}
