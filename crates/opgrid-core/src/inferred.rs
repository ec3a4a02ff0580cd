//! The schemas that signatures give, each worked out once.
//!
//! The types in them come from code of users ([`Argument::schema_type`](crate::Argument::schema_type)), which may
//! panic or call the dispatcher. It runs when a kernel or a typed handle is made, while no lock is held; the registry
//! finds the schemas ready.

use std::any::TypeId;
use std::sync::{LazyLock, PoisonError, RwLock};

use hashbrown::HashMap;
use opgrid_schema::{FunctionSchema, OperatorName};

use crate::signature::Signature;

/// Schemas live as long as the types that they describe: for ever.
type Known = HashMap<TypeId, &'static FunctionSchema, foldhash::fast::RandomState>;

static KNOWN: LazyLock<RwLock<Known>> = LazyLock::new(RwLock::default);

/// The schema inferred from a signature, with an empty name.
pub(crate) fn schema_of<S: Signature>() -> &'static FunctionSchema {
    let signature = TypeId::of::<S>();
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner).get(&signature).copied();
    known.unwrap_or_else(|| {
        let schema = Box::new(S::schema(OperatorName::new("", "")));
        let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
        *known.entry(signature).or_insert_with(|| Box::leak(schema))
    })
}
