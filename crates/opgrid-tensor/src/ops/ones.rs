//! `aten::ones`: a new tensor with one everywhere.
//!
//! `out[i] = 1`
//!
//! - Shapes: `size`, row-major.
//! - Dtypes: `dtype`, the default one without it.
//! - Aliasing: `ones.out` writes `out`, and gives it its shape if it has no elements.
//! - Dispatch: as [`EmptyMemoryFormat`]; a composite of `empty` and `fill_`.
//! - Errors: what `empty` refuses.
//! - Source: torch.ones, PyTorch 2.15.

use super::factory::Factories;
use super::prelude::*;
use super::{EmptyMemoryFormat, FillInplaceScalar};
use crate::families::result::give_shape;

operator! {
    home = crate::home;
    pub Ones = "aten::ones(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", out;
}

pub(super) fn register(library: &mut Library) {
    library.define_with_forms(Ones, &kind::FACTORY).factory(Ones, ones);
    library.implement(OnesOut).on_every_backend(ones_out);
}

pub(super) fn samples(samples: &mut Samples) {
    samples
        .of(Ones, ANY, make::shapes, |it| make::filled(it, Scalar::Int(1)))
        .output_decides()
        .refuses("", given([2, -1].to_vec()));
}

fn ones(
    size: &[i64],
    dtype: Option<DType>,
    layout: Option<Layout>,
    device: Option<Device>,
    pin_memory: Option<bool>,
) -> Result<Tensor> {
    let result = EmptyMemoryFormat.call(size, dtype, layout, device, pin_memory, None)?;
    FillInplaceScalar.call(&result, Scalar::Int(1))?;
    Ok(result)
}

fn ones_out(size: &[i64], out: &Tensor) -> Result<()> {
    give_shape(out, &TensorSpec::contiguous(size, out.dtype(), out.device())?)?;
    FillInplaceScalar.call(out, Scalar::Int(1))
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
