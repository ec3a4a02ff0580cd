//! Guards that own their storage, for work that outlives the call that begins it: a queue holds them until it is done.
#![allow(unsafe_code)]

use std::fmt;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::atomic::AtomicIsize;

use opgrid_core::Result;

use super::{Storage, WriteGuard, maker};

/// A reader of a storage, as [`ReadGuard`](super::ReadGuard), that keeps the storage and may go to another thread.
///
/// # Examples
///
/// ```
/// use opgrid_array::Storage;
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
    word: Word,
}

/// The writer of a storage, as [`WriteGuard`], that keeps the storage and may go to another thread.
///
/// # Examples
///
/// ```
/// use opgrid_array::Storage;
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
    word: Word,
}

/// Where a guard is counted that may end on another thread.
///
/// Invariant: it is one of the words that the storage beside it keeps, and not its maker's, where only one thread counts: the
/// guard was made after `share`.
struct Word(NonNull<AtomicIsize>);

// SAFETY: by the invariant it leads to an atomic that lives as long as the storage beside it, and where every thread may count.
unsafe impl Send for Word {}
// SAFETY: by the invariant it leads to an atomic that lives as long as the storage beside it, and threads may share atomics.
unsafe impl Sync for Word {}

impl Word {
    fn get(&self) -> &AtomicIsize {
        // SAFETY: by the invariant.
        unsafe { self.0.as_ref() }
    }
}

impl Storage {
    /// Announces a reader that keeps the storage, until the guard is dropped, on whichever thread.
    ///
    /// # Errors
    ///
    /// Those of [`read`](Self::read).
    pub fn read_owned(&self) -> Result<OwnedReadGuard> {
        self.shared().borrows.share(maker::me());
        let guard = ManuallyDrop::new(self.read()?);
        // The reader stays counted; the drop of the new guard takes it away.
        Ok(OwnedReadGuard { storage: self.clone(), word: Word(NonNull::from(guard.word)) })
    }

    /// Announces a writer that keeps the storage, until the guard is dropped, on whichever thread.
    ///
    /// # Errors
    ///
    /// Those of [`write`](Self::write).
    pub fn write_owned(&self) -> Result<OwnedWriteGuard> {
        self.shared().borrows.share(maker::me());
        let guard = ManuallyDrop::new(self.write()?);
        Ok(OwnedWriteGuard { storage: self.clone(), word: Word(NonNull::from(guard.word)) })
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
        let guard = ManuallyDrop::new(WriteGuard { storage: &self.storage, start, word: self.word.get() });
        guard.clear_unwritten();
        // SAFETY:
        // - the storage has `bytes` bytes from `start`, all initialised by the line above or earlier.
        // - `write_owned` left the writer counted, so this is the only access, and the guard is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(start.as_ptr(), shared.bytes) }
    }

    /// The storage that is written.
    pub fn storage(&self) -> &Storage {
        &self.storage
    }
}

impl Drop for OwnedReadGuard {
    fn drop(&mut self) {
        self.storage.shared().borrows.end_read(self.word.get());
    }
}

impl Drop for OwnedWriteGuard {
    fn drop(&mut self) {
        self.storage.shared().borrows.end_write(self.word.get());
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
