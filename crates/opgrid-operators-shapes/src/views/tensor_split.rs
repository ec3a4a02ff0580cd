//! `aten::tensor_split`, `aten::hsplit`, `aten::vsplit`, `aten::dsplit`: a dimension cut at indices, or into parts.
//!
//! - Results: as many parts as `sections`, of which the first ones have one more where they cannot be equal; or the parts
//!   between `indices`, which are bounds as those of slices. `hsplit`, `vsplit` and `dsplit` cut the second (that of a vector),
//!   first and third dimension, into equal parts only.
//! - Aliasing: views of `self`.
//! - Dispatch: composites of `slice`; sections or indices in a tensor are read.
//! - Errors: too few dimensions, a dimension out of range, no parts, parts that cannot be equal.
//! - Source: torch.tensor_split, torch.hsplit, torch.vsplit, torch.dsplit, PyTorch 2.15.

use crate::kinds::views::list_for;
use crate::prelude::*;
use opgrid_tensor::ops::{Item, SliceTensor};
use opgrid_tensor::tensor::views::normalise_dim;

pub use opgrid_tensor::ops::views::tensor_split::*;

pub(super) fn register(library: &mut Library) {
    library.define(TensorSplitSections).kind(&kind::VIEW).implicit(into_sections);
    library.define(TensorSplitIndices).kind(&kind::VIEW).implicit(at_indices);
    library.define(TensorSplitTensorIndicesOrSections).kind(&kind::VIEW).implicit(by_tensor);
    library
        .define(HsplitInt)
        .kind(&kind::VIEW)
        .implicit(|input, sections| equal(input, sections, horizontal(input)?));
    library
        .define(HsplitArray)
        .kind(&kind::VIEW)
        .implicit(|input, indices| at_indices(input, indices, horizontal(input)?));
    library.define(VsplitInt).kind(&kind::VIEW).implicit(|input, sections| {
        check_dims(input, 2)?;
        equal(input, sections, 0)
    });
    library.define(VsplitArray).kind(&kind::VIEW).implicit(|input, indices| {
        check_dims(input, 2)?;
        at_indices(input, indices, 0)
    });
    library.define(DsplitInt).kind(&kind::VIEW).implicit(|input, sections| {
        check_dims(input, 3)?;
        equal(input, sections, 2)
    });
    library.define(DsplitArray).kind(&kind::VIEW).implicit(|input, indices| {
        check_dims(input, 3)?;
        at_indices(input, indices, 2)
    });
}

/// # Errors
///
/// Fewer dimensions.
fn check_dims(input: &Tensor, least: usize) -> Result<()> {
    let sizes = input.spec()?.sizes();
    if sizes.len() < least {
        let noun = if least == 1 { "dimension" } else { "dimensions" };
        return Err(argument(format!(
            "argument `self` has shape {sizes:?}, expected {least} {noun} or more"
        )));
    }
    Ok(())
}

/// The dimension of columns, or that of a vector.
fn horizontal(input: &Tensor) -> Result<i64> {
    check_dims(input, 1)?;
    Ok(i64::from(input.sizes().len() > 1))
}

fn size_at(input: &Tensor, dim: i64) -> Result<i64> {
    check_dims(input, 1)?;
    Ok(input.sizes()[normalise_dim(dim, input.sizes().len())?])
}

fn part(input: &Tensor, dim: i64, start: i64, end: i64) -> Result<Tensor> {
    SliceTensor.call(input, dim, Some(start), Some(end), 1)
}

fn into_sections(input: &Tensor, sections: i64, dim: i64) -> Result<Vec<Tensor>> {
    let size = size_at(input, dim)?;
    if sections < 1 {
        return Err(argument(format!("argument `sections` is {sections}, expected 1 or more")));
    }
    let start = |k: i64| size / sections * k + k.min(size % sections);
    let mut parts = list_for(sections)?;
    for k in 0..sections {
        parts.push(part(input, dim, start(k), start(k + 1))?);
    }
    Ok(parts)
}

fn at_indices(input: &Tensor, indices: &[i64], dim: i64) -> Result<Vec<Tensor>> {
    size_at(input, dim)?;
    let starts = std::iter::once(0).chain(indices.iter().copied());
    let ends = indices.iter().copied().chain([i64::MAX]);
    starts.zip(ends).map(|(start, end)| part(input, dim, start, end)).collect()
}

