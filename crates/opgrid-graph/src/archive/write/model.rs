//! The JSON of a graph, in version 8 of torch.export's schema.

use std::collections::{BTreeMap, BTreeSet};

use opgrid_core::{Complex64, DType, Device, Dispatcher, Error, OperatorHandle, Result, Scalar};
use opgrid_tensor::Tensor;
use serde_json::{Map, Value as Json, json};

use super::super::{model, numbers};
use super::names::Names;
use super::sizes::Symbols;
use crate::error;
use crate::graph::tree::Tree;
use crate::graph::types::{TensorType, ValueType};
use crate::graph::{Argument, Block, Graph, InputKind, Node, Outcome, OutputKind, Source, Variable};

/// The minor version of the schema.
const MINOR: i64 = 20;
/// The version of aten's operators in torch 2.15.
const OPSET: i64 = 10;
/// The number of the layout of tensors with strides.
pub(super) const STRIDED: i64 = 7;
/// How deep blocks may be nested, so that readers of JSON with a bounded stack take what is written.
const DEEPEST_BLOCKS: usize = 14;
/// How deep lists may be nested.
const DEEPEST_LISTS: usize = 2;

/// A graph as `models/NAME.json` has it.
pub(super) fn to_json(graph: &Graph, tensors: &BTreeMap<String, Tensor>, version: &str) -> Result<Json> {
    let Graph { block, inputs, outputs, .. } = graph;
    for (what, found, expected) in
        [("inputs", inputs.len(), block.parameters.len()), ("outputs", outputs.len(), block.results.len())]
    {
        if found != expected {
            return Err(error::value(format!(
                "the graph says what {found} {what} are, expected {expected} as its block has"
            )));
        }
    }
    let mut writer = Writer { dispatcher: Dispatcher::current(), symbols: Symbols::new(graph), tensors };
    let mut scope = writer.scope(block, inputs)?;
    let mut body = Body::default();
    let mut input_specs = Vec::with_capacity(inputs.len());
    for (variable, kind) in block.parameters.iter().zip(inputs) {
        let within = |error: Error| error.within(format_args!("input `{}`", variable.name));
        let (input, spec) = writer.input(variable, kind, &scope, &mut body).map_err(within)?;
        body.inputs.push(input);
        input_specs.push(spec);
    }
    writer.nodes(block, &mut scope, &mut body, 0)?;
    let mut output_specs = Vec::with_capacity(outputs.len());
    // torch has what is written in front.
    let (returned, written): (Vec<_>, Vec<_>) =
        block.results.iter().zip(outputs).enumerate().partition(|(_, (_, kind))| kind.is_returned());
    for (index, (result, kind)) in written.into_iter().chain(returned) {
        let (output, spec) = writer
            .output(result, kind, &scope)
            .map_err(|error| error.within(format_args!("output {index}")))?;
        body.outputs.push(output);
        output_specs.push(spec);
    }
    let mut named_tuples = Map::new();
    for tree in [&graph.input_tree, &graph.output_tree] {
        tree.visit_named_tuples(&mut |name, fields| {
            named_tuples.insert(name.to_owned(), json!({"field_names": fields}));
        });
    }
    Ok(json!({
        "graph_module": {
            "graph": body.into_json(false),
            "signature": {"input_specs": input_specs, "output_specs": output_specs},
            "module_call_graph": [{"fqn": "", "signature": call_signature(graph, &scope)}],
            "metadata": {},
            "treespec_namedtuple_fields": named_tuples,
        },
        "opset_version": {"aten": OPSET},
        "range_constraints": writer.symbols.ranges(),
        "schema_version": {"major": model::MAJOR, "minor": MINOR},
        "verifiers": ["TRAINING"],
        "torch_version": version,
        "guards_code": [],
    }))
}

