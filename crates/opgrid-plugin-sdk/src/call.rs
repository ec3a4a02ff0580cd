//! A call as kernels see it, and the way on to the keys below.
#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ptr;

use opgrid_abi::{OpgridError, OpgridKeys, OpgridOperator, OpgridResults, OpgridValue};

use crate::error::{Error, ErrorKind, Result, check};
use crate::host;
use crate::keys::DispatchKeySet;
use crate::operator::OperatorHandle;
use crate::signature::{Results, Return, Signature};
use crate::tensor::Tensor;
use crate::value::{ValueRef, ValueType};

/// A call as a boxed kernel sees it: operator, keys, arguments, and the place for results.
pub struct BoxedCall<'c> {
    /// The operator is lent, and is not given back.
    operator: ManuallyDrop<OperatorHandle>,
    keys: OpgridKeys,
    args: &'c [ValueRef<'c>],
    results: *mut OpgridResults,
    call: PhantomData<&'c mut ()>,
}

impl<'c> BoxedCall<'c> {
    /// # Safety
    ///
    /// The host gave all of it to a kernel, which runs during `'c`.
    pub(crate) unsafe fn new(
        operator: *const OpgridOperator,
        keys: OpgridKeys,
        args: *const OpgridValue,
        count: usize,
        results: *mut OpgridResults,
    ) -> Self {
        // SAFETY: guaranteed by the caller, see `# Safety`.
        let (operator, args) = unsafe { (OperatorHandle::of_host(operator), ValueRef::slice(args, count)) };
        Self { operator: ManuallyDrop::new(operator), keys, args, results, call: PhantomData }
    }

    /// The operator.
    pub fn operator(&self) -> &OperatorHandle {
        &self.operator
    }

    /// The keys of the call.
    pub fn keys(&self) -> DispatchKeySet {
        DispatchKeySet(self.keys)
    }

