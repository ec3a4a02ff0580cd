//! Default values of arguments and how numbers and strings are written.

use std::fmt;

/// A default value as data.
///
/// Enumerations are their numbers: `ScalarType d=float` has the default `Int(6)`.
#[derive(Clone, Debug)]
pub enum Constant {
    /// `None`.
    None,
    /// `True` or `False`.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A floating-point number.
    Float(f64),
    /// Real and imaginary part.
    Complex(f64, f64),
    /// A string.
    Str(String),
    /// A device, such as `cuda:1`.
    Device(String),
    /// A list.
    List(Vec<Constant>),
}

/// The words that stand for a number whatever the type: two dtypes, the default layout and memory format, and
/// the default reduction.
pub(crate) const NAMED_NUMBERS: [(&str, i64); 6] =
    [("float", 6), ("long", 4), ("complex", 9), ("strided", 0), ("contiguous_format", 0), ("Mean", 1)];

impl Constant {
    /// Names the kind of value as messages do.
    pub(crate) fn kind_name(&self) -> &'static str {
        match self {
            Constant::None => "None",
            Constant::Bool(_) => "bool",
            Constant::Int(_) => "int",
            Constant::Float(_) => "float",
            Constant::Complex(..) => "complex",
            Constant::Str(_) => "str",
            Constant::Device(_) => "Device",
            Constant::List(_) => "list",
        }
    }
}

/// NaN equals itself here: a schema equals what its text reads back to.
impl PartialEq for Constant {
    fn eq(&self, other: &Self) -> bool {
        let same = |one: &f64, other: &f64| one == other || (one.is_nan() && other.is_nan());
        match (self, other) {
            (Self::None, Self::None) => true,
            (Self::Bool(one), Self::Bool(other)) => one == other,
            (Self::Int(one), Self::Int(other)) => one == other,
            (Self::Float(one), Self::Float(other)) => same(one, other),
            (Self::Complex(re, im), Self::Complex(other_re, other_im)) => {
                same(re, other_re) && same(im, other_im)
            }
            (Self::Str(one), Self::Str(other)) | (Self::Device(one), Self::Device(other)) => one == other,
            (Self::List(one), Self::List(other)) => one == other,
            _ => false,
        }
    }
}

/// Strings are written bare; quotes are added where the type of an argument asks for them.
impl fmt::Display for Constant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Constant::None => f.write_str("None"),
            Constant::Bool(true) => f.write_str("True"),
            Constant::Bool(false) => f.write_str("False"),
            Constant::Int(value) => write!(f, "{value}"),
            Constant::Float(value) => f.write_str(&print_float(*value)),
            Constant::Complex(re, im) => {
                let plus = if *im < 0.0 { "" } else { "+" };
                write!(f, "{}{plus}{}j", print_float(*re), print_float(*im))
            }
            Constant::Str(text) | Constant::Device(text) => f.write_str(text),
            Constant::List(items) => write_list(f, items),
        }
    }
}

fn write_list(f: &mut fmt::Formatter<'_>, items: &[Constant]) -> fmt::Result {
    f.write_str("[")?;
    for (index, item) in items.iter().enumerate() {
        let comma = if index > 0 { ", " } else { "" };
        write!(f, "{comma}{item}")?;
    }
    f.write_str("]")
}

/// Significant decimal digits after which every `f64` can be told apart.
const DIGITS: i32 = 17;

