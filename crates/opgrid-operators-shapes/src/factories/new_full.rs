//! `aten::new_full`, `aten::new_zeros`, `aten::new_ones`: a new tensor of other sizes with one number everywhere.
//!
//! `out[i] = fill_value`
//!
//! - Shapes: `size`, row-major.
//! - Dtypes, devices: those of `self` unless given.
//! - Aliasing: the `out` forms write `out`, in its dtype, and give it its shape if it has no elements.
//! - Dispatch: composites of `empty` and `fill_`.
//! - Errors: a number beyond the range of the dtype; what `empty` refuses.
//! - Source: torch.Tensor.new_full, torch.Tensor.new_zeros, torch.Tensor.new_ones, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kinds::factory;
use opgrid_tensor::ops::{FillInplaceScalar, NewEmpty, ZeroInplace};

pub use opgrid_tensor::ops::factories::new_full::*;

pub(super) fn register(library: &mut Library) {
    library.define_with_forms(NewFull, &kind::FACTORY).on_every_backend(
        |input, size, value, dtype, layout, device, pin_memory| {
            let out = NewEmpty.call(input, size, dtype, layout, device, pin_memory)?;
            FillInplaceScalar.call(&out, value).map(|()| out)
        },
    );
    library.implement(NewFullOut).on_every_backend(|input, size, value, out| {
        into(out, input, size, |out| FillInplaceScalar.call(out, value))
    });
    library.define_with_forms(NewZeros, &kind::FACTORY).on_every_backend(
        |input, size, dtype, layout, device, pin_memory| {
            let out = NewEmpty.call(input, size, dtype, layout, device, pin_memory)?;
            ZeroInplace.call(&out).map(|()| out)
        },
    );
    library
        .implement(NewZerosOut)
        .on_every_backend(|input, size, out| into(out, input, size, |out| ZeroInplace.call(out)));
    library.define_with_forms(NewOnes, &kind::FACTORY).on_every_backend(
        |input, size, dtype, layout, device, pin_memory| {
            NewFull.call(input, size, Scalar::Int(1), dtype, layout, device, pin_memory)
        },
    );
    library
        .implement(NewOnesOut)
        .on_every_backend(|input, size, out| NewFullOut.call(input, size, Scalar::Int(1), out));
}

fn into(out: &Tensor, input: &Tensor, size: &[i64], fill: impl FnOnce(&Tensor) -> Result<()>) -> Result<()> {
    input.spec()?;
    factory::give(out, Geometry::contiguous(size)?, fill)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let with_number =
            |dtype| sizes(dtype).into_iter().map(|sample| sample.and(Scalar::Float(2.0))).collect();
        samples
            .operator(NewFull, STORED, with_number, |it| filled(it, it.value("fill_value")?))
            .output_decides()
            .refuses("", given(generate::numbers(DType::F32, &[2], 0)).and([-1].to_vec()).and(1))
            .refuses_data(
                "overflow",
                given(generate::numbers(DType::U8, &[2], 0)).and([2].to_vec()).and(300),
            );
        samples.operator(NewZeros, STORED, sizes, |it| filled(it, Scalar::Int(0))).output_decides();
        samples.operator(NewOnes, STORED, sizes, |it| filled(it, Scalar::Int(1))).output_decides();
        samples.differs(NewFull, departures::arithmetic::NUMBERS_FIT);
    }

    /// A tensor and sizes of a new one.
    pub(crate) fn sizes(dtype: DType) -> Vec<Sample> {
        let cases: [(&[i64], &[i64]); 4] = [(&[2, 3], &[4]), (&[], &[2, 2]), (&[0], &[]), (&[3], &[2, 0])];
        cases.map(|(sizes, size)| given(generate::numbers(dtype, sizes, 0)).and(size.to_vec())).to_vec()
    }

    fn filled(it: &Inputs, number: Scalar) -> Result<Expected> {
        let size: Vec<i64> = it.value("size")?;
        Ok(Plain::from_elements(it.tensor("self")?.dtype(), &size, &[number]).into())
    }
}
