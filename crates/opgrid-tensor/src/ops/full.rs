//! `aten::full`: a new tensor with one number everywhere.
//!
//! `out[i] = fill_value`
//!
//! - Shapes: `size`, row-major.
//! - Dtypes: `dtype`; without it that of the number: bool, int64, the default dtype, or the complex one of it.
//! - Aliasing: `full.out` writes `out`, and gives it its shape if it has no elements.
//! - Dispatch: as [`EmptyMemoryFormat`]; a composite of `empty` and `fill_`.
//! - Errors: a number beyond the range of the dtype; what `empty` refuses.
//! - Source: torch.full, PyTorch 2.15.

use super::factory::Factories;
use super::prelude::*;
use super::structured::give_shape;
use super::{EmptyMemoryFormat, FillInplaceScalar};

operator! {
    home = crate::home;
    pub Full = "aten::full(SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor";
    pub FullOut = "aten::full.out(SymInt[] size, Scalar fill_value, *, Tensor(a!) out) -> Tensor(a!)";
}

pub(super) fn register(library: &mut Library) {
    library.define(Full).factory(Full, full);
    library.define(FullOut).everywhere(full_out);
}

fn full(
    size: &[i64],
    fill_value: Scalar,
    dtype: Option<DType>,
    layout: Option<Layout>,
    device: Option<Device>,
    pin_memory: Option<bool>,
) -> Result<Tensor> {
    let dtype = dtype.map_or_else(|| result_type(&[&fill_value.into()]), Ok)?;
    let result = EmptyMemoryFormat.call(size, Some(dtype), layout, device, pin_memory, None)?;
    FillInplaceScalar.call(&result, fill_value)?;
    Ok(result)
}

fn full_out(size: &[i64], fill_value: Scalar, out: &Tensor) -> Result<()> {
    give_shape(out, &TensorSpec::contiguous(size, out.dtype(), out.device())?)?;
    FillInplaceScalar.call(out, fill_value)
}
