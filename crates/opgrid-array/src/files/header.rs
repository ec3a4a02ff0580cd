//! The header of `.npy`: a Python dictionary with dtype, order and shape, in front of the raw elements.
//!
//! ```text
//! 0   \x93NUMPY                   magic
//! 6   major minor                 1.0, 2.0 or 3.0
//! 8   length                      of the text: u16 in version 1, u32 in 2 and 3, little-endian
//! 10  {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }   padded with spaces, ends in a line break
//! ```
//!
//! Source: the module documentation of `numpy.lib.format`, numpy 2.4.

use std::fmt::Write;

use opgrid_core::{DType, Error, ErrorKind, Result};

use super::broken;
use crate::Dims;
use crate::choose::STORED;
use crate::error;
use crate::geometry::count;

pub(super) const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// Elements start at a multiple of this many bytes.
const ALIGNMENT: usize = 64;
/// Bytes in front of the text in version 1.
const PREFIX: usize = 10;

/// What a header says.
#[derive(Debug, PartialEq)]
pub(super) struct Header {
    pub(super) dtype: DType,
    pub(super) big_endian: bool,
    pub(super) fortran_order: bool,
    pub(super) sizes: Dims,
    pub(super) numel: i64,
}

/// How numpy spells each dtype with data; nothing where it has none.
const SPELLINGS: [(DType, Option<&str>); STORED.len()] = [
    (DType::Bool, Some("b1")),
    (DType::U8, Some("u1")),
    (DType::I8, Some("i1")),
    (DType::I16, Some("i2")),
    (DType::I32, Some("i4")),
    (DType::I64, Some("i8")),
    (DType::U16, Some("u2")),
    (DType::U32, Some("u4")),
    (DType::U64, Some("u8")),
    (DType::F16, Some("f2")),
    (DType::F32, Some("f4")),
    (DType::F64, Some("f8")),
    (DType::Complex64, Some("c8")),
    (DType::Complex128, Some("c16")),
    (DType::BF16, None),
    (DType::F8E5M2, None),
    (DType::F8E4M3, None),
];

/// The dtypes that are read and written, and their spellings.
fn spellings() -> impl Iterator<Item = (DType, &'static str)> {
    SPELLINGS.into_iter().filter_map(|(dtype, spelling)| Some((dtype, spelling?)))
}

/// The other names that numpy reads, on a machine where `long` has 64 bits. Names of one letter may have an order of bytes
/// in front of them, others not.
const OTHER_NAMES: [(DType, &[&str]); 14] = [
    (DType::Bool, &["?", "bool", "bool_"]),
    (DType::U8, &["B", "uint8", "ubyte"]),
    (DType::I8, &["b", "int8", "byte"]),
    (DType::I16, &["h", "int16", "short"]),
    (DType::I32, &["i", "int32", "intc"]),
    (DType::I64, &["l", "q", "p", "n", "int64", "int", "int_", "intp", "long", "longlong"]),
    (DType::U16, &["H", "uint16", "ushort"]),
    (DType::U32, &["I", "uint32", "uintc"]),
    (DType::U64, &["L", "Q", "P", "N", "uint64", "uint", "uintp", "ulong", "ulonglong"]),
    (DType::F16, &["e", "float16", "half"]),
    (DType::F32, &["f", "float32", "single"]),
    (DType::F64, &["d", "float64", "double", "float"]),
    (DType::Complex64, &["F", "complex64", "csingle"]),
    (DType::Complex128, &["D", "complex128", "cdouble", "complex"]),
];

/// The dtype that numpy understands by a text, and whether its bytes are in big-endian order.
fn dtype_of(descr: &str) -> Option<(DType, bool)> {
    let (order, kind) = match descr.split_at_checked(1) {
        Some((order @ ("<" | ">" | "=" | "|"), kind)) => (Some(order), kind),
        _ => (None, descr),
    };
    let dtype = spellings().find(|row| row.1 == kind).map(|row| row.0).or_else(|| {
        let names = |row: &&(DType, &[&str])| row.1.contains(&kind);
        OTHER_NAMES.iter().find(names).map(|row| row.0).filter(|_| order.is_none() || kind.len() == 1)
    })?;
    // Without an order, elements are in the machine's own, as numpy takes them.
    let big_endian = match order {
        Some(">") => true,
        Some("<") => false,
        _ => cfg!(target_endian = "big"),
    };
    Some((dtype, big_endian))
}

