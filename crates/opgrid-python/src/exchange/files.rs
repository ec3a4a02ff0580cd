//! Tensors in files. The end of a file's name says its format.

use std::path::Path;

use opgrid::array::Array;
use opgrid::{Error, ErrorKind, Result, Tensor, files};
use pyo3::prelude::*;

use crate::errors::OrRaise;
use crate::tensor::object::{expect_tensor, tensor_object};

/// Tensors or strings by their names; a tensor without a name is alone.
type Named<T> = Vec<(String, T)>;

#[cold]
fn unknown_format(path: &Path) -> Error {
    let message =
        format!("found `{}`, expected a name that ends in .npy, .npz or .safetensors", path.display());
    Error::new(ErrorKind::File, message)
}

fn ending(path: &Path) -> &str {
    path.extension().and_then(|ending| ending.to_str()).unwrap_or("")
}

/// The tensors of a file, and what it holds beside them: names, and why they were left out.
fn read(path: &Path) -> Result<(Named<Tensor>, Named<String>)> {
    let mut left_out = Vec::new();
    let arrays = match ending(path) {
        "npy" => vec![(String::new(), files::npy::read(path)?)],
        "npz" => {
            let contents = files::npz::contents(path)?;
            left_out = contents.left_out.into_iter().map(|(name, error)| (name, error.to_string())).collect();
            contents.arrays
        }
        "safetensors" => files::safetensors::read_all(path)?,
        // A missing file is told before its name is judged.
        _ => {
            std::fs::metadata(path).map_err(|error| {
                let message = format!("{}: cannot be read: {error}", path.display());
                Error::new(ErrorKind::File, message).caused_by(error)
            })?;
            return Err(unknown_format(path));
        }
    };
    let tensors = arrays.into_iter().map(|(name, array)| Ok((name, Tensor::from_array(array)?)));
    Ok((tensors.collect::<Result<_>>()?, left_out))
}

fn write(path: &Path, tensors: &[(String, Tensor)]) -> Result<()> {
    let arrays = tensors.iter().map(|(name, tensor)| Ok((name.as_str(), tensor.array()?)));
    let mut arrays = arrays.collect::<Result<Vec<(&str, &Array)>>>()?;
    let ending = ending(path);
    if let [(name, _)] = arrays.as_mut_slice()
        && name.is_empty()
        && ending != "npy"
    {
        // What has no name is called as other results are.
        *name = "0";
    }
    match (ending, arrays.as_slice()) {
        ("npy", [(_, array)]) => files::npy::write(path, array),
        ("npy", arrays) => {
            let message = format!(
                "found {} tensors for {}, expected one; write .npz or .safetensors",
                arrays.len(),
                path.display()
            );
            Err(Error::new(ErrorKind::Value, message))
        }
        ("npz", arrays) => files::npz::write(path, arrays),
        ("safetensors", arrays) => files::safetensors::write(path, arrays),
        _ => Err(unknown_format(path)),
    }
}

/// The tensors of a file, and the names of what was left out with the reasons.
#[pyfunction]
pub(crate) fn read_file(
    py: Python<'_>,
    path: std::path::PathBuf,
) -> PyResult<(Named<Py<PyAny>>, Named<String>)> {
    let (tensors, left_out) = crate::collector::detached(py, || read(&path)).or_raise(py)?;
    let tensors = tensors.into_iter().map(|(name, tensor)| Ok((name, tensor_object(py, tensor)?)));
    Ok((tensors.collect::<PyResult<_>>()?, left_out))
}

/// Writes tensors to a file.
#[pyfunction]
pub(crate) fn write_file(
    py: Python<'_>,
    path: std::path::PathBuf,
    tensors: Named<Bound<'_, PyAny>>,
) -> PyResult<()> {
    let named = tensors.iter().map(|(name, object)| Ok((name.clone(), expect_tensor(object)?.clone())));
    let named = named.collect::<PyResult<Vec<_>>>()?;
    crate::collector::detached(py, || write(&path, &named)).or_raise(py)
}
