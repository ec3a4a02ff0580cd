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

use crate::prelude::*;
use opgrid_kinds::factory::Factories;
use opgrid_tensor::families::result::give_shape;
use opgrid_tensor::ops::{EmptyMemoryFormat, FillInplaceScalar};

pub use opgrid_tensor::ops::factories::full::*;

pub(super) fn register(library: &mut Library) {
    library.define_with_forms(Full, &kind::FACTORY).factory(full);
    library.implement(FullOut).on_every_backend(full_out);
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

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples
            .operator(Full, STORED, inputs, |it| generate::filled(it, it.value("fill_value")?))
            .output_decides()
            .refuses_data("overflow", given([2].to_vec()).and(300).named("dtype", DType::U8));
        let without_dtype = |dtype| match dtype {
            DType::F32 => vec![given([2].to_vec()).and(0.5)],
            DType::I64 => vec![given([2].to_vec()).and(2)],
            _ => Vec::new(),
        };
        samples
            .operator(Full, &[DType::F32, DType::I64], without_dtype, |it| {
                let number: Scalar = it.value("fill_value")?;
                let dtype = if number == Scalar::Int(2) { DType::I64 } else { DType::F32 };
                Ok(Plain::from_elements(dtype, &[2], &[number]).into())
            })
            .output_decides();
        samples.differs(Full, departures::arithmetic::NUMBERS_FIT);
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        let filled = |sizes: &[i64], number: Scalar| given(sizes.to_vec()).and(number).named("dtype", dtype);
        vec![
            filled(&[2, 3], 3.into()),
            filled(&[], true.into()),
            filled(&[0], 1.into()),
            filled(&[2], 1.75.into()),
        ]
    }
}
