//! Which crate may import which, and that every example is built.

use super::{TextFile, Violation};
use serde_json::Value;
use std::path::Path;

/// What each crate imports. What those import it may import too, so the table gives an order and no crate sees one
/// that stands after it.
const EDGES: &[(&str, &[&str])] = &[
    ("opgrid-schema", &[]),
    ("opgrid-macros", &["opgrid-schema"]),
    ("opgrid-core", &["opgrid-schema", "opgrid-macros"]),
    ("opgrid-fft", &[]),
    ("opgrid-linalg", &[]),
    ("opgrid-special", &[]),
    ("opgrid-array", &["opgrid-core"]),
    ("opgrid-kernels", &["opgrid-array", "opgrid-fft", "opgrid-linalg", "opgrid-special"]),
    ("opgrid-jit", &["opgrid-array"]),
    ("opgrid-tensor", &["opgrid-array"]),
    ("opgrid-samples", &["opgrid-kernels", "opgrid-tensor"]),
    ("opgrid-kinds", &["opgrid-samples"]),
    ("opgrid-operators-pointwise", &["opgrid-kinds", "opgrid-special"]),
    ("opgrid-operators-reductions", &["opgrid-kinds"]),
    ("opgrid-operators-shapes", &["opgrid-kinds"]),
    ("opgrid-operators-networks", &["opgrid-kinds"]),
    ("opgrid-operators-algebra", &["opgrid-kinds", "opgrid-special"]),
    (
        "opgrid-operators",
        &[
            "opgrid-operators-pointwise",
            "opgrid-operators-reductions",
            "opgrid-operators-shapes",
            "opgrid-operators-networks",
            "opgrid-operators-algebra",
        ],
    ),
    ("opgrid-nn", &["opgrid-tensor"]),
    ("opgrid-transforms", &["opgrid-tensor"]),
    ("opgrid-graph", &["opgrid-tensor", "opgrid-jit", "opgrid-kernels"]),
    ("opgrid-abi", &[]),
    ("opgrid-plugin-sdk", &["opgrid-abi", "opgrid-macros"]),
    ("opgrid-plugin", &["opgrid-graph", "opgrid-abi"]),
    ("opgrid-gpu", &["opgrid-kinds"]),
    ("opgrid-testing", &["opgrid-operators", "opgrid-transforms"]),
    ("opgrid-inspect", &["opgrid-core"]),
    ("opgrid", &["opgrid-operators", "opgrid-nn", "opgrid-transforms", "opgrid-plugin"]),
    ("opgrid-vision", &["opgrid"]),
    ("opgrid-torch", &["opgrid"]),
    ("opgrid-c", &["opgrid"]),
    ("opgrid-cli", &["opgrid", "opgrid-graph", "opgrid-inspect", "opgrid-vision"]),
    ("opgrid-python", &["opgrid", "opgrid-cli", "opgrid-graph", "opgrid-torch", "opgrid-vision"]),
];

/// The conformance suite, and the crates whose tests run it.
const TESTING: (&str, &[&str]) = ("opgrid-testing", &["opgrid-gpu", "opgrid-vision"]);

/// Crates whose examples and tests import one that stands above or beside them, each with the reason.
const TESTS_ABOVE: &[(&str, &str, &str)] = &[
    ("opgrid-tensor", "opgrid", "the examples of methods call operators, whose implementations stand above"),
    ("opgrid-nn", "opgrid", "the examples and tests of modules compute, so that they need implementations"),
    (
        "opgrid-transforms",
        "opgrid",
        "the examples and tests of transforms compute, so that they need implementations",
    ),
    (
        "opgrid-graph",
        "opgrid",
        "the examples and tests of programs run them, so that they need implementations",
    ),
    ("opgrid-graph", "opgrid-operators", "samples of all operators are traced and run again"),
    ("opgrid-graph", "opgrid-transforms", "transforms are traced, and run around programs"),
    ("opgrid-operators", "opgrid-transforms", "layers are tested with operators, batches among them"),
    ("opgrid", "opgrid-graph", "the examples of README and of the documentation run exported programs"),
    (
        "opgrid-plugin",
        "opgrid-operators",
        "plugins of tests call operators, so that they need implementations",
    ),
];

