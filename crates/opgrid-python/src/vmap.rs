//! A function on a batch: arguments become examples, and results batches again.

use opgrid::Tensor;
use opgrid::layers::levels::Level;
use opgrid::layers::vmap::{Batch, Randomness, batched, unbatched};
use opgrid::ops;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyList, PyTuple};

use crate::errors::OrRaise;
use crate::tensor::object::{tensor_object, tensor_of};
use crate::transforms::ensure_installed;
use crate::values::tree::Tree;

/// The leaves of arguments, the dimension of the examples of each, how they are nested, and how many examples there are.
type Batches<'py> = (Bound<'py, PyList>, Vec<Option<i64>>, Tree, i64);

/// The arguments of a call as batches. `in_dims` is nested as the positional ones; keyword arguments have their examples along dimension 0.
///
/// # Errors
///
/// Dimensions that do not fit the arguments; batches of different sizes, or none.
#[pyfunction]
pub(crate) fn _batches<'py>(
    args: &Bound<'py, PyTuple>,
    kwargs: &Bound<'py, PyDict>,
    in_dims: &Bound<'py, PyAny>,
) -> PyResult<Batches<'py>> {
    let py = args.py();
    let is_one = in_dims.is_instance_of::<PyInt>();
    let is_nested = in_dims.is_instance_of::<PyTuple>() || in_dims.is_instance_of::<PyList>();
    if is_nested && in_dims.len()? != args.len() {
        let (found, expected) = (in_dims.len()?, args.len());
        return Err(refused(&format!(
            "found {found} in_dims for {expected} arguments, expected one for each"
        )));
    }
    let (leaves, tree) = Tree::flatten(PyTuple::new(py, [args.as_any(), kwargs.as_any()])?.as_any())?;
    let dims = tree.broadcast((in_dims, 0).into_pyobject(py)?.as_any(), "vmap(): in_dims")?;
    let mut size = None;
    let dims = leaves.iter().zip(&dims).map(|(leaf, dim)| {
        if dim.is_none() {
            return Ok(None);
        }
        let Some(tensor) = tensor_of(leaf) else {
            let (found, remedy) = (leaf.get_type().name()?, if is_one { "; say None for it" } else { "" });
            return Err(refused(&format!(
                "found {found} where in_dims says {dim}, expected a tensor{remedy}"
            )));
        };
        let Ok(number) = dim.extract::<i64>() else {
            return Err(refused(&format!("found {} in in_dims, expected a dimension or None", dim.repr()?)));
        };
        let rank = tensor.dim() as i64;
        if !(-rank..rank).contains(&number) {
            let shape = PyTuple::new(py, tensor.sizes())?;
            return Err(refused(&format!(
                "found the dimension {number} in in_dims for a tensor of shape {shape}"
            )));
        }
        let own = tensor.sizes()[number.rem_euclid(rank) as usize];
        let first = *size.get_or_insert(own);
        if first != own {
            return Err(refused(&format!(
                "found batches of {first} and {own} examples, expected one size for all"
            )));
        }
        Ok(Some(number))
    });
    let dims = dims.collect::<PyResult<Vec<_>>>()?;
    let none =
        || refused("found no argument with a dimension of examples; give a tensor, or another in_dims");
    Ok((PyList::new(py, leaves)?, dims, tree, size.ok_or_else(none)?))
}

fn refused(message: &str) -> PyErr {
    PyValueError::new_err(format!("vmap(): {message}"))
}

/// Runs a function on batches of `size` examples, and gives its results with the examples along `out_dims`.
///
/// # Errors
///
/// Those of the function; results that are no tensors; dimensions that do not fit them.
#[pyfunction]
pub(crate) fn _run_batch<'py>(
    function: &Bound<'py, PyAny>,
    leaves: Vec<Bound<'py, PyAny>>,
    dims: Vec<Option<i64>>,
    tree: &Bound<'py, Tree>,
    size: i64,
    out_dims: &Bound<'py, PyAny>,
    randomness: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let py = function.py();
    let randomness = match randomness {
        "same" => Randomness::Same,
        "different" => Randomness::Different,
        _ => Randomness::Refused,
    };
    let entered = Entered(ensure_installed().and_then(|()| Batch::push(size, randomness)).or_raise(py)?);
    let level = &entered.0;
    let examples = leaves.into_iter().zip(dims).map(|(leaf, dim)| match (dim, tensor_of(&leaf)) {
        (Some(dim), Some(tensor)) => {
            let moved = if dim == 0 { Ok(tensor.clone()) } else { ops::MovedimInt.call(tensor, dim, 0) };
            let example = moved.and_then(|moved| batched(moved, level)).or_raise(py)?;
            Ok(tensor_object(py, example)?.into_bound(py))
        }
        _ => Ok(leaf),
    });
    let given = tree.get().nested(py, examples)?.cast_into::<PyTuple>()?;
    let (args, kwargs) = (given.get_item(0)?, given.get_item(1)?);
    let result = function.call(args.cast_into::<PyTuple>()?, Some(&kwargs.cast_into::<PyDict>()?))?;
    let (results, tree) = Tree::flatten(&result)?;
    // What follows is of the levels around.
    level.leave();
    let dims = tree.broadcast(out_dims, "vmap(): out_dims")?;
    let whole = results.iter().zip(&dims).map(|(result, dim)| {
        let Some(tensor) = tensor_of(result) else {
            let found = result.get_type().name()?;
            return Err(refused(&format!("the function returned {found}, expected tensors")));
        };
        let Ok(dim) = dim.extract::<Option<i64>>() else {
            return Err(refused(&format!("found {} in out_dims, expected a dimension or None", dim.repr()?)));
        };
        Ok(tensor_object(py, all_examples(py, tensor, dim, level)?)?.into_bound(py))
    });
    tree.nested(py, whole)
}

/// A level that is left also where the function fails.
struct Entered(Level);

impl Drop for Entered {
    fn drop(&mut self) {
        self.0.leave();
    }
}

/// All examples of a result, along dimension `dim`; of one that is the same for all only itself without a dimension.
///
/// # Errors
///
/// No dimension for what differs from example to example; one that the result does not have.
fn all_examples(py: Python<'_>, tensor: &Tensor, dim: Option<i64>, level: &Level) -> PyResult<Tensor> {
    let Some(dim) = dim else {
        if level.behind(tensor).is_some() {
            return Err(refused(
                "found None in out_dims for a result that differs from example to example; give its dimension",
            ));
        }
        return Ok(tensor.clone());
    };
    let whole = unbatched(tensor, level);
    let moved = |whole: Tensor| if dim == 0 { Ok(whole) } else { ops::MovedimInt.call(&whole, 0, dim) };
    whole.and_then(moved).or_raise(py)
}
