//! Every operator on the CPU: all samples, dtypes and checks, and none left out.
//!
//! For work on one operator: `OPERATORS=aten::mul cargo test -p opgrid-testing --test cpu`, on some `OPERATORS=aten::mul,aten::div`;
//! all whose names begin so. Derivatives alone: `… --test cpu gradients -- --nocapture`.

use std::collections::BTreeSet;

use opgrid_core::{Dispatcher, Kind, OperatorHandle, Registration, SlowPath};
use opgrid_samples::Samples;
use opgrid_tensor::families::kind;
use opgrid_tensor::layers::autograd;
use opgrid_testing::{Check, Suite};

fn operators() -> (Dispatcher, Registration) {
    let dispatcher = Dispatcher::new();
    let mut registration = opgrid_tensor::register(&dispatcher).unwrap();
    registration.join(autograd::install(&dispatcher).unwrap());
    registration.join(opgrid_transforms::install(&dispatcher).unwrap());
    (dispatcher, registration)
}

/// The operators that `OPERATORS` names; without it all.
fn wanted() -> Option<String> {
    std::env::var("OPERATORS").ok().filter(|names| !names.is_empty())
}

/// The samples of those.
fn wanted_samples() -> Samples {
    let samples = opgrid_operators::samples();
    match wanted() {
        Some(wanted) => samples.only(|name| wanted.split(',').any(|start| name.starts_with(start))),
        None => samples,
    }
}

#[test]
fn every_operator_passes_every_check() {
    let (dispatcher, _operators) = operators();
    let report = Suite::new(wanted_samples()).run(&dispatcher);
    println!("{report}");
    assert!(report.passed(), "{report}");
    assert!(report.total() > 0, "there is a sample of what `OPERATORS` names");
    if wanted().is_some() {
        return;
    }
    let checked: BTreeSet<Check> = report.counts().map(|(_, check, _)| check).collect();
    assert_eq!(checked, Check::ALL.iter().copied().collect(), "every check had something to check");
}

/// Overloads that write to an argument are found by the suite, so that they need no samples of their own.
#[test]
fn every_overload_has_samples_or_is_checked_with_another_one() {
    let (dispatcher, _operators) = operators();
    let samples = opgrid_operators::samples();
    let reached = Suite::new(samples).overloads(&dispatcher);
    // What steps of optimizers give is what they write: `tests/optimizers.rs` of the tensors compares them with their formulas.
    let is_step = |operator: &OperatorHandle| {
        operator.column::<Kind>().is_ok_and(|own| own.is_some_and(|own| *own == kind::OPTIMIZER))
    };
    let operators = dispatcher.operators();
    let all = operators.iter().filter(|operator| !is_step(operator));
    let all: BTreeSet<String> = all.map(|operator| operator.name().to_string()).collect();
    let left_out: Vec<&String> = all.difference(&reached).collect();
    assert!(left_out.is_empty(), "{left_out:?}");
}

#[test]
fn gradients_of_every_operator_are_those_of_differences() {
    let (dispatcher, _operators) = operators();
    let dtypes = [opgrid_core::DType::F64, opgrid_core::DType::Complex128];
    let suite =
        Suite::new(wanted_samples()).dtypes(&dtypes).checks(&[Check::Gradients, Check::SecondGradients]);
    let report = suite.run(&dispatcher);
    println!("{report}");
    assert!(report.passed(), "{report}");
}

/// The operators that no rule runs on a batch at once.
fn loops() -> BTreeSet<String> {
    let (dispatcher, _operators) = operators();
    let before = opgrid_core::stats();
    let report = Suite::new(wanted_samples()).checks(&[Check::Batches]).run(&dispatcher);
    println!("{report}");
    assert!(report.passed(), "{report}");
    drop(before);
    let counted = opgrid_core::stats().slow_paths;
    counted.iter().filter(|it| it.path == SlowPath::BATCH_LOOP).map(|it| it.operator.to_string()).collect()
}

#[test]
fn batches_of_every_operator_are_those_of_a_loop() {
    let loops = loops();
    println!("{} operators without a rule: {loops:#?}", loops.len());
}

#[test]
fn tangents_of_every_operator_are_those_of_differences() {
    let (dispatcher, _operators) = operators();
    let dtypes = [opgrid_core::DType::F64, opgrid_core::DType::Complex128];
    let report = Suite::new(wanted_samples()).dtypes(&dtypes).checks(&[Check::Tangents]).run(&dispatcher);
    println!("{report}");
    assert!(report.passed(), "{report}");
}
