//! Operators as callers hold them: found by name, or overloads known at compile time.
#![allow(unsafe_code)]

use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use opgrid_abi::{OpgridLibrary, OpgridOperator, OpgridValue};

use crate::error::{Error, ErrorKind, Result, check, text};
use crate::host::{self, c_text};
use crate::kernel::Kernel;
use crate::keys::DispatchKeySet;
use crate::signature::{MOST_RESULTS, Results, Return, Signature, owned};
use crate::value::{Value, ValueRef};

/// The name of an operator.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OperatorName {
    /// Namespace and name, as in `aten::add`.
    pub name: String,
    /// The overload, as in `Tensor`; it may be empty.
    pub overload: String,
}

impl fmt::Display for OperatorName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if self.overload.is_empty() { Ok(()) } else { write!(f, ".{}", self.overload) }
    }
}

/// An operator found by name.
pub struct OperatorHandle(*mut OpgridOperator);

// SAFETY: the host lets its operators be used on any thread.
unsafe impl Send for OperatorHandle {}
// SAFETY: the host lets its operators be used by several threads at a time.
unsafe impl Sync for OperatorHandle {}

impl OperatorHandle {
    /// # Safety
    ///
    /// The host gave the operator, which is given back when the handle is dropped.
    pub(crate) unsafe fn of_host(operator: *const OpgridOperator) -> Self {
        Self(operator.cast_mut())
    }

    /// The operator of a name in the dispatcher of a library.
    pub(crate) fn find(library: *mut OpgridLibrary, name: &str) -> Result<Self> {
        let (api, name) = (host::api()?, c_text(name)?);
        let (mut found, mut error) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: every pointer is of something here; the host knows its libraries.
        let status = unsafe { (api.operator_find)(library, name.as_ptr(), &raw mut found, &raw mut error) };
        check(status, error)?;
        Ok(Self(found))
    }

    pub(crate) fn as_ptr(&self) -> *const OpgridOperator {
        self.0
    }

    /// The name.
    pub fn name(&self) -> OperatorName {
        let Some(api) = host::known() else {
            return OperatorName { name: String::new(), overload: String::new() };
        };
        // SAFETY: the operator lives, and with it its strings.
        let (name, overload) =
            unsafe { (text((api.operator_name)(self.0)), text((api.operator_overload)(self.0))) };
        OperatorName { name, overload }
    }

    /// The schema as a text.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Stale`] where the operator is gone.
    pub fn schema(&self) -> Result<String> {
        let (mut schema, mut error) = (OpgridValue::NONE, ptr::null_mut());
        // SAFETY: the operator lives; the rest is here.
        let status = unsafe { (host::api()?.operator_schema)(self.0, &raw mut schema, &raw mut error) };
        check(status, error)?;
        // SAFETY: the host gave the value.
        unsafe { Value::of_host(schema) }.take()
    }

    /// Calls it with values, all of those that the schema has.
    ///
    /// # Errors
    ///
    /// Those of the call; more than 64 results.
    pub fn call_boxed(&self, args: &[ValueRef<'_>]) -> Result<Vec<Value>> {
        // Most operators have few results. The host says where there is no room, before anything is handed over but after the
        // kernel has run, so that the room is the most that there may be.
        let mut results = [OpgridValue::NONE; 64];
        let count = invoke(self.0, None, args, &mut results)?;
        // SAFETY: the host gave the results.
        Ok(results.into_iter().take(count).map(|result| unsafe { Value::of_host(result) }).collect())
    }

    /// Returns the operator with typed calls. Values that do not fit its schema are errors of the calls.
    pub fn typed<S: Signature>(self) -> TypedHandle<S> {
        TypedHandle { operator: self, signature: PhantomData }
    }
}

impl fmt::Debug for OperatorHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OperatorHandle({})", self.name())
    }
}

impl Drop for OperatorHandle {
    fn drop(&mut self) {
        if let Some(api) = host::known() {
            // SAFETY: the operator belongs to this value, which goes.
            unsafe { (api.operator_release)(self.0) }
        }
    }
}

