//! What a literal means where the schema wants a value of some type.
//!
//! | type | literal |
//! |---|---|
//! | `Tensor` | a file (`x.npy`, `set.npz:name`, `set.safetensors:name`), a list of numbers or of lists, or one number; `:dtype` behind it |
//! | `int`, `float`, `bool`, `complex`, `Scalar` | `2`, `-1.5e-3`, `inf`, `true`, `1+2j`; an integer is a float where one is wanted |
//! | `str` | `"text"`; without quotes the whole argument |
//! | `ScalarType`, `Layout`, `MemoryFormat`, `Device` | `float64`, `sparse_coo`, `channels_last`, `cuda:1`; `torch.` may stand before the first three |
//! | `T[]`, `(A, B)` | `[x, y]`; a sized list such as `int[2]` also takes one `x` for all |
//! | `T?` | `none`, or as `T` |
//!
//! `True`, `False` and `None` are understood as Python writes them.

use std::str::FromStr;
use std::sync::Arc;

use opgrid::dispatch::schema::{Argument, Type};
use opgrid::dispatch::{Layout, List};
use opgrid::{DType, Device, Error, ErrorKind, MemoryFormat, Result, Value};

use crate::grammar::Literal;
use crate::numbers::{Number, complex, float, too_large, truth};
use crate::tensor_literal;

/// The value of an argument's text.
///
/// # Errors
///
/// [`ErrorKind::Value`] where the text is no literal of the argument's type; those of files.
pub(crate) fn read(argument: &Argument, text: &str) -> Result<Value> {
    let literal = Literal::parse(text)?;
    match (argument.size, &literal, argument.real_type.without_optional()) {
        // One element may stand for all of a sized list; binding decides that.
        (Some(_), Literal::Word(word), Type::List(element)) if !is_none(word) => of_type(&literal, element),
        _ => of_type(&literal, &argument.real_type),
    }
}

fn of_type(literal: &Literal, declared: &Type) -> Result<Value> {
    match (declared, literal) {
        (Type::Optional(_) | Type::None, Literal::Word(word)) if is_none(word) => Ok(Value::None),
        (Type::Optional(inner), _) => of_type(literal, inner),
        (Type::Tensor, _) => tensor_literal::read(literal),
        (Type::List(element), Literal::List(items, None)) => {
            let values = items.iter().map(|item| of_type(item, element)).collect::<Result<Vec<_>>>()?;
            Ok(Value::from(List::from_values(element.without_symint(), values)?))
        }
        (Type::Tuple(types), Literal::List(items, None)) if items.len() == types.len() => {
            let values = items.iter().zip(types).map(|(item, declared)| of_type(item, declared));
            Ok(Value::Tuple(Arc::new(values.collect::<Result<Vec<_>>>()?.into())))
        }
        (Type::Any | Type::Var(_), _) => guess(literal),
        (Type::Str, Literal::Text(text)) => Ok(Value::from(text.as_str())),
        (_, Literal::Word(word)) => of_word(word, declared)?.ok_or_else(|| mismatch(literal, declared)),
        _ => Err(mismatch(literal, declared)),
    }
}

/// Whether a word is the value that stands for no value.
fn is_none(word: &str) -> bool {
    matches!(word, "none" | "None")
}

/// The value of a word, if it is one of that type.
fn of_word(word: &str, declared: &Type) -> Result<Option<Value>> {
    Ok(match declared {
        Type::Int | Type::SymInt => match Number::read(word) {
            Some(Number::Large(text)) => return Err(too_large(&text)),
            _ => word.parse().ok().map(Value::Int),
        },
        Type::Float => float(word).map(Value::Float),
        Type::Bool | Type::SymBool => truth(word).map(Value::Bool),
        Type::Complex => complex(word).map(|value| Value::Complex(Arc::new(value))),
        Type::Scalar => Number::read(word).map(Number::into_value).transpose()?,
        Type::Str => Some(Value::from(word)),
        Type::ScalarType => Some(Value::DType(named::<DType>(word)?)),
        Type::Layout => Some(Value::Layout(named::<Layout>(word)?)),
        Type::MemoryFormat => Some(Value::MemoryFormat(named::<MemoryFormat>(word)?)),
        Type::Device => Some(Value::Device(named::<Device>(word)?)),
        _ => None,
    })
}

/// A value that has a name, before which torch's module may stand.
fn named<T: FromStr<Err = Error>>(word: &str) -> Result<T> {
    word.strip_prefix("torch.").unwrap_or(word).parse()
}

/// The value where any type is welcome: what the literal looks like.
fn guess(literal: &Literal) -> Result<Value> {
    match literal {
        Literal::Text(text) => Ok(Value::from(text.as_str())),
        Literal::Word(word) if is_none(word) => Ok(Value::None),
        Literal::Word(word) => match Number::read(word) {
            Some(number) => number.into_value(),
            None => tensor_literal::read(literal),
        },
        Literal::List(_, Some(_)) => tensor_literal::read(literal),
        Literal::List(items, None) => {
            let values = items.iter().map(guess).collect::<Result<Vec<_>>>()?;
            let element = values.first().map_or(Type::Any, Value::value_type);
            let same = values.iter().all(|value| value.value_type() == element);
            Ok(Value::from(List::from_values(if same { element } else { Type::Any }, values)?))
        }
    }
}

