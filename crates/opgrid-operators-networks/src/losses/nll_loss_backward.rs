//! `aten::nll_loss_backward`, `aten::nll_loss2d_backward`: the gradients of `nll_loss` and `nll_loss2d`.
//!
//! `grad_input[j, target[j]] = -weight[target[j]] * grad_output[j]`, over `total_weight` for a mean (1); all other elements are zero, as
//! are those where `target[j] = ignore_index`
//!
//! - Shapes: that of `self`, as in the loss; `grad_output` has that of the loss, one element where it is reduced; `total_weight` has
//!   one element, which counts for a mean alone.
//! - Dtypes: that of `self`, a floating-point one, which `grad_output`, `weight` and `total_weight` have too.
//! - Aliasing: the overloads `grad_input` write `grad_input`.
//! - Dispatch: composites of `where`, `mul` and `scatter`.
//! - Errors: those of the loss; other shapes or dtypes.
//! - Source: torch.ops.aten.nll_loss_backward, PyTorch 2.15.

use super::nll_loss::{check, check_nothing_counts, classes_of, weights_of};
use crate::prelude::*;
use opgrid_tensor::ops::{Reshape, ScatterSrc};

pub use opgrid_tensor::ops::losses::nll_loss_backward::*;

pub(super) fn register(library: &mut Library) {
    library.implicit(
        NllLossBackward,
        &kind::LOSS,
        |grad, input, target, weight, reduction, ignore_index, total_weight| match input.spec()?.sizes() {
            [_] | [_, _] => backward(grad, input, target, weight, (reduction, ignore_index), total_weight),
            sizes => {
                Err(argument(format!("argument `self` has shape {sizes:?}, expected one or two dimensions")))
            }
        },
    );
    library.implicit(
        NllLoss2dBackward,
        &kind::LOSS,
        |grad, input, target, weight, reduction, ignore_index, total_weight| match input.spec()?.sizes() {
            [_, _, _, _] => backward(grad, input, target, weight, (reduction, ignore_index), total_weight),
            sizes => Err(argument(format!("argument `self` has shape {sizes:?}, expected four dimensions"))),
        },
    );
}

fn backward(
    grad: &Tensor,
    input: &Tensor,
    target: &Tensor,
    weight: Option<&Tensor>,
    (reduction, ignore_index): (i64, i64),
    total_weight: &Tensor,
) -> Result<Tensor> {
    let dim = dimension(input.sizes());
    check(input, target, weight, dim as usize)?;
    let reduction = loss::Reduction::numbered(reduction)?;
    for (name, other) in [("grad_output", grad), ("total_weight", total_weight)] {
        pointwise::check_one_dtype(("self", input), (name, other))?;
    }
    // Of a single class there is one loss, reduced or not.
    let is_one = reduction != loss::Reduction::None || dim == 0;
    let expected = if is_one { &[] } else { target.sizes() };
    let has_shape = if is_one { grad.numel() == 1 } else { grad.sizes() == expected };
    if !has_shape {
        let message =
            format!("argument `grad_output` has shape {:?}, expected {expected:?} as the loss", grad.sizes());
        return Err(argument(message));
    }
    let grad = Reshape.call(grad, expected)?;
    let grad = match reduction {
        loss::Reduction::Mean => over_total(&grad, total_weight)?,
        loss::Reduction::None | loss::Reduction::Sum => grad,
    };
    if input.sizes()[dim as usize] == 0 {
        check_nothing_counts(&classes_of(target, dim, ignore_index)?.0)?;
    }
    gradient(&grad, input.sizes(), target, weight, ignore_index)
}

/// The gradient of a mean as that of the sum.
///
/// # Errors
///
/// A total that is not one number.
pub(super) fn over_total(grad: &Tensor, total_weight: &Tensor) -> Result<Tensor> {
    if total_weight.numel() != 1 {
        let message =
            format!("argument `total_weight` has shape {:?}, expected one element", total_weight.sizes());
        return Err(argument(message));
    }
    grad / Reshape.call(total_weight, &[])?
}

/// The dimension of the classes.
fn dimension(sizes: &[i64]) -> i64 {
    if sizes.len() > 1 { 1 } else { 0 }
}

