//! The folders and files of a crate import downwards only.
//!
//! A crate's modules are what stands in its `src`: folders and files. Each may import from those before it, by a path that
//! begins with `crate::` or leads there with `super::`. What `lib.rs` re-exports counts as imported from where it stands.

use std::collections::{BTreeMap, BTreeSet};

use super::{RustFile, TextFile, Violation};
use crate::rust_source::words;

/// The modules of crates in order, lowest first. The modules of other crates have some order: they do not import in circles.
const ORDERS: &[(&str, &[&str])] = &[
    (
        "opgrid-core",
        &[
            "barrier",
            "panics",
            "deferred_drop",
            "error",
            "sync",
            "fork",
            "place",
            "spelling",
            "marker",
            "ticket",
            "keys",
            "values",
            "signatures",
            "calling",
            "registration",
            "inspection",
        ],
    ),
    (
        "opgrid-array",
        &[
            "error",
            "half_bits",
            "choose",
            "limits",
            "float8",
            "element",
            "overlap",
            "geometry",
            "spec",
            "promote",
            "storage",
            "array",
            "print",
            "views",
            "nested",
            "loops",
            "random",
            "devices",
            "files",
            "forking",
        ],
    ),
    (
        "opgrid-tensor",
        &[
            "tensor", "devices", "files", "ops", "families", "layers", "index", "infix", "values", "dlpack",
            "forking",
        ],
    ),
    (
        "opgrid-samples",
        &[
            "differences",
            "departures",
            "rounding",
            "plain",
            "number",
            "sample",
            "inputs",
            "generate",
            "naive",
            "lists",
            "collection",
            "indexing",
            "prelude",
        ],
    ),
    (
        "opgrid-nn",
        &["error", "options", "state", "module", "init", "loss", "functional", "clip", "modules", "optim"],
    ),
    ("opgrid-transforms", &["reverse", "functional", "forward", "batch", "batching", "jacobians"]),
    ("opgrid-plugin", &["search", "manifest", "image", "abi", "forking", "loader"]),
    (
        "opgrid-plugin-sdk",
        &[
            "host",
            "error",
            "plain",
            "keys",
            "tensor",
            "value",
            "signature",
            "call",
            "kernel",
            "operator",
            "library",
            "memory",
            "threads",
            "prelude",
        ],
    ),
    (
        "opgrid-testing",
        &[
            "fault",
            "draws",
            "memory",
            "target",
            "variants",
            "subject",
            "agreement",
            "checks",
            "report",
            "suite",
        ],
    ),
    (
        "opgrid-cli",
        &[
            "answer",
            "grammar",
            "numbers",
            "torch_names",
            "file",
            "tensor_literal",
            "literal",
            "arguments",
            "columns",
            "digits",
            "html",
            "json",
            "progress",
            "style",
            "suggest",
            "commands",
        ],
    ),
    (
        "opgrid-python",
        &[
            "once",
            "gil_cell",
            "drop_attached",
            "rust_names",
            "errors",
            "keys",
            "collector",
            "values",
            "exchange",
            "tensor",
            "operators",
            "registration",
            "autograd",
            "graph",
            "programs",
            "guards",
            "inspection",
            "modes",
            "transforms",
            "vmap",
            "autocast",
            "fake",
            "devices",
            "settings",
            "torch",
            "command_line",
        ],
    ),
];

