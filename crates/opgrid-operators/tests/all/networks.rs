//! Normalisations, attention and recurrent operators: what samples cannot say, and what torch answers otherwise.

use opgrid_core::{DType, Device, Result};
use opgrid_tensor::Tensor;
use opgrid_tensor::ops::{
    BatchNorm, FusedRmsNorm, GruInput, InstanceNorm, LstmCell, LstmInput, NativeBatchNorm,
    NativeBatchNormLegit, NativeBatchNormLegitNoTrainingOut, NativeBatchNormOut, NativeGroupNorm,
    NativeGroupNormBackward, NativeLayerNorm, NativeLayerNormBackward, RmsNorm, RnnTanhCell, SafeSoftmax,
    ScaledDotProductAttention, ScaledDotProductAttentionMath, ScaledDotProductFlashAttentionForCpu,
};

/// Small numbers, no two neighbours alike.
fn varied(sizes: &[i64]) -> Tensor {
    let numbers: Vec<f32> = (0..sizes.iter().product()).map(|k: i64| 0.3 - 0.1 * (k % 7) as f32).collect();
    Tensor::from_slice(&numbers, sizes).unwrap()
}

fn full(sizes: &[i64], number: f32) -> Tensor {
    Tensor::from_slice(&vec![number; sizes.iter().product::<i64>() as usize], sizes).unwrap()
}

fn empty(sizes: &[i64], dtype: DType) -> Tensor {
    Tensor::empty(sizes, dtype, Device::CPU).unwrap()
}

fn refused<T: std::fmt::Debug>(result: Result<T>, words: &str) {
    let message = result.unwrap_err().to_string();
    assert!(message.contains(words), "{message}");
}

/// Returns the elements with others between them.
fn apart(tensor: &Tensor) -> Tensor {
    let sizes: Vec<i64> = tensor.sizes().iter().map(|size| size * 2).collect();
    let mut gaps = full(&sizes, f32::NAN);
    for dim in 0..sizes.len() as i64 {
        gaps = gaps.slice(dim, None, None, 2).unwrap();
    }
    gaps.copy_(tensor).unwrap();
    gaps
}

#[test]
fn gradients_that_nobody_asks_for_are_undefined() -> Result<()> {
    let x = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 5.0], &[2, 2])?;
    let row = Tensor::from_slice(&[1.0f32, 1.0], &[2, 1])?;
    let (of_input, of_weight, of_bias) =
        NativeLayerNormBackward.call(&x, &x, &[2], &row, &row, None, None, &[true, false, false])?;
    assert!(of_input.is_defined() && !of_weight.is_defined() && !of_bias.is_defined());
    let error = NativeLayerNormBackward.call(&x, &x, &[2], &row, &row, None, None, &[true; 3]).unwrap_err();
    assert!(error.to_string().contains("`weight` is None"), "{error}");
    Ok(())
}

#[test]
fn running_statistics_move_towards_those_of_the_batch() -> Result<()> {
    let x = Tensor::from_slice(&[1.0f32, 10.0, 3.0, 14.0], &[2, 2])?;
    let (mean, var) = (Tensor::from_slice(&[0.0f32, 0.0], &[2])?, Tensor::from_slice(&[1.0f32, 1.0], &[2])?);
    NativeBatchNorm.call(&x, None, None, Some(&mean), Some(&var), true, 0.5, 1e-5)?;
    assert_eq!((mean.to_vec::<f32>()?, var.to_vec::<f32>()?), (vec![1.0, 6.0], vec![1.5, 4.5]));
    NativeBatchNormLegit.call(&x, None, None, &mean, &var, true, 1.0, 1e-5)?;
    assert_eq!((mean.to_vec::<f32>()?, var.to_vec::<f32>()?), (vec![2.0, 12.0], vec![2.0, 8.0]));
    // Without training, or where the call is refused, they stay.
    NativeBatchNormLegit.call(&x, None, None, &mean, &var, false, 1.0, 1e-5)?;
    let short = Tensor::from_slice(&[1.0f32], &[1])?;
    assert!(NativeBatchNormLegit.call(&x, Some(&short), None, &mean, &var, true, 0.5, 1e-5).is_err());
    assert_eq!((mean.to_vec::<f32>()?, var.to_vec::<f32>()?), (vec![2.0, 12.0], vec![2.0, 8.0]));
    Ok(())
}

