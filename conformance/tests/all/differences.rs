//! Checks the list of decided differences: its tests exist, its page is up to date, its directed calls are calls.

use std::collections::BTreeSet;

use opgrid_conformance::differences::{PAGE, of_tensors, of_the_dispatcher, page};
use opgrid_conformance::missing;
use opgrid_conformance::tensors::deliberate::Differences;
use opgrid_conformance::tensors::directed;
use opgrid_core::Device;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

#[test]
fn each_difference_has_the_test_that_it_names() {
    for row in of_the_dispatcher().into_iter().chain(of_tensors()) {
        let (file, function) = row.test;
        let text = std::fs::read_to_string(format!("{ROOT}/crates/{file}")).unwrap_or_default();
        let mut lines = text.lines().map(str::trim).zip(text.lines().skip(1).map(str::trim));
        let named = format!("fn {function}(");
        let is_there = lines.any(|(before, line)| before == "#[test]" && line.starts_with(&named));
        assert!(is_there, "{}: no {function} in {file}", row.what);
    }
}

#[test]
fn the_page_is_what_the_code_says() {
    let written = std::fs::read_to_string(format!("{ROOT}/{PAGE}")).unwrap_or_default();
    assert!(written == page(), "{PAGE} is out of date; run `cargo xtask conformance differences`");
}

#[test]
fn the_page_of_missing_operators_is_what_the_registry_says() {
    let written = std::fs::read_to_string(format!("{ROOT}/{}", missing::PAGE)).unwrap_or_default();
    let page = missing::page().unwrap();
    assert!(
        written == page,
        "{} is out of date; run `cargo xtask conformance missing-operators`",
        missing::PAGE
    );
}

#[test]
fn names_are_unique_and_said_once() {
    let differences = Differences::new();
    let mut whats = BTreeSet::new();
    for (difference, _) in differences.all() {
        assert!(whats.insert(difference.what), "{}", difference.id);
        let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        assert!(difference.id.chars().all(is_name), "{}", difference.id);
        assert!(!difference.what.ends_with('.') && !difference.why.ends_with('.'), "{}", difference.id);
    }
}

#[test]
fn directed_calls_are_calls() {
    let _alone = crate::alone();
    let ours = opgrid_conformance::tensors::ours::Ours::new().unwrap();
    for (difference, _) in Differences::new().all() {
        let Some(call) = &difference.directed else { continue };
        let case = directed::case(&ours, call).unwrap();
        assert!(ours.dispatcher().find(call.operator).is_ok(), "{}", difference.id);
        assert_eq!(ours.run(&case, Device::CPU).unwrap().len(), 1, "{}", difference.id);
    }
}
