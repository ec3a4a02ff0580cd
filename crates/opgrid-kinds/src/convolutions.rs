//! What convolutions share: the checks of their arguments, sizes, formats, and plain loops for samples.

use opgrid_core::{DType, MemoryFormat, Result};

use crate::images::numbers;
use crate::products;
use opgrid_array::error::argument;
use opgrid_kernels::products::Windows;
use opgrid_tensor::ops::{ComplexParts, Convolution, ConvolutionBackward, Imag, Real};
use opgrid_tensor::tensor::{Dims, Geometry, Tensor, TensorSpec};

/// How a window moves over images. Lists have a number for each dimension of images, or one for all.
#[derive(Clone, Copy, Debug)]
pub struct Movement<'a> {
    /// Steps of the window.
    pub stride: &'a [i64],
    /// Zeros beside each edge of the images.
    pub padding: &'a [i64],
    /// Steps between the elements under the window.
    pub dilation: &'a [i64],
    /// Whether it is the transposed convolution.
    pub transposed: bool,
    /// Elements more at the end of the results of transposed ones.
    pub output_padding: &'a [i64],
    /// How many groups of channels are convolved apart.
    pub groups: i64,
}

/// A convolution whose arguments were checked.
pub struct Plan {
    /// How places and images belong to each other; of a transposed convolution the result is the images.
    pub windows: Windows,
    /// The sizes of the result.
    pub sizes: Dims,
}

impl Plan {
    /// Computes the sizes of a convolution.
    ///
    /// # Errors
    ///
    /// Sizes that do not fit each other or the movement; a result beyond 64 bits.
    pub fn new(input: &[i64], weight: &[i64], movement: Movement<'_>) -> Result<Self> {
        let Movement { transposed, groups, .. } = movement;
        let dims = images(input, weight)?;
        check_channels(input, weight, transposed, groups)?;
        let all = |name, list, least| numbers(name, list, dims, least);
        let stride = all("stride", movement.stride, 1)?;
        let padding = all("padding", movement.padding, 0)?;
        let dilation = all("dilation", movement.dilation, 1)?;
        let output_padding = all("output_padding", movement.output_padding, 0)?;
        let result_channels = if transposed { weight[1].checked_mul(groups) } else { Some(weight[0]) };
        let mut sizes =
            Dims::from_slice(&[input[0], result_channels.ok_or_else(|| too_large(input, weight))?]);
        let mut windows = Windows {
            batch: input[0] as usize,
            groups: groups as usize,
            channels: weight[1] as usize,
            filters: (weight[0] / groups) as usize,
            image: [1; 3],
            window: [1; 3],
            places: [1; 3],
            step: [1; 3],
            dilation: [1; 3],
            padding: [0; 3],
        };
        for dim in 0..dims {
            let [size, window] = [input[dim + 2], weight[dim + 2]];
            let one = Line {
                size,
                window,
                stride: stride[dim],
                padding: padding[dim],
                dilation: dilation[dim],
                output_padding: output_padding[dim],
            };
            let result = if transposed { one.spread(dim)? } else { one.places(dim)? };
            sizes.push(result);
            let at = 3 - dims + dim;
            let (image, places) = if transposed { (result, size) } else { (size, result) };
            windows.image[at] = image as usize;
            windows.places[at] = places as usize;
            windows.window[at] = window as usize;
            windows.step[at] = stride[dim] as usize;
            windows.dilation[at] = dilation[dim] as usize;
            windows.padding[at] = padding[dim] as usize;
        }
        Ok(Self { windows, sizes })
    }
}

/// One dimension of a convolution.
#[derive(Debug)]
struct Line {
    size: i64,
    window: i64,
    stride: i64,
    padding: i64,
    dilation: i64,
    output_padding: i64,
}

impl Line {
    /// How far the first element of the window lies from the last.
    fn reach(&self) -> Option<i64> {
        self.dilation.checked_mul(self.window - 1)
    }