/// How the program is called: the nesting of its arguments and results, and the names of the arguments where each is one value.
fn call_signature(graph: &Graph, scope: &Scope<'_>) -> Json {
    let pairs = graph.block.parameters.iter().zip(&graph.inputs);
    let mut leaves = pairs.filter(|(_, kind)| kind.stored_name().is_none()).map(|(variable, _)| variable);
    let mut names = Vec::new();
    if let Tree::Tuple(parts) = &graph.input_tree
        && let [Tree::Tuple(positional), Tree::Dict(named)] = parts.as_slice()
    {
        for (index, tree) in positional.iter().enumerate() {
            let first = if tree.leaves() > 0 { leaves.next() } else { None };
            for _ in 1..tree.leaves() {
                leaves.next();
            }
            let name =
                first.filter(|_| *tree == Tree::Leaf).and_then(|variable| scope.values.get(&*variable.name));
            names.push(name.map_or_else(|| format!("arg_{index}"), |value| value.name.clone()));
        }
        names.extend(named.iter().map(|(name, _)| name.clone()));
    }
    let are_distinct = names.iter().collect::<BTreeSet<_>>().len() == names.len();
    json!({
        "inputs": [],
        "outputs": [],
        "in_spec": graph.input_tree.to_treespec(),
        "out_spec": graph.output_tree.to_treespec(),
        "forward_arg_names": (are_distinct && names.iter().all(|name| Names::is_usable(name))).then_some(names),
    })
}

/// Whether parameters of the dtype have gradients.
pub(super) fn is_trained(dtype: DType) -> bool {
    dtype.is_floating_point() || dtype.is_complex()
}

pub(super) fn device(device: Device) -> Json {
    json!({"type": device.kind().name(), "index": device.index()})
}

/// What stands in the JSON of one block.
#[derive(Default)]
struct Body {
    inputs: Vec<Json>,
    outputs: Vec<Json>,
    nodes: Vec<Json>,
    tensors: Map<String, Json>,
    integers: Map<String, Json>,
    bools: Map<String, Json>,
    floats: Map<String, Json>,
}

impl Body {
    fn into_json(self, gives_one_tensor: bool) -> Json {
        json!({
            "inputs": self.inputs,
            "outputs": self.outputs,
            "nodes": self.nodes,
            "tensor_values": self.tensors,
            "sym_int_values": self.integers,
            "sym_bool_values": self.bools,
            "is_single_tensor_return": gives_one_tensor,
            "custom_obj_values": {},
            "sym_float_values": self.floats,
        })
    }
}

/// The values of a block by their names in the graph.
struct Scope<'g> {
    values: BTreeMap<&'g str, Value<'g>>,
    names: Names,
}

/// A value that nodes may refer to.
struct Value<'g> {
    /// Its name in the file.
    name: String,
    kind: &'g ValueType,
    /// What it is, if the caller cannot vary it.
    fixed: Option<&'g Argument>,
}

struct Writer<'w> {
    dispatcher: Dispatcher,
    symbols: Symbols,
    tensors: &'w BTreeMap<String, Tensor>,
}

