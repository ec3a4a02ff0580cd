//! Decides in which order a loop visits the elements of several operands.
//!
//! Dimensions of size 1 are dropped, the rest is sorted by the output's strides, and neighbours that one stride can
//! express are joined. What is left is walked as nested loops around a *run*: `n` elements, one stride per operand.

use opgrid_core::Result;
use smallvec::SmallVec;

use crate::error::argument;
use crate::tensor::Geometry;

/// Tiles of a transposed walk: rows along the output's fastest dimension, by the input's fastest dimension. Eight
/// cache lines that share a set fit the first cache; 64 elements use each line whole.
const TILE: (usize, usize) = (64, 8);

/// One loop: how often, and how far each operand moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Loop<const N: usize> {
    size: usize,
    strides: [usize; N],
}

/// The loops from the outermost to the run. Operand 0 is the output, whose sizes are visited.
#[derive(Debug)]
pub(super) struct Plan<const N: usize> {
    loops: SmallVec<[Loop<N>; 6]>,
    offsets: [usize; N],
    empty: bool,
}

impl<const N: usize> Plan<N> {
    /// # Errors
    ///
    /// An operand that does not broadcast to operand 0.
    pub(super) fn new(operands: [&Geometry; N]) -> Result<Self> {
        let out = operands[0];
        let offsets = operands.map(|operand| operand.offset() as usize);
        let empty = out.numel() == 0;
        let plain = |operand: &&Geometry| operand.is_contiguous() && operand.sizes() == out.sizes();
        let mut loops = SmallVec::new();
        if operands.iter().all(plain) {
            loops.push(Loop { size: out.numel() as usize, strides: [1; N] });
            return Ok(Self { loops, offsets, empty });
        }
        for operand in &operands[1..] {
            check_broadcast(operand.sizes(), out.sizes())?;
        }
        for (dim, &size) in out.sizes().iter().enumerate().filter(|(_, size)| **size != 1) {
            let strides = operands.map(|operand| stride_at(operand, out.dims() - dim));
            loops.push(Loop { size: size as usize, strides });
        }
        loops.sort_by_key(|level: &Loop<N>| std::cmp::Reverse(level.strides));
        join(&mut loops);
        Ok(Self { loops, offsets, empty })
    }

    /// Calls `run` with the position of each operand, the number of elements and the strides, until every element
    /// was visited once.
    pub(super) fn walk(&self, run: &mut impl FnMut([usize; N], usize, [usize; N])) {
        if !self.empty {
            walk(&self.loops, self.offsets, run);
        }
    }
}

/// The stride of the dimension that is `from_end`th from the end; 0 where the operand is stretched.
fn stride_at(operand: &Geometry, from_end: usize) -> usize {
    match operand.dims().checked_sub(from_end) {
        Some(dim) if operand.sizes()[dim] != 1 => operand.strides()[dim] as usize,
        _ => 0,
    }
}

fn check_broadcast(sizes: &[i64], out: &[i64]) -> Result<()> {
    let fits = |(size, out): (&i64, &i64)| size == out || *size == 1;
    if sizes.len() <= out.len() && sizes.iter().rev().zip(out.iter().rev()).all(fits) {
        return Ok(());
    }
    Err(argument(format!("shape {sizes:?} does not broadcast to the output's shape {out:?}")))
}

/// Joins every loop with the next inner one where that makes one loop of them.
fn join<const N: usize>(loops: &mut SmallVec<[Loop<N>; 6]>) {
    let mut kept = 0;
    for at in 1..loops.len() {
        let (outer, inner) = (loops[kept], loops[at]);
        let joins = (0..N).all(|k| outer.strides[k] == inner.strides[k].wrapping_mul(inner.size));
        if joins {
            loops[kept] = Loop { size: outer.size * inner.size, strides: inner.strides };
        } else {
            kept += 1;
            loops[kept] = inner;
        }
    }
    loops.truncate(kept + 1);
}

