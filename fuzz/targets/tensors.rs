//! Random calls of every operator on tensors of any geometry; the checks are those of the test of `opgrid-operators`.
#![no_main]

use opgrid_operators as _;

#[path = "../../crates/opgrid-core/tests/properties/input.rs"]
mod input;
#[path = "../../crates/opgrid-operators/tests/calls/program.rs"]
mod program;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| program::run(bytes));
