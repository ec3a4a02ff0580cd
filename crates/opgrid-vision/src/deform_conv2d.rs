//! `torchvision::deform_conv2d`: a convolution that reads each element of its window at a distance from its place.
//!
//! `out[n, o, p] = bias[o] + sum over c, k of weight[o, c, k] * mask[n, g, k, p] * input[n, c]` at row and column
//! `p * stride - padding + k * dilation + offset[n, g, k, :, p]`, where `g` is the offset group of channel `c`; between elements neighbours count by
//! distance, elements beyond the edges are zeros.
//!
//! - Shapes: `input` `[batch, channels, height, width]`, `weight` `[out_channels, channels / groups, kernel_h, kernel_w]`, `offset`
//!   `[batch, 2 * offset_groups * kernel_h * kernel_w, out_h, out_w]` with rows first, `mask` `[batch, offset_groups * kernel_h * kernel_w,
//!   out_h, out_w]`, which is not looked at without `use_mask`, `bias` `[out_channels]`.
//! - Dtypes: one of `float32` and `float64` for all.
//! - Derivative: for all five tensors; the gradients themselves have none.
//! - Errors: other shapes and dtypes; numbers of channels that groups do not divide.
//! - Source: torchvision.ops.deform_conv2d, torchvision 0.29.

use opgrid::layers::autograd::DefineDerivative;
use opgrid::ops::{Bmm, BmmOut, SumDim};
use opgrid::prelude::*;

use crate::elements::{Real, check_dtypes, check_sizes, refused, sizes, with_real, write_parts};
use crate::{DeformConv2d, DeformConv2dBackward};

pub(crate) fn define(library: &mut Library) {
    library
        .define(DeformConv2d)
        .kernel(DispatchKey::Cpu, |x, w, o, m, b, sh, sw, ph, pw, dh, dw, groups, offset_groups, use_mask| {
            let settings = Settings::new([sh, sw], [ph, pw], [dh, dw], [groups, offset_groups], use_mask);
            convolve(Operands { input: x, weight: w, offset: o, mask: m, bias: b }, settings).map_err(forward)
        })
        .kernel(
            DispatchKey::Meta,
            |x, w, o, m, b, sh, sw, ph, pw, dh, dw, groups, offset_groups, use_mask| {
                let settings = Settings::new([sh, sw], [ph, pw], [dh, dw], [groups, offset_groups], use_mask);
                let operands = Operands { input: x, weight: w, offset: o, mask: m, bias: b };
                let plan = Plan::new(operands, settings).map_err(forward)?;
                Tensor::empty(&plan.out_sizes(), x.dtype(), x.device())
            },
        )
        .derivative(|d, (x, w, o, m, b, sh, sw, ph, pw, dh, dw, groups, offset_groups, use_mask)| {
            d.together(
                [Some(x), Some(w), Some(o), Some(m), Some(b)],
                [x, w, o, m, b].map(Some),
                move |grads, kept, _| {
                    let (Some(grad), [Some(x), Some(w), Some(o), Some(m), Some(b)]) =
                        (grads.for_result(0), kept)
                    else {
                        return Ok([const { None }; 5]);
                    };
                    let (x, w, o, m, b) = DeformConv2dBackward.call(
                        grad,
                        x,
                        w,
                        o,
                        m,
                        b,
                        sh,
                        sw,
                        ph,
                        pw,
                        dh,
                        dw,
                        groups,
                        offset_groups,
                        use_mask,
                    )?;
                    Ok([x, w, o, m, b].map(Some))
                },
            )
        });
    library
        .define(DeformConv2dBackward)
        .kernel(
            DispatchKey::Cpu,
            |grad, x, w, o, m, b, sh, sw, ph, pw, dh, dw, groups, offset_groups, use_mask| {
                let settings = Settings::new([sh, sw], [ph, pw], [dh, dw], [groups, offset_groups], use_mask);
                let operands = Operands { input: x, weight: w, offset: o, mask: m, bias: b };
                gradients(grad, operands, settings).map_err(backward)
            },
        )
        .kernel(
            DispatchKey::Meta,
            |grad, x, w, o, m, b, sh, sw, ph, pw, dh, dw, groups, offset_groups, use_mask| {
                let settings = Settings::new([sh, sw], [ph, pw], [dh, dw], [groups, offset_groups], use_mask);
                let operands = Operands { input: x, weight: w, offset: o, mask: m, bias: b };
                Plan::new(operands, settings)
                    .and_then(|plan| plan.check_gradient(grad, x))
                    .map_err(backward)?;
                let like = |tensor: &Tensor| Tensor::empty(tensor.sizes(), tensor.dtype(), tensor.device());
                Ok((like(x)?, like(w)?, like(o)?, like(m)?, like(b)?))
            },
        );
}

