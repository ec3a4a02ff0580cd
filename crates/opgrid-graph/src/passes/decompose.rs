//! Composite operators taken apart into those that they call.

use std::collections::{BTreeMap, BTreeSet};

use opgrid_core::schema::Type;
use opgrid_core::{Device, DispatchKey, Dispatcher, Kind, OperatorHandle, Result, Returns, Value};
use opgrid_tensor::Tensor;
use opgrid_tensor::families::kind;

use super::rename;
use crate::archive::Archive;
use crate::error;
use crate::graph::expression::Expression;
use crate::graph::types::{Size, TensorType, ValueType};
use crate::graph::{Argument, Block, Graph, Node, Outcome, Variable};
use crate::meta::{Meta, assignments};
use crate::program::target::{Target, resolve};
use crate::rules::AT_ONCE;
use crate::trace::{Example, symbol, trace_call};
use crate::typing::inner_metas;

/// The overloads of `aten` that torch tags `core`, in torch 2.15: nothing is to be taken apart further.
const CORE: &str = "
_adaptive_avg_pool2d _adaptive_avg_pool2d_backward _adaptive_avg_pool3d _cdist_forward _embedding_bag _fft_c2r _fft_r2c
_local_scalar_dense _log_softmax _native_batch_norm_legit _native_batch_norm_legit.no_stats _native_batch_norm_legit_no_training
_pdist_forward _softmax _to_copy abs acos acosh adaptive_avg_pool1d add.Scalar add.Tensor addmm alias amax amin any any.dim
any.dims arange.start_step argmax argmin as_strided asin asinh atan atan2 atan2.out atanh avg_pool1d avg_pool2d
avg_pool2d_backward avg_pool3d bitwise_and.Scalar bitwise_and.Tensor bitwise_not bitwise_or.Scalar bitwise_or.Tensor
bitwise_xor.Scalar bitwise_xor.Tensor bmm cat ceil clamp clamp.Tensor clone col2im constant_pad_nd convolution
convolution_backward copy cos cosh cumsum diagonal div.Scalar div.Scalar_mode div.Tensor div.Tensor_mode elu embedding
embedding_dense_backward empty.memory_format empty_strided eq.Scalar eq.Tensor erf exp expand expm1 fill.Scalar flip floor
fmod.Scalar fmod.Tensor full full_like gather ge.Scalar ge.Tensor gelu grid_sampler_2d gt.Scalar gt.Tensor hardtanh index.Tensor
index_put index_select isinf isnan le.Scalar le.Tensor leaky_relu log log10 log1p log2 logical_and logical_not logical_or
logical_xor lt.Scalar lt.Tensor masked_scatter max.dim max_pool2d_with_indices max_pool2d_with_indices_backward
max_pool3d_with_indices maximum mean mean.dim min.dim minimum mm mul.Scalar mul.Tensor native_dropout native_group_norm
native_group_norm_backward native_layer_norm native_layer_norm_backward ne.Scalar ne.Tensor neg nonzero permute pow.Scalar
pow.Tensor_Scalar pow.Tensor_Tensor prod prod.dim_int rand randn randperm reciprocal reflection_pad1d reflection_pad2d
reflection_pad3d relu remainder.Scalar remainder.Tensor repeat replication_pad2d replication_pad3d resize_ round rsqrt
scalar_tensor scatter.src scatter.value scatter_add scatter_reduce.two select.int select_scatter sigmoid sign sin sinh
slice.Tensor slice_scatter sort split_with_sizes sqrt squeeze.dim squeeze.dims sub.Scalar sub.Tensor sum.dim_IntList
sym_is_contiguous sym_numel sym_size.int sym_storage_offset sym_stride.int tan tanh topk trunc unsqueeze upsample_bilinear2d.vec
upsample_nearest2d.vec var.correction var.dim view where.self";

/// How often what an operator was taken apart into is taken apart itself.
const DEEPEST: usize = 16;

