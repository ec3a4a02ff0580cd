//! A wheel of the Python package: built as people build it, looked into, and used in an environment that has nothing else.

use crate::failure::Failure;
use crate::python::fresh_environment;
use crate::workspace::{Workspace, output, passes};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Lists what pip installed: the version, then the files of the package.
const LIST: &str = "\
import importlib.metadata as metadata
print(metadata.version('opgrid'))
for file in metadata.files('opgrid'):
    print(file)
";

/// Uses the package: an operator, a gradient, a definition, a program, and the headers for plugins.
const PROGRAM: &str = "\
import pathlib
import opgrid as og
from opgrid.library import custom_op
x = og.ones(3, requires_grad=True)
(x * 2).sum().backward()
print(x.grad)
@custom_op('wheel::twice', mutates_args=())
def twice(x: og.Tensor) -> og.Tensor:
    return x * 2
print(twice(og.ones(2)))
print(og.export.export(og.nn.ReLU(), (-og.ones(2),)).module()(-og.ones(2)))
print((pathlib.Path(og.get_include()) / 'opgrid.h').is_file())
";

const PRINTED: &str = "\
tensor([2., 2., 2.])
tensor([2., 2.])
tensor([0., 0.])
True
";

/// Builds a wheel with the profile of wheels, which takes minutes, into an empty folder.
///
/// # Errors
/// Python is missing, or the wheel does not build.
pub fn build(workspace: &Workspace, folder: &Path) -> Result<PathBuf, Failure> {
    let _ = std::fs::remove_dir_all(folder);
    let python = fresh_environment(workspace, &folder.with_extension("environment"))?;
    let mut build = Command::new(python);
    build.args(["-m", "pip", "wheel", "--disable-pip-version-check", "--no-deps", "--wheel-dir"]).arg(folder);
    passes(build.arg(workspace.root()))?;
    let failed = |error| Failure::new(format!("cannot read {}: {error}", folder.display()));
    let mut files =
        std::fs::read_dir(folder).map_err(failed)?.filter_map(Result::ok).map(|entry| entry.path());
    files
        .find(|file| file.extension() == Some(OsStr::new("whl")))
        .ok_or_else(|| Failure::new(format!("pip left no wheel in {}", folder.display())))
}

/// Installs a wheel into an empty environment without the network, and checks its version, its files and what it does.
///
/// # Errors
/// The wheel cannot be installed, lacks a file of the package or has another one, has another version, or prints something else.
pub fn check(workspace: &Workspace, wheel: &Path) -> Result<(), Failure> {
    let environment = workspace.target()?.join("wheel-environment");
    let python = fresh_environment(workspace, &environment)?;
    let mut install = Command::new(&python);
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index"]);
    passes(install.arg(wheel))?;
    // The folder of the environment has no package of that name, which would be imported instead.
    let run = |program| output(Command::new(&python).current_dir(&environment).args(["-I", "-c", program]));
    let listed = run(LIST)?;
    let (version, files) = listed.split_once('\n').unwrap_or_default();
    let expected = version_of(&workspace.packages()?)?;
    if version != expected {
        return Err(Failure::new(format!("the wheel has version {version}, expected {expected}")));
    }
    let faults = faults(files.lines(), &sources(workspace)?);
    if !faults.is_empty() {
        return Err(Failure::new(faults.join("\n")));
    }
    let printed = run(PROGRAM)?;
    if printed != PRINTED {
        return Err(Failure::new(format!("the wheel printed\n{printed}expected\n{PRINTED}")));
    }
    println!(
        "{}: version {version}, {} files; works in an empty environment",
        wheel.display(),
        files.lines().count()
    );
    Ok(())
}

/// The version of the package, which is that of its crate.
fn version_of(packages: &[serde_json::Value]) -> Result<String, Failure> {
    let package = packages.iter().find(|package| package["name"] == "opgrid-python");
    let version = package.and_then(|package| package["version"].as_str()).map(String::from);
    version.ok_or_else(|| Failure::new("there is no crate `opgrid-python` in the workspace"))
}

/// The files of the package in the sources, as a wheel names them.
fn sources(workspace: &Workspace) -> Result<BTreeSet<String>, Failure> {
    let files = workspace.files()?;
    Ok(files
        .iter()
        .filter_map(|file| file.strip_prefix("python/"))
        .filter(|file| file.starts_with("opgrid/"))
        .map(String::from)
        .collect())
}

/// What a wheel lacks of the sources, and what it has beside them, the module and its own metadata.
fn faults<'f>(files: impl Iterator<Item = &'f str>, sources: &BTreeSet<String>) -> Vec<String> {
    // Installing compiles the sources, and lists what it has compiled.
    let files: BTreeSet<&str> = files.filter(|file| !file.contains("__pycache__")).collect();
    let is_module = |file: &str| file.starts_with("opgrid/_opgrid.") && file.ends_with(".so");
    let is_metadata =
        |file: &str| file.split('/').next().is_some_and(|folder| folder.ends_with(".dist-info"));
    let lacking = sources.iter().filter(|source| !files.contains(source.as_str()));
    let mut faults: Vec<String> = lacking.map(|source| format!("the wheel lacks {source}")).collect();
    if !files.iter().any(|file| is_module(file)) {
        faults.push("the wheel lacks the module opgrid/_opgrid….so".to_owned());
    }
    let others =
        files.iter().filter(|file| !sources.contains(**file) && !is_module(file) && !is_metadata(file));
    faults.extend(others.map(|file| format!("the wheel has {file}, which is no file of python/opgrid")));
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(files: &[&str], expected: &[&str]) {
        let sources = ["opgrid/__init__.py", "opgrid/py.typed"].map(String::from).into();
        assert_eq!(faults(files.iter().copied(), &sources), expected, "{files:?}");
    }

    #[test]
    fn a_wheel_has_the_package_and_the_module() {
        let whole = [
            "opgrid/__init__.py",
            "opgrid/py.typed",
            "opgrid/_opgrid.cpython-311.so",
            "opgrid-0.1.0.dist-info/METADATA",
        ];
        check(&whole, &[]);
        check(&[&whole[..], &["opgrid/__pycache__/__init__.cpython-311.pyc"]].concat(), &[]);
        check(&whole[1..], &["the wheel lacks opgrid/__init__.py"]);
        check(&[&whole[..2], &whole[3..]].concat(), &["the wheel lacks the module opgrid/_opgrid….so"]);
        check(
            &[&whole[..], &["tests/test_tensor.py"]].concat(),
            &["the wheel has tests/test_tensor.py, which is no file of python/opgrid"],
        );
    }

    #[test]
    fn the_version_is_that_of_the_crate() {
        let packages = [serde_json::json!({"name": "opgrid-python", "version": "0.2.0"})];
        assert_eq!(version_of(&packages).unwrap(), "0.2.0");
        assert!(version_of(&[]).is_err());
    }
}