fn forward(error: Error) -> Error {
    error.within("torchvision::deform_conv2d")
}

fn backward(error: Error) -> Error {
    error.within("torchvision::_deform_conv2d_backward")
}

/// The tensors of a call.
#[derive(Clone, Copy)]
struct Operands<'a> {
    input: &'a Tensor,
    weight: &'a Tensor,
    offset: &'a Tensor,
    mask: &'a Tensor,
    bias: &'a Tensor,
}

/// The numbers of a call.
#[derive(Clone, Copy)]
struct Settings {
    stride: [i64; 2],
    padding: [i64; 2],
    dilation: [i64; 2],
    groups: i64,
    offset_groups: i64,
    use_mask: bool,
}

impl Settings {
    fn new(
        stride: [i64; 2],
        padding: [i64; 2],
        dilation: [i64; 2],
        [groups, offset_groups]: [i64; 2],
        use_mask: bool,
    ) -> Self {
        Self { stride, padding, dilation, groups, offset_groups, use_mask }
    }
}

/// The sizes of a call, which fit each other.
struct Plan {
    settings: Settings,
    batch: usize,
    channels: usize,
    /// The rows of an image.
    rows: usize,
    columns: usize,
    out_channels: usize,
    kernel: [usize; 2],
    out: [usize; 2],
}

impl Plan {
    /// # Errors
    ///
    /// Sizes and dtypes that do not fit.
    fn new(operands: Operands<'_>, settings: Settings) -> Result<Self> {
        let Operands { input, weight, offset, mask, bias } = operands;
        let [batch, channels, rows, columns] = sizes("input", input, "batch, channels, height, width")?;
        let [out_channels, of_group, kernel_h, kernel_w] =
            sizes("weight", weight, "out_channels, channels / groups, kernel_h, kernel_w")?;
        if kernel_h < 1 || kernel_w < 1 {
            let shape = weight.sizes();
            return Err(refused(format!(
                "argument `weight` has shape {shape:?}, expected windows that are not empty"
            )));
        }
        let Settings { stride, padding, dilation, groups, offset_groups, use_mask } = settings;
        for (name, [down, across], least) in [
            ("stride", stride, 1),
            ("pad", padding, 0),
            ("dilation", dilation, 1),
            ("groups", [groups, offset_groups], 1),
        ] {
            if down < least || across < least {
                return Err(refused(format!(
                    "arguments `{name}` are {down} and {across}, expected at least {least}"
                )));
            }
        }
        if of_group.checked_mul(groups) != Some(channels)
            || out_channels % groups != 0
            || channels % offset_groups != 0
        {
            return Err(refused(format!(
                "argument `weight` has shape {:?} for an input of shape {:?}, {groups} groups and {offset_groups} offset groups, expected groups that \
                 divide the channels",
                weight.sizes(),
                input.sizes()
            )));
        }
        let along = |place: usize, size: i64, kernel: i64| {
            let window = dilation[place].checked_mul(kernel - 1)?.checked_add(1)?;
            let padded = padding[place].checked_mul(2)?.checked_add(size)?;
            (padded >= window).then(|| (padded - window) / stride[place] + 1)
        };
        let (Some(out_h), Some(out_w)) = (along(0, rows, kernel_h), along(1, columns, kernel_w)) else {
            return Err(refused(format!(
                "argument `weight` has shape {:?}, expected windows that are not larger than the padded images of shape {:?}",
                weight.sizes(),
                input.sizes()
            )));
        };
        let window = kernel_h.checked_mul(kernel_w).and_then(|window| window.checked_mul(offset_groups));
        let Some(masks) = window.filter(|window| window.checked_mul(2).is_some()) else {
            return Err(refused(format!(
                "argument `weight` has shape {:?}, expected smaller windows",
                weight.sizes()
            )));
        };
        check_sizes(
            "offset",
            offset,
            &[batch, 2 * masks, out_h, out_w],
            "of two numbers for each element of a window",
        )?;
        check_sizes("bias", bias, &[out_channels], "for the channels that `weight` gives")?;
        let tensors =
            [("input", input), ("weight", weight), ("offset", offset), ("bias", bias), ("mask", mask)];
        if use_mask {
            check_sizes(
                "mask",
                mask,
                &[batch, masks, out_h, out_w],
                "of a number for each element of a window",
            )?;
        }
        check_dtypes(&tensors[..if use_mask { 5 } else { 4 }])?;
        let size = |size: i64| size as usize;
        Ok(Self {
            settings,
            batch: size(batch),
            channels: size(channels),
            rows: size(rows),
            columns: size(columns),
            out_channels: size(out_channels),
            kernel: [kernel_h, kernel_w].map(size),
            out: [out_h, out_w].map(size),
        })
    }

