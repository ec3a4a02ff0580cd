//! What dispatchers tell about registrations: operators that come and go, kernels that replace others.

use std::sync::Arc;

use opgrid_schema::FunctionSchema;

use crate::{DispatchKey, OperatorHandle};

/// A kernel was replaced by a newer one for the same operator and key.
#[derive(Clone, Debug)]
pub struct Override {
    /// The operator's schema, or its name where it has none.
    pub operator: String,
    /// Where the operator was defined.
    pub definition: String,
    /// The key.
    pub key: DispatchKey,
    /// The kernel that ran until now.
    pub previous: String,
    /// The kernel that runs from now on.
    pub new: String,
}

impl std::fmt::Display for Override {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "overriding a previously registered kernel for the same operator and the same dispatch key\n  operator: \
             {}\n    {}\n  dispatch key: {}\n  previous kernel: {}\n       new kernel: {}",
            self.operator, self.definition, self.key, self.previous, self.new
        )
    }
}

/// What a dispatcher does with replaced kernels.
pub(crate) type OnOverride = Arc<dyn Fn(&Override) + Send + Sync>;

/// Somebody who wants to know which operators come and go.
pub trait Listener: Send + Sync {
    /// An operator was defined.
    fn defined(&self, operator: &OperatorHandle, schema: &FunctionSchema);
    /// A definition was dropped; the handle may be stale by now.
    fn dropped(&self, operator: &OperatorHandle, schema: &FunctionSchema);
}
