//! The arguments of a sample by name, as references read them.

use opgrid_core::value_type::ValueType;
use opgrid_core::{Result, Value};

use super::plain::strange;
use super::{Given, Plain};

/// The arguments of a call under the names that the schema gives them, with its defaults.
#[derive(Clone, Debug)]
pub struct Inputs(Vec<(String, Given)>);

impl Inputs {
    /// Arguments in the order of the schema.
    pub fn new(arguments: Vec<(String, Given)>) -> Self {
        Self(arguments)
    }

    /// The arguments in the order of the schema.
    pub fn arguments(&self) -> &[(String, Given)] {
        &self.0
    }

    /// The argument of that name.
    ///
    /// # Errors
    ///
    /// There is none.
    pub(super) fn argument(&self, name: &str) -> Result<&Given> {
        let found = self.0.iter().find(|(given, _)| given == name);
        found.map(|(_, argument)| argument).ok_or_else(|| strange(format!("there is no argument `{name}`")))
    }

    /// The tensor of that name.
    ///
    /// # Errors
    ///
    /// There is none.
    pub fn tensor(&self, name: &str) -> Result<&Plain> {
        match self.argument(name)? {
            Given::Tensor(tensor) => Ok(tensor),
            other => Err(strange(format!("argument `{name}` is {other}, expected a tensor"))),
        }
    }

    /// The list of tensors of that name.
    ///
    /// # Errors
    ///
    /// There is none.
    pub fn tensors(&self, name: &str) -> Result<&[Plain]> {
        match self.argument(name)? {
            Given::Tensors(tensors) => Ok(tensors),
            other => Err(strange(format!("argument `{name}` is {other}, expected a list of tensors"))),
        }
    }

    /// The list of tensors with gaps of that name.
    ///
    /// # Errors
    ///
    /// There is none.
    pub fn optional_tensors(&self, name: &str) -> Result<&[Option<Plain>]> {
        match self.argument(name)? {
            Given::OptionalTensors(tensors) => Ok(tensors),
            other => Err(strange(format!("argument `{name}` is {other}, expected tensors with gaps"))),
        }
    }

    /// Anything else of that name: `i64`, `bool`, `Scalar`, `Option<DType>`, `Vec<i64>` and so on.
    ///
    /// # Errors
    ///
    /// There is none, or one of another kind.
    pub fn value<T: ValueType>(&self, name: &str) -> Result<T> {
        match self.argument(name)? {
            Given::Value(value) => T::from_value(Value::borrow(value)),
            other => Err(strange(format!("argument `{name}` is {other}, expected no tensor"))),
        }
    }

    /// Returns an argument, or `None` if the operator has no such argument or `None` was given.
    ///
    /// # Errors
    ///
    /// There is one of another kind.
    pub fn option<T: ValueType>(&self, name: &str) -> Result<Option<T>> {
        match self.argument(name) {
            Ok(Given::Value(Value::None)) | Err(_) => Ok(None),
            Ok(_) => self.value(name).map(Some),
        }
    }
}
