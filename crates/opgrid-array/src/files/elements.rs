//! The bytes of elements in files: row-major, in one order of bytes whatever the machine's is.

use std::io::Write;

use opgrid_core::{DType, Result};

use super::whole::io_error;
use crate::Array;
use crate::loops::copy;

/// Writes the elements of `array` in row-major order, little-endian; `name` is for messages.
pub(super) fn write(name: &str, array: &Array, writer: &mut dyn Write) -> Result<()> {
    let rows = if array.geometry().is_contiguous() { array.clone() } else { copy::contiguous(array)? };
    let guard = rows.storage().read().map_err(|error| error.within(name))?;
    let size = rows.dtype().size_in_bytes();
    let start = rows.geometry().offset() as usize * size;
    let elements = match rows.geometry().numel() as usize * size {
        0 => &[],
        bytes => &guard.bytes()[start..start + bytes],
    };
    let mut put = |bytes: &[u8]| {
        writer.write_all(bytes).map_err(|error| io_error(name.as_ref(), "cannot be written", error))
    };
    if is_native(rows.dtype(), false) {
        return put(elements);
    }
    let mut little = elements.to_vec();
    turn(rows.dtype(), &mut little);
    put(&little)
}

/// Turns the bytes of elements from a file into those of this machine, and makes every byte of a bool 0 or 1.
pub(super) fn make_native(dtype: DType, big_endian: bool, bytes: &mut [u8]) {
    if dtype == DType::Bool {
        bytes.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
    } else if !is_native(dtype, big_endian) {
        turn(dtype, bytes);
    }
}

/// Whether elements in that order of bytes are this machine's.
pub(super) fn is_native(dtype: DType, big_endian: bool) -> bool {
    part_bytes(dtype) == 1 || big_endian == cfg!(target_endian = "big")
}

fn turn(dtype: DType, bytes: &mut [u8]) {
    bytes.chunks_exact_mut(part_bytes(dtype)).for_each(<[u8]>::reverse);
}

/// The bytes of what has an order of its own: an element, or a part of a complex number.
fn part_bytes(dtype: DType) -> usize {
    if dtype.is_complex() { dtype.size_in_bytes() / 2 } else { dtype.size_in_bytes() }
}
