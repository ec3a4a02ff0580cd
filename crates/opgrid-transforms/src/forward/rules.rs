//! Forward rules of operators that are linear, and of those whose derivative is no formula to differentiate once more.

use opgrid_core::{DType, DispatchKey, Dispatcher, Kind, Registration, Result, TensorType};
use opgrid_tensor::Tensor;
use opgrid_tensor::families::kind;
use opgrid_tensor::ops::{EqScalar, Exp, MulTensor, NewOnes, Real, SubTensor, Triu, WhereScalarSelf};

use super::{ForwardCall, ForwardRule};

/// Kinds of operators that are linear in their tensors together.
const LINEAR_KINDS: [&Kind; 2] = [&kind::VIEW, &kind::FOURIER];

/// Operators that are so.
const LINEAR: &[&str] = &[
    "affine_grid_generator",
    "as_strided_scatter",
    "cat",
    "channel_shuffle",
    "clone",
    "col2im",
    "cumsum",
    "diag_embed",
    "diagonal_scatter",
    "flip",
    "gather",
    "im2col",
    "index.Tensor",
    "index_add",
    "index_select",
    "mean",
    "mean.dim",
    "neg",
    "pixel_shuffle",
    "pixel_unshuffle",
    "reflection_pad1d",
    "reflection_pad2d",
    "reflection_pad3d",
    "repeat",
    "replication_pad1d",
    "replication_pad2d",
    "replication_pad3d",
    "roll",
    "rot90",
    "scatter_add",
    "select_scatter",
    "slice_scatter",
    "stack",
    "sum",
    "sum.dim_IntList",
    "take",
    "trace",
    "tril",
    "triu",
    "upsample_bicubic2d",
    "upsample_bilinear2d",
    "upsample_linear1d",
    "upsample_nearest1d",
    "upsample_nearest2d",
    "upsample_nearest3d",
    "upsample_trilinear3d",
];

/// Operators that overwrite their first argument with what follows from no tensor.
const OVERWRITING: &[&str] = &[
    "bernoulli_.float",
    "cauchy_",
    "exponential_",
    "fill_.Scalar",
    "geometric_",
    "log_normal_",
    "normal_",
    "random_",
    "random_.from",
    "random_.to",
    "uniform_",
    "zero_",
];

/// Gives kinds and operators their rules.
pub(crate) fn install(dispatcher: &Dispatcher) -> Result<Registration> {
    let mut by_kind = dispatcher.implementations("_", DispatchKey::FuncTorchGradWrapper);
    for kind in LINEAR_KINDS {
        by_kind.kind_column(kind, ForwardRule::new(|call| call.linear()));
    }
    let mut registration = by_kind.finish()?;
    let mut by_operator = dispatcher.implementations("aten", DispatchKey::FuncTorchGradWrapper);
    for name in LINEAR {
        by_operator
            .implement(format!("aten::{name}").as_str())
            .column(ForwardRule::new(|call| call.linear()));
    }
    for name in OVERWRITING {
        by_operator.implement(format!("aten::{name}").as_str()).column(ForwardRule::new(|_| Ok(vec![None])));
    }
    by_operator.implement("aten::logcumsumexp").column(ForwardRule::new(logcumsumexp));
    registration.join(by_operator.finish()?);
    Ok(registration)
}

/// Averages of the tangents by the exponentials so far. Its gradient is computed by logarithms, which zeros do not have.
fn logcumsumexp(call: &ForwardCall<'_, '_>) -> Result<Vec<Option<Tensor>>> {
    let input = call.args()[0].as_tensor().and_then(Tensor::from_any_ref);
    let (Some(input), Some(dim)) = (input, call.args()[1].as_int()) else { return Ok(vec![None]) };
    let (Some(tangent), Some(result)) = (call.tangent(input), super::tensors_of(call.results()).pop()) else {
        return Ok(vec![None]);
    };
    let input = call.primal(input);
    if input.dim() == 0 || input.numel() == 0 {
        return Ok(vec![Some(tangent.clone())]);
    }
    let [input, tangent, result] = [&input, tangent, &result].map(|it| it.transpose(dim, -1));
    Ok(vec![Some(averages(&input?, &tangent?, &result?)?.transpose(dim, -1)?)])
}

/// How many elements are averaged at once, with the square of that of weights.
const AT_ONCE: i64 = 32;

/// The averages of tangents along the last dimension. Weights are exponentials of differences, which are not above zero: however far apart
/// elements are, none is lost in a sum or divided by.
fn averages(input: &Tensor, tangent: &Tensor, result: &Tensor) -> Result<Tensor> {
    // Where there is nothing yet, there is nothing to average.
    let real = if result.dtype().is_complex() { Real.call(result)? } else { result.clone() };
    let is_nothing = EqScalar.call(&real, f64::NEG_INFINITY.into())?;
    let result = WhereScalarSelf.call(&is_nothing, 0.into(), result)?;
    let weights = |of: &Tensor, result: &Tensor| Exp.call(&SubTensor.call(of, result, 1.into())?);
    let length = *input.sizes().last().expect("there are dimensions, which was checked");
    let mut parts: Vec<Tensor> = Vec::new();
    for start in (0..length).step_by(AT_ONCE as usize) {
        let count = AT_ONCE.min(length - start);
        let [x, t, out] = [input, tangent, &result].map(|it| it.narrow(-1, start, count));
        let (t, out) = (t?, out?);
        let is_later =
            Triu.call(&NewOnes.call(&t, &[count, count], Some(DType::Bool), None, None, None)?, 1)?;
        let differences = SubTensor.call(&x?.unsqueeze(-2)?, &out.unsqueeze(-1)?, 1.into())?;
        let own = Exp.call(&WhereScalarSelf.call(&is_later, f64::NEG_INFINITY.into(), &differences)?)?;
        let mut average = MulTensor.call(&own, &t.unsqueeze(-2)?)?.sum_dim(&[-1], false)?;
        if let Some(before) = parts.last() {
            let before = before.narrow(-1, -1, 1)?;
            let weight = weights(&result.narrow(-1, start - 1, 1)?, &out)?;
            average = average.add(&MulTensor.call(&weight, &before)?)?;
        }
        parts.push(average);
    }
    Tensor::cat(&parts.iter().collect::<Vec<_>>(), -1)
}
