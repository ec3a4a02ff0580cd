//! Functions of floating-point and complex numbers, for [`elementwise`](super::elementwise) loops.
//!
//! Those that loops call often are polynomials without branches, so that they become vector code; write them with
//! `#[inline(always)]`, here.

use num_complex::Complex;

use super::arithmetic::Arithmetic;

/// A type with the elementary functions.
pub trait Inexact: Arithmetic {
    /// `e` to the power of this.
    fn exp(self) -> Self;
}

macro_rules! from_std {
    ($($type:ty),*) => {
        $(impl Inexact for $type {
            #[inline(always)]
            fn exp(self) -> Self {
                <$type>::exp(self)
            }
        })*
    };
}

from_std!(f32, f64, Complex<f32>, Complex<f64>);
