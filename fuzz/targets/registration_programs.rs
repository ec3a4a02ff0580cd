//! Random programs of registrations beside a naive model; the checks are those of the property test of `opgrid-core`.
#![no_main]

#[path = "../../crates/opgrid-core/tests/properties/bare.rs"]
mod bare;
#[path = "../../crates/opgrid-core/tests/properties/input.rs"]
mod input;
#[path = "../../crates/opgrid-core/tests/properties/model.rs"]
mod model;
#[path = "../../crates/opgrid-core/tests/properties/program.rs"]
mod program;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| program::run(bytes));
