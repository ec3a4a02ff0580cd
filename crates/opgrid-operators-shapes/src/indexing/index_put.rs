//! `aten::index_put`: writes the elements that tensors of indices name, as in `x[:, i, j] = values`.
//!
//! `self[…, i[k], j[k], …] = values[…, k, …]`, or `+=` with `accumulate`
//!
//! - Shapes: indices are read as by [`IndexTensor`](opgrid_tensor::ops::IndexTensor); `values` is stretched to what it would give.
//! - Dtypes: `values` has that of `self`; one value for a mask is converted.
//! - Aliasing: `index_put_` writes `self`; `index_put` writes a copy, `index_put.out` writes `out`, of the dtype of `self`. If two indices are equal, the last value stays,
//!   or all are added with `accumulate`.
//! - Derivative: values that others overwrite have gradients, too, as in torch.
//! - Errors: those of `index`; values of another dtype or of a shape that does not fit; overlap of `self` with itself,
//!   values or indices.
//! - Source: torch.Tensor.index_put_, PyTorch 2.15; there `_index_put_impl_` does the work, and a uint8 mask takes
//!   no single value.

use crate::kinds::scatter;
use crate::prelude::*;
use opgrid_kernels::access::check_written;
use opgrid_kernels::indexing;
use opgrid_kinds::indexing::{self as indexing_checks, Indexing};
use opgrid_tensor::ops::{LocalScalarDense, MaskedFillInplaceScalar, Unsqueeze};

pub use opgrid_tensor::ops::indexing::index_put::*;

pub(super) fn register(library: &mut Library) {
    library
        .define_with_forms(IndexPut, &kind::INDEXING)
        .composite(|input, indices, values, accumulate| {
            let result = opgrid_tensor::ops::CloneTensor.call(input, Some(MemoryFormat::Preserve))?;
            IndexPutInplace.call(&result, indices, values, accumulate)?;
            Ok(result)
        })
        .derivative(|d, (input, indices, values, accumulate)| {
            let places = scatter::are_defined(indices);
            let keep: Vec<&Tensor> = indices.iter().flatten().collect();
            d.by_values(&[input, values], &keep, move |grads, kept| {
                let Some(grad) = grads.for_result(0) else { return Ok(vec![None, None]) };
                let indices = scatter::restore_optional(&places, kept);
                let by_input = if accumulate {
                    grad.clone()
                } else {
                    IndexPut.call(grad, &indices, &derivatives::zeros_of(&[], grad)?, false)?
                };
                Ok(vec![Some(by_input), Some(grad.index(&indices)?)])
            })
        });
    library.implement(IndexPutInplace).on_cpu_and_meta(index_put_);
    library.implement(IndexPutOut).on_every_backend(|input, indices, values, accumulate, out| {
        result::copied(out, &IndexPut.call(input, indices, values, accumulate)?)
    });
}

fn index_put_(input: &Tensor, indices: &[Option<Tensor>], values: &Tensor, accumulate: bool) -> Result<()> {
    let (spec, given) = (input.spec()?, values.spec()?);
    check_written(spec.geometry())?;
    let on_meta = spec.device().is_meta();
    if !accumulate
        && given.numel() == 1
        && (on_meta || given.device() == Device::CPU)
        && let Some(mask) = only_mask(indices, spec)?
    {
        if on_meta {
            return Ok(());
        }
        return MaskedFillInplaceScalar.call(input, &mask, LocalScalarDense.call(values)?);
    }
    if given.dtype() != spec.dtype() {
        let message = format!(
            "argument `values` has dtype {}, expected {} as `self`; convert it first",
            given.dtype(),
            spec.dtype()
        );
        return Err(argument(message));
    }
    if on_meta && indices.iter().flatten().any(indexing_checks::is_mask) {
        // How many elements masks name, and with that the shape of the values, is known from data only.
        indexing_checks::check(spec, indices)?;
        return Ok(());
    }
    let indexing = Indexing::new(input, indices)?;
    let sizes = indexing.sizes();
    let stretched = given.geometry().expand(&sizes).map_err(|_| {
        let found = given.sizes();
        argument(format!(
            "argument `values` has shape {found:?}, which does not broadcast to the result of indexing, {sizes:?}"
        ))
    })?;
    if on_meta {
        return Ok(());
    }
    for other in indices.iter().flatten().chain([values]) {
        indexing::check_apart(input.array()?, other.array()?)?;
    }
    let (out, lookup) = (input.array()?, indexing.lookup()?);
    let values = values.array()?.view(stretched)?;
    if accumulate {
        indexing::accumulate(out, &values, &lookup)
    } else {
        indexing::write(out, &values, &lookup)
    }
}

