//! The data of a schema: the operator's name, its arguments and its returns.

use std::fmt;
use std::str::FromStr;

use crate::{AliasInfo, Constant, ParseError, Type};

/// What to accept when reading schema text.
#[derive(Clone, Copy)]
pub struct ParseOptions<'a> {
    /// Whether a lower-case word that is no type is a type variable; otherwise it is an error.
    pub allow_type_variables: bool,
    /// Whether to refuse what PyTorch lets pass: two arguments or returns of one name, and a default that does
    /// not fit its argument's type.
    pub strict: bool,
    /// Whether the custom class `ns.Name` is registered; without it every well-formed name is accepted.
    pub custom_class: Option<&'a dyn Fn(&str) -> bool>,
}

impl Default for ParseOptions<'_> {
    fn default() -> Self {
        ParseOptions { allow_type_variables: true, strict: false, custom_class: None }
    }
}

impl fmt::Debug for ParseOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ParseOptions")
            .field("allow_type_variables", &self.allow_type_variables)
            .field("strict", &self.strict)
            .field("custom_class", &self.custom_class.map(|_| "fn"))
            .finish()
    }
}

/// The name of an operator with its namespace, and the name of one overload.
///
/// ```
/// # use opgrid_schema::OperatorName;
/// let name = OperatorName::parse("aten::add.Tensor")?;
/// assert_eq!((name.namespace(), name.base(), name.overload.as_str()), (Some("aten"), "add", "Tensor"));
/// assert_eq!(name.to_string(), "aten::add.Tensor");
/// # Ok::<(), opgrid_schema::ParseError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OperatorName {
    /// The name with its namespace, such as `aten::add`.
    pub name: String,
    /// The overload, empty for the default one.
    pub overload: String,
}

impl OperatorName {
    /// Puts a name together without checking it.
    pub fn new(name: impl Into<String>, overload: impl Into<String>) -> Self {
        OperatorName { name: name.into(), overload: overload.into() }
    }

    /// The namespace, if there is one.
    pub fn namespace(&self) -> Option<&str> {
        self.split().map(|(namespace, _)| namespace)
    }

    /// The name without namespace and overload.
    pub fn base(&self) -> &str {
        self.split().map_or(&self.name, |(_, base)| base)
    }

    /// Namespace and base, where there are both. One colon alone is no separator.
    fn split(&self) -> Option<(&str, &str)> {
        let place = self.name.as_bytes().windows(2).position(|pair| pair == b"::")?;
        Some((&self.name[..place], &self.name[place + 2..]))
    }

    /// The name in the given namespace, unless it already has one.
    #[must_use]
    pub fn with_namespace_if_missing(self, namespace: &str) -> Self {
        match self.namespace() {
            Some(_) => self,
            None => OperatorName { name: [namespace, "::", &self.name].concat(), ..self },
        }
    }
}

impl fmt::Display for OperatorName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if !self.overload.is_empty() {
            write!(f, ".{}", self.overload)?;
        }
        Ok(())
    }
}

impl FromStr for OperatorName {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        OperatorName::parse(text)
    }
}

/// What the effects of an operator may be concluded from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AliasAnalysis {
    /// Built into the analysis itself.
    InternalSpecialCase,
    /// Anything may happen; what holds when nothing is said.
    Conservative,
    /// The schema's alias annotations tell everything.
    FromSchema,
    /// No aliasing, no writes, no effects.
    PureFunction,
}

impl fmt::Display for AliasAnalysis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AliasAnalysis::InternalSpecialCase => "INTERNAL_SPECIAL_CASE",
            AliasAnalysis::Conservative => "CONSERVATIVE",
            AliasAnalysis::FromSchema => "FROM_SCHEMA",
            AliasAnalysis::PureFunction => "PURE_FUNCTION",
        })
    }
}

/// One argument or return of a schema.
#[derive(Clone, Debug, PartialEq)]
pub struct Argument {
    /// The name; returns may have none.
    pub name: String,
    /// The type as written, without the size of a sized list.
    pub real_type: Type,
    /// N in `T[N]`.
    pub size: Option<usize>,
    /// The default value.
    pub default: Option<Constant>,
    /// Whether it is passed by name.
    pub kwarg_only: bool,
    /// The alias annotation.
    pub alias: Option<AliasInfo>,
}

impl Argument {
    /// A positional argument without size, default or annotation.
    pub fn new(name: impl Into<String>, real_type: Type) -> Self {
        Argument { name: name.into(), real_type, size: None, default: None, kwarg_only: false, alias: None }
    }