    /// The arguments, in the order of the schema.
    pub fn args(&self) -> &'c [ValueRef<'c>] {
        self.args
    }

    /// Argument number `index`, from 0 on, as a `T`.
    ///
    /// # Errors
    ///
    /// There is none, or it is of another kind.
    pub fn argument<T: ValueType>(&self, index: usize) -> Result<T> {
        let read = self.at(index)?.to();
        read.map_err(|error: Error| {
            error.within(&format!("{}: argument {}", self.operator().name(), index + 1))
        })
    }

    /// Argument number `index`, from 0 on, as a tensor.
    ///
    /// # Errors
    ///
    /// As [`argument`](Self::argument).
    pub fn tensor(&self, index: usize) -> Result<&'c Tensor> {
        match self.at(index)?.as_tensor() {
            Some(tensor) => Ok(tensor),
            None => Err(self.argument::<Tensor>(index).err().unwrap_or_else(|| self.missing(index))),
        }
    }

    fn at(&self, index: usize) -> Result<&'c ValueRef<'c>> {
        self.args.get(index).ok_or_else(|| self.missing(index))
    }

    #[cold]
    fn missing(&self, index: usize) -> Error {
        let (name, count) = (self.operator().name(), self.args.len());
        let message = format!("{name}: argument {} does not exist, the call has {count}", index + 1);
        Error::new(ErrorKind::Index, message)
    }

    /// Leaves one more result.
    ///
    /// # Errors
    ///
    /// A value that cannot be.
    pub fn push<'v>(&mut self, value: impl Into<ValueRef<'v>>) -> Result<()> {
        let (api, value) = (host::api()?, value.into());
        // SAFETY: the results are those of the call; the value is lent until the function returns.
        self.ask(|results, error| unsafe { (api.push)(results, value.raw(), error) })
    }

    /// Continues with the keys below the kernel's, which stay excluded on the thread until it returns. Results are left.
    ///
    /// # Errors
    ///
    /// Those of the kernel below.
    pub fn below(&mut self) -> Result<()> {
        let api = host::api()?;
        // SAFETY: the results are those of the call.
        self.ask(|results, error| unsafe { (api.below)(results, ptr::null(), 0, error) })
    }

    /// As [`below`](Self::below), with other arguments.
    ///
    /// # Errors
    ///
    /// As [`below`](Self::below); arguments that do not fit the schema.
    pub fn below_with(&mut self, args: &[ValueRef<'_>]) -> Result<()> {
        let api = host::api()?;
        // SAFETY: the results are those of the call; the arguments live. A slice has an address, also an empty one.
        self.ask(|results, error| unsafe { (api.below)(results, args.as_ptr().cast(), args.len(), error) })
    }

    /// Continues with exactly these keys. Results are left.
    ///
    /// # Errors
    ///
    /// Those of the kernel that is reached.
    pub fn redispatch(&mut self, keys: DispatchKeySet) -> Result<()> {
        let api = host::api()?;
        // SAFETY: the results are those of the call.
        self.ask(|results, error| unsafe { (api.redispatch_below)(results, keys.0, ptr::null(), 0, error) })
    }

    /// As [`redispatch`](Self::redispatch), with other arguments.
    ///
    /// # Errors
    ///
    /// As [`redispatch`](Self::redispatch); arguments that do not fit the schema.
    pub fn redispatch_with(&mut self, keys: DispatchKeySet, args: &[ValueRef<'_>]) -> Result<()> {
        let api = host::api()?;
        // SAFETY: the results are those of the call; the arguments live. A slice has an address, also an empty one.
        self.ask(|results, error| unsafe {
            (api.redispatch_below)(results, keys.0, args.as_ptr().cast(), args.len(), error)
        })
    }

    /// Calls the operator anew, with the keys of its arguments and the thread. Results are left.
    ///
    /// # Errors
    ///
    /// Those of the call.
    pub fn call(&mut self) -> Result<()> {
        self.call_with(self.args)
    }

    /// As [`call`](Self::call), with other arguments.
    ///
    /// # Errors
    ///
    /// As [`call`](Self::call).
    pub fn call_with(&mut self, args: &[ValueRef<'_>]) -> Result<()> {
        let results = self.operator.call_boxed(args)?;
        results.iter().try_for_each(|result| self.push(result))
    }

    /// Continues on the CPU, with copies of what lies in a device's memory; writes back what was written, and leaves results
    /// on the device. It counts as a slow path.
    ///
    /// # Errors
    ///
    /// Those of the CPU's kernel; strict mode.
    pub fn through_cpu(&mut self) -> Result<()> {
        let api = host::api()?;
        // SAFETY: the results are those of the call.
        self.ask(|results, error| unsafe { (api.through_cpu)(results, error) })
    }

    /// Looks at a result that was left.
    pub(crate) fn result<X>(&self, index: usize, look: impl FnOnce(&ValueRef<'_>) -> Result<X>) -> Result<X> {
        let (mut found, mut error) = (OpgridValue::NONE, ptr::null_mut());
        // SAFETY: the results are those of the call; the rest is here.
        let status = unsafe { (host::api()?.result)(self.results, index, &raw mut found, &raw mut error) };
        check(status, error)?;
        // SAFETY: the host lends the result, which stays where it is until this function ends.
        let lent = unsafe { ValueRef::new(found) };
        lent.opened(look)
    }

    fn ask(&mut self, function: impl FnOnce(*mut OpgridResults, *mut *mut OpgridError) -> i32) -> Result<()> {
        let mut error = ptr::null_mut();
        check(function(self.results, &raw mut error), error)
    }
}

/// [`BoxedCall::through_cpu`] as a fallback of one line: `everything.fallback(Kernel::boxed(through_cpu))`.
///
/// # Errors
///
/// Those of [`BoxedCall::through_cpu`].
pub fn through_cpu(call: &mut BoxedCall<'_>) -> Result<()> {
    call.through_cpu()
}

/// The way on for a typed layer: the keys below the one that it was reached by. It belongs to the call.
pub struct Next<'n, S> {
    operator: *const OpgridOperator,
    keys: OpgridKeys,
    results: *mut OpgridResults,
    call: PhantomData<&'n ()>,
    signature: PhantomData<fn(S) -> S>,
}

impl<'n, S: Signature> Next<'n, S> {
    /// The way on from a call, which leaves its results to this until then.
    pub(crate) fn from_call(call: &'n mut BoxedCall<'_>) -> Self {
        let (operator, results) = (call.operator.as_ptr(), call.results);
        Self { operator, keys: call.keys, results, call: PhantomData, signature: PhantomData }
    }

    /// The keys of the call; the highest is the layer's own.
    pub fn keys(&self) -> DispatchKeySet {
        DispatchKeySet(self.keys)
    }

    /// Calls on with the keys below the layer, which stays excluded on this thread until the call returns.
    ///
    /// # Errors
    ///
    /// Those of the kernel below.
    pub fn call(&self, args: S::Args<'_>) -> Result<S::Output> {
        self.go(|call| S::pack(args, |values| call.below_with(values)))
    }

    /// Calls the operator with exactly these keys.
    ///
    /// # Errors
    ///
    /// Those of the kernel.
    pub fn redispatch(&self, keys: DispatchKeySet, args: S::Args<'_>) -> Result<S::Output> {
        self.go(|call| S::pack(args, |values| call.redispatch_with(keys, values)))
    }

    fn go(&self, on: impl FnOnce(&mut BoxedCall<'_>) -> Result<()>) -> Result<S::Output> {
        // SAFETY: the operator and the results are those of the call that this came from, which nobody uses meanwhile; there are
        // no arguments.
        let mut call = unsafe { BoxedCall::new(self.operator, self.keys, ptr::null(), 0, self.results) };
        let output = on(&mut call).and_then(|()| S::Return::pop(Results::Left(&call)));
        // SAFETY: the results are those of the call that this came from, which nobody uses meanwhile. What the kernel
        // below left was read, and the layer leaves its own.
        unsafe { (host::api()?.clear_results)(self.results) };
        output
    }
}
