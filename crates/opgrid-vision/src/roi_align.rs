//! `torchvision::roi_align`: boxes cut out of images, each divided into the same number of parts.
//!
//! `out[k, c, p, q]` is the average of image `rois[k, 0]`, channel `c`, at a grid of places within part `p, q` of box `k`; between elements
//! neighbours count by distance, more than one element beyond the edges are zeros.
//!
//! - Shapes: images `[batch, channels, height, width]` and boxes `[k, 5]` give `[k, channels, pooled_height, pooled_width]`.
//! - Places: `aligned` says that the middle of the first element is at one half and not at zero; without it boxes are at least one element
//!   large. Without a `sampling_ratio` there are as many places along a side of a part as it is elements long, rounded up.
//! - Dtypes: one of `float32` and `float64` for both.
//! - Derivative: for the images; boxes have none.
//! - Errors: other shapes and dtypes; a box of an image that is not there, where torchvision reads other memory; more than 2^20 places along
//!   a side of a box.
//! - Source: torchvision.ops.roi_align, torchvision 0.29.

use opgrid::layers::autograd::DefineDerivative;
use opgrid::prelude::*;

use crate::elements::{Real, check_dtypes, check_sizes, refused, sizes, with_real, write_parts};
use crate::{RoiAlign, RoiAlignBackward};

/// How many places along one side of a box are read at most.
const MOST_PLACES: i64 = 1 << 20;

pub(crate) fn define(library: &mut Library) {
    library
        .define(RoiAlign)
        .kernel(DispatchKey::Cpu, |images, rois, scale, height, width, ratio, aligned| {
            let pooling = Pooling { scale, parts: [height, width], ratio, aligned };
            cut(images, rois, pooling).map_err(forward)
        })
        .kernel(DispatchKey::Meta, |images, rois, scale, height, width, ratio, aligned| {
            let pooling = Pooling { scale, parts: [height, width], ratio, aligned };
            let sizes = cut_sizes(images, rois, pooling).map_err(forward)?;
            Tensor::empty(&sizes, images.dtype(), images.device())
        })
        .derivative(|d, (images, rois, scale, height, width, ratio, aligned)| {
            let [batch, channels, rows, columns] = sizes("input", images, IMAGES)?;
            d.by(images, [rois], move |grad, [rois]| {
                RoiAlignBackward
                    .call(grad, rois, scale, height, width, batch, channels, rows, columns, ratio, aligned)
            })
        });
    library
        .define(RoiAlignBackward)
        .kernel(
            DispatchKey::Cpu,
            |grad, rois, scale, height, width, batch, channels, rows, columns, ratio, aligned| {
                let pooling = Pooling { scale, parts: [height, width], ratio, aligned };
                put_back(grad, rois, pooling, [batch, channels, rows, columns]).map_err(backward)
            },
        )
        .kernel(
            DispatchKey::Meta,
            |grad, rois, scale, height, width, batch, channels, rows, columns, ratio, aligned| {
                let pooling = Pooling { scale, parts: [height, width], ratio, aligned };
                let images = [batch, channels, rows, columns];
                check_gradient(grad, rois, pooling, images).map_err(backward)?;
                Tensor::empty(&images, grad.dtype(), grad.device())
            },
        )
        .derivative(|d, (grad, rois, scale, height, width, .., ratio, aligned)| {
            d.by(grad, [rois], move |grad, [rois]| {
                RoiAlign.call(grad, rois, scale, height, width, ratio, aligned)
            })
        });
}

fn forward(error: Error) -> Error {
    error.within("torchvision::roi_align")
}

fn backward(error: Error) -> Error {
    error.within("torchvision::_roi_align_backward")
}

const IMAGES: &str = "batch, channels, height, width";

/// How boxes become parts.
#[derive(Clone, Copy)]
struct Pooling {
    scale: f64,
    parts: [i64; 2],
    ratio: i64,
    aligned: bool,
}

/// # Errors
///
/// No parts; boxes of another shape.
fn check_boxes(rois: &Tensor, pooling: Pooling) -> Result<i64> {
    for (name, parts) in ["pooled_height", "pooled_width"].into_iter().zip(pooling.parts) {
        if parts < 1 {
            return Err(refused(format!("argument `{name}` is {parts}, expected at least 1")));
        }
    }
    let [count, _] = sizes("rois", rois, "k, 5")?;
    check_sizes("rois", rois, &[count, 5], "of an image and two corners for each box")?;
    Ok(count)
}

