//! The operators pass the suite that operators have to pass: against plain loops, on strided and meta tensors, with gradients by small
//! differences, and with what they refuse.

use opgrid::prelude::*;
use opgrid::samples::{Expected, Inputs, Plain, Sample, Samples, generate, given};
use opgrid_testing::{Check, Suite};
use opgrid_vision::{DeformConv2d, Nms, RoiAlign};

const FLOATS: &[DType] = &[DType::F32, DType::F64];

/// Boxes whose corners are no whole numbers: `first` is what stands in front of the corners of each.
fn boxes(dtype: DType, count: usize, first: Option<fn(usize) -> f64>) -> Plain {
    let corners = |number: usize| {
        let (left, top) = ((number * 13 % 7) as f64 * 0.61 + 0.13, (number * 5 % 6) as f64 * 0.47 - 0.21);
        let (width, height) = (1.3 + (number % 3) as f64 * 0.77, 1.1 + (number % 4) as f64 * 0.59);
        first.map(|first| first(number)).into_iter().chain([left, top, left + width, top + height])
    };
    let elements: Vec<f64> = (0..count).flat_map(corners).collect();
    Plain::from_elements(
        dtype,
        &[count as i64, elements.len().checked_div(count).unwrap_or(4) as i64],
        &elements,
    )
}

fn number(plain: &Plain, position: &[i64]) -> f64 {
    plain.at(position).to_complex().re
}

fn chosen(it: &Inputs) -> Result<Expected> {
    let (boxes, scores) = (it.tensor("dets")?, it.tensor("scores")?);
    let threshold: f64 = it.value("iou_threshold")?;
    let mut order: Vec<i64> = (0..scores.sizes()[0]).collect();
    order.sort_by(|a, b| number(scores, &[*b]).total_cmp(&number(scores, &[*a])));
    let overlap = |a: i64, b: i64| {
        let side = |of: i64, low: i64| number(boxes, &[of, low + 2]) - number(boxes, &[of, low]);
        let both = |low: i64| {
            let end = number(boxes, &[a, low + 2]).min(number(boxes, &[b, low + 2]));
            (end - number(boxes, &[a, low]).max(number(boxes, &[b, low]))).max(0.0)
        };
        let both = both(0) * both(1);
        both / (side(a, 0) * side(a, 1) + side(b, 0) * side(b, 1) - both)
    };
    let mut left: Vec<i64> = Vec::new();
    for number in order {
        if left.iter().all(|other| overlap(*other, number) <= threshold) {
            left.push(number);
        }
    }
    Ok(Plain::from_elements(DType::I64, &[left.len() as i64], &left).into())
}

/// What an image has between its elements: up to one element beyond the edges what is at the edge, or less and less where it fades.
fn between(image: &Plain, [n, c]: [i64; 2], at: [f64; 2], fades: bool) -> f64 {
    let sizes = [image.sizes()[2], image.sizes()[3]];
    if at.iter().zip(sizes).any(|(at, size)| *at < -1.0 || *at > size as f64) {
        return 0.0;
    }
    let at = if fades { at } else { [0, 1].map(|dim| at[dim].clamp(0.0, sizes[dim] as f64 - 1.0)) };
    let mut sum = 0.0;
    for down in 0..2 {
        for across in 0..2 {
            let (row, column) = (at[0].floor() as i64 + down, at[1].floor() as i64 + across);
            let weight = (1.0 - (at[0] - row as f64).abs()) * (1.0 - (at[1] - column as f64).abs());
            if (0..sizes[0]).contains(&row) && (0..sizes[1]).contains(&column) {
                sum += weight * number(image, &[n, c, row, column]);
            }
        }
    }
    sum
}

fn cut(it: &Inputs) -> Result<Expected> {
    let (images, rois) = (it.tensor("input")?, it.tensor("rois")?);
    let [height, width, ratio]: [i64; 3] =
        [it.value("pooled_height")?, it.value("pooled_width")?, it.value("sampling_ratio")?];
    let (scale, aligned): (f64, bool) = (it.value("spatial_scale")?, it.value("aligned")?);
    let sizes = [rois.sizes()[0], images.sizes()[1], height, width];
    Ok(Plain::from_fn(images.dtype(), &sizes, |place| {
        let corner =
            |corner: i64| number(rois, &[place[0], corner]) * scale - if aligned { 0.5 } else { 0.0 };
        let along = |first: i64, parts: i64, part: i64| {
            let (from, to) = (corner(first), corner(first + 2));
            let length = if aligned { to - from } else { (to - from).max(1.0) } / parts as f64;
            let count = if ratio > 0 { ratio } else { length.ceil() as i64 };
            let start = from + part as f64 * length;
            (0..count).map(|step| start + (step as f64 + 0.5) * length / count as f64).collect::<Vec<f64>>()
        };
        let (rows, columns) = (along(2, height, place[2]), along(1, width, place[3]));
        let image = [number(rois, &[place[0], 0]) as i64, place[1]];
        let read = |row: f64, column: f64| between(images, image, [row, column], false);
        let sum: f64 =
            rows.iter().map(|row| columns.iter().map(|column| read(*row, *column)).sum::<f64>()).sum();
        (sum / (rows.len() * columns.len()).max(1) as f64).into()
    })
    .into())
}