    /// The type used for matching values: see [`Type::fake`].
    pub fn fake_type(&self) -> Type {
        self.real_type.fake()
    }

    /// Whether the argument is written to.
    pub fn is_write(&self) -> bool {
        self.alias.as_ref().is_some_and(|alias| alias.is_write)
    }

    /// Whether it is an argument that results are written into: keyword-only and written to.
    pub fn is_out(&self) -> bool {
        self.kwarg_only && self.is_write()
    }
}

/// The declaration of one overload of an operator.
///
/// Two schemas are equal when everything but the kind of alias analysis is.
///
/// # Examples
///
/// ```
/// use opgrid_schema::{Constant, FunctionSchema, Type};
///
/// let schema = FunctionSchema::parse(
///     "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
/// )?;
/// assert_eq!(schema.name.to_string(), "aten::add.Tensor");
/// assert_eq!(schema.arguments[2].real_type, Type::Scalar);
/// assert_eq!(schema.arguments[2].default, Some(Constant::Int(1)));
/// assert!(schema.arguments[2].kwarg_only);
/// assert_eq!(FunctionSchema::parse(&schema.to_string())?, schema);
/// # Ok::<(), opgrid_schema::ParseError>(())
/// ```
#[derive(Clone, Debug)]
pub struct FunctionSchema {
    /// The name of the operator and the overload.
    pub name: OperatorName,
    /// The arguments, positional ones first.
    pub arguments: Vec<Argument>,
    /// The returns.
    pub returns: Vec<Argument>,
    /// Whether any number of further arguments may follow.
    pub is_vararg: bool,
    /// Whether any number of further results may follow.
    pub is_varret: bool,
    /// What the operator's effects may be concluded from, if it was said.
    pub alias_analysis: Option<AliasAnalysis>,
}

impl FunctionSchema {
    /// A schema without varargs and alias analysis.
    pub fn new(name: OperatorName, arguments: Vec<Argument>, returns: Vec<Argument>) -> Self {
        FunctionSchema { name, arguments, returns, is_vararg: false, is_varret: false, alias_analysis: None }
    }

    /// Whether torch makes it a method of tensors: its first argument is a tensor with the name `self`.
    pub fn is_method(&self) -> bool {
        self.arguments.first().is_some_and(|first| first.name == "self" && first.real_type == Type::Tensor)
    }

    /// The schema under another name.
    #[must_use]
    pub fn with_name(self, name: OperatorName) -> Self {
        FunctionSchema { name, ..self }
    }

    /// The schema with other arguments.
    #[must_use]
    pub fn with_arguments(self, arguments: Vec<Argument>) -> Self {
        FunctionSchema { arguments, ..self }
    }

    /// The schema with other returns.
    #[must_use]
    pub fn with_returns(self, returns: Vec<Argument>) -> Self {
        FunctionSchema { returns, ..self }
    }

    /// The schema as kernels see it: `SymInt` is `int` unless the kernel takes symbolic integers.
    #[must_use]
    pub fn with_real_types(mut self, symint: bool) -> Self {
        if !symint {
            for argument in self.arguments.iter_mut().chain(&mut self.returns) {
                argument.real_type = argument.real_type.without_symint();
            }
        }
        self
    }

    /// The kind of alias analysis that holds: the one given, else [`AliasAnalysis::Conservative`].
    pub fn alias_analysis_or_default(&self) -> AliasAnalysis {
        self.alias_analysis.unwrap_or(AliasAnalysis::Conservative)
    }

    /// Where the argument of this name is.
    pub fn argument_index(&self, name: &str) -> Option<usize> {
        self.arguments.iter().position(|argument| argument.name == name)
    }
}

impl PartialEq for FunctionSchema {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
            && self.arguments == other.arguments
            && self.returns == other.returns
            && self.is_vararg == other.is_vararg
            && self.is_varret == other.is_varret
    }
}

impl FromStr for FunctionSchema {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        FunctionSchema::parse(text)
    }
}

/// What a definition can be given as: a whole schema, or only a name.
#[derive(Clone, Debug, PartialEq)]
pub enum Declaration {
    /// Only the name; the schema is inferred from the kernel.
    Name(OperatorName),
    /// The whole schema.
    Schema(FunctionSchema),
}

impl Declaration {
    /// The name declared.
    pub fn name(&self) -> &OperatorName {
        match self {
            Declaration::Name(name) => name,
            Declaration::Schema(schema) => &schema.name,
        }
    }
}

impl FromStr for Declaration {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        Declaration::parse(text)
    }
}
