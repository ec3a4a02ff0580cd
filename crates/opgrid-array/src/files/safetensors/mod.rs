//! Several arrays by name in the `.safetensors` format: a JSON header and raw elements.

use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom, Write};
use std::path::Path;

use opgrid_core::{DType, Device, Error, ErrorKind, Result};
use serde_json::{Map, json};

use self::header::{Entry, Header, LONGEST, METADATA, PREFIX};
use super::whole::{self, io_error};
use super::{broken, elements, expect_distinct};
use crate::error;
use crate::{Array, Storage, TensorSpec};

mod header;

/// The names of the arrays, in the order of the header.
///
/// # Errors
///
/// A file that cannot be read or is broken.
pub fn names(path: &Path) -> Result<Vec<String>> {
    Ok(Contents::open(path)?.header.entries.into_iter().map(|entry| entry.name).collect())
}

/// The strings that whoever wrote the file gave it, by name.
///
/// # Errors
///
/// A file that cannot be read or is broken.
pub fn metadata(path: &Path) -> Result<Vec<(String, String)>> {
    Ok(Contents::open(path)?.header.metadata)
}

/// All arrays with their names, in the order of the header.
///
/// # Errors
///
/// As [`names`]; a dtype without tensors here.
pub fn read_all(path: &Path) -> Result<Vec<(String, Array)>> {
    let mut contents = Contents::open(path)?;
    let entries = std::mem::take(&mut contents.header.entries);
    entries.into_iter().map(|entry| contents.array(&entry).map(|array| (entry.name, array))).collect()
}

/// The array of one name. Only its part of the file is read.
///
/// # Errors
///
/// As [`read_all`]; a file without that name, with the names it has.
///
/// # Examples
///
/// ```no_run
/// let weight = opgrid_array::files::safetensors::read("model.safetensors".as_ref(), "fc.weight")?;
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub fn read(path: &Path, name: &str) -> Result<Array> {
    Contents::open(path)?.named(name)
}

/// The array of one name in a file that is in memory; `file` is what messages call it.
///
/// # Errors
///
/// As [`read`].
pub fn decode(file: &str, bytes: &[u8], name: &str) -> Result<Array> {
    Contents::new(file.to_owned(), bytes.len() as u64, Cursor::new(bytes))?.named(name)
}

/// Writes arrays under their names, whole or not at all.
///
/// # Errors
///
/// As [`write_with_metadata`].
pub fn write(path: &Path, arrays: &[(&str, &Array)]) -> Result<()> {
    write_with_metadata(path, arrays, &[])
}

/// Writes arrays together with strings about the file, by name, which [`metadata`] reads.
///
/// # Errors
///
/// A name that is empty, occurs twice or is `__metadata__`; a dtype that the format does not have; a folder that
/// cannot be written; an array without data or whose memory is being written.
pub fn write_with_metadata(path: &Path, arrays: &[(&str, &Array)], metadata: &[(&str, &str)]) -> Result<()> {
    expect_distinct(path, arrays)?;
    let file = path.display().to_string();
    if arrays.iter().any(|(name, _)| *name == METADATA) {
        let message = format!("{file}: array name `{METADATA}` is taken by the format, expected another");
        return Err(error::file(message));
    }
    let mut order = arrays.to_vec();
    // Elements of many bytes first: then all are aligned, and others can use them where they are.
    order.sort_by_key(|(name, array)| (std::cmp::Reverse(array.dtype().size_in_bytes()), *name));
    let header = encode_header(&file, &order, metadata)?;
    whole::write(path, |writer| {
        writer.write_all(&header).map_err(|error| io_error(path, "cannot be written", error))?;
        order.iter().try_for_each(|(name, array)| elements::write(&format!("{file}:{name}"), array, writer))
    })
}

/// Length and text of the header for these arrays, with spaces up to a multiple of 8 bytes.
fn encode_header(file: &str, arrays: &[(&str, &Array)], metadata: &[(&str, &str)]) -> Result<Vec<u8>> {
    let mut object = Map::new();
    if !metadata.is_empty() {
        let texts: Map<_, _> =
            metadata.iter().map(|(name, text)| ((*name).to_owned(), json!(text))).collect();
        object.insert(METADATA.to_owned(), texts.into());
    }
    let mut start = 0u64;
    for (name, array) in arrays {
        let dtype = header::spelling(&format!("{file}:{name}"), array.dtype())?;
        let bytes = (array.geometry().numel() as u64).saturating_mul(array.dtype().size_in_bytes() as u64);
        let end = start.saturating_add(bytes);
        let entry = json!({"dtype": dtype, "shape": array.sizes(), "data_offsets": [start, end]});
        object.insert((*name).to_owned(), entry);
        start = end;
    }
    let mut text = serde_json::Value::from(object).to_string().into_bytes();
    text.resize(text.len().next_multiple_of(8), b' ');
    if text.len() as u64 > LONGEST {
        let found = text.len();
        let message = format!(
            "{file}: the header would have {found} bytes, expected at most {LONGEST}; write several files"
        );
        return Err(error::file(message));
    }
    Ok([&(text.len() as u64).to_le_bytes()[..], &text].concat())
}

