//! Training, as a whole: memory that stays flat, and losses that do not depend on the number of threads.

use opgrid_core::{DType, Device, Result};
use opgrid_kernels::{num_threads, set_num_threads};
use opgrid_tensor::layers::autograd::{CheckpointOptions, checkpoint, no_grad, nodes_alive};
use opgrid_tensor::{Tensor, manual_seed, ops};

use crate::alone;

/// A leaf of random numbers, about as large as a layer of `inputs` wants them.
fn weight(sizes: &[i64], inputs: i64) -> Result<Tensor> {
    let weight =
        Tensor::randn(sizes, DType::F32, Device::CPU)?.mul(&Tensor::number(1.0 / (inputs as f64).sqrt()))?;
    weight.requires_grad_(true)?;
    Ok(weight)
}

/// Goes back, and takes a step against the gradients.
fn step(loss: &Tensor, parameters: &[Tensor], rate: f64) -> Result<()> {
    loss.backward()?;
    no_grad(|| {
        for parameter in parameters {
            if let Some(grad) = parameter.grad() {
                ops::AddInplaceTensor.call(parameter, &grad, (-rate).into())?;
            }
            parameter.set_grad(None)?;
        }
        Ok(())
    })
}

/// The resident memory of the process, in bytes; none where the system does not tell.
fn resident_bytes() -> Option<i64> {
    let pages =
        std::fs::read_to_string("/proc/self/statm").ok()?.split_whitespace().nth(1)?.parse::<i64>().ok()?;
    Some(pages * 4096)
}

/// Resident memory may grow by this much over all steps after the first ones: pages that caches and the allocator come to use.
/// A graph of one step that is not dropped is some 30 KB, and so 250 MB at the end.
const MOST_GROWTH_BYTES: i64 = 4 << 20;

#[test]
fn ten_thousand_steps_take_no_more_memory_than_some_hundred() -> Result<()> {
    let _alone = alone();
    manual_seed(0);
    let before = nodes_alive();
    let parameters = [
        weight(&[32, 8], 8)?,
        weight(&[32], 32)?,
        weight(&[32, 32], 32)?,
        weight(&[32], 32)?,
        weight(&[1, 32], 32)?,
    ];
    let x = Tensor::randn(&[16, 8], DType::F32, Device::CPU)?;
    let target = x.mul(&x)?.sum_dim(&[1], true)?.mul(&Tensor::number(0.1))?;
    let one_step = |number: usize| -> Result<f32> {
        let [w1, b1, w2, b2, w3] = &parameters;
        let hidden = ops::Linear.call(&x, w1, Some(b1))?.relu()?;
        let hidden = ops::Dropout.call(&hidden, 0.1, true)?;
        let layer = |x: &Tensor, w2: &Tensor, b2: &Tensor| ops::Linear.call(x, w2, Some(b2))?.tanh();
        // Some steps compute a layer again, some keep a graph for two ways back, and some have a hook.
        let hidden = match number % 4 {
            0 => {
                let (w2, b2) = (w2.clone(), b2.clone());
                let run = move |x: &[Tensor]| Ok(vec![layer(&x[0], &w2, &b2)?]);
                checkpoint(run, &[hidden], CheckpointOptions::default())?.remove(0)
            }
            1 => {
                let hidden = layer(&hidden, w2, b2)?;
                let _hook = hidden.register_hook(|grad| grad.mul(&Tensor::number(1.0)).map(Some))?;
                hidden
            }
            2 => {
                let hidden = layer(&hidden, w2, b2)?.mul(&Tensor::number(1.0))?;
                // A view that is written.
                hidden.select(1, 0)?.mul_(&Tensor::number(0.5))?;
                hidden
            }
            _ => layer(&hidden, w2, b2)?,
        };
        let wrong = ops::Linear.call(&hidden, w3, None)?.sub(&target)?;
        let loss = wrong.mul(&wrong)?.mean()?;
        step(&loss, &parameters, 0.02)?;
        Ok(loss.to_vec::<f32>()?[0])
    };
    let first = one_step(3)?;
    for number in 0..1000 {
        one_step(number)?;
    }
    let at_start = resident_bytes();
    let mut last = first;
    for number in 0..9000 {
        last = one_step(number)?;
    }
    assert!(last < first / 2.0, "the loss went from {first} to {last}");
    assert_eq!(nodes_alive(), before);
    // The sanitizer keeps freed memory for a while.
    let is_checked = std::env::var("OPGRID_STRESS_MEMORY").as_deref() != Ok("unchecked");
    if let (Some(at_start), Some(at_end), true) = (at_start, resident_bytes(), is_checked) {
        println!("resident memory: {at_start} bytes after 1,000 steps, {at_end} after 10,000");
        assert!(
            at_end - at_start <= MOST_GROWTH_BYTES,
            "resident memory grew from {at_start} to {at_end} bytes"
        );
    }
    Ok(())
}

/// Takes a step with a loss and the parameters.
type Stepping<'s> = &'s mut dyn FnMut(&Tensor, &[Tensor]) -> Result<()>;

