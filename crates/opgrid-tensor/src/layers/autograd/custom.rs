//! Calls whose derivative a program states where it makes them, without an operator.

use std::sync::Arc;

use opgrid_core::Result;
use smallvec::SmallVec;

use super::backward::is_differentiable;
use super::is_grad_enabled;
use super::node::{Edge, Formulas, Kept, Node, Subject, Target, Targets, formula_of};
use super::rule::Gradients;
use super::saved::Saved;
use super::variable::{Variable, detached, edge_of};
use crate::tensor::Tensor;

/// Runs `forward` without recording, and has gradients of what it gives go to `arguments` by `formula`, which gets the
/// gradients of the results and the tensors that `forward` gave to keep: arguments, results or others. It gives a gradient for
/// each argument, or none.
///
/// Where no argument requires a gradient, or the thread does not record, nothing is kept.
///
/// # Errors
///
/// Those of `forward`.
///
/// # Examples
///
/// ```
/// use opgrid_tensor::{Tensor, layers::autograd};
///
/// let x = Tensor::from_slice(&[1.0f64, -2.0], &[2])?;
/// x.requires_grad_(true)?;
/// // The gradient goes on as if nothing had been rounded.
/// let rounded = autograd::custom(
///     "straight_through",
///     &[&x],
///     || Ok((vec![x.round()?], vec![])),
///     |grads, _| Ok(vec![grads.of(0).cloned()]),
/// )?;
/// rounded[0].sum()?.backward()?;
/// assert_eq!(x.grad().unwrap().to_vec::<f64>()?, [1.0, 1.0]);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub fn custom(
    name: &str,
    arguments: &[&Tensor],
    forward: impl FnOnce() -> Result<(Vec<Tensor>, Vec<Tensor>)>,
    formula: impl Fn(Gradients<'_>, &[Tensor]) -> Result<Vec<Option<Tensor>>> + Send + Sync + 'static,
) -> Result<Vec<Tensor>> {
    let (mut results, kept) = super::no_grad(forward)?;
    let wanted: Vec<Option<Edge>> = match is_grad_enabled() {
        true => arguments.iter().map(|argument| edge_of(argument)).collect::<Result<_>>()?,
        false => Vec::new(),
    };
    if wanted.iter().all(Option::is_none) {
        return Ok(results);
    }
    // Of each result: the argument whose memory it has, as that argument or as a view of it.
    let root = |tensor: &Tensor| tensor.base().unwrap_or(tensor).clone();
    let shared: Vec<Option<&Tensor>> = results
        .iter()
        .map(|result| arguments.iter().find(|argument| root(argument).is_same(&root(result))).copied())
        .collect();
    // A result that is an argument becomes another tensor, which leads to the call.
    for result in &mut results {
        if arguments.iter().any(|argument| argument.is_same(result)) {
            *result = detached(result);
        }
    }
    let kept = kept.iter().map(|tensor| match results.iter().position(|result| result.is_same(tensor)) {
        Some(output) => Ok(Some(Saved::result(tensor, output))),
        None => Saved::argument(tensor, usize::MAX - 1).map(Some),
    });
    let kept: SmallVec<[Option<Saved>; 2]> = kept.collect::<Result<_>>()?;
    let needs: Vec<bool> = wanted.iter().map(Option::is_some).collect();
    let targets: Targets = wanted
        .into_iter()
        .zip(arguments)
        .filter_map(|(edge, argument)| Some(Target::of(argument, edge?)))
        .collect();
    let formula = formula_of(move |grads, kept, _| {
        let kept: Vec<Tensor> = kept.iter().flatten().cloned().collect();
        let all = formula(grads, &kept)?;
        super::rule::check_count(all.len(), needs.len())?;
        Ok(all.into_iter().zip(&needs).filter(|(_, needs)| **needs).map(|(grad, _)| grad).collect())
    });
    let formulas = Kept::Owned(Formulas::one(formula, &targets, kept));
    let node = Node::call(Subject::Other(name.into()), results.len(), targets, formulas);
    let node = Arc::new(node);
    for (output, result) in results.iter().enumerate() {
        if is_differentiable(result.dtype()) && result.is_defined() {
            Variable::lead(result, Edge::new(node.clone(), output))?;
            if let Some(argument) = shared[output] {
                result.given_by_function(argument);
            }
        }
    }
    Ok(results)
}
