//! What a plugin lends until it gets it back: the context of a kernel, of memory, of a device.
#![allow(unsafe_code)]

use std::ffi::c_void;

use opgrid_abi::OpgridReleaseFn;

/// A context, which its plugin frees when this is dropped.
pub(super) struct Owned {
    context: *mut c_void,
    release: OpgridReleaseFn,
}

// SAFETY: the plugin guarantees that its context may be used and freed on any thread.
unsafe impl Send for Owned {}
// SAFETY: the plugin guarantees that its context may be used on several threads at a time.
unsafe impl Sync for Owned {}

impl Owned {
    /// Takes a context over.
    pub(super) fn new(context: *mut c_void, release: OpgridReleaseFn) -> Self {
        Self { context, release }
    }

    /// The context, as the plugin's functions get it.
    #[inline]
    pub(super) fn context(&self) -> *mut c_void {
        self.context
    }

    /// The context, if it is one that this function frees.
    pub(super) fn context_of(&self, release: OpgridReleaseFn) -> Option<*mut c_void> {
        let is_same = std::ptr::fn_addr_eq(self.release?, release?);
        is_same.then_some(self.context)
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: the plugin gave both together; this is the only call.
            unsafe { release(self.context) }
        }
    }
}
