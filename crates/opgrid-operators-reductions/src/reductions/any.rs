//! `aten::any`: whether some element is other than zero, of all elements or over dimensions.
//!
//! `out[j] = self[0, j] != 0 || self[1, j] != 0 || …`
//!
//! - Shapes: without the dimensions of `dim`, or with size 1 for them with `keepdim`; no `dim` means all, and an empty
//!   list none.
//! - Dtypes: bool; uint8 for uint8.
//! - Values: false for no elements. NaN is other than zero.
//! - Aliasing: `any.out`, `any.all_out` and `any.dims_out` write `out`.
//! - Errors: a dimension out of range or named twice; an `out` of another dtype than bool and uint8.
//! - Source: torch.any, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::choice;

pub use opgrid_tensor::ops::reductions::any::*;

/// The family of `aten::any`: its kind, shape rule and `out` rule.
pub const ANY_ELEMENT: Family<Any> =
    Family::new(Any, &kind::REDUCTION, any_all::of_all).out_shape(any_all::of_all_into);

/// The family of `aten::any.dim`: its kind, shape rule and `out` rule.
pub const ANY_DIM: Family<AnyDim> =
    Family::new(AnyDim, &kind::REDUCTION, any_all::over_dim).out_shape(any_all::over_dim_into);

/// The family of `aten::any.dims`: its kind, shape rule and `out` rule.
pub const ANY_DIMS: Family<AnyDims> =
    Family::new(AnyDims, &kind::REDUCTION, any_all::over_dims).out_shape(any_all::over_dims_into);

pub(super) fn register(library: &mut Library) {
    library.family(&ANY_ELEMENT).cpu(|input, out| cpu(input, None, false, out));
    library.family(&ANY_DIM).cpu(|input, dim, keepdim, out| cpu(input, Some(&[dim]), keepdim, out));
    library.family(&ANY_DIMS).cpu(cpu);
}

fn cpu(input: &Tensor, dim: Option<&[i64]>, _keepdim: bool, out: &Tensor) -> Result<()> {
    match dim {
        Some([]) => elementwise::unary::<Bool, Bool>(out, input, |value| value),
        dims => choice::any(out, input, dims.unwrap_or(&[])),
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        any_all::samples::collect(samples, (Any, AnyDim, AnyDims), |elements| {
            elements.iter().any(|element| element.to_bool())
        });
    }
}
