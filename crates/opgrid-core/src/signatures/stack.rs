//! The values of a boxed call: the results that a kernel leaves ([`Returns`]), and a growable stack for foreign callers.
//!
//! [`Returns`] is lent by the caller and holds up to four values in place, so that ordinary calls allocate nothing.
#![allow(unsafe_code)]

use std::mem::{self, ManuallyDrop, MaybeUninit};

use crate::error::{Error, ErrorKind, Result};
use crate::values::value::Value;

/// How many results lie in place.
const IN_PLACE: usize = 4;

/// The results of a boxed call, in the order of the schema.
///
/// # Examples
///
/// ```
/// use opgrid_core::{Returns, Value};
///
/// let mut returns = Returns::new();
/// returns.push(2);
/// returns.push("two");
/// assert_eq!(returns.into_vec(), [Value::from(2), Value::from("two")]);
/// ```
pub struct Returns {
    len: usize,
    /// Invariant: the first `min(len, IN_PLACE)` are initialised.
    in_place: [MaybeUninit<Value>; IN_PLACE],
    /// The values from the fifth on. Behind one word and not dropped by the compiler's glue, because every boxed call
    /// puts this struct on its stack, and nearly every one drops it with `more` unused.
    ///
    /// Invariant: `None` while `len` is 0, so that dropping has to test `len` alone.
    #[allow(clippy::box_collection)]
    more: ManuallyDrop<Option<Box<Vec<Value>>>>,
}

impl Returns {
    /// No results yet.
    #[inline]
    pub const fn new() -> Self {
        Self { len: 0, in_place: [const { MaybeUninit::uninit() }; IN_PLACE], more: ManuallyDrop::new(None) }
    }

    /// How many results there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Leaves one more result.
    #[inline(always)]
    pub fn push(&mut self, value: impl Into<Value>) {
        match self.in_place.get_mut(self.len) {
            // Written where it is made: a value that is moved right after it was written waits for the memory.
            Some(slot) => *slot = MaybeUninit::new(value.into()),
            None => self.push_more(value.into()),
        }
        self.len += 1;
    }

    #[cold]
    #[inline(never)]
    fn push_more(&mut self, value: Value) {
        self.more.get_or_insert_default().push(value);
    }

    /// Result number `index`.
    #[inline]
    pub fn value(&self, index: usize) -> Option<&Value> {
        if index >= self.len {
            return None;
        }
        match self.in_place.get(index) {
            // SAFETY: `index < len`, so the invariant says that this one is initialised.
            Some(slot) => Some(unsafe { slot.assume_init_ref() }),
            None => self.more.as_ref()?.get(index - IN_PLACE),
        }
    }

    /// The place of result number `index`.
    #[inline]
    pub(crate) fn value_mut(&mut self, index: usize) -> Option<&mut Value> {
        if index >= self.len {
            return None;
        }
        match self.in_place.get_mut(index) {
            // SAFETY: `index < len`, so the invariant says that this one is initialised.
            Some(slot) => Some(unsafe { slot.assume_init_mut() }),
            None => self.more.as_mut()?.get_mut(index - IN_PLACE),
        }
    }

    /// Takes result number `index` out and leaves [`Value::None`] in its place.
    #[inline]
    pub fn take(&mut self, index: usize) -> Option<Value> {
        self.value_mut(index).map(mem::take)
    }

    /// The results, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Value> {
        (0..self.len).filter_map(|index| self.value(index))
    }

    /// The results, as a vector.
    pub fn into_vec(mut self) -> Vec<Value> {
        (0..self.len).filter_map(|index| self.take(index)).collect()
    }

    /// The only result.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Value`] where there is not exactly one.
    pub fn into_single(mut self) -> Result<Value> {
        match (self.len, self.take(0)) {
            (1, Some(value)) => Ok(value),
            _ => {
                Err(Error::new(ErrorKind::Value, format!("expected 1 result but the call left {}", self.len)))
            }
        }
    }

    /// Drops every result.
    pub fn clear(&mut self) {
        let live = mem::take(&mut self.len).min(IN_PLACE);
        drop(self.more.take());
        for slot in &mut self.in_place[..live] {
            // SAFETY: the invariant for the old length; the length is 0 by now, so nothing is dropped twice.
            unsafe { slot.assume_init_drop() };
        }
    }
}

