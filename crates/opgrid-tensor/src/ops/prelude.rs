//! The names that operator files use.

pub(super) use num_complex::Complex64;
pub(super) use opgrid_core::{
    DType, Device, DispatchKey, Layout, Library, MemoryFormat, Result, Scalar, ValueType, operator,
};

pub(super) use super::{comparison, extremum, pointwise, products, truth};
pub(super) use crate::error::argument;
pub(super) use crate::families::{
    DefineFamily, DefineKind, Family, NumbersForTensors, ViewFamily, kind, result,
};
pub(super) use crate::kernels::access::READ_AFTER_WRITTEN;
pub(super) use crate::kernels::arithmetic::{self, Arithmetic};
pub(super) use crate::kernels::math::{self, Inexact};
pub(super) use crate::kernels::{elementwise, reduce};
pub(super) use crate::samples::{
    ANY, Argument, DTypeRule, Difference, Directed, Distribution, Expected, Given, INEXACT, Inputs, NUMBERS,
    ORDERED, Operand, Part, Plain, REAL, Rounding, Roundings, Sample, Samples, Seen, differences, given,
    make, naive, number,
};
pub(super) use crate::tensor::{
    Bool, Geometry, Math, Tensor, TensorSpec, default_dtype, inexact, result_type,
};
pub(super) use crate::with_dtype;
