//! Provides a PyTorch to compare with: a Python environment that has it, and C++ programs linked against it.
//!
//! The environment is the folder `.torch` in the root, made on first use and kept. An interpreter that already has
//! the right version is named by the variable [`PYTHON`].

use crate::failure::Failure;
use crate::workspace::{Workspace, shown};
use serde_json::Value;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The environment variable that names an interpreter which has PyTorch and NumPy.
pub const PYTHON: &str = "OPGRID_TORCH_PYTHON";

/// The version that opgrid is compared with; patch releases are equal.
const VERSION: &str = "2.15";

/// The folder of the environment, relative to the root.
const FOLDER: &str = ".torch";

/// Prints what a compiler has to know about the installed wheel, as JSON.
const PROBE: &str = "\
import json, numpy, torch
from torch.utils import cpp_extension
print(json.dumps({'version': torch.__version__, 'include': cpp_extension.include_paths(),
                  'lib': cpp_extension.library_paths(), 'abi': int(torch.compiled_with_cxx11_abi())}))";

/// An installed PyTorch.
#[derive(Debug)]
pub struct Torch {
    python: PathBuf,
    /// Whether the environment is the project's own, into which packages may be installed.
    own: bool,
    version: String,
    include: Vec<String>,
    lib: Vec<String>,
    /// Whether strings and lists are those of the C++11 library.
    cxx11_abi: bool,
}

impl Torch {
    /// The PyTorch that [`PYTHON`] names, else that of the project's environment, which is made if there is none.
    ///
    /// # Errors
    /// The interpreter lacks PyTorch, NumPy or the right version; Python is missing; the packages cannot be had.
    pub fn prepare(workspace: &Workspace) -> Result<Self, Failure> {
        if let Some(python) = std::env::var_os(PYTHON) {
            return Self::from_python(PathBuf::from(&python)).map_err(|error| {
                let python = python.display();
                Failure::new(format!(
                    "{PYTHON} names `{python}`, which does not serve: {error}; name an interpreter that has torch \
                     {VERSION} and numpy, or unset the variable to have one made"
                ))
            });
        }
        let folder = workspace.root().join(FOLDER);
        let python = folder.join("bin/python");
        if python.is_file()
            && let Ok(torch) = Self::from_python(python.clone())
        {
            return Ok(Self { own: true, ..torch });
        }
        println!("installing torch {VERSION} into {FOLDER}; this happens once and takes some minutes");
        make_environment(workspace, &folder)?;
        Ok(Self { own: true, ..Self::from_python(python)? })
    }

    /// Makes sure that packages can be imported beside torch: installs them into the project's environment, in the version that
    /// follows the name where there is one.
    ///
    /// # Errors
    /// One is missing and the interpreter was named by the user, or it cannot be had.
    pub fn require(&self, packages: &[&str]) -> Result<(), Failure> {
        let mut import = self.python();
        let names: Vec<&str> = packages.iter().filter_map(|package| package.split("==").next()).collect();
        import.args(["-c", &format!("import {}", names.join(", "))]);
        if import.output().is_ok_and(|output| output.status.success()) {
            return Ok(());
        }
        let mut install = self.python();
        install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(packages);
        if !self.own {
            return Err(Failure::new(format!(
                "the interpreter that {PYTHON} names lacks one of {}; install them with `{}`",
                packages.join(", "),
                shown(&install)
            )));
        }
        println!("installing {} into {FOLDER}", packages.join(", "));
        passes(&mut install)
            .map_err(|error| Failure::new(format!("{error}; installing packages needs the network")))
    }

    /// Asks an interpreter what it has.
    fn from_python(python: PathBuf) -> Result<Self, Failure> {
        let mut command = Command::new(&python);
        let output = command.args(["-c", PROBE]).output();
        let output =
            output.map_err(|error| Failure::new(format!("cannot run `{}`: {error}", python.display())))?;
        if !output.status.success() {
            let messages = String::from_utf8_lossy(&output.stderr);
            let last = messages.lines().last().unwrap_or("no message").to_owned();
            return Err(Failure::new(format!(
                "`{}` cannot import torch and numpy: {last}",
                python.display()
            )));
        }
        Self::from_probe(python, &String::from_utf8_lossy(&output.stdout))
    }

