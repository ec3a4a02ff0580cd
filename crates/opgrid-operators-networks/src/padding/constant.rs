//! `aten::constant_pad_nd`: a frame of one number around a tensor.
//!
//! - Shapes: `pad` has a number of elements before and after each dimension, from the last dimension on; negative ones
//!   leave out as many. Dimensions without numbers stay what they are. The result has the memory format that strides
//!   look like; where nothing is added it is a copy that keeps their order.
//! - Dtypes: that of `self`, to which `value` is converted.
//! - Aliasing: `constant_pad_nd.out` writes `out`, of the dtype of `self`.
//! - Dispatch: a composite of `empty`, `fill_`, `slice` and `copy_`.
//! - Errors: an odd count of numbers, or more than for all dimensions; sizes below zero; a number beyond the range of
//!   the dtype.
//! - Source: torch.nn.functional.pad, PyTorch 2.15.

use crate::kinds::padding;
use crate::prelude::*;
use opgrid_tensor::ops::{CopyInplace, EmptyMemoryFormat, FillInplaceScalar, SliceTensor};

pub use opgrid_tensor::ops::padding::constant::*;

pub(super) fn register(library: &mut Library) {
    library.define_with_forms(ConstantPadNd, &kind::PADDING).on_every_backend(constant).derivative(
        |d, (input, pad, _)| {
            let back: Vec<i64> = pad.iter().map(|count| -count).collect();
            d.by(input, [], move |grad, []| ConstantPadNd.call(grad, &back, 0.into()))
        },
    );
    library
        .implement(ConstantPadNdOut)
        .on_every_backend(|input, pad, value, out| result::copied(out, &constant(input, pad, value)?));
}

fn constant(input: &Tensor, pad: &[i64], value: Scalar) -> Result<Tensor> {
    let spec = input.spec()?;
    let sizes = spec.sizes();
    padding::check(pad, sizes.len())?;
    let pairs = padding::pairs(pad, sizes.len());
    let padded = sizes.iter().zip(&pairs).map(|(&size, &pair)| padding::padded(size, pair));
    let padded = padded.collect::<Result<Vec<i64>>>()?;
    let mut from = input.clone();
    for (dim, &(before, after)) in (0..).zip(&pairs) {
        let size = from.sizes()[dim as usize];
        let (start, end) = (before.saturating_neg().max(0), size + after.min(0));
        from = SliceTensor.call(&from, dim, Some(start), Some(end), 1)?;
    }
    if pad.iter().all(|count| *count <= 0) {
        return opgrid_tensor::ops::CloneTensor.call(&from, None);
    }
    let format = spec.geometry().suggested_format();
    let (dtype, device) = (Some(spec.dtype()), Some(spec.device()));
    let result = EmptyMemoryFormat.call(&padded, dtype, None, device, None, Some(format))?;
    FillInplaceScalar.call(&result, value)?;
    let mut to = result.clone();
    for (dim, &(before, after)) in (0..).zip(&pairs) {
        let size = to.sizes()[dim as usize];
        to = SliceTensor.call(&to, dim, Some(before.max(0)), Some((size - after.max(0)).max(0)), 1)?;
    }
    CopyInplace.call(&to, &from, false)?;
    Ok(result)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let inputs = |dtype| {
            let cases: [(&[i64], &[i64]); 8] = [
                (&[2, 3], &[1, 2]),
                (&[2, 3], &[0, 1, 2, 0]),
                (&[3, 4], &[-1, 1]),
                (&[2, 3, 2, 2], &[1, 1, 0, 2]),
                (&[4], &[-2, -2]),
                (&[], &[]),
                (&[0, 2], &[1, 0, 1, 1]),
                (&[2], &[-2, 4]),
            ];
            let one =
                |(sizes, pad): (&[i64], &[i64])| given(generate::numbers(dtype, sizes, 0)).and(pad.to_vec());
            cases
                .map(one)
                .into_iter()
                .zip([0, 2].into_iter().cycle())
                .map(|(sample, value)| sample.and(value))
                .collect()
        };
        let x = generate::numbers(DType::F32, &[2, 3], 0);
        samples
            .operator(ConstantPadNd, STORED, inputs, |it| {
                let (x, pad, value): (_, Vec<i64>, Scalar) =
                    (it.tensor("self")?, it.value("pad")?, it.value("value")?);
                let pairs = padding::pairs(&pad, x.sizes().len());
                let sizes: Vec<i64> = x
                    .sizes()
                    .iter()
                    .zip(&pairs)
                    .map(|(size, (before, after))| size + before + after)
                    .collect();
                Ok(Plain::from_fn(x.dtype(), &sizes, |position| {
                    let place: Vec<i64> =
                        position.iter().zip(&pairs).map(|(at, (before, _))| at - before).collect();
                    let is_inside = place.iter().zip(x.sizes()).all(|(at, size)| (0..*size).contains(at));
                    if is_inside { x.at(&place) } else { value }
                })
                .into())
            })
            .refuses("even", given(x.clone()).and([1].to_vec()))
            .refuses("at most", given(x.clone()).and([1; 6].to_vec()))
            .refuses("negative", given(x.clone()).and([-2, -2].to_vec()))
            .refuses("would make a dimension", given(x.clone()).and([-4, 9].to_vec()))
            .refuses("", given(x.clone()).and([i64::MAX, i64::MAX].to_vec()))
            .refuses_data("overflow", given(x.to(DType::U8)).and([1, 1].to_vec()).and(300));
        samples.differs(ConstantPadNd, departures::arithmetic::NUMBERS_FIT);
    }
}
