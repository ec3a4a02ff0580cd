//! `aten::scaled_dot_product_attention`, `aten::_scaled_dot_product_attention_math`: values added up by how well queries fit
//! keys.
//!
//! `out = softmax(query @ keyᵀ * scale + mask) @ value`, with a `scale` of `1 / sqrt(e)` unless it is given
//!
//! - Shapes: `[…, queries, e]`, `[…, keys, e]` and `[…, keys, v]` give `[…, queries, v]`; the dimensions in front broadcast, and
//!   with `enable_gqa` each head of keys and values serves as many heads of queries. `attn_mask` is stretched to
//!   `[…, queries, keys]`; of bools true keys are seen.
//! - Dtypes: floating-point ones, one for all; 16-bit ones are rounded once, from single precision.
//! - Strides: four dimensions, or three as one image of heads, that go to the operator without the matrix of scores give the
//!   order of the queries, all others row-major.
//! - Values: with `is_causal` a query sees keys up to its own place. `dropout_p` drops weights and scales the others.
//!   A query that sees no key gives zeros.
//! - Dispatch: composites; three or four dimensions of one head size without dropout go to
//!   `_scaled_dot_product_flash_attention_for_cpu`, others to `_scaled_dot_product_attention_math`, which also gives the weights
//!   and adds masks of bools as numbers, as torch.
//! - Errors: other shapes, dtypes or devices; `is_causal` with a mask; a `dropout_p` below 0 or above 1.
//! - Source: torch.nn.functional.scaled_dot_product_attention, PyTorch 2.15; A. Vaswani et al., Attention Is All You Need
//!   (2017).

use crate::kinds::dropout::dropped;
use crate::prelude::*;
use opgrid_tensor::ops::{
    AddTensor, Arange, Expand, GeTensor, MaskedFillScalar, Matmul, MulScalar, Reshape, SafeSoftmax,
    ScaledDotProductFlashAttentionForCpu, SqueezeDim, ToCopy,
};

pub use opgrid_tensor::ops::attention::scaled_dot_product_attention::*;

pub(super) fn register(library: &mut Library) {
    library.define(ScaledDotProductAttention).kind(&kind::ATTENTION).implicit(attention);
    library.define(ScaledDotProductAttentionMath).kind(&kind::ATTENTION).implicit(
        |query, key, value, attn_mask, dropout_p, is_causal, dropout_mask, scale, enable_gqa| {
            let drop = Drop { p: dropout_p, mask: dropout_mask };
            math([query, key, value], (attn_mask, is_causal), &drop, scale, enable_gqa)
        },
    );
}

/// How weights are dropped.
struct Drop<'a> {
    p: f64,
    /// The mask to apply instead of a random one.
    mask: Option<&'a Tensor>,
}

