//! The differences between opgrid and torch that are wanted, each with the test that proves it.
//!
//! A rule recognises its difference by what the step is and what both sides say. A difference that no rule
//! recognises fails the run.

use std::collections::BTreeSet;

use opgrid_core::DispatchKey;

use crate::classes::{
    ANOTHER_TYPE, TOO_MANY_ARGUMENTS, TWO_TYPES, UNKNOWN_KEY, class_of_ours, class_of_torch,
};
use crate::compare::{Part, Seen};
use crate::program::{Step, What};

/// A difference that is wanted.
pub struct Rule {
    /// What is different.
    pub name: &'static str,
    /// The test that shows what opgrid does: file below `crates`, and the function.
    pub test: (&'static str, &'static str),
    /// Whether both sides are in the same state after a step of which only one side refuses.
    pub leaves_states_equal: bool,
    /// Whether something that differs is this.
    pub matches: fn(&Seen<'_>) -> bool,
}

/// Every wanted difference.
pub const RULES: &[Rule] = &[
    Rule {
        name: "kernels and fallbacks for building blocks are refused",
        test: ("opgrid-core/tests/differences.rs", "kernels_for_building_blocks_are_refused"),
        leaves_states_equal: true,
        matches: |seen| {
            let is_transient = matches!(seen.step, Step::Block(block) if block.is_transient);
            seen.part == Part::Outcome && is_transient && seen.ours.contains("would never run, because")
        },
    },
    Rule {
        name: "stored tables are never stale",
        test: ("opgrid-core/tests/dumps.rs", "d15_a_quantized_kernel_and_math_are_ambiguous"),
        leaves_states_equal: true,
        matches: |seen| {
            // Torch checks the invariants in front of some errors, and reports them instead.
            let is_found = seen.part == Part::Class && seen.torch.contains("INTERNAL ASSERT");
            let is_seen = matches!(seen.part, Part::Extractor | Part::Masks | Part::Keys | Part::Reached);
            seen.is_stale && (is_seen || is_found)
        },
    },
    Rule {
        name: "reports of replaced kernels name the kernel really replaced",
        test: ("opgrid-core/tests/registration_errors.rs", "a_replaced_kernel_is_reported_by_its_own_text"),
        leaves_states_equal: true,
        matches: |seen| seen.part == Part::Override && seen.torch.starts_with("previous kernel:"),
    },
    Rule {
        name: "a registration that fails leaves no operator behind",
        test: ("opgrid-core/tests/registration_errors.rs", "definitions_have_a_schema"),
        leaves_states_equal: true,
        matches: |seen| {
            seen.part == Part::Existence && seen.ours == "0" && seen.torch.contains("schema: (none)")
        },
    },
    Rule {
        name: "a registration that fails fixes no signature",
        test: ("opgrid-core/tests/registration_errors.rs", "a_library_that_fails_leaves_no_signature"),
        // What comes after it was fixed here by a kernel that torch refuses.
        leaves_states_equal: false,
        matches: |seen| {
            let first = seen.torch.split("kernel 1:").nth(1).and_then(|rest| rest.split("kernel 2:").next());
            let first = first.unwrap_or_default().lines().nth(2).unwrap_or_default().trim();
            matches!(seen.part, Part::Outcome | Part::Names) && seen.refused.contains(first)
        },
    },
    Rule {
        name: "of several kernels that do not fit a definition, the one of the lowest key is named",
        test: ("opgrid-core/tests/differences.rs", "the_first_kernel_that_does_not_fit_is_named"),
        leaves_states_equal: true,
        matches: |seen| {
            seen.part == Part::Names && class_of_torch(seen.torch) == Some(ANOTHER_TYPE) && defines(seen.step)
        },
    },
    Rule {
        name: "a kernel that fits neither the schema nor the other kernels is told what the schema says",
        test: ("opgrid-core/tests/differences.rs", "the_schema_comes_before_other_kernels"),
        leaves_states_equal: true,
        matches: |seen| {
            let classes = (class_of_ours(seen.ours), class_of_torch(seen.torch));
            seen.part == Part::Class && classes == (Some(ANOTHER_TYPE), Some(TWO_TYPES))
        },
    },
    Rule {
        name: "reports of replaced kernels name the key of kernels for every key",
        test: ("opgrid-core/tests/differences.rs", "kernels_for_every_key_are_reported_by_their_key"),
        leaves_states_equal: true,
        matches: |seen| seen.part == Part::Override && seen.torch == "dispatch key: (catch all)",
    },
    Rule {
        name: "the extractor's dump shows the keys of CPU, not those of the backend that changed last",
        test: ("opgrid-core/tests/differences.rs", "the_extractor_shows_the_keys_of_cpu"),
        leaves_states_equal: true,
        matches: |seen| {
            let keys = |text: &str| -> BTreeSet<String> {
                let keys = text.split_once('(').map_or("", |(_, keys)| keys.trim_end().trim_end_matches(')'));
                keys.split(", ").filter(|key| !key.is_empty()).map(String::from).collect()
            };
            let positions = |text: &str| text.split(' ').next().map(String::from);
            let (ours, torch) = (keys(seen.ours), keys(seen.torch));
            let has_backend =
                |key: &String| key.parse().is_ok_and(|key: DispatchKey| key.backend().is_some());
            seen.part == Part::Extractor
                && positions(seen.ours) == positions(seen.torch)
                && ours.symmetric_difference(&torch).all(has_backend)
        },
    },
    Rule {
        name: "every key can be read from its name",
        test: ("opgrid-core/tests/keys.rs", "every_name_parses_and_nothing_else"),
        leaves_states_equal: true,
        matches: |seen| {
            let is_name = matches!(seen.step, Step::KeyName(name) if name.parse::<DispatchKey>().is_ok());
            seen.part == Part::Outcome && is_name && class_of_torch(seen.torch) == Some(UNKNOWN_KEY)
        },
    },
    Rule {
        name: "after Undefined and aliases come all backends, without Meta in torch",
        test: ("opgrid-core/tests/key_set.rs", "after_a_key_remain_backends_and_the_python_dispatcher"),
        leaves_states_equal: true,
        matches: |seen| {
            let is_none =
                matches!(seen.step, Step::Key(key) if key.is_alias() || *key == DispatchKey::Undefined);
            seen.part == Part::Algebra
                && is_none
                && (seen.ours, seen.torch) == ("200000000000ffff", "2000000000007fff")
        },
    },
    Rule {
        name: "too many arguments are told before anything else",
        test: ("opgrid-core/tests/registration_errors.rs", "definitions_have_a_schema"),
        leaves_states_equal: true,
        matches: |seen| seen.part == Part::Class && class_of_ours(seen.ours) == Some(TOO_MANY_ARGUMENTS),
    },
    Rule {
        name: "alias sets and unions are printed in the order written",
        test: ("opgrid-schema/tests/grammar.rs", "annotations"),
        leaves_states_equal: true,
        matches: |seen| {
            let sorted = |text: &str| {
                let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
                let mut words: Vec<&str> = text.split(|c| !is_word(c)).collect();
                words.sort_unstable();
                words.join(" ")
            };
            let has_set = seen.torch.contains('|') || seen.torch.contains("Union(");
            seen.part == Part::Printed && has_set && sorted(seen.ours) == sorted(seen.torch)
        },
    },
    Rule {
        name: "an optional of an optional number is an optional number",
        test: ("opgrid-schema/tests/grammar.rs", "composed_types"),
        leaves_states_equal: true,
        matches: |seen| {
            seen.part == Part::Printed && seen.torch.replace("Union(Scalar)?", "Scalar?") == seen.ours
        },
    },
    Rule {
        name: "fresh alias sets of inner types, which nobody sees, have no numbers",
        test: ("opgrid-core/tests/differences.rs", "only_sets_that_are_kept_are_numbered"),
        leaves_states_equal: true,
        matches: |seen| {
            let rest = |text: &str| {
                let parts: Vec<&str> = text
                    .split('$')
                    .map(|part| part.trim_start_matches(|c: char| c.is_ascii_digit()))
                    .collect();
                parts.join("$")
            };
            seen.part == Part::Printed && rest(seen.ours) == rest(seen.torch)
        },
    },
    Rule {
        name: "a real default of a complex argument keeps its value",
        test: ("opgrid-schema/tests/defaults.rs", "numbers"),
        leaves_states_equal: true,
        matches: |seen| {
            // Without what numbers are made of, the rest has to agree.
            let rest = |text: &str| text.replace(|c: char| c.is_ascii_digit() || ".+-ej[]".contains(c), "");
            let is_refused = seen.torch.trim() == "stod";
            let is_printed = seen.part == Part::Printed && rest(seen.ours) == rest(seen.torch);
            matches!(seen.step, Step::Parse(text) if text.contains("complex"))
                && (is_printed || (is_refused && seen.part == Part::Outcome))
        },
    },
    Rule {
        name: "numbers that torch cuts are errors",
        test: ("opgrid-schema/tests/defaults.rs", "numbers"),
        leaves_states_equal: true,
        matches: |seen| {
            const MESSAGES: [&str; 3] = [
                "is too large or too close to zero",
                "is not a decimal integer",
                "the size of a list is an integer",
            ];
            let is_number = MESSAGES.iter().any(|message| seen.ours.contains(message));
            seen.part == Part::Outcome
                && matches!(seen.step, Step::Parse(_))
                && is_number
                && seen.torch == "ok"
        },
    },
    Rule {
        name: "indices of devices that torch wraps around are errors",
        test: ("opgrid-schema/tests/defaults.rs", "devices"),
        leaves_states_equal: true,
        matches: |seen| {
            let is_parse = matches!(seen.step, Step::Parse(_));
            seen.part == Part::Outcome
                && is_parse
                && seen.ours.contains("Invalid device string")
                && seen.torch == "ok"
        },
    },
];

/// Whether a step defines an operator.
fn defines(step: &Step) -> bool {
    match step {
        Step::Block(block) => block.items.iter().any(|item| item.what == What::Define),
        step => matches!(step, Step::Legacy(_)),
    }
}

/// The rule that recognises something that differs.
pub fn explains(seen: &Seen<'_>) -> Option<&'static Rule> {
    RULES.iter().find(|rule| (rule.matches)(seen))
}
