//! `aten::argmin`: where the smallest element is, of all or over a dimension.
//!
//! `self[argmin(self)] = min(self)`
//!
//! - Shapes: without `dim`, or with size 1 for it with `keepdim`; without one it is an index into all elements in
//!   row-major order.
//! - Dtypes: int64. Of several smallest elements it is the first; NaN comes before every number.
//! - Aliasing: `argmin.out` writes `out`.
//! - Errors: complex numbers and bools; nothing to choose from; a dimension out of range.
//! - Source: torch.argmin, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::choice;

pub use opgrid_tensor::ops::reductions::argmin::*;

/// The family of `aten::argmin`: its kind, shape rule and `out` rule.
pub const ARGMIN: Family<Argmin> = Family::new(Argmin, &kind::REDUCTION, extremum::index).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&ARGMIN).cpu(cpu);
}

fn cpu(input: &Tensor, dim: Option<i64>, _keepdim: bool, out: &Tensor) -> Result<()> {
    choice::index_of_smallest(out, input, dim.as_slice())
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        extremum::samples::of_index(samples, Argmin, |order| order.is_gt());
    }
}
