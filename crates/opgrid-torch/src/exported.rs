//! An operator of ours as torch calls it.
#![allow(unsafe_code)]

use opgrid::dispatch::schema::{Argument, FunctionSchema, Type};
use opgrid::dispatch::{Returns, TensorType, ValueRef, ValueView};
use opgrid::layers::autograd::{self, BackwardOptions};
use opgrid::{Error, ErrorKind, OperatorHandle, Result, Tensor, Value};
use smallvec::SmallVec;

use crate::abi::Torch;
use crate::encoding::{Kind, Kinds, Read, Words, encode};
use crate::tensors::{Given, Inputs};

/// What a function of the pool stands for.
pub(crate) struct Exported {
    torch: &'static Torch,
    name: String,
    operator: OperatorHandle,
    /// How the words are to be read and written: those of a derivative begin with the gradients and what needs one.
    arguments: Box<[Kind]>,
    results: Box<[Kind]>,
    /// Which results may share memory with an argument.
    aliases: Box<[bool]>,
    /// The names of the operator's own arguments.
    names: Box<[String]>,
    writes: bool,
    what: What,
}

/// Which way it runs.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum What {
    /// The operator itself.
    Operator,
    /// The gradients of some of its arguments, from those of its results.
    Derivative,
}

/// How many arguments of a derivative come before those of its operator.
const BEFORE: usize = 2;

impl Exported {
    /// # Errors
    ///
    /// An argument or result of a type that cannot cross.
    pub(crate) fn new(
        torch: &'static Torch,
        operator: &OperatorHandle,
        schema: &FunctionSchema,
        what: What,
    ) -> Result<Self> {
        let own = operator.schema()?;
        let names = own.arguments.iter().map(|argument| argument.name.clone()).collect();
        Ok(Self {
            torch,
            name: schema.name.to_string(),
            operator: operator.clone(),
            arguments: kinds_of(schema, "argument", &schema.arguments)?,
            results: kinds_of(schema, "result", &schema.returns)?,
            aliases: schema.returns.iter().map(|result| result.alias.is_some()).collect(),
            names,
            writes: schema.arguments.iter().any(Argument::is_write),
            what,
        })
    }

    pub(crate) fn torch(&self) -> &'static Torch {
        self.torch
    }

    /// The name in torch.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Reads the arguments, runs, and writes the results.
    ///
    /// # Safety
    ///
    /// `words` are arguments of the schema that this was made for, encoded for it, which the caller gives away, and have room
    /// for the results.
    ///
    /// # Errors
    ///
    /// Those of the operator; an argument that cannot cross.
    pub(crate) unsafe fn run(&self, words: &mut [u64]) -> Result<()> {
        let mut inputs = Inputs::new(self.torch, self.writes);
        let given = words.get(..self.arguments.len()).unwrap_or_default();
        // SAFETY: guaranteed by the caller, see `# Safety`.
        let mut given = unsafe { Words::from_raw(self.torch, Kinds::Each(&self.arguments), given) };
        let mut args: SmallVec<[Read; 6]> = SmallVec::new();
        loop {
            match given.read(&mut inputs, &mut args) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => return Err(self.at_argument(args.len(), error)),
            }
        }
        // All are taken; their places are those of the results.
        drop(given);
        let mut returns = Returns::new();
        {
            let mut few = [ValueRef::NONE; 6];
            let many: Vec<ValueRef<'_>>;
            let borrowed = match few.get_mut(..args.len()) {
                Some(few) => {
                    few.iter_mut().zip(&args).for_each(|(place, arg)| *place = arg.borrow(&inputs));
                    &*few
                }
                None => {
                    many = args.iter().map(|arg| arg.borrow(&inputs)).collect();
                    &many
                }
            };
            match self.what {
                What::Operator => self.operator.call_boxed(borrowed, &mut returns)?,
                What::Derivative => {
                    let args: Vec<Value> = borrowed.iter().map(|value| value.to_value()).collect();
                    let gradients = derivative(&self.operator, &args)?;
                    returns.push(gradients.into_iter().map(TensorType::into_any).collect::<Vec<_>>());
                }
            }
        }
        if self.writes {
            inputs.write_back().map_err(|error| error.within(&self.name))?;
        }
        let mut given = Given::new(&inputs);
        if let (1, [kind], [alias], [word, ..]) = (returns.len(), &*self.results, &*self.aliases, &mut *words)
            && let Some(value) = returns.iter().next()
        {
            let encoded = encode(self.torch, kind, value.borrow().view(), *alias, &mut given);
            *word = encoded.map_err(|error| self.at_result(0, error))?;
            return Ok(());
        }
        let mut results = Words::none(self.torch, Kinds::Each(&self.results));
        for (place, (value, alias)) in returns.iter().zip(&self.aliases).enumerate() {
            let pushed = results.push(value.borrow().view(), *alias, &mut given);
            pushed.map_err(|error| self.at_result(place, error))?;
        }
        let results = results.give();
        if results.len() != self.results.len() {
            let message =
                format!("{}: found {} results, expected {}", self.name, results.len(), self.results.len());
            return Err(Error::new(ErrorKind::Value, message));
        }
        words[..results.len()].copy_from_slice(&results);
        Ok(())
    }

    #[cold]
    fn at_result(&self, place: usize, error: Error) -> Error {
        error.within(format_args!("{}: result {place}", self.name))
    }

    #[cold]
    fn at_argument(&self, place: usize, error: Error) -> Error {
        let before = if self.what == What::Derivative { BEFORE } else { 0 };
        let name = place.checked_sub(before).and_then(|place| self.names.get(place));
        match name {
            Some(name) => error.within(format_args!("{}: argument `{name}`", self.name)),
            None => error.within(&self.name),
        }
    }
}

