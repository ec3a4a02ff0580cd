//! `aten::adaptive_max_pool1d`, `adaptive_max_pool2d`, `adaptive_max_pool3d`: the largest elements of as many windows as are
//! asked for, and where they are.
//!
//! `out[…, p] = max self[…, floor(p * size / places) .. ceil((p + 1) * size / places)]`
//!
//! - Shapes: images of a batch or a single one; both results have images of `output_size`.
//! - Indices: the number of the element in its plane, in row-major order: of equal ones the first, of NaNs, which are the
//!   largest, the last.
//! - Dtypes: floats.
//! - Strides: results of a channels-last batch of images with two dimensions are channels-last.
//! - Aliasing: the `out` forms write `out` and `indices`.
//! - Dispatch: `adaptive_max_pool1d` is a composite of `adaptive_max_pool2d`.
//! - Errors: images of size 0, or a batch without channels; an `output_size` of another length or with negative numbers.
//! - Source: torch.nn.functional.adaptive_max_pool2d, PyTorch 2.15.

use crate::kinds::pooling;
use crate::prelude::*;
use opgrid_kernels::pooling::largest;
use opgrid_kinds::images::{check_float, in_format_of};
use opgrid_tensor::ops::{SqueezeDim, Unsqueeze};

pub use opgrid_tensor::ops::pooling::adaptive_max_pool::*;

/// The family of `aten::adaptive_max_pool2d`: its kind, shape rule and `out` rule.
pub const ADAPTIVE_MAX_POOL2D: Family<AdaptiveMaxPool2d> =
    Family::new(AdaptiveMaxPool2d, &kind::POOLING, |input, output| shape(input, output, 2)).same_dtype_out();

/// The family of `aten::adaptive_max_pool3d`: its kind, shape rule and `out` rule.
pub const ADAPTIVE_MAX_POOL3D: Family<AdaptiveMaxPool3d> =
    Family::new(AdaptiveMaxPool3d, &kind::POOLING, |input, output| shape(input, output, 3)).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&ADAPTIVE_MAX_POOL2D).cpu(cpu).derivative(|d, (input, _)| {
        let sizes = input.sizes().to_vec();
        d.by(input, [d.result(1)], move |grad, [indices]| pooling::scattered(grad, indices, &sizes, 2))
    });
    library.family(&ADAPTIVE_MAX_POOL3D).cpu(cpu).derivative(|d, (input, _)| {
        let sizes = input.sizes().to_vec();
        d.by(input, [d.result(1)], move |grad, [indices]| pooling::scattered(grad, indices, &sizes, 3))
    });
    library.define(AdaptiveMaxPool1d).kind(&kind::POOLING).implicit(|input, output| {
        let [output] = pooling::of_rows([("output_size", output, 0)])?;
        pooling::adaptive(input.spec()?, &output[1..], 1, 1)?;
        let (values, indices) = AdaptiveMaxPool2d.call(&Unsqueeze.call(input, -2)?, &output)?;
        Ok((SqueezeDim.call(&values, -2)?, SqueezeDim.call(&indices, -2)?))
    });
}

fn shape(input: &Tensor, output: &[i64], dims: usize) -> Result<(TensorSpec, TensorSpec)> {
    let spec = input.spec()?;
    check_float(spec.dtype())?;
    let sizes = pooling::adaptive(spec, output, dims, 1)?;
    let out = match dims {
        3 => TensorSpec::contiguous(&sizes, spec.dtype(), spec.device())?,
        _ => in_format_of(spec, &sizes, false)?,
    };
    let indices = TensorSpec::new(out.geometry().clone(), DType::I64, spec.device());
    Ok((out, indices))
}

fn cpu(input: &Tensor, output: &[i64], out: &Tensor, indices: &Tensor) -> Result<()> {
    // Sizes beside one of 0 may be of any size.
    if out.numel() == 0 {
        return Ok(());
    }
    let windows = pooling::adaptive_windows(&input.sizes()[input.dim() - output.len()..], output);
    let (out, indices, input) = (out.array()?, indices.array()?, input.array()?);
    with_dtype!(input.dtype(), T: Float => largest::<T>(out, indices, input, &windows))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_kinds::images::FLOATS;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = generate::numbers(DType::F32, &[1, 4, 4], 0);
        samples.operator(AdaptiveMaxPool1d, FLOATS, |dtype| inputs(dtype, 1), reference);
        samples
            .operator(AdaptiveMaxPool2d, FLOATS, |dtype| inputs(dtype, 2), reference)
            .refuses("expected 2 sizes", given(x).and(vec![1]))
            .refuses("not empty", given(generate::numbers(DType::F32, &[2, 0, 4, 4], 0)).and(vec![2, 2]));
        samples.operator(AdaptiveMaxPool3d, FLOATS, |dtype| inputs(dtype, 3), reference);
    }

    fn inputs(dtype: DType, dims: usize) -> Vec<Sample> {
        let one = |(outer, sizes, output): (&[i64], [i64; 3], [i64; 3])| {
            given(generate::numbers(dtype, &[outer, &sizes[3 - dims..]].concat(), 1))
                .and(output[3 - dims..].to_vec())
        };
        let cases: [(&[i64], [i64; 3], [i64; 3]); 5] = [
            (&[2, 3], [4, 4, 6], [2, 2, 2]),
            (&[3], [3, 5, 7], [2, 3, 4]),
            (&[1, 2], [1, 3, 2], [2, 5, 3]),
            (&[0, 2], [2, 4, 4], [1, 2, 2]),
            (&[1, 1], [2, 3, 3], [1, 2, 0]),
        ];
        cases.into_iter().map(one).collect()
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let (x, output): (_, Vec<i64>) = (it.tensor("self")?, it.value("output_size")?);
        let values = pooling::samples::naive_adaptive(x, &output, x.dtype(), |elements| {
            pooling::samples::largest(elements).1
        });
        let indices = pooling::samples::naive_adaptive(x, &output, DType::I64, |elements| {
            Scalar::Int(pooling::samples::largest(elements).0)
        });
        Ok([values, indices].into())
    }
}
