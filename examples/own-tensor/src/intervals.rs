//! The tensor type: a list of intervals behind the dispatcher's handle.

use std::fmt;

use opgrid_core::{
    DispatchKey, DispatchKeySet, Error, ErrorKind, Result, TensorData, Value, tensor_key_set, tensor_type,
};

/// All numbers from `low` to `high`, both included.
#[derive(Clone, Copy, PartialEq)]
pub struct Interval {
    /// The smallest of them.
    pub low: f64,
    /// The largest of them.
    pub high: f64,
}

impl fmt::Debug for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.low, self.high)
    }
}

/// What a record of this library holds.
struct Data(Vec<Interval>);

impl TensorData for Data {
    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.0).finish()
    }
}

tensor_type! {
    /// A list of intervals, as operators take and give it. Clones are the same list.
    pub struct Intervals(Data);
}

impl Intervals {
    /// A new list, which brings the keys of ordinary data on the CPU into calls.
    ///
    /// # Errors
    ///
    /// An interval that ends before it begins.
    pub fn new(items: impl IntoIterator<Item = (f64, f64)>) -> Result<Self> {
        Self::from_intervals(items.into_iter().map(|(low, high)| Interval { low, high }).collect())
    }

    /// As [`new`](Self::new), of intervals.
    ///
    /// # Errors
    ///
    /// An interval that ends before it begins.
    pub fn from_intervals(items: Vec<Interval>) -> Result<Self> {
        match items.iter().find(|it| it.low.is_nan() || it.high.is_nan() || it.low > it.high) {
            None => Ok(Self::from_data(tensor_key_set(DispatchKey::Cpu), Data(items))),
            Some(empty) => {
                let message = format!("interval {empty:?} is empty, expected its end after its beginning");
                Err(Error::new(ErrorKind::Argument, message))
            }
        }
    }

    /// A new list of the same intervals that brings one more layer's key into calls.
    pub fn under(&self, layer: DispatchKey) -> Self {
        Self::from_data(self.0.keys() | layer.key_set(), Data(self.items().to_vec()))
    }

    /// The intervals.
    pub fn items(&self) -> &[Interval] {
        &self.data().0
    }

    /// The keys that this list brings into a call.
    pub fn keys(&self) -> DispatchKeySet {
        self.0.keys()
    }
}

impl fmt::Display for Intervals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Intervals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<Intervals> for Value {
    fn from(intervals: Intervals) -> Self {
        intervals.0.into()
    }
}
