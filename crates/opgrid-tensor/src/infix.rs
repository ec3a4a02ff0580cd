//! Operators of Rust on tensors and numbers: `+`, `-`, `*`, `/` with either on either side, and the sign.
//!
//! Each calls an operator of [`ops`](crate::ops) and gives a `Result`, for shapes and dtypes may not fit. A result may be one side, so that
//! `(&x * &x + &x)?` needs one question mark; Rust allows that beside tensors, not beside numbers. Of integers and of floats there is one
//! type each, so that literals have a type.
//!
//! # Examples
//!
//! ```
//! use opgrid::Tensor;
//!
//! let x = Tensor::from_slice(&[1.0f32, 2.0], &[2])?;
//! let y = ((1 - &x)? * 2.5)?;
//! assert_eq!((&y / &x)?.to_vec::<f32>()?, [0.0, -1.25]);
//! assert_eq!((&x * &x + &x)?.to_vec::<f32>()?, [2.0, 6.0]);
//! # Ok::<(), opgrid_core::Error>(())
//! ```

use std::ops::{Add, Div, Mul, Neg, Sub};

use opgrid_core::{Result, Scalar};

use crate::tensor::Tensor;
use crate::{Complex, ops};

const ONE: Scalar = Scalar::Int(1);

/// `infix!(Add::add, tensors, left, right)` implements `Add` between tensors and results by `tensors`, for a number on the right
/// by `left`, and for a number on the left by `right`. Tensors may be borrowed or not.
macro_rules! infix {
    ($($trait:ident::$method:ident, $tensors:expr, $left:expr, $right:expr;)*) => {
        $(
            infix!(@tensors $trait, $method, $tensors, [&Tensor, &Tensor] [&Tensor, Tensor] [Tensor, &Tensor] [Tensor, Tensor]);
            infix!(@results $trait, $method, $tensors, &Tensor, Tensor);
            infix!(@numbers $trait, $method, $left, $right, [i64 f64 bool Complex<f64> Scalar]);
        )*
    };
    (@tensors $trait:ident, $method:ident, $call:expr, $([$one:ty, $other:ty])*) => {
        $(impl $trait<$other> for $one {
            type Output = Result<Tensor>;

            fn $method(self, other: $other) -> Result<Tensor> {
                let call: fn(&Tensor, &Tensor) -> Result<Tensor> = $call;
                #[allow(clippy::needless_borrow, reason = "the same body for borrowed and owned tensors")]
                call(&self, &other)
            }
        })*
    };
    (@results $trait:ident, $method:ident, $call:expr, $($tensor:ty),*) => {
        $(
            impl $trait<$tensor> for Result<Tensor> {
                type Output = Self;

                fn $method(self, other: $tensor) -> Self {
                    let call: fn(&Tensor, &Tensor) -> Self = $call;
                    #[allow(clippy::needless_borrow, reason = "the same body for borrowed and owned tensors")]
                    call(&self?, &other)
                }
            }

            impl $trait<Result<Tensor>> for $tensor {
                type Output = Result<Tensor>;

                fn $method(self, other: Result<Tensor>) -> Result<Tensor> {
                    let call: fn(&Tensor, &Tensor) -> Result<Tensor> = $call;
                    #[allow(clippy::needless_borrow, reason = "the same body for borrowed and owned tensors")]
                    call(&self, &other?)
                }
            }
        )*
    };
    (@numbers $trait:ident, $method:ident, $left:expr, $right:expr, [$($number:ty)*]) => {
        $(infix!(@number $trait, $method, $left, $right, $number, &Tensor);
        infix!(@number $trait, $method, $left, $right, $number, Tensor);)*
    };
    (@number $trait:ident, $method:ident, $left:expr, $right:expr, $number:ty, $tensor:ty) => {
        impl $trait<$number> for $tensor {
            type Output = Result<Tensor>;

            fn $method(self, other: $number) -> Result<Tensor> {
                let call: fn(&Tensor, Scalar) -> Result<Tensor> = $left;
                #[allow(clippy::needless_borrow, reason = "the same body for borrowed and owned tensors")]
                call(&self, other.into())
            }
        }

        impl $trait<$tensor> for $number {
            type Output = Result<Tensor>;

            fn $method(self, other: $tensor) -> Result<Tensor> {
                let call: fn(&Tensor, Scalar) -> Result<Tensor> = $right;
                #[allow(clippy::needless_borrow, reason = "the same body for borrowed and owned tensors")]
                call(&other, self.into())
            }
        }
    };
}

infix! {
    Add::add, |a, b| ops::AddTensor.call(a, b, ONE), |a, b| ops::AddScalar.call(a, b, ONE),
        |a, b| ops::AddScalar.call(a, b, ONE);
    Sub::sub, |a, b| ops::SubTensor.call(a, b, ONE), |a, b| ops::SubScalar.call(a, b, ONE),
        |a, b| ops::RsubScalar.call(a, b, ONE);
    Mul::mul, |a, b| ops::MulTensor.call(a, b), |a, b| ops::MulScalar.call(a, b),
        |a, b| ops::MulScalar.call(a, b);
    Div::div, |a, b| ops::DivTensor.call(a, b), |a, b| ops::DivScalar.call(a, b),
        |a, b| ops::DivTensor.call(&b.into(), a);
}

impl Neg for &Tensor {
    type Output = Result<Tensor>;

    fn neg(self) -> Result<Tensor> {
        ops::Neg.call(self)
    }
}

impl Neg for Tensor {
    type Output = Result<Tensor>;

    fn neg(self) -> Result<Tensor> {
        ops::Neg.call(&self)
    }
}
