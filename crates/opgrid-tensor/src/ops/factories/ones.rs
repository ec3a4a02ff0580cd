//! `aten::ones`: a new tensor with one everywhere.
//!
//! `out[i] = 1`
//!
//! - Shapes: `size`, row-major.
//! - Dtypes: `dtype`, the default one without it.
//! - Aliasing: `ones.out` writes `out`, and gives it its shape if it has no elements.
//! - Dispatch: as [`EmptyMemoryFormat`](crate::ops::EmptyMemoryFormat); a composite of `empty` and `fill_`.
//! - Errors: what `empty` refuses.
//! - Source: torch.ones, PyTorch 2.15.

use crate::ops::FillInplaceScalar;
use crate::ops::kinds::factory;
use crate::ops::prelude::*;

operator! {
    home = crate::home_of(register);
    pub Ones = "aten::ones(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", out;
}

pub(super) fn register(library: &mut Library) {
    factory::define_filled(library, Ones, OnesOut, |out| FillInplaceScalar.call(out, Scalar::Int(1)));
}

impl Tensor {
    /// A new tensor of ones.
    ///
    /// # Errors
    ///
    /// Those of [`Ones`].
    pub fn ones(size: &[i64], dtype: DType, device: Device) -> Result<Self> {
        Ones.call(size, Some(dtype), None, Some(device), None)
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples
            .of(Ones, STORED, make::shapes, |it| make::filled(it, Scalar::Int(1)))
            .output_decides()
            .refuses("", given([2, -1].to_vec()));
    }
}