    /// How many places the window has.
    fn places(&self, dim: usize) -> Result<i64> {
        let padded = self.padding.checked_mul(2).and_then(|both| both.checked_add(self.size));
        let (Some(padded), Some(reach)) = (padded, self.reach()) else { return Err(self.beyond(dim)) };
        if reach >= padded {
            let message = format!(
                "the kernel spans {} elements of spatial dimension {dim}, but the padded input has \
                 {padded}; use a smaller kernel, a smaller dilation or more padding",
                i128::from(reach) + 1
            );
            return Err(argument(message));
        }
        Ok((padded - reach - 1) / self.stride + 1)
    }

    /// The size of the image that so many places make.
    fn spread(&self, dim: usize) -> Result<i64> {
        if self.output_padding >= self.stride.max(self.dilation) {
            let message = format!(
                "output padding must be smaller than either stride or dilation, found {} in spatial \
                 dimension {dim} with stride {} and dilation {}",
                self.output_padding, self.stride, self.dilation
            );
            return Err(argument(message));
        }
        let last = (self.size - 1).checked_mul(self.stride);
        let full = last.zip(self.reach()).and_then(|(last, reach)| last.checked_add(reach));
        let full = full.and_then(|full| full.checked_add(1 + self.output_padding));
        let size = full.zip(self.padding.checked_mul(2)).and_then(|(full, both)| full.checked_sub(both));
        match size {
            Some(size) if size >= 1 => Ok(size),
            Some(size) => Err(argument(format!(
                "spatial dimension {dim} of the result would have size {size}, expected at least 1; \
                 use less padding"
            ))),
            None => Err(self.beyond(dim)),
        }
    }

    #[cold]
    fn beyond(&self, dim: usize) -> opgrid_core::Error {
        argument(format!("the sizes of spatial dimension {dim} overflow 64 bits: {self:?}"))
    }
}

#[cold]
fn too_large(input: &[i64], weight: &[i64]) -> opgrid_core::Error {
    argument(format!("the channels of the result of shapes {input:?} and {weight:?} overflow 64 bits"))
}

/// The number of dimensions of images.
fn images(input: &[i64], weight: &[i64]) -> Result<usize> {
    let dims = match weight.len() {
        rank @ 3..=5 => rank - 2,
        _ => {
            return Err(argument(format!(
                "argument `weight` has shape {weight:?}, expected three, four or five dimensions: \
                 output channels, input channels and the kernel size"
            )));
        }
    };
    if input.len() != weight.len() {
        let message = format!(
            "argument `input` has shape {input:?}, expected {} dimensions as `weight` of shape {weight:?}",
            weight.len()
        );
        return Err(argument(message));
    }
    if let Some(dim) = (2..input.len()).find(|&dim| input[dim] == 0 || weight[dim] == 0) {
        let message = format!(
            "shapes {input:?} and {weight:?} have size 0 in dimension {dim}; only zero batch or zero channel inputs are supported"
        );
        return Err(argument(message));
    }
    Ok(dims)
}

/// # Errors
///
/// Channels or filters that do not make up the groups.
fn check_channels(input: &[i64], weight: &[i64], transposed: bool, groups: i64) -> Result<()> {
    if groups <= 0 {
        return Err(argument(format!("argument `groups` is {groups}, expected at least 1")));
    }
    if weight[0] < groups || weight[0] % groups != 0 {
        let message = format!(
            "argument `weight` has shape {weight:?}, expected a multiple of the {groups} groups in its first dimension"
        );
        return Err(argument(message));
    }
    let expected = if transposed { Some(weight[0]) } else { weight[1].checked_mul(groups) };
    match expected {
        Some(expected) if expected == input[1] => Ok(()),
        expected => Err(argument(format!(
            "argument `input` has {} channels, expected {} for `weight` of shape {weight:?} and {groups} groups",
            input[1],
            expected.map_or("fewer than 64 bits hold".to_owned(), |channels| channels.to_string())
        ))),
    }
}

