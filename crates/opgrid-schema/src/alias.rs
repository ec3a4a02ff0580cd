//! Alias annotations: which values share memory, and which are written to.
//!
//! In `Tensor(a!) self` the value belongs to the alias set `a` and is written to. `Tensor(a -> *)` belongs to
//! `a` before the call and to an unknown set, the wildcard, after it. `Tensor(a)[](b)` annotates elements and
//! list separately.

use std::collections::BTreeSet;
use std::fmt;

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
