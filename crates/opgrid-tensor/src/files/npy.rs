//! One array in numpy's `.npy` format, versions 1 to 3.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use opgrid_core::{DType, Result};

use super::header::{self, Header, MAGIC, broken};
use super::whole::{self, io_error};
use crate::error;
use crate::kernels::copy;
use crate::tensor::{Array, Dims, Geometry, Storage, TensorSpec};

/// Reads a file. Big-endian elements and Fortran order are converted; the result is row-major.
///
/// # Errors
///
/// A file that cannot be read; one that is not what numpy writes, with the place; a dtype without support.
///
/// # Examples
///
/// ```no_run
/// let array = opgrid_tensor::files::npy::read("x.npy".as_ref())?;
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub fn read(path: &Path) -> Result<Array> {
    let failed = |error: io::Error| io_error(path, "cannot be read", error);
    let mut file = File::open(path).map_err(failed)?;
    let meta = file.metadata().map_err(failed)?;
    if !meta.is_file() {
        return Err(error::file(format!("{}: expected a file", path.display())));
    }
    decode(&path.display().to_string(), &mut file, meta.len())
}

/// Writes `array`, whole or not at all.
///
/// # Errors
///
/// A folder that cannot be written; an array without data or whose memory is being written.
pub fn write(path: &Path, array: &Array) -> Result<()> {
    whole::write(path, |writer| encode(&path.display().to_string(), array, writer))
}

/// Reads an array from a stream that is said to have `length` bytes; `name` is for messages.
pub(super) fn decode(name: &str, reader: &mut dyn Read, length: u64) -> Result<Array> {
    let mut source = Source { name, reader, at: 0, length };
    let header = source.header()?;
    let data = source.at;
    let bytes = (header.numel as u64).checked_mul(header.dtype.size_in_bytes() as u64);
    let rest = length.saturating_sub(data);
    let bytes = bytes.filter(|bytes| *bytes == rest).ok_or_else(|| {
        let expected = format!(
            "{} elements of {} bytes as the header's shape {:?} says",
            header.numel,
            header.dtype.size_in_bytes(),
            header.sizes
        );
        broken(name, data as usize, format_args!("{rest} bytes of data"), &expected)
    })?;
    let storage = Storage::cpu(bytes as usize)?;
    {
        let mut guard = storage.write()?;
        source.fill(guard.bytes(), "data")?;
        to_native(&header, guard.bytes());
    }
    source.end()?;
    shaped(&header, storage)
}

/// Writes an array to a stream; `name` is for messages.
pub(super) fn encode(name: &str, array: &Array, writer: &mut dyn Write) -> Result<()> {
    let header = header::encode(name, array.dtype(), array.sizes())?;
    let rows = if array.geometry().is_contiguous() { array.clone() } else { copy::contiguous(array)? };
    let guard = rows.storage().read().map_err(|error| error.within(name))?;
    let size = rows.dtype().size_in_bytes();
    let start = rows.geometry().offset() as usize * size;
    let elements = match rows.geometry().numel() as usize * size {
        0 => &[],
        bytes => &guard.bytes()[start..start + bytes],
    };
    let mut put = |bytes: &[u8]| {
        writer.write_all(bytes).map_err(|error| io_error(name.as_ref(), "cannot be written", error))
    };
    put(&header)?;
    if cfg!(target_endian = "big") {
        let mut little = elements.to_vec();
        little.chunks_exact_mut(size).for_each(<[u8]>::reverse);
        return put(&little);
    }
    put(elements)
}

/// Turns elements around that have the other byte order, and makes every byte of a bool 0 or 1.
fn to_native(header: &Header, bytes: &mut [u8]) {
    if header.dtype == DType::Bool {
        bytes.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
    } else if header.big_endian != cfg!(target_endian = "big") {
        bytes.chunks_exact_mut(header.dtype.size_in_bytes()).for_each(<[u8]>::reverse);
    }
}

fn shaped(header: &Header, storage: Storage) -> Result<Array> {
    let device = opgrid_core::Device::CPU;
    if !header.fortran_order || header.sizes.len() < 2 {
        return Array::new(TensorSpec::contiguous(&header.sizes, header.dtype, device)?, storage);
    }
    let reversed: Dims = header.sizes.iter().rev().copied().collect();
    let order: Dims = (0..reversed.len() as i64).rev().collect();
    let geometry = Geometry::contiguous(&reversed)?.permute(&order)?;
    let columns = Array::new(TensorSpec::new(geometry, header.dtype, device), storage)?;
    copy::contiguous(&columns)
}

/// A stream with a position.
struct Source<'a> {
    name: &'a str,
    reader: &'a mut dyn Read,
    at: u64,
    length: u64,
}

impl Source<'_> {
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
