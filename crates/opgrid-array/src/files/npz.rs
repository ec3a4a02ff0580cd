//! Several arrays by name in numpy's `.npz` format: a zip archive of `.npy` files, stored or deflated.
//!
//! An archive may hold other things as well: folders, files of another kind, arrays of strings or of Python objects. As in
//! numpy, they are in nobody's way until somebody asks for them: [`contents`] says what was left out and why.

use std::fs::File;
use std::io::{BufReader, Cursor, Read, Seek};
use std::path::{Path, PathBuf};

use opgrid_core::{Error, ErrorKind, Result};
use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use super::expect_distinct;
use super::header::MAGIC;
use super::npy;
use super::whole::{self, Target};
use crate::Array;
use crate::error;

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

/// What an archive holds, in its order.
#[derive(Debug)]
pub struct Contents {
    /// The arrays with their names.
    pub arrays: Vec<(String, Array)>,
    /// The names of members that are no arrays or whose dtype has no support, with the error of whoever asks for one.
    pub left_out: Vec<(String, Error)>,
}

/// The names of the arrays, in the order of the archive, those of unsupported dtypes included.
///
/// # Errors
///
/// A file that cannot be read or is no archive.
pub fn names(path: &Path) -> Result<Vec<String>> {
    Archive::open(path)?.names()
}

/// All arrays that can be read, with their names, in the order of the archive. Strings, objects and members that are no
/// arrays are left out; [`contents`] says which.
///
/// # Errors
///
/// As [`contents`].
pub fn read_all(path: &Path) -> Result<Vec<(String, Array)>> {
    contents(path).map(|contents| contents.arrays)
}

/// All arrays that can be read, and what was left out.
///
/// # Errors
///
/// A file that cannot be read, is no archive or is broken; one that holds something, but nothing that can be read.
pub fn contents(path: &Path) -> Result<Contents> {
    let mut archive = Archive::open(path)?;
    let mut found = Contents { arrays: Vec::new(), left_out: Vec::new() };
    for member in archive.members()? {
        if !member.is_array {
            let error = no_array(&archive.name, &member.name);
            found.left_out.push((member.name, error));
            continue;
        }
        match archive.entry(member.index) {
            Ok(array) => found.arrays.push((member.name, array)),
            Err(error) if error.kind() == ErrorKind::NotImplemented => {
                found.left_out.push((member.name, error));
            }
            Err(error) => return Err(error),
        }
    }
    if found.arrays.is_empty() && !found.left_out.is_empty() {
        Err(found.left_out.remove(0).1)
    } else {
        Ok(found)
    }
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

    /// What is in the archive apart from folders.
    fn members(&mut self) -> Result<Vec<Member>> {
        let mut members = Vec::with_capacity(self.zip.len());
        for index in 0..self.zip.len() {
            let path = &self.name;
            let unnamed = |error| broken(path, &format!("name of entry {index}"), error);
            let mut file =
                self.zip.by_index(index).map_err(|error| broken(path, &format!("entry {index}"), error))?;
            let (name, is_folder) = (file.name().map_err(unnamed)?.into_owned(), file.is_dir());
            if is_folder {
                continue;
            }
            let mut start = [0; MAGIC.len()];
            let is_array = name.ends_with(ENDING) || (file.read_exact(&mut start).is_ok() && start == *MAGIC);
            members.push(Member { index, name: array_name(&name).to_owned(), is_array });
        }
        Ok(members)
    }

    fn names(&mut self) -> Result<Vec<String>> {
        let arrays = self.members()?.into_iter().filter(|member| member.is_array);
        Ok(arrays.map(|member| member.name).collect())
    }

    fn named(&mut self, name: &str) -> Result<Array> {
        let members = self.members()?;
        match members.iter().find(|member| member.name == name) {
            Some(member) if member.is_array => self.entry(member.index),
            Some(member) => Err(no_array(&self.name, &member.name)),
            None => {
                let known: Vec<_> =
                    members.into_iter().filter(|it| it.is_array).map(|member| member.name).collect();
                let expected = if known.is_empty() {
                    "an archive that holds arrays".to_owned()
                } else {
                    format!("one of {}", known.join(", "))
                };
                let message = format!("{}: no array `{name}`, expected {expected}", self.name.display());
                Err(error::file(message))
            }
        }
    }

    fn entry(&mut self, index: usize) -> Result<Array> {
        let path = &self.name;
        let mut file =
            self.zip.by_index(index).map_err(|error| broken(path, &format!("entry {index}"), error))?;
        let name = file.name().map_err(|error| broken(path, &format!("name of entry {index}"), error))?;
        let name = format!("{}:{}", path.display(), array_name(&name));
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

/// A member of an archive.
struct Member {
    index: usize,
    /// Without the ending of arrays.
    name: String,
    /// Whether its name or its first bytes say so.
    is_array: bool,
}

/// What the array in a file of the archive is called.
fn array_name(file: &str) -> &str {
    file.strip_suffix(ENDING).unwrap_or(file)
}

#[cold]
fn no_array(path: &Path, member: &str) -> Error {
    let path = path.display();
    error::file(format!(
        "{path}: member `{member}` is no array, expected one as numpy.save writes it; unpack other files with a zip tool"
    ))
}

#[cold]
fn broken(path: &Path, place: &str, cause: ZipError) -> Error {
    error::file(format!("{}: {place}: {cause}", path.display())).caused_by(cause)
}