/// Imports from above, by crate, importing module and imported one, each with the reason why it stays.
const UPWARDS: &[(&str, &str, &str, &str)] = &[
    (
        "opgrid-abi",
        "descriptions",
        "table",
        "descriptions hold functions of the plugin, whose types stand with those of the host",
    ),
    ("opgrid-array", "storage", "devices", "memory is told which streams use it"),
    ("opgrid-array", "storage", "forking", "who takes memory has its locks held at forks"),
    ("opgrid-array", "loops", "forking", "who asks for helper threads has their locks held at forks"),
    (
        "opgrid-tensor",
        "ops",
        "layers",
        "the first call of an operator installs the layer that records gradients",
    ),
    (
        "opgrid-tensor",
        "ops",
        "forking",
        "the first call of an operator has the locks of first uses held at forks",
    ),
    ("opgrid-cli", "file", "tensor_literal", "the standard input holds a file or a literal"),
    ("opgrid-cli", "commands", "lib", "the manual page and completions are made of the whole command line"),
    (
        "opgrid-plugin-sdk",
        "host",
        "error",
        "what the host answers becomes an error, and errors are freed by the host",
    ),
    ("opgrid-plugin-sdk", "host", "library", "`plugin!` hands the host's pointers to what registers"),
    ("opgrid-plugin-sdk", "tensor", "value", "tensors are values, and values hold tensors"),
    ("opgrid-plugin-sdk", "signature", "call", "a typed kernel is made from a boxed call"),
    ("opgrid-plugin-sdk", "call", "operator", "a call holds its operator, and an operator is called"),
    ("opgrid-python", "errors", "keys", "an exception shows the keys of its call as Python's class"),
    ("opgrid-python", "collector", "tensor", "the collector walks what tensors hold"),
    ("opgrid-python", "collector", "autograd", "the collector walks what nodes of the graph hold"),
    ("opgrid-python", "values", "tensor", "tensors are values, and their attributes are"),
    ("opgrid-python", "values", "exchange", "arrays of other libraries are read as tensors"),
    (
        "opgrid-python",
        "exchange",
        "tensor",
        "what is exchanged are tensors, and a tensor is made of what others give",
    ),
    ("opgrid-python", "tensor", "operators", "operators are the methods of tensors"),
];

/// Crates whose own files name the module that something comes from, and not the re-export in `lib.rs`.
const BY_PATH: &[&str] = &["opgrid-core"];

/// The files that put the modules of a crate together and re-export what is public.
const ROOTS: [&str; 2] = ["lib", "main"];

/// An import of one module from another.
struct Import<'a> {
    file: &'a RustFile<'a>,
    line: usize,
    from: &'a str,
    to: String,
}

/// Checks every crate.
pub(super) fn import_downwards(files: &[TextFile]) -> Vec<Violation> {
    let mut crates: BTreeMap<&str, Vec<RustFile>> = BTreeMap::new();
    for file in files.iter().filter(|file| file.path.ends_with(".rs") && file.path.starts_with("crates/")) {
        let file = RustFile::new(&file.path, &file.text);
        if let Some((name, _)) = file.module() {
            crates.entry(name).or_default().push(file);
        }
    }
    crates.iter().flat_map(|(name, files)| of_crate(name, files)).collect()
}

fn of_crate(name: &str, files: &[RustFile]) -> Vec<Violation> {
    let mut violations = Vec::new();
    let imports = imports(name, files, &mut violations);
    let order = ORDERS.iter().find(|(listed, _)| *listed == name).map(|(_, order)| *order);
    if let Some(order) = order {
        for file in files.iter().filter(|file| !is_root(file)) {
            let module = top(file);
            if !order.contains(&module) {
                let what =
                    format!("`{module}` has no place in the order of `{name}`, add it to ORDERS of tidy");
                violations.push(file.violation(1, "folders", what));
            }
        }
    }
    let is_excused = |import: &Import| {
        UPWARDS.iter().any(|(of, from, to, _)| *of == name && *from == import.from && *to == import.to)
    };
    let others: Vec<&Import> = imports.iter().filter(|import| !is_excused(import)).collect();
    for import in &others {
        let what = match order {
            _ if ROOTS.contains(&import.to.as_str()) => {
                format!("`{}` imports what `lib.rs` defines; move that to a module", import.from)
            }
            Some(order) if rank(order, &import.to) > rank(order, import.from) => {
                format!(
                    "`{}` imports from `{}`, which stands above it; move what is shared down",
                    import.from, import.to
                )
            }
            None if leads(&others, &import.to, import.from) => {
                format!("`{}` and `{}` import each other; move what is shared down", import.from, import.to)
            }
            _ => continue,
        };
        violations.push(import.file.violation(import.line, "folders", what));
    }
    for (_, from, to, _) in UPWARDS.iter().filter(|(of, ..)| *of == name) {
        if !imports.iter().any(|import| import.from == *from && import.to == *to) {
            let what =
                format!("`{from}` no longer imports from `{to}`, take the line out of UPWARDS of tidy");
            violations.extend(
                files.iter().find(|file| is_root(file)).map(|file| file.violation(1, "folders", what)),
            );
        }
    }
    violations
}

