//! `aten::real`: the real parts.
//!
//! `out[i]` is the real part of `self[i]`
//!
//! - Shapes: that of `self`.
//! - Dtypes: that of the parts; real numbers stay what they are.
//! - Aliasing: a view of `self`, and `self` itself for real numbers.
//! - Dispatch: a composite of `view_as_real` and `select`.
//! - Source: torch.real, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::{SelectInt, ViewAsReal};

pub use opgrid_tensor::ops::complex::real::*;

pub(super) fn register(library: &mut Library) {
    library.define(Real).kind(&kind::VIEW).implicit(|input| {
        if input.spec()?.dtype().is_complex() {
            SelectInt.call(&ViewAsReal.call(input)?, -1, 0)
        } else {
            Ok(input.clone())
        }
    });
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.operator(Real, STORED, generate::unary, |it| complex::samples::parts(it, |x| x.re)).view();
    }
}
