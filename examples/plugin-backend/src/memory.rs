//! The device's memory: bytes that lie there turned over, so that whoever took them for the host's would read nonsense.

use std::sync::{Mutex, MutexGuard, PoisonError};

use opgrid_plugin_sdk::{DeviceMemory, Error, ErrorKind, Result};

/// A tensor's memory.
pub struct Block(Mutex<Vec<u8>>);

impl Block {
    /// So many bytes, which read as zero.
    pub fn new(bytes: usize) -> Self {
        Self(Mutex::new(vec![!0; bytes]))
    }

    fn bytes(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The float at a byte.
    ///
    /// # Errors
    ///
    /// Beyond the end.
    pub fn float(&self, at: usize) -> Result<f32> {
        let mut bytes = [0; 4];
        self.read(at, &mut bytes)?;
        Ok(f32::from_le_bytes(bytes))
    }

    /// Sets the float at a byte.
    ///
    /// # Errors
    ///
    /// Beyond the end.
    pub fn set_float(&self, at: usize, value: f32) -> Result<()> {
        self.write(at, &value.to_le_bytes())
    }
}

fn outside(start: usize, count: usize) -> Error {
    Error::new(
        ErrorKind::Argument,
        format!("{count} bytes from byte {start} on lie outside of a block of the vault"),
    )
}

impl DeviceMemory for Block {
    fn read(&self, start: usize, out: &mut [u8]) -> Result<()> {
        let cells = self.bytes();
        let cells = cells.get(start..start + out.len()).ok_or_else(|| outside(start, out.len()))?;
        out.iter_mut().zip(cells).for_each(|(out, cell)| *out = !cell);
        Ok(())
    }

    fn write(&self, start: usize, bytes: &[u8]) -> Result<()> {
        let mut cells = self.bytes();
        let cells = cells.get_mut(start..start + bytes.len()).ok_or_else(|| outside(start, bytes.len()))?;
        cells.iter_mut().zip(bytes).for_each(|(cell, byte)| *cell = !byte);
        Ok(())
    }
}
