//! What a call asks of the dispatcher that its operator belongs to; the registry answers.

use std::any::Any;
use std::sync::Arc;

use crate::calling::kernel::{KernelRecord, SignatureOf};
use crate::calling::operator::{OperatorHandle, SignatureCell};
use crate::error::Result;
use crate::keys::key::DispatchKey;

/// The dispatcher of an operator, as calls see it.
pub(crate) trait Owner: Any + Send + Sync {
    /// A counted handle of the dispatcher, unless its last one is gone.
    fn shared(&self) -> Option<Arc<dyn Owner>>;

    /// The cell of the typed handles of a signature, after checking that callers may use it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Signature`](crate::ErrorKind::Signature) where the operator's kernels have another one.
    fn cell_of(
        &self,
        operator: &OperatorHandle,
        signature: &'static SignatureOf,
    ) -> Result<Arc<SignatureCell>>;

    /// Makes the operator's table and publishes it, unless it has one or is gone.
    fn make_table(&self, operator: &OperatorHandle);

    /// The kernel registered for exactly this key, else the key's fallback.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::MissingKernel`](crate::ErrorKind::MissingKernel) where there is neither.
    fn kernel_for_key(&self, operator: &OperatorHandle, key: DispatchKey) -> Result<Arc<KernelRecord>>;
}
