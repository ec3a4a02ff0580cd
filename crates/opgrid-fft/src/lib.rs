//! Plans of Fourier transforms, by the crates `rustfft` and `realfft`, kept for the next transform of the same length.
//!
//! A crate of its own because of what both are: generic in the number, with some seven thousand functions for `f32` and `f64`,
//! which every crate that makes plans would compile again.
//!
//! ```
//! use opgrid_fft::{Complex, Direction, Planned};
//!
//! let mut line = [1.0, 2.0, 3.0, 4.0].map(|re| Complex::new(re, 0.0));
//! f64::plan_complex(4, Direction::Forward).process(&mut line);
//! assert_eq!(line[0].re, 10.0);
//! ```

use std::collections::HashSet;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use realfft::RealFftPlanner;
use rustfft::{FftDirection, FftPlanner};

pub use realfft::{ComplexToReal, RealToComplex};
pub use rustfft::num_complex::Complex;
pub use rustfft::{Fft, FftNum};

/// The sign of the exponent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// `e^(-2πi…)`.
    Forward,
    /// `e^(+2πi…)`, without a division.
    Backward,
}

/// A float whose transforms are planned here: `f32` and `f64`.
///
/// Plans may be used by several threads. How much memory one needs beside a line, it says itself.
pub trait Planned: FftNum {
    /// A transform in place of `n` complex numbers.
    fn plan_complex(n: usize, direction: Direction) -> Arc<dyn Fft<Self>>;

    /// A forward transform of `n` real numbers, to the first `n / 2 + 1` of the results.
    fn plan_of_real(n: usize) -> Arc<dyn RealToComplex<Self>>;

    /// A backward transform of `n / 2 + 1` complex numbers to `n` real ones, without a division.
    fn plan_to_real(n: usize) -> Arc<dyn ComplexToReal<Self>>;
}

/// What a length is planned for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Transform {
    Complex(Direction),
    OfReal,
    ToReal,
}

/// Plans of one precision.
struct Plans<T: FftNum> {
    complex: FftPlanner<T>,
    real: RealFftPlanner<T>,
    kept: HashSet<(usize, Transform)>,
}

/// How many plans of a precision are kept. Where there is one more, all are forgotten.
pub const KEPT: usize = 64;

impl<T: FftNum> Plans<T> {
    fn new() -> Self {
        Self { complex: FftPlanner::new(), real: RealFftPlanner::new(), kept: HashSet::new() }
    }

    /// Notes a length. Where there are too many, all are forgotten.
    fn note(&mut self, n: usize, transform: Transform) {
        if self.kept.insert((n, transform)) && self.kept.len() > KEPT {
            *self = Self::new();
            self.kept.insert((n, transform));
        }
    }

    fn plan_complex(&mut self, n: usize, direction: Direction) -> Arc<dyn Fft<T>> {
        self.note(n, Transform::Complex(direction));
        let direction = match direction {
            Direction::Forward => FftDirection::Forward,
            Direction::Backward => FftDirection::Inverse,
        };
        self.complex.plan_fft(n, direction)
    }

    fn plan_of_real(&mut self, n: usize) -> Arc<dyn RealToComplex<T>> {
        self.note(n, Transform::OfReal);
        self.real.plan_fft_forward(n)
    }

    fn plan_to_real(&mut self, n: usize) -> Arc<dyn ComplexToReal<T>> {
        self.note(n, Transform::ToReal);
        self.real.plan_fft_inverse(n)
    }
}

macro_rules! planned {
    ($($type:ident $plans:ident),*) => {$(
        static $plans: LazyLock<Mutex<Plans<$type>>> = LazyLock::new(|| Mutex::new(Plans::new()));

        // Functions of one type: they are compiled here, and called from elsewhere.
        impl Planned for $type {
            fn plan_complex(n: usize, direction: Direction) -> Arc<dyn Fft<Self>> {
                $plans.lock().unwrap_or_else(PoisonError::into_inner).plan_complex(n, direction)
            }

            fn plan_of_real(n: usize) -> Arc<dyn RealToComplex<Self>> {
                $plans.lock().unwrap_or_else(PoisonError::into_inner).plan_of_real(n)
            }

            fn plan_to_real(n: usize) -> Arc<dyn ComplexToReal<Self>> {
                $plans.lock().unwrap_or_else(PoisonError::into_inner).plan_to_real(n)
            }
        }
    )*};
}

planned!(f32 OF_SINGLES, f64 OF_DOUBLES);

/// The examples of README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