/// Takes composite operators apart, as `ExportedProgram.run_decompositions` of torch: each is replaced by the operators that its kernel
/// calls, until those of torch's core remain, and operators that have kernels of their own.
///
/// A node is traced with the types that its arguments have, at several sizes where these vary. It stays as it is where its kernel looks at
/// elements, writes memory that it has just allocated, or does something else at other sizes; under autocast, which goes by the names of
/// operators, all nodes stay.
///
/// # Errors
///
/// An operator that is not there.
///
/// # Examples
///
/// ```
/// use opgrid_graph::{Archive, Graph, passes};
/// # let _ = opgrid::ops::ensure_registered();
/// let graph: Graph = "graph(%x: float32[n, 3, 4] = input) where n in 1..64 takes ((*,), {}) gives * {
///   %y: float32[n, 12] = aten::flatten.using_ints(%x, 1)
///   %z: float32[n, 12] = aten::softmax.int(%y, 1)
///   return %z
/// }".parse()?;
/// let graph = passes::decompose(Archive::new(graph, [].into()))?.graph;
/// let targets: Vec<_> = graph.block.nodes.iter().map(|node| node.target.as_str()).collect();
/// assert_eq!(targets, ["aten::sym_size.int", "aten::view", "aten::_softmax"]);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub fn decompose(mut archive: Archive) -> Result<Archive> {
    crate::operators::ensure_registered()?;
    let dispatcher = Dispatcher::current();
    let graph = &mut archive.graph;
    let more = if graph.symbols.is_empty() { 0 } else { AT_ONCE };
    let metas = assignments(&graph.symbols, more)
        .into_iter()
        .map(|sizes| Meta::new(&dispatcher, graph, &archive.tensors, sizes));
    let mut metas = metas.collect::<Result<Vec<_>>>()?;
    let mut names = BTreeSet::new();
    collect_names(&graph.block, &mut names);
    let mut pass = Decomposer { dispatcher, names, few: graph.symbols.len() + 2 };
    pass.block(&mut graph.block, &mut metas)?;
    Ok(archive)
}

/// Nodes, and the results of what they replace that are other values.
type Apart = (Vec<Node>, BTreeMap<String, String>);

/// What the kernel of one composite calls, for values that `meta` has: nodes with names that no value has, and the results of the composite
/// that are other values. Nothing where it stays whole.
pub(super) fn expand_composite(
    dispatcher: &Dispatcher,
    names: &mut BTreeSet<String>,
    node: &Node,
    meta: &Meta,
) -> Result<Option<Apart>> {
    let mut pass = Decomposer { dispatcher: dispatcher.clone(), names: std::mem::take(names), few: 1 };
    let mut builder = BlockBuilder::default();
    let expansion = pass.open(node, std::slice::from_ref(meta));
    let nodes =
        expansion.map(|expansion| expansion.map(|expansion| pass.splice(node, expansion, &mut builder)));
    *names = pass.names;
    Ok(nodes?.map(|nodes| (nodes, builder.others)))
}

fn collect_names(block: &Block, names: &mut BTreeSet<String>) {
    let mut blocks = vec![block];
    while let Some(block) = blocks.pop() {
        let results = block.nodes.iter().flat_map(Node::variables);
        names.extend(block.parameters.iter().chain(results).map(|variable| variable.name.clone()));
        blocks.extend(block.nodes.iter().flat_map(Node::arguments).filter_map(Argument::as_block));
    }
}

struct Decomposer {
    dispatcher: Dispatcher,
    names: BTreeSet<String>,
    /// With how many sets of sizes is tried first.
    few: usize,
}

/// The block that is made.
#[derive(Default)]
struct BlockBuilder {
    nodes: Vec<Node>,
    kinds: BTreeMap<String, ValueType>,
    /// Values that are others.
    others: BTreeMap<String, String>,
}

/// What a node is replaced by.
struct Expansion {
    graph: Graph,
    /// The arguments that are the inputs of the graph: tensors, then integers.
    operands: Vec<Argument>,
    /// How many of them are tensors.
    tensors: usize,
}

impl Decomposer {
    fn block(&mut self, block: &mut Block, metas: &mut [Meta]) -> Result<()> {
        let mut builder = BlockBuilder::default();
        for variable in &block.parameters {
            builder.kinds.insert(variable.name.clone(), variable.kind.clone());
        }
        for node in std::mem::take(&mut block.nodes) {
            self.node(node, metas, &mut builder, 0)?;
        }
        rename(&mut block.results, &builder.others);
        block.nodes = builder.nodes;
        Ok(())
    }

