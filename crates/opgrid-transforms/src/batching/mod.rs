//! How operators run on a batch at once: rules by kind, and those of operators that are special.
//!
//! What is behind a batched tensor has the examples along dimension 0, so most operators need no more than their dimensions counted
//! anew, or the examples counted as more images. An operator that is made of others needs no rule.

mod folded;
mod indexing;
mod products;
mod reductions;
mod views;

use opgrid_core::{DispatchKey, Dispatcher, Kind, Registration, Result};
use opgrid_tensor::families::kind;
use opgrid_tensor::layers::vmap::rule::{along_dimensions, pointwise};
use opgrid_tensor::layers::vmap::{BatchedCall, BatchingRule};

/// A rule, as rows of tables have it.
type Rule = fn(&mut BatchedCall<'_, '_>) -> Result<()>;

/// The rules of operators by kind.
const KINDS: &[(&Kind, Rule)] = &[
    (&kind::ALONG_DIMENSION, along_dimensions),
    (&kind::GATE, along_dimensions),
    (&kind::FOURIER, along_dimensions),
    (&kind::JOINING, along_dimensions),
    (&kind::SORTING, along_dimensions),
    (&kind::FACTORY, along_dimensions),
    (&kind::COPY, as_it_is),
    (&kind::POOLING, folded::images),
    (&kind::RESAMPLING, folded::images),
    (&kind::PADDING, folded::images),
    (&kind::INDEXING, along_dimensions),
];

/// Puts rules for batches to the operators of a dispatcher.
pub(crate) fn install(dispatcher: &Dispatcher) -> Result<Registration> {
    let mut by_kind = dispatcher.implementations("_", DispatchKey::FuncTorchBatched);
    for (kind, rule) in KINDS {
        by_kind.kind_column(kind, BatchingRule::new(*rule));
    }
    let mut registration = by_kind.finish()?;
    let mut by_operator = dispatcher.implementations("aten", DispatchKey::FuncTorchBatched);
    let tables = [RULES, views::RULES, reductions::RULES, products::RULES, indexing::RULES, folded::RULES];
    for (names, rule) in tables.into_iter().flatten() {
        for name in *names {
            by_operator.implement(format!("aten::{name}").as_str()).column(BatchingRule::new(*rule));
        }
    }
    registration.join(by_operator.finish()?);
    Ok(registration)
}

/// Operators that belong to a kind with another rule.
const RULES: &[(&[&str], Rule)] = &[
    (
        &[
            "empty_like",
            "full_like",
            "ones_like",
            "zeros_like",
            "zero",
            "constant_pad_nd",
            "pixel_shuffle",
            "pixel_unshuffle",
        ],
        as_it_is,
    ),
    (&["fill.Tensor", "fill_.Tensor", "copy", "copy_"], pointwise),
];

/// An operator that does with all examples what it does with one, whatever their number.
pub(crate) fn as_it_is(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    let args = call.args().iter().map(|value| call.plain(*value)).collect::<Result<_>>()?;
    call.call_with(args)
}
