//! The tests that need no process of their own, as one program, so that there is one to link.
//!
//! Whatever changes what holds for the process (the default dtype, seeds, the number of threads), or counts what happens in
//! it, takes turns in `turns`, or has a program of its own beside this folder.

use opgrid_operators as _;

mod autocast;
mod autograd;
mod casts;
mod device_memory;
mod differences;
mod dlpack;
mod drawing;
mod ends_of_ranges;
mod engine;
mod fake;
mod files;
mod graph;
mod handles;
mod held;
mod images;
mod kernels;
mod layers;
mod linalg;
mod losses;
mod modes;
mod networks;
mod optimizers;
mod ownership;
mod packing;
mod printing;
mod products;
mod safetensors;
mod shared_memory;
mod storage;
mod strides;
mod tensor;
mod views;
