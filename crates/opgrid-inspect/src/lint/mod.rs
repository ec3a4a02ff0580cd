//! What is probably a mistake in a registry.

mod aliasing;
mod kernels;
mod naming;
mod tables;

use std::fmt;
use std::sync::Arc;

use opgrid_core::schema::FunctionSchema;
use opgrid_core::{
    ColumnInfo, DispatchKey, DispatchKeySet, Dispatcher, KernelInfo, KeyKind, OperatorHandle, Result,
    TableSlot,
};
use serde_json::{Value as Json, json};

/// A sort of mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Fault {
    /// Kernels for a name that nobody defines.
    DanglingImplementation,
    /// An operator without any kernel.
    SchemaWithoutKernel,
    /// A kernel that a later registration for the same cell replaced.
    OverriddenKernel,
    /// A provider behind one that takes every call.
    ShadowedProvider,
    /// A kernel for an alias, every key of which other kernels fill.
    CoveredAlias,
    /// An operator that no tensor chooses a backend for, and that has kernels of backends only.
    NoTensorToDispatchOn,
    /// A backend's kernel without one that tells shapes on meta tensors.
    MissingMeta,
    /// A kernel for meta tensors, and none that computes.
    MetaAlone,
    /// Kernels of layers, and nothing below that they could call.
    NothingBelow,
    /// A backend's key that is stepped over, so that calls end nowhere.
    BackendSteppedOver,
    /// A composite kernel and a backend's kernel between which no rule chooses.
    AmbiguousAutograd,
    /// A composite kernel's derivative that a backend's kernel keeps from being used.
    LostDerivative,
    /// An operator named as if it wrote its first argument, which its schema does not say.
    UnwrittenInPlace,
    /// A result in an alias set that no argument is in.
    UnknownAliasSet,
    /// Forms of an operator whose arguments differ.
    FormsDisagree,
    /// A link to a form that is not defined.
    BrokenForm,
    /// Overloads that the arguments of a call cannot tell apart.
    SameArguments,
    /// Names that are nearly the same.
    NearName,
}

impl Fault {
    /// Every fault.
    pub const ALL: [Self; 18] = [
        Self::DanglingImplementation,
        Self::SchemaWithoutKernel,
        Self::OverriddenKernel,
        Self::ShadowedProvider,
        Self::CoveredAlias,
        Self::NoTensorToDispatchOn,
        Self::MissingMeta,
        Self::MetaAlone,
        Self::NothingBelow,
        Self::BackendSteppedOver,
        Self::AmbiguousAutograd,
        Self::LostDerivative,
        Self::UnwrittenInPlace,
        Self::UnknownAliasSet,
        Self::FormsDisagree,
        Self::BrokenForm,
        Self::SameArguments,
        Self::NearName,
    ];

    /// The name by which reports and exceptions call it, as in `missing-meta`.
    pub fn name(self) -> &'static str {
        match self {
            Self::DanglingImplementation => "dangling-implementation",
            Self::SchemaWithoutKernel => "schema-without-kernel",
            Self::OverriddenKernel => "overridden-kernel",
            Self::ShadowedProvider => "shadowed-provider",
            Self::CoveredAlias => "covered-alias",
            Self::NoTensorToDispatchOn => "no-tensor-to-dispatch-on",
            Self::MissingMeta => "missing-meta",
            Self::MetaAlone => "meta-alone",
            Self::NothingBelow => "nothing-below",
            Self::BackendSteppedOver => "backend-stepped-over",
            Self::AmbiguousAutograd => "ambiguous-autograd",
            Self::LostDerivative => "lost-derivative",
            Self::UnwrittenInPlace => "unwritten-in-place",
            Self::UnknownAliasSet => "unknown-alias-set",
            Self::FormsDisagree => "forms-disagree",
            Self::BrokenForm => "broken-form",
            Self::SameArguments => "same-arguments",
            Self::NearName => "near-name",
        }
    }

    /// What is checked, in one line.
    pub fn summary(self) -> &'static str {
        match self {
            Self::DanglingImplementation => "kernels for an operator that is not defined",
            Self::SchemaWithoutKernel => "an operator without any kernel",
            Self::OverriddenKernel => "a kernel that a later one for the same key replaced",
            Self::ShadowedProvider => "a provider after one that accepts every call",
            Self::CoveredAlias => "a kernel for an alias key, all of whose runtime keys have other kernels",
            Self::NoTensorToDispatchOn => {
                "backend kernels only, without a tensor argument that selects a backend"
            }
            Self::MissingMeta => "a backend kernel without a Meta kernel",
            Self::MetaAlone => "a Meta kernel without a kernel that computes",
            Self::NothingBelow => "layer kernels without anything to redispatch to",
            Self::BackendSteppedOver => "a fallthrough at a backend key, below which there is no other",
            Self::AmbiguousAutograd => "a composite and a backend kernel that are ambiguous",
            Self::LostDerivative => "a backend kernel that keeps a composite's derivative from being used",
            Self::UnwrittenInPlace => "a name that ends in `_`, but a first argument that is not written",
            Self::UnknownAliasSet => "a result in an alias set that no argument is in",
            Self::FormsDisagree => "an in-place or out form with other arguments or defaults",
            Self::BrokenForm => "a link to a form that is not defined",
            Self::SameArguments => "overloads that the arguments of a call cannot tell apart",
            Self::NearName => "names that are nearly the same",
        }
    }

    /// The fault of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|fault| fault.name() == name)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A mistake that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The sort of mistake.
    pub fault: Fault,
    /// The operator.
    pub operator: String,
    /// What was found, and what to do.
    pub message: String,
    /// The file and line of the registration that it is about, where there is one.
    pub place: Option<String>,
}

