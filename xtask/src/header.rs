//! `cargo xtask header`: writes the C header of the plugin interface from the types of `opgrid-abi`.
//!
//! The generator is a package of its own in `xtask/header`, because cbindgen takes long to build and only who changes the
//! interface needs it. A test of `opgrid-abi` compares the fingerprint in the header with the sources.

use crate::failure::Failure;
use crate::workspace::{Workspace, passes};

/// The header, below the root: where the Python package takes it along.
const HEADER: &str = "python/opgrid/include/opgrid.h";

/// Writes the header; with `--check`, only compares it.
///
/// # Errors
/// The arguments are wrong (a usage error), the generator does not build, or the header is another one.
pub fn run(arguments: &[String]) -> Result<(), Failure> {
    let check = match arguments {
        [] => false,
        [only] if only == "--check" => true,
        _ => return Err(Failure::usage("`header` takes `--check` or nothing")),
    };
    let workspace = Workspace::current()?;
    let sources = workspace.root().join("crates/opgrid-abi/src");
    let mut generate = workspace.cargo();
    generate.args(["build", "--quiet", "--locked", "--manifest-path", "xtask/header/Cargo.toml"]);
    let folder = workspace.target()?.join("header");
    passes(generate.arg("--target-dir").arg(&folder))?;
    let program = folder.join("debug/header");
    let output = std::process::Command::new(&program)
        .arg(&sources)
        .output()
        .map_err(|error| Failure::new(format!("cannot run {}: {error}", program.display())))?;
    if !output.status.success() {
        return Err(Failure::new(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    let path = workspace.root().join(HEADER);
    let known = std::fs::read(&path).unwrap_or_default();
    match (known == output.stdout, check) {
        (true, _) => Ok(()),
        (false, true) => Err(Failure::new(format!("{HEADER} is out of date; run `cargo xtask header`"))),
        (false, false) => std::fs::write(&path, &output.stdout)
            .map_err(|error| Failure::new(format!("cannot write {}: {error}", path.display()))),
    }
}
