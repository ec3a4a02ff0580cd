//! `cargo xtask package`: what would be published.
//!
//! | arguments | checks |
//! |---|---|
//! | none | the crates: their manifests, what they contain, and that each builds from its package alone; takes minutes |
//! | `list` | manifests and contents alone, which takes seconds |
//! | `wheel` | a wheel of the Python package, which is built first, or `wheel FILE` one that is there |
//!
//! Cargo packs the crates together, so that each finds those below it in its package and not in this workspace. What a
//! registry would ask for and cargo does not is checked first, and by `tidy`: the strings that describe a crate.

use crate::failure::Failure;
use crate::wheel;
use crate::workspace::{Workspace, output, passes};
use serde_json::Value;
use std::path::Path;

/// The folder of the crates that are published; others say `publish = false`.
const LIBRARIES: &str = "/crates/";

/// What the manifest of a published crate has to say.
const TEXTS: &[&str] = &["description", "license", "readme", "rust_version"];
/// List fields that the manifest of a published crate needs.
const LISTS: &[&str] = &["keywords", "categories"];

/// What every package contains.
const FILES: &[&str] = &["Cargo.toml", "LICENSE-APACHE", "LICENSE-MIT", "README.md", "src/lib.rs"];
/// What cargo adds to packages by itself.
const ADDED: &[&str] = &[".cargo_vcs_info.json", "Cargo.lock", "Cargo.toml.orig"];

/// Checks crates or a wheel.
///
/// # Errors
/// The command line is wrong (a usage error); a manifest lacks something; a package lacks a file, has one too many or does not build;
/// the wheel is not as it should be.
pub fn run(arguments: &[String]) -> Result<(), Failure> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let builds = match words[..] {
        [] => true,
        ["list"] => false,
        ["wheel"] => {
            let workspace = Workspace::current()?;
            let file = wheel::build(&workspace, &workspace.target()?.join("wheels"))?;
            return wheel::check(&workspace, &file);
        }
        ["wheel", file] => return wheel::check(&Workspace::current()?, Path::new(file)),
        _ => {
            return Err(Failure::usage(format!(
                "`package` takes nothing, `list`, `wheel` or `wheel FILE`, found `{}`",
                words.join(" ")
            )));
        }
    };
    let workspace = Workspace::current()?;
    let packages = workspace.packages()?;
    let mut faults: Vec<String> = packages.iter().flat_map(self::faults).collect();
    let published = packages.iter().filter(|package| is_published(package));
    let names: Vec<&str> = published.filter_map(|package| package["name"].as_str()).collect();
    for name in &names {
        let mut list = workspace.cargo();
        let listed = output(list.args(["package", "--list", "--allow-dirty", "--package", name]))?;
        faults.extend(faults_of_contents(name, &listed));
    }
    if !faults.is_empty() {
        return Err(Failure::new(faults.join("\n")));
    }
    if !builds {
        println!("manifests and contents are as they should be: {}", names.join(", "));
        return Ok(());
    }
    let mut command = workspace.cargo();
    command.args(["package", "--allow-dirty"]);
    for name in &names {
        command.args(["--package", name]);
    }
    passes(&mut command)?;
    println!("packed and built from their packages: {}", names.join(", "));
    Ok(())
}

/// What a package lacks, and what it contains beside sources, by the list of its files.
fn faults_of_contents(name: &str, listed: &str) -> Vec<String> {
    let files: Vec<&str> = listed.lines().collect();
    let lacking = FILES.iter().filter(|file| !files.contains(file));
    let lacking =
        lacking.map(|file| format!("{name}: the package lacks {file}, name it in `include` of its manifest"));
    let is_source = |file: &str| file.starts_with("src/") && !file.contains("/tests/");
    let others =
        files.iter().filter(|file| !is_source(file) && !FILES.contains(file) && !ADDED.contains(file));
    let others = others.map(|file| {
        format!("{name}: the package contains {file}, leave it out of `include` of its manifest")
    });
    lacking.chain(others).collect()
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
    fn a_package_has_sources_and_texts_alone() {
        let whole = "Cargo.toml\nCargo.toml.orig\nLICENSE-APACHE\nLICENSE-MIT\nREADME.md\nsrc/keys/mod.rs\nsrc/lib.rs";
        assert!(faults_of_contents("opgrid-new", whole).is_empty());
        let without = whole.replace("LICENSE-MIT\n", "");
        assert_eq!(faults_of_contents("opgrid-new", &without).len(), 1);
        for more in ["tests/all.rs", "src/keys/tests/mod.rs", "big.npz"] {
            let faults = faults_of_contents("opgrid-new", &format!("{whole}\n{more}"));
            assert!(matches!(&faults[..], [fault] if fault.contains(more)), "{faults:?}");
        }
    }

    #[test]
    fn the_command_line_is_checked() {
        for line in [&["--fast"][..], &["list", "more"], &["wheel", "a.whl", "b.whl"]] {
            let arguments: Vec<String> = line.iter().map(ToString::to_string).collect();
            assert!(run(&arguments).unwrap_err().is_usage(), "{line:?}");
        }
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