#[expect(clippy::too_many_arguments, reason = "those of the schema")]
fn attention(
    query: &Tensor,
    key: &Tensor,
    value: &Tensor,
    attn_mask: Option<&Tensor>,
    dropout_p: f64,
    is_causal: bool,
    scale: Option<f64>,
    enable_gqa: bool,
) -> Result<Tensor> {
    let (q, k, v) = (query.spec()?, key.spec()?, value.spec()?);
    if [q, k, v].iter().any(|spec| spec.sizes().len() < 2) {
        let message = format!(
            "found shapes {:?}, {:?} and {:?}, expected at least 2 dimensions each",
            q.sizes(),
            k.sizes(),
            v.sizes()
        );
        return Err(argument(message));
    }
    products::check_factors(&[("query", q), ("key", k), ("value", v)])?;
    with_dtype!(q.dtype(), T: Float => Ok(size_of::<T>()))?;
    check_probability(dropout_p)?;
    let rows = |spec: &TensorSpec| spec.sizes().iter().nth_back(1).copied();
    if rows(k) != rows(v) {
        let message = format!(
            "argument `value` has shape {:?}, expected as many rows as `key`, of shape {:?}",
            v.sizes(),
            k.sizes()
        );
        return Err(argument(message));
    }
    if let Some(mask) = attn_mask {
        if is_causal {
            return Err(argument("argument `is_causal` is true, expected false if a mask is given"));
        }
        if ![DType::Bool, DType::F32, q.dtype()].contains(&mask.spec()?.dtype()) {
            let message = format!(
                "argument `attn_mask` has dtype {}, expected bool, float32 or {} as `query`",
                mask.dtype(),
                q.dtype()
            );
            return Err(argument(message));
        }
    }
    // Of bools what is added to the scores.
    let hidden = match attn_mask.filter(|mask| mask.dtype() == DType::Bool) {
        Some(mask) => {
            let zeros = ToCopy.call(mask, Some(q.dtype()), None, None, None, false, None)?;
            let zeros = MulScalar.call(&zeros, 0.into())?;
            Some(MaskedFillScalar.call(&zeros, &mask.logical_not()?, f64::NEG_INFINITY.into())?)
        }
        None => None,
    };
    let mask = hidden.as_ref().or(attn_mask);
    let is_image = [q, k, v].iter().all(|spec| spec.sizes().len() == 3);
    let image = |of: &Tensor| if is_image && of.dim() == 3 { of.unsqueeze(0) } else { Ok(of.clone()) };
    let (images, stretched) = ([image(query)?, image(key)?, image(value)?], mask.map(image).transpose()?);
    let [q, k, v] = &images;
    if is_fused([q.spec()?, k.spec()?, v.spec()?], stretched.as_ref(), dropout_p, enable_gqa)? {
        // As torch, which takes the way of all others then.
        let lies_in_rows = images.iter().any(|of| of.strides().last() != Some(&1));
        let q = if lies_in_rows { &q.contiguous()? } else { q };
        let (out, _) = ScaledDotProductFlashAttentionForCpu.call(
            q,
            k,
            v,
            dropout_p,
            is_causal,
            stretched.as_ref(),
            scale,
        )?;
        return if is_image { SqueezeDim.call(&out, 0) } else { Ok(out) };
    }
    let drop = Drop { p: dropout_p, mask: None };
    Ok(math([query, key, value], (mask, is_causal), &drop, scale, enable_gqa)?.0)
}

/// Whether the operator without the matrix of scores takes these arguments.
fn is_fused(
    [q, k, v]: [&TensorSpec; 3],
    mask: Option<&Tensor>,
    dropout_p: f64,
    enable_gqa: bool,
) -> Result<bool> {
    let (&[b, h, l, e], &[kb, kh, s, ke]) = (q.sizes(), k.sizes()) else { return Ok(false) };
    let heads_fit = kh == h || kh == 1 || (enable_gqa && kh > 0 && h % kh == 0);
    let mask_fits = match mask {
        Some(mask) => {
            [2, 4].contains(&mask.dim())
                && mask.geometry().expand(&[b, h, l, s]).is_ok()
                && [q.dtype(), DType::F32].contains(&mask.dtype())
        }
        None => true,
    };
    Ok(dropout_p == 0.0 && (kb, ke) == (b, e) && v.sizes() == k.sizes() && heads_fit && mask_fits)
}

/// # Errors
///
/// A number that is none.
fn check_probability(dropout_p: f64) -> Result<()> {
    if (0.0..=1.0).contains(&dropout_p) {
        Ok(())
    } else {
        Err(argument(format!("argument `dropout_p` is {dropout_p}, expected a probability, 0 to 1")))
    }
}

