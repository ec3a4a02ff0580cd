//! The operator dispatcher: keys, tables, boxing, registration, guards, redispatch and explanation.

#![deny(unsafe_code)]

pub mod device;
pub mod device_key;
pub mod dtype;
pub mod error;
pub mod key;
mod key_parts;
pub mod key_set;
pub mod layout;
pub mod named_sets;
mod spelling;

pub use device::{Device, DeviceType};
pub use device_key::{
    compute_dispatch_key, device_key, inference_tensor_key_set, key_to_options, tensor_key_set,
};
pub use dtype::DType;
pub use error::{Error, ErrorKind, Result};
pub use key::{DispatchKey, KeyKind, alias_backends, torch_columns};
pub use key_parts::{BackendComponent, Functionality};
pub use key_set::DispatchKeySet;
pub use layout::{Layout, MemoryFormat};
pub use named_sets::{NAMED_SETS, autocast_related, autograd_key, autograd_related};
