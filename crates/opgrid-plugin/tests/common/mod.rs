//! Builds plugins of the tests with the system's compilers.

use std::path::{Path, PathBuf};
use std::process::Command;

use opgrid_core::{Dispatcher, Registration};
use opgrid_operators as _;

/// The root of the workspace.
#[allow(dead_code, reason = "not every test file compiles something")]
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Compiles a source below the root to a shared library of that name; its path.
///
/// # Panics
///
/// The compiler is missing or refuses the source.
#[allow(dead_code, reason = "as above")]
pub fn build(source: &str, name: &str, options: &[&str]) -> PathBuf {
    // Cargo makes the folder when it compiles the tests, not when they are there already.
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    std::fs::create_dir_all(folder).unwrap();
    let out = folder.join(format!("lib{name}.so"));
    let include = root().join("python/opgrid/include");
    let (compiler, standard) =
        if source.ends_with(".cpp") { ("c++", "-std=c++17") } else { ("cc", "-std=c11") };
    let object = out.with_extension("o");
    let mut compile = Command::new(compiler);
    compile.args(["-c", "-fPIC", "-O2", "-Wall", "-Wextra", "-Werror", standard, "-I"]).arg(include);
    // A plugin is checked as the host is. Whoever links an object without the flag links no sanitizer of its own; the one
    // of the program, which exports it, serves both.
    // With it gcc takes the empty `std::optional` for one that is read, so that this one warning is left out.
    let checked = &["-fsanitize=address", "-g", "-Wno-maybe-uninitialized"][..];
    compile.args(if cfg!(opgrid_asan) { checked } else { &[] });
    run(compile.args(options).arg("-o").arg(&object).arg(root().join(source)));
    run(Command::new(compiler).arg("-shared").arg("-o").arg(&out).arg(&object));
    out
}

fn run(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A dispatcher with the built-in operators.
///
/// # Panics
///
/// They cannot be registered.
#[allow(dead_code, reason = "not every test file has a dispatcher")]
pub fn subject() -> (Dispatcher, Registration) {
    let dispatcher = Dispatcher::new();
    let operators = opgrid_tensor::register(&dispatcher).unwrap();
    (dispatcher, operators)
}