#[cold]
fn mismatch(literal: &Literal, declared: &Type) -> Error {
    let found = match literal {
        Literal::Word(word) => format!("`{word}`"),
        Literal::Text(text) => format!("the string {text:?}"),
        Literal::List(items, None) => format!("a list of {}", items.len()),
        Literal::List(_, Some(dtype)) => format!("a tensor of {dtype}"),
    };
    let message = match example(declared) {
        Some(example) => format!("found {found}, expected {declared}, such as {example}"),
        None => format!("found {found}, but values of type {declared} cannot be written on the command line"),
    };
    Error::new(ErrorKind::Value, message)
}

/// How values of a type are written; `None` where they cannot be.
fn example(declared: &Type) -> Option<String> {
    Some(match declared {
        Type::Int | Type::SymInt => "2".into(),
        Type::Float => "1.5".into(),
        Type::Scalar => "2 or 1.5".into(),
        Type::Complex => "1+2j".into(),
        Type::Bool | Type::SymBool => "true or false".into(),
        Type::Str => "\"text\"".into(),
        Type::Tensor => "x.npy or [[1,2],[3,4]]:f32".into(),
        Type::ScalarType => "float32".into(),
        Type::Layout => "strided".into(),
        Type::MemoryFormat => "contiguous_format".into(),
        Type::Device => "cpu".into(),
        Type::None => "none".into(),
        Type::Optional(inner) => format!("{} or none", example(inner)?),
        Type::List(inner) => format!("[{}]", example(inner)?),
        Type::Tuple(types) => {
            let examples: Option<Vec<_>> = types.iter().map(example).collect();
            format!("[{}]", examples?.join(", "))
        }
        _ => return None,
    })
}

/// Whether arguments of this type are tensors, or lists or options of them.
pub(crate) fn takes_tensors(declared: &Type) -> bool {
    match declared {
        Type::List(inner) | Type::Optional(inner) => takes_tensors(inner),
        declared => *declared == Type::Tensor,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numbers::is_negative_number;
    use opgrid::dispatch::schema::FunctionSchema;

    fn check(declared: &str, text: &str, expected: &str) {
        let schema = FunctionSchema::parse(&format!("my::op({declared} x) -> ()")).unwrap();
        let found = match read(&schema.arguments[0], text) {
            Ok(value) => format!("{} {value}", value.value_type()),
            Err(error) => error.to_string(),
        };
        assert_eq!(found, expected, "{declared} {text}");
    }

    #[test]
    fn literals_are_read_as_the_type_says() {
        check("int", "-3", "int -3");
        check("SymInt", "3", "int 3");
        check("float", "3", "float 3.");
        check("float", "1e3", "float 1000.");
        check("Scalar", "3", "int 3");
        check("Scalar", "2.5", "float 2.5");
        check("Scalar", "-1.5e-3", "float -0.0015");
        check("Scalar", "9223372036854775808.", "float 9.2233720368547758e+18");
        check("float", "9223372036854775808", "float 9.2233720368547758e+18");
        check("bool", "False", "bool False");
        check("bool?", "None", "NoneType None");
        check("ScalarType?", "torch.float64", "ScalarType float64");
        check("Scalar", "true", "bool True");
        check("bool", "false", "bool False");
        check("str", "\"none\"", "str none");
        check("str?", "none", "NoneType None");
        check("int[]", "[2,3]", "int[] [2, 3]");
        check("int[2]", "4", "int 4");
        check("int[2]?", "none", "NoneType None");
        check("float[]", "[1, 2.5]", "float[] [1., 2.5]");
        check("ScalarType", "f64", "ScalarType float64");
        check("Device?", "cuda:1", "Device cuda:1");
    }

    #[test]
    fn negative_numbers_are_told_from_options() {
        for text in [
            "-1",
            "-1.5e-3",
            "-.5",
            "-inf",
            "-nan",
            "-2j",
            "-1+2j",
            "-1:f64",
            "-inf:f32",
            "-9223372036854775809",
        ] {
            assert!(is_negative_number(text), "{text}");
        }
        for text in ["--out", "-h", "-", "--", "-j", "-x.npy", "1", "-1:x", "--1"] {
            assert!(!is_negative_number(text), "{text}");
        }
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        check("int", "x.npy", "found `x.npy`, expected int, such as 2");
        let range = "which does not fit a 64-bit integer (from -9223372036854775808 to 9223372036854775807)";
        for declared in ["int", "Scalar", "int?"] {
            let expected = format!(
                "found 99999999999999999999, {range}; write 99999999999999999999. for a float, or \
                 99999999999999999999:f64 for a tensor of floats"
            );
            check(declared, "99999999999999999999", &expected);
        }
        check("float", "[1]", "found a list of 1, expected float, such as 1.5");
        check("bool", "1", "found `1`, expected bool, such as true or false");
        check("int[]", "[1,a]", "found `a`, expected int, such as 2");
        check("int[]", "2", "found `2`, expected int[], such as [2]");
        check(
            "Generator",
            "2",
            "found `2`, but values of type Generator cannot be written on the command line",
        );
    }
}
