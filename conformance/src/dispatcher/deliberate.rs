//! The differences between opgrid and torch that were decided, each with the test that proves it.
//!
//! A rule recognises its difference by what the step is and what both sides say. A difference that no rule
//! recognises fails the run.

use std::collections::BTreeSet;

use opgrid_core::DispatchKey;

use super::classes::{
    ANOTHER_TYPE, TOO_MANY_ARGUMENTS, TWO_TYPES, UNKNOWN_KEY, class_of_ours, class_of_torch,
};
use super::compare::{Part, Seen};
use super::program::{Step, What};

/// A difference that was decided, as it is listed.
#[derive(Clone, Copy, Debug)]
pub struct Decided {
    /// A short name of its own.
    pub id: &'static str,
    /// What torch does, what opgrid does, and why: one sentence.
    pub what: &'static str,
    /// The test that shows what opgrid does: file below `crates`, and the function.
    pub test: (&'static str, &'static str),
}

/// How often a rule is met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Met {
    /// By programs: a run of [`ENOUGH`] of them in which it is not fails.
    ByPrograms,
    /// Perhaps by none: its test is the case that shows it.
    ByItsTest,
}

/// How many programs there have to be for every rule to be met that is [met by programs](Met::ByPrograms).
pub const ENOUGH: usize = 50_000;

