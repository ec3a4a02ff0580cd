//! The column `batching rule`: how an operator does a whole batch at once.

use opgrid_core::schema::{Argument, FunctionSchema, Type};
use opgrid_core::{BoxedCall, Column, OperatorHandle, Result, TensorType, Value, ValueRef, ValueView};

use super::Batch;
use crate::error::argument;
use crate::families::{Carries, ShapeRule};
use crate::layers::levels::{Level, each_tensor, map_tensors};
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
    call: &'c mut BoxedCall<'b>,
    size: i64,
    level: Level,
}

impl<'c, 'b> BatchedCall<'c, 'b> {
    pub(super) fn new(call: &'c mut BoxedCall<'b>, level: Level) -> Self {
        let size = level.transform_as::<Batch>().map_or(0, Batch::size);
        Self { call, size, level }
    }

    /// The operator.
    pub fn operator(&self) -> &'c OperatorHandle {
        self.call.operator()
    }

    /// The operator's schema, if it is defined.
    pub fn schema(&self) -> Option<&'c FunctionSchema> {
        self.call.schema()
    }

    /// The level of the batch.
    pub fn level(&self) -> &Level {
        &self.level
    }

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
        match self.level.behind(tensor) {
            Some(leveled) => (leveled.inner().clone(), true),
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
        self.call_and(args, &mut |result| Ok(result.clone()))
    }

    /// As [`call_with`](Self::call_with), with something done to each tensor among the results.
    ///
    /// # Errors
    ///
    /// Those of the operator, and of `finish`.
    pub fn call_and(
        &mut self,
        args: Vec<Value>,
        finish: &mut dyn FnMut(&Tensor) -> Result<Tensor>,
    ) -> Result<()> {
        let results = self.operator().call_values(args)?;
        let written = self.schema().and_then(|schema| schema.arguments.iter().position(Argument::is_write));
        match written.and_then(|at| self.args().get(at)) {
            // What was written is an argument, and stays the tensor that the caller has.
            Some(target) => self.call.push(target.to_value()),
            None => {
                for result in results {
                    let result = map_tensors(result.borrow(), finish)?;
                    self.push(result)?;
                }
            }
        }
        Ok(())
    }

    /// How many dimensions an example has of the first tensor among the arguments.
    pub fn example_rank(&self) -> Option<i64> {
        let mut rank = None;
        each_tensor(self.args(), &mut |tensor| rank = rank.or(Some(tensor.dim() as i64)));
        rank
    }

    /// Calls the operator for each example, which is counted as a slow path: for arguments that a rule has no answer to.
    ///
    /// # Errors
    ///
    /// Those of the operator; one that writes an argument, or has no examples.
    pub fn one_by_one(&mut self) -> Result<()> {
        super::one_by_one(self.call, &self.level)
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

    /// Leaves one more result: a tensor with the batch as its dimension 0, or a list of such. What is no tensor is the same for all
    /// examples.
    ///
    /// # Errors
    ///
    /// A tensor with another dimension 0.
    pub fn push(&mut self, result: Value) -> Result<()> {
        let result = map_tensors(result.borrow(), &mut |result| {
            if !result.is_defined() {
                return Ok(result.clone());
            }
            let found = result.sizes().first().copied();
            if found != Some(self.size) {
                let (size, sizes) = (self.size, result.sizes());
                return Err(argument(format!(
                    "the batching rule returned a result of sizes {sizes:?}, expected {size} examples \
                     along dimension 0"
                )));
            }
            super::batched(result.clone(), &self.level)
        })?;
        self.call.push(result);
        Ok(())
    }

    /// The argument with tensors in place of batched ones; of lists too, whose other tensors are stretched to the batch.
    ///
    /// # Errors
    ///
    /// Those of stretching.
    pub fn plain(&self, value: ValueRef<'_>) -> Result<Value> {
        match value.view() {
            ValueView::Tensor(_) => map_tensors(value, &mut |tensor| Ok(self.physical(tensor).0)),
            _ => self.stretched_all(value),
        }
    }

    /// The argument with tensors that have the dimension of the batch, stretched along it if they are the same for all examples.
    ///
    /// # Errors
    ///
    /// Those of stretching.
    pub fn stretched_all(&self, value: ValueRef<'_>) -> Result<Value> {
        map_tensors(value, &mut |tensor| self.stretched(tensor))
    }

    /// The tensor with the dimension of the batch, stretched along it if it has none.
    ///
    /// # Errors
    ///
    /// Those of stretching.
    pub fn stretched(&self, tensor: &Tensor) -> Result<Tensor> {
        match self.physical(tensor) {
            (tensor, false) if tensor.is_defined() => tensor.expand(&[&[self.size], tensor.sizes()].concat()),
            (tensor, _) => Ok(tensor),
        }
    }
}