/// The spec of a convolution's result: channels-last if an argument is, as torch has it.
///
/// # Errors
///
/// As [`Plan::new`]; dtypes or devices that differ, bools, a bias of another size.
pub fn result(
    input: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    movement: Movement<'_>,
) -> Result<TensorSpec> {
    let (input, weight) = (input.spec()?, weight.spec()?);
    products::check_factors(&[("input", input), ("weight", weight)])?;
    let plan = Plan::new(input.sizes(), weight.sizes(), movement)?;
    if let Some(bias) = bias {
        let bias = bias.spec()?;
        products::check_factors(&[("input", input), ("bias", bias)])?;
        if bias.sizes() != [plan.sizes[1]] {
            let (found, expected) = (bias.sizes(), plan.sizes[1]);
            return Err(argument(format!("argument `bias` has shape {found:?}, expected [{expected}]")));
        }
    }
    let format = format_of(input.dtype(), [input.geometry(), weight.geometry()])?;
    Ok(TensorSpec::new(Geometry::in_format(&plan.sizes, format)?, input.dtype(), input.device()))
}

/// The format of a result: channels-last if one of two tensors is, and looks so still when both have got that format.
///
/// # Errors
///
/// Sizes beyond 64 bits.
pub fn format_of(dtype: DType, tensors: [&Geometry; 2]) -> Result<MemoryFormat> {
    let is_narrow = matches!(dtype, DType::F16 | DType::BF16 | DType::F32);
    let formats = tensors.map(Geometry::suggested_format);
    let format = match formats.into_iter().find(|format| *format != MemoryFormat::Contiguous) {
        Some(MemoryFormat::ChannelsLast3d) if !is_narrow => return Ok(MemoryFormat::Contiguous),
        Some(format) => format,
        None => return Ok(MemoryFormat::Contiguous),
    };
    for tensor in tensors {
        let converted = if tensor.is_in_format(format) {
            tensor.clone()
        } else {
            Geometry::in_format(tensor.sizes(), format)?
        };
        if converted.suggested_format() == format {
            return Ok(format);
        }
    }
    Ok(MemoryFormat::Contiguous)
}

/// A [`Movement`] that derivatives keep.
pub struct Moved {
    lists: [Dims; 4],
    transposed: bool,
    groups: i64,
}

impl Moved {
    /// What is kept of a movement.
    pub fn by(movement: Movement<'_>) -> Self {
        let Movement { stride, padding, dilation, transposed, output_padding, groups } = movement;
        Self { lists: [stride, padding, dilation, output_padding].map(Dims::from_slice), transposed, groups }
    }

    /// The convolution.
    ///
    /// # Errors
    ///
    /// Those of the operator.
    pub fn convolved(&self, input: &Tensor, weight: &Tensor) -> Result<Tensor> {
        let [stride, padding, dilation, output_padding] = &self.lists;
        let (transposed, groups) = (self.transposed, self.groups);
        Convolution.call(input, weight, None, stride, padding, dilation, transposed, output_padding, groups)
    }

    /// The gradients of input, weights and bias, as far as they are needed.
    ///
    /// # Errors
    ///
    /// Those of the operator.
    pub fn gradients(
        &self,
        grad: &Tensor,
        input: &Tensor,
        weight: &Tensor,
        needs: [bool; 3],
    ) -> Result<[Option<Tensor>; 3]> {
        if grad.dtype().is_complex() {
            return self.complex_gradients(grad, input, weight, needs);
        }
        let [stride, padding, dilation, output_padding] = &self.lists;
        let filters = [grad.sizes()[1]];
        let bias_sizes = needs[2].then_some(&filters[..]);
        let (by_input, by_weight, by_bias) = ConvolutionBackward.call(
            grad,
            input,
            weight,
            bias_sizes,
            stride,
            padding,
            dilation,
            self.transposed,
            output_padding,
            self.groups,
            &needs,
        )?;
        Ok([by_input, by_weight, by_bias].map(|gradient| gradient.is_defined().then_some(gradient)))
    }

