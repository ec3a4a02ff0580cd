//! What a fused loop computes of one element of each input: a graph of values without cycles.

use std::collections::HashMap;

use opgrid_array::error::argument;
use opgrid_array::loops::arithmetic;
use opgrid_core::{DType, Result, Scalar};

use crate::element::{Lane, is_computed, is_supported, with_lane};
use crate::function::Function;

/// One value of an [`Expression`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value(pub(crate) u32);

impl Value {
    /// The index of the node that computes the value.
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// Functions of one value, whose result has its dtype.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unary {
    /// The negative; integers wrap around.
    Negate,
    /// The distance from zero; integers wrap around.
    Absolute,
    /// The correctly rounded square root of a float.
    SquareRoot,
    /// The next whole float that is not smaller.
    Ceil,
    /// The next whole float that is not larger.
    Floor,
    /// The whole float toward zero.
    Trunc,
    /// The nearest whole float; the even one of two.
    Round,
    /// The other bits of an integer, the other value of a bool.
    Not,
}

/// Functions of two values of one dtype, whose result has that dtype.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Binary {
    /// The sum; "or" of bools.
    Add,
    /// The difference; "xor" of bools.
    Subtract,
    /// The product; "and" of bools.
    Multiply,
    /// The quotient of floats.
    Divide,
    /// The larger one, or NaN; the second one of equals.
    Larger,
    /// The smaller one, or NaN; the second one of equals.
    Smaller,
    /// The bits that both integers have; whether both bools are true.
    And,
    /// The bits that one of the integers has; whether one of the bools is true.
    Or,
    /// The bits in which integers differ; whether bools differ.
    Xor,
}

/// Comparisons of two values of one dtype, whose result is a bool. NaN is only unequal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// Whether the first one is smaller.
    Less,
    /// Whether the first one is smaller or equal.
    LessEqual,
    /// Whether both are equal.
    Equal,
    /// Whether they differ.
    NotEqual,
}

/// How a loop reads an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// One element for each element of the outputs, to whose shape the input is broadcast.
    Elements,
    /// The only element of the input, for all elements of the outputs.
    Scalar,
}

/// An input of a loop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Input {
    pub dtype: DType,
    pub access: Access,
}

/// How a value is computed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Node {
    /// The element of an input.
    Load(usize),
    /// The bits of a number.
    Constant(u64),
    /// The nearest value of another dtype, by the rules of [`opgrid_array::Element`].
    Convert(Value),
    Unary(Unary, Value),
    Binary(Binary, Value, Value),
    Compare(Comparison, Value, Value),
    /// The second value where the first one is true, else the third one.
    Select(Value, Value, Value),
    Call(Function, Vec<Value>),
}

impl Node {
    /// The values that this one is computed from.
    pub(crate) fn operands(&self) -> impl Iterator<Item = Value> + '_ {
        let (few, args): ([Option<Value>; 3], &[Value]) = match self {
            Self::Load(_) | Self::Constant(_) => ([None; 3], &[]),
            Self::Convert(a) | Self::Unary(_, a) => ([Some(*a), None, None], &[]),
            Self::Binary(_, a, b) | Self::Compare(_, a, b) => ([Some(*a), Some(*b), None], &[]),
            Self::Select(condition, a, b) => ([Some(*condition), Some(*a), Some(*b)], &[]),
            Self::Call(_, args) => ([None; 3], args),
        };
        few.into_iter().flatten().chain(args.iter().copied())
    }

    /// Whether the value is read or a number, and so not computed.
    pub(crate) fn is_leaf(&self) -> bool {
        matches!(self, Self::Load(_) | Self::Constant(_))
    }
}

/// The expressions of a loop's outputs, over the elements of its inputs.
///
/// Methods add values; what is there already is not added again. dtypes are those of
/// [`is_supported`](crate::is_supported). bfloat16 and float16 are loaded, stored, converted and selected only, so that a loop says
/// where it rounds to them, as eager operators do after each step.
///
/// # Examples
///
/// `max(x * y + 1, 0)`:
///
/// ```
/// use opgrid_core::DType;
/// use opgrid_jit::{Access, Binary, Expression};
///
/// let mut expression = Expression::new();
/// let x = expression.load(DType::F32, Access::Elements)?;
/// let y = expression.load(DType::F32, Access::Elements)?;
/// let (one, zero) = (expression.constant(DType::F32, 1.0)?, expression.constant(DType::F32, 0.0)?);
/// let product = expression.binary(Binary::Multiply, x, y)?;
/// let sum = expression.binary(Binary::Add, product, one)?;
/// let result = expression.binary(Binary::Larger, sum, zero)?;
/// expression.store(result)?;
/// assert_eq!((expression.inputs(), expression.outputs()), (2, 1));
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Expression {
    pub(crate) nodes: Vec<Node>,
    pub(crate) dtypes: Vec<DType>,
    pub(crate) inputs: Vec<Input>,
    pub(crate) outputs: Vec<Value>,
    known: HashMap<(Node, DType), Value>,
}

impl Expression {
    /// An expression without inputs and outputs.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an input, and returns its element.
    ///
    /// # Errors
    ///
    /// A dtype that loops do not take.
    pub fn load(&mut self, dtype: DType, access: Access) -> Result<Value> {
        check_supported(dtype)?;
        self.inputs.push(Input { dtype, access });
        Ok(self.add(Node::Load(self.inputs.len() - 1), dtype))
    }

    /// Adds a number.
    ///
    /// # Errors
    ///
    /// A number beyond the range of the dtype, a dtype that loops do not take.
    pub fn constant(&mut self, dtype: DType, value: impl Into<Scalar>) -> Result<Value> {
        check_supported(dtype)?;
        let value = value.into();
        let bits = with_lane!(dtype, T => arithmetic::element::<T>(value)?.to_bits64());
        Ok(self.add(Node::Constant(bits), dtype))
    }

