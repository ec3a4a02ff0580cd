//! The column `batching rule`: how an operator does a whole batch at once.

use opgrid_core::schema::{Argument, Type};
use opgrid_core::{BoxedCall, Column, List, Result, Returns, TensorType, Value, ValueRef, ValueView};

use super::Batched;
use crate::error::argument;
use crate::families::{Carries, ShapeRule};
use crate::ops::Matmul;
use crate::tensor::Tensor;

/// A rule over a call.
type BatchingFn = dyn Fn(&mut BatchedCall<'_, '_>) -> Result<()> + Send + Sync;

/// An operator's batching rule. It sees tensors whose dimension 0 is that of the batch, and leaves results that have it too.
pub struct BatchingRule(Box<BatchingFn>);

impl BatchingRule {
    /// A rule.
    pub fn new(rule: impl Fn(&mut BatchedCall<'_, '_>) -> Result<()> + Send + Sync + 'static) -> Self {
        Self(Box::new(rule))
    }

    pub(super) fn apply(&self, call: &mut BatchedCall<'_, '_>) -> Result<()> {
        (self.0)(call)
    }
}

impl Column for BatchingRule {
    const NAME: &'static str = "batching rule";
}

/// States batching rules where operators are defined.
pub trait DefineBatching: Carries {
    /// The operator's rule, where it is another one than its kind's.
    #[track_caller]
    fn batching(self, rule: impl Fn(&mut BatchedCall<'_, '_>) -> Result<()> + Send + Sync + 'static) -> Self {
        self.carry(BatchingRule::new(rule))
    }
}

impl<B: Carries> DefineBatching for B {}

/// A call with batched tensors among its arguments.
pub struct BatchedCall<'c, 'b> {
    pub(super) call: &'c mut BoxedCall<'b>,
    pub(super) size: i64,
    pub(super) level: u32,
}

impl<'b> BatchedCall<'_, 'b> {
    /// The arguments as they are, in the order of the schema.
    pub fn args(&self) -> &'b [ValueRef<'b>] {
        self.call.args()
    }

    /// How large the batch is.
    pub fn size(&self) -> i64 {
        self.size
    }

    /// Argument number `index` as a tensor, and whether its dimension 0 is that of the batch.
    pub fn tensor(&self, index: usize) -> Option<(Tensor, bool)> {
        let tensor = Tensor::from_any_ref(self.args().get(index)?.as_tensor()?)?;
        Some(self.physical(tensor))
    }

    fn physical(&self, tensor: &Tensor) -> (Tensor, bool) {
        match tensor.wrapper::<Batched>().filter(|batched| batched.level == self.level) {
            Some(batched) => (batched.inner.clone(), true),
            None => (tensor.clone(), false),
        }
    }

    /// The most dimensions that a tensor among the arguments has, apart from that of the batch.
    pub fn rank(&self) -> usize {
        let tensors = self.args().iter().filter_map(|value| Tensor::from_any_ref(value.as_tensor()?));
        tensors.map(Tensor::dim).max().unwrap_or(0)
    }

    /// Calls the operator with these arguments; its results are those of the whole batch.
    ///
    /// # Errors
    ///
    /// Those of the operator.
    pub fn call_with(&mut self, args: Vec<Value>) -> Result<()> {
        let args: Vec<_> = args.iter().map(Value::borrow).collect();
        let mut returns = Returns::new();
        self.call.operator().call_boxed(&args, &mut returns)?;
        let written =
            self.call.schema().and_then(|schema| schema.arguments.iter().position(Argument::is_write));
        match written.and_then(|at| self.args().get(at)) {
            // What was written is an argument, and stays the tensor that the caller has.
            Some(target) => self.call.push(target.to_value()),
            None => returns.into_vec().into_iter().try_for_each(|result| self.push(result))?,
        }
        Ok(())
    }

    /// Calls the operator for each example, which is counted as a slow path: for arguments that a rule has no answer to.
    ///
    /// # Errors
    ///
    /// Those of the operator; one that writes an argument, or has no examples.
    pub fn one_by_one(&mut self) -> Result<()> {
        super::one_by_one(self.call, self.level, self.size)
    }

    /// Argument number `index` as a tensor of `rank` dimensions behind that of the batch, if it is a batched tensor; those
    /// that it lacks have size 1.
    ///
    /// # Errors
    ///
    /// Those of the views.
    pub fn aligned(&self, index: usize, rank: usize) -> Result<Option<Tensor>> {
        let Some((mut tensor, true)) = self.tensor(index) else { return Ok(None) };
        for _ in tensor.dim()..=rank {
            tensor = tensor.unsqueeze(1)?;
        }
        Ok(Some(tensor))
    }

    /// Leaves one more result, a tensor with the batch as its dimension 0.
    ///
    /// # Errors
    ///
    /// It is none.
    pub fn push(&mut self, result: Value) -> Result<()> {
        let result = Tensor::try_from(result)?;
        let found = result.sizes().first().copied();
        if found != Some(self.size) {
            let (size, sizes) = (self.size, result.sizes());
            return Err(argument(format!(
                "the batching rule returned a result of sizes {sizes:?}, expected {size} examples \
                 along dimension 0"
            )));
        }
        self.call.push(super::batched(result, self.level)?);
        Ok(())
    }

    /// The argument with tensors in place of batched ones; of lists too, whose other tensors are stretched to the batch.
    ///
    /// # Errors
    ///
    /// Those of stretching.
    pub fn plain(&self, value: ValueRef<'_>) -> Result<Value> {
        if let ValueView::Tensors(list) = value.view() {
            let one = |tensor: &opgrid_core::AnyTensor| {
                let Some(tensor) = Tensor::from_any_ref(tensor) else { return Ok(tensor.clone()) };
                Ok(self.stretched(tensor)?.into_any())
            };
            return Ok(List::Tensors(list.iter().map(one).collect::<Result<_>>()?).into());
        }
        Ok(match value.as_tensor().and_then(Tensor::from_any_ref) {
            Some(tensor) => self.physical(tensor).0.into(),
            None => value.to_value(),
        })
    }

    /// The tensor with the dimension of the batch, stretched along it if it has none.
    fn stretched(&self, tensor: &Tensor) -> Result<Tensor> {
        match self.physical(tensor) {
            (tensor, true) => Ok(tensor),
            (tensor, false) => tensor.expand(&[&[self.size], tensor.sizes()].concat()),
        }
    }
}

