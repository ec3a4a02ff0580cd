//! Lowers pointwise operators to expressions of fused loops.
//!
//! Eager operators convert what they are given to one dtype, compute in its arithmetic (float32 for 16-bit floats), and convert to the
//! dtype of their result. [`Call`] says that once; [`rules`] says for each operator what is computed in between. So an expression
//! rounds where eager code rounds, and gives its bits.

mod rules;

use opgrid_array::loops::arithmetic;
use opgrid_array::{Element, bf16, f16};
use opgrid_core::schema::FunctionSchema;
use opgrid_core::{DType, Device, Error, Result, Scalar, TensorType as _, Value};
use opgrid_jit::{Access, Binary, Comparison, Expression, Function, Unary, is_supported};
use opgrid_tensor::Tensor;
use opgrid_tensor::tensor::result_type;

use super::plan::{Action, Operand, Place, Plan, Step, each_slot};
use crate::error;
use rules::RULES;

/// Whether there is a rule for an operator.
pub(crate) fn has_rule(target: &str) -> bool {
    rule(target).is_some()
}

/// The operators that have a rule.
pub(crate) fn targets() -> impl Iterator<Item = &'static str> {
    RULES.iter().flat_map(|(targets, _)| *targets).copied()
}

fn rule(target: &str) -> Option<rules::Rule> {
    RULES.iter().find(|(targets, _)| targets.contains(&target)).map(|(_, rule)| *rule)
}

/// An input of a block: what an expression relies on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct InputType {
    pub(super) dtype: DType,
    /// Whether it has no dimensions, which has a say in the dtypes of results.
    pub(super) is_scalar: bool,
}

/// What becomes of a block.
pub(super) struct Lowered {
    pub(super) expression: Expression,
    /// The bytes that eager code reads and writes for an element of the results.
    pub(super) eager_bytes: usize,
}

/// The expression of a block of pointwise nodes, for inputs of these types.
///
/// # Errors
///
/// An operator, a dtype or an argument that fused loops do not have.
pub(super) fn lower(plan: &Plan, inputs: &[InputType]) -> Result<Lowered> {
    let (mut expression, mut eager_bytes) = (Expression::new(), 0);
    let mut slots: Vec<Option<Known>> = Vec::with_capacity(plan.slots);
    for input in inputs {
        let access = if input.is_scalar { Access::Scalar } else { Access::Elements };
        slots.push(Some(Known::new(expression.load(input.dtype, access)?, input.dtype, input.is_scalar)?));
    }
    slots.resize_with(plan.slots, || None);
    for step in &plan.steps {
        let (slot, known) =
            lower_step(&mut expression, step, &slots).map_err(|error| error.within(&step.subject))?;
        step.operands.iter().for_each(|operand| {
            each_slot(operand, &mut |slot| eager_bytes += slots[slot].as_ref().map_or(0, Known::bytes));
        });
        eager_bytes += known.bytes();
        slots[slot] = Some(known);
    }
    for result in &plan.results {
        let Operand::Slot(slot) = result else { return Err(unsupported("a result that is no tensor")) };
        if *slot < plan.parameters {
            return Err(unsupported("a result that is an input"));
        }
        let known = slots.get(*slot).and_then(Option::as_ref);
        expression.store(known.ok_or_else(|| unsupported("a result that nothing computes"))?.value)?;
    }
    Ok(Lowered { expression, eager_bytes })
}

/// A tensor in an expression.
#[derive(Clone)]
struct Known {
    value: opgrid_jit::Value,
    /// A tensor of one element without memory, which has the dtype and has dimensions or none.
    example: Tensor,
}

impl Known {
    /// The bytes that a loop reads for each of its elements.
    fn bytes(&self) -> usize {
        if self.example.dim() == 0 { 0 } else { self.example.dtype().size_in_bytes() }
    }

    fn new(value: opgrid_jit::Value, dtype: DType, is_scalar: bool) -> Result<Self> {
        let sizes: &[i64] = if is_scalar { &[] } else { &[1] };
        Ok(Self { value, example: Tensor::allocate_contiguous(sizes, dtype, Device::META)? })
    }
}

