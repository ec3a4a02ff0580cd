//! Says what Winograd's method needs of numbers, and computes some of them together.

use std::ops::{Add, Mul, Sub};

#[cfg(target_arch = "x86_64")]
use super::super::lanes::Avx2;
use super::super::lanes::Lanes;
#[cfg(not(target_arch = "x86_64"))]
use super::super::lanes::Portable;
use super::super::tile::Summed;
use super::LANES;

/// A floating-point number.
pub trait Real:
    Summed + PartialOrd + Into<f64> + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self>
{
    /// Registers of processors with AVX2.
    type Wide: Lanes<Number = Self>;
    const HALF: Self;
    const LARGEST: f64;
    /// Halves and quarters of smaller numbers may be rounded.
    const SMALLEST: f64;

    fn magnitude(self) -> Self;
}

#[cfg(target_arch = "x86_64")]
type Wide<T> = Avx2<T>;
#[cfg(not(target_arch = "x86_64"))]
type Wide<T> = Portable<T>;

macro_rules! real {
    ($($type:ident),*) => {
        $(impl Real for $type {
            type Wide = Wide<$type>;
            const HALF: Self = 0.5;
            const LARGEST: f64 = $type::MAX as f64;
            const SMALLEST: f64 = ($type::MIN_POSITIVE / $type::EPSILON) as f64;

            #[inline(always)]
            fn magnitude(self) -> Self {
                self.abs()
            }
        })*
    };
}

real!(f32, f64);

/// The magnitudes of some numbers, lane by lane.
#[derive(Clone, Copy)]
pub(super) struct Magnitudes<T> {
    largest: [T; LANES],
    total: [T; LANES],
}

impl<T: Real> Magnitudes<T> {
    pub const NONE: Self = Self { largest: [T::ZERO; LANES], total: [T::ZERO; LANES] };

    #[inline(always)]
    pub fn add(&mut self, numbers: &[T; LANES]) {
        for (lane, number) in numbers.iter().enumerate() {
            let magnitude = number.magnitude();
            let largest = self.largest[lane];
            self.largest[lane] = if magnitude > largest { magnitude } else { largest };
            self.total[lane] = self.total[lane] + magnitude;
        }
    }

    /// The largest one, and the sum. If a number is NaN or infinite, so is the sum.
    pub fn all(&self) -> [f64; 2] {
        let largest = self.largest.iter().fold(0.0, |largest: f64, lane| largest.max((*lane).into()));
        [largest, self.total.iter().map(|lane| (*lane).into()).sum()]
    }
}

/// Numbers that are computed together. What is written of them was computed before, so that the compiler need not know that it lies
/// apart from what is read.
#[derive(Clone, Copy)]
pub(super) struct Vector<T>(pub [T; LANES]);

impl<T: Real> Vector<T> {
    /// Some numbers that follow each other.
    #[inline(always)]
    pub fn read(numbers: &[T], first: usize) -> Self {
        let mut lanes = [T::ZERO; LANES];
        lanes.copy_from_slice(&numbers[first..][..LANES]);
        Self(lanes)
    }

    #[inline(always)]
    pub fn write(self, to: &mut [T], first: usize) {
        to[first..][..LANES].copy_from_slice(&self.0);
    }

    #[inline(always)]
    pub fn half(mut self) -> Self {
        for lane in 0..LANES {
            self.0[lane] = self.0[lane] * T::HALF;
        }
        self
    }
}

impl<T: Real> Add for Vector<T> {
    type Output = Self;

    #[inline(always)]
    fn add(mut self, other: Self) -> Self {
        for lane in 0..LANES {
            self.0[lane] = self.0[lane] + other.0[lane];
        }
        self
    }
}

impl<T: Real> Sub for Vector<T> {
    type Output = Self;

    #[inline(always)]
    fn sub(mut self, other: Self) -> Self {
        for lane in 0..LANES {
            self.0[lane] = self.0[lane] - other.0[lane];
        }
        self
    }
}
