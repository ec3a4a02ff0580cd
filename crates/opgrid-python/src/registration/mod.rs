//! Definitions, kernels and fallbacks that Python registers. `opgrid/library.py` puts them together.

pub(crate) mod held;
pub(crate) mod kernel;
pub(crate) mod messages;
pub(crate) mod overrides;
pub(crate) mod plugins;
pub(crate) mod registrations;