/// # Errors
///
/// The dimension cannot be cut into equal parts.
fn equal(input: &Tensor, sections: i64, dim: i64) -> Result<Vec<Tensor>> {
    let size = size_at(input, dim)?;
    if sections == 0 || size % sections != 0 {
        let message = format!("dimension {dim} of size {size} cannot be split into {sections} equal parts");
        return Err(argument(message));
    }
    into_sections(input, sections, dim)
}

fn by_tensor(input: &Tensor, list: &Tensor, dim: i64) -> Result<Vec<Tensor>> {
    let spec = list.spec()?;
    if spec.dtype() != DType::I64 || spec.device() != Device::CPU || spec.sizes().len() > 1 {
        let message = format!(
            "argument `tensor_indices_or_sections` is {} of shape {:?} on {}, expected int64 of at most 1 dimension on cpu",
            spec.dtype(),
            spec.sizes(),
            spec.device()
        );
        return Err(argument(message));
    }
    match spec.sizes() {
        [] => into_sections(input, arithmetic::element(Item.call(list)?)?, dim),
        _ => at_indices(input, &list.to_vec::<i64>()?, dim),
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::kinds::views::samples::parts_along;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.differs(
            TensorSplitSections,
            Difference {
                id: "indices-of-splits-of-any-size",
                what: "torch reserves the smallest integers, and rejects them as indices; here every \
                     index past an end is clamped",
                why: "all integers behave alike",
                test: (
                    "opgrid-operators/tests/all/differences/computed.rs",
                    "what_torch_refuses_by_accident_is_computed",
                ),
                when: |seen| seen.torch_refuses("cannot be represented as a SymInt"),
                directed: Some(Directed {
                    operator: "aten::tensor_split.tensor_indices_or_sections",
                    arguments: || {
                        let indices = Operand::rows(1, DType::I64, &[1], &[i64::MIN as f64]);
                        vec![
                            ("self", Operand::rows(0, DType::F32, &[2], &[1.0, 2.0]).into()),
                            ("tensor_indices_or_sections", indices.into()),
                        ]
                    },
                    needs: None,
                }),
            },
        );
        let x = generate::numbers(DType::F32, &[5, 2], 0);
        let sections = |dtype| {
            let cases: [(&[i64], i64, i64); 5] =
                [(&[5, 2], 3, 0), (&[2, 4], 2, -1), (&[3], 5, 0), (&[0, 2], 2, 0), (&[2, 0], 1, 0)];
            cases
                .map(|(sizes, count, dim)| given(generate::numbers(dtype, sizes, 0)).and(count).and(dim))
                .to_vec()
        };
        samples
            .operator(TensorSplitSections, STORED, sections, |it| {
                sections_of(it, it.value("dim")?, it.value("sections")?)
            })
            .view()
            .refuses("1 or more", given(x.clone()).and(0))
            .refuses("", given(Plain::number(DType::F32, 1)).and(1));
        let indices = |dtype| {
            let cases: [(&[i64], &[i64], i64); 6] = [
                (&[5, 2], &[1, 3], 0),
                (&[2, 4], &[-1], -1),
                (&[3], &[2, 7], 0),
                (&[5], &[3, 1], 0),
                (&[0, 2], &[0], 0),
                (&[4], &[], 0),
            ];
            let one = |(sizes, list, dim): (&[i64], &[i64], i64)| {
                given(generate::numbers(dtype, sizes, 0)).and(list.to_vec()).and(dim)
            };
            cases.map(one).to_vec()
        };
        samples
            .operator(TensorSplitIndices, STORED, indices, |it| {
                indices_of(it, it.value("dim")?, &it.value::<Vec<i64>>("indices")?)
            })
            .view()
            .refuses("range", given(x.clone()).and([1].to_vec()).and(2));
        let in_tensors = |dtype| {
            let x = generate::numbers(dtype, &[5, 2], 0);
            let count = given(x.clone()).and(Plain::number(DType::I64, 3)).and(0);
            vec![count, given(x).and(Plain::from_elements(DType::I64, &[2], &[1, 4])).and(0)]
        };
        samples
            .operator(TensorSplitTensorIndicesOrSections, STORED, in_tensors, |it| {
                let list = it.tensor("tensor_indices_or_sections")?;
                let numbers: Vec<i64> = list.elements().iter().map(|number| number::whole(*number)).collect();
                match list.sizes() {
                    [] => sections_of(it, 0, numbers[0]),
                    _ => indices_of(it, 0, &numbers),
                }
            })
            .view()
            .not_on_meta()
            .needs_cpu()
            .refuses("int64", given(x.clone()).and(x.clone()));
        samples
            .operator(
                HsplitInt,
                STORED,
                |dtype| of_counts(dtype, &[(&[2, 4], 2), (&[6], 3), (&[2, 0], 2)]),
                |it| sections_of(it, horizontal_of(it)?, it.value("sections")?),
            )
            .view()
            .refuses("equal parts", given(x.clone()).and(3))
            .refuses("1 dimension", given(Plain::number(DType::F32, 1)).and(1));
        samples
            .operator(
                HsplitArray,
                STORED,
                |dtype| of_lists(dtype, &[(&[2, 4], &[1, 3]), (&[6], &[2]), (&[2, 0], &[0])]),
                |it| indices_of(it, horizontal_of(it)?, &it.value::<Vec<i64>>("indices")?),
            )
            .view();
        samples
            .operator(
                VsplitInt,
                STORED,
                |dtype| of_counts(dtype, &[(&[4, 2], 2), (&[0, 3], 3)]),
                |it| sections_of(it, 0, it.value("sections")?),
            )
            .view()
            .refuses("equal parts", given(x.clone()).and(2))
            .refuses("2 dimensions", given(generate::numbers(DType::F32, &[2], 0)).and(1));
        samples
            .operator(
                VsplitArray,
                STORED,
                |dtype| of_lists(dtype, &[(&[4, 2], &[1, 3]), (&[0, 3], &[0])]),
                |it| indices_of(it, 0, &it.value::<Vec<i64>>("indices")?),
            )
            .view();
        samples
            .operator(
                DsplitInt,
                STORED,
                |dtype| of_counts(dtype, &[(&[1, 2, 4], 2), (&[2, 0, 3], 3)]),
                |it| sections_of(it, 2, it.value("sections")?),
            )
            .view()
            .refuses("3 dimensions", given(x).and(1));
        samples
            .operator(
                DsplitArray,
                STORED,
                |dtype| of_lists(dtype, &[(&[1, 2, 4], &[1, 3]), (&[2, 0, 3], &[1])]),
                |it| indices_of(it, 2, &it.value::<Vec<i64>>("indices")?),
            )
            .view();
    }

    fn of_counts(dtype: DType, cases: &[(&[i64], i64)]) -> Vec<Sample> {
        cases.iter().map(|(sizes, count)| given(generate::numbers(dtype, sizes, 0)).and(*count)).collect()
    }

    fn of_lists(dtype: DType, cases: &[(&[i64], &[i64])]) -> Vec<Sample> {
        cases
            .iter()
            .map(|(sizes, list)| given(generate::numbers(dtype, sizes, 0)).and(list.to_vec()))
            .collect()
    }

    fn horizontal_of(it: &Inputs) -> Result<i64> {
        Ok(i64::from(it.tensor("self")?.sizes().len() > 1))
    }

    fn sections_of(it: &Inputs, dim: i64, count: i64) -> Result<Expected> {
        let sizes = it.tensor("self")?.sizes();
        let size = sizes[naive::dimension(dim, sizes.len())];
        let mut start = 0;
        let parts = (0..count).map(|k| {
            let length = size / count + i64::from(k < size % count);
            start += length;
            (start - length, length)
        });
        parts_along(it, dim, &parts.collect::<Vec<_>>())
    }

    fn indices_of(it: &Inputs, dim: i64, indices: &[i64]) -> Result<Expected> {
        let sizes = it.tensor("self")?.sizes();
        let size = sizes[naive::dimension(dim, sizes.len())];
        let bound = |at: i64| (if at < 0 { at + size } else { at }).clamp(0, size);
        let starts = std::iter::once(0).chain(indices.iter().map(|at| bound(*at)));
        let ends = indices.iter().map(|at| bound(*at)).chain([size]);
        let parts: Vec<(i64, i64)> =
            starts.zip(ends).map(|(start, end)| (start, (end - start).max(0))).collect();
        parts_along(it, dim, &parts)
    }
}
