//! Loops over parts of equal size of an output, such as the planes of images, with inputs as slices.
//!
//! Inputs and outputs are row-major here: those that are not are copied. An input that lies in the memory of the output,
//! apart from its elements, is copied, too.

use std::borrow::Cow;

use opgrid_core::Result;

use opgrid_array::loops::access::{self, Aliasing, Distinct};
use opgrid_array::loops::copy;
use opgrid_array::loops::elementwise;
use opgrid_array::loops::iter::walk::Overlap;
use opgrid_array::loops::iter::{Output, Target, parts};
use opgrid_array::{Array, Element, TensorSpec};

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
    access::check(out, input, Aliasing::Never)?;
    let as_it_is = input.dtype() == T::DTYPE
        && input.geometry().is_contiguous()
        && !input.storage().is_same(out.storage());
    let rows = if as_it_is { Cow::Borrowed(input) } else { Cow::Owned(row_major::<T>(input)?) };
    let guard = rows.storage().read()?;
    let (start, count) = (rows.geometry().start(), rows.geometry().numel() as usize);
    body(guard.slice::<T>()?.get(start..start + count).unwrap_or_default())
}

/// A row-major copy, with elements of type `T`.
fn row_major<T: Element>(input: &Array) -> Result<Array> {
    let copied = Array::empty(TensorSpec::contiguous(input.sizes(), T::DTYPE, input.device())?)?;
    elementwise::copy(&copied, input)?;
    Ok(copied)
}

/// Lets `body` write an output of elements of type `T` in row-major order.
///
/// # Errors
///
/// An output that repeats elements, has no data, or is used by others; that of `body`.
pub(crate) fn write<T: Element>(out: &Array, body: impl FnOnce(Output<'_, T>) -> Result<()>) -> Result<()> {
    let distinct = Distinct::new(out)?;
    if out.dtype() == T::DTYPE && out.geometry().is_contiguous() {
        let mut writer = out.storage().write()?;
        return body(Output::from_target(Target::new(&mut writer, distinct, Overlap::Apart))?);
    }
    let rows = Array::empty(TensorSpec::contiguous(out.sizes(), T::DTYPE, out.device())?)?;
    write(&rows, body)?;
    copy::copy(out, &rows)
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
    outs: [&Array; 2],
    size: usize,
    work: usize,
    f: impl Fn(usize, &mut [A], &mut [B]) + Sync,
) -> Result<()> {
    let [first, second] = outs;
    if first.storage().is_same(second.storage()) {
        // Guards are for whole storages.
        Distinct::new(second)?;
        let rows = Array::empty(TensorSpec::contiguous(second.sizes(), B::DTYPE, second.device())?)?;
        produce_two([first, &rows], size, work, f)?;
        return copy::copy(second, &rows);
    }
    write(first, |first| write(second, |second| parts::produce_two((first, second), size, work, f)))
}