/// The place in an order; nowhere is at its end, and is a violation of its own.
fn rank(order: &[&str], module: &str) -> usize {
    order.iter().position(|listed| *listed == module).unwrap_or(order.len())
}

/// Whether a module reaches another one by imports.
fn leads(imports: &[&Import], from: &str, to: &str) -> bool {
    let mut reached = BTreeSet::from([from]);
    loop {
        let next: Vec<&str> = imports
            .iter()
            .filter(|import| reached.contains(import.from))
            .map(|import| import.to.as_str())
            .filter(|target| !reached.contains(target))
            .collect();
        if next.is_empty() {
            return reached.contains(to);
        }
        reached.extend(next);
    }
}

/// The folder or file right below `src`.
fn top<'a>(file: &RustFile<'a>) -> &'a str {
    let module = file.module().map_or("", |(_, module)| module);
    module.split('/').next().unwrap_or(module)
}

fn is_root(file: &RustFile) -> bool {
    file.module().is_some_and(|(_, module)| ROOTS.contains(&module))
}

/// The imports between modules of a crate, outside of tests.
fn imports<'a>(name: &str, files: &'a [RustFile<'a>], violations: &mut Vec<Violation>) -> Vec<Import<'a>> {
    let modules: BTreeSet<&str> = files.iter().filter(|file| !is_root(file)).map(top).collect();
    let names = names(files, &modules);
    let mut imports = Vec::new();
    for file in files.iter().filter(|file| !is_root(file)) {
        for (line, target) in targets(file) {
            let to = match (modules.get(target.as_str()), names.get(&target)) {
                (Some(module), _) => (*module).to_owned(),
                (None, Some(_)) if BY_PATH.contains(&name) => {
                    let what =
                        format!("`crate::{target}` does not say which module it comes from, write its path");
                    violations.push(file.violation(line, "folders", what));
                    continue;
                }
                (None, Some(module)) => module.clone(),
                // Something of another crate.
                (None, None) => continue,
            };
            if to != top(file) {
                imports.push(Import { file, line, from: top(file), to });
            }
        }
    }
    imports
}

/// Where names stand that are reached through the root: what it re-exports from modules or defines, and macros.
fn names(files: &[RustFile], modules: &BTreeSet<&str>) -> BTreeMap<String, String> {
    let mut names = BTreeMap::new();
    for file in files {
        let text = text(file).0;
        let all: Vec<&str> = words(&text).collect();
        let own = top(file);
        for pair in all.windows(2) {
            let is_item = is_root(file)
                && ["fn", "struct", "enum", "trait", "type", "const", "static"].contains(&pair[0]);
            if pair[0] == "macro_rules" || is_item {
                names.insert(pair[1].to_owned(), own.to_owned());
            }
        }
        if !is_root(file) {
            continue;
        }
        for (start, _) in text.match_indices("use ") {
            let statement = text[start + 4..].split(';').next().unwrap_or_default();
            let path = statement.trim_start_matches("crate::").trim_start_matches("self::");
            let Some((module, rest)) = path.split_once("::") else { continue };
            if modules.contains(module.trim()) {
                names.extend(words(rest).map(|word| (word.to_owned(), module.trim().to_owned())));
            }
        }
    }
    names
}

/// The code outside of tests as one text, and the number of the line at which each line of the text begins.
fn text(file: &RustFile) -> (String, Vec<(usize, usize)>) {
    let mut text = String::new();
    let mut starts = Vec::new();
    for (number, line) in file.lines_outside_tests() {
        starts.push((text.len(), number));
        text.push_str(&line.code);
        text.push('\n');
    }
    (text, starts)
}

/// What paths name right below the root of the crate, with the lines. In macros, `$crate` is whoever uses them.
fn targets(file: &RustFile) -> Vec<(usize, String)> {
    let (text, starts) = text(file);
    let depth = file.module().map_or(0, |(_, module)| module.split('/').count());
    let mut found = Vec::new();
    // How many braces are open, and at how many each inline module around began.
    let (mut open, mut inside) = (0_usize, Vec::new());
    let mut at = 0;
    while let Some(character) = text[at..].chars().next() {
        let is_start = !text[..at].ends_with(|before: char| {
            before == '$' || before == '_' || before == ':' || before.is_alphanumeric()
        });
        let rest = &text[at..];
        let supers = rest.len() - rest.trim_start_matches("super::").len();
        if is_start && let Some(path) = rest.strip_prefix("crate::") {
            found.extend(firsts(path, at + 7));
            at += 7;
        } else if is_start && supers > 0 {
            if supers / 7 == depth + inside.len() {
                found.extend(firsts(&rest[supers..], at + supers));
            }
            at += supers;
        } else {
            match character {
                '{' => {
                    let before: Vec<&str> =
                        text[..at].rsplit(['{', '}', ';']).next().map(words).into_iter().flatten().collect();
                    if before.len() >= 2 && before[before.len() - 2] == "mod" {
                        inside.push(open);
                    }
                    open += 1;
                }
                '}' => {
                    open = open.saturating_sub(1);
                    if inside.last() == Some(&open) {
                        inside.pop();
                    }
                }
                _ => {}
            }
            at += character.len_utf8();
        }
    }
    let line =
        |at: usize| starts.iter().rev().find(|(start, _)| *start <= at).map_or(1, |(_, number)| *number);
    found.into_iter().map(|(at, name)| (line(at), name)).collect()
}

/// The first names of a path, or of each path in a group of them.
fn firsts(path: &str, start: usize) -> Vec<(usize, String)> {
    let name = |text: &str| words(text).next().map(str::to_owned);
    let Some(group) = path.strip_prefix('{') else {
        let is_name = path.starts_with(|first: char| first == '_' || first.is_alphanumeric());
        return name(path).filter(|_| is_name).map(|name| (start, name)).into_iter().collect();
    };
    let mut firsts = Vec::new();
    let (mut depth, mut begins) = (0, 0);
    for (at, character) in group.char_indices() {
        match character {
            '{' => depth += 1,
            '}' | ',' if depth == 0 => {
                firsts.extend(name(&group[begins..at]).map(|name| (start + 1 + at, name)));
                begins = at + 1;
                if character == '}' {
                    break;
                }
            }
            '}' => depth -= 1,
            _ => {}
        }
    }
    firsts
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks where imports break the rule in a crate of these files below `src`.
    fn check(name: &str, sources: &[(&str, &str)], expected: &[(&str, usize)]) {
        let folder = format!("crates/{name}/src/");
        let file =
            |(path, text): &(&str, &str)| TextFile { path: format!("{folder}{path}"), text: (*text).into() };
        let files: Vec<TextFile> = sources.iter().map(file).collect();
        let found = import_downwards(&files);
        // Excuses of real crates that this one does not need are another matter.
        let found = found.iter().filter(|violation| !violation.what.contains("no longer imports"));
        let found: Vec<(String, usize)> =
            found.map(|violation| (violation.file.replace(&folder, ""), violation.line)).collect();
        let expected: Vec<(String, usize)> =
            expected.iter().map(|(path, line)| ((*path).to_owned(), *line)).collect();
        assert_eq!(found, expected, "{sources:?}");
    }

    #[test]
    fn an_import_from_above_is_found() {
        let text =
            "//! A.\nuse crate::keys::set::DispatchKeySet;\nuse crate::registration::library::Library;\n";
        let others = [("keys/set.rs", ""), ("registration/library.rs", "")];
        let with = |path| [(path, text), others[0], others[1]];
        check("opgrid-core", &with("calling/call/mod.rs"), &[("calling/call/mod.rs", 3)]);
        check("opgrid-core", &with("inspection/dump.rs"), &[]);
        check("opgrid-core", &with("error.rs"), &[("error.rs", 2), ("error.rs", 3)]);
    }

    #[test]
    fn paths_in_code_in_groups_and_from_below_are_found() {
        let others = [("values/a.rs", ""), ("calling/a.rs", "")];
        for (text, line) in [
            ("fn a() -> crate::values::a::A {\n    crate::calling::a::a()\n}", 2),
            ("use crate::{\n    values::{a, b},\n    calling::a,\n};", 3),
            ("use super::super::calling::a;", 1),
            ("mod inner {\n    use super::super::super::calling::a;\n}\nuse super::super::a;", 2),
            ("mod inner {}\nmod other { fn a() {} }\nuse super::super::calling::a;", 3),
        ] {
            check("opgrid-core", &[("values/b.rs", text), others[0], others[1]], &[("values/b.rs", line)]);
        }
        let text = "use super::calling::a;\nuse $crate::calling::a;\n// crate::calling::a\n#[cfg(test)]\nuse crate::calling::a;";
        check("opgrid-core", &[("values/b.rs", text), others[0], others[1]], &[]);
    }

    #[test]
    fn re_exports_count_as_imports_from_where_they_stand() {
        let root = (
            "lib.rs",
            "mod spec;\nmod storage;\npub use storage::{Guard, Storage};\npub use other::Thing;\n",
        );
        let storage = ("storage.rs", "");
        check(
            "opgrid-array",
            &[root, storage, ("spec.rs", "use crate::Thing;\nuse crate::{Storage};")],
            &[("spec.rs", 2)],
        );
        check("opgrid-array", &[root, storage, ("files.rs", "use crate::Storage;")], &[]);
        let root = ("lib.rs", "mod keys;\npub use values::Value;\npub fn a() {}");
        check(
            "opgrid-core",
            &[root, ("values.rs", ""), ("calling/call/mod.rs", "use crate::Value;")],
            &[("calling/call/mod.rs", 1)],
        );
    }

    #[test]
    fn what_the_root_defines_stands_above_all() {
        check("opgrid-a", &[("lib.rs", "pub struct A;"), ("b.rs", "use crate::A;")], &[("b.rs", 1)]);
    }

    #[test]
    fn macros_stand_where_they_are_defined() {
        let files = [("array.rs", "macro_rules! each { () => {} }"), ("spec.rs", "//! A.\ncrate::each!();")];
        check("opgrid-array", &files, &[("spec.rs", 2)]);
    }

    #[test]
    fn a_module_without_a_place_is_found() {
        check(
            "opgrid-core",
            &[("other/a.rs", "//! A.\n"), ("lib.rs", "use crate::other::a;\n")],
            &[("other/a.rs", 1)],
        );
    }

    #[test]
    fn without_an_order_circles_are_found() {
        let a = ("a.rs", "use crate::b::B;");
        check("opgrid-new", &[a, ("b/mod.rs", "use super::c::C;"), ("c.rs", "")], &[]);
        check(
            "opgrid-new",
            &[a, ("b/mod.rs", "use super::c::C;"), ("c.rs", "\nuse crate::{a::A};")],
            &[("a.rs", 1), ("b/mod.rs", 1), ("c.rs", 2)],
        );
    }

    #[test]
    fn every_excuse_has_a_reason() {
        assert!(UPWARDS.iter().all(|(.., reason)| reason.len() > 20));
    }
}
