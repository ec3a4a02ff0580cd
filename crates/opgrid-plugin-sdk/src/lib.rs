//! Plugins for opgrid in Rust: operators, hooks, layers and backends in a `cdylib` of their own.
//!
//! The library links no dispatcher: whatever it does goes through the table that the host gives it (`opgrid-abi`). So it may be
//! built by another compiler than the host.
//!
//! [`operator!`] and the builders are those of the host (`opgrid-core`), by the same names: a file that declares operators and
//! their kernels becomes a plugin by another `use` line, and [`plugin!`] states the entry. What is put together is registered
//! when the entry has returned it, all of it or nothing.
//!
//! | here | in the host |
//! |---|---|
//! | [`Library::finish`] gives what the entry returns | it registers at once |
//! | dtypes, layouts and memory formats are constants | they are variants |
//! | `t[]` for `int`, `float`, `bool`, `Tensor`, `Tensor?` | for every type |
//! | [`Generator`], [`Dict`] and [`Value`] are handed on | they can be looked into |
//! | a [`Tensor`] says what it is like, and lends its elements ([`Tensor::elements`], [`Tensor::elements_mut`]) | it has all operators as methods |
//! | typed kernels and calls cross as values | they cross as they are |
//! | [`BoxedCall::push`] lends a result, and may fail | it takes one |
//!
//! [`warn()`] and [`note()`] tell people something where the host tells its own warnings. Doc comments of `operator!` are what the host shows
//! of an operator.
//!
//! Operators of the host are called by declaring them: the declaration below of `aten::mul.Scalar` is all that `Mul.call` needs. One
//! that is not as the operator is registered is an error of the call. Errors and panics of kernels become errors of the call.
//!
//! # Examples
//!
//! The whole library, with `crate-type = ["cdylib"]`:
//!
//! ```
//! use opgrid_plugin_sdk::prelude::*;
//!
//! plugin! {
//!     name: "halves",
//!     version: "0.1.0",
//!     namespaces: "halves",
//!     keys: "CPU CompositeImplicitAutograd TESTING_ONLY_GenericMode",
//!     register: register,
//! }
//!
//! operator! {
//!     /// Half of each element.
//!     pub Half = "halves::half(Tensor self) -> Tensor";
//!     /// Each element less its half.
//!     pub Rest = "halves::rest(Tensor self, *, Scalar times=1) -> Tensor";
//!     Mul = "aten::mul.Scalar(Tensor self, Scalar other) -> Tensor";
//! }
//!
//! fn half(input: &Tensor) -> Result<Tensor> {
//!     let halves: Vec<f32> = input.to_vec::<f32>()?.iter().map(|x| x / 2.0).collect();
//!     Tensor::from_slice(&halves, input.sizes())
//! }
//!
//! fn rest(input: &Tensor, times: Scalar) -> Result<Tensor> {
//!     Mul.call(&Half.call(input)?, times)
//! }
//!
//! fn register(dispatcher: &Dispatcher) -> Result<Registration> {
//!     let mut library = dispatcher.library("halves");
//!     library.define(Half).kernel(DispatchKey::Cpu, half);
//!     library.define(Rest).kernel(DispatchKey::CompositeImplicitAutograd, rest);
//!     let mut hook = dispatcher.implementations("_", DispatchKey::TestingOnlyGenericMode);
//!     hook.fallback(Kernel::boxed(|call| {
//!         eprintln!("{} runs", call.operator().name());
//!         call.below()
//!     }));
//!     let mut registration = library.finish()?;
//!     registration.join(hook.finish()?);
//!     Ok(registration)
//! }
//! ```

#![deny(unsafe_code)]

mod call;
mod error;
mod host;
mod kernel;
mod keys;
mod library;
mod memory;
mod plain;
mod signature;
mod tensor;
mod threads;
mod value;

/// Operators as callers hold them: overloads known at compile time, and handles found by name.
pub mod operator;