    /// Computes the gradients of a complex convolution from those of real and imaginary parts.
    fn complex_gradients(
        &self,
        grad: &Tensor,
        input: &Tensor,
        weight: &Tensor,
        needs: [bool; 3],
    ) -> Result<[Option<Tensor>; 3]> {
        let parts = |of: &Tensor| Ok::<_, opgrid_core::Error>([Real.call(of)?, Imag.call(of)?]);
        let (grads, inputs, weights) = (parts(grad)?, parts(input)?, parts(weight)?);
        let of = |part: usize, other: usize| {
            self.gradients(
                &grads[part],
                &inputs[other],
                &weights[other],
                [needs[0], needs[1], needs[2] && other == 0],
            )
        };
        let (real, both, imag, mixed) = (of(0, 0)?, of(1, 1)?, of(1, 0)?, of(0, 1)?);
        let whole = |at: usize| match (&real[at], &both[at], &imag[at], &mixed[at]) {
            (Some(real), Some(both), Some(imag), Some(mixed)) => {
                ComplexParts.call(&real.add(both)?, &imag.sub(mixed)?).map(Some)
            }
            (Some(real), _, Some(imag), _) => ComplexParts.call(real, imag).map(Some),
            _ => Ok(None),
        };
        Ok([whole(0)?, whole(1)?, whole(2)?])
    }
}

/// Samples of convolutions.
#[cfg(feature = "samples")]
pub mod samples {
    use opgrid_core::Scalar;

    use super::*;
    use opgrid_kernels::products::has_amx;
    use opgrid_samples::differences::DIED;
    use opgrid_samples::prelude::*;

    /// Images with zeros around them.
    pub fn padded(images: &Plain, before: &[i64], after: &[i64]) -> Plain {
        let mut sizes = images.sizes().to_vec();
        for (dim, size) in sizes[2..].iter_mut().enumerate() {
            *size += before[dim] + after[dim];
        }
        Plain::from_fn(images.dtype(), &sizes, |position| {
            let mut own = position.to_vec();
            own[2..].iter_mut().zip(before).for_each(|(at, before)| *at -= before);
            let is_inside = own.iter().zip(images.sizes()).all(|(at, size)| (0..*size).contains(at));
            if is_inside { images.at(&own) } else { Scalar::Int(0) }
        })
    }

    /// Calls `visit` for each product of an element with a weight that is added to an element of the result, with the positions
    /// of the three: result, input, weight.
    pub fn for_each_product(
        input: &[i64],
        weight: &[i64],
        movement: Movement<'_>,
        mut visit: impl FnMut(&[i64], &[i64], &[i64]),
    ) -> Result<()> {
        let Plan { windows, sizes } = Plan::new(input, weight, movement)?;
        let dims = sizes.len() - 2;
        let (images, places) =
            if movement.transposed { (&sizes[2..], &input[2..]) } else { (&input[2..], &sizes[2..]) };
        let (channels, filters) = (windows.channels as i64, windows.filters as i64);
        let last = |list: [usize; 3]| list[3 - dims..].iter().map(|size| *size as i64).collect::<Vec<_>>();
        let [window, step, dilation, padding] =
            [windows.window, windows.step, windows.dilation, windows.padding].map(last);
        for outer in naive::positions(&[input[0], movement.groups, channels, filters]) {
            let [image, group, channel, filter] = outer[..] else { continue };
            let (from, to) = (group * channels + channel, group * filters + filter);
            for place in naive::positions(places) {
                for tap in naive::positions(&window) {
                    let at: Vec<i64> = (0..dims)
                        .map(|dim| place[dim] * step[dim] + tap[dim] * dilation[dim] - padding[dim])
                        .collect();
                    if at.iter().zip(images).any(|(at, size)| *at < 0 || at >= size) {
                        continue;
                    }
                    let (element, place) =
                        ([&[image, from], &at[..]].concat(), [&[image, to], &place[..]].concat());
                    let weight = [&[to, channel], &tap[..]].concat();
                    if movement.transposed {
                        visit(&element, &place, &weight)
                    } else {
                        visit(&place, &element, &weight)
                    }
                }
            }
        }
        Ok(())
    }