    fn node(
        &mut self,
        mut node: Node,
        metas: &mut [Meta],
        builder: &mut BlockBuilder,
        depth: usize,
    ) -> Result<()> {
        rename(node.arguments_mut(), &builder.others);
        let expansion = if depth < DEEPEST { self.open(&node, metas)? } else { None };
        let Some(expansion) = expansion else {
            let inner = inner_metas(&node, metas);
            for (block, mut inner) in node.blocks_mut().zip(inner) {
                self.block(block, &mut inner)?;
            }
            for meta in metas.iter_mut() {
                meta.run(&node);
            }
            for variable in node.variables() {
                builder.kinds.insert(variable.name.clone(), variable.kind.clone());
            }
            builder.nodes.push(node);
            return Ok(());
        };
        for node in self.splice(&node, expansion, builder) {
            self.node(node, metas, builder, depth + 1)?;
        }
        Ok(())
    }

    /// What the kernel of a composite does; nothing where the node stays.
    fn open(&self, node: &Node, metas: &[Meta]) -> Result<Option<Expansion>> {
        let Target::Operator(operator) = resolve(&self.dispatcher, &node.target)? else { return Ok(None) };
        let Some(key) = composite_key(&operator) else { return Ok(None) };
        let schema = operator.schema()?;
        // What gives nothing and writes nothing checks something, which a run without elements does not see.
        let is_check = schema.returns.is_empty() && !schema.is_mutable();
        if is_check || !schema.returns.iter().all(|given| is_of_tensors(&given.real_type)) {
            return Ok(None);
        }
        let (mut operands, mut numbers) = (Vec::new(), Vec::new());
        for name in node.arguments().flat_map(Argument::references) {
            let operand = Argument::Value(name.to_owned());
            match metas[0].get(name) {
                Some(Value::Tensor(_)) if !operands.contains(&operand) => operands.push(operand),
                Some(Value::Int(_)) if !numbers.contains(&operand) => numbers.push(operand),
                Some(Value::Tensor(_) | Value::Int(_)) => {}
                _ => return Ok(None),
            }
        }
        let tensors = operands.len();
        for metas in [metas.get(..self.few), Some(metas)].into_iter().flatten() {
            let examples = metas.iter().map(|meta| example(meta, &operands, &numbers));
            let Some(examples) = examples.collect::<Option<Vec<_>>>() else { return Ok(None) };
            let traced = trace_call(&examples, |index, stand_ins| {
                self.call(&operator, key, node, &metas[index], &operands, stand_ins)
            });
            let Ok(graph) = traced else { continue };
            // A result that is undefined has no name.
            let is_whole = graph.block.results.iter().all(|result| matches!(result, Argument::Value(_)));
            let is_simpler = key == DispatchKey::CompositeImplicitAutograd
                || schema.is_mutable()
                || !self.fills_memory(&graph)?;
            if !is_whole || !is_simpler || reads_number(&graph, &examples[0]) {
                return Ok(None);
            }
            operands.extend(numbers);
            return Ok(Some(Expansion { graph, operands, tensors }));
        }
        Ok(None)
    }

    /// Calls the composite kernel with these tensors for the operands, and gives all results.
    fn call(
        &self,
        operator: &OperatorHandle,
        key: DispatchKey,
        node: &Node,
        meta: &Meta,
        operands: &[Argument],
        stand_ins: &[Tensor],
    ) -> Result<Vec<Tensor>> {
        let mut meta = meta.clone();
        for (operand, stand_in) in operands.iter().zip(stand_ins) {
            if let Argument::Value(name) = operand {
                meta.bind(name, Value::from(stand_in));
            }
        }
        let unknown = || error::value("found an argument that is not known, expected all");
        let args = meta.arguments(operator, node).ok_or_else(unknown)?;
        let mut returns = Returns::new();
        let borrowed: Vec<_> = args.iter().map(Value::borrow).collect();
        operator.call_boxed_for_key(key, &borrowed, &mut returns)?;
        let mut results = Vec::new();
        for (index, result) in returns.into_vec().into_iter().enumerate() {
            let is_used = !matches!(node.results.get(index), None | Some(Outcome::Unused));
            match result {
                _ if !is_used => {}
                Value::Tensor(tensor) => results.push(Tensor::try_from(tensor)?),
                Value::List(list) => {
                    for item in list.values() {
                        let Value::Tensor(tensor) = item else { return Err(unknown()) };
                        results.push(Tensor::try_from(tensor)?);
                    }
                }
                _ => return Err(unknown()),
            }
        }
        Ok(results)
    }

