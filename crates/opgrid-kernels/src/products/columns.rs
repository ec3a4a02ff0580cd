//! Writes the patches of images out as columns, and adds columns to the images that they are patches of.

use opgrid_core::Result;

use super::patches::{Lines, Windows};
use crate::parts;
use opgrid_array::loops::arithmetic::Arithmetic;
use opgrid_array::{Array, Element, Math};

/// `out[image, (channel, tap), place]` is the element of the image under the window; zero beyond the edges.
///
/// # Errors
///
/// Overlap of `out` with `image`, tensors without data or used by others.
pub fn unfold<T: Element>(windows: &Windows, out: &Array, image: &Array) -> Result<()> {
    let (taps, places) = (windows.taps(), windows.places_of_image());
    parts::read::<T, _>(out, image, |image| {
        parts::produce::<T>(out, places, places, |part, out| {
            let (number, tap) = (part / taps, windows.tap(0, part % taps));
            let mut lines = Lines::default();
            lines.find(windows, &[tap], number * places..(number + 1) * places);
            for &(place, element, count) in lines.for_tap(0) {
                let from = image[element..].iter().step_by(windows.step[2]);
                out[place..place + count].iter_mut().zip(from).for_each(|(to, from)| *to = *from);
            }
        })
    })
}

/// Each element of the image is the sum of those of the columns that [`unfold`] would read it for.
///
/// # Errors
///
/// As [`unfold`].
pub fn fold<T: Element<Math: Arithmetic>>(windows: &Windows, out: &Array, columns: &Array) -> Result<()> {
    let (taps, places, plane) = (windows.taps_of_channel(), windows.places_of_image(), windows.plane());
    parts::read::<T, _>(out, columns, |columns| {
        parts::produce::<T>(out, plane, taps * places, |part, out| {
            let mut sums = vec![Math::<T>::ZERO; plane];
            let mut lines = Lines::default();
            lines.find(windows, &windows.taps_of_group(0, 0..taps), 0..places);
            for tap in 0..taps {
                let columns = &columns[(part * taps + tap) * places..][..places];
                for &(place, element, count) in lines.for_tap(tap) {
                    let to = sums[element..].iter_mut().step_by(windows.step[2]);
                    to.zip(&columns[place..place + count]).for_each(|(sum, x)| *sum = sum.plus(x.widen()));
                }
            }
            out.iter_mut().zip(sums).for_each(|(out, sum)| *out = T::narrow(sum));
        })
    })
}
