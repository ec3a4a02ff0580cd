//! Optimizers, by 20 steps of torch 2.15 on a CPU, by their state and by what they say of mistakes.

use opgrid::Tensor;
use opgrid_core::{Device, Result};
use opgrid_nn::optim::{Adam, AdamOptions, AdamW, AdamWOptions, Optimizer, SGD, SGDOptions, Scheduler};

use crate::{check_close, message, number};

/// The two parameters that torch trained.
pub(crate) fn start() -> Result<[Tensor; 2]> {
    let a = Tensor::new(&[1.5f64, -0.5, 0.25], Device::CPU)?;
    let b = Tensor::new(&[[0.75f64]], Device::CPU)?;
    a.requires_grad_(true)?;
    b.requires_grad_(true)?;
    Ok([a, b])
}

/// `((a * a - b) ^ 2).sum() + sin((a * b).sum())`
fn valley([a, b]: &[Tensor; 2]) -> Result<Tensor> {
    let bent = a.mul(a)?.sub(b)?.square()?.sum()?;
    bent.add(&a.mul(b)?.sum()?.sin()?)
}

/// Takes steps, after each of which `then` runs.
pub(crate) fn train<O: Optimizer>(
    parameters: &[Tensor; 2],
    optimizer: &mut O,
    steps: usize,
    mut scheduler: Option<&mut Scheduler>,
) -> Result<Vec<f64>> {
    for _ in 0..steps {
        optimizer.zero_grad()?;
        valley(parameters)?.backward()?;
        optimizer.step()?;
        if let Some(scheduler) = &mut scheduler {
            scheduler.step(optimizer);
        }
    }
    let mut numbers = parameters[0].to_vec::<f64>()?;
    numbers.push(number(&parameters[1])?);
    Ok(numbers)
}

fn check<O: Optimizer>(name: &str, made: impl Fn(Vec<Tensor>) -> Result<O>, expected: &[f64]) -> Result<()> {
    let parameters = start()?;
    let mut optimizer = made(parameters.to_vec())?;
    let found = train(&parameters, &mut optimizer, 20, None)?;
    check_close(name, &found, expected, 1e-12);
    assert!(parameters.iter().all(|it| it.is_leaf() && it.requires_grad()), "{name}");
    assert!(optimizer.state_dict()?.iter().all(|(_, it)| !it.requires_grad()), "{name}");

    // A run that is saved and goes on in another optimizer ends at the same numbers.
    let parameters = start()?;
    let mut first = made(parameters.to_vec())?;
    train(&parameters, &mut first, 8, None)?;
    let mut second = made(parameters.to_vec())?;
    second.load_state_dict(&first.state_dict()?)?;
    assert_eq!(train(&parameters, &mut second, 12, None)?, found, "{name}");
    Ok(())
}

#[test]
fn descent_is_that_of_torch() -> Result<()> {
    check(
        "plain",
        |p| SGD::new(p, 0.02),
        &[0.677901555225, -0.75618901970662, 0.25007516096503, 0.40117809671077],
    )?;
    check(
        "momentum",
        |p| {
            let settings = SGDOptions {
                lr: 0.02,
                momentum: 0.9,
                dampening: 0.2,
                weight_decay: 0.01,
                ..Default::default()
            };
            SGD::new(p, settings)
        },
        &[-0.9649532978156, -0.55317892346821, 0.32243828303757, 0.79068076799273],
    )?;
    check(
        "nesterov",
        |p| SGD::new(p, SGDOptions { lr: 0.02, momentum: 0.9, nesterov: true, ..Default::default() }),
        &[-0.91112726351709, -0.7460430179966, 0.24170656925, 0.65178147971864],
    )?;
    check(
        "upwards",
        |p| SGD::new(p, SGDOptions { maximize: true, ..Default::default() }),
        &[1.7445003248922, -0.47232311480974, 0.24422710839189, 0.73871618294045],
    )?;
    check(
        "groups",
        |p| {
            let mut optimizer = SGD::new(vec![p[0].clone()], 0.01)?;
            let settings = SGDOptions { lr: 0.02, momentum: 0.5, ..Default::default() };
            optimizer.add_group(vec![p[1].clone()], settings)?;
            Ok(optimizer)
        },
        &[0.8091071394171, -0.65577660159807, 0.25337414791684, 0.33864432607241],
    )
}

#[test]
fn adam_is_that_of_torch() -> Result<()> {
    check(
        "adam",
        |p| Adam::new(p, 0.05),
        &[0.73619206393107, -0.99627665874172, 0.70573550034975, 0.62302247999723],
    )?;
    check(
        "adam with all",
        |p| {
            let (lr, betas, eps, weight_decay) = (0.05, [0.8, 0.99], 1e-6, 0.1);
            Adam::new(p, AdamOptions { lr, betas, eps, weight_decay, amsgrad: true, maximize: false })
        },
        &[0.79954710654265, -0.83947484224898, 0.51683485751576, 0.45984569848462],
    )?;
    check(
        "adamw",
        |p| AdamW::new(p, 0.05),
        &[0.7267711814967, -0.98659905838203, 0.69231128310082, 0.60651660712831],
    )?;
    check(
        "adamw with all",
        |p| {
            let (amsgrad, maximize) = (true, true);
            let settings =
                AdamWOptions { lr: 0.05, weight_decay: 0.3, amsgrad, maximize, ..Default::default() };
            AdamW::new(p, settings)
        },
        &[2.0168537331957, 0.039030725949064, -0.020101728976457, 0.7578081794715],
    )
}