/// The bytes of a header for row-major elements.
///
/// # Errors
///
/// A dtype that numpy's files do not have here.
pub(super) fn encode(name: &str, dtype: DType, sizes: &[i64]) -> Result<Vec<u8>> {
    let Some((_, spelling)) = spellings().find(|row| row.0 == dtype) else {
        let message = format!(
            "{name}: numpy has no dtype for {dtype}, expected one of bool, the integers, float16 to float64 and complex numbers; write a .safetensors file or convert the tensor to float32"
        );
        return Err(Error::new(ErrorKind::NotImplemented, message));
    };
    let order = if dtype.size_in_bytes() == 1 { '|' } else { '<' };
    let mut text = format!("{{'descr': '{order}{spelling}', 'fortran_order': False, 'shape': (");
    for size in sizes {
        let _ = write!(text, "{size}, ");
    }
    // Python's tuples end in a comma only where they have one element.
    if sizes.len() > 1 {
        text.truncate(text.len() - 2);
    } else if sizes.len() == 1 {
        text.truncate(text.len() - 1);
    }
    text.push_str("), }");
    // At most 64 sizes: the length fits version 1.
    let total = (PREFIX + text.len() + 1).next_multiple_of(ALIGNMENT);
    let mut bytes = MAGIC.to_vec();
    bytes.extend([1, 0]);
    bytes.extend(((total - PREFIX) as u16).to_le_bytes());
    bytes.extend(text.bytes());
    bytes.resize(total - 1, b' ');
    bytes.push(b'\n');
    Ok(bytes)
}

/// Reads the text of a header, whose first byte is byte `base` of the file.
///
/// # Errors
///
/// Anything but the dictionary that numpy writes; a dtype without support; a shape that cannot be.
pub(super) fn decode(name: &str, text: &[u8], base: usize) -> Result<Header> {
    Text { name, text, base, at: 0 }.header()
}

struct Text<'a> {
    name: &'a str,
    text: &'a [u8],
    base: usize,
    at: usize,
}

impl<'a> Text<'a> {
    fn header(mut self) -> Result<Header> {
        let (mut descr, mut fortran_order, mut shape) = (None, None, None);
        self.token("{", "the dictionary of the header to begin with `{`")?;
        while !self.skip("}") {
            let at = self.at;
            let key = self.string("a key in quotes or `}`")?;
            self.token(":", "`:` after a key")?;
            let twice = match key {
                "descr" => descr.replace(self.descr()?).is_some(),
                "fortran_order" => fortran_order.replace(self.boolean()?).is_some(),
                "shape" => shape.replace(self.shape()?).is_some(),
                _ => return Err(self.error(at, "one of the keys descr, fortran_order and shape")),
            };
            if twice {
                return Err(self.error(at, "each key once"));
            }
            if !self.skip(",") {
                self.token("}", "`,` or `}` after a value")?;
                break;
            }
        }
        self.spaces();
        if self.at < self.text.len() {
            return Err(self.error(self.at, "nothing but spaces after the dictionary"));
        }
        let missing = |key: &str| {
            let message =
                format!("{}: byte {}: the header has no field `{key}`, expected one", self.name, self.base);
            error::file(message)
        };
        let (dtype, big_endian) = descr.ok_or_else(|| missing("descr"))?;
        let fortran_order = fortran_order.ok_or_else(|| missing("fortran_order"))?;
        let sizes: Dims = shape.ok_or_else(|| missing("shape"))?;
        let numel = count(&sizes).map_err(|error| {
            error::file(format!("{}: header field `shape`: {error}", self.name)).caused_by(error)
        })?;
        Ok(Header { dtype, big_endian, fortran_order, sizes, numel })
    }

