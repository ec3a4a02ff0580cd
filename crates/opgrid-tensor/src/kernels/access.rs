//! Borrows the memory of one output and its inputs, and refuses overlaps.
//!
//! An output whose indices lead to one element more than once is refused, as [`Geometry::overlaps_itself`] says exactly:
//! threads would write that element at the same time, and results would depend on the order of the loop. torch refuses
//! only strides of 0 and lets the others through. [`Distinct`] is the proof that loops ask for.
//!
//! An input may be the output itself (in place): then the one writer serves both. Any other overlap of an input with
//! what is written would make results depend on the order of the loop.

use opgrid_core::{Error, ErrorKind, Result};

use super::iter::walk::Overlap;
use super::iter::{Input, Output, Span, Target};
use crate::tensor::{Array, Element, Geometry, ReadGuard, Tensor, WriteGuard};

/// Whether an input may lie where the output lies.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Aliasing {
    /// Element by element at the same position: each element is read before it is written.
    InPlace,
    /// Not at all: inputs are read again after the first element was written.
    Never,
}

/// An array of which no two indices lead to one element.
#[derive(Clone, Copy)]
pub(crate) struct Distinct<'a>(&'a Array);

impl<'a> Distinct<'a> {
    /// # Errors
    ///
    /// As [`check_written`].
    #[inline]
    pub(crate) fn new(out: &'a Array) -> Result<Self> {
        check_written(out.geometry()).map(|()| Self(out))
    }

    /// The array.
    #[inline]
    pub(crate) fn array(self) -> &'a Array {
        self.0
    }
}

/// One writer and as many readers as there are other storages.
pub(super) struct Access<'a, const N: usize> {
    out: Distinct<'a>,
    inputs: [&'a Array; N],
    writer: WriteGuard<'a>,
    /// `None` where the input's storage is the output's.
    readers: [Option<ReadGuard<'a>>; N],
}

impl<'a, const N: usize> Access<'a, N> {
    /// # Errors
    ///
    /// Overlaps, memory that others use, tensors without data.
    pub(super) fn new(out: &'a Array, inputs: [(&'a Array, Aliasing); N]) -> Result<Self> {
        let distinct = Distinct::new(out)?;
        for (input, aliasing) in inputs {
            check(out, input, aliasing)?;
        }
        let inputs = inputs.map(|(input, _)| input);
        let writer = out.storage().write()?;
        let mut readers = [const { None }; N];
        for (reader, input) in readers.iter_mut().zip(inputs) {
            if !input.storage().is_same(out.storage()) {
                *reader = Some(input.storage().read()?);
            }
        }
        Ok(Self { out: distinct, inputs, writer, readers })
    }

    /// The output, for loops that write every element.
    pub(super) fn output<T: Element>(&self) -> Result<Output<'_, T>> {
        let shared = self.readers.iter().any(Option::is_none);
        let overlap = if shared { Overlap::Unknown } else { Overlap::Apart };
        Output::of(Target::new(&self.writer, self.out, overlap))
    }

    /// An input, for loops over elements.
    pub(super) fn input<T: Element>(&self, index: usize) -> Result<Input<'_, T>> {
        let input = self.inputs[index];
        Input::of(match &self.readers[index] {
            Some(reader) => Span::read(reader, input),
            None => Span::beside(&self.writer, input),
        })
    }
}

/// # Errors
///
/// Several indices of what is written lead to one element, or that cannot be decided.
#[inline]
pub(crate) fn check_written(out: &Geometry) -> Result<()> {
    match out.overlaps_itself() {
        Some(false) => Ok(()),
        found => Err(overlapping(out, found)),
    }
}

/// # Errors
///
/// Two outputs of a call share memory, so that one would be written over by the other.
#[inline]
pub(crate) fn check_apart<'a>(mut outputs: impl Iterator<Item = &'a Tensor> + Clone) -> Result<()> {
    while let Some(out) = outputs.next() {
        for other in outputs.clone() {
            let (Ok(array), Ok(others)) = (out.array(), other.array()) else { continue };
            if out.is_same(other) || check(array, others, Aliasing::Never).is_err() {
                return Err(refused("two outputs refer to the same memory"));
            }
        }
    }
    Ok(())
}

/// For element-wise operators that are made of others and write their output last, as if each element were written when it
/// is computed.
///
/// # Errors
///
/// Elements of an input lie where `out` has some, and not at the same positions.
pub(crate) fn check_beside(out: &Tensor, inputs: &[&Tensor]) -> Result<()> {
    let Ok(out) = out.array() else { return Ok(()) };
    let mut inputs = inputs.iter().filter_map(|input| input.array().ok());
    inputs.try_for_each(|input| check(out, input, Aliasing::InPlace))
}

/// # Errors
///
/// Elements of `input` lie where `out` has some, in a way that `aliasing` does not allow.
pub(super) fn check(out: &Array, input: &Array, aliasing: Aliasing) -> Result<()> {
    match input.storage().is_same(out.storage()) {
        true => overlap(out, input, aliasing).map(|_| ()),
        false => Ok(()),
    }
}

/// How two arrays on one storage lie to each other.
///
/// # Errors
///
/// As [`check`].
pub(super) fn overlap(out: &Array, input: &Array, aliasing: Aliasing) -> Result<Overlap> {
    let (written, read) = (out.geometry(), input.geometry());
    if written.numel() == 0 || read.numel() == 0 {
        return Ok(Overlap::Apart);
    }
    let span = |array: &Array| {
        // `Array::new` has counted the bytes up to the end.
        let size = array.dtype().size_in_bytes() as i64;
        (array.geometry().offset() * size, array.geometry().end() * size)
    };
    let (write_span, read_span) = (span(out), span(input));
    if write_span.1 <= read_span.0 || read_span.1 <= write_span.0 {
        return Ok(Overlap::Apart);
    }
    let same = write_span == read_span && written.strides() == read.strides() && written.has_sizes_of(read);
    // As in torch, views with gaps may interleave; they are not searched for common elements.
    let gaps = !written.is_dense() || !read.is_dense();
    match aliasing {
        Aliasing::InPlace if same => Ok(Overlap::Same),
        Aliasing::InPlace if gaps => Ok(Overlap::Unknown),
        _ => Err(refused(
            "some elements of the input tensor and the written-to tensor refer to a single memory location",
        )),
    }
}

#[cold]
#[inline(never)]
fn overlapping(out: &Geometry, found: Option<bool>) -> Error {
    let what = match found {
        Some(_) => "more than one element of the written-to tensor refers to a single memory location",
        None => {
            "it cannot be decided whether elements of the written-to tensor refer to a single memory location"
        }
    };
    refused(&format!("{what}: sizes {:?}, strides {:?}", out.sizes(), out.strides()))
}

#[cold]
#[inline(never)]
fn refused(what: &str) -> Error {
    let message =
        format!("unsupported operation: {what}. Please clone() the tensor before performing the operation");
    Error::new(ErrorKind::Argument, message)
}
