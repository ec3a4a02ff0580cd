//! Calls whose derivative a program states where it makes them, without an operator.

use std::sync::Arc;

use opgrid_core::Result;
use smallvec::SmallVec;

use super::backward::is_differentiable;
use super::history::{self, Inner, ViewInBase, write_view};
use super::is_grad_enabled;
use super::node::{Edge, Formulas, Kept, Node, Subject, Target, Targets};
use super::reach::Foreign;
use super::rule::{Gradients, formula_of_values};
use super::saved::Saved;
use super::variable::{Variable, detached, edge_of};
use crate::error::argument as refused;
use crate::tensor::Tensor;

/// What a function gives whose derivative is stated where it is called.
#[derive(Default)]
pub struct Forward {
    results: Vec<Tensor>,
    kept: Vec<Tensor>,
    written: Vec<Tensor>,
}

impl Forward {
    /// The results of the function.
    pub fn new(results: Vec<Tensor>) -> Self {
        Self { results, ..Self::default() }
    }

    /// Keeps tensors for the formula: arguments, results or others.
    #[must_use]
    pub fn keep(mut self, tensors: impl IntoIterator<Item = Tensor>) -> Self {
        self.kept.extend(tensors);
        self
    }

    /// Says that the function has written these arguments in place. Each has to be among the results; the gradient of that
    /// result is then the gradient of what was written, and the formula gives the gradient of what was there before.
    #[must_use]
    pub fn write(mut self, arguments: impl IntoIterator<Item = Tensor>) -> Self {
        self.written.extend(arguments);
        self
    }
}

/// Results, and tensors to keep.
impl From<(Vec<Tensor>, Vec<Tensor>)> for Forward {
    fn from((results, kept): (Vec<Tensor>, Vec<Tensor>)) -> Self {
        Self { results, kept, written: Vec::new() }
    }
}

/// Runs `forward` without recording, and has gradients of what it gives go to `arguments` by `formula`, which gets the
/// gradients of the results and the tensors that `forward` gave to keep: arguments, results or others. It gives a gradient for
/// each argument, or none.
///
/// Where no argument requires a gradient, or the thread does not record, nothing is kept.
///
/// # Errors
///
/// Those of `forward`. A written argument that is no result, or that may not be written: a leaf that requires a gradient or a view
/// of one, a view where there are several results, memory that others see who would not know of the gradient.
///
/// # Examples
///
/// ```
/// use opgrid::{Tensor, layers::autograd};
///
/// let x = Tensor::from_slice(&[1.0f64, -2.0], &[2])?;
/// x.requires_grad_(true)?;
/// // The gradient goes on as if nothing had been rounded.
/// let rounded = autograd::custom(
///     "straight_through",
///     &[&x],
///     || Ok((vec![x.round()?], vec![])),
///     |grads, _| Ok(vec![grads.for_result(0).cloned()]),
/// )?;
/// rounded[0].sum()?.backward()?;
/// assert_eq!(x.grad().unwrap().to_vec::<f64>()?, [1.0, 1.0]);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
///
/// A function that writes its argument says so:
///
/// ```
/// use opgrid::{Tensor, layers::autograd};
///
/// let leaf = Tensor::from_slice(&[1.0f64, -2.0], &[2])?;
/// leaf.requires_grad_(true)?;
/// let x = leaf.mul(&leaf)?;
/// let doubled = autograd::custom(
///     "double",
///     &[&x],
///     || Ok(autograd::Forward::new(vec![x.mul_(2)?.clone()]).write([x.clone()])),
///     |grads, _| Ok(vec![grads.for_result(0).map(|grad| grad.mul(2)).transpose()?]),
/// )?;
/// assert!(doubled[0].is_same(&x));
/// x.sum()?.backward()?;
/// assert_eq!(leaf.grad().unwrap().to_vec::<f64>()?, [4.0, -8.0]);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub fn custom<F: Into<Forward>>(
    name: &str,
    arguments: &[&Tensor],
    forward: impl FnOnce() -> Result<F>,
    formula: impl Fn(Gradients<'_>, &[Tensor]) -> Result<Vec<Option<Tensor>>> + Send + Sync + 'static,
) -> Result<Vec<Tensor>> {
    record(name, arguments, forward, None, formula)
}

