//! Convolutions with very few filters, such as one for each channel, on images between zeros.
//!
//! Rows of a padded image follow each other ([`Grid`]), so that each tap is the same distance away from all places: the places of an image
//! are one line of sums, of which registers hold a part while the taps pass by. The columns between rows are summed as well, and left out.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;

use opgrid_core::Result;

use super::convolution::{Convolution, Filters, Places};
use super::matrix::{Memory, Room};
use super::padded::Grid;
use super::patches::Windows;
use super::scheme::Scheme;
use super::tile::{Kernel, Work};
use opgrid_array::Math;
use opgrid_array::loops::arithmetic::Arithmetic;
use opgrid_array::loops::iter::Output;
use opgrid_array::loops::iter::parallel::{for_each_piece, num_threads};
use opgrid_array::loops::simd::VectorLoop;

/// Products that are worth a piece of their own.
const PIECE: usize = 1 << 16;

impl<S: Scheme, N: Fn(S::Sum) -> Math<S::Element> + Copy + Sync> Convolution<'_, S, N>
where
    Math<S::Element>: Arithmetic,
{
    /// Whether there is a kernel, and zeros around images take less time than rows one at a time.
    pub(super) fn takes_lines(&self, grid: &Grid<'_>) -> bool {
        S::PARTS == 1 && self.scheme.kernel().takes_lines() && grid.is_worth()
    }

    /// The convolution. A piece is some groups of channels of the images.
    pub(super) fn correlate_lines(
        self,
        grid: &Grid<'_>,
        out: Output<'_, S::Element>,
        image: &[S::Element],
        filters: Filters<'_, S::Element>,
    ) -> Result<()> {
        let Windows { batch, groups, channels, filters: each, .. } = *self.windows;
        let (taps, places, plane) =
            (self.windows.taps(), self.windows.places_of_image(), self.windows.plane());
        let kernel = self.scheme.kernel();
        let planes = batch * groups;
        let most = planes.div_ceil((planes * each * places * taps).div_ceil(PIECE));
        let together = planes.div_ceil(4 * num_threads()).max(most).max(1);
        let (lines, offsets) = (grid.lines(), grid.offsets(1));
        let rows: Vec<usize> = grid.rows().collect();
        let columns = grid.columns().next_multiple_of(kernel.line_width());
        let target = Places::new(&out);
        for_each_piece(planes.div_ceil(together), &|piece| {
            let mut memory = Memory::take();
            let Memory { panels, sums, copies } = &mut memory;
            let elements = copies.slice::<S::Packed>(grid.elements(kernel.line_width()));
            let sums = sums.slice::<S::Sum>(columns);
            // Lines are written for each image, and what lies between them stays zero.
            elements.fill(S::Packed::default());
            for number in piece * together..planes.min((piece + 1) * together) {
                grid.fill_lines::<S>(&lines, &image[number * channels * plane..], elements);
                for filter in number % groups * each..(number % groups + 1) * each {
                    let weight = &filters.weight[filter * taps..][..taps];
                    let weight = packed::<S>(weight, panels);
                    sum_line::<S>(kernel, weight, &offsets, elements, sums);
                    let first = (number * each + filter % each) * places;
                    let bias = filters.bias(filter);
                    // SAFETY: each piece has its own images, whose places are those of the output.
                    let out = unsafe { target.slice(first, places) };
                    let narrow = |sum| self.narrowed(sum, bias);
                    NarrowRows { narrow, rows: &rows, sums, out, width: self.windows.places[2] }.vectorised();
                }
            }
        });
        // SAFETY: pieces are all filters at all places, and all are done.
        unsafe { out.complete() };
        Ok(())
    }
}

/// Weights as the kernel multiplies them.
fn packed<'r, S: Scheme>(weight: &[S::Element], room: &'r mut Room) -> &'r [S::Packed] {
    let packed = room.slice::<S::Packed>(weight.len());
    S::pack_row(packed, weight);
    packed
}

/// Sums all columns of a grid.
fn sum_line<S: Scheme>(
    kernel: &Kernel<S::Factor, S::Number>,
    weight: &[S::Packed],
    offsets: &[usize],
    elements: &[S::Packed],
    sums: &mut [S::Sum],
) {
    const { assert!(size_of::<S::Packed>() == size_of::<S::Factor>() || S::PARTS > 1) };
    let width = kernel.line_width();
    let last = offsets.iter().max().copied().unwrap_or(0);
    assert!(sums.len().is_multiple_of(width) && last + sums.len() <= elements.len() && S::PARTS == 1);
    assert_eq!(weight.len(), offsets.len());
    let work = Work {
        tiles: sums.len() / width,
        steps: offsets.len(),
        a: weight.as_ptr().cast::<S::Factor>(),
        a_row: 0,
        a_step: 1,
        b: elements.as_ptr().cast::<S::Factor>(),
        b_step: 0,
        b_offsets: offsets.as_ptr(),
        b_tile: width,
        scale: S::Number::ONE,
        out: sums.as_mut_ptr().cast::<S::Number>(),
        out_row: 0,
        add: false,
    };
    // SAFETY: there is a weight and an offset for each step; behind each offset lie as many elements as there are sums, which are whole
    // tiles; with one part a packed element is a factor and a sum is a number: all as asserted.
    unsafe { kernel.line(&work) };
}

/// Narrows the sums of places, which lie in rows with columns between them that are left out.
struct NarrowRows<'a, F, A, T> {
    narrow: F,
    /// Where each row begins.
    rows: &'a [usize],
    sums: &'a [A],
    out: &'a mut [MaybeUninit<T>],
    /// Places in a row.
    width: usize,
}

impl<F: Fn(A) -> T, A: Copy, T> VectorLoop for NarrowRows<'_, F, A, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { narrow, rows, sums, out, width } = self;
        for (out, start) in out.chunks_exact_mut(width).zip(rows) {
            for (out, sum) in out.iter_mut().zip(&sums[*start..][..width]) {
                out.write(narrow(*sum));
            }
        }
    }
}