    /// The dtype and whether its bytes are in big-endian order.
    fn descr(&mut self) -> Result<(DType, bool)> {
        self.spaces();
        let at = self.at;
        if self.text.get(at) == Some(&b'[') {
            return Err(self.unsupported("structured elements"));
        }
        let descr = self.string("a dtype in quotes")?;
        match dtype_of(descr) {
            Some(found) => Ok(found),
            // What extensions of numpy write for bfloat16, and what it writes for any other two bytes.
            None if matches!(descr, "V2" | "|V2" | "<V2" | ">V2" | "=V2") => Err(self.unsupported(&format!(
                "dtype `{descr}` (which may have been bfloat16, and does not say so)"
            ))),
            None => Err(self.unsupported(&format!("dtype `{descr}`"))),
        }
    }

    #[cold]
    fn unsupported(&self, what: &str) -> Error {
        let message = format!(
            "{}: header field `descr`: {what} not supported, expected one of {}; convert with numpy's astype",
            self.name,
            spellings().map(|row| row.1).collect::<Vec<_>>().join(", ")
        );
        Error::new(ErrorKind::NotImplemented, message)
    }

    fn boolean(&mut self) -> Result<bool> {
        if self.skip("True") {
            return Ok(true);
        }
        self.token("False", "True or False as `fortran_order`")?;
        Ok(false)
    }

    fn shape(&mut self) -> Result<Dims> {
        let mut sizes = Dims::new();
        self.token("(", "the tuple of the shape to begin with `(`")?;
        while !self.skip(")") {
            sizes.push(self.size()?);
            if !self.skip(",") {
                self.token(")", "`,` or `)` in the shape")?;
                break;
            }
        }
        Ok(sizes)
    }

    fn size(&mut self) -> Result<i64> {
        self.spaces();
        let at = self.at;
        let digits = self.text[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += digits;
        let size = str::from_utf8(&self.text[at..self.at]).ok().and_then(|digits| digits.parse().ok());
        // Python 2 wrote long integers with an L.
        self.skip("L");
        size.ok_or_else(|| self.error(at, "a size from 0 to 9223372036854775807 in the shape"))
    }

    fn string(&mut self, expected: &str) -> Result<&'a str> {
        self.spaces();
        let at = self.at;
        let quote = *self
            .text
            .get(at)
            .filter(|byte| matches!(byte, b'\'' | b'"'))
            .ok_or_else(|| self.error(at, expected))?;
        let rest = &self.text[at + 1..];
        let end = rest.iter().position(|&byte| byte == quote || byte == b'\\' || byte == b'\n');
        let end = end.filter(|&end| rest[end] == quote).ok_or_else(|| self.error(at, expected))?;
        self.at += end + 2;
        str::from_utf8(&rest[..end]).map_err(|_| self.error(at, expected))
    }

    fn spaces(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    }

    fn skip(&mut self, token: &str) -> bool {
        self.spaces();
        let found = self.text[self.at..].starts_with(token.as_bytes());
        self.at += if found { token.len() } else { 0 };
        found
    }

    fn token(&mut self, token: &str, expected: &str) -> Result<()> {
        if self.skip(token) { Ok(()) } else { Err(self.error(self.at, expected)) }
    }

