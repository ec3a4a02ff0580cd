//! Tensors on the command line: files, numbers and lists of numbers.
//!
//! Without a dtype a literal gets the one that `torch.tensor` gives: bool for truth values alone, int64 for integers,
//! float32 as soon as a number is written as a float or there is none at all, complex64 with a complex one. With one,
//! truth values and integers become what it says; a fraction in an integer tensor is an error, where torch would cut
//! it off, and so is an integer beyond its dtype.

use opgrid::array::{Array, Element, with_dtype};
use opgrid::tensor::Number;
use opgrid::{DType, Error, ErrorKind, Result, Tensor, Value};

use crate::file;
use crate::grammar::Literal;
use crate::numbers;

/// The tensor of a literal.
///
/// # Errors
///
/// [`ErrorKind::Value`] for rows of different lengths, for items that are no numbers, for numbers that the dtype
/// cannot hold; those of files.
pub(crate) fn read(literal: &Literal) -> Result<Value> {
    Ok(Value::from(Tensor::from_array(array(literal)?)?))
}

/// The array of a literal.
///
/// # Errors
///
/// As [`read`].
pub(crate) fn array(literal: &Literal) -> Result<Array> {
    match literal {
        Literal::Word(word) => of_word(word),
        Literal::Text(text) => Err(no_tensor(&format!("the string {text:?}"))),
        Literal::List(items, dtype) => {
            let mut elements = Elements::default();
            elements.add_list(items, 0)?;
            elements.into_array(*dtype)
        }
    }
}

/// A file, or one number, which may have a dtype behind it.
fn of_word(word: &str) -> Result<Array> {
    let (text, dtype) = match word.rsplit_once(':') {
        Some((text, dtype)) if numbers::Number::read(text).is_some() => (text, Some(dtype.parse()?)),
        _ => (word, None),
    };
    match numbers::Number::read(text) {
        Some(number) => Elements { numbers: vec![number], sizes: Vec::new() }.into_array(dtype),
        None => file::read(word)?.ok_or_else(|| no_tensor(&format!("`{word}`"))),
    }
}

#[cold]
fn no_tensor(found: &str) -> Error {
    let message = format!(
        "found {found}, expected a tensor: a file such as x.npy, set.npz:name or set.safetensors:name, or [[1,2],[3,4]]:f32"
    );
    Error::new(ErrorKind::Value, message)
}

/// Numbers in row-major order, and the sizes found so far.
#[derive(Default)]
struct Elements {
    numbers: Vec<numbers::Number>,
    sizes: Vec<i64>,
}

impl Elements {
    fn add_list(&mut self, items: &[Literal], dim: usize) -> Result<()> {
        match self.sizes.get(dim) {
            None if self.numbers.is_empty() => self.sizes.push(items.len() as i64),
            Some(&size) if size == items.len() as i64 => {}
            found => return Err(ragged(dim, items.len(), found.copied())),
        }
        for item in items {
            match item {
                Literal::List(inner, None) => self.add_list(inner, dim + 1)?,
                Literal::Word(word) if self.sizes.len() == dim + 1 => {
                    let number = numbers::Number::read(word);
                    let found = || Error::new(ErrorKind::Value, format!("found `{word}`, expected a number"));
                    self.numbers.push(number.ok_or_else(found)?);
                }
                Literal::Word(word) => {
                    let message = format!(
                        "found `{word}` next to a list, expected a list in dimension \
                         {dim}"
                    );
                    return Err(Error::new(ErrorKind::Value, message));
                }
                _ => return Err(no_tensor("a string or a dtype inside a list")),
            }
        }
        Ok(())
    }

    fn into_array(self, dtype: Option<DType>) -> Result<Array> {
        let dtype = match dtype {
            Some(dtype) => dtype,
            None => self.dtype()?,
        };
        with_dtype!(dtype, T: Stored => {
            let elements: Result<Vec<T>> = self.numbers.iter().map(element).collect();
            Array::from_slice(&elements?, &self.sizes)
        })
    }

    /// The dtype that holds every number.
    ///
    /// # Errors
    ///
    /// Where an integer is beyond `int64`, which nobody means to become a float without saying so.
    fn dtype(&self) -> Result<DType> {
        use numbers::Number::{Complex, Float, Int, Large};
        let any = |sort: fn(&numbers::Number) -> bool| self.numbers.iter().any(sort);
        Ok(if any(|number| matches!(number, Complex(_))) {
            DType::Complex64
        } else if self.numbers.is_empty() || any(|number| matches!(number, Float(_))) {
            DType::F32
        } else if let Some(Large(text)) = self.numbers.iter().find(|number| matches!(number, Large(_))) {
            return Err(numbers::too_large(text));
        } else if any(|number| matches!(number, Int(_))) {
            DType::I64
        } else {
            DType::Bool
        })
    }
}

