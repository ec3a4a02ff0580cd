//! The errors of calls that reach no kernel: none is there, no rule chooses one, or every provider refused.

use crate::calling::call::BoxedCall;
use crate::calling::kernel::KernelRecord;
use crate::calling::listing::{dump_table, list_columns};
use crate::calling::observe::Refusal;
use crate::calling::table::TableRef;
use crate::error::{Error, ErrorKind};
use crate::keys::key::{DispatchKey, KeyKind};
use crate::keys::set::DispatchKeySet;

/// The error of a call that reached a slot without a kernel.
#[cold]
pub(crate) fn missing_kernel(call: &BoxedCall<'_>) -> Error {
    let (table, key) = (call.table(), call.key());
    let operator = call.operator().name();
    let start = if key == DispatchKey::Undefined {
        format!(
            "there were no tensor arguments to this function (e.g., you passed an empty list of tensors), but no \
             fallback function is registered for schema {operator}. This usually means that this function requires a \
             non-empty list of tensors, or that you (the operator writer) forgot to register a fallback function. \
             Available functions are {}",
            list_columns(table)
        )
    } else {
        format!(
            "could not run '{operator}' with arguments from the '{key}' backend: the operator has no kernel for this \
             backend, or the library that brings it was not registered{}. '{operator}' is only available for these \
             backends: {}",
            if is_layer(key) {
                "; the key is a layer: register a fallthrough or another fallback for it, or exclude it on the thread"
            } else {
                ""
            },
            list_columns(table)
        )
    };
    Error::new(ErrorKind::MissingKernel, format!("{start}\n\n{}", dump_table(table)))
}

/// Whether a key stands above the data of tensors, so that calls may step over it.
fn is_layer(key: DispatchKey) -> bool {
    key.kind() == KeyKind::Layer || key.is_included_in(DispatchKey::Autograd)
}

/// The error of a call that reached AutogradOther where no rule chooses.
#[cold]
pub(crate) fn ambiguous_kernel(call: &BoxedCall<'_>) -> Error {
    let operator = call.operator();
    let message = format!(
        "{} has kernels registered to both CompositeImplicitAutograd and a backend mapped to AutogradOther. This makes \
         the backend kernel unreachable; the dispatcher will always prefer the CompositeImplicitAutograd lowering. \
         Request a dedicated Autograd dispatch key for the backend, or run inference only, in inference mode\n\n\
         canonical state\n{}",
        operator.name(),
        operator.dump_state().unwrap_or_default(),
    );
    Error::new(ErrorKind::AmbiguousKernel, message)
}

/// The error of a call that every provider of its cell refused, with no other rule to go on with.
#[cold]
#[inline(never)]
pub(crate) fn no_provider(table: TableRef<'_>, chain: &KernelRecord, keys: DispatchKeySet) -> Error {
    let links = chain.links.iter().flat_map(|links| links.providers.iter());
    let refused: Vec<_> = links.map(|provider| Refusal::from_provider(provider).to_string()).collect();
    let message = format!(
        "{}: no provider accepts these arguments for {}; refused by {}. Register one without a condition, a fallback \
         for the key or a composite",
        table.operator().name(),
        keys.highest_priority_key(),
        refused.join(", ")
    );
    Error::new(ErrorKind::MissingKernel, message)
}
