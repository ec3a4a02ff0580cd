//! A call as a boxed kernel sees it.
#![allow(unsafe_code)]

use super::next::below;
use super::{Boxed, beside, call_boxed, carried, check_arguments, is_watched, watch};
use crate::calling::boxing::enter_values;
use crate::calling::observe::CallKind;
use crate::calling::operator::OperatorHandle;
use crate::calling::table::TableRef;
use crate::calling::thread;
use crate::error::Result;
use crate::keys::key::DispatchKey;
use crate::keys::set::DispatchKeySet;
use crate::signatures::stack::Returns;
use crate::values::borrowed::{ValueRef, mismatch};
use crate::values::tensor::AnyTensor;
use crate::values::value::Value;

/// A call as a boxed kernel sees it: operator, keys, arguments, and the place for results.
///
/// It belongs to the call and cannot leave its thread.
///
/// # Examples
///
/// ```
/// use opgrid_core::{BoxedCall, DispatchKey, Dispatcher, Kernel, Result, Value};
///
/// /// Says which operator was called with how many arguments, for any operator.
/// fn describe(call: &mut BoxedCall<'_>) -> Result<()> {
///     let text = format!("{} of {}", call.operator().name(), call.args().len());
///     call.push(Value::from(text));
///     Ok(())
/// }
///
/// let dispatcher = Dispatcher::new();
/// let mut library = dispatcher.library("docs");
/// library
///     .define("boxed(int a, float b) -> str")
///     .add(Kernel::boxed(describe).at(DispatchKey::CompositeExplicitAutograd));
/// let _registration = library.finish()?;
/// let results = dispatcher.find("docs::boxed")?.call_values(vec![Value::from(1), Value::from(0.5)])?;
/// assert_eq!(results, [Value::from("docs::boxed of 2")]);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub struct BoxedCall<'c> {
    table: TableRef<'c>,
    keys: DispatchKeySet,
    args: &'c [ValueRef<'c>],
    returns: &'c mut Returns,
}

