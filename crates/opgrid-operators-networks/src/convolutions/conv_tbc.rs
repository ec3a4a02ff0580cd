//! `aten::conv_tbc`: filters moved over sequences whose first dimension is time.
//!
//! `out[t, n, o] = bias[o] + Σ self[t + k - pad, n, i] * weight[k, i, o]` over the steps `k` of the filters and the channels `i`
//!
//! - Shapes: `self` is `[time, batch, channels]`, `weight` `[steps, channels, filters]` and `bias` `[filters]`.
//! - Dtypes: one floating-point dtype for all.
//! - Strides: row-major.
//! - Aliasing: `conv_tbc.out` writes `out`.
//! - Dispatch: a composite of `convolution` and `permute`.
//! - Errors: other shapes or dtypes; a negative `pad`, or one with which the sequence is shorter than the filters.
//! - Source: torch.conv_tbc, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kinds::images::check_float;
use opgrid_tensor::ops::{Convolution, Permute};

pub use opgrid_tensor::ops::convolutions::conv_tbc::*;

pub(super) fn register(library: &mut Library) {
    library.implicit(ConvTbc, &kind::CONVOLUTION, |input, weight, bias, pad| {
        check(input, weight, bias)?;
        let out = Convolution.call(
            &Permute.call(input, &[1, 2, 0])?,
            &Permute.call(weight, &[2, 1, 0])?,
            Some(bias),
            &[1],
            &[pad],
            &[1],
            false,
            &[0],
            1,
        )?;
        Permute.call(&out, &[2, 0, 1])?.contiguous()
    });
}

/// # Errors
///
/// Other dimensions; channels or filters that differ; dtypes that are no floats.
fn check(input: &Tensor, weight: &Tensor, bias: &Tensor) -> Result<()> {
    check_float(input.spec()?.dtype())?;
    let (found, filters, bias) = (input.sizes(), weight.spec()?.sizes(), bias.spec()?.sizes());
    match (found, filters, bias) {
        ([_, _, channels], [_, same, filters], [count]) if channels == same && filters == count => Ok(()),
        _ => Err(argument(format!(
            "arguments `self`, `weight` and `bias` have shapes {found:?}, {filters:?} and {bias:?}, expected [time, batch, \
             channels], [steps, channels, filters] and [filters]"
        ))),
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_kinds::images::FLOATS;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = |sizes: &[i64]| generate::numbers(DType::F32, sizes, 0);
        samples.operator(ConvTbc, FLOATS, inputs, convolved).tolerance(64.0).refuses(
            "[steps, channels, filters]",
            given(x(&[4, 2, 3])).and(x(&[2, 2, 3])).and(x(&[3])).and(0),
        );
        samples.rounds(ConvTbc, Roundings::all(Rounding::Sum(64)));
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        let cases: [([i64; 3], [i64; 3], i64); 4] = [
            ([4, 2, 3], [2, 3, 2], 0),
            ([3, 1, 2], [3, 2, 3], 1),
            ([2, 2, 1], [1, 1, 2], 0),
            ([4, 0, 3], [2, 3, 2], 0),
        ];
        let one = |(x, weight, pad): ([i64; 3], [i64; 3], i64)| {
            let sample = given(generate::numbers(dtype, &x, 1)).and(generate::numbers(dtype, &weight, 2));
            sample.and(generate::numbers(dtype, &weight[2..], 3)).and(pad)
        };
        cases.map(one).to_vec()
    }

    fn convolved(it: &Inputs) -> Result<Expected> {
        let (x, weight, bias, pad): (_, _, _, i64) =
            (it.tensor("self")?, it.tensor("weight")?, it.tensor("bias")?, it.value("pad")?);
        let [steps, channels, filters] = [weight.sizes()[0], weight.sizes()[1], weight.sizes()[2]];
        let sizes = [x.sizes()[0] + 2 * pad - steps + 1, x.sizes()[1], filters];
        let filter_sizes = [steps, channels];
        let real = |x: &Plain, position: &[i64]| x.at(position).to_complex().re;
        Ok(Plain::from_fn(x.dtype(), &sizes, |position| {
            let (time, batch, filter) = (position[0], position[1], position[2]);
            let places = naive::positions(&filter_sizes);
            let is_inside = |place: &Vec<i64>| (0..x.sizes()[0]).contains(&(time + place[0] - pad));
            let terms = places.filter(is_inside).map(|place| {
                let (k, channel) = (place[0], place[1]);
                real(x, &[time + k - pad, batch, channel]) * real(weight, &[k, channel, filter])
            });
            Scalar::Float(terms.sum::<f64>() + real(bias, &[filter]))
        })
        .into())
    }
}
