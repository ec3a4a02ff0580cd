//! `aten::gather`, `aten::gather_backward`: an element of one dimension for each index, and the gradient.
//!
//! `out[i, j, k] = self[i, index[i, j, k], k]` for dimension 1
//!
//! - Shapes: that of `index`, which has as many dimensions as `self`, and outside of `dim` no larger ones; row-major.
//! - Dtypes: that of `self`; `index` is int32 or int64, or anything without elements.
//! - Aliasing: `gather.out` writes `out`, and gives it its shape if it has no elements.
//! - Dispatch: the gradient is `scatter_add` on zeros.
//! - Errors: gradients that are sparse; other shapes, an index out of range (negative ones are), overlap with `out`.
//! - Source: torch.gather, PyTorch 2.15. `sparse_grad` is for derivatives only.

use crate::prelude::*;
use opgrid_kernels::indexing;
use opgrid_kinds::indexing as check;
use opgrid_tensor::ops::ScatterAdd;

pub use opgrid_tensor::ops::indexing::gather::*;

/// The family of `aten::gather`: its kind, shape rule and `out` rule.
pub const GATHER: Family<Gather> = Family::new(Gather, &kind::INDEXING, shape).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&GATHER).cpu(cpu).derivative(|d, (input, dim, index, _)| {
        let sizes = input.sizes().to_vec();
        d.by(input, [index], move |grad, [index]| gradient(grad, &sizes, dim, index))
    });
    library.implicit(GatherBackward, &kind::INDEXING, |grad, input, dim, index, sparse_grad| {
        if sparse_grad {
            return Err(argument(
                "argument `sparse_grad` is true, expected false, for gradients are dense here",
            ));
        }
        gradient(grad, input.spec()?.sizes(), dim, index)
    });
}

fn gradient(grad: &Tensor, sizes: &[i64], dim: i64, index: &Tensor) -> Result<Tensor> {
    ScatterAdd.call(&derivatives::zeros_of(sizes, grad)?, dim, index, grad)
}

fn shape(input: &Tensor, dim: i64, index: &Tensor, _sparse_grad: bool) -> Result<TensorSpec> {
    let (spec, index) = (input.spec()?, index.spec()?);
    let dim = match index.numel() {
        0 => check::dimension(spec, dim, index)?,
        _ => check::along(spec, dim, index)?,
    };
    let (sizes, wanted) = (spec.sizes(), index.sizes());
    let mut pairs = wanted.iter().zip(sizes).enumerate();
    let fits = index.numel() == 0
        || (wanted.len().max(1) == sizes.len().max(1)
            && pairs.all(|(at, (wanted, size))| at == dim || wanted <= size));
    if !fits {
        let message = format!(
            "argument `index` has shape {wanted:?}, expected as many dimensions as `self` of shape \
             {sizes:?} has, and no larger sizes except in dimension {dim}"
        );
        return Err(argument(message));
    }
    TensorSpec::contiguous(wanted, spec.dtype(), spec.device())
}

fn cpu(input: &Tensor, dim: i64, index: &Tensor, _sparse_grad: bool, out: &Tensor) -> Result<()> {
    if index.numel() == 0 {
        return Ok(());
    }
    let dim = check::along(input.spec()?, dim, index.spec()?)?;
    indexing::pick(out.array()?, input.array()?, dim, index.array()?)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let (x, index) =
            (generate::numbers(DType::F32, &[2, 3], 0), Plain::from_elements(DType::I64, &[1, 1], &[2]));
        samples
            .operator(Gather, STORED, inputs, |it| Ok(gathered(it.tensor("self")?, it)?.into()))
            .refuses_data("", given(x.clone()).and(0).and(index.clone()))
            .refuses("as many dimensions", given(x.clone()).and(0).and(index.with_sizes(&[1])))
            .refuses("expected int32 or int64", given(x.clone()).and(1).and(index.to(DType::F32)));
        samples
            .operator(GatherBackward, ANY, gradients, |it| {
                let sizes = it.tensor("self")?.sizes();
                naive::transposed(it.tensor("grad")?, sizes, |one| gathered(one, it)).map(Into::into)
            })
            .tolerance(4.0)
            .refuses("`sparse_grad` is true", {
                given(x.with_sizes(&[1, 6])).and(x).and(0).and(index).and(true)
            });
        samples.rounds(GatherBackward, Roundings::all(Rounding::Sum(2)));
    }

    /// Gradients of the samples that have indices.
    fn gradients(dtype: DType) -> Vec<Sample> {
        let one = |sample: Sample| {
            let index = sample.positional[2].tensors()[0];
            let grad = vec![generate::numbers(dtype, index.sizes(), 1).into()];
            Sample { positional: [grad, sample.positional.clone()].concat(), ..sample }.and(false)
        };
        let has_indices = |sample: &Sample| sample.positional[2].tensors()[0].dtype() == DType::I64;
        inputs(dtype).into_iter().filter(has_indices).map(one).collect()
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
            given(generate::numbers(dtype, sizes, 0)).and(dim).and(Plain::from_elements(
                DType::I64,
                index,
                &[1, 0, 1],
            ))
        };
        let number = given(generate::numbers(dtype, &[], 0)).and(0).and(Plain::number(DType::I64, 0));
        let nothing = given(generate::numbers(dtype, &[2, 3], 0)).and(1).and(Plain::from_elements(
            DType::F32,
            &[0],
            &[0; 0],
        ));
        cases.into_iter().map(one).chain([number, nothing]).collect()
    }

    fn gathered(x: &Plain, it: &Inputs) -> Result<Plain> {
        let index = it.tensor("index")?;
        let dim = naive::dimension(it.value("dim")?, x.sizes().len());
        Ok(Plain::from_fn(x.dtype(), index.sizes(), |position| {
            let mut source = position.to_vec();
            source.iter_mut().skip(dim).take(1).for_each(|place| *place = number::whole(index.at(position)));
            x.at(&source)
        }))
    }
}
