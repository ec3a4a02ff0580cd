//! Results, gradients and initial values, by numbers of torch 2.15 on a CPU.

use opgrid::Tensor;
use opgrid::layers::autograd::no_grad;
use opgrid_core::{Device, Result};
use opgrid_nn::loss::{self, CrossEntropy};
use opgrid_nn::*;

use crate::{check_close, doubles, number, ramp};

/// One number for the result and for each gradient: their elements, each times another weight, added up.
///
/// Parameters are `0.5 sin(k + 0.7 i)` for the `k`th, inputs `sin(2 + k + 0.7 i)`; torch's numbers are of the same sum.
fn digest(
    module: &dyn Module,
    inputs: &[&[i64]],
    forward: &dyn Fn(&[Tensor]) -> Result<Tensor>,
) -> Result<Vec<f64>> {
    let parameters = module.parameters();
    for (place, parameter) in parameters.iter().enumerate() {
        let values = ramp(parameter.sizes(), place as f64)?.mul(0.5)?;
        no_grad(|| parameter.copy_(&values).map(drop))?;
    }
    let made = inputs.iter().enumerate().map(|(place, sizes)| {
        let input = ramp(sizes, 2.0 + place as f64)?;
        input.requires_grad_(true)?;
        Ok(input)
    });
    let given = made.collect::<Result<Vec<Tensor>>>()?;
    let result = forward(&given)?;
    let total = result.mul(&ramp(result.sizes(), 1.0)?)?.sum()?;
    total.backward()?;
    let mut numbers = vec![number(&total)?];
    for leaf in parameters.iter().chain(&given) {
        let grad = leaf.grad().expect("every leaf takes part");
        numbers.push(number(&grad.mul(&ramp(grad.sizes(), 1.0)?)?.sum()?)?);
    }
    Ok(numbers)
}

fn check(name: &str, module: &(impl Forward + ?Sized), input: &[i64], expected: &[f64]) -> Result<()> {
    let found = digest(&module, &[input], &|x| module.forward(&x[0]))?;
    check_close(name, &found, expected, 1e-10);
    Ok(())
}

#[test]
fn products_and_convolutions_are_those_of_torch() -> Result<()> {
    let linear = Linear::with(3, 4, doubles())?;
    check(
        "linear",
        &linear,
        &[2, 3],
        &[0.29445885822783, 0.33010705781703, 0.052921962414532, 0.32701835904827],
    )?;
    let conv = Conv1d::with(4, 6, 3, 2, doubles())?.stride(2).padding(1);
    check(
        "conv1d",
        &conv,
        &[2, 4, 7],
        &[1.8278986057885, 5.3979071158833, -0.27618599357125, -1.052502014049],
    )?;
    let conv = Conv1d::with(2, 3, 4, 1, doubles())?.same_padding().padding_mode(PaddingMode::Reflect);
    check(
        "conv1d same",
        &conv,
        &[2, 2, 6],
        &[-4.2866863681748, -6.2441762522831, 1.3531416947341, -1.7870321736578],
    )?;
    let conv = Conv2d::with(2, 3, [3, 2], 1, doubles())?.padding(1).dilation([1, 2]);
    check(
        "conv2d",
        &conv,
        &[2, 2, 5, 4],
        &[3.8671665146624, -8.8545664182756, 2.5270406693369, 2.0490467207443],
    )?;
    let conv = Conv2d::with(2, 2, 3, 1, doubles())?.padding([1, 2]).padding_mode(PaddingMode::Circular);
    check(
        "conv2d circular",
        &conv,
        &[1, 2, 4, 5],
        &[4.535356244972, 8.4304907381082, 1.8064798022824, 3.4581235940175],
    )
}