    /// Whether a kernel allocates memory and writes it, which is no simpler than the operator itself.
    fn fills_memory(&self, graph: &Graph) -> Result<bool> {
        for node in &graph.block.nodes {
            if node.target.starts_with("aten::empty") || node.target.starts_with("aten::new_empty") {
                return Ok(true);
            }
            if let Target::Operator(operator) = resolve(&self.dispatcher, &node.target)?
                && operator.schema()?.is_mutable()
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The nodes that replace one: with names of this block, and with its results.
    fn splice(&mut self, node: &Node, expansion: Expansion, builder: &mut BlockBuilder) -> Vec<Node> {
        let Expansion { mut graph, operands, tensors } = expansion;
        let mut names: BTreeMap<String, Argument> = BTreeMap::new();
        let mut sizes: BTreeMap<String, Expression> = BTreeMap::new();
        for (index, (parameter, operand)) in graph.block.parameters.iter().zip(&operands).enumerate() {
            names.insert(parameter.name.clone(), operand.clone());
            let Argument::Value(name) = operand else { continue };
            let declared: Vec<&Size> = match builder.kinds.get(name) {
                Some(ValueType::Tensor(tensor)) => tensor.sizes.iter().collect(),
                Some(ValueType::Int(Some(size))) => vec![size],
                _ => continue,
            };
            for (dimension, size) in declared.into_iter().enumerate() {
                let expression = match size {
                    Size::Known(value) => Expression::Integer(*value),
                    Size::Varying(expression) => expression.clone(),
                };
                sizes.insert(symbol((index, dimension)), expression);
            }
        }
        // The integers that the node was given are read from it, not from the tensors that stood for them.
        let numbers: BTreeSet<String> =
            graph.block.parameters.iter().skip(tensors).map(|parameter| parameter.name.clone()).collect();
        graph.block.nodes.retain(|inner| {
            let is_number = inner.target == "aten::sym_size.int"
                && matches!(inner.positional.first(), Some(Argument::Value(name)) if numbers.contains(name));
            if let (true, Some(Argument::Value(given)), Some(variable)) =
                (is_number, inner.positional.first(), inner.variables().next())
            {
                let operand = names.get(given).cloned();
                names.extend(operand.map(|operand| (variable.name.clone(), operand)));
            }
            !is_number
        });
        // Results keep their names and types.
        let results: Vec<&Variable> = node.variables().collect();
        let mut declared: BTreeMap<String, &Variable> = BTreeMap::new();
        let inner: BTreeSet<String> = graph
            .block
            .nodes
            .iter()
            .flat_map(Node::variables)
            .map(|variable| variable.name.clone())
            .collect();
        for (variable, result) in results.iter().zip(&graph.block.results) {
            let Argument::Value(name) = result else { continue };
            if inner.contains(name) && !declared.contains_key(name) {
                declared.insert(name.clone(), variable);
                names.insert(name.clone(), Argument::Value(variable.name.clone()));
            }
        }
        let mut nodes = graph.block.nodes;
        for inner in &mut nodes {
            inner.source = node.source.clone();
            for outcome in &mut inner.results {
                let variables = match outcome {
                    Outcome::One(variable) => std::slice::from_mut(variable),
                    Outcome::List(variables) => variables.as_mut_slice(),
                    Outcome::Unused => continue,
                };
                for variable in variables {
                    if let Some(result) = declared.get(&variable.name) {
                        (variable.name, variable.kind) = (result.name.clone(), result.kind.clone());
                        continue;
                    }
                    let name = self.unique(&variable.name);
                    names.insert(std::mem::replace(&mut variable.name, name.clone()), Argument::Value(name));
                    variable.kind = substituted(&variable.kind, &sizes);
                }
            }
        }
        for inner in &mut nodes {
            inner.arguments_mut().for_each(|argument| substitute(argument, &names));
        }
        for (variable, result) in results.iter().zip(&graph.block.results) {
            let Argument::Value(name) = result else { continue };
            if let Some(Argument::Value(other)) = names
                .get(name)
                .filter(|_| declared.get(name).is_none_or(|result| result.name != variable.name))
            {
                builder.others.insert(variable.name.clone(), other.clone());
            }
        }
        nodes
    }

    fn unique(&mut self, wanted: &str) -> String {
        let mut name = wanted.to_owned();
        let mut number = 0;
        while !self.names.insert(name.clone()) {
            number += 1;
            name = format!("{wanted}_{number}");
        }
        name
    }
}

/// The key of the kernel by which a composite calls others; nothing for what is not taken apart.
fn composite_key(operator: &OperatorHandle) -> Option<DispatchKey> {
    let name = operator.name().to_string();
    let is_core =
        name.strip_prefix("aten::").is_some_and(|name| CORE.split_whitespace().any(|core| core == name));
    if is_core {
        return None;
    }
    if operator.has_kernel_for(DispatchKey::CompositeImplicitAutograd) {
        return Some(DispatchKey::CompositeImplicitAutograd);
    }
    let is_view = operator.column::<Kind>().ok().flatten().is_some_and(|found| found.is(&kind::VIEW));
    let is_explicit = operator.has_kernel_for(DispatchKey::CompositeExplicitAutograd)
        && !operator.has_kernel_for(DispatchKey::Cpu)
        && !is_view;
    is_explicit.then_some(DispatchKey::CompositeExplicitAutograd)
}

/// Whether the kernel read a tensor without dimensions: no call is given it. Here it has no elements, so that what was read is nothing.
fn reads_number(graph: &Graph, example: &Example) -> bool {
    let mut used: BTreeSet<&str> = BTreeSet::new();
    let arguments = graph.block.nodes.iter().flat_map(Node::arguments).chain(&graph.block.results);
    used.extend(arguments.flat_map(Argument::references));
    let mut inputs = graph.block.parameters.iter().zip(&example.tensors);
    inputs.any(|(parameter, tensor)| tensor.dim() == 0 && !used.contains(parameter.name.as_str()))
}

/// What the operands are at one set of sizes.
fn example(meta: &Meta, tensors: &[Argument], numbers: &[Argument]) -> Option<Example> {
    let value = |argument: &Argument| match argument {
        Argument::Value(name) => meta.get(name),
        _ => None,
    };
    let tensor = |argument| match value(argument) {
        Some(Value::Tensor(tensor)) => Tensor::try_from(tensor.clone()).ok().filter(Tensor::is_defined),
        _ => None,
    };
    let number = |argument| match value(argument) {
        Some(Value::Int(number)) => Some(*number),
        _ => None,
    };
    Some(Example {
        tensors: tensors.iter().map(tensor).collect::<Option<_>>()?,
        numbers: numbers.iter().map(number).collect::<Option<_>>()?,
    })
}

fn is_of_tensors(declared: &Type) -> bool {
    match declared.without_optional() {
        Type::Tensor => true,
        Type::List(element) => is_of_tensors(element),
        _ => false,
    }
}

/// Lets an argument name values of the block around. What was made without memory is made on the CPU.
fn substitute(argument: &mut Argument, names: &BTreeMap<String, Argument>) {
    match argument {
        Argument::Value(name) => {
            if let Some(other) = names.get(name) {
                *argument = other.clone();
            }
        }
        Argument::List(items) => items.iter_mut().for_each(|item| substitute(item, names)),
        Argument::Device(device) if *device == Device::META => *device = Device::CPU,
        _ => {}
    }
}

/// A type in the symbols of the block around; nothing is known of one with a size that has no expression there.
fn substituted(kind: &ValueType, sizes: &BTreeMap<String, Expression>) -> ValueType {
    let size = |size: &Size| match size {
        Size::Known(value) => Some(Size::Known(*value)),
        Size::Varying(expression) => replaced(expression, sizes).map(Size::from),
    };
    match kind {
        ValueType::Tensor(tensor) => {
            let sizes = tensor.sizes.iter().map(size).collect::<Option<Vec<_>>>();
            sizes.map_or(ValueType::Unknown, |sizes| {
                ValueType::Tensor(TensorType { dtype: tensor.dtype, sizes })
            })
        }
        ValueType::Int(Some(known)) => ValueType::Int(size(known)),
        kind => kind.clone(),
    }
}

fn replaced(expression: &Expression, sizes: &BTreeMap<String, Expression>) -> Option<Expression> {
    let all =
        |parts: &[Expression]| parts.iter().map(|part| replaced(part, sizes)).collect::<Option<Vec<_>>>();
    Some(match expression {
        Expression::Integer(value) => Expression::Integer(*value),
        Expression::Symbol(name) => sizes.get(name)?.clone(),
        Expression::Sum(terms) => Expression::Sum(all(terms)?),
        Expression::Product(factors) => Expression::Product(all(factors)?),
        Expression::Function(name, arguments) => Expression::Function(name.clone(), all(arguments)?),
    })
}
