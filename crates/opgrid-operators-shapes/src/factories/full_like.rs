//! `aten::full_like`, `aten::zeros_like`, `aten::ones_like`: a new tensor like another one, with one number everywhere.
//!
//! `out[i] = fill_value`
//!
//! - Shapes: that of `self`, in the order of `memory_format`; without one the order of `self` is kept.
//! - Dtypes, devices: those of `self` unless given.
//! - Aliasing: the `out` forms write `out`, in its dtype, and give it its shape if it has no elements.
//! - Dispatch: composites of `empty_like` and `fill_`.
//! - Errors: a number beyond the range of the dtype; what `empty_like` refuses.
//! - Source: torch.full_like, torch.zeros_like, torch.ones_like, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kinds::factory;
use opgrid_tensor::ops::{EmptyLike, FillInplaceScalar, ZeroInplace};

pub use opgrid_tensor::ops::factories::full_like::*;

pub(super) fn register(library: &mut Library) {
    library.define_with_forms(FullLike, &kind::FACTORY).on_every_backend(
        |input, value, dtype, layout, device, pin_memory, format| {
            let out = EmptyLike.call(input, dtype, layout, device, pin_memory, format)?;
            FillInplaceScalar.call(&out, value).map(|()| out)
        },
    );
    library.implement(FullLikeOut).on_every_backend(|input, value, format, out| {
        factory::give_like(out, input, format, |out| FillInplaceScalar.call(out, value))
    });
    library.define_with_forms(ZerosLike, &kind::FACTORY).on_every_backend(
        |input, dtype, layout, device, pin_memory, format| {
            let out = EmptyLike.call(input, dtype, layout, device, pin_memory, format)?;
            ZeroInplace.call(&out).map(|()| out)
        },
    );
    library.implement(ZerosLikeOut).on_every_backend(|input, format, out| {
        factory::give_like(out, input, format, |out| ZeroInplace.call(out))
    });
    library.define_with_forms(OnesLike, &kind::FACTORY).on_every_backend(
        |input, dtype, layout, device, pin_memory, format| {
            FullLike.call(input, Scalar::Int(1), dtype, layout, device, pin_memory, format)
        },
    );
    library
        .implement(OnesLikeOut)
        .on_every_backend(|input, format, out| FullLikeOut.call(input, Scalar::Int(1), format, out));
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let with_number = |dtype| {
            let numbers = [Scalar::Int(3), Scalar::Float(1.75)];
            let all = generate::unary_numbers(dtype).into_iter().zip(numbers.into_iter().cycle());
            all.map(|(sample, number)| sample.and(number)).collect()
        };
        samples
            .operator(FullLike, STORED, with_number, |it| filled(it, it.value("fill_value")?))
            .output_decides()
            .refuses_data("overflow", given(generate::numbers(DType::U8, &[2], 0)).and(300));
        samples
            .operator(ZerosLike, STORED, generate::unary_numbers, |it| filled(it, Scalar::Int(0)))
            .output_decides();
        samples
            .operator(OnesLike, STORED, generate::unary_numbers, |it| filled(it, Scalar::Int(1)))
            .output_decides();
        let converted = |dtype| vec![given(generate::numbers(dtype, &[2, 3], 0)).named("dtype", DType::F64)];
        samples
            .operator(ZerosLike, STORED, converted, |it| {
                Ok(Plain::from_elements(DType::F64, it.tensor("self")?.sizes(), &[0]).into())
            })
            .output_decides();
        samples.differs(FullLike, departures::arithmetic::NUMBERS_FIT);
    }

    fn filled(it: &Inputs, number: Scalar) -> Result<Expected> {
        let x = it.tensor("self")?;
        Ok(Plain::from_elements(x.dtype(), x.sizes(), &[number]).into())
    }
}
