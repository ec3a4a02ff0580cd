//! Kernels of plugins as kernels of the dispatcher, and what they can do with their call.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use opgrid_abi::{
    OpgridConditionFn, OpgridError, OpgridKernel, OpgridKeys, OpgridOperator, OpgridResults, OpgridTensor,
    OpgridValue,
};
use opgrid_core::{BoxedCall, DispatchKeySet, Error, ErrorKind, Kernel, Result, ValueRef};

use super::errors::{answer, outcome, quietly};
use super::owned::Owned;
use super::values::{opened, read, with_lent, with_read};
use super::{keys_to, lent, libraries, refused, tensors, write};

/// What an `OpgridKernelFn` is that is not null.
type KernelFn = unsafe extern "C" fn(
    *mut c_void,
    *const OpgridOperator,
    OpgridKeys,
    *const OpgridValue,
    usize,
    *mut OpgridResults,
    *mut *mut OpgridError,
) -> i32;

/// A plugin's kernel.
#[derive(Clone)]
pub(super) struct Function {
    kernel: KernelFn,
    condition: OpgridConditionFn,
    context: Arc<Owned>,
    /// The library that registered it.
    library: usize,
}

impl Function {
    /// The function of a description; without one, the context is given back at once.
    pub(super) fn new(description: &OpgridKernel, library: usize) -> Option<Self> {
        let context = Owned::new(description.context, description.release);
        let kernel = description.kernel?;
        Some(Self { kernel, condition: description.condition, context: Arc::new(context), library })
    }

    /// The dispatcher's kernel.
    pub(super) fn kernel(&self, is_engine: bool) -> Kernel {
        let function = self.clone();
        let run = move |call: &mut BoxedCall<'_>| function.run(call);
        if is_engine { Kernel::engine(run) } else { Kernel::boxed(run) }
    }

