//! Safe code at the ends of every range: it ends in a result or in an error that says why, never in a panic, a race or
//! a look at memory of others. Made for the sanitizer, too.
//!
//! A program of its own: it sets the number of threads of the process.
#![forbid(unsafe_code)]

use opgrid_operators as _;

mod drops;
mod empty;
mod ending;
mod geometry;
mod graphs;
mod guards;
mod in_place;
mod loops;
mod neighbours;
mod numbers;
mod outputs;
mod overlap;
mod printing;
mod rows;
mod threads;
mod tiles;
mod windows;
mod writes;

use opgrid_core::{DType, Device, Result};
use opgrid_tensor::{Geometry, Tensor};

/// The largest number of a size, a stride or an offset.
const MAX: i64 = i64::MAX;

/// What a case ends in.
#[derive(Clone, Copy, Debug)]
enum End {
    /// A result, of these sizes.
    Sizes(&'static [i64]),
    /// A result of any kind.
    Fine,
    /// An error that says this.
    Refused(&'static str),
}

use End::{Fine, Refused, Sizes};

/// The only place that compares: `found` is what case `name` gave.
fn check(name: &str, found: Result<Tensor>, expected: End) {
    match (found, expected) {
        (Ok(tensor), Sizes(sizes)) => {
            assert_eq!(tensor.sizes(), sizes, "{name}");
            assert!(tensor.to_string().starts_with("tensor("), "{name}: it can be printed");
        }
        (Ok(_), Fine) => {}
        (Err(error), Refused(words)) => {
            let text = error.to_string();
            assert!(text.contains(words), "{name}: found `{text}`, expected `{words}`");
        }
        (Ok(tensor), Refused(words)) => panic!("{name}: found {tensor:?}, expected the error `{words}`"),
        (Err(error), _) => panic!("{name}: found the error `{error}`, expected {expected:?}"),
    }
}

/// 64 elements: 1 to 64.
fn base() -> Tensor {
    let elements: Vec<f32> = (1..=64u8).map(f32::from).collect();
    Tensor::from_slice(&elements, &[64]).unwrap()
}

/// A view of [`base`].
fn view(sizes: &[i64], strides: &[i64], offset: i64) -> Tensor {
    base().view_as(Geometry::strided(sizes, strides, offset).unwrap()).unwrap()
}

/// A copy of another dtype.
fn converted(tensor: &Tensor, dtype: DType) -> Tensor {
    let copy = Tensor::empty(tensor.sizes(), dtype, Device::CPU).unwrap();
    copy.copy_(tensor).unwrap();
    copy
}
