//! The operator dispatcher together with dense tensors and their operators.
//!
//! This crate re-exports the dispatcher (`opgrid-core`), the tensors (`opgrid-tensor`) and neural networks on them
//! (`opgrid-nn`, as [`nn`] and [`optim`]), and fills the global dispatcher with the operators on first use.
//!
//! Without the feature `all-operators` (on by default) a program holds and links the operators that it names in Rust, by a call or a
//! handle ([`Dispatcher::operator`]), and those that they need; [`dispatcher()`] is then what registers, and links, all of them.
//!
//! # Examples
//!
//! An operator of one's own beside the ones that are there, called typed and by name:
//!
//! ```
//! use opgrid::prelude::*;
//!
//! operator! {
//!     pub Twice = "docs::twice(Tensor self) -> Tensor";
//! }
//!
//! fn twice(input: &Tensor) -> Result<Tensor> {
//!     input.add(input, 1)
//! }
//!
//! let dispatcher = opgrid::dispatcher()?;
//! let mut library = dispatcher.library("docs");
//! library.define(Twice).kernel(DispatchKey::CompositeImplicitAutograd, twice);
//! let _registration = library.finish()?;
//!
//! let x = Tensor::from_slice(&[1.0f32, 2.0, 3.0], &[3])?;
//! assert_eq!(Twice.call(&x)?.to_string(), "tensor([2., 4., 6.])");
//!
//! let add = dispatcher.find("aten::add.Tensor")?;
//! let results = add.call_with(vec![Value::from(&x), Value::from(&x)], vec![("alpha".into(), Value::from(2))])?;
//! assert_eq!(results[0].to_string(), "tensor([3., 6., 9.])");
//! # Ok::<(), opgrid::Error>(())
//! ```
#![forbid(unsafe_code)]

pub mod profile;

pub use opgrid_core::*;
pub use opgrid_kernels::{num_threads, set_num_threads};
pub use opgrid_tensor::{
    Array, Bool, Complex, Dims, Element, Geometry, Storage, Tensor, TensorSpec, bf16, devices, dlpack, f16,
    families, files, layers, manual_seed, with_dtype,
};

/// Kernels over arrays, and the loops that they are made of.
pub use opgrid_kernels as kernels;
pub use opgrid_operators::{ensure_registered, ops, register};
/// What operators are called with in tests.
#[cfg(feature = "samples")]
pub use opgrid_samples as samples;

/// Operators, hooks, layers and backends in libraries of their own: `dispatcher.load(path)`.
pub use opgrid_plugin as plugin;

/// Neural networks: modules, losses, initial values.
pub use opgrid_nn as nn;
/// Optimizers and learning rates.
pub use opgrid_nn::optim;

/// What a tensor is made of, and the macro that makes one of literals.
pub use opgrid_tensor::tensor;
pub use opgrid_tensor::tensor::{
    Allocation, Allocator, CpuAllocator, DeviceMemory, LimitedAllocator, Nested, Number, PrintOptions,
    default_dtype, print_options, set_print_options, with_print_options,
};

/// The examples of README.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
mod readme {}

/// The examples of the documentation, page by page.
#[cfg(doctest)]
mod documentation {
    #[doc = include_str!("../../../docs/from/candle.md")]
    mod from_candle {}
    #[doc = include_str!("../../../docs/from/tch.md")]
    mod from_tch {}
    #[doc = include_str!("../../../docs/from/torch-library.md")]
    mod from_torch_library {}
    #[doc = include_str!("../../../docs/how-to/checkpoints.md")]
    mod checkpoints {}
    #[doc = include_str!("../../../docs/how-to/embed-the-core.md")]
    mod embed_the_core {}
    #[doc = include_str!("../../../docs/how-to/lint-and-explain.md")]
    mod lint_and_explain {}
    #[doc = include_str!("../../../docs/how-to/models.md")]
    mod models {}
    #[doc = include_str!("../../../docs/how-to/training.md")]
    mod training {}
    #[doc = include_str!("../../../docs/how-to/write-it-once.md")]
    mod write_it_once {}
    #[doc = include_str!("../../../docs/tutorial/rust.md")]
    mod tutorial {}
}

pub use profile::{OperatorTime, Outcome, Profile, Timeline, TimelineEvent};

/// The global dispatcher, with this crate's operators.
///
/// Typed calls need no such step: an overload of this crate registers the operators itself, without the feature `all-operators` those
/// of its file.
///
/// # Errors
///
/// Somebody else has taken the namespace `aten` of the global dispatcher.
pub fn dispatcher() -> Result<&'static Dispatcher> {
    ensure_registered()?;
    Ok(Dispatcher::global())
}

/// The names that most programs use.
pub mod prelude {
    pub use opgrid_core::{
        AnyTensor, BoxedCall, DType, Device, DispatchKey, DispatchKeySet, Dispatcher, Error, ErrorKind,
        Kernel, Layout, Library, MemoryFormat, Next, Operator, OperatorHandle, Registration, Result, Scalar,
        Value, excluding, including, operator,
    };
    pub use opgrid_plugin::Load;
    pub use opgrid_tensor::{Tensor, tensor};
}
