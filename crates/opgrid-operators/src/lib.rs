//! The operators: every crate that implements what `opgrid-tensor` declares.
//!
//! A program needs this crate in its graph, by `use opgrid_operators as _;` or through `opgrid`: the linker finds in it what the
//! declarations name. Without it a call is an error of the linker, `undefined symbol: opgrid-operators-…::pointwise::add`.

#![forbid(unsafe_code)]

/// Overloads, and the families that implement them.
pub mod ops {
    #[cfg(feature = "samples")]
    pub use super::samples;
    pub use opgrid_operators_algebra::*;
    pub use opgrid_operators_networks::*;
    pub use opgrid_operators_pointwise::*;
    pub use opgrid_operators_reductions::*;
    pub use opgrid_operators_shapes::*;
    pub use opgrid_tensor::ops::{Conversion, NonBlocking, ensure_registered, register};
}

/// The samples of all operators, for the suite of `opgrid-testing`.
#[cfg(feature = "samples")]
pub fn samples() -> opgrid_samples::Samples {
    let mut samples = opgrid_samples::Samples::new();
    opgrid_operators_pointwise::samples(&mut samples);
    opgrid_operators_reductions::samples(&mut samples);
    opgrid_operators_shapes::samples(&mut samples);
    opgrid_operators_algebra::samples(&mut samples);
    // Last, because operators over lists have the samples of those that they call.
    opgrid_operators_networks::samples(&mut samples);
    samples
}
