//! `aten::nan_to_num`: numbers instead of NaN and infinity.
//!
//! `out[i] = nan, posinf or neginf if self[i] is NaN, inf or -inf, self[i] otherwise`
//!
//! - Shapes: that of `self`.
//! - Dtypes: that of `self`; integers and bools stay what they are. Of complex numbers each part by itself.
//! - Values: without `nan` it is 0, without `posinf` and `neginf` these are the ends of the range of the dtype.
//! - Aliasing: `nan_to_num_` writes `self`, `nan_to_num.out` writes `out`, which has the dtype of `self`.
//! - Source: torch.nan_to_num, PyTorch 2.15.

use num_complex::Complex;

use crate::prelude::*;
use opgrid_tensor::tensor::{Element, finfo};

pub use opgrid_tensor::ops::pointwise::nan_to_num::*;

/// The family of `aten::nan_to_num`: its kind, shape rule and `out` rule.
pub const NAN_TO_NUM: Family<NanToNum> =
    Family::new(NanToNum, &kind::POINTWISE_UNARY, |input, _, _, _| pointwise::unary(input)).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&NAN_TO_NUM).cpu(cpu).derivative(|d, (input, ..)| {
        d.by(input, [input], |grad, [x]| derivatives::where_true(&x.isfinite()?, grad))
    });
}

/// The ends of the range of floats, or of the parts of complex numbers.
fn range(dtype: DType) -> (f64, f64) {
    let dtype = match dtype {
        DType::Complex64 => DType::F32,
        DType::Complex128 => DType::F64,
        other => other,
    };
    finfo(dtype).map_or((0.0, 0.0), |limits| (limits.min, limits.max))
}

fn cpu(
    input: &Tensor,
    nan: Option<f64>,
    posinf: Option<f64>,
    neginf: Option<f64>,
    out: &Tensor,
) -> Result<()> {
    let dtype = input.dtype();
    let (least, most) = range(dtype);
    let instead = [nan.unwrap_or(0.0), posinf.unwrap_or(most), neginf.unwrap_or(least)];
    match dtype {
        DType::Complex64 => {
            let part = finite(instead.map(|number| number as f32));
            elementwise::unary::<Complex<f32>, Complex<f32>>(out, input, move |a| {
                Complex::new(part(a.re), part(a.im))
            })
        }
        DType::Complex128 => {
            let part = finite(instead);
            elementwise::unary::<Complex<f64>, Complex<f64>>(out, input, move |a| {
                Complex::new(part(a.re), part(a.im))
            })
        }
        dtype if dtype.is_floating_point() => with_dtype!(dtype, T: Float => {
            elementwise::unary::<T, T>(out, input, finite(instead.map(|number| number.cast::<Math<T>>())))
        }),
        _ => elementwise::copy(out, input),
    }
}

/// What a float becomes, by what stands instead of NaN, infinity and minus infinity.
#[inline(always)]
fn finite<T: Inexact + PartialEq + PartialOrd>([nan, most, least]: [T; 3]) -> impl Fn(T) -> T + Copy + Sync {
    let infinity = T::ONE.over(T::ZERO);
    move |x| {
        let result = if x == infinity { most } else { x };
        let result = if x == infinity.negated() { least } else { result };
        #[allow(clippy::eq_op, reason = "only NaN differs from itself")]
        if x != x { nan } else { result }
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let inputs = |dtype| {
            let named = |sample: Sample| sample.and(0.5).and(-2.0).and(3.0);
            generate::unary(dtype).into_iter().flat_map(|sample| [sample.clone(), named(sample)]).collect()
        };
        samples.operator(NanToNum, ANY, inputs, |it| {
            let [nan, most, least]: [Option<f64>; 3] =
                [it.option("nan")?, it.option("posinf")?, it.option("neginf")?];
            let limit = it.tensor("self").map(|x| range(x.dtype()))?;
            let part = |x: f64| match x {
                x if x.is_nan() => nan.unwrap_or(0.0),
                f64::INFINITY => most.unwrap_or(limit.1),
                f64::NEG_INFINITY => least.unwrap_or(limit.0),
                x => x,
            };
            it.unary(DTypeRule::Promoted, |x| match x {
                Scalar::Float(x) => Scalar::Float(part(x)),
                Scalar::Complex(x) => Scalar::Complex(Complex64::new(part(x.re), part(x.im))),
                x => x,
            })
        });
    }
}
