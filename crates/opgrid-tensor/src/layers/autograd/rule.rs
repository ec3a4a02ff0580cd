//! The column `derivative`: what an operator's gradients are, stated in the operator's file.

use std::array;
use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

use opgrid_core::operator::ArgsOf;
use opgrid_core::{
    Column, Error, ErrorKind, Operator, OperatorHandle, Result, Signature, TensorType, Value, ValueRef,
    ValueView,
};
use smallvec::{SmallVec, smallvec};

use super::node::{Formula, Formulas, Given, Node, Part, Target, Targets, formula_of, formula_with};
use super::reach::Foreign;
use super::saved::Saved;
use super::variable::edge_of;
use crate::error::argument as refused;
use crate::families::{Carries, ViewRule};
use crate::layers::levels::each_tensor;
use crate::ops::{CopyInplace, NewZeros};
use crate::tensor::Tensor;

/// A rule over values.
type DerivativeFn = dyn Fn(&Recorder<'_>, &[ValueRef<'_>]) -> Result<()> + Send + Sync;

/// An operator's derivative, or that it has none.
pub struct Derivative(Option<Box<DerivativeFn>>);

impl Derivative {
    /// Declares that results do not depend on the tensor arguments as far as gradients go: they are step functions,
    /// or new.
    pub const NONE: Self = Self(None);

    /// A derivative over typed arguments.
    pub fn typed<S: Signature>(
        rule: impl for<'a> Fn(&Recorder<'_>, S::Args<'a>) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        Self::of_values(move |recorder, values| S::unpack(values, |args| rule(recorder, S::shorten(args)))?)
    }

    /// A derivative over values, for operators that are defined at run time.
    pub fn of_values(
        rule: impl Fn(&Recorder<'_>, &[ValueRef<'_>]) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        Self(Some(Box::new(rule)))
    }

    /// Whether results are constant as far as gradients go.
    pub fn is_constant(&self) -> bool {
        self.0.is_none()
    }

    pub(super) fn rule(&self) -> Option<&DerivativeFn> {
        self.0.as_deref()
    }
}

impl Column for Derivative {
    const NAME: &'static str = "derivative";

    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "given" } else { "none: results are constant" })
    }
}

/// States derivatives where operators are defined.
pub trait DefineDerivative: Carries {
    /// The operator's derivative; its in-place form has the same. The rule is asked for each call that is recorded, with the
    /// arguments, and tells the [`Recorder`] a formula for each tensor among them that has a gradient.
    #[track_caller]
    fn derivative(
        self,
        rule: impl for<'a> Fn(&Recorder<'_>, ArgsOf<'a, Self::Operator>) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        self.carry(Derivative::typed::<<Self::Operator as Operator>::Signature>(rule))
    }

    /// Results do not depend on the arguments as far as gradients go, so that they need none.
    #[track_caller]
    fn non_differentiable(self) -> Self {
        self.carry(Derivative::NONE)
    }
}

impl<B: Carries> DefineDerivative for B {}

/// The gradients of an operator's results; nothing where no gradient reaches a result, which is as good as zeros.
#[derive(Clone, Copy)]
pub struct Gradients<'g>(pub(super) &'g [Option<Tensor>]);

impl<'g> Gradients<'g> {
    /// Returns the gradient of one result.
    pub fn for_result(self, result: usize) -> Option<&'g Tensor> {
        self.0.get(result)?.as_ref()
    }

    /// Returns the gradient of each result; a list counts one for each element.
    pub fn all(self) -> &'g [Option<Tensor>] {
        self.0
    }
}

/// A call that is being recorded: takes the formulas of gradients.
///
/// A formula is told only for arguments that need a gradient, and keeps tensors only then. Gradients may be of another dtype
/// than their argument, or of the sizes that it was broadcast to: they are converted and summed.
pub struct Recorder<'r> {
    pub(super) operator: &'r OperatorHandle,
    pub(super) args: &'r [ValueRef<'r>],
    pub(super) results: &'r [Tensor],
    /// The argument that the operator is about to write.
    pub(super) written: Option<&'r Tensor>,
    pub(super) told: RefCell<Told<'r>>,
}

