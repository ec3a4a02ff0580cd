//! Compares tensors with what torch 2.15 answered once, so that the comparison runs without torch.
//!
//! The record is made by `cargo xtask conformance tensors --record conformance/tests/tensors.txt`.

use std::sync::{Mutex, PoisonError};

use opgrid_conformance::tensors::deliberate::RULES;
use opgrid_conformance::tensors::record::replay;
use opgrid_conformance::tensors::report::Report;
use opgrid_conformance::tensors::run::Setting;

const RECORD: &str = include_str!("tensors.txt");

/// The default dtype and the stream of random numbers belong to the process.
static ALONE: Mutex<()> = Mutex::new(());

fn compared(record: &str) -> Report {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (setting, mut report) = (Setting::new().unwrap(), Report::default());
    replay(&setting, record, &mut report).unwrap();
    report
}

#[test]
fn both_sides_agree_on_what_was_recorded() {
    assert!(RECORD.lines().count() > 900);
    let report = compared(RECORD);
    assert_eq!(report.differences(), 0, "{:#?}", report.shown());
}

/// A dtype, a size, a result in the place of an error, a digit of a text: whatever is changed in torch's answers is
/// noticed.
#[test]
fn changed_answers_are_noticed() {
    for (from, to) in [
        ("\"tensor\",\"bool\"", "\"tensor\",\"uint8\""),
        ("{\"error\":", "{\"returns\":[null],\"mistake\":"),
        ("tensor([", "tensor([["),
    ] {
        assert!(RECORD.contains(from), "{from}");
        let report = compared(&RECORD.replacen(from, to, 20));
        assert!(report.differences() > 0, "{from} as {to}");
    }
}

#[test]
fn each_wanted_difference_has_the_test_that_it_names() {
    let crates = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates");
    for rule in RULES {
        let (file, function) = rule.test;
        let text = std::fs::read_to_string(format!("{crates}/{file}")).unwrap_or_default();
        assert!(text.contains(&format!("\nfn {function}(")), "{}: no {function} in {file}", rule.name);
    }
}
