//! The header of `.safetensors`: JSON with dtype, shape and place of every tensor, in front of the raw elements.
//!
//! ```text
//! 0   length                      of the text: u64, little-endian, at most 100 MB
//! 8   {"w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}, … ,"__metadata__":{"by":"me"}}   and spaces
//! …   elements                    little-endian, row-major, without gaps; offsets count bytes from here
//! ```
//!
//! Source: the format as the crate and Python package `safetensors` 0.8 read and write it.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

use opgrid_core::{DType, Error, ErrorKind, Result};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::super::broken;
use crate::Dims;
use crate::choose::STORED;
use crate::error;
use crate::geometry::count;

/// Bytes in front of the text.
pub(super) const PREFIX: usize = 8;
/// A longer text is refused, as by every reader of the format.
pub(super) const LONGEST: u64 = 100_000_000;
pub(super) const METADATA: &str = "__metadata__";

/// How the format spells each dtype with data; nothing where it has none.
const SPELLINGS: [(DType, Option<&str>); STORED.len()] = [
    (DType::Bool, Some("BOOL")),
    (DType::U8, Some("U8")),
    (DType::I8, Some("I8")),
    (DType::I16, Some("I16")),
    (DType::I32, Some("I32")),
    (DType::I64, Some("I64")),
    (DType::U16, Some("U16")),
    (DType::U32, Some("U32")),
    (DType::U64, Some("U64")),
    (DType::F8E5M2, Some("F8_E5M2")),
    (DType::F8E4M3, Some("F8_E4M3")),
    (DType::F16, Some("F16")),
    (DType::BF16, Some("BF16")),
    (DType::F32, Some("F32")),
    (DType::F64, Some("F64")),
    (DType::Complex64, Some("C64")),
    (DType::Complex128, None),
];

/// The dtypes that are read and written, and their spellings.
fn spellings() -> impl Iterator<Item = (DType, &'static str)> {
    SPELLINGS.into_iter().filter_map(|(dtype, spelling)| Some((dtype, spelling?)))
}

/// Other dtypes of the format and their bits: files with such tensors are read, these tensors are not.
const OTHERS: [(&str, u64); 6] =
    [("F4", 4), ("F6_E2M3", 6), ("F6_E3M2", 6), ("F8_E4M3FNUZ", 8), ("F8_E5M2FNUZ", 8), ("F8_E8M0", 8)];

/// How the format spells a dtype.
///
/// # Errors
///
/// A dtype that the format does not have.
pub(super) fn spelling(name: &str, dtype: DType) -> Result<&'static str> {
    let row = spellings().find(|row| row.0 == dtype);
    row.map(|row| row.1).ok_or_else(|| {
        let message = format!(
            "{name}: .safetensors files have no dtype for {dtype}; write an .npy or .npz file or convert the tensor"
        );
        Error::new(ErrorKind::NotImplemented, message)
    })
}

/// What a header says about one tensor.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) name: String,
    /// A dtype that has tensors here, or the name of another.
    pub(super) dtype: std::result::Result<DType, String>,
    pub(super) sizes: Dims,
    /// Where the elements are, in bytes from the end of the header.
    pub(super) place: Range<u64>,
    /// The byte of the file where the entry stands.
    at: usize,
}

/// What a header says.
#[derive(Debug)]
pub(super) struct Header {
    pub(super) entries: Vec<Entry>,
    pub(super) metadata: Vec<(String, String)>,
}

impl Header {
    /// Reads the text of a header in front of `data` bytes of elements.
    ///
    /// # Errors
    ///
    /// No JSON, or not of that form; a name that occurs twice; a shape that cannot be or does not fit its bytes;
    /// tensors that overlap, leave gaps or end beyond the data.
    pub(super) fn decode(file: &str, text: &[u8], data: u64) -> Result<Self> {
        let text = str::from_utf8(text).map_err(|error| {
            broken(file, PREFIX + error.valid_up_to(), "a byte that is not UTF-8", "JSON in UTF-8")
                .caused_by(error)
        })?;
        let reader = Reader { file, text };
        let mut header = Self { entries: Vec::new(), metadata: Vec::new() };
        for (name, value) in reader.pairs(text, "an object of tensors")? {
            if name == METADATA {
                header.metadata = reader.read(value, "an object of strings").map(|Pairs(pairs)| pairs)?;
            } else {
                header.entries.push(reader.entry(name, value)?);
            }
        }
        reader.check_places(&header.entries, data)?;
        Ok(header)
    }
}

struct Reader<'a> {
    file: &'a str,
    text: &'a str,
}

impl<'a> Reader<'a> {
    fn entry(&self, name: String, value: &'a RawValue) -> Result<Entry> {
        let (mut dtype, mut shape, mut place) = (None, None, None);
        for (field, value) in self.pairs(value.get(), "an object with dtype, shape and data_offsets")? {
            match field.as_str() {
                "dtype" => dtype = Some(self.dtype(value)?),
                "shape" => shape = Some(self.sizes(value)?),
                "data_offsets" => {
                    let [start, end] = self.read(value, "two offsets in bytes")?;
                    place = Some(start..end);
                }
                // Other readers of the format look over what they do not know, too.
                _ => {}
            }
        }
        let at = self.place(value.get());
        let missing = |field: &str| {
            let expected = format!("a field `{field}` in the entry of `{name}`");
            broken(self.file, at, "none", &expected)
        };
        let (dtype, bits) = dtype.ok_or_else(|| missing("dtype"))?;
        let (sizes, numel) = shape.ok_or_else(|| missing("shape"))?;
        let place: Range<u64> = place.ok_or_else(|| missing("data_offsets"))?;
        let expected = u64::try_from(numel).ok().and_then(|numel| numel.checked_mul(bits));
        let expected = expected.map(|bits| bits.div_ceil(8));
        if place.end.checked_sub(place.start) != expected || expected.is_none() {
            let found = format!("data_offsets [{}, {}] of `{name}`", place.start, place.end);
            let bytes =
                expected.map_or("more bytes than there can be".to_owned(), |bytes| format!("{bytes} bytes"));
            let expected = format!("{bytes} as shape {sizes:?} and {bits} bits per element say");
            return Err(broken(self.file, at, found, &expected));
        }
        Ok(Entry { name, dtype, sizes, place, at })
    }

