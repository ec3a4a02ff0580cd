//! The operator dispatcher: keys, tables, boxing, registration, guards, redispatch and explanation.
//!
//! An operator is a row, a dispatch key a column, and each cell of the grid holds kernels. A call takes the keys of
//! its arguments and of its thread, finds the highest, and runs the kernel of that cell.
//!
//! The folders of the source, each of which imports only from those before it: `keys`, `values`, `signatures`, `calling`,
//! `registration`, `inspection`.

#![deny(unsafe_code)]

mod calling;
mod inspection;
mod keys;
mod registration;
mod signatures;
mod values;

/// Operators as callers hold them: overloads known at compile time, and handles found by name.
pub mod operator {
    pub use crate::calling::operator::{OperatorCell, OperatorHandle, TypedHandle};
    pub use crate::registration::overload::{
        Alias, ArgsOf, KernelOf, KernelWithKeysOf, Operator, OutputOf, ReturningOf, call, redispatch,
    };
}

pub mod barrier;
pub mod deferred_drop;
pub mod error;
pub mod fork;
mod marker;
pub mod panics;
mod place;
mod spelling;
mod sync;
mod ticket;

pub use calling::{call, held, kernel, observe, retirement as retire, slow_path, strict, thread as local};
pub use inspection::explain;
pub use keys::{key, named as named_sets, set as key_set, user_keys, user_layers};
pub use registration::on_demand::OnDemand;
pub use registration::operator_builder::OperatorBuilder;
pub use registration::{dispatcher, legacy, library, listener, provider, resolve};
pub use signatures::{argument, dict, signature, stack, value_type};
pub use values::{conversions, device, device_key, dtype, layout, scalar, tensor, value};

pub use argument::Argument;
pub use call::{BoxedCall, Next};
pub use calling::binding::{Binder, Misplaced};
pub use calling::columns::{Column, ColumnInfo};
pub use calling::context::{ContextPart, ThreadContext, register_context_part};
pub use calling::forms::Forms;
pub use calling::kernel_info::KernelInfo;
pub use calling::kind::Kind;
pub use calling::reason::Reason;
pub use device::{Device, DeviceType};
pub use device_key::{
    compute_dispatch_key, device_key, inference_tensor_key_set, key_to_options, tensor_key_set,
};
pub use dict::Dict;
pub use dispatcher::{Dispatcher, Listening};
pub use dtype::DType;
pub use error::{Error, ErrorKind, Result};
pub use explain::{Explanation, Hop};
pub use held::{HeldKernel, TypedHeldKernel};
pub use inspection::coverage::{Coverage, Source};
pub use inspection::dump::TableSlot;
pub use inspection::stats::{SlowPathCount, Stats, reset_stats, stats};
pub use kernel::Kernel;
pub use key::{DispatchKey, KeyKind, alias_backends, columns, torch_columns};
pub use key_set::DispatchKeySet;
pub use keys::parts::{BackendComponent, Functionality};
pub use layout::{Layout, MemoryFormat};
pub use legacy::LegacyOptions;
pub use library::{Library, Registration, Target};
pub use listener::{Listener, Override};
pub use local::{
    ChangeGuard, ExcludeGuard, ForceGuard, IncludeGuard, KeyChange, LocalKeys, excluding, including,
    inference_mode, is_excluded, is_included, is_inference_mode, nested_calls, set_depth_limit, set_excluded,
    set_included,
};
pub use named_sets::{NAMED_SETS, autocast_key, autocast_related, autograd_key, autograd_related};
pub use num_complex::Complex64;
pub use observe::{CallKind, Observation, Observer, Refusal, Step, observe, record_calls};
pub use operator::{Alias, Operator, OperatorCell, OperatorHandle, TypedHandle};
pub use opgrid_schema as schema;
pub use place::Place;
pub use provider::Provider;
#[doc(hidden)]
pub use resolve::{Rule, Rules};
pub use retire::{quiesce, retired_tables};
pub use scalar::{Scalar, SymInt, SymNode, SymbolicInt};
pub use signature::{Return, Signature, WritesFirst, WritesLast};
pub use slow_path::{SlowPath, note_slow_path};
pub use stack::{Returns, Stack};
pub use strict::{Strict, set_strict, strict};
pub use tensor::{AnyTensor, TensorData, TensorType, WeakTensor};
pub use user_layers::NewLayer;
pub use value::{Class, DictValue, Generator, List, Object, Value, Values};
pub use value_type::ValueType;
pub use values::borrowed::{DEEPEST_SHOWN, ValueRef, ValueView};

