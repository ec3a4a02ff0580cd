//! Overloads known at compile time: a type each, whose calls look no name up after the first.

use std::any::TypeId;

use opgrid_schema::OperatorName;

use crate::calling::call::{Route, Target};
use crate::calling::inferred::signature_of;
use crate::calling::kernel::{Kernel, SignatureOf};
use crate::calling::operator::{OperatorCell, bound};
use crate::calling::retirement::Published;
use crate::error::Result;
use crate::keys::set::DispatchKeySet;
use crate::place::Place;
use crate::registration::dispatcher::Dispatcher;
use crate::registration::dispatcher_state::DispatcherState;
use crate::signatures::signature::Signature;

/// An overload known at compile time; [`operator!`](crate::operator!) implements it.
///
/// Two crates may each declare a type for one overload; both reach the same operator.
///
/// # Examples
///
/// ```
/// use opgrid_core::{Operator, operator};
///
/// operator! {
///     Twice = "docs::twice(int x) -> int";
/// }
///
/// fn schema_of<O: Operator>(_: O) -> &'static str {
///     O::SCHEMA
/// }
///
/// assert_eq!(schema_of(Twice), "docs::twice(int x) -> int");
/// ```
pub trait Operator: Copy + Send + Sync + 'static {
    /// The schema text.
    const SCHEMA: &'static str;
    /// What it does, in words for people.
    const DOCUMENTATION: &'static str = "";
    /// The schema of the overload that computes the same and writes its first argument, if there is one.
    const IN_PLACE: Option<&'static str> = None;
    /// The schema of the overload that computes the same and writes an argument behind the others, if there is one.
    const OUT: Option<&'static str> = None;
    /// The other names of the overload and of those that write its result, in the order in which they are to be defined.
    const ALIASES: &'static [Alias] = &[];
    /// The function type that kernels and callers share.
    type Signature: Signature;

    /// The place where the overload keeps the global dispatcher's table: a static of its own.
    fn cell() -> &'static OperatorCell<Self::Signature>;

    /// Registers the overload's library with the global dispatcher, for libraries that do so on first use.
    ///
    /// # Errors
    ///
    /// Those of the registration.
    fn ensure_registered() -> Result<()> {
        Ok(())
    }

    /// The overload's name.
    fn name() -> OperatorName {
        name_in(Self::SCHEMA)
    }
}

/// Another name of an overload: an overload of its own that calls it, so that layers see one operator for both.
///
/// `alias` in [`operator!`](crate::operator!) makes them; whoever registers an overload defines its [`Operator::ALIASES`].
///
/// # Examples
///
/// ```
/// use opgrid_core::{DispatchKey, Dispatcher, Operator, operator};
///
/// operator! {
///     Twice = "docs::twice(int x) -> int", alias("double");
/// }
///
/// let dispatcher = Dispatcher::new();
/// let mut library = dispatcher.library("docs");
/// library.define(Twice).kernel(DispatchKey::CompositeExplicitAutograd, |x| Ok(2 * x));
/// for alias in Twice::ALIASES {
///     library.define(alias.schema).add(alias.kernel().at(DispatchKey::CompositeImplicitAutograd));
/// }
/// let _registration = library.finish()?;
/// assert_eq!(dispatcher.call(Double, (4,))?, 8);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Alias {
    /// The schema under that name.
    pub schema: &'static str,
    /// The schema of the overload of that name that writes its first argument, if this is the functional one.
    pub in_place: Option<&'static str>,
    /// The schema of the one that writes an argument behind the others, likewise.
    pub out: Option<&'static str>,
    /// What it does, in words for people.
    pub documentation: &'static str,
    /// The name of the overload that it calls.
    name_of_overload: fn() -> OperatorName,
    kernel: fn() -> Kernel,
}

impl Alias {
    /// `A` as another name of `O`.
    pub const fn new<A: Operator<Signature = O::Signature>, O: Operator>() -> Self {
        Self {
            schema: A::SCHEMA,
            in_place: A::IN_PLACE,
            out: A::OUT,
            documentation: A::DOCUMENTATION,
            name_of_overload: O::name,
            kernel: || Kernel::closure::<O::Signature>(|args| O::cell().call(false, O::OVERLOAD, args)),
        }
    }