/// The sums, and the weights of the values.
fn math(
    [query, key, value]: [&Tensor; 3],
    (attn_mask, is_causal): (Option<&Tensor>, bool),
    drop: &Drop<'_>,
    scale: Option<f64>,
    enable_gqa: bool,
) -> Result<(Tensor, Tensor)> {
    if drop.mask.is_none() {
        check_probability(drop.p)?;
    }
    // 16-bit floats are rounded at the end.
    let dtype = query.spec()?.dtype();
    let [query, key, value] = [loss::wide(query)?, loss::wide(key)?, loss::wide(value)?];
    let (query, key, value) = (&query, &key, &value);
    let spec = query.spec()?;
    let (Some(&e), Some(&l)) = (spec.sizes().last(), spec.sizes().iter().nth_back(1)) else {
        return Err(argument(format!(
            "argument `query` has shape {:?}, expected two dimensions",
            spec.sizes()
        )));
    };
    let [key, value] = if enable_gqa {
        [grouped(query, key)?, grouped(query, value)?]
    } else {
        [key.clone(), value.clone()]
    };
    // Half of it on each side, as in torch.
    let scale = scale.unwrap_or(1.0 / (e as f64).sqrt());
    let root = scale.abs().sqrt();
    let left = MulScalar.call(query, root.copysign(scale).into())?;
    let right = MulScalar.call(&key.transpose(-2, -1)?, root.into())?;
    let mut scores = Matmul.call(&left, &right)?;
    let s = scores.sizes().last().copied().unwrap_or(0);
    if is_causal {
        if attn_mask.is_some() {
            return Err(argument("argument `is_causal` is true, expected false if a mask is given"));
        }
        let places = |n: i64| Arange.call(n.into(), Some(DType::I64), None, Some(spec.device()), None);
        let hidden = GeTensor.call(&places(l)?.unsqueeze(1)?, &places(s)?)?.logical_not()?;
        scores = MaskedFillScalar.call(&scores, &hidden, f64::NEG_INFINITY.into())?;
    }
    if let Some(mask) = attn_mask {
        result::check_cast(mask.spec()?.dtype(), scores.dtype())?;
        scores = AddTensor.call(&scores, mask, 1.into())?;
    }
    let scores = if scores.dtype() == spec.dtype() {
        scores
    } else {
        ToCopy.call(&scores, Some(spec.dtype()), None, None, None, false, None)?
    };
    let mut weights = SafeSoftmax.call(&scores, -1, None)?;
    if drop.p > 0.0 {
        weights = dropped(&weights, drop.p, drop.mask)?;
    }
    Ok((loss::narrow(Matmul.call(&weights, &value)?, dtype)?, loss::narrow(weights, dtype)?))
}