/// How a decided difference is recognised.
pub struct Rule {
    /// What differs.
    pub decided: Decided,
    /// Whether programs come upon it.
    pub met: Met,
    /// Whether both sides are in the same state after a step of which only one side refuses.
    pub leaves_states_equal: bool,
    /// Whether something that differs is this.
    pub matches: fn(&Seen<'_>) -> bool,
}

/// Differences that no program comes upon: torch does something there that would last beyond the program.
pub const DIRECTED: &[Decided] = &[Decided {
    id: "second-autograd-fallback",
    what: "torch takes a second fallback for AutogradPrivateUse1 in silence and has none when either goes; opgrid \
           refuses it unless the library allows overriding, and the first one comes back, because nothing is to be lost \
           silently",
    test: (
        "opgrid-core/tests/hostile/fallbacks.rs",
        "a_second_fallback_for_autograd_of_privateuse1_needs_to_allow_overriding",
    ),
}];

/// Every difference that was decided.
pub fn differences() -> impl Iterator<Item = Decided> {
    RULES.iter().map(|rule| rule.decided).chain(DIRECTED.iter().copied())
}

/// How to recognise those that programs come upon.
pub const RULES: &[Rule] = &[
    Rule {
        decided: Decided {
            id: "building-blocks",
            what: "torch accepts kernels and fallbacks for keys that no call reaches; opgrid rejects them, because they would never run",
            test: ("opgrid-core/tests/all/differences.rs", "kernels_for_building_blocks_are_refused"),
        },
        met: Met::ByPrograms,
        leaves_states_equal: true,
        matches: |seen| {
            let is_transient = matches!(seen.step, Step::Block(block) if block.is_transient);
            seen.part == Part::Outcome
                && is_transient
                && seen.torch == "ok"
                && seen.ours.contains("would never run, because")
        },
    },
    Rule {
        decided: Decided {
            id: "stale-tables",
            what: "torch does not recompute all columns of its stored tables that a registration affects by its own rules; opgrid recomputes every column, so that calls match dumps",
            test: ("opgrid-core/tests/dumps.rs", "d15_a_quantized_kernel_and_math_are_ambiguous"),
        },
        met: Met::ByPrograms,
        leaves_states_equal: true,
        matches: |seen| {
            // Torch checks the invariants in front of some errors, and reports them instead.
            let is_found = seen.part == Part::Class && seen.torch.contains("INTERNAL ASSERT");
            let is_seen = matches!(seen.part, Part::Extractor | Part::Masks | Part::Keys | Part::Reached);
            seen.is_stale && (is_seen || is_found)
        },
    },
    Rule {
        decided: Decided {
            id: "replaced-kernel",
            what: "torch's report of a replaced kernel names the one of another column or none; opgrid names the kernel that ran until now, so that it can be found",
            test: (
                "opgrid-core/tests/all/registration_errors.rs",
                "a_replaced_kernel_is_reported_by_its_own_text",
            ),
        },
        met: Met::ByPrograms,
        leaves_states_equal: true,
        matches: |seen| seen.part == Part::Override && seen.torch.starts_with("previous kernel:"),
    },
    Rule {
        decided: Decided {
            id: "failed-registration-operator",
            what: "torch keeps an operator without schema and kernels after a failed registration; opgrid undoes the whole library",
            test: ("opgrid-core/tests/all/registration_errors.rs", "definitions_have_a_schema"),
        },
        met: Met::ByPrograms,
        leaves_states_equal: true,
        matches: |seen| {
            seen.part == Part::Existence && seen.ours == "0" && seen.torch.contains("schema: (none)")
        },
    },
    Rule {
        decided: Decided {
            id: "failed-registration-signature",
            what: "torch compares later kernels with the types of a kernel that it rejected; opgrid forgets it with the registration",
            test: (
                "opgrid-core/tests/all/registration_errors.rs",
                "a_library_that_fails_leaves_no_signature",
            ),
        },
        met: Met::ByPrograms,
        // What comes after it was fixed here by a kernel that torch refuses.
        leaves_states_equal: false,
        matches: |seen| {
            let first = seen.torch.split("kernel 1:").nth(1).and_then(|rest| rest.split("kernel 2:").next());
            let first = first.unwrap_or_default().lines().nth(2).unwrap_or_default().trim();
            matches!(seen.part, Part::Outcome | Part::Names) && seen.refused.contains(first)
        },
    },
    Rule {
        decided: Decided {
            id: "first-misfit",
            what: "torch names whichever mismatched kernel comes first in its hash table; opgrid names the one with the lowest key, so that the message is deterministic",
            test: ("opgrid-core/tests/all/differences.rs", "the_first_kernel_that_does_not_fit_is_named"),
        },
        met: Met::ByPrograms,
        leaves_states_equal: true,
        matches: |seen| {
            seen.part == Part::Names && class_of_torch(seen.torch) == Some(ANOTHER_TYPE) && defines(seen.step)
        },
    },
    Rule {
        decided: Decided {
            id: "schema-first",
            what: "torch compares a kernel with other kernels first; opgrid compares it with the schema first, which the author has to follow",
            test: ("opgrid-core/tests/all/differences.rs", "the_schema_comes_before_other_kernels"),
        },
        met: Met::ByPrograms,
        leaves_states_equal: true,
        matches: |seen| {
            let classes = (class_of_ours(seen.ours), class_of_torch(seen.torch));
            seen.part == Part::Class && classes == (Some(ANOTHER_TYPE), Some(TWO_TYPES))
        },
    },
    Rule {
        decided: Decided {
            id: "catch-all-key",
            what: "torch reports `(catch all)` as the key of a replaced kernel; opgrid names the alias CompositeImplicitAutograd, under which it is listed",
            test: ("opgrid-core/tests/all/differences.rs", "kernels_for_every_key_are_reported_by_their_key"),
        },
        met: Met::ByPrograms,
        leaves_states_equal: true,
        matches: |seen| seen.part == Part::Override && seen.torch == "dispatch key: (catch all)",
    },
    Rule {
        decided: Decided {
            id: "extractor-dump",
            what: "torch's dump shows the fallthroughs of whichever backend was changed last; opgrid shows those of CPU, which is the same every time",
            test: ("opgrid-core/tests/all/differences.rs", "the_extractor_shows_the_keys_of_cpu"),
        },
        met: Met::ByPrograms,
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
        decided: Decided {
            id: "key-names",
            what: "torch cannot parse some of the names that it prints for keys; opgrid parses all of them",
            test: ("opgrid-core/tests/all/keys.rs", "every_name_parses_and_nothing_else"),
        },
        met: Met::ByPrograms,
        leaves_states_equal: true,
        matches: |seen| {
            let is_name = matches!(seen.step, Step::KeyName(name) if name.parse::<DispatchKey>().is_ok());
            seen.part == Part::Outcome && is_name && class_of_torch(seen.torch) == Some(UNKNOWN_KEY)
        },
    },
    Rule {
        decided: Decided {
            id: "after-undefined",
            what: "torch drops the last backend from the keys after Undefined and after alias keys, by shifting one bit too far; opgrid keeps every backend",
            test: (
                "opgrid-core/tests/all/key_set.rs",
                "after_a_key_remain_backends_and_the_python_dispatcher",
            ),
        },
        met: Met::ByPrograms,
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
        decided: Decided {
            id: "too-many-arguments",
            what: "torch may report another mistake in a definition with more than 64 arguments; opgrid counts arguments first, which is the cheapest check",
            test: ("opgrid-core/tests/all/registration_errors.rs", "definitions_have_a_schema"),
        },
        met: Met::ByItsTest,
        leaves_states_equal: true,
        matches: |seen| seen.part == Part::Class && class_of_ours(seen.ours) == Some(TOO_MANY_ARGUMENTS),
    },
    Rule {
        decided: Decided {
            id: "order-of-sets",
            what: "torch prints alias sets and unions in the order of a hash table; opgrid in the order of the source, so that schemas print as written",
            test: ("opgrid-schema/tests/all/grammar.rs", "annotations"),
        },
        met: Met::ByPrograms,
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
        decided: Decided {
            id: "optional-number",
            what: "torch prints `Union(Scalar)?` for `Scalar??`, which it cannot parse again; opgrid prints `Scalar?`",
            test: ("opgrid-schema/tests/all/grammar.rs", "composed_types"),
        },
        met: Met::ByItsTest,
        leaves_states_equal: true,
        matches: |seen| {
            seen.part == Part::Printed
                && seen.torch.contains("Union(Scalar)?")
                && seen.torch.replace("Union(Scalar)?", "Scalar?") == seen.ours
        },
    },
    Rule {
        decided: Decided {
            id: "fresh-sets",
            what: "torch counts fresh alias sets of inner types that it then drops; opgrid numbers only those that remain",
            test: ("opgrid-core/tests/all/differences.rs", "only_sets_that_are_kept_are_numbered"),
        },
        met: Met::ByItsTest,
        leaves_states_equal: true,
        matches: |seen| {
            let rest = |text: &str| {
                let parts: Vec<&str> = text
                    .split('$')
                    .map(|part| part.trim_start_matches(|c: char| c.is_ascii_digit()))
                    .collect();
                parts.join("$")
            };
            seen.part == Part::Printed && seen.torch.contains('$') && rest(seen.ours) == rest(seen.torch)
        },
    },
    Rule {
        decided: Decided {
            id: "complex-default",
            what: "torch rejects or truncates a real default of a complex argument; opgrid keeps its value",
            test: ("opgrid-schema/tests/all/defaults.rs", "numbers"),
        },
        met: Met::ByItsTest,
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
        decided: Decided {
            id: "cut-numbers",
            what: "torch truncates numbers in schemas that are too large, and integers at the first invalid character; opgrid rejects them, because the value would change",
            test: ("opgrid-schema/tests/all/defaults.rs", "numbers"),
        },
        met: Met::ByItsTest,
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
        decided: Decided {
            id: "defaults-of-every-list",
            what: "torch accepts only lists of integers, floats and complex numbers as defaults; opgrid also accepts those of strings and scalars, and empty ones of every type",
            test: ("opgrid-schema/tests/all/defaults.rs", "lists_are_checked"),
        },
        met: Met::ByItsTest,
        leaves_states_equal: true,
        matches: |seen| {
            seen.part == Part::Outcome
                && matches!(seen.step, Step::Parse(_))
                && seen.ours == "ok"
                && seen.torch.contains("lists are only supported for float, int and complex types")
        },
    },
    Rule {
        decided: Decided {
            id: "device-index",
            what: "torch wraps device indices at eight bits; opgrid rejects an index that is too large",
            test: ("opgrid-schema/tests/all/defaults.rs", "devices"),
        },
        met: Met::ByItsTest,
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
