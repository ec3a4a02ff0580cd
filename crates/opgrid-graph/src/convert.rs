//! Programs in another floating-point dtype.

use std::collections::{BTreeMap, BTreeSet};

use opgrid_core::{DType, Dispatcher, Error, Result, Scalar, Value};
use opgrid_tensor::layers::autograd;
use opgrid_tensor::tensor::finfo;
use opgrid_tensor::{Tensor, ops};

use crate::error;
use crate::graph::types::{TensorType, ValueType};
use crate::graph::{Argument, Block, Graph, InputKind, Node, Outcome, Variable};
use crate::meta::{Answer, Meta, assignments};
use crate::program::Program;
use crate::typing::inner_metas;

/// The dtypes of weights that can be converted, and what they can be converted to.
const FLOATS: [DType; 4] = [DType::F16, DType::BF16, DType::F32, DType::F64];

/// What calls a value converted.
const CONVERSION: &str = "aten::to.dtype";

impl Program {
    /// The program in another floating-point dtype, as if the module had been converted before it was exported: it takes and gives tensors of
    /// that dtype, and has tensors of its own.
    ///
    /// Converted are parameters, buffers and constants of the floating-point dtypes that parameters, buffers and inputs have. Where the graph names
    /// one of those dtypes, as in `zeros(…, dtype=float32)` and `x.float()`, it is the new one afterwards: code that computes in `float32`
    /// in between, whatever the weights are, looks the same in a program as code that keeps the dtype of the weights. Numbers that are too large for the
    /// new dtype, such as those that masks are filled with, become its largest one. What an operator gives in another dtype than the new
    /// one, such as a quotient of integers, is converted. Dtypes of blocks under autocast stay.
    ///
    /// # Errors
    ///
    /// A dtype that is not `float16`, `bfloat16`, `float32` or `float64`; an operator that does not take the new dtype beside its other
    /// arguments.
    ///
    /// # Examples
    ///
    /// ```
    /// use opgrid::{DType, Device, Tensor};
    /// use opgrid_graph::Program;
    ///
    /// let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/models/mlp.pt2");
    /// let program = Program::load(path)?.to(DType::BF16)?;
    /// let x = Tensor::zeros(&[2, 8], DType::BF16, Device::CPU)?;
    /// assert_eq!(program.run(&[&x])?[0].dtype(), DType::BF16);
    /// assert_eq!(program.parameters()[0].1.dtype(), DType::BF16);
    /// # Ok::<(), opgrid_core::Error>(())
    /// ```
    pub fn to(&self, dtype: DType) -> Result<Self> {
        if !FLOATS.contains(&dtype) {
            let expected = error::quoted(FLOATS.map(DType::name));
            return Err(error::argument(format!(
                "a program cannot be converted to {}, expected one of {expected}",
                dtype.name()
            )));
        }
        let mut graph = self.graph().clone();
        let conversion = Conversion { from: dtypes(&graph), to: dtype, largest: finfo(dtype)?.max };
        let tensors = conversion.tensors(self.tensors())?;
        conversion.block(&mut graph.block);
        let dispatcher = Dispatcher::current();
        let set = assignments(&graph.symbols, 0).swap_remove(0);
        let mut before = Meta::new(&dispatcher, self.graph(), self.tensors(), set.clone())?;
        let mut meta = Meta::new(&dispatcher, &graph, &tensors, set)?;
        conversion.results(&mut graph.block, &mut meta, &self.graph().block, &mut before)?;
        Self::new(graph, tensors)
    }
}

/// The floating-point dtypes of what a program has and is given.
fn dtypes(graph: &Graph) -> BTreeSet<DType> {
    let pairs = graph.block.parameters.iter().zip(&graph.inputs);
    let counted = pairs.filter(|(_, kind)| !matches!(kind, InputKind::Constant(_) | InputKind::Fixed(_)));
    let dtypes = counted.filter_map(|(variable, _)| match &variable.kind {
        ValueType::Tensor(tensor) => Some(tensor.dtype),
        _ => None,
    });
    dtypes.filter(|dtype| FLOATS.contains(dtype)).collect()
}

struct Conversion {
    from: BTreeSet<DType>,
    to: DType,
    /// The largest number of the new dtype.
    largest: f64,
}

impl Conversion {
    fn applies(&self, dtype: DType) -> bool {
        self.from.contains(&dtype) && dtype != self.to
    }

    /// The program's tensors, those that were the same one still the same.
    fn tensors(&self, tensors: &BTreeMap<String, Tensor>) -> Result<BTreeMap<String, Tensor>> {
        let mut converted: Vec<(&Tensor, Tensor)> = Vec::new();
        let mut all = BTreeMap::new();
        for (name, tensor) in tensors {
            let known =
                converted.iter().find(|(known, _)| is_same(known, tensor)).map(|(_, new)| new.clone());
            let new = match known {
                Some(new) => new,
                None => {
                    let new =
                        self.tensor(tensor).map_err(|error| error.within(format_args!("tensor `{name}`")))?;
                    converted.push((tensor, new.clone()));
                    new
                }
            };
            all.insert(name.clone(), new);
        }
        Ok(all)
    }

    fn tensor(&self, tensor: &Tensor) -> Result<Tensor> {
        let dtype = if self.applies(tensor.dtype()) { self.to } else { tensor.dtype() };
        let new = autograd::no_grad(|| ops::ToDtype.call(tensor, dtype, false, true, None))?;
        if tensor.requires_grad() {
            new.requires_grad_(true)?;
        }
        Ok(new)
    }

