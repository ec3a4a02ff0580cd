//! Operator properties: what an operator carries beside its kernels, for layers, backends and test suites to look up.
//!
//! A property is a type, and each operator has at most one value of it that counts: a derivative, a batching rule, a cast
//! policy, its [`Kind`], its [`Forms`](crate::Forms). Whoever invents one implements [`Column`] for a type of its
//! own; nothing here knows which there are. Values are registered and undone like kernels
//! ([`OperatorBuilder::column`](crate::OperatorBuilder::column)), and an operator that has none of its own takes the one
//! that is registered for its kind ([`Library::kind_column`](crate::Library::kind_column)).
//!
//! The values stand in the operator's table, so that a kernel reads them without a lock or a count.

use std::any::{Any, TypeId};
use std::fmt;
use std::sync::Arc;

use crate::calling::call::{BoxedCall, Next};
use crate::calling::kernel::Origin;
use crate::calling::kind::Kind;
use crate::calling::operator::OperatorHandle;
use crate::deferred_drop::Flat;
use crate::error::Result;
use crate::signatures::signature::Signature;

/// An operator property: a type of which each operator may carry one value.
///
/// # Examples
///
/// A property of one's own, and how a layer reads it:
///
/// ```
/// use opgrid_core::{Column, DispatchKey, Dispatcher, Kernel};
///
/// /// What a call costs.
/// struct Cost(u64);
///
/// impl Column for Cost {
///     const NAME: &'static str = "cost";
/// }
///
/// let dispatcher = Dispatcher::new();
/// let mut library = dispatcher.library("myops");
/// library
///     .define("half(int x) -> int")
///     .add(Kernel::function::<fn(i64) -> i64>(|x| Ok(x / 2)).at(DispatchKey::CompositeExplicitAutograd))
///     .column(Cost(3));
/// let registration = library.finish()?;
///
/// let half = dispatcher.find("myops::half")?;
/// assert_eq!(half.column::<Cost>()?.map(|cost| cost.0), Some(3));
/// # drop(registration);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub trait Column: Any + Send + Sync {
    /// What listings and errors call it, such as `cast policy`.
    const NAME: &'static str;

    /// Writes what listings show of the value, after its name.
    ///
    /// # Errors
    ///
    /// Those of the formatter.
    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("given")
    }
}

/// A value of some property, where it was registered, and for which kind if it is a default.
#[derive(Clone)]
pub(crate) struct HeldColumn {
    pub(crate) id: TypeId,
    pub(crate) name: &'static str,
    pub(crate) value: Flat<Arc<dyn Any + Send + Sync>>,
    describe: fn(&(dyn Any + Send + Sync), &mut fmt::Formatter<'_>) -> fmt::Result,
    pub(crate) origin: Origin,
    pub(crate) kind: Option<Kind>,
}

impl HeldColumn {
    pub(crate) fn new<C: Column>(value: C, origin: Origin, kind: Option<Kind>) -> Self {
        let describe =
            |value: &(dyn Any + Send + Sync), f: &mut fmt::Formatter<'_>| match value.downcast_ref::<C>() {
                Some(value) => value.describe(f),
                None => Ok(()),
            };
        Self {
            id: TypeId::of::<C>(),
            name: C::NAME,
            value: Flat::new(Arc::new(value)),
            describe,
            origin,
            kind,
        }
    }

    /// Whether both are one registration.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.value, &other.value)
    }
}

impl fmt::Display for HeldColumn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (self.describe)(&**self.value, f)
    }
}

/// The properties of one operator, those of its kind included: at most one value of each type.
pub(crate) struct Columns(Vec<HeldColumn>);

impl Columns {
    /// The values that count: the newest of the operator's own, then those of its kind, then of that kind's parents.
    /// `defaults` are in the order in which they were registered, as `own` are.
    pub(crate) fn merge(own: &[HeldColumn], defaults: &[HeldColumn]) -> Option<Arc<Self>> {
        if own.is_empty() {
            return None;
        }
        let mut columns = Self(Vec::with_capacity(own.len()));
        own.iter().rev().for_each(|column| columns.add_missing(column));
        let mut kind = columns.get::<Kind>().cloned();
        while let Some(of) = kind {
            let of_kind = defaults.iter().rev().filter(|default| default.kind.as_ref() == Some(&of));
            of_kind.for_each(|default| columns.add_missing(default));
            kind = of.parent().cloned();
        }
        Some(Arc::new(columns))
    }

    fn add_missing(&mut self, column: &HeldColumn) {
        if self.0.iter().all(|known| known.id != column.id) {
            self.0.push(column.clone());
        }
    }

    fn held<C: Column>(&self) -> Option<&HeldColumn> {
        self.0.iter().find(|held| held.id == TypeId::of::<C>())
    }

    pub(crate) fn get<C: Column>(&self) -> Option<&C> {
        self.held::<C>()?.value.downcast_ref()
    }
}

/// A property of an operator as listings show it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ColumnInfo {
    /// [`Column::NAME`].
    pub name: &'static str,
    /// What the value says of itself.
    pub text: String,
    /// Where it was registered, as `file:line`.
    pub place: String,
    /// The kind that it is the default of, if the operator has no value of its own.
    pub kind: Option<String>,
}

impl OperatorHandle {
    /// The operator's value of a property: its own, else that of its kind; `None` where neither has one.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Stale`](crate::ErrorKind::Stale) where the operator is gone.
    pub fn column<C: Column>(&self) -> Result<Option<Arc<C>>> {
        let value = self.look(|table| Some(table.columns()?.held::<C>()?.value.clone()))?;
        Ok(value.and_then(|value| value.into_inner().downcast().ok()))
    }

    /// Every property that the operator has a value of, its own first, then those of its kind.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Stale`](crate::ErrorKind::Stale) where the operator is gone.
    pub fn columns(&self) -> Result<Vec<ColumnInfo>> {
        // What a value says of itself is code of users, which runs while nothing is looked at.
        let held = self.look(|table| table.columns().map(|columns| columns.0.clone()).unwrap_or_default())?;
        let info = |held: &HeldColumn| ColumnInfo {
            name: held.name,
            text: held.to_string(),
            place: held.origin.to_string(),
            kind: held.kind.as_ref().map(|kind| kind.name().to_owned()),
        };
        Ok(held.iter().map(info).collect())
    }
}

impl<'c> BoxedCall<'c> {
    /// The operator's value of a property: its own, else that of its kind.
    pub fn column<C: Column>(&self) -> Option<&'c C> {
        self.table().columns()?.get()
    }
}

impl<'n, S: Signature> Next<'n, S> {
    /// The operator's value of a property: its own, else that of its kind.
    pub fn column<C: Column>(&self) -> Option<&'n C> {
        self.table().columns()?.get()
    }
}