/// The sizes of what is cut out.
fn cut_sizes(images: &Tensor, rois: &Tensor, pooling: Pooling) -> Result<[i64; 4]> {
    let [_, channels, rows, columns] = sizes("input", images, IMAGES)?;
    let count = check_boxes(rois, pooling)?;
    check_dtypes(&[("input", images), ("rois", rois)])?;
    if count > 0 && (rows == 0 || columns == 0) {
        let shape = images.sizes();
        return Err(refused(format!(
            "argument `input` has shape {shape:?}, expected images that are not empty"
        )));
    }
    Ok([count, channels, pooling.parts[0], pooling.parts[1]])
}

fn check_gradient(grad: &Tensor, rois: &Tensor, pooling: Pooling, images: [i64; 4]) -> Result<()> {
    let count = check_boxes(rois, pooling)?;
    let [height, width] = pooling.parts;
    check_sizes("grad", grad, &[count, images[1], height, width], "as the result has")?;
    if images.iter().any(|size| *size < 0) || (count > 0 && images[2..].contains(&0)) {
        return Err(refused(format!("the images have shape {images:?}, expected images that are not empty")));
    }
    check_dtypes(&[("grad", grad), ("rois", rois)])
}

fn cut(images: &Tensor, rois: &Tensor, pooling: Pooling) -> Result<Tensor> {
    let sizes = cut_sizes(images, rois, pooling)?;
    let out = Tensor::empty(&sizes, images.dtype(), images.device())?;
    let (images, rois) = (images.contiguous()?, rois.contiguous()?);
    let [batch, channels, rows, columns] = self::sizes("input", &images, IMAGES)?;
    let [channels, plane, columns] = [channels, rows * columns, columns].map(|size| size as usize);
    with_real!(images.dtype(), T => {
        let (images, rois) = (images.elements::<T>()?, rois.elements::<T>()?);
        let (images, rois): (&[T], &[T]) = (&images, &rois);
        let boxes = boxes(rois, pooling, [batch, rows, columns as i64])?;
        let parts = (sizes[2] * sizes[3]) as usize;
        let work = 4 * boxes.iter().map(Region::places).max().unwrap_or_default();
        write_parts::<T>(&out, 0..out.numel() as usize, parts, work, |place, out| {
            let (region, channel) = (&boxes[place / channels], place % channels);
            let image = &images[(region.image * channels + channel) * plane..][..plane];
            let mut out = out.iter_mut();
            for rows in region.rows.parts() {
                for across in region.columns.parts() {
                    let mut sum = T::ZERO;
                    for row in rows {
                        let (upper, lower) = (&image[row.near * columns..], &image[row.far * columns..]);
                        for column in across {
                            sum += row.of_near * column.of_near * upper[column.near]
                                + row.of_near * column.of_far * upper[column.far]
                                + row.of_far * column.of_near * lower[column.near]
                                + row.of_far * column.of_far * lower[column.far];
                        }
                    }
                    if let Some(out) = out.next() {
                        *out = sum / region.count;
                    }
                }
            }
        })
    })?;
    Ok(out)
}

/// What each element of the images adds to the gradient.
fn put_back(grad: &Tensor, rois: &Tensor, pooling: Pooling, images: [i64; 4]) -> Result<Tensor> {
    check_gradient(grad, rois, pooling, images)?;
    let out = Tensor::empty(&images, grad.dtype(), grad.device())?;
    let (grad, rois) = (grad.contiguous()?, rois.contiguous()?);
    let [batch, channels, rows, columns] = images;
    let [channels, plane, columns] = [channels, rows * columns, columns].map(|size| size as usize);
    let parts = (pooling.parts[0] * pooling.parts[1]) as usize;
    with_real!(grad.dtype(), T => {
        let (grad, rois) = (grad.elements::<T>()?, rois.elements::<T>()?);
        let (grad, rois): (&[T], &[T]) = (&grad, &rois);
        let boxes = boxes(rois, pooling, [batch, rows, columns as i64])?;
        let work = 4 * boxes.iter().map(Region::places).sum::<usize>();
        write_parts::<T>(&out, 0..out.numel() as usize, plane, work, |place, out| {
            let (image, channel) = (place / channels, place % channels);
            for (number, region) in boxes.iter().enumerate().filter(|(_, region)| region.image == image) {
                let mut grad = grad[(number * channels + channel) * parts..][..parts].iter();
                for rows in region.rows.parts() {
                    for across in region.columns.parts() {
                        let Some(grad) = grad.next() else { return };
                        for row in rows {
                            for column in across {
                                let mut add = |row: usize, column: usize, weight: T| {
                                    out[row * columns + column] += *grad * weight / region.count;
                                };
                                add(row.near, column.near, row.of_near * column.of_near);
                                add(row.near, column.far, row.of_near * column.of_far);
                                add(row.far, column.near, row.of_far * column.of_near);
                                add(row.far, column.far, row.of_far * column.of_far);
                            }
                        }
                    }
                }
            }
        })
    })?;
    Ok(out)
}

