//! Where plugins are looked for.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::{env, fs};

use opgrid_core::{Error, ErrorKind, Result};

/// The environment variable with the folders, separated by `:`, in which plugins are found by name.
pub const PATH_VARIABLE: &str = "OPGRID_PLUGIN_PATH";

/// The largest library that is read, in bytes: more than any library has.
const LARGEST: u64 = 1 << 32;

/// The file of a plugin: the path itself, or, of a name without `/` that is no file here, `libNAME.so` or `NAME.so` in the
/// first folder of `OPGRID_PLUGIN_PATH` that has one.
///
/// # Errors
///
/// [`ErrorKind::File`] with the places that were looked at.
///
/// # Examples
///
/// ```
/// let error = opgrid_plugin::find("no_such_plugin".as_ref()).unwrap_err();
/// assert!(error.to_string().contains("no_such_plugin"));
/// ```
pub fn find(asked: &Path) -> Result<PathBuf> {
    if asked.is_file() {
        return fs::canonicalize(asked).map_err(|error| unreadable(asked, &error));
    }
    let is_name = asked.components().count() == 1;
    let folders: Vec<PathBuf> = match env::var_os(PATH_VARIABLE).filter(|_| is_name) {
        Some(list) => env::split_paths(&list).filter(|folder| !folder.as_os_str().is_empty()).collect(),
        None => Vec::new(),
    };
    let name = asked.display().to_string();
    let candidates = [format!("lib{name}.so"), format!("{name}.so"), name.clone()];
    let places = folders.iter().flat_map(|folder| candidates.iter().map(move |file| folder.join(file)));
    if let Some(found) = places.into_iter().find(|path| path.is_file()) {
        return fs::canonicalize(&found).map_err(|error| unreadable(&found, &error));
    }
    let looked = match (is_name, folders.as_slice()) {
        (true, []) => format!(
            "there is no such file, and {PATH_VARIABLE} names no folder to look for `lib{name}.so` in"
        ),
        (true, folders) => {
            let folders: Vec<_> = folders.iter().map(|folder| folder.display().to_string()).collect();
            format!("there is no such file, nor `lib{name}.so` or `{name}.so` in {}", folders.join(", "))
        }
        (false, _) => "there is no such file".to_owned(),
    };
    let message = format!("plugin `{name}`: {looked}; give the path of the library");
    Err(Error::new(ErrorKind::File, message).caused_by(std::io::Error::from(std::io::ErrorKind::NotFound)))
}

/// The bytes of a file.
pub(crate) fn bytes_of(path: &Path) -> Result<Vec<u8>> {
    let size = fs::metadata(path).map_err(|error| unreadable(path, &error))?.len();
    if size > LARGEST {
        let message = format!("{}: {size} bytes, expected a library of at most {LARGEST}", path.display());
        return Err(Error::new(ErrorKind::File, message));
    }
    fs::read(path).map_err(|error| unreadable(path, &error))
}

fn unreadable(path: &Path, error: &std::io::Error) -> Error {
    Error::new(
        ErrorKind::File,
        format!("{}: {error}; give the path of a library that can be read", path.display()),
    )
}

/// The text of a path, as places of registrations name it.
pub(crate) fn shown(path: &Path) -> String {
    String::from_utf8_lossy(path.as_os_str().as_bytes()).into_owned()
}
