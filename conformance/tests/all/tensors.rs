//! Compares tensors with what torch 2.15 answered once, so that the comparison runs without torch.
//!
//! The record is made by `cargo xtask conformance tensors --record conformance/tests/tensors.txt`.

use std::collections::BTreeMap;

use opgrid_conformance::tensors::mistakes::Noticed;
use opgrid_conformance::tensors::record::{mistakes, replay};
use opgrid_conformance::tensors::report::Report;
use opgrid_conformance::tensors::run::Setting;

const RECORD: &str = include_str!("../tensors.txt");

fn compared(record: &str) -> Report {
    let _alone = crate::alone();
    let (setting, mut report) = (Setting::new().unwrap(), Report::default());
    replay(&setting, record, &mut report).unwrap();
    report
}

#[test]
fn both_sides_agree_on_what_was_recorded() {
    assert!(RECORD.lines().count() > 900);
    let report = compared(RECORD);
    assert_eq!(report.tally().differences(), 0, "{:#?}", report.tally().shown());
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
        assert!(report.tally().differences() > 0, "{from} as {to}");
    }
}

/// Whatever an operator of a kind may answer wrongly is noticed by the calls that were recorded of that kind.
#[test]
fn mistakes_in_operators_of_every_kind_are_noticed() {
    let _alone = crate::alone();
    let (setting, mut noticed) = (Setting::new().unwrap(), Noticed::default());
    mistakes(&setting, RECORD, &mut noticed).unwrap();
    let mut kinds: BTreeMap<(String, &str), [usize; 2]> = BTreeMap::new();
    for (mistake, operator, [made, found]) in noticed.counts() {
        let kind = setting.ours.kind(operator).expect("every operator has a kind").name().to_owned();
        let counts = kinds.entry((kind, mistake)).or_default();
        *counts = [counts[0] + made, counts[1] + found];
    }
    // A sign of zero or NaN, what is random, and what is decided to differ goes unnoticed.
    let missed: Vec<_> = kinds.iter().filter(|(_, [made, noticed])| noticed * 2 < *made).collect();
    assert!(missed.is_empty(), "{missed:#?}");
    let of = |mistake: &str| kinds.keys().filter(|(_, known)| *known == mistake).count();
    assert!(of("outcome") > 20 && of("element") > 15 && of("strides") > 15, "{:#?}", kinds.keys());
}

/// Torch's answers with the highest bit of one element turned: no decided difference takes that for its own.
#[test]
fn wrong_elements_are_noticed() {
    let (mut changed, mut noticed) = (0, 0);
    let _alone = crate::alone();
    let setting = Setting::new().unwrap();
    for line in RECORD.lines().filter(|line| line.starts_with("call")) {
        let Some((start, digits, end)) = last_elements(line) else { continue };
        // The sign of the last element, which becomes another number unless it is NaN; zeros have none.
        // The elements of views are compared where they lie.
        let mut before = start.rsplit(',').skip(1);
        if before.next().is_some_and(|block| block.parse::<u64>().is_ok()) && before.next() == Some("null") {
            continue;
        }
        let is_zero = digits[digits.len().saturating_sub(8)..].bytes().all(|digit| digit == b'0');
        if is_zero {
            continue;
        }
        let (rest, last) = digits.split_at(digits.len() - 2);
        let turned = u8::from_str_radix(last, 16).unwrap() ^ 0x80;
        let mut report = Report::default();
        replay(&setting, &format!("{start}{rest}{turned:02x}{end}"), &mut report).unwrap();
        changed += 1;
        noticed += usize::from(report.tally().differences() > 0);
    }
    assert!(changed > 400, "{changed}");
    assert!(noticed * 100 >= changed * NOTICED, "{noticed} of {changed}");
}

/// How many of a hundred changed answers have to be noticed; NaN and elements that were never written are not.
const NOTICED: usize = 80;

/// The digits of a result's elements, and what stands around them.
fn last_elements(line: &str) -> Option<(&str, &str, &str)> {
    let end = line.find("\"]]")?;
    let start = line[..end].rfind('"')? + 1;
    let digits = &line[start..end];
    let is_hex = digits.len() >= 2 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_hex && line.contains("[\"tensor\"")).then_some((&line[..start], digits, &line[end..]))
}