#[test]
fn states_of_lstm_may_be_projected() -> Result<()> {
    let varied = |sizes: &[i64]| {
        let numbers: Vec<f64> =
            (0..sizes.iter().product()).map(|k: i64| 0.3 - 0.1 * (k % 7) as f64).collect();
        Tensor::from_slice(&numbers, sizes)
    };
    let parameters = [varied(&[8, 3])?, varied(&[8, 1])?, varied(&[8])?, varied(&[8])?, varied(&[1, 2])?];
    let states = [varied(&[1, 2, 1])?, varied(&[1, 2, 2])?];
    let (output, hidden, cells) =
        LstmInput.call(&varied(&[4, 2, 3])?, &states, &parameters, true, 1, 0.0, false, false, false)?;
    let sizes = (output.sizes(), hidden.sizes(), cells.sizes());
    assert_eq!(sizes, (&[4, 2, 1][..], &[1, 2, 1][..], &[1, 2, 2][..]));
    assert_eq!(output.select(0, 3)?.to_vec::<f64>()?, hidden.to_vec::<f64>()?);
    Ok(())
}

#[test]
fn parameters_of_networks_are_checked() -> Result<()> {
    let states = [varied(&[1, 2, 2]), varied(&[1, 2, 2])];
    let run = |parameters: &[Tensor], biases: bool| {
        LstmInput.call(&varied(&[3, 2, 3]), &states, parameters, biases, 1, 0.0, false, false, false)
    };
    refused(
        run(&[varied(&[4, 3]), varied(&[4, 2])], false),
        "a weight has shape [4, 3], expected [4 * 2, any]",
    );
    refused(run(&[varied(&[8, 3]), varied(&[8, 3])], false), "shapes cannot be multiplied");
    let four = [varied(&[8, 3]), varied(&[8, 2]), varied(&[8]), varied(&[8])];
    refused(run(&four, false), "argument `params` has 4 tensors, expected 2 for each of 1 * 1 layers");
    let more = [varied(&[2, 2, 2]), varied(&[2, 2, 2])];
    let run_more = LstmInput.call(&varied(&[3, 2, 3]), &more, &four, true, 1, 0.0, false, false, false);
    refused(run_more, "argument `hx` has shape [2, 2, 2], expected [1 * 1, 2, any]");
    let cells = [varied(&[1, 2, 2]), empty(&[1, 2, 2], DType::I8)];
    let run_mixed = LstmInput.call(&varied(&[3, 2, 3]), &cells, &four, true, 1, 0.0, false, false, false);
    refused(run_mixed, "argument `hx` has dtype int8, expected float32 as the input");
    let whole = empty(&[8], DType::I64);
    let words = "a bias has dtype int64, expected float32 as the input; convert one of them";
    refused(run(&[varied(&[8, 3]), varied(&[8, 2]), varied(&[8]), whole.clone()], true), words);
    refused(run(&[varied(&[8, 3]), varied(&[8, 2]), whole.clone(), varied(&[8])], true), words);
    // Also where torch adds it to a product of neighbours that are apart.
    let parameters = [varied(&[6, 3]), varied(&[6, 2]), empty(&[6], DType::I64), varied(&[6])];
    let turned = varied(&[2, 3, 3]).transpose(0, 1)?;
    refused(GruInput.call(&turned, &states[0], &parameters, true, 1, 0.0, false, false, false), words);
    let states = [varied(&[2, 2]), varied(&[2, 2])];
    let cell =
        LstmCell.call(&varied(&[2, 3]), &states, &varied(&[8, 3]), &varied(&[8, 2]), Some(&whole), None);
    refused(cell, words);
    let (bias, other) = (varied(&[2]), empty(&[2], DType::I64));
    let (weight, square) = (varied(&[2, 3]), varied(&[2, 2]));
    refused(RnnTanhCell.call(&weight, &square, &weight, &square, Some(&bias), Some(&other)), words);
    let [weight, square] = [weight, square].map(|of| of.to_dtype(DType::I32).unwrap());
    let step = RnnTanhCell.call(&weight, &square, &weight, &square, None, None);
    refused(step, "expected a floating-point or complex dtype");
    Ok(())
}

