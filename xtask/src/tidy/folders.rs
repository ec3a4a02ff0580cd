//! The folders of the core import downwards only, and say which folder they import from.

use super::{RustFile, Violation};

const CORE: &str = "opgrid-core";

/// The folders, lowest first. Each may import from those before it.
const FOLDERS: &[&str] = &["keys", "values", "signatures", "calling", "registration", "inspection"];

/// The files beside the folders, from which everybody may import; they import from no folder.
const BESIDE: &[&str] =
    &["barrier", "deferred_drop", "error", "fork", "marker", "panics", "place", "spelling", "sync", "ticket"];

/// The file that puts the folders together and re-exports what is public.
const ROOT: &str = "lib";

/// A path that begins with `crate::` leads to a lower folder, the same one, or a file beside the folders.
pub(super) fn import_downwards(file: &RustFile) -> Vec<Violation> {
    let Some((CORE, module)) = file.module() else { return Vec::new() };
    if module == ROOT {
        return Vec::new();
    }
    let rank = |name: &str| FOLDERS.iter().position(|folder| *folder == name).map(|place| place + 1);
    let folder = module.split('/').next().unwrap_or(module);
    let Some(own) = rank(folder).or_else(|| BESIDE.contains(&module).then_some(0)) else {
        let what =
            format!("`{folder}` has no place in the order of the core's folders, add it to FOLDERS of tidy");
        return vec![file.violation(1, "folders", what)];
    };
    let mut violations = Vec::new();
    for (number, line) in file.lines_outside_tests() {
        for target in targets(&line.code) {
            let what = match rank(target) {
                Some(other) if other > own => {
                    format!(
                        "`{folder}` imports from `{target}`, which stands above it; move what is shared down"
                    )
                }
                None if !BESIDE.contains(&target) => {
                    format!(
                        "`crate::{target}` does not say which folder it comes from, write the folder's path"
                    )
                }
                _ => continue,
            };
            violations.push(file.violation(number, "folders", what));
        }
    }
    violations
}

/// What follows `crate::` in a line of code. In macros, `$crate` is whoever uses them.
fn targets(code: &str) -> impl Iterator<Item = &str> {
    let is_own = |before: &str| {
        !before
            .ends_with(|character: char| character == '$' || character == '_' || character.is_alphanumeric())
    };
    code.match_indices("crate::").filter(move |(start, _)| is_own(&code[..*start])).map(|(start, found)| {
        let rest = &code[start + found.len()..];
        let end = rest.find(|character: char| character != '_' && !character.is_alphanumeric());
        &rest[..end.unwrap_or(rest.len())]
    })
}

#[cfg(test)]
mod tests {
    use super::super::check_rule;
    use super::*;

    #[test]
    fn an_import_from_above_is_found() {
        let text =
            "//! A.\nuse crate::keys::set::DispatchKeySet;\nuse crate::registration::library::Library;\n";
        check_rule(import_downwards, "crates/opgrid-core/src/calling/call.rs", text, &[3]);
        check_rule(import_downwards, "crates/opgrid-core/src/inspection/dump.rs", text, &[]);
        check_rule(import_downwards, "crates/opgrid-core/src/error.rs", text, &[2, 3]);
        check_rule(import_downwards, "crates/opgrid-tensor/src/keys/call.rs", text, &[]);
    }

    #[test]
    fn a_path_in_the_middle_of_a_line_is_found() {
        let text = "fn a() -> crate::values::value::Value {\n    crate::calling::call::call()\n}";
        check_rule(import_downwards, "crates/opgrid-core/src/keys/key.rs", text, &[1, 2]);
    }

    #[test]
    fn a_path_through_the_root_is_found() {
        let text = "use crate::Value;\nuse crate::error::Error;\nuse $crate::Value;\n// crate::Value\n";
        check_rule(import_downwards, "crates/opgrid-core/src/calling/call.rs", text, &[1]);
    }

    #[test]
    fn a_folder_without_a_place_is_found() {
        check_rule(import_downwards, "crates/opgrid-core/src/other/a.rs", "//! A.\n", &[1]);
        check_rule(import_downwards, "crates/opgrid-core/src/lib.rs", "use crate::other::a;\n", &[]);
    }
}
