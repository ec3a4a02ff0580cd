//! Unsafe code stands only in the files that are listed here.

use super::{RustFile, Violation};
use crate::rust_source::has_word;

/// The modules that may hold unsafe code, per crate. A name covers the module and what lies in its folder.
///
/// Each is small and hides its unsafe code behind a safe interface; a new entry needs such a module, not a reason to
/// be quick.
const UNSAFE_MODULES: &[(&str, &[&str])] = &[
    (
        "opgrid-core",
        &[
            "fork",
            "marker",
            "values/borrowed",
            "values/value",
            "values/tensor",
            "signatures/signature",
            "signatures/stack",
            "calling/boxing",
            "calling/call",
            "calling/kernel",
            "calling/name_index",
            "calling/operator",
            "calling/retirement",
            "calling/table",
            "calling/thread",
        ],
    ),
    ("opgrid-array", &["array", "files/mapped", "loops/iter", "loops/simd", "storage"]),
    ("opgrid-kernels", &["products"]),
    ("opgrid-jit", &["assembler", "operand", "worker", "x86/executable"]),
    ("opgrid-tensor", &["dlpack", "tensor/handle"]),
    ("opgrid-abi", &["descriptions", "table"]),
    (
        "opgrid-plugin-sdk",
        &[
            "call",
            "error",
            "host",
            "kernel",
            "keys",
            "library",
            "memory",
            "operator",
            "signature",
            "tensor",
            "threads",
            "value",
        ],
    ),
    ("opgrid-plugin", &["abi", "loader"]),
    ("opgrid-c", &["lib"]),
    ("opgrid-torch", &["abi", "encoding", "exported", "import", "on_load", "pool", "tensors"]),
    ("opgrid-gpu", &["launch"]),
    ("opgrid-graph", &["archive/mapped", "program/mapped"]),
    ("opgrid-cli", &["commands/graph/mapped"]),
    (
        "opgrid-python",
        &[
            "drop_attached",
            "exchange/buffer",
            "exchange/c_api",
            "exchange/dlpack",
            "exchange/handles",
            "gil_cell",
            "operators/fastcall",
            "registration/messages",
            "tensor/identity",
            "values/size",
        ],
    ),
];

/// Files outside the crates' sources that hold unsafe code, each with its reason.
const UNSAFE_FILES: &[(&str, &str)] = &[
    ("crates/opgrid-core/tests/allocations.rs", "an allocator that counts has to be an allocator"),
    ("crates/opgrid-array/tests/forks.rs", "a process is forked by a function of C"),
    ("crates/opgrid-core/tests/forks.rs", "a process is forked by a function of C"),
    ("crates/opgrid-plugin/tests/all/attacks.rs", "it asks the plugin for its counts by functions of C"),
    (
        "crates/opgrid-plugin/tests/all/fuzz.rs",
        "it calls the table of functions as plugins do, through pointers",
    ),
    ("crates/opgrid-plugin/tests/hundred.rs", "an allocator that counts has to be an allocator"),
    (
        "crates/opgrid-plugin/tests/all/table.rs",
        "it gives and takes memory through the table as plugins do, by pointers",
    ),
    ("crates/opgrid-graph/tests/all/mapped.rs", "it promises that nobody changes the files that it maps"),
    (
        "crates/opgrid-operators/tests/all/dlpack.rs",
        "it changes what is lent as another library could, by a pointer",
    ),
    (
        "crates/opgrid-jit/tests/all/guarded.rs",
        "arrays lie beside pages that cannot be touched, which it asks the system for",
    ),
    ("examples/my-test-rust/src/python.rs", "a capsule of Python leads to a handle by a pointer"),
    ("bench/ours/src/bin/dispatch/heap.rs", "the C library's count of the heap is read through its function"),
    ("bench/ours/src/bin/graph/mapping.rs", "a file is mapped, which nobody may change meanwhile"),
    ("crates/opgrid-core/tests/loom/main.rs", "the model's tables are the cells that the protocol protects"),
    (
        "crates/opgrid-core/tests/loom/storages/mod.rs",
        "guards are counted without guards, and the model sees who touches memory",
    ),
    ("crates/opgrid-core/tests/loom/sync.rs", "a model of an atomic pointer is shared between threads"),
];

/// Files with macros whose expansion is unsafe code. They allow it where they expand, not as a whole.
const UNSAFE_MACROS: &[(&str, &str)] = &[
    (
        "crates/opgrid-tensor/src/ops/mod.rs",
        "`declarations!` declares the function that `operators!` exports for each operator file",
    ),
    (
        "crates/opgrid-kinds/src/registrations.rs",
        "`operators!` exports the function that `declarations!` declares for each operator file",
    ),
];

/// The attribute with which such a file says so itself.
const ALLOW: &str = "#![allow(unsafe_code)]";

