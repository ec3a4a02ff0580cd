//! The names that operator files use.

pub(crate) use opgrid_kinds::prelude::*;
