//! Values on their way between Python and the dispatcher.

pub(crate) mod default_device;
pub(crate) mod dtypes;
pub(crate) mod generator;
pub(crate) mod names;
pub(crate) mod read;
pub(crate) mod size;
pub(crate) mod tree;
pub(crate) mod write;
