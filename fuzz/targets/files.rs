//! Any bytes: reading them as a file gives an array or an error that names the file.
#![no_main]

use libfuzzer_sys::fuzz_target;
use opgrid_core::Result;
use opgrid_tensor::Array;
use opgrid_tensor::files::{npy, npz, safetensors};

fuzz_target!(|bytes: &[u8]| {
    check(npy::decode("fuzzed", bytes));
    check(npz::decode("fuzzed", bytes, "a"));
    check(safetensors::decode("fuzzed", bytes, "a"));
});

fn check(result: Result<Array>) {
    match result {
        Ok(array) => assert!(array.to_string().starts_with("tensor(")),
        Err(error) => assert!(error.to_string().contains("fuzzed"), "{error}"),
    }
}
