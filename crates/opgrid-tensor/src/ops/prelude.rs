//! The names that operator files use.

pub(crate) use num_complex::Complex64;
pub(crate) use opgrid_core::{
    DType, Device, DispatchKey, Layout, Library, MemoryFormat, Result, Scalar, ValueType, operator,
};

pub(crate) use super::kinds::{
    activation, bits, comparison, complex, derivatives, extremum, loss, normalisations, pointwise, products,
    spread, total, truth,
};
pub(crate) use crate::error::argument;
pub(crate) use crate::families::{
    DefineFamily, DefineKind, DeprecatedOrders, Family, NumbersForTensors, Switch, ViewFamily, kind, result,
};
pub(crate) use crate::kernels::InPlace;
pub(crate) use crate::kernels::arithmetic::{self, Arithmetic};
pub(crate) use crate::kernels::functions::{self, Functions};
pub(crate) use crate::kernels::math::{self, Inexact};
pub(crate) use crate::kernels::{elementwise, reduce};
pub(crate) use crate::layers::autograd::DefineDerivative;
pub(crate) use crate::tensor::{
    Bool, Geometry, Math, Tensor, TensorSpec, default_dtype, inexact, part_of, result_type,
};
pub(crate) use crate::with_dtype;
