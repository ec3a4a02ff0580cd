//! What plugins call: operators by name, and the keys of their thread.
#![allow(unsafe_code)]

use std::ffi::c_char;

use opgrid_abi::{
    OpgridError, OpgridKeys, OpgridLibrary, OpgridOperator, OpgridResults, OpgridText, OpgridValue,
};
use opgrid_core::{Error, ErrorKind, LocalKeys, OperatorHandle, Result, Returns, Value};

use super::errors::{answer, quietly};
use super::kernels::{Way, pass, running};
use super::libraries::State;
use super::values::{give, with_read};
use super::{keys_from, keys_to, lent, text, text_to, write};

pub(super) unsafe extern "C" fn local_keys(included: *mut OpgridKeys, excluded: *mut OpgridKeys) {
    let local = LocalKeys::current();
    // SAFETY: the plugin guarantees that each is null or can be written. One that is null is not asked for.
    let _ = unsafe { (write(included, keys_to(local.included)), write(excluded, keys_to(local.excluded))) };
}

pub(super) unsafe extern "C" fn set_local_keys(included: OpgridKeys, excluded: OpgridKeys) {
    LocalKeys { included: keys_from(included), excluded: keys_from(excluded) }.force();
}

pub(super) unsafe extern "C" fn operator_find(
    library: *mut OpgridLibrary,
    name: *const c_char,
    out: *mut *mut OpgridOperator,
    error: *mut *mut OpgridError,
) -> i32 {
    let body = || {
        // SAFETY: the plugin guarantees that its pointers are null or what their types say.
        let name = unsafe { text(name, "the name of an operator") }?;
        let operator = State::here(library)?.dispatcher.find(name)?;
        // SAFETY: the plugin guarantees that the address of the result is null or can be written.
        unsafe { write(out, Box::into_raw(Box::new(operator)).cast()) }
    };
    // SAFETY: the plugin guarantees that the address of its error is null or can be written.
    unsafe { answer(error, body) }
}

pub(super) unsafe extern "C" fn operator_release(operator: *mut OpgridOperator) {
    quietly((), || {
        if !operator.is_null() {
            // SAFETY: the plugin guarantees that `operator_find` wrote it, and that it gives it back once.
            drop(unsafe { Box::from_raw(operator.cast::<OperatorHandle>()) });
        }
    });
}

/// An operator.
///
/// # Safety
///
/// It is null, or one that the table gave and that still lives.
#[inline]
unsafe fn handle<'a>(operator: *const OpgridOperator) -> Result<&'a OperatorHandle> {
    // SAFETY: guaranteed by the caller, see `# Safety`.
    unsafe { lent(operator.cast::<OperatorHandle>(), "an operator") }
}

pub(super) unsafe extern "C" fn operator_name(operator: *const OpgridOperator) -> OpgridText {
    // SAFETY: the plugin guarantees that the operator is null or lives.
    unsafe { handle(operator) }.map_or(text_to(""), |operator| text_to(&operator.name().name))
}

pub(super) unsafe extern "C" fn operator_overload(operator: *const OpgridOperator) -> OpgridText {
    // SAFETY: the plugin guarantees that the operator is null or lives.
    unsafe { handle(operator) }.map_or(text_to(""), |operator| text_to(&operator.name().overload))
}

pub(super) unsafe extern "C" fn operator_schema(
    operator: *const OpgridOperator,
    out: *mut OpgridValue,
    error: *mut *mut OpgridError,
) -> i32 {
    let body = || {
        // SAFETY: the plugin guarantees that its pointers are null or what their types say.
        let schema = unsafe { handle(operator) }?.schema()?;
        // SAFETY: the plugin guarantees that the address of the result is null or can be written.
        unsafe { write(out, give(Value::from(schema.to_string()))) }
    };
    // SAFETY: the plugin guarantees that the address of its error is null or can be written.
    unsafe { answer(error, body) }
}

/// Writes results to where a plugin wants them.
///
/// # Safety
///
/// `results` leads to `capacity` places that can be written; each pointer may be null.
unsafe fn hand_over(
    operator: &OperatorHandle,
    mut returns: Returns,
    results: *mut OpgridValue,
    capacity: usize,
    count: *mut usize,
) -> Result<()> {
    let found = returns.len();
    if found > capacity || (found > 0 && (results.is_null() || !results.is_aligned())) {
        let message = format!(
            "{}: {found} results, expected at most {capacity}; pass a larger buffer",
            operator.name()
        );
        return Err(Error::new(ErrorKind::Value, message));
    }
    // SAFETY: guaranteed by the caller, see `# Safety`.
    unsafe { write(count, found) }?;
    for index in 0..found {
        let value = give(returns.take(index).unwrap_or_default());
        // SAFETY: guaranteed by the caller, see `# Safety`: there are `capacity` places, and `found` are at most as
        // many, as was tested above.
        unsafe { results.add(index).write(value) };
    }
    Ok(())
}

pub(super) unsafe extern "C" fn call(
    operator: *const OpgridOperator,
    arguments: *const OpgridValue,
    count: usize,
    results: *mut OpgridValue,
    capacity: usize,
    result_count: *mut usize,
    error: *mut *mut OpgridError,
) -> i32 {
    // SAFETY: the plugin guarantees that its pointers are null or what their types say, and payloads what their tags say.
    let body = || unsafe {
        let operator = handle(operator)?;
        let mut returns = Returns::new();
        with_read(arguments, count, |values| operator.call_boxed(values, &mut returns))?;
        hand_over(operator, returns, results, capacity, result_count)
    };
    // SAFETY: the plugin guarantees that the address of its error is null or can be written.
    unsafe { answer(error, body) }
}

pub(super) unsafe extern "C" fn redispatch(
    operator: *const OpgridOperator,
    keys: OpgridKeys,
    arguments: *const OpgridValue,
    count: usize,
    results: *mut OpgridValue,
    capacity: usize,
    result_count: *mut usize,
    error: *mut *mut OpgridError,
) -> i32 {
    // SAFETY: the plugin guarantees that its pointers are null or what their types say, and payloads what their tags say.
    let body = || unsafe {
        let operator = handle(operator)?;
        let mut returns = Returns::new();
        with_read(arguments, count, |values| {
            operator.redispatch_boxed(keys_from(keys), values, &mut returns)
        })?;
        hand_over(operator, returns, results, capacity, result_count)
    };
    // SAFETY: the plugin guarantees that the address of its error is null or can be written.
    unsafe { answer(error, body) }
}

// Here and not beside `below`, so that each is the only one in its unit of code that goes on with a call: the compiler puts
// the way on into it then.
pub(super) unsafe extern "C" fn redispatch_below(
    results: *mut OpgridResults,
    keys: OpgridKeys,
    arguments: *const OpgridValue,
    count: usize,
    error: *mut *mut OpgridError,
) -> i32 {
    let keys = keys_from(keys);
    if !arguments.is_null() {
        // SAFETY: the plugin guarantees that its pointers are null or what their types say, payloads what their tags
        // say, and that the results are those of its call.
        return unsafe { pass(results, Way::With(keys), arguments, count, error) };
    }
    // SAFETY: the plugin guarantees that the results are those of its call.
    let body = || unsafe { running(results) }?.redispatch(keys);
    // SAFETY: the plugin guarantees that the address of its error is null or can be written.
    unsafe { answer(error, body) }
}
