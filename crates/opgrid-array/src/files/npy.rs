//! One array in numpy's `.npy` format, versions 1 to 3.

use std::io::{self, Read, Write};
use std::path::Path;

use opgrid_core::Result;

use super::broken;
use super::elements;
use super::header::{self, Header, MAGIC};
use super::whole::{self, io_error};
use crate::loops::copy;
use crate::{Array, Dims, Geometry, Storage, TensorSpec};

/// Reads a file. Big-endian elements and Fortran order are converted; the result is row-major.
///
/// # Errors
///
/// A file that cannot be read; one that is not what numpy writes, with the place; a dtype without support.
///
/// # Examples
///
/// ```no_run
/// let array = opgrid_array::files::npy::read("x.npy".as_ref())?;
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub fn read(path: &Path) -> Result<Array> {
    let (mut file, length) = whole::open(path)?;
    from_stream(&path.display().to_string(), &mut file, length)
}

/// Writes `array`, whole or not at all.
///
/// # Errors
///
/// A folder that cannot be written; an array without data or whose memory is being written.
pub fn write(path: &Path, array: &Array) -> Result<()> {
    whole::write(path, |writer| encode(&path.display().to_string(), array, writer))
}

/// Writes `array` to a stream such as the standard output; `name` is what messages call it.
///
/// # Errors
///
/// A stream that takes no more; an array without data or whose memory is being written.
///
/// # Examples
///
/// ```
/// use opgrid_array::{Array, files::npy};
///
/// let mut bytes = Vec::new();
/// npy::write_to("memory", &Array::from_slice(&[1.0f32, 2.0], &[2])?, &mut bytes)?;
/// assert_eq!(npy::decode("memory", &bytes)?.to_vec::<f32>()?, [1.0, 2.0]);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub fn write_to(name: &str, array: &Array, writer: &mut dyn Write) -> Result<()> {
    encode(name, array, writer)
}

/// Reads a file that is in memory; `name` is what messages call it.
///
/// # Errors
///
/// As [`read`].
pub fn decode(name: &str, bytes: &[u8]) -> Result<Array> {
    let mut rest = bytes;
    from_stream(name, &mut rest, bytes.len() as u64)
}

/// Reads an array from a stream that is said to have `length` bytes; `name` is for messages.
pub(super) fn from_stream(name: &str, reader: &mut dyn Read, length: u64) -> Result<Array> {
    let mut source = Source { name, reader, at: 0, length };
    let (header, bytes) = source.checked_header()?;
    let storage = Storage::cpu(bytes)?;
    {
        let mut guard = storage.write()?;
        source.fill(guard.bytes(), "data")?;
        elements::make_native(header.dtype, header.big_endian, guard.bytes());
    }
    source.end()?;
    let columns = shaped(&header, storage)?;
    if columns.geometry().is_contiguous() { Ok(columns) } else { copy::contiguous(&columns) }
}

/// What the header of a file in memory says, and where the elements are in it.
pub(super) fn locate(name: &str, bytes: &[u8]) -> Result<(Header, usize)> {
    let mut rest = bytes;
    let mut source = Source { name, reader: &mut rest, at: 0, length: bytes.len() as u64 };
    let (header, _) = source.checked_header()?;
    let at = source.at as usize;
    Ok((header, at))
}

/// Writes an array to a stream; `name` is for messages.
pub(super) fn encode(name: &str, array: &Array, writer: &mut dyn Write) -> Result<()> {
    let header = header::encode(name, array.dtype(), array.sizes())?;
    writer.write_all(&header).map_err(|error| io_error(name.as_ref(), "cannot be written", error))?;
    elements::write(name, array, writer)
}

/// The array that a header describes, in the order of the file.
pub(super) fn shaped(header: &Header, storage: Storage) -> Result<Array> {
    let device = opgrid_core::Device::CPU;
    if !header.fortran_order || header.sizes.len() < 2 {
        return Array::new(TensorSpec::contiguous(&header.sizes, header.dtype, device)?, storage);
    }
    let reversed: Dims = header.sizes.iter().rev().copied().collect();
    let order: Dims = (0..reversed.len() as i64).rev().collect();
    let geometry = Geometry::contiguous(&reversed)?.permute(&order)?;
    Array::new(TensorSpec::new(geometry, header.dtype, device), storage)
}

/// A stream with a position.
struct Source<'a> {
    name: &'a str,
    reader: &'a mut dyn Read,
    at: u64,
    length: u64,
}

impl Source<'_> {
    /// The header and the number of bytes behind it, which are as many as it asks for.
    fn checked_header(&mut self) -> Result<(Header, usize)> {
        let header = self.header()?;
        let size = header.dtype.size_in_bytes();
        let rest = self.length.saturating_sub(self.at);
        match (header.numel as u64).checked_mul(size as u64) {
            Some(bytes) if bytes == rest => Ok((header, bytes as usize)),
            _ => {
                let (numel, sizes) = (header.numel, &header.sizes);
                let expected =
                    format!("{numel} elements of {size} bytes as the header's shape {sizes:?} says");
                let found = format_args!("{rest} bytes of data");
                Err(broken(self.name, self.at as usize, found, &expected))
            }
        }
    }

    fn header(&mut self) -> Result<Header> {
        let start: [u8; 8] = self.take("magic and version")?;
        if start[..6] != *MAGIC {
            let found = format!("`{}`", start[..6].escape_ascii());
            return Err(broken(self.name, 0, found, "`\\x93NUMPY`, the magic of .npy files"));
        }
        let length = match (start[6], start[7]) {
            (1, 0) => u32::from(u16::from_le_bytes(self.take("header length")?)),
            (2 | 3, 0) => u32::from_le_bytes(self.take("header length")?),
            (major, minor) => {
                let found = format!("format version {major}.{minor}");
                return Err(broken(self.name, 6, found, "version 1.0, 2.0 or 3.0"));
            }
        };
        let at = self.at;
        if u64::from(length) > self.length.saturating_sub(at) {
            let found = format!("a header of {length} bytes in a file of {} bytes", self.length);
            return Err(broken(self.name, 8, found, "a header that ends within the file"));
        }
        let mut text = vec![0; length as usize];
        self.fill(&mut text, "header")?;
        header::decode(self.name, &text, at as usize)
    }

    fn take<const N: usize>(&mut self, what: &str) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        self.fill(&mut bytes, what)?;
        Ok(bytes)
    }

    fn fill(&mut self, bytes: &mut [u8], what: &str) -> Result<()> {
        let wanted = bytes.len();
        self.reader.read_exact(bytes).map_err(|error| {
            let found = match error.kind() {
                io::ErrorKind::UnexpectedEof => "the end of the file".to_owned(),
                _ => error.to_string(),
            };
            broken(self.name, self.at as usize, found, &format!("{wanted} bytes of {what}")).caused_by(error)
        })?;
        self.at += wanted as u64;
        Ok(())
    }

    /// Makes sure that nothing follows; a compressed stream checks its sum when it says so.
    fn end(&mut self) -> Result<()> {
        match self.reader.read(&mut [0]) {
            Ok(0) => Ok(()),
            Ok(_) => Err(broken(self.name, self.at as usize, "more bytes", "the end of the data")),
            Err(error) => {
                let found = error.to_string();
                Err(broken(self.name, self.at as usize, found, "intact data").caused_by(error))
            }
        }
    }
}
