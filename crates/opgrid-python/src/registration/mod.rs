//! Definitions, kernels and fallbacks that Python registers. `opgrid/library.py` puts them together.

pub(crate) mod held;
mod kernel;
pub(crate) mod overrides;
pub(crate) mod plugins;
pub(crate) mod registrations;