fn lower_step(expression: &mut Expression, step: &Step, slots: &[Option<Known>]) -> Result<(usize, Known)> {
    let (Action::Call { operator, binder, .. }, [Place::Slot(place)]) =
        (&step.action, step.results.as_slice())
    else {
        return Err(unsupported("a node that is no call of an operator with one result"));
    };
    let name = operator.name().to_string();
    let Some(rule) = rule(&name) else {
        return Err(unsupported(format_args!("{}: no rule says how it is fused", name)));
    };
    let one = |operand: &Operand| match operand {
        Operand::Constant(value) => Ok(Given::Constant(value.clone())),
        Operand::Slot(slot) => match slots.get(*slot) {
            Some(Some(known)) => Ok(Given::Tensor(known.clone())),
            _ => Err(unsupported("an argument that nothing computes")),
        },
        Operand::List(..) => Err(unsupported("a list of values among the arguments")),
    };
    let given = step.operands.iter().map(one).collect::<Result<Vec<_>>>()?;
    let args = given.iter().map(|given| match given {
        Given::Constant(value) => value.clone(),
        Given::Tensor(known) => Value::from(&known.example),
    });
    // The operator itself says what it gives; it refuses what eager code refuses.
    let results = operator.call_values(args.collect())?;
    let Some(Value::Tensor(result)) = results.into_iter().next() else {
        return Err(unsupported("a result that is no tensor"));
    };
    let example = Tensor::try_from(result)?;
    let dtype = example.dtype();
    if !is_supported(dtype) {
        return Err(unsupported(format_args!("{}: results of {dtype} are not fused", name)));
    }
    let mut call = Call { expression, schema: binder.schema(), given: &given, result: dtype };
    let value = rule(&mut call).map_err(|error| error.within(&name))?;
    Ok((*place, Known { value: expression.convert(value, dtype)?, example }))
}

/// An argument of a call.
enum Given {
    Constant(Value),
    Tensor(Known),
}

/// A call of an operator that is lowered.
///
/// Methods take arguments by their names in the schema.
struct Call<'c> {
    expression: &'c mut Expression,
    schema: &'c FunctionSchema,
    given: &'c [Given],
    /// The dtype of the result.
    result: DType,
}

/// The dtype in which elements of a dtype are computed with.
fn arithmetic_dtype(dtype: DType) -> DType {
    if matches!(dtype, DType::BF16 | DType::F16) { DType::F32 } else { dtype }
}