/// Element-wise operators: dimensions of size 1 behind that of the batch line the shapes up.
pub fn pointwise(call: &mut BatchedCall<'_, '_>) -> Result<()> {
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
const OF_DIMENSIONS: [&str; 9] =
    ["dim", "dim0", "dim1", "dim2", "dimension", "start_dim", "end_dim", "size", "shape"];

/// Operators along dimensions that arguments name: the batch is one more in front of them. A tensor without dimensions gets one.
/// One that names none runs for each example.
pub fn along_dimensions(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    let Some(schema) = call.schema() else { return call.one_by_one() };
    if !schema.arguments.iter().any(|it| it.name == "dims" || OF_DIMENSIONS.contains(&it.name.as_str())) {
        return call.one_by_one();
    }
    let Some(rank) = call.example_rank() else { return call.one_by_one() };
    let gets_dim = rank == 0 && !schema.arguments.iter().any(|it| it.name == "size" || it.name == "shape");
    let rank = if gets_dim { 1 } else { rank };
    let more = i64::from(call.operator().name().base() == "unsqueeze");
    let rank = if gets_dim && more == 1 { 0 } else { rank };
    let shifted = |dim: i64| if dim < 0 { dim + rank + more + 1 } else { dim + 1 };
    let mut is_flattened = false;
    let mut args = Vec::with_capacity(schema.arguments.len());
    for (value, declared) in call.args().iter().zip(&schema.arguments) {
        let name = declared.name.as_str();
        let is_one = *declared.real_type.without_optional() == Type::Int;
        args.push(match (name, value.view()) {
            (
                "dim" | "dim0" | "dim1" | "dim2" | "dimension" | "start_dim" | "end_dim",
                ValueView::Int(dim),
            ) => {
                // What one example refuses is refused.
                if !(-rank - more..rank + more).contains(&dim) {
                    return call.one_by_one();
                }
                shifted(dim).into()
            }
            ("dim" | "dims", ValueView::Ints(dims)) if name == "dims" || !dims.is_empty() => {
                if dims.iter().any(|dim| !(-rank..rank).contains(dim)) {
                    return call.one_by_one();
                }
                let front =
                    if name == "dims" && call.operator().name().base() == "permute" { 0..1 } else { 0..0 };
                front.chain(dims.iter().map(|dim| shifted(*dim))).collect::<Vec<_>>().into()
            }
            // All dimensions but that of the batch, flattened to one.
            ("dim", ValueView::None) if is_one => {
                is_flattened = true;
                Value::Int(1)
            }
            ("dim", ValueView::None | ValueView::Ints(_)) => (1..=rank).collect::<Vec<_>>().into(),
            ("size" | "shape", ValueView::Ints(sizes)) => [&[call.size], sizes].concat().into(),
            _ => map_tensors(*value, &mut |tensor| {
                let tensor = call.stretched(tensor)?;
                let lacks_dim = gets_dim && more == 0 && tensor.is_defined() && tensor.dim() == 1;
                if lacks_dim { tensor.unsqueeze(1) } else { Ok(tensor) }
            })?,
        });
    }
    let keeps = |(at, value): (usize, &ValueRef<'_>)| {
        schema.arguments[at].name == "keepdim" && value.as_bool() == Some(true)
    };
    let keepdim = call.args().iter().enumerate().any(keeps);
    if is_flattened {
        let Some(first) = args.iter_mut().find(|value| matches!(value, Value::Tensor(_))) else {
            return call.one_by_one();
        };
        let input = Tensor::try_from(first.clone())?;
        *first = input.reshape([call.size, -1])?.into();
    }
    if !gets_dim && !is_flattened {
        return call.call_with(args);
    }
    let size = call.size;
    call.call_and(args, &mut |result| match (is_flattened && keepdim, gets_dim && more == 0) {
        (true, _) => result.reshape([vec![size], vec![1; if gets_dim { 0 } else { rank as usize }]].concat()),
        (_, true) if result.dim() == 2 && result.sizes()[1] == 1 => result.squeeze(1),
        _ => Ok(result.clone()),
    })
}

/// Products of two stacks of matrices: `matmul` has batches.
pub fn product(call: &mut BatchedCall<'_, '_>) -> Result<()> {
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
