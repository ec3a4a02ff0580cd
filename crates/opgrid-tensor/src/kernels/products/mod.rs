//! Multiplies matrices and stacks of matrices of every dtype of numbers.
//!
//! | file | what it does |
//! |---|---|
//! | `scheme` | says what elements of a dtype become and what their products are summed in |
//! | `lanes` | the registers of each kind of processor |
//! | `tile` | sums a tile of the result in registers |
//! | `matrix` | copies factors to panels, in the order in which tiles read them |
//! | `blocked` | keeps panels in near caches |
//! | `thin` | multiplies by a few vectors without panels |
//! | `job` | cuts products into pieces for threads |
//!
//! The 16-bit floats are summed in single precision and rounded once. Integers wrap around.

mod blocked;
mod job;
mod lanes;
mod matrix;
mod scheme;
mod thin;
mod tile;

use std::marker::PhantomData;

use half::{bf16, f16};
use opgrid_core::{DType, Result, Scalar};

use self::scheme::{Pairs, Parts, Plain, Scheme, Widened};
use super::access::{self, Access, Aliasing};
use super::arithmetic::{self, Arithmetic};
use super::{copy, elementwise};
use crate::error::argument;
use crate::tensor::choose::unsupported;
use crate::tensor::{Array, Dims, Element, Geometry, Math, TensorSpec};

/// The shape of the product.
///
/// # Errors
///
/// Tensors that are not matrices, or whose inner sizes differ.
pub fn sizes(a: &[i64], b: &[i64]) -> Result<Dims> {
    match (a, b) {
        (&[m, k], &[inner, n]) if k == inner => Ok(Dims::from_slice(&[m, n])),
        (&[m, k], &[inner, n]) => {
            let message = format!(
                "mat1 and mat2 shapes cannot be multiplied ({m}x{k} and {inner}x{n}), expected {k} rows in the second"
            );
            Err(argument(message))
        }
        _ => Err(argument(format!("expected two matrices, found shapes {a:?} and {b:?}"))),
    }
}

/// The shape of the product of matrices or stacks of matrices.
fn stacked_sizes(a: &[i64], b: &[i64]) -> Result<Dims> {
    match (a, b) {
        ([count, a @ ..], [other, b @ ..]) if a.len() == 2 && b.len() == 2 && count == other => {
            let matrix = sizes(a, b)?;
            Ok([*count].into_iter().chain(matrix).collect())
        }
        _ => sizes(a, b),
    }
}

/// # Errors
///
/// Shapes that do not fit each other.
fn check_sizes(out: &Geometry, a: &Geometry, b: &Geometry) -> Result<()> {
    let expected = stacked_sizes(a.sizes(), b.sizes())?;
    match out.sizes() == expected.as_slice() {
        true => Ok(()),
        false => Err(argument(format!("the output has shape {:?}, expected {expected:?}", out.sizes()))),
    }
}

/// What is added to a product: `beta * input + alpha * (a @ b)`.
#[derive(Clone, Copy, Debug)]
pub struct Addend<'a> {
    /// Broadcasts to the product. With a `beta` of zero it does not count, not even NaN.
    pub input: &'a Array,
    /// The factor of `input`.
    pub beta: Scalar,
    /// The factor of the product.
    pub alpha: Scalar,
}

/// `out = a @ b` for matrices, or stacks of as many matrices, of one dtype.
///
/// # Errors
///
/// Shapes and dtypes that do not fit, overlap of `out` with a factor, tensors without data or used by others.
///
/// # Examples
///
/// ```
/// use opgrid_tensor::{Array, kernels::products};
///
/// let a = Array::from_slice(&[1.0f32, 2.0, 3.0, 4.0], &[2, 2])?;
/// let out = Array::empty(a.spec().clone())?;
/// products::multiply(&out, &a, &a)?;
/// assert_eq!(out.to_vec::<f32>()?, [7.0, 10.0, 15.0, 22.0]);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub fn multiply(out: &Array, a: &Array, b: &Array) -> Result<()> {
    by_dtype(out, [a, b], None)
}

/// `out = beta * input + alpha * (a @ b)`; `out` may be `input`.
///
/// # Errors
///
/// As [`multiply`]; factors that the dtype does not hold, an `input` that does not broadcast or overlaps in part.
pub fn multiply_add(out: &Array, addend: Addend<'_>, a: &Array, b: &Array) -> Result<()> {
    by_dtype(out, [a, b], Some(addend))
}

