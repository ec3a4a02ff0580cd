//! Nodes run on tensors without memory: what a call gives is known then, and which results share memory with its arguments.
//!
//! Sizes that vary get numbers first ([`assignments`]). What depends on elements, and what has no kernel for tensors without memory, gives
//! what the graph declares.

use std::collections::BTreeMap;

use opgrid_array::{Geometry, TensorSpec};
use opgrid_core::schema::{Argument as Declared, Type};
use opgrid_core::{
    Device, DispatchKey, Dispatcher, Error, Kind, List, OperatorHandle, Result, TensorType as _, Value,
};
use opgrid_tensor::Tensor;
use opgrid_tensor::families::kind;

use crate::graph::types::{Range, Size, TensorType, ValueType};
use crate::graph::{Argument, Graph, InputKind, Node, Outcome, Variable};
use crate::program::compile::list;
use crate::program::target::{Target, resolve};

/// Numbers for sizes that vary, by their symbols.
pub(crate) type Assignment = BTreeMap<String, i64>;

/// The largest number that a call may be given where its cost may depend on it.
const LARGEST: i64 = 1 << 12;

/// The sizes of examples: different ones for different symbols, none of them 0 or 1, where operators do something else.
const EXAMPLES: [i64; 12] = [5, 7, 11, 6, 13, 9, 17, 8, 19, 10, 23, 15];

/// Sets of sizes within the ranges: one first, then one for each symbol in which it alone differs, then `more` in which all do.
pub(crate) fn assignments(symbols: &BTreeMap<String, Range>, more: usize) -> Vec<Assignment> {
    let candidates = |(place, (name, range)): (usize, (&String, &Range))| {
        let least = range.min.unwrap_or(i64::MIN).max(2);
        let near = EXAMPLES.iter().cycle().skip(place).take(EXAMPLES.len()).copied();
        let behind = (0..).map(|step| least.saturating_add(step)).take(more + 2);
        let mut sizes: Vec<i64> = Vec::new();
        for size in near.chain(behind) {
            if size >= least && range.max.is_none_or(|max| size <= max) && !sizes.contains(&size) {
                sizes.push(size);
            }
        }
        // A size of which the range says that it is 0 or 1, or nothing at all.
        if sizes.is_empty() {
            sizes.push(range.max.or(range.min).unwrap_or(1));
        }
        (name.clone(), sizes)
    };
    let columns: Vec<(String, Vec<i64>)> = symbols.iter().enumerate().map(candidates).collect();
    let example: Assignment = columns.iter().map(|(name, sizes)| (name.clone(), sizes[0])).collect();
    let mut sets = vec![example.clone()];
    for (name, sizes) in columns.iter().filter(|(_, sizes)| sizes.len() > 1) {
        let mut set = example.clone();
        set.insert(name.clone(), sizes[1]);
        sets.push(set);
    }
    let all = (0..if columns.is_empty() { 0 } else { more }).map(|number| {
        let one = |(place, (name, sizes)): (usize, &(String, Vec<i64>))| {
            (name.clone(), sizes[(1 + place + number) % sizes.len()])
        };
        columns.iter().enumerate().map(one).collect()
    });
    sets.extend(all);
    sets
}

/// The values of a block at known sizes. Tensors among them have no memory.
#[derive(Clone)]
pub(crate) struct Meta {
    dispatcher: Dispatcher,
    symbols: Assignment,
    values: BTreeMap<String, Value>,
    /// Whether calls are made whose cost may depend on large numbers.
    is_trusted: bool,
}

/// What a node gives.
pub(crate) enum Answer {
    /// These results.
    Results(Vec<Value>),
    /// That is not known before the program runs.
    Unknown,
    /// The operator refuses the shapes or dtypes.
    Refused(Error),
}

