//! `aten::_scaled_dot_product_flash_attention_for_cpu`: values added up by how well queries fit keys, without the matrix of all
//! scores.
//!
//! `output[b, h, i] = Σ softmax(query[b, h, i] · key[b, h, j] * scale + attn_mask[i, j])[j] * value[b, h, j]`, where `j` runs
//! over all keys, or those up to `i` if `is_causal`; `logsumexp` is the logarithm of the sum of exponentials
//!
//! - Shapes: `[b, h, queries, e]`, and `[b, k, keys, e]` twice, where `k` divides `h`; `attn_mask` of two or four dimensions is
//!   stretched to `[b, h, queries, keys]`. The results are `[b, h, queries, e]` and `[b, h, queries]`.
//! - Dtypes: floating-point ones, one for all; `attn_mask` may be float32 or bool. `logsumexp` is float32 for
//!   these, which are computed in single precision.
//! - Values: a query that sees no key gives zeros, and zero as its logarithm.
//! - Strides: those of `query` without gaps; of `logsumexp` heads are neighbours.
//! - Errors: other shapes, dtypes or devices; a `dropout_p`.
//! - Source: torch.ops.aten._scaled_dot_product_flash_attention_for_cpu, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::attention::{Attention, Mask, weighted_sums};
use opgrid_kernels::normalise;
use opgrid_tensor::ops::Matmul;

pub use opgrid_tensor::ops::attention::flash_attention::*;

/// The family of `aten::_scaled_dot_product_flash_attention_for_cpu`: its kind, shape rule and `out` rule.
pub const FLASH_ATTENTION: Family<ScaledDotProductFlashAttentionForCpu> =
    Family::new(ScaledDotProductFlashAttentionForCpu, &kind::ATTENTION, shape);

pub(super) fn register(library: &mut Library) {
    library.family(&FLASH_ATTENTION).cpu(cpu).derivative(
        |d, (query, key, value, _, is_causal, attn_mask, scale)| {
            let targets = [Some(query), Some(key), Some(value), attn_mask];
            let keep = [Some(query), Some(key), Some(value), attn_mask, Some(d.result(0)), Some(d.result(1))];
            d.together(targets, keep, move |grads, kept, _| {
                let [Some(query), Some(key), Some(value), mask, Some(out), Some(logs)] = kept else {
                    return Ok([None, None, None, None]);
                };
                let scale = scale.unwrap_or(1.0 / (query.sizes()[3] as f64).sqrt());
                Attended { query, key, value, mask, out, logs, is_causal, scale }
                    .gradients([grads.for_result(0), grads.for_result(1)])
            })
        },
    );
}

pub(super) fn shape(
    query: &Tensor,
    key: &Tensor,
    value: &Tensor,
    dropout_p: f64,
    _is_causal: bool,
    attn_mask: Option<&Tensor>,
    _scale: Option<f64>,
) -> Result<(TensorSpec, TensorSpec)> {
    let (q, k, v) = (query.spec()?, key.spec()?, value.spec()?);
    if dropout_p != 0.0 {
        return Err(argument(format!(
            "argument `dropout_p` is {dropout_p}, expected attention without dropout, 0"
        )));
    }
    let (&[b, h, l, e], &[kb, kh, s, _]) = (q.sizes(), k.sizes()) else {
        let message = format!(
            "found shapes {:?}, {:?} and {:?}, expected four dimensions each",
            q.sizes(),
            k.sizes(),
            v.sizes()
        );
        return Err(argument(message));
    };
    products::check_factors(&[("query", q), ("key", k), ("value", v)])?;
    with_dtype!(q.dtype(), T: Float => Ok(size_of::<T>()))?;
    for (name, spec) in [("key", k), ("value", v)] {
        if spec.sizes() != [b, kh, s, e] || kb != b || (kh != h && (kh == 0 || h % kh != 0)) {
            let message = format!(
                "argument `{name}` has shape {:?}, expected [{b}, heads that divide {h}, {s}, {e}] to \
                 match `query`",
                spec.sizes()
            );
            return Err(argument(message));
        }
    }
    if let Some(mask) = attn_mask {
        check_mask(mask.spec()?, q, [b, h, l, s])?;
    }
    let dtype = if q.dtype() == DType::F64 { DType::F64 } else { DType::F32 };
    let logarithms = Geometry::strided(&[b, h, l], &[l.max(1) * h.max(1), 1, h.max(1)], 0)?;
    Ok((
        TensorSpec::new(q.geometry().like(MemoryFormat::Preserve)?, q.dtype(), q.device()),
        TensorSpec::new(logarithms, dtype, q.device()),
    ))
}

