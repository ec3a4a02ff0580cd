//! The way on from a layer: the keys below the one that its kernel was reached by.
#![allow(unsafe_code)]

use std::marker::PhantomData;

use super::{Pending, Typed, is_watched, watch};
use crate::calling::boxing::enter;
use crate::calling::observe::CallKind;
use crate::calling::operator::OperatorHandle;
use crate::calling::table::TableRef;
use crate::calling::thread::{self, ThreadState};
use crate::error::{Error, ErrorKind, Result};
use crate::keys::set::DispatchKeySet;
use crate::keys::user_keys::excluded_below;
use crate::signatures::signature::{Checked, Signature};

/// The keys below the highest layer of `keys`, without those that it has excluded, and the layers that it has.
///
/// # Errors
///
/// Undefined is the highest layer: below it, a kernel would only meet itself again.
#[inline(always)]
pub(super) fn below(table: TableRef<'_>, keys: DispatchKeySet) -> Result<(DispatchKeySet, u64)> {
    let layer = (keys.layers() | 1).ilog2();
    if layer == 0 {
        return Err(nothing_below(table));
    }
    let excluded = excluded_below(layer);
    let layers = keys.layers() & ((1 << layer) - 1) & !excluded;
    Ok((DispatchKeySet::from_parts(layers, keys.backends()), excluded))
}

#[cold]
#[inline(never)]
fn nothing_below(table: TableRef<'_>) -> Error {
    let message = format!(
        "{}: a kernel at key Undefined redispatched below itself, but no key is lower; compute the \
         result there, or redispatch with explicit keys",
        table.operator().name()
    );
    Error::new(ErrorKind::MissingKernel, message)
}

/// The way on for a typed layer: the keys below the one that it was reached by.
///
/// It belongs to the call and cannot leave its thread.
///
/// # Examples
///
/// ```
/// use opgrid_core::{DispatchKey, Dispatcher, Result, including, operator};
///
/// operator! {
///     Same = "docs::same(int x) -> int";
/// }
///
/// let dispatcher = Dispatcher::new();
/// let mut library = dispatcher.library("docs");
/// library
///     .define(Same)
///     .kernel(DispatchKey::CompositeExplicitAutograd, |x| Ok(x))
///     .layer(DispatchKey::TestingOnlyGenericMode, |next, args| Ok(2 * next.call(args)?));
/// let _registration = library.finish()?;
/// let doubled = including(DispatchKey::TestingOnlyGenericMode, || dispatcher.call(Same, (21,)))?;
/// assert_eq!((doubled, dispatcher.call(Same, (21,))?), (42, 21));
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub struct Next<'n, S> {
    table: TableRef<'n>,
    keys: DispatchKeySet,
    signature: Checked<S>,
}

impl<'n, S: Signature> Next<'n, S> {
    /// # Safety
    ///
    /// The operator of the table was checked for `S`.
    #[inline(always)]
    pub(crate) unsafe fn new(table: TableRef<'n>, keys: DispatchKeySet) -> Self {
        Self { table, keys, signature: PhantomData }
    }

    pub(crate) fn table(&self) -> TableRef<'n> {
        self.table
    }

    /// The keys of the call; the highest is the layer's own.
    pub fn keys(&self) -> DispatchKeySet {
        self.keys
    }

    /// The operator.
    pub fn operator(&self) -> &OperatorHandle {
        self.table.operator()
    }

    /// Calls on with the keys below the layer, which stays excluded on this thread until the call returns, so that
    /// operators called further down skip it too. Of an autograd key that is all of autograd; a user's layer may say
    /// what else is skipped ([`NewLayer::excludes_below`](crate::NewLayer::excludes_below)).
    ///
    /// # Errors
    ///
    /// Those of the kernel below; [`ErrorKind::MissingKernel`] in a kernel that was reached without keys.
    #[inline]
    pub fn call(&self, args: S::Args<'_>) -> Result<S::Output> {
        let (keys, excluded) = below(self.table, self.keys)?;
        // SAFETY: the guard that borrows from the reference ends in this function.
        let _excluded = unsafe { thread::current() }.exclude_layers(excluded);
        self.redispatch(keys, args)
    }

    /// Calls the operator with exactly these keys.
    ///
    /// # Errors
    ///
    /// Those of the kernel.
    #[inline]
    pub fn redispatch(&self, keys: DispatchKeySet, args: S::Args<'_>) -> Result<S::Output> {
        // SAFETY: the reference stays in this function: nothing that is returned or stored borrows from it.
        let thread = unsafe { thread::current() };
        let _nested = thread.enter()?;
        if is_watched(thread) {
            return self.redispatch_watched(thread, keys, args);
        }
        // SAFETY: guaranteed by the caller of `new`, see `# Safety` there; and `Next` is invariant in `S`.
        unsafe { enter::<S>(self.table.kernel(keys), self.table, keys, args) }
    }

    #[cold]
    #[inline(never)]
    fn redispatch_watched(
        &self,
        thread: &ThreadState,
        keys: DispatchKeySet,
        args: S::Args<'_>,
    ) -> Result<S::Output> {
        let mut call = Pending::<S>::new(args);
        // The invariant of `Typed` is guaranteed by the caller of `new`, and `Next` is invariant in `S`.
        let mut step = Typed { call: &mut call, table: self.table, is_of_signature: true };
        watch(thread, CallKind::Redispatch, self.table, keys, keys, &mut step)?;
        call.output()
    }
}
