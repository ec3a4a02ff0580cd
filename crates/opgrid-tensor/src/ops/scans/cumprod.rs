//! `aten::cumprod`: the products of all elements up to each one along a dimension.
//!
//! `out[i] = self[0] * self[1] * … * self[i]`, with indices of dimension `dim`
//!
//! - Shapes: that of `self`; row-major.
//! - Dtypes: `dtype` if given, to which each element is converted first; otherwise that of `self`, int64 for integers and
//!   bools. Integers wrap around. Floats are kept in double precision from element to element.
//! - Aliasing: `cumprod_` writes `self`, `cumprod.out` writes `out`, each in its own dtype.
//! - Errors: a bool `dtype`, `out` or `self` of `cumprod_`; an `out`, or `self` of `cumprod_`, of another dtype than `dtype`;
//!   a dimension out of range.
//! - Source: torch.cumprod, PyTorch 2.15.

use crate::kernels::scan;
use crate::ops::kinds::scans;
use crate::ops::prelude::*;

operator! {
    home = crate::home;
    pub Cumprod = "aten::cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", in_place, out;
}

/// Kind, shape rule and rules for outputs, for everybody.
pub const CUMPROD: Family<Cumprod> = Family::new(Cumprod, &kind::SCAN, scans::along)
    .in_place_shape(scans::in_place)
    .out_shape(scans::into_output);

pub(super) fn register(library: &mut Library) {
    library.family(&CUMPROD).cpu(|input, dim, _, out| {
        scan::products(out.array()?, input.array()?, scans::dimension(input, dim)?, out.dtype())
    });
}

pub(super) fn samples(samples: &mut Samples) {
    scans::samples(samples, Cumprod, 1, number::times).tolerance(64.0);
    samples.rounds(Cumprod, Roundings::all(Rounding::Result(4)));
}

impl Tensor {
    /// The products of all elements up to each one along a dimension.
    ///
    /// # Errors
    ///
    /// Those of [`Cumprod`].
    pub fn cumprod(&self, dim: i64) -> Result<Self> {
        Cumprod.call(self, dim, None)
    }
}