/// # Errors
///
/// A mask of another dtype or device, or that does not broadcast to these sizes.
fn check_mask(mask: &TensorSpec, query: &TensorSpec, sizes: [i64; 4]) -> Result<()> {
    let is_fit = [DType::Bool, DType::F32, query.dtype()].contains(&mask.dtype());
    if !is_fit || mask.device().real() != query.device().real() {
        let message = format!(
            "argument `attn_mask` has dtype {} on {}, expected {}, float32 or bool on {}",
            mask.dtype(),
            mask.device(),
            query.dtype(),
            query.device()
        );
        return Err(argument(message));
    }
    if ![2, 4].contains(&mask.sizes().len()) || mask.geometry().expand(&sizes).is_err() {
        let message = format!(
            "argument `attn_mask` has shape {:?}, expected two or four dimensions that broadcast to {sizes:?}",
            mask.sizes()
        );
        Err(argument(message))
    } else {
        Ok(())
    }
}

#[expect(clippy::too_many_arguments, reason = "those of the schema")]
fn cpu(
    query: &Tensor,
    key: &Tensor,
    value: &Tensor,
    _dropout_p: f64,
    is_causal: bool,
    attn_mask: Option<&Tensor>,
    scale: Option<f64>,
    output: &Tensor,
    logsumexp: &Tensor,
) -> Result<()> {
    let (&[b, h, l, e], &[_, _, s, _]) = (query.sizes(), key.sizes()) else { return Ok(()) };
    if output.numel() == 0 || s == 0 {
        elementwise::fill(output, Scalar::Int(0))?;
        return elementwise::fill(logsumexp, Scalar::Int(0));
    }
    let scale = scale.unwrap_or(1.0 / (e as f64).sqrt());
    let mask = match attn_mask {
        Some(mask) if mask.dim() == 2 => {
            let array = mask.array()?;
            Some(array.view(array.geometry().unsqueeze(0)?.unsqueeze(0)?)?)
        }
        Some(mask) => Some(mask.array()?.clone()),
        None => None,
    };
    let logs = with_dtype!(query.dtype(), T: Float => {
        let mask = mask.as_ref().map(|mask| Mask::<Math<T>>::new(mask, [b, h, l, s])).transpose()?;
        let [query, key, value] = [query.array()?, key.array()?, value.array()?];
        weighted_sums::<T>(output.array()?, &Attention { query, key, value, mask, is_causal, scale })
    })?;
    normalise::write_numbers(logsumexp.array()?, &logs)
}

/// What the gradients of attention are made of.
pub(super) struct Attended<'a> {
    pub(super) query: &'a Tensor,
    pub(super) key: &'a Tensor,
    pub(super) value: &'a Tensor,
    pub(super) mask: Option<&'a Tensor>,
    pub(super) out: &'a Tensor,
    pub(super) logs: &'a Tensor,
    pub(super) is_causal: bool,
    pub(super) scale: f64,
}

