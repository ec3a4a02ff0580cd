//! `aten::split`, `aten::split_with_sizes`, `aten::chunk`: a dimension cut into parts.
//!
//! - Results: parts of `split_size` each, the last one perhaps smaller; parts of the sizes in a list; as many parts as
//!   `chunks` or fewer, of equal sizes but for the last one. A dimension without elements gives one part, or `chunks` of them.
//! - Aliasing: views of `self`. `unsafe_split` and `unsafe_chunk` give views too, but their schemas keep that from layers:
//!   they are for tensors that nobody else has. `split_copy` and `split_with_sizes_copy` copy the parts.
//! - Dispatch: `split.sizes` is `split_with_sizes`; `chunk` is made of both.
//! - Errors: a tensor without dimensions, a dimension out of range, negative sizes, sizes of another sum, no parts.
//! - Source: torch.split, torch.chunk, PyTorch 2.15.

use crate::kinds::views::{joined, list_for, parts};
use crate::prelude::*;
use opgrid_tensor::tensor::views::normalise_dim;

pub use opgrid_tensor::ops::views::split::*;

/// The view family of `aten::split.Tensor`: the places of its parts in the base.
pub const SPLIT: ViewFamily<SplitTensor> = ViewFamily::new(SplitTensor, equal_parts);

/// The view family of `aten::split_with_sizes`: the places of its parts in the base.
pub const SPLIT_WITH_SIZES: ViewFamily<SplitWithSizes> = ViewFamily::new(SplitWithSizes, with_sizes);

pub(super) fn register(library: &mut Library) {
    library.view(SplitTensor, &SPLIT).derivative(|d, (input, _, dim)| joined(d, input, dim, false));
    library
        .view(SplitWithSizes, &SPLIT_WITH_SIZES)
        .derivative(|d, (input, _, dim)| joined(d, input, dim, false));
    library
        .define(SplitSizes)
        .kind(&kind::VIEW)
        .implicit(|input, sizes, dim| SplitWithSizes.call(input, sizes, dim));
    library.define(Chunk).kind(&kind::VIEW).implicit(|input, chunks, dim| match chunk(input, chunks, dim)? {
        Chunks::OfSize(size) => SplitTensor.call(input, size, dim),
        Chunks::Empty => SplitWithSizes.call(input, &empty_chunks(chunks)?, dim),
    });
    library
        .define(UnsafeSplitTensor)
        .kind(&kind::COPY)
        .on_every_backend(|input, size, dim| {
            equal_parts(input, size, dim)?.into_iter().map(|part| input.bare_view(part)).collect()
        })
        .derivative(|d, (input, _, dim)| joined(d, input, dim, false));
    library.define(UnsafeChunk).kind(&kind::COPY).implicit(|input, chunks, dim| {
        match chunk(input, chunks, dim)? {
            Chunks::OfSize(size) => UnsafeSplitTensor.call(input, size, dim),
            Chunks::Empty => SplitWithSizes.call(input, &empty_chunks(chunks)?, dim),
        }
    });
    library.copy_of_view(SplitCopyTensor, SplitTensor);
    library.copy_of_view(SplitWithSizesCopy, SplitWithSizes);
}

/// # Errors
///
/// A tensor without dimensions, a dimension out of range.
fn size_at(input: &Tensor, dim: i64) -> Result<i64> {
    match input.spec()?.sizes() {
        [] => Err(argument("argument `self` has no dimensions, expected one to split")),
        sizes => Ok(sizes[normalise_dim(dim, sizes.len())?]),
    }
}

/// The parts of one size.
fn equal_parts(input: &Tensor, size: i64, dim: i64) -> Result<Vec<Geometry>> {
    let all = size_at(input, dim)?;
    if size < 0 || (size == 0 && all != 0) {
        return Err(argument(format!(
            "argument `split_size` is {size}, expected 0 or more, and 0 only for an empty dimension, \
             not for one of size {all}"
        )));
    }
    // A dimension without elements is one part.
    let count = if all == 0 { 1 } else { (all - 1) / size + 1 };
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    parts(input, dim, (0..count).map(|k| (k as i64 * size, size.min(all - k as i64 * size))))
}

fn with_sizes(input: &Tensor, sizes: &[i64], dim: i64) -> Result<Vec<Geometry>> {
    let all = size_at(input, dim)?;
    let mut found = Vec::with_capacity(sizes.len());
    let mut start = 0i64;
    for &size in sizes {
        if size < 0 {
            return Err(argument(format!("argument `split_sizes` is {sizes:?}, expected no negative size")));
        }
        found.push((start, size));
        start = start.saturating_add(size);
    }
    if start != all {
        let message = format!(
            "argument `split_sizes` is {sizes:?}, expected sizes that add up to {all}, that of dimension {dim}"
        );
        return Err(argument(message));
    }
    parts(input, dim, found.into_iter())
}

/// How a dimension is cut in some parts.
enum Chunks {
    OfSize(i64),
    /// There is nothing to cut: as many parts without elements.
    Empty,
}