    /// A convolution, product by product.
    pub fn naive(
        input: &Plain,
        weight: &Plain,
        bias: Option<&Plain>,
        movement: Movement<'_>,
    ) -> Result<Plain> {
        let Plan { sizes, .. } = Plan::new(input.sizes(), weight.sizes(), movement)?;
        // Narrow floats are rounded once.
        let wide = match input.dtype() {
            DType::F16 | DType::BF16 | DType::F32 => DType::F64,
            dtype => dtype,
        };
        let bias = |channel: i64| bias.map_or(Scalar::Int(0), |bias| bias.at(&[channel]));
        let mut result = Plain::from_fn(wide, &sizes, |position| bias(position[1]));
        for_each_product(input.sizes(), weight.sizes(), movement, |place, element, filter| {
            let product = number::times(input.at(element), weight.at(filter));
            result.set(place, number::plus(result.at(place), product));
        })?;
        Ok(result.to(input.dtype()))
    }

    /// A convolution of samples.
    #[derive(Clone, Copy)]
    pub struct Case {
        /// Sizes of the images.
        pub image: &'static [i64],
        /// Sizes of the weights.
        pub weight: &'static [i64],
        /// Steps of the window.
        pub stride: &'static [i64],
        /// Zeros beside each edge of the images.
        pub padding: &'static [i64],
        /// Steps between the elements under the window.
        pub dilation: &'static [i64],
        /// Whether it is the transposed convolution.
        pub transposed: bool,
        /// Elements more at the end of the results of transposed ones.
        pub output_padding: &'static [i64],
        /// How many groups of channels are convolved apart.
        pub groups: i64,
    }

    impl Case {
        const fn new(image: &'static [i64], weight: &'static [i64], groups: i64) -> Self {
            let (one, zero): (&[i64], &[i64]) = (&[1], &[0]);
            Self {
                image,
                weight,
                stride: one,
                padding: zero,
                dilation: one,
                transposed: false,
                output_padding: zero,
                groups,
            }
        }

        const fn moved(
            self,
            stride: &'static [i64],
            padding: &'static [i64],
            dilation: &'static [i64],
        ) -> Self {
            Self { stride, padding, dilation, ..self }
        }

        const fn transposed(self, output_padding: &'static [i64]) -> Self {
            Self { transposed: true, output_padding, ..self }
        }

