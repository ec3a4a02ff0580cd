//! `aten::gather`: an element of one dimension for each index.
//!
//! `out[i, j, k] = self[i, index[i, j, k], k]` for dimension 1
//!
//! - Shapes: that of `index`, which has as many dimensions as `self`, and outside of `dim` no larger ones; row-major.
//! - Dtypes: that of `self`; `index` is int32 or int64.
//! - Aliasing: `gather.out` writes `out`, and gives it its shape if it has no elements.
//! - Errors: other shapes, an index out of range (negative ones are), overlap with `out`.
//! - Source: torch.gather, PyTorch 2.15. `sparse_grad` is for derivatives only.

use super::prelude::*;
use super::{indexing as check, structured};
use crate::kernels::indexing::{self, Lookup};
use crate::tensor::array::positions;

operator! {
    home = crate::home;
    pub Gather = "aten::gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor";
    pub GatherOut = "aten::gather.out(Tensor self, int dim, Tensor index, *, bool sparse_grad=False, Tensor(a!) out) -> Tensor(a!)";
}

pub(super) fn register(library: &mut Library) {
    library.define(Gather).structured(shape, cpu);
    library.define(GatherOut).on_cpu_and_meta(|input, dim, index, sparse_grad, out| {
        let spec = shape(input, dim, index, sparse_grad)?;
        structured::same_dtype(out, &spec)?;
        structured::written(out, &spec, |out| cpu(input, dim, index, sparse_grad, out))
    });
}

pub(super) fn samples(samples: &mut Samples) {
    let (x, index) = (make::numbers(DType::F32, &[2, 3], 0), Plain::of(DType::I64, &[1, 1], &[2]));
    samples
        .of(Gather, ANY, inputs, reference)
        .refuses_data("", given(x.clone()).and(0).and(index.clone()))
        .refuses("as many dimensions", given(x.clone()).and(0).and(index.with_sizes(&[1])))
        .refuses("expected int32 or int64", given(x).and(1).and(index.to(DType::F32)));
}

fn inputs(dtype: DType) -> Vec<Sample> {
    let cases: [(&[i64], i64, &[i64]); 5] = [
        (&[2, 3], 1, &[2, 2]),
        (&[3], 0, &[5]),
        (&[3, 2], 0, &[2, 1]),
        (&[2, 3], 0, &[0, 3]),
        (&[3], 0, &[0]),
    ];
    let one = |(sizes, dim, index): (&[i64], i64, &[i64])| {
        given(make::numbers(dtype, sizes, 0)).and(dim).and(Plain::of(DType::I64, index, &[1, 0, 1]))
    };
    cases.into_iter().map(one).collect()
}

fn reference(it: &Inputs) -> Result<Expected> {
    let (x, index) = (it.tensor("self")?, it.tensor("index")?);
    let dim = naive::dimension(it.value("dim")?, x.sizes().len());
    Ok(Plain::from_fn(x.dtype(), index.sizes(), |position| {
        let mut position = position.to_vec();
        position[dim] = number::whole(index.at(&position));
        x.at(&position)
    })
    .into())
}

fn shape(input: &Tensor, dim: i64, index: &Tensor, _sparse_grad: bool) -> Result<TensorSpec> {
    let (spec, index) = (input.spec()?, index.spec()?);
    let dim = check::along(spec, dim, index)?;
    let (sizes, wanted) = (spec.sizes(), index.sizes());
    let mut pairs = wanted.iter().zip(sizes).enumerate();
    let fits = index.numel() == 0
        || (wanted.len().max(1) == sizes.len().max(1)
            && pairs.all(|(at, (wanted, size))| at == dim || wanted <= size));
    if !fits {
        let message = format!(
            "argument `index` has shape {wanted:?}, expected as many dimensions as `self` of shape {sizes:?} has, and no larger ones apart from dimension {dim}"
        );
        return Err(argument(message));
    }
    TensorSpec::contiguous(wanted, spec.dtype(), spec.device())
}

fn cpu(input: &Tensor, dim: i64, index: &Tensor, _sparse_grad: bool, out: &Tensor) -> Result<()> {
    if index.numel() == 0 {
        return Ok(());
    }
    let geometry = input.geometry();
    let dim = check::along(input.spec()?, dim, index.spec()?)?;
    let (size, stride) = match geometry.sizes().get(dim) {
        Some(&size) => (size, geometry.strides()[dim]),
        None => (1, 0),
    };
    // The positions apart from dimension `dim`: it repeats its first element. A vector may index a number.
    let mut strides = vec![0; index.dim()];
    strides.iter_mut().zip(geometry.strides()).for_each(|(stride, own)| *stride = *own);
    strides.get_mut(dim).into_iter().for_each(|stride| *stride = 0);
    let elsewhere = Geometry::strided(index.sizes(), &strides, 0)?;
    let places = positions(&elsewhere).zip(indexing::indices(index.array()?)?);
    let offsets =
        places.map(|(at, index)| Ok(at + (indexing::place(index, size, dim, false)? * stride) as usize));
    let lookup = Lookup::new(geometry, 0..geometry.dims(), offsets.collect::<Result<_>>()?)?;
    indexing::check_apart(out.array()?, index.array()?)?;
    indexing::read(out.array()?, input.array()?, &lookup)
}