/// Where one box is read.
struct Region<T> {
    image: usize,
    rows: Side<T>,
    columns: Side<T>,
    /// How many places a part has, those beyond the edges too.
    count: T,
}

impl<T> Region<T> {
    /// How many places are read in all parts.
    fn places(&self) -> usize {
        self.rows.places.len() * self.columns.places.len()
    }
}

/// The places along one side of a box.
struct Side<T> {
    places: Vec<Place<T>>,
    /// Where the places of each part end.
    ends: Vec<usize>,
    /// How many there are in each part, those beyond the edges too.
    count: i64,
}

/// A place between two elements, and how much each of them counts.
struct Place<T> {
    near: usize,
    far: usize,
    of_near: T,
    of_far: T,
}

impl<T> Side<T> {
    /// The places of each part.
    fn parts(&self) -> impl Iterator<Item = &[Place<T>]> {
        let starts = [0].into_iter().chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.places[start..*end])
    }
}

/// The boxes of images of which there are `batch`, each with so many rows and columns.
///
/// # Errors
///
/// An image that is not there; too many places.
fn boxes<T: Real>(rois: &[T], pooling: Pooling, [batch, rows, columns]: [i64; 3]) -> Result<Vec<Region<T>>> {
    let half = if pooling.aligned { T::from_f64(0.5) } else { T::ZERO };
    let scale = T::from_f64(pooling.scale);
    let one = |(number, roi): (usize, &[T])| {
        // A box between -1 and 0 would be one of image 0, as in C.
        let image = roi[0].to_f64().trunc();
        if !(0.0..batch as f64).contains(&image) {
            return Err(refused(format!(
                "argument `rois`: box {number} is of image {image}, expected one of the {batch} that there are, counted from 0"
            )));
        }
        let [left, top, right, bottom] = [1, 2, 3, 4].map(|place| roi[place] * scale - half);
        let side = |from: T, to: T, parts: i64, size: i64| {
            side(from, to, parts, size, pooling).ok_or_else(|| {
                refused(format!(
                    "argument `rois`: box {number} reaches from {} to {} and is read at more than {MOST_PLACES} places, expected fewer; \
                     clip boxes to the image, or give `sampling_ratio`",
                    from.to_f64(),
                    to.to_f64()
                ))
            })
        };
        let down = side(top, bottom, pooling.parts[0], rows)?;
        let across = side(left, right, pooling.parts[1], columns)?;
        let count = down.count.saturating_mul(across.count).max(1);
        Ok(Region { image: image as usize, rows: down, columns: across, count: T::from_f64(count as f64) })
    };
    rois.chunks_exact(5).enumerate().map(one).collect()
}

/// The places along a side; `None` where they are too many.
fn side<T: Real>(from: T, to: T, parts: i64, size: i64, pooling: Pooling) -> Option<Side<T>> {
    let length = if pooling.aligned { to - from } else { (to - from).or_larger(T::ONE) };
    let part = length / T::from_f64(parts as f64);
    let count = if pooling.ratio > 0 { pooling.ratio } else { part.to_f64().ceil() as i64 };
    if count.checked_mul(parts)? > MOST_PLACES {
        return None;
    }
    let mut side = Side { places: Vec::new(), ends: Vec::with_capacity(parts as usize), count };
    for number in 0..parts {
        let start = from + T::from_f64(number as f64) * part;
        for place in 0..count {
            let at = start + T::from_f64(place as f64 + 0.5) * part / T::from_f64(count as f64);
            if at < T::from_f64(-1.0) || at > T::from_f64(size as f64) {
                continue;
            }
            let at = if at <= T::ZERO { T::ZERO } else { at };
            // What is no number counts as element 0, and gives a result that is none.
            let near = at.to_f64() as usize;
            let last = size as usize - 1;
            let (near, far, at) =
                if near >= last { (last, last, T::from_f64(last as f64)) } else { (near, near + 1, at) };
            let of_far = at - T::from_f64(near as f64);
            side.places.push(Place { near, far, of_near: T::ONE - of_far, of_far });
        }
        side.ends.push(side.places.len());
    }
    Some(side)
}