impl Writer<'_> {
    /// Gives every variable of a block its name. Those that torch can use stay.
    fn scope<'g>(&self, block: &'g Block, inputs: &'g [InputKind]) -> Result<Scope<'g>> {
        let mut scope = Scope { values: BTreeMap::new(), names: Names::default() };
        let results = block.nodes.iter().flat_map(Node::variables).map(|variable| (variable, None));
        let parameters = block.parameters.iter().enumerate().map(|(index, variable)| {
            let fixed = inputs.get(index).and_then(|kind| match kind {
                InputKind::Fixed(value) => Some(value),
                _ => None,
            });
            (variable, fixed)
        });
        for (variable, fixed) in parameters.chain(results) {
            let mut name = String::new();
            if Names::is_usable(&variable.name) && scope.names.take(&variable.name) {
                name.clone_from(&variable.name);
            }
            if scope.values.insert(&variable.name, Value { name, kind: &variable.kind, fixed }).is_some() {
                return Err(error::value(format!("`%{}` is defined twice, expected once", variable.name)));
            }
        }
        let Scope { values, names } = &mut scope;
        for (wanted, value) in values.iter_mut().filter(|(_, value)| value.name.is_empty()) {
            value.name = names.make(wanted);
        }
        Ok(scope)
    }

    /// An input of the program, and what it is.
    fn input(
        &mut self,
        variable: &Variable,
        kind: &InputKind,
        scope: &Scope<'_>,
        body: &mut Body,
    ) -> Result<(Json, Json)> {
        let name = &scope.find(&variable.name)?.name;
        if let InputKind::Fixed(value) = kind {
            let value = match value {
                Argument::None
                | Argument::Str(_)
                | Argument::Number(Scalar::Int(_) | Scalar::Float(_) | Scalar::Bool(_)) => constant(value)?,
                _ => {
                    let message = "it is fixed to a value that torch.export has no form for, expected a number, a text or nothing";
                    return Err(error::unsupported(message));
                }
            };
            return Ok((value.clone(), json!({"constant_input": {"name": name, "value": value}})));
        }
        let strides = kind.stored_name().and_then(|stored| self.tensors.get(stored));
        let strides = strides.map(|tensor| tensor.strides().to_vec());
        let is_parameter = matches!(kind, InputKind::Parameter(_));
        let input = self.define(variable, scope, body, true, strides.as_deref(), is_parameter)?;
        let is_tensor = matches!(variable.kind, ValueType::Tensor(_));
        let arg = json!({"name": name});
        let spec = match kind {
            InputKind::User if is_tensor || matches!(variable.kind, ValueType::Int(_)) => {
                json!({"user_input": {"arg": input}})
            }
            InputKind::User => {
                return Err(error::unsupported(format!(
                    "it is {}, which torch.export has only as a fixed value, expected a tensor or an int",
                    variable.kind
                )));
            }
            _ if !is_tensor => {
                let kind = &variable.kind;
                return Err(error::value(format!(
                    "it is kept with the program and is {kind}, expected a tensor"
                )));
            }
            InputKind::Parameter(stored) => json!({"parameter": {"arg": arg, "parameter_name": stored}}),
            InputKind::Buffer { name: stored, persistent } => {
                json!({"buffer": {"arg": arg, "buffer_name": stored, "persistent": persistent}})
            }
            InputKind::Constant(stored) => {
                json!({"tensor_constant": {"arg": arg, "tensor_constant_name": stored}})
            }
            InputKind::Fixed(_) => unreachable!("returned above"),
        };
        Ok((input, spec))
    }

    /// A result of the program, and what it is.
    fn output(&self, result: &Argument, kind: &OutputKind, scope: &Scope<'_>) -> Result<(Json, Json)> {
        let output = self.result(result, scope)?;
        if let OutputKind::User = kind {
            return Ok((output.clone(), json!({"user_output": {"arg": output}})));
        }
        let Some(arg) = output.get("as_tensor") else {
            return Err(error::value(format!(
                "found `{output}`, expected a tensor of the graph, which is written"
            )));
        };
        // What the program writes of the caller's goes by the name that it has in the file.
        let given = |name: &String| {
            scope.values.get(name.as_str()).map(|value| value.name.clone()).ok_or_else(|| {
                error::value(format!("the program writes the input `{name}`, which it does not have"))
            })
        };
        let spec = match kind {
            OutputKind::User => unreachable!("returned above"),
            OutputKind::Loss => json!({"loss_output": {"arg": arg}}),
            OutputKind::BufferMutation(name) => json!({"buffer_mutation": {"arg": arg, "buffer_name": name}}),
            OutputKind::ParameterMutation(name) => {
                json!({"parameter_mutation": {"arg": arg, "parameter_name": name}})
            }
            OutputKind::InputMutation(name) => {
                json!({"user_input_mutation": {"arg": arg, "user_input_name": given(name)?}})
            }
            OutputKind::ParameterGradient(name) => {
                json!({"gradient_to_parameter": {"arg": arg, "parameter_name": name}})
            }
            OutputKind::InputGradient(name) => {
                json!({"gradient_to_user_input": {"arg": arg, "user_input_name": given(name)?}})
            }
        };
        Ok((output, spec))
    }

    /// What a block gives back.
    fn result(&self, result: &Argument, scope: &Scope<'_>) -> Result<Json> {
        match result {
            Argument::Value(name) => scope.reference(name),
            Argument::None | Argument::Number(Scalar::Int(_) | Scalar::Float(_) | Scalar::Bool(_)) => {
                constant(result)
            }
            _ => Err(error::unsupported(
                "it is a constant that torch.export has no form for, expected a value of the graph, a number or nothing",
            )),
        }
    }

    /// The JSON that introduces a variable; what is known of it goes into `body`.
    fn define(
        &mut self,
        variable: &Variable,
        scope: &Scope<'_>,
        body: &mut Body,
        is_input: bool,
        strides: Option<&[i64]>,
        requires_grad: bool,
    ) -> Result<Json> {
        let name = scope.find(&variable.name)?.name.clone();
        Ok(match &variable.kind {
            ValueType::Tensor(tensor) => {
                let meta = self.tensor(tensor, strides, requires_grad)?;
                body.tensors.insert(name.clone(), meta);
                json!({"as_tensor": {"name": name}})
            }
            ValueType::Int(known) => {
                let size = known.clone().unwrap_or_else(|| self.symbols.fresh(is_input));
                body.integers.insert(name.clone(), self.symbols.size(&size)?);
                json!({"as_sym_int": {"as_name": name}})
            }
            // What they are is found when the program runs; torch wants an example.
            ValueType::Float => {
                body.floats.insert(name.clone(), json!({"as_float": 1.0}));
                json!({"as_sym_float": {"as_name": name}})
            }
            ValueType::Bool => {
                body.bools.insert(name.clone(), json!({"as_bool": true}));
                json!({"as_sym_bool": {"as_name": name}})
            }
            ValueType::Unknown => {
                return Err(error::unsupported(format!(
                    "nothing is known of `%{}`, expected the dtype and sizes of a tensor, int, float or bool",
                    variable.name
                )));
            }
        })
    }

    fn tensor(&self, tensor: &TensorType, strides: Option<&[i64]>, requires_grad: bool) -> Result<Json> {
        let sizes = tensor.sizes.iter().map(|size| self.symbols.size(size)).collect::<Result<Vec<_>>>()?;
        let strides = match strides {
            Some(strides) => strides.iter().map(|stride| json!({"as_int": stride})).collect(),
            None => {
                let strides = Symbols::row_major(&tensor.sizes);
                strides.iter().map(|stride| self.symbols.size(stride)).collect::<Result<Vec<_>>>()?
            }
        };
        Ok(json!({
            "dtype": numbers::of_dtype(tensor.dtype)?,
            "sizes": sizes,
            "requires_grad": requires_grad && is_trained(tensor.dtype),
            "device": device(Device::CPU),
            "strides": strides,
            "storage_offset": {"as_int": 0},
            "layout": STRIDED,
        }))
    }

    /// A branch or the body of a loop.
    fn block(&mut self, block: &Block, gives_one_tensor: bool, depth: usize) -> Result<Json> {
        if depth > DEEPEST_BLOCKS {
            return Err(error::unsupported(format!(
                "blocks are nested deeper than {DEEPEST_BLOCKS}, expected fewer"
            )));
        }
        let mut scope = self.scope(block, &[])?;
        let mut body = Body::default();
        for variable in &block.parameters {
            let input = self.define(variable, &scope, &mut body, false, None, false);
            body.inputs.push(input.map_err(|error| error.within(format_args!("`%{}`", variable.name)))?);
        }
        self.nodes(block, &mut scope, &mut body, depth)?;
        for (index, result) in block.results.iter().enumerate() {
            let output = self.result(result, &scope);
            body.outputs.push(output.map_err(|error| error.within(format_args!("result {index}")))?);
        }
        Ok(body.into_json(gives_one_tensor && block.results.len() == 1))
    }

    fn nodes(&mut self, block: &Block, scope: &mut Scope<'_>, body: &mut Body, depth: usize) -> Result<()> {
        for (index, node) in block.nodes.iter().enumerate() {
            let node = self
                .node(node, scope, body, depth)
                .map_err(|error| error.within(format_args!("node {index} {}", node.target)))?;
            body.nodes.push(node);
        }
        Ok(())
    }

    fn node(&mut self, node: &Node, scope: &mut Scope<'_>, body: &mut Body, depth: usize) -> Result<Json> {
        let is_higher = node.target.starts_with("higher_order::");
        let operator = if node.target.contains("::") && !is_higher {
            // Arguments by name are written under it, whether the operator is known here or not.
            match self.dispatcher.find(&node.target) {
                Ok(operator) => Some(operator),
                Err(_) if node.positional.is_empty() && !node.results.is_empty() => None,
                Err(error) => return Err(error),
            }
        } else {
            None
        };
        let schema = operator.as_ref().map(OperatorHandle::binder).transpose()?;
        let schema = schema.as_ref().map(|binder| binder.schema());
        let mut inputs = Vec::with_capacity(node.positional.len() + node.named.len());
        let positional = node.positional.iter().enumerate().map(|(index, argument)| {
            let name = match schema {
                Some(schema) => {
                    schema.arguments.get(index).map(|argument| argument.name.to_string()).ok_or_else(
                        || {
                            error::value(format!(
                                "found {} arguments by position, expected at most {}; the schema is {schema}",
                                node.positional.len(),
                                schema.arguments.len()
                            ))
                        },
                    )?
                }
                None => String::new(),
            };
            Ok((name, argument, 1))
        });
        let named = node.named.iter().map(|(name, argument)| Ok((name.clone(), argument, 2)));
        let arguments = positional.chain(named).collect::<Result<Vec<_>>>()?;
        for (index, (name, argument, kind)) in arguments.into_iter().enumerate() {
            let condition = node.target == "higher_order::while_loop" && index == 0;
            let arg = match argument {
                Argument::Block(name, block) => {
                    let block = self.block(block, condition, depth + 1);
                    let block = block.map_err(|error| error.within(format_args!("block `{name}`")))?;
                    json!({"as_graph": {"name": name, "graph": block}})
                }
                argument => argument_of(argument, scope, 0)
                    .map_err(|error| error.within(format_args!("argument {index} `{name}`")))?,
            };
            inputs.push(json!({"name": name, "arg": arg, "kind": kind}));
        }
        let outputs =
            self.outcomes(node, schema.map(|schema| schema.returns.len()), is_higher, scope, body)?;
        let name = match (node.results.as_slice(), is_higher) {
            ([Outcome::One(only)], false) => scope.find(&only.name)?.name.clone(),
            _ => scope.names.make(node.target.rsplit("::").next().unwrap_or_default()),
        };
        Ok(json!({
            "target": target(&node.target),
            "inputs": inputs,
            "outputs": outputs,
            "metadata": metadata(&node.source),
            "is_hop_single_tensor_return": if is_higher { json!(false) } else { Json::Null },
            "name": name,
        }))
    }

    /// The results of a node.
    fn outcomes(
        &mut self,
        node: &Node,
        returns: Option<usize>,
        is_higher: bool,
        scope: &Scope<'_>,
        body: &mut Body,
    ) -> Result<Vec<Json>> {
        let mut outputs = Vec::with_capacity(node.results.len());
        for outcome in &node.results {
            match outcome {
                Outcome::Unused => outputs.push(json!({"as_none": true})),
                Outcome::One(variable) => {
                    outputs.push(self.define(variable, scope, body, false, None, false)?)
                }
                Outcome::List(variables) => {
                    let mut items = Vec::with_capacity(variables.len());
                    for variable in variables {
                        items.push(self.define(variable, scope, body, false, None, false)?);
                    }
                    if is_higher {
                        // Blocks give their results one by one.
                        outputs.extend(items);
                    } else {
                        let tensors =
                            items.iter().map(|item| item.get("as_tensor")).collect::<Option<Vec<_>>>();
                        let tensors = tensors.ok_or_else(|| {
                            error::unsupported("a list of results that are no tensors, expected tensors")
                        })?;
                        outputs.push(json!({"as_tensors": tensors}));
                    }
                }
            }
        }
        // torch wants to know what becomes of every result.
        let missing = returns.unwrap_or_default().saturating_sub(outputs.len());
        outputs.extend((0..missing).map(|_| json!({"as_none": true})));
        Ok(outputs)
    }
}

