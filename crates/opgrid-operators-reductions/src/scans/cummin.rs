//! `aten::cummin`: the smallest of all elements up to each one along a dimension, and where it is.
//!
//! `values[i] = min(self[0], self[1], …, self[i]) = self[indices[i]]`, with indices of dimension `dim`
//!
//! - Shapes: that of `self`; row-major.
//! - Dtypes: that of `self`; indices are int64, of several smallest elements that of the last. NaN wins over every number.
//! - Aliasing: `cummin.out` writes `values` and `indices`.
//! - Errors: complex numbers; a dimension out of range; an output of another dtype.
//! - Source: torch.cummin, PyTorch 2.15.

use crate::kinds::scans;
use crate::prelude::*;

pub use opgrid_tensor::ops::scans::cummin::*;

/// The family of `aten::cummin`: its kind, shape rule and `out` rule.
pub const CUMMIN: Family<Cummin> = Family::new(Cummin, &kind::SCAN, scans::with_indices).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library
        .family(&CUMMIN)
        .cpu(|input, dim, values, indices| scans::fill_extremes(input, dim, true, values, indices))
        .derivative(|d, (input, dim)| scans::derivative_of_extremes(d, input, dim));
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::kinds::order;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.differs(Cummin, order::samples::ONE_COMPLEX_NUMBER);
        scans::samples::of_extreme(samples, Cummin, |order| !order.is_lt());
    }
}