    fn check_gradient(&self, grad: &Tensor, input: &Tensor) -> Result<()> {
        check_sizes("grad", grad, &self.out_sizes(), "as the result has")?;
        check_dtypes(&[("input", input), ("grad", grad)])
    }

    fn out_sizes(&self) -> [i64; 4] {
        [self.batch, self.out_channels, self.out[0], self.out[1]].map(|size| size as i64)
    }

    /// How many elements a window has.
    fn window(&self) -> usize {
        self.kernel[0] * self.kernel[1]
    }

    /// How many windows an image has.
    fn windows(&self) -> usize {
        self.out[0] * self.out[1]
    }

    fn offset_groups(&self) -> usize {
        self.settings.offset_groups as usize
    }

    /// How many channels are read at the same places.
    fn channels_together(&self) -> usize {
        self.channels / self.offset_groups()
    }

    /// The elements of the columns, the weight and the result of an image, by groups: `[groups, rows, columns]`.
    fn by_groups(&self) -> [[i64; 3]; 3] {
        let groups = self.settings.groups as usize;
        let (read, given) = (self.channels / groups * self.window(), self.out_channels / groups);
        [[groups, read, self.windows()], [groups, given, read], [groups, given, self.windows()]]
            .map(|sizes| sizes.map(|size| size as i64))
    }

    /// Where image `number` is read and what that is multiplied by, for each offset group, element of the window and window.
    fn places<T: Real>(&self, number: usize, offset: &[T], mask: Option<&[T]>) -> Vec<Place<T>> {
        let windows = self.windows();
        let count = self.offset_groups() * self.window() * windows;
        let (offset, mask) = (&offset[2 * count * number..], mask.map(|mask| &mask[count * number..]));
        let Settings { stride, padding, dilation, .. } = self.settings;
        let at = |place: usize| {
            let (element, window) = (place / windows, place % windows);
            let [down, across] = [window / self.out[1], window % self.out[1]];
            let inner = element % self.window();
            let [row, column] = [inner / self.kernel[1], inner % self.kernel[1]];
            let start = |place: usize, step: usize, element: usize| {
                T::from_f64(
                    (step as i64 * stride[place] - padding[place] + element as i64 * dilation[place]) as f64,
                )
            };
            Place {
                row: start(0, down, row) + offset[2 * element * windows + window],
                column: start(1, across, column) + offset[(2 * element + 1) * windows + window],
                factor: mask.map_or(T::ONE, |mask| mask[place]),
            }
        };
        (0..count).map(at).collect()
    }

    /// The places of one channel or of one offset group.
    fn group_places<'p, T>(&self, places: &'p [Place<T>], group: usize) -> &'p [Place<T>] {
        let count = self.window() * self.windows();
        &places[group * count..][..count]
    }

    /// The elements around a place of an image.
    fn corners<T: Real>(&self, place: &Place<T>) -> Corners<T> {
        let [row, column] = [place.row, place.column].map(|at| at.to_f64().floor());
        let side = |at: f64, size: usize| {
            let within = |at: f64| (0.0..size as f64).contains(&at).then_some(at as usize);
            [within(at), within(at + 1.0)]
        };
        let [upper, lower] = side(row, self.rows);
        let [left, right] = side(column, self.columns);
        let index = |row: Option<usize>, column: Option<usize>| Some(row? * self.columns + column?);
        Corners {
            indices: [index(upper, left), index(upper, right), index(lower, left), index(lower, right)],
            down: place.row - T::from_f64(row),
            across: place.column - T::from_f64(column),
        }
    }

    /// Whether an image has elements around a place; it has none exactly one element before the first.
    fn reaches<T: Real>(&self, place: &Place<T>) -> bool {
        let within = |at: T, size: usize| at > T::from_f64(-1.0) && at < T::from_f64(size as f64);
        within(place.row, self.rows) && within(place.column, self.columns)
    }

    /// What is read at a place of a channel.
    fn read<T: Real>(&self, image: &[T], place: &Place<T>) -> T {
        if !self.reaches(place) {
            return T::ZERO;
        }
        let corners = self.corners(place);
        let mut sum = T::ZERO;
        for (weight, element) in corners.weights().into_iter().zip(corners.elements(image)) {
            sum += weight * element;
        }
        sum
    }

    /// The columns of an image: what each window reads, by channels and elements of the window.
    fn columns<T: Real>(&self, image: &[T], places: &[Place<T>], out: &Tensor) -> Result<()> {
        let plane = self.rows * self.columns;
        let size = self.window() * self.windows();
        write_parts::<T>(out, 0..self.channels * size, size, 8 * size, |channel, out| {
            let image = &image[channel * plane..][..plane];
            for (out, place) in
                out.iter_mut().zip(self.group_places(places, channel / self.channels_together()))
            {
                *out = place.factor * self.read(image, place);
            }
        })
    }
}

