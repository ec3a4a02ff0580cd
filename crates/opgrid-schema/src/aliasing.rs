//! What annotations say about a call: which arguments are written to, and which values may share memory.

use std::fmt;

use crate::{AliasInfo, Argument, FunctionSchema, Type};

/// A value of a schema: one of its arguments or one of its returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SchemaValue {
    /// The argument at this index.
    Argument(usize),
    /// The return at this index.
    Return(usize),
}

/// A name that no argument of the schema has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownArgument {
    name: String,
    schema: String,
}

impl fmt::Display for UnknownArgument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no argument is named `{}`; the schema is {}", self.name, self.schema)
    }
}

impl std::error::Error for UnknownArgument {}

impl FunctionSchema {
    /// Whether the operator writes to any of its arguments.
    pub fn is_mutable(&self) -> bool {
        self.arguments.iter().any(Argument::is_write)
    }

    /// Whether the operator writes to the argument at this index; `false` where there is none.
    pub fn is_mutable_at(&self, index: usize) -> bool {
        self.arguments.get(index).is_some_and(Argument::is_write)
    }

    /// Whether the operator writes to the argument of this name.
    ///
    /// # Errors
    ///
    /// When no argument has the name.
    pub fn is_mutable_named(&self, name: &str) -> Result<bool, UnknownArgument> {
        let unknown = || UnknownArgument { name: name.to_owned(), schema: self.to_string() };
        self.argument_index(name).map(|index| self.is_mutable_at(index)).ok_or_else(unknown)
    }

    /// Whether any argument or return is annotated.
    pub fn has_any_alias_info(&self) -> bool {
        self.arguments.iter().chain(&self.returns).any(|value| value.alias.is_some())
    }

    /// Whether the value is annotated.
    pub fn is_aliasing(&self, value: SchemaValue) -> bool {
        self.value(value).is_some_and(|value| value.alias.is_some())
    }

    /// Whether two values may be the same memory after the call: their types can share memory and their
    /// annotations have a set in common.
    ///
    /// ```
    /// # use opgrid_schema::{FunctionSchema, SchemaValue};
    /// let view = FunctionSchema::parse("aten::t(Tensor(a) self) -> Tensor(a)")?;
    /// assert!(view.may_alias(SchemaValue::Argument(0), SchemaValue::Return(0)));
    /// # Ok::<(), opgrid_schema::ParseError>(())
    /// ```
    pub fn may_alias(&self, a: SchemaValue, b: SchemaValue) -> bool {
        let (Some(a), Some(b)) = (self.value(a), self.value(b)) else { return false };
        let (Some(a_alias), Some(b_alias)) = (&a.alias, &b.alias) else { return false };
        can_share(&shareable(&a.real_type.fake()), &shareable(&b.real_type.fake()))
            && a_alias.after.iter().any(|set| b_alias.after.contains(set))
    }

    /// Whether one value may hold memory of the other: as [`may_alias`](Self::may_alias), or a wildcard may be
    /// in a container of its type, or both are containers of things that can share memory.
    pub fn may_contain_alias(&self, a: SchemaValue, b: SchemaValue) -> bool {
        if self.may_alias(a, b) {
            return true;
        }
        let (Some(a), Some(b)) = (self.value(a), self.value(b)) else { return false };
        let (a_types, b_types) = (shareable(&a.real_type.fake()), shareable(&b.real_type.fake()));
        let (a_parts, b_parts) = (all_contained(&a_types), all_contained(&b_types));
        let is_wildcard = |value: &Argument| value.alias.as_ref().is_some_and(AliasInfo::is_wildcard_after);
        (is_wildcard(a) && can_share(&a_types, &b_parts))
            || (is_wildcard(b) && can_share(&b_types, &a_parts))
            || can_share(&a_parts, &b_parts)
    }

    fn value(&self, value: SchemaValue) -> Option<&Argument> {
        match value {
            SchemaValue::Argument(index) => self.arguments.get(index),
            SchemaValue::Return(index) => self.returns.get(index),
        }
    }
}

/// The types that a value of this type can share memory as; plain numbers and strings have none.
fn shareable(of: &Type) -> Vec<Type> {
    match of {
        Type::Tensor | Type::List(_) | Type::Dict(..) | Type::Class(_) | Type::Any => vec![of.clone()],
        Type::Optional(inner) => shareable(inner),
        Type::Union(parts) => parts.iter().flat_map(shareable).collect(),
        Type::Tuple(parts) => {
            let parts: Vec<_> = parts.iter().flat_map(shareable).collect();
            if parts.is_empty() { parts } else { vec![Type::Tuple(parts)] }
        }
        _ => Vec::new(),
    }
}

fn can_share(a: &[Type], b: &[Type]) -> bool {
    a.iter().any(|a| b.contains(a))
}

/// Everything inside the types, at any depth.
fn all_contained(types: &[Type]) -> Vec<Type> {
    let mut open: Vec<&Type> = types.iter().flat_map(Type::contained).collect();
    let mut found: Vec<Type> = Vec::new();
    while let Some(inner) = open.pop() {
        if !found.contains(inner) {
            open.extend(inner.contained());
            found.push(inner.clone());
        }
    }
    found
}
