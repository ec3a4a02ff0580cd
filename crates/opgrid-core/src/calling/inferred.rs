//! What the registry has to know of signatures, each worked out once.
//!
//! The types in their schemas come from code of users ([`Argument::schema_type`](crate::Argument::schema_type)), which
//! may panic or call the dispatcher. It runs when a kernel or a typed handle is made, while no lock is held; the
//! registry finds the schemas ready.

use std::any::TypeId;
use std::sync::{LazyLock, PoisonError, RwLock};

use hashbrown::HashMap;

use crate::calling::kernel::SignatureOf;
use crate::fork::Held;
use crate::signatures::signature::Signature;

/// They live as long as the types that they describe: forever.
type Known = HashMap<TypeId, &'static SignatureOf, foldhash::fast::RandomState>;

static KNOWN: LazyLock<RwLock<Known>> = LazyLock::new(RwLock::default);

/// What is held while the process forks.
pub(crate) fn hold_at_fork(held: &mut Held) {
    held.write(&KNOWN);
}

/// What the registry has to know of `S`.
pub(crate) fn signature_of<S: Signature>() -> &'static SignatureOf {
    known_or(TypeId::of::<S>(), SignatureOf::new::<S>)
}

/// What is known of a signature, else what `make` makes known of it.
fn known_or(signature: TypeId, make: fn() -> SignatureOf) -> &'static SignatureOf {
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner).get(&signature).copied();
    known.unwrap_or_else(|| {
        let new = Box::new(make());
        let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
        *known.entry(signature).or_insert_with(|| Box::leak(new))
    })
}
