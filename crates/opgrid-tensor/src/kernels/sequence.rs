//! Writes elements that are a function of their number: ranges.

use opgrid_core::Result;

use super::access::check_written;
use crate::tensor::array::positions;
use crate::tensor::{Array, Element};

/// `out[i] = f(i)`, with elements numbered in row-major order.
///
/// # Errors
///
/// An output that repeats elements, has no data, or is used by others; another dtype.
///
/// # Examples
///
/// ```
/// use opgrid_tensor::{Array, kernels::sequence};
///
/// let squares = Array::from_slice(&[0i64; 4], &[2, 2])?;
/// sequence::numbered(&squares, |i| i * i)?;
/// assert_eq!(squares.to_vec::<i64>()?, [0, 1, 4, 9]);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub fn numbered<T: Element>(out: &Array, f: impl Fn(i64) -> T) -> Result<()> {
    out.expect_dtype(T::DTYPE)?;
    let geometry = out.geometry();
    check_written(geometry)?;
    if geometry.numel() == 0 {
        return Ok(());
    }
    let mut writer = out.storage().write()?;
    let elements = writer.slice::<T>()?;
    if geometry.is_contiguous() {
        let start = geometry.offset() as usize;
        let numbers = 0..geometry.numel();
        elements[start..].iter_mut().zip(numbers).for_each(|(element, i)| *element = f(i));
    } else {
        (0..).zip(positions(geometry)).for_each(|(i, at)| elements[at] = f(i));
    }
    Ok(())
}