impl Meta {
    /// The inputs of a graph. `tensors` are those of the program, as far as they are at hand: others are row-major.
    pub(crate) fn new(
        dispatcher: &Dispatcher,
        graph: &Graph,
        tensors: &BTreeMap<String, Tensor>,
        symbols: Assignment,
    ) -> Result<Self> {
        let mut meta =
            Self { dispatcher: dispatcher.clone(), symbols, values: BTreeMap::new(), is_trusted: true };
        for (variable, kind) in graph.block.parameters.iter().zip(&graph.inputs) {
            if let InputKind::Fixed(value) = kind {
                if let Some(value) = meta.value(value) {
                    meta.bind(&variable.name, value);
                }
            } else if let Some(tensor) = kind.stored_name().and_then(|name| tensors.get(name)) {
                meta.bind(&variable.name, Value::from(&like(tensor.geometry(), tensor.dtype())?));
            } else {
                meta.declare(variable);
            }
        }
        Ok(meta)
    }

    /// Nothing but sizes of symbols, for a block within a block.
    pub(crate) fn within(&self) -> Self {
        Self { values: BTreeMap::new(), ..self.clone() }
    }

    /// Makes no call whose cost depends on numbers that are large: whoever wrote the graph may not mean well.
    #[must_use]
    pub(crate) fn careful(mut self) -> Self {
        self.is_trusted = false;
        self
    }

    /// The sizes that vary, as in `n = 5, m = 7`.
    pub(crate) fn sizes(&self) -> String {
        let each = self.symbols.iter().map(|(name, size)| format!("{name} = {size}"));
        each.collect::<Vec<_>>().join(", ")
    }

    /// The value of that name, if it is known.
    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        self.values.get(name)
    }

    /// The tensor of that name.
    pub(crate) fn tensor(&self, name: &str) -> Option<&Tensor> {
        match self.values.get(name)? {
            Value::Tensor(tensor) => Tensor::from_any_ref(tensor),
            _ => None,
        }
    }

    /// Gives a name a value.
    pub(crate) fn bind(&mut self, name: &str, value: Value) {
        self.values.insert(name.to_owned(), value);
    }

    /// Gives a variable a value of the type that it says.
    pub(crate) fn declare(&mut self, variable: &Variable) {
        if let Some(value) = self.declared(&variable.kind) {
            self.bind(&variable.name, value);
        }
    }

    /// The number that a size is, if it is known.
    pub(crate) fn size(&self, size: &Size) -> Option<i64> {
        size.evaluate(&self.symbols)
    }

    fn declared(&self, kind: &ValueType) -> Option<Value> {
        match kind {
            ValueType::Tensor(TensorType { dtype, sizes }) => {
                let sizes = sizes.iter().map(|size| self.size(size)).collect::<Option<Vec<_>>>()?;
                let spec = TensorSpec::contiguous(&sizes, *dtype, Device::META).ok()?;
                Tensor::allocate(spec).ok().map(|tensor| Value::from(&tensor))
            }
            ValueType::Int(Some(size)) => self.size(size).map(Value::Int),
            _ => None,
        }
    }

    /// An argument as a value; `None` where it is not known. Devices are that of tensors without memory.
    pub(crate) fn value(&self, argument: &Argument) -> Option<Value> {
        match argument {
            Argument::Value(name) => self.values.get(name).cloned(),
            Argument::Device(_) => Some(Value::Device(Device::META)),
            Argument::List(items) => {
                let items = items.iter().map(|item| self.value(item)).collect::<Option<Vec<_>>>()?;
                list(None, items).ok()
            }
            argument => argument.constant(),
        }
    }

    /// Runs a node and gives its variables their values.
    pub(crate) fn run(&mut self, node: &Node) -> Answer {
        let answer = self.call(node);
        let results: &[Value] = if let Answer::Results(results) = &answer { results } else { &[] };
        for (index, outcome) in node.results.iter().enumerate() {
            match (outcome, results.get(index)) {
                (Outcome::One(variable), Some(value)) => self.bind(&variable.name, value.clone()),
                (Outcome::List(variables), Some(Value::List(list)))
                    if list.values().len() == variables.len() =>
                {
                    for (variable, value) in variables.iter().zip(list.values()) {
                        self.bind(&variable.name, value);
                    }
                }
                (outcome, _) => outcome.variables().iter().for_each(|variable| self.declare(variable)),
            }
        }
        answer
    }

    /// What a node gives.
    pub(crate) fn call(&self, node: &Node) -> Answer {
        match resolve(&self.dispatcher, &node.target) {
            Ok(Target::Operator(operator)) => match self.arguments(&operator, node) {
                Some(args) => self.operator(&operator, args),
                None => Answer::Unknown,
            },
            Ok(Target::Number(function)) => {
                let args = node.arguments().map(|argument| self.value(argument)).collect::<Option<Vec<_>>>();
                let result = args.and_then(|args| function(&args).ok());
                result.map_or(Answer::Unknown, |result| Answer::Results(vec![result]))
            }
            Ok(Target::Higher(_)) | Err(_) => Answer::Unknown,
        }
    }

    /// The arguments of a call in the order of the schema; `None` where one is not known.
    pub(crate) fn arguments(&self, operator: &OperatorHandle, node: &Node) -> Option<Vec<Value>> {
        let positional =
            node.positional.iter().map(|argument| self.value(argument)).collect::<Option<Vec<_>>>()?;
        let named = node.named.iter().map(|(name, argument)| Some((name.clone(), self.value(argument)?)));
        // A number stands for a tensor, as in a program.
        let fit = |argument: &Declared, value: Value| {
            let is_tensor = *argument.real_type.without_optional() == Type::Tensor;
            let number = value.borrow().as_scalar().filter(|_| is_tensor);
            Ok(number.map_or(value, |number| Value::from(&Tensor::number(number))))
        };
        let mut args = operator.bind_with(positional, named.collect::<Option<Vec<_>>>()?, fit).ok()?;
        let takes_tensors =
            args.iter().any(|value| matches!(value, Value::Tensor(_)) || is_list_of_tensors(value));
        if !takes_tensors && let Some(place) = operator.schema().ok()?.argument_index("device") {
            // A factory makes its tensor here, too.
            args[place] = Value::Device(Device::META);
        }
        Some(args)
    }

    fn operator(&self, operator: &OperatorHandle, args: Vec<Value>) -> Answer {
        let Ok(schema) = operator.schema() else { return Answer::Unknown };
        let has_shape_kernel = operator.has_kernel_for(DispatchKey::Meta) || is_view(operator);
        let gives_lists = schema.returns.iter().any(|given| matches!(given.real_type, Type::List(_)));
        if !self.is_trusted && (gives_lists || !has_shape_kernel) && args.iter().any(is_large) {
            return Answer::Unknown;
        }
        match operator.call_values(args) {
            Ok(results) => Answer::Results(results),
            // Composites may look at elements, and what has no kernel says nothing of shapes.
            Err(error) if has_shape_kernel && !lacks_data(&error) => Answer::Refused(error),
            Err(_) => Answer::Unknown,
        }
    }
}

