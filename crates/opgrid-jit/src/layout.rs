//! The order in which a loop visits elements, and where the elements of each array lie in that order.

use opgrid_array::Geometry;
use opgrid_array::error::argument;
use opgrid_core::Result;

/// Where the elements of an array lie in the order of a loop.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Layout {
    /// One element for the whole loop.
    Scalar,
    /// Next to each other.
    Flat,
    /// By these strides, in elements, one for each dimension of the loop.
    Strided(Vec<usize>),
}

/// The dimensions of a loop, from the outermost to the innermost: those of the outputs in the order of the first output's strides,
/// without those of size 1. Dimensions that are one dimension of every array are joined.
#[derive(Debug)]
pub(crate) struct Loops {
    sizes: Vec<usize>,
    /// How many elements are visited.
    pub numel: usize,
}

impl Loops {
    /// The loop over outputs of one shape and inputs that are broadcast to it, and the layout of each: outputs first.
    ///
    /// # Errors
    ///
    /// Outputs of different shapes, inputs that do not broadcast to them.
    pub(crate) fn new(outputs: &[&Geometry], inputs: &[&Geometry]) -> Result<(Self, Vec<Layout>)> {
        let Some(first) = outputs.first() else { return Err(argument("a loop has at least one output")) };
        let shape = first.sizes();
        if let Some(other) = outputs.iter().find(|other| other.sizes() != shape) {
            return Err(argument(format!(
                "outputs have shapes {shape:?} and {:?}, expected one shape",
                other.sizes()
            )));
        }
        for input in inputs {
            check_broadcast(input.sizes(), shape)?;
        }
        let arrays: Vec<&Geometry> = outputs.iter().chain(inputs).copied().collect();
        let mut dims: Vec<Dim> = (0..shape.len())
            .filter(|dim| shape[*dim] != 1)
            .map(|dim| Dim {
                size: shape[dim] as usize,
                strides: arrays.iter().map(|array| stride_at(array, shape.len() - dim)).collect(),
            })
            .collect();
        dims.sort_by_key(|dim| std::cmp::Reverse(dim.strides[0]));
        let dims = joined(dims);
        let layouts = (0..arrays.len()).map(|k| layout(&dims, k)).collect();
        let loops = Self { sizes: dims.iter().map(|dim| dim.size).collect(), numel: first.numel() as usize };
        Ok((loops, layouts))
    }

    /// Calls `piece` for the pieces of innermost dimensions that elements `first..first + n` consist of, with the position of the
    /// piece's first element in elements, how many elements there were before, the step between elements and how many there are.
    pub(crate) fn pieces(
        &self,
        strides: &[usize],
        first: usize,
        n: usize,
        mut piece: impl FnMut(usize, usize, usize, usize),
    ) {
        let (Some((&width, outer)), Some((&step, outer_strides))) =
            (self.sizes.split_last(), strides.split_last())
        else {
            return piece(0, 0, 1, n);
        };
        let mut done = 0;
        while done < n {
            let mut row = (first + done) / width;
            let column = (first + done) % width;
            let mut at = column * step;
            for (size, stride) in outer.iter().zip(outer_strides).rev() {
                at += row % size * stride;
                row /= size;
            }
            let len = (width - column).min(n - done);
            piece(at, done, step, len);
            done += len;
        }
    }
}

/// A dimension of a loop: its size, and how many elements each array moves.
struct Dim {
    size: usize,
    strides: Vec<usize>,
}

/// Joins every dimension with the next inner one where that makes one dimension of them for all arrays.
fn joined(dims: Vec<Dim>) -> Vec<Dim> {
    let mut kept: Vec<Dim> = Vec::new();
    for inner in dims {
        match kept.last_mut() {
            Some(outer)
                if outer
                    .strides
                    .iter()
                    .zip(&inner.strides)
                    .all(|(outer, stride)| *outer == stride * inner.size) =>
            {
                *outer = Dim { size: outer.size * inner.size, strides: inner.strides };
            }
            _ => kept.push(inner),
        }
    }
    kept
}

