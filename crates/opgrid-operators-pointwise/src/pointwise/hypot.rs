//! `aten::hypot`: the length of the hypotenuse of a right triangle.
//!
//! `out[i] = sqrt(self[i]^2 + other[i]^2)`
//!
//! - Shapes: `self` and `other` broadcast.
//! - Dtypes: promoted, floating-point.
//! - Values: squares neither overflow nor underflow on the way; infinite where a leg is, even beside NaN.
//! - Aliasing: `hypot_` writes `self`, `hypot.out` writes `out`.
//! - Errors: integers and bools, complex numbers.
//! - Source: torch.hypot, PyTorch 2.15.

use crate::prelude::*;

pub use opgrid_tensor::ops::pointwise::hypot::*;

/// The family of `aten::hypot`: its kind, shape rule and `out` rule.
pub const HYPOT: Family<Hypot> = Family::new(Hypot, &kind::POINTWISE_BINARY, shape);

pub(super) fn register(library: &mut Library) {
    library.family(&HYPOT).cpu(cpu).derivative(|d, (input, other)| {
        d.by(input, [input, d.result(0)], |grad, [leg, length]| grad * (leg / length)?)?;
        d.by(other, [other, d.result(0)], |grad, [leg, length]| grad * (leg / length)?)
    });
}

fn shape(input: &Tensor, other: &Tensor) -> Result<TensorSpec> {
    let spec = pointwise::promoted([("self", input), ("other", other)])?;
    pointwise::check_float(spec.dtype())?;
    Ok(spec)
}

fn cpu(input: &Tensor, other: &Tensor, out: &Tensor) -> Result<()> {
    let dtype = result_type(&[input, other])?;
    with_dtype!(dtype, T: Float => elementwise::binary::<T, T, T>(out, input, other, Length::length))
}

trait Length {
    /// The length of the hypotenuse over two legs.
    fn length(self, other: Self) -> Self;
}

impl Length for f32 {
    /// In double precision, where no square of a single one is out of range.
    #[inline(always)]
    fn length(self, other: Self) -> Self {
        let (a, b) = (f64::from(self), f64::from(other));
        let length = (a * a + b * b).sqrt() as Self;
        if self.is_infinite() || other.is_infinite() { Self::INFINITY } else { length }
    }
}

impl Length for f64 {
    /// Scaled by a power of two, where the longer leg is near the ends of the range: its square is far from them then, and
    /// what is lost of the shorter one's is too small to count beside it.
    #[inline(always)]
    fn length(self, other: Self) -> Self {
        const FAR: f64 = 3.273390607896142e150; // 2^500
        const UP: f64 = 4.149515568880993e180; // 2^600
        let longer = self.abs().max(other.abs());
        let scale = if longer > FAR {
            1.0 / UP
        } else if longer < 1.0 / FAR {
            UP
        } else {
            1.0
        };
        let (a, b) = (self * scale, other * scale);
        let length = (a * a + b * b).sqrt() / scale;
        if longer == Self::INFINITY { longer } else { length }
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.operator(Hypot, FLOATS, inputs, reference).tolerance(4.0);
        samples.rounds(Hypot, Roundings::all(Rounding::Result(2)));
    }

    /// Pairs of one dtype, for with another the promoted one may be no float; legs whose squares are out of range.
    fn inputs(dtype: DType) -> Vec<Sample> {
        let shapes: [[&[i64]; 2]; 4] = [[&[2, 3], &[2, 3]], [&[2, 1], &[3]], [&[], &[0]], [&[2, 37], &[37]]];
        let pairs =
            shapes.map(|[a, b]| given(generate::nonzero(dtype, a, 1)).and(generate::nonzero(dtype, b, 2)));
        let pairs = pairs.into_iter();
        // Those of float64 are compared with differences as well, which the ends of its range do not have.
        let far = match dtype {
            DType::F64 => return pairs.collect(),
            DType::F16 => [2f64.powi(12), 2f64.powi(-14)],
            _ => [2f64.powi(120), 2f64.powi(-120)],
        };
        let of_range = far.map(|x| {
            let legs = given(Plain::from_elements(dtype, &[2], &[3.0 * x, f64::INFINITY]));
            legs.and(Plain::from_elements(dtype, &[2], &[4.0 * x, f64::NAN]))
        });
        pairs.chain(of_range).collect()
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        it.binary(DTypeRule::Promoted, |a, b| Scalar::Float(a.to_complex().re.hypot(b.to_complex().re)))
    }
}
