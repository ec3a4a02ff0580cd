//! Plugins for opgrid in Rust: operators, hooks, layers and backends in a `cdylib` of their own.
//!
//! The library links no dispatcher: whatever it does goes through the table that the host gives it (`opgrid-abi`). So it may be
//! built by another compiler than the host, and depends on nothing else.
//!
//! A kernel is a closure of tensors, numbers, texts and lists, or of a [`Call`]. Its errors and panics become errors of the
//! call. [`Block::operator`] defines an operator by its kernel's types, [`Block::define`] by a schema.
//!
//! # Examples
//!
//! The whole library, with `crate-type = ["cdylib"]`:
//!
//! ```
//! use opgrid_plugin_sdk::{Call, Registrar, Result, Tensor, plugin};
//!
//! plugin! {
//!     name: "halves",
//!     version: "0.1.0",
//!     namespaces: "halves",
//!     keys: "CPU TESTING_ONLY_GenericMode",
//!     register: register,
//! }
//!
//! fn register(registrar: &Registrar) -> Result<()> {
//!     let library = registrar.library("halves")?;
//!     library.define("half(Tensor self) -> Tensor")?;
//!     library.implement("half", "CPU", |x: Tensor| {
//!         let halves: Vec<f32> = x.to_vec::<f32>()?.iter().map(|x| x / 2.0).collect();
//!         Tensor::from_slice(&halves, x.sizes()?)
//!     })?;
//!     let hook = registrar.implementations("_", "TESTING_ONLY_GenericMode")?;
//!     hook.fallback(|call: &mut Call<'_>| {
//!         eprintln!("{} runs", call.name());
//!         call.below()
//!     })
//! }
//! ```

#![deny(unsafe_code)]

mod call;
mod error;
mod host;
mod memory;
mod registrar;
mod tensor;
mod threads;
mod value;

pub use call::{Call, Lent};
pub use error::{Error, ErrorKind, Result};
pub use host::{ExcludeGuard, IncludeGuard, Keys, Operator, set_included};
pub use memory::DeviceMemory;
pub use opgrid_abi as abi;
pub use registrar::{Block, Kernel, Layer, Registrar, TypedKernel};
pub use tensor::{DType, Device, Element, Tensor};
pub use threads::{num_threads, parallel_for};
pub use value::{FromValue, IntoResults, ResultTypes, SchemaType, ToValue, Value};

#[doc(hidden)]
pub mod __private {
    pub use crate::host::initialize;

    /// The bytes of a text, followed by zeros.
    pub const fn bytes<const N: usize>(text: &str) -> [u8; N] {
        let (text, mut bytes, mut at) = (text.as_bytes(), [0; N], 0);
        while at < text.len() {
            bytes[at] = text[at];
            at += 1;
        }
        bytes
    }
}
