//! What pooling operators share: where windows lie, sizes, and plain loops for samples.

use opgrid_core::Result;

use opgrid_array::error::argument;
use opgrid_kernels::pooling::{Reach, Windows};
use opgrid_kinds::derivatives;
use opgrid_kinds::images::numbers;
use opgrid_tensor::layers::autograd::Recorder;
use opgrid_tensor::tensor::{Dims, Tensor, TensorSpec};

/// How a window moves over images of some dimensions.
#[derive(Clone, Copy)]
pub(crate) struct Movement<'a> {
    pub dims: usize,
    pub kernel: &'a [i64],
    /// The stride, which is the kernel size if it is empty.
    pub stride: &'a [i64],
    pub padding: &'a [i64],
    pub dilation: &'a [i64],
    /// Whether a last place that is partly beyond the images counts.
    pub ceil: bool,
}

/// A window on images, whose arguments were checked.
pub(crate) struct Plan {
    /// The sizes of the result.
    pub sizes: Dims,
    lines: Vec<Line>,
}

/// One dimension of images.
#[derive(Clone, Copy)]
struct Line {
    size: i64,
    kernel: i64,
    stride: i64,
    padding: i64,
    dilation: i64,
    places: i64,
}

impl Plan {
    /// # Errors
    ///
    /// Other dimensions than those of images or of a batch of them; sizes of 0 but that of a batch; lists with numbers that
    /// are too small or too many; more padding than half of the window; no place for the window.
    pub(crate) fn new(input: &[i64], movement: Movement<'_>) -> Result<Self> {
        let dims = movement.dims;
        let is_batch = input.len() == dims + 2;
        if !is_batch && input.len() != dims + 1 || input[usize::from(is_batch)..].contains(&0) {
            let message = format!(
                "argument `self` has shape {input:?}, expected {} or {} dimensions, of which only the batch may be empty",
                dims + 1,
                dims + 2
            );
            return Err(argument(message));
        }
        let kernel = numbers("kernel_size", movement.kernel, dims, 1)?;
        let stride = match movement.stride {
            [] => kernel.clone(),
            stride => numbers("stride", stride, dims, 1)?,
        };
        let padding = numbers("padding", movement.padding, dims, 0)?;
        let dilation = numbers("dilation", movement.dilation, dims, 1)?;
        let first = input.len() - dims;
        let mut sizes = Dims::from_slice(&input[..first]);
        let mut lines = Vec::new();
        for dim in 0..dims {
            let mut line = Line {
                size: input[first + dim],
                kernel: kernel[dim],
                stride: stride[dim],
                padding: padding[dim],
                dilation: dilation[dim],
                places: 0,
            };
            line.places = line.count(dim, movement.ceil)?;
            sizes.push(line.places);
            lines.push(line);
        }
        Ok(Self { sizes, lines })
    }

    /// What the places cover, for loops.
    pub(crate) fn windows(&self) -> Windows {
        windows(
            self.lines
                .iter()
                .map(|line| (line.size, (0..line.places).map(|place| line.reach(place)).collect())),
        )
    }

    /// The elements of an image, and the places on it.
    pub(crate) fn planes(&self) -> [usize; 2] {
        let volume = |of: fn(&Line) -> i64| self.lines.iter().map(|line| of(line) as usize).product();
        [volume(|line| line.size), volume(|line| line.places)]
    }
}

/// Dimensions, with those that are missing in front.
pub(crate) fn windows(lines: impl ExactSizeIterator<Item = (i64, Vec<Reach>)>) -> Windows {
    let one = Reach { start: 0, count: 1, step: 1, padded: 1 };
    let (mut image, mut reaches) = ([1; 3], [const { Vec::new() }; 3]);
    let missing = 3 - lines.len();
    reaches[..missing].iter_mut().for_each(|reaches| reaches.push(one));
    for (dim, (size, line)) in lines.enumerate() {
        (image[missing + dim], reaches[missing + dim]) = (size as usize, line);
    }
    Windows { image, reaches }
}

