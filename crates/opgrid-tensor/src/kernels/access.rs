//! Borrows the memory of one output and its inputs, and refuses overlaps.
//!
//! An output whose indices lead to one element more than once is refused, as [`Geometry::overlaps_itself`] says exactly:
//! threads would write that element at the same time, and results would depend on the order of the loop. torch refuses
//! only strides of 0 and lets the others through. [`Distinct`] is the proof that loops ask for.
//!
//! An input may be the output itself (in place): then the one writer serves both. Any other overlap of an input with
//! what is written would make results depend on the order of the loop.

use opgrid_core::{DType, Error, ErrorKind, Result};

use super::iter::walk::Overlap;
use super::iter::{Input, Output, Span, Target};
use crate::samples::{Argument, Difference, Directed, Operand, Part};
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

/// The differences from torch that come of what stands here.
pub(crate) const DIFFERENCES: &[Difference] = &[
    Difference {
        id: "outputs-that-repeat-elements",
        what: "torch writes to tensors whose dimensions repeat elements in some operators; here they are \
               refused",
        why: "which of several values stays would depend on the order of the loop",
        test: (
            "opgrid-tensor/tests/all/differences/outputs.rs",
            "outputs_that_repeat_or_share_elements_are_refused",
        ),
        when: |seen| {
            let words = "more than one element of the written-to tensor refers to a single";
            let running = ["running_mean", "running_var"].into_iter().filter_map(|name| seen.tensor(name));
            let repeats = seen.outs().chain(seen.written()).chain(running).any(Operand::repeats);
            seen.we_refuse(words) && repeats
        },
        directed: None,
    },
    Difference {
        id: "outputs-that-are-one",
        what: "torch writes several results to one output, of which the last one stays; here outputs that share memory are \
               refused",
        why: "every result is asked for",
        test: (
            "opgrid-tensor/tests/all/differences/outputs.rs",
            "outputs_that_repeat_or_share_elements_are_refused",
        ),
        when: |seen| {
            let memories = || seen.outs().map(|out| out.memory);
            let is_shared =
                memories().enumerate().any(|(at, one)| memories().take(at).any(|other| one == other));
            is_shared && seen.we_refuse("two outputs refer to the same memory")
        },
        directed: None,
    },
    Difference {
        id: "outputs-over-inputs",
        what: "torch writes outputs that share elements with an input in some operators that read the \
               input again; here they are refused",
        why: "results would depend on the order of the loop",
        test: (
            "opgrid-tensor/tests/all/differences/outputs.rs",
            "outputs_that_repeat_or_share_elements_are_refused",
        ),
        when: |seen| {
            let words = "some elements of the input tensor and the written-to tensor refer";
            let shares = |out: &Operand| {
                let on_it = |(_, input): &&(&str, &Operand)| input.memory == out.memory && !input.is_empty();
                seen.tensors().iter().filter(on_it).count() > 1
            };
            seen.we_refuse(words) && seen.written().is_some_and(shares)
        },
        directed: Some(Directed {
            operator: "aten::relu.out",
            arguments: || {
                vec![
                    ("self", Operand::strided(0, DType::F32, (&[3], &[1], 0), &[1.0, 2.0, 3.0]).into()),
                    ("out", Operand::strided(0, DType::F32, (&[3], &[1], 1), &[2.0, 3.0, 4.0]).into()),
                ]
            },
            needs: None,
        }),
    },
    Difference {
        id: "outputs-without-elements-share-none",
        what: "torch refuses outputs without elements that lie over an input, or counts them among what \
               broadcasts; here they share nothing",
        why: "no element is read or written",
        test: ("opgrid-tensor/tests/all/differences/outputs.rs", "what_has_no_elements_shares_none"),
        when: |seen| {
            let words = ["single memory location", "doesn't match the broadcast shape"];
            let is_empty = seen.we_give_nothing() || seen.written().is_some_and(Operand::is_empty);
            is_empty && words.iter().any(|words| seen.torch_refuses(words))
        },
        directed: Some(Directed {
            operator: "aten::cat.out",
            arguments: || {
                vec![
                    (
                        "tensors",
                        Argument::Tensors(vec![
                            Some(Operand::rows(0, DType::F32, &[0], &[])),
                            Some(Operand::rows(1, DType::F32, &[2], &[1.0, 2.0])),
                        ]),
                    ),
                    ("out", Operand::rows(0, DType::F32, &[0], &[]).into()),
                ]
            },
            needs: None,
        }),
    },
    Difference {
        id: "outputs-between-inputs",
        what: "torch and opgrid do not search views with gaps for elements that they share with an output, \
               and write and read such elements in different orders",
        why: "the search would cost more than most operators",
        test: ("opgrid-tensor/tests/all/differences/outputs.rs", "outputs_between_the_elements_of_an_input"),
        when: |seen| {
            let meets = |out: &Operand| {
                let other =
                    |(_, input): &(&str, &Operand)| input.geometry != out.geometry && out.meets(input);
                seen.tensors().iter().any(other)
            };
            let divides = seen.we_refuse("has a zero") || seen.torch_refuses("ZeroDivisionError");
            (!seen.elements.is_empty() || divides) && seen.written().is_some_and(meets)
        },
        directed: None,
    },
];

/// Of operators that compute a result before they write it.
pub(crate) const READ_FIRST: Difference = Difference {
    id: "outputs-over-what-is-read-first",
    what: "torch refuses an output that shares elements with probabilities, or with what losses compare; here they are read first \
           and then written",
    why: "nothing is read after it is written",
    test: ("opgrid-tensor/tests/all/differences/outputs.rs", "results_are_computed_before_they_are_written"),
    when: |seen| {
        let shares = |out: &Operand| seen.inputs().iter().any(|input| input.memory == out.memory);
        seen.torch_refuses("refer to a single memory location") && seen.outs().any(shares)
    },
    directed: Some(Directed {
        operator: "aten::bernoulli.out",
        arguments: || {
            vec![
                ("self", Operand::strided(0, DType::F32, (&[3], &[1], 0), &[1.0, 0.0, 1.0]).into()),
                ("out", Operand::strided(0, DType::F32, (&[3], &[1], 1), &[0.0, 1.0, 0.0]).into()),
            ]
        },
        needs: None,
    }),
};

/// Of operators that read inputs several times.
pub(crate) const READ_AFTER_WRITTEN: Difference = Difference {
    id: "outputs-read-after-written",
    what: "torch lets products and reductions write over their own inputs and reads what it wrote; here \
           that is refused, or the input is read first",
    why: "results would depend on the order of the loop",
    test: ("opgrid-tensor/tests/all/differences/outputs.rs", "products_into_their_own_factors"),
    when: |seen| {
        let shares = |out: &Operand| seen.inputs().iter().any(|input| input.memory == out.memory);
        let differs = matches!(seen.part, Part::Outcome | Part::Values | Part::Written);
        differs && seen.out().is_some_and(shares)
    },
    directed: None,
};
