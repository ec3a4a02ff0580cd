//! Numbers that torch.export's schema has for dtypes, layouts and memory formats; they are not those of torch itself.

use opgrid_core::{DType, Layout, MemoryFormat, Result};
use serde_json::Value as Json;

use super::json;
use crate::error;

const DTYPES: [(i64, DType); 17] = [
    (1, DType::U8),
    (2, DType::I8),
    (3, DType::I16),
    (4, DType::I32),
    (5, DType::I64),
    (6, DType::F16),
    (7, DType::F32),
    (8, DType::F64),
    (10, DType::Complex64),
    (11, DType::Complex128),
    (12, DType::Bool),
    (13, DType::BF16),
    (28, DType::U16),
    (29, DType::F8E4M3),
    (30, DType::F8E5M2),
    (34, DType::U32),
    (35, DType::U64),
];

/// Dtypes that torch has and opgrid does not.
const LACKING: [(i64, &str); 4] =
    [(9, "complex32"), (31, "float8_e4m3fnuz"), (32, "float8_e5m2fnuz"), (33, "float8_e8m0fnu")];

const LAYOUTS: [(i64, Layout); 7] = [
    (1, Layout::SparseCoo),
    (2, Layout::SparseCsr),
    (3, Layout::SparseCsc),
    (4, Layout::SparseBsr),
    (5, Layout::SparseBsc),
    (6, Layout::Mkldnn),
    (7, Layout::Strided),
];

const MEMORY_FORMATS: [(i64, MemoryFormat); 4] = [
    (1, MemoryFormat::Contiguous),
    (2, MemoryFormat::ChannelsLast),
    (3, MemoryFormat::ChannelsLast3d),
    (4, MemoryFormat::Preserve),
];

/// The value of a number.
fn named<X: Copy>(table: &[(i64, X)], value: &Json, what: &str) -> Result<X> {
    let number = json::integer(value)?;
    let found = table.iter().find(|(known, _)| *known == number).map(|(_, value)| *value);
    found.ok_or_else(|| error::file(format!("{number} is the number of no {what} in torch.export's schema")))
}

/// The number of a value.
fn numbered<X: PartialEq>(table: &[(i64, X)], value: X) -> Option<i64> {
    table.iter().find(|(_, known)| *known == value).map(|(number, _)| *number)
}

pub(super) fn dtype(value: &Json) -> Result<DType> {
    let lacking = value.as_i64().and_then(|number| LACKING.iter().find(|(known, _)| *known == number));
    if let Some((_, name)) = lacking {
        let message = format!("dtype {name}, which opgrid does not have; convert it first");
        return Err(error::unsupported(message));
    }
    named(&DTYPES, value, "dtype")
}

pub(super) fn layout(value: &Json) -> Result<Layout> {
    named(&LAYOUTS, value, "layout")
}

pub(super) fn memory_format(value: &Json) -> Result<MemoryFormat> {
    named(&MEMORY_FORMATS, value, "memory format")
}

pub(super) fn of_dtype(dtype: DType) -> Result<i64> {
    numbered(&DTYPES, dtype).ok_or_else(|| no_number("dtype", dtype.name()))
}

pub(super) fn of_layout(layout: Layout) -> Result<i64> {
    numbered(&LAYOUTS, layout).ok_or_else(|| no_number("layout", layout.name()))
}

pub(super) fn of_memory_format(format: MemoryFormat) -> Result<i64> {
    numbered(&MEMORY_FORMATS, format).ok_or_else(|| no_number("memory format", format.name()))
}

#[cold]
fn no_number(what: &str, name: &str) -> opgrid_core::Error {
    error::unsupported(format!(
        "torch.export's schema has no number for the {what} {name}, expected another one"
    ))
}