        /// How its window moves.
        pub fn movement(&self) -> Movement<'static> {
            let Self { stride, padding, dilation, transposed, output_padding, groups, .. } = *self;
            Movement { stride, padding, dilation, transposed, output_padding, groups }
        }
    }

    /// In one to three dimensions, with and without groups, and each kernel's edges.
    pub const CASES: [Case; 22] = [
        Case::new(&[1, 1, 5], &[1, 1, 3], 1),
        Case::new(&[2, 3, 6], &[4, 3, 3], 1).moved(&[2], &[1], &[1]),
        Case::new(&[2, 4, 7], &[4, 2, 2], 2).moved(&[1], &[3], &[2]),
        Case::new(&[0, 2, 5], &[3, 2, 3], 1),
        Case::new(&[2, 3, 5, 6], &[4, 3, 3, 2], 1).moved(&[1, 2], &[1, 0], &[1]),
        Case::new(&[1, 4, 6, 6], &[4, 1, 3, 3], 4).moved(&[1], &[1], &[1]),
        Case::new(&[1, 2, 4, 40], &[2, 1, 3, 3], 2).moved(&[1], &[1], &[1]),
        Case::new(&[1, 2, 4, 70], &[4, 1, 1, 3], 2).moved(&[1, 2], &[0, 4], &[1, 2]),
        Case::new(&[1, 1, 3, 120], &[1, 1, 2, 2], 1).moved(&[1, 3], &[0], &[1]),
        Case::new(&[3, 5, 4, 4], &[7, 5, 1, 1], 1),
        Case::new(&[1, 13, 3, 3], &[5, 13, 3, 3], 1).moved(&[1], &[2], &[1]),
        Case::new(&[2, 2, 3, 4, 3], &[3, 2, 2, 2, 2], 1).moved(&[1, 2, 1], &[1], &[1]),
        Case::new(&[1, 2, 4, 3, 5], &[2, 1, 2, 2, 3], 2).moved(&[1], &[0, 1, 1], &[2, 1, 1]),
        Case::new(&[2, 0, 4], &[3, 0, 2], 1),
        Case::new(&[1, 2, 4], &[2, 3, 3], 1).transposed(&[0]),
        Case::new(&[2, 4, 3], &[4, 2, 3], 2).moved(&[3], &[1], &[2]).transposed(&[2]),
        Case::new(&[1, 3, 4, 3], &[3, 5, 3, 2], 1).moved(&[2, 1], &[1, 0], &[1]).transposed(&[1, 0]),
        Case::new(&[0, 3, 4, 3], &[3, 2, 3, 2], 1).moved(&[2, 1], &[1, 0], &[1]).transposed(&[1, 0]),
        Case::new(&[1, 4, 5, 5], &[4, 1, 3, 3], 4).moved(&[2], &[0], &[1]).transposed(&[0]),
        Case::new(&[2, 2, 2, 3, 2], &[2, 3, 2, 1, 2], 1)
            .moved(&[2, 1, 1], &[1, 0, 1], &[1])
            .transposed(&[1, 0, 0]),
        // Few enough elements for the checks of gradients.
        Case::new(&[1, 2, 2, 2], &[2, 1, 2, 1], 2).moved(&[1], &[1, 0], &[1]),
        Case::new(&[1, 2, 1, 2], &[2, 1, 1, 2], 2).moved(&[2, 1], &[0], &[1]).transposed(&[1, 0]),
    ];

    /// The differences from torch that all convolutions have.
    pub const DIFFERENCES: &[Difference] = &[
        ALL_NUMBERS,
        WITHOUT_CHANNELS,
        WITHOUT_FILTERS,
        ORDER_OF_VOLUMES,
        MIXED_GROUPS,
        ON_TILES,
        ORDER_OF_LINES,
        DTYPE_OF_BIAS,
    ];

    const ALL_NUMBERS: Difference = Difference {
        id: "convolutions-of-all-numbers",
        what: "torch convolves complex numbers in conv1d, conv2d and conv3d but not in convolution, and \
             narrow integers but not in transposed convolutions; here all convolutions accept all \
             numeric dtypes",
        why: "all convolutions support the same dtypes",
        test: ("opgrid-operators/tests/all/images.rs", "all_numbers_are_convolved"),
        when: |seen| seen.torch_refuses("not implemented for"),
        directed: None,
    };

    const WITHOUT_CHANNELS: Difference = Difference {
        id: "convolutions-without-channels",
        what: "torch returns no channels if the input has no channels, however many filters there are; \
             here each filter gives a channel, filled with zeros or its bias",
        why: "an empty sum is zero, and the shape of a result must not depend on the number of summands",
        test: ("opgrid-operators/tests/all/images.rs", "a_convolution_without_channels_gives_the_bias"),
        when: |seen| {
            let has_none =
                seen.tensor("weight").is_some_and(|weight| weight.geometry.sizes().get(1) == Some(&0));
            let is_empty = seen.inputs().iter().any(|input| input.is_empty());
            let is_other = matches!(seen.part, Part::Sizes | Part::Strides | Part::Values | Part::Written);
            is_empty && seen.torch_gives_nothing() || has_none && is_other
        },
        directed: None,
    };

    /// Differences for arguments of the gradients of convolutions.
    pub const GRADIENTS_ARE_CHECKED: Difference = Difference {
        id: "gradients-of-convolutions-are-checked",
        what: "torch accepts gradients for a different number of images, filters of another dtype, \
             dilations of zero, integers in dilated 3-d convolutions, and any dtype for empty inputs; \
             here these are errors",
        why: "out-of-bounds reads are never allowed, and integers have no gradient",
        test: ("opgrid-operators/tests/all/differences/refused.rs", "places_that_are_not_there"),
        when: |seen| {
            let words = ["argument `grad_output` has shape", "convert one of them", "argument `dilation` is"];
            let is_taken = |input: &Operand| input.is_empty() || input.dtype.is_integral();
            words.into_iter().any(|words| seen.we_refuse(words))
                || seen.tensor("input").is_some_and(is_taken)
                    && seen.we_refuse("expected a floating-point dtype")
        },
        directed: None,
    };

    /// Differences for the output padding of transposed convolutions.
    pub const OUTPUT_PADDING: Difference = Difference {
        id: "output-padding-that-says-nothing",
        what: "torch ignores `output_padding` in convolutions that are not transposed, but not in their \
             gradients; here it is ignored in both",
        why: "the gradient matches the result",
        test: ("opgrid-operators/tests/all/differences/computed.rs", "gradients_of_padded_outputs"),
        when: |seen| seen.torch_refuses("output_padding is not supported for non-transposed convolutions"),
        directed: None,
    };

    /// Differences for convolutions without images.
    pub const WITHOUT_IMAGES: Difference = Difference {
        id: "gradients-of-no-images-lie-in-rows",
        what: "torch gives the gradient of filters a memory format of its own if there are no images, \
             and ignores `bias_sizes` otherwise; here gradients are as with images",
        why: "all gradients behave alike",
        test: ("opgrid-operators/tests/all/differences/layouts.rs", "results_that_are_made_lie_in_rows"),
        when: |seen| {
            let is_empty = seen.tensor("input").is_some_and(Operand::is_empty);
            // Of the bias it gives one number, or as many as it is told.
            let is_named = matches!(seen.argument("bias_sizes"), Some(Argument::Ints(_)));
            let is_of_bias =
                seen.torch == "[]" || is_named && matches!(seen.part, Part::Sizes | Part::Strides);
            let is_refused =
                is_named && seen.torch_refuses("size must be non-negative") || seen.torch_refuses(DIED);
            is_empty && (seen.are_both_dense() || is_of_bias || is_refused)
        },
        directed: None,
    };

    const WITHOUT_FILTERS: Difference = Difference {
        id: "convolutions-without-filters",
        what: "torch rejects transposed convolutions without filters, and their gradients; here the \
             result is empty",
        why: "whether a call is valid must not depend on sizes or elements",
        test: ("opgrid-operators/tests/all/differences/computed.rs", "products_and_slices_of_nothing"),
        when: |seen| {
            let is_empty = seen.tensor("weight").is_some_and(Operand::is_empty);
            is_empty
                && (seen.we_give_nothing() && seen.torch_refuses("")
                    || seen.torch_refuses("weight tensor expected"))
        },
        directed: None,
    };

    const ORDER_OF_VOLUMES: Difference = Difference {
        id: "results-of-volumes-lie-as-their-inputs",
        what: "torch returns some 3-d convolutions in row-major order whatever the input's memory \
             format, and treats others with one channel, or of complex numbers with channels-last \
             filters, as channels-last; here the result has the memory format of the input, as for \
             images",
        why: "all convolutions behave alike",
        test: ("opgrid-operators/tests/all/differences/layouts.rs", "results_do_not_depend_on_the_layout"),
        when: |seen| {
            let sizes = |name: &str| seen.tensor(name).map(|tensor| tensor.geometry.sizes());
            let of_volumes = sizes("weight").is_some_and(|sizes| sizes.len() == 5);
            // A stack of volumes of one channel lies in both orders.
            let is_both = sizes("input").is_some_and(|sizes| sizes.len() == 5 && sizes[1] == 1);
            let of_complex = seen.tensor("input").is_some_and(|input| input.dtype.is_complex());
            of_volumes && (seen.lies_in_rows_there() || (is_both || of_complex) && seen.lies_in_rows_here())
        },
        directed: None,
    };

    const MIXED_GROUPS: Difference = Difference {
        id: "groups-of-transposed-convolutions",
        what: "torch mixes up the groups of transposed convolutions if input and filters are \
             channels-last; here the result is the same as for row-major inputs",
        why: "the mathematical result",
        test: ("opgrid-operators/tests/all/differences/layouts.rs", "results_do_not_depend_on_the_layout"),
        when: |seen| {
            let has_gaps = |input: &&Operand| input.geometry.dims() >= 4 && !input.geometry.is_contiguous();
            let groups = seen.number("groups").and_then(|groups| groups.to_f64().ok());
            groups.is_some_and(|groups| groups > 1.0)
                && !seen.elements.is_empty()
                && seen.inputs().into_iter().filter(has_gaps).count() > 1
        },
        directed: Some(Directed {
            operator: "aten::conv_transpose2d.input",
            arguments: || {
                let image: [f64; 72] = std::array::from_fn(|at| at as f64);
                let filters: [f64; 16] = std::array::from_fn(|at| (at * at) as f64);
                let (image_lies, filters_lie) =
                    ((&[1, 4, 6, 3][..], &[72, 1, 12, 4][..], 0), (&[4, 2, 2, 1][..], &[4, 1, 2, 1][..], 0));
                vec![
                    ("input", Operand::strided(0, DType::F32, image_lies, &image).into()),
                    ("weight", Operand::strided(1, DType::F32, filters_lie, &filters).into()),
                    ("bias", Argument::None),
                    ("stride", Argument::Ints(vec![2, 2])),
                    ("padding", Argument::Ints(vec![0, 0])),
                    ("output_padding", Argument::Ints(vec![0, 0])),
                    ("groups", Scalar::Int(2).into()),
                ]
            },
            needs: None,
        }),
    };

    const ON_TILES: Difference = Difference {
        id: "convolutions-of-bfloat16-on-tiles",
        what: "on processors with AMX, torch omits the bias at positions that no window of a bfloat16 \
             transposed convolution reaches, and reads uninitialized memory in others with strides; \
             here results are the same on all processors",
        why: "the mathematical result",
        test: ("opgrid-operators/tests/all/differences/computed.rs", "convolutions_of_bfloat16_with_strides"),
        when: |seen| {
            let has_strides = matches!(seen.argument("stride"), Some(Argument::Ints(strides)) if strides.iter().any(|stride| *stride > 1));
            let is_of = |dtype| seen.tensor("input").is_some_and(|input| input.dtype == dtype);
            has_amx() && has_strides && is_of(DType::BF16) && !seen.elements.is_empty()
        },
        directed: None,
    };

    const ORDER_OF_LINES: Difference = Difference {
        id: "results-of-lines-lie-in-rows",
        what: "torch convolves 1-d inputs as images of one row, which may look channels-last; here the \
             result is row-major",
        why: "there is no channels-last format for 1-d inputs",
        test: ("opgrid-operators/tests/all/differences/layouts.rs", "results_do_not_depend_on_the_layout"),
        when: |seen| matches!(seen.sizes.len(), 2 | 3) && seen.lies_in_rows_here(),
        directed: None,
    };

    /// Differences for the dtype of the bias in convolutions, matrix-vector products and recurrent layers.
    pub const DTYPE_OF_BIAS: Difference = Difference {
        id: "dtypes-of-biases",
        what: "torch adds biases of any dtype in some convolutions, matrix-vector products and \
             recurrent layers; here a bias has the dtype of the input",
        why: "all biases behave alike",
        test: ("opgrid-operators/tests/all/differences/refused.rs", "dtypes_that_differ"),
        when: |seen| {
            let is_bias = seen.we_refuse("argument `bias`") || seen.we_refuse("a bias has dtype");
            is_bias && seen.we_refuse("convert one of them")
        },
        directed: Some(Directed {
            operator: "aten::conv_transpose2d.input",
            arguments: || {
                vec![
                    ("input", Operand::rows(0, DType::F32, &[1, 1, 2, 2], &[1.0; 4]).into()),
                    ("weight", Operand::rows(1, DType::F32, &[1, 1, 1, 1], &[1.0]).into()),
                    ("bias", Operand::rows(2, DType::I32, &[1], &[1.0]).into()),
                ]
            },
            needs: None,
        }),
    };
}
