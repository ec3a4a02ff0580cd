//! What a node's target names: an operator, a function of numbers, or a higher-order operator.

use opgrid_core::{Dispatcher, Error, OperatorHandle, Result};

use super::numbers::{self, Function};
use crate::error;

/// What a node calls.
pub(crate) enum Target {
    Operator(OperatorHandle),
    Number(Function),
    Higher(HigherOrder),
}

/// Operators that take blocks, which the interpreter runs itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HigherOrder {
    /// `cond(condition, block, block, [operands])`
    Cond,
    /// `while_loop(block, block, [carried], [constant])`
    WhileLoop,
    /// `map_impl(block, [mapped], [constant])`
    Map,
    /// `scan(block, [carried], [scanned], [constant])`
    Scan,
    /// `wrap_with_set_grad_enabled(on, block, operands…)`
    SetGradEnabled,
    /// `wrap_with_autocast(device, dtype, on, is_cached, block, operands…)`
    Autocast,
    /// `fused(block, operands…)`: pointwise nodes that run as one loop where they can.
    Fused,
}

/// The target of nodes that hold a group of pointwise nodes.
pub(crate) const FUSED: &str = "higher_order::fused";

const HIGHER_ORDER: [(&str, HigherOrder); 7] = [
    ("higher_order::cond", HigherOrder::Cond),
    ("higher_order::while_loop", HigherOrder::WhileLoop),
    ("higher_order::map_impl", HigherOrder::Map),
    ("higher_order::scan", HigherOrder::Scan),
    ("higher_order::wrap_with_set_grad_enabled", HigherOrder::SetGradEnabled),
    ("higher_order::wrap_with_autocast", HigherOrder::Autocast),
    (FUSED, HigherOrder::Fused),
];

/// Finds what a target names.
///
/// # Errors
///
/// There is nothing of that name, with the one that was probably meant.
pub(crate) fn resolve(dispatcher: &Dispatcher, target: &str) -> Result<Target> {
    if let Some((_, higher)) = HIGHER_ORDER.iter().find(|(name, _)| *name == target) {
        return Ok(Target::Higher(*higher));
    }
    if target.starts_with("higher_order::") {
        let known = error::quoted(HIGHER_ORDER.iter().map(|(name, _)| name));
        return Err(error::unsupported(format!(
            "{target}: no such higher-order operator, expected one of {known}"
        )));
    }
    if target.contains("::") {
        return dispatcher.find(target).map(Target::Operator);
    }
    numbers::find(target).map(Target::Number).ok_or_else(|| unknown_function(target))
}

#[cold]
fn unknown_function(target: &str) -> Error {
    let module = target.rsplit_once('.').map_or("", |(module, _)| module);
    let near: Vec<_> = numbers::names().filter(|name| name.starts_with(&format!("{module}."))).collect();
    let expected = if near.is_empty() {
        "an operator such as `aten::add.Tensor`, or a function of `_operator`, `math` or `torch`".to_owned()
    } else {
        format!("an operator such as `aten::add.Tensor`, or one of {}", error::quoted(near))
    };
    error::unsupported(format!("{target}: no such function of numbers, expected {expected}"))
}
