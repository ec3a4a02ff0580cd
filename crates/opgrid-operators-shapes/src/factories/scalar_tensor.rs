//! `aten::scalar_tensor`: a number as a tensor without dimensions.
//!
//! - Dtypes: `dtype`, the default one without it, whatever kind the number is of.
//! - Aliasing: `scalar_tensor.out` writes `out`, in its dtype, and gives it its shape if it has no elements.
//! - Dispatch: as [`EmptyMemoryFormat`]; a composite of `empty` and `fill_`.
//! - Errors: a number beyond the range of the dtype; what `empty` refuses.
//! - Source: torch.scalar_tensor, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kinds::factory::Factories;
use opgrid_tensor::ops::{EmptyMemoryFormat, FillInplaceScalar};

pub use opgrid_tensor::ops::factories::scalar_tensor::*;

pub(super) fn register(library: &mut Library) {
    library.define_with_forms(ScalarTensor, &kind::FACTORY).factory(scalar_tensor);
    library.implement(ScalarTensorOut).on_every_backend(|s, out| {
        result::give_shape(out, &TensorSpec::contiguous(&[], out.spec()?.dtype(), out.device())?)?;
        FillInplaceScalar.call(out, s)
    });
}

fn scalar_tensor(
    s: Scalar,
    dtype: Option<DType>,
    layout: Option<Layout>,
    device: Option<Device>,
    pin_memory: Option<bool>,
) -> Result<Tensor> {
    let result = EmptyMemoryFormat.call(&[], dtype, layout, device, pin_memory, None)?;
    FillInplaceScalar.call(&result, s)?;
    Ok(result)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let inputs = |dtype| {
            [Scalar::Int(3), Scalar::Float(1.75), Scalar::Bool(true)]
                .map(|number| given(number).named("dtype", dtype))
                .to_vec()
        };
        samples
            .operator(ScalarTensor, STORED, inputs, |it| {
                let dtype: Option<DType> = it.value("dtype")?;
                Ok(Plain::number(dtype.unwrap_or(default_dtype()), it.value::<Scalar>("s")?).into())
            })
            .output_decides()
            .refuses_data("overflow", given(300).named("dtype", DType::U8));
        samples.differs(ScalarTensor, departures::arithmetic::NUMBERS_FIT);
    }
}
