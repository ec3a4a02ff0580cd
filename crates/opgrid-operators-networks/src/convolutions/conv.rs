//! `aten::conv1d`, `conv2d`, `conv3d`: filters moved over images, one image or a batch of them.
//!
//! - Shapes: as [`Convolution`]; an `input` with one dimension less is a single image, and so is the result.
//! - Padding: numbers, or `"valid"` for none, or `"same"` for a result of the images' size: what cannot be the same on
//!   both sides is one more behind.
//! - Dispatch: composites of `convolution`.
//! - Errors: those of `convolution`; an input of another number of dimensions; another word for the padding, or `"same"`
//!   with strides.
//! - Source: torch.nn.functional.conv2d, PyTorch 2.15; there complex numbers are convolved in parts.

use crate::prelude::*;
use opgrid_kinds::images::numbers as numbers_of;
use opgrid_tensor::ops::{Contiguous, Convolution, SliceTensor, SqueezeDim, Unsqueeze};

pub use opgrid_tensor::ops::convolutions::conv::*;

/// Registers the two overloads for images of so many dimensions.
macro_rules! of_dims {
    ($library:ident, $dims:literal, $numbers:ident, $words:ident) => {
        $library.define($numbers).kind(&kind::CONVOLUTION).implicit(
            |x, w, bias, stride, padding, dilation, groups| {
                convolve($dims, x, w, bias, Window { stride, dilation, groups }, padding)
            },
        );
        $library.define($words).kind(&kind::CONVOLUTION).implicit(
            |x, w, bias, stride, padding, dilation, groups| {
                convolve_by_word($dims, x, w, bias, Window { stride, dilation, groups }, padding)
            },
        );
    };
}

pub(super) fn register(library: &mut Library) {
    of_dims!(library, 1, Conv1d, Conv1dPadding);
    of_dims!(library, 2, Conv2d, Conv2dPadding);
    of_dims!(library, 3, Conv3d, Conv3dPadding);
}

/// How a window moves, apart from the padding.
#[derive(Clone, Copy)]
struct Window<'a> {
    stride: &'a [i64],
    dilation: &'a [i64],
    groups: i64,
}

fn convolve(
    dims: usize,
    input: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    window: Window<'_>,
    padding: &[i64],
) -> Result<Tensor> {
    one_or_many(dims, input, |images| {
        let Window { stride, dilation, groups } = window;
        Convolution.call(images, weight, bias, stride, padding, dilation, false, &[0], groups)
    })
}

/// Calls `convolve` with a batch, which for a single image has a size of 1.
///
/// # Errors
///
/// Neither an image nor a batch; that of `convolve`.
pub(super) fn one_or_many(
    dims: usize,
    input: &Tensor,
    convolve: impl FnOnce(&Tensor) -> Result<Tensor>,
) -> Result<Tensor> {
    let sizes = input.spec()?.sizes();
    if sizes.len() == dims + 2 {
        return convolve(input);
    }
    if sizes.len() != dims + 1 {
        let message = format!(
            "argument `input` has shape {sizes:?}, expected {} dimensions, or {} for a single image",
            dims + 2,
            dims + 1
        );
        return Err(argument(message));
    }
    SqueezeDim.call(&convolve(&Unsqueeze.call(input, 0)?)?, 0)
}

