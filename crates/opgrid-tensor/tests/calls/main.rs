//! Random calls of every operator; the fuzzer runs the same programs.

#[path = "../../../opgrid-core/tests/properties/input.rs"]
mod input;
mod program;

use proptest::collection::vec;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    /// Whatever the shapes, strides, dtypes and arguments, a call ends in tensors that can be used or in an error.
    #[test]
    fn calls_end_in_results_or_errors(bytes in vec(any::<u8>(), 0..600)) {
        program::run(&bytes);
    }
}
