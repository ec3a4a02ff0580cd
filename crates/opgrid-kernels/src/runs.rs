//! Reads elements along runs of indices, with a list of runs for each dimension: flips, rolls, repetitions, padding.
//!
//! `out[i, j, …] = input[a(i), b(j), …]`, where each of `a`, `b`, … goes through some indices one after the other:
//!
//! ```text
//! size 5, reflected by 2 and 1      2 1 │ 0 1 2 3 4 │ 3
//! runs (start, count, step)     (2, 2, -1) (0, 5, 1) (3, 1, -1)
//! ```
//!
//! Elements are moved as what has their size, so that loops are compiled for six types.

use opgrid_core::Result;
use smallvec::SmallVec;

use super::indexing::{check_apart, with_size_of};
use opgrid_array::error::argument;
use opgrid_array::loops::access::Distinct;
use opgrid_array::loops::copy;
use opgrid_array::loops::iter::produce::Sequence;
use opgrid_array::loops::iter::walk::Overlap;
use opgrid_array::loops::iter::{Output, Target};
use opgrid_array::{Array, Element, TensorSpec};

/// Indices of one dimension: `start`, `start + step`, …
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The first index.
    pub start: i64,
    /// How many indices there are.
    pub count: i64,
    /// 1 forwards, -1 backwards, 0 the same again.
    pub step: i64,
}

/// The indices that a dimension of the output reads.
pub type Runs = SmallVec<[Run; 3]>;

impl Run {
    /// Indices that follow one another.
    pub fn forwards(start: i64, count: i64) -> Self {
        Self { start, count, step: 1 }
    }

    /// Indices in reverse order, of which `start` is the last one in memory.
    pub fn backwards(start: i64, count: i64) -> Self {
        Self { start, count, step: -1 }
    }

    /// One index several times.
    pub fn again(start: i64, count: i64) -> Self {
        Self { start, count, step: 0 }
    }

    /// Whether every index is one of a dimension of that size.
    fn is_within(&self, size: i64) -> bool {
        let last = self.start + (self.count - 1) * self.step;
        self.count <= 0 || ((0..size).contains(&self.start) && (0..size).contains(&last))
    }
}

/// A dimension that is read along runs.
struct Level<'a> {
    stride: i64,
    runs: &'a [Run],
}

/// Writes the elements of `input` along `runs`, a list for each dimension, to `out`.
///
/// # Errors
///
/// Runs that leave the input or do not fill the output, overlap, another dtype, tensors without data or used by others.
pub fn read(out: &Array, input: &Array, runs: &[Runs]) -> Result<()> {
    check(out, input, runs)?;
    if out.spec().numel() == 0 {
        return Ok(());
    }
    check_apart(out, input)?;
    if out.storage().is_same(input.storage()) || out.dtype() != input.dtype() {
        return read_apart(out, input, runs);
    }
    if !out.geometry().is_contiguous() {
        // In the order of the output's memory, if it has one.
        let order = by_stride(out);
        let reordered = out.view(out.geometry().permute(&order)?)?;
        if !reordered.geometry().is_contiguous() {
            return read_apart(out, input, runs);
        }
        let runs: Vec<Runs> = order.iter().map(|&dim| runs[dim as usize].clone()).collect();
        return read(&reordered, &input.view(input.geometry().permute(&order)?)?, &runs);
    }
    let reader = input.storage().read()?;
    let (distinct, mut writer) = (Distinct::new(out)?, out.storage().write()?);
    with_size_of!(out.dtype(), T => {
        let elements = reader.slice::<T>()?;
        Output::of_size(Target::new(&mut writer, distinct, Overlap::Apart))?.produce(|sequence| {
            write(sequence, elements, input, runs);
            Ok(())
        })
    })
}

/// Copies by way of a row-major array.
fn read_apart(out: &Array, input: &Array, runs: &[Runs]) -> Result<()> {
    let apart = Array::empty(TensorSpec::contiguous(out.sizes(), input.dtype(), input.device())?)?;
    read(&apart, input, runs)?;
    copy::copy(out, &apart)
}

/// The dimensions from the slowest to the fastest.
fn by_stride(array: &Array) -> Vec<i64> {
    let mut order: Vec<i64> = (0..array.sizes().len() as i64).collect();
    order.sort_by_key(|&dim| std::cmp::Reverse(array.geometry().step(dim as usize)));
    order
}

/// # Errors
///
/// A run that leaves its dimension, or an output of another size than all runs together.
fn check(out: &Array, input: &Array, runs: &[Runs]) -> Result<()> {
    let sizes = out.sizes().iter().zip(input.sizes());
    let fits = runs.len() == input.sizes().len()
        && runs.len() == out.sizes().len()
        && runs.iter().zip(sizes).all(|(runs, (&written, &size))| {
            let counts = runs.iter().try_fold(0i64, |sum, run| sum.checked_add(run.count.max(0)));
            counts == Some(written) && runs.iter().all(|run| run.is_within(size))
        });
    if fits || out.spec().numel() == 0 {
        Ok(())
    } else {
        let (found, from) = (out.sizes(), input.sizes());
        Err(argument(format!("an output of shape {found:?} cannot be read from {from:?} along {runs:?}")))
    }
}

