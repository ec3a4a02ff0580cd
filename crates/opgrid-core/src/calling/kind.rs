//! Kinds of operators, from which columns take their defaults.

use std::borrow::Cow;
use std::fmt;

use crate::calling::columns::Column;

/// What sort of operator one is: element-wise, a reduction, a view and so on.
///
/// Kinds are open: a library makes its own, beside or under those of others. A kind is known by its name; what is
/// registered for a kind also serves those under it. Operators say their kind by carrying one
/// ([`OperatorBuilder::column`](crate::OperatorBuilder::column)).
///
/// # Examples
///
/// ```
/// use opgrid_core::Kind;
///
/// const POINTWISE: Kind = Kind::new("pointwise");
/// static COMPARISON: Kind = Kind::under("comparison", &POINTWISE_KIND);
/// static POINTWISE_KIND: Kind = POINTWISE;
///
/// assert!(COMPARISON.is(&POINTWISE) && !POINTWISE.is(&COMPARISON));
/// assert_eq!(COMPARISON.to_string(), "comparison");
/// ```
#[derive(Clone)]
pub struct Kind {
    name: Cow<'static, str>,
    parent: Option<&'static Kind>,
}

impl Kind {
    /// A kind under no other.
    pub const fn new(name: &'static str) -> Self {
        Self { name: Cow::Borrowed(name), parent: None }
    }

    /// A kind under another, whose defaults serve it where it has none of its own.
    pub const fn under(name: &'static str, parent: &'static Kind) -> Self {
        Self { name: Cow::Borrowed(name), parent: Some(parent) }
    }

    /// A kind that gets its name while the program runs.
    pub fn named(name: impl Into<String>, parent: Option<&'static Kind>) -> Self {
        Self { name: Cow::Owned(name.into()), parent }
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The kind above.
    pub fn parent(&self) -> Option<&'static Kind> {
        self.parent
    }

    /// Whether it is that kind or one under it.
    pub fn is(&self, other: &Kind) -> bool {
        self == other || self.parent.is_some_and(|parent| parent.is(other))
    }
}

impl PartialEq for Kind {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Kind {}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kind({})", self.name)
    }
}

impl Column for Kind {
    const NAME: &'static str = "kind";

    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        let mut above = self.parent;
        while let Some(parent) = above {
            write!(f, " < {parent}")?;
            above = parent.parent;
        }
        Ok(())
    }
}
