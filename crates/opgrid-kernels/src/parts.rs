//! Loops over parts of equal size of an output, such as the planes of images, with inputs as slices.
//!
//! Inputs and outputs are row-major here: those that are not are copied. An input that lies in the memory of the output,
//! apart from its elements, is copied, too.

use opgrid_core::{DType, Result};

use opgrid_array::loops::access::{self, Aliasing, Distinct};
use opgrid_array::loops::copy;
use opgrid_array::loops::elementwise;
use opgrid_array::loops::iter::walk::Overlap;
use opgrid_array::loops::iter::{Output, Target, parts};
use opgrid_array::{Array, Element, ReadGuard, TensorSpec};

/// Lets `body` read the elements of `input` in row-major order, converted to `T`, while `out` is written.
///
/// # Errors
///
/// Elements that both have; tensors without data or used by others; that of `body`.
pub(crate) fn read<T: Element, R>(
    out: &Array,
    input: &Array,
    body: impl FnOnce(&[T]) -> Result<R>,
) -> Result<R> {
    let (mut body, mut result) = (Some(body), None);
    with_readable_rows(out, input, T::DTYPE, &mut |rows, guard| {
        let (start, count) = (rows.geometry().start(), rows.geometry().numel() as usize);
        let elements = guard.slice::<T>()?.get(start..start + count).unwrap_or_default();
        result = body.take().map(|body| body(elements)).transpose()?;
        Ok(())
    })?;
    Ok(result.expect("the body ran, or there was an error"))
}

/// Lends the input as row-major elements of the dtype, apart from the output's: itself, or a copy.
#[inline(never)]
fn with_readable_rows(
    out: &Array,
    input: &Array,
    dtype: DType,
    body: &mut dyn FnMut(&Array, &ReadGuard<'_>) -> Result<()>,
) -> Result<()> {
    access::check(out, input, Aliasing::Never)?;
    let as_it_is =
        input.dtype() == dtype && input.geometry().is_contiguous() && !input.storage().is_same(out.storage());
    if as_it_is {
        return body(input, &input.storage().read()?);
    }
    let copied = Array::empty(TensorSpec::contiguous(input.sizes(), dtype, input.device())?)?;
    elementwise::copy(&copied, input)?;
    body(&copied, &copied.storage().read()?)
}

/// Lets `body` write an output of elements of type `T` in row-major order.
///
/// # Errors
///
/// An output that repeats elements, has no data, or is used by others; that of `body`.
pub(crate) fn write<T: Element>(out: &Array, body: impl FnOnce(Output<'_, T>) -> Result<()>) -> Result<()> {
    let mut body = Some(body);
    with_rows_of(out, T::DTYPE, &mut |target| {
        let output = Output::from_target(target)?;
        body.take().map_or(Ok(()), |body| body(output))
    })
}

/// Lends an output as row-major places of the dtype, whose elements are copied to it in the end where it is none.
#[inline(never)]
pub(crate) fn with_rows_of(
    out: &Array,
    dtype: DType,
    body: &mut dyn FnMut(Target<'_>) -> Result<()>,
) -> Result<()> {
    let copied = rows_beside(out, dtype)?;
    let rows = copied.as_ref().unwrap_or(out);
    {
        let mut writer = rows.storage().write()?;
        body(Target::new(&mut writer, Distinct::new(rows)?, Overlap::Apart))?;
    }
    copied.map_or(Ok(()), |rows| copy::copy(out, &rows))
}

/// Memory for the elements of an output that is not row-major or has another dtype.
fn rows_beside(out: &Array, dtype: DType) -> Result<Option<Array>> {
    Distinct::new(out)?;
    if out.dtype() == dtype && out.geometry().is_contiguous() {
        return Ok(None);
    }
    Array::empty(TensorSpec::contiguous(out.sizes(), dtype, out.device())?).map(Some)
}

/// Lets `f` write each part of `size` elements of `out`, which is zero before; `work` says how many steps one takes.
///
/// # Errors
///
/// As [`write`]; parts that do not fill the output.
pub(crate) fn produce<T: Element>(
    out: &Array,
    size: usize,
    work: usize,
    f: impl Fn(usize, &mut [T]) + Sync,
) -> Result<()> {
    write(out, |out| parts::produce(out, size, work, f))
}

/// Lets `f` write all parts of two outputs of one shape.
///
/// # Errors
///
/// As [`produce`].
pub(crate) fn produce_two<A: Element, B: Element>(
    [first, second]: [&Array; 2],
    size: usize,
    work: usize,
    f: impl Fn(usize, &mut [A], &mut [B]) + Sync,
) -> Result<()> {
    with_storage_of_its_own(second, B::DTYPE, &[first], &mut |second| {
        write(first, |first| write(second, |second| parts::produce_two((first, second), size, work, &f)))
    })
}

/// As [`produce_two`], for parts that have sizes of their own. If one output has no elements, `f` gets empty parts of it.
///
/// # Errors
///
/// As [`produce`].
pub(crate) fn produce_pair<A: Element, B: Element>(
    [first, second]: [&Array; 2],
    sizes: [usize; 2],
    work: usize,
    f: impl Fn(usize, &mut [A], &mut [B]) + Sync,
) -> Result<()> {
    with_storage_of_its_own(second, B::DTYPE, &[first], &mut |second| {
        write(first, |first| {
            write(second, |second| {
                let outs = (first, Some(second));
                parts::produce_with(outs, sizes, work, || (), |(), part, a, b| f(part, a, b))
            })
        })
    })
}

/// As [`produce_pair`], for three outputs.
///
/// # Errors
///
/// As [`produce`].
pub(crate) fn produce_three<A: Element, B: Element, C: Element>(
    [first, second, third]: [&Array; 3],
    sizes: [usize; 3],
    work: usize,
    f: impl Fn(usize, &mut [A], &mut [B], &mut [C]) + Sync,
) -> Result<()> {
    with_storage_of_its_own(second, B::DTYPE, &[first], &mut |second| {
        with_storage_of_its_own(third, C::DTYPE, &[first, second], &mut |third| {
            write(first, |first| {
                write(second, |second| {
                    write(third, |third| {
                        let outs = (first, Some(second), Some(third));
                        parts::produce_three(outs, sizes, work, || (), |(), part, a, b, c| f(part, a, b, c))
                    })
                })
            })
        })
    })
}

/// Lends an output that shares no storage with others, because guards are for whole storages: itself, or memory whose elements are
/// copied to it in the end.
#[inline(never)]
fn with_storage_of_its_own(
    out: &Array,
    dtype: DType,
    others: &[&Array],
    body: &mut dyn FnMut(&Array) -> Result<()>,
) -> Result<()> {
    Distinct::new(out)?;
    if !others.iter().any(|other| other.storage().is_same(out.storage())) {
        return body(out);
    }
    let rows = Array::empty(TensorSpec::contiguous(out.sizes(), dtype, out.device())?)?;
    body(&rows)?;
    copy::copy(out, &rows)
}
