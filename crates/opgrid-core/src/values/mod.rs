//! What calls are made of: dtypes, devices, layouts, numbers, handles of tensors, and values that hold any of them.

pub mod borrowed;
pub mod conversions;
pub mod device;
pub mod device_key;
pub mod dtype;
pub mod layout;
pub mod scalar;
pub mod sequence;
pub mod tensor;
pub(crate) mod user_backends;
pub mod value;
