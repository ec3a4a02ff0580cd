//! Writes elements that are a function of their number: ranges.

use opgrid_core::Result;

use crate::parts::with_rows_of;
use opgrid_array::loops::iter::Output;
use opgrid_array::loops::iter::produce::Sequence;
use opgrid_array::{Array, Element};

/// `out[i] = f(i)`, converted to the output's dtype, with elements numbered in row-major order.
///
/// # Errors
///
/// An output that repeats elements, has no data, or is used by others.
///
/// # Examples
///
/// ```
/// use opgrid_array::Array;
/// use opgrid_kernels::sequence;
///
/// let squares = Array::from_slice(&[0i64; 4], &[2, 2])?;
/// sequence::numbered(&squares, |i| i * i)?;
/// assert_eq!(squares.to_vec::<i64>()?, [0, 1, 4, 9]);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub fn numbered<T: Element>(out: &Array, f: impl Fn(i64) -> T) -> Result<()> {
    produced(out, |sequence| {
        let n = sequence.rest();
        sequence.extend_with(n, move |i| f(i as i64));
        Ok(())
    })
}

/// Lets `f` write the elements of `out` in row-major order.
///
/// # Errors
///
/// As [`numbered`]; that of `f`.
pub fn produced<T: Element>(out: &Array, f: impl FnOnce(&mut Sequence<'_, T>) -> Result<()>) -> Result<()> {
    let mut f = Some(f);
    with_rows_of(out, T::DTYPE, &mut |target| {
        let output = Output::from_target(target)?;
        f.take().map_or(Ok(()), |f| output.produce(f))
    })
}

/// A number below 2^51 as a float, by steps for which every processor has vector instructions.
#[inline(always)]
pub fn float(number: i64) -> f64 {
    const STEP_OF_ONE: f64 = (1u64 << 52) as f64;
    f64::from_bits(number as u64 | STEP_OF_ONE.to_bits()) - STEP_OF_ONE
}
