//! `aten::to`, `aten::type_as`: the same elements in another dtype, layout or memory format, or on another device.
//!
//! - Shapes: that of `self`, in the order of `memory_format`; without one the order of `self` is kept.
//! - Aliasing: `self` itself if it is like that already and no `copy` is asked for, otherwise a new tensor.
//! - Dispatch: composites of `_to_copy`.
//! - Errors: what `_to_copy` refuses.
//! - Source: torch.Tensor.to, torch.Tensor.type_as, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::devices;
use opgrid_tensor::ops::ToCopy;

pub use opgrid_tensor::ops::copies::to::*;

pub(super) fn register(library: &mut Library) {
    library.define(ToDtype).kind(&kind::COPY).implicit(|input, dtype, non_blocking, copy, format| {
        let wanted = Wanted { dtype: Some(dtype), format, ..Wanted::default() };
        wanted.convert(input, non_blocking, copy)
    });
    library.define(ToDevice).kind(&kind::COPY).implicit(
        |input, device, dtype, non_blocking, copy, format| {
            let wanted = Wanted { dtype: Some(dtype), device: Some(device), format, ..Wanted::default() };
            wanted.convert(input, non_blocking, copy)
        },
    );
    library.define(ToDtypeLayout).kind(&kind::COPY).implicit(
        |input, dtype, layout, device, pin_memory, non_blocking, copy, format| {
            Wanted { dtype, layout, device, pin_memory, format }.convert(input, non_blocking, copy)
        },
    );
    library.define(ToOther).kind(&kind::COPY).implicit(|input, other, non_blocking, copy, format| {
        Wanted { format, ..Wanted::like(other)? }.convert(input, non_blocking, copy)
    });
    library
        .define(TypeAs)
        .kind(&kind::COPY)
        .implicit(|input, other| Wanted::like(other)?.convert(input, false, false));
}

/// What a tensor shall be like; it stays as it is in what is not named.
#[derive(Default)]
struct Wanted {
    dtype: Option<DType>,
    layout: Option<Layout>,
    device: Option<Device>,
    pin_memory: Option<bool>,
    format: Option<MemoryFormat>,
}

impl Wanted {
    fn like(other: &Tensor) -> Result<Self> {
        let spec = other.spec()?;
        Ok(Self { dtype: Some(spec.dtype()), device: Some(spec.device()), ..Self::default() })
    }

    fn convert(self, input: &Tensor, non_blocking: bool, copy: bool) -> Result<Tensor> {
        let spec = input.spec()?;
        let format = self.format.unwrap_or(MemoryFormat::Preserve);
        let is_such = self.dtype.is_none_or(|dtype| dtype == spec.dtype())
            && self.layout.is_none_or(|layout| layout == Layout::Strided)
            && self.device.is_none_or(|device| devices::is_on(spec.device(), device))
            && (format == MemoryFormat::Preserve || spec.geometry().is_in_format(format));
        if is_such && !copy {
            Ok(input.clone())
        } else {
            let Self { dtype, layout, device, pin_memory, .. } = self;
            ToCopy.call(input, dtype, layout, device, pin_memory, non_blocking, Some(format))
        }
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.differs(
            ToDtypeLayout,
            Difference {
                id: "formats-that-are-asked-for",
                what: "torch returns the tensor itself if it mistakes its strides for the requested \
                     memory format, and a copy if it has several formats; here a copy if it does not \
                     have the requested format",
                why: "callers rely on the memory format that they request",
                test: (
                    "opgrid-operators/tests/all/differences/layouts.rs",
                    "results_do_not_depend_on_the_layout",
                ),
                when: |seen| {
                    let is_asked = matches!(seen.argument("memory_format"), Some(Argument::Other));
                    let is_layout = matches!(seen.part, Part::Identity | Part::Strides)
                        || seen.begins_memory_here()
                        || seen.part == Part::Offset && seen.torch == "0";
                    is_asked && is_layout
                },
                directed: None,
            },
        );
        let by_dtype = |dtype| {
            let to = |to| given(generate::numbers(dtype, &[2, 3], 1)).and(to);
            let empty = given(generate::numbers(dtype, &[0], 1)).and(DType::F64);
            let number = given(generate::numbers(dtype, &[], 1)).and(DType::F64);
            ANY.iter().map(|dtype| to(*dtype)).chain([empty, number]).collect()
        };
        samples.operator(ToDtype, STORED, by_dtype, |it| converted(it, it.value("dtype")?));
        let named = |dtype| {
            vec![given(generate::numbers(dtype, &[2, 3], 1)).named("dtype", DType::F64).named("copy", true)]
        };
        samples.operator(ToDtypeLayout, STORED, named, |it| converted(it, DType::F64));
        let beside = |dtype| {
            [DType::F32, DType::I64]
                .map(|other| {
                    given(generate::numbers(dtype, &[2, 3], 1)).and(generate::numbers(other, &[2], 0))
                })
                .to_vec()
        };
        samples.operator(ToOther, STORED, beside, |it| converted(it, it.tensor("other")?.dtype()));
        samples.operator(TypeAs, STORED, beside, |it| converted(it, it.tensor("other")?.dtype()));
        let on_the_device =
            |dtype| vec![given(generate::numbers(dtype, &[2, 3], 1)).named("dtype", DType::F64)];
        samples.operator(ToDevice, STORED, on_the_device, |it| converted(it, DType::F64));
    }

    fn converted(it: &Inputs, dtype: DType) -> Result<Expected> {
        Ok(it.tensor("self")?.to(dtype).into())
    }
}
