//! Computes along one dimension: lines of outputs from the lines of inputs at the same place.
//!
//! A line holds the elements that differ in their index of that dimension only. Lines of outputs may have another length
//! than those of inputs. A closure gets whole lines as slices: those that lie so in memory where they are, others from a
//! copy. Lines are shared out between threads.

use opgrid_core::{DType, Result};
use smallvec::SmallVec;

use crate::indexing::elements;
use opgrid_array::loops::access::{self, Aliasing, Distinct};
use opgrid_array::loops::copy;
use opgrid_array::loops::iter::parts::produce_with;
use opgrid_array::loops::iter::walk::Overlap;
use opgrid_array::loops::iter::{Output, Target};
use opgrid_array::{Array, Element, ReadGuard, TensorSpec, WriteGuard};

/// Writes to each line of `out` what `f` makes of that of `input`. `scratch` makes what `f` may use from line to line.
///
/// # Errors
///
/// Sizes that differ elsewhere than in `dim`, partial overlap, tensors without data or used by others.
pub(crate) fn map<A: Element, O: Element, S>(
    out: &Array,
    input: &Array,
    dim: usize,
    scratch: impl Fn() -> S + Sync,
    f: impl Fn(&mut S, &[A], &mut [O]) + Sync,
) -> Result<()> {
    run::<A, A, O, u8, S>((out, None), (input, None), dim, scratch, |scratch, (a, _), o, _| f(scratch, a, o))
}

/// Writes to each line of two outputs what `f` computes from that of `input`.
///
/// # Errors
///
/// As [`map`].
pub(crate) fn map_to_two<A: Element, O: Element, P: Element, S>(
    (out, beside): (&Array, &Array),
    input: &Array,
    dim: usize,
    scratch: impl Fn() -> S + Sync,
    f: impl Fn(&mut S, &[A], &mut [O], &mut [P]) + Sync,
) -> Result<()> {
    run::<A, A, O, P, S>((out, Some(beside)), (input, None), dim, scratch, |scratch, (a, _), o, p| {
        f(scratch, a, o, p);
    })
}

/// Writes to each line of `out` what `f` computes from those of two inputs.
///
/// # Errors
///
/// As [`map`].
pub(crate) fn map_two<A: Element, B: Element, O: Element>(
    out: &Array,
    (input, other): (&Array, &Array),
    dim: usize,
    f: impl Fn(&[A], &[B], &mut [O]) + Sync,
) -> Result<()> {
    run::<A, B, O, u8, ()>((out, None), (input, Some(other)), dim, || (), |(), (a, b), o, _| f(a, b, o))
}

/// With up to two inputs and outputs; one that is not there has empty lines.
fn run<A: Element, B: Element, O: Element, P: Element, S>(
    (out, beside): (&Array, Option<&Array>),
    (input, other): (&Array, Option<&Array>),
    dim: usize,
    scratch: impl Fn() -> S + Sync,
    f: impl Fn(&mut S, (&[A], &[B]), &mut [O], &mut [P]) + Sync,
) -> Result<()> {
    let lines = Lines::new((out, beside), (input, other), dim, [A::DTYPE, B::DTYPE, O::DTYPE, P::DTYPE])?;
    let sizes = [lines.to.length(), lines.to_second.as_ref().map_or(1, Written::length)];
    let (length, other_length) = (lines.first.length(), lines.second.as_ref().map_or(0, Read::length));
    // Lines take more steps than elements are looked at.
    let work = 2 * length.max(other_length).max(lines.to.length());
    lines.borrowed(&mut |(reader, second_reader), (writer, second_writer)| {
        let a = elements::<A>(&lines.first.0, reader)?;
        let b = match (&lines.second, second_reader) {
            (Some(second), Some(reader)) => elements::<B>(&second.0, reader)?,
            _ => &[],
        };
        let rows = lines.to.output::<O>(writer)?;
        let second_rows = match (&lines.to_second, second_writer) {
            (Some(written), Some(writer)) => Some(written.output::<P>(writer)?),
            _ => None,
        };
        produce_with((rows, second_rows), sizes, work, &scratch, |scratch, row, o, p| {
            let line = |length: usize| row * length..(row + 1) * length;
            f(scratch, (&a[line(length)], &b[line(other_length)]), o, p);
        })
    })
}

/// The lines of inputs and outputs, whatever their elements are.
struct Lines {
    first: Read,
    second: Option<Read>,
    to: Written,
    to_second: Option<Written>,
}

