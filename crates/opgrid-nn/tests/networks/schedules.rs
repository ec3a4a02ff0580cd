//! Learning rates, by those of torch 2.15.

use opgrid_core::Result;
use opgrid_nn::optim::schedule::{CosineAnnealingLR, LambdaLR, LinearLR, Schedule, SequentialLR, StepLR};
use opgrid_nn::optim::{Optimizer, SGD, SGDOptions, Scheduler};

use crate::check_close;
use crate::optimizers::{start, train};

/// Parameters and rates after 20 steps of descent with a momentum of 0.5 and a first rate of 0.02.
fn check(name: &str, schedule: impl Schedule + Send + Sync + 'static, expected: &[f64]) -> Result<()> {
    let parameters = start()?;
    let settings = SGDOptions { lr: 0.02, momentum: 0.5, ..Default::default() };
    let mut optimizer = SGD::new(parameters.to_vec(), settings)?;
    let mut scheduler = Scheduler::new(&mut optimizer, schedule);
    let mut found = train(&parameters, &mut optimizer, 20, Some(&mut scheduler))?;
    found.extend(optimizer.rates());
    check_close(name, &found, expected, 1e-12);
    assert_eq!(scheduler.steps(), 20);
    Ok(())
}

#[test]
fn rates_are_those_of_torch() -> Result<()> {
    check(
        "steps",
        StepLR { step_size: 3, gamma: 0.5 },
        &[0.76983846112075, -0.74128586555184, 0.26568517595946, 0.5096895790328, 0.0003125],
    )?;
    check(
        "linear",
        LinearLR { start_factor: 0.25, end_factor: 0.9, total_iters: 8 },
        &[0.54794545643811, -0.71932354281607, 0.24667991452074, 0.3221559373588, 0.018],
    )?;
    check(
        "cosine",
        CosineAnnealingLR { t_max: 6.0, eta_min: 0.01 },
        &[0.56533450206969, -0.72798450164807, 0.2490099607694, 0.33083857415139, 0.0125],
    )?;
    check(
        "function",
        LambdaLR(|step| 0.95f64.powf(step as f64)),
        &[0.59011847303221, -0.74478929461303, 0.25464482106146, 0.35303845160373, 0.0071697184481708],
    )?;
    let warm_up = LinearLR { start_factor: 0.1, end_factor: 1.0, total_iters: 5 };
    let cosine = CosineAnnealingLR { t_max: 12.0, eta_min: 0.001 };
    check(
        "sequence",
        SequentialLR::new(warm_up, 5, cosine),
        &[0.61677157436931, -0.776893035649, 0.26219949175504, 0.38570537709269, 0.0037824855787278],
    )
}

#[test]
fn runs_go_on_at_a_step() -> Result<()> {
    let schedule = CosineAnnealingLR { t_max: 5.0, eta_min: 0.0 };
    let mut optimizer = SGD::new(start()?.to_vec(), 0.1)?;
    let mut scheduler = Scheduler::new(&mut optimizer, schedule);
    for _ in 0..3 {
        scheduler.step(&mut optimizer);
    }
    let mut other = SGD::new(start()?.to_vec(), 0.1)?;
    let mut resumed = Scheduler::new(&mut other, schedule);
    resumed.resume(scheduler.steps(), &mut other);
    assert_eq!(other.rates(), optimizer.rates());
    Ok(())
}