fn cuts(dtype: DType) -> Vec<Sample> {
    let rois = |count: usize| boxes(dtype, count, Some(|number| (number % 2) as f64));
    let mut samples = Vec::new();
    for ratio in [-1, 2] {
        for aligned in [false, true] {
            let images = generate::numbers(dtype, &[2, 2, 4, 5], 1);
            samples.push(given(images).and(rois(4)).and(0.8).and(2).and(3).and(ratio).and(aligned));
            let few = generate::numbers(dtype, &[2, 1, 2, 3], 2);
            samples.push(given(few).and(rois(2)).and(0.5).and(1).and(2).and(ratio).and(aligned));
        }
    }
    let none = Plain::from_elements::<f64>(dtype, &[0, 5], &[]);
    samples.push(
        given(generate::numbers(dtype, &[2, 1, 2, 3], 2)).and(none).and(1.0).and(2).and(2).and(2).and(true),
    );
    samples
}

fn convolved(it: &Inputs) -> Result<Expected> {
    let (x, weight) = (it.tensor("input")?, it.tensor("weight")?);
    let (offset, mask, bias) = (it.tensor("offset")?, it.tensor("mask")?, it.tensor("bias")?);
    let pair = |name: &str| -> Result<[i64; 2]> {
        Ok([it.value(&format!("{name}_h"))?, it.value(&format!("{name}_w"))?])
    };
    let (stride, padding, dilation) = (pair("stride")?, pair("pad")?, pair("dilation")?);
    let (groups, offset_groups, use_mask): (i64, i64, bool) =
        (it.value("groups")?, it.value("offset_groups")?, it.value("use_mask")?);
    let &[_, together, height, width] = weight.sizes() else { unreachable!("samples have four dimensions") };
    let (channels, given) = (x.sizes()[1], weight.sizes()[0]);
    let sizes = [x.sizes()[0], given, offset.sizes()[2], offset.sizes()[3]];
    Ok(Plain::from_fn(x.dtype(), &sizes, |place| {
        let mut sum = number(bias, &[place[1]]);
        for inner in 0..together {
            let channel = place[1] / (given / groups) * together + inner;
            for row in 0..height {
                for column in 0..width {
                    let element =
                        channel / (channels / offset_groups) * height * width + row * width + column;
                    let shift =
                        |which: i64| number(offset, &[place[0], 2 * element + which, place[2], place[3]]);
                    let at = [
                        (place[2] * stride[0] - padding[0] + row * dilation[0]) as f64 + shift(0),
                        (place[3] * stride[1] - padding[1] + column * dilation[1]) as f64 + shift(1),
                    ];
                    let factor =
                        if use_mask { number(mask, &[place[0], element, place[2], place[3]]) } else { 1.0 };
                    let read = between(x, [place[0], channel], at, true);
                    sum += number(weight, &[place[1], inner, row, column]) * factor * read;
                }
            }
        }
        sum.into()
    })
    .into())
}

/// A convolution of images `[batch, channels, 3, 4]` with windows of 2 × 2.
fn convolution(
    dtype: DType,
    [batch, channels, groups, offset_groups]: [i64; 4],
    step: i64,
    use_mask: bool,
) -> Sample {
    let along = |size: i64| (size + 2 - 2) / step + 1;
    let (height, width) = (along(3), along(4));
    // No place is on an element, where the slope jumps.
    let shifts = |sizes: &[i64]| {
        let count = sizes.iter().product::<i64>() as usize;
        let elements: Vec<f64> =
            (0..count).map(|place| ((place * 37 + 5) % 29) as f64 / 16.0 - 0.90625 + 0.03).collect();
        Plain::from_elements(dtype, sizes, &elements)
    };
    let masks = offset_groups * 4;
    let mask: &[i64] = if use_mask { &[batch, masks, height, width] } else { &[batch, 1] };
    let mut sample = given(generate::numbers(dtype, &[batch, channels, 3, 4], 1))
        .and(generate::numbers(dtype, &[2 * groups, channels / groups, 2, 2], 2))
        .and(shifts(&[batch, 2 * masks, height, width]))
        .and(generate::numbers(dtype, mask, 4))
        .and(generate::numbers(dtype, &[2 * groups], 5));
    for number in [step, step, 1, 1, 1, 1, groups, offset_groups] {
        sample = sample.and(number);
    }
    sample.and(use_mask)
}

