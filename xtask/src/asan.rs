//! `cargo xtask asan`: the tests under AddressSanitizer and its search for leaks.
//!
//! The sanitizer belongs to nightly compilers; a stable one has it too and wants to be told that it may. Tests that run a
//! compiler are left out: what they check is another program.

use crate::failure::Failure;
use crate::workspace::{Workspace, host, passes};
use serde_json::Value;

/// The packages that hold unsafe code, the lowest one, and the suite that calls every operator.
const PACKAGES: &[&str] = &["opgrid-schema", "opgrid-core", "opgrid-tensor", "opgrid-testing"];

/// The sanitizer, and the notes that the cache of tensors' memory makes for it: which bytes of a block are in use.
const FLAGS: &str = "-Zsanitizer=address --cfg opgrid_asan";

/// Tests that run the compiler.
const LEFT_OUT: &[&str] = &["compile_fail"];

/// Runs the tests; they take no arguments.
///
/// # Errors
/// There are arguments (a usage error), or a test fails.
pub fn run(arguments: &[String]) -> Result<(), Failure> {
    if let Some(argument) = arguments.first() {
        return Err(Failure::usage(format!("`asan` takes no arguments, found `{argument}`; leave it out")));
    }
    let workspace = Workspace::current()?;
    let (packages, host) = (workspace.packages()?, host()?);
    for package in PACKAGES {
        let mut command = workspace.cargo();
        command.args(["test", "--package", package, "--target", &host, "--lib"]);
        let tests = tests_of(&packages, package);
        command.args(tests.iter().flat_map(|test| ["--test", test]));
        command.arg("--target-dir").arg(workspace.target()?.join("asan"));
        command.env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", FLAGS);
        // Tests ask for more memory than there is, and look at the error.
        command.env("ASAN_OPTIONS", "allocator_may_return_null=1:max_allocation_size_mb=2048");
        // Freed memory is kept for a while, so that resident memory says nothing.
        command.env("OPGRID_STRESS_MEMORY", "unchecked");
        passes(&mut command)?;
    }
    println!("AddressSanitizer found nothing");
    Ok(())
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
