//! `aten::take_along_dim`: an element of one dimension for each index, with shapes that broadcast.
//!
//! `out[i, j, k] = self[i, indices[i, j, k], k]` for dimension 1
//!
//! - Shapes: `self` and `indices` broadcast apart from `dim`. Without `dim` both count as one list.
//! - Dtypes: that of `self`; `indices` are int32 or int64.
//! - Aliasing: `take_along_dim.out` writes `out`, and gives it its shape if it has no elements.
//! - Dispatch: a composite of `expand`, `where` and `gather`: negative indices count from the end.
//! - Errors: other numbers of dimensions, shapes that do not broadcast, an index out of range.
//! - Source: torch.take_along_dim, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kinds::indexing::check_index_dtype;
use opgrid_tensor::ops::{AddScalar, Expand, Gather, GatherOut, LtScalar, Reshape, WhereSelf};
use opgrid_tensor::tensor::broadcast;
use opgrid_tensor::tensor::views::normalise_dim;

pub use opgrid_tensor::ops::indexing::take_along_dim::*;

pub(super) fn register(library: &mut Library) {
    library.define_with_forms(TakeAlongDim, &kind::INDEXING).implicit(|input, indices, dim| {
        let (input, indices, dim) = stretched(input, indices, dim)?;
        let indices = from_start(&input, indices, dim)?;
        Gather.call(&input, dim, &indices, false)
    });
    library.implement(TakeAlongDimOut).implicit(|input, indices, dim, out| {
        let (input, indices, dim) = stretched(input, indices, dim)?;
        let indices = from_start(&input, indices, dim)?;
        GatherOut.call(&input, dim, &indices, false, out)
    });
}

/// The indices, with the size added to negative ones.
fn from_start(input: &Tensor, indices: Tensor, dim: i64) -> Result<Tensor> {
    check_index_dtype("indices", indices.spec()?)?;
    let size = input.sizes().get(normalise_dim(dim, input.sizes().len())?).copied().unwrap_or(1);
    let counted = AddScalar.call(&indices, Scalar::Int(size), Scalar::Int(1))?;
    WhereSelf.call(&LtScalar.call(&indices, Scalar::Int(0))?, &counted, &indices)
}