#[test]
fn norms_are_those_of_torch() -> Result<()> {
    let norm = LayerNorm::with([2, 3], doubles())?;
    check("layer", &norm, &[4, 2, 3], &[3.353941481274, 4.9427559070183, 3.4521382931276, 1.4475577421183])?;
    let norm = RMSNorm::with(3, doubles())?.eps(1e-3);
    check("rms", &norm, &[4, 3], &[0.9096700039786, 4.446881718863, 2.1041897108272])?;
    let norm = GroupNorm::with(2, 4, doubles())?;
    check("group", &norm, &[2, 4, 3], &[2.3902282335199, 6.841096056862, -0.56900059480696, 3.934400163221])?;
    let norm = BatchNorm1d::with(3, doubles())?;
    check(
        "batch 1d",
        &norm,
        &[5, 3],
        &[2.3052525979048, 5.6561180589357, 0.89488306389685, 2.3018548793762],
    )?;
    let norm = BatchNorm2d::with(2, doubles())?;
    check(
        "batch 2d",
        &norm,
        &[3, 2, 2, 2],
        &[0.027401416037887, 1.0640945376354, -0.1736053242779, 1.9931474834885],
    )
}

#[test]
fn pooling_and_activations_are_those_of_torch() -> Result<()> {
    let pool = MaxPool2d::new(3).stride(2).padding(1);
    check("max", &pool, &[1, 2, 5, 6], &[-0.4024347878841, 0.8557488775099])?;
    let pool = AvgPool2d::new(2).padding(1).count_include_pad(false);
    check("mean", &pool, &[1, 2, 5, 6], &[-1.2646875264536, 4.0360879801558])?;
    check(
        "adaptive",
        &AdaptiveAvgPool2d::new([2, 3]),
        &[1, 2, 5, 3],
        &[0.0062243384841408, 0.013647312818297],
    )?;
    check("gelu", &GELU, &[2, 5], &[1.851932415639, 3.0173980252497])?;
    check("gelu by tanh", &Apply(|x| x.gelu_with("tanh")), &[2, 5], &[1.8518310922197, 3.0171455185057])?;
    check("silu", &SiLU, &[2, 5], &[1.7695449190291, 2.9006478570938])?;
    check("softmax", &Apply(|x| x.softmax(1)), &[2, 5], &[0.81579805020722, 0.58590140090461])?;
    let sequential = Sequential::new()
        .then(Linear::with(3, 4, doubles())?)
        .then(Tanh)
        .then(Flatten)
        .then(Linear::with(8, 2, doubles())?);
    let expected = [
        0.13397842805216,
        0.14262257569593,
        -0.76817568352421,
        0.64006462334097,
        2.3010892620336,
        0.30547771680116,
    ];
    check("sequential", &sequential, &[2, 2, 3], &expected)
}

#[test]
fn embeddings_are_those_of_torch() -> Result<()> {
    let table = Embedding::with(4, 2, doubles())?.padding_idx(1)?;
    let indices = Tensor::new(&[[0i64, 1, 3], [3, 2, 0]], Device::CPU)?;
    let found = digest(&table, &[], &|_| table.forward(&indices))?;
    check_close("embedding", &found, &[2.1022437076811, 3.9857858688865], 1e-10);
    Ok(())
}

