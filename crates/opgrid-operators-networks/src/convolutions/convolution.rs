//! `aten::convolution`: filters moved over images, in one to three dimensions.
//!
//! `out[n, o, p] = bias[o] + Σ self[n, c, p * stride + k * dilation - padding] * weight[o, c, k]` over channels `c` of the
//! group and elements `k` of the window. Transposed, each `self[n, c, p]` adds `weight[c, o, k]`, weighted, to
//! `out[n, o, p * stride + k * dilation - padding]`.
//!
//! - Shapes: images `[batch, channels, …]`, weights `[filters, channels of a group, …]`, transposed `[channels, filters of a
//!   group, …]`; the batch may be empty, and so may the channels.
//! - Dtypes: one for all, no bools. Integers wrap around; 16-bit floats are rounded once.
//! - Strides: channels-last if an image or a weight is; in three dimensions for single precision and 16-bit floats only.
//! - Aliasing: `convolution.out` writes `out`, which must not overlap the others.
//! - Errors: two dtypes or devices; channels that do not make up the groups; a window larger than the padded image; images
//!   of size 0; lists that have neither one number nor one for each dimension; an output padding not below stride or dilation.
//! - Source: torch.nn.functional.conv2d and conv_transpose2d, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::products::{correlate, spread};
use opgrid_kinds::convolutions::{self, Moved, Movement, Plan};

pub use opgrid_tensor::ops::convolutions::convolution::*;

/// The family of `aten::convolution`: its kind, shape rule and `out` rule.
pub const CONVOLUTION: Family<Convolution> =
    Family::new(Convolution, &kind::CONVOLUTION, shape).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&CONVOLUTION).cpu(cpu).derivative(
        |d, (input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)| {
            let moved = Moved::by(Movement { stride, padding, dilation, transposed, output_padding, groups });
            d.together(
                [Some(input), Some(weight), bias],
                [Some(input), Some(weight)],
                move |grads, kept, needs| {
                    let (Some(grad), [Some(input), Some(weight)]) = (grads.for_result(0), kept) else {
                        return Ok([None, None, None]);
                    };
                    moved.gradients(grad, input, weight, needs)
                },
            )
        },
    );
}

#[expect(clippy::too_many_arguments, reason = "those of the schema")]
fn shape(
    input: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    stride: &[i64],
    padding: &[i64],
    dilation: &[i64],
    transposed: bool,
    output_padding: &[i64],
    groups: i64,
) -> Result<TensorSpec> {
    let movement = Movement { stride, padding, dilation, transposed, output_padding, groups };
    convolutions::result(input, weight, bias, movement)
}

#[expect(clippy::too_many_arguments, reason = "those of the schema")]
fn cpu(
    input: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    stride: &[i64],
    padding: &[i64],
    dilation: &[i64],
    transposed: bool,
    output_padding: &[i64],
    groups: i64,
    out: &Tensor,
) -> Result<()> {
    let movement = Movement { stride, padding, dilation, transposed, output_padding, groups };
    let Plan { windows, .. } = Plan::new(input.sizes(), weight.sizes(), movement)?;
    let bias = bias.map(Tensor::array).transpose()?;
    if transposed {
        spread(&windows, out.array()?, input.array()?, weight.array()?, bias)
    } else {
        correlate(&windows, out.array()?, input.array()?, weight.array()?, bias)
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_kinds::convolutions::samples::Case;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let with = |x: &[i64], w: &[i64], stride: i64, padding: i64, groups: i64| {
            let (x, w) = (generate::numbers(DType::F32, x, 0), generate::numbers(DType::F32, w, 1));
            given(x)
                .and(w)
                .and(Value::None)
                .and(vec![stride])
                .and(vec![padding])
                .and(vec![1])
                .and(false)
                .and(vec![0])
                .and(groups)
        };
        samples
            .operator(Convolution, NUMBERS, inputs, reference)
            .tolerance(64.0)
            .refuses("use a smaller kernel", with(&[1, 1, 2], &[1, 1, 3], 1, 0, 1))
            .refuses("expected 4 for", with(&[1, 2, 5], &[2, 2, 3], 1, 0, 2))
            .refuses("multiple of the 2 groups", with(&[1, 2, 5], &[3, 1, 3], 1, 0, 2))
            .refuses("argument `groups`", with(&[1, 2, 5], &[3, 1, 3], 1, 0, 0))
            .refuses("argument `stride`", with(&[1, 2, 5], &[3, 2, 3], 0, 0, 1))
            .refuses("argument `padding`", with(&[1, 2, 5], &[3, 2, 3], 1, -1, 1))
            .refuses("64 bits", with(&[1, 2, 5], &[3, 2, 3], 1, i64::MAX, 1))
            .refuses("zero batch", with(&[1, 2, 0], &[3, 2, 3], 1, 2, 1))
            .refuses("expected three, four or five", with(&[2, 2], &[2, 2], 1, 0, 1));
        samples.differs_as(Convolution, convolutions::samples::DIFFERENCES);
        samples.rounds(Convolution, Roundings::all(Rounding::Sum(2)));
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        let one = |(number, case): (usize, Case)| {
            let channels = if case.transposed { case.weight[1] * case.groups } else { case.weight[0] };
            let bias = generate::numbers(dtype, &[channels], 3);
            given(generate::numbers(dtype, case.image, 1))
                .and(generate::numbers(dtype, case.weight, 2))
                .and(if number % 3 != 0 { Given::Tensor(bias) } else { Given::Value(Value::None) })
                .and(case.stride.to_vec())
                .and(case.padding.to_vec())
                .and(case.dilation.to_vec())
                .and(case.transposed)
                .and(case.output_padding.to_vec())
                .and(case.groups)
        };
        convolutions::samples::CASES.into_iter().enumerate().map(one).collect()
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let lists =
            ["stride", "padding", "dilation", "output_padding"].map(|name| it.value::<Vec<i64>>(name));
        let [stride, padding, dilation, output_padding] = lists;
        let movement = Movement {
            stride: &stride?,
            padding: &padding?,
            dilation: &dilation?,
            transposed: it.value("transposed")?,
            output_padding: &output_padding?,
            groups: it.value("groups")?,
        };
        let bias = it.tensor("bias").ok();
        Ok(convolutions::samples::naive(it.tensor("input")?, it.tensor("weight")?, bias, movement)?.into())
    }
}
