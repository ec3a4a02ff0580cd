//! `aten::bucketize`: between which boundaries values lie.
//!
//! `boundaries[out[i] - 1] < self[i] <= boundaries[out[i]]`, with `<=` and `<` for `right`
//!
//! - Shapes: that of `self`; `boundaries` has one dimension.
//! - Dtypes, values, errors: those of `searchsorted`.
//! - Aliasing: `bucketize.Tensor_out` and `bucketize.Scalar_out` write `out`.
//! - Source: torch.bucketize, PyTorch 2.15.

use crate::ops::kinds::searching;
use crate::ops::prelude::*;

operator! {
    home = crate::home;
    pub BucketizeTensor = "aten::bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor", out;
    pub BucketizeScalar = "aten::bucketize.Scalar(Scalar self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor", out;
}

/// Of tensors of values.
pub const BUCKETIZE_TENSOR: Family<BucketizeTensor> =
    Family::new(BucketizeTensor, &kind::SORTING, |values, boundaries, out_int32, _| {
        shape(values, boundaries, out_int32)
    })
    .same_dtype_out();

/// Of one number.
pub const BUCKETIZE_SCALAR: Family<BucketizeScalar> =
    Family::new(BucketizeScalar, &kind::SORTING, |value, boundaries, out_int32, _| {
        shape(&Tensor::number(value), boundaries, out_int32)
    })
    .same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library
        .family(&BUCKETIZE_TENSOR)
        .cpu(|values, boundaries, _, right, out| searching::fill(boundaries, values, right, None, out));
    library.family(&BUCKETIZE_SCALAR).cpu(|value, boundaries, _, right, out| {
        searching::fill(boundaries, &Tensor::number(value), right, None, out)
    });
}

pub(super) fn samples(samples: &mut Samples) {
    let rows = make::numbers(DType::F32, &[2, 3], 0);
    samples
        .of(BucketizeTensor, REAL, inputs, |it| searching::expected(it, "boundaries", "self"))
        .refuses("one dimension", given(rows.clone()).and(rows));
    samples.of(
        BucketizeScalar,
        REAL,
        |dtype| {
            vec![
                Sample::default().and(3).and(line(dtype)),
                Sample::default().and(3).and(line(dtype)).named("right", true),
            ]
        },
        |it| searching::expected(it, "boundaries", "self"),
    );
}

/// Five boundaries, of which two are equal.
fn line(dtype: DType) -> Plain {
    Plain::of(dtype, &[5], &[0, 3, 3, 5, 20])
}

fn inputs(dtype: DType) -> Vec<Sample> {
    let one = given(Plain::of(dtype, &[2, 3], &[3, 0, 21, 4, 5, 1])).and(line(dtype));
    vec![
        one.clone(),
        one.clone().named("right", true),
        one.named("out_int32", true),
        given(Plain::of(dtype, &[], &[4])).and(line(dtype)),
        given(make::extremes(dtype)).and(line(dtype)),
        given(make::numbers(dtype, &[0], 1)).and(line(dtype)),
    ]
}

fn shape(values: &Tensor, boundaries: &Tensor, out_int32: bool) -> Result<TensorSpec> {
    if boundaries.dim() != 1 {
        let message =
            format!("argument `boundaries` has shape {:?}, expected one dimension", boundaries.sizes());
        return Err(argument(message));
    }
    searching::places(boundaries, values, out_int32)
}
