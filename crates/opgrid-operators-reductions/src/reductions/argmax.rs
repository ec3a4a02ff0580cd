//! `aten::argmax`: where the largest element is, of all or over a dimension.
//!
//! `self[argmax(self)] = max(self)`
//!
//! - Shapes: without `dim`, or with size 1 for it with `keepdim`; without one it is an index into all elements in
//!   row-major order.
//! - Dtypes: int64. Of several largest elements it is the first; NaN is larger than every number.
//! - Aliasing: `argmax.out` writes `out`.
//! - Errors: complex numbers and bools; nothing to choose from; a dimension out of range.
//! - Source: torch.argmax, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::choice;

pub use opgrid_tensor::ops::reductions::argmax::*;

/// The family of `aten::argmax`: its kind, shape rule and `out` rule.
pub const ARGMAX: Family<Argmax> = Family::new(Argmax, &kind::REDUCTION, extremum::index).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&ARGMAX).cpu(cpu);
}

fn cpu(input: &Tensor, dim: Option<i64>, _keepdim: bool, out: &Tensor) -> Result<()> {
    choice::index_of_largest(out, input, dim.as_slice())
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        extremum::samples::of_index(samples, Argmax, |order| order.is_lt());
    }
}
