//! Square roots by instructions that the compiler makes of no loop.
#![allow(unsafe_code)]

use std::slice;

use super::places;
use super::walk::{Block, Rows};
use crate::loops::simd;

/// `out[i] = sqrt(a[i])` of single-precision numbers, in vectors of 512 bits as far as the processor has them.
pub(super) struct SquareRoots;

impl Block for SquareRoots {
    fn writes_over(&self) -> bool {
        false
    }

    fn is_long(&self) -> bool {
        false
    }

    unsafe fn run(&self, rows: &Rows) {
        let Rows { out, inputs: [input, ..], down: [out_down, down, ..], n, count } = *rows;
        for row in 0..count {
            // SAFETY: the rows are as `Block::run` asks: `n` places of the output's dtype.
            let out = unsafe { places(out.wrapping_add(row * out_down).cast::<f32>(), n) };
            // SAFETY: the rows are as `Block::run` asks: `n` initialised elements of the input's dtype; the output is apart.
            let input = unsafe { slice::from_raw_parts(input.wrapping_add(row * down).cast::<f32>(), n) };
            let done = simd::square_roots(out, input);
            for (out, input) in out[done..].iter_mut().zip(&input[done..]) {
                out.write(input.sqrt());
            }
        }
    }
}