type Model = fn(Stepping<'_>) -> Result<()>;

/// The losses of some steps of a model, as bits.
fn losses(threads: usize, model: Model) -> Result<Vec<u32>> {
    set_num_threads(threads);
    manual_seed(5);
    let mut losses = Vec::new();
    model(&mut |loss, parameters| {
        losses.push(loss.to_vec::<f32>()?[0].to_bits());
        step(loss, parameters, 0.05)
    })?;
    Ok(losses)
}

/// Two convolutions with pooling and dropout, and a classifier: large enough for loops to be divided.
fn convolutional(take_step: Stepping<'_>) -> Result<()> {
    let parameters = [
        weight(&[16, 3, 3, 3], 27)?,
        weight(&[16], 16)?,
        weight(&[32, 16, 3, 3], 144)?,
        weight(&[32], 32)?,
        weight(&[10, 32 * 8 * 8], 32 * 64)?,
    ];
    let [w1, b1, w2, b2, w3] = &parameters;
    let x = Tensor::randn(&[16, 3, 32, 32], DType::F32, Device::CPU)?;
    let target = Tensor::from_slice(&(0..16).map(|at| at * 7 % 10).collect::<Vec<i64>>(), &[16])?;
    for _ in 0..4 {
        let convolve = |x: &Tensor, w: &Tensor, b: &Tensor| {
            let y = ops::Conv2d.call(x, w, Some(b), &[1, 1], &[1, 1], &[1, 1], 1)?.relu()?;
            ops::MaxPool2d.call(&y, &[2, 2], &[], &[0, 0], &[1, 1], false)
        };
        let hidden = convolve(&convolve(&x, w1, b1)?, w2, b2)?;
        let hidden = ops::Dropout.call(&hidden.reshape(&[16, 32 * 8 * 8])?, 0.2, true)?;
        let scores = ops::Linear.call(&hidden, w3, None)?;
        let loss = ops::CrossEntropyLoss.call(&scores, &target, None, 1, -100, 0.0)?;
        take_step(&loss, &parameters)?;
    }
    Ok(())
}

/// A block of attention with layer norms over embedded tokens.
fn transformer(take_step: Stepping<'_>) -> Result<()> {
    const WIDTH: i64 = 64;
    let parameters = [
        weight(&[100, WIDTH], 4)?,
        weight(&[3 * WIDTH, WIDTH], WIDTH)?,
        weight(&[WIDTH, WIDTH], WIDTH)?,
        weight(&[4 * WIDTH, WIDTH], WIDTH)?,
        weight(&[WIDTH, 4 * WIDTH], 4 * WIDTH)?,
        weight(&[WIDTH], 1)?,
        weight(&[WIDTH], WIDTH)?,
    ];
    let [table, qkv, out, up, down, scale, shift] = &parameters;
    let (batch, length, heads) = (8, 64, 4);
    let tokens: Vec<i64> = (0..batch * length).map(|at| at * at % 97).collect();
    let tokens = Tensor::from_slice(&tokens, &[batch, length])?;
    let norm = |x: &Tensor| ops::LayerNorm.call(x, &[WIDTH], Some(scale), Some(shift), 1e-5, false);
    for _ in 0..4 {
        let x = ops::Embedding.call(table, &tokens, -1, false, false)?;
        let parts = ops::Linear.call(&norm(&x)?, qkv, None)?.chunk(3, -1)?;
        let head = |x: &Tensor| x.reshape(&[batch, length, heads, WIDTH / heads])?.transpose(1, 2);
        let (q, k, v) = (head(&parts[0])?, head(&parts[1])?, head(&parts[2])?);
        let mixed = ops::ScaledDotProductAttention.call(&q, &k, &v, None, 0.0, true, None, false)?;
        let mixed = mixed.transpose(1, 2)?.reshape(&[batch, length, WIDTH])?;
        let x = x.add(&ops::Linear.call(&mixed, out, None)?)?;
        let hidden = ops::Linear.call(&norm(&x)?, up, None)?.gelu()?;
        let hidden = ops::Dropout.call(&hidden, 0.1, true)?;
        let x = x.add(&ops::Linear.call(&hidden, down, None)?)?;
        let scores = ops::Linear.call(&norm(&x)?, table, None)?.reshape(&[batch * length, 100])?;
        let loss =
            ops::CrossEntropyLoss.call(&scores, &tokens.reshape(&[batch * length])?, None, 1, -100, 0.0)?;
        take_step(&loss, &parameters)?;
    }
    Ok(())
}

/// Where the machine runs one thread at a time, both are the same.
#[test]
fn losses_do_not_depend_on_the_number_of_threads() -> Result<()> {
    let _alone = alone();
    let before = num_threads();
    for model in [convolutional as Model, transformer] {
        let one = losses(1, model)?;
        assert!(one.iter().all(|loss| f32::from_bits(*loss).is_finite()));
        assert!(one.windows(2).all(|pair| pair[0] != pair[1]), "the parameters move");
        for _ in 0..3 {
            assert_eq!(losses(2, model)?, one);
        }
    }
    set_num_threads(before);
    Ok(())
}
