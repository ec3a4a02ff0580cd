//! The column `derivative`: how the gradient of a result becomes gradients of the arguments.

use opgrid_core::operator::ArgsOf;
use opgrid_core::{Column, Operator, OperatorHandle, Result, Signature, TensorType, Value, ValueRef};

use crate::error::argument;
use crate::families::{Carries, ViewRule};
use crate::ops::{CopyInplace, SumDim, View};
use crate::tensor::Tensor;

/// Takes the gradient of the result to those of the tensors among the arguments, in the order of the schema; `None` for
/// one that has none.
pub type Pullback = Box<dyn Fn(&Tensor) -> Result<Vec<Option<Tensor>>> + Send + Sync>;

/// A rule over values.
type Rule = dyn Fn(&Recording<'_>, &[ValueRef<'_>], &Tensor) -> Result<Pullback> + Send + Sync;

/// An operator's derivative. It is asked after the operator has run, with its arguments and result, and keeps what it
/// needs of them for the way back.
pub struct Derivative(Box<Rule>);

impl Derivative {
    /// A derivative over typed arguments.
    pub fn typed<S: Signature>(
        rule: impl for<'a> Fn(&Recording<'_>, S::Args<'a>, &'a Tensor) -> Result<Pullback> + Send + Sync + 'static,
    ) -> Self {
        Self::of_values(move |recording, values, result| {
            S::unpack(values, |args| rule(recording, S::shorten(args), result))?
        })
    }

    /// A derivative over values, for operators that are defined at run time.
    pub fn of_values(
        rule: impl Fn(&Recording<'_>, &[ValueRef<'_>], &Tensor) -> Result<Pullback> + Send + Sync + 'static,
    ) -> Self {
        Self(Box::new(rule))
    }

    /// Keeps what the way back needs.
    ///
    /// # Errors
    ///
    /// Those of the rule.
    pub fn record(
        &self,
        recording: &Recording<'_>,
        args: &[ValueRef<'_>],
        result: &Tensor,
    ) -> Result<Pullback> {
        (self.0)(recording, args, result)
    }
}

impl Column for Derivative {
    const NAME: &'static str = "derivative";
}

/// What a rule keeps tensors with.
pub struct Recording<'r> {
    pub(super) operator: &'r OperatorHandle,
    /// The argument that the operator has written, if it has.
    pub(super) written: Option<&'r Tensor>,
}

impl Recording<'_> {
    /// Keeps an argument. If it was written since, its value is lost, and asking for it is an error.
    pub fn save(&self, tensor: &Tensor) -> Saved {
        let is_written = self.written.is_some_and(|written| written.is_same(tensor));
        Saved::new(self.operator, tensor, !is_written)
    }

    /// Keeps the result, which an in-place operator has written to its first argument.
    pub fn save_result(&self, result: &Tensor) -> Saved {
        Saved::new(self.operator, result, true)
    }
}

/// A tensor that a derivative needs, as it was.
pub struct Saved {
    operator: OperatorHandle,
    tensor: Tensor,
    /// `None` where it was written before it could be kept.
    version: Option<u64>,
}

impl Saved {
    fn new(operator: &OperatorHandle, tensor: &Tensor, is_as_it_was: bool) -> Self {
        // Another handle of the memory: the tensor's own leads to the graph, and the graph leads here.
        let detached = super::detach(tensor);
        Self { operator: operator.clone(), version: is_as_it_was.then(|| tensor.version()), tensor: detached }
    }

    /// The tensor.
    ///
    /// # Errors
    ///
    /// It was written since.
    pub fn get(&self) -> Result<&Tensor> {
        if self.version == Some(self.tensor.version()) {
            return Ok(&self.tensor);
        }
        let name = self.operator.name();
        Err(argument(format!(
            "{name}: a tensor of shape {:?} that the derivative needs was written in place after the call; use the \
             operator that makes a new tensor there, or clone it first",
            self.tensor.sizes()
        )))
    }
}

/// States derivatives where operators are defined.
pub trait DefineDerivative: Carries {
    /// The operator's derivative; its in-place form has the same.
    #[track_caller]
    fn derivative(
        self,
        rule: impl for<'a> Fn(&Recording<'_>, ArgsOf<'a, Self::Operator>, &'a Tensor) -> Result<Pullback>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        self.carry(Derivative::typed::<<Self::Operator as Operator>::Signature>(rule))
    }
}

impl<B: Carries> DefineDerivative for B {}

/// A pullback of a function.
pub fn pullback(
    function: impl Fn(&Tensor) -> Result<Vec<Option<Tensor>>> + Send + Sync + 'static,
) -> Result<Pullback> {
    Ok(Box::new(function))
}

/// The derivative of a view: zeros, with the gradient where the view has its elements.
pub(super) fn of_view(
    recording: &Recording<'_>,
    args: &[ValueRef<'_>],
    _result: &Tensor,
) -> Result<Pullback> {
    let rule = recording.operator.column::<ViewRule>()?;
    let base = args.first().and_then(|value| Tensor::from_any_ref(value.as_tensor()?));
    let (Some(rule), Some(base)) = (rule, base) else {
        let name = recording.operator.name();
        return Err(argument(format!("{name}: the view has no view rule; give it one, or a derivative")));
    };
    rule.check_base(base)?;
    let (sizes, dtype, device) = (base.sizes().to_vec(), base.dtype(), base.device());
    let args: Vec<Value> = args.iter().map(|value| value.to_value()).enumerate().map(without_base).collect();
    pullback(move |grad| {
        let zeros = Tensor::zeros(&sizes, dtype, device)?;
        let args: Vec<_> = args.iter().map(Value::borrow).collect();
        CopyInplace.call(&rule.replay(&zeros, &args, 0)?, grad, false)?;
        Ok(vec![Some(zeros)])
    })
}

/// The arguments without the first, which leads to the graph.
fn without_base((at, value): (usize, Value)) -> Value {
    if at == 0 { Value::None } else { value }
}

/// The sum of a gradient over the dimensions that an argument of these sizes was stretched along.
///
/// # Errors
///
/// Those of the operators; sizes that do not broadcast to the gradient's.
pub fn sum_to(grad: &Tensor, sizes: &[i64]) -> Result<Tensor> {
    if grad.sizes() == sizes {
        return Ok(grad.clone());
    }
    let more = grad.dim().saturating_sub(sizes.len());
    let stretched = |at: &usize| *at < more || sizes[at - more] == 1 && grad.sizes()[*at] != 1;
    let dims: Vec<i64> = (0..grad.dim()).filter(stretched).map(|at| at as i64).collect();
    let sum = match dims.is_empty() {
        true => grad.clone(),
        false => SumDim.call(grad, Some(&dims), true, None)?,
    };
    View.call(&sum, sizes)
}