/// Calls an operator: the number of results, which belong to the plugin.
fn invoke(
    operator: *const OpgridOperator,
    keys: Option<DispatchKeySet>,
    args: &[ValueRef<'_>],
    results: &mut [OpgridValue],
) -> Result<usize> {
    let api = host::api()?;
    let (mut count, mut error) = (0, ptr::null_mut());
    let (values, given, room) = (args.as_ptr().cast::<OpgridValue>(), args.len(), results.len());
    let (results, written) = (results.as_mut_ptr(), &raw mut count);
    // SAFETY: every pointer is of something here, and the operator lives; arguments are nothing but their values.
    let status = unsafe {
        match keys {
            None => (api.call)(operator, values, given, results, room, written, &raw mut error),
            Some(keys) => {
                (api.redispatch)(operator, keys.0, values, given, results, room, written, &raw mut error)
            }
        }
    };
    check(status, error)?;
    Ok(count)
}

/// A typed call.
fn invoke_typed<S: Signature>(
    operator: *const OpgridOperator,
    keys: Option<DispatchKeySet>,
    args: S::Args<'_>,
) -> Result<S::Output> {
    let mut results = [OpgridValue::NONE; MOST_RESULTS];
    let count = S::pack(args, |values| invoke(operator, keys, values, &mut results))?;
    // SAFETY: the host wrote so many, which belong to the plugin.
    let mut results = unsafe { owned(results, count) };
    if count != S::Return::COUNT {
        let message =
            format!("expected {} results, found {count}; use the signature of the schema", S::Return::COUNT);
        return Err(Error::new(ErrorKind::Value, message));
    }
    S::Return::pop(Results::Owned(&mut results))
}

/// An operator found by name, with typed calls.
pub struct TypedHandle<S> {
    operator: OperatorHandle,
    signature: PhantomData<fn(S) -> S>,
}

impl<S> TypedHandle<S> {
    /// The handle without the signature.
    pub fn operator(&self) -> &OperatorHandle {
        &self.operator
    }
}

impl<S: Signature> TypedHandle<S> {
    /// Calls the operator.
    ///
    /// # Errors
    ///
    /// Those of the call; arguments or results that are not those of the schema.
    pub fn call(&self, args: S::Args<'_>) -> Result<S::Output> {
        invoke_typed::<S>(self.operator.0, None, args).map_err(|error| self.named(error))
    }

    /// Calls the operator with exactly these keys.
    ///
    /// # Errors
    ///
    /// As [`call`](Self::call).
    pub fn redispatch(&self, keys: DispatchKeySet, args: S::Args<'_>) -> Result<S::Output> {
        invoke_typed::<S>(self.operator.0, Some(keys), args).map_err(|error| self.named(error))
    }

    #[cold]
    fn named(&self, error: Error) -> Error {
        error.within(&self.operator.name().to_string())
    }
}

/// An overload known at compile time; [`operator!`](crate::operator!) implements it.
pub trait Operator: Copy + Send + Sync + 'static {
    /// The schema text.
    const SCHEMA: &'static str;
    /// What it does, in words for people: the doc comment, which `opgrid schema` and `help` show.
    const DOCUMENTATION: &'static str = "";
    /// The schema of the overload that computes the same and writes its first argument, if there is one.
    const IN_PLACE: Option<&'static str> = None;
    /// The schema of the overload that computes the same and writes an argument behind the others, if there is one.
    const OUT: Option<&'static str> = None;
    /// The other names of the overload and of those that write its result, in the order in which they are to be defined.
    const ALIASES: &'static [Alias] = &[];
    /// The function type that kernels and callers share.
    type Signature: Signature;

    /// The place where the overload keeps the operators that were found: a static of its own.
    fn cell() -> &'static OperatorCell<Self::Signature>;

    /// Does what makes the host know the operator, where it does not; called before it is looked up once more.
    ///
    /// # Errors
    ///
    /// Those of what it does.
    fn ensure_registered() -> Result<()> {
        Ok(())
    }

    /// The overload's name, as in `aten::add.Tensor`.
    fn name() -> &'static str {
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
/// use opgrid_plugin_sdk::prelude::*;
///
/// operator! {
///     Twice = "docs::twice(int x) -> int", alias("double");
/// }
///
/// fn register(library: &mut Library) {
///     library.define(Twice).kernel(DispatchKey::CompositeExplicitAutograd, |x| Ok(2 * x));
///     for alias in Twice::ALIASES {
///         library.define(alias.schema).add(alias.kernel().at(DispatchKey::CompositeImplicitAutograd));
///     }
/// }
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Alias {
    /// The schema under that name.
    pub schema: &'static str,
    /// What it does, in words for people.
    pub documentation: &'static str,
    kernel: fn() -> Kernel,
}

impl Alias {
    /// `A` as another name of `O`.
    pub const fn new<A: Operator<Signature = O::Signature>, O: Operator>() -> Self {
        Self {
            schema: A::SCHEMA,
            documentation: A::DOCUMENTATION,
            kernel: || Kernel::closure::<O::Signature>(|args| call_in::<O>(host::library(), None, args)),
        }
    }

    /// A kernel that calls the overload, registered at the place of this call.
    #[track_caller]
    pub fn kernel(&self) -> Kernel {
        (self.kernel)().placed(Location::caller())
    }
}

/// The name that a schema begins with.
pub(crate) fn name_in(schema: &str) -> &str {
    schema.split('(').next().unwrap_or_default().trim()
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

/// The operators that were found for one overload: one for each dispatcher that has loaded the file.
///
/// Invariant: `found` is null or leads to a list that only grows at its head. What is in it stays as long as the process runs,
/// because another thread may be calling it.
pub struct OperatorCell<S> {
    found: AtomicPtr<Found>,
    signature: PhantomData<fn(S) -> S>,
}

struct Found {
    library: *mut OpgridLibrary,
    operator: OperatorHandle,
    next: *mut Found,
}

impl<S> OperatorCell<S> {
    /// An overload that nobody has called.
    #[allow(clippy::new_without_default)]
    pub const fn new() -> Self {
        Self { found: AtomicPtr::new(ptr::null_mut()), signature: PhantomData }
    }

    /// The operator of a library's dispatcher, if it was looked up before; of several the last one.
    fn known(&self, library: *mut OpgridLibrary) -> Option<&OperatorHandle> {
        let mut next = self.found.load(Ordering::Acquire);
        loop {
            // SAFETY: the invariant of this type.
            let found = unsafe { next.as_ref() }?;
            if found.library == library {
                return Some(&found.operator);
            }
            next = found.next;
        }
    }

    /// Keeps an operator that was found.
    fn keep(&self, library: *mut OpgridLibrary, operator: OperatorHandle) -> &OperatorHandle {
        let kept = Box::into_raw(Box::new(Found { library, operator, next: ptr::null_mut() }));
        let mut head = self.found.load(Ordering::Acquire);
        loop {
            // SAFETY: nobody else knows the address before it is published.
            unsafe { (*kept).next = head };
            match self.found.compare_exchange_weak(head, kept, Ordering::AcqRel, Ordering::Acquire) {
                // SAFETY: the invariant of this type: it stays.
                Ok(_) => return unsafe { &(*kept).operator },
                Err(now) => head = now,
            }
        }
    }
}

impl<S> fmt::Debug for OperatorCell<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OperatorCell")
    }
}

