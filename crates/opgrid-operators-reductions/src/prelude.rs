//! The names that operator files use.

pub(crate) use opgrid_kinds::prelude::*;

pub(crate) use crate::kinds::{accumulation, any_all, variance_rules};