fn walk<const N: usize>(
    loops: &[Loop<N>],
    mut at: [usize; N],
    run: &mut impl FnMut([usize; N], usize, [usize; N]),
) {
    match loops {
        [] => run(at, 1, [1; N]),
        [only] => run(at, only.size, only.strides),
        [outer, inner] if crosses(outer, inner) => tiles(outer, inner, at, run),
        [outer, rest @ ..] => {
            for _ in 0..outer.size {
                walk(rest, at, run);
                advance(&mut at, &outer.strides, 1);
            }
        }
    }
}

/// Whether some operand lies along the outer loop, as in `a + b.t()`.
fn crosses<const N: usize>(outer: &Loop<N>, inner: &Loop<N>) -> bool {
    let large = outer.size > TILE.1 && inner.size > TILE.1;
    large && (0..N).any(|k| outer.strides[k] != 0 && outer.strides[k] < inner.strides[k])
}

fn tiles<const N: usize>(
    outer: &Loop<N>,
    inner: &Loop<N>,
    at: [usize; N],
    run: &mut impl FnMut([usize; N], usize, [usize; N]),
) {
    for column in (0..inner.size).step_by(TILE.1) {
        let width = TILE.1.min(inner.size - column);
        let mut position = at;
        advance(&mut position, &inner.strides, column);
        for _ in 0..outer.size {
            run(position, width, inner.strides);
            advance(&mut position, &outer.strides, 1);
        }
    }
}

fn advance<const N: usize>(at: &mut [usize; N], strides: &[usize; N], steps: usize) {
    for (at, stride) in at.iter_mut().zip(strides) {
        *at += stride * steps;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn geometry(sizes: &[i64]) -> Geometry {
        Geometry::contiguous(sizes).unwrap()
    }

    /// The naive model: pairs of positions for every index of the output.
    fn expected(out: &Geometry, input: &Geometry) -> Vec<[usize; 2]> {
        let wide = input.expand(out.sizes()).unwrap();
        let pairs = crate::tensor::array::positions(out).zip(crate::tensor::array::positions(&wide));
        let mut pairs: Vec<_> = pairs.map(|(out, input)| [out, input]).collect();
        pairs.sort_unstable();
        pairs
    }

    fn visited(out: &Geometry, input: &Geometry) -> Vec<[usize; 2]> {
        let mut pairs = Vec::new();
        Plan::new([out, input]).unwrap().walk(&mut |at, n, strides| {
            pairs.extend((0..n).map(|i| [at[0] + i * strides[0], at[1] + i * strides[1]]));
        });
        pairs.sort_unstable();
        pairs
    }

    #[test]
    fn every_pair_of_elements_is_visited_once() {
        let big = geometry(&[20, 30]).transpose(0, 1).unwrap();
        let cut = geometry(&[4, 30, 50]).slice(2, 3, 43, 2).unwrap().select(0, 2).unwrap();
        for (out, input) in [
            (geometry(&[2, 3, 4]), geometry(&[3, 1])),
            (geometry(&[30, 20]), big.clone()),
            (big, geometry(&[30, 20])),
            (geometry(&[30, 20]), cut),
            (geometry(&[]), geometry(&[])),
            (geometry(&[5]), geometry(&[])),
            (geometry(&[0, 3]), geometry(&[3])),
            (geometry(&[2, 1, 3]).permute(&[2, 0, 1]).unwrap(), geometry(&[2, 1])),
        ] {
            assert_eq!(visited(&out, &input), expected(&out, &input), "{out:?} from {input:?}");
        }
    }

    #[test]
    fn dense_operands_are_one_run() {
        let image = geometry(&[2, 3, 4]).permute(&[1, 2, 0]).unwrap();
        assert_eq!(
            Plan::new([&image, &image]).unwrap().loops.as_slice(),
            [Loop { size: 24, strides: [1, 1] }]
        );
        let scalar = geometry(&[]);
        assert_eq!(
            Plan::new([&image, &scalar]).unwrap().loops.as_slice(),
            [Loop { size: 24, strides: [1, 0] }]
        );
    }

    #[test]
    fn an_input_that_does_not_fit_is_named() {
        let error = Plan::new([&geometry(&[2, 3]), &geometry(&[4])]).unwrap_err();
        assert_eq!(error.to_string(), "shape [4] does not broadcast to the output's shape [2, 3]");
        assert!(Plan::new([&geometry(&[3]), &geometry(&[1, 3])]).is_err());
    }
}
