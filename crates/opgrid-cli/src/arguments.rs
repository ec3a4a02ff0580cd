//! The arguments of the process, with negative numbers told from options.
//!
//! A parser of options takes `-inf` and `-1+2j` for options. They are marked before it sees them, and the mark is taken
//! away where an argument is read.

use std::convert::Infallible;
use std::ffi::OsString;

use crate::file::is_standard_input;
use crate::numbers::is_negative_number;

/// What no argument contains that somebody typed.
const MARK: char = '\u{1}';

/// The arguments, those marked that begin with `-` and are no options.
pub(crate) fn escaped(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mark = |argument: OsString| match argument.to_str() {
        Some(text) if is_negative_number(text) || (text.len() > 1 && is_standard_input(text)) => {
            format!("{MARK}{text}").into()
        }
        _ => argument,
    };
    arguments.into_iter().map(mark).collect()
}

/// A text in which arguments are marked, as they were typed.
pub(crate) fn without_marks(text: &str) -> String {
    text.replace(MARK, "")
}

/// Reads an argument that may be a negative number.
pub(crate) fn unmarked(text: &str) -> Result<String, Infallible> {
    Ok(text.strip_prefix(MARK).unwrap_or(text).to_owned())
}

/// Reads how far a result may be from what is expected.
pub(crate) fn tolerance(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| format!("found `{text}`, expected a number that is not negative, such as 1e-5"))
}

/// Reads a number of bytes: digits, and K, M or G for 1024, 1024² or 1024³ of them.
pub(crate) fn bytes(text: &str) -> Result<usize, String> {
    let (digits, unit) = match text.strip_suffix(['K', 'M', 'G']) {
        Some(digits) if text.ends_with('K') => (digits, 1 << 10),
        Some(digits) if text.ends_with('M') => (digits, 1 << 20),
        Some(digits) => (digits, 1 << 30),
        None => (text, 1),
    };
    let number = digits.parse::<usize>().ok().and_then(|number| number.checked_mul(unit));
    number.ok_or_else(|| format!("found `{text}`, expected a number of bytes, such as 500M or 2G"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_bytes_have_units() {
        let read = |text| bytes(text).ok();
        assert_eq!([read("7"), read("3K"), read("500M")], [Some(7), Some(3072), Some(500 << 20)]);
        assert_eq!(read("2G"), Some(2 << 30));
        for wrong in ["", "K", "-1", "1.5G", "2 G", "2GB", "99999999999999999999", "17179869184G"] {
            assert!(bytes(wrong).is_err_and(|error| error.contains("such as 500M")), "{wrong}");
        }
    }

    #[test]
    fn numbers_are_marked_and_options_are_not() {
        let typed = ["call", "-1", "--out", "-h", "-", "-:w", "x=-1", "-x.npy"].map(OsString::from);
        let escaped = escaped(typed.clone());
        let marked: Vec<usize> = (0..typed.len()).filter(|&place| escaped[place] != typed[place]).collect();
        assert_eq!(marked, [1, 5]);
        for (escaped, typed) in escaped.iter().zip(&typed) {
            assert_eq!(unmarked(escaped.to_str().unwrap()).unwrap(), typed.to_str().unwrap());
        }
    }
}
