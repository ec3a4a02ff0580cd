//! `cargo xtask asan [GROUP…]`: the tests under AddressSanitizer and its search for leaks.
//!
//! The sanitizer belongs to nightly compilers; a stable one has it too and wants to be told that it may. Tests that run the
//! Rust compiler are left out: what they check is another program. Plugins are instrumented as their host is, in Rust by the
//! same flags, in C and C++ by the tests that build them.

use crate::failure::Failure;
use crate::workspace::{Workspace, host, passes};
use serde_json::Value;
use std::collections::BTreeSet;

/// The packages that hold unsafe code, the lowest one, and the suite that calls every operator; then what loads plugins, and
/// plugins that pass the suite and that fail. What stands together is compiled together, and has a name.
const GROUPS: &[(&str, &[&str])] = &[
    ("schema", &["opgrid-schema"]),
    ("core", &["opgrid-core"]),
    ("tensor", &["opgrid-array", "opgrid-kernels", "opgrid-jit", "opgrid-tensor", "opgrid-operators"]),
    ("operators", &["opgrid-testing"]),
    ("plugins", &["opgrid-plugin", "opgrid-plugin-sdk", "plugin-backend", "plugin-failures"]),
];

/// The sanitizer, and the notes that the cache of tensors' memory makes for it: which bytes of a block are in use. Programs
/// export their symbols, because the plugins that they open take the sanitizer's functions from there.
const FLAGS: &str = "-Zsanitizer=address --cfg opgrid_asan -Clink-arg=-rdynamic";

/// Tests ask for more memory than there is, and look at the error. Tests open copies of a plugin, whose variables have one name
/// in all of them: that is no second definition.
const OPTIONS: &str = "allocator_may_return_null=1:max_allocation_size_mb=2048:detect_odr_violation=0";

/// Runs a test with the library of C++ in the process from the start: the sanitizer looks up once, before any plugin brings
/// that library, who throws exceptions.
const RUNNER: &str = "env LD_PRELOAD=libstdc++.so.6";

/// Tests that run the compiler.
const LEFT_OUT: &[&str] = &["compile_fail"];

/// Runs the tests of the groups named in `arguments`, or of all.
///
/// # Errors
/// There is no such group (a usage error), or a test fails.
pub fn run(arguments: &[String]) -> Result<(), Failure> {
    let groups = chosen(arguments)?;
    let workspace = Workspace::current()?;
    let (packages, host) = (workspace.packages()?, host()?);
    let runner = format!("CARGO_TARGET_{}_RUNNER", host.to_uppercase().replace('-', "_"));
    for together in groups {
        let mut command = workspace.cargo();
        command.args(["test", "--target", &host, "--lib"]);
        command.args(together.iter().flat_map(|package| ["--package", package]));
        let tests: BTreeSet<_> = together.iter().flat_map(|package| tests_of(&packages, package)).collect();
        command.args(tests.iter().flat_map(|test| ["--test", test]));
        command.arg("--target-dir").arg(workspace.target()?.join("asan"));
        command.env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", FLAGS);
        command.env("ASAN_OPTIONS", OPTIONS).env(&runner, RUNNER);
        // Freed memory is kept for a while, so that resident memory says nothing.
        command.env("OPGRID_STRESS_MEMORY", "unchecked");
        passes(&mut command)?;
    }
    println!("AddressSanitizer found nothing");
    Ok(())
}

/// The packages of the groups that were named.
fn chosen(arguments: &[String]) -> Result<Vec<&'static [&'static str]>, Failure> {
    if arguments.is_empty() {
        return Ok(GROUPS.iter().map(|(_, packages)| *packages).collect());
    }
    let group = |argument: &String| {
        let found = GROUPS.iter().find(|(name, _)| name == argument);
        let names: Vec<&str> = GROUPS.iter().map(|(name, _)| *name).collect();
        let unknown = || {
            let names = names.join(", ");
            Failure::usage(format!("`asan` has no group `{argument}`; name some of {names}, or none for all"))
        };
        found.map(|(_, packages)| *packages).ok_or_else(unknown)
    };
    arguments.iter().map(group).collect()
}

/// The integration tests of a package, but for those that are left out.
fn tests_of<'p>(packages: &'p [Value], name: &str) -> Vec<&'p str> {
    let package = packages.iter().find(|package| package["name"] == name);
    let targets = package.and_then(|package| package["targets"].as_array()).into_iter().flatten();
    let tests = targets.filter(|target| target["kind"][0] == "test");
    tests.filter_map(|target| target["name"].as_str()).filter(|name| !LEFT_OUT.contains(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn groups_are_chosen_by_name() {
        let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(chosen(&[]).unwrap().len(), GROUPS.len());
        assert_eq!(chosen(&names(&["core", "schema"])).unwrap(), [&["opgrid-core"], &["opgrid-schema"]]);
        let error = chosen(&names(&["plugin"])).unwrap_err();
        assert!(error.is_usage() && error.to_string().contains("schema, core, tensor, operators, plugins"));
    }

    #[test]
    fn integration_tests_run_but_for_those_that_compile() {
        let target = |name: &str, kind: &str| json!({"name": name, "kind": [kind]});
        let packages = [
            json!({"name": "other", "targets": [target("another", "test")]}),
            json!({"name": "core", "targets": [
                target("core", "lib"), target("calls", "test"), target("compile_fail", "test"), target("b", "bench"),
            ]}),
        ];
        assert_eq!(tests_of(&packages, "core"), ["calls"]);
        assert_eq!(tests_of(&packages, "none"), [""; 0]);
    }
}
