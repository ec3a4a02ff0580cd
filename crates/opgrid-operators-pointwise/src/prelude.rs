//! The names that operator files use.

pub(crate) use opgrid_kinds::prelude::*;

pub(crate) use crate::kinds::{activation, bits, comparison};