fn layout(dims: &[Dim], k: usize) -> Layout {
    if dims.iter().all(|dim| dim.strides[k] == 0) {
        // Of a loop over one element, each array has just that.
        return if dims.is_empty() { Layout::Flat } else { Layout::Scalar };
    }
    match dims {
        [dim] if dim.strides[k] == 1 => Layout::Flat,
        _ => {
            let mut step = 1;
            let is_flat = dims.iter().rev().all(|dim| {
                let fits = dim.strides[k] == step;
                step *= dim.size;
                fits
            });
            if is_flat {
                Layout::Flat
            } else {
                Layout::Strided(dims.iter().map(|dim| dim.strides[k]).collect())
            }
        }
    }
}

/// The stride of the dimension that is `from_end`th from the end; 0 where the array is broadcast.
fn stride_at(array: &Geometry, from_end: usize) -> usize {
    match array.dims().checked_sub(from_end) {
        Some(dim) if array.sizes()[dim] != 1 => array.step(dim),
        _ => 0,
    }
}

fn check_broadcast(sizes: &[i64], out: &[i64]) -> Result<()> {
    let fits = |(size, out): (&i64, &i64)| size == out || *size == 1;
    if sizes.len() <= out.len() && sizes.iter().rev().zip(out.iter().rev()).all(fits) {
        return Ok(());
    }
    Err(argument(format!(
        "an input has shape {sizes:?}, which does not broadcast to the outputs' shape {out:?}"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contiguous(sizes: &[i64]) -> Geometry {
        Geometry::contiguous(sizes).unwrap()
    }

    /// The positions of an array's elements in the order of a loop.
    fn positions(loops: &Loops, layout: &Layout) -> Vec<usize> {
        match layout {
            Layout::Scalar => vec![0; loops.numel],
            Layout::Flat => (0..loops.numel).collect(),
            Layout::Strided(strides) => {
                let mut all = Vec::new();
                // In blocks, so that pieces begin and end anywhere.
                for first in (0..loops.numel).step_by(7) {
                    let n = 7.min(loops.numel - first);
                    loops.pieces(strides, first, n, |at, done, step, len| {
                        assert_eq!(all.len(), first + done);
                        all.extend((0..len).map(|i| at + i * step));
                    });
                }
                all
            }
        }
    }

    #[test]
    fn every_pair_of_elements_is_visited_once() {
        for (out, input) in [
            (contiguous(&[2, 3, 4]), contiguous(&[3, 1])),
            (contiguous(&[5, 4]), contiguous(&[4, 5]).transpose(0, 1).unwrap()),
            (contiguous(&[2, 3, 4]).permute(&[2, 0, 1]).unwrap(), contiguous(&[4, 1, 3])),
            (contiguous(&[6]), contiguous(&[])),
            (contiguous(&[]), contiguous(&[])),
            (contiguous(&[2, 6]), contiguous(&[2, 12]).slice(1, 0, 12, 2).unwrap()),
        ] {
            let (loops, layouts) = Loops::new(&[&out], &[&input]).unwrap();
            let found = positions(&loops, &layouts[0]).into_iter().zip(positions(&loops, &layouts[1]));
            let mut found: Vec<_> = found.collect();
            found.sort_unstable();
            let wide = input.expand(out.sizes()).unwrap();
            let pairs = opgrid_array::array::positions(&out).zip(opgrid_array::array::positions(&wide));
            let mut expected: Vec<_> = pairs.collect();
            expected.sort_unstable();
            assert_eq!(found, expected, "{out:?} from {input:?}");
        }
    }

    #[test]
    fn shapes_that_do_not_fit_are_refused() {
        let error = Loops::new(&[&contiguous(&[2, 3])], &[&contiguous(&[4])]).unwrap_err().to_string();
        assert!(error.contains("[4], which does not broadcast to the outputs' shape [2, 3]"), "{error}");
        let error = Loops::new(&[&contiguous(&[2]), &contiguous(&[3])], &[]).unwrap_err().to_string();
        assert!(error.contains("outputs have shapes [2] and [3]"), "{error}");
    }
}