fn chunk(input: &Tensor, chunks: i64, dim: i64) -> Result<Chunks> {
    let size = size_at(input, dim)?;
    match chunks {
        ..=0 => Err(argument(format!("argument `chunks` is {chunks}, expected 1 or more"))),
        _ if size == 0 => Ok(Chunks::Empty),
        _ => Ok(Chunks::OfSize((size - 1) / chunks + 1)),
    }
}

/// The sizes of as many parts without elements.
///
/// # Errors
///
/// There is no memory for so many.
fn empty_chunks(chunks: i64) -> Result<Vec<i64>> {
    let mut sizes = list_for(chunks)?;
    sizes.resize(chunks as usize, 0);
    Ok(sizes)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::kinds::views::samples::parts_of;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = generate::numbers(DType::F32, &[5, 2], 0);
        let number = given(Plain::number(DType::F32, 1)).and(1);
        let by_size = |dtype| {
            let cases: [(&[i64], i64, i64); 6] = [
                (&[5, 2], 2, 0),
                (&[2, 4], 2, -1),
                (&[3], 9, 0),
                (&[0, 2], 3, 0),
                (&[0], 0, 0),
                (&[2, 0], 1, 0),
            ];
            cases
                .map(|(sizes, size, dim)| given(generate::numbers(dtype, sizes, 0)).and(size).and(dim))
                .to_vec()
        };
        let of_size = |it: &Inputs| {
            let (all, size) = (size_of(it)?, it.value::<i64>("split_size")?.max(1));
            let count = ((all + size - 1) / size).max(1);
            parts_of(it, &(0..count).map(|k| (k * size, size.min(all - k * size))).collect::<Vec<_>>())
        };
        samples
            .operator(SplitTensor, STORED, by_size, of_size)
            .view()
            .refuses("0 or more", given(x.clone()).and(-1))
            .refuses("0 or more", given(x.clone()).and(0))
            .refuses("range", given(x.clone()).and(1).and(2))
            .refuses("", number.clone());
        samples.operator(UnsafeSplitTensor, STORED, by_size, of_size).view().refuses("", number.clone());
        let by_list = |dtype| {
            let cases: [(&[i64], &[i64], i64); 5] = [
                (&[5, 2], &[2, 3], 0),
                (&[2, 4], &[1, 0, 3], -1),
                (&[3], &[3], 0),
                (&[0, 2], &[0, 0], 0),
                (&[0], &[], 0),
            ];
            let one = |(sizes, list, dim): (&[i64], &[i64], i64)| {
                given(generate::numbers(dtype, sizes, 0)).and(list.to_vec()).and(dim)
            };
            cases.map(one).to_vec()
        };
        let of_sizes = |it: &Inputs, name: &str| {
            let mut start = 0;
            let next = |size: i64| {
                start += size;
                (start - size, size)
            };
            parts_of(it, &it.value::<Vec<i64>>(name)?.into_iter().map(next).collect::<Vec<_>>())
        };
        samples
            .operator_with(SplitWithSizes, STORED, by_list, move |it| of_sizes(it, "split_sizes"))
            .view()
            .refuses("add up", given(x.clone()).and([2, 2].to_vec()))
            .refuses("negative", given(x.clone()).and([-1, 6].to_vec()))
            .refuses("", given(x.clone()).and([i64::MAX, i64::MAX, 7].to_vec()));
        samples.operator_with(SplitSizes, STORED, by_list, move |it| of_sizes(it, "split_size")).view();
        let by_count = |dtype| {
            let cases: [(&[i64], i64, i64); 5] =
                [(&[5, 2], 3, 0), (&[2, 4], 2, -1), (&[3], 7, 0), (&[0, 2], 3, 0), (&[2, 0], 1, 0)];
            cases
                .map(|(sizes, chunks, dim)| given(generate::numbers(dtype, sizes, 0)).and(chunks).and(dim))
                .to_vec()
        };
        let of_count = |it: &Inputs| {
            let (all, chunks): (i64, i64) = (size_of(it)?, it.value("chunks")?);
            if all == 0 {
                return parts_of(it, &vec![(0, 0); chunks as usize]);
            }
            let size = (all + chunks - 1) / chunks;
            parts_of(
                it,
                &(0..(all + size - 1) / size)
                    .map(|k| (k * size, size.min(all - k * size)))
                    .collect::<Vec<_>>(),
            )
        };
        samples
            .operator(Chunk, STORED, by_count, of_count)
            .view()
            .refuses("1 or more", given(x).and(0))
            .refuses("", number.clone());
        samples.operator(UnsafeChunk, STORED, by_count, of_count).view().refuses("", number);
        samples.copy_of_view(SplitCopyTensor, SplitTensor);
        samples.copy_of_view(SplitWithSizesCopy, SplitWithSizes);
    }

    /// The size of the dimension that is cut.
    fn size_of(it: &Inputs) -> Result<i64> {
        let sizes = it.tensor("self")?.sizes();
        Ok(sizes[naive::dimension(it.value("dim")?, sizes.len())])
    }
}