impl<'g> Scope<'g> {
    fn find(&self, name: &str) -> Result<&Value<'g>> {
        self.values
            .get(name)
            .ok_or_else(|| error::value(format!("`%{name}` is not defined, expected a value of its block")))
    }

    /// A reference to a value, by what it is.
    fn reference(&self, name: &str) -> Result<Json> {
        let value = self.find(name)?;
        if let Some(fixed) = value.fixed {
            return constant(fixed);
        }
        let name = &value.name;
        Ok(match value.kind {
            ValueType::Tensor(_) => json!({"as_tensor": {"name": name}}),
            ValueType::Int(_) => json!({"as_sym_int": {"as_name": name}}),
            ValueType::Float => json!({"as_sym_float": {"as_name": name}}),
            ValueType::Bool => json!({"as_sym_bool": {"as_name": name}}),
            ValueType::Unknown => {
                return Err(error::unsupported(format!(
                    "nothing is known of `%{name}`, expected the dtype and sizes of a tensor, int, float or bool"
                )));
            }
        })
    }
}

/// What a node is given.
fn argument_of(argument: &Argument, scope: &Scope<'_>, depth: usize) -> Result<Json> {
    match argument {
        Argument::Value(name) => scope.reference(name),
        Argument::List(_) if depth == DEEPEST_LISTS => {
            Err(error::unsupported(format!("lists are nested deeper than {DEEPEST_LISTS}, expected fewer")))
        }
        Argument::List(items) => {
            let items =
                items.iter().map(|item| argument_of(item, scope, depth + 1)).collect::<Result<Vec<_>>>()?;
            list(items)
        }
        argument => constant(argument),
    }
}

