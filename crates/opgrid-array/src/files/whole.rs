//! Opens files for reading, and writes them whole or not at all: into a temporary file beside, which then takes the
//! name.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use opgrid_core::{Error, Result};

use crate::error;

/// Removes the temporary file unless it has got its final name.
struct Temporary {
    path: PathBuf,
    kept: bool,
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.kept {
            // Nothing more can be done about a file that cannot be removed; the first error is the one to report.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Creates or replaces the file at `path` with what `content` writes.
///
/// # Errors
///
/// Those of `content` and of the file system; the file at `path` is as it was.
pub(super) fn write(path: &Path, content: impl FnOnce(&mut BufWriter<File>) -> Result<()>) -> Result<()> {
    let failed = |error: io::Error| io_error(path, "cannot be written", error);
    let (file, mut temporary) = create_beside(path)?;
    let mut writer = BufWriter::new(file);
    content(&mut writer)?;
    writer.flush().map_err(failed)?;
    writer.get_ref().sync_all().map_err(failed)?;
    drop(writer);
    fs::rename(&temporary.path, path).map_err(failed)?;
    temporary.kept = true;
    Ok(())
}

/// Opens a file for reading; its length in bytes goes with it.
///
/// # Errors
///
/// Those of the file system; a folder or a device.
pub(super) fn open(path: &Path) -> Result<(File, u64)> {
    let failed = |error: io::Error| io_error(path, "cannot be read", error);
    let file = File::open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if !metadata.is_file() {
        let found = if metadata.is_dir() { "a folder" } else { "a device or a pipe" };
        return Err(error::file(format!("{}: it is {found}, expected a file", path.display())));
    }
    Ok((file, metadata.len()))
}

/// Opens a new file in the folder of `path`: only within one file system can it take the final name in one step.
fn create_beside(path: &Path) -> Result<(File, Temporary)> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let Some(name) = path.file_name() else {
        return Err(error::file(format!("{}: expected the name of a file", path.display())));
    };
    loop {
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{}-{}.tmp", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed)));
        let beside = path.with_file_name(hidden);
        match OpenOptions::new().write(true).create_new(true).open(&beside) {
            Ok(file) => return Ok((file, Temporary { path: beside, kept: false })),
            // Left behind by an earlier process of the same number.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let folder = path.parent().unwrap_or(path).display();
                let message = format!(
                    "{}: cannot be written, make its folder first: there is no folder {folder}",
                    path.display()
                );
                return Err(error::file(message).caused_by(error));
            }
            Err(error) => return Err(io_error(path, "cannot be written", error)),
        }
    }
}

/// An error of the file system, about `path`.
#[cold]
pub(super) fn io_error(path: &Path, what: &str, cause: io::Error) -> Error {
    if cause.kind() == io::ErrorKind::NotFound {
        let looked_up = match std::env::current_dir() {
            Ok(folder) if path.is_relative() => {
                format!("; the path is looked up from {}", folder.display())
            }
            _ => String::new(),
        };
        let message = format!("{}: {what}: there is no such file{looked_up}", path.display());
        return error::file(message).caused_by(cause);
    }
    error::file(format!("{}: {what}: {cause}", path.display())).caused_by(cause)
}

/// What the archive writer needs of its target.
pub(super) trait Target: Write + Seek {}

impl<T: Write + Seek> Target for T {}
