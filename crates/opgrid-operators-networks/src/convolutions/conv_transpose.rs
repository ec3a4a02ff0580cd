//! `aten::conv_transpose1d`, `conv_transpose2d`, `conv_transpose3d`: each element of an image adds a filter to the result.
//!
//! - Shapes: as the transposed [`Convolution`]; an `input` with one dimension less is a single image, and so is the result.
//! - Dispatch: composites of `convolution`.
//! - Errors: those of `convolution`; an input of another number of dimensions.
//! - Source: torch.nn.functional.conv_transpose2d, PyTorch 2.15; there complex numbers are convolved in parts.

use super::conv::one_or_many;
use crate::prelude::*;
use opgrid_tensor::ops::Convolution;

pub use opgrid_tensor::ops::convolutions::conv_transpose::*;

/// Registers the overload for images of so many dimensions.
macro_rules! of_dims {
    ($library:ident, $dims:literal, $operator:ident) => {
        $library.define($operator).kind(&kind::CONVOLUTION).implicit(
            |input, weight, bias, stride, padding, output_padding, groups, dilation| {
                one_or_many($dims, input, |images| {
                    Convolution.call(
                        images,
                        weight,
                        bias,
                        stride,
                        padding,
                        dilation,
                        true,
                        output_padding,
                        groups,
                    )
                })
            },
        );
    };
}

pub(super) fn register(library: &mut Library) {
    of_dims!(library, 1, ConvTranspose1d);
    of_dims!(library, 2, ConvTranspose2dInput);
    of_dims!(library, 3, ConvTranspose3dInput);
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_kinds::convolutions::{self, Movement};
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.operator(ConvTranspose1d, NUMBERS, |dtype| inputs(1, dtype), reference).tolerance(64.0);
        samples.operator(ConvTranspose2dInput, NUMBERS, |dtype| inputs(2, dtype), reference).tolerance(64.0);
        samples.operator(ConvTranspose3dInput, NUMBERS, |dtype| inputs(3, dtype), reference).tolerance(64.0);
        samples.differs_as(ConvTranspose1d, convolutions::samples::DIFFERENCES);
        samples.differs_as(ConvTranspose2dInput, convolutions::samples::DIFFERENCES);
        samples.differs_as(ConvTranspose3dInput, convolutions::samples::DIFFERENCES);
        samples.rounds(ConvTranspose1d, Roundings::all(Rounding::Sum(2)));
        samples.rounds(ConvTranspose2dInput, Roundings::all(Rounding::Sum(2)));
        samples.rounds(ConvTranspose3dInput, Roundings::all(Rounding::Sum(2)));
    }

    /// Batches and a single image.
    fn inputs(dims: usize, dtype: DType) -> Vec<Sample> {
        let image = |batch: &[i64], channels: i64, seed| {
            generate::numbers(dtype, &[batch, &[channels], &[3, 2, 2][..dims]].concat(), seed)
        };
        let weight = |channels: i64, filters: i64| {
            generate::numbers(dtype, &[&[channels, filters], &[2, 3, 2][..dims]].concat(), 2)
        };
        let bias = generate::numbers(dtype, &[4], 3);
        vec![
            given(image(&[2], 3, 1)).and(weight(3, 2)),
            given(image(&[], 2, 2)).and(weight(2, 4)).and(bias.clone()).and(vec![2]).and(vec![1]),
            given(image(&[0], 2, 3)).and(weight(2, 3)),
            given(image(&[1], 4, 4))
                .and(weight(4, 2))
                .and(bias)
                .and(vec![3])
                .and(vec![1])
                .and(vec![2])
                .and(2)
                .and(vec![2]),
        ]
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let (x, w) = (it.tensor("input")?, it.tensor("weight")?);
        let is_one = x.sizes().len() < w.sizes().len();
        let batch = if is_one { x.with_sizes(&[&[1], x.sizes()].concat()) } else { x.clone() };
        let lists =
            ["stride", "padding", "dilation", "output_padding"].map(|name| it.value::<Vec<i64>>(name));
        let [stride, padding, dilation, output_padding] = lists;
        let movement = Movement {
            stride: &stride?,
            padding: &padding?,
            dilation: &dilation?,
            transposed: true,
            output_padding: &output_padding?,
            groups: it.value("groups")?,
        };
        let result = convolutions::samples::naive(&batch, w, it.tensor("bias").ok(), movement)?;
        Ok(if is_one { result.with_sizes(&result.sizes()[1..]) } else { result }.into())
    }
}