/// Looks an overload up.
#[cold]
#[inline(never)]
fn find<O: Operator>(library: *mut OpgridLibrary) -> Result<&'static OperatorHandle> {
    let found = OperatorHandle::find(library, O::name()).or_else(|error| {
        if error.kind() != ErrorKind::Unknown {
            return Err(error);
        }
        O::ensure_registered()?;
        OperatorHandle::find(library, O::name())
    });
    found.map(|operator| O::cell().keep(library, operator))
}

fn call_in<O: Operator>(
    library: *mut OpgridLibrary,
    keys: Option<DispatchKeySet>,
    args: ArgsOf<'_, O>,
) -> Result<OutputOf<O>> {
    let operator = match O::cell().known(library) {
        Some(operator) => operator,
        None => find::<O>(library)?,
    };
    let result = invoke_typed::<O::Signature>(operator.0, keys, args);
    match result {
        // The operator was registered anew since it was looked up. One that is still there has failed by itself.
        Err(error) if error.kind() == ErrorKind::Stale && is_gone(operator) => {
            invoke_typed::<O::Signature>(find::<O>(library)?.0, keys, args)
        }
        result => result,
    }
    .map_err(|error| error.within(O::name()))
}

#[cold]
fn is_gone(operator: &OperatorHandle) -> bool {
    operator.schema().is_err_and(|error| error.kind() == ErrorKind::Stale)
}

/// Calls an overload: on the dispatcher that runs the kernel around, outside of kernels on the one that loaded the file last.
///
/// # Errors
///
/// Those of the kernel, and of the dispatcher where there is none; the plugin is not loaded.
pub fn call<O: Operator>(_operator: O, args: ArgsOf<'_, O>) -> Result<OutputOf<O>> {
    call_in::<O>(host::library(), None, args)
}

/// Calls an overload with exactly these keys: neither the thread's keys nor fallthroughs change them.
///
/// # Errors
///
/// As [`call()`].
pub fn redispatch<O: Operator>(
    _operator: O,
    keys: DispatchKeySet,
    args: ArgsOf<'_, O>,
) -> Result<OutputOf<O>> {
    call_in::<O>(host::library(), Some(keys), args)
}

/// Calls an overload on the dispatcher of a library.
pub(crate) fn call_on<O: Operator>(library: *mut OpgridLibrary, args: ArgsOf<'_, O>) -> Result<OutputOf<O>> {
    call_in::<O>(library, None, args)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_before_parentheses() {
        assert_eq!(name_in("aten::add.Tensor(Tensor self) -> Tensor"), "aten::add.Tensor");
        assert_eq!(name_in(" half "), "half");
        let name = OperatorName { name: "aten::add".into(), overload: "Tensor".into() };
        assert_eq!(name.to_string(), "aten::add.Tensor");
    }

    #[test]
    fn a_cell_has_an_operator_for_each_library() {
        let number = |library: usize| ptr::without_provenance_mut::<OpgridLibrary>(library);
        // Without a host nothing is done with operators, so that any address stands for one.
        let operator = |number: usize| OperatorHandle(ptr::without_provenance_mut(number));
        // What a cell has found is never freed; a static one leads to it.
        static CELL: OperatorCell<fn() -> ()> = OperatorCell::new();
        let cell = &CELL;
        assert!(cell.known(number(1)).is_none());
        cell.keep(number(1), operator(16));
        cell.keep(number(2), operator(32));
        let known = |library| cell.known(number(library)).map(|operator| operator.0.addr());
        assert_eq!((known(1), known(2), known(3)), (Some(16), Some(32), None));
        cell.keep(number(1), operator(48));
        assert_eq!((known(1), known(2)), (Some(48), Some(32)));
    }
}