#[test]
fn layers_drop_with_probabilities() {
    let parameters = [varied(&[6, 3]), varied(&[6, 2]), varied(&[6, 2]), varied(&[6, 2])];
    let run = |p| {
        GruInput.call(&varied(&[3, 2, 3]), &varied(&[2, 2, 2]), &parameters, false, 2, p, true, false, false)
    };
    refused(run(2.5), "argument `p` is 2.5, expected a probability between 0 and 1");
    refused(run(-0.5), "argument `p` is -0.5, expected a probability between 0 and 1");
    // All that the second layer would see is dropped.
    let all = run(1.0).unwrap().0.to_vec::<f32>().unwrap();
    assert!(all.iter().all(|x| x.is_finite()), "{all:?}");
}

#[test]
fn statistics_are_checked() -> Result<()> {
    let (x, row) = (varied(&[2, 3]), full(&[3], 1.0));
    let long = full(&[4], 1.0);
    let words = "has shape [4], expected [3]";
    refused(NativeBatchNorm.call(&x, Some(&long), None, None, None, true, 0.1, 1e-5), words);
    refused(NativeBatchNormLegit.call(&x, None, None, &row, &long, false, 0.1, 1e-5), words);
    let outs = [empty(&[0], DType::F32), empty(&[0], DType::I32), empty(&[0], DType::F32)];
    let [out, mean, invstd] = &outs;
    let unused =
        NativeBatchNormLegitNoTrainingOut.call(&x, None, None, &row, &row, 0.1, 1e-5, out, mean, invstd);
    refused(unused, "argument `out` has dtype int32, expected float32 as the result");
    let [mean, invstd] = [empty(&[2, 0], DType::F32), empty(&[0], DType::F32)];
    NativeBatchNormLegitNoTrainingOut.call(&x, None, None, &row, &row, 0.1, 1e-5, out, &mean, &invstd)?;
    assert_eq!((mean.sizes(), invstd.sizes()), (&[0][..], &[0][..]));
    let mask = [true; 3];
    let words = "argument `mean` has 6 elements, expected 2, one for each row";
    let rows = NativeLayerNormBackward.call(&x, &x, &[3], &x, &row, Some(&row), Some(&row), &mask);
    refused(rows, words);
    refused(FusedRmsNorm.call(&x, &[], None, None), "argument `normalized_shape` is empty");
    refused(FusedRmsNorm.call(&x, &[9], None, None), "expected it to end with `normalized_shape`, [9]");
    refused(FusedRmsNorm.call(&x, &[3], Some(&x), None), "argument `weight` has shape [2, 3], expected [3]");
    let complex = empty(&[3], DType::Complex64);
    refused(FusedRmsNorm.call(&x, &[3], Some(&complex), None), "expected a real one as the input");
    let words = "argument `input` has 6 elements, expected N * C * HxW, 0 * 3 * 1";
    refused(NativeGroupNorm.call(&x, None, None, 0, 3, 1, 1, 1e-5), words);
    let none = NativeGroupNorm.call(&varied(&[2, 0]), None, None, 2, 0, 1, 3, 1e-5);
    refused(none, "argument `C` is 0, expected at least one channel");
    let words = "argument `grad_out` has shape [4, 3], expected [2, 3]";
    let (grad, one) = (varied(&[4, 3]), full(&[2, 1], 1.0));
    refused(NativeLayerNormBackward.call(&grad, &x, &[3], &one, &one, Some(&row), Some(&row), &mask), words);
    // Of no rows, too.
    let (none, mean) = (empty(&[0, 3], DType::F16), empty(&[0, 1], DType::BF16));
    let rows = NativeLayerNormBackward.call(&none, &none, &[3], &mean, &mean, None, None, &mask);
    refused(rows, "argument `mean` has dtype bfloat16, expected float16 as the input");
    // Gradients have the dtype of the input, also where parameters may have another.
    let half = x.to_dtype(DType::F16)?;
    let words = "argument `grad_out` has dtype float32, expected float16 as the input";
    refused(NativeLayerNormBackward.call(&x, &half, &[3], &one, &one, Some(&row), Some(&row), &mask), words);
    let (narrow, mean) = (x.to_dtype(DType::F16)?, one.to_dtype(DType::F16)?);
    let mixed =
        NativeLayerNormBackward.call(&narrow, &half, &[3], &mean, &one, None, None, &[true, false, false]);
    refused(mixed, "argument `rstd` has dtype float32, expected float16 as the input");
    refused(NativeGroupNormBackward.call(&x, &half, &one, &one, Some(&row), 2, 3, 1, 1, &mask), words);
    Ok(())
}

