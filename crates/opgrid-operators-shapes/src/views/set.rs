//! `aten::set_`: the memory of another tensor instead of one's own.
//!
//! - Shapes: those of `source`; with a `storage_offset`, which counts from the first element of `source`, the `size` and
//!   `stride` that are given, row-major without strides. Without a source there are no elements.
//! - Aliasing: `self` becomes a view of the memory of `source`. What it had before is kept until `self` is dropped, for
//!   somebody may still look at it.
//! - Errors: another dtype or device; elements beyond the memory of `source`; with a `storage_offset` a `source`
//!   that is not row-major.
//! - Source: torch.Tensor.set_, PyTorch 2.15. The overloads on storages are not here, which are no values of schemas.

use crate::prelude::*;
use opgrid_tensor::ops::EmptyMemoryFormat;

pub use opgrid_tensor::ops::views::set::*;

pub(super) fn register(library: &mut Library) {
    library
        .define(SetInplaceSourceTensor)
        .kind(&kind::VIEW)
        .on_every_backend(|input, source| input.become_array(source.array()?.clone()));
    library.define(SetInplaceSourceTensorStorageOffset).kind(&kind::VIEW).on_every_backend(
        |input, source, storage_offset, size, stride| {
            let memory = source.spec()?.geometry();
            if !memory.is_contiguous() {
                let message = format!(
                    "argument `source` has strides {:?}, expected a contiguous tensor; pass its \
                     `contiguous()`",
                    memory.strides()
                );
                return Err(argument(message));
            }
            // It counts from where the source begins, and may lead back to the beginning of its memory.
            let offset = memory.offset().checked_add(storage_offset).filter(|offset| *offset >= 0);
            let offset = offset.ok_or_else(|| {
                let least = -memory.offset();
                argument(format!("argument `storage_offset` is {storage_offset}, expected {least} or more"))
            })?;
            let geometry = match stride {
                [] => Geometry::contiguous(size)?.at_offset(offset)?,
                stride => Geometry::strided(size, stride, offset)?,
            };
            input.become_array(source.array()?.view(geometry)?)
        },
    );
    library.define(SetInplace).kind(&kind::VIEW).on_every_backend(|input| {
        let (dtype, device) = (input.dtype(), input.device());
        let empty = EmptyMemoryFormat.call(&[0], Some(dtype), None, Some(device), None, None)?;
        // What has the shape already keeps its stride.
        let geometry = match input.spec()?.geometry() {
            before if before.sizes() == [0] => before.at_offset(0)?,
            _ => Geometry::contiguous(&[0])?,
        };
        input.become_array(empty.array()?.view(geometry)?)
    });
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.differs(
            SetInplaceSourceTensorStorageOffset,
            Difference {
                id: "strides-that-are-not-used-are-checked",
                what: "torch accepts a negative stride for a dimension of size 1; here negative strides \
                     are always rejected",
                why: "whether a call is valid must not depend on sizes or elements",
                test: (
                    "opgrid-operators/tests/all/differences/refused.rs",
                    "what_torch_does_not_check_is_refused",
                ),
                when: |seen| seen.we_refuse("negative strides are not supported"),
                directed: None,
            },
        );
        samples.differs(
            SetInplaceSourceTensorStorageOffset,
            Difference {
                id: "sizes-without-strides-are-rows",
                what: "torch keeps the strides of a tensor that is set to sizes that it already has, if \
                     no strides are given; here missing strides mean row-major ones",
                why: "the result must not depend on the previous strides",
                test: (
                    "opgrid-operators/tests/all/differences/layouts.rs",
                    "results_do_not_depend_on_the_layout",
                ),
                when: |seen| {
                    let Some(Argument::Ints(sizes)) = seen.argument("size") else { return false };
                    let has_sizes = seen.tensor("self").is_some_and(|x| x.geometry.sizes() == sizes);
                    let is_other = seen.part == Part::Strides || !seen.elements.is_empty();
                    has_sizes && is_other && seen.argument("stride").is_none()
                },
                directed: Some(Directed {
                    operator: "aten::set_.source_Tensor_storage_offset",
                    arguments: || {
                        vec![
                            ("self", Operand::strided(0, DType::I16, (&[2], &[2], 0), &[1.0, 2.0]).into()),
                            ("source", Operand::rows(1, DType::I16, &[3], &[3.0, 4.0, 4.0]).into()),
                            ("storage_offset", Scalar::Int(0).into()),
                            ("size", Argument::Ints(vec![2])),
                        ]
                    },
                    needs: None,
                }),
            },
        );
        samples.differs(
            SetInplaceSourceTensorStorageOffset,
            Difference {
                id: "memory-of-sources-does-not-grow",
                what: "torch enlarges the storage of the source if the tensor needs more; here that is \
                     rejected",
                why: "other views of the memory stay valid",
                test: (
                    "opgrid-operators/tests/all/differences/refused.rs",
                    "what_torch_does_not_check_is_refused",
                ),
                when: |seen| seen.we_refuse("are out of bounds for storage"),
                directed: None,
            },
        );
        let dtypes = Difference {
            id: "tensors-keep-their-dtype",
            what: "torch changes the dtype of a tensor to that of the source; here that is rejected",
            why: "the dtype of a tensor never changes",
            test: ("opgrid-operators/tests/all/differences/refused.rs", "dtypes_that_differ"),
            when: |seen| seen.we_refuse("cannot become one of"),
            directed: None,
        };
        samples.differs(SetInplaceSourceTensor, dtypes);
        let pairs = |dtype| {
            let cases: [[&[i64]; 2]; 4] = [[&[2, 3], &[4]], [&[], &[2, 1]], [&[0], &[2]], [&[3], &[0, 2]]];
            cases
                .map(|[one, other]| {
                    given(generate::numbers(dtype, one, 0)).and(generate::numbers(dtype, other, 1))
                })
                .to_vec()
        };
        let x = generate::numbers(DType::F32, &[4], 0);
        samples
            .operator(SetInplaceSourceTensor, STORED, pairs, |it| Ok(it.tensor("source")?.clone().into()))
            .refuses("cannot become", given(x.clone()).and(x.to(DType::F64)));
        let parts = |dtype| {
            let to = generate::numbers(dtype, &[2], 0);
            let from = generate::numbers(dtype, &[7], 1);
            let strided =
                given(to.clone()).and(from.clone()).and(1).and([2, 2].to_vec()).and([1, 2].to_vec());
            vec![strided, given(to).and(from).and(2).and([3].to_vec())]
        };
        samples
            .operator(SetInplaceSourceTensorStorageOffset, STORED, parts, |it| {
                let (from, offset): (_, i64) = (it.tensor("source")?, it.value("storage_offset")?);
                let (size, stride): (Vec<i64>, Vec<i64>) = (it.value("size")?, it.value("stride")?);
                let steps = if stride.is_empty() { vec![1] } else { stride };
                Ok(Plain::from_fn(from.dtype(), &size, |position| {
                    let at = position.iter().zip(&steps).fold(offset, |at, (index, step)| at + index * step);
                    from.at(&[at])
                })
                .into())
            })
            .needs_contiguous()
            .refuses("out of bounds", given(x.clone()).and(x).and(2).and([3].to_vec()));
        samples.operator(SetInplace, STORED, generate::unary, |it| {
            Ok(Plain::from_elements::<i64>(it.tensor("self")?.dtype(), &[0], &[]).into())
        });
    }
}