impl Finding {
    /// The finding as JSON.
    pub fn to_json(&self) -> Json {
        json!({
            "fault": self.fault.name(),
            "operator": self.operator,
            "message": self.message,
            "place": self.place,
        })
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.place {
            write!(f, "{place}: ")?;
        }
        write!(f, "{}: {}: {}", self.fault, self.operator, self.message)
    }
}

/// Finds what is probably a mistake in a registry: every [`Fault`], operator by operator.
///
/// What is taken back meanwhile is not looked at.
///
/// # Examples
///
/// ```
/// use opgrid_core::{Dispatcher, Kernel, DispatchKey};
/// use opgrid_inspect::{Fault, lint};
///
/// let dispatcher = Dispatcher::new();
/// let mut library = dispatcher.library("my");
/// library.define("my::twice(Tensor self) -> Tensor");
/// let _registration = library.finish()?;
/// let found = lint(&dispatcher);
/// assert_eq!(found[0].fault, Fault::SchemaWithoutKernel);
/// assert_eq!(found[0].operator, "my::twice");
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub fn lint(dispatcher: &Dispatcher) -> Vec<Finding> {
    let mut report = Report::default();
    for operator in dispatcher.dangling_implementations() {
        let Ok(cells) = operator.registered_kernels() else { continue };
        // A name that was only looked up has a record, too.
        if cells.is_empty() {
            continue;
        }
        kernels::dangling(&operator.name().to_string(), &cells, dispatcher, &mut report);
    }
    let subjects: Vec<_> = dispatcher
        .operators()
        .into_iter()
        .filter_map(|operator| Subject::from_operator(operator).ok())
        .collect();
    for subject in &subjects {
        kernels::check(subject, &mut report);
        tables::check(subject, &mut report);
        aliasing::check(subject, &subjects, dispatcher, &mut report);
    }
    naming::check(&subjects, &mut report);
    report.0.sort_by(|a, b| (&a.operator, a.fault).cmp(&(&b.operator, b.fault)));
    report.0
}

/// What was found so far.
#[derive(Default)]
struct Report(Vec<Finding>);

impl Report {
    fn add(&mut self, fault: Fault, operator: &str, place: Option<&str>, message: String) {
        let place = place.map(str::to_owned);
        self.0.push(Finding { fault, operator: operator.to_owned(), message, place });
    }
}

/// An operator with everything that is asked of it, asked once.
struct Subject {
    operator: OperatorHandle,
    name: String,
    schema: Arc<FunctionSchema>,
    cells: Vec<(DispatchKey, Vec<KernelInfo>)>,
    table: Vec<TableSlot>,
    columns: Vec<ColumnInfo>,
    defined_at: Option<String>,
}

impl Subject {
    fn from_operator(operator: OperatorHandle) -> Result<Self> {
        Ok(Self {
            name: operator.name().to_string(),
            schema: operator.schema()?,
            cells: operator.registered_kernels()?,
            table: operator.table()?,
            columns: operator.columns()?,
            defined_at: crate::types::place_of(&operator),
            operator,
        })
    }

    /// Where the operator was defined, for findings about its schema.
    fn place(&self) -> Option<&str> {
        self.defined_at.as_deref()
    }

    fn has_column(&self, name: &str) -> bool {
        self.columns.iter().any(|column| column.name == name)
    }

    fn has_cell(&self, key: DispatchKey) -> bool {
        self.cells.iter().any(|(found, _)| *found == key)
    }

    /// The slots of keys that stand for data: those of backends, dense, sparse or other.
    fn data_slots(&self) -> impl Iterator<Item = &TableSlot> {
        self.table.iter().filter(|slot| is_data_key(slot.key))
    }
}

/// Whether tensors bring the key by what they are made of, so that its kernels compute and call nothing below.
fn is_data_key(key: DispatchKey) -> bool {
    let layers = DispatchKeySet::BACKEND_KEYS.layers() | DispatchKey::NestedTensorCpu.key_set().layers();
    let whole = matches!(key.kind(), KeyKind::Backend | KeyKind::Instance);
    whole && layers >> key.functionality().position() & 1 != 0
}

/// A list as `a, b and c`.
fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
