//! Sizes of tensors: a tuple of integers with a class of its own, which is written in Python (`opgrid/_size.py`).
#![allow(unsafe_code)]

use crate::gil_cell::GilCell;
use crate::once::OncePlace;
use opgrid::Tensor;
use opgrid_graph::{Expression, size_symbol};
use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyTuple, PyType};

/// The class, as it was when the package was imported: what somebody puts in its place later is not looked at.
static CLASS: OncePlace<Py<PyType>> = OncePlace::new();

/// The class of sizes that may vary (`opgrid/_symint.py`).
static SYMBOLIC: OncePlace<Py<PyType>> = OncePlace::new();

/// Takes the class from the module that has it.
///
/// # Errors
///
/// It is no class of tuples.
pub(crate) fn find_class(py: Python<'_>) -> PyResult<()> {
    class(py).map(drop)
}

fn class(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    let class = CLASS.get_or_make(py, || {
        let class = py.import("opgrid._size")?.getattr("Size")?.cast_into::<PyType>()?;
        // Invariant: what is kept here derives from `tuple`, for `from_items`.
        if !class.is_subclass_of::<PyTuple>()? {
            let message = format!("opgrid._size.Size: found {class}, expected a class derived from tuple");
            return Err(PyTypeError::new_err(message));
        }
        Ok(class.unbind())
    })?;
    Ok(class.bind(py))
}

/// Whether the object is a `Size`.
pub(crate) fn is_size(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    object.is_instance(class(object.py())?)
}

/// The sizes of a tensor as a `Size`. While a program is traced, those that may vary know whose they are.
pub(crate) fn of_tensor<'py>(py: Python<'py>, tensor: &Tensor) -> PyResult<Bound<'py, PyAny>> {
    let sizes = tensor.sizes();
    if size_symbol(tensor, 0).is_none() {
        return known_or_new(py, sizes);
    }
    let items = (0..sizes.len()).map(|dimension| of_dimension(py, tensor, dimension));
    from_items(py, &items.collect::<PyResult<Vec<_>>>()?, |item| Ok(item.clone()))
}

/// The `Size` of these sizes: one that was asked for lately, or a new one.
fn known_or_new<'py>(py: Python<'py>, sizes: &[i64]) -> PyResult<Bound<'py, PyAny>> {
    /// Programs have tensors of many sizes, but in a while they ask for few. What is kept is never changed.
    static LATELY: [GilCell<PyTuple>; 1 << BITS] = [const { GilCell::new() }; 1 << BITS];
    const BITS: u32 = 6;

    let mix =
        |mixed: u64, size: &i64| (mixed ^ *size as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(BITS);
    let place = &LATELY[sizes.iter().fold(sizes.len() as u64, mix) as usize % LATELY.len()];
    if let Some(known) = place.get(py).map(|known| known.into_bound(py))
        && known.len() == sizes.len()
        && known
            .iter_borrowed()
            .zip(sizes)
            .all(|(item, size)| item.extract::<i64>().is_ok_and(|item| item == *size))
    {
        return Ok(known.into_any());
    }
    let new = from_items(py, sizes, |size| Ok(size.into_pyobject(py)?.into_any()))?;
    place.set(py, new.cast::<PyTuple>()?.clone().unbind());
    Ok(new)
}

/// The size of a dimension, which is there.
pub(crate) fn of_dimension<'py>(
    py: Python<'py>,
    tensor: &Tensor,
    dimension: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let size = tensor.sizes()[dimension];
    let symbol = size_symbol(tensor, dimension);
    let Some(name) = symbol.as_ref().and_then(Expression::as_symbol) else {
        return Ok(size.into_pyobject(py)?.into_any());
    };
    let class = SYMBOLIC.get_or_make(py, || {
        Ok(py.import("opgrid._symint")?.getattr("SymInt")?.cast_into::<PyType>()?.unbind())
    })?;
    class.bind(py).call1((size, format!("Symbol('{name}', integer=True)")))
}

/// The number of elements of a tensor.
pub(crate) fn elements<'py>(py: Python<'py>, tensor: &Tensor) -> PyResult<Bound<'py, PyAny>> {
    match size_symbol(tensor, 0) {
        None => Ok(tensor.numel().into_pyobject(py)?.into_any()),
        Some(_) => of_tensor(py, tensor)?.call_method0("numel"),
    }
}

/// A new `Size` with an integer for each item, which `integer` makes without running any code of Python.
fn from_items<'py, T>(
    py: Python<'py>,
    items: &[T],
    integer: impl Fn(&T) -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let class = class(py)?;
    // SAFETY: `class` checks that it derives from `tuple`, whose layout the interpreter has derived classes keep, so that this
    // is a tuple with so many gaps, or null with an exception set.
    let tuple = unsafe {
        let places = items.len() as ffi::Py_ssize_t;
        Bound::from_owned_ptr_or_err(py, ffi::PyType_GenericAlloc(class.as_type_ptr(), places))
    }?;
    for (place, item) in items.iter().enumerate() {
        let integer = integer(item)?.into_ptr();
        // SAFETY: nobody else has seen the tuple, as both callers in this file make integers without code of Python; the place is one of
        // a slice as long as the tuple, and a gap; it takes the reference.
        unsafe { ffi::PyTuple_SET_ITEM(tuple.as_ptr(), place as ffi::Py_ssize_t, integer) };
    }
    Ok(tuple)
}
