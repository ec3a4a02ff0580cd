//! Reads and writes arrays as numpy's `.npy` and `.npz` files and as `.safetensors` files.
//!
//! Nothing is believed that a file says about itself: sizes are compared with the length of the file before memory is
//! allocated, and every error names the file, the place and what was expected there. Files are written whole or not
//! at all.
//!
//! | file | arrays | dtypes |
//! |---|---|---|
//! | `.npy` | one | all but bfloat16, which numpy does not have |
//! | `.npz` | any number by name | the same |
//! | `.safetensors` | any number by name | all but complex128, which the format does not have |

mod elements;
mod header;
pub mod mapped;
pub mod npy;
pub mod npz;
pub mod safetensors;
mod whole;

use std::fmt::Display;
use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::Path;

use opgrid_core::{Device, Error, Result};

use crate::error;
use crate::{Array, TensorSpec};

/// The endings of files that hold several arrays.
const SETS: [&str; 2] = [".npz", ".safetensors"];

/// Whether a text looks like what [`read`] takes.
pub fn is_spec(text: &str) -> bool {
    text.contains(".np") || text.contains(".safetensors")
}

/// Creates or replaces a file with `text`, whole or not at all.
///
/// # Errors
///
/// Those of the file system; the file at `path` is as it was.
pub fn write_text(path: &Path, text: &str) -> Result<()> {
    let failed = |error| whole::io_error(path, "cannot be written", error);
    whole::write(path, |file| file.write_all(text.as_bytes()).map_err(failed))
}

/// Opens a file for reading.
///
/// # Errors
///
/// A file that is not there or cannot be read; a folder or a device.
///
/// # Examples
///
/// ```
/// let error = opgrid_array::files::open("missing.pt2".as_ref()).unwrap_err();
/// assert!(error.message().starts_with("missing.pt2: cannot be read: there is no such file"));
/// ```
pub fn open(path: &Path) -> Result<File> {
    whole::open(path).map(|(file, _)| file)
}

/// The text of a file.
///
/// # Errors
///
/// As [`open`]; bytes that are no UTF-8.
///
/// # Examples
///
/// ```
/// let path = std::env::temp_dir().join(format!("opgrid-read-text-{}.txt", std::process::id()));
/// std::fs::write(&path, "one").unwrap();
/// assert_eq!(opgrid_array::files::read_text(&path)?, "one");
/// # std::fs::remove_file(path).unwrap();
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub fn read_text(path: &Path) -> Result<String> {
    let mut text = String::new();
    let read = open(path)?.read_to_string(&mut text);
    read.map_err(|error| whole::io_error(path, "cannot be read as text", error))?;
    Ok(text)
}

/// Creates or replaces a file with what `content` writes, whole or not at all: into a temporary file in the same folder, which then
/// takes the name.
///
/// # Errors
///
/// Those of `content` and of the file system; the file at `path` is as it was.
///
/// # Examples
///
/// ```
/// use std::io::Write;
///
/// let path = std::env::temp_dir().join(format!("opgrid-write-with-{}.txt", std::process::id()));
/// opgrid_array::files::write_with(&path, |file| {
///     file.write_all(b"one").expect("there is room for three bytes");
///     Ok(())
/// })?;
/// assert_eq!(std::fs::read(&path).unwrap(), b"one");
/// # std::fs::remove_file(path).unwrap();
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub fn write_with(path: &Path, content: impl FnOnce(&mut BufWriter<File>) -> Result<()>) -> Result<()> {
    whole::write(path, content)
}

/// Reads `x.npy`, or the array `name` of a set as `set.npz:name` or `set.safetensors:name`.
///
/// # Errors
///
/// Another ending, a file that cannot be read or is broken, a set without that name, a dtype without support.
///
/// # Examples
///
/// ```
/// use opgrid_array::{Array, files};
///
/// let folder = std::env::temp_dir().join(format!("opgrid-files-{}", std::process::id()));
/// std::fs::create_dir_all(&folder).unwrap();
/// let path = folder.join("set.npz");
/// let w = Array::from_slice(&[1.0f32, 2.0], &[2])?;
/// files::npz::write(&path, &[("w", &w)])?;
/// let read = files::read(&format!("{}:w", path.display()))?;
/// assert_eq!(read.to_vec::<f32>()?, [1.0, 2.0]);
/// # std::fs::remove_dir_all(&folder).unwrap();
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub fn read(spec: &str) -> Result<Array> {
    for ending in SETS {
        let Some(at) = spec.find(&format!("{ending}:")) else { continue };
        let (path, name) = spec.split_at(at + ending.len());
        let read = if ending == ".npz" { npz::read } else { safetensors::read };
        return read(Path::new(path), &name[1..]);
    }
    if SETS.iter().any(|ending| spec.ends_with(ending)) {
        let names = if spec.ends_with(".npz") { npz::names } else { safetensors::names };
        let names = names(Path::new(spec))?.join(", ");
        let message =
            format!("{spec}: such a file holds several arrays; write {spec}:NAME with one of {names}");
        return Err(error::file(message));
    }
    if spec.ends_with(".npy") {
        return npy::read(Path::new(spec));
    }
    Err(error::file(format!(
        "{spec}: unknown kind of file, expected NAME.npy, NAME.npz:ARRAY or NAME.safetensors:ARRAY"
    )))
}

/// Writes `x.npy`, or a set that holds the one array `name` as `set.npz:name` or `set.safetensors:name`. A file of that
/// name is replaced, whole or not at all. Memory of a device is copied first.
///
/// # Errors
///
/// Another ending, a folder that cannot be written, a dtype without support; an array without data or whose memory is
/// being written.
pub fn write(spec: &str, array: &Array) -> Result<()> {
    let on_cpu = TensorSpec::new(array.geometry().clone(), array.dtype(), Device::CPU);
    let array = &Array::new(on_cpu, array.storage().on_cpu()?)?;
    for ending in SETS {
        let Some(at) = spec.find(&format!("{ending}:")) else { continue };
        let (path, name) = spec.split_at(at + ending.len());
        let write = if ending == ".npz" { npz::write } else { safetensors::write };
        return write(Path::new(path), &[(&name[1..], array)]);
    }
    if spec.ends_with(".npy") {
        return npy::write(Path::new(spec), array);
    }
    Err(error::file(format!(
        "{spec}: unknown kind of file, expected NAME.npy, NAME.npz:ARRAY or NAME.safetensors:ARRAY"
    )))
}

/// An error at a byte of the file.
#[cold]
fn broken(name: &str, at: usize, found: impl Display, expected: &str) -> Error {
    error::file(format!("{name}: byte {at}: found {found}, expected {expected}"))
}

/// # Errors
///
/// A name that is empty or occurs twice.
fn expect_distinct(path: &Path, arrays: &[(&str, &Array)]) -> Result<()> {
    let mut names: Vec<&str> = arrays.iter().map(|(name, _)| *name).collect();
    names.sort_unstable();
    let twice = names.windows(2).find(|two| two[0] == two[1]).map(|two| two[0]);
    match twice.or(names.first().copied().filter(|name| name.is_empty())) {
        None => Ok(()),
        Some(name) => {
            let message = format!("{}: array name `{name}` is empty or occurs twice", path.display());
            Err(error::file(message))
        }
    }
}