/// Where a recorder writes what it is told.
pub(super) struct Told<'r> {
    pub(super) targets: &'r mut Targets,
    pub(super) formulas: &'r mut Formulas,
    /// How many results gradients come from, if not all.
    pub(super) differentiable: Option<usize>,
}

impl<'r> Recorder<'r> {
    /// The operator.
    pub fn operator(&self) -> &'r OperatorHandle {
        self.operator
    }

    /// Result number `index`; the elements of a list count one by one. Of an in-place operator the result is there once the
    /// operator has run: it may be kept, and its sizes and dtype be asked for.
    ///
    /// # Panics
    ///
    /// The operator has fewer results.
    pub fn result(&self, index: usize) -> &'r Tensor {
        &self.results[index]
    }

    /// All results; the elements of a list count one by one.
    pub fn results(&self) -> &'r [Tensor] {
        self.results
    }

    /// Says that gradients come from the first results only, and that the others are constant.
    pub fn differentiable(&self, count: usize) {
        self.told.borrow_mut().differentiable = Some(count);
    }

    /// Whether an argument needs a gradient.
    pub fn needs<'t>(&self, argument: impl Into<Option<&'t Tensor>>) -> bool {
        argument.into().is_some_and(Tensor::requires_grad)
    }

    /// The gradient of an argument by that of the first result, and by tensors that are kept: arguments or results.
    pub fn by<'t, const N: usize>(
        &self,
        argument: impl Into<Option<&'t Tensor>>,
        keep: [&Tensor; N],
        formula: impl Fn(&Tensor, [&Tensor; N]) -> Result<Tensor> + Send + Sync + 'static,
    ) -> Result<()> {
        let first = self.next_target();
        if !self.target(argument.into())? {
            return Ok(());
        }
        let formula = formula_of(move |grads, kept, _| {
            let Some(grad) = grads.for_result(0) else { return Ok(smallvec![None]) };
            only(formula(grad, all_present(kept)).map(Some))
        });
        self.add(first, &all_kept(keep), formula)
    }

    /// As [`by`](Self::by), by the gradients of several results.
    pub fn by_all<'t, const N: usize>(
        &self,
        argument: impl Into<Option<&'t Tensor>>,
        keep: [&Tensor; N],
        formula: impl Fn(Gradients<'_>, [&Tensor; N]) -> Result<Option<Tensor>> + Send + Sync + 'static,
    ) -> Result<()> {
        let first = self.next_target();
        if !self.target(argument.into())? {
            return Ok(());
        }
        let formula = formula_of(move |grads, kept, _| only(formula(grads, all_present(kept))));
        self.add(first, &all_kept(keep), formula)
    }

    /// The gradients of several arguments at once, for operators whose gradients one operator computes together. The
    /// formula gets those of the results, what was kept, and which of the arguments need one.
    pub fn together<const M: usize, const N: usize>(
        &self,
        arguments: [Option<&Tensor>; M],
        keep: [Option<&Tensor>; N],
        formula: impl Fn(Gradients<'_>, [Option<&Tensor>; N], [bool; M]) -> Result<[Option<Tensor>; M]>
        + Send
        + Sync
        + 'static,
    ) -> Result<()> {
        let first = self.next_target();
        let mut needs = [false; M];
        for (needs, argument) in needs.iter_mut().zip(arguments) {
            *needs = self.target(argument)?;
        }
        if needs == [false; M] {
            return Ok(());
        }
        let formula = formula_of(move |grads, kept, _| {
            let all = formula(grads, all_there(kept), needs)?;
            Ok(all.into_iter().zip(needs).filter(|(_, needs)| *needs).map(|(grad, _)| grad).collect())
        });
        self.add(first, &keep, formula)
    }

    /// The gradients of all tensors of a list by that of the first result.
    pub fn by_each(
        &self,
        arguments: &[Tensor],
        formula: impl Fn(&Tensor, usize) -> Result<Tensor> + Send + Sync + 'static,
    ) -> Result<()> {
        let first = self.next_target();
        let mut places = Vec::new();
        for (place, argument) in arguments.iter().enumerate() {
            if self.target(Some(argument))? {
                places.push(place);
            }
        }
        if places.is_empty() {
            return Ok(());
        }
        let formula = formula_of(move |grads, _, _| {
            let Some(grad) = grads.for_result(0) else { return Ok(smallvec![None; places.len()]) };
            places.iter().map(|place| formula(grad, *place).map(Some)).collect()
        });
        self.add(first, &[], formula)
    }

    /// Declares the gradients of any tensors from the values of the arguments, in the order of the tensors.
    pub fn by_values(
        &self,
        arguments: &[&Tensor],
        keep: &[&Tensor],
        formula: impl Fn(Gradients<'_>, &[Tensor]) -> Result<Vec<Option<Tensor>>> + Send + Sync + 'static,
    ) -> Result<()> {
        self.by_values_of(arguments, keep, None, formula)
    }

    /// As [`by_values`](Self::by_values), by a formula that holds something of another language, whose collector sees it
    /// ([`held_by_tensor`](super::held_by_tensor)).
    pub fn by_values_with(
        &self,
        arguments: &[&Tensor],
        keep: &[&Tensor],
        held: Foreign,
        formula: impl Fn(Gradients<'_>, &[Tensor]) -> Result<Vec<Option<Tensor>>> + Send + Sync + 'static,
    ) -> Result<()> {
        self.by_values_of(arguments, keep, Some(held), formula)
    }

    fn by_values_of(
        &self,
        arguments: &[&Tensor],
        keep: &[&Tensor],
        held: Option<Foreign>,
        formula: impl Fn(Gradients<'_>, &[Tensor]) -> Result<Vec<Option<Tensor>>> + Send + Sync + 'static,
    ) -> Result<()> {
        let first = self.next_target();
        let needs = arguments.iter().map(|argument| self.target(Some(argument)));
        let needs = needs.collect::<Result<Vec<bool>>>()?;
        if !needs.contains(&true) {
            return Ok(());
        }
        let formula = formula_of_values(needs, held, formula);
        let keep: Vec<_> = keep.iter().map(|tensor| Some(*tensor)).collect();
        self.add(first, &keep, formula)
    }

    /// How many targets there are: the place of the next one.
    fn next_target(&self) -> usize {
        self.told.borrow().targets.len()
    }

    /// Has a gradient go to an argument, if it needs one.
    fn target(&self, argument: Option<&Tensor>) -> Result<bool> {
        let Some(argument) = argument else { return Ok(false) };
        let Some(edge) = edge_of(argument)? else { return Ok(false) };
        let targets = &mut self.told.borrow_mut().targets;
        if targets.len() == usize::from(u16::MAX) {
            return Err(refused(format!("gradients go to more than {} arguments", u16::MAX)));
        }
        targets.push(Target::from_tensor(argument, edge));
        Ok(true)
    }

    /// Takes the formula of the gradients that go to the targets from `first` on.
    fn add(&self, first: usize, keep: &[Option<&Tensor>], formula: Formula) -> Result<()> {
        let told = &mut *self.told.borrow_mut();
        let first_kept = told.formulas.kept.len() as u32;
        for tensor in keep {
            told.formulas.kept.push(tensor.map(|tensor| self.save(tensor)).transpose()?);
        }
        let targets = (told.targets.len() - first) as u16;
        let kept = keep.len() as u32;
        told.formulas.parts.push(Part { formula, first_target: first as u16, targets, first_kept, kept });
        Ok(())
    }

    fn save(&self, tensor: &Tensor) -> Result<Saved> {
        if let Some(output) = self.results.iter().position(|result| result.is_same(tensor)) {
            return match self.written {
                Some(_) => Saved::unwritten_result(tensor, output),
                None => Saved::result(tensor, output),
            };
        }
        if self.written.is_some_and(|written| written.is_same(tensor)) {
            Saved::copied(tensor)
        } else {
            Saved::argument(tensor, self.name_of(tensor))
        }
    }

    /// The argument's place in the schema.
    fn name_of(&self, tensor: &Tensor) -> usize {
        let is_it = |value: &ValueRef<'_>| match value.view() {
            ValueView::Tensor(other) => other.is_same(tensor.as_any()),
            ValueView::Tensors(list) => list.iter().any(|other| other.is_same(tensor.as_any())),
            _ => false,
        };
        self.args.iter().position(is_it).unwrap_or(usize::MAX)
    }
}

// One copy of each of these for every number of tensors, not for every formula.

fn all_kept<const N: usize>(keep: [&Tensor; N]) -> [Option<&Tensor>; N] {
    keep.map(Some)
}

fn all_there<const N: usize>(kept: &[Option<Tensor>]) -> [Option<&Tensor>; N] {
    array::from_fn(|place| kept[place].as_ref())
}

fn all_present<const N: usize>(kept: &[Option<Tensor>]) -> [&Tensor; N] {
    array::from_fn(|place| kept[place].as_ref().expect("`by` keeps tensors that are there"))
}

/// The gradient of the only argument.
fn only(gradient: Result<Option<Tensor>>) -> Result<SmallVec<[Option<Tensor>; 1]>> {
    Ok(smallvec![gradient?])
}

/// A formula over values, of arguments of which some need a gradient.
pub(super) fn formula_of_values(
    needs: Vec<bool>,
    held: Option<Foreign>,
    formula: impl Fn(Gradients<'_>, &[Tensor]) -> Result<Vec<Option<Tensor>>> + Send + Sync + 'static,
) -> Formula {
    let formula = move |grads: Gradients<'_>, kept: &[Option<Tensor>], _: &Arc<Node>| -> Result<Given> {
        let kept: Vec<Tensor> = kept.iter().flatten().cloned().collect();
        let all = formula(grads, &kept)?;
        check_count(all.len(), needs.len())?;
        Ok(all.into_iter().zip(&needs).filter(|(_, needs)| **needs).map(|(grad, _)| grad).collect())
    };
    match held {
        Some(held) => formula_with(held, formula),
        None => formula_of(formula),
    }
}

/// # Errors
///
/// A formula that gave more or fewer gradients than there are arguments.
pub(super) fn check_count(found: usize, expected: usize) -> Result<()> {
    if found == expected {
        Ok(())
    } else {
        Err(refused(format!(
            "the derivative returned {found} gradients, expected {expected}, one for each argument; \
             return `None` for those without one"
        )))
    }
}

/// The derivative of a view: zeros, with the gradient where the view has its elements.
pub(super) fn of_view(recorder: &Recorder<'_>, args: &[ValueRef<'_>]) -> Result<()> {
    let rule = recorder.operator.column::<ViewRule>()?;
    let base = args.first().and_then(|value| Tensor::from_any_ref(value.as_tensor()?));
    let (Some(rule), Some(base)) = (rule, base) else {
        return Err(Error::new(
            ErrorKind::NotImplemented,
            "gradients do not pass through it: it is a view without a view rule; give it one, or a \
             derivative",
        ));
    };
    rule.check_base(base)?;
    let (sizes, dtype, operator) = (base.sizes().to_vec(), base.dtype(), recorder.operator.clone());
    let args: Vec<Value> = args.iter().map(|value| value.to_value()).enumerate().map(without_base).collect();
    recorder.by_all(base, [], move |grads, []| {
        let Some(like) = grads.all().iter().flatten().next() else { return Ok(None) };
        let zeros = NewZeros.call(like, &sizes, Some(dtype), None, None, None)?;
        for (index, grad) in grads.all().iter().enumerate() {
            if let Some(grad) = grad {
                CopyInplace.call(&view_again(&rule, &operator, &zeros, &args, index)?, grad, false)?;
            }
        }
        Ok(Some(zeros))
    })
}

/// The view of another base, or the one at `index` of a list.
fn view_again(
    rule: &ViewRule,
    operator: &OperatorHandle,
    base: &Tensor,
    args: &[Value],
    index: usize,
) -> Result<Tensor> {
    if base.any_wrapper().is_none() {
        return rule.replay(base, &args.iter().map(Value::borrow).collect::<Vec<_>>(), index);
    }
    // Only the layer knows how to view its tensor.
    let mut args = args.to_vec();
    args[0] = base.into();
    let mut views = Vec::new();
    let given = operator.call_values(args)?;
    let given: Vec<_> = given.iter().map(Value::borrow).collect();
    each_tensor(&given, &mut |view| views.push(view.clone()));
    views
        .into_iter()
        .nth(index)
        .ok_or_else(|| refused(format!("{} returned no view {index}", operator.name())))
}

/// The arguments without the first, which leads to the graph.
fn without_base((at, value): (usize, Value)) -> Value {
    if at == 0 { Value::None } else { value }
}