pub use call::{BoxedCall, Next, through_cpu};
pub use error::{Error, ErrorKind, Result};
pub use host::{note, warn};
pub use kernel::Kernel;
pub use keys::{
    BackendComponent, DispatchKey, DispatchKeySet, ExcludeGuard, IncludeGuard, NewLayer, excluding,
    including, set_included,
};
pub use library::{CastPolicy, Dispatcher, Library, OperatorBuilder, Registration, Target};
pub use memory::DeviceMemory;
pub use num_complex::Complex64;
pub use operator::{Alias, Operator, OperatorCell, OperatorHandle, OperatorName, TypedHandle};
pub use opgrid_abi as abi;
pub use plain::{DType, Device, DeviceType, Layout, MemoryFormat, Scalar};
pub use signature::{Argument, Return, Signature, WritesFirst, WritesLast};
pub use tensor::{Element, Elements, ElementsMut, Tensor};
pub use threads::{num_threads, parallel_for};
pub use value::{Dict, Generator, ListElement, Value, ValueRef, ValueType};

/// The names that most plugins use, as in `opgrid::prelude`.
pub mod prelude {
    pub use crate::{
        BoxedCall, DType, Device, DispatchKey, DispatchKeySet, Dispatcher, Error, ErrorKind, Kernel, Layout,
        Library, MemoryFormat, Next, Operator, OperatorHandle, Registration, Result, Scalar, Tensor, Value,
        excluding, including, operator, plugin,
    };
}

#[doc(hidden)]
pub mod __private {
    pub use crate::host::initialize;
    pub use opgrid_macros::operator_items;

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

/// Declares overloads: a type per overload, with a typed `call`, from schema strings.
///
/// Each item `pub Name = "schema";` becomes a unit struct `Name` that implements [`Operator`] and has a method
/// `call` with one parameter per argument. The syntax is that of the host's `operator!`, which reads schemas by the same code;
/// `Tensor` stands for whatever type of that name is in scope, and `method` needs one of the same crate. Overloads that `in_place`,
/// `out` and `alias` declare ([`Operator::ALIASES`]) are defined like others.
///
/// | schema | parameter | result |
/// |---|---|---|
/// | `Tensor`, `Tensor(a)` | `&Tensor` | `Tensor` |
/// | `Tensor(a!)` | `&Tensor`, written | none, where the return is that argument: kernels return `Result<()>` |
/// | `int`, `SymInt`; `float`; `bool` | `i64`; `f64`; `bool` | the same |
/// | `complex`; `Scalar` | [`Complex64`]; [`Scalar`] | the same |
/// | `str` | `&str` | `String` |
/// | `ScalarType`, `Layout`, `MemoryFormat`, `Device` | [`DType`], [`Layout`], [`MemoryFormat`], [`Device`] | the same |
/// | `Generator`, `Dict(K, V)`, `t` | `&`[`Generator`], `&`[`Dict`]`<K, V>`, `&`[`Value`] | the same, owned |
/// | `T[]`, `T[2]` of `int`, `float`, `bool`, `Tensor`, `Tensor?` | `&[T]` | `Vec<T>` |
/// | `T?` | `Option` of the parameter | `Option` of the result |
/// | `()`; `(A, B)` | | `()`; a tuple |
///
/// A schema with another type is registered by its text, and its kernels are boxed.
///
/// # Examples
///
/// A kernel of the wrong type does not compile:
///
/// ```compile_fail,E0308
/// use opgrid_plugin_sdk::prelude::*;
///
/// operator! {
///     pub Scale = "myops::scale(Tensor self, float by) -> Tensor";
/// }
///
/// fn scale(input: &Tensor, by: i64) -> Result<Tensor> {
///     Tensor::from_slice(&[by as f32], input.sizes())
/// }
///
/// fn register(dispatcher: &Dispatcher) -> Result<Registration> {
///     let mut library = dispatcher.library("myops");
///     library.define(Scale).kernel(DispatchKey::Cpu, scale);
///     library.finish()
/// }
/// ```
#[macro_export]
macro_rules! operator {
    ($($items:tt)*) => {
        $crate::__private::operator_items! { ($crate) $($items)* }
    };
}

/// The examples of README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
