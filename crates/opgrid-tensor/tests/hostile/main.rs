//! Safe code at the ends of every range: it ends in a result or in an error that says why, never in a panic, a race or
//! a look at memory of others. Made for the sanitizer, too.
#![forbid(unsafe_code)]

mod printing;
mod threads;

use opgrid_tensor::{Geometry, Tensor};

/// The largest number of a size, a stride or an offset.
const MAX: i64 = i64::MAX;

/// 64 elements: 1 to 64.
fn base() -> Tensor {
    let elements: Vec<f32> = (1..=64u8).map(f32::from).collect();
    Tensor::from_slice(&elements, &[64]).unwrap()
}

/// A view of [`base`].
fn view(sizes: &[i64], strides: &[i64], offset: i64) -> Tensor {
    base().view_as(Geometry::strided(sizes, strides, offset).unwrap()).unwrap()
}
