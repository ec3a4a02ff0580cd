//! Tensors by name, in an order: what modules and optimizers save and load.

use std::path::Path;

use opgrid_core::Result;
use opgrid_tensor::{Tensor, files::safetensors};

/// Tensors by name, in an order.
///
/// # Examples
///
/// ```
/// use opgrid_nn::{Linear, Module, StateDict};
/// use opgrid::Tensor;
///
/// let layer = Linear::new(2, 1)?;
/// let mut state = StateDict::new();
/// state.insert("weight", Tensor::from_slice(&[1.0f32, 2.0], &[1, 2])?);
/// state.insert("bias", Tensor::from_slice(&[0.5f32], &[1])?);
/// layer.load_state_dict(&state)?;
/// assert_eq!(layer.weight.to_vec::<f32>()?, [1.0, 2.0]);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct StateDict {
    entries: Vec<(String, Tensor)>,
}

impl StateDict {
    /// None at all.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tensor, or replaces the one of that name.
    pub fn insert(&mut self, name: impl Into<String>, tensor: Tensor) {
        let name = name.into();
        match self.entries.iter_mut().find(|(other, _)| *other == name) {
            Some(entry) => entry.1 = tensor,
            None => self.entries.push((name, tensor)),
        }
    }

    /// The tensor of that name.
    pub fn get(&self, name: &str) -> Option<&Tensor> {
        self.entries.iter().find(|(other, _)| other == name).map(|(_, tensor)| tensor)
    }

    /// Takes out the tensor of that name.
    pub fn remove(&mut self, name: &str) -> Option<Tensor> {
        let place = self.entries.iter().position(|(other, _)| other == name)?;
        Some(self.entries.remove(place).1)
    }

    /// Names and tensors.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Tensor)> {
        self.entries.iter().map(|(name, tensor)| (name.as_str(), tensor))
    }

    /// The names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|(name, _)| name.as_str())
    }

    /// How many tensors there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Reads all tensors of a `.safetensors` file, in the order of its header.
    ///
    /// # Errors
    ///
    /// A file that cannot be read or is broken, or a dtype without tensors here.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let arrays = safetensors::read_all(path.as_ref())?;
        arrays.into_iter().map(|(name, array)| Ok((name, Tensor::from_array(array)?))).collect()
    }

    /// Writes a `.safetensors` file, whole or not at all.
    ///
    /// # Errors
    ///
    /// A tensor without data of its own on the CPU, an empty name, or a folder that cannot be written.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        let named = self.entries.iter().map(|(name, tensor)| {
            let array = tensor.array().map_err(|error| error.within(name))?;
            Ok((name.as_str(), array))
        });
        safetensors::write(path.as_ref(), &named.collect::<Result<Vec<_>>>()?)
    }
}

impl FromIterator<(String, Tensor)> for StateDict {
    /// Names have to be distinct; `get` finds the first of several.
    fn from_iter<I: IntoIterator<Item = (String, Tensor)>>(entries: I) -> Self {
        Self { entries: entries.into_iter().collect() }
    }
}
