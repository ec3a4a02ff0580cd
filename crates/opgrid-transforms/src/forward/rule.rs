//! The column `forward rule`: how tangents of results follow from those of arguments.

use std::collections::VecDeque;

use opgrid_core::{
    BoxedCall, Column, DispatchKey, Dispatcher, Error, ErrorKind, Forms, Kind, MemoryFormat, OperatorHandle,
    Reason, Result, TensorType, Value, ValueRef,
};
use opgrid_tensor::Tensor;
use opgrid_tensor::families::kind;
use opgrid_tensor::layers::autograd::{self, BackwardOptions, Derivative, enable_grad, is_grad_enabled};
use opgrid_tensor::layers::levels::{Level, each_tensor, map_all, map_tensors, plain};
use opgrid_tensor::ops::{CloneTensor, CopyInplace, ZeroInplace, ZerosLike};

use super::{Dual, tensors_of};
use crate::reverse::{self, Reverse, have_one_memory};

/// A rule over a call.
type ForwardFn = dyn Fn(&ForwardCall<'_, '_>) -> Result<Vec<Option<Tensor>>> + Send + Sync;

/// An operator's forward rule: the tangents of its results, where its derivative does not say it better.
pub struct ForwardRule(Box<ForwardFn>);

impl ForwardRule {
    /// A rule. It gives a tangent for each tensor among the results, those of lists one by one, and none for zeros.
    pub fn new(
        rule: impl Fn(&ForwardCall<'_, '_>) -> Result<Vec<Option<Tensor>>> + Send + Sync + 'static,
    ) -> Self {
        Self(Box::new(rule))
    }
}

impl Column for ForwardRule {
    const NAME: &'static str = "forward rule";
}

/// A call with tangents among its arguments.
pub struct ForwardCall<'c, 'b> {
    call: &'c BoxedCall<'b>,
    level: &'c Level,
    results: &'c [Value],
}

impl<'b> ForwardCall<'_, 'b> {
    /// The operator.
    pub fn operator(&self) -> &'b OperatorHandle {
        self.call.operator()
    }

    /// The arguments as they are, in the order of the schema.
    pub fn args(&self) -> &'b [ValueRef<'b>] {
        self.call.args()
    }

    /// What a tensor among the arguments stands for, without its tangent.
    pub fn primal(&self, tensor: &Tensor) -> Tensor {
        self.level.inner_of(tensor)
    }

    /// The tangent of a tensor among the arguments, if it has one.
    pub fn tangent<'t>(&self, tensor: &'t Tensor) -> Option<&'t Tensor> {
        self.level.behind(tensor)?.more()
    }

    /// The results, without tangents.
    pub fn results(&self) -> &[Value] {
        self.results
    }

    /// Calls the operator with tangents in place of tensors, and zeros where there is none: for operators that are linear in their
    /// tensors together. Tensors of integers, such as indices, stay as they are.
    ///
    /// # Errors
    ///
    /// Those of the operator.
    pub fn linear(&self) -> Result<Vec<Option<Tensor>>> {
        let args = map_all(self.args(), &mut |tensor| {
            let dual = self.level.behind(tensor);
            let Some(dual) = dual else {
                return if is_smooth(tensor) { zeros_like(tensor) } else { Ok(tensor.clone()) };
            };
            if dual.more().is_none() && is_smooth(tensor) {
                // A view of the tangent has to be one of what is written later.
                dual.set_more(zeros_like(dual.inner())?);
            }
            Ok(dual.more().unwrap_or(dual.inner()).clone())
        })?;
        Ok(tensors_of(&self.operator().call_values(args)?).into_iter().map(Some).collect())
    }
}

/// Zeros like the tensor.
fn zeros_like(tensor: &Tensor) -> Result<Tensor> {
    ZerosLike.call(tensor, None, None, None, None, None)
}

/// Whether a tensor could have a tangent.
fn is_smooth(tensor: &Tensor) -> bool {
    tensor.is_defined() && (tensor.dtype().is_floating_point() || tensor.dtype().is_complex())
}

/// Whether a call writes an argument by calls of other operators, which is all that says how.
pub(super) fn is_made_of_writes(call: &BoxedCall<'_>) -> Result<bool> {
    if !writes(call) || functional_form(call).is_some() || call.column::<ForwardRule>().is_some() {
        return Ok(false);
    }
    let backend = call.keys().highest_backend_type();
    Ok(call.operator().slot(backend)?.reason == Reason::Alias(DispatchKey::CompositeImplicitAutograd))
}

/// Whether a call writes one of its arguments.
fn writes(call: &BoxedCall<'_>) -> bool {
    call.schema().is_some_and(|schema| schema.arguments.iter().any(|it| it.is_write()))
}

