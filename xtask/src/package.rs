//! `cargo xtask package`: packs every library crate, and builds each from its package alone.
//!
//! Cargo packs the crates together, so that each finds those below it in its package and not in this workspace. What a
//! registry would ask for and cargo does not is checked first, and by `tidy`: the texts that describe a crate.

use crate::failure::Failure;
use crate::workspace::{Workspace, passes};
use serde_json::Value;

/// The folder of the crates that are published; others say `publish = false`.
const LIBRARIES: &str = "/crates/";

/// What the manifest of a published crate has to say.
const TEXTS: &[&str] = &["description", "license", "readme", "rust_version"];
/// The same, of lists.
const LISTS: &[&str] = &["keywords", "categories"];

/// Packs the library crates.
///
/// # Errors
/// There are arguments (a usage error), a manifest lacks something, or a package does not build.
pub fn run(arguments: &[String]) -> Result<(), Failure> {
    if let Some(argument) = arguments.first() {
        return Err(Failure::usage(format!(
            "`package` takes no arguments, found `{argument}`; leave it out"
        )));
    }
    let workspace = Workspace::current()?;
    let packages = workspace.packages()?;
    let faults: Vec<String> = packages.iter().flat_map(faults).collect();
    if !faults.is_empty() {
        return Err(Failure::new(faults.join("\n")));
    }
    let published = packages.iter().filter(|package| is_published(package));
    let names: Vec<&str> = published.filter_map(|package| package["name"].as_str()).collect();
    let mut command = workspace.cargo();
    command.args(["package", "--allow-dirty"]);
    for name in &names {
        command.args(["--package", name]);
    }
    passes(&mut command)?;
    println!("packed and built from their packages: {}", names.join(", "));
    Ok(())
}

/// `publish = false` is an empty list of registries.
fn is_published(package: &Value) -> bool {
    package["publish"].is_null()
}

/// What keeps a package from being published, or from being kept back.
pub fn faults(package: &Value) -> Vec<String> {
    let name = package["name"].as_str().unwrap_or_default();
    let path = package["manifest_path"].as_str().unwrap_or_default();
    if !is_published(package) {
        return Vec::new();
    }
    if !path.contains(LIBRARIES) {
        return vec![format!("{name} is no library crate, state `publish = false` in its manifest")];
    }
    let is_missing = |field: &&&str| match &package[**field] {
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => true,
    };
    let missing = TEXTS.iter().chain(LISTS).filter(is_missing);
    let mut faults: Vec<String> = missing
        .map(|field| format!("{name} has no `{}`, state it in its manifest", field.replace('_', "-")))
        .collect();
    let dependencies = package["dependencies"].as_array().into_iter().flatten();
    // Cargo leaves dependencies of tests without a version out of packages.
    let without_version =
        dependencies.filter(|it| it["path"].is_string() && it["req"] == "*" && it["kind"] != "dev");
    faults.extend(without_version.filter_map(|it| it["name"].as_str()).map(|dependency| {
        format!("{name}: its dependency {dependency} has a path and no version, state both in the workspace's manifest")
    }));
    faults
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn library() -> Value {
        json!({
            "name": "opgrid-new", "manifest_path": "/a/crates/opgrid-new/Cargo.toml", "publish": null,
            "description": "New", "license": "MIT", "readme": "README.md", "rust_version": "1.95",
            "keywords": ["new"], "categories": ["science"],
            "dependencies": [{"name": "opgrid-core", "path": "/a/crates/opgrid-core", "req": "^0.1.0"}],
        })
    }

    fn check(change: impl Fn(&mut Value), expected: &[&str]) {
        let mut package = library();
        change(&mut package);
        let found = faults(&package);
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (found, expected) in found.iter().zip(expected) {
            assert!(found.contains(expected), "{found}");
        }
    }

    #[test]
    fn a_library_says_what_it_is() {
        check(|_| (), &[]);
        check(|package| package["description"] = Value::Null, &["has no `description`"]);
        check(|package| package["readme"] = json!(""), &["has no `readme`"]);
        check(|package| package["keywords"] = json!([]), &["has no `keywords`"]);
        check(|package| package["rust_version"] = Value::Null, &["has no `rust-version`"]);
    }

    #[test]
    fn a_path_alone_is_found() {
        check(
            |package| package["dependencies"][0]["req"] = json!("*"),
            &["opgrid-core has a path and no version"],
        );
        check(
            |package| {
                package["dependencies"][0]["req"] = json!("*");
                package["dependencies"][0]["kind"] = json!("dev");
            },
            &[],
        );
    }

    #[test]
    fn an_example_is_kept_back() {
        let move_out = |package: &mut Value| package["manifest_path"] = json!("/a/examples/new/Cargo.toml");
        check(move_out, &["state `publish = false`"]);
        check(
            |package| {
                move_out(package);
                package["publish"] = json!([]);
            },
            &[],
        );
    }
}