/// The kinds of lists: the kinds that their elements may have, the kind of the list, and whether elements keep their kinds.
const LISTS: [(&[&str], &str, bool); 12] = [
    (&["as_tensor"], "as_tensors", false),
    (&["as_int"], "as_ints", false),
    (&["as_float"], "as_floats", false),
    (&["as_bool"], "as_bools", false),
    (&["as_string"], "as_strings", false),
    (&["as_tensor", "as_none"], "as_optional_tensors", true),
    (&["as_int", "as_sym_int"], "as_sym_ints", true),
    (&["as_float", "as_sym_float"], "as_sym_floats", true),
    (&["as_bool", "as_sym_bool"], "as_sym_bools", true),
    (&["as_tensors"], "as_nested_tensors", false),
    (&["as_ints"], "as_int_lists", false),
    (&["as_floats"], "as_float_lists", false),
];

fn list(items: Vec<Json>) -> Result<Json> {
    let kinds: Vec<String> = items
        .iter()
        .map(|item| item.as_object().and_then(|item| item.keys().next().cloned()).unwrap_or_default())
        .collect();
    let fits = |allowed: &[&str]| kinds.iter().all(|kind| allowed.contains(&kind.as_str()));
    let Some((_, kind, keeps)) = LISTS.iter().find(|(allowed, ..)| fits(allowed)) else {
        let found: BTreeSet<_> = kinds.iter().map(|kind| kind.trim_start_matches("as_")).collect();
        return Err(error::unsupported(format!(
            "a list of {}, which torch.export has no form for; expected values of one kind",
            error::quoted(found)
        )));
    };
    let items = items.into_iter().map(|item| {
        let Json::Object(object) = item else { return Json::Null };
        let (kind, content) = object.into_iter().next().unwrap_or_default();
        match (content, keeps) {
            // A number of the program is a union within the list.
            (Json::Object(content), true) if kind.starts_with("as_sym") => Json::Object(content),
            (content, true) => json!({ kind: content }),
            (content, false) => content,
        }
    });
    Ok(json!({ *kind: items.collect::<Vec<_>>() }))
}