impl<'c> BoxedCall<'c> {
    #[inline(always)]
    pub(crate) fn new(
        table: TableRef<'c>,
        keys: DispatchKeySet,
        args: &'c [ValueRef<'c>],
        returns: &'c mut Returns,
    ) -> Self {
        Self { table, keys, args, returns }
    }

    #[inline]
    pub(crate) fn table(&self) -> TableRef<'c> {
        self.table
    }

    /// The operator.
    #[inline]
    pub fn operator(&self) -> &'c OperatorHandle {
        self.table.operator()
    }

    /// The operator's schema, if it is defined.
    pub fn schema(&self) -> Option<&'c opgrid_schema::FunctionSchema> {
        self.table.definition().map(|definition| &*definition.schema)
    }

    /// The keys of the call.
    #[inline]
    pub fn keys(&self) -> DispatchKeySet {
        self.keys
    }

    /// The key by which the kernel was reached.
    #[inline]
    pub fn key(&self) -> DispatchKey {
        self.keys.highest_priority_key()
    }

    /// The arguments, in the order of the schema.
    #[inline]
    pub fn args(&self) -> &'c [ValueRef<'c>] {
        self.args
    }

    /// Argument number `index` as a tensor.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Value`](crate::ErrorKind::Value) where it is none.
    pub fn tensor(&self, index: usize) -> Result<&'c AnyTensor> {
        let value = self.args.get(index).copied().unwrap_or(ValueRef::NONE);
        value.as_tensor().ok_or_else(|| {
            mismatch("Tensor", value).within(format_args!(
                "{}: argument {}",
                self.operator().name(),
                index + 1
            ))
        })
    }

    /// The results so far.
    #[inline]
    pub fn returns(&mut self) -> &mut Returns {
        self.returns
    }

    /// Leaves one more result.
    #[inline]
    pub fn push(&mut self, value: impl Into<Value>) {
        self.returns.push(value);
    }

    /// Calls on with the keys below the one that the kernel was reached by. That layer stays excluded on this thread
    /// until the call returns, so that operators called further down skip it too. Of an autograd key that is all of
    /// autograd; a user's layer may say what else ([`NewLayer::excludes_below`](crate::NewLayer::excludes_below)).
    ///
    /// # Errors
    ///
    /// Those of the kernel below; [`ErrorKind::MissingKernel`](crate::ErrorKind::MissingKernel) in a kernel that was reached without keys.
    #[inline]
    pub fn below(&mut self) -> Result<()> {
        self.pass_below(self.args)
    }

    /// As [`below`](Self::below), with other arguments.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Value`](crate::ErrorKind::Value) where the number or the kind of a value is wrong; those of the kernel below;
    /// [`ErrorKind::MissingKernel`](crate::ErrorKind::MissingKernel) in a kernel that was reached without keys.
    pub fn below_with(&mut self, args: &[ValueRef<'_>]) -> Result<()> {
        check_arguments(self.table, args)?;
        self.pass_below(args)
    }

    #[inline]
    fn pass_below(&mut self, args: &[ValueRef<'_>]) -> Result<()> {
        let (keys, excluded) = below(self.table, self.keys)?;
        // SAFETY: the guard that borrows from the reference ends in this function.
        let _excluded = unsafe { thread::current() }.exclude_layers(excluded);
        self.pass(keys, args)
    }

    /// The keys that the arguments bring, without those that the thread excludes.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Value`](crate::ErrorKind::Value) where the number or the kind of a value is wrong.
    pub(crate) fn carried(&self) -> Result<DispatchKeySet> {
        carried(self.table, self.args)
    }

    /// Goes on as if the operator fell through the key that the kernel was reached by.
    pub(crate) fn pass_by(&mut self) -> Result<()> {
        let keys = beside(self.keys);
        enter_values(self.table.kernel(keys), self.table, keys, self.args, self.returns)
    }

    /// Calls the operator with exactly these keys.
    ///
    /// # Errors
    ///
    /// Those of the kernel.
    #[inline]
    pub fn redispatch(&mut self, keys: DispatchKeySet) -> Result<()> {
        self.pass(keys, self.args)
    }

    /// As [`redispatch`](Self::redispatch), with other arguments.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Value`](crate::ErrorKind::Value) where the number or the kind of a value is wrong; else those of the kernel.
    pub fn redispatch_with(&mut self, keys: DispatchKeySet, args: &[ValueRef<'_>]) -> Result<()> {
        check_arguments(self.table, args)?;
        self.pass(keys, args)
    }

    #[inline]
    fn pass(&mut self, keys: DispatchKeySet, args: &[ValueRef<'_>]) -> Result<()> {
        let (table, returns) = (self.table, &mut *self.returns);
        // SAFETY: the reference stays in this function: nothing that is returned or stored borrows from it.
        let thread = unsafe { thread::current() };
        let _nested = thread.enter()?;
        if is_watched(thread) {
            let mut step = Boxed { table, args, returns };
            return watch(thread, CallKind::RedispatchBoxed, table, keys, keys, &mut step);
        }
        enter_values(table.kernel(keys), table, keys, args, returns)
    }

    /// Calls the operator anew, with the arguments' and the thread's keys.
    ///
    /// # Errors
    ///
    /// Those of the kernel; [`ErrorKind::Depth`](crate::ErrorKind::Depth) where nothing keeps the call from coming back here forever.
    #[inline]
    pub fn call(&mut self) -> Result<()> {
        self.call_with(self.args)
    }

    /// As [`call`](Self::call), with other arguments.
    ///
    /// # Errors
    ///
    /// As [`call`](Self::call).
    #[inline]
    pub fn call_with(&mut self, args: &[ValueRef<'_>]) -> Result<()> {
        call_boxed(self.operator(), args, self.returns)
    }
}
