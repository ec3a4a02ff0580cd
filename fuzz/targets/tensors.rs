//! Random calls of every operator on tensors of any geometry; the checks are those of the test of `opgrid-tensor`.
#![no_main]

#[path = "../../crates/opgrid-core/tests/properties/input.rs"]
mod input;
#[path = "../../crates/opgrid-tensor/tests/calls/program.rs"]
mod program;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| program::run(bytes));