/// A value that is known before the program runs.
fn constant(argument: &Argument) -> Result<Json> {
    Ok(match argument {
        Argument::None => json!({"as_none": true}),
        Argument::Number(Scalar::Int(value)) => json!({"as_int": value}),
        Argument::Number(Scalar::UInt(value)) => {
            return Err(error::unsupported(format!(
                "found the integer {value}, expected at most {}, as torch.export writes integers",
                i64::MAX
            )));
        }
        Argument::Number(Scalar::Float(value)) => json!({"as_float": float(*value)}),
        Argument::Number(Scalar::Bool(value)) => json!({"as_bool": value}),
        Argument::Number(Scalar::Complex(Complex64 { re, im })) => {
            json!({"as_complex": {"real": float(*re), "imag": float(*im)}})
        }
        Argument::Str(text) => json!({"as_string": text}),
        Argument::DType(dtype) => json!({"as_scalar_type": numbers::of_dtype(*dtype)?}),
        Argument::Layout(layout) => json!({"as_layout": numbers::of_layout(*layout)?}),
        Argument::MemoryFormat(format) => json!({"as_memory_format": numbers::of_memory_format(*format)?}),
        Argument::Device(value) => json!({"as_device": device(*value)}),
        Argument::Value(name) => {
            return Err(error::value(format!("found `%{name}`, expected a constant")));
        }
        Argument::List(_) => return Err(error::unsupported("found a list, expected one value")),
        Argument::Block(name, _) => {
            return Err(error::value(format!(
                "found the block `{name}`, expected a value; blocks are arguments of higher-order operators only"
            )));
        }
    })
}