/// The gradient of logarithms of these sizes by that of each loss, or of their sum.
///
/// # Errors
///
/// A target that is no class; those of the operators that it is made of.
pub(super) fn gradient(
    grad: &Tensor,
    sizes: &[i64],
    target: &Tensor,
    weight: Option<&Tensor>,
    ignore_index: i64,
) -> Result<Tensor> {
    let dim = dimension(sizes);
    let zeros = derivatives::zeros_of(sizes, grad)?;
    if sizes[dim as usize] == 0 {
        return Ok(zeros);
    }
    let (counts, classes) = classes_of(target, dim, ignore_index)?;
    let grad = (-grad)?;
    let each = match weight {
        Some(weight) => (grad * weights_of(weight, &counts, &classes)?)?,
        None => grad,
    };
    // Where the total is zero, what does not count is still zero.
    let each = derivatives::where_true(&counts, &each)?;
    ScatterSrc.call(&zeros, dim, &classes.unsqueeze(dim)?, &each.unsqueeze(dim)?)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::losses::nll_loss::samples::{BYTES, of_shapes};
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = |sizes: &[i64]| generate::numbers(DType::F32, sizes, 0);
        let of = |grad: &[i64], input: &[i64], total: &[i64]| {
            given(x(grad))
                .and(x(input))
                .and(Plain::from_elements(DType::I64, &[2], &[1, 0]))
                .and(Value::None)
                .and(1)
                .and(-100)
                .and(x(total))
        };
        samples
            .operator(
                NllLossBackward,
                FLOATS,
                |dtype| inputs(dtype, &[&[2, 3], &[4], &[0, 3], &[37, 2]]),
                reference,
            )
            .tolerance(loss::samples::TOLERANCE)
            .constant(&["weight", "total_weight"])
            .refuses("`grad_output` has shape", of(&[2], &[2, 3], &[]))
            .refuses("`target` has shape", of(&[], &[3, 3], &[]))
            .refuses("one or two dimensions", of(&[], &[2, 3, 1], &[]))
            .refuses("`total_weight` has shape", of(&[], &[2, 3], &[2]));
        samples
            .operator(
                NllLoss2dBackward,
                FLOATS,
                |dtype| inputs(dtype, &[&[2, 3, 2, 2], &[1, 2, 3, 1], &[0, 2, 2, 2]]),
                reference,
            )
            .tolerance(loss::samples::TOLERANCE)
            .constant(&["weight", "total_weight"])
            .refuses("four dimensions", of(&[], &[2, 3], &[]));
        samples.rounds(NllLossBackward, Roundings::all(Rounding::Sum(64)));
        samples.rounds(NllLoss2dBackward, Roundings::all(Rounding::Sum(64)));
        samples.differs_as(NllLossBackward, &[loss::samples::CHECKED]);
        samples.differs_as(NllLoss2dBackward, &[loss::samples::CHECKED, BYTES]);
    }

    /// The samples of losses behind gradients of these, with a total that all are divided by.
    fn inputs(dtype: DType, shapes: &[&[i64]]) -> Vec<Sample> {
        let with = |sample: Sample| {
            let named = |name: &str| {
                let found = sample.keyword.iter().find(|(known, _)| known == name);
                found.map(|(_, given)| given.clone())
            };
            let tensors = [0, 1].map(|at| sample.positional[at].tensors()[0].clone());
            let is_reduced = named("reduction").is_none_or(|given| given.to_string() != "0");
            let grad = if is_reduced { &[] } else { tensors[1].sizes() };
            let [input, target] = &tensors;
            given(generate::numbers(dtype, grad, 7))
                .and(input.clone())
                .and(target.clone())
                .and(named("weight").unwrap_or(Value::None.into()))
                .and(named("reduction").unwrap_or(1.into()))
                .and(named("ignore_index").unwrap_or((-100).into()))
                .and(Plain::number(dtype, 2.5))
        };
        of_shapes(dtype, shapes).into_iter().map(with).collect()
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let [grad, x, target] = [it.tensor("grad_output")?, it.tensor("self")?, it.tensor("target")?];
        let (weight, total) = (it.tensor("weight").ok(), it.tensor("total_weight")?);
        let (reduction, ignored): (i64, i64) = (it.value("reduction")?, it.value("ignore_index")?);
        let real = |x: &Plain, position: &[i64]| x.at(position).to_complex().re;
        let total = if reduction == 1 { real(total, &[]) } else { 1.0 };
        Ok(Plain::from_fn(x.dtype(), x.sizes(), |position| {
            let mut place = position.to_vec();
            let class = place.remove(position.len().min(2) - 1);
            let factor = weight.map_or(1.0, |weight| real(weight, &[class]));
            let is_it = number::whole(target.at(&place)) == class && class != ignored;
            Scalar::Float(if is_it { -factor * real(grad, &place) / total } else { 0.0 })
        })
        .into())
    }
}