impl Attended<'_> {
    /// The gradients of queries, keys, values and mask from those of the values and of the logarithms. The scores are
    /// recomputed.
    pub(super) fn gradients(&self, [by_out, by_logs]: [Option<&Tensor>; 2]) -> Result<[Option<Tensor>; 4]> {
        let query = loss::wide(self.query)?;
        let (key, value) = (self.repeated(self.key)?, self.repeated(self.value)?);
        let weights = self.scores(&query, &key)?.sub(&self.logs.unsqueeze(-1)?)?.exp()?;
        let mut of_scores = None;
        let mut of_value = None;
        if let Some(grad) = by_out {
            let grad = loss::wide(grad)?;
            of_value = Some(self.summed(&Matmul.call(&weights.transpose(-2, -1)?, &grad)?)?);
            let along = grad.mul(&loss::wide(self.out)?)?.sum_dim(&[-1], true)?;
            let apart = Matmul.call(&grad, &value.transpose(-2, -1)?)?.sub(&along)?;
            of_scores = Some(weights.mul(&apart)?);
        }
        let of_logs = by_logs.map(|grad| weights.mul(&grad.unsqueeze(-1)?)).transpose()?;
        let Some(of_scores) = derivatives::sum_gradients([of_scores, of_logs])? else {
            return Ok([None, None, None, None]);
        };
        let scaled = of_scores.mul(self.scale)?;
        let of_query = Matmul.call(&scaled, &key)?;
        let of_key = self.summed(&Matmul.call(&scaled.transpose(-2, -1)?, &query)?)?;
        Ok([Some(of_query), Some(of_key), of_value, self.mask.map(|_| of_scores)])
    }

    fn scores(&self, query: &Tensor, key: &Tensor) -> Result<Tensor> {
        let mut scores = Matmul.call(query, &key.transpose(-2, -1)?)?.mul(self.scale)?;
        scores = match self.mask {
            Some(mask) if mask.dtype() == DType::Bool => {
                scores.masked_fill(&mask.logical_not()?, f64::NEG_INFINITY)?
            }
            Some(mask) => scores.add(&loss::wide(mask)?)?,
            None => scores,
        };
        if self.is_causal {
            let ones = Tensor::zeros(&scores.sizes()[2..], DType::Bool, scores.device())?.logical_not()?;
            scores = scores.masked_fill(&ones.triu(1)?, f64::NEG_INFINITY)?;
        }
        Ok(scores)
    }

    /// Keys or values with each head repeated for as many heads of queries.
    fn repeated(&self, heads: &Tensor) -> Result<Tensor> {
        let heads = loss::wide(heads)?;
        let (&[b, own, s, e], &[_, all, ..]) = (heads.sizes(), self.query.sizes()) else { return Ok(heads) };
        if own == all {
            Ok(heads)
        } else {
            heads.unsqueeze(2)?.expand(&[b, own, all / own, s, e])?.reshape(&[b, all, s, e])
        }
    }

    /// The gradients of repeated heads, added up.
    fn summed(&self, grad: &Tensor) -> Result<Tensor> {
        let (own, &[b, all, s, e]) = (self.key.sizes()[1], grad.sizes()) else { return Ok(grad.clone()) };
        if own == all {
            Ok(grad.clone())
        } else {
            grad.reshape(&[b, own, all / own, s, e])?.sum_dim(&[2], false)
        }
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = generate::numbers(DType::F32, &[1, 2, 3, 4], 0);
        let of = |q: &Plain, k: &Plain, v: &Plain| given(q.clone()).and(k.clone()).and(v.clone());
        let mask = |dtype, sizes: &[i64]| generate::numbers(dtype, sizes, 0);
        samples
            .operator(
                ScaledDotProductFlashAttentionForCpu,
                normalisations::samples::FLOATS,
                inputs,
                reference,
            )
            .tolerance(32.0)
            .refuses("four dimensions", of(&x.with_sizes(&[2, 3, 4]), &x, &x))
            .refuses("without dropout", of(&x, &x, &x).and(0.5))
            .refuses("`value` has shape", of(&x, &x, &generate::numbers(DType::F32, &[1, 2, 3, 5], 0)))
            .refuses("convert one of them", of(&x, &x.to(DType::F64), &x))
            .refuses("`attn_mask` has dtype", of(&x, &x, &x).named("attn_mask", mask(DType::I64, &[3, 3])))
            .refuses("`attn_mask` has shape", of(&x, &x, &x).named("attn_mask", mask(DType::F32, &[3, 4])));
        samples.rounds(ScaledDotProductFlashAttentionForCpu, Roundings::all(Rounding::Sum(64)));
        samples.differs_as(
            ScaledDotProductFlashAttentionForCpu,
            &[ROW_FOR_EACH_KEY, OF_ANY_STRIDES, MASKS_OF_BOOLS, LOGARITHMS_OF_NOTHING],
        );
    }

    /// Differences for attention masks that have a row for each key, in the CPU kernel.
    pub(crate) const ROW_FOR_EACH_KEY: Difference = Difference {
        id: "values-for-each-key",
        what: "torch reads as many keys as there are values, takes the number of heads of both from one \
             of them, and accepts empty masks, even where that exceeds the tensors; here keys and \
             values of different shapes and such masks are rejected",
        why: "out-of-bounds reads are never allowed",
        test: ("opgrid-operators/tests/all/networks.rs", "attention_is_checked"),
        when: |seen| {
            let is_empty = seen.tensor("attn_mask").is_some_and(Operand::is_empty);
            seen.we_refuse("argument `value` has shape")
                || seen.we_refuse("argument `key` has shape")
                || is_empty && seen.we_refuse("argument `attn_mask` has shape")
        },
        directed: None,
    };

    /// Differences for the strides of attention in the CPU kernel.
    pub(crate) const OF_ANY_STRIDES: Difference = Difference {
        id: "attention-of-any-strides",
        what: "torch's CPU attention reads and writes rows as if their elements were adjacent, so that \
             results are wrong and partly unwritten; here queries, keys and values may have any strides",
        why: "results must not depend on strides",
        test: ("opgrid-operators/tests/all/networks.rs", "attention_is_that_of_any_strides"),
        when: |seen| {
            let has_gaps = |name: &&str| {
                let geometry = seen.tensor(name).map(|tensor| &tensor.geometry);
                geometry.is_some_and(are_apart)
            };
            let result =
                seen.tensor("query").and_then(|query| query.geometry.like(MemoryFormat::Preserve).ok());
            let is_apart = result.as_ref().is_some_and(are_apart);
            // Others go another way from `scaled_dot_product_attention`.
            let is_alone = seen.family() == "_scaled_dot_product_flash_attention_for_cpu";
            let is_read = is_alone && ["query", "key", "value"].iter().any(has_gaps);
            seen.part == Part::Values && (is_apart || is_read)
        },
        directed: None,
    };

    /// Whether neighbours in a row are none in memory.
    fn are_apart(of: &Geometry) -> bool {
        of.sizes().last().is_some_and(|size| *size > 1) && of.strides().last() != Some(&1)
    }

    const MASKS_OF_BOOLS: Difference = Difference {
        id: "masks-of-attention-of-bools",
        what: "torch accepts bool masks in `scaled_dot_product_attention` but not in the operators that \
             it calls; here both accept them",
        why: "masks mean the same everywhere",
        test: ("opgrid-operators/tests/all/networks.rs", "attention_is_checked"),
        when: |seen| {
            let is_bool = seen.tensor("attn_mask").is_some_and(|mask| mask.dtype == DType::Bool);
            is_bool && seen.torch_refuses("Attention mask is the same data type as query")
        },
        directed: None,
    };

    const LOGARITHMS_OF_NOTHING: Difference = Difference {
        id: "logarithms-of-heads-without-elements",
        what: "torch returns NaN as the logarithm for heads of size zero, whose scores are zero times \
             infinity; here it is zero, as without keys",
        why: "an empty sum is zero",
        test: ("opgrid-operators/tests/all/networks.rs", "attention_is_checked"),
        when: |seen| {
            let heads = seen.tensor("query").and_then(|query| query.geometry.sizes().last());
            heads == Some(&0) && seen.part == Part::Values
        },
        directed: None,
    };

    pub(crate) fn inputs(dtype: DType) -> Vec<Sample> {
        let tensors = |[b, h, k, l, s, e]: [i64; 6]| {
            given(generate::numbers(dtype, &[b, h, l, e], 1))
                .and(generate::numbers(dtype, &[b, k, s, e], 2))
                .and(generate::numbers(dtype, &[b, k, s, e], 3))
        };
        let mask = |sizes: &[i64]| generate::numbers(dtype, sizes, 4);
        let mut hidden = generate::numbers(dtype, &[4, 5], 4);
        (0..5).for_each(|key| hidden.set(&[1, key], Scalar::Float(f64::NEG_INFINITY)));
        let mut samples = vec![
            tensors([2, 3, 3, 4, 5, 8]),
            tensors([2, 3, 3, 4, 5, 8]).and(0.0).and(true),
            tensors([1, 4, 2, 3, 3, 2]).named("scale", 0.25),
            tensors([1, 2, 2, 4, 5, 3]).named("attn_mask", mask(&[4, 5])),
            tensors([2, 2, 2, 4, 5, 3]).named("attn_mask", mask(&[2, 1, 4, 5])),
            tensors([1, 2, 2, 4, 5, 3]).named("attn_mask", mask(&[4, 1])),
            tensors([1, 1, 1, 70, 300, 4]).and(0.0).and(true),
            tensors([0, 2, 2, 4, 5, 3]),
            // Few enough elements for the checks of gradients.
            tensors([1, 1, 1, 2, 2, 2]).and(0.0).and(true),
            tensors([1, 1, 1, 2, 2, 2]).named("attn_mask", mask(&[2, 2])),
            tensors([1, 2, 1, 2, 3, 2]),
            tensors([1, 2, 2, 4, 0, 3]),
        ];
        if dtype.is_floating_point() {
            samples.push(tensors([1, 2, 2, 4, 5, 3]).named("attn_mask", hidden));
        }
        samples
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let (q, k) = (it.tensor("query")?, it.tensor("key")?);
        let [b, h, l, _] = [0, 1, 2, 3].map(|dim| q.sizes()[dim]);
        let logs = |scores: &[f64]| {
            let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            if largest == f64::NEG_INFINITY {
                0.0
            } else {
                largest + scores.iter().map(|score| (score - largest).exp()).sum::<f64>().ln()
            }
        };
        let dtype = if q.dtype() == DType::F64 { DType::F64 } else { DType::F32 };
        let logarithms = Plain::from_fn(dtype, &[b, h, l], |position| {
            Scalar::Float(logs(&scores(it, k, position).unwrap_or_default()))
        });
        Ok([expected(it)?, logarithms].into())
    }

    /// The scores of a query.
    pub(crate) fn scores(it: &Inputs, key: &Plain, position: &[i64]) -> Result<Vec<f64>> {
        let query = it.tensor("query")?;
        let mask = it.tensor("attn_mask").ok();
        let [e, keys] = [query.sizes()[3], key.sizes()[2]];
        let scale = it.option::<f64>("scale")?.unwrap_or(1.0 / (e as f64).sqrt());
        let is_causal: bool = it.value("is_causal")?;
        let real = |x: Scalar| x.to_complex().re;
        let [b, h, i] = [position[0], position[1], position[2]];
        let own = h * key.sizes()[1] / query.sizes()[1];
        let score = |j: i64| {
            let product: f64 =
                (0..e).map(|at| real(query.at(&[b, h, i, at])) * real(key.at(&[b, own, j, at]))).sum();
            let added = match mask {
                Some(mask) if mask.dtype() == DType::Bool => {
                    if mask.at(&[b, h, i, j]).to_bool() {
                        0.0
                    } else {
                        f64::NEG_INFINITY
                    }
                }
                Some(mask) => real(mask.at(&[b, h, i, j])),
                None => 0.0,
            };
            if is_causal && j > i { f64::NEG_INFINITY } else { product * scale + added }
        };
        Ok((0..keys).map(score).collect())
    }

    /// What attention gives: queries, keys and values of four dimensions.
    pub(crate) fn expected(it: &Inputs) -> Result<Plain> {
        let (query, key, value) = (it.tensor("query")?, it.tensor("key")?, it.tensor("value")?);
        let sizes = [&query.sizes()[..3], &value.sizes()[3..]].concat();
        Ok(Plain::from_fn(query.dtype(), &sizes, |position| {
            let scores = scores(it, key, position).unwrap_or_default();
            let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let weights =
                scores.iter().map(|score| if largest.is_finite() { (score - largest).exp() } else { 0.0 });
            let weights: Vec<f64> = weights.collect();
            let sum: f64 = weights.iter().sum();
            let own = position[1] * value.sizes()[1] / query.sizes()[1];
            let term = |(j, weight): (usize, &f64)| {
                weight * value.at(&[position[0], own, j as i64, position[3]]).to_complex().re
            };
            let total: f64 = weights.iter().enumerate().map(term).sum();
            Scalar::Float(if sum == 0.0 { 0.0 } else { total / sum })
        }))
    }
}
