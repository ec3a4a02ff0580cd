//! What a caller gives, held against what the program says of its inputs.

use std::collections::BTreeMap;

use opgrid_core::{Result, Value};
use opgrid_tensor::Tensor;

use crate::error;
use crate::graph::types::{Range, Size, TensorType, ValueType};
use crate::graph::{Graph, Variable};

/// Makes sure that the values are of the kinds, dtypes and sizes that the program was exported for, and gives the sizes that vary.
///
/// # Errors
///
/// The first that is not, with what it is and what was expected.
pub(super) fn check(graph: &Graph, values: &[Value]) -> Result<BTreeMap<String, i64>> {
    let inputs: Vec<_> = graph.user_inputs().collect();
    if inputs.len() != values.len() {
        let names = error::quoted(inputs.iter().map(|input| &input.name));
        let expected = inputs.len();
        return Err(error::argument(format!("found {} inputs, expected {expected}: {names}", values.len())));
    }
    let mut symbols = Symbols { known: BTreeMap::new(), ranges: &graph.symbols };
    for (input, value) in inputs.iter().zip(values) {
        symbols.learn(input, value).map_err(|error| error.within(format_args!("input `{}`", input.name)))?;
    }
    for (input, value) in inputs.iter().zip(values) {
        symbols
            .compare(input, value)
            .map_err(|error| error.within(format_args!("input `{}`", input.name)))?;
    }
    Ok(symbols.known)
}

/// The sizes that vary, as far as inputs tell them.
struct Symbols<'g> {
    /// The value, and the input that gave it.
    known: BTreeMap<String, i64>,
    ranges: &'g BTreeMap<String, Range>,
}

impl Symbols<'_> {
    /// Checks kind, dtype and number of dimensions, and takes the values of symbols that stand alone.
    fn learn(&mut self, input: &Variable, value: &Value) -> Result<()> {
        match (&input.kind, value) {
            (ValueType::Tensor(expected), Value::Tensor(tensor)) => {
                let tensor = Tensor::try_from(tensor.clone())?;
                if tensor.dtype() != expected.dtype {
                    let (found, expected) = (tensor.dtype(), expected.dtype);
                    return Err(error::argument(format!(
                        "found dtype {found}, expected {expected}; convert it"
                    )));
                }
                if tensor.dim() != expected.sizes.len() {
                    return Err(wrong_sizes(&tensor, expected, ""));
                }
                for (&found, size) in tensor.sizes().iter().zip(&expected.sizes) {
                    self.learn_size(found, size)?;
                }
                Ok(())
            }
            (ValueType::Int(size), Value::Int(found)) => {
                size.as_ref().map_or(Ok(()), |size| self.learn_size(*found, size))
            }
            (ValueType::Float, Value::Float(_) | Value::Int(_)) | (ValueType::Bool, Value::Bool(_)) => Ok(()),
            (ValueType::Unknown, _) => Ok(()),
            (expected, found) => {
                let found = found.borrow().value_type();
                Err(error::argument(format!(
                    "found a value of type {}, expected {expected}",
                    found.python_name()
                )))
            }
        }
    }

    fn learn_size(&mut self, found: i64, size: &Size) -> Result<()> {
        let Size::Varying(expression) = size else { return Ok(()) };
        let Some(symbol) = expression.as_symbol() else { return Ok(()) };
        if let Some(range) = self.ranges.get(symbol).filter(|range| !range.contains(found)) {
            return Err(error::argument(format!(
                "found {found} for the size `{symbol}`, expected one in {range}"
            )));
        }
        self.known.entry(symbol.to_owned()).or_insert(found);
        Ok(())
    }

    /// Compares every size with what it has to be, as far as that is known.
    fn compare(&self, input: &Variable, value: &Value) -> Result<()> {
        let expected = |size: &Size| size.evaluate(&self.known);
        match (&input.kind, value) {
            (ValueType::Tensor(kind), Value::Tensor(tensor)) => {
                let tensor = Tensor::try_from(tensor.clone())?;
                for (dim, (&found, size)) in tensor.sizes().iter().zip(&kind.sizes).enumerate() {
                    if let Some(expected) = expected(size).filter(|expected| *expected != found) {
                        let varying = if matches!(size, Size::Varying(_)) {
                            format!(" as `{size}`")
                        } else {
                            String::new()
                        };
                        let dim = format!("; dimension {dim} is {found}, expected {expected}{varying}");
                        return Err(wrong_sizes(&tensor, kind, &dim));
                    }
                }
                Ok(())
            }
            (ValueType::Int(Some(size)), Value::Int(found)) => match expected(size) {
                Some(expected) if expected != *found => Err(error::argument(format!(
                    "found {found}, expected {expected}; the program was exported for it"
                ))),
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }
}

#[cold]
fn wrong_sizes(tensor: &Tensor, expected: &TensorType, detail: &str) -> opgrid_core::Error {
    let found = TensorType {
        dtype: tensor.dtype(),
        sizes: tensor.sizes().iter().map(|size| Size::Known(*size)).collect(),
    };
    error::argument(format!("found {found}, expected {expected}{detail}"))
}
