//! Multiplies matrices and stacks of matrices of every dtype of numbers.
//!
//! | file | what it does |
//! |---|---|
//! | `scheme` | says what elements of a dtype become and what their products are summed in |
//! | `lanes` | the registers of each kind of processor |
//! | `tile` | sums a tile of the result in registers |
//! | `amx` | the same in the tile registers of AMX, for bfloat16 |
//! | `matrix` | copies factors to panels, in the order in which tiles read them |
//! | `blocked` | keeps panels in near caches |
//! | `thin` | multiplies by a few vectors without panels |
//! | `job` | cuts products into pieces for threads |
//! | `patches` | packs the patches of images under a moving window |
//! | `padded` | has the patches of images where they lie, between zeros |
//! | `convolution` | multiplies filters by patches, and computes the gradients of that |
//! | `winograd` | convolves by windows of 3x3 with fewer products |
//! | `few_filters` | convolves with very few filters, each place of an image a step of one line |
//! | `direct` | the same row by row, where zeros around images would be more than the images |
//! | `columns` | writes patches out, and adds them up |
//!
//! The 16-bit floats are summed in single precision and rounded once. Integers wrap around, so that unsigned ones of more than 8
//! bits are multiplied as signed ones.

#[cfg(target_arch = "x86_64")]
mod amx;
mod blocked;
mod chain;
mod columns;
mod convolution;
mod direct;
mod few_filters;
mod job;
mod lanes;
mod matrix;
mod padded;
mod patches;
mod scheme;
mod thin;
mod tile;
mod winograd;

use std::marker::PhantomData;

use half::{bf16, f16};
use opgrid_core::{DType, Result, Scalar};

pub use self::chain::cheapest_cuts;
pub use self::columns::{fold, unfold};
pub use self::convolution::{correlate, spread, weigh};
pub use self::patches::Windows;
use self::scheme::{Pairs, Parts, Plain, Scheme, Widened};
use self::tile::{Kernel, Summed};
use super::access::{self, Access, Aliasing};
use super::arithmetic::{self, Arithmetic};
use super::iter::walk::Overlap;
use super::simd::vectorised;
use super::{copy, elementwise};
use opgrid_array::choose::unsupported;
use opgrid_array::error::argument;
use opgrid_array::{Array, Dims, Element, Geometry, Math, TensorSpec};

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
    if out.sizes() == expected.as_slice() {
        Ok(())
    } else {
        Err(argument(format!("the output has shape {:?}, expected {expected:?}", out.sizes())))
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
/// use opgrid_array::Array;
/// use opgrid_kernels::products;
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
/// As [`multiply`]; a `beta` or `alpha` that the dtype does not hold, an `input` that does not broadcast or overlaps in part.
pub fn multiply_add(out: &Array, addend: Addend<'_>, a: &Array, b: &Array) -> Result<()> {
    by_dtype(out, [a, b], Some(addend))
}

fn by_dtype(out: &Array, factors: [&Array; 2], addend: Option<Addend<'_>>) -> Result<()> {
    check_sizes(out.geometry(), factors[0].geometry(), factors[1].geometry())?;
    let inner = factors[0].sizes().last();
    match out.dtype().of_bits() {
        DType::F32 => direct(Plain::<f32>::new(), out, factors, addend),
        DType::F64 => direct(Plain::<f64>::new(), out, factors, addend),
        DType::I16 => direct(Plain::<i16>::new(), out, factors, addend),
        DType::I32 => direct(Plain::<i32>::new(), out, factors, addend),
        DType::I64 => direct(Plain(kernel_of_i64(factors)?), out, factors, addend),
        DType::Complex64 => direct(Parts(PhantomData::<f32>), out, factors, addend),
        DType::Complex128 => direct(Parts(PhantomData::<f64>), out, factors, addend),
        DType::U8 => narrowed(Widened(PhantomData::<u8>), out, factors, addend, |sum| sum as u8),
        DType::I8 => narrowed(Widened(PhantomData::<i8>), out, factors, addend, |sum| sum as i8),
        DType::F16 => narrowed(Widened(PhantomData::<f16>), out, factors, addend, |sum| sum),
        DType::BF16 => match tile::pairs(product_sizes(out, factors)) {
            Some(kernel) => narrowed(Pairs(kernel), out, factors, addend, |sum| sum),
            None => narrowed(Widened(PhantomData::<bf16>), out, factors, addend, |sum| sum),
        },
        DType::Bool if addend.is_none() && (out.geometry().numel() == 0 || inner == Some(&0)) => {
            elementwise::fill(out, false)
        }
        _ => Err(unsupported(out.dtype(), "a numeric dtype")),
    }
}

/// Whether products of bfloat16 are summed by AMX: the processor has it, the system permits it, and so does `OPGRID_ISA`.
///
/// The first call asks the system for its permission.
pub fn uses_amx() -> bool {
    #[cfg(target_arch = "x86_64")]
    return amx::is_available();
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

/// Whether the processor has AMX with products of bfloat16, whether it is used or not.
pub fn has_amx() -> bool {
    #[cfg(target_arch = "x86_64")]
    return amx::has_instructions();
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

/// Rows, steps along the inner dimension, and columns.
fn product_sizes(out: &Array, [a, _]: [&Array; 2]) -> [usize; 3] {
    let last =
        |array: &Array, number: usize| array.sizes().iter().nth_back(number).map_or(0, |size| *size as usize);
    [last(out, 1), last(a, 0), last(out, 0)]
}

/// The kernel for factors of 64 bits: where the processor has instructions for products of 32 bits only, and all elements
/// have no more, the one that takes them. It takes a third of the time.
///
/// # Errors
///
/// Factors without data or used by others.
fn kernel_of_i64(factors: [&Array; 2]) -> Result<&'static Kernel<i64, i64>> {
    if let Some(kernel) = tile::short() {
        let [a, b] = factors;
        if has_32_bits(a)? && has_32_bits(b)? {
            return Ok(kernel);
        }
    }
    Ok(<i64 as Summed>::kernel())
}

/// Whether all elements lie between -2^31 and 2^31 - 1, as far as a quick look tells.
fn has_32_bits(array: &Array) -> Result<bool> {
    let geometry = array.geometry();
    if geometry.numel() == 0 {
        return Ok(true);
    }
    let (start, end) = (geometry.start(), geometry.start() + geometry.reach());
    // With those between them, which may be many.
    if (end - start) / 4 > geometry.numel() as usize {
        return Ok(false);
    }
    let reader = array.storage().read()?;
    let elements = reader.slice::<i64>()?.get(start..=end).unwrap_or_default();
    let bits =
        vectorised(move || elements.iter().fold(0, |bits, element| bits | element.wrapping_add(1 << 31)));
    Ok(bits as u64 >> 32 == 0)
}

/// What has a weight and is added, with that weight, and the factor of the product.
type Weights<'a, T> = (Option<(&'a Array, T)>, T);