/// A number as an element of `T`, which has to hold it.
fn element<T: Element>(number: &numbers::Number) -> Result<T> {
    let number = match number {
        numbers::Number::Int(number) => Number::I64(*number),
        numbers::Number::Large(text) => large::<T>(text)?,
        numbers::Number::Bool(truth) => Number::Bool(*truth),
        numbers::Number::Float(number) => Number::F64(*number),
        numbers::Number::Complex(number) => Number::Complex128(*number),
    };
    let element = T::from_number(number);
    let fits = match number {
        _ if T::DTYPE == DType::Bool => true,
        Number::Complex128(_) => T::DTYPE.is_complex(),
        Number::F64(_) => !T::DTYPE.is_integral(),
        Number::I64(number) if T::DTYPE.is_integral() => element.number().as_integer() == Some(number.into()),
        _ => true,
    };
    if fits { Ok(element) } else { Err(no_element(number, T::DTYPE)) }
}

/// An integer beyond `i64`, for elements that are floats or that hold it.
fn large<T: Element>(text: &str) -> Result<Number> {
    if !T::DTYPE.is_integral() {
        return text.parse().map(Number::F64).map_err(|_| numbers::too_large(text));
    }
    match text.parse() {
        Ok(number) if T::DTYPE == DType::U64 => Ok(Number::U64(number)),
        _ => {
            let message =
                format!("found {text}, which {} cannot represent; write :f64 for a float", T::DTYPE);
            Err(Error::new(ErrorKind::Value, message))
        }
    }
}

#[cold]
fn no_element(number: Number, dtype: DType) -> Error {
    let message = match number {
        Number::Complex128(number) => {
            format!(
                "found {number} in a tensor of {dtype}, expected a real number; write :c64 for complex ones"
            )
        }
        Number::F64(number) => {
            format!("found {number} in a tensor of {dtype}, expected an integer; write :f32 for fractions")
        }
        Number::I64(number) => {
            format!("found {number}, which {dtype} cannot represent; write :i64 for large integers")
        }
        other => format!("found {other:?} in a tensor of {dtype}"),
    };
    Error::new(ErrorKind::Value, message)
}

#[cold]
fn ragged(dim: usize, found: usize, expected: Option<i64>) -> Error {
    let message = match expected {
        Some(expected) => format!(
            "found a list of length {found} in dimension {dim} where others have length {expected}, \
             expected equal lengths"
        ),
        None => format!("found a list next to numbers in dimension {dim}, expected numbers or lists only"),
    };
    Error::new(ErrorKind::Value, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let found = match Literal::parse(text).and_then(|literal| read(&literal)) {
            Ok(value) => value.to_string(),
            Err(error) => error.to_string(),
        };
        assert!(found.contains(expected), "{text}: {found}");
    }

    #[test]
    fn numbers_choose_the_dtype_as_torch_does() {
        check("[1,2]", "tensor([1, 2])");
        check("[1,2.5]", "tensor([1.0000, 2.5000])");
        check("[true,false]", "tensor([ True, False])");
        check("[true,2]", "tensor([1, 2])");
        check("[]", "tensor([])");
        check("2", "tensor(2)");
        check("2.5:f64", "tensor(2.5000, dtype=torch.float64)");
        check("[[1,2],[3,4]]:f32", "tensor([[1., 2.],\n        [3., 4.]])");
        check("[0,3]:bool", "tensor([False,  True])");
        check("[[],[]]", "size=(2, 0)");
        check("[inf,nan]", "tensor([inf, nan])");
        check("[1.5]:f16", "tensor([1.5000], dtype=torch.float16)");
        check("[1,2]:bf16", "tensor([1., 2.], dtype=torch.bfloat16)");
        check("[255,true]:u8", "tensor([255,   1], dtype=torch.uint8)");
        check("[1+2j,3]", "tensor([1.+2.j, 3.+0.j])");
        check("[True]", "tensor([True])");
        check("9223372036854775808:f64", "tensor(9.2234e+18, dtype=torch.float64)");
        check("[18446744073709551615]:u64", "tensor([18446744073709551615], dtype=torch.uint64)");
        check("1-2j:c128", "tensor(1.-2.j, dtype=torch.complex128)");
    }

    #[test]
    fn what_is_no_tensor_is_an_error() {
        check("[[1,2],[3]]", "found a list of length 1 in dimension 1 where others have length 2");
        check("[1,[2]]", "found a list next to numbers in dimension 1");
        check("[[1],2]", "found `2` next to a list");
        check("[a]", "found `a`, expected a number");
        check("[1.5]:i64", "found 1.5 in a tensor of int64, expected an integer");
        check("[1]:qint8", "qint8");
        check("[128]:i8", "found 128, which int8 cannot represent");
        check("9223372036854775808", "does not fit a 64-bit integer");
        check("[1,9223372036854775808]", "or 9223372036854775808:f64 for a tensor of floats");
        check("[9223372036854775808]:i32", "which int32 cannot represent; write :f64 for a float");
        check("[18446744073709551616]:u64", "which uint64 cannot represent");
        check("[1+2j]:f32", "in a tensor of float32, expected a real number");
        check("[1]:f33", "unknown dtype `f33`");
        check("x.txt", "found `x.txt`, expected a tensor");
        check("\"x\"", "expected a tensor");
        check("missing.npy", "missing.npy");
        check("[[1]:f32]", "a dtype inside a list");
    }
}
