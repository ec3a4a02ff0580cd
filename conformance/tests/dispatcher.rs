//! Compares the dispatcher with what torch 2.15 answered once, so that the comparison runs without torch.
//!
//! The record is made by `cargo xtask conformance --seeds N --record FILE` with the schemas of `tests/schemas.txt`.
//!
//! A program of its own: tensors allocate a dispatch key, and programs are made of the keys that the process has.

use std::collections::HashSet;

use opgrid_conformance::dispatcher::deliberate::differences;
use opgrid_conformance::dispatcher::report::Report;
use opgrid_conformance::dispatcher::run::{Setting, recorded, schemas};
use opgrid_core::{Rule, Rules};

const SCHEMAS: &str = include_str!("schemas.txt");
const RECORD: &str = include_str!("dispatcher.txt");

fn compared(rules: Rules, record: &str) -> Report {
    let setting = Setting::new(SCHEMAS, rules);
    let mut report = Report::default();
    recorded(record, &setting, &mut report).expect("the record was written by the recorder");
    report
}

#[test]
fn both_sides_agree_on_what_was_recorded() {
    let mut report = compared(Rules::ALL, RECORD);
    schemas(&Setting::new(SCHEMAS, Rules::ALL), &mut report);
    assert_eq!(report.tally().differences(), 0, "{:#?}", report.tally().shown());
    assert!(report.to_string().starts_with(&format!("{} programs", report.programs())));
    assert!(report.programs() >= 20, "{report}");
    assert_eq!(report.unlisted_features(), [""; 0]);
}

#[test]
fn each_rule_that_is_missing_is_noticed() {
    for rule in Rule::ALL {
        let report = compared(Rules::ALL.without(rule), RECORD);
        assert!(report.tally().differing_seeds() > 0, "without {rule:?} nothing differs");
    }
}

/// A digit of a kernel's number, the word for why it was chosen, an outcome: whatever is changed in torch's answers
/// is noticed.
#[test]
fn changed_answers_are_noticed() {
    for (from, to) in
        [("kernel1 ", "kernel2 "), ("[math kernel]", "[kernel]"), ("\nok\n", "\nerr\tnothing\n")]
    {
        assert!(RECORD.contains(from), "{from:?}");
        let report = compared(Rules::ALL, &RECORD.replacen(from, to, 40));
        assert!(report.tally().differences() > 0, "{from:?} as {to:?}");
    }
}

#[test]
fn each_decided_difference_has_the_test_that_it_names() {
    let crates = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates");
    let mut ids = HashSet::new();
    for difference in differences() {
        let (file, function) = difference.test;
        let text = std::fs::read_to_string(format!("{crates}/{file}")).unwrap_or_default();
        assert!(text.contains(&format!("\nfn {function}(")), "{}: no {function} in {file}", difference.id);
        assert!(ids.insert(difference.id), "{} is the name of two differences", difference.id);
        let text = difference.what;
        assert!(text.contains("torch") && text.contains("opgrid"), "{}: {text}", difference.id);
    }
}
