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

use crate::ops::prelude::*;
use crate::ops::{SelectInt, ViewAsReal};

operator! {
    home = crate::home_of(register);
    /// The imaginary parts.
    pub Imag = "aten::imag(Tensor(a) self) -> Tensor(a)", method;
}

pub(super) fn register(library: &mut Library) {
    library.define(Imag).kind(&kind::VIEW).implicit(|input| {
        pointwise::check_complex("self", input.spec()?.dtype())?;
        SelectInt.call(&ViewAsReal.call(input)?, -1, 1)
    });
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.of(Imag, COMPLEX, make::unary, |it| complex::samples::parts(it, |x| x.im)).view();
    }
}
