//! Computes along one dimension: lines of outputs from the lines of inputs at the same place.
//!
//! A line holds the elements that differ in their index of that dimension only. Lines of outputs may have another length
//! than those of inputs. A closure gets whole lines as slices: those that lie so in memory where they are, others from a
//! copy. Lines are shared out between threads.

use opgrid_core::Result;
use smallvec::SmallVec;

use crate::indexing::elements;
use opgrid_array::loops::access::{self, Aliasing, Distinct};
use opgrid_array::loops::copy;
use opgrid_array::loops::iter::parts::produce_with;
use opgrid_array::loops::iter::walk::Overlap;
use opgrid_array::loops::iter::{Output, Target};
use opgrid_array::{Array, Element, TensorSpec, WriteGuard};

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
    let outs: SmallVec<[&Array; 2]> = [Some(out), beside].into_iter().flatten().collect();
    let first = Read::new::<A>(input, dim, &outs)?;
    let second = other.map(|other| Read::new::<B>(other, dim, &outs)).transpose()?;
    let to = Written::new::<O>(out, dim, true)?;
    let to_second = beside
        .map(|beside| Written::new::<P>(beside, dim, !beside.storage().is_same(out.storage())))
        .transpose()?;
    {
        let reader = first.0.storage().read()?;
        let second_reader = second.as_ref().map(|second| second.0.storage().read()).transpose()?;
        let a = elements::<A>(&first.0, &reader)?;
        let b = match (&second, &second_reader) {
            (Some(second), Some(reader)) => elements::<B>(&second.0, reader)?,
            _ => &[],
        };
        let (length, other_length) = (first.length(), second.as_ref().map_or(0, Read::length));
        let mut writer = to.rows.storage().write()?;
        let mut second_writer =
            to_second.as_ref().map(|written| written.rows.storage().write()).transpose()?;
        let rows = to.output::<O>(&mut writer)?;
        let second_rows = match (&to_second, &mut second_writer) {
            (Some(written), Some(writer)) => Some(written.output::<P>(writer)?),
            _ => None,
        };
        let sizes = [to.length(), to_second.as_ref().map_or(1, Written::length)];
        // Lines take more steps than elements are looked at.
        let work = 2 * length.max(other_length).max(to.length());
        produce_with((rows, second_rows), sizes, work, scratch, |scratch, row, o, p| {
            let line = |length: usize| row * length..(row + 1) * length;
            f(scratch, (&a[line(length)], &b[line(other_length)]), o, p);
        })?;
    }
    to.finish()?;
    to_second.map_or(Ok(()), |written| written.finish())
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
    fn new<T: Element>(input: &Array, dim: usize, outs: &[&Array]) -> Result<Self> {
        let is_apart = outs.iter().all(|out| !out.storage().is_same(input.storage()));
        outs.iter().try_for_each(|out| access::check(out, input, Aliasing::InPlace))?;
        let turned = turned(input, dim)?;
        if is_apart && turned.dtype() == T::DTYPE && turned.geometry().is_contiguous() {
            return Ok(Self(turned));
        }
        let rows = Array::empty(TensorSpec::contiguous(turned.sizes(), T::DTYPE, turned.device())?)?;
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
    fn new<T: Element>(out: &Array, dim: usize, direct: bool) -> Result<Self> {
        let turned = turned(Distinct::new(out)?.array(), dim)?;
        if direct && turned.dtype() == T::DTYPE && turned.geometry().is_contiguous() {
            return Ok(Self { rows: turned, place: None });
        }
        let rows = Array::empty(TensorSpec::contiguous(turned.sizes(), T::DTYPE, turned.device())?)?;
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
