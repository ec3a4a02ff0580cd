//! `aten::cumsum`: the sums of all elements up to each one along a dimension.
//!
//! `out[i] = self[0] + self[1] + … + self[i]`, with indices of dimension `dim`
//!
//! - Shapes: that of `self`; row-major.
//! - Dtypes: `dtype` if given, to which each element is converted first; otherwise that of `self`, int64 for integers and
//!   bools. Integers wrap around. Floats are kept in double precision from element to element.
//! - Aliasing: `cumsum_` writes `self`, `cumsum.out` writes `out`, each in its own dtype.
//! - Errors: a bool `dtype`, `out` or `self` of `cumsum_`; an `out`, or `self` of `cumsum_`, of another dtype than `dtype`;
//!   a dimension out of range.
//! - Source: torch.cumsum, PyTorch 2.15.

use crate::kinds::scans;
use crate::prelude::*;
use opgrid_kernels::scan;

pub use opgrid_tensor::ops::scans::cumsum::*;

/// The family of `aten::cumsum`: its kind, shape rule and `out` rule.
pub const CUMSUM: Family<Cumsum> = Family::new(Cumsum, &kind::SCAN, scans::along)
    .in_place_shape(scans::in_place)
    .out_shape(scans::into_output);

pub(super) fn register(library: &mut Library) {
    library
        .family(&CUMSUM)
        .cpu(|input, dim, _, out| {
            scan::sums(out.array()?, input.array()?, scans::dimension(input, dim)?, out.dtype())
        })
        .derivative(|d, (input, dim, _)| d.by(input, [], move |grad, []| scans::sums_from_end(grad, dim)));
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        scans::samples::collect(samples, Cumsum, 0, number::plus).tolerance(4.0);
        samples.differs(Cumsum, scans::samples::ONE_BOOL);
        samples.rounds(Cumsum, Roundings::all(Rounding::Sum(2)));
    }
}
