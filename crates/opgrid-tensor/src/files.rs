//! Files of tensors: what [`opgrid_array::files`] reads and writes, as methods.

pub use opgrid_array::files::*;
use opgrid_core::Result;

use crate::tensor::Tensor;

/// # Files
impl Tensor {
    /// The array of a file: `x.npy`, `set.npz:name` or `set.safetensors:name`.
    ///
    /// # Errors
    ///
    /// As [`read`].
    ///
    /// # Examples
    ///
    /// ```
    /// use opgrid::Tensor;
    ///
    /// let path = std::env::temp_dir().join(format!("opgrid-load-{}.npz", std::process::id()));
    /// let spec = format!("{}:w", path.display());
    /// Tensor::from_slice(&[1.0f32, 2.0], &[2])?.save(&spec)?;
    /// assert_eq!(Tensor::load(&spec)?.to_vec::<f32>()?, [1.0, 2.0]);
    /// # std::fs::remove_file(path).unwrap();
    /// # Ok::<(), opgrid_core::Error>(())
    /// ```
    pub fn load(spec: &str) -> Result<Self> {
        Self::from_array(read(spec)?)
    }

    /// Writes the tensor as [`load`](Self::load) takes it; a tensor on a device is copied first.
    ///
    /// # Errors
    ///
    /// As [`write`](write()); an undefined tensor.
    pub fn save(&self, spec: &str) -> Result<()> {
        write(spec, self.array()?)
    }
}