/// The mask, with a dimension more for each one behind it, where there is nothing else in the list and it fits.
fn only_mask(indices: &[Option<Tensor>], input: &TensorSpec) -> Result<Option<Tensor>> {
    let mut masks =
        indices.iter().enumerate().filter_map(|(at, index)| index.as_ref().map(|mask| (at, mask)));
    let (Some((start, mask)), None) = (masks.next(), masks.next()) else { return Ok(None) };
    if mask.dtype() != DType::Bool {
        return Ok(None);
    }
    let covered = input.sizes().get(start..start + mask.dim()).unwrap_or(&[]);
    let behind = input.sizes().len().checked_sub(start + mask.dim());
    let (true, Some(behind)) = (covered == mask.sizes(), behind) else { return Ok(None) };
    if indices.len() - start - 1 > behind {
        return Ok(None);
    }
    let mut stretched = mask.clone();
    for _ in 0..behind {
        stretched = Unsqueeze.call(&stretched, -1)?;
    }
    Ok(Some(stretched))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_kinds::indexing;
    use opgrid_samples::indexing::{self as indexing_samples, Places};
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let (x, index) =
            (generate::numbers(DType::F32, &[2, 3], 0), Plain::from_elements(DType::I64, &[1], &[2]));
        let value = Plain::number(DType::F32, 1);
        samples
            .operator(IndexPut, ANY, inputs, reference)
            // Values that others overwrite get gradients, too, as in torch.
            .constant(&["values"])
            .tolerance(4.0)
            .refuses_data("", given(x.clone()).and(vec![Some(index.clone())]).and(value.clone()))
            .refuses(
                "convert it first",
                given(x.clone()).and(vec![Some(index.clone())]).and(value.to(DType::F64)),
            )
            .refuses(
                "does not broadcast",
                given(x.clone()).and(vec![Some(index)]).and(generate::numbers(DType::F32, &[4], 0)),
            );
        samples.differs_as(IndexPut, indexing::samples::DIFFERENCES);
        samples.differs(
            IndexPut,
            Difference {
                id: "single-values-for-bytes",
                what: "torch fills by a uint8 mask only if there are several values; here also with one",
                why: "all masks behave alike",
                test: (
                    "opgrid-operators/tests/all/differences/computed.rs",
                    "an_index_list_without_indices_gives_everything",
                ),
                when: |seen| seen.torch_refuses("masked_fill_ only"),
                directed: Some(Directed {
                    operator: "aten::index_put",
                    arguments: || {
                        vec![
                            ("self", Operand::rows(0, DType::F32, &[2], &[1.0, 2.0]).into()),
                            (
                                "indices",
                                Argument::Tensors(vec![Some(Operand::rows(1, DType::U8, &[2], &[1.0, 0.0]))]),
                            ),
                            ("values", Operand::rows(2, DType::F32, &[], &[7.0]).into()),
                        ]
                    },
                    needs: None,
                }),
            },
        );
        samples.differs(
            IndexPut,
            Difference {
                id: "last-values-stay",
                what: "torch does not specify which of several values for one element is kept; here the \
                     last one",
                why: "results must not depend on the order of execution",
                test: ("opgrid-operators/tests/all/views.rs", "later_values_stay_and_sums_add_up"),
                when: |seen| {
                    !matches!(seen.number("accumulate"), Some(Scalar::Bool(true)))
                        && !seen.elements.is_empty()
                        && names_twice(seen)
                },
                directed: Some(Directed {
                    operator: "aten::index_put",
                    arguments: || {
                        let places = [1.0, 1.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0];
                        let values = [1.0, 4.0, 7.0, 2.0, 5.0, 8.0, 3.0, 6.0, 9.0];
                        let indices = vec![Some(Operand::rows(1, DType::I64, &[3, 3], &places))];
                        vec![
                            ("self", Operand::rows(0, DType::F32, &[2], &[0.0; 2]).into()),
                            ("indices", Argument::Tensors(indices)),
                            (
                                "values",
                                Operand::strided(2, DType::F32, (&[3, 3], &[1, 3], 0), &values).into(),
                            ),
                        ]
                    },
                    needs: None,
                }),
            },
        );
        samples.rounds(IndexPut, Roundings::all(Rounding::Sum(2)));
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        let one = |sample: Sample| {
            let value = Plain::number(dtype, 1);
            [sample.clone().and(value.clone()), sample.and(value).and(true)]
        };
        // Masks need no other kernel, but how many elements they name is known from data only.
        indexing_samples::inputs(dtype).into_iter().flat_map(one).collect()
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let (x, values) = (it.tensor("self")?, it.tensor("values")?);
        let places = Places::new(x, it.optional_tensors("indices")?)?;
        let accumulate: bool = it.value("accumulate")?;
        let mut result = x.clone();
        for position in naive::positions(places.sizes()) {
            let (place, value) = (places.source_position(&position), values.at(&position));
            let value = if accumulate { number::plus(result.at(&place), value) } else { value };
            result.set(&place, value);
        }
        Ok(result.into())
    }

    /// Whether an index list names an element more than once.
    fn names_twice(seen: &Seen<'_>) -> bool {
        let (Some(input), Some(Argument::Tensors(list))) = (seen.tensor("self"), seen.argument("indices"))
        else {
            return false;
        };
        let index = |operand: &Operand| {
            let numbers: Vec<Scalar> =
                operand.elements.iter().map(|number| Scalar::Int(number.re as i64)).collect();
            let dtype = if operand.dtype == DType::U8 { DType::Bool } else { operand.dtype };
            Plain::from_elements(dtype, operand.geometry.sizes(), &numbers)
        };
        let indices: Vec<Option<Plain>> = list.iter().map(|entry| entry.as_ref().map(index)).collect();
        let tensor = Plain::from_fn(DType::Bool, input.geometry.sizes(), |_| Scalar::Bool(false));
        let Ok(places) = Places::new(&tensor, &indices) else { return false };
        let mut named: Vec<Vec<i64>> =
            naive::positions(places.sizes()).map(|position| places.source_position(&position)).collect();
        let count = named.len();
        named.sort_unstable();
        named.dedup();
        named.len() < count
    }
}
