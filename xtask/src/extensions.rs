//! `cargo xtask extensions`: the extensions in `examples/my-test-*` as people get them.
//!
//! A wheel of the package is installed into a fresh environment by `pip`, then an extension from its sources, which `pip` builds
//! apart, with what its `pyproject.toml` names. The program of the first page then prints exactly what it says there.
//! `--wheel FILE` takes a wheel that was built before: the one of `pip wheel .` takes minutes.

use crate::failure::Failure;
use crate::python::fresh_environment;
use crate::wheel;
use crate::workspace::{Workspace, output, passes};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The extensions, each a folder of `examples`.
const EXTENSIONS: &[&str] = &["my-test-cpp", "my-test-rust"];

const PROGRAM: &str = "\
import opgrid as og, my_test
my_test.hello_world(3)
x = og.tensor([1.0, 2.0, 3.0])
print(my_test.add_1(x))
my_test.enable_hook(True)
y = my_test.add_1(x)
y = y + 1
my_test.enable_hook(False)
print(y)
";

const PRINTED: &str = "\
Hello World! 3
tensor([2., 3., 4.])
Custom hook called 0 times
  Operator: aten::add_1
Custom hook called 1 times
  Operator: aten::add
tensor([3., 4., 5.])
";

/// Installs each extension beside the package and compares what it prints.
///
/// # Errors
/// The command line is wrong (a usage error); something does not build or install; another text is printed.
pub fn run(arguments: &[String]) -> Result<(), Failure> {
    let workspace = Workspace::current()?;
    let folder = workspace.target()?.join("extensions");
    let wheel = match arguments {
        [] => wheel::build(&workspace, &folder.join("wheels"))?,
        [flag, file] if flag == "--wheel" => PathBuf::from(file),
        _ => return Err(Failure::usage("`extensions` takes `--wheel FILE` or nothing")),
    };
    for extension in EXTENSIONS {
        println!("installing {extension} into a fresh environment");
        let environment = folder.join(extension);
        let python = fresh_environment(&workspace, &environment)?;
        passes(pip(&python).arg(&wheel))?;
        // A copy, because some tools write beside their sources.
        let source = environment.join("source");
        passes(
            Command::new("cp").arg("-r").arg(workspace.root().join("examples").join(extension)).arg(&source),
        )?;
        keep_sdk(&workspace, &source)?;
        // The environment in which pip builds takes the package from the same wheel.
        passes(pip(&python).arg("--find-links").arg(parent(&wheel)).arg(&source))?;
        let printed = output(Command::new(&python).current_dir(&environment).args(["-c", PROGRAM]))?;
        if printed != PRINTED {
            return Err(Failure::new(format!("{extension} printed\n{printed}expected\n{PRINTED}")));
        }
        println!("{extension} prints what it should");
    }
    Ok(())
}

fn pip(python: &Path) -> Command {
    let mut command = Command::new(python);
    command.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    command
}

fn parent(file: &Path) -> &Path {
    file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Lets a copied crate find the crates of this workspace, which its manifest names by relative paths.
fn keep_sdk(workspace: &Workspace, source: &Path) -> Result<(), Failure> {
    let manifest = source.join("Cargo.toml");
    let Ok(text) = std::fs::read_to_string(&manifest) else { return Ok(()) };
    let crates = workspace.root().join("crates").display().to_string();
    let text = text.replace("../../crates", &crates);
    std::fs::write(&manifest, text)
        .map_err(|error| Failure::new(format!("cannot write {}: {error}", manifest.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_takes_a_wheel_or_nothing() {
        for line in [&["--fast"][..], &["--wheel"], &["a.whl"], &["--wheel", "a.whl", "b"]] {
            let arguments: Vec<String> = line.iter().map(ToString::to_string).collect();
            assert!(run(&arguments).unwrap_err().is_usage(), "{line:?}");
        }
        assert_eq!(parent(Path::new("a.whl")), Path::new("."));
        assert_eq!(parent(Path::new("dist/a.whl")), Path::new("dist"));
    }
}