/// Where an image is read, and what that is multiplied by.
struct Place<T> {
    row: T,
    column: T,
    factor: T,
}

/// The four elements around a place, those above first, and how far the place is from the first.
struct Corners<T> {
    indices: [Option<usize>; 4],
    down: T,
    across: T,
}

impl<T: Real> Corners<T> {
    /// How much each of them counts.
    fn weights(&self) -> [T; 4] {
        let (up, back) = (T::ONE - self.down, T::ONE - self.across);
        [up * back, up * self.across, self.down * back, self.down * self.across]
    }

    fn elements(&self, image: &[T]) -> [T; 4] {
        self.indices.map(|index| index.map_or(T::ZERO, |index| image[index]))
    }

    /// How what is read changes with the row and with the column.
    fn slopes(&self, image: &[T]) -> [T; 2] {
        let [upper_left, upper_right, lower_left, lower_right] = self.elements(image);
        let (up, back) = (T::ONE - self.down, T::ONE - self.across);
        [
            self.across * (lower_right - upper_right) + back * (lower_left - upper_left),
            self.down * (lower_right - lower_left) + up * (upper_right - upper_left),
        ]
    }
}

fn convolve(operands: Operands<'_>, settings: Settings) -> Result<Tensor> {
    let plan = Plan::new(operands, settings)?;
    let Operands { input, weight, offset, mask, bias } = operands;
    let dtype = input.dtype();
    let out = Tensor::empty(&plan.out_sizes(), dtype, input.device())?;
    let [in_columns, in_weight, in_result] = plan.by_groups();
    let weight = weight.reshape(&in_weight)?;
    let columns = Tensor::empty(&in_columns, dtype, input.device())?;
    let (input, offset, mask) = (input.contiguous()?, offset.contiguous()?, mask.contiguous()?);
    for number in 0..plan.batch {
        with_real!(dtype, T => {
            let mask = settings.use_mask.then(|| mask.elements::<T>()).transpose()?;
            let places = plan.places(number, &offset.elements::<T>()?, mask.as_deref());
            let image = plan.channels * plan.rows * plan.columns;
            plan.columns(&input.elements::<T>()?[number * image..][..image], &places, &columns)
        })?;
        BmmOut.call(&weight, &columns, &out.select(0, number as i64)?.view(&in_result)?)?;
    }
    out.add(&bias.reshape(&[plan.out_channels as i64, 1, 1])?)
}

/// The gradients for input, weight, offset, mask and bias.
type Gradients = (Tensor, Tensor, Tensor, Tensor, Tensor);

