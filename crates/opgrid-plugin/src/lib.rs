//! Operators, hooks, layers and backends in libraries of their own: the host's side of `opgrid-abi`.
//!
//! [`load`] opens a shared library and lets it register what it has, all at once or not at all; dropping the [`Plugin`]
//! takes that back. [`Manifest::read`] tells what a file holds without running anything of it.
//!
//! A plugin speaks C (`python/opgrid/include/opgrid.h`) and reaches everything through a table of functions, so that it
//! may be written in any language and built by any compiler. It links no dispatcher: a library with one of its own is
//! refused, because its operators would be registered where nobody looks for them.

#![deny(unsafe_code)]

mod abi;
mod forking;
mod image;
mod loader;
mod manifest;
mod search;

// What operators compute, for unit tests to link.
#[cfg(test)]
use opgrid_operators as _;

pub use abi::{Level, Message, on_message};
pub use loader::{Load, Plugin, load};
pub use manifest::Manifest;
pub use search::{PATH_VARIABLE, find};

#[doc(hidden)]
pub mod foreign {
    //! For front ends of other languages, whose extensions are plugins.

    pub use crate::abi::{kind_of, take_error};
    pub use crate::loader::open_table;
}

#[doc(hidden)]
pub mod fuzzing {
    //! For tests that throw bytes at what reads them.

    /// Reads a manifest out of the bytes of a file.
    ///
    /// # Errors
    ///
    /// The bytes are no plugin.
    pub fn manifest_of(bytes: &[u8]) -> opgrid_core::Result<crate::Manifest> {
        crate::image::Image::new(bytes).and_then(|image| image.plugin())
    }

    pub use crate::abi::{api, with_library};
}

/// The examples of README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
