//! What modules hold: names, modes, state dicts, files and mistakes.

use opgrid::Tensor;
use opgrid_core::{DType, Device, Result};
use opgrid_nn::*;

use crate::{message, ones};

struct Net {
    scale: Tensor,
    first: Linear,
    rest: Vec<Linear>,
    norm: BatchNorm1d,
    dropout: Dropout,
    none: Option<Linear>,
}

impl Module for Net {
    fn parts(&self, parts: &mut Parts) {
        parts.parameter("scale", &self.scale).module("first", &self.first).module("again", &self.first);
        parts.module("rest", &self.rest).module("norm", &self.norm).module("dropout", &self.dropout);
        parts.module("none", &self.none);
    }
}

impl Net {
    fn new() -> Result<Self> {
        let scale = ones(&[1])?;
        scale.requires_grad_(true)?;
        let without_bias = ModuleOptions::new().bias(false);
        Ok(Self {
            scale,
            first: Linear::new(2, 3)?,
            rest: (0..2).map(|_| Linear::with(3, 3, without_bias)).collect::<Result<_>>()?,
            norm: BatchNorm1d::new(3)?,
            dropout: Dropout::new(0.5)?,
            none: None,
        })
    }

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let mut x = self.first.forward(x)?;
        for layer in &self.rest {
            x = layer.forward(&x)?;
        }
        self.dropout.forward(&self.norm.forward(&x)?)?.mul(&self.scale)
    }
}

fn names(list: Vec<(String, Tensor)>) -> Vec<String> {
    list.into_iter().map(|(name, _)| name).collect()
}

#[test]
fn names_are_those_of_torch() -> Result<()> {
    let net = Net::new()?;
    let parameters =
        ["scale", "first.weight", "first.bias", "rest.0.weight", "rest.1.weight", "norm.weight", "norm.bias"];
    assert_eq!(names(net.named_parameters()), parameters);
    let buffers = ["norm.running_mean", "norm.running_var", "norm.num_batches_tracked"];
    assert_eq!(names(net.named_buffers()), buffers);
    assert!(net.parameters().iter().all(|it| it.requires_grad() && it.is_leaf()));
    // What stands in two places is saved under both names.
    let state = net.state_dict()?;
    assert_eq!(state.len(), parameters.len() + buffers.len() + 2);
    assert!(state.get("again.weight").is_some() && state.iter().all(|(_, it)| !it.requires_grad()));

    let layer = TransformerEncoderLayer::new(4, 2, 8)?;
    let expected = [
        "self_attn.in_proj_weight",
        "self_attn.in_proj_bias",
        "self_attn.out_proj.weight",
        "self_attn.out_proj.bias",
        "linear1.weight",
        "linear1.bias",
        "linear2.weight",
        "linear2.bias",
        "norm1.weight",
        "norm1.bias",
        "norm2.weight",
        "norm2.bias",
    ];
    assert_eq!(names(layer.named_parameters()), expected);
    let apart = MultiheadAttention::with_widths(4, 2, 3, 2, ModuleOptions::new().bias(false))?;
    let expected = ["q_proj_weight", "k_proj_weight", "v_proj_weight", "out_proj.weight"];
    assert_eq!(names(apart.named_parameters()), expected);
    Ok(())
}

#[test]
fn a_module_trains_until_it_is_told() -> Result<()> {
    let net = Net::new()?;
    let x = Tensor::new(&[[1.0f32, 2.0], [3.0, -4.0], [0.0, 1.0]], Device::CPU)?;
    let before = net.norm.running.as_ref().unwrap().mean.to_vec::<f32>()?;
    net.eval();
    assert!(net.forward(&x)?.equal(&net.forward(&x)?)?);
    assert_eq!(net.norm.running.as_ref().unwrap().mean.to_vec::<f32>()?, before);
    net.train(true);
    net.forward(&x)?;
    assert_ne!(net.norm.running.as_ref().unwrap().mean.to_vec::<f32>()?, before);
    assert_eq!(net.norm.running.as_ref().unwrap().batches.to_vec::<i64>()?, [1]);
    Ok(())
}