impl Line {
    /// How many places the window has.
    fn count(&self, dim: usize, ceil: bool) -> Result<i64> {
        let Self { size, kernel, stride, padding, dilation, .. } = *self;
        if padding > kernel / 2 {
            let message = format!(
                "argument `padding` is {padding} in spatial dimension {dim}, expected at most half of \
                 the kernel size {kernel}"
            );
            return Err(argument(message));
        }
        let reach = dilation.checked_mul(kernel - 1);
        let last = padding.checked_mul(2).and_then(|both| both.checked_add(size - 1));
        let room = last.zip(reach).and_then(|(last, reach)| last.checked_sub(reach));
        let room = if ceil { room.and_then(|room| room.checked_add(stride - 1)) } else { room };
        let Some(room) = room else {
            return Err(argument(format!("the window of spatial dimension {dim} overflows 64 bits")));
        };
        let mut places = room.div_euclid(stride).saturating_add(1);
        // The last place begins in the image or the padding before it.
        if ceil && i128::from(places - 1) * i128::from(stride) >= i128::from(size) + i128::from(padding) {
            places -= 1;
        }
        if places < 1 {
            let message = format!(
                "the window of spatial dimension {dim}, of {kernel} elements, does not fit size {size} \
                 with padding {padding}; expected a smaller one"
            );
            return Err(argument(message));
        }
        Ok(places)
    }

    fn reach(&self, place: i64) -> Reach {
        let Self { size, kernel, stride, padding, dilation, .. } = *self;
        let start = place * stride - padding;
        let end = start.saturating_add(dilation.saturating_mul(kernel - 1)).saturating_add(1);
        let padded = end.min(size.saturating_add(padding)) - start;
        let skipped = if start < 0 { (-start + dilation - 1) / dilation } else { 0 };
        let first = start + skipped * dilation;
        let count = if first < size { ((size - 1 - first) / dilation + 1).min(kernel - skipped) } else { 0 };
        Reach {
            start: first.clamp(0, size - 1) as usize,
            count: count as usize,
            step: dilation as usize,
            padded: padded as usize,
        }
    }
}

/// # Errors
///
/// A tensor of another shape than the result of pooling, or of another dtype or device than `like`.
pub(crate) fn check_gradient(name: &str, found: &TensorSpec, like: &TensorSpec, sizes: &[i64]) -> Result<()> {
    if (found.sizes(), found.dtype(), found.device()) == (sizes, like.dtype(), like.device()) {
        return Ok(());
    }
    let message = format!(
        "argument `{name}` has shape {:?}, {} on {}, expected {sizes:?}, {} on {}",
        found.sizes(),
        found.dtype(),
        found.device(),
        like.dtype(),
        like.device()
    );
    Err(argument(message))
}

/// # Errors
///
/// A gradient whose images, of the sizes `image`, are empty.
pub(crate) fn check_filled(grad: &TensorSpec, image: &[i64]) -> Result<()> {
    if !image.contains(&0) {
        return Ok(());
    }
    Err(argument(format!(
        "argument `grad_output` has shape {:?}, expected images that are not empty",
        grad.sizes()
    )))
}

/// Lists for lines, each with the least number that it may have, as lists for images of one row.
///
/// # Errors
///
/// Lists that have not one number.
pub(crate) fn of_rows<const N: usize>(lists: [(&str, &[i64], i64); N]) -> Result<[Vec<i64>; N]> {
    let mut result = [const { Vec::new() }; N];
    for (own, (name, list, least)) in result.iter_mut().zip(lists) {
        // A stride that is not given is that of the kernel.
        if name == "stride" && list.is_empty() {
            continue;
        }
        own.push(if name == "padding" { 0 } else { 1 });
        own.push(numbers(name, list, 1, least)?[0]);
    }
    Ok(result)
}

/// The sizes of a result whose images are cut into as many windows as `output` says.
///
/// # Errors
///
/// Other dimensions than those of images or of a batch of them; images of size 0; a list that is too short or negative.
pub(crate) fn adaptive(input: &TensorSpec, output: &[i64], dims: usize, first_filled: usize) -> Result<Dims> {
    let sizes = input.sizes();
    let first = sizes.len().wrapping_sub(dims);
    if !(1..=2).contains(&first) || sizes[first.min(first_filled)..].contains(&0) {
        let message = format!(
            "argument `self` has shape {sizes:?}, expected {} or {} dimensions, and images that are not empty",
            dims + 1,
            dims + 2
        );
        return Err(argument(message));
    }
    if output.len() != dims || output.iter().any(|size| *size < 0) {
        let message = format!("argument `output_size` is {output:?}, expected {dims} sizes");
        return Err(argument(message));
    }
    Ok(sizes[..first].iter().chain(output).copied().collect())
}

