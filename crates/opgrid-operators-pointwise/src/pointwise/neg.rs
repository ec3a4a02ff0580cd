//! `aten::neg`: the negative of a tensor.
//!
//! `out[i] = -self[i]`
//!
//! - Shapes: that of `self`.
//! - Dtypes: that of `self`. The smallest integer, whose negative does not fit, stays what it is.
//! - Aliasing: `neg_` writes `self`, `neg.out` writes `out`, which has the dtype of `self`.
//! - Dispatch: `negative` is another name, in all forms.
//! - Errors: bools.
//! - Source: torch.neg, PyTorch 2.15.

use crate::prelude::*;

pub use opgrid_tensor::ops::pointwise::neg::*;

/// The family of `aten::neg`: its kind, shape rule and `out` rule.
pub const NEG: Family<Neg> = Family::new(Neg, &kind::POINTWISE_UNARY, shape).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&NEG).cpu(cpu).derivative(|d, (input,)| d.by(input, [], |grad, []| -grad));
}

fn shape(input: &Tensor) -> Result<TensorSpec> {
    if input.dtype() == DType::Bool {
        let message = "argument `self` is a bool tensor, for which negation is not defined; invert a mask with \
             `logical_not`";
        return Err(argument(message));
    }
    pointwise::promoted([("self", input)])
}

/// The output has the dtype of the input: nothing is converted.
fn cpu(input: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(input.dtype(), T: Number by bits => elementwise::unary::<T, T>(out, input, Math::<T>::negated))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.operator(Neg, NUMBERS, generate::unary, |it| {
            it.unary(DTypeRule::Promoted, |x| number::minus(Scalar::Int(0), x))
        });
        samples.differs(Neg, departures::arithmetic::SIGN_OF_ZERO);
    }
}
