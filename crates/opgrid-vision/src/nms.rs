//! `torchvision::nms`: the boxes that are left where each suppresses those that overlap with it and have a lower score.
//!
//! - Shapes: boxes `[n, 4]` and scores `[n]` give up to `n` numbers of boxes.
//! - Order: that of the scores, the highest first; of equal ones that of the boxes.
//! - Dtypes: one of `float32` and `float64` for both; the result is `int64`.
//! - Errors: other shapes and dtypes; meta tensors without an assumed density, as the size of the result depends on elements.
//! - Source: torchvision.ops.nms, torchvision 0.29.

use std::cmp::Ordering;

use opgrid::layers::autograd::DefineDerivative;
use opgrid::layers::fake;
use opgrid::prelude::*;

use crate::Nms;
use crate::elements::{Real, check_dtypes, check_sizes, sizes, with_real};

pub(crate) fn define(library: &mut Library) {
    library
        .define(Nms)
        .tag("dynamic_output_shape")
        .kernel(DispatchKey::Cpu, |boxes, scores, threshold| {
            check(boxes, scores).and_then(|()| cpu(boxes, scores, threshold)).map_err(within)
        })
        .kernel(DispatchKey::Meta, |boxes, scores, _| {
            check(boxes, scores).map_err(within)?;
            let left = fake::assumed_count("dets", boxes.device(), scores.numel()).map_err(within)?;
            Tensor::empty(&[left.unwrap_or_default()], DType::I64, boxes.device())
        })
        .non_differentiable();
}

fn within(error: Error) -> Error {
    error.within("torchvision::nms")
}

fn check(boxes: &Tensor, scores: &Tensor) -> Result<()> {
    let [count, _] = sizes("dets", boxes, "n, 4")?;
    check_sizes("dets", boxes, &[count, 4], "of two corners for each box")?;
    check_sizes("scores", scores, &[count], "for as many as there are in `dets`")?;
    check_dtypes(&[("dets", boxes), ("scores", scores)])
}

fn cpu(boxes: &Tensor, scores: &Tensor, threshold: f64) -> Result<Tensor> {
    let (boxes, scores) = (boxes.contiguous()?, scores.contiguous()?);
    let kept =
        with_real!(boxes.dtype(), T => kept(&boxes.elements::<T>()?, &scores.elements::<T>()?, threshold));
    Tensor::from_slice(&kept, &[kept.len() as i64])
}

/// The numbers of the boxes that are left.
fn kept<T: Real>(boxes: &[T], scores: &[T], threshold: f64) -> Vec<i64> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|a, b| descending(scores[*a], scores[*b]));
    // Columns, so that each box is compared with several at a time.
    let [left, top, right, bottom] =
        [0, 1, 2, 3].map(|column| order.iter().map(|number| boxes[4 * number + column]).collect::<Vec<T>>());
    let areas: Vec<T> = (0..order.len()).map(|at| (right[at] - left[at]) * (bottom[at] - top[at])).collect();
    let mut is_suppressed = vec![false; order.len()];
    let mut kept = Vec::new();
    for at in 0..order.len() {
        if is_suppressed[at] {
            continue;
        }
        kept.push(order[at] as i64);
        for other in at + 1..order.len() {
            let width = right[at].or_smaller(right[other]) - left[at].or_larger(left[other]);
            let height = bottom[at].or_smaller(bottom[other]) - top[at].or_larger(top[other]);
            let both = T::ZERO.or_larger(width) * T::ZERO.or_larger(height);
            let part = both / (areas[at] + areas[other] - both);
            is_suppressed[other] |= part.to_f64() > threshold;
        }
    }
    kept
}

/// The order of scores, the highest first; what is no number counts as higher than all.
fn descending<T: Real>(a: T, b: T) -> Ordering {
    let is_nan = |score: T| score.to_f64().is_nan();
    b.partial_cmp(&a).unwrap_or_else(|| is_nan(b).cmp(&is_nan(a)))
}
