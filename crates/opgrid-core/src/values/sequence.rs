//! The values in a tuple or a list: dropped and compared without recursion, however deep they are nested.

use std::ops::Deref;
use std::slice::from_ref;
use std::sync::Arc;

use crate::values::value::{DictValue, List, Value};

/// The values in a tuple, or in a list of no common element type. It reads as a slice.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use opgrid_core::{Value, Values};
///
/// let pair = Value::Tuple(Arc::new(Values::from(vec![1.into(), "x".into()])));
/// assert_eq!(pair.to_string(), "(1, x)");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Values(Vec<Value>);

impl Deref for Values {
    type Target = [Value];

    fn deref(&self) -> &[Value] {
        &self.0
    }
}

impl From<Vec<Value>> for Values {
    fn from(values: Vec<Value>) -> Self {
        Self(values)
    }
}

impl FromIterator<Value> for Values {
    fn from_iter<I: IntoIterator<Item = Value>>(values: I) -> Self {
        Self(values.into_iter().collect())
    }
}

impl<'v> IntoIterator for &'v Values {
    type Item = &'v Value;
    type IntoIter = std::slice::Iter<'v, Value>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl PartialEq for Values {
    fn eq(&self, other: &Self) -> bool {
        same(self, other)
    }
}

impl PartialEq for DictValue {
    fn eq(&self, other: &Self) -> bool {
        let is_same = |((key, value), (other_key, other_value)): (&(Value, Value), &(Value, Value))| {
            same(from_ref(key), from_ref(other_key)) && same(from_ref(value), from_ref(other_value))
        };
        let (entries, others) = (self.entries(), other.entries());
        self.types() == other.types()
            && entries.len() == others.len()
            && entries.iter().zip(others).all(is_same)
    }
}

/// Whether values are equal, pair by pair.
fn same(some: &[Value], others: &[Value]) -> bool {
    let mut waiting = vec![(some, others)];
    while let Some((some, others)) = waiting.pop() {
        if some.len() != others.len() {
            return false;
        }
        for pair in some.iter().zip(others) {
            match pair {
                (Value::Tuple(some), Value::Tuple(others)) => waiting.push((some, others)),
                (Value::List(some), Value::List(others)) => match (&**some, &**others) {
                    (List::Values(element, some), List::Values(other, others)) if element == other => {
                        waiting.push((some, others));
                    }
                    (some, others) if some == others => {}
                    _ => return false,
                },
                (Value::Dict(some), Value::Dict(others)) => {
                    let (entries, other_entries) = (some.entries(), others.entries());
                    if some.types() != others.types() || entries.len() != other_entries.len() {
                        return false;
                    }
                    for ((key, value), (other_key, other_value)) in entries.iter().zip(other_entries) {
                        waiting.push((from_ref(key), from_ref(other_key)));
                        waiting.push((from_ref(value), from_ref(other_value)));
                    }
                }
                (some, other) if some == other => {}
                _ => return false,
            }
        }
    }
    true
}

impl Drop for Values {
    fn drop(&mut self) {
        dismantle(&mut self.0);
    }
}

impl Drop for DictValue {
    fn drop(&mut self) {
        if self.entries().iter().any(|(key, value)| is_nested(key) || is_nested(value)) {
            let entries = self.take_entries();
            dismantle(&mut entries.into_iter().flat_map(|(key, value)| [key, value]).collect());
        }
    }
}

/// Whether a value can hold values that hold values.
fn is_nested(value: &Value) -> bool {
    match value {
        Value::Tuple(_) | Value::Dict(_) => true,
        Value::List(list) => matches!(**list, List::Values(..)),
        _ => false,
    }
}

/// Drops values, and what only they hold, without recursion.
fn dismantle(values: &mut Vec<Value>) {
    if !values.iter().any(is_nested) {
        return;
    }
    let mut waiting = std::mem::take(values);
    while let Some(value) = waiting.pop() {
        // What is emptied here has nothing left to be dropped in depth when it goes out of scope.
        match value {
            Value::Tuple(items) => {
                waiting.extend(
                    Arc::into_inner(items).map(|mut items| std::mem::take(&mut items.0)).unwrap_or_default(),
                );
            }
            Value::List(list) => {
                if let Some(List::Values(_, mut items)) = Arc::into_inner(list) {
                    waiting.append(&mut items.0);
                }
            }
            Value::Dict(dict) => {
                let entries = Arc::into_inner(dict).map(|mut dict| dict.take_entries());
                waiting.extend(entries.into_iter().flatten().flat_map(|(key, value)| [key, value]));
            }
            other => drop(other),
        }
    }
}
