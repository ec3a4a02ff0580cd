//! Alias annotations: which values share memory, and which are written to.
//!
//! In `Tensor(a!) self` the value belongs to the alias set `a` and is written to. `Tensor(a -> *)` belongs to
//! `a` before the call and to an unknown set, the wildcard, after it. `Tensor(a)[](b)` annotates elements and
//! list separately.

use std::collections::BTreeSet;
use std::fmt;

use crate::{Argument, FunctionSchema, Type};

/// The set that stands for any set.
pub const WILDCARD: &str = "*";

/// The alias annotation of one argument or return.
///
/// Two annotations are equal when they name the same sets, in whatever order.
#[derive(Clone, Debug, Default)]
pub struct AliasInfo {
    /// Whether the value is written to.
    pub is_write: bool,
    /// The sets the value belongs to before the call, in the order written; [`WILDCARD`] is any.
    pub before: Vec<String>,
    /// The sets the value belongs to after the call.
    pub after: Vec<String>,
    /// The annotation of the elements, for lists whose elements are annotated.
    pub contained: Vec<AliasInfo>,
}

impl AliasInfo {
    /// An annotation with one set, the same before and after.
    pub fn new(set: impl Into<String>, is_write: bool) -> Self {
        let set = set.into();
        AliasInfo { is_write, before: vec![set.clone()], after: vec![set], contained: Vec::new() }
    }

    /// Whether the value may belong to any set before the call.
    pub fn is_wildcard_before(&self) -> bool {
        self.before.iter().any(|set| set == WILDCARD)
    }

    /// Whether the value may belong to any set after the call.
    pub fn is_wildcard_after(&self) -> bool {
        self.after.iter().any(|set| set == WILDCARD)
    }

    /// Whether the set is one made by a bare `!`.
    pub(crate) fn is_fresh(&self) -> bool {
        self.is_write && self.after.is_empty() && self.before.first().is_some_and(|set| set.starts_with('$'))
    }

    /// Puts the annotation of a list's elements under that of the list.
    ///
    /// A list without an annotation of its own is written to when its elements are.
    pub(crate) fn enclose(elements: Option<AliasInfo>, list: Option<AliasInfo>) -> Option<AliasInfo> {
        let Some(elements) = elements else { return list };
        let mut list =
            list.unwrap_or_else(|| AliasInfo { is_write: elements.is_write, ..AliasInfo::default() });
        list.contained.push(elements);
        Some(list)
    }
}

fn same_sets(a: &[String], b: &[String]) -> bool {
    a == b || a.iter().collect::<BTreeSet<_>>() == b.iter().collect::<BTreeSet<_>>()
}

impl PartialEq for AliasInfo {
    fn eq(&self, other: &Self) -> bool {
        self.is_write == other.is_write
            && same_sets(&self.before, &other.before)
            && same_sets(&self.after, &other.after)
            && self.contained == other.contained
    }
}

impl Eq for AliasInfo {}

impl fmt::Display for AliasInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}", self.before.join("|"))?;
        if self.is_write {
            f.write_str("!")?;
        }
        if !same_sets(&self.before, &self.after) {
            write!(f, " -> {}", self.after.join("|"))?;
        }
        f.write_str(")")
    }
}

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