    /// The dtype and the bits of its elements.
    fn dtype(&self, value: &'a RawValue) -> Result<(std::result::Result<DType, String>, u64)> {
        let text: String = self.read(value, "a dtype in quotes")?;
        if let Some((dtype, _)) = spellings().find(|row| row.1 == text) {
            return Ok((Ok(dtype), 8 * dtype.size_in_bytes() as u64));
        }
        match OTHERS.iter().find(|row| row.0 == text) {
            Some((_, bits)) => Ok((Err(text), *bits)),
            None => {
                let known = spellings().map(|row| row.1).collect::<Vec<_>>().join(", ");
                Err(broken(
                    self.file,
                    self.place(value.get()),
                    format_args!("dtype `{text}`"),
                    &format!("one of {known}"),
                ))
            }
        }
    }

    fn sizes(&self, value: &'a RawValue) -> Result<(Dims, i64)> {
        let refused = "a list of sizes from 0 to 9223372036854775807";
        let sizes: Vec<u64> = self.read(value, refused)?;
        let at = self.place(value.get());
        let converted: Option<Dims> = sizes.iter().map(|&size| i64::try_from(size).ok()).collect();
        let sizes = converted.ok_or_else(|| broken(self.file, at, value.get(), refused))?;
        let numel = count(&sizes).map_err(|error| {
            error::file(format!("{}: byte {at}: shape: {error}", self.file)).caused_by(error)
        })?;
        Ok((sizes, numel))
    }

    /// Every byte of the data belongs to one tensor.
    fn check_places(&self, entries: &[Entry], data: u64) -> Result<()> {
        let mut order: Vec<&Entry> = entries.iter().collect();
        order.sort_by_key(|entry| (entry.place.start, entry.place.end));
        let mut end = 0;
        for entry in order {
            if entry.place.start != end {
                let found = format!("data that starts at {} for `{}`", entry.place.start, entry.name);
                let expected = format!("{end}, where the tensor before it ends");
                return Err(broken(self.file, entry.at, found, &expected));
            }
            end = entry.place.end;
        }
        if end != data {
            let at = PREFIX + self.text.len();
            let expected = format!("{end} as the header says");
            return Err(broken(self.file, at, format_args!("{data} bytes of data"), &expected));
        }
        Ok(())
    }

    /// The members of an object, each name once.
    fn pairs(&self, object: &'a str, expected: &str) -> Result<Vec<(String, &'a RawValue)>> {
        let Pairs(pairs) = serde_json::from_str::<Pairs<&RawValue>>(object)
            .map_err(|error| self.json(object, &error, expected))?;
        let mut names: Vec<(&str, &RawValue)> =
            pairs.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        names.sort_by_key(|pair| pair.0);
        match names.windows(2).find(|two| two[0].0 == two[1].0) {
            None => Ok(pairs),
            Some(two) => {
                let at = self.place(two[1].1.get());
                Err(broken(self.file, at, format_args!("`{}` a second time", two[1].0), "each name once"))
            }
        }
    }

    fn read<T: Deserialize<'a>>(&self, value: &'a RawValue, expected: &str) -> Result<T> {
        serde_json::from_str(value.get()).map_err(|error| self.json(value.get(), &error, expected))
    }

    /// The byte of the file where a part of the text stands.
    fn place(&self, part: &str) -> usize {
        PREFIX + (part.as_ptr().addr() - self.text.as_ptr().addr())
    }

    #[cold]
    fn json(&self, part: &str, error: &serde_json::Error, expected: &str) -> Error {
        let within = if error.is_eof() {
            part.len()
        } else {
            let lines = part.split_inclusive('\n').take(error.line().saturating_sub(1));
            let lines: usize = lines.map(str::len).sum();
            (lines + error.column().saturating_sub(1)).min(part.len())
        };
        let at = self.place(part) + within;
        let text = error.to_string();
        // The place stands in front already, in bytes of the file.
        let cause = text.split(" at line ").next().unwrap_or_default();
        broken(self.file, at, cause, expected)
    }
}

/// The members of a JSON object in their order, those of one name included.
struct Pairs<V>(Vec<(String, V)>);

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Pairs<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_map(PairsVisitor(PhantomData))
    }
}

struct PairsVisitor<V>(PhantomData<V>);

impl<'de, V: Deserialize<'de>> Visitor<'de> for PairsVisitor<V> {
    type Value = Pairs<V>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Pairs<V>, A::Error> {
        let mut pairs = Vec::new();
        while let Some(pair) = map.next_entry()? {
            pairs.push(pair);
        }
        Ok(Pairs(pairs))
    }
}
