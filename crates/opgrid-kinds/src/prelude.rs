//! The names that operator files use.

pub use num_complex::Complex64;
pub use opgrid_core::{DType, Device, DispatchKey, Layout, Library, MemoryFormat, Result, Scalar, ValueType};

pub use crate::complex;
pub use crate::derivatives;
pub use crate::extremum;
pub use crate::pointwise;
pub use crate::products;
pub use opgrid_array::error::{argument, without_data};
pub use opgrid_array::with_dtype;
pub use opgrid_kernels::InPlace;
pub use opgrid_kernels::arithmetic::{self, Arithmetic};
pub use opgrid_kernels::elementwise::Operand as _;
pub use opgrid_kernels::functions::{self, Functions};
pub use opgrid_kernels::math::{self, Inexact};
pub use opgrid_kernels::{elementwise, reduce};
pub use opgrid_tensor::families::{
    DefineFamily, DefineKind, DeprecatedOrders, Family, NumbersForTensors, Switch, VariadicTensors,
    ViewFamily, kind, result,
};
pub use opgrid_tensor::layers::autograd::DefineDerivative;
pub use opgrid_tensor::tensor::{
    Bool, Geometry, Math, Tensor, TensorSpec, default_dtype, inexact, part_of, result_type,
};