/// A file and where it comes from, for messages.
struct Contents<R> {
    file: String,
    reader: R,
    header: Header,
    /// The byte where the elements start.
    data: u64,
}

impl Contents<File> {
    fn open(path: &Path) -> Result<Self> {
        let (file, length) = whole::open(path)?;
        Self::new(path.display().to_string(), length, file)
    }
}

impl<R: Read + Seek> Contents<R> {
    fn new(file: String, length: u64, mut reader: R) -> Result<Self> {
        let mut prefix = [0; PREFIX];
        fill(&file, &mut reader, 0, &mut prefix, "header length")?;
        let text_length = u64::from_le_bytes(prefix);
        let rest = length.saturating_sub(PREFIX as u64);
        if text_length > rest.min(LONGEST) {
            let found = format!("a header of {text_length} bytes in a file of {length} bytes");
            let expected = format!("one that ends within the file and has at most {LONGEST}");
            return Err(broken(&file, 0, found, &expected));
        }
        let mut text = vec![0; text_length as usize];
        fill(&file, &mut reader, PREFIX, &mut text, "header")?;
        let header = Header::decode(&file, &text, rest - text_length)?;
        Ok(Self { file, reader, header, data: PREFIX as u64 + text_length })
    }

    fn named(&mut self, name: &str) -> Result<Array> {
        let entries = std::mem::take(&mut self.header.entries);
        match entries.iter().find(|entry| entry.name == name) {
            Some(entry) => self.array(entry),
            None => {
                let known: Vec<_> = entries.iter().map(|entry| entry.name.as_str()).collect();
                let known = known.join(", ");
                Err(error::file(format!("{}: no array `{name}`, expected one of {known}", self.file)))
            }
        }
    }

    fn array(&mut self, entry: &Entry) -> Result<Array> {
        let (dtype, spec) = spec(&self.file, entry)?;
        let start = self.data + entry.place.start;
        let name = format!("{}:{}", self.file, entry.name);
        self.reader
            .seek(SeekFrom::Start(start))
            .map_err(|error| io_error(name.as_ref(), "cannot be read", error))?;
        let storage = Storage::cpu((entry.place.end - entry.place.start) as usize)?;
        {
            let mut guard = storage.write()?;
            fill(&name, &mut self.reader, start as usize, guard.bytes(), "data")?;
            elements::make_native(dtype, false, guard.bytes());
        }
        Array::new(spec, storage)
    }
}

/// The dtype and the spec of an entry.
///
/// # Errors
///
/// A dtype without tensors here.
fn spec(file: &str, entry: &Entry) -> Result<(DType, TensorSpec)> {
    match &entry.dtype {
        Ok(dtype) => Ok((*dtype, TensorSpec::contiguous(&entry.sizes, *dtype, Device::CPU)?)),
        Err(other) => {
            let name = &entry.name;
            let message =
                format!("{file}:{name}: there are no tensors of dtype {other} here; convert it before");
            Err(Error::new(ErrorKind::NotImplemented, message))
        }
    }
}

fn fill(file: &str, reader: &mut impl Read, at: usize, bytes: &mut [u8], what: &str) -> Result<()> {
    let wanted = bytes.len();
    reader.read_exact(bytes).map_err(|error| {
        let found = match error.kind() {
            io::ErrorKind::UnexpectedEof => "the end of the file".to_owned(),
            _ => error.to_string(),
        };
        broken(file, at, found, &format!("{wanted} bytes of {what}")).caused_by(error)
    })
}

/// What a file in memory holds: the names, specs and places in bytes of its arrays.
pub(super) fn locate(file: &str, bytes: &[u8]) -> Result<Vec<(String, TensorSpec, std::ops::Range<usize>)>> {
    let contents = Contents::new(file.to_owned(), bytes.len() as u64, Cursor::new(bytes))?;
    let data = contents.data as usize;
    let located = |entry: Entry| {
        let (_, spec) = spec(file, &entry)?;
        let place = data + entry.place.start as usize..data + entry.place.end as usize;
        Ok((entry.name, spec, place))
    };
    contents.header.entries.into_iter().map(located).collect()
}
