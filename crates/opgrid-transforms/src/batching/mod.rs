//! How operators run on a batch at once: rules by kind, and those of operators that are special.
//!
//! What is behind a batched tensor has the examples along dimension 0, so most operators need no more than their dimensions counted
//! anew, or the examples counted as more images. An operator that is made of others needs no rule, and one that writes what another one
//! gives needs none of its own.

mod arguments;
mod convolutions;
mod dimensions;
mod distances;
mod embeddings;
mod factories;
mod folded;
mod indexing;
mod joining;
mod linalg;
mod losses;
mod normalisations;
mod pointwise;
mod products;
mod random;
mod reductions;
mod refused;
mod sorting;
mod views;

use opgrid_core::{DispatchKey, Dispatcher, Forms, Kind, Registration, Result};
use opgrid_tensor::families::{ShapeRule, kind};
use opgrid_tensor::layers::vmap::{BatchedCall, BatchingRule};

use dimensions::along_dimensions;

/// A rule, as rows of tables have it.
type Rule = fn(&mut BatchedCall<'_, '_>) -> Result<()>;

/// The rules of operators by kind, and whether it is one for those in place, too.
const KINDS: &[(&Kind, Rule, bool)] = &[
    (&kind::POINTWISE, pointwise::pointwise, true),
    (&kind::COPY, as_it_is, true),
    (&kind::RANDOM, random::random, true),
    (&kind::OPTIMIZER, refused::optimizer, true),
    (&kind::REDUCTION, along_dimensions, false),
    (&kind::ALONG_DIMENSION, along_dimensions, false),
    (&kind::GATE, along_dimensions, false),
    (&kind::ATTENTION, along_dimensions, false),
    (&kind::VIEW, along_dimensions, false),
    (&kind::FOURIER, along_dimensions, false),
    (&kind::JOINING, along_dimensions, false),
    (&kind::SORTING, along_dimensions, false),
    (&kind::FACTORY, along_dimensions, false),
    (&kind::INDEXING, along_dimensions, false),
    (&kind::FACTORIZATION, linalg::stacks, false),
    (&kind::LOSS, losses::loss, false),
    (&kind::POOLING, folded::images, false),
    (&kind::RESAMPLING, folded::images, false),
    (&kind::PADDING, folded::images, false),
];

/// Operators with another rule than their kind's.
const TABLES: [&[(&[&str], Rule)]; 16] = [
    convolutions::RULES,
    distances::RULES,
    embeddings::RULES,
    factories::RULES,
    folded::RULES,
    indexing::RULES,
    joining::RULES,
    linalg::RULES,
    losses::RULES,
    normalisations::RULES,
    pointwise::RULES,
    products::RULES,
    reductions::RULES,
    refused::RULES,
    sorting::RULES,
    views::RULES,
];

/// Puts rules for batches to the operators of a dispatcher.
pub(crate) fn install(dispatcher: &Dispatcher) -> Result<Registration> {
    let mut by_kind = dispatcher.implementations("_", DispatchKey::FuncTorchBatched);
    for (kind, rule, is_in_place) in KINDS {
        by_kind.kind_column(kind, if *is_in_place { BatchingRule::new(*rule) } else { of_functional(*rule) });
    }
    let mut registration = by_kind.finish()?;
    let mut by_operator = dispatcher.implementations("aten", DispatchKey::FuncTorchBatched);
    for (names, rule) in TABLES.into_iter().flatten() {
        for name in *names {
            let is_in_place = name.split('.').next().is_some_and(|base| base.ends_with('_'));
            let rule = if is_in_place { BatchingRule::new(*rule) } else { of_functional(*rule) };
            by_operator.implement(format!("aten::{name}").as_str()).column(rule);
        }
    }
    registration.join(by_operator.finish()?);
    registration.join(random::install(dispatcher)?);
    Ok(registration)
}

/// A rule of operators that give new results. What one example refuses is refused; those in place write what the others give.
fn of_functional(rule: Rule) -> BatchingRule {
    BatchingRule::new(move |call| {
        let is_in_place = call
            .column::<Forms>()
            .is_some_and(|forms| forms.in_place.as_ref() == Some(call.operator().name()));
        if is_in_place {
            return call.through_functional();
        }
        if let Some(shape) = call.column::<ShapeRule>() {
            shape.apply(call.args())?;
        }
        rule(call)
    })
}

/// An operator that does with all examples what it does with one, whatever their number.
fn as_it_is(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    let args = call.args().iter().map(|value| call.plain(*value)).collect::<Result<_>>()?;
    call.call_with(args)
}