/// The crates from elsewhere that these may import: no GPU, thread pool or Python below the operators, and no numerics below
/// `opgrid-array`. Crates that are not listed choose freely; so do tests.
const EXTERNAL: &[(&str, &[&str])] = &[
    ("opgrid-schema", &[]),
    ("opgrid-fft", &["realfft", "rustfft"]),
    ("opgrid-linalg", &["faer", "num-complex"]),
    ("opgrid-special", &["libm"]),
    ("opgrid-abi", &[]),
    ("opgrid-plugin-sdk", &["num-complex"]),
    ("opgrid-core", &["foldhash", "hashbrown", "libc", "loom", "num-complex", "rustix", "serde_json"]),
    (
        "opgrid-array",
        &["half", "libc", "libm", "memmap2", "num-complex", "serde", "serde_json", "smallvec", "zip"],
    ),
    ("opgrid-kernels", &["half", "libc", "libm", "num-complex", "smallvec"]),
    ("opgrid-jit", &["iced-x86", "rustix"]),
    ("opgrid-tensor", &["ndarray", "num-complex", "smallvec"]),
    ("opgrid-samples", &["libm", "num-complex"]),
    ("opgrid-kinds", &["num-complex", "smallvec"]),
    ("opgrid-operators-pointwise", &["libm", "num-complex", "smallvec"]),
    ("opgrid-operators-reductions", &["num-complex", "smallvec"]),
    ("opgrid-operators-shapes", &["num-complex", "smallvec"]),
    ("opgrid-operators-networks", &["num-complex", "smallvec"]),
    ("opgrid-operators-algebra", &["libm", "num-complex", "smallvec"]),
    ("opgrid-operators", &[]),
    ("opgrid-nn", &[]),
    ("opgrid-graph", &["serde_json", "smallvec", "zip"]),
];

/// Checks the packages as `cargo metadata` prints them.
pub(super) fn check(packages: &[Value], root: &Path, files: &[TextFile]) -> Vec<Violation> {
    let manifests: Vec<Manifest> =
        packages.iter().filter_map(|package| Manifest::new(package, root, files)).collect();
    let mut violations: Vec<Violation> = manifests.iter().flat_map(imports).collect();
    violations.extend(examples_outside(&manifests, files));
    violations
}

/// A member of the workspace.
struct Manifest<'a> {
    name: &'a str,
    /// The path of its `Cargo.toml`, relative to the root.
    path: String,
    text: &'a str,
    dependencies: Vec<Dependency<'a>>,
}

struct Dependency<'a> {
    name: &'a str,
    is_local: bool,
    is_for_tests: bool,
}

impl<'a> Manifest<'a> {
    fn new(package: &'a Value, root: &Path, files: &'a [TextFile]) -> Option<Self> {
        let path = Path::new(package["manifest_path"].as_str()?).strip_prefix(root).ok()?;
        let path = path.to_str()?.replace(std::path::MAIN_SEPARATOR, "/");
        let text = files.iter().find(|file| file.path == path).map_or("", |file| file.text.as_str());
        let dependencies = package["dependencies"].as_array()?.iter().filter_map(Dependency::new).collect();
        Some(Self { name: package["name"].as_str()?, path, text, dependencies })
    }

    /// A violation at the line that names the dependency.
    fn violation(&self, dependency: &str, what: String) -> Violation {
        let names =
            |line: &str| line.strip_prefix(dependency).is_some_and(|rest| rest.starts_with([' ', '=', '.']));
        let line = self.text.lines().position(names).map_or(1, |index| index + 1);
        Violation { file: self.path.clone(), line, rule: "edges", what }
    }
}

impl<'a> Dependency<'a> {
    fn new(dependency: &'a Value) -> Option<Self> {
        let name = dependency["name"].as_str()?;
        let is_local = dependency["path"].is_string();
        Some(Self { name, is_local, is_for_tests: dependency["kind"] == "dev" })
    }
}

