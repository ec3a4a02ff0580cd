//! Says how much of the heap is in use, by the C library's own count, which the peer reads too.
#![allow(unsafe_code)]

/// Bytes that are allocated now, with what the allocator adds to each block.
pub fn bytes_in_use() -> f64 {
    // SAFETY: the function only reads the allocator's counters, under its locks.
    let info = unsafe { libc::mallinfo2() };
    (info.uordblks + info.hblkhd) as f64
}