fn by_dtype(out: &Array, factors: [&Array; 2], addend: Option<Addend<'_>>) -> Result<()> {
    check_sizes(out.geometry(), factors[0].geometry(), factors[1].geometry())?;
    match out.dtype() {
        DType::F32 => direct(Plain(PhantomData::<f32>), out, factors, addend),
        DType::F64 => direct(Plain(PhantomData::<f64>), out, factors, addend),
        DType::I16 => direct(Plain(PhantomData::<i16>), out, factors, addend),
        DType::I32 => direct(Plain(PhantomData::<i32>), out, factors, addend),
        DType::I64 => direct(Plain(PhantomData::<i64>), out, factors, addend),
        DType::Complex64 => direct(Parts(PhantomData::<f32>), out, factors, addend),
        DType::Complex128 => direct(Parts(PhantomData::<f64>), out, factors, addend),
        DType::U8 => narrowed(Widened(PhantomData::<u8>), out, factors, addend, |sum| sum as u8),
        DType::I8 => narrowed(Widened(PhantomData::<i8>), out, factors, addend, |sum| sum as i8),
        DType::F16 => narrowed(Widened(PhantomData::<f16>), out, factors, addend, |sum| sum),
        DType::BF16 => match tile::pairs() {
            Some(kernel) => narrowed(Pairs(kernel), out, factors, addend, |sum| sum),
            None => narrowed(Widened(PhantomData::<bf16>), out, factors, addend, |sum| sum),
        },
        dtype => Err(unsupported(dtype, "a dtype of numbers")),
    }
}

/// Sums are elements: they are added to the result where it lies.
fn direct<S: Scheme<Element = <S as Scheme>::Sum>>(
    scheme: S,
    out: &Array,
    factors: [&Array; 2],
    addend: Option<Addend<'_>>,
) -> Result<()> {
    let Some(Addend { input, beta, alpha }) = addend else {
        return product(scheme, out, factors, S::Sum::ONE, false);
    };
    let (beta, alpha) = (arithmetic::element::<S::Sum>(beta)?, arithmetic::element::<S::Sum>(alpha)?);
    let add = beta != S::Sum::ZERO;
    if add {
        for factor in factors {
            access::check(out, factor, Aliasing::Never)?;
        }
        match beta == S::Sum::ONE {
            true => copy::copy(out, input)?,
            false => elementwise::unary::<S::Sum, S::Sum>(out, input, |added| beta.times(added))?,
        }
    }
    product(scheme, out, factors, alpha, add)
}

/// Sums are wider than elements: they are narrowed at the end, once.
fn narrowed<S: Scheme>(
    scheme: S,
    out: &Array,
    factors: [&Array; 2],
    addend: Option<Addend<'_>>,
    narrow: impl Fn(S::Sum) -> Math<S::Element> + Copy + Sync,
) -> Result<()>
where
    Math<S::Element>: Arithmetic,
{
    for factor in factors {
        access::check(out, factor, Aliasing::Never)?;
    }
    let sums = Array::empty(TensorSpec::contiguous(out.sizes(), S::Sum::DTYPE, out.device())?)?;
    product(scheme, &sums, factors, S::Sum::ONE, false)?;
    let Some(Addend { input, beta, alpha }) = addend else {
        return elementwise::unary::<S::Element, S::Sum>(out, &sums, narrow);
    };
    let beta = arithmetic::element::<Math<S::Element>>(beta)?;
    let alpha = arithmetic::element::<Math<S::Element>>(alpha)?;
    if beta == Math::<S::Element>::ZERO {
        return elementwise::unary::<S::Element, S::Sum>(out, &sums, |sum| alpha.times(narrow(sum)));
    }
    elementwise::binary::<S::Element, S::Element, S::Sum>(out, input, &sums, |added, sum| {
        beta.times(added).plus(alpha.times(narrow(sum)))
    })
}

/// `out = scale * (a @ b)`, or `out += …`, in the type of the sums.
fn product<S: Scheme>(scheme: S, out: &Array, factors: [&Array; 2], scale: S::Sum, add: bool) -> Result<()> {
    let access = Access::new(out, factors, Aliasing::Never)?;
    let factors = [access.input::<S::Element>(0)?, access.input::<S::Element>(1)?];
    job::multiply(scheme, access.output::<S::Sum>()?, factors, scale, add)
}