#[test]
fn attention_is_that_of_torch() -> Result<()> {
    let attention = MultiheadAttention::with(4, 2, doubles())?;
    let sizes: [&[i64]; 3] = [&[3, 2, 4], &[5, 2, 4], &[5, 2, 4]];
    let expected = [
        0.1848935090576,
        0.24388047731679,
        0.26004638552498,
        0.93830363627536,
        1.2840915153229,
        -0.05042770069172,
        0.19794841174607,
        0.11222876660079,
    ];
    let masks = AttentionMasks::default();
    let found = digest(&attention, &sizes, &|x| attention.forward(&x[0], &x[1], &x[2], &masks))?;
    check_close("attention", &found, &expected, 1e-10);
    let attention = MultiheadAttention::with(4, 2, doubles())?;
    let with_weights = |x: &[Tensor]| attention.forward_with_weights(&x[0], &x[1], &x[2], &masks);
    let found = digest(&attention, &sizes, &|x| with_weights(x).map(|(result, _)| result))?;
    check_close("attention with weights", &found, &expected, 1e-10);

    let attention = MultiheadAttention::with_widths(4, 2, 3, 2, doubles())?.batch_first();
    let expected = [
        -0.65172170060694,
        -0.13532895669675,
        0.038297979842477,
        -0.08517393752672,
        -0.76832599469606,
        -0.14555508017541,
        1.2840915153229,
        -0.051146526921232,
        0.049419872693163,
        -0.0090235633467989,
    ];
    let sizes: [&[i64]; 3] = [&[2, 3, 4], &[2, 5, 3], &[2, 5, 2]];
    let found = digest(&attention, &sizes, &|x| attention.forward(&x[0], &x[1], &x[2], &masks))?;
    check_close("attention of other widths", &found, &expected, 1e-10);
    Ok(())
}

#[test]
fn encoder_layers_are_those_of_torch() -> Result<()> {
    let masks = AttentionMasks::default();
    let layer = TransformerEncoderLayer::with(4, 2, 8, doubles())?.dropout(0.0)?;
    let expected = [
        -1.1651095419997,
        -1.6753536532952,
        0.062150249028718,
        0.81922313730642,
        -0.4651249792801,
        -0.20695146368721,
        0.2760472657168,
        0.46820565402027,
        -0.80888109804019,
        -0.3829105587496,
        -0.741369189905,
        1.4739921257638,
        1.2840915153229,
        -1.819988186979,
    ];
    let found = digest(&layer, &[&[3, 2, 4]], &|x| layer.forward(&x[0], &masks))?;
    check_close("encoder layer", &found, &expected, 1e-10);
    let layer = TransformerEncoderLayer::with(4, 2, 8, doubles())?.dropout(0.0)?;
    let layer = layer.norm_first().activation(|x| x.gelu());
    let expected = [
        7.9056597566862,
        0.10185404934855,
        0.25835355599844,
        1.0284465133814,
        1.2114970453166,
        2.3927525927541,
        0.42796242378952,
        -3.3583241073513,
        1.2840915153229,
        0.14139861107659,
        -0.28946367230061,
        1.6972063776202,
        1.9078869102665,
        11.571179399936,
    ];
    let found = digest(&layer, &[&[3, 2, 4]], &|x| layer.forward(&x[0], &masks))?;
    check_close("encoder layer, norm first", &found, &expected, 1e-10);
    Ok(())
}

#[test]
fn losses_are_those_of_torch() -> Result<()> {
    let classes = Tensor::new(&[0i64, 2, 1, 1], Device::CPU)?;
    let none = Identity;
    let smooth = CrossEntropy { label_smoothing: 0.1, ignore_index: 2, ..Default::default() };
    let found = digest(&none, &[&[4, 3]], &|x| smooth.forward(&x[0], &classes))?;
    check_close("cross entropy", &found, &[0.83222552232896, 0.044001687210841], 1e-10);
    // Torch's number is of the sum of four.
    let found = digest(&none, &[&[4, 3]], &|x| loss::nll(&x[0], &classes)?.mul(4))?;
    check_close("nll", &found, &[-1.0049817144806, -0.40342008024514], 1e-10);
    let pairs: [&[i64]; 2] = [&[4, 3], &[4, 3]];
    let found = digest(&none, &pairs, &|x| loss::mse(&x[0], &x[1]))?;
    check_close("mse", &found, &[0.42920322855927, 0.89216160525185, -0.89216160525185], 1e-10);
    let found = digest(&none, &pairs, &|x| loss::binary_cross_entropy_with_logits(&x[0], &x[1]))?;
    check_close("yes or no", &found, &[0.48685501601197, 0.35030387797835, -0.24087257225613], 1e-10);
    Ok(())
}
