//! Why a slot of a table holds the kernel that it holds.

use std::fmt;

use crate::keys::key::DispatchKey;

/// The rule that filled a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// A kernel registered for this very key.
    Direct,
    /// A kernel registered for an alias that covers the key.
    Alias(DispatchKey),
    /// The backend fallback of the key.
    Fallback,
    /// A composite kernel and a kernel of a backend mapped to AutogradOther, between which no rule chooses.
    Ambiguous,
    /// No kernel, and no layer that would need one: calls step over the key.
    SteppedOver,
    /// No kernel.
    Missing,
}

impl Reason {
    /// The words of torch's dumps.
    pub fn provenance(self) -> &'static str {
        match self {
            Self::Direct => "kernel",
            Self::Alias(
                DispatchKey::CompositeExplicitAutograd | DispatchKey::CompositeExplicitAutogradNonFunctional,
            ) => "default backend kernel",
            Self::Alias(DispatchKey::CompositeImplicitAutogradNestedTensor) => "nested kernel",
            Self::Alias(DispatchKey::CompositeImplicitAutograd) => "math kernel",
            Self::Alias(DispatchKey::FuncTorchBatchedDecomposition) => "batched kernel",
            Self::Alias(_) => "autograd kernel",
            Self::Fallback => "backend fallback",
            Self::Ambiguous => "ambiguous autogradother",
            Self::SteppedOver => "stepped over",
            Self::Missing => "missing",
        }
    }

    /// Whether somebody registered a kernel that the rule chose.
    pub fn is_registered(self) -> bool {
        !matches!(self, Self::SteppedOver | Self::Missing)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Direct => f.write_str("direct"),
            Self::Alias(alias) => write!(f, "alias {alias}"),
            Self::Fallback => f.write_str("fallback"),
            Self::Ambiguous => f.write_str("ambiguous"),
            Self::SteppedOver => f.write_str("stepped over"),
            Self::Missing => f.write_str("missing"),
        }
    }
}