    #[cold]
    fn error(&self, at: usize, expected: &str) -> Error {
        let rest = &self.text[at.min(self.text.len())..];
        let found = match rest {
            [] => "the end of the header".to_owned(),
            _ => {
                let shown = rest[..rest.len().min(16)].escape_ascii().to_string();
                format!("`{}`", shown.replace("\\'", "'"))
            }
        };
        broken(self.name, self.base + at, found, expected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(text: &str) -> Result<Header> {
        decode("x.npy", text.as_bytes(), 10)
    }

    fn message(text: &str) -> String {
        decoded(text).unwrap_err().to_string()
    }

    #[test]
    fn headers_round_trip() {
        for (dtype, _) in spellings() {
            for sizes in [&[][..], &[3], &[0, 2], &[1, 2, 3, 4, 5, 6, 7, 8]] {
                let bytes = encode("x.npy", dtype, sizes).unwrap();
                assert_eq!(bytes.len() % ALIGNMENT, 0);
                let header = decode("x.npy", &bytes[10..], 10).unwrap();
                assert_eq!((header.dtype, header.sizes.as_slice()), (dtype, sizes));
                assert_eq!((header.big_endian, header.fortran_order), (false, false));
            }
        }
        let longest = [i64::MAX; crate::geometry::MAX_DIMS];
        assert!(encode("x.npy", DType::F32, &longest).unwrap().len() < usize::from(u16::MAX));
    }

    #[test]
    fn other_spellings_are_read() {
        let header = decoded("{ \"shape\":(2L ,3),'fortran_order' : True,'descr':'>i8'}\n").unwrap();
        assert_eq!(header.sizes.as_slice(), [2, 3]);
        assert!(header.fortran_order && header.big_endian);
    }

    #[test]
    fn names_of_dtypes_are_read_as_numpy_reads_them() {
        let read = |descr: &str| {
            decoded(&format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': (2,), }}")).ok()
        };
        let rows = OTHER_NAMES.map(|(dtype, names)| (dtype, names.to_vec()));
        for (dtype, names) in rows.into_iter().chain(spellings().map(|row| (row.0, vec![row.1]))) {
            for name in names {
                let takes_order = name.len() == 1 || name.ends_with(|last: char| last.is_ascii_digit());
                let takes_order =
                    takes_order && !name[1..].contains(|letter: char| letter.is_ascii_alphabetic());
                for order in ["", "<", "=", "|", ">"] {
                    let found = read(&format!("{order}{name}"));
                    if !order.is_empty() && !takes_order {
                        assert!(found.is_none(), "{order}{name}");
                        continue;
                    }
                    let found = found.unwrap_or_else(|| panic!("{order}{name} is read"));
                    assert_eq!((found.dtype, found.big_endian), (dtype, order == ">"), "{order}{name}");
                }
            }
        }
        for name in
            ["", "<", "u", "f16", "g", "S1", "U1", "O", "|O", "M8", "f4 ", "Float32", "(1,)f4", "f4,f4"]
        {
            assert!(read(name).is_none(), "{name}");
        }
    }

    #[test]
    fn broken_headers_are_placed() {
        let good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
        assert!(decoded(good).is_ok());
        for (from, to, place) in [
            ("{", "[", "byte 10: found `['descr"),
            ("'descr'", "descr", "byte 11: found `descr"),
            ("'descr'", "'desc'", "one of the keys"),
            ("'descr': '<f4', ", "", "no field `descr`"),
            ("'shape': (2, 3), ", "", "no field `shape`"),
            ("'fortran_order': False, ", "", "no field `fortran_order`"),
            ("False", "Maybe", "True or False"),
            ("False", "False 'x'", "`,` or `}`"),
            ("(2, 3)", "[2, 3]", "byte 60: found `[2, 3]"),
            ("(2, 3)", "(2, -3)", "a size from 0"),
            ("(2, 3)", "(2, 99999999999999999999)", "a size from 0"),
            ("(2, 3)", "(9223372036854775807, 3)", "header field `shape`"),
            ("(2, 3)", "(2 3)", "`,` or `)`"),
            ("}", "", "a key in quotes or `}`"),
            ("}", "} x", "nothing but spaces"),
            ("'<f4'", "'<U2'", "dtype `<U2` not supported, expected one of b1, u1"),
            ("'<f4'", "'<V2'", "may have been bfloat16"),
            ("'<f4'", "[('a', '<f4')]", "structured elements not supported"),
            ("'<f4'", "'é'", "not supported"),
            ("'<f4'", "'<f\\'4'", "a dtype in quotes"),
            ("'<f4', ", "'<f4', 'descr': '<f4', ", "each key once"),
        ] {
            let text = good.replacen(from, to, 1);
            let error = message(&text);
            assert!(error.starts_with("x.npy: ") && error.contains(place), "{text}: {error}");
        }
    }
}
