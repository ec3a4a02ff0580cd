//! `aten::all`: whether every element is other than zero, of all elements or over dimensions.
//!
//! `out[j] = self[0, j] != 0 && self[1, j] != 0 && …`
//!
//! - Shapes: without the dimensions of `dim`, or with size 1 for them with `keepdim`; no `dim` means all, and an empty
//!   list none.
//! - Dtypes: bool; uint8 for uint8.
//! - Values: true for no elements. NaN is other than zero.
//! - Aliasing: `all.out`, `all.all_out` and `all.dims_out` write `out`.
//! - Errors: a dimension out of range or named twice; an `out` of another dtype than bool and uint8.
//! - Source: torch.all, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::choice;

pub use opgrid_tensor::ops::reductions::all::*;

/// The family of `aten::all`: its kind, shape rule and `out` rule.
pub const ALL_ELEMENTS: Family<All> =
    Family::new(All, &kind::REDUCTION, any_all::of_all).out_shape(any_all::of_all_into);

/// The family of `aten::all.dim`: its kind, shape rule and `out` rule.
pub const ALL_DIM: Family<AllDim> =
    Family::new(AllDim, &kind::REDUCTION, any_all::over_dim).out_shape(any_all::over_dim_into);

/// The family of `aten::all.dims`: its kind, shape rule and `out` rule.
pub const ALL_DIMS: Family<AllDims> =
    Family::new(AllDims, &kind::REDUCTION, any_all::over_dims).out_shape(any_all::over_dims_into);

pub(super) fn register(library: &mut Library) {
    library.family(&ALL_ELEMENTS).cpu(|input, out| cpu(input, None, false, out));
    library.family(&ALL_DIM).cpu(|input, dim, keepdim, out| cpu(input, Some(&[dim]), keepdim, out));
    library.family(&ALL_DIMS).cpu(cpu);
}

fn cpu(input: &Tensor, dim: Option<&[i64]>, _keepdim: bool, out: &Tensor) -> Result<()> {
    match dim {
        Some([]) => elementwise::unary::<Bool, Bool>(out, input, |value| value),
        dims => choice::all(out, input, dims.unwrap_or(&[])),
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        any_all::samples::collect(samples, (All, AllDim, AllDims), |elements| {
            elements.iter().all(|element| element.to_bool())
        });
    }
}