fn convolve_by_word(
    dims: usize,
    input: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    window: Window<'_>,
    word: &str,
) -> Result<Tensor> {
    match word {
        "valid" => return convolve(dims, input, weight, bias, window, &[0]),
        "same" => {}
        _ => {
            return Err(argument(format!(
                "argument `padding` is {word:?}, expected \"valid\", \"same\" or numbers"
            )));
        }
    }
    let sizes = weight.spec()?.sizes();
    if sizes.len() != dims + 2 {
        let message = format!("argument `weight` has shape {sizes:?}, expected {} dimensions", dims + 2);
        return Err(argument(message));
    }
    if window.stride.iter().any(|stride| *stride != 1) {
        let message =
            format!("argument `padding` is \"same\", which needs strides of 1, found {:?}", window.stride);
        return Err(argument(message));
    }
    let dilation = numbers_of("dilation", window.dilation, dims, 1)?;
    let all =
        dilation.iter().zip(&sizes[2..]).map(|(dilation, size)| dilation.checked_mul((size - 1).max(0)));
    let Some(all) = all.collect::<Option<Vec<i64>>>() else {
        return Err(argument(format!(
            "a kernel of size {:?} with dilation {dilation:?} overflows 64 bits",
            &sizes[2..]
        )));
    };
    // With as many zeros in front as behind there is one place too many in front where they should be one less.
    let behind: Vec<i64> = all.iter().map(|all| all - all / 2).collect();
    // A single image lies as one of a batch does.
    one_or_many(dims, input, |images| {
        let mut result = convolve(dims, images, weight, bias, window, &behind)?;
        let format = result.geometry().suggested_format();
        for (dim, _) in all.iter().enumerate().filter(|(_, all)| *all % 2 == 1) {
            result = SliceTensor.call(&result, dim as i64 + 2, Some(1), None, 1)?;
        }
        if all.iter().any(|all| all % 2 == 1) {
            opgrid_tensor::ops::CloneTensor.call(&result, Some(format))
        } else {
            Contiguous.call(&result, format)
        }
    })
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_kinds::convolutions::{self, Movement};
    use opgrid_samples::prelude::*;

    impl<'a> Window<'a> {
        fn padded(self, padding: &'a [i64]) -> Movement<'a> {
            let Self { stride, dilation, groups } = self;
            Movement { stride, padding, dilation, transposed: false, output_padding: &[0], groups }
        }
    }

    pub(crate) fn collect(samples: &mut Samples) {
        samples.operator(Conv1d, NUMBERS, |dtype| inputs(1, dtype, numbers()), reference).tolerance(64.0);
        samples.operator(Conv2d, NUMBERS, |dtype| inputs(2, dtype, numbers()), reference).tolerance(64.0);
        samples.operator(Conv3d, NUMBERS, |dtype| inputs(3, dtype, numbers()), reference).tolerance(64.0);
        let (x, w) =
            (generate::numbers(DType::F32, &[1, 2, 4], 1), generate::numbers(DType::F32, &[3, 2, 2], 2));
        let first = given(x.clone()).and(w.clone()).and(Value::None);
        samples
            .operator(Conv1dPadding, NUMBERS, |dtype| inputs(1, dtype, words()), reference)
            .tolerance(64.0)
            .refuses("expected \"valid\"", first.clone().and(vec![1]).and("other"))
            .refuses("needs strides of 1", first.and(vec![2]).and("same"));
        samples
            .operator(Conv2dPadding, NUMBERS, |dtype| inputs(2, dtype, words()), reference)
            .tolerance(64.0)
            .refuses(
                "for a single image",
                given(w.with_sizes(&[12])).and(generate::numbers(DType::F32, &[3, 2, 2, 2], 2)),
            )
            .refuses("expected 4 dimensions", given(x).and(w).named("padding", "same"));
        samples
            .operator(Conv3dPadding, NUMBERS, |dtype| inputs(3, dtype, words()), reference)
            .tolerance(64.0);
        samples.differs_as(Conv1d, convolutions::samples::DIFFERENCES);
        samples.differs_as(Conv2d, convolutions::samples::DIFFERENCES);
        samples.differs_as(Conv3d, convolutions::samples::DIFFERENCES);
        samples.rounds(Conv1d, Roundings::all(Rounding::Sum(2)));
        samples.rounds(Conv2d, Roundings::all(Rounding::Sum(2)));
        samples.rounds(Conv3d, Roundings::all(Rounding::Sum(2)));
    }

    fn numbers() -> [Given; 2] {
        [vec![1], vec![2]].map(Given::from)
    }

    fn words() -> [Given; 2] {
        ["valid", "same"].map(Given::from)
    }

    /// Batches and a single image, with two paddings.
    fn inputs(dims: usize, dtype: DType, [first, second]: [Given; 2]) -> Vec<Sample> {
        let image = |batch: &[i64], channels: i64, seed| {
            generate::numbers(dtype, &[batch, &[channels], &[5, 4, 6][..dims]].concat(), seed)
        };
        let weight = |filters: i64, channels: i64| {
            generate::numbers(dtype, &[&[filters, channels], &[3, 2, 2][..dims]].concat(), 2)
        };
        let bias = |filters: i64| generate::numbers(dtype, &[filters], 3);
        vec![
            given(image(&[2], 3, 1)).and(weight(4, 3)),
            given(image(&[], 2, 2)).and(weight(3, 2)).and(bias(3)),
            given(image(&[0], 2, 3)).and(weight(3, 2)).and(Value::None).and(vec![1]).and(first),
            given(image(&[1], 4, 4))
                .and(weight(4, 2))
                .and(bias(4))
                .and(vec![1])
                .and(second)
                .and(vec![1])
                .and(2),
            given(image(&[1], 2, 4)).and(weight(3, 2)).and(bias(3)).and(vec![2]),
        ]
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let (x, w) = (it.tensor("input")?, it.tensor("weight")?);
        let dims = w.sizes().len() - 2;
        let is_one = x.sizes().len() < w.sizes().len();
        let batch = if is_one { x.with_sizes(&[&[1], x.sizes()].concat()) } else { x.clone() };
        let (stride, dilation): (Vec<i64>, Vec<i64>) = (it.value("stride")?, it.value("dilation")?);
        let of = |list: &[i64], dim: usize| list[dim.min(list.len() - 1)];
        // Zeros lie around the images before they are convolved.
        let (before, after): (Vec<i64>, Vec<i64>) = match it.value::<String>("padding") {
            Ok(word) if word == "same" => {
                let reach = |dim: usize| of(&dilation, dim) * (w.sizes()[dim + 2] - 1);
                (0..dims).map(|dim| (reach(dim) / 2, reach(dim) - reach(dim) / 2)).unzip()
            }
            Ok(_) => (vec![0; dims], vec![0; dims]),
            Err(_) => {
                let padding: Vec<i64> = it.value("padding")?;
                (0..dims).map(|dim| (of(&padding, dim), of(&padding, dim))).unzip()
            }
        };
        let padded = convolutions::samples::padded(&batch, &before, &after);
        let window = Window { stride: &stride, dilation: &dilation, groups: it.value("groups")? };
        let result = convolutions::samples::naive(&padded, w, it.tensor("bias").ok(), window.padded(&[0]))?;
        Ok(if is_one { result.with_sizes(&result.sizes()[1..]) } else { result }.into())
    }
}