/// Whether values of this type may hold tensors.
pub(crate) fn has_tensor(declared: &Type) -> bool {
    match declared {
        Type::Tensor => true,
        Type::Optional(inner) | Type::List(inner) => has_tensor(inner),
        _ => false,
    }
}

/// How arguments or results are passed.
///
/// # Errors
///
/// One of a type that cannot cross.
pub(crate) fn kinds_of(schema: &FunctionSchema, what: &str, items: &[Argument]) -> Result<Box<[Kind]>> {
    let kind = |(place, item): (usize, &Argument)| {
        Kind::from_type(&item.real_type).ok_or_else(|| {
            let name = if item.name.is_empty() { place.to_string() } else { format!("`{}`", item.name) };
            let message = format!(
                "{}: {what} {name} is of type {}, which torch's C interface does not pass; expected Tensor, int, SymInt, float, \
                 bool, str, ScalarType, Layout, MemoryFormat, Device, an absent Generator, or optionals and lists of them; export \
                 an operator with a float in its place",
                schema.name, item.real_type
            );
            Error::new(ErrorKind::NotImplemented, message)
        })
    };
    items.iter().enumerate().map(kind).collect()
}

/// The gradients of the tensors that need one, from those of the results: the operator runs again, recorded, and the way goes
/// back from there. Each gradient is a dense tensor of its own, of the sizes and the dtype of its argument.
///
/// # Errors
///
/// Those of the operator; there is no derivative.
fn derivative(operator: &OperatorHandle, args: &[Value]) -> Result<Vec<Tensor>> {
    let [gradients, needs, args @ ..] = args else {
        return Err(Error::new(ErrorKind::Internal, "a derivative takes gradients and what needs one"));
    };
    let needs = match needs.borrow().view() {
        ValueView::Bools(needs) => needs,
        _ => &[],
    };
    let mut needs = needs.iter();
    let mut wanted = Vec::new();
    let mut want = |tensor: &Tensor| -> Result<Tensor> {
        if needs.next() != Some(&true) {
            return Ok(tensor.clone());
        }
        // Another tensor than that of the caller, whose mark is not ours to change.
        let leaf = tensor.view_as(tensor.geometry().clone())?;
        leaf.requires_grad_(true)?;
        wanted.push(leaf.clone());
        Ok(leaf)
    };
    let mut args = args.to_vec();
    for value in &mut args {
        let changed = match value.borrow().view() {
            ValueView::Tensor(tensor) => match Tensor::from_any_ref(tensor) {
                Some(tensor) => Value::from(want(tensor)?),
                None => continue,
            },
            ValueView::Tensors(list) => {
                let list = list.iter().filter_map(Tensor::from_any_ref).map(&mut want);
                Value::from(list.map(|leaf| leaf.map(TensorType::into_any)).collect::<Result<Vec<_>>>()?)
            }
            ValueView::OptionalTensors(list) => {
                let one = |tensor: &Option<opgrid::dispatch::AnyTensor>| {
                    let tensor = tensor.as_ref().and_then(Tensor::from_any_ref);
                    tensor.map(|tensor| want(tensor).map(TensorType::into_any)).transpose()
                };
                opgrid::dispatch::List::OptionalTensors(list.iter().map(one).collect::<Result<_>>()?).into()
            }
            _ => continue,
        };
        *value = changed;
    }
    let results = autograd::enable_grad(|| operator.call_values(args))?;
    let mut outputs = Vec::new();
    for result in &results {
        match result.borrow().view() {
            ValueView::Tensor(tensor) => outputs.extend(Tensor::from_any_ref(tensor)),
            ValueView::Tensors(list) => outputs.extend(list.iter().filter_map(Tensor::from_any_ref)),
            _ => {}
        }
    }
    let gradients: Vec<Option<Tensor>> = match gradients.borrow().view() {
        ValueView::OptionalTensors(list) => {
            list.iter().map(|tensor| tensor.as_ref().and_then(Tensor::from_any_ref).cloned()).collect()
        }
        _ => Vec::new(),
    };
    let mut reached: Vec<&Tensor> = Vec::new();
    let mut from: Vec<Option<Tensor>> = Vec::new();
    for (output, gradient) in outputs.into_iter().zip(gradients) {
        if gradient.is_some() && output.requires_grad() {
            reached.push(output);
            from.push(gradient);
        }
    }
    let wanted: Vec<&Tensor> = wanted.iter().collect();
    let found = if reached.is_empty() {
        vec![None; wanted.len()]
    } else {
        autograd::grad(&reached, &wanted, &from, BackwardOptions::default())?
    };
    let dense = |(found, input): (Option<Tensor>, &&Tensor)| match found {
        Some(gradient) => gradient.contiguous(),
        None => Tensor::zeros(input.sizes(), input.dtype(), input.device()),
    };
    found.into_iter().zip(&wanted).map(dense).collect()
}
