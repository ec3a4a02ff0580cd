//! What a graph declares of its values, held against what their operators give.
//!
//! The nodes run on tensors without memory, at several sizes where sizes vary.

use std::collections::BTreeMap;

use opgrid_core::{Dispatcher, Error, Result, TensorType as _, Value};
use opgrid_tensor::Tensor;

use crate::error;
use crate::graph::types::{Size, TensorType, ValueType};
use crate::graph::{Argument, Block, Graph, Node};
use crate::meta::{Answer, Assignment, Meta, assignments};
use crate::rules;

/// Everything in which the types of a graph contradict its operators, and every call whose operator refuses its shapes or dtypes.
///
/// Where sizes vary, only what is wrong at all sizes that are tried is wrong.
pub(crate) fn contradictions(graph: &Graph, dispatcher: &Dispatcher) -> Result<Vec<Error>> {
    let sets = assignments(&graph.symbols, 2);
    let metas =
        sets.into_iter().map(|set| Meta::new(dispatcher, graph, &BTreeMap::new(), set).map(Meta::careful));
    let mut checker = Checker { errors: Vec::new() };
    checker.block(&graph.block, &mut metas.collect::<Result<Vec<_>>>()?);
    Ok(checker.errors)
}

struct Checker {
    errors: Vec<Error>,
}

impl Checker {
    fn block(&mut self, block: &Block, metas: &mut [Meta]) {
        let mut varying: BTreeMap<&str, bool> = BTreeMap::new();
        for variable in &block.parameters {
            varying.insert(&variable.name, varies(&variable.kind));
        }
        for (index, node) in block.nodes.iter().enumerate() {
            let mut answers: Vec<Answer> = metas.iter_mut().map(|meta| meta.run(node)).collect();
            let blocks = node.arguments().filter_map(Argument::as_block);
            for (block, mut inner) in blocks.zip(inner_metas(node, metas)) {
                self.block(block, &mut inner);
            }
            let names = node.arguments().flat_map(Argument::references);
            let is_fixed = names.into_iter().all(|name| varying.get(name) == Some(&false));
            if let (true, Some(Answer::Refused(_))) = (is_fixed, answers.first())
                && let Answer::Refused(error) = answers.swap_remove(0)
            {
                self.errors.push(error.within(node.subject(index)));
            } else {
                self.results(index, node, metas, &answers);
            }
            for variable in node.variables() {
                varying.insert(&variable.name, varies(&variable.kind));
            }
        }
    }

    /// Compares the results of a call with what is declared of them.
    fn results(&mut self, index: usize, node: &Node, metas: &mut [Meta], answers: &[Answer]) {
        if !answers.iter().all(|answer| matches!(answer, Answer::Results(_))) {
            return;
        }
        for variable in node.variables() {
            let is_wrong = |meta: &Meta| {
                let value = meta.get(&variable.name);
                value.is_some_and(|value| !fits(&variable.kind, value, meta))
            };
            if !metas.iter().all(is_wrong) {
                continue;
            }
            let found = metas[0].get(&variable.name).map(describe).unwrap_or_default();
            let at = metas[0].sizes();
            let at = if at.is_empty() { String::new() } else { format!(" for {at}") };
            self.errors.push(
                error::value(format!(
                    "{}: `%{}` is declared as {}, expected {found} as the operator gives{at}",
                    node.target, variable.name, variable.kind
                ))
                .within(node.subject(index)),
            );
            // What it was said to be holds for the nodes behind it, so that one error is not many.
            metas.iter_mut().for_each(|meta| meta.declare(variable));
        }
    }
}

