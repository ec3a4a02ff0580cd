//! Fields of JSON objects with errors that name them.

use opgrid_core::{Error, Result};
use serde_json::Value as Json;

use crate::error;

/// A field that has to be there.
pub(super) fn field<'j>(object: &'j Json, name: &str) -> Result<&'j Json> {
    if !object.is_object() {
        return Err(unexpected(object, &format!("an object with `{name}`")));
    }
    object.get(name).ok_or_else(|| error::file(format!("no field `{name}`, expected one")))
}

/// A field that may be missing or null.
pub(super) fn optional<'j>(object: &'j Json, name: &str) -> Option<&'j Json> {
    object.get(name).filter(|value| !value.is_null())
}

/// A field that is a text.
pub(super) fn text<'j>(object: &'j Json, name: &str) -> Result<&'j str> {
    let value = field(object, name)?;
    value.as_str().ok_or_else(|| unexpected(value, "a text").within(format_args!("field `{name}`")))
}

/// A field that is a list.
pub(super) fn list<'j>(object: &'j Json, name: &str) -> Result<&'j [Json]> {
    items(field(object, name)?).map_err(|error| error.within(format_args!("field `{name}`")))
}

/// The elements of a list.
pub(super) fn items(value: &Json) -> Result<&[Json]> {
    value.as_array().map(Vec::as_slice).ok_or_else(|| unexpected(value, "a list"))
}

/// The entries of an object.
pub(super) fn entries(value: &Json) -> Result<&serde_json::Map<String, Json>> {
    value.as_object().ok_or_else(|| unexpected(value, "an object"))
}

/// An integer of 64 bits.
pub(super) fn integer(value: &Json) -> Result<i64> {
    value.as_i64().ok_or_else(|| unexpected(value, "an integer of 64 bits"))
}

/// A truth value.
pub(super) fn truth(value: &Json) -> Result<bool> {
    value.as_bool().ok_or_else(|| unexpected(value, "true or false"))
}

/// A number, or one of the strings that stand for what JSON has no numbers for.
pub(super) fn float(value: &Json) -> Result<f64> {
    match value {
        Json::String(text) => match text.as_str() {
            "Infinity" => Ok(f64::INFINITY),
            "-Infinity" => Ok(f64::NEG_INFINITY),
            "NaN" => Ok(f64::NAN),
            _ => Err(unexpected(value, "a number, Infinity, -Infinity or NaN")),
        },
        value => value.as_f64().ok_or_else(|| unexpected(value, "a number")),
    }
}

/// The kind and the content of a union: an object with one field.
pub(super) fn union(value: &Json) -> Result<(&str, &Json)> {
    match value.as_object().map(|object| (object.len(), object.iter().next())) {
        Some((1, Some((kind, content)))) => Ok((kind, content)),
        _ => Err(unexpected(value, "an object with one field that says its kind")),
    }
}

/// An error for a value of the wrong kind.
#[cold]
pub(super) fn unexpected(found: &Json, expected: &str) -> Error {
    let shown = found.to_string();
    let mut short: String = shown.chars().take(60).collect();
    if short.len() < shown.len() {
        short.push('…');
    }
    error::file(format!("found `{short}`, expected {expected}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_read_to_the_last_bit() {
        // The least float32 is what masks are filled with; one unit further it is out of range.
        for (text, expected) in [
            ("-3.4028234663852886e+38", f64::from(f32::MIN)),
            ("0.1", 0.1),
            ("1.1754943508222875e-38", f64::from(f32::MIN_POSITIVE)),
        ] {
            let json: Json = serde_json::from_str(text).unwrap();
            assert_eq!(float(&json).unwrap().to_bits(), expected.to_bits(), "{text}");
        }
    }
}