/// # Errors
///
/// Factors that the dtype does not hold.
fn weights<'a, T: Arithmetic>(addend: Option<Addend<'a>>, dtype: DType) -> Result<Weights<'a, T>> {
    let Some(Addend { input, beta, alpha }) = addend else { return Ok((None, T::ONE)) };
    let beta = arithmetic::element_for::<T>(beta, dtype)?;
    Ok(((beta != T::ZERO).then_some((input, beta)), arithmetic::element_for(alpha, dtype)?))
}

/// Sums are elements: they are added to the result where it lies.
fn direct<T: Arithmetic, S: Scheme<Element = T, Sum = T>>(
    scheme: S,
    out: &Array,
    [a, b]: [&Array; 2],
    addend: Option<Addend<'_>>,
) -> Result<()> {
    let (added, alpha) = weights::<T>(addend, out.dtype())?;
    if alpha == T::ZERO && added.is_none() {
        return elementwise::fill(out, Scalar::Int(0));
    }
    if let Some((input, beta)) = added {
        for factor in [a, b] {
            access::check(out, factor, Aliasing::Never)?;
        }
        if beta == T::ONE {
            copy::copy(out, input)?
        } else {
            elementwise::unary::<T, T>(out, input, move |added| beta.times(added))?
        }
        // As in torch, factors without weight do not count, not even NaN.
        if alpha == T::ZERO {
            return Ok(());
        }
    }
    let mut access = Access::new(out, [(a, Aliasing::Never), (b, Aliasing::Never)])?;
    let (out, factors) = access.lend()?;
    job::multiply(scheme, out, factors, alpha, added.is_some())
}

/// Sums are wider than elements: they are narrowed at the end, once.
fn narrowed<S: Scheme>(
    scheme: S,
    out: &Array,
    [a, b]: [&Array; 2],
    addend: Option<Addend<'_>>,
    narrow: impl Fn(S::Sum) -> Math<S::Element> + Copy + Sync,
) -> Result<()>
where
    Math<S::Element>: Arithmetic,
{
    let (added, alpha) = weights::<Math<S::Element>>(addend, out.dtype())?;
    let factors = [(a, Aliasing::Never), (b, Aliasing::Never)];
    let Some((input, beta)) = added else {
        let mut access = Access::new(out, factors)?;
        let narrow = move |sum, _| S::Element::narrow(alpha.times(narrow(sum)));
        let (out, factors) = access.lend()?;
        return job::multiply_narrowed(scheme, out, factors, None, narrow);
    };
    let input = readable(out, input)?;
    let mut access = Access::new(out, [factors[0], factors[1], (&input, Aliasing::InPlace)])?;
    let narrow = move |sum, added: Option<S::Element>| {
        let product = alpha.times(narrow(sum));
        S::Element::narrow(added.map_or(product, |added| beta.times(added.widen()).plus(product)))
    };
    let (out, [a, b, added]) = access.lend()?;
    job::multiply_narrowed(scheme, out, [a, b], Some(added), narrow)
}

/// `input`, stretched to the shape of `out`; a copy if elements of the two may lie in each other's places.
fn readable(out: &Array, input: &Array) -> Result<Array> {
    let stretched = input.view(input.geometry().expand(out.sizes())?)?;
    let shared = input.storage().is_same(out.storage());
    if !shared || access::overlap(out, &stretched, Aliasing::InPlace)? != Overlap::Unknown {
        return Ok(stretched);
    }
    let copied = Array::empty(TensorSpec::contiguous(out.sizes(), out.dtype(), out.device())?)?;
    copy::copy(&copied, &stretched)?;
    Ok(copied)
}