/// Both tensors with sizes that broadcast, apart from the dimension that is meant.
fn stretched(input: &Tensor, indices: &Tensor, dim: Option<i64>) -> Result<(Tensor, Tensor, i64)> {
    let Some(dim) = dim else {
        return Ok((Reshape.call(input, &[-1])?, Reshape.call(indices, &[-1])?, 0));
    };
    let (sizes, wanted) = (input.spec()?.sizes(), indices.spec()?.sizes());
    let at = normalise_dim(dim, sizes.len())?;
    if sizes.len() != wanted.len() {
        let message = format!(
            "argument `indices` has shape {wanted:?}, expected as many dimensions as `self` of shape {sizes:?}"
        );
        return Err(argument(message));
    }
    if sizes.is_empty() {
        return Ok((input.clone(), indices.clone(), dim));
    }
    let without = |sizes: &[i64]| -> Vec<i64> {
        sizes.iter().enumerate().map(|(other, size)| if other == at { 1 } else { *size }).collect()
    };
    let mut common = broadcast(&[without(sizes).as_slice(), without(wanted).as_slice()])?.to_vec();
    common[at] = sizes[at];
    let input = Expand.call(input, &common, false)?;
    common[at] = wanted[at];
    Ok((input, Expand.call(indices, &common, false)?, dim))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let inputs = |dtype| {
            let cases: [(&[i64], &[i64], Option<i64>); 5] = [
                (&[2, 3], &[2, 2], Some(1)),
                (&[2, 3], &[1, 2], Some(-1)),
                (&[3, 1], &[4, 2], Some(0)),
                (&[2, 3], &[2, 2], None),
                (&[2, 3], &[0, 3], Some(0)),
            ];
            let one = |(sizes, shape, dim): (&[i64], &[i64], Option<i64>)| {
                let sample = given(generate::numbers(dtype, sizes, 0)).and(Plain::from_elements(
                    DType::I64,
                    shape,
                    &[1, 0, -1],
                ));
                match dim {
                    Some(dim) => sample.and(dim),
                    None => sample,
                }
            };
            let number = given(generate::numbers(dtype, &[], 0)).and(Plain::number(DType::I64, 0));
            cases.into_iter().map(one).chain([number]).collect()
        };
        samples.differs(
            TakeAlongDim,
            Difference {
                id: "indices-from-the-end-of-all-elements",
                what: "torch counts negative indices from the end of a dimension, but not of the \
                     flattened tensor; here in both cases",
                why: "all indices behave alike",
                test: ("opgrid-operators/tests/all/differences/layouts.rs", "indices_from_the_end"),
                when: |seen| {
                    let is_negative = |indices: &Operand| indices.elements.iter().any(|index| index.re < 0.0);
                    let is_flat = !matches!(seen.argument("dim"), Some(Argument::Number(_)));
                    is_flat
                        && seen.torch_refuses("is out of bounds")
                        && seen.tensor("indices").is_some_and(is_negative)
                },
                directed: None,
            },
        );
        samples.differs(
            TakeAlongDim,
            Difference {
                id: "elements-of-any-strides-as-one-list",
                what: "torch rejects tensors and indices that are not row-major if no dimension is \
                     given; here they may have any strides",
                why: "results must not depend on strides",
                test: ("opgrid-operators/tests/all/differences/layouts.rs", "indices_from_the_end"),
                when: |seen| seen.torch_refuses("view size is not compatible"),
                directed: None,
            },
        );
        samples.differs(
            TakeAlongDim,
            Difference {
                id: "indices-of-repeated-elements-are-checked",
                what: "torch reads out of bounds of a tensor with repeated elements if an index is out \
                     of range; here the index is rejected",
                why: "out-of-bounds reads are never allowed",
                test: ("opgrid-operators/tests/all/differences/refused.rs", "places_that_are_not_there"),
                when: |seen| seen.we_refuse("is out of bounds for dimension"),
                directed: None,
            },
        );
        samples.differs(
            TakeAlongDim,
            Difference {
                id: "indices-of-32-bits-along-a-dimension",
                what: "torch accepts int32 indices in `gather`, but not in `take_along_dim`; here in both",
                why: "all indices behave alike",
                test: ("opgrid-operators/tests/all/differences/layouts.rs", "indices_from_the_end"),
                when: |seen| seen.torch_refuses("dtype of indices should be Long but got Int"),
                directed: None,
            },
        );
        let (x, index) =
            (generate::numbers(DType::F32, &[2, 3], 0), Plain::from_elements(DType::I64, &[1, 1], &[3]));
        samples
            .operator(TakeAlongDim, STORED, inputs, reference)
            .refuses_data("", given(x.clone()).and(index.clone()).and(1))
            .refuses("as many dimensions", given(x.clone()).and(index.with_sizes(&[1])).and(1))
            .refuses("int32 or int64", given(x.clone()).and(index.to(DType::F32)).and(1))
            .refuses(
                "int32 or int64",
                given(x).and(Plain::from_elements::<i64>(DType::I16, &[0, 3], &[])).and(0),
            );
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let flat = |x: &Plain| x.with_sizes(&[x.elements().len() as i64]);
        let (x, indices, dim): (_, _, Option<i64>) =
            (it.tensor("self")?, it.tensor("indices")?, it.option("dim")?);
        let (x, indices) = match dim {
            Some(_) => (x.clone(), indices.clone()),
            None => (flat(x), flat(indices)),
        };
        let dim = naive::dimension(dim.unwrap_or(0), x.sizes().len());
        let pairs = x.sizes().iter().zip(indices.sizes()).enumerate();
        let sizes: Vec<i64> =
            pairs.map(|(at, (&size, &wanted))| if at == dim || size == 1 { wanted } else { size }).collect();
        Ok(Plain::from_fn(x.dtype(), &sizes, |position| {
            let mut source = position.to_vec();
            source[dim] = number::whole(indices.at(position)).rem_euclid(x.sizes()[dim]);
            x.at(&source)
        })
        .into())
    }
}
