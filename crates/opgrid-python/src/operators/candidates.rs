//! The overloads that a name has now, in the order in which they are tried.

use std::sync::Arc;

use opgrid::dispatch::schema::{FunctionSchema, Type};
use opgrid::families::{DeprecatedOrders, Switch};
use opgrid::{Dispatcher, Result};
use pyo3::prelude::*;

use super::overload::{Overload, Style};

/// The overloads of a name, found once for many calls.
#[pyclass(module = "opgrid", frozen)]
pub(crate) struct Candidates {
    pub(crate) overloads: Vec<Arc<Overload>>,
    /// Orders of arguments that are tried where no overload fits.
    pub(super) deprecated: Vec<(Arc<Overload>, &'static [&'static str])>,
    pub(super) switched: Option<Switched>,
    /// When they were found.
    pub(super) since: u64,
}

/// The overloads that are meant where a keyword is true.
pub(super) struct Switched {
    pub(super) keyword: &'static str,
    pub(super) overloads: Vec<Arc<Overload>>,
}

/// The number of changes so far: candidates that were found since are those that there are.
#[inline]
pub(crate) fn current_generation() -> u64 {
    Dispatcher::global().changes()
}

/// The dispatcher that Python calls: the process's own, with the operators of this library.
///
/// # Errors
///
/// Somebody else has taken the operators' namespace.
pub(crate) fn dispatcher() -> Result<&'static Dispatcher> {
    opgrid::dispatcher()
}

impl Candidates {
    /// The overloads of a name such as `aten::add`.
    ///
    /// # Errors
    ///
    /// As [`dispatcher`].
    pub(super) fn find(name: &str, style: Style) -> Result<Self> {
        let dispatcher = dispatcher()?;
        // Before looking: what comes meanwhile is looked for again.
        let since = current_generation();
        let mut overloads = overloads(dispatcher, name);
        let (mut deprecated, mut switched) = (Vec::new(), None);
        if style.is_function() {
            // Overloads that write outputs come last, those with tensors before those with numbers.
            overloads.sort_by_key(|overload| (overload.writes_outputs(), rank(overload.schema())));
            for overload in &overloads {
                let orders = DeprecatedOrders::for_operator(dispatcher, &overload.handle)?;
                let orders = orders.iter().flat_map(|orders| orders.0);
                deprecated.extend(orders.map(|order| (overload.clone(), *order)));
                if let Some(switch) = overload.handle.column::<Switch>()? {
                    let overloads = self::overloads(dispatcher, switch.operator);
                    switched = Some(Switched { keyword: switch.keyword, overloads });
                }
            }
        }
        Ok(Self { overloads, deprecated, switched, since })
    }
}

/// The overloads of a name, as the registry has them.
fn overloads(dispatcher: &Dispatcher, name: &str) -> Vec<Arc<Overload>> {
    // One that went meanwhile is none.
    let found = dispatcher
        .overloads(name)
        .into_iter()
        .filter_map(|handle| Overload::from_handle(dispatcher, handle).ok());
    found.map(Arc::new).collect()
}

/// What decides which of two overloads functions try first: each parameter's type.
fn rank(schema: &FunctionSchema) -> Vec<u8> {
    let of = |declared: &Type| match declared.without_optional() {
        Type::Tensor => 0,
        Type::List(_) => 2,
        Type::Scalar => 3,
        _ => 1,
    };
    schema.arguments.iter().map(|argument| of(&argument.real_type)).collect()
}
