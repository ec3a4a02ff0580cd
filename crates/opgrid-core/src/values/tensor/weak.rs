//! Weak handles: they lead to a tensor without keeping it.
//!
//! A tensor that has weak handles is marked by a bit in its count, so that others pay nothing: the last handle of a
//! marked tensor empties the cell that its weak handles share before the record goes.
#![allow(unsafe_code)]

use std::fmt;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use hashbrown::HashMap;

use super::{AnyTensor, HANDLE, Head};
use crate::fork::Held;
use crate::sync::lock;

/// The bit of a count that says that there are, or were, weak handles. It is below those of handles, so that one comparison
/// tells whether a handle was the last.
pub(super) const MARK: usize = 1;

/// The record, until its last handle is dropped.
///
/// Invariant: a record in a cell is there: whoever drops the last handle of a marked tensor calls [`forget`], which
/// waits for the lock, before freeing it.
struct Cell(Mutex<Option<Address>>);

/// A record that is only used under the lock of its cell.
#[derive(Clone, Copy)]
struct Address(NonNull<Head>);

// SAFETY: a head is atomics and what never changes.
unsafe impl Send for Address {}

type Cells = HashMap<usize, Arc<Cell>, foldhash::fast::FixedState>;

/// The cells of all marked tensors, by the address of their records.
static CELLS: Mutex<Cells> = Mutex::new(Cells::with_hasher(foldhash::fast::FixedState::with_seed(0)));

/// What is held while the process forks.
pub(crate) fn hold_at_fork(held: &mut Held) {
    let cells = lock(&CELLS);
    let all: Vec<_> = cells.values().cloned().collect();
    held.keep(cells);
    all.iter().for_each(|cell| held.lock_of(cell, |cell| &cell.0));
}

/// A handle that does not keep its tensor; [`upgrade`](Self::upgrade) gives one that does, while there is another.
///
/// # Examples
///
/// ```
/// use opgrid_core::{AnyTensor, DispatchKeySet, TensorData};
///
/// struct Nothing;
/// impl TensorData for Nothing {
///     fn describe(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
///         f.write_str("nothing")
///     }
/// }
///
/// let x = AnyTensor::new(DispatchKeySet::EMPTY, Nothing);
/// let weak = x.downgrade();
/// assert!(weak.upgrade().is_some_and(|same| same.is_same(&x)));
/// drop(x);
/// assert!(weak.upgrade().is_none());
/// ```
#[derive(Clone)]
pub struct WeakTensor(Arc<Cell>);

impl AnyTensor {
    /// A handle that does not keep the tensor.
    pub fn downgrade(&self) -> WeakTensor {
        let count = &self.head().count;
        let mut cells = lock(&CELLS);
        let address = self.0.addr().get();
        if count.fetch_or(MARK, Ordering::Relaxed) & MARK == 0 {
            cells.insert(address, Arc::new(Cell(Mutex::new(Some(Address(self.0))))));
        }
        WeakTensor(
            cells.get(&address).expect("a marked tensor has a cell until its last handle goes").clone(),
        )
    }
}

impl WeakTensor {
    /// A counted handle, unless the last one is gone.
    pub fn upgrade(&self) -> Option<AnyTensor> {
        let cell = lock(&self.0.0);
        let Address(head) = (*cell)?;
        // SAFETY: by the invariant of `Cell` the record is there as long as the lock is held.
        let count = unsafe { &head.as_ref().count };
        add_unless_none(count).then(|| AnyTensor(head))
    }
}

/// Counts one more handle, unless the last one is being dropped.
fn add_unless_none(count: &AtomicUsize) -> bool {
    let more = |now: usize| (now > MARK).then(|| now + HANDLE);
    match count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more) {
        // As where handles are cloned.
        Ok(before) if before > usize::MAX / 2 => std::process::abort(),
        Ok(_) => true,
        Err(_) => false,
    }
}

/// Empties the cell of a record, whose count has come to nothing.
#[cold]
#[inline(never)]
pub(super) fn forget(head: NonNull<Head>) {
    let cell = lock(&CELLS).remove(&head.addr().get());
    if let Some(cell) = cell {
        *lock(&cell.0) = None;
    }
}

impl fmt::Debug for WeakTensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if lock(&self.0.0).is_some() { "WeakTensor" } else { "WeakTensor(gone)" })
    }
}
