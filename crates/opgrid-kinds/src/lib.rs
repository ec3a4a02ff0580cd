//! What operators of several groups share: rules for shapes and dtypes, slopes, samples, and differences from torch; and how a
//! group of operators is declared as a crate.

#![deny(unsafe_code)]

pub mod complex;
pub mod convolutions;
pub mod derivatives;
pub mod extremum;
pub mod factory;
pub mod fourier;
pub mod images;
pub mod indexing;
pub mod pointwise;
pub mod prelude;
pub mod products;
mod registrations;
