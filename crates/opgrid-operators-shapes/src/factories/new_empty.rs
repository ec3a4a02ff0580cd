//! `aten::new_empty`, `aten::new_empty_strided`: a new tensor of other sizes with any content.
//!
//! - Shapes: `size`, row-major or with the strides that are given.
//! - Dtypes, devices: those of `self` unless given.
//! - Aliasing: the `out` forms give `out`, in its dtype, its shape if it has no elements.
//! - Dispatch: composites of `empty` and `empty_strided`.
//! - Errors: what those refuse.
//! - Source: torch.Tensor.new_empty, PyTorch 2.15. Unlike there, memory that was never written reads as zero.

use crate::prelude::*;
use opgrid_kinds::factory;
use opgrid_tensor::ops::{EmptyMemoryFormat, EmptyStrided};

pub use opgrid_tensor::ops::factories::new_empty::*;

pub(super) fn register(library: &mut Library) {
    library.define_with_forms(NewEmpty, &kind::FACTORY).on_every_backend(
        |input, size, dtype, layout, device, pin_memory| {
            let spec = input.spec()?;
            let (dtype, device) = (dtype.unwrap_or(spec.dtype()), device.unwrap_or(spec.device()));
            EmptyMemoryFormat.call(size, Some(dtype), layout, Some(device), pin_memory, None)
        },
    );
    library.implement(NewEmptyOut).on_every_backend(|input, size, out| {
        input.spec()?;
        factory::give(out, Geometry::contiguous(size)?, |_| Ok(()))
    });
    library.define_with_forms(NewEmptyStrided, &kind::FACTORY).on_every_backend(
        |input, size, stride, dtype, layout, device, pin_memory| {
            let spec = input.spec()?;
            let (dtype, device) = (dtype.unwrap_or(spec.dtype()), device.unwrap_or(spec.device()));
            EmptyStrided.call(size, stride, Some(dtype), layout, Some(device), pin_memory)
        },
    );
    library.implement(NewEmptyStridedOut).on_every_backend(|input, size, stride, out| {
        input.spec()?;
        factory::give(out, Geometry::strided(size, stride, 0)?, |_| Ok(()))
    });
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::factories::new_full::samples::sizes;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let shape = |it: &Inputs| Ok(Expected::Shape(it.value("size")?, it.tensor("self")?.dtype()));
        let x = generate::numbers(DType::F32, &[2], 0);
        samples.operator(NewEmpty, STORED, sizes, shape).refuses("", given(x.clone()).and([-1].to_vec()));
        let strided = |dtype| {
            let cases: [[&[i64]; 3]; 3] =
                [[&[2], &[2, 3], &[1, 2]], [&[], &[], &[]], [&[0], &[3, 0], &[1, 1]]];
            let one = |[own, size, stride]: [&[i64]; 3]| {
                given(generate::numbers(dtype, own, 0)).and(size.to_vec()).and(stride.to_vec())
            };
            cases.map(one).to_vec()
        };
        samples
            .operator(NewEmptyStrided, STORED, strided, shape)
            .refuses("", given(x).and([2, 3].to_vec()).and([1].to_vec()));
        samples.rounds(NewEmpty, Roundings::all(Rounding::Unset));
        samples.rounds(NewEmptyStrided, Roundings::all(Rounding::Unset));
    }
}