/// What one crate imports and must not.
fn imports(manifest: &Manifest) -> Vec<Violation> {
    let from = manifest.name;
    if !manifest.path.starts_with("crates/") {
        return Vec::new();
    }
    if EDGES.iter().all(|(name, _)| *name != from) {
        let what = format!("crate `{from}` has no row in EDGES of tidy, add one with what it imports");
        return vec![manifest.violation("name", what)];
    }
    let mut violations = Vec::new();
    for dependency in &manifest.dependencies {
        let to = dependency.name;
        if dependency.is_local && !may_import(from, dependency) {
            let tests = if dependency.is_for_tests { " for its tests" } else { "" };
            let remedy = "move the code to a crate that both may import";
            let what =
                format!("`{from}` imports `{to}`{tests}, which EDGES of tidy does not allow, {remedy}");
            violations.push(manifest.violation(to, what));
        }
        let allowed = EXTERNAL.iter().find(|(name, _)| *name == from).map(|(_, allowed)| allowed);
        let is_foreign = !dependency.is_local && !dependency.is_for_tests;
        if is_foreign && allowed.is_some_and(|allowed| !allowed.contains(&to)) {
            let what = format!(
                "`{from}` imports `{to}` from elsewhere, do without it or enter it in EXTERNAL of tidy"
            );
            violations.push(manifest.violation(to, what));
        }
    }
    violations
}

fn may_import(from: &str, dependency: &Dependency) -> bool {
    let (testing, tested) = TESTING;
    if dependency.name == testing {
        return dependency.is_for_tests && tested.contains(&from);
    }
    let is_listed = |(lower, upper, _): &(&str, &str, &str)| *lower == from && *upper == dependency.name;
    if dependency.is_for_tests && TESTS_ABOVE.iter().any(is_listed) {
        return true;
    }
    // A crate may name itself to switch on its features in its tests.
    (dependency.is_for_tests && dependency.name == from) || stands_below(dependency.name, from)
}

/// Whether `lower` is reached from `upper` through [`EDGES`].
fn stands_below(lower: &str, upper: &str) -> bool {
    let imported = EDGES.iter().find(|(name, _)| *name == upper).map_or(&[][..], |(_, imported)| imported);
    imported.iter().any(|name| *name == lower || stands_below(lower, name))
}

/// Examples that other tools than cargo build, each with the tool that does.
const APART: &[(&str, &str)] =
    &[("examples/my-test-rust/Cargo.toml", "maturin, for an environment of Python")];

