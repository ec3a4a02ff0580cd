//! `aten::_scaled_dot_product_flash_attention_for_cpu_backward`: the gradients of attention, by what it gave.
//!
//! With `w[i, j] = exp(scores[i, j] - logsumexp[i])` and `d[i, j] = w[i, j] * (grad_out[i] · value[j] - grad_out[i] · out[i])`:
//! `grad_query[i] = Σ d[i, j] * key[j] * scale`, `grad_key[j] = Σ d[i, j] * query[i] * scale`, `grad_value[j] = Σ w[i, j] * grad_out[i]`
//!
//! - Shapes: those of `_scaled_dot_product_flash_attention_for_cpu`, whose results `out` and `logsumexp` are; `grad_out` is shaped as `out`.
//!   The results are shaped as `query`, `key` and `value`.
//! - Dtypes: those of `query`; the sums of 16-bit floats are float32.
//! - Dispatch: a composite of matrix products, whose derivatives it has.
//! - Errors: those of `_scaled_dot_product_flash_attention_for_cpu`; `grad_out`, `out` and `logsumexp` of other shapes.
//! - Source: torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward, PyTorch 2.15.

use super::flash_attention::{Attended, shape};
use crate::prelude::*;

pub use opgrid_tensor::ops::attention::flash_attention_backward::*;

pub(super) fn register(library: &mut Library) {
    library.define(ScaledDotProductFlashAttentionForCpuBackward).kind(&kind::ATTENTION).implicit(backward);
}

#[expect(clippy::too_many_arguments, reason = "those of the schema")]
fn backward(
    grad_out: &Tensor,
    query: &Tensor,
    key: &Tensor,
    value: &Tensor,
    out: &Tensor,
    logsumexp: &Tensor,
    dropout_p: f64,
    is_causal: bool,
    attn_mask: Option<&Tensor>,
    scale: Option<f64>,
) -> Result<(Tensor, Tensor, Tensor)> {
    let (expected, logarithms) = shape(query, key, value, dropout_p, is_causal, attn_mask, scale)?;
    for (name, tensor, expected) in
        [("grad_out", grad_out, &expected), ("out", out, &expected), ("logsumexp", logsumexp, &logarithms)]
    {
        let found = tensor.spec()?;
        if found.sizes() != expected.sizes() {
            let message = format!(
                "argument `{name}` has shape {:?}, expected {:?} to match `query`",
                found.sizes(),
                expected.sizes()
            );
            return Err(argument(message));
        }
    }
    products::check_factors(&[
        ("query", query.spec()?),
        ("grad_out", grad_out.spec()?),
        ("out", out.spec()?),
    ])?;
    let scale = scale.unwrap_or(1.0 / (query.sizes()[3] as f64).sqrt());
    let attended = Attended { query, key, value, mask: attn_mask, out, logs: logsumexp, is_causal, scale };
    let [of_query, of_key, of_value, _] = attended.gradients([Some(grad_out), None])?;
    let narrow = |grad: Option<Tensor>, of: &Tensor| match grad {
        Some(grad) => loss::narrow(grad, of.dtype()),
        None => Tensor::zeros(of.sizes(), of.dtype(), of.device()),
    };
    Ok((narrow(of_query, query)?, narrow(of_key, key)?, narrow(of_value, value)?))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::attention::flash_attention::samples as forward;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = generate::numbers(DType::F32, &[1, 2, 3, 4], 0);
        let logs = generate::numbers(DType::F32, &[1, 2, 3], 0);
        let of = |grad: &Plain, out: &Plain, logs: &Plain| {
            let sample = given(grad.clone()).and(x.clone()).and(x.clone()).and(x.clone());
            sample.and(out.clone()).and(logs.clone()).and(0.0).and(false)
        };
        let other = generate::numbers(DType::F32, &[1, 2, 3, 5], 0);
        samples
            .operator(
                ScaledDotProductFlashAttentionForCpuBackward,
                normalisations::samples::FLOATS,
                inputs,
                reference,
            )
            .tolerance(64.0)
            .refuses("`grad_out` has shape", of(&other, &x, &logs))
            .refuses("`out` has shape", of(&x, &other, &logs))
            .refuses("`logsumexp` has shape", of(&x, &x, &x))
            .refuses("convert one of them", of(&x.to(DType::F64), &x, &logs));
        samples.rounds(ScaledDotProductFlashAttentionForCpuBackward, Roundings::all(Rounding::Sum(64)));
    }

    /// The inputs of attention, with results of it that are drawn.
    fn inputs(dtype: DType) -> Vec<Sample> {
        let logarithm = if dtype == DType::F64 { DType::F64 } else { DType::F32 };
        let of = |mut sample: Sample| {
            let sizes = match sample.positional.first().map(|query| query.tensors()) {
                Some(tensors) if tensors.len() == 1 => tensors[0].sizes().to_vec(),
                _ => Vec::new(),
            };
            let is_causal = sample.positional.len() > 3;
            sample.positional.truncate(3);
            sample.positional.insert(0, generate::numbers(dtype, &sizes, 5).into());
            let sample = sample.and(generate::numbers(dtype, &sizes, 6));
            sample.and(generate::numbers(logarithm, &sizes[..3], 7)).and(0.0).and(is_causal)
        };
        forward::inputs(dtype).into_iter().map(of).collect()
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let [grad, query, key, value, out, logs] =
            ["grad_out", "query", "key", "value", "out", "logsumexp"].map(|name| it.tensor(name));
        let (grad, query, key, value, out, logs) = (grad?, query?, key?, value?, out?, logs?);
        let [b, h, l, e] = [0, 1, 2, 3].map(|dim| query.sizes()[dim]);
        let [own, keys] = [1, 2].map(|dim| key.sizes()[dim]);
        let scale = it.option::<f64>("scale")?.unwrap_or(1.0 / (e as f64).sqrt());
        let real = |of: &Plain, at: &[i64]| of.at(at).to_complex().re;
        let wide = |sizes: &[i64]| Plain::from_fn(DType::F64, sizes, |_| Scalar::Float(0.0));
        let mut grads = [query, key, value].map(|of| wide(of.sizes()));
        let add = |to: &mut Plain, at: &[i64], more: f64| to.set(at, Scalar::Float(real(to, at) + more));
        for row in 0..b * h * l {
            let [image, head, i] = [row / (h * l), row / l % h, row % l];
            let group = head * own / h;
            let scores = forward::scores(it, key, &[image, head, i])?;
            let along: f64 =
                (0..e).map(|at| real(grad, &[image, head, i, at]) * real(out, &[image, head, i, at])).sum();
            for j in 0..keys {
                let weight = (scores[j as usize] - real(logs, &[image, head, i])).exp();
                let by_value: f64 = (0..e)
                    .map(|at| real(grad, &[image, head, i, at]) * real(value, &[image, group, j, at]))
                    .sum();
                let by_score = weight * (by_value - along) * scale;
                for at in 0..e {
                    let [q, k] = [[image, head, i, at], [image, group, j, at]];
                    add(&mut grads[0], &q, by_score * real(key, &k));
                    add(&mut grads[1], &k, by_score * real(query, &q));
                    add(&mut grads[2], &k, weight * real(grad, &q));
                }
            }
        }
        Ok(grads.map(|of| of.to(query.dtype())).into())
    }
}
