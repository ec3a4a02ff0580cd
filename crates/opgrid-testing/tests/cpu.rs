//! Every operator on the CPU: all samples, dtypes and checks, and none left out.

use std::collections::BTreeSet;

use opgrid_core::{Dispatcher, Registration};
use opgrid_testing::{Check, Suite};

fn operators() -> (Dispatcher, Registration) {
    let dispatcher = Dispatcher::new();
    let registration = opgrid_tensor::register(&dispatcher).unwrap();
    (dispatcher, registration)
}

#[test]
fn every_operator_passes_every_check() {
    let (dispatcher, _operators) = operators();
    let report = Suite::new(opgrid_tensor::ops::samples()).run(&dispatcher);
    println!("{report}");
    assert!(report.passed(), "{report}");
}