impl Default for Returns {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Returns {
    #[inline]
    fn drop(&mut self) {
        match self.len {
            0 => {}
            // SAFETY: by the invariants one value is initialised and `more` is `None`: only `push_more` fills it, from the
            // fifth value on, and `clear` empties it. Nobody uses what is dropped.
            1 => unsafe { drop_result(self.in_place[0].assume_init_mut()) },
            _ => self.clear(),
        }
    }
}

/// Drops a value, a tensor without the jump that tells the others apart: it is what nearly every call leaves.
///
/// # Safety
///
/// Nobody uses the value afterwards.
#[inline]
unsafe fn drop_result(value: &mut Value) {
    match value {
        Value::None => {}
        // SAFETY: guaranteed by the caller, see `# Safety`.
        Value::Tensor(tensor) => unsafe { std::ptr::drop_in_place(tensor) },
        // SAFETY: guaranteed by the caller, see `# Safety`.
        other => unsafe { std::ptr::drop_in_place(other) },
    }
}

/// A growable stack of values for callers that keep arguments and results in one place, the last value on top.
///
/// [`OperatorHandle::call_stack`](crate::OperatorHandle::call_stack) takes an operator's arguments from the top and
/// leaves its results there; what lies below stays.
///
/// # Examples
///
/// ```
/// use opgrid_core::{Stack, Value};
///
/// let mut stack = Stack::new();
/// stack.push_all([Value::from(1), Value::from(2), Value::from(3)]);
/// assert_eq!(stack.peek(0, 2)?, &Value::from(2));
/// stack.drop_last(2)?;
/// assert_eq!(stack.pop()?, Value::from(1));
/// assert!(stack.pop().is_err());
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stack(Vec<Value>);

impl Stack {
    /// An empty stack.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many values lie on it.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Puts a value on top.
    pub fn push(&mut self, value: impl Into<Value>) {
        self.0.push(value.into());
    }

    /// Puts values on top, the last one highest.
    pub fn push_all(&mut self, values: impl IntoIterator<Item = Value>) {
        self.0.extend(values);
    }

    /// The last `count` values, the deepest first.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Value`] where there are fewer.
    pub fn last(&self, count: usize) -> Result<&[Value]> {
        let start = self.0.len().checked_sub(count).ok_or_else(|| self.too_short(count))?;
        Ok(&self.0[start..])
    }

    /// Value `index` of the last `count`, counted from the deepest.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Value`] where there are fewer.
    pub fn peek(&self, index: usize, count: usize) -> Result<&Value> {
        self.last(count)?.get(index).ok_or_else(|| self.too_short(index + 1))
    }

    /// Takes the top value.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Value`] on an empty stack.
    pub fn pop(&mut self) -> Result<Value> {
        self.0.pop().ok_or_else(|| Error::new(ErrorKind::Value, "pop() called on empty stack"))
    }

    /// Drops the last `count` values.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Value`] where there are fewer; then all stay.
    pub fn drop_last(&mut self, count: usize) -> Result<()> {
        let rest = self.0.len().checked_sub(count).ok_or_else(|| self.too_short(count))?;
        self.0.truncate(rest);
        Ok(())
    }

    /// All values, the deepest first.
    pub fn values(&self) -> &[Value] {
        &self.0
    }

    #[cold]
    fn too_short(&self, count: usize) -> Error {
        Error::new(
            ErrorKind::Value,
            format!("expected {count} values on the stack but found {}", self.0.len()),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_spill_after_the_fourth_and_are_dropped_once() {
        let text = std::sync::Arc::new(String::from("kept"));
        let mut returns = Returns::new();
        for _ in 0..7 {
            returns.push(Value::Str(text.clone()));
        }
        assert_eq!(std::sync::Arc::strong_count(&text), 8);
        assert_eq!(returns.take(5), Some(Value::Str(text.clone())));
        assert_eq!(returns.value(5), Some(&Value::None));
        assert_eq!(returns.value(7), None);
        assert_eq!(returns.iter().count(), 7);
        drop(returns);
        assert_eq!(std::sync::Arc::strong_count(&text), 1);
    }

    #[test]
    fn one_result_is_asked_for_by_count() {
        assert!(Returns::new().into_single().unwrap_err().to_string().contains("expected 1 result"));
        let mut returns = Returns::new();
        returns.push(1);
        assert_eq!(returns.into_single().unwrap(), Value::from(1));
    }
}