    /// Adds a conversion. A value of the dtype itself is returned as it is.
    ///
    /// # Errors
    ///
    /// A dtype that loops do not take.
    pub fn convert(&mut self, value: Value, dtype: DType) -> Result<Value> {
        check_supported(dtype)?;
        if self.dtype(value) == dtype {
            return Ok(value);
        }
        Ok(self.add(Node::Convert(value), dtype))
    }

    /// Adds a function of one value.
    ///
    /// # Errors
    ///
    /// A value of a dtype that the function is not defined for.
    pub fn unary(&mut self, function: Unary, value: Value) -> Result<Value> {
        let dtype = self.computed(value)?;
        let fits = match function {
            Unary::Negate | Unary::Absolute => dtype != DType::Bool,
            Unary::Not => !dtype.is_floating_point(),
            _ => dtype.is_floating_point(),
        };
        check(fits, || format!("{function:?} is not defined for {dtype}"))?;
        Ok(self.add(Node::Unary(function, value), dtype))
    }

    /// Adds a function of two values.
    ///
    /// # Errors
    ///
    /// Values of different dtypes, or of one that the function is not defined for.
    pub fn binary(&mut self, function: Binary, a: Value, b: Value) -> Result<Value> {
        let dtype = self.alike(a, b)?;
        let fits = match function {
            Binary::Divide => dtype.is_floating_point(),
            Binary::And | Binary::Or | Binary::Xor => !dtype.is_floating_point(),
            _ => true,
        };
        check(fits, || format!("{function:?} is not defined for {dtype}"))?;
        Ok(self.add(Node::Binary(function, a, b), dtype))
    }

    /// Adds a comparison.
    ///
    /// # Errors
    ///
    /// Values of different dtypes.
    pub fn compare(&mut self, comparison: Comparison, a: Value, b: Value) -> Result<Value> {
        self.alike(a, b)?;
        Ok(self.add(Node::Compare(comparison, a, b), DType::Bool))
    }

    /// Adds the choice of `a` where `condition` is true, and of `b` elsewhere.
    ///
    /// # Errors
    ///
    /// A condition that is no bool, values of different dtypes.
    pub fn select(&mut self, condition: Value, a: Value, b: Value) -> Result<Value> {
        let (of_condition, dtype) = (self.dtype(condition), self.dtype(a));
        check(of_condition == DType::Bool, || format!("a condition is bool, found {of_condition}"))?;
        check(dtype == self.dtype(b), || format!("dtypes differ: {dtype} and {}", self.dtype(b)))?;
        Ok(self.add(Node::Select(condition, a, b), dtype))
    }

    /// Adds a call of a function that computes whole blocks.
    ///
    /// # Errors
    ///
    /// Another number of arguments than the function takes, or of another dtype.
    pub fn call(&mut self, function: Function, args: &[Value]) -> Result<Value> {
        let dtype = function.dtype();
        check(args.len() == function.arity(), || {
            format!("{} takes {} arguments, found {}", function.name(), function.arity(), args.len())
        })?;
        for &arg in args {
            let found = self.dtype(arg);
            check(found == dtype, || format!("{} takes {dtype}, found {found}", function.name()))?;
        }
        Ok(self.add(Node::Call(function, args.to_vec()), dtype))
    }

    /// Adds an output, to which the value is written.
    ///
    /// # Errors
    ///
    /// A value of another expression.
    pub fn store(&mut self, value: Value) -> Result<()> {
        check(value.index() < self.nodes.len(), || "the value belongs to another expression".into())?;
        self.outputs.push(value);
        Ok(())
    }

    /// The dtype of a value.
    ///
    /// # Panics
    ///
    /// The value belongs to another expression.
    pub fn dtype(&self, value: Value) -> DType {
        self.dtypes[value.index()]
    }

    /// The node that computes a value.
    pub(crate) fn node(&self, value: Value) -> &Node {
        &self.nodes[value.index()]
    }

    /// All values, each after those that it is computed from.
    pub(crate) fn values(&self) -> impl DoubleEndedIterator<Item = Value> + use<> {
        (0..self.nodes.len() as u32).map(Value)
    }

    /// The number of inputs.
    pub fn inputs(&self) -> usize {
        self.inputs.len()
    }

    /// The number of outputs.
    pub fn outputs(&self) -> usize {
        self.outputs.len()
    }

    /// The dtype of a value that is computed with.
    fn computed(&self, value: Value) -> Result<DType> {
        let dtype = self.dtype(value);
        check(is_computed(dtype), || {
            format!("values of {dtype} are converted to float32 before they are computed with")
        })?;
        Ok(dtype)
    }

    /// The dtype of two values.
    fn alike(&self, a: Value, b: Value) -> Result<DType> {
        let (dtype, other) = (self.computed(a)?, self.dtype(b));
        check(dtype == other, || format!("dtypes differ: {dtype} and {other}; convert one of the values"))?;
        Ok(dtype)
    }

    fn add(&mut self, node: Node, dtype: DType) -> Value {
        *self.known.entry((node, dtype)).or_insert_with_key(|(node, dtype)| {
            self.nodes.push(node.clone());
            self.dtypes.push(*dtype);
            Value((self.nodes.len() - 1) as u32)
        })
    }
}

fn check_supported(dtype: DType) -> Result<()> {
    check(is_supported(dtype), || format!("fused loops have no values of {dtype}"))
}

fn check(holds: bool, message: impl FnOnce() -> String) -> Result<()> {
    if holds { Ok(()) } else { Err(argument(message())) }
}
