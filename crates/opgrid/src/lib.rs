//! The operator dispatcher together with dense tensors and their operators.
//!
//! - [`Tensor`] has the operators as methods: `x.matmul(&y)?`, `x.add(1)?`, `x.i((.., 1..3))?`; [`ops`] has all of them, with all arguments.
//! - [`nn`] and [`optim`] are neural networks and their training; `opgrid-graph` runs models that PyTorch exports.
//! - [`Dispatcher`] calls operators by name, takes new ones, and says which kernel it chose and why; [`dispatch`] is all of it.
//! - [`layers`] are gradients, batches, casts and traces; [`plugin`] loads libraries of operators and backends; [`profile`] measures calls.
//! - [`kernels`], [`array`](mod@array), [`families`] and [`devices`] are for those who write operators and backends.
//!
//! [`prelude`] has what most programs use. The global dispatcher is filled with the operators on first use.
//!
//! | feature | default | what it adds |
//! |---|---|---|
//! | `all-operators` | yes | links every operator; without it a program holds those that it names, see below |
//! | `plugin-programs` | no | plugins load and run exported programs by the C interface |
//! | `ndarray` | no | conversions from and to arrays of the crate `ndarray` |
//! | `samples` | no | arguments for tests of every operator |
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
//!     input.add(input)
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

pub use opgrid_core::{
    DType, Device, DispatchKey, DispatchKeySet, Dispatcher, Error, ErrorKind, Kernel, Library, MemoryFormat,
    Operator, OperatorHandle, Registration, Result, Scalar, Value, operator,
};
pub use opgrid_kernels::{num_threads, set_num_threads};
pub use opgrid_tensor::{Tensor, manual_seed};

/// The dispatcher: everything of `opgrid-core`, of which the root has what most programs use.
pub use opgrid_core as dispatch;

/// The memory of tensors: arrays, elements, geometry and storages.
pub use opgrid_array as array;
/// Kernels over arrays, and the loops that they are made of.
pub use opgrid_kernels as kernels;

/// Memory of devices, pinned memory, streams.
pub use opgrid_tensor::devices;
/// The exchange of tensors with other libraries.
pub use opgrid_tensor::dlpack;
/// Families of operators: what operators of one kind share.
pub use opgrid_tensor::families;
/// Files of tensors: safetensors, `.npy`, `.npz`.
pub use opgrid_tensor::files;
/// The parts of an index, as [`Tensor::i`] takes them.
pub use opgrid_tensor::index;
/// Layers that work on all operators: gradients, batches, casts, traces.
pub use opgrid_tensor::layers;
/// What a tensor is made of, and the macro that makes one of literals.
pub use opgrid_tensor::tensor;

/// The operators: a type for each overload, which is called by `call`.
pub use opgrid_operators::ops;
/// What operators are called with in tests.
#[cfg(feature = "samples")]
#[doc(hidden)]
pub use opgrid_samples as samples;

/// Operators, hooks, layers and backends in libraries of their own: `dispatcher.load(path)`.
pub use opgrid_plugin as plugin;

/// Neural networks: modules, losses, initial values.
pub use opgrid_nn as nn;
/// Optimizers and learning rates.
pub use opgrid_nn::optim;

/// Transforms of functions: batches, derivatives, Jacobians.
pub use opgrid_transforms as func;

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
    #[doc = include_str!("../../../docs/how-to/fake-tensors.md")]
    mod fake_tensors {}
    #[doc = include_str!("../../../docs/how-to/layers.md")]
    mod layers {}
    #[doc = include_str!("../../../docs/how-to/lint-and-explain.md")]
    mod lint_and_explain {}
    #[doc = include_str!("../../../docs/how-to/mixed-precision.md")]
    mod mixed_precision {}
    #[doc = include_str!("../../../docs/how-to/models.md")]
    mod models {}
    #[doc = include_str!("../../../docs/how-to/training.md")]
    mod training {}
    #[doc = include_str!("../../../docs/how-to/transforms.md")]
    mod transforms {}
    #[doc = include_str!("../../../docs/how-to/write-it-once.md")]
    mod write_it_once {}
    #[doc = include_str!("../../../docs/reference/modules.md")]
    mod modules {}
    #[doc = include_str!("../../../docs/tutorial/rust.md")]
    mod tutorial {}
}

/// The global dispatcher, with this crate's operators.
///
/// Typed calls need no such step: an overload of this crate registers the operators itself, without the feature `all-operators` those
/// of its file.
///
/// # Errors
///
/// Somebody else has taken the namespace `aten` of the global dispatcher.
pub fn dispatcher() -> Result<&'static Dispatcher> {
    ops::ensure_registered()?;
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