fn gradients(grad: &Tensor, operands: Operands<'_>, settings: Settings) -> Result<Gradients> {
    let plan = Plan::new(operands, settings)?;
    let Operands { input, weight, offset, mask, bias } = operands;
    plan.check_gradient(grad, input)?;
    let dtype = input.dtype();
    let [in_columns, in_weight, in_result] = plan.by_groups();
    let grad = grad.contiguous()?;
    let transposed = weight.reshape(&in_weight)?.transpose(1, 2)?;
    let zeros = |tensor: &Tensor| Tensor::zeros(tensor.sizes(), tensor.dtype(), tensor.device());
    let (of_input, of_offset, of_mask) = (zeros(input)?, zeros(offset)?, zeros(mask)?);
    let mut of_weight = Tensor::zeros(&in_weight, dtype, input.device())?;
    let columns = Tensor::empty(&in_columns, dtype, input.device())?;
    let (input, offset, mask) = (input.contiguous()?, offset.contiguous()?, mask.contiguous()?);
    for number in 0..plan.batch {
        let grad = grad.select(0, number as i64)?.view(&in_result)?;
        let of_columns = Bmm.call(&transposed, &grad)?.contiguous()?;
        with_real!(dtype, T => {
            let mask = settings.use_mask.then(|| mask.elements::<T>()).transpose()?;
            let places = plan.places(number, &offset.elements::<T>()?, mask.as_deref());
            let image = plan.channels * plan.rows * plan.columns;
            let input = input.elements::<T>()?;
            let image = &input[number * image..][..image];
            plan.columns(image, &places, &columns)?;
            let of_columns = of_columns.elements::<T>()?;
            plan.input_gradient(number, &of_columns, &places, &of_input)?;
            plan.offset_gradient(number, image, &of_columns, &places, &of_offset)?;
            if settings.use_mask {
                plan.mask_gradient(number, image, &of_columns, &places, &of_mask)?;
            }
        });
        of_weight = of_weight.add(&Bmm.call(&grad, &columns.transpose(1, 2)?)?)?;
    }
    let of_bias = SumDim.call(&grad, Some(&[0, 2, 3]), false, None)?;
    Ok((of_input, of_weight.reshape(weight.sizes())?, of_offset, of_mask, of_bias.reshape(bias.sizes())?))
}

impl Plan {
    fn input_gradient<T: Real>(
        &self,
        number: usize,
        columns: &[T],
        places: &[Place<T>],
        out: &Tensor,
    ) -> Result<()> {
        let (plane, size) = (self.rows * self.columns, self.window() * self.windows());
        let image = self.channels * plane;
        write_parts::<T>(out, number * image..(number + 1) * image, plane, 8 * size, |channel, out| {
            let columns = &columns[channel * size..][..size];
            for (column, place) in
                columns.iter().zip(self.group_places(places, channel / self.channels_together()))
            {
                if !self.reaches(place) {
                    continue;
                }
                let corners = self.corners(place);
                for (index, weight) in corners.indices.into_iter().zip(corners.weights()) {
                    if let Some(index) = index {
                        out[index] += place.factor * weight * *column;
                    }
                }
            }
        })
    }

    /// Calls `add` with the gradient of each column that is read at a place, with the channel that it reads.
    fn each_reader<T: Real>(
        &self,
        element: usize,
        columns: &[T],
        image: &[T],
        mut add: impl FnMut(usize, &[T], T),
    ) {
        let (group, inner) = (element / self.window(), element % self.window());
        let (plane, windows) = (self.rows * self.columns, self.windows());
        for channel in group * self.channels_together()..(group + 1) * self.channels_together() {
            let image = &image[channel * plane..][..plane];
            let columns = &columns[(channel * self.window() + inner) * windows..][..windows];
            columns.iter().enumerate().for_each(|(window, column)| add(window, image, *column));
        }
    }

    fn offset_gradient<T: Real>(
        &self,
        number: usize,
        image: &[T],
        columns: &[T],
        places: &[Place<T>],
        out: &Tensor,
    ) -> Result<()> {
        let windows = self.windows();
        let all = 2 * self.offset_groups() * self.window() * windows;
        let work = 8 * windows * self.channels_together();
        write_parts::<T>(out, number * all..(number + 1) * all, 2 * windows, work, |element, out| {
            let (down, across) = out.split_at_mut(windows);
            self.each_reader(element, columns, image, |window, image, column| {
                let place = &places[element * windows + window];
                let slopes = self.corners(place).slopes(image);
                down[window] += slopes[0] * place.factor * column;
                across[window] += slopes[1] * place.factor * column;
            });
        })
    }

    fn mask_gradient<T: Real>(
        &self,
        number: usize,
        image: &[T],
        columns: &[T],
        places: &[Place<T>],
        out: &Tensor,
    ) -> Result<()> {
        let windows = self.windows();
        let all = self.offset_groups() * self.window() * windows;
        let work = 8 * windows * self.channels_together();
        write_parts::<T>(out, number * all..(number + 1) * all, windows, work, |element, out| {
            self.each_reader(element, columns, image, |window, image, column| {
                out[window] += self.read(image, &places[element * windows + window]) * column;
            });
        })
    }
}
