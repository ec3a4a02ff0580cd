//! `aten::ones`: a new tensor with one everywhere.
//!
//! `out[i] = 1`
//!
//! - Shapes: `size`, row-major.
//! - Dtypes: `dtype`, the default one without it.
//! - Aliasing: `ones.out` writes `out`, and gives it its shape if it has no elements.
//! - Dispatch: as [`EmptyMemoryFormat`](opgrid_tensor::ops::EmptyMemoryFormat); a composite of `empty` and `fill_`.
//! - Errors: what `empty` refuses.
//! - Source: torch.ones, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kinds::factory;
use opgrid_tensor::ops::FillInplaceScalar;

pub use opgrid_tensor::ops::factories::ones::*;

pub(super) fn register(library: &mut Library) {
    factory::define_filled(library, Ones, OnesOut, |out| FillInplaceScalar.call(out, Scalar::Int(1)));
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples
            .operator(Ones, STORED, generate::shapes, |it| generate::filled(it, Scalar::Int(1)))
            .output_decides()
            .refuses("", given([2, -1].to_vec()));
    }
}
