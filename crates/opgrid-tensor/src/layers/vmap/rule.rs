//! The column `batching rule`: how an operator does a whole batch at once.

use opgrid_core::schema::{Argument, FunctionSchema};
use opgrid_core::{
    BoxedCall, Column, Dispatcher, Forms, List, MemoryFormat, OperatorHandle, Result, TensorType, Value,
    ValueRef, ValueView,
};

use super::Batch;
use crate::error::argument;
use crate::families::Carries;
use crate::layers::levels::{Level, each_tensor, map_all, map_tensors};
use crate::ops::{CloneTensor, CopyInplace};
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

    /// The rule that another operator runs batches. It takes the same arguments, in which batched tensors have the examples along dimension 0,
    /// and an `int[]` behind them, with 0 for each batched tensor and -1 for each other one; its results are those of the batch.
    pub fn by_operator(name: &str) -> Self {
        let name = name.to_owned();
        Self::new(move |call| {
            let operator = Dispatcher::current().find(&name)?;
            let (level, mut dims) = (call.level().clone(), Vec::new());
            let mut args = map_all(call.args(), &mut |tensor| {
                dims.push(if level.behind(tensor).is_some() { 0 } else { -1 });
                Ok(level.inner_of(tensor))
            })?;
            args.push(List::Ints(dims).into());
            operator.call_values(args)?.into_iter().try_for_each(|result| call.push(result))
        })
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
    /// The call as one at a level that is a batch.
    pub fn new(call: &'c mut BoxedCall<'b>, level: Level) -> Self {
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

    /// What the operator carries of a property.
    pub fn column<C: Column>(&self) -> Option<&'c C> {
        self.call.column()
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

    /// Whether the operator writes an argument.
    pub fn writes(&self) -> bool {
        self.schema().is_some_and(|schema| schema.arguments.iter().any(Argument::is_write))
    }

    /// Whether the operator writes arguments that are there for its results.
    pub fn writes_outputs(&self) -> bool {
        self.schema().is_some_and(|schema| schema.arguments.iter().any(Argument::is_out))
    }

    /// Has the form of the operator that gives new results compute, and writes these results where they belong.
    ///
    /// # Errors
    ///
    /// Those of the other form; an operator without one, or a target that has other sizes than the result.
    pub fn through_functional(&mut self) -> Result<()> {
        let forms = self.call.column::<Forms>().filter(|forms| &forms.functional != self.operator().name());
        let (Some(forms), Some(schema)) = (forms, self.schema()) else { return self.one_by_one() };
        let functional = Dispatcher::current().find(&forms.functional.to_string())?;
        let declared = functional.schema()?;
        let value = |(at, declared): (usize, &Argument)| {
            let own = schema.argument_index(&declared.name).unwrap_or(at);
            self.args().get(own).map_or(Value::None, |value| value.to_value())
        };
        let args = declared.arguments.iter().enumerate().map(value).collect();
        let (mut results, mut targets) = (Vec::new(), Vec::new());
        let computed = functional.call_values(args)?;
        each_tensor(&computed.iter().map(Value::borrow).collect::<Vec<_>>(), &mut |it| {
            results.push(it.clone())
        });
        let is_target =
            |declared: &Argument| if self.writes_outputs() { declared.is_out() } else { declared.is_write() };
        let written = schema.arguments.iter().zip(self.args()).filter(|(declared, _)| is_target(declared));
        let written: Vec<_> = written.map(|(_, value)| *value).collect();
        each_tensor(&written, &mut |target| targets.push(target.clone()));
        for (target, result) in targets.iter().zip(&results) {
            if target.sizes() != result.sizes() {
                return Err(argument(format!(
                    "the result has sizes {:?}, and a tensor that stands for the examples of a batch, of sizes {:?}, \
                     cannot get others; use `{}`",
                    result.sizes(),
                    target.sizes(),
                    forms.functional
                )));
            }
            CopyInplace.call(target, result, false)?;
        }
        written.iter().for_each(|value| self.call.push(value.to_value()));
        Ok(())
    }

    /// Leaves the argument that the call writes as its result.
    ///
    /// # Errors
    ///
    /// It writes none.
    pub fn give_back(&mut self) -> Result<()> {
        let written = self.schema().and_then(|schema| schema.arguments.iter().position(Argument::is_write));
        let Some(target) = written.and_then(|at| self.args().get(at)) else {
            return Err(argument("it writes no argument that it could return"));
        };
        self.call.push(target.to_value());
        Ok(())
    }

    /// Whether there are examples, and none has an element.
    pub(super) fn is_of_no_elements(&self) -> bool {
        let (mut is_any, mut has_any) = (false, false);
        each_tensor(self.args(), &mut |tensor| {
            is_any |= self.level.behind(tensor).is_some();
            has_any |= self
                .level
                .behind(tensor)
                .is_some_and(|leveled| leveled.inner().sizes()[1..].iter().all(|size| *size != 0));
        });
        is_any && !has_any && self.size != 0 && !self.writes()
    }

    /// Calls the operator for the first example, which the others are like.
    ///
    /// # Errors
    ///
    /// Those of the operator.
    pub(super) fn all_as_one(&mut self) -> Result<()> {
        let args = map_all(self.args(), &mut |tensor| match self.level.behind(tensor) {
            Some(leveled) => leveled.inner().select(0, 0),
            None => Ok(tensor.clone()),
        })?;
        for result in self.operator().call_values(args)? {
            // Each has its own, which may be written.
            let of_all = map_tensors(result.borrow(), &mut |result| {
                let of_all = self.stretched(result)?;
                if of_all.is_defined() {
                    CloneTensor.call(&of_all, Some(MemoryFormat::Contiguous))
                } else {
                    Ok(of_all)
                }
            })?;
            self.push(of_all)?;
        }
        Ok(())
    }

    /// Calls the operator for each example, which is counted as a slow path: for arguments that a rule has no answer to.
    ///
    /// # Errors
    ///
    /// Those of the operator; one that writes an argument, or has no examples.
    pub fn one_by_one(&mut self) -> Result<()> {
        super::one_by_one(self.call, &self.level)
    }

    /// Leaves results that say what examples would have, where there are none.
    ///
    /// # Errors
    ///
    /// Those of the operator; one without a shape rule.
    pub fn without_examples(&mut self) -> Result<()> {
        super::without_examples(self.call, &self.level)
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

    /// Leaves one more result that is the same for all examples.
    pub fn push_same(&mut self, result: Value) {
        self.call.push(result);
    }

    /// Returns the call as one of another level that is a batch.
    pub fn at(&mut self, level: Level) -> BatchedCall<'_, 'b> {
        BatchedCall::new(self.call, level)
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