#[test]
fn running_statistics_may_be_means_of_all_batches() -> Result<()> {
    let norm = BatchNorm1d::new(1)?.momentum(None);
    norm.forward(&Tensor::new(&[[1.0f32], [3.0]], Device::CPU)?)?;
    norm.forward(&Tensor::new(&[[5.0f32], [7.0]], Device::CPU)?)?;
    assert_eq!(norm.running.as_ref().unwrap().mean.to_vec::<f32>()?, [4.0]);
    let plain = BatchNorm1d::new(1)?.without_running_stats().without_affine();
    assert!(plain.state_dict()?.is_empty());
    plain.eval();
    let found = plain.forward(&Tensor::new(&[[1.0f32], [3.0]], Device::CPU)?)?.to_vec::<f32>()?;
    assert!((found[0] + 1.0).abs() < 1e-4, "{found:?}");
    Ok(())
}

#[test]
fn gradients_are_removed_and_refused() -> Result<()> {
    let net = Net::new()?;
    net.forward(&ones(&[2, 2])?)?.sum()?.backward()?;
    assert!(net.parameters().iter().all(|it| it.grad().is_some()));
    net.zero_grad()?;
    assert!(net.parameters().iter().all(|it| it.grad().is_none()));
    net.requires_grad_(false)?;
    assert!(!net.forward(&ones(&[2, 2])?)?.requires_grad());
    Ok(())
}

#[test]
fn files_keep_a_module() -> Result<()> {
    let (net, other) = (Net::new()?, Net::new()?);
    net.forward(&ones(&[2, 2])?)?;
    let file = std::env::temp_dir().join(format!("opgrid-nn-{}.safetensors", std::process::id()));
    net.save(&file)?;
    other.load(&file)?;
    net.eval();
    other.eval();
    let x = Tensor::new(&[[1.0f32, -2.0]], Device::CPU)?;
    assert!(net.forward(&x)?.equal(&other.forward(&x)?)?);
    assert!(other.parameters().iter().all(|it| it.requires_grad() && it.is_leaf()));
    let small = Linear::new(1, 1)?;
    let said = message(small.load(&file));
    std::fs::remove_file(&file).map_err(opgrid_core::Error::from_source)?;
    assert!(said.contains(&file.display().to_string()), "{said}");
    Ok(())
}

#[test]
fn what_does_not_fit_is_named_and_changes_nothing() -> Result<()> {
    let layer = Linear::new(2, 1)?;
    let before = layer.weight.to_vec::<f32>()?;
    let mut state = StateDict::new();
    state.insert("weight", ones(&[1, 3])?);
    state.insert("other", ones(&[1])?);
    let said = message(layer.load_state_dict(&state));
    for part in
        ["missing: bias", "unexpected: other", "weight: found shape [1, 3], expected [1, 2]", "load_matching"]
    {
        assert!(said.contains(part), "{said}");
    }
    state.insert("weight", ones(&[1, 2])?);
    assert!(layer.load_state_dict(&state).is_err());
    assert_eq!(layer.weight.to_vec::<f32>()?, before);
    let left_out = layer.load_matching(&state)?;
    assert_eq!(left_out, Unmatched { missing: vec!["bias".into()], unexpected: vec!["other".into()] });
    assert_eq!(layer.weight.to_vec::<f32>()?, [1.0, 1.0]);
    assert!(state.remove("other").is_some() && state.remove("other").is_none());

    struct Twice(Linear);
    impl Module for Twice {
        fn parts(&self, parts: &mut Parts) {
            parts.module("x", &self.0).parameter("x.weight", &self.0.weight);
        }
    }
    assert!(message(Twice(layer).state_dict()).contains("two parts of the module named `x.weight`"));
    Ok(())
}