/// Keys or values with each head repeated for as many heads of queries.
fn grouped(query: &Tensor, tensor: &Tensor) -> Result<Tensor> {
    let (sizes, dims) = (tensor.spec()?.sizes(), tensor.dim());
    let heads = query.sizes().iter().nth_back(2).copied().unwrap_or(1);
    match dims.checked_sub(3).map(|at| (at, sizes[at])) {
        Some((at, own)) if own > 0 && heads % own == 0 => {
            let mut repeated = sizes.to_vec();
            repeated.insert(at + 1, heads / own);
            let stretched = Expand.call(&tensor.unsqueeze(at as i64 + 1)?, &repeated, false)?;
            let mut merged = sizes.to_vec();
            merged[at] = heads;
            Reshape.call(&stretched, &merged)
        }
        _ => {
            let message = format!(
                "keys and values have shape {sizes:?}, expected a number of heads that divides {heads}"
            );
            Err(argument(message))
        }
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::attention::flash_attention::samples::{OF_ANY_STRIDES, ROW_FOR_EACH_KEY};
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = generate::numbers(DType::F32, &[2, 3, 4], 0);
        let of = |q: &Plain, k: &Plain, v: &Plain| given(q.clone()).and(k.clone()).and(v.clone());
        let mask = generate::numbers(DType::F32, &[3, 3], 0);
        samples
            .operator(ScaledDotProductAttention, normalisations::samples::FLOATS, inputs, reference)
            .tolerance(64.0)
            .refuses("at least 2", of(&x.with_sizes(&[24]), &x, &x))
            .refuses("convert one of them", of(&x, &x.to(DType::F64), &x))
            .refuses("if a mask is given", of(&x, &x, &x).and(mask.clone()).and(0.0).and(true))
            .refuses("a probability", of(&x, &x, &x).and(Value::None).and(-0.5))
            .refuses("as many rows as", of(&x, &x, &x.with_sizes(&[2, 2, 6])))
            .refuses("`attn_mask` has dtype", of(&x, &x, &x).and(mask.to(DType::I64)))
            .refuses("does not broadcast", of(&x, &x, &x).and(generate::numbers(DType::F32, &[2, 3], 0)));
        samples
            .operator(ScaledDotProductAttentionMath, normalisations::samples::FLOATS, math_inputs, |it| {
                let (out, weights) = reference_of_math(it)?;
                Ok([out, weights].into())
            })
            .tolerance(256.0);
        samples.rounds(ScaledDotProductAttention, Roundings::all(Rounding::Sum(64)));
        samples.rounds(ScaledDotProductAttentionMath, Roundings::all(Rounding::Sum(256)));
        samples.differs_as(
            ScaledDotProductAttention,
            &[ROW_FOR_EACH_KEY, OF_ANY_STRIDES, PROBABILITIES, WITHOUT_ELEMENTS],
        );
        samples.differs_as(ScaledDotProductAttentionMath, &[PROBABILITIES, OF_INTEGERS, WITHOUT_ELEMENTS]);
    }

    const PROBABILITIES: Difference = Difference {
        id: "negative-probabilities-of-dropout",
        what: "torch drops no attention weights if the probability is negative or NaN; here it is \
             rejected, like one above 1",
        why: "an invalid probability is probably a mistake",
        test: ("opgrid-operators/tests/all/networks.rs", "attention_is_checked"),
        when: |seen| {
            seen.we_refuse("argument `dropout_p` is -") || seen.we_refuse("argument `dropout_p` is NaN")
        },
        directed: None,
    };

    const OF_INTEGERS: Difference = Difference {
        id: "attention-of-integers",
        what: "torch truncates attention weights to integers if queries are integers or bools and keys \
             and values are floats; here this is rejected",
        why: "weights are numbers between 0 and 1",
        test: ("opgrid-operators/tests/all/networks.rs", "attention_is_checked"),
        when: |seen| {
            let query = seen.tensor("query").map(|query| query.dtype);
            let is_whole = query.is_some_and(|dtype| !dtype.is_floating_point() && !dtype.is_complex());
            is_whole && seen.we_refuse("expected a floating-point dtype")
        },
        directed: None,
    };

    const WITHOUT_ELEMENTS: Difference = Difference {
        id: "attention-without-elements",
        what: "torch returns row-major zeros with the sizes of the queries if queries, keys or values \
             are empty, whatever the other sizes are; here batch dimensions broadcast, and other sizes \
             must match, as with elements",
        why: "whether a call is valid must not depend on sizes or elements",
        test: ("opgrid-operators/tests/all/networks.rs", "attention_is_checked"),
        when: |seen| {
            let is_empty = |name: &&str| seen.tensor(name).is_some_and(Operand::is_empty);
            let has_none = ["query", "key", "value"].iter().any(is_empty);
            has_none && (matches!(seen.part, Part::Sizes | Part::Strides) || seen.we_refuse(""))
        },
        directed: None,
    };

    fn inputs(dtype: DType) -> Vec<Sample> {
        let tensors = |q: &[i64], k: &[i64], v: &[i64]| {
            given(generate::numbers(dtype, q, 1))
                .and(generate::numbers(dtype, k, 2))
                .and(generate::numbers(dtype, v, 3))
        };
        let usual = || tensors(&[2, 3, 4, 8], &[2, 3, 5, 8], &[2, 3, 5, 8]);
        let bools =
            Plain::from_fn(DType::Bool, &[4, 5], |at| Scalar::Bool(at[0] != 1 && (at[0] + at[1]) % 3 != 0));
        vec![
            usual(),
            usual().and(bools.clone()),
            usual().and(generate::numbers(dtype, &[4, 5], 4)),
            usual().and(Value::None).and(0.0).and(true),
            usual().named("scale", 0.5),
            tensors(&[3, 4, 8], &[3, 5, 8], &[3, 5, 8]),
            tensors(&[4, 8], &[5, 8], &[5, 8]).and(bools),
            tensors(&[2, 3, 4, 8], &[2, 3, 5, 8], &[2, 3, 5, 6]),
            tensors(&[2, 6, 4, 3], &[2, 3, 5, 3], &[2, 3, 5, 3]).named("enable_gqa", true),
            tensors(&[1, 3, 4, 2], &[2, 3, 5, 2], &[2, 1, 5, 2]),
            tensors(&[2, 3, 0, 8], &[2, 3, 5, 8], &[2, 3, 5, 8]),
            tensors(&[2, 3, 4, 8], &[2, 3, 5, 8], &[2, 3, 5, 6]).named("scale", -0.5),
            // Few enough elements for the checks of gradients.
            tensors(&[1, 1, 2, 2], &[1, 1, 2, 2], &[1, 1, 2, 2]).and(Value::None).and(0.0).and(true),
            tensors(&[1, 1, 1, 2], &[1, 1, 3, 2], &[1, 1, 3, 2]),
        ]
    }

    fn math_inputs(dtype: DType) -> Vec<Sample> {
        let without = |mut sample: Sample| {
            // As numbers, bools would be added.
            if sample
                .positional
                .get(3)
                .is_some_and(|mask| mask.tensors().iter().any(|mask| mask.dtype() == DType::Bool))
            {
                sample.positional.truncate(3);
            }
            sample
        };
        inputs(dtype).into_iter().map(without).collect()
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        Ok(reference_of_math(it)?.0.into())
    }

    /// The result and the weights, by plain loops over all scores.
    fn reference_of_math(it: &Inputs) -> Result<(Plain, Plain)> {
        let (q, k, v) = (it.tensor("query")?, it.tensor("key")?, it.tensor("value")?);
        let mask = it.tensor("attn_mask").ok();
        let is_causal: bool = it.value("is_causal")?;
        let front = |of: &Plain| of.sizes()[..of.sizes().len() - 2].to_vec();
        let last = |of: &Plain| [of.sizes()[of.sizes().len() - 2], of.sizes()[of.sizes().len() - 1]];
        let [[l, e], [s, _], [_, columns]] = [last(q), last(k), last(v)];
        let scale = it.option::<f64>("scale")?.unwrap_or(1.0 / (e as f64).sqrt());
        let is_grouped: bool = it.value("enable_gqa")?;
        let before = if is_grouped {
            front(q)
        } else {
            naive::broadcast([&front(q)[..], &front(k), &front(v)].into_iter())?
        };
        let real = |x: Scalar| x.to_complex().re;
        // The place of a head of keys that serves a head of queries.
        let own = |of: &Plain, stack: &[i64]| {
            let mut stack = stack.to_vec();
            if let (true, Some(head)) = (is_grouped, stack.last_mut()) {
                *head = *head * of.sizes()[of.sizes().len() - 3] / q.sizes()[q.sizes().len() - 3];
            }
            stack
        };
        let weights = Plain::from_fn(DType::F64, &[&before[..], &[l, s]].concat(), |position| {
            let (stack, cell) = position.split_at(before.len());
            let score = |j: i64| {
                let product = |at| {
                    real(q.at(&[stack, &[cell[0], at]].concat()))
                        * real(k.at(&[&own(k, stack)[..], &[j, at]].concat()))
                };
                let added = match mask {
                    Some(mask) if mask.dtype() == DType::Bool => {
                        if mask.at(&[stack, &[cell[0], j]].concat()).to_bool() {
                            0.0
                        } else {
                            f64::NEG_INFINITY
                        }
                    }
                    Some(mask) => real(mask.at(&[stack, &[cell[0], j]].concat())),
                    None => 0.0,
                };
                let is_hidden = is_causal && j > cell[0];
                if is_hidden { f64::NEG_INFINITY } else { (0..e).map(product).sum::<f64>() * scale + added }
            };
            let scores: Vec<f64> = (0..s).map(score).collect();
            let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = scores.iter().map(|score| (score - largest).exp()).sum();
            let weight = (scores[cell[1] as usize] - largest).exp() / sum;
            Scalar::Float(if largest.is_finite() { weight } else { 0.0 })
        });
        let out = Plain::from_fn(q.dtype(), &[&before[..], &[l, columns]].concat(), |position| {
            let (stack, cell) = position.split_at(before.len());
            let term = |j| {
                real(weights.at(&[stack, &[cell[0], j]].concat()))
                    * real(v.at(&[&own(v, stack)[..], &[j, cell[1]]].concat()))
            };
            Scalar::Float((0..s).map(term).sum())
        });
        // Weights do not know of the dimensions in front that only values have.
        let scored =
            if is_grouped { before } else { naive::broadcast([&front(q)[..], &front(k)].into_iter())? };
        let weights =
            Plain::from_fn(q.dtype(), &[&scored[..], &[l, s]].concat(), |position| weights.at(position));
        Ok((out, weights))
    }
}