/// As [`custom`], with a formula that holds something of another language, whose collector sees it
/// ([`held_by_tensor`](super::held_by_tensor)).
///
/// # Errors
///
/// Those of [`custom`].
pub fn custom_with<F: Into<Forward>>(
    name: &str,
    arguments: &[&Tensor],
    forward: impl FnOnce() -> Result<F>,
    held: Foreign,
    formula: impl Fn(Gradients<'_>, &[Tensor]) -> Result<Vec<Option<Tensor>>> + Send + Sync + 'static,
) -> Result<Vec<Tensor>> {
    record(name, arguments, forward, Some(held), formula)
}

fn record<F: Into<Forward>>(
    name: &str,
    arguments: &[&Tensor],
    forward: impl FnOnce() -> Result<F>,
    held: Option<Foreign>,
    formula: impl Fn(Gradients<'_>, &[Tensor]) -> Result<Vec<Option<Tensor>>> + Send + Sync + 'static,
) -> Result<Vec<Tensor>> {
    let is_recording = is_grad_enabled();
    // Asked before the function runs: what it keeps may share the memory of an argument.
    let alone: SmallVec<[bool; 4]> = if is_recording {
        arguments.iter().map(|argument| history::is_alone(argument)).collect()
    } else {
        SmallVec::new()
    };
    let Forward { mut results, kept, written } = super::no_grad(forward)?.into();
    let written = Written::count(name, arguments, &results, written)?;
    let wanted: Vec<Option<Edge>> = if is_recording {
        arguments.iter().map(|argument| edge_of(argument)).collect::<Result<_>>()?
    } else {
        Vec::new()
    };
    if wanted.iter().all(Option::is_none) {
        for result in &mut results {
            // The result does not require the gradient that the argument requires.
            if result.requires_grad() && arguments.iter().any(|argument| argument.is_same(result)) {
                *result = detached(result);
            }
        }
        return Ok(results);
    }
    let place = written.check(name, arguments, &alone, results.len())?;
    // Of each result: the argument whose memory it has, as that argument or as a view of it.
    let root = |tensor: &Tensor| tensor.base().unwrap_or(tensor).clone();
    let shared: Vec<Option<&Tensor>> = results
        .iter()
        .map(|result| arguments.iter().find(|argument| root(argument).is_same(&root(result))).copied())
        .collect();
    // A result that is an argument becomes another tensor, which leads to the call, unless it is the argument that was written.
    for result in &mut results {
        if arguments.iter().any(|argument| argument.is_same(result)) && !written.has(result) {
            *result = detached(result);
        }
    }
    let kept = kept.iter().map(|tensor| match results.iter().position(|result| result.is_same(tensor)) {
        Some(output) => Saved::result(tensor, output).map(Some),
        None => Saved::argument(tensor, usize::MAX - 1).map(Some),
    });
    let kept: SmallVec<[Option<Saved>; 2]> = kept.collect::<Result<_>>()?;
    let needs: Vec<bool> = wanted.iter().map(Option::is_some).collect();
    let targets: Targets = wanted
        .into_iter()
        .zip(arguments)
        .filter_map(|(edge, argument)| Some(Target::from_tensor(argument, edge?)))
        .collect();
    let formula = formula_of_values(needs, held, formula);
    let formulas = Kept::Owned(Formulas::one(formula, &targets, kept));
    let subject = Subject::Other(name.into());
    if let Some(PlaceOfView { view, base, place }) = place {
        let own = edge_of(&view)?;
        write_view(&view, &base, place, subject, Inner { targets, kept: formulas, own })?;
        return Ok(results);
    }
    let node = Arc::new(Node::call(subject, results.len(), targets, formulas));
    for (output, result) in results.iter().enumerate() {
        if is_differentiable(result.dtype()) && result.is_defined() {
            let edge = Edge::new(node.clone(), output);
            if written.has(result) {
                Variable::lead_on(result, edge)?;
                continue;
            }
            Variable::lead(result, edge)?;
            if let Some(argument) = shared[output] {
                result.given_by_function(argument);
            }
        }
    }
    Ok(results)
}

/// The arguments that a function has written.
struct Written(Vec<Tensor>);

/// A written argument that is a view, and where it lies in what it was taken of.
struct PlaceOfView {
    view: Tensor,
    base: Tensor,
    place: ViewInBase,
}

impl Written {
    /// Counts the writes, in whatever way the function made them.
    ///
    /// # Errors
    ///
    /// An argument that is no result.
    fn count(
        name: &str,
        arguments: &[&Tensor],
        results: &[Tensor],
        mut written: Vec<Tensor>,
    ) -> Result<Self> {
        // What is no argument was made by the function itself.
        written.retain(|tensor| arguments.iter().any(|argument| argument.is_same(tensor)));
        for tensor in &written {
            if !results.iter().any(|result| result.is_same(tensor)) {
                return Err(refused(format!(
                    "{name}: an argument of shape {:?} was written in place but is not a result; \
                     return it, so that gradients pass through the write",
                    tensor.sizes()
                )));
            }
            if let Ok(array) = tensor.array() {
                array.storage().mark_written();
            }
        }
        Ok(Self(written))
    }

    fn has(&self, tensor: &Tensor) -> bool {
        self.0.iter().any(|written| written.is_same(tensor))
    }

    /// Checks a call that is recorded; gives the place of a view that was written.
    ///
    /// # Errors
    ///
    /// As [`custom`].
    fn check(
        &self,
        name: &str,
        arguments: &[&Tensor],
        alone: &[bool],
        results: usize,
    ) -> Result<Option<PlaceOfView>> {
        for target in self.0.iter().filter(|target| is_differentiable(target.dtype())) {
            history::check_may_be_written(name, target)?;
            let mut places = arguments.iter().zip(alone).filter(|(argument, _)| argument.is_same(target));
            if !target.requires_grad() && places.any(|(_, alone)| !alone) {
                return Err(history::shared(name));
            }
            let Some(base) = target.base() else { continue };
            if results > 1 {
                return Err(refused(format!(
                    "{name}: wrote a view and returned {results} results, but gradients pass through a \
                     written view only if it is the only result; clone the view first, or return one \
                     result"
                )));
            }
            let place = ViewInBase::new(target, base)?;
            return Ok(Some(PlaceOfView { view: target.clone(), base: base.clone(), place }));
        }
        Ok(None)
    }
}
