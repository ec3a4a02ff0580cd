//! Of operators that make tensors.

use opgrid_core::{DType, Scalar};

use crate::differences::{Difference, Directed, Operand};

/// The differences from torch that come of what stands here.
pub const DIFFERENCES: &[Difference] = &[Difference {
    id: "no-pinned-memory",
    what: "torch pins memory for a device that does not exist, or ignores the request; here it is rejected",
    why: "no device uses the memory",
    test: ("opgrid-operators/tests/all/differences/refused.rs", "pinned_memory_is_refused"),
    when: |seen| seen.we_refuse("asks for pinned memory"),
    directed: Some(Directed {
        operator: "aten::_to_copy",
        arguments: || {
            vec![
                ("self", Operand::rows(0, DType::F32, &[1], &[1.0]).into()),
                ("pin_memory", Scalar::Bool(true).into()),
            ]
        },
        needs: None,
    }),
}];
