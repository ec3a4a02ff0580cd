//! Positional and keyword values brought into the order of a schema, with its defaults filled in.

use std::sync::Arc;

use opgrid_schema::{Argument, Constant, FunctionSchema, Type, TypedValue};

use crate::error::{Error, ErrorKind, Result};
use crate::values::device::Device;
use crate::values::dtype::DType;
use crate::values::layout::{Layout, MemoryFormat};
use crate::values::value::{List, Value};
use num_complex::Complex64;

impl TypedValue for Value {
    fn value_type(&self) -> Type {
        Value::value_type(self)
    }

    /// A truth value is a number here, as in torch's calls from Python; schemas themselves know no such subtype.
    fn also_fits(&self, declared: &Type) -> bool {
        match (self, declared) {
            (Value::Dict(dict), Type::Dict(..)) => dict.entries().is_empty(),
            (Value::Bool(_), declared) => *declared.without_optional() == Type::Scalar,
            _ => false,
        }
    }

    fn describe(&self) -> String {
        self.to_string()
    }
}

/// A default as the argument's type says: a number for `ScalarType` is a dtype.
fn default_value(constant: &Constant, argument: &Argument) -> Value {
    of_type(constant, argument.real_type.without_optional())
}

fn of_type(constant: &Constant, declared: &Type) -> Value {
    match (constant, declared) {
        (Constant::None, _) => Value::None,
        (Constant::Bool(value), _) => Value::Bool(*value),
        (Constant::Int(number), Type::ScalarType) => {
            DType::from_number(*number).map_or(Value::Int(*number), Value::DType)
        }
        (Constant::Int(number), Type::Layout) => {
            Layout::from_number(*number).map_or(Value::Int(*number), Value::Layout)
        }
        (Constant::Int(number), Type::MemoryFormat) => {
            MemoryFormat::from_number(*number).map_or(Value::Int(*number), Value::MemoryFormat)
        }
        (Constant::Int(number), Type::Float) => Value::Float(*number as f64),
        (Constant::Int(number), _) => Value::Int(*number),
        (Constant::Float(value), _) => Value::Float(*value),
        (Constant::Complex(re, im), _) => Value::Complex(Arc::new(Complex64::new(*re, *im))),
        (Constant::Str(text), _) => Value::from(text.as_str()),
        (Constant::Device(text), _) => text.parse::<Device>().map_or(Value::None, Value::Device),
        (Constant::List(items), declared) => {
            let element = if let Type::List(element) = declared { (**element).clone() } else { Type::Any };
            let element = element.without_symint();
            let values: Vec<_> = items.iter().map(|item| of_type(item, &element)).collect();
            let list = List::of(element, values.clone()).unwrap_or(List::Values(Type::Any, values));
            Value::from(list)
        }
    }
}

/// The arguments of a call in the order of the schema.
pub(crate) fn bind(
    schema: &FunctionSchema,
    positional: Vec<Value>,
    keyword: Vec<(String, Value)>,
) -> Result<Vec<Value>> {
    schema
        .bind(positional, keyword, default_value)
        .map_err(|error| Error::new(ErrorKind::Value, error.to_string()))
}
