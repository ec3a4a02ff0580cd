//! Several arrays by name in numpy's `.npz` format: a zip archive of `.npy` files, stored or deflated.

use std::fs::File;
use std::io::{BufReader, Cursor, Read, Seek};
use std::path::{Path, PathBuf};

use opgrid_core::{Error, Result};
use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use super::expect_distinct;
use super::npy;
use super::whole::{self, Target};
use crate::error;
use crate::tensor::Array;

/// Deflate cannot make more than this many bytes of one.
const LARGEST_RATIO: u64 = 1032;
/// Files in an archive beyond this size need its 64-bit fields.
const LARGE: u64 = 1 << 31;
const ENDING: &str = ".npy";

/// An archive and where it comes from, for messages.
struct Archive<R> {
    name: PathBuf,
    /// How many bytes it has.
    length: u64,
    zip: ZipArchive<R>,
}

/// The names of the arrays, in the order of the archive.
///
/// # Errors
///
/// A file that cannot be read or is no archive; an entry that is no array.
pub fn names(path: &Path) -> Result<Vec<String>> {
    Archive::open(path)?.names()
}

/// All arrays with their names, in the order of the archive.
///
/// # Errors
///
/// As [`names`] and [`npy::read`].
pub fn read_all(path: &Path) -> Result<Vec<(String, Array)>> {
    let mut archive = Archive::open(path)?;
    let arrays = archive.names()?.into_iter().enumerate();
    arrays.map(|(index, name)| archive.entry(index).map(|array| (name, array))).collect()
}

/// The array of one name.
///
/// # Errors
///
/// As [`read_all`]; an archive without that name, with the names it has.
pub fn read(path: &Path, name: &str) -> Result<Array> {
    Archive::open(path)?.named(name)
}

/// The array of one name in an archive that is in memory; `archive` is what messages call it.
///
/// # Errors
///
/// As [`read`].
pub fn decode(archive: &str, bytes: &[u8], name: &str) -> Result<Array> {
    Archive::new(archive.into(), bytes.len() as u64, Cursor::new(bytes))?.named(name)
}

/// Writes arrays under their names, uncompressed, whole or not at all.
///
/// # Errors
///
/// A name that is empty or occurs twice; a folder that cannot be written; an array without data or whose memory is
/// being written.
pub fn write(path: &Path, arrays: &[(&str, &Array)]) -> Result<()> {
    expect_distinct(path, arrays)?;
    whole::write(path, |writer| write_archive(path, arrays, writer))
}

fn write_archive(path: &Path, arrays: &[(&str, &Array)], target: impl Target) -> Result<()> {
    let mut archive = ZipWriter::new(target);
    for (name, array) in arrays {
        let bytes = (array.geometry().numel() as u64).saturating_mul(array.dtype().size_in_bytes() as u64);
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            .large_file(bytes > LARGE);
        archive.start_file(format!("{name}{ENDING}"), options).map_err(|error| broken(path, name, error))?;
        npy::encode(&format!("{}:{name}", path.display()), array, &mut archive)?;
    }
    archive.finish().map_err(|error| broken(path, "directory", error))?;
    Ok(())
}

impl Archive<BufReader<File>> {
    fn open(path: &Path) -> Result<Self> {
        let (file, length) = whole::open(path)?;
        Self::new(path.to_owned(), length, BufReader::new(file))
    }
}

impl<R: Read + Seek> Archive<R> {
    fn new(name: PathBuf, length: u64, reader: R) -> Result<Self> {
        let zip = ZipArchive::new(reader).map_err(|error| {
            let message = format!(
                "{}: the zip directory at the end of the file: {error}, expected an archive as numpy's savez writes",
                name.display()
            );
            error::file(message).caused_by(error)
        })?;
        Ok(Self { name, length, zip })
    }

    fn names(&self) -> Result<Vec<String>> {
        let name = |index| match self.zip.name_for_index(index) {
            Some(Ok(name)) => array_name(&self.name, &name),
            Some(Err(error)) => Err(broken(&self.name, &format!("name of entry {index}"), error)),
            None => Err(broken(&self.name, &format!("name of entry {index}"), ZipError::FileNotFound)),
        };
        (0..self.zip.len()).map(name).collect()
    }

    fn named(&mut self, name: &str) -> Result<Array> {
        match self.zip.index_for_name(&format!("{name}{ENDING}")) {
            Some(index) => self.entry(index),
            None => {
                let known = self.names()?.join(", ");
                let message = format!("{}: no array `{name}`, expected one of {known}", self.name.display());
                Err(error::file(message))
            }
        }
    }

    fn entry(&mut self, index: usize) -> Result<Array> {
        let path = &self.name;
        let mut file =
            self.zip.by_index(index).map_err(|error| broken(path, &format!("entry {index}"), error))?;
        let name = file.name().map_err(|error| broken(path, &format!("name of entry {index}"), error))?;
        let name = format!("{}:{}", path.display(), array_name(path, &name)?);
        let (packed, size) = (file.compressed_size(), file.size());
        let largest = match file.compression() {
            CompressionMethod::Stored => packed,
            _ => packed.saturating_mul(LARGEST_RATIO),
        };
        if packed > self.length || size > largest {
            let length = self.length;
            let message = format!(
                "{name}: the zip directory says {size} bytes packed into {packed}, which the file's {length} bytes cannot hold"
            );
            return Err(error::file(message));
        }
        npy::from_stream(&name, &mut file, size)
    }
}

/// The name of the array in a file of the archive.
fn array_name(path: &Path, file: &str) -> Result<String> {
    file.strip_suffix(ENDING).map(str::to_owned).ok_or_else(|| {
        let message =
            format!("{}: entry `{file}` is no array, expected a name that ends in {ENDING}", path.display());
        error::file(message)
    })
}

#[cold]
fn broken(path: &Path, place: &str, cause: ZipError) -> Error {
    error::file(format!("{}: {place}: {cause}", path.display())).caused_by(cause)
}
