//! Kernels of plugins as kernels of the dispatcher, and what they can do with their call.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use opgrid_abi::{
    OpgridConditionFn, OpgridError, OpgridKernel, OpgridKeys, OpgridOperator, OpgridReleaseFn, OpgridResults,
    OpgridTensor, OpgridValue,
};
use opgrid_core::{BoxedCall, Error, ErrorKind, Kernel, Result, ValueRef};

use super::errors::{answer, outcome, quietly};
use super::values::{lend, read, with_lent, with_read};
use super::{keys_from, keys_to, lent, refused, tensors, write};

/// A plugin's context, which it frees itself.
struct Context {
    pointer: *mut c_void,
    release: OpgridReleaseFn,
}

// SAFETY: the plugin guarantees that its context may be used and freed on any thread.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl Drop for Context {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: the plugin gave both together; this is the only call.
            unsafe { release(self.pointer) }
        }
    }
}

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
    context: Arc<Context>,
}

impl Function {
    /// The function of a description; without one, the context is given back at once.
    pub(super) fn new(description: &OpgridKernel) -> Option<Self> {
        let context = Context { pointer: description.context, release: description.release };
        let kernel = description.kernel?;
        Some(Self { kernel, condition: description.condition, context: Arc::new(context) })
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
                    condition(context.pointer, args.as_ptr(), args.len(), &raw mut holds, &raw mut error)
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
        let operator: *const OpgridOperator = ptr::from_ref(call.operator()).cast();
        let keys = keys_to(call.keys());
        with_lent(call.args(), |args| {
            let mut error = ptr::null_mut();
            let mut frame = Frame { call };
            let results: *mut OpgridResults = (&raw mut frame).cast();
            // SAFETY: the plugin gave the function of this type with the context; everything else lives until it returns.
            let status = unsafe {
                (self.kernel)(
                    self.context.pointer,
                    operator,
                    keys,
                    args.as_ptr(),
                    args.len(),
                    results,
                    &raw mut error,
                )
            };
            outcome(status, error, || format!("{}: a plugin's kernel", frame.call.operator().name()))
        })
    }
}

/// What `OpgridResults` points to.
struct Frame<'f, 'c> {
    call: &'f mut BoxedCall<'c>,
}

/// The frame of a kernel's call.
///
/// # Safety
///
/// `results` is null, or what the kernel got that is running.
unsafe fn frame<'a>(results: *mut OpgridResults) -> Result<&'a mut Frame<'a, 'a>> {
    if results.is_null() {
        return Err(refused("the results of a call are null; pass on what the kernel got"));
    }
    // SAFETY: guaranteed by the caller, see `# Safety`. One function of the table at a time works on a frame: each ends its
    // borrow before it returns, and calls that run meanwhile have frames of their own.
    Ok(unsafe { &mut *results.cast::<Frame<'a, 'a>>() })
}

pub(super) unsafe extern "C" fn push(
    results: *mut OpgridResults,
    value: *const OpgridValue,
    error: *mut *mut OpgridError,
) -> i32 {
    let body = || {
        // SAFETY: the plugin guarantees that its pointers are null or what their types say, and payloads what their tags
        // say.
        let (frame, value) = unsafe { (frame(results)?, read(lent(value, "a result")?)?) };
        frame.call.push(value.to_value());
        Ok(())
    };
    // SAFETY: as above, of the address of the error.
    unsafe { answer(error, body) }
}

pub(super) unsafe extern "C" fn push_tensor(results: *mut OpgridResults, tensor: *mut OpgridTensor) {
    // SAFETY: the plugin guarantees that the results are those of its call, and that the handle is one of its own.
    if let (Ok(frame), Some(tensor)) = unsafe { (frame(results), tensors::handle(tensor)) } {
        frame.call.push(tensor);
    }
}

pub(super) unsafe extern "C" fn below(
    results: *mut OpgridResults,
    arguments: *const OpgridValue,
    count: usize,
    error: *mut *mut OpgridError,
) -> i32 {
    let body = || {
        // SAFETY: the plugin guarantees that its pointers are null or what their types say, and payloads what their tags
        // say.
        let frame = unsafe { frame(results) }?;
        match arguments.is_null() {
            true => frame.call.below(),
            // SAFETY: as above.
            false => unsafe { with_read(arguments, count, |values| frame.call.below_with(values)) },
        }
    };
    // SAFETY: as above, of the address of the error.
    unsafe { answer(error, body) }
}

pub(super) unsafe extern "C" fn redispatch_below(
    results: *mut OpgridResults,
    keys: OpgridKeys,
    arguments: *const OpgridValue,
    count: usize,
    error: *mut *mut OpgridError,
) -> i32 {
    let body = || {
        // SAFETY: the plugin guarantees that its pointers are null or what their types say, and payloads what their tags
        // say.
        let frame = unsafe { frame(results) }?;
        let keys = keys_from(keys);
        match arguments.is_null() {
            true => frame.call.redispatch(keys),
            // SAFETY: as above.
            false => unsafe {
                with_read(arguments, count, |values| frame.call.redispatch_with(keys, values))
            },
        }
    };
    // SAFETY: as above, of the address of the error.
    unsafe { answer(error, body) }
}

pub(super) unsafe extern "C" fn through_cpu(
    results: *mut OpgridResults,
    error: *mut *mut OpgridError,
) -> i32 {
    let body = || {
        // SAFETY: the plugin guarantees that the results are those of its call.
        opgrid_tensor::families::through_cpu(unsafe { frame(results) }?.call)
    };
    // SAFETY: as above, of the address of the error.
    unsafe { answer(error, body) }
}

pub(super) unsafe extern "C" fn result_count(results: *mut OpgridResults) -> usize {
    // SAFETY: the plugin guarantees that the results are those of its call.
    unsafe { frame(results) }.map_or(0, |frame| frame.call.returns().len())
}

pub(super) unsafe extern "C" fn result(
    results: *mut OpgridResults,
    index: usize,
    out: *mut OpgridValue,
    error: *mut *mut OpgridError,
) -> i32 {
    let body = || {
        // SAFETY: the plugin guarantees that the results are those of its call.
        let returns = unsafe { frame(results) }?.call.returns();
        let count = returns.len();
        let value = returns.value(index).ok_or_else(|| {
            Error::new(ErrorKind::Index, format!("result {index} is not there, the call has {count} so far"))
        })?;
        let view = match value {
            // A closed view would be one of something that ends here; the value is handed out as what it lies in.
            opgrid_core::Value::Tensor(_) => lend(&value.borrow()),
            other => OpgridValue {
                tag: opgrid_abi::OPGRID_OWNED,
                size: 0,
                payload: opgrid_abi::OpgridPayload { other: ptr::from_ref(other).cast() },
            },
        };
        let opened = if view.tag == opgrid_abi::OPGRID_OWNED {
            let mut opened = OpgridValue::NONE;
            // SAFETY: both addresses are of values here.
            let status =
                unsafe { super::values::value_view(&raw const view, &raw mut opened, ptr::null_mut()) };
            if status == opgrid_abi::OPGRID_OK { opened } else { view }
        } else {
            view
        };
        // SAFETY: the plugin guarantees that the address is null or can be written.
        unsafe { write(out, opened) }
    };
    // SAFETY: as above, of the address of the error.
    unsafe { answer(error, body) }
}

pub(super) unsafe extern "C" fn clear_results(results: *mut OpgridResults) {
    quietly((), || {
        // SAFETY: the plugin guarantees that the results are those of its call.
        if let Ok(frame) = unsafe { frame(results) } {
            frame.call.returns().clear();
        }
    });
}
