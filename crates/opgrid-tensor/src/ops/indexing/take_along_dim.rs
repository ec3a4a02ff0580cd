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

use crate::ops::prelude::*;
use crate::ops::{AddScalar, Expand, Gather, GatherOut, LtScalar, Reshape, WhereSelf};
use crate::tensor::broadcast;
use crate::tensor::views::normalise_dim;

operator! {
    home = crate::home_of(register);
    pub TakeAlongDim = "aten::take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor", out;
}

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

pub(super) fn samples(samples: &mut Samples) {
    let inputs = |dtype| {
        let cases: [(&[i64], &[i64], Option<i64>); 5] = [
            (&[2, 3], &[2, 2], Some(1)),
            (&[2, 3], &[1, 2], Some(-1)),
            (&[3, 1], &[4, 2], Some(0)),
            (&[2, 3], &[2, 2], None),
            (&[2, 3], &[0, 3], Some(0)),
        ];
        let one = |(sizes, shape, dim): (&[i64], &[i64], Option<i64>)| {
            let sample = given(make::numbers(dtype, sizes, 0)).and(Plain::of(DType::I64, shape, &[1, 0, -1]));
            match dim {
                Some(dim) => sample.and(dim),
                None => sample,
            }
        };
        let number = given(make::numbers(dtype, &[], 0)).and(Plain::number(DType::I64, 0));
        cases.into_iter().map(one).chain([number]).collect()
    };
    let (x, index) = (make::numbers(DType::F32, &[2, 3], 0), Plain::of(DType::I64, &[1, 1], &[3]));
    samples
        .of(TakeAlongDim, STORED, inputs, reference)
        .refuses_data("", given(x.clone()).and(index.clone()).and(1))
        .refuses("as many dimensions", given(x.clone()).and(index.with_sizes(&[1])).and(1))
        .refuses("int32 or int64", given(x).and(index.to(DType::F32)).and(1));
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

/// The indices, with the size added to negative ones.
fn from_start(input: &Tensor, indices: Tensor, dim: i64) -> Result<Tensor> {
    if !matches!(indices.dtype(), DType::I32 | DType::I64) {
        return Ok(indices);
    }
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
