//! `aten::allclose`: whether all elements are as good as equal.
//!
//! - Shapes: `self` and `other` broadcast.
//! - Dtypes, values, errors: as [`Isclose`].
//! - Dispatch: a composite of `isclose` and `all`, which reads the answer.
//! - Source: torch.allclose, PyTorch 2.15.

use crate::ops::prelude::*;
use crate::ops::{All, Isclose};

operator! {
    home = crate::home_of(register);
    pub Allclose = "aten::allclose(Tensor self, Tensor other, float rtol=1.0000000000000001e-05, float atol=1e-08, bool equal_nan=False) -> bool";
}

pub(super) fn register(library: &mut Library) {
    library.define(Allclose).kind(&kind::QUESTION).on_every_backend(allclose);
}

fn allclose(input: &Tensor, other: &Tensor, rtol: f64, atol: f64, equal_nan: bool) -> Result<bool> {
    let all = All.call(&Isclose.call(input, other, rtol, atol, equal_nan)?)?;
    Ok(all.to_vec::<Bool>()? == [Bool::TRUE])
}

impl Tensor {
    /// Whether all elements are as good as equal.
    ///
    /// # Errors
    ///
    /// Those of [`Allclose`].
    pub fn allclose(&self, other: &Self, rtol: f64, atol: f64) -> Result<bool> {
        Allclose.call(self, other, rtol, atol, false)
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples
            .of(Allclose, ANY, make::nearby, |it| {
                let close = comparison::samples::is_close(it)?;
                Ok(Expected::Value(close.elements().iter().all(|close| close.to_bool()).into()))
            })
            .not_on_meta();
    }
}