/// Unsafe code outside the list, or without the attribute, is a violation.
pub(super) fn listed_files_only(file: &RustFile) -> Vec<Violation> {
    if UNSAFE_MACROS.iter().any(|(path, _)| *path == file.path) {
        return Vec::new();
    }
    let listed = is_listed(file);
    let uses = file.lines.iter().position(|line| has_word(&line.code, "unsafe"));
    let allows = file.lines.iter().position(|line| line.code.contains(ALLOW));
    match (listed, uses, allows) {
        (false, Some(line), _) => {
            let what = "unsafe code in a file that is not listed for it, use a safe interface or argue for an entry \
                        in UNSAFE_MODULES of tidy";
            vec![file.violation(line + 1, "unsafe", what.into())]
        }
        (false, None, Some(line)) => {
            let what = format!("`{ALLOW}` in a file that is not listed for unsafe code, remove it");
            vec![file.violation(line + 1, "unsafe", what)]
        }
        (true, Some(line), None) => {
            let what =
                format!("unsafe code in a file that does not open with `{ALLOW}`, add it below the header");
            vec![file.violation(line + 1, "unsafe", what)]
        }
        _ => Vec::new(),
    }
}

fn is_listed(file: &RustFile) -> bool {
    let in_module = file.module().is_some_and(|(name, module)| {
        let listed = UNSAFE_MODULES.iter().filter(|(crate_name, _)| *crate_name == name);
        let mut modules = listed.flat_map(|(_, modules)| modules.iter());
        modules.any(|listed| {
            module.strip_prefix(listed).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    });
    in_module || UNSAFE_FILES.iter().any(|(path, _)| *path == file.path)
}

/// What a comment begins with that leads elsewhere instead of saying why.
const POINTERS: &[&str] = &[
    "as above",
    "as before",
    "as below",
    "as in ",
    "as for ",
    "as of ",
    "ditto",
    "see above",
    "see below",
    "the same",
];

/// A comment `SAFETY:` that only leads to another one is a violation: what holds there need not hold here.
pub(super) fn say_who_guarantees(file: &RustFile) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (index, line) in file.lines.iter().enumerate() {
        let Some((_, said)) = line.comment.split_once("SAFETY").and_then(|(_, rest)| rest.split_once(':'))
        else {
            continue;
        };
        let said = said.trim_start().to_lowercase();
        if let Some(pointer) = POINTERS.iter().find(|pointer| said.starts_with(**pointer)) {
            let what = format!(
                "the comment begins with \"{}\", say who guarantees the fact here: a type, a check, an invariant, or the caller",
                pointer.trim_end()
            );
            violations.push(file.violation(index + 1, "safety", what));
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::super::check_rule;
    use super::*;

    const USE: &str = "//! Reads.\nfn a() {\n    unsafe { b() }\n}";
    const ALLOWED_USE: &str = "//! Reads.\n#![allow(unsafe_code)]\nfn a() {\n    unsafe { b() }\n}";

    #[test]
    fn unsafe_code_outside_the_list_is_found() {
        for path in [
            "crates/opgrid-core/src/registration/resolve.rs",
            "crates/opgrid-core/src/tables.rs",
            "crates/opgrid-core/tests/table.rs",
            "crates/opgrid-schema/src/value.rs",
            "xtask/src/main.rs",
        ] {
            check_rule(listed_files_only, path, USE, &[3]);
            check_rule(listed_files_only, path, ALLOWED_USE, &[4]);
        }
    }

    #[test]
    fn a_listed_file_opens_with_the_attribute() {
        for path in [
            "crates/opgrid-core/src/calling/table.rs",
            "crates/opgrid-core/src/calling/table/slots.rs",
            "crates/opgrid-array/src/loops/simd.rs",
        ] {
            check_rule(listed_files_only, path, USE, &[3]);
            check_rule(listed_files_only, path, ALLOWED_USE, &[]);
        }
    }

    #[test]
    fn the_attribute_outside_the_list_is_found() {
        let text = "//! Reads.\n#![allow(unsafe_code)]\n";
        check_rule(listed_files_only, "crates/opgrid-core/src/registration/resolve.rs", text, &[2]);
        check_rule(listed_files_only, "crates/opgrid-core/src/calling/table.rs", text, &[]);
    }

    #[test]
    fn words_about_unsafe_code_are_no_use_of_it() {
        let text = "//! No unsafe code.\n#![forbid(unsafe_code)]\nconst A: &str = \"unsafe\";";
        check_rule(listed_files_only, "crates/opgrid-core/src/registration/resolve.rs", text, &[]);
    }

    #[test]
    fn a_comment_that_leads_elsewhere_is_found() {
        for said in ["as above.", "As above; it lives.", "as in `other`.", "the same for the second."] {
            let text = format!("//! Reads.\nfn a() {{\n    // SAFETY: {said}\n    unsafe {{ b() }}\n}}");
            check_rule(say_who_guarantees, "crates/opgrid-core/src/calling/table.rs", &text, &[3]);
        }
        check_rule(say_who_guarantees, "a.rs", "// SAFETY, here and below: as above.", &[1]);
        let text = "// SAFETY: guaranteed by the caller, see `# Safety`.\n// As above.\n// SAFETY:\n// - it lives.\nlet a = \"SAFETY: as above\";";
        check_rule(say_who_guarantees, "a.rs", text, &[]);
    }

    #[test]
    fn every_exception_has_a_reason() {
        assert!(
            UNSAFE_FILES
                .iter()
                .chain(UNSAFE_MACROS)
                .all(|(path, reason)| path.ends_with(".rs") && reason.len() > 20)
        );
    }
}
