//! `aten::selu`: `elu` with the numbers for which a normal distribution keeps its mean and variance.
//!
//! `out[i] = 1.0507 * self[i] if self[i] > 0, 1.0507 * 1.6733 * (e ^ self[i] - 1) otherwise`
//!
//! - Shapes: that of `self`.
//! - Dtypes: floating-point ones.
//! - Aliasing: `selu_` writes `self`.
//! - Dispatch: a composite of `elu`.
//! - Errors: other dtypes.
//! - Source: torch.nn.functional.selu, PyTorch 2.15; G. Klambauer et al., Self-Normalizing Neural Networks (2017).

use crate::prelude::*;
use opgrid_tensor::ops::{Elu, EluInplace};

pub use opgrid_tensor::ops::activations::selu::*;

const ALPHA: f64 = 1.673_263_242_354_377_2;
const SCALE: f64 = 1.050_700_987_355_480_5;

pub(super) fn register(library: &mut Library) {
    library
        .define_with_forms(Selu, &kind::POINTWISE_UNARY)
        .implicit(|input| Elu.call(input, ALPHA.into(), SCALE.into(), 1.into()));
    library
        .implement(SeluInplace)
        .implicit(|input| EluInplace.call(input, ALPHA.into(), SCALE.into(), 1.into()));
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        activation::samples::collect(samples, Selu, |x| activation::samples::elu(x, [ALPHA, SCALE, 1.0]))
            .tolerance(8.0);
        samples.rounds(Selu, pointwise::samples::ELEMENTARY);
    }
}
