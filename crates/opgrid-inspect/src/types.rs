//! What several answers need to know of a schema.

use opgrid_core::OperatorHandle;
use opgrid_core::schema::{Argument, Type};

/// Whether values of this type are tensors, or lists or options of them.
pub(crate) fn holds_tensors(declared: &Type) -> bool {
    match declared {
        Type::List(inner) | Type::Optional(inner) => holds_tensors(inner),
        Type::Tuple(types) => types.iter().any(holds_tensors),
        declared => *declared == Type::Tensor,
    }
}

pub(crate) fn any_tensor(arguments: &[Argument]) -> bool {
    arguments.iter().any(|argument| holds_tensors(&argument.real_type))
}

/// File and line of an operator's definition, or what its author said instead.
pub(crate) fn place_of(operator: &OperatorHandle) -> Option<String> {
    let said = operator.defined_at()?;
    Some(said.strip_prefix("registered at ").unwrap_or(&said).to_owned())
}