/// The windows of [`adaptive`] pooling: as equal as they can be, and all of the image.
pub(crate) fn adaptive_windows(image: &[i64], output: &[i64]) -> Windows {
    let reach = |size: i64, count: i64, place: i64| {
        let [size, count, place] = [size, count, place].map(i128::from);
        let (start, end) = (place * size / count, ((place + 1) * size + count - 1) / count);
        Reach {
            start: start as usize,
            count: (end - start) as usize,
            step: 1,
            padded: (end - start) as usize,
        }
    };
    let lines = image
        .iter()
        .zip(output)
        .map(|(&size, &count)| (size, (0..count).map(|place| reach(size, count, place)).collect()));
    windows(lines)
}

/// What images have at the places that `indices` count.
///
/// # Errors
///
/// Those of the operators that it is made of.
pub(crate) fn gathered(images: &Tensor, indices: &Tensor, dims: usize) -> Result<Tensor> {
    let rows = images.reshape(&flat(images.sizes(), dims))?;
    rows.gather(-1, &indices.reshape(&flat(indices.sizes(), dims))?)?.reshape(indices.sizes())
}

/// States the derivative of an operator that puts gradients at the places of largest elements, in images of the sizes of `input` with
/// `dims` dimensions. It does not depend on the images themselves.
///
/// # Errors
///
/// Those of the recorder.
pub(crate) fn derivative_of_gradients(
    d: &Recorder<'_>,
    [grad, input, indices]: [&Tensor; 3],
    dims: usize,
) -> Result<()> {
    let sizes = input.sizes().to_vec();
    d.by(grad, [indices], move |grad, [indices]| gathered(grad, indices, dims))?;
    d.by(input, [], move |grad, []| derivatives::zeros_of(&sizes, grad))
}