#[test]
fn statistics_may_have_any_strides() -> Result<()> {
    let (x, row, statistic) = (varied(&[3, 4]), varied(&[4]), varied(&[3, 1]));
    let gradient = |statistic: &Tensor| {
        NativeLayerNormBackward
            .call(&x, &x, &[4], statistic, statistic, Some(&row), Some(&row), &[true; 3])
            .map(|(by_input, by_weight, _)| [by_input, by_weight].map(|by| by.to_vec::<f32>().unwrap()))
    };
    assert_eq!(gradient(&apart(&statistic))?, gradient(&statistic)?);
    Ok(())
}

#[test]
fn averages_are_computed_for_outputs() -> Result<()> {
    let x = varied(&[4, 3]);
    let (wanted, mean, invstd) = NativeBatchNorm.call(&x, None, None, None, None, true, 0.1, 1e-5)?;
    let outs = [full(&[4, 3], 7.0), full(&[3], 7.0), full(&[3], 7.0)];
    let [out, save_mean, save_invstd] = &outs;
    NativeBatchNormOut.call(&x, None, None, None, None, true, 0.1, 1e-5, out, save_mean, save_invstd)?;
    for (out, wanted) in outs.iter().zip([wanted, mean, invstd]) {
        assert_eq!(out.to_vec::<f32>()?, wanted.to_vec::<f32>()?);
    }
    Ok(())
}

#[test]
fn what_does_not_vary_is_normalised_to_zero() -> Result<()> {
    let (x, bias) = (full(&[2, 3], 0.7), varied(&[3]));
    let weight = full(&[3], 2.0);
    let (out, ..) = NativeBatchNorm.call(&x, Some(&weight), Some(&bias), None, None, true, 0.1, 1e-5)?;
    assert_eq!(out.select(0, 1)?.to_vec::<f32>()?, bias.to_vec::<f32>()?);
    let (out, ..) = NativeLayerNorm.call(&x, &[3], Some(&weight), Some(&bias), 1e-5)?;
    assert_eq!(out.select(0, 1)?.to_vec::<f32>()?, bias.to_vec::<f32>()?);
    // Also where nothing is added to the variance.
    let (out, _, invstd) = NativeBatchNorm.call(&x, None, Some(&bias), None, None, true, 0.1, 0.0)?;
    assert_eq!(out.select(0, 0)?.to_vec::<f32>()?, bias.to_vec::<f32>()?);
    assert_eq!(invstd.to_vec::<f32>()?, [0.0; 3]);
    Ok(())
}

#[test]
fn what_a_negative_eps_leaves_is_as_near_as_the_sum() -> Result<()> {
    let row = [0.625f32, 1.5, 2.375];
    let mean = row.iter().map(|x| f64::from(x * x)).sum::<f64>() / 3.0;
    for eps in [-1.0, -2.75, -2.7604] {
        let out =
            RmsNorm.call(&Tensor::from_slice(&row, &[1, 3])?, &[3], None, Some(eps))?.to_vec::<f32>()?;
        let step = 4.0 * f64::from(f32::EPSILON) * mean / (mean + eps);
        for (x, out) in row.iter().zip(out) {
            let expected = f64::from(*x) / (mean + eps).sqrt();
            assert!((f64::from(out) / expected - 1.0).abs() <= step, "{eps}: {out} beside {expected}");
        }
    }
    Ok(())
}

#[test]
fn images_without_channels_are_normalised() -> Result<()> {
    let (x, none) = (varied(&[2, 0, 4]), varied(&[0]));
    let out = BatchNorm.call(&x, Some(&none), Some(&none), None, None, true, 0.1, 1e-5, false)?;
    assert_eq!(out.sizes(), [2, 0, 4]);
    // Sizes are checked all the same.
    let (images, number) = (varied(&[0, 3]), varied(&[]));
    let short = BatchNorm.call(&images, Some(&number), None, None, None, true, 0.1, 1e-5, false);
    refused(short, "argument `weight` has shape [], expected [3]");
    // A vector of nothing has none.
    let flat = BatchNorm.call(&varied(&[0]), None, None, Some(&none), Some(&none), true, 0.1, 1e-5, true)?;
    assert_eq!(flat.sizes(), [0]);
    let out = InstanceNorm.call(&x, Some(&none), None, Some(&none), Some(&none), false, 0.1, 1e-5, false)?;
    assert_eq!(out.sizes(), [2, 0, 4]);
    Ok(())
}

