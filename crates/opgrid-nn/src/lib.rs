//! Neural networks on tensors, with torch's names, initial values and files.
//!
//! A model is a struct with modules as fields. [`Module::parts`] names them once; parameters, state dicts, files and the
//! training mode follow from it. `forward` is a plain function of whatever arguments the model takes.
//!
//! - Modules: [`Linear`], [`Conv1d`], [`Conv2d`], [`Embedding`], [`MultiheadAttention`], [`TransformerEncoderLayer`],
//!   [`LayerNorm`], [`RMSNorm`], [`GroupNorm`], [`BatchNorm1d`], [`BatchNorm2d`], [`Dropout`], pooling, activations and
//!   [`Sequential`]. `Vec` and `Option` of modules are modules.
//! - What decides about the parameters of a module is given when it is made (`new`, or `with` [`ModuleOptions`]); everything
//!   else is set on it: `Conv2d::new(1, 16, 3)?.padding(1)`.
//! - [`functional`] has the functions of `torch.nn.functional`, [`loss`] has losses, [`init`] initial values, [`optim`] optimizers and learning rates, and [`clip_grad_norm_`] and
//!   [`clip_grad_value_`] bound gradients.
//!
//! # Examples
//!
//! ```
//! use opgrid_core::Result;
//! use opgrid_nn::{Dropout, Linear, Module, Parts, loss, optim::AdamW};
//! use opgrid::{Device, Tensor};
//!
//! struct Classifier {
//!     hidden: Linear,
//!     dropout: Dropout,
//!     output: Linear,
//! }
//!
//! impl Module for Classifier {
//!     fn parts(&self, parts: &mut Parts) {
//!         parts.module("hidden", &self.hidden).module("dropout", &self.dropout).module("output", &self.output);
//!     }
//! }
//!
//! impl Classifier {
//!     fn new() -> Result<Self> {
//!         Ok(Self { hidden: Linear::new(2, 16)?, dropout: Dropout::new(0.1)?, output: Linear::new(16, 2)? })
//!     }
//!
//!     fn forward(&self, x: &Tensor) -> Result<Tensor> {
//!         self.output.forward(&self.dropout.forward(&self.hidden.forward(x)?.tanh()?)?)
//!     }
//! }
//!
//! opgrid::manual_seed(0);
//! let x = Tensor::new(&[[0.0f32, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], Device::CPU)?;
//! let y = Tensor::new(&[0i64, 1, 1, 0], Device::CPU)?;
//! let model = Classifier::new()?;
//! let mut optimizer = AdamW::new(model.parameters(), 0.05)?;
//! for _ in 0..100 {
//!     optimizer.zero_grad()?;
//!     loss::cross_entropy(&model.forward(&x)?, &y)?.backward()?;
//!     optimizer.step()?;
//! }
//! model.eval();
//! assert!(model.forward(&x)?.argmax(1)?.equal(&y)?);
//! assert_eq!(model.named_parameters()[0].0, "hidden.weight");
//! # Ok::<(), opgrid_core::Error>(())
//! ```
#![forbid(unsafe_code)]

mod clip;
mod error;
pub mod functional;
pub mod init;
pub mod loss;
mod module;
mod modules;
pub mod optim;
mod options;
mod state;

pub use clip::{clip_grad_norm_, clip_grad_value_, total_norm};
pub use module::{DTypeOrDevice, Forward, Mode, Module, Parts, Unmatched};
pub use modules::*;
pub use options::{ModuleOptions, Sizes};
pub use state::StateDict;

/// The examples of README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