#[test]
fn parameters_without_gradient_stay() -> Result<()> {
    let [a, b] = start()?;
    let mut optimizer = AdamW::new(vec![a.clone(), b.clone()], 0.1)?;
    a.sum()?.backward()?;
    optimizer.step()?;
    assert_eq!(b.to_vec::<f64>()?, [0.75]);
    let state = optimizer.state_dict()?;
    let names: Vec<&str> = state.names().collect();
    assert_eq!(names, ["state.0.step", "state.0.exp_avg", "state.0.exp_avg_sq", "groups.0.lr"]);
    optimizer.zero_grad()?;
    assert!(a.grad().is_none());
    Ok(())
}

#[test]
fn gradients_are_not_kept_or_written() -> Result<()> {
    let [a, _] = start()?;
    let mut optimizer = SGD::new(vec![a.clone()], SGDOptions { momentum: 0.9, ..Default::default() })?;
    a.sum()?.backward()?;
    optimizer.step()?;
    optimizer.step()?;
    assert_eq!(a.grad().unwrap().to_vec::<f64>()?, [1.0; 3]);
    assert_eq!(optimizer.state_dict()?.get("state.0.momentum_buffer").unwrap().to_vec::<f64>()?, [1.9; 3]);
    Ok(())
}

#[test]
fn files_keep_the_state() -> Result<()> {
    let parameters = start()?;
    let mut optimizer = Adam::new(parameters.to_vec(), 0.05)?;
    train(&parameters, &mut optimizer, 3, None)?;
    optimizer.groups_mut()[0].settings.lr = 0.025;
    let file = std::env::temp_dir().join(format!("opgrid-optim-{}.safetensors", std::process::id()));
    optimizer.state_dict()?.write(&file)?;
    let mut other = Adam::new(parameters.to_vec(), 0.05)?;
    other.load_state_dict(&opgrid_nn::StateDict::read(&file)?)?;
    std::fs::remove_file(&file).map_err(opgrid_core::Error::from_source)?;
    assert_eq!(other.rates(), [0.025]);
    let copied = optimizer.state_dict()?;
    let found = other.state_dict()?;
    assert_eq!(found.len(), copied.len());
    for (name, tensor) in copied.iter() {
        assert!(found.get(name).unwrap().equal(tensor)?, "{name}");
    }
    Ok(())
}

#[test]
fn mistakes_are_named() -> Result<()> {
    let [a, b] = start()?;
    let one = || vec![a.clone()];
    let mut steps = SGD::new(one(), 0.1)?;
    steps.groups_mut()[0].settings.lr = -1.0;
    let twice = SGD::new(one(), 0.1)?.add_group(one(), 0.2);
    let mut adam = Adam::new(one(), 0.1)?;
    a.sum()?.backward()?;
    adam.step()?;
    let state = adam.state_dict()?;
    let table: &[(String, &str)] = &[
        (message(SGD::new(vec![], 0.1)), "SGD: found no parameters"),
        (message(SGD::new(vec![a.mul(&a)?], 0.1)), "SGD: parameter 0 is not a leaf tensor"),
        (message(Adam::new(vec![a.clone(), a.clone()], 0.1)), "Adam: parameter 1 is given twice"),
        (message(twice), "SGD: parameter 0 is given twice"),
        (message(SGD::new(one(), -0.1)), "SGD: found lr -0.1, expected zero or more"),
        (message(steps.step()), "SGD: found lr -1, expected zero or more"),
        (
            message(SGD::new(one(), SGDOptions { nesterov: true, ..Default::default() })),
            "SGD: found nesterov with momentum 0",
        ),
        (
            message(AdamW::new(one(), AdamWOptions { betas: [1.0, 0.9], ..Default::default() })),
            "AdamW: found beta 1, expected zero or more and less than one",
        ),
        (message(Adam::new(one(), AdamOptions { eps: f64::NAN, ..Default::default() })), "found eps NaN"),
        (
            message(Adam::new(vec![b.clone()], 0.1)?.load_state_dict(&state)),
            "state.0.exp_avg: found shape [3], expected [1, 1]",
        ),
        (
            message(SGD::new(one(), 0.1)?.load_state_dict(&state)),
            "the state dict does not fit SGD:\n  found 4 tensors, expected 1",
        ),
        (
            message(
                Adam::new(one(), AdamOptions { amsgrad: true, ..Default::default() })?
                    .load_state_dict(&state),
            ),
            "missing: state.0.max_exp_avg_sq",
        ),
    ];
    for (said, part) in table {
        assert!(said.contains(part), "`{said}` does not say `{part}`");
    }
    assert_eq!(adam.state_dict()?.len(), 4);
    Ok(())
}
