//! The differences between our tensors and torch's that are wanted, each with the test that shows it.
//!
//! A rule recognises its difference by the call and by what both sides say. A difference that no rule recognises
//! fails the run.

use super::case::{Call, Case};
use super::compare::{Difference, Part};

/// What a rule looks at.
pub struct Seen<'a> {
    /// The case.
    pub case: &'a Case,
    /// The call.
    pub call: &'a Call,
    /// What differs.
    pub difference: &'a Difference,
}

/// A difference that is wanted.
pub struct Rule {
    /// What is different.
    pub name: &'static str,
    /// The test that shows what opgrid does: file below `crates`, and the function.
    pub test: (&'static str, &'static str),
    /// Whether something that differs is this.
    pub matches: fn(&Seen<'_>) -> bool,
}

/// Every wanted difference.
pub const RULES: &[Rule] = &[Rule {
    name: "an output with elements keeps its shape",
    test: ("opgrid-tensor/tests/views.rs", "outputs_beside_their_inputs"),
    matches: |seen| {
        seen.difference.part == Part::Outcome
            && seen.call.named("out").is_some()
            && seen.difference.ours.contains("argument `out` has shape")
    },
}];

/// The rule that recognises something that differs.
pub fn explains(seen: &Seen<'_>) -> Option<&'static Rule> {
    RULES.iter().find(|rule| (rule.matches)(seen))
}
