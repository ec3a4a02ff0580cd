//! What a call asks of the dispatcher that its operator belongs to; the registry answers.

use std::any::Any;
use std::sync::Arc;

use crate::calling::kernel::{KernelRecord, SignatureOf};
use crate::calling::operator::OperatorHandle;
use crate::error::Result;
use crate::keys::key::DispatchKey;

/// The dispatcher of an operator, as calls see it.
pub(crate) trait Owner: Any + Send + Sync {
    /// A counted handle of the dispatcher, unless its last one is gone.
    fn shared(&self) -> Option<Arc<dyn Owner>>;

    /// Checks that callers may use a signature, and keeps it as the operator's if it has none yet.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Signature`](crate::ErrorKind::Signature) where the operator has another one.
    fn check_signature(&self, operator: &OperatorHandle, asked: &'static SignatureOf) -> Result<()>;

    /// The kernel registered for exactly this key, else the key's fallback.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::MissingKernel`](crate::ErrorKind::MissingKernel) where there is neither.
    fn kernel_for_key(&self, operator: &OperatorHandle, key: DispatchKey) -> Result<Arc<KernelRecord>>;
}