#[test]
fn networks_may_be_used_by_several_threads() -> Result<()> {
    fn shared<M: Module + Send + Sync>(module: M) -> M {
        module
    }
    let net = shared(Net::new()?);
    let model = shared(Sequential::new().then(Linear::new(2, 3)?).then(Dropout::new(0.5)?));
    shared(TransformerEncoderLayer::new(4, 2, 8)?);
    let x = ones(&[4, 2])?;
    let here = (net.forward(&x)?.sizes().to_vec(), model.forward(&x)?.sizes().to_vec());
    let there = std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            Ok::<_, opgrid_core::Error>((
                net.forward(&x)?.sizes().to_vec(),
                model.forward(&x)?.sizes().to_vec(),
            ))
        });
        worker.join().expect("the thread ends")
    })?;
    assert_eq!(here, there);
    Ok(())
}

#[test]
fn masks_hide_keys() -> Result<()> {
    let attention = MultiheadAttention::new(4, 2)?.batch_first();
    let x = Tensor::randn(&[2, 3, 4], DType::F32, Device::CPU)?;
    let later =
        Tensor::new(&[[false, true, true], [false, false, true], [false, false, false]], Device::CPU)?;
    let run = |masks: AttentionMasks<'_>| attention.forward_with_weights(&x, &x, &x, &masks);
    let (causal, weights) = run(AttentionMasks::causal())?;
    assert_eq!(weights.sizes(), [2, 2, 3, 3]);
    assert_eq!(&weights.to_vec::<f32>()?[..3], [1.0, 0.0, 0.0]);
    for mask in [&later, &later.unsqueeze(0)?.expand(&[4, 3, 3])?] {
        let masks = AttentionMasks { mask: Some(mask), ..Default::default() };
        assert!(run(masks)?.0.allclose(&causal, 1e-5, 1e-6)?);
        assert!(attention.forward(&x, &x, &x, &masks)?.allclose(&causal, 1e-5, 1e-6)?);
    }
    assert!(attention.forward(&x, &x, &x, &AttentionMasks::causal())?.allclose(&causal, 1e-5, 1e-6)?);
    let padding = Tensor::new(&[[false, false, true], [false, false, false]], Device::CPU)?;
    let masks = AttentionMasks { padding: Some(&padding), causal: true, mask: None };
    let (_, weights) = run(masks)?;
    let last = weights.select(0, 0)?.select(0, 0)?.select(0, 2)?.to_vec::<f32>()?;
    assert!(last[2] == 0.0 && (last[0] + last[1] - 1.0).abs() < 1e-6, "{last:?}");
    // Without a batch.
    let one = x.select(0, 1)?;
    let (found, weights) = attention.forward_with_weights(&one, &one, &one, &AttentionMasks::causal())?;
    assert_eq!((found.sizes(), weights.sizes()), (&[3, 4][..], &[2, 3, 3][..]));
    assert!(found.allclose(&causal.select(0, 1)?, 1e-5, 1e-6)?);

    let said = message(attention.forward(
        &x,
        &x,
        &x,
        &AttentionMasks { mask: Some(&padding), ..Default::default() },
    ));
    assert!(said.contains("found a mask of shape [2, 3], expected [3, 3] or [4, 3, 3]"), "{said}");
    let said = message(attention.forward(
        &x,
        &x,
        &x,
        &AttentionMasks { padding: Some(&later), ..Default::default() },
    ));
    assert!(said.contains("found a padding of shape [3, 3], expected [2, 3]"), "{said}");
    let integers = Tensor::new(&[[0i64; 3]; 3], Device::CPU)?;
    let said = message(attention.forward(
        &x,
        &x,
        &x,
        &AttentionMasks { mask: Some(&integers), ..Default::default() },
    ));
    assert!(said.contains("expected bools or floating-point numbers"), "{said}");
    let said = message(attention.forward(&x, &one, &x, &AttentionMasks::default()));
    assert!(said.contains("found query, key and value with 3, 2 and 3 dimensions"), "{said}");
    let wide = ones(&[2, 3, 5])?;
    let said = message(attention.forward(&wide, &wide, &wide, &AttentionMasks::default()));
    assert!(said.contains("found a query of shape [2, 3, 5], expected 4 as the last size"), "{said}");
    Ok(())
}

