//! `aten::masked_scatter`, `aten::masked_scatter_backward`: elements written where a mask is true, in order, and their gradient.
//!
//! - Shapes: `self` and `mask` broadcast; in place, `mask` is stretched to `self`. `source` has as many elements as the mask
//!   has true ones, or more.
//! - Dtypes: `source` has that of `self`; `mask` is bool.
//! - Aliasing: `masked_scatter_` writes `self`, `masked_scatter.out` writes `out`, of the dtype of `self`.
//! - Dispatch: composites of `expand`, `clone` and `masked_scatter_`, and that of `index_put_`.
//!   The gradient is one of `masked_select`, with zeros behind it.
//! - Errors: a mask of another dtype, fewer elements than are asked for, overlap.
//! - Source: torch.Tensor.masked_scatter_, PyTorch 2.15.

use crate::kinds::scatter;
use crate::prelude::*;
use opgrid_kernels::access::check_written;
use opgrid_kernels::indexing;
use opgrid_tensor::ops::{ConstantPadNd, Expand, IndexPutInplace, Reshape, SliceTensor, Unsqueeze};
use opgrid_tensor::tensor::broadcast;

pub use opgrid_tensor::ops::indexing::masked_scatter::*;

pub(super) fn register(library: &mut Library) {
    library.define_with_forms(MaskedScatter, &kind::INDEXING).on_every_backend(masked_scatter).derivative(
        |d, (input, mask, source)| {
            let sizes = source.sizes().to_vec();
            d.by(input, [mask], |grad, [mask]| grad.masked_fill(mask, 0))?;
            d.by(source, [mask], move |grad, [mask]| gradient(grad, mask, &sizes))
        },
    );
    library.implicit(MaskedScatterBackward, &kind::INDEXING, gradient);
    library.implement(MaskedScatterInplace).on_cpu_and_meta(masked_scatter_);
    library.implement(MaskedScatterOut).on_every_backend(|input, mask, source, out| {
        result::copied(out, &masked_scatter(input, mask, source)?)
    });
}

/// The gradient of a source of these sizes.
fn gradient(grad: &Tensor, mask: &Tensor, sizes: &[i64]) -> Result<Tensor> {
    let chosen = grad.masked_select(mask)?;
    let rest = TensorSpec::contiguous(sizes, grad.dtype(), grad.device())?.numel() - chosen.numel();
    if rest < 0 {
        let message = format!(
            "argument `sizes` is {sizes:?}, expected those of at least {} elements, the number of true elements of the mask",
            chosen.numel()
        );
        return Err(argument(message));
    }
    ConstantPadNd.call(&chosen, &[0, rest], 0.into())?.reshape(sizes)
}

fn check_mask(mask: &Tensor) -> Result<()> {
    match mask.spec()?.dtype() {
        DType::Bool => Ok(()),
        other => Err(argument(format!("argument `mask` has dtype {other}, expected bool"))),
    }
}

fn masked_scatter(input: &Tensor, mask: &Tensor, source: &Tensor) -> Result<Tensor> {
    check_mask(mask)?;
    let sizes = broadcast(&[input.spec()?.sizes(), mask.spec()?.sizes()])?;
    let stretched = Expand.call(input, &sizes, false)?;
    let result = opgrid_tensor::ops::CloneTensor.call(&stretched, Some(MemoryFormat::Contiguous))?;
    MaskedScatterInplace.call(&result, mask, source)?;
    Ok(result)
}

