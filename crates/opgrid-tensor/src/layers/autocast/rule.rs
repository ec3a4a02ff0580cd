//! What autocast does with an operator: the kernel that it has at autocast keys.

use std::fmt;

use opgrid_core::{DType, DispatchKey, Kernel};

use super::cast;
use crate::families::Carries;

/// What autocast does with floating-point arguments of an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CastPolicy {
    /// Casts them to the lower precision.
    Lower,
    /// Casts them to float32.
    Full,
    /// Has the operator compute in float32 by its argument `dtype`, where that says nothing and the first argument is of lower precision.
    FullByDtype,
    /// Casts them to the widest among them, which are of the lower precision or float32.
    Widest,
    /// Casts them to a dtype, whatever the lower precision is.
    To(DType),
    /// Refuses the call, with what to do instead.
    Refused(&'static str),
}

impl CastPolicy {
    /// The kernel of an operator with this policy, for an autocast key.
    #[track_caller]
    pub fn kernel(self) -> Kernel {
        Kernel::engine(move |call| cast::run(self, call)).describe(&format!("autocast: {self}"))
    }
}

impl fmt::Display for CastPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lower => f.write_str("lower precision"),
            Self::Full => f.write_str("float32"),
            Self::FullByDtype => f.write_str("float32 by its argument `dtype`"),
            Self::Widest => f.write_str("the widest dtype of the arguments"),
            Self::To(dtype) => write!(f, "{dtype}"),
            Self::Refused(_) => f.write_str("refused"),
        }
    }
}

/// States cast policies where operators are defined.
pub trait DefineCastPolicy: Carries {
    /// The operator's policy for tensors on the CPU. An operator that writes arguments runs as it is called, with autocast off.
    #[track_caller]
    fn cast_policy(self, policy: CastPolicy) -> Self {
        self.cast_policy_at(DispatchKey::AutocastCpu, policy)
    }

    /// The operator's policy for tensors of the device that has this autocast key.
    #[track_caller]
    fn cast_policy_at(self, key: DispatchKey, policy: CastPolicy) -> Self {
        self.carry_kernel(policy.kernel().at(key))
    }
}

impl<B: Carries> DefineCastPolicy for B {}