#[doc(hidden)]
pub mod __private {
    pub use opgrid_macros::{operator_items, operator_methods, operator_types};
}

/// Declares overloads: a type per overload, with a typed `call`, from schema strings.
///
/// Each item `pub Name = "schema";` becomes a unit struct `Name` that implements [`Operator`] and has a method
/// `call` with one parameter per argument. `Tensor` in a schema stands for whatever type of that name is in scope.
/// A first item `register_with = path;` names the function that registers the overloads' library on first use
/// ([`Operator::ensure_registered`]). With `register_with = path(register);` the overloads are an [`OnDemand`] group `OPERATORS`, whose registration is the
/// function `register`, and `path` names a function that is given the group. Operators that `register` defines by schema strings are named behind it:
/// `register_with = path(register, "myops::boxed");`.
///
/// Behind a schema, `in_place` and `out` declare the overloads that write the result, `method` methods of tensors, and `alias("other")` all
/// of them under another name ([`Operator::ALIASES`]), as in `pub Abs = "myops::abs(Tensor self) -> Tensor", in_place, alias("absolute");`.
///
/// Types of a schema in Rust, as parameters of `call` and of kernels, and as results:
///
/// | schema | parameter | result |
/// |---|---|---|
/// | `Tensor`, `Tensor(a)` | `&Tensor` | `Tensor` |
/// | `Tensor(a!)` | `&Tensor`, written | none, where the return is that argument: kernels return `Result<()>` |
/// | `int`, `SymInt`; `float`; `bool` | `i64`; `f64`; `bool` | the same |
/// | `complex`; `Scalar` | `Complex64`; [`Scalar`] | the same |
/// | `str` | `&str` | `String` |
/// | `ScalarType`, `Layout`, `MemoryFormat`, `Device` | [`DType`], [`Layout`], [`MemoryFormat`], [`Device`] | the same |
/// | `Generator` | `&`[`Generator`](value::Generator) | the same, owned |
/// | `T[]`, `T[2]` | `&[T]` of owned `T` | `Vec<T>` |
/// | `T?` | `Option` of the parameter | `Option` of the result |
/// | `Dict(K, V)` | `&`[`Dict`]`<K, V>` | the same, owned |
/// | `t` (any type) | `&`[`Value`] | `Value` |
/// | `()`; `(A, B)` | | `()`; a tuple |
///
/// A schema with another type is registered by its text, and its kernels are boxed.
///
/// # Examples
///
/// ```
/// use opgrid_core::{AnyTensor as Tensor, Dispatcher, DispatchKey, Result, operator};
///
/// operator! {
///     pub First = "doc::first(Tensor self, Tensor other) -> Tensor";
/// }
///
/// fn first(input: &Tensor, _other: &Tensor) -> Result<Tensor> {
///     Ok(input.clone())
/// }
///
/// let mut library = Dispatcher::global().library("doc");
/// library.define(First).kernel(DispatchKey::CompositeExplicitAutograd, first);
/// let _registration = library.finish()?;
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[macro_export]
macro_rules! operator {
    ($($items:tt)*) => {
        $crate::__private::operator_items! { ($crate) $($items)* }
    };
}

/// Declares overloads as [`operator!`] does, without the methods; [`operator_methods!`](crate::operator_methods) gives these in one block.
#[doc(hidden)]
#[macro_export]
macro_rules! operator_types {
    ($($items:tt)*) => {
        $crate::__private::operator_types! { ($crate) $($items)* }
    };
}

/// The methods of overloads, which are in scope, as one block: `ATTRIBUTES impl Tensor;`, then items as in [`operator!`].
#[doc(hidden)]
#[macro_export]
macro_rules! operator_methods {
    ($($items:tt)*) => {
        $crate::__private::operator_methods! { ($crate) $($items)* }
    };
}

/// The examples of README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
