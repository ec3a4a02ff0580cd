//! Whether a schema can replace an older one: for callers written for the old one (backward), and for old
//! implementations called the new way (forward).

use std::fmt;

use crate::{Argument, Constant, FunctionSchema, Type};

/// Why a schema cannot replace an older one, with all reasons found.
#[derive(Clone, Debug, PartialEq)]
pub struct Incompatibility {
    reasons: Vec<Reason>,
}

impl Incompatibility {
    /// The reasons, in the order of the schema; never empty.
    pub fn reasons(&self) -> &[Reason] {
        &self.reasons
    }

    fn from_reasons(reasons: Vec<Reason>) -> Result<(), Incompatibility> {
        if reasons.is_empty() { Ok(()) } else { Err(Incompatibility { reasons }) }
    }
}

impl fmt::Display for Incompatibility {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, reason) in self.reasons.iter().enumerate() {
            let separator = if index > 0 { "\n" } else { "" };
            write!(f, "{separator}{reason}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Incompatibility {}

/// One reason why a schema cannot replace an older one.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Reason {
    /// The operator or overload name differs.
    Name {
        /// The older name.
        old: String,
        /// The newer name.
        new: String,
    },
    /// One of the schemas ends its arguments with `...`, the other does not.
    Vararg,
    /// One of the schemas ends its returns with `...`, the other does not.
    Varret,
    /// The number of returns differs.
    ReturnCount {
        /// Returns of the older schema.
        old: usize,
        /// Returns of the newer schema.
        new: usize,
    },
    /// Arguments were removed.
    ArgumentCount {
        /// Arguments of the older schema.
        old: usize,
        /// Arguments of the newer schema.
        new: usize,
    },
    /// The number of out arguments differs.
    OutCount {
        /// Out arguments of the older schema.
        old: usize,
        /// Out arguments of the newer schema.
        new: usize,
    },
    /// A return cannot be used as the older one.
    Return {
        /// The index of the return.
        index: usize,
        /// What differs.
        difference: Difference,
    },
    /// An argument of the newer schema does not accept what the older one accepts.
    BackwardArgument {
        /// The newer argument's name.
        name: String,
        /// What differs.
        difference: Difference,
    },
    /// An argument of the newer schema accepts or needs what the older one does not.
    ForwardArgument {
        /// The newer argument's name.
        name: String,
        /// Whether it is an out argument.
        is_out: bool,
        /// What differs.
        difference: Difference,
    },
    /// An argument was added without default.
    BackwardNoDefault {
        /// The new argument's name.
        name: String,
        /// Its type.
        argument_type: Type,
    },
    /// An argument was added without default.
    ForwardNoDefault {
        /// The new argument's name.
        name: String,
        /// Its type.
        argument_type: Type,
    },
    /// An argument was added whose default is a container, which older code cannot leave out.
    ForwardContainerDefault {
        /// The new argument's name.
        name: String,
        /// Its type.
        argument_type: Type,
    },
}

/// What differs between two arguments or returns.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Difference {
    /// The name, old and new.
    Name(String, String),
    /// The size of a sized list, old and new.
    Size(Option<usize>, Option<usize>),
    /// The alias annotation.
    Alias,
    /// A positional argument became keyword-only.
    BecameKeywordOnly,
    /// The types do not fit, old and new.
    Type(Type, Type),
    /// The default was added, removed or changed, old and new.
    Default(Option<Constant>, Option<Constant>),
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = |size: &Option<usize>| size.map_or("no size".to_owned(), |size| format!("size {size}"));
        let default = |default: &Option<Constant>| match default {
            Some(default) => format!("{default}"),
            None => "none".to_owned(),
        };
        match self {
            Difference::Name(old, new) => write!(f, "it was named '{old}' and is now named '{new}'"),
            Difference::Size(old, new) => write!(f, "it had {} and has now {}", size(old), size(new)),
            Difference::Alias => f.write_str("its alias annotation changed"),
            Difference::BecameKeywordOnly => f.write_str("it was positional and is now keyword-only"),
            Difference::Type(old, new) => write!(f, "it was of type {old} and is now of type {new}"),
            Difference::Default(old, new) => {
                write!(f, "its default was {} and is now {}", default(old), default(new))
            }
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Name { old, new } => write!(f, "the operator was named {old} and is now named {new}"),
            Reason::Vararg => f.write_str("only one of the schemas has further arguments (...)"),
            Reason::Varret => f.write_str("only one of the schemas has further returns (...)"),
            Reason::ReturnCount { old, new } => {
                write!(f, "the older schema has {old} return(s), the newer one {new}")
            }
            Reason::ArgumentCount { old, new } => {
                write!(f, "the older schema has {old} argument(s), the newer one only {new}")
            }
            Reason::OutCount { old, new } => write!(
                f,
                "Function schema should have the same number of out arguments: the older one has {old}, the \
                 newer one {new}"
            ),
            Reason::Return { index, difference } => {
                write!(f, "return {index} is not backward compatible: {difference}")
            }
            Reason::BackwardArgument { name, difference } => {
                write!(
                    f,
                    "'{name}' is not backward compatible with the older version of the schema: {difference}"
                )
            }
            Reason::ForwardArgument { name, is_out: false, difference } => {
                write!(
                    f,
                    "'{name}' is not forward compatible with the older version of the schema: {difference}"
                )
            }
            Reason::ForwardArgument { name, is_out: true, difference } => write!(
                f,
                "Out argument '{name}' is not forward compatible with the older version of the schema: {difference}"
            ),
            Reason::BackwardNoDefault { name, argument_type } => write!(
                f,
                "Function schema not backward compatible since the new argument '{name}' of type \
                 {argument_type} did not provide a default value."
            ),
            Reason::ForwardNoDefault { name, argument_type } => write!(
                f,
                "Function schema is not forward compatible since the new argument '{name}' of type \
                 {argument_type} did not provide a default value."
            ),
            Reason::ForwardContainerDefault { name, argument_type } => write!(
                f,
                "Function schema is not forward compatible since the new argument '{name}' of type \
                 {argument_type} has a container type as its default value."
            ),
        }
    }
}