/// Element-wise operators: dimensions of size 1 behind that of the batch line the shapes up.
pub(super) fn pointwise(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    let rank = call.rank();
    let args = call.args().iter().enumerate();
    let args = args.map(|(at, value)| match call.aligned(at, rank)? {
        Some(aligned) => Ok(aligned.into()),
        None => call.plain(*value),
    });
    let args = args.collect::<Result<_>>()?;
    call.call_with(args)
}

/// The arguments that name dimensions or sizes, by which a rule knows what to shift.
const OF_DIMENSIONS: [&str; 8] = ["dim", "dim0", "dim1", "start_dim", "end_dim", "dims", "size", "shape"];

/// Operators along dimensions that arguments name: the batch is one more in front of them. One that names none, or whose
/// strides are numbers, runs for each example.
pub(super) fn along_dimensions(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    let Some(schema) = call.call.schema() else { return call.one_by_one() };
    let Some((first, true)) = call.tensor(0) else { return call.one_by_one() };
    let rank = first.dim() as i64 - 1;
    let more = i64::from(call.call.operator().name().base() == "unsqueeze");
    let shifted = |dim: i64| if dim < 0 { dim + rank + more + 1 } else { dim + 1 };
    let (mut args, mut is_known) = (Vec::with_capacity(schema.arguments.len()), false);
    for (value, declared) in call.args().iter().zip(&schema.arguments) {
        let name = declared.name.as_str();
        is_known |= OF_DIMENSIONS.contains(&name);
        args.push(match (name, value.view()) {
            ("dim" | "dim0" | "dim1" | "start_dim" | "end_dim", ValueView::Int(dim)) => shifted(dim).into(),
            ("dim", ValueView::Ints(dims)) if !dims.is_empty() => {
                dims.iter().map(|dim| shifted(*dim)).collect::<Vec<_>>().into()
            }
            // All dimensions but that of the batch, unless they are flattened first.
            ("dim", ValueView::None) if *declared.real_type.without_optional() == Type::Int => {
                return call.one_by_one();
            }
            ("dim", ValueView::None | ValueView::Ints(_)) if rank > 0 => {
                (1..=rank).collect::<Vec<_>>().into()
            }
            // No dimensions would mean all, that of the batch included.
            ("dim", ValueView::None | ValueView::Ints(_)) => return call.one_by_one(),
            ("dims", ValueView::Ints(dims)) => {
                let dims = dims.iter().map(|dim| shifted(*dim));
                [0].into_iter().chain(dims).collect::<Vec<_>>().into()
            }
            ("size" | "shape", ValueView::Ints(sizes)) => [&[call.size], sizes].concat().into(),
            ("stride", _) => return call.one_by_one(),
            _ => call.plain(*value)?,
        });
    }
    if is_known { call.call_with(args) } else { call.one_by_one() }
}

/// Products of two stacks of matrices: `matmul` has batches.
pub(super) fn product(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    let is_of_two = call.args().len() == 2;
    let (Some((a, _)), Some((b, _)), true) = (call.tensor(0), call.tensor(1), is_of_two) else {
        return call.one_by_one();
    };
    let examples = call.args().iter().filter_map(|value| Tensor::from_any_ref(value.as_tensor()?));
    if examples.clone().any(|example| example.dim() < 2) {
        return call.one_by_one();
    }
    // What one example refuses is refused.
    let rule = call.call.column::<ShapeRule>();
    rule.map(|rule| rule.apply(call.args())).transpose()?;
    let product = Matmul.call(&a, &b)?;
    call.push(product.into())
}
