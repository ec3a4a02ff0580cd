//! `aten::log_sigmoid`: the logarithm of the logistic function.
//!
//! `out[i] = min(self[i], 0) - ln(1 + e ^ -|self[i]|)`
//!
//! - Shapes: that of `self`.
//! - Dtypes: floating-point ones.
//! - Aliasing: `log_sigmoid.out` writes `out`, which has the dtype of `self`.
//! - Dispatch: a composite of `log_sigmoid_forward`.
//! - Errors: other dtypes.
//! - Source: torch.nn.functional.logsigmoid, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::LogSigmoidForward;

pub use opgrid_tensor::ops::activations::log_sigmoid::*;

pub(super) fn register(library: &mut Library) {
    library
        .define_with_forms(LogSigmoid, &kind::POINTWISE_UNARY)
        .implicit(|input| Ok(LogSigmoidForward.call(input)?.0));
    library.implement(LogSigmoidOut).implicit(|input, out| {
        let made = LogSigmoidForward.call(input)?.0;
        result::same_dtype(out, made.spec()?)?;
        result::converted(&[(out, &made)])
    });
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        activation::samples::collect(samples, LogSigmoid, number::log_sigmoid).tolerance(8.0);
        samples.differs(LogSigmoid, activation::samples::LOG_SIGMOID_IN_ROWS);
        samples.rounds(LogSigmoid, pointwise::samples::ELEMENTARY);
    }
}
