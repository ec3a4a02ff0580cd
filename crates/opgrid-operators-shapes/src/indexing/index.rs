//! `aten::index`: the elements that tensors of indices name, as in `x[:, i, j]`.
//!
//! `out[…, k, …] = self[…, i[k], j[k], …]`
//!
//! - Shapes: tensors of indices broadcast; their dimensions take the place of those that they index, or come first if
//!   there are others in between. A dimension without indices stays whole. A mask stands for the indices of its true
//!   elements, one tensor for each of its dimensions; a mask without dimensions stands for a new one of size 1 or 0.
//! - Dtypes: that of `self`; indices are int32 or int64, masks bool (or uint8, as of old).
//! - Strides: the dimensions have the order of those of `self` in memory.
//! - Aliasing: `index.Tensor_out` writes `out`, and gives it its shape if it has no elements.
//! - Errors: an index out of range (negative ones count from the end), too many indices, shapes that do not
//!   broadcast, a mask of another shape or without data, overlap with `out`.
//! - Source: torch.Tensor.__getitem__, PyTorch 2.15.

use crate::kinds::scatter;
use crate::prelude::*;
use opgrid_kernels::indexing;
use opgrid_kinds::indexing::Indexing;
use opgrid_tensor::layers::autograd::Recorder;
use opgrid_tensor::ops::IndexPut;

pub use opgrid_tensor::ops::indexing::index::*;

pub(super) fn register(library: &mut Library) {
    library
        .define_with_forms(IndexTensor, &kind::INDEXING)
        .on_cpu_and_meta(|input, indices| {
            let indexing = Indexing::new(input, indices)?;
            result::compute(indexing.spec(input.spec()?)?, |out| read(input, &indexing, out))
        })
        .derivative(|d, (input, indices)| derivative(d, input, indices));
    library
        .define(UnsafeIndexTensor)
        .kind(&kind::INDEXING)
        .composite(|input, indices| IndexTensor.call(input, indices))
        .derivative(|d, (input, indices)| derivative(d, input, indices));
    library.implement(IndexTensorOut).on_cpu_and_meta(|input, indices, out| {
        let indexing = Indexing::new(input, indices)?;
        let spec = indexing.spec(input.spec()?)?;
        result::same_dtype(out, &spec)?;
        result::compute_into(out, &spec, |out| {
            for index in indices.iter().flatten() {
                indexing::check_apart(out.array()?, index.array()?)?;
            }
            read(input, &indexing, out)
        })
    });
}

fn read(input: &Tensor, indexing: &Indexing, out: &Tensor) -> Result<()> {
    indexing::read(out.array()?, input.array()?, &indexing.lookup()?)
}

/// The gradient is added up where the elements came from.
fn derivative(d: &Recorder<'_>, input: &Tensor, indices: &[Option<Tensor>]) -> Result<()> {
    let (sizes, places) = (input.sizes().to_vec(), scatter::are_defined(indices));
    let keep: Vec<&Tensor> = indices.iter().flatten().collect();
    d.by_values(&[input], &keep, move |grads, kept| {
        let Some(grad) = grads.for_result(0) else { return Ok(vec![None]) };
        let zeros = derivatives::zeros_of(&sizes, grad)?;
        Ok(vec![Some(IndexPut.call(&zeros, &scatter::restore_optional(&places, kept), grad, true)?)])
    })
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_kinds::indexing;
    use opgrid_samples::indexing::{Places, inputs, masks};
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let (x, index) =
            (generate::numbers(DType::F32, &[2, 3], 0), Plain::from_elements(DType::I64, &[1], &[2]));
        samples
            .operator(IndexTensor, STORED, inputs, reference)
            .refuses_data("", given(x.clone()).and(vec![Some(index.clone())]))
            .refuses("too many indices", given(x.clone()).and(vec![Some(index.clone()); 3]))
            .refuses("mask of dtype bool", given(x).and(vec![Some(index.to(DType::F32))]));
        samples.operator(IndexTensor, STORED, masks, reference).not_on_meta();
        samples.operator(UnsafeIndexTensor, STORED, inputs, reference);
        samples.differs(
            IndexTensor,
            Difference {
                id: "narrow-indices-lie-as-they-are",
                what: "torch decides the memory format of the result by copies that it makes of int32 \
                     indices; here the indices themselves decide",
                why: "the memory format of a result must not depend on dtypes",
                test: (
                    "opgrid-operators/tests/all/differences/layouts.rs",
                    "converted_inputs_decide_on_the_order_as_they_lie",
                ),
                when: |seen| {
                    seen.part == Part::Strides && seen.inputs().iter().any(|input| input.dtype == DType::I32)
                },
                directed: Some(Directed {
                    operator: "aten::index.Tensor",
                    arguments: || {
                        let index = |memory, strides: &[i64]| {
                            Some(Operand::strided(memory, DType::I32, (&[3, 1, 2], strides, 0), &[0.0; 6]))
                        };
                        let input =
                            Operand::strided(0, DType::F32, (&[3, 1, 1], &[3, 1, 3], 0), &[1.0, 2.0, 3.0]);
                        let indices = vec![index(1, &[3, 6, 3]), index(2, &[0, 3, 1])];
                        vec![("self", input.into()), ("indices", Argument::Tensors(indices))]
                    },
                    needs: None,
                }),
            },
        );
        samples.differs_as(IndexTensor, indexing::samples::DIFFERENCES);
        samples.differs(
            UnsafeIndexTensor,
            Difference {
                id: "indices-of-several-dtypes-lie-as-they-do",
                what: "torch converts int32 indices before it decides the memory format of the result; \
                     here the original indices decide",
                why: "indices are not elements of the result",
                test: (
                    "opgrid-operators/tests/all/differences/layouts.rs",
                    "results_do_not_depend_on_the_layout",
                ),
                when: |seen| {
                    let is_short = |(_, tensor): &(&str, &Operand)| tensor.dtype == DType::I32;
                    seen.part == Part::Strides && seen.tensors().iter().any(is_short)
                },
                directed: None,
            },
        );
        samples.differs(
            UnsafeIndexTensor,
            Difference {
                id: "unsafe-indices-are-checked",
                what: "torch fails an assertion in `_unsafe_index` for an empty list of indices, and \
                     rejects masks; here it behaves like `index`",
                why: "every list of indices means the same everywhere",
                test: (
                    "opgrid-operators/tests/all/differences/computed.rs",
                    "an_index_list_without_indices_gives_everything",
                ),
                when: |seen| {
                    seen.torch_refuses("INTERNAL ASSERT")
                        || seen.torch_refuses("at least one index")
                        || seen.torch_refuses("unexpected index type")
                },
                directed: None,
            },
        );
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let x = it.tensor("self")?;
        let places = Places::new(x, it.optional_tensors("indices")?)?;
        Ok(Plain::from_fn(x.dtype(), places.sizes(), |position| x.at(&places.source_position(position)))
            .into())
    }
}