/// What is done with the guards of inputs and outputs.
type Borrowing<'b> = &'b mut dyn FnMut(
    (&ReadGuard<'_>, Option<&ReadGuard<'_>>),
    (&mut WriteGuard<'_>, Option<&mut WriteGuard<'_>>),
) -> Result<()>;

impl Lines {
    /// The dtypes are those of the inputs and of the outputs, where there is one.
    #[inline(never)]
    fn new(
        (out, beside): (&Array, Option<&Array>),
        (input, other): (&Array, Option<&Array>),
        dim: usize,
        dtypes: [DType; 4],
    ) -> Result<Self> {
        let outs: SmallVec<[&Array; 2]> = [Some(out), beside].into_iter().flatten().collect();
        let first = Read::new(input, dim, &outs, dtypes[0])?;
        let second = other.map(|other| Read::new(other, dim, &outs, dtypes[1])).transpose()?;
        let to = Written::new(out, dim, true, dtypes[2])?;
        let beside = beside.map(|beside| (beside, !beside.storage().is_same(out.storage())));
        let to_second =
            beside.map(|(beside, direct)| Written::new(beside, dim, direct, dtypes[3])).transpose()?;
        Ok(Self { first, second, to, to_second })
    }

    /// Lends guards of all lines to `body`, and copies outputs to their places in the end.
    #[inline(never)]
    fn borrowed(&self, body: Borrowing<'_>) -> Result<()> {
        {
            let reader = self.first.0.storage().read()?;
            let second_reader = self.second.as_ref().map(|second| second.0.storage().read()).transpose()?;
            let mut writer = self.to.rows.storage().write()?;
            let second_writer = self.to_second.as_ref().map(|written| written.rows.storage().write());
            let mut second_writer = second_writer.transpose()?;
            body((&reader, second_reader.as_ref()), (&mut writer, second_writer.as_mut()))?;
        }
        self.to.finish()?;
        self.to_second.as_ref().map_or(Ok(()), Written::finish)
    }
}

/// An array with dimension `dim` behind the others; one without dimensions has one line.
fn turned(array: &Array, dim: usize) -> Result<Array> {
    let geometry = array.geometry();
    if geometry.dims() == 0 {
        return array.view(geometry.unsqueeze(0)?);
    }
    let order = (0..geometry.dims()).filter(|other| *other != dim).chain([dim]);
    array.view(geometry.permute(&order.map(|dim| dim as i64).collect::<SmallVec<[i64; 6]>>())?)
}

/// An input as row-major lines.
struct Read(Array);

impl Read {
    /// # Errors
    ///
    /// Overlap with an output, other than that both are the same.
    fn new(input: &Array, dim: usize, outs: &[&Array], dtype: DType) -> Result<Self> {
        let is_apart = outs.iter().all(|out| !out.storage().is_same(input.storage()));
        outs.iter().try_for_each(|out| access::check(out, input, Aliasing::InPlace))?;
        let turned = turned(input, dim)?;
        if is_apart && turned.dtype() == dtype && turned.geometry().is_contiguous() {
            return Ok(Self(turned));
        }
        let rows = Array::empty(TensorSpec::contiguous(turned.sizes(), dtype, turned.device())?)?;
        copy::copy(&rows, &turned)?;
        Ok(Self(rows))
    }

    fn length(&self) -> usize {
        self.0.sizes().last().map_or(1, |length| *length as usize)
    }
}

/// An output as row-major lines, which are perhaps copied in the end.
struct Written {
    rows: Array,
    /// Where they belong, if that is elsewhere.
    place: Option<Array>,
}

impl Written {
    /// `direct` says that the output itself can be written, if it has such lines: its storage is no other output's.
    fn new(out: &Array, dim: usize, direct: bool, dtype: DType) -> Result<Self> {
        let turned = turned(Distinct::new(out)?.array(), dim)?;
        if direct && turned.dtype() == dtype && turned.geometry().is_contiguous() {
            return Ok(Self { rows: turned, place: None });
        }
        let rows = Array::empty(TensorSpec::contiguous(turned.sizes(), dtype, turned.device())?)?;
        Ok(Self { rows, place: Some(turned) })
    }

    fn length(&self) -> usize {
        self.rows.sizes().last().map_or(1, |length| *length as usize)
    }

    fn output<'a, T: Element>(&'a self, writer: &'a mut WriteGuard<'_>) -> Result<Output<'a, T>> {
        Output::from_target(Target::new(writer, Distinct::new(&self.rows)?, Overlap::Apart))
    }

    fn finish(&self) -> Result<()> {
        self.place.as_ref().map_or(Ok(()), |place| copy::copy(place, &self.rows))
    }
}
