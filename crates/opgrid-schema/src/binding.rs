//! Puts the values of a call in the order of the schema and checks their types.

use std::fmt;

use crate::{Argument, Constant, FunctionSchema, Type};

/// A value whose type can be asked for.
pub trait TypedValue {
    /// The value's type.
    fn value_type(&self) -> Type;

    /// Whether the value also fits a declared type that its own type is no subtype of, as a dictionary without
    /// entries fits every dictionary type.
    fn also_fits(&self, declared: &Type) -> bool {
        let _ = declared;
        false
    }

    /// The value as a message shows it; an empty text leaves it out.
    fn describe(&self) -> String;
}

/// The kinds of mistakes in the values of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BindErrorKind {
    /// More positional values than arguments.
    TooMany,
    /// An argument without default got no value.
    Missing,
    /// A value is not of the argument's type.
    WrongType,
    /// A keyword names no argument.
    UnknownKeyword,
    /// An argument was given twice.
    GivenTwice,
}

/// A mistake in the values of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BindError(Box<(BindErrorKind, String)>);

impl BindError {
    fn new(kind: BindErrorKind, message: String) -> Self {
        BindError(Box::new((kind, message)))
    }

    /// The kind of mistake.
    pub fn kind(&self) -> BindErrorKind {
        self.0.0
    }
}

impl fmt::Display for BindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.1)
    }
}

impl std::error::Error for BindError {}

impl FunctionSchema {
    /// Gives one value per argument: first the positional values, then those by name, then defaults.
    ///
    /// Keyword-only arguments accept positional values here, as in PyTorch's boxed calls; `constant` makes a
    /// value of a default. Values of `ScalarType`, `Layout` and `MemoryFormat` may be integers.
    ///
    /// # Errors
    ///
    /// Too many values, a missing one, one of a wrong type, a keyword that is unknown or given twice.
    ///
    /// # Examples
    ///
    /// ```
    /// use opgrid_schema::{Constant, FunctionSchema, Type, TypedValue};
    ///
    /// #[derive(Debug, PartialEq)]
    /// struct Int(i64);
    ///
    /// impl TypedValue for Int {
    ///     fn value_type(&self) -> Type {
    ///         Type::Int
    ///     }
    ///     fn describe(&self) -> String {
    ///         self.0.to_string()
    ///     }
    /// }
    ///
    /// let schema = FunctionSchema::parse("my::f(int a, int b=2) -> int").unwrap();
    /// let default = |constant: &Constant, _: &_| match constant {
    ///     Constant::Int(value) => Int(*value),
    ///     _ => Int(0),
    /// };
    /// assert_eq!(schema.bind(vec![Int(7)], vec![], default), Ok(vec![Int(7), Int(2)]));
    /// assert!(schema.bind(vec![], vec![("b".to_owned(), Int(1))], default).is_err());
    /// ```
    pub fn bind<V: TypedValue>(
        &self,
        positional: Vec<V>,
        keyword: Vec<(String, V)>,
        constant: impl Fn(&Constant, &Argument) -> V,
    ) -> Result<Vec<V>, BindError> {
        if positional.len() > self.arguments.len() {
            return Err(self.too_many(positional.len()));
        }
        let mut positional = positional.into_iter();
        let mut keyword: Vec<(String, Option<V>)> =
            keyword.into_iter().map(|(name, value)| (name, Some(value))).collect();
        let mut values = Vec::with_capacity(self.arguments.len());
        for (position, argument) in self.arguments.iter().enumerate() {
            let value = if let Some(value) = positional.next() {
                self.check_value(argument, Some(position), &value)?;
                value
            } else if let Some(value) = take(&mut keyword, &argument.name) {
                self.check_value(argument, None, &value)?;
                value
            } else if let Some(default) = &argument.default {
                constant(default, argument)
            } else {
                return Err(self.missing(argument));
            };
            values.push(value);
        }
        match keyword.iter().find(|(_, value)| value.is_some()) {
            Some((name, _)) => Err(self.left_over(&keyword, name)),
            None => Ok(values),
        }
    }

    fn check_value<V: TypedValue>(
        &self,
        argument: &Argument,
        position: Option<usize>,
        value: &V,
    ) -> Result<(), BindError> {
        let found = value.value_type();
        if accepts(argument, &found) || value.also_fits(&argument.real_type) {
            return Ok(());
        }
        let mut message = format!(
            "{}() Expected a value of type '{}' for argument '{}' but instead found type '{}'.\n",
            self.name.name,
            argument.real_type.python_name(),
            argument.name,
            found.python_name(),
        );
        if let Some(position) = position {
            message += &format!("Position: {position}\n");
        }
        let description = value.describe();
        if !description.is_empty() {
            message += &format!("Value: {description}\n");
        }
        message += &format!("Declaration: {self}");
        Err(BindError::new(BindErrorKind::WrongType, message))
    }

    fn too_many(&self, received: usize) -> BindError {
        let (most, name) = (self.arguments.len(), &self.name.name);
        let message = format!(
            "Expected at most {most} argument(s) for operator '{name}', but received {received} argument(s). \
             Declaration: {self}"
        );
        BindError::new(BindErrorKind::TooMany, message)
    }

    fn missing(&self, argument: &Argument) -> BindError {
        let message = format!(
            "{}() is missing value for argument '{}'. Declaration: {self}",
            self.name.name, argument.name
        );
        BindError::new(BindErrorKind::Missing, message)
    }

    /// Says why keywords are left: unknown ones first, then those also given by position or twice.
    fn left_over<V>(&self, keyword: &[(String, Option<V>)], left: &str) -> BindError {
        let unknown = keyword.iter().find(|(name, _)| self.argument_index(name).is_none());
        if let Some((unknown, _)) = unknown {
            let message = format!(
                "Unknown keyword argument '{unknown}' for operator '{}'. Schema: {self}",
                self.name.name
            );
            return BindError::new(BindErrorKind::UnknownKeyword, message);
        }
        let times = keyword.iter().filter(|(name, _)| name == left).count();
        let message = if times > 1 {
            format!("Argument '{left}' specified {times} times as keyword argument. Schema: {self}")
        } else {
            format!("Argument '{left}' specified both as positional and keyword argument. Schema: {self}")
        };
        BindError::new(BindErrorKind::GivenTwice, message)
    }
}

/// Whether a value of the found type fits, as what the argument is or as the integer that stands for it.
fn accepts(argument: &Argument, found: &Type) -> bool {
    found.is_subtype_of(&argument.real_type) || found.is_subtype_of(&argument.fake_type())
}

fn take<V>(keyword: &mut [(String, Option<V>)], name: &str) -> Option<V> {
    keyword.iter_mut().find(|(known, _)| known == name).and_then(|(_, value)| value.take())
}