/// Writes a floating-point number as schemas and values show it.
///
/// Whole numbers that fit 64 bits are written in full with a point at the end, others with at most 17
/// significant digits, with an exponent where it is below −4 or above 16 (`%.17g` in C). Negative zero is
/// written as zero.
///
/// ```
/// # use opgrid_schema::print_float;
/// assert_eq!(print_float(1.0), "1.");
/// assert_eq!(print_float(0.1), "0.10000000000000001");
/// assert_eq!(print_float(1e-5), "1.0000000000000001e-05");
/// assert_eq!(print_float(1e20), "1e+20");
/// ```
pub fn print_float(value: f64) -> String {
    const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;
    if value.trunc() == value && value.abs() < TWO_TO_63 {
        return format!("{}.", value as i64);
    }
    if value.is_nan() {
        return "nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let scientific = format!("{value:.*e}", DIGITS as usize - 1);
    let (mantissa, exponent) =
        scientific.split_once('e').expect("Rust writes finite numbers of this format with an exponent");
    let exponent: i32 = exponent.parse().expect("the exponent is a small integer");
    if (-4..DIGITS).contains(&exponent) {
        return trim_zeros(&format!("{value:.*}", (DIGITS - 1 - exponent) as usize)).to_owned();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", trim_zeros(mantissa), exponent.abs())
}

fn trim_zeros(text: &str) -> &str {
    text.trim_end_matches('0').trim_end_matches('.')
}

/// Writes a string in double quotes with escapes; characters beyond ASCII stay as they are.
pub(crate) fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        let escape = match character {
            '\\' | '\'' | '"' => character,
            '\u{07}' => 'a',
            '\u{08}' => 'b',
            '\u{0c}' => 'f',
            '\n' => 'n',
            '\r' => 'r',
            '\t' => 't',
            '\u{0b}' => 'v',
            control if control.is_ascii_control() => {
                quoted.push_str(&format!("\\{:03o}", control as u32));
                continue;
            }
            plain => {
                quoted.push(plain);
                continue;
            }
        };
        quoted.extend(['\\', escape]);
    }
    quoted.push('"');
    quoted
}

/// Reads a string literal with its quotes.
///
/// # Errors
///
/// The message about an escape that is not supported.
pub(crate) fn unquote(literal: &str) -> Result<String, &'static str> {
    let width = if literal.starts_with("\"\"\"") || literal.starts_with("'''") { 3 } else { 1 };
    let mut rest = &literal[width..literal.len() - width];
    let mut text = String::with_capacity(rest.len());
    while let Some(at) = rest.find('\\') {
        text.push_str(&rest[..at]);
        let (character, length) = unescape(&rest[at + 1..])?;
        text.push(character);
        rest = &rest[at + 1 + length..];
    }
    text.push_str(rest);
    Ok(text)
}

/// Reads what follows a backslash: the character meant and the bytes used.
fn unescape(rest: &str) -> Result<(char, usize), &'static str> {
    let simple = match rest.as_bytes().first() {
        Some(&byte @ (b'\\' | b'\'' | b'"' | b'\n')) => char::from(byte),
        Some(b'a') => '\u{07}',
        Some(b'b') => '\u{08}',
        Some(b'f') => '\u{0c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'v') => '\u{0b}',
        Some(b'x') => return Err("unsupported hex specifier"),
        _ => return octal(rest).map(|byte| (char::from(byte), 3)).ok_or("ill formed octal specifier"),
    };
    Ok((simple, 1))
}

fn octal(rest: &str) -> Option<u8> {
    let digits = rest.get(..3).filter(|digits| digits.bytes().all(|byte| matches!(byte, b'0'..=b'7')))?;
    u8::from_str_radix(digits, 8).ok()
}

/// Reads an unsigned number in C's notation as an `f64`.
///
/// Gives `None` when it is too large, or so close to zero that digits are lost.
pub(crate) fn read_float(text: &str) -> Option<f64> {
    let lower = text.to_ascii_lowercase();
    let (value, digits) = match lower.strip_prefix("0x") {
        Some(hexadecimal) => (read_hexadecimal(hexadecimal)?, hexadecimal.split('p').next()),
        None => (lower.parse().ok()?, lower.split('e').next()),
    };
    let is_zero = !digits?.bytes().any(|byte| byte.is_ascii_hexdigit() && byte != b'0');
    (value.is_normal() || (value == 0.0 && is_zero)).then_some(value)
}

/// Reads `1.8p3`, hexadecimal digits with a power of two.
fn read_hexadecimal(text: &str) -> Option<f64> {
    let (mantissa, exponent) = text.split_once('p').unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let mut bits: u64 = 0;
    let mut scale = exponent.parse::<i64>().ok()?.checked_sub(4 * fraction.len() as i64)?;
    for digit in whole.chars().chain(fraction.chars()) {
        let digit = u64::from(digit.to_digit(16)?);
        if bits < 1 << 59 {
            bits = bits << 4 | digit;
        } else {
            // Digits beyond the 53 bits of a float only decide how it is rounded.
            bits |= u64::from(digit != 0);
            scale += 4;
        }
    }
    let half = scale.clamp(-4_000, 4_000) as i32 / 2;
    Some(bits as f64 * 2f64.powi(half) * 2f64.powi(scale.clamp(-4_000, 4_000) as i32 - half))
}