fn masked_scatter_(input: &Tensor, mask: &Tensor, source: &Tensor) -> Result<()> {
    check_mask(mask)?;
    let spec = input.spec()?;
    with_dtype!(spec.dtype(), _T: Any by itself => Ok(()))?;
    check_written(spec.geometry())?;
    scatter::check_values(spec, source.spec()?, "source")?;
    let mut chosen = Expand.call(mask, spec.sizes(), false)?;
    if spec.device().is_meta() {
        return Ok(());
    }
    for other in [mask, source] {
        indexing::check_apart(input.array()?, other.array()?)?;
    }
    let mut written = input.clone();
    if spec.sizes().is_empty() {
        (written, chosen) = (Unsqueeze.call(input, 0)?, Unsqueeze.call(&chosen, 0)?);
    }
    let wanted = chosen.to_vec::<Bool>()?.into_iter().filter(|element| element.is_true()).count() as i64;
    let found = source.numel();
    if found < wanted {
        let message = format!(
            "argument `source` has {found} elements, expected at least {wanted}, the number of true \
             elements of the mask"
        );
        return Err(argument(message));
    }
    let list = SliceTensor.call(&Reshape.call(source, &[-1])?, 0, Some(0), Some(wanted), 1)?;
    match wanted {
        // A single value would be converted and may come from anywhere.
        0 => Ok(()),
        _ => IndexPutInplace.call(&written, &[Some(chosen)], &list, false),
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let inputs = |dtype| {
            let shapes: [[&[i64]; 3]; 6] = [
                [&[2, 3], &[2, 3], &[6]],
                [&[2, 3], &[3], &[3, 2]],
                [&[3], &[2, 3], &[7]],
                [&[], &[], &[1]],
                [&[0], &[1], &[2]],
                [&[2, 3], &[2, 1], &[2, 3]],
            ];
            let one = |[sizes, mask, source]: [&[i64]; 3]| {
                given(generate::numbers(dtype, sizes, 0))
                    .and(generate::numbers(DType::Bool, mask, 1))
                    .and(generate::numbers(dtype, source, 2))
            };
            shapes.map(one).to_vec()
        };
        let (x, mask) =
            (generate::numbers(DType::F32, &[2], 0), Plain::from_elements(DType::Bool, &[2], &[true]));
        samples
            .operator(MaskedScatter, ANY, inputs, reference)
            .refuses("expected bool", given(x.clone()).and(x.clone()).and(x.clone()))
            .refuses("expected float32", given(x.clone()).and(mask.clone()).and(x.to(DType::F64)))
            .refuses_data("elements", given(x.clone()).and(mask.clone()).and(x.with_sizes(&[1])));
        let gradients = |dtype| {
            let shapes: [[&[i64]; 3]; 5] = [
                [&[2, 3], &[2, 3], &[6]],
                [&[2, 3], &[3], &[3, 2]],
                [&[3], &[3], &[5]],
                [&[], &[], &[1]],
                [&[0], &[1], &[2]],
            ];
            let one = |[grad, mask, sizes]: [&[i64]; 3]| {
                given(generate::numbers(dtype, grad, 0))
                    .and(generate::numbers(DType::Bool, mask, 1))
                    .and(sizes.to_vec())
            };
            shapes.map(one).to_vec()
        };
        samples
            .operator(MaskedScatterBackward, ANY, gradients, |it| {
                let (grad, mask) = (it.tensor("grad_output")?, it.tensor("mask")?);
                let chosen = naive::positions(grad.sizes()).filter(|position| mask.at(position).to_bool());
                let mut chosen = chosen.map(|position| grad.at(&position));
                let sizes: Vec<i64> = it.value("sizes")?;
                let elements = naive::positions(&sizes).map(|_| chosen.next().unwrap_or(Scalar::Int(0)));
                Ok(Plain::from_elements(grad.dtype(), &sizes, &elements.collect::<Vec<_>>()).into())
            })
            .not_on_meta()
            .refuses("expected bool", given(x.clone()).and(x.clone()).and(vec![2]))
            .refuses_data("`sizes` is [1]", given(x).and(mask).and(vec![1]));
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let (x, mask, source) = (it.tensor("self")?, it.tensor("mask")?, it.tensor("source")?);
        let sizes = naive::broadcast([x.sizes(), mask.sizes()].into_iter())?;
        let mut rest = source.elements().iter();
        let next = |position: Vec<i64>| {
            if mask.at(&position).to_bool() {
                rest.next().copied().unwrap_or(Scalar::Int(0))
            } else {
                x.at(&position)
            }
        };
        let elements: Vec<Scalar> = naive::positions(&sizes).map(next).collect();
        Ok(Plain::from_elements(x.dtype(), &sizes, &elements).into())
    }
}