/// Gives each value of a graph its dtype and sizes, as its operators give them for what the inputs are declared to be. Sizes that vary
/// are expressions of the symbols. Declared types that are right stay as they are, and so do those of values that depend on elements.
///
/// # Errors
///
/// An operator that refuses what it is given.
///
/// # Examples
///
/// ```
/// use opgrid_graph::{Graph, passes};
/// # let _ = opgrid::ops::ensure_registered();
/// let graph: Graph = "graph(%x: float32[n, 3] = input) where n in 1..64 takes ((*,), {}) gives * {
///   %y: any = aten::cat([%x, %x], 0)
///   %z: any = aten::gt.Scalar(%y, 0)
///   return %z
/// }".parse()?;
/// let graph = passes::propagate_types(graph)?;
/// let types: Vec<_> = graph.block.nodes.iter().map(|node| node.variables().next().unwrap().to_string()).collect();
/// assert_eq!(types, ["%y: float32[2*n, 3]", "%z: bool[2*n, 3]"]);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub fn propagate_types(mut graph: Graph) -> Result<Graph> {
    crate::operators::ensure_registered()?;
    let dispatcher = Dispatcher::current();
    let sets = assignments(&graph.symbols, if graph.symbols.is_empty() { 0 } else { rules::AT_ONCE });
    let metas = sets.iter().map(|set| Meta::new(&dispatcher, &graph, &BTreeMap::new(), set.clone()));
    let mut metas = metas.collect::<Result<Vec<_>>>()?;
    propagate(&mut graph.block, &mut metas, &sets)?;
    Ok(graph)
}

fn propagate(block: &mut Block, metas: &mut [Meta], sets: &[Assignment]) -> Result<()> {
    for (index, node) in block.nodes.iter_mut().enumerate() {
        let mut are_known = true;
        for meta in metas.iter_mut() {
            match meta.run(node) {
                Answer::Results(_) => {}
                Answer::Unknown => are_known = false,
                Answer::Refused(error) if sets[0].is_empty() => {
                    return Err(error.within(node.subject(index)));
                }
                // Sizes may depend on each other in a way that the graph does not say.
                Answer::Refused(_) => are_known = false,
            }
        }
        let inner = inner_metas(node, metas);
        for (block, mut inner) in node.blocks_mut().zip(inner) {
            propagate(block, &mut inner, sets)?;
        }
        if !are_known {
            continue;
        }
        for outcome in &mut node.results {
            for variable in outcome.variables_mut() {
                let values = metas.iter().map(|meta| meta.get(&variable.name));
                let Some(values) = values.collect::<Option<Vec<_>>>() else { continue };
                let is_right = |(value, meta): (&&Value, &Meta)| fits(&variable.kind, value, meta);
                if variable.kind != ValueType::Unknown && values.iter().zip(metas.iter()).all(is_right) {
                    continue;
                }
                if let Some(kind) = common(&values, sets) {
                    variable.kind = kind;
                }
            }
        }
    }
    Ok(())
}

/// The type that has these values, one for each set of sizes.
fn common(values: &[&Value], sets: &[Assignment]) -> Option<ValueType> {
    let names: Vec<&str> = sets[0].keys().map(String::as_str).collect();
    let sizes: Vec<Vec<i64>> = sets.iter().map(|set| set.values().copied().collect()).collect();
    let sizes: Vec<&[i64]> = sizes.iter().map(Vec::as_slice).collect();
    let size = |values: &[i64]| {
        if values.iter().all(|value| *value == values[0]) {
            return Some(Size::Known(values[0]));
        }
        rules::find(&names, &sizes, values).map(Size::from)
    };
    match values.first()? {
        Value::Tensor(_) => {
            let tensors = values.iter().map(|value| match value {
                Value::Tensor(tensor) => Tensor::from_any_ref(tensor),
                _ => None,
            });
            let tensors: Vec<&Tensor> = tensors.collect::<Option<_>>()?;
            let first = tensors[0];
            let is_alike = |other: &&Tensor| {
                other.is_defined() && other.dtype() == first.dtype() && other.dim() == first.dim()
            };
            if !tensors.iter().all(is_alike) {
                return None;
            }
            let each = (0..first.dim())
                .map(|dim| size(&tensors.iter().map(|it| it.sizes()[dim]).collect::<Vec<_>>()));
            Some(ValueType::Tensor(TensorType { dtype: first.dtype(), sizes: each.collect::<Option<_>>()? }))
        }
        Value::Int(_) => {
            let numbers =
                values.iter().map(|value| if let Value::Int(value) = value { Some(*value) } else { None });
            Some(ValueType::Int(size(&numbers.collect::<Option<Vec<_>>>()?)))
        }
        Value::Float(_) => Some(ValueType::Float),
        Value::Bool(_) => Some(ValueType::Bool),
        _ => None,
    }
}