/// The forms of an operator that writes, where one of them does not.
fn functional_form<'c>(call: &BoxedCall<'c>) -> Option<&'c Forms> {
    call.column::<Forms>().filter(|forms| &forms.functional != call.operator().name())
}

/// Leaves the results of a call with tangents among its arguments.
pub(super) fn run(call: &mut BoxedCall<'_>, level: &Level) -> Result<()> {
    if writes(call) {
        return write(call, level);
    }
    let is_made = call.column::<Kind>().is_some_and(|own| *own == kind::FACTORY);
    let (results, tangents) =
        if is_made { made(call, level)? } else { with_tangents(call.operator(), call, level)? };
    let shares = call.column::<Kind>().is_some_and(|own| *own == kind::VIEW);
    let mut tangents = VecDeque::from(tangents);
    for result in results {
        // Integers and bools do not move.
        let tangent_of = |result: &Tensor, tangent: Option<Option<Tensor>>| {
            tangent.flatten().filter(|_| is_smooth(result))
        };
        let result =
            map_tensors(result.borrow(), &mut |result| match tangent_of(result, tangents.pop_front()) {
                Some(tangent) if shares => Dual::wrap(result, &tangent, level),
                Some(tangent) => Dual::wrap(result, &own_memory(call, level, tangent)?, level),
                None if is_made => level.transform().adopt(result.clone(), level),
                None => Ok(result.clone()),
            })?;
        call.push(result);
    }
    Ok(())
}

/// The results of an operator that makes tensors like another one, with tangents of zeros like those of that: others of the level may be
/// written to it.
fn made(call: &BoxedCall<'_>, level: &Level) -> Result<(Vec<Value>, Vec<Option<Tensor>>)> {
    let results =
        call.operator().call_values(map_all(call.args(), &mut |tensor| Ok(level.inner_of(tensor)))?)?;
    let mut has_tangent = false;
    let args = map_all(call.args(), &mut |tensor| {
        let tangent = level.behind(tensor).and_then(|dual| dual.more());
        has_tangent |= tangent.is_some();
        Ok(tangent.cloned().unwrap_or_else(|| level.inner_of(tensor)))
    })?;
    if !has_tangent || !tensors_of(&results).iter().all(is_smooth) {
        return Ok((results, Vec::new()));
    }
    let likes = tensors_of(&call.operator().call_values(args)?);
    let zeros = likes.iter().map(|like| zeros_like(like).map(Some));
    Ok((results, zeros.collect::<Result<_>>()?))
}

/// A tangent that may be written: one with memory of its own, as the result has. Gradients may be arguments themselves, or repeat elements.
fn own_memory(call: &BoxedCall<'_>, level: &Level, tangent: Tensor) -> Result<Tensor> {
    let mut is_shared = !plain(&tangent).array().is_ok_and(|array| array.geometry().is_dense());
    each_tensor(call.args(), &mut |tensor| {
        let other = level.behind(tensor).and_then(|dual| dual.more()).unwrap_or(tensor);
        is_shared |= have_one_memory(other, &tangent);
    });
    if is_shared { CloneTensor.call(&tangent, Some(MemoryFormat::Contiguous)) } else { Ok(tangent) }
}

/// The results of an operator for the arguments of a call, without tangents, and the tangents of the tensors among them.
fn with_tangents(
    operator: &OperatorHandle,
    call: &BoxedCall<'_>,
    level: &Level,
) -> Result<(Vec<Value>, Vec<Option<Tensor>>)> {
    let is_constant = operator.column::<Derivative>()?.is_some_and(|derivative| derivative.is_constant());
    let rule = operator.column::<ForwardRule>()?;
    if !is_constant && rule.is_none() {
        return by_transposing(operator, call, level);
    }
    let args = map_all(call.args(), &mut |tensor| Ok(level.inner_of(tensor)))?;
    let results = operator.call_values(args)?;
    let tangents = match rule.filter(|_| !is_constant) {
        Some(rule) => (rule.0)(&ForwardCall { call, level, results: &results })
            .map_err(|error| error.within(format_args!("forward rule of {}", operator.name())))?,
        None => Vec::new(),
    };
    Ok((results, tangents))
}

