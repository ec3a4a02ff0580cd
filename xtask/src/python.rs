//! The Python package as the chores use it: an environment of its own, the module, and both put together.
//!
//! Everything lies in the folder `python` below cargo's target folder. The module is what `cargo build` makes, so that
//! nothing is compiled for Python alone but the crate `opgrid-python`.

use crate::failure::Failure;
use crate::workspace::{Workspace, passes};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The environment variable that names the interpreter to make the environment of.
const PYTHON: &str = "OPGRID_PYTHON";

/// What the tests import beside the package, and what extensions in C++ are built with.
const PACKAGES: &[&str] = &["mypy", "numpy", "pybind11", "pytest", "setuptools>=70.1"];

/// An environment in which the package can be imported.
pub struct Package {
    python: PathBuf,
    /// The folder that holds the package.
    site: PathBuf,
}

impl Package {
    /// Builds the module with a profile of cargo and puts the package together, in an environment that is made if
    /// there is none.
    ///
    /// # Errors
    /// Python or its module venv is missing, packages cannot be had, the module does not build.
    pub fn prepare(workspace: &Workspace, profile: &str) -> Result<Self, Failure> {
        let folder = workspace.target()?.join("python");
        let python = environment(workspace, &folder.join("environment"), PACKAGES)?;
        let site = Self::assemble(workspace, profile)?;
        Ok(Self { python, site })
    }

    /// Puts the package together beside other packages, in an environment of that name that is made if there is none.
    ///
    /// # Errors
    /// As [`prepare`](Self::prepare).
    pub fn beside(workspace: &Workspace, name: &str, packages: &[&str]) -> Result<Self, Failure> {
        let folder = workspace.target()?.join("python").join(format!("environment-{name}"));
        let python = environment(workspace, &folder, packages)?;
        let site = Self::assemble(workspace, "dev")?;
        Ok(Self { python, site })
    }

    /// Builds the module with a profile of cargo and puts the package together, without an environment.
    ///
    /// # Errors
    /// The module does not build, or a file cannot be copied.
    pub fn assemble(workspace: &Workspace, profile: &str) -> Result<PathBuf, Failure> {
        let target = workspace.target()?;
        let site = target.join("python").join(profile);
        // Features are those of all that is built together: with the tests beside it, the module takes what they are made of.
        let what: &[&str] = match profile {
            "dev" => &["--workspace", "--lib", "--bins", "--tests", "--examples"],
            _ => &["--package", "opgrid-python"],
        };
        passes(workspace.cargo().args(["build", "--profile", profile]).args(what))?;
        let package = site.join("opgrid");
        // What is no longer in the sources must not be found either.
        let _ = std::fs::remove_dir_all(&package);
        copy_folder(&workspace.root().join("python/opgrid"), &package)?;
        let built = target.join(if profile == "dev" { "debug" } else { profile }).join("libopgrid_python.so");
        copy(&built, &package.join("_opgrid.so"))?;
        Ok(site)
    }

    /// The folder that holds the package.
    pub fn site(&self) -> PathBuf {
        self.site.clone()
    }

    /// A command of the interpreter, which finds the package.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.python);
        // Nothing is written into the sources.
        command.env("PYTHONPATH", &self.site).env("PYTHONDONTWRITEBYTECODE", "1");
        command
    }
}

/// The interpreter of an environment with packages. What was installed is written down when it is complete.
fn environment(workspace: &Workspace, folder: &Path, packages: &[&str]) -> Result<PathBuf, Failure> {
    let python = folder.join("bin/python");
    let complete = folder.join("packages");
    let wanted = packages.join(" ");
    if python.is_file() && std::fs::read_to_string(&complete).is_ok_and(|installed| installed == wanted) {
        return Ok(python);
    }
    println!("making an environment for the Python package in {}; this happens once", folder.display());
    fresh_environment(workspace, folder)?;
    let mut install = Command::new(&python);
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(packages);
    passes(&mut install)
        .map_err(|error| Failure::new(format!("{error}; installing {wanted} needs the network")))?;
    write(&complete, &wanted)?;
    Ok(python)
}

/// An environment with nothing in it, in place of what lies in the folder; its interpreter.
///
/// # Errors
/// Python or its module venv is missing.
pub fn fresh_environment(workspace: &Workspace, folder: &Path) -> Result<PathBuf, Failure> {
    let interpreter = std::env::var_os(PYTHON).unwrap_or_else(|| "python3".into());
    let mut make = Command::new(&interpreter);
    make.current_dir(workspace.root()).args(["-m", "venv", "--clear"]).arg(folder);
    passes(&mut make).map_err(|error| {
        Failure::new(format!(
            "{error}; install Python 3.11 or newer with its module venv, as with `apt-get install python3-venv`, or name an \
             interpreter with {PYTHON}"
        ))
    })?;
    Ok(folder.join("bin/python"))
}

fn copy_folder(from: &Path, to: &Path) -> Result<(), Failure> {
    let failed = |error| Failure::new(format!("cannot copy {} to {}: {error}", from.display(), to.display()));
    std::fs::create_dir_all(to).map_err(failed)?;
    for entry in std::fs::read_dir(from).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            if entry.file_name() != "__pycache__" {
                copy_folder(&path, &target)?;
            }
        } else if path.extension().is_none_or(|end| end != "so") {
            // Without the module of `maturin develop`, which would be found first.
            copy(&path, &target)?;
        }
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    let copied = std::fs::copy(from, to).map(drop);
    copied
        .map_err(|error| Failure::new(format!("cannot copy {} to {}: {error}", from.display(), to.display())))
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text)
        .map_err(|error| Failure::new(format!("cannot write {}: {error}", path.display())))
}