/// For each block of a node, the values of what it is given. Blocks under autocast are left out: what their calls give depends on the mode.
pub(crate) fn inner_metas(node: &Node, metas: &[Meta]) -> Vec<Vec<Meta>> {
    if node.target == "higher_order::wrap_with_autocast" {
        return Vec::new();
    }
    let operands = operands(node);
    let blocks = node.arguments().filter_map(Argument::as_block);
    blocks.map(|block| metas.iter().map(|meta| within(meta, block, &operands)).collect()).collect()
}

/// What the blocks of a node are given; nothing is known of it in a loop, whose sizes may change.
fn operands(node: &Node) -> Vec<Argument> {
    match (node.target.as_str(), node.positional.as_slice()) {
        ("higher_order::cond", [_, _, _, Argument::List(operands)]) => operands.clone(),
        ("higher_order::wrap_with_set_grad_enabled", arguments) => {
            let behind = arguments.iter().position(|argument| argument.as_block().is_some());
            arguments.iter().skip(behind.map_or(arguments.len(), |place| place + 1)).cloned().collect()
        }
        _ => Vec::new(),
    }
}

fn within(meta: &Meta, block: &Block, operands: &[Argument]) -> Meta {
    let mut inner = meta.within();
    for (index, parameter) in block.parameters.iter().enumerate() {
        match operands.get(index).and_then(|operand| meta.value(operand)) {
            Some(value) => inner.bind(&parameter.name, value),
            None => inner.declare(parameter),
        }
    }
    inner
}

/// Whether a value may be one of that type.
fn fits(declared: &ValueType, value: &Value, meta: &Meta) -> bool {
    let is_size = |size: &Size, found: i64| meta.size(size).is_none_or(|size| size == found);
    match (declared, value) {
        (ValueType::Unknown, _) | (_, Value::None) => true,
        (ValueType::Tensor(declared), Value::Tensor(tensor)) => {
            let Some(tensor) = Tensor::from_any_ref(tensor) else { return true };
            !tensor.is_defined()
                || tensor.dtype() == declared.dtype
                    && tensor.dim() == declared.sizes.len()
                    && declared.sizes.iter().zip(tensor.sizes()).all(|(size, found)| is_size(size, *found))
        }
        (ValueType::Int(Some(size)), Value::Int(found)) => is_size(size, *found),
        (ValueType::Int(None), Value::Int(_)) => true,
        (ValueType::Float, Value::Float(_) | Value::Int(_)) | (ValueType::Bool, Value::Bool(_)) => true,
        _ => false,
    }
}

/// A value as its type.
fn describe(value: &Value) -> String {
    match value {
        Value::Tensor(tensor) => Tensor::from_any_ref(tensor)
            .map_or_else(String::new, |tensor| ValueType::from_tensor(tensor).to_string()),
        Value::Int(number) => format!("int({number})"),
        value => value.borrow().value_type().python_name(),
    }
}

/// Whether a type has sizes that vary, or says nothing.
fn varies(kind: &ValueType) -> bool {
    let is_varying = |size: &Size| matches!(size, Size::Varying(_));
    match kind {
        ValueType::Tensor(tensor) => tensor.sizes.iter().any(is_varying),
        ValueType::Int(size) => size.as_ref().is_none_or(is_varying),
        ValueType::Unknown => true,
        ValueType::Float | ValueType::Bool => false,
    }
}