    /// The dispatcher's condition.
    pub(super) fn condition(
        &self,
    ) -> Option<impl Fn(&[ValueRef<'_>]) -> Result<bool> + Send + Sync + 'static> {
        let (condition, context) = (self.condition?, self.context.clone());
        Some(move |args: &[ValueRef<'_>]| {
            with_lent(args, |args| {
                let (mut holds, mut error) = (0, ptr::null_mut());
                // SAFETY: the plugin gave the function of this type with the context.
                let status = unsafe {
                    condition(context.context(), args.as_ptr(), args.len(), &raw mut holds, &raw mut error)
                };
                outcome(status, error, || "the condition of a plugin's kernel".into())?;
                match holds {
                    0 | 1 => Ok(holds == 1),
                    found => Err(refused(format!(
                        "the condition of a plugin's kernel wrote {found}, expected 0 or 1"
                    ))),
                }
            })
        })
    }

    #[inline]
    fn run(&self, call: &mut BoxedCall<'_>) -> Result<()> {
        let operator = call.operator();
        let (keys, args) = (keys_to(call.keys()), call.args());
        let results: *mut OpgridResults = ptr::from_mut(call).cast();
        with_lent(args, |args| {
            let mut error = ptr::null_mut();
            // SAFETY: the plugin gave the function of this type with the context; everything else lives until it returns.
            let status = libraries::running(self.library, || unsafe {
                (self.kernel)(
                    self.context.context(),
                    ptr::from_ref(operator).cast(),
                    keys,
                    args.as_ptr(),
                    args.len(),
                    results,
                    &raw mut error,
                )
            });
            outcome(status, error, || format!("{}: a plugin's kernel", operator.name()))
        })
    }
}

/// The call that a kernel of a plugin works on.
///
/// # Safety
///
/// `results` is null, or what the kernel got that is running.
#[inline]
pub(super) unsafe fn running<'a>(results: *mut OpgridResults) -> Result<&'a mut BoxedCall<'a>> {
    if results.is_null() {
        return Err(no_call());
    }
    // SAFETY: guaranteed by the caller, see `# Safety`: `Function::run` made the pointer of its call, and does not use that
    // before the kernel returns. One function of the table at a time works on it: each ends its borrow before it returns, and
    // calls that run meanwhile are others.
    Ok(unsafe { &mut *results.cast::<BoxedCall<'a>>() })
}

#[cold]
fn no_call() -> Error {
    refused("the results of a call are null; pass on the pointer that the kernel received")
}

pub(super) unsafe extern "C" fn push(
    results: *mut OpgridResults,
    value: *const OpgridValue,
    error: *mut *mut OpgridError,
) -> i32 {
    let body = || {
        // SAFETY: the plugin guarantees that its pointers are null or what their types say, and payloads what their tags
        // say.
        let (call, value) = unsafe { (running(results)?, read(lent(value, "a result")?)?) };
        call.push(value.to_value());
        Ok(())
    };
    // SAFETY: the plugin guarantees that the address of its error is null or can be written.
    unsafe { answer(error, body) }
}

pub(super) unsafe extern "C" fn push_tensor(results: *mut OpgridResults, tensor: *mut OpgridTensor) {
    quietly((), || {
        // SAFETY: the plugin guarantees that the results are those of its call, and that the handle is one of its own.
        if let (Ok(call), Some(tensor)) = unsafe { (running(results), tensors::handle(tensor)) } {
            call.push(tensor);
        }
    });
}

pub(super) unsafe extern "C" fn below(
    results: *mut OpgridResults,
    arguments: *const OpgridValue,
    count: usize,
    error: *mut *mut OpgridError,
) -> i32 {
    if !arguments.is_null() {
        // SAFETY: the plugin guarantees that its pointers are null or what their types say, payloads what their tags
        // say, and that the results are those of its call.
        return unsafe { pass(results, Way::Below, arguments, count, error) };
    }
    // SAFETY: the plugin guarantees that the results are those of its call.
    let body = || unsafe { running(results) }?.below();
    // SAFETY: the plugin guarantees that the address of its error is null or can be written.
    unsafe { answer(error, body) }
}

/// Where a call goes on.
pub enum Way {
    Below,
    With(DispatchKeySet),
}

/// Goes on with other arguments. Apart from going on with the same ones, which hooks do, because this one needs room for them.
///
/// # Safety
///
/// The plugin's pointers are null or what their types say, payloads are what their tags say, and the results are those of its
/// call.
#[inline(never)]
pub(super) unsafe fn pass(
    results: *mut OpgridResults,
    way: Way,
    arguments: *const OpgridValue,
    count: usize,
    error: *mut *mut OpgridError,
) -> i32 {
    let body = || {
        // SAFETY: guaranteed by the caller, see `# Safety`.
        let call = unsafe { running(results) }?;
        let pass = |values: &[ValueRef<'_>]| match way {
            Way::Below => call.below_with(values),
            Way::With(keys) => call.redispatch_with(keys, values),
        };
        // SAFETY: guaranteed by the caller, see `# Safety`: payloads are what their tags say.
        unsafe { with_read(arguments, count, pass) }
    };
    // SAFETY: the plugin guarantees that the address of its error is null or can be written.
    unsafe { answer(error, body) }
}

pub(super) unsafe extern "C" fn through_cpu(
    results: *mut OpgridResults,
    error: *mut *mut OpgridError,
) -> i32 {
    let body = || {
        // SAFETY: the plugin guarantees that the results are those of its call.
        opgrid_tensor::families::through_cpu(unsafe { running(results) }?)
    };
    // SAFETY: the plugin guarantees that the address of its error is null or can be written.
    unsafe { answer(error, body) }
}

pub(super) unsafe extern "C" fn result_count(results: *mut OpgridResults) -> usize {
    // SAFETY: the plugin guarantees that the results are those of its call.
    unsafe { running(results) }.map_or(0, |call| call.returns().len())
}

pub(super) unsafe extern "C" fn result(
    results: *mut OpgridResults,
    index: usize,
    out: *mut OpgridValue,
    error: *mut *mut OpgridError,
) -> i32 {
    let body = || {
        // SAFETY: the plugin guarantees that the results are those of its call.
        let returns = unsafe { running(results) }?.returns();
        let count = returns.len();
        let value = returns.value(index).ok_or_else(|| {
            Error::new(
                ErrorKind::Index,
                format!(
                    "result {index} does not exist, the call has {count} \
                 so far"
                ),
            )
        })?;
        // SAFETY: the plugin guarantees that the address is null or can be written.
        unsafe { write(out, opened(value)) }
    };
    // SAFETY: the plugin guarantees that the address of its error is null or can be written.
    unsafe { answer(error, body) }
}

pub(super) unsafe extern "C" fn clear_results(results: *mut OpgridResults) {
    quietly((), || {
        // SAFETY: the plugin guarantees that the results are those of its call.
        if let Ok(call) = unsafe { running(results) } {
            call.returns().clear();
        }
    });
}