impl Call<'_> {
    fn given(&self, name: &str) -> Result<&Given> {
        let place = self.schema.argument_index(name);
        place.and_then(|place| self.given.get(place)).ok_or_else(|| unsupported("an argument is missing"))
    }

    /// The number that an argument is.
    fn number(&self, name: &str) -> Result<Scalar> {
        self.optional_number(name)?.ok_or_else(|| unsupported(format_args!("`{name}` is not a number")))
    }

    /// The number that an argument is; `None` for one that is left out.
    fn optional_number(&self, name: &str) -> Result<Option<Scalar>> {
        match self.given(name)? {
            Given::Constant(Value::None) => Ok(None),
            Given::Constant(value) => match number(value) {
                Some(number) => Ok(Some(number)),
                None => Err(unsupported(format_args!("`{name}` is not a number"))),
            },
            Given::Tensor(_) => Err(unsupported(format_args!("`{name}` is a tensor"))),
        }
    }

    /// Whether an argument is a number, maybe in a tensor's place.
    fn is_number(&self, name: &str) -> bool {
        self.number(name).is_ok()
    }

    /// The text that an argument is.
    fn text(&self, name: &str) -> Result<&str> {
        match self.given(name)? {
            Given::Constant(Value::Str(text)) => Ok(text),
            _ => Err(unsupported(format_args!("`{name}` is not a text"))),
        }
    }

    /// Refuses arguments that are given, of those named.
    fn expect_none(&self, names: &[&str]) -> Result<()> {
        for name in names {
            if !matches!(self.given(name)?, Given::Constant(Value::None | Value::Bool(false))) {
                return Err(unsupported(format_args!("`{name}` is given")));
            }
        }
        Ok(())
    }

    /// The tensor that stands for an argument in promotion.
    fn example(&self, name: &str) -> Result<Tensor> {
        match self.given(name)? {
            Given::Tensor(known) => Ok(known.example.clone()),
            Given::Constant(_) => self.number(name).map(Tensor::number),
        }
    }

    /// The dtype of an argument.
    fn dtype(&self, name: &str) -> Result<DType> {
        self.example(name).map(|example| example.dtype())
    }

    /// The dtype that arguments promote to.
    fn promoted(&self, names: &[&str]) -> Result<DType> {
        let examples = names.iter().map(|name| self.example(name)).collect::<Result<Vec<_>>>()?;
        let dtype = result_type(&examples.iter().collect::<Vec<_>>())?;
        if is_supported(dtype) { Ok(dtype) } else { Err(unsupported(format_args!("{dtype} is not fused"))) }
    }

    /// A number that is rounded to a dtype, in the arithmetic of that dtype.
    fn constant(&mut self, number: Scalar, dtype: DType) -> Result<opgrid_jit::Value> {
        let number = match dtype {
            DType::BF16 => Scalar::Float(arithmetic::element::<bf16>(number)?.widen().into()),
            DType::F16 => Scalar::Float(arithmetic::element::<f16>(number)?.widen().into()),
            _ => number,
        };
        self.expression.constant(arithmetic_dtype(dtype), number)
    }

    /// An argument converted to a dtype, in which it is stored.
    fn stored(&mut self, name: &str, dtype: DType) -> Result<opgrid_jit::Value> {
        match self.given(name)? {
            Given::Tensor(known) => {
                let value = known.value;
                self.expression.convert(value, dtype)
            }
            Given::Constant(_) => {
                let number = self.number(name)?;
                self.expression.constant(dtype, number)
            }
        }
    }

    /// An argument converted to a dtype, in the arithmetic of that dtype.
    fn operand(&mut self, name: &str, dtype: DType) -> Result<opgrid_jit::Value> {
        if let Given::Constant(_) = self.given(name)? {
            let number = self.number(name)?;
            return self.constant(number, dtype);
        }
        let stored = self.stored(name, dtype)?;
        self.expression.convert(stored, arithmetic_dtype(dtype))
    }

    /// A function of `self`.
    fn unary(&mut self, function: Unary) -> Result<opgrid_jit::Value> {
        let x = self.operand("self", self.result)?;
        self.expression.unary(function, x)
    }

    /// A function of two arguments in the dtype that they promote to.
    fn binary(&mut self, function: Binary, a: &str, b: &str) -> Result<opgrid_jit::Value> {
        let dtype = self.promoted(&[a, b])?;
        let (a, b) = (self.operand(a, dtype)?, self.operand(b, dtype)?);
        self.expression.binary(function, a, b)
    }

    /// `a + alpha * b`, or the difference.
    fn scaled(&mut self, function: Binary, a: &str, b: &str) -> Result<opgrid_jit::Value> {
        let dtype = self.promoted(&[a, b])?;
        let alpha = self.number("alpha")?;
        let (a, mut b) = (self.operand(a, dtype)?, self.operand(b, dtype)?);
        if alpha.to_complex() != Scalar::Int(1).to_complex() {
            let alpha = self.constant(alpha, dtype)?;
            b = self.expression.binary(Binary::Multiply, alpha, b)?;
        }
        self.expression.binary(function, a, b)
    }

    /// A product or quotient in a dtype: a number beside 16-bit floats keeps the digits of float32.
    fn factor(&mut self, function: Binary, dtype: DType) -> Result<opgrid_jit::Value> {
        let a = self.operand("self", dtype)?;
        let is_half = arithmetic_dtype(dtype) != dtype;
        let b = if is_half && self.is_number("other") {
            self.operand("other", DType::F32)?
        } else if is_half && self.dtype("other")? != dtype {
            return Err(unsupported("`other` has another dtype than the 16-bit floats of `self`"));
        } else {
            self.operand("other", dtype)?
        };
        self.expression.binary(function, a, b)
    }

    fn compare(&mut self, comparison: Comparison, a: &str, b: &str) -> Result<opgrid_jit::Value> {
        let dtype = self.promoted(&[a, b])?;
        let (a, b) = (self.operand(a, dtype)?, self.operand(b, dtype)?);
        self.expression.compare(comparison, a, b)
    }

    /// A function of the bools that two arguments are.
    fn logical(&mut self, function: Binary) -> Result<opgrid_jit::Value> {
        let (a, b) = (self.operand("self", DType::Bool)?, self.operand("other", DType::Bool)?);
        self.expression.binary(function, a, b)
    }

    /// A whole number near `self`, which integers are already.
    fn rounded(&mut self, function: Unary) -> Result<opgrid_jit::Value> {
        if self.result.is_floating_point() { self.unary(function) } else { self.operand("self", self.result) }
    }

    /// An elementary function of `self`; `function` gives it for a dtype.
    fn elementary(&mut self, function: fn(DType) -> Option<Function>) -> Result<opgrid_jit::Value> {
        let x = self.operand("self", self.result)?;
        let dtype = self.expression.dtype(x);
        let function = function(dtype)
            .ok_or_else(|| unsupported(format_args!("the function is not fused for {dtype}")))?;
        self.expression.call(function, &[x])
    }

    /// `self` limited by numbers.
    fn clamped(&mut self, low: Option<Scalar>, high: Option<Scalar>) -> Result<opgrid_jit::Value> {
        let is_nan = |bound: &Scalar| bound.to_complex().re.is_nan();
        if [low, high].iter().flatten().any(is_nan) {
            return Err(unsupported("a bound is NaN"));
        }
        let mut x = self.operand("self", self.result)?;
        if let Some(low) = low {
            let low = self.constant(low, self.result)?;
            let is_below = self.expression.compare(Comparison::Less, x, low)?;
            x = self.expression.select(is_below, low, x)?;
        }
        if let Some(high) = high {
            let high = self.constant(high, self.result)?;
            let is_above = self.expression.compare(Comparison::Less, high, x)?;
            x = self.expression.select(is_above, high, x)?;
        }
        Ok(x)
    }
}

/// The number that a value is, maybe in a tensor's place.
fn number(value: &Value) -> Option<Scalar> {
    match value {
        Value::Tensor(tensor) => Tensor::from_any_ref(tensor)?.bare_number().copied(),
        value => value.borrow().as_scalar(),
    }
}

#[cold]
fn unsupported(message: impl std::fmt::Display) -> Error {
    error::unsupported(message.to_string())
}