    fn from_probe(python: PathBuf, printed: &str) -> Result<Self, Failure> {
        let probe: Value = serde_json::from_str(printed.lines().last().unwrap_or_default())
            .map_err(|error| Failure::new(format!("the interpreter printed what is not JSON: {error}")))?;
        let strings = |name: &str| -> Vec<String> {
            let listed = probe[name].as_array().into_iter().flatten();
            listed.filter_map(Value::as_str).map(String::from).collect()
        };
        let version = probe["version"].as_str().unwrap_or_default().to_owned();
        if version.split('.').take(2).ne(VERSION.split('.')) {
            return Err(Failure::new(format!("it has torch {version}, expected {VERSION}")));
        }
        let cxx11_abi = probe["abi"] == 1;
        Ok(Self { python, own: false, version, include: strings("include"), lib: strings("lib"), cxx11_abi })
    }

    /// The version as PyTorch prints it.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// A command of the interpreter.
    pub fn python(&self) -> Command {
        Command::new(&self.python)
    }

    /// Compiles one C++ file to a program that finds PyTorch's libraries by itself, and says where it lies.
    ///
    /// What was compiled is used again as long as file, headers beside it, `options`, compiler and PyTorch are the
    /// same.
    ///
    /// # Errors
    /// A file cannot be read, `g++` is missing, or the program does not compile.
    pub fn compile(
        &self,
        workspace: &Workspace,
        source: &Path,
        options: &[&str],
    ) -> Result<PathBuf, Failure> {
        let text = read(source)?;
        let name = source.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let folder = workspace.target()?.join("torch");
        std::fs::create_dir_all(&folder)
            .map_err(|error| Failure::new(format!("cannot make {}: {error}", folder.display())))?;
        let mut hasher = DefaultHasher::new();
        (&text, headers_beside(source)?, &self.version, &self.lib, options, compiler_version()?)
            .hash(&mut hasher);
        let program = folder.join(format!("{name}-{:016x}", hasher.finish()));
        if program.is_file() {
            return Ok(program);
        }
        println!("compiling {} against torch {}", source.display(), self.version);
        // Another run may compile the same program; whoever is last puts a whole file in place.
        let unfinished = program.with_extension(std::process::id().to_string());
        passes(&mut self.compile_command(source, options, &unfinished))?;
        std::fs::rename(&unfinished, &program)
            .map_err(|error| Failure::new(format!("cannot make {}: {error}", program.display())))?;
        Ok(program)
    }

    fn compile_command(&self, source: &Path, options: &[&str], program: &Path) -> Command {
        let mut command = Command::new(COMPILER);
        // Without `NDEBUG` the wheel's inline functions check and trace what its compiled ones do not.
        command.args(["-std=c++20", "-O3", "-DNDEBUG", "-g1", "-pthread"]).args(options);
        command.arg(format!("-D_GLIBCXX_USE_CXX11_ABI={}", u8::from(self.cxx11_abi)));
        for folder in &self.include {
            // As a system folder, so that warnings are about the project's own code.
            command.args(["-isystem", folder]);
        }
        command.arg(source).arg("-o").arg(program);
        for folder in &self.lib {
            command.arg(format!("-L{folder}")).arg(format!("-Wl,-rpath,{folder}"));
        }
        // The wheel's libraries find what they need themselves, by paths that the linker does not follow.
        command.args([
            "-Wl,--no-as-needed",
            "-Wl,--allow-shlib-undefined",
            "-ltorch",
            "-ltorch_cpu",
            "-lc10",
        ]);
        command
    }
}

fn read(file: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(file).map_err(|error| Failure::new(format!("cannot read {}: {error}", file.display())))
}

/// The headers in the folder of a C++ file, in the order of their names.
fn headers_beside(source: &Path) -> Result<Vec<Vec<u8>>, Failure> {
    let folder = source.parent().unwrap_or(Path::new("."));
    let failed = |error| Failure::new(format!("cannot read {}: {error}", folder.display()));
    let mut headers = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        headers.push(entry.map_err(failed)?.path());
    }
    headers.retain(|file| file.extension().is_some_and(|extension| extension == "h"));
    headers.sort();
    headers.iter().map(|file| read(file)).collect()
}

