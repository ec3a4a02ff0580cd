//! The operator dispatcher: keys, tables, boxing, registration, guards, redispatch and explanation.

#![deny(unsafe_code)]

pub mod device;
pub mod dtype;
pub mod error;
pub mod layout;

pub use device::{Device, DeviceType};
pub use dtype::DType;
pub use error::{Error, ErrorKind, Result};
pub use layout::{Layout, MemoryFormat};
