//! A transformer that learns to continue a text, character by character.
//!
//! [`Text`] turns characters into numbers, [`Model`] gives each character a score for being the next one, [`train`] fits
//! the model to the text, and [`sample`] draws a continuation. All of it is made of what `opgrid` publishes.
#![forbid(unsafe_code)]

mod model;
mod sampling;
mod text;
mod training;

pub use model::{Model, Shape};
pub use sampling::sample;
pub use text::Text;
pub use training::train;

use opgrid::{Error, ErrorKind};

/// An argument that is refused.
fn argument(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Argument, message)
}
