//! `aten::imag`: the imaginary parts.
//!
//! `out[i]` is the imaginary part of `self[i]`
//!
//! - Shapes: that of `self`.
//! - Dtypes: complex ones; the result has that of the parts.
//! - Aliasing: a view of `self`.
//! - Dispatch: a composite of `view_as_real` and `select`.
//! - Errors: real numbers, which have none.
//! - Source: torch.imag, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::{SelectInt, ViewAsReal};

pub use opgrid_tensor::ops::complex::imag::*;

pub(super) fn register(library: &mut Library) {
    library.define(Imag).kind(&kind::VIEW).implicit(|input| {
        pointwise::check_complex("self", input.spec()?.dtype())?;
        SelectInt.call(&ViewAsReal.call(input)?, -1, 1)
    });
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.operator(Imag, COMPLEX, generate::unary, |it| complex::samples::parts(it, |x| x.im)).view();
    }
}
