//! Reads and writes arrays as numpy's `.npy` and `.npz` files.
//!
//! Nothing is believed that a file says about itself: sizes are compared with the length of the file before memory is
//! allocated, and every error names the file, the place and what was expected there. Files are written whole or not
//! at all.

mod header;
pub mod npy;
pub mod npz;
mod whole;

use std::io::Write;
use std::path::Path;

use opgrid_core::Result;

use crate::error;
use crate::tensor::Array;

/// Creates or replaces a file with `text`, whole or not at all.
///
/// # Errors
///
/// Those of the file system; the file at `path` is as it was.
pub fn write_text(path: &Path, text: &str) -> Result<()> {
    let failed = |error| whole::io_error(path, "cannot be written", error);
    whole::write(path, |file| file.write_all(text.as_bytes()).map_err(failed))
}

/// Reads `x.npy`, or the array `name` of an archive as `set.npz:name`.
///
/// # Errors
///
/// Another ending, a file that cannot be read or is broken, an archive without that name, a dtype without support.
///
/// # Examples
///
/// ```
/// use opgrid_tensor::{Array, files};
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
    if let Some(at) = spec.find(".npz:") {
        let (path, name) = (&spec[..at + ".npz".len()], &spec[at + ".npz:".len()..]);
        return npz::read(Path::new(path), name);
    }
    if spec.ends_with(".npz") {
        let names = npz::names(Path::new(spec))?.join(", ");
        let message =
            format!("{spec}: an archive holds several arrays; write {spec}:NAME with one of {names}");
        return Err(error::file(message));
    }
    if spec.ends_with(".npy") {
        return npy::read(Path::new(spec));
    }
    Err(error::file(format!("{spec}: unknown kind of file, expected NAME.npy or NAME.npz:ARRAY")))
}