/// A float, or the text that stands for what JSON has no numbers for.
fn float(value: f64) -> Json {
    if value.is_nan() {
        return json!("NaN");
    }
    if value.is_infinite() {
        return json!(if value > 0.0 { "Infinity" } else { "-Infinity" });
    }
    json!(value)
}

/// A target as torch names it.
fn target(name: &str) -> String {
    let Some((namespace, operator)) = name.split_once("::") else { return name.to_owned() };
    if namespace == "higher_order" || operator.contains('.') {
        format!("torch.ops.{namespace}.{operator}")
    } else {
        format!("torch.ops.{namespace}.{operator}.default")
    }
}

/// Where a node stood, as torch keeps it. What these strings cannot hold is left out.
fn metadata(source: &Source) -> Json {
    let mut metadata = Map::new();
    if let Some((path, line)) = source.place.rsplit_once(':') {
        metadata.insert("stack_trace".to_owned(), json!(format!("File \"{path}\", line {line}, in forward")));
    }
    if !source.module.is_empty() {
        let key = source.module.replace('.', "_");
        let stack = format!(
            "L__self__,,torch.nn.modules.module.Module;L__self___{key},{},torch.nn.modules.module.Module",
            source.module
        );
        let is_plain = |letter: char| !matches!(letter, ',' | ';' | '(' | ')' | '[' | ']');
        if source.module.chars().all(is_plain) {
            metadata.insert("nn_module_stack".to_owned(), json!(stack));
        }
    }
    let written = json!({ "metadata": metadata });
    let read = model::source(&written);
    if read.place != source.place {
        metadata.remove("stack_trace");
    }
    if read.module != source.module {
        metadata.remove("nn_module_stack");
    }
    Json::Object(metadata)
}
