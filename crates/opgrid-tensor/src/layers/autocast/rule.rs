//! The column `cast policy`: in which precision an operator computes where autocast is on.

use std::fmt;

use opgrid_core::Column;

use crate::families::Carries;

/// What autocast does with floating-point arguments of an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CastPolicy {
    /// Casts them to the lower precision.
    Lower,
    /// Casts those of lower precision to float32.
    Full,
    /// Casts them to the widest among them.
    Widest,
    /// Leaves them as they are.
    Keep,
}

impl Column for CastPolicy {
    const NAME: &'static str = "cast policy";

    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lower => "lower precision",
            Self::Full => "float32",
            Self::Widest => "the widest dtype of the arguments",
            Self::Keep => "unchanged",
        })
    }
}

/// States cast policies where operators are defined.
pub trait DefineCastPolicy: Carries {
    /// The operator's policy, where it is another one than its kind's.
    #[track_caller]
    fn cast_policy(self, policy: CastPolicy) -> Self {
        self.carry(policy)
    }
}

impl<B: Carries> DefineCastPolicy for B {}