/// Writes all elements. The last dimensions that are read whole, and are row-major, are one block.
fn write<T: Element>(sequence: &mut Sequence<'_, T>, elements: &[T], input: &Array, runs: &[Runs]) {
    let geometry = input.geometry();
    let mut block = 1i64;
    let mut levels: SmallVec<[Level<'_>; 6]> = SmallVec::new();
    for (dim, runs) in runs.iter().enumerate() {
        levels.push(Level { stride: geometry.step(dim) as i64, runs });
    }
    for (dim, runs) in runs.iter().enumerate().rev() {
        let size = geometry.sizes()[dim];
        let is_whole = runs.as_slice() == [Run::forwards(0, size)];
        if !is_whole || (size > 1 && geometry.step(dim) as i64 != block) {
            break;
        }
        block *= size;
        levels.pop();
    }
    go(sequence, elements, geometry.start() as i64, &levels, block);
}

/// Writes what lies below some dimensions, from a position on.
fn go<T: Element>(
    sequence: &mut Sequence<'_, T>,
    elements: &[T],
    base: i64,
    levels: &[Level<'_>],
    block: i64,
) {
    match levels {
        [] => slice(sequence, elements, base, block),
        [Level { stride, runs }] => {
            for run in *runs {
                along(sequence, elements, base + run.start * stride, (run.count, run.step * stride), block);
            }
        }
        [Level { stride, runs }, rest @ ..] => {
            for run in *runs {
                for k in 0..run.count {
                    go(sequence, elements, base + (run.start + k * run.step) * stride, rest, block);
                }
            }
        }
    }
}

/// Writes `count` blocks, `step` elements apart.
fn along<T: Element>(
    sequence: &mut Sequence<'_, T>,
    elements: &[T],
    base: i64,
    (count, step): (i64, i64),
    block: i64,
) {
    match (block, step) {
        _ if count <= 0 => {}
        (_, _) if step == block => slice(sequence, elements, base, count * block),
        (1, 0) => {
            let element = elements[base as usize];
            sequence.extend_with(count as usize, move |_| element);
        }
        (1, -1) => {
            let last = base as usize;
            sequence.extend_from_reversed(&elements[last + 1 - count as usize..=last]);
        }
        (1, _) => {
            sequence.extend_with(count as usize, move |k| elements[(base + k as i64 * step) as usize]);
        }
        _ => (0..count).for_each(|k| slice(sequence, elements, base + k * step, block)),
    }
}

fn slice<T: Element>(sequence: &mut Sequence<'_, T>, elements: &[T], base: i64, count: i64) {
    sequence.extend_from_slice(&elements[base as usize..(base + count) as usize]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_out(input: &Array, sizes: &[i64], runs: &[Runs]) -> Vec<i64> {
        let out = Array::from_slice(&vec![0i64; sizes.iter().product::<i64>() as usize], sizes).unwrap();
        read(&out, input, runs).unwrap();
        out.to_vec().unwrap()
    }

    #[test]
    fn runs_go_forwards_backwards_and_stand() {
        let x = Array::from_slice(&[0i64, 1, 2, 3, 4, 5], &[2, 3]).unwrap();
        let rows = Runs::from_iter([Run::backwards(1, 2)]);
        let columns = Runs::from_iter([Run::again(0, 2), Run::forwards(1, 2)]);
        assert_eq!(read_out(&x, &[2, 4], &[rows, columns]), [3, 3, 4, 5, 0, 0, 1, 2]);
        let whole = Runs::from_iter([Run::forwards(0, 3)]);
        let rows = Runs::from_iter([Run::forwards(0, 2), Run::forwards(0, 1)]);
        assert_eq!(read_out(&x, &[3, 3], &[rows, whole]), [0, 1, 2, 3, 4, 5, 0, 1, 2]);
    }

    #[test]
    fn runs_that_leave_the_input_are_refused() {
        let x = Array::from_slice(&[0i64, 1], &[2]).unwrap();
        let out = Array::from_slice(&[7i64, 7, 7], &[3]).unwrap();
        for run in [Run::forwards(0, 3), Run::backwards(1, 3), Run::again(2, 3), Run::forwards(0, 2)] {
            assert!(read(&out, &x, &[Runs::from_iter([run])]).is_err(), "{run:?}");
        }
        assert_eq!(out.to_vec::<i64>().unwrap(), [7, 7, 7]);
    }
}
