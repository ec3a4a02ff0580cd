//! `aten::allclose`: whether all elements are as good as equal.
//!
//! - Shapes: `self` and `other` broadcast.
//! - Dtypes, values, errors: as [`Isclose`].
//! - Dispatch: a composite of `isclose` and `all`, which reads the answer.
//! - Source: torch.allclose, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::{All, Isclose};

pub use opgrid_tensor::ops::comparisons::allclose::*;

pub(super) fn register(library: &mut Library) {
    library.define(Allclose).kind(&kind::QUESTION).on_every_backend(allclose);
}

fn allclose(input: &Tensor, other: &Tensor, rtol: f64, atol: f64, equal_nan: bool) -> Result<bool> {
    let all = All.call(&Isclose.call(input, other, rtol, atol, equal_nan)?)?;
    Ok(all.to_vec::<Bool>()? == [Bool::TRUE])
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples
            .operator(Allclose, ANY, generate::nearby, |it| {
                let close = comparison::samples::is_close(it)?;
                Ok(Expected::Value(close.elements().iter().all(|close| close.to_bool()).into()))
            })
            .not_on_meta();
    }
}
