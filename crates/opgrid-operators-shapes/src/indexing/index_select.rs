//! `aten::index_select`, `aten::index_select_backward`: the indices of one dimension that a list names, and the gradient.
//!
//! `out[…, k, …] = self[…, index[k], …]`
//!
//! - Shapes: that of `self` with the number of indices for dimension `dim`; row-major.
//! - Dtypes: that of `self`; `index` is int32 or int64.
//! - Aliasing: `index_select.out` writes `out`, and gives it its shape if it has no elements.
//! - Dispatch: the gradient is `index_add` on zeros.
//! - Errors: an `index` of several dimensions, an index out of range (negative ones are), overlap with `out`.
//! - Source: torch.index_select, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::indexing::{self, Indexed, Lookup};
use opgrid_kinds::indexing as check;
use opgrid_tensor::ops::IndexAdd;

pub use opgrid_tensor::ops::indexing::index_select::*;

/// The family of `aten::index_select`: its kind, shape rule and `out` rule.
pub const INDEX_SELECT: Family<IndexSelect> =
    Family::new(IndexSelect, &kind::INDEXING, shape).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&INDEX_SELECT).cpu(cpu).derivative(|d, (input, dim, index)| {
        let sizes = input.sizes().to_vec();
        d.by(input, [index], move |grad, [index]| gradient(grad, &sizes, dim, index))
    });
    library.implicit(IndexSelectBackward, &kind::INDEXING, gradient);
}

fn gradient(grad: &Tensor, sizes: &[i64], dim: i64, index: &Tensor) -> Result<Tensor> {
    IndexAdd.call(&derivatives::zeros_of(sizes, grad)?, dim, index, grad, 1.into())
}

fn shape(input: &Tensor, dim: i64, index: &Tensor) -> Result<TensorSpec> {
    let (spec, index) = (input.spec()?, index.spec()?);
    let dim = check::along(spec, dim, index)?;
    if index.sizes().len() > 1 {
        let message = format!("argument `index` has shape {:?}, expected a vector", index.sizes());
        return Err(argument(message));
    }
    let mut sizes = spec.sizes().to_vec();
    match sizes.get_mut(dim) {
        Some(size) => *size = index.numel(),
        None if index.numel() != 1 => {
            let found = index.numel();
            let message =
                format!("argument `index` has {found} elements, expected 1 for `self` without dimensions");
            return Err(argument(message));
        }
        None => {}
    }
    TensorSpec::contiguous(&sizes, spec.dtype(), spec.device())
}

fn cpu(input: &Tensor, dim: i64, index: &Tensor, out: &Tensor) -> Result<()> {
    let geometry = input.geometry();
    let dim = check::along(input.spec()?, dim, index.spec()?)?;
    let (size, stride) = match geometry.sizes().get(dim) {
        Some(&size) => (size, geometry.strides()[dim]),
        None => (1, 0),
    };
    let along = Indexed { dim, size, stride, from_end: false };
    let offsets = indexing::offsets(index.sizes(), [(along, index.array()?)])?;
    let indexed = dim..(dim + 1).min(geometry.dims());
    let lookup = Lookup::new(geometry, indexed, offsets)?;
    indexing::check_apart(out.array()?, index.array()?)?;
    indexing::read(out.array()?, input.array()?, &lookup)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::kinds::views;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let (x, index) =
            (generate::numbers(DType::F32, &[2, 3], 0), Plain::from_elements(DType::I64, &[1], &[2]));
        samples
            .operator(IndexSelect, STORED, inputs, |it| Ok(selected(it.tensor("self")?, it)?.into()))
            .refuses_data("", given(x.clone()).and(0).and(index.clone()))
            .refuses_data("", given(x.clone()).and(0).and(Plain::from_elements(DType::I64, &[1], &[-1])))
            .refuses("expected a vector", given(x.clone()).and(0).and(index.with_sizes(&[1, 1])))
            .refuses("expected int32 or int64", given(x.clone()).and(1).and(index.to(DType::F32)));
        samples
            .operator(IndexSelectBackward, ANY, gradients, |it| {
                let sizes: Vec<i64> = it.value("self_sizes")?;
                naive::transposed(it.tensor("grad")?, &sizes, |one| selected(one, it)).map(Into::into)
            })
            .tolerance(4.0)
            .refuses("", given(x.clone()).and(vec![2, 3]).and(0).and(index.clone()))
            .refuses_data("", given(x.with_sizes(&[1, 3])).and(vec![2, 3]).and(0).and(index));
        samples.rounds(IndexSelectBackward, Roundings::all(Rounding::Sum(2)));
    }

    /// Gradients of the samples.
    fn gradients(dtype: DType) -> Vec<Sample> {
        views::samples::gradients(inputs(dtype), |x, others| {
            let mut sizes = x.sizes().to_vec();
            let dim = naive::dimension(views::samples::whole(&others[0]), sizes.len());
            sizes[dim] = others[1].tensors()[0].elements().len() as i64;
            sizes
        })
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        let cases: [(&[i64], i64, &[i64]); 4] =
            [(&[2, 3], 1, &[2, 0, 2]), (&[4], 0, &[3]), (&[2, 3], -2, &[]), (&[3, 2, 2], 0, &[1, 1])];
        let one = |(sizes, dim, index): (&[i64], i64, &[i64])| {
            let index = Plain::from_elements(
                if dim == 1 { DType::I32 } else { DType::I64 },
                &[index.len() as i64],
                index,
            );
            given(generate::numbers(dtype, sizes, 0)).and(dim).and(index)
        };
        cases.into_iter().map(one).collect()
    }

    fn selected(x: &Plain, it: &Inputs) -> Result<Plain> {
        let index = it.tensor("index")?;
        let dim = naive::dimension(it.value("dim")?, x.sizes().len());
        let mut sizes = x.sizes().to_vec();
        sizes[dim] = index.elements().len() as i64;
        Ok(Plain::from_fn(x.dtype(), &sizes, |position| {
            let mut position = position.to_vec();
            position[dim] = number::whole(index.at(&position[dim..=dim]));
            x.at(&position)
        }))
    }
}
