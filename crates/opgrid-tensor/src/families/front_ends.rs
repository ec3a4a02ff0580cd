//! What front ends let callers write beside an operator's schema, stated in the operator's file.

use std::fmt;
use std::sync::Arc;

use opgrid_core::{Column, Dispatcher, ErrorKind, Forms, OperatorHandle, Result};

/// The column of operators that take a number instead of any tensor but the first: front ends pass it as a
/// [number](crate::Tensor::number), so that layers see one operator for both. The functional overload carries it; the
/// forms that are linked to it take numbers, too.
///
/// # Examples
///
/// ```
/// use opgrid::families::NumbersForTensors;
///
/// opgrid::ops::ensure_registered()?;
/// let dispatcher = opgrid_core::Dispatcher::global();
/// assert!(NumbersForTensors::taken_by(dispatcher, &dispatcher.find("aten::add_.Tensor")?)?);
/// assert!(!NumbersForTensors::taken_by(dispatcher, &dispatcher.find("aten::maximum")?)?);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct NumbersForTensors;

impl Column for NumbersForTensors {
    const NAME: &'static str = "numbers for tensors";
}

impl NumbersForTensors {
    /// Whether the operator takes numbers where its schema says tensors.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Stale`] where the operator is gone.
    pub fn taken_by(dispatcher: &Dispatcher, operator: &OperatorHandle) -> Result<bool> {
        Ok(of_family::<Self>(dispatcher, operator)?.is_some())
    }
}

/// The column of operators whose arguments once stood in another order: functions and methods that are called so still
/// understand it, with a warning, where nothing else fits. Each order names the arguments that are given, by position;
/// others keep their defaults. The functional overload carries it, and it is that of the forms that are linked to it, too.
///
/// # Examples
///
/// ```
/// use opgrid::families::DeprecatedOrders;
///
/// opgrid::ops::ensure_registered()?;
/// let dispatcher = opgrid_core::Dispatcher::global();
/// let orders = DeprecatedOrders::for_operator(dispatcher, &dispatcher.find("aten::add_.Tensor")?)?;
/// assert_eq!(orders.unwrap().0, [["self", "alpha", "other"]]);
/// assert!(DeprecatedOrders::for_operator(dispatcher, &dispatcher.find("aten::mul.Tensor")?)?.is_none());
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct DeprecatedOrders(pub &'static [&'static [&'static str]]);

impl Column for DeprecatedOrders {
    const NAME: &'static str = "deprecated orders";

    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let orders: Vec<_> = self.0.iter().map(|order| format!("({})", order.join(", "))).collect();
        f.write_str(&orders.join(", "))
    }
}

impl DeprecatedOrders {
    /// The orders of an operator.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Stale`] where the operator is gone.
    pub fn for_operator(dispatcher: &Dispatcher, operator: &OperatorHandle) -> Result<Option<Arc<Self>>> {
        of_family(dispatcher, operator)
    }
}

/// The column of operators whose functions take the tensors of their last list one by one, too: `block_diag(a, b)` is
/// `block_diag([a, b])`. The overload that has the list carries it.
///
/// # Examples
///
/// ```
/// use opgrid::families::VariadicTensors;
///
/// opgrid::ops::ensure_registered()?;
/// let dispatcher = opgrid_core::Dispatcher::global();
/// assert!(dispatcher.find("aten::block_diag")?.column::<VariadicTensors>()?.is_some());
/// assert!(dispatcher.find("aten::cat")?.column::<VariadicTensors>()?.is_none());
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct VariadicTensors;

impl Column for VariadicTensors {
    const NAME: &'static str = "variadic tensors";
}

/// The column of operators whose functions and methods have one more keyword, a bool: where it is true, another operator is
/// meant, as in `nonzero(x, as_tuple=True)`.
///
/// # Examples
///
/// ```
/// use opgrid::families::Switch;
///
/// opgrid::ops::ensure_registered()?;
/// let nonzero = opgrid_core::Dispatcher::global().find("aten::nonzero")?;
/// let switch = nonzero.column::<Switch>()?.unwrap();
/// assert_eq!((switch.keyword, switch.operator), ("as_tuple", "aten::nonzero_numpy"));
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Switch {
    /// The keyword.
    pub keyword: &'static str,
    /// The name of the other operator, of all its overloads.
    pub operator: &'static str,
}

impl Column for Switch {
    const NAME: &'static str = "switch";

    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}=True is {}", self.keyword, self.operator)
    }
}

/// What the operator carries, or the functional overload that it is linked to.
///
/// # Errors
///
/// [`ErrorKind::Stale`] where the operator is gone.
fn of_family<C: Column>(dispatcher: &Dispatcher, operator: &OperatorHandle) -> Result<Option<Arc<C>>> {
    if let Some(own) = operator.column()? {
        return Ok(Some(own));
    }
    let Some(forms) = operator.column::<Forms>()? else { return Ok(None) };
    match dispatcher.find(&forms.functional.to_string()) {
        Ok(functional) => functional.column(),
        Err(error) if error.kind() == ErrorKind::Unknown => Ok(None),
        Err(error) => Err(error),
    }
}
