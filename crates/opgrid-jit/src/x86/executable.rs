//! Memory for machine code: written first, then made executable, and never both.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::LazyLock;

use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};

use crate::assembler::{BlockCode, LANES};
use crate::element::BLOCK;

use super::generate::Generated;
use super::registers::SPILL_BYTES;

/// What generated code is called with: addresses, memory for values that find no register, and the number of elements.
type Entry = unsafe extern "sysv64" fn(addresses: *const *mut u8, spilled: *mut u8, n: usize);

/// Machine code that can be run.
///
/// Invariant: `start` is a mapping of `length` bytes that holds code with the convention of [`Entry`], and is executable and not
/// writable.
#[derive(Debug)]
pub(super) struct Code {
    start: NonNull<u8>,
    length: usize,
    bytes: usize,
    places: usize,
}

// SAFETY: nobody writes the memory of code, by the invariant, and it belongs to no thread.
unsafe impl Send for Code {}
// SAFETY: nobody writes the memory of code, by the invariant.
unsafe impl Sync for Code {}

impl Code {
    /// Brings code into memory; `None` if the system refuses memory that is executable.
    pub(super) fn new(generated: &Generated) -> Option<Self> {
        let bytes = generated.code();
        let mut mapping = Mapping::new(bytes.len())?;
        mapping.bytes()[..bytes.len()].copy_from_slice(bytes);
        let (start, length) = mapping.executable()?;
        Some(Self { start, length, bytes: bytes.len(), places: generated.places() })
    }
}

impl Drop for Code {
    fn drop(&mut self) {
        // SAFETY: the mapping belongs to this code, which nobody runs any more.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.length) };
    }
}

impl BlockCode for Code {
    unsafe fn run(&self, addresses: &[*mut u8], n: usize) {
        assert!(
            addresses.len() == self.places && n <= BLOCK && n.is_multiple_of(LANES),
            "code is called as it was planned"
        );
        let mut spilled = [const { MaybeUninit::<u8>::uninit() }; SPILL_BYTES];
        // SAFETY: by the invariant there is code of this type; `generate` is the only one to make some.
        let entry = unsafe { std::mem::transmute::<*const u8, Entry>(self.start.as_ptr()) };
        // SAFETY:
        // - there is an address for each place that the code uses, as was just asserted, and elements as the caller guarantees.
        // - the code uses at most `SPILL_BYTES` bytes for other values: `registers` counts them.
        // - the processor has the instructions: `best_level` asks for them, and `Program::new` goes no further.
        unsafe { entry(addresses.as_ptr(), spilled.as_mut_ptr().cast(), n) };
    }

    fn bytes(&self) -> usize {
        self.bytes
    }
}

/// Memory that can be written.
///
/// Invariant: `start` is a mapping of `length` bytes, readable, writable and not executable.
struct Mapping {
    start: NonNull<u8>,
    length: usize,
}

impl Mapping {
    fn new(bytes: usize) -> Option<Self> {
        let length = bytes.max(1).next_multiple_of(rustix::param::page_size());
        // SAFETY: a new mapping at no given address replaces no other one.
        let start = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                length,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE,
            )
        };
        let start = NonNull::new(start.ok()?.cast())?;
        Some(Self { start, length })
    }

    fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: by the invariant; new mappings are filled with zeros.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
    }

    /// Takes the right to write away and gives that to execute.
    fn executable(self) -> Option<(NonNull<u8>, usize)> {
        // SAFETY: the mapping belongs to `self`, and there is no reference to its bytes.
        let done = unsafe {
            mprotect(self.start.as_ptr().cast(), self.length, MprotectFlags::READ | MprotectFlags::EXEC)
        };
        done.ok()?;
        let parts = (self.start, self.length);
        std::mem::forget(self);
        Some(parts)
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping belongs to `self`.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.length) };
    }
}

/// Whether the system refuses memory that is executable, as hardened ones do. It is told on standard error once.
pub(super) fn is_refused() -> bool {
    static REFUSED: LazyLock<bool> = LazyLock::new(|| {
        let allowed = Mapping::new(1).and_then(Mapping::executable);
        match allowed {
            Some((start, length)) => {
                // SAFETY: nobody else has the mapping.
                let _ = unsafe { munmap(start.as_ptr().cast(), length) };
                false
            }
            None => {
                eprintln!("opgrid: the system refuses executable memory; fused loops are interpreted");
                true
            }
        }
    });
    *REFUSED
}