impl FunctionSchema {
    /// Whether code that calls the older schema can call this one.
    ///
    /// Arguments may be added with defaults before the out arguments, their types widened, keyword-only ones
    /// made positional, and defaults added; the types of returns may be narrowed.
    ///
    /// # Errors
    ///
    /// All reasons why not.
    ///
    /// # Examples
    ///
    /// ```
    /// use opgrid_schema::FunctionSchema;
    ///
    /// let old = FunctionSchema::parse("my::f(Tensor a) -> Tensor")?;
    /// let new = FunctionSchema::parse("my::f(Tensor a, int b) -> Tensor")?;
    /// let incompatibility = new.is_backward_compatible_with(&old).unwrap_err();
    /// assert_eq!(
    ///     incompatibility.to_string(),
    ///     "Function schema not backward compatible since the new argument 'b' of type int did not provide \
    ///      a default value."
    /// );
    /// # Ok::<(), opgrid_schema::ParseError>(())
    /// ```
    pub fn is_backward_compatible_with(&self, old: &FunctionSchema) -> Result<(), Incompatibility> {
        let mut reasons = self.outline_reasons(old);
        if self.arguments.len() < old.arguments.len() {
            let (old, new) = (old.arguments.len(), self.arguments.len());
            reasons.push(Reason::ArgumentCount { old, new });
        }
        Incompatibility::from_reasons(reasons)?;
        let mut reasons = Vec::new();
        for (index, (new, old)) in self.returns.iter().zip(&old.returns).enumerate() {
            reasons
                .extend(return_difference(new, old).map(|difference| Reason::Return { index, difference }));
        }
        let ((new_plain, new_out), (old_plain, old_out)) = (split_out(self), split_out(old));
        if new_plain.len() < old_plain.len() || new_out.len() < old_out.len() {
            reasons.push(Reason::OutCount { old: old_out.len(), new: new_out.len() });
        }
        let pairs = new_plain.iter().zip(old_plain).chain(new_out.iter().zip(old_out));
        for (new, old) in pairs {
            let name = new.name.clone();
            reasons.extend(
                backward_difference(new, old).map(|difference| Reason::BackwardArgument { name, difference }),
            );
        }
        for added in new_plain.iter().skip(old_plain.len()).filter(|added| added.default.is_none()) {
            let (name, argument_type) = (added.name.clone(), added.real_type.clone());
            reasons.push(Reason::BackwardNoDefault { name, argument_type });
        }
        Incompatibility::from_reasons(reasons)
    }