/// Whether an operator wanted elements.
fn lacks_data(error: &Error) -> bool {
    ["meta tensor", "device meta", " on meta"].iter().any(|part| error.message().contains(part))
}

/// A tensor without memory that lies as another does.
pub(crate) fn like(geometry: &Geometry, dtype: opgrid_core::DType) -> Result<Tensor> {
    Tensor::allocate(TensorSpec::new(geometry.clone(), dtype, Device::META))
}

/// Whether both are in the same memory.
pub(crate) fn shares_memory(a: &Tensor, b: &Tensor) -> bool {
    match (a.array(), b.array()) {
        (Ok(a), Ok(b)) => a.storage().is_same(b.storage()),
        _ => false,
    }
}

fn is_view(operator: &OperatorHandle) -> bool {
    operator.column::<Kind>().ok().flatten().is_some_and(|found| found.is(&kind::VIEW))
}

fn is_list_of_tensors(value: &Value) -> bool {
    matches!(value, Value::List(list) if matches!(&**list, List::Tensors(_) | List::OptionalTensors(_)))
}

/// Whether a call may take long for the value: a large number, or a tensor with a large dimension.
fn is_large(value: &Value) -> bool {
    match value {
        Value::Int(number) => !(-LARGEST..=LARGEST).contains(number),
        Value::Float(number) => number.is_nan() || number.abs() > LARGEST as f64,
        Value::Tensor(tensor) => {
            Tensor::from_any_ref(tensor).is_some_and(|tensor| match tensor.bare_number() {
                Some(number) => is_large(&Value::from(*number)),
                None => tensor.sizes().iter().any(|size| *size > LARGEST),
            })
        }
        Value::List(list) => list.values().iter().any(is_large),
        _ => false,
    }
}
