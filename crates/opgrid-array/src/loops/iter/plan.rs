//! Decides in which order a loop visits the elements of several operands.
//!
//! Dimensions of size 1 are dropped, the rest is sorted by the output's strides, and neighbours that one stride can
//! express are joined. What is left is walked as nested loops around a *run*: `n` elements, one stride per operand.

use opgrid_core::Result;
use smallvec::SmallVec;

use crate::Geometry;
use crate::error::argument;

/// The largest number of operands: an output and three inputs.
pub(super) const OPERANDS: usize = 4;

/// One loop: how often, and how many bytes each operand moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Loop {
    pub size: usize,
    pub strides: [usize; OPERANDS],
}

/// The loops from the outermost to the run. Operand 0 is the output, whose sizes are visited.
#[derive(Debug)]
pub(super) struct Plan {
    pub loops: SmallVec<[Loop; 6]>,
}

impl Plan {
    /// A plan for operands of these geometries and sizes of elements, in bytes.
    ///
    /// # Errors
    ///
    /// An operand that does not broadcast to operand 0.
    pub(super) fn new(operands: &[(&Geometry, usize)]) -> Result<Self> {
        let out = operands[0].0;
        for (operand, _) in &operands[1..] {
            check_broadcast(operand.sizes(), out.sizes())?;
        }
        let mut loops = SmallVec::new();
        if out.numel() == 0 {
            // Strides may be of any size where they lead to no element.
            loops.push(Loop { size: 0, strides: [0; OPERANDS] });
            return Ok(Self { loops });
        }
        for (dim, &size) in out.sizes().iter().enumerate().filter(|(_, size)| **size != 1) {
            let mut strides = [0; OPERANDS];
            for (stride, (operand, bytes)) in strides.iter_mut().zip(operands) {
                *stride = stride_at(operand, out.dims() - dim) * bytes;
            }
            loops.push(Loop { size: size as usize, strides });
        }
        if loops.len() > 1 {
            loops.sort_by_key(|level: &Loop| std::cmp::Reverse(level.strides));
            join(&mut loops);
        }
        if loops.is_empty() {
            let mut strides = [0; OPERANDS];
            strides.iter_mut().zip(operands).for_each(|(stride, (_, bytes))| *stride = *bytes);
            loops.push(Loop { size: 1, strides });
        }
        Ok(Self { loops })
    }

    /// The innermost loop.
    pub(super) fn inner(&self) -> &Loop {
        &self.loops[self.loops.len() - 1]
    }

    /// The loops around it.
    pub(super) fn outer(&self) -> &[Loop] {
        &self.loops[..self.loops.len() - 1]
    }
}

/// Where each operand is, in bytes from its first element.
pub(super) type Position = [usize; OPERANDS];

/// Walks nested loops, from any step on.
pub(super) struct Odometer<'a> {
    loops: &'a [Loop],
    index: SmallVec<[usize; 6]>,
    pub at: Position,
}

impl<'a> Odometer<'a> {
    /// The place of step `step`, counted with the last loop as the fastest.
    pub(super) fn new(loops: &'a [Loop], mut step: usize) -> Self {
        let mut index = SmallVec::from_elem(0, loops.len());
        let mut at = [0; OPERANDS];
        for (level, index) in loops.iter().zip(&mut index).rev() {
            *index = step % level.size;
            step /= level.size;
            advance(&mut at, &level.strides, *index);
        }
        Self { loops, index, at }
    }

    /// Goes on to the next step.
    #[inline]
    pub(super) fn advance(&mut self) {
        for (level, index) in self.loops.iter().zip(&mut self.index).rev() {
            *index += 1;
            advance(&mut self.at, &level.strides, 1);
            if *index < level.size {
                return;
            }
            for (at, stride) in self.at.iter_mut().zip(&level.strides) {
                *at -= stride * level.size;
            }
            *index = 0;
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
fn join(loops: &mut SmallVec<[Loop; 6]>) {
    let mut kept = 0;
    for at in 1..loops.len() {
        let (outer, inner) = (loops[kept], loops[at]);
        let joins = (0..OPERANDS).all(|k| outer.strides[k] == inner.strides[k].wrapping_mul(inner.size));
        if joins {
            loops[kept] = Loop { size: outer.size * inner.size, strides: inner.strides };
        } else {
            kept += 1;
            loops[kept] = inner;
        }
    }
    loops.truncate(kept + 1);
}

/// Moves every operand.
#[inline]
pub(super) fn advance(at: &mut Position, strides: &[usize; OPERANDS], steps: usize) {
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
        let pairs = crate::array::positions(out).zip(crate::array::positions(&wide));
        let mut pairs: Vec<_> = pairs.map(|(out, input)| [out, input]).collect();
        pairs.sort_unstable();
        pairs
    }

    fn visited(out: &Geometry, input: &Geometry) -> Vec<[usize; 2]> {
        let plan = Plan::new(&[(out, 4), (input, 8)]).unwrap();
        let start = [out.offset() as usize, input.offset() as usize];
        let steps = out.numel() as usize;
        assert_eq!(steps, plan.loops.iter().map(|level| level.size).product::<usize>());
        if steps == 0 {
            return Vec::new();
        }
        let mut odometer = Odometer::new(&plan.loops, 0);
        let mut pairs: Vec<_> = (0..steps)
            .map(|step| {
                assert_eq!(Odometer::new(&plan.loops, step).at, odometer.at);
                let pair = [start[0] + odometer.at[0] / 4, start[1] + odometer.at[1] / 8];
                odometer.advance();
                pair
            })
            .collect();
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
        let loops = |input: &Geometry| Plan::new(&[(&image, 4), (input, 4)]).unwrap().loops;
        assert_eq!(loops(&image).as_slice(), [Loop { size: 24, strides: [4, 4, 0, 0] }]);
        assert_eq!(loops(&geometry(&[])).as_slice(), [Loop { size: 24, strides: [4, 0, 0, 0] }]);
        assert_eq!(loops(&geometry(&[3, 1, 1])).len(), 3);
        assert_eq!(loops(&geometry(&[2])).len(), 2);
    }

    #[test]
    fn an_input_that_does_not_fit_is_named() {
        let error = Plan::new(&[(&geometry(&[2, 3]), 4), (&geometry(&[4]), 4)]).unwrap_err();
        assert_eq!(error.to_string(), "shape [4] does not broadcast to the output's shape [2, 3]");
        assert!(Plan::new(&[(&geometry(&[3]), 4), (&geometry(&[1, 3]), 4)]).is_err());
    }
}
