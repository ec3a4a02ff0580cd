//! The plugin's file, and dispatchers to load it.

use std::path::{Path, PathBuf};

use opgrid::{Dispatcher, Registration};
// The library is built because the tests depend on it; what they use is the file.
use plugin_failures as _;

/// A copy of the plugin, so that its statics are those of one test.
///
/// # Panics
///
/// The library is not where cargo puts it.
pub fn file(name: &str) -> PathBuf {
    let program = std::env::current_exe().unwrap();
    let places = program.ancestors().skip(1).take(2).map(|folder| folder.join("libplugin_failures.so"));
    let built =
        places.into_iter().find(|path| path.is_file()).expect("cargo builds the library beside its tests");
    // Cargo makes the folder when it compiles the tests, not when they are there already.
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    std::fs::create_dir_all(folder).unwrap();
    let copy = folder.join(format!("librusty_{name}.so"));
    std::fs::copy(built, &copy).unwrap();
    copy
}

/// A dispatcher with the operators of opgrid.
///
/// # Panics
///
/// They cannot be registered.
pub fn subject() -> (Dispatcher, Registration) {
    let dispatcher = Dispatcher::new();
    let operators = opgrid::ops::register(&dispatcher).unwrap();
    (dispatcher, operators)
}