#[test]
fn embeddings_shorten_rows() -> Result<()> {
    let table =
        Embedding::from_pretrained(Tensor::new(&[[3.0f32, 4.0], [0.3, 0.4]], Device::CPU)?)?.max_norm(1.0);
    let found = table.forward(&Tensor::new(&[0i64, 1], Device::CPU)?)?.to_vec::<f32>()?;
    assert!((found[0] - 0.6).abs() < 1e-5 && found[2] == 0.3, "{found:?}");
    assert!(!table.weight.requires_grad());
    Ok(())
}

#[test]
fn mistakes_are_named() -> Result<()> {
    let x = ones(&[2, 3])?;
    let table: &[(String, &str)] = &[
        (
            message(Conv2d::with(3, 4, 3, 2, ModuleOptions::new())),
            "3 input channels, 4 output channels and 2 groups",
        ),
        (message(Conv1d::with(3, 3, 3, 0, ModuleOptions::new())), "Conv1d: found 3 input channels"),
        (message(GroupNorm::new(3, 4)), "found 4 channels and 3 groups"),
        (message(Dropout::new(1.5)), "found the probability 1.5, expected one between 0 and 1"),
        (message(MultiheadAttention::new(5, 2)), "found embed_dim 5 and 2 heads"),
        (
            message(Embedding::new(3, 2)?.padding_idx(3)),
            "found padding_idx 3, expected a row of a table of 3",
        ),
        (
            message(Embedding::from_pretrained(ones(&[2])?)),
            "found weights of shape [2], expected two dimensions",
        ),
        (message(BatchNorm1d::new(3)?.forward(&ones(&[3])?)), "found an input of shape [3], expected 2 or 3"),
        (
            message(BatchNorm2d::new(3)?.forward(&x)),
            "BatchNorm2d: found an input of shape [2, 3], expected 4",
        ),
        (
            message(init::xavier_uniform_(&ones(&[2])?, 1.0)),
            "found a tensor of shape [2], expected two dimensions",
        ),
        (message(Linear::with(1, 1, ModuleOptions::new().dtype(DType::I64))), "int64"),
        (message(Linear::new(-1, 1)), "-1"),
        (
            message(Sequential::new().then(ReLU).then(Linear::new(2, 1)?).forward(&x)),
            "module 1 of Sequential",
        ),
    ];
    for (said, part) in table {
        assert!(said.contains(part), "`{said}` does not say `{part}`");
    }
    Ok(())
}

#[test]
fn gradients_are_bounded() -> Result<()> {
    let made = |values: &[f32]| -> Result<Tensor> {
        let tensor = Tensor::from_slice(values, &[values.len() as i64])?;
        tensor.requires_grad_(true)?;
        tensor.mul(&tensor)?.sum()?.backward()?;
        Ok(tensor)
    };
    let list = [made(&[1.5, 0.0])?, made(&[2.0])?];
    let grads = list.iter().filter_map(Tensor::grad).collect::<Vec<_>>();
    assert_eq!(total_norm(&grads, 2.0)?.to_vec::<f32>()?, [5.0]);
    assert_eq!(total_norm(&grads, f64::INFINITY)?.to_vec::<f32>()?, [4.0]);
    assert_eq!(total_norm(&[], 2.0)?.to_vec::<f32>()?, [0.0]);
    clip_grad_norm_(&list, 10.0)?;
    assert_eq!(list[1].grad().unwrap().to_vec::<f32>()?, [4.0]);
    clip_grad_norm_(&list, 1.0)?;
    assert!((list[1].grad().unwrap().to_vec::<f32>()?[0] - 0.8).abs() < 1e-5);
    clip_grad_value_(&list, 0.5)?;
    assert_eq!(list[0].grad().unwrap().to_vec::<f32>()?, [0.5, 0.0]);
    Ok(())
}