    /// The other name.
    pub fn name(&self) -> OperatorName {
        name_in(self.schema)
    }

    /// The name of the overload that it stands for.
    pub fn overload(&self) -> OperatorName {
        (self.name_of_overload)()
    }

    /// A kernel that calls the overload, registered at the place of this call.
    #[track_caller]
    pub fn kernel(&self) -> Kernel {
        (self.kernel)().placed(Place::here())
    }
}

/// The arguments of an overload, as a tuple of borrowed forms.
pub type ArgsOf<'a, O> = <<O as Operator>::Signature as Signature>::Args<'a>;
/// What a call of an overload returns.
pub type OutputOf<O> = <<O as Operator>::Signature as Signature>::Output;
/// A function that can be a kernel of an overload.
pub type KernelOf<O> = ReturningOf<O, OutputOf<O>>;
/// A function of an overload's arguments that returns `Result<X>`.
pub type ReturningOf<O, X> = <<O as Operator>::Signature as Signature>::Returning<X>;
/// A function of the call's keys and an overload's arguments that can be a kernel.
pub type KernelWithKeysOf<O> = <<O as Operator>::Signature as Signature>::ReturningWithKeys<OutputOf<O>>;

/// Calls an overload: on the dispatcher that runs the kernel around, outside of kernels on the global one.
///
/// # Errors
///
/// Those of the kernel, and of the dispatcher where there is none.
#[inline]
pub fn call<O: Operator>(_operator: O, args: ArgsOf<'_, O>) -> Result<OutputOf<O>> {
    O::cell().call(false, O::OVERLOAD, args)
}

/// Calls an overload with exactly these keys: neither the thread's keys nor fallthroughs change them.
///
/// # Errors
///
/// As [`call()`].
#[inline]
pub fn redispatch<O: Operator>(
    _operator: O,
    keys: DispatchKeySet,
    args: ArgsOf<'_, O>,
) -> Result<OutputOf<O>> {
    O::cell().redispatch(O::OVERLOAD, keys, args)
}

/// Calls an overload on a dispatcher, whichever one runs the kernel around.
#[inline]
pub(crate) fn call_on<O: Operator>(
    dispatcher: &DispatcherState,
    _operator: O,
    args: ArgsOf<'_, O>,
) -> Result<OutputOf<O>> {
    let route = OverloadOn(dispatcher, O::OVERLOAD);
    O::cell().call(dispatcher.is_foreign(), &route, args)
}

/// What is known of an overload, as data: what is done with it is compiled once for all of them.
///
/// Invariant: `cell` gives the pointer of a cell whose type names the signature. [`Known`] alone makes these.
pub(crate) struct Overload {
    pub(crate) id: TypeId,
    pub(crate) name: fn() -> OperatorName,
    pub(crate) ensure_registered: fn() -> Result<()>,
    pub(crate) signature: fn() -> &'static SignatureOf,
    signature_id: TypeId,
    pub(crate) cell: fn() -> &'static Published,
}

/// Every operator's [`Overload`].
pub(crate) trait Known: Operator {
    const OVERLOAD: &'static Overload = &Overload {
        id: TypeId::of::<Self>(),
        name: Self::name,
        ensure_registered: Self::ensure_registered,
        signature: signature_of::<Self::Signature>,
        signature_id: TypeId::of::<Self::Signature>(),
        cell: || Self::cell().pointer(),
    };
}

impl<O: Operator> Known for O {}

/// Finds the operator of an overload on a given dispatcher.
struct OverloadOn<'d>(&'d DispatcherState, &'static Overload);

impl Route for OverloadOn<'_> {
    fn target(&self) -> Result<Target<'_>> {
        self.0.operator_of(self.1)
    }
}

/// Finds the operator when the overload's cell cannot be used.
impl Route for Overload {
    fn target(&self) -> Result<Target<'_>> {
        let cell = (self.cell)();
        match bound(cell) {
            Some(operator) => Ok(Target::Bound(operator, cell, self.signature_id)),
            None => Dispatcher::current().0.operator_of(self),
        }
    }
}

/// The name that a schema begins with.
fn name_in(schema: &str) -> OperatorName {
    let declaration = schema.split('(').next().unwrap_or_default();
    OperatorName::parse(declaration).unwrap_or_else(|_| OperatorName::new(declaration, ""))
}