#[test]
fn instances_take_running_statistics_of_any_dtype() -> Result<()> {
    let x = varied(&[2, 3, 4]);
    let numbers = |dtype| -> Result<[Tensor; 2]> {
        Ok([Tensor::from_slice(&[1i64, -1, 2], &[3])?.to_dtype(dtype)?, full(&[3], 4.0).to_dtype(dtype)?])
    };
    let run = |dtype, of_batch: bool| -> Result<(Vec<f32>, Vec<f64>)> {
        let [mean, var] = numbers(dtype)?;
        let out = InstanceNorm.call(&x, None, None, Some(&mean), Some(&var), of_batch, 0.5, 1e-5, false)?;
        Ok((out.to_vec()?, mean.to_dtype(DType::F64)?.to_vec()?))
    };
    for of_batch in [false, true] {
        let (wanted, mean) = run(DType::F32, of_batch)?;
        assert_eq!(run(DType::F64, of_batch)?, (wanted.clone(), mean.clone()));
        // Each of them may have another.
        let ([mixed, _], [_, var]) = (numbers(DType::F32)?, numbers(DType::I8)?);
        let out = InstanceNorm.call(&x, None, None, Some(&mixed), Some(&var), of_batch, 0.5, 1e-5, false)?;
        assert_eq!(out.to_vec::<f32>()?, wanted);
        let [mean_of, _] = numbers(DType::F32)?;
        let native = NativeBatchNorm.call(&x, None, None, Some(&mean_of), Some(&var), of_batch, 0.5, 1e-5);
        refused(native, "argument `running_var` has dtype int8, expected float32 as the input");
        let whole = mean.into_iter().map(f64::trunc).collect::<Vec<_>>();
        assert_eq!(run(DType::I32, of_batch)?, (wanted, whole));
    }
    Ok(())
}

#[test]
fn single_images_keep_the_order_of_channels() -> Result<()> {
    // The stride of the only image says nothing, unless parameters have gaps.
    let image = varied(&[24]).as_strided(&[1, 2, 3, 4], &[5, 1, 8, 2], None)?;
    let strides = |weight: &Tensor| {
        let results = NativeBatchNorm.call(&image, Some(weight), None, None, None, true, 0.1, 1e-5);
        results.map(|(out, ..)| (out.strides()[1..].to_vec(), out.to_vec::<f32>().unwrap()))
    };
    let weight = varied(&[2]);
    let (channels_last, rows) = (strides(&weight)?, strides(&apart(&weight))?);
    assert_eq!((channels_last.0, rows.0), (vec![1, 8, 2], vec![12, 4, 1]));
    assert_eq!(channels_last.1, rows.1);
    Ok(())
}

