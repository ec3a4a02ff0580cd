//! Programs whose weights are the memory of a file.
#![allow(unsafe_code)]

use std::path::Path;

use opgrid_core::Result;

use super::Program;
use crate::archive::{self, Archive};

impl Program {
    /// As [`load`](Self::load), with the weights in the memory of the file: they are read from disk when they are first used, and
    /// several processes share them. What is written to them stays in this process.
    ///
    /// Weights of `bool`, of another machine's order of bytes or at an address that does not suit their dtype are copied. Files that
    /// [`save`](Self::save) and torch write have none at such addresses. A damaged weight is not noticed, because that needs all bytes.
    ///
    /// # Safety
    ///
    /// Nobody changes or shortens the file while the program, or a tensor on its weights, is alive. To replace the file by another,
    /// as [`save`](Self::save) does, is fine.
    ///
    /// # Errors
    ///
    /// As [`load`](Self::load); a file that cannot be mapped.
    ///
    /// # Examples
    ///
    /// ```
    /// use opgrid::{DType, Device, Tensor};
    /// use opgrid_graph::Program;
    ///
    /// // SAFETY: nobody writes the files of this crate's tests.
    /// let program = unsafe { Program::map(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/models/mlp.pt2"))? };
    /// let x = Tensor::zeros(&[5, 8], DType::F32, Device::CPU)?;
    /// assert_eq!(program.run(&[&x])?[0].sizes(), [5, 4]);
    /// # Ok::<(), opgrid_core::Error>(())
    /// ```
    pub unsafe fn map(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        // SAFETY: the caller promises that the file stays as it is.
        let Archive { graph, tensors, .. } = unsafe { archive::mapped::read(path)? };
        Self::new(graph, tensors).map_err(|error| error.within(path.display()))
    }
}