    /// Whether calls of this schema, with added arguments left at their defaults, can be served by the older
    /// one.
    ///
    /// Returns are not compared and arguments that the older schema has beyond this one are not looked at, as
    /// in PyTorch.
    ///
    /// # Errors
    ///
    /// All reasons why not.
    pub fn is_forward_compatible_with(&self, old: &FunctionSchema) -> Result<(), Incompatibility> {
        let mut reasons = self.outline_reasons(old);
        let ((new_plain, new_out), (old_plain, old_out)) = (split_out(self), split_out(old));
        if new_out.len() != old_out.len() {
            reasons.push(Reason::OutCount { old: old_out.len(), new: new_out.len() });
        }
        Incompatibility::from_reasons(reasons)?;
        let mut reasons = Vec::new();
        let plain = new_plain.iter().zip(old_plain).map(|pair| (pair, false));
        let out = new_out.iter().zip(old_out).map(|pair| (pair, true));
        for ((new, old), is_out) in plain.chain(out) {
            let name = new.name.clone();
            reasons.extend(forward_difference(new, old).map(|difference| Reason::ForwardArgument {
                name,
                is_out,
                difference,
            }));
        }
        for added in new_plain.iter().skip(old_plain.len()) {
            let (name, argument_type) = (added.name.clone(), added.real_type.clone());
            match added.default {
                None => reasons.push(Reason::ForwardNoDefault { name, argument_type }),
                Some(Constant::List(_)) => {
                    reasons.push(Reason::ForwardContainerDefault { name, argument_type });
                }
                Some(_) => {}
            }
        }
        Incompatibility::from_reasons(reasons)
    }

    /// What differs before any argument is looked at.
    fn outline_reasons(&self, old: &FunctionSchema) -> Vec<Reason> {
        let mut reasons = Vec::new();
        if self.name != old.name {
            reasons.push(Reason::Name { old: old.name.to_string(), new: self.name.to_string() });
        }
        if self.is_vararg != old.is_vararg {
            reasons.push(Reason::Vararg);
        }
        if self.is_varret != old.is_varret {
            reasons.push(Reason::Varret);
        }
        if self.returns.len() != old.returns.len() {
            reasons.push(Reason::ReturnCount { old: old.returns.len(), new: self.returns.len() });
        }
        reasons
    }
}

/// Splits the arguments before the first out argument.
fn split_out(schema: &FunctionSchema) -> (&[Argument], &[Argument]) {
    let first = schema.arguments.iter().position(Argument::is_out).unwrap_or(schema.arguments.len());
    schema.arguments.split_at(first)
}

/// What must be the same in both directions.
fn fixed_difference(new: &Argument, old: &Argument) -> Option<Difference> {
    if new.name != old.name {
        return Some(Difference::Name(old.name.clone(), new.name.clone()));
    }
    if new.size != old.size {
        return Some(Difference::Size(old.size, new.size));
    }
    (new.alias != old.alias).then_some(Difference::Alias)
}

/// The difference if a value of type `from` cannot be used as `to`.
fn type_difference(from: &Argument, to: &Argument, new: &Argument, old: &Argument) -> Option<Difference> {
    let fits = from.fake_type().is_subtype_of(&to.fake_type());
    (!fits).then(|| Difference::Type(old.real_type.clone(), new.real_type.clone()))
}

fn keyword_difference(new: &Argument, old: &Argument) -> Option<Difference> {
    (new.kwarg_only && !old.kwarg_only).then_some(Difference::BecameKeywordOnly)
}

fn default_difference(new: &Argument, old: &Argument) -> Option<Difference> {
    (new.default != old.default).then(|| Difference::Default(old.default.clone(), new.default.clone()))
}

fn return_difference(new: &Argument, old: &Argument) -> Option<Difference> {
    fixed_difference(new, old).or_else(|| type_difference(new, old, new, old))
}

fn backward_difference(new: &Argument, old: &Argument) -> Option<Difference> {
    fixed_difference(new, old)
        .or_else(|| keyword_difference(new, old))
        .or_else(|| type_difference(old, new, new, old))
        .or_else(|| default_difference(new, old).filter(|_| old.default.is_some()))
}

fn forward_difference(new: &Argument, old: &Argument) -> Option<Difference> {
    fixed_difference(new, old)
        .or_else(|| keyword_difference(new, old))
        .or_else(|| type_difference(new, old, new, old))
        .or_else(|| default_difference(new, old))
}
