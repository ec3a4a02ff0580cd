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
use crate::{Array, Element, Geometry, ReadGuard, WriteGuard};

/// Whether an input may lie where the output lies.
#[derive(Clone, Copy, PartialEq)]
pub enum Aliasing {
    /// Element by element at the same position: each element is read before it is written.
    InPlace,
    /// Not at all: inputs are read again after the first element was written.
    Never,
}

/// An array of which no two indices lead to one element.
#[derive(Clone, Copy)]
pub struct Distinct<'a>(&'a Array);

impl<'a> Distinct<'a> {
    /// Borrows an output for writing.
    ///
    /// # Errors
    ///
    /// As [`check_written`].
    #[inline]
    pub fn new(out: &'a Array) -> Result<Self> {
        check_written(out.geometry()).map(|()| Self(out))
    }

    /// The array.
    #[inline]
    pub fn array(self) -> &'a Array {
        self.0
    }
}

/// One writer and as many readers as there are other storages.
pub struct Access<'a, const N: usize> {
    out: Distinct<'a>,
    inputs: [&'a Array; N],
    writer: WriteGuard<'a>,
    /// `None` where the input's storage is the output's.
    readers: [Option<ReadGuard<'a>>; N],
}

impl<'a, const N: usize> Access<'a, N> {
    /// Borrows an output for writing and inputs for reading, after a check of how they overlap.
    ///
    /// # Errors
    ///
    /// Overlaps, memory that others use, tensors without data.
    pub fn new(out: &'a Array, inputs: [(&'a Array, Aliasing); N]) -> Result<Self> {
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

    /// The output, for loops that write every element, and the inputs. They are given together and once, so that nobody else
    /// writes the output.
    ///
    /// # Errors
    ///
    /// Other dtypes.
    pub fn lend<O: Element, I: Element>(&mut self) -> Result<(Output<'_, O>, [Input<'_, I>; N])> {
        let mut inputs = [const { None }; N];
        for (index, input) in inputs.iter_mut().enumerate() {
            *input = Some(self.input(index)?);
        }
        Ok((self.output()?, inputs.map(|input| input.expect("each was just lent"))))
    }

    /// Invariant: asked for once in [`lend`](Self::lend), which has the access to itself.
    fn output<T: Element>(&self) -> Result<Output<'_, T>> {
        let shared = self.readers.iter().any(Option::is_none);
        let overlap = if shared { Overlap::Unknown } else { Overlap::Apart };
        Output::from_target(Target::shared(&self.writer, self.out, overlap))
    }

    fn input<T: Element>(&self, index: usize) -> Result<Input<'_, T>> {
        let input = self.inputs[index];
        Input::from_span(match &self.readers[index] {
            Some(reader) => Span::read(reader, input),
            None => Span::beside(&self.writer, input),
        })
    }
}

/// Checks that an output has no element twice.
///
/// # Errors
///
/// Several indices of what is written lead to one element, or that cannot be decided.
#[inline]
pub fn check_written(out: &Geometry) -> Result<()> {
    match out.overlaps_itself() {
        Some(false) => Ok(()),
        found => Err(overlapping(out, found)),
    }
}

/// Checks how an output overlaps with an input.
///
/// # Errors
///
/// Elements of `input` lie where `out` has some, in a way that `aliasing` does not allow.
pub fn check(out: &Array, input: &Array, aliasing: Aliasing) -> Result<()> {
    if input.storage().is_same(out.storage()) { overlap(out, input, aliasing).map(|_| ()) } else { Ok(()) }
}

/// How two arrays on one storage lie to each other.
///
/// # Errors
///
/// As [`check`].
pub fn overlap(out: &Array, input: &Array, aliasing: Aliasing) -> Result<Overlap> {
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

/// The error for memory that must not be written so.
#[cold]
#[inline(never)]
pub fn refused(what: &str) -> Error {
    let message =
        format!("unsupported operation: {what}. Please clone() the tensor before performing the operation");
    Error::new(ErrorKind::Argument, message)
}