#[test]
fn attention_is_checked() -> Result<()> {
    let (query, key) = (varied(&[1, 2, 3, 4]), varied(&[1, 2, 5, 4]));
    let attend = |query: &Tensor, key: &Tensor, value: &Tensor, p: f64| {
        ScaledDotProductAttention.call(query, key, value, None, p, false, None, false)
    };
    let words =
        "argument `value` has shape [1, 2, 3, 4], expected as many rows as `key`, of shape [1, 2, 5, 4]";
    refused(attend(&query, &key, &query, 0.0), words);
    let fused = ScaledDotProductFlashAttentionForCpu.call(&query, &key, &query, 0.0, false, None, None);
    refused(fused, "argument `value` has shape [1, 2, 3, 4]");
    refused(attend(&query, &key, &key, -0.5), "argument `dropout_p` is -0.5, expected a probability");
    refused(attend(&query, &key, &key, 2.0), "argument `dropout_p` is 2, expected a probability");
    let dropped = attend(&query, &key, &key, 1.0)?.to_vec::<f32>()?;
    assert!(dropped.iter().all(|x| *x == 0.0), "{dropped:?}");
    let whole = empty(&[1, 2, 3, 4], DType::U8);
    let math = ScaledDotProductAttentionMath.call(&whole, &key, &key, None, 0.0, false, None, None, false);
    refused(math, "expected a floating-point dtype");
    let complex = empty(&[3, 5], DType::Complex64);
    let math =
        ScaledDotProductAttentionMath.call(&query, &key, &key, Some(&complex), 0.0, false, None, None, false);
    refused(math, "result type complex64 can't be cast");
    let softmax = SafeSoftmax.call(&complex, 1, Some(DType::F64));
    refused(softmax, "result type complex64 can't be cast");
    // A mask of single precision beside doubles.
    let (wide, keys) = (query.to_dtype(DType::F64)?, key.to_dtype(DType::F64)?);
    let masked = |mask: &Tensor| {
        let fused = ScaledDotProductFlashAttentionForCpu;
        fused
            .call(&wide, &keys, &keys, 0.0, false, Some(mask), None)
            .map(|(out, _)| out.to_vec::<f64>().unwrap())
    };
    assert_eq!(masked(&varied(&[3, 5]))?, masked(&varied(&[3, 5]).to_dtype(DType::F64)?)?);
    // Masks of bools are taken by all.
    let all = full(&[3, 5], 1.0).to_dtype(DType::Bool)?;
    let fused = |query: &Tensor, key: &Tensor, mask| {
        ScaledDotProductFlashAttentionForCpu.call(query, key, key, 0.0, false, mask, None)
    };
    let (seen, _) = fused(&query, &key, Some(&all))?;
    assert_eq!(seen.to_vec::<f32>()?, attend(&query, &key, &key, 0.0)?.to_vec::<f32>()?);
    let (_, logarithms) = fused(&varied(&[1, 2, 3, 0]), &varied(&[1, 2, 5, 0]), None)?;
    assert_eq!(logarithms.to_vec::<f32>()?, [0.0; 6]);
    // Sizes in front broadcast, also to nothing.
    let nothing = varied(&[0, 2, 5, 4]);
    assert_eq!(attend(&query, &nothing, &nothing, 0.0)?.sizes(), [0, 2, 3, 4]);
    refused(attend(&query, &nothing, &varied(&[0, 2, 6, 4]), 0.0), "expected as many rows as `key`");
    Ok(())
}

#[test]
fn attention_is_that_of_any_strides() -> Result<()> {
    let (query, key) = (varied(&[2, 3, 4, 8]), varied(&[2, 3, 5, 8]));
    let fused = |query: &Tensor, key: &Tensor| {
        ScaledDotProductFlashAttentionForCpu.call(query, key, key, 0.0, false, None, None).map(|(out, _)| out)
    };
    let wanted = fused(&query, &key)?.to_vec::<f32>()?;
    assert_eq!(fused(&apart(&query), &apart(&key))?.to_vec::<f32>()?, wanted);
    // The result lies as the queries, so that the heads of a place are neighbours again where they came from such.
    let heads = query.transpose(1, 2)?.contiguous()?.transpose(1, 2)?;
    let meta = Tensor::empty(&[2, 4, 3, 8], DType::F32, Device::META)?.transpose(1, 2)?;
    let attend = |query: &Tensor, key: &Tensor| {
        ScaledDotProductAttention.call(query, key, key, None, 0.0, false, None, false)
    };
    for out in [fused(&heads, &key)?, attend(&heads, &key)?] {
        assert_eq!((out.strides(), out.to_vec::<f32>()?), (&[96, 8, 24, 1][..], wanted.clone()));
    }
    assert_eq!(
        attend(&meta, &Tensor::empty(&[2, 3, 5, 8], DType::F32, Device::META)?)?.strides(),
        [96, 8, 24, 1]
    );
    // Three dimensions are one image of heads; rows with gaps give rows.
    let (image, keys) = (heads.select(0, 0)?, key.select(0, 0)?);
    let out = attend(&image, &keys)?;
    assert_eq!((out.strides(), out.to_vec::<f32>()?), (&[8, 24, 1][..], wanted[..96].to_vec()));
    let out = attend(&heads, &apart(&key))?;
    assert_eq!((out.strides(), out.to_vec::<f32>()?), (&[96, 32, 8, 1][..], wanted));
    // One head of keys serves all heads of queries.
    let one = key.narrow(1, 0, 1)?;
    let spread = one.expand(&[2, 3, 5, 8])?.contiguous()?;
    assert_eq!(attend(&query, &one)?.to_vec::<f32>()?, attend(&query, &spread)?.to_vec::<f32>()?);
    Ok(())
}
