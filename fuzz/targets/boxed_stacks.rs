//! Random values in boxed calls; the checks are those of the property test of `opgrid-core`.
#![no_main]

#[path = "../../crates/opgrid-core/tests/properties/bare.rs"]
mod bare;
#[path = "../../crates/opgrid-core/tests/properties/input.rs"]
mod input;
#[path = "../../crates/opgrid-core/tests/properties/stacks.rs"]
mod stacks;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| stacks::run(bytes));