/// The compiler that the wheel's headers are written for.
const COMPILER: &str = "g++";

fn compiler_version() -> Result<String, Failure> {
    let output = Command::new(COMPILER).arg("--version").output().map_err(|error| match error.kind() {
        ErrorKind::NotFound => Failure::new(format!(
            "{COMPILER} is not installed, but comparing with torch needs a program compiled against it; install it, \
             as with `apt-get install g++`"
        )),
        _ => Failure::new(format!("cannot run {COMPILER}: {error}")),
    })?;
    Ok(String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().to_owned())
}

/// Makes the environment and installs the packages; what is there already is kept.
fn make_environment(workspace: &Workspace, folder: &Path) -> Result<(), Failure> {
    let has_python =
        Command::new("python3").arg("--version").output().is_ok_and(|output| output.status.success());
    if !has_python {
        return Err(Failure::new(format!(
            "python3 is not installed, but torch comes as a Python package; install Python 3.10 or newer with its \
             module venv, or name an interpreter that has torch {VERSION} with {PYTHON}"
        )));
    }
    passes(Command::new("python3").current_dir(workspace.root()).args(["-m", "venv"]).arg(folder)).map_err(
        |error| {
            Failure::new(format!(
                "{error}; install Python's module venv, as with `apt-get install python3-venv`"
            ))
        },
    )?;
    let mut install = Command::new(folder.join("bin/python"));
    install.args(["-m", "pip", "install", "--quiet", &format!("torch=={VERSION}.*"), "numpy"]);
    passes(&mut install).map_err(|error| {
        Failure::new(format!(
            "{error}; installing needs the network and some gigabytes in {FOLDER}; or name an interpreter that has \
             torch {VERSION} with {PYTHON}"
        ))
    })
}

/// Runs a command that prints for itself.
fn passes(command: &mut Command) -> Result<(), Failure> {
    let shown = shown(command);
    let status = command.status().map_err(|error| Failure::new(format!("cannot run `{shown}`: {error}")))?;
    if status.success() { Ok(()) } else { Err(Failure::new(format!("`{shown}` ended with {status}"))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probed(version: &str) -> Result<Torch, Failure> {
        let printed = format!(
            "a warning\n{{\"version\": \"{version}\", \"include\": [\"i\", \"j\"], \"lib\": [\"l\"], \"abi\": 1}}\n"
        );
        Torch::from_probe("python".into(), &printed)
    }

    #[test]
    fn the_version_decides_and_its_patch_does_not() {
        assert_eq!(probed("2.15.0+cu132").unwrap().version(), "2.15.0+cu132");
        assert!(probed("2.15.3").is_ok());
        for other in ["2.1.5", "2.16.0", "2", ""] {
            let error = probed(other).unwrap_err().to_string();
            assert_eq!(error, format!("it has torch {other}, expected 2.15"));
        }
        assert!(Torch::from_probe("python".into(), "hello").is_err());
    }

    #[test]
    fn what_is_missing_beside_torch_is_named() {
        let torch = Torch { python: "false".into(), ..probed("2.15.0").unwrap() };
        let error = torch.require(&["scipy", "expecttest"]).unwrap_err().to_string();
        assert!(error.contains("lacks one of scipy, expecttest") && error.contains("pip install"), "{error}");
    }

    #[test]
    fn programs_are_compiled_against_the_wheel_and_find_it_again() {
        let command =
            probed("2.15.0").unwrap().compile_command(Path::new("a.cpp"), &["-Wall"], Path::new("a"));
        let line = shown(&command);
        for part in
            ["-Wall", "-D_GLIBCXX_USE_CXX11_ABI=1", "-isystem i -isystem j", "a.cpp -o a", "-Wl,-rpath,l"]
        {
            assert!(line.contains(part), "{line}");
        }
    }

    #[test]
    fn an_interpreter_without_torch_is_named() {
        let error = Torch::from_python("false".into()).unwrap_err().to_string();
        assert_eq!(error, "`false` cannot import torch and numpy: no message");
        let error = Torch::from_python("no-such-program-here".into()).unwrap_err().to_string();
        assert!(error.contains("cannot run `no-such-program-here`"), "{error}");
    }
}