/// Examples that are no members of the workspace: nothing would build or test them.
fn examples_outside(manifests: &[Manifest], files: &[TextFile]) -> Vec<Violation> {
    let is_example = |path: &str| {
        let folder = path.strip_prefix("examples/").and_then(|path| path.strip_suffix("/Cargo.toml"));
        folder.is_some_and(|folder| !folder.contains('/'))
    };
    let outside = files.iter().filter(|file| is_example(&file.path));
    let outside = outside.filter(|file| manifests.iter().all(|manifest| manifest.path != file.path));
    let outside = outside.filter(|file| APART.iter().all(|(path, _)| *path != file.path));
    let what = "the example is no member of the workspace, so nothing tests it, add it to `members`";
    outside
        .map(|file| Violation { file: file.path.clone(), line: 1, rule: "examples", what: what.into() })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Checks the violations of one crate with these dependencies: (name, kind, whether it is in the workspace).
    fn check_imports(name: &str, dependencies: &[(&str, Option<&str>, bool)], expected: &[&str]) {
        let listed: Vec<Value> = dependencies
            .iter()
            .map(|(name, kind, local)| json!({"name": name, "kind": kind, "path": local.then_some("a")}))
            .collect();
        let path = format!("crates/{name}/Cargo.toml");
        let lines: Vec<String> =
            dependencies.iter().map(|(name, ..)| format!("{name}.workspace = true")).collect();
        let files = [TextFile { path: path.clone(), text: format!("[dependencies]\n{}", lines.join("\n")) }];
        let package = json!({"name": name, "manifest_path": format!("/a/{path}"), "dependencies": listed});
        let found = check(&[package], Path::new("/a"), &files);
        let shown: Vec<String> =
            found.iter().map(|violation| format!("{}: {}", violation.line, violation.what)).collect();
        assert_eq!(shown.len(), expected.len(), "{name}: {shown:?}");
        for (shown, expected) in shown.iter().zip(expected) {
            assert!(shown.starts_with(expected), "{shown} is not {expected}");
        }
    }

    #[test]
    fn a_crate_imports_what_stands_below_it() {
        let local = |name| (name, None, true);
        check_imports("opgrid-macros", &[local("opgrid-schema")], &[]);
        check_imports("opgrid-core", &[local("opgrid-schema"), local("opgrid-macros")], &[]);
        check_imports("opgrid-tensor", &[local("opgrid-core"), local("opgrid-macros")], &[]);
        check_imports("opgrid-cli", &[local("opgrid"), local("opgrid-core")], &[]);
    }

    #[test]
    fn an_import_against_the_order_is_found() {
        let local = |name| (name, None, true);
        check_imports(
            "opgrid-schema",
            &[local("opgrid-macros")],
            &["2: `opgrid-schema` imports `opgrid-macros`"],
        );
        check_imports(
            "opgrid-core",
            &[local("opgrid-schema"), local("opgrid-tensor")],
            &["3: `opgrid-core` imports"],
        );
        check_imports("opgrid-gpu", &[local("opgrid-plugin")], &["2: `opgrid-gpu` imports `opgrid-plugin`"]);
        check_imports("opgrid-cli", &[local("opgrid-python")], &["2: `opgrid-cli` imports"]);
        check_imports("opgrid-cli", &[local("xtask")], &["2: `opgrid-cli` imports `xtask`"]);
        check_imports("opgrid-core", &[("opgrid-tensor", Some("dev"), true)], &["2: `opgrid-core` imports"]);
    }

    #[test]
    fn the_conformance_suite_is_for_tests_only() {
        check_imports("opgrid-gpu", &[("opgrid-testing", Some("dev"), true)], &[]);
        check_imports("opgrid-gpu", &[("opgrid-testing", None, true)], &["2: `opgrid-gpu` imports"]);
        check_imports("opgrid-core", &[("opgrid-testing", Some("dev"), true)], &["2: `opgrid-core` imports"]);
    }

    #[test]
    fn tests_may_import_from_above_where_that_is_listed() {
        check_imports("opgrid-nn", &[("opgrid", Some("dev"), true)], &[]);
        check_imports("opgrid-nn", &[("opgrid", None, true)], &["2: `opgrid-nn` imports `opgrid`"]);
        check_imports(
            "opgrid-array",
            &[("opgrid", Some("dev"), true)],
            &["2: `opgrid-array` imports `opgrid`"],
        );
        assert!(TESTS_ABOVE.iter().all(|(.., reason)| reason.len() > 20));
    }

    #[test]
    fn operators_are_walled_off() {
        let local = |name| (name, None, true);
        check_imports("opgrid-nn", &[local("opgrid-operators")], &["2: `opgrid-nn` imports"]);
        check_imports("opgrid-tensor", &[local("opgrid-kernels")], &["2: `opgrid-tensor` imports"]);
        check_imports(
            "opgrid-operators-shapes",
            &[local("opgrid-kernels"), local("opgrid-operators-algebra")],
            &["3: `opgrid-operators-shapes` imports"],
        );
    }

    #[test]
    fn the_lowest_crates_import_only_what_is_listed() {
        check_imports("opgrid-core", &[("hashbrown", None, false), ("rayon", Some("dev"), false)], &[]);
        check_imports(
            "opgrid-core",
            &[("rayon", None, false)],
            &["2: `opgrid-core` imports `rayon` from elsewhere"],
        );
        check_imports("opgrid-schema", &[("winnow", None, false)], &["2: `opgrid-schema` imports `winnow`"]);
        check_imports("opgrid-array", &[("rayon", None, false)], &["2: `opgrid-array` imports `rayon`"]);
        check_imports("opgrid-cli", &[("rayon", None, false)], &[]);
    }

    #[test]
    fn a_crate_without_a_row_is_found() {
        check_imports("opgrid-new", &[], &["1: crate `opgrid-new` has no row"]);
    }

    #[test]
    fn an_example_outside_the_workspace_is_found() {
        let file = |path: &str| TextFile { path: path.into(), text: String::new() };
        let files = [
            file("examples/inside/Cargo.toml"),
            file("examples/outside/Cargo.toml"),
            file("examples/data/a.npy"),
        ];
        let package =
            json!({"name": "inside", "manifest_path": "/a/examples/inside/Cargo.toml", "dependencies": []});
        let found = check(&[package], Path::new("/a"), &files);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].file.as_str(), found[0].rule), ("examples/outside/Cargo.toml", "examples"));
    }
}
