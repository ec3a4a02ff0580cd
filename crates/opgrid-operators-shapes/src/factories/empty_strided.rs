//! `aten::empty_strided`: a new tensor with any content and strides.
//!
//! - Strides count elements; they may leave gaps or repeat elements.
//! - Dtypes: `dtype`, the default one without it.
//! - Dispatch: as [`EmptyMemoryFormat`](opgrid_tensor::ops::EmptyMemoryFormat).
//! - Aliasing: `empty_strided.out` gives `out` its shape if it has no elements.
//! - Errors: lists of different lengths, negative numbers, pinned memory where no device copies from it.
//! - Source: torch.empty_strided, PyTorch 2.15. Unlike there, memory that was never written reads as zero.

use crate::factories::empty;
use crate::prelude::*;
use opgrid_kinds::factory;
use opgrid_kinds::factory::Factories;

pub use opgrid_tensor::ops::factories::empty_strided::*;

pub(super) fn register(library: &mut Library) {
    library.define_with_forms(EmptyStrided, &kind::FACTORY).on_cpu_and_meta(strided).by_options();
    library.implement(EmptyStridedOut).on_every_backend(|size, stride, out| {
        factory::give(out, Geometry::strided(size, stride, 0)?, |_| Ok(()))
    });
}

fn strided(
    size: &[i64],
    stride: &[i64],
    dtype: Option<DType>,
    layout: Option<Layout>,
    device: Option<Device>,
    pin_memory: Option<bool>,
) -> Result<Tensor> {
    empty::check_options(layout)?;
    let geometry = Geometry::strided(size, stride, 0)?;
    let (dtype, device) = (dtype.unwrap_or_else(default_dtype), device.unwrap_or_default());
    let spec = TensorSpec::new(geometry, dtype, device);
    if pin_memory == Some(true) { empty::pinned(spec) } else { Tensor::allocate(spec) }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.differs(EmptyStrided, STRIDES_OF_NEW_OUTPUTS);
        samples.differs(opgrid_tensor::ops::NewEmptyStrided, STRIDES_OF_NEW_OUTPUTS);
        let inputs = |dtype| {
            let cases: [[&[i64]; 2]; 4] =
                [[&[2, 3], &[3, 1]], [&[2, 3], &[1, 2]], [&[], &[]], [&[0, 2], &[7, 5]]];
            cases
                .map(|[size, stride]| given(size.to_vec()).and(stride.to_vec()).named("dtype", dtype))
                .to_vec()
        };
        samples
            .operator(EmptyStrided, STORED, inputs, |it| {
                let dtype: Option<DType> = it.value("dtype")?;
                Ok(Expected::Shape(it.value("size")?, dtype.unwrap_or(default_dtype())))
            })
            .refuses("", given([2, 3].to_vec()).and([1].to_vec()))
            .refuses("", given([2].to_vec()).and([-1].to_vec()));
        samples.rounds(EmptyStrided, Roundings::all(Rounding::Unset));
    }

    /// Differences for new tensors whose strides are arguments.
    pub(crate) const STRIDES_OF_NEW_OUTPUTS: Difference = Difference {
        id: "strides-of-new-outputs",
        what: "torch gives an empty output row-major strides if strides are requested; here the \
             requested strides",
        why: "arguments must not be ignored",
        test: ("opgrid-operators/tests/all/differences/layouts.rs", "results_do_not_depend_on_the_layout"),
        when: |seen| seen.out().is_some() && seen.part == Part::Strides,
        directed: None,
    };
}
