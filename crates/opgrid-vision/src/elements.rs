//! Elements of tensors as numbers of Rust, and the checks that all operators make.

use std::ops::{Add, AddAssign, Div, Mul, Range, Sub};

use opgrid::array::{Element, Geometry};
use opgrid::kernels::Output;
use opgrid::kernels::iter::parts;
use opgrid::prelude::*;

/// A float that is computed with.
pub(crate) trait Real:
    Element
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + AddAssign
{
    const ZERO: Self;
    const ONE: Self;

    fn from_f64(value: f64) -> Self;

    fn to_f64(self) -> f64;

    /// The larger one; the first if one is no number.
    fn or_larger(self, other: Self) -> Self {
        if self < other { other } else { self }
    }

    /// The smaller one; the first if one is no number.
    fn or_smaller(self, other: Self) -> Self {
        if other < self { other } else { self }
    }
}

macro_rules! real {
    ($($type:ty),*) => {$(
        impl Real for $type {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;

            fn from_f64(value: f64) -> Self {
                value as Self
            }

            fn to_f64(self) -> f64 {
                self.into()
            }
        }
    )*};
}
real!(f32, f64);

/// Runs the body with the type of the elements.
macro_rules! with_real {
    ($dtype:expr, $T:ident => $body:expr) => {
        match $dtype {
            opgrid::DType::F64 => {
                type $T = f64;
                $body
            }
            // `check_dtypes` has refused others.
            _ => {
                type $T = f32;
                $body
            }
        }
    };
}
pub(crate) use with_real;

/// An argument that is refused.
#[cold]
pub(crate) fn refused(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Argument, message)
}

/// # Errors
///
/// A dtype that there is no kernel for; another than that of the first tensor.
pub(crate) fn check_dtypes(tensors: &[(&str, &Tensor)]) -> Result<()> {
    let Some((first, tensor)) = tensors.first() else { return Ok(()) };
    let dtype = tensor.spec()?.dtype();
    if !matches!(dtype, DType::F32 | DType::F64) {
        let name = dtype.name();
        return Err(refused(format!(
            "argument `{first}` has dtype {name}, expected float32 or float64; convert it first"
        )));
    }
    for (name, tensor) in &tensors[1..] {
        let found = tensor.spec()?.dtype();
        if found != dtype {
            let (found, dtype) = (found.name(), dtype.name());
            return Err(refused(format!(
                "argument `{name}` has dtype {found}, expected {dtype} as `{first}` has"
            )));
        }
    }
    Ok(())
}

/// The sizes of a tensor with so many dimensions, whose names are `dimensions`.
///
/// # Errors
///
/// Another number of dimensions.
pub(crate) fn sizes<const N: usize>(name: &str, tensor: &Tensor, dimensions: &str) -> Result<[i64; N]> {
    let found = tensor.spec()?.sizes();
    found
        .try_into()
        .map_err(|_| refused(format!("argument `{name}` has shape {found:?}, expected [{dimensions}]")))
}

/// # Errors
///
/// Other sizes than expected; `why` says where those come from.
pub(crate) fn check_sizes(name: &str, tensor: &Tensor, expected: &[i64], why: &str) -> Result<()> {
    let found = tensor.spec()?.sizes();
    if found == expected {
        return Ok(());
    }
    Err(refused(format!("argument `{name}` has shape {found:?}, expected {expected:?} {why}")))
}

/// Lets `f` write elements of a new tensor in parts of equal size, each of which is zero before; `work` says how many steps a part takes.
///
/// # Errors
///
/// Somebody else uses the tensor.
pub(crate) fn write_parts<T: Element>(
    out: &Tensor,
    elements: Range<usize>,
    size: usize,
    work: usize,
    f: impl Fn(usize, &mut [T]) + Sync,
) -> Result<()> {
    let mut guard = out.array()?.storage().write()?;
    let all = guard.slice::<T>()?;
    let geometry = Geometry::contiguous(&[elements.len() as i64])?;
    parts::produce(Output::new(&mut all[elements], &geometry)?, size, work, f)
}