/// Results and tangents of an operator by the derivative that it has: its gradients are linear in those of the results, and
/// differentiated by them once more they are products with tangents.
fn by_transposing(
    operator: &OperatorHandle,
    call: &BoxedCall<'_>,
    level: &Level,
) -> Result<(Vec<Value>, Vec<Option<Tensor>>)> {
    let (mut inputs, mut tangents) = (Vec::new(), Vec::new());
    let recorded = reverse::enter()?;
    let args = map_all(call.args(), &mut |tensor| {
        let Some(dual) = level.behind(tensor) else { return Ok(tensor.clone()) };
        let Some(tangent) = dual.more() else { return Ok(dual.inner().clone()) };
        let input = Reverse::variable(dual.inner(), recorded.level())?;
        inputs.push(input.clone());
        tangents.push(Some(tangent.clone()));
        Ok(input)
    })?;
    let results = enable_grad(|| operator.call_values(args))?;
    let inner = recorded.level().clone();
    drop(recorded);

    let tensors = tensors_of(&results);
    let depends = |result: &Tensor| inner.behind(result).is_some() && result.requires_grad();
    let outer = reverse::enter()?;
    let vectors = tensors.iter().map(|result| {
        if depends(result) {
            let zeros = zeros_like(&inner.inner_of(result))?;
            Reverse::variable(&zeros, outer.level()).map(Some)
        } else {
            Ok(None)
        }
    });
    let vectors = vectors.collect::<Result<Vec<_>>>()?;
    let (of_results, given): (Vec<&Tensor>, Vec<Option<Tensor>>) = tensors
        .iter()
        .zip(&vectors)
        .filter(|(_, vector)| vector.is_some())
        .map(|(it, vector)| (it, vector.clone()))
        .unzip();
    let keep = BackwardOptions { retain_graph: true, create_graph: true };
    let products = if of_results.is_empty() {
        Vec::new()
    } else {
        inner.transparent(|| autograd::grad(&of_results, &inputs.iter().collect::<Vec<_>>(), &given, keep))?
    };
    let outer_level = outer.level().clone();
    drop(outer);

    let (of_products, by): (Vec<&Tensor>, Vec<Option<Tensor>>) = products
        .iter()
        .zip(tangents)
        .filter_map(|(product, tangent)| Some((product.as_ref()?, tangent)))
        .filter(|(product, _)| outer_level.behind(product).is_some() && product.requires_grad())
        .unzip();
    let wanted: Vec<&Tensor> = vectors.iter().flatten().collect();
    let mut found = if of_products.is_empty() {
        vec![None; wanted.len()]
    } else {
        let options = BackwardOptions { retain_graph: false, create_graph: is_grad_enabled() };
        outer_level.transparent(|| autograd::grad(&of_products, &wanted, &by, options))?
    }
    .into_iter();
    let tangents =
        vectors.iter().map(|vector| vector.as_ref().and_then(|_| found.next().flatten())).collect();
    let results = results.iter().map(|result| map_tensors(result.borrow(), &mut |it| Ok(inner.inner_of(it))));
    Ok((results.collect::<Result<_>>()?, tangents))
}

/// Leaves the results of a call that writes an argument: its tangent is written, too.
fn write(call: &mut BoxedCall<'_>, level: &Level) -> Result<()> {
    let operator = call.operator();
    let refused =
        |message: &str| Err(Error::new(ErrorKind::NotImplemented, format!("{}: {message}", operator.name())));
    let forms = functional_form(call);
    let is_of = |kind: &Kind| call.column::<Kind>().is_some_and(|own| own == kind);
    let is_copy = is_of(&kind::COPY);
    // Rules of views are about results; a tensor that becomes a view of itself takes no copy of its tangent.
    let rule = call.column::<ForwardRule>().filter(|_| !is_of(&kind::VIEW));
    if forms.is_none() && !is_copy && rule.is_none() {
        return refused(
            "it writes an argument and has no functional form, so that there is no tangent of what it writes",
        );
    }
    let Some(target) =
        call.args().first().and_then(|value| Tensor::from_any_ref(value.as_tensor()?).cloned())
    else {
        return refused("it writes another argument than its first, which tangents do not follow");
    };
    let Some(dual) = level.behind(&target) else {
        return refused("the tensor that it writes is not of the function");
    };
    let changed = match (forms, rule) {
        (Some(forms), _) => {
            let functional = Dispatcher::current().find(&forms.functional.to_string())?;
            with_tangents(&functional, call, level)?.1.into_iter().next().flatten()
        }
        (None, Some(rule)) => {
            (rule.0)(&ForwardCall { call, level, results: &[] })?.into_iter().next().flatten()
        }
        // What is copied there brings its tangent.
        (None, None) => {
            let source = call.args().get(1).and_then(|value| Tensor::from_any_ref(value.as_tensor()?));
            source.and_then(|source| level.behind(source)?.more().cloned())
        }
    };
    let args = map_all(call.args(), &mut |tensor| Ok(level.inner_of(tensor)))?;
    operator.call_values(args)?;
    match (dual.more(), changed) {
        (Some(tangent), Some(changed)) => drop(CopyInplace.call(tangent, &changed, false)?),
        (Some(tangent), None) => drop(ZeroInplace.call(tangent)?),
        (None, Some(changed)) => {
            let changed = changed.to(target.dtype())?.expand(target.sizes())?;
            dual.set_more(CloneTensor.call(&changed, Some(MemoryFormat::Contiguous))?);
        }
        (None, None) => {}
    }
    call.push(&target);
    Ok(())
}