fn convolutions(dtype: DType) -> Vec<Sample> {
    vec![
        convolution(dtype, [1, 1, 1, 1], 2, true),
        convolution(dtype, [2, 4, 2, 2], 2, true),
        convolution(dtype, [1, 2, 1, 2], 1, false),
        convolution(dtype, [0, 2, 1, 1], 1, true),
    ]
}

fn samples() -> Samples {
    let mut samples = Samples::new();
    let scored = |dtype: DType| {
        let scores: Vec<f64> = (0..9).map(|number| (number * 5 % 9) as f64 / 8.0).collect();
        let some = |count: usize| {
            let scores = Plain::from_elements(dtype, &[count as i64], &scores[..count]);
            [0.05, 0.4].map(|threshold| given(boxes(dtype, count, None)).and(scores.clone()).and(threshold))
        };
        [some(9), some(1), some(0)].concat()
    };
    let x = |sizes: &[i64]| generate::numbers(DType::F32, sizes, 0);
    samples
        .operator(Nms, FLOATS, scored, chosen)
        .not_on_meta()
        .refuses("argument `dets` has shape [3, 5]", given(x(&[3, 5])).and(x(&[3])).and(0.5))
        .refuses("argument `scores` has shape [2]", given(x(&[3, 4])).and(x(&[2])).and(0.5));
    let region = |rois: Plain, height: i64| {
        given(x(&[1, 2, 3, 4])).and(rois).and(1.0).and(height).and(2).and(2).and(true)
    };
    samples
        .operator(RoiAlign, FLOATS, cuts, cut)
        .tolerance(64.0)
        .constant(&["rois"])
        .refuses("argument `rois` has shape [2, 4]", region(x(&[2, 4]), 2))
        .refuses("argument `pooled_height` is 0", region(x(&[2, 5]), 0))
        .refuses_data(
            "box 0 is of image 1",
            region(Plain::from_elements(DType::F32, &[1, 5], &[1.0, 0.0, 0.0, 1.0, 1.0]), 2),
        )
        .refuses_data(
            "read at more than",
            given(x(&[1, 2, 3, 4]))
                .and(Plain::from_elements(DType::F32, &[1, 5], &[0.0, 0.0, 0.0, 1e9, 1.0]))
                .and(1.0)
                .and(2)
                .and(2)
                .and(-1)
                .and(true),
        );
    let misfit = |channels: i64| {
        let [x, weight, offset, mask, bias] =
            [x(&[1, 2, 3, 4]), x(&[2, channels, 2, 2]), x(&[1, 8, 4, 5]), x(&[1, 4, 4, 5]), x(&[2])];
        let tensors = given(x).and(weight).and(offset).and(mask).and(bias);
        [1, 1, 1, 1, 1, 1, 1, 1].into_iter().fold(tensors, |sample, number: i64| sample.and(number))
    };
    samples
        .operator(DeformConv2d, FLOATS, convolutions, convolved)
        .tolerance(64.0)
        .refuses("groups that divide the channels", misfit(3).and(true));
    samples
}

#[test]
fn the_operators_pass_the_suite() -> Result<()> {
    let dispatcher = Dispatcher::new();
    let _operators = opgrid::ops::register(&dispatcher)?;
    let _vision = opgrid_vision::register(&dispatcher)?;
    // The gradients of a deformable convolution have none themselves, as in torchvision.
    let (once, twice) = (
        samples().only(|name| name == "torchvision::deform_conv2d"),
        samples().only(|name| name != "torchvision::deform_conv2d"),
    );
    let first: Vec<Check> =
        Check::ALL.iter().copied().filter(|check| *check != Check::SecondGradients).collect();
    let mut report = Suite::new(twice).run(&dispatcher);
    report.join(Suite::new(once).checks(&first).run(&dispatcher));
    assert!(report.passed(), "{report}");
    Ok(())
}