/// Sizes with those of an image as one.
fn flat(sizes: &[i64], dims: usize) -> Vec<i64> {
    let (outer, image) = sizes.split_at(sizes.len() - dims);
    outer.iter().copied().chain([image.iter().product()]).collect()
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use opgrid_core::{DType, Scalar};

    use super::*;
    use opgrid_samples::prelude::*;

    /// Gradients at the places of the largest elements of images with `dims` dimensions.
    ///
    /// # Errors
    ///
    /// Arguments are missing.
    pub(crate) fn gradients_of_largest(it: &Inputs, dims: usize) -> Result<Expected> {
        let (grad, x, indices) = (it.tensor("grad_output")?, it.tensor("self")?, it.tensor("indices")?);
        let (outer, image) = x.sizes().split_at(x.sizes().len() - dims);
        let flat = [outer, &[image.iter().product()]].concat();
        let mut result = Plain::from_elements::<i64>(DType::F64, &flat, &[]);
        for position in naive::positions(grad.sizes()) {
            let at = [&position[..outer.len()], &[number::whole(indices.at(&position))]].concat();
            result.set(&at, number::plus(result.at(&at), grad.at(&position)));
        }
        Ok(result.with_sizes(x.sizes()).to(x.dtype()).into())
    }

    /// What a function gives for the elements under each place, with their numbers in the image and the number of
    /// elements with the padding: by loops over all elements of the kernel.
    pub(crate) fn naive(
        input: &Plain,
        movement: Movement<'_>,
        dtype: DType,
        function: impl Fn(&[(i64, Scalar)], i64) -> Scalar,
    ) -> Result<Plain> {
        let plan = Plan::new(input.sizes(), movement)?;
        let (dims, first) = (movement.dims, input.sizes().len() - movement.dims);
        let image = &input.sizes()[first..];
        let kernel: Vec<i64> = plan.lines.iter().map(|line| line.kernel).collect();
        Ok(Plain::from_fn(dtype, &plan.sizes, |position| {
            let (outer, place) = position.split_at(first);
            let (mut elements, mut padded) = (Vec::new(), 0);
            for tap in naive::positions(&kernel) {
                let line = |dim: usize| plan.lines[dim];
                let at: Vec<i64> = (0..dims)
                    .map(|dim| {
                        place[dim] * line(dim).stride + tap[dim] * line(dim).dilation - line(dim).padding
                    })
                    .collect();
                let within = |extra: fn(&Line) -> i64| {
                    (0..dims)
                        .all(|dim| (-extra(&line(dim))..image[dim] + extra(&line(dim))).contains(&at[dim]))
                };
                padded += i64::from(within(|line| line.padding));
                if within(|_| 0) {
                    let number = at.iter().zip(image).fold(0, |number, (at, size)| number * size + at);
                    elements.push((number, input.at(&[outer, &at].concat())));
                }
            }
            function(&elements, padded)
        }))
    }

    /// Computes adaptive pooling by loops over all elements of each window.
    pub(crate) fn naive_adaptive(
        input: &Plain,
        output: &[i64],
        dtype: DType,
        function: impl Fn(&[(i64, Scalar)]) -> Scalar,
    ) -> Plain {
        let first = input.sizes().len() - output.len();
        let image = &input.sizes()[first..];
        Plain::from_fn(dtype, &[&input.sizes()[..first], output].concat(), |position| {
            let (outer, place) = position.split_at(first);
            let inside = |at: &[i64]| {
                (0..image.len()).all(|dim| {
                    // A window has an element if some of it lies in its share of the image.
                    let (size, count) = (image[dim], output[dim]);
                    (at[dim] + 1) * count > place[dim] * size && at[dim] * count < (place[dim] + 1) * size
                })
            };
            let all = naive::positions(image).enumerate().filter(|(_, at)| inside(at));
            let elements: Vec<_> =
                all.map(|(number, at)| (number as i64, input.at(&[outer, &at].concat()))).collect();
            function(&elements)
        })
    }

    /// The largest of some numbered elements: of equal ones the first.
    pub(crate) fn largest(elements: &[(i64, Scalar)]) -> (i64, Scalar) {
        let first = elements.first().copied().unwrap_or((0, Scalar::Int(0)));
        elements.iter().fold(first, |best, element| {
            let (a, b) = (best.1.to_complex().re, element.1.to_complex().re);
            if b > a || b.is_nan() { *element } else { best }
        })
    }

    /// Images of some dimensions, moved in different ways, with the arguments up to the padding.
    pub(crate) fn inputs(dtype: DType, dims: usize) -> Vec<(Sample, bool)> {
        let image = |outer: &[i64], sizes: [i64; 3], seed| {
            generate::numbers(dtype, &[outer, &sizes[3 - dims..]].concat(), seed)
        };
        let one = |image: Plain, kernel: Vec<i64>, stride: Vec<i64>, padding: i64| {
            given(image).and(kernel).and(stride).and(vec![padding])
        };
        let mixed = |list: [i64; 3]| list[3 - dims..].to_vec();
        vec![
            (one(image(&[2, 3], [4, 4, 6], 1), vec![2], Vec::new(), 0), false),
            (one(image(&[3], [4, 5, 3], 2), vec![3], vec![1], 1), false),
            (one(image(&[1, 2], [5, 7, 6], 3), mixed([2, 3, 2]), mixed([1, 2, 3]), 1), true),
            (one(image(&[0, 2], [4, 4, 4], 4), vec![2], Vec::new(), 0), false),
            (one(image(&[1, 1], [1, 2, 5], 5), mixed([1, 2, 3]), vec![2], 0), true),
        ]
    }

    /// Differences for gradients of average pooling.
    pub(crate) const GRADIENTS_ARE_CHECKED: Difference = Difference {
        id: "gradients-of-averages-are-checked",
        what: "torch reads gradients whose shape is not that of the result as far as they go; here they \
             are rejected",
        why: "out-of-bounds reads are never allowed",
        test: ("opgrid-operators/tests/all/differences/refused.rs", "what_torch_does_not_check_is_refused"),
        when: |seen| seen.we_refuse("argument `grad_output` has shape"),
        directed: None,
    };
}
