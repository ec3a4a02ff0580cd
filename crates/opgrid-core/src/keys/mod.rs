//! Dispatch keys: the two ordered lists that they are made of, keys, sets of keys, and what users add to the lists.

pub mod key;
pub mod named;
pub(crate) mod parts;
pub mod set;
pub mod user_keys;
pub mod user_layers;