    /// Puts the new dtype in the place of others, in blocks within the block too.
    fn block(&self, block: &mut Block) {
        for variable in &mut block.parameters {
            self.variable(variable);
        }
        for node in &mut block.nodes {
            if node.target != "higher_order::wrap_with_autocast" {
                node.arguments_mut().for_each(|argument| self.argument(argument));
            }
            node.blocks_mut().for_each(|block| self.block(block));
            for outcome in &mut node.results {
                outcome.variables_mut().iter_mut().for_each(|variable| self.variable(variable));
            }
        }
    }

    fn variable(&self, variable: &mut Variable) {
        if let ValueType::Tensor(tensor) = &mut variable.kind
            && self.applies(tensor.dtype)
        {
            tensor.dtype = self.to;
        }
    }

    fn argument(&self, argument: &mut Argument) {
        match argument {
            Argument::DType(dtype) if self.applies(*dtype) => *dtype = self.to,
            Argument::Number(Scalar::Float(number)) if number.is_finite() && number.abs() > self.largest => {
                *number = self.largest.copysign(*number);
            }
            Argument::List(items) => items.iter_mut().for_each(|item| self.argument(item)),
            _ => {}
        }
    }

    /// Converts what operators give in another dtype than the new one, such as what they make of integers.
    ///
    /// # Errors
    ///
    /// An operator that refuses the new dtype; `before` has the values of the `original`.
    fn results(&self, block: &mut Block, meta: &mut Meta, original: &Block, before: &mut Meta) -> Result<()> {
        let mut nodes = Vec::with_capacity(block.nodes.len());
        let pairs = std::mem::take(&mut block.nodes).into_iter().zip(&original.nodes);
        for (index, (mut node, old)) in pairs.enumerate() {
            let was_refused = matches!(before.run(old), Answer::Refused(_));
            // Sizes may depend on each other in a way that the graph does not say.
            if let Answer::Refused(error) = meta.run(&node)
                && !was_refused
            {
                let message = format!("the program does not run in {}: {}", self.to.name(), error.message());
                return Err(Error::new(error.kind(), message).within(node.subject(index)));
            }
            let inner = |node: &Node, meta: &Meta| {
                inner_metas(node, std::slice::from_ref(meta)).into_iter().flatten()
            };
            let pairs: Vec<(Meta, Meta)> = inner(&node, meta).zip(inner(old, before)).collect();
            let originals = old.arguments().filter_map(Argument::as_block);
            for ((block, original), (mut meta, mut before)) in node.blocks_mut().zip(originals).zip(pairs) {
                self.results(block, &mut meta, original, &mut before)?;
            }
            let mut conversions = Vec::new();
            for variable in node.results.iter_mut().flat_map(Outcome::variables_mut) {
                if let Some(given) = self.other_dtype(variable, meta) {
                    conversions.push((variable.clone(), given));
                }
            }
            for (variable, given) in &mut conversions {
                given.name = unused(&variable.name, meta, &nodes, &node);
                rename(&mut node, &variable.name, given);
            }
            let source = node.source.clone();
            nodes.push(node);
            for (variable, given) in conversions {
                let conversion = Node {
                    target: CONVERSION.to_owned(),
                    positional: vec![Argument::Value(given.name.clone()), Argument::DType(self.to)],
                    results: vec![Outcome::One(variable.clone())],
                    source: source.clone(),
                    ..Node::default()
                };
                if let Some(value) = meta.get(&variable.name).cloned() {
                    meta.bind(&given.name, value);
                }
                meta.run(&conversion);
                nodes.push(conversion);
            }
        }
        block.nodes = nodes;
        Ok(())
    }

    /// The result as the operator gives it, where that is of a dtype that has been replaced.
    fn other_dtype(&self, variable: &Variable, meta: &Meta) -> Option<Variable> {
        let ValueType::Tensor(declared) = &variable.kind else { return None };
        let Some(Value::Tensor(_)) = meta.get(&variable.name) else { return None };
        let dtype = meta.tensor(&variable.name)?.dtype();
        (declared.dtype == self.to && self.applies(dtype)).then(|| Variable {
            name: variable.name.clone(),
            kind: ValueType::Tensor(TensorType { dtype, sizes: declared.sizes.clone() }),
        })
    }
}

/// Whether two tensors are one memory, seen in one way.
fn is_same(a: &Tensor, b: &Tensor) -> bool {
    a.geometry() == b.geometry() && a.dtype() == b.dtype() && crate::meta::shares_memory(a, b)
}

/// A name that no value has.
fn unused(name: &str, meta: &Meta, nodes: &[Node], node: &Node) -> String {
    let is_taken = |name: &String| {
        let mut variables = nodes.iter().chain([node]).flat_map(Node::variables);
        meta.get(name).is_some() || variables.any(|variable| variable.name == *name)
    };
    let wanted = (0..).map(|number| format!("{name}_before_{number}"));
    wanted.into_iter().find(|name| !is_taken(name)).unwrap_or_default()
}

/// Gives a result of a node another name and type.
fn rename(node: &mut Node, name: &str, given: &Variable) {
    for variable in node.results.iter_mut().flat_map(Outcome::variables_mut) {
        if variable.name == name {
            *variable = given.clone();
        }
    }
}
