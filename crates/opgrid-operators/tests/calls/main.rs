//! Random calls of every operator; the fuzzer runs the same programs.
//!
//! A program of its own: it limits the memory of the process.

use opgrid_operators as _;

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
        limit_memory();
        program::run(&bytes);
    }
}

/// So that tensors of billions of elements, which arguments ask for, end in errors instead of being filled. A sanitizer
/// takes terabytes of addresses for itself, and is told such a limit.
fn limit_memory() {
    #[cfg(all(target_os = "linux", not(opgrid_asan)))]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let Rlimit { maximum, .. } = getrlimit(Resource::As);
        let limit = Rlimit { current: Some(2 << 30), maximum };
        setrlimit(Resource::As, limit).expect("the limit is below the maximum");
    }
}
