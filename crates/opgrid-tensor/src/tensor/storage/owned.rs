//! Guards that own their storage, for work that outlives the call that begins it: a queue holds them until it is done.
#![allow(unsafe_code)]

use std::fmt;
use std::mem;
use std::ptr;
use std::sync::atomic::{AtomicIsize, Ordering};

use opgrid_core::Result;

use super::{Storage, WriteGuard};

/// A reader of a storage, as [`ReadGuard`](super::ReadGuard), that keeps the storage and may go to another thread.
///
/// # Examples
///
/// ```
/// use opgrid_tensor::Storage;
///
/// let storage = Storage::cpu(2)?;
/// let reader = storage.read_owned()?;
/// assert!(storage.write().is_err(), "somebody is reading");
/// std::thread::spawn(move || assert_eq!(reader.bytes(), [0, 0])).join().unwrap();
/// assert!(storage.write().is_ok());
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub struct OwnedReadGuard {
    storage: Storage,
    /// The number of the counter in which this reader is counted, unless it is the storage's word.
    counter: Option<usize>,
}

/// The writer of a storage, as [`WriteGuard`], that keeps the storage and may go to another thread.
///
/// # Examples
///
/// ```
/// use opgrid_tensor::Storage;
///
/// let storage = Storage::cpu(2)?;
/// let mut writer = storage.write_owned()?;
/// assert!(storage.read().is_err(), "somebody is writing");
/// std::thread::spawn(move || writer.bytes().fill(3)).join().unwrap();
/// assert_eq!(storage.read()?.bytes(), [3, 3]);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub struct OwnedWriteGuard {
    storage: Storage,
}

impl Storage {
    /// Announces a reader that keeps the storage, until the guard is dropped, on whichever thread.
    ///
    /// # Errors
    ///
    /// Those of [`read`](Self::read).
    pub fn read_owned(&self) -> Result<OwnedReadGuard> {
        let guard = self.read()?;
        let counter = match ptr::eq(guard.counter, &self.shared().state) {
            true => None,
            false => self.shared().counters().and_then(|counters| {
                counters.0.iter().position(|counter| ptr::eq(&counter.0, guard.counter))
            }),
        };
        // The reader stays counted; the drop of the new guard takes it away.
        mem::forget(guard);
        Ok(OwnedReadGuard { storage: self.clone(), counter })
    }

    /// Announces a writer that keeps the storage, until the guard is dropped, on whichever thread.
    ///
    /// # Errors
    ///
    /// Those of [`write`](Self::write).
    pub fn write_owned(&self) -> Result<OwnedWriteGuard> {
        // A result that this thread is making is everybody's from here on: the guard may end on another thread.
        self.publish();
        let guard = self.write()?;
        debug_assert_eq!(
            guard.before, 0,
            "only the maker of a result sees another state, and it has published it"
        );
        mem::forget(guard);
        Ok(OwnedWriteGuard { storage: self.clone() })
    }
}

impl OwnedReadGuard {
    /// All bytes.
    pub fn bytes(&self) -> &[u8] {
        let shared = self.storage.shared();
        let Some(start) = shared.start else { return &[] };
        // SAFETY:
        // - the storage has `bytes` bytes from `start`, all initialised: `read` made sure of `written`.
        // - `read_owned` left this reader counted, so nobody writes while the guard lives, which keeps the storage.
        unsafe { std::slice::from_raw_parts(start.as_ptr(), shared.bytes) }
    }

    fn counter(&self) -> &AtomicIsize {
        let shared = self.storage.shared();
        let row = self.counter.and_then(|number| shared.counters()?.0.get(number));
        row.map_or(&shared.state, |counter| &counter.0)
    }

    /// The storage that is read.
    pub fn storage(&self) -> &Storage {
        &self.storage
    }
}

impl OwnedWriteGuard {
    /// All bytes.
    pub fn bytes(&mut self) -> &mut [u8] {
        let shared = self.storage.shared();
        let Some(start) = shared.start else { return &mut [] };
        let guard = mem::ManuallyDrop::new(WriteGuard { storage: &self.storage, start, before: 0 });
        guard.clear_unwritten();
        // SAFETY:
        // - the storage has `bytes` bytes from `start`, all initialised by the line above or earlier.
        // - `write_owned` left the state at a writer, so this is the only access, and the guard is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(start.as_ptr(), shared.bytes) }
    }

    /// The storage that is written.
    pub fn storage(&self) -> &Storage {
        &self.storage
    }
}

impl Drop for OwnedReadGuard {
    fn drop(&mut self) {
        self.counter().fetch_sub(1, Ordering::Release);
    }
}

impl Drop for OwnedWriteGuard {
    fn drop(&mut self) {
        self.storage.shared().state.store(0, Ordering::Release);
    }
}

impl fmt::Debug for OwnedReadGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "reader of {:?}", self.storage)
    }
}

impl fmt::Debug for OwnedWriteGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "writer of {:?}", self.storage)
    }
}
