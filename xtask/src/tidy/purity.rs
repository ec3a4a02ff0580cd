//! What keeps `opgrid-core` a dispatcher: it knows no operator, and a call takes no lock.

use super::{RustFile, Violation};
use crate::rust_source::has_word;

const CORE: &str = "opgrid-core";

/// The namespace of the built-in operators, as their names begin with it.
const NAMESPACE: &str = "aten::";

/// The modules of the core that a call goes through.
const CALL_PATH: &[&str] = &[
    "keys/set",
    "signatures/signature",
    "calling/boxing",
    "calling/call",
    "calling/kernel",
    "calling/operator",
    "calling/table",
    "calling/thread",
    "registration/dispatcher",
];

/// The dispatcher knows keys, tables, kernels and calls; operators are somebody else's.
///
/// Names in comments and tests are examples and do no harm.
pub(super) fn no_operator_names(file: &RustFile) -> Vec<Violation> {
    if file.module().is_none_or(|(name, _)| name != CORE) {
        return Vec::new();
    }
    let named = file.lines_outside_tests().filter(|(_, line)| line.uncommented.contains(NAMESPACE));
    let what = "the core names an operator, let the crate that defines it pass what is needed";
    named.map(|(number, _)| file.violation(number, "operator-names", what.into())).collect()
}

/// A call reads one table through one pointer and never waits for a registration.
pub(super) fn no_locks_on_the_call_path(file: &RustFile) -> Vec<Violation> {
    let on_path = file.module().is_some_and(|(name, module)| {
        let is_in = |listed: &&str| {
            module.strip_prefix(*listed).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        name == CORE && CALL_PATH.iter().any(is_in)
    });
    if !on_path {
        return Vec::new();
    }
    let mut violations = Vec::new();
    for (number, line) in file.lines_outside_tests() {
        if let Some(lock) = ["Mutex", "RwLock", ".lock()"].iter().find(|lock| has_word(&line.code, lock)) {
            let what = format!("`{lock}` on the call path, move what waits to `registration`");
            violations.push(file.violation(number, "locks", what));
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::super::check_rule;
    use super::*;

    #[test]
    fn an_operator_name_in_the_core_is_found() {
        let text = "//! Finds `aten::add`.\nfn a() {\n    find(\"aten::add\"); // aten::mul\n}";
        check_rule(no_operator_names, "crates/opgrid-core/src/registration/registry.rs", text, &[3]);
        check_rule(no_operator_names, "crates/opgrid-core/tests/registry.rs", text, &[]);
        check_rule(no_operator_names, "crates/opgrid-tensor/src/ops/add.rs", text, &[]);
    }

    #[test]
    fn an_operator_name_in_a_test_is_an_example() {
        let text = "#[cfg(test)]\nmod tests {\n    const A: &str = \"aten::add\";\n}";
        check_rule(no_operator_names, "crates/opgrid-core/src/registration/registry.rs", text, &[]);
    }

    #[test]
    fn a_lock_on_the_call_path_is_found() {
        let text = "use std::sync::Mutex;\nuse std::sync::{Arc, RwLock};\nfn a() {\n    b.lock();\n}";
        check_rule(no_locks_on_the_call_path, "crates/opgrid-core/src/calling/table.rs", text, &[1, 2, 4]);
        check_rule(
            no_locks_on_the_call_path,
            "crates/opgrid-core/src/calling/table/slots.rs",
            text,
            &[1, 2, 4],
        );
        check_rule(no_locks_on_the_call_path, "crates/opgrid-core/src/registration/registry.rs", text, &[]);
    }

    #[test]
    fn what_only_looks_like_a_lock_is_none() {
        let text = "// A Mutex would wait.\nuse std::sync::OnceLock;\nfn block() {}\n\
            #[cfg(test)]\nmod tests {\n    use std::sync::Mutex;\n}";
        check_rule(no_locks_on_the_call_path, "crates/opgrid-core/src/registration/dispatcher.rs", text, &[]);
    }
}
