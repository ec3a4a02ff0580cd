//! Numbers and truth values as they are written, before a type or a dtype decides what they become.

use std::sync::Arc;

use opgrid::dispatch::Complex64;
use opgrid::{DType, Error, ErrorKind, Result, Value};

/// A number with a point or an exponent, `inf`, `nan`, or an integer.
pub(crate) fn float(word: &str) -> Option<f64> {
    word.parse().ok()
}

/// A truth value.
pub(crate) fn truth(word: &str) -> Option<bool> {
    match word {
        "true" | "True" => Some(true),
        "false" | "False" => Some(false),
        _ => None,
    }
}

/// A complex number.
pub(crate) fn complex(word: &str) -> Option<Complex64> {
    word.parse().ok()
}

/// A number or truth value as it is written, before a type or a dtype decides what it becomes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Number {
    Int(i64),
    /// An integer beyond `i64`, as it is written.
    Large(String),
    Float(f64),
    Bool(bool),
    Complex(Complex64),
}

impl Number {
    /// The number that a word is.
    pub(crate) fn read(word: &str) -> Option<Self> {
        let digits = word.strip_prefix(['+', '-']).unwrap_or(word);
        if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Some(word.parse().map_or_else(|_| Self::Large(word.to_owned()), Self::Int));
        }
        let other = || float(word).map(Self::Float).or_else(|| complex(word).map(Self::Complex));
        truth(word).map(Self::Bool).or_else(other)
    }

    /// The number as a value of its own type.
    ///
    /// # Errors
    ///
    /// An integer that no value holds.
    pub(crate) fn into_value(self) -> Result<Value> {
        Ok(match self {
            Self::Int(number) => Value::Int(number),
            Self::Large(text) => text.parse::<u64>().map(Value::from).map_err(|_| too_large(&text))?,
            Self::Float(number) => Value::Float(number),
            Self::Bool(truth) => Value::Bool(truth),
            Self::Complex(number) => Value::Complex(Arc::new(number)),
        })
    }
}

/// Whether a text that begins with `-` is a number, which may have a dtype behind it, and no option.
pub(crate) fn is_negative_number(text: &str) -> bool {
    let number = match text.rsplit_once(':') {
        Some((number, dtype)) if dtype.parse::<DType>().is_ok() => number,
        _ => text,
    };
    // The imaginary unit alone is a letter, as options are.
    let says_number = number.bytes().any(|byte| byte.is_ascii_digit()) || float(number).is_some();
    number.starts_with('-') && says_number && Number::read(number).is_some()
}

/// The error for an integer that no value holds.
#[cold]
pub(crate) fn too_large(text: &str) -> Error {
    let message = format!(
        "found {text}, which does not fit a 64-bit integer (from {} to {}); write {text}. for a float, \
         or {text}:f64 for a tensor of floats",
        i64::MIN,
        i64::MAX
    );
    Error::new(ErrorKind::Value, message)
}
