//! The JSON of an exported program, read as a graph.
//!
//! Fields that are not known are passed over, as torch's schema has them optional where only the minor version grows. Kinds of
//! values that are not known are refused by name: the program needs them.

use std::collections::BTreeMap;

use opgrid_core::{Complex64, Device, DeviceType, Result, Scalar};
use serde_json::Value as Json;

use super::json::{self, field, list, optional, text, union};
use super::numbers::{dtype, layout, memory_format};
use crate::error;
use crate::graph::expression::{Expression, is_identifier};
use crate::graph::tree::Tree;
use crate::graph::types::{Range, Size, TensorType, ValueType};
use crate::graph::{Argument, Block, Graph, InputKind, Node, Outcome, OutputKind, Source, Variable};

/// The major version of the schema that is read and written.
pub(super) const MAJOR: i64 = 8;

/// A graph, and who wrote it.
pub(super) struct Model {
    pub(super) graph: Graph,
    pub(super) torch_version: String,
}

/// Reads `models/NAME.json`.
pub(super) fn parse(json: &Json) -> Result<Model> {
    let version = field(json, "schema_version")?;
    let torch_version =
        optional(json, "torch_version").and_then(Json::as_str).unwrap_or("unknown").to_owned();
    let major = json::integer(field(version, "major")?)?;
    if major != MAJOR {
        return Err(error::unsupported(format!(
            "the program is written in version {major} of torch.export's schema, by torch {torch_version}; expected version \
             {MAJOR}: load and save it with torch 2.8 to 2.15"
        )));
    }
    let module = field(json, "graph_module")?;
    let graph = graph(json, module).map_err(|error| error.within("graph"))?;
    Ok(Model { graph, torch_version })
}

fn graph(json: &Json, module: &Json) -> Result<Graph> {
    let signature = field(module, "signature")?;
    let (input_specs, output_specs) = (list(signature, "input_specs")?, list(signature, "output_specs")?);
    let body = field(module, "graph")?;
    let mut block = Reader::new(body)?.block(body, input_specs)?;
    // What the caller cannot vary is known, but has no name where it is used.
    let kinds = input_specs
        .iter()
        .enumerate()
        .map(|(index, spec)| input_kind(spec).map_err(|error| error.within(format_args!("input {index}"))));
    let inputs = kinds.collect::<Result<Vec<_>>>()?;
    let outputs = output_specs
        .iter()
        .enumerate()
        .map(|(index, spec)| output_kind(spec).map_err(|error| error.within(format_args!("output {index}"))));
    let outputs = outputs.collect::<Result<Vec<_>>>()?;
    for (what, found, expected) in
        [("inputs", inputs.len(), block.parameters.len()), ("outputs", outputs.len(), block.results.len())]
    {
        if found != expected {
            return Err(error::file(format!(
                "the signature has {found} {what}, expected {expected} as the graph has"
            )));
        }
    }
    for (variable, kind) in block.parameters.iter_mut().zip(&inputs) {
        if let InputKind::Fixed(value) = kind {
            variable.kind = type_of(value);
        }
    }
    let (input_tree, output_tree) = trees(module, &inputs, &outputs)?;
    Ok(Graph { block, inputs, outputs, symbols: symbols(json)?, input_tree, output_tree })
}

fn type_of(value: &Argument) -> ValueType {
    match value {
        Argument::Number(Scalar::Int(value)) => ValueType::Int(Some(Size::Known(*value))),
        Argument::Number(Scalar::Float(_)) => ValueType::Float,
        Argument::Number(Scalar::Bool(_)) => ValueType::Bool,
        _ => ValueType::Unknown,
    }
}

/// The sizes that vary. torch names ranges of compound expressions, too; they follow from those of the symbols.
fn symbols(json: &Json) -> Result<BTreeMap<String, Range>> {
    let mut symbols = BTreeMap::new();
    for (name, range) in json::entries(field(json, "range_constraints")?)? {
        let end = |end: &str| optional(range, end).map(json::integer).transpose();
        let read = || Ok(Range { min: end("min_val")?, max: end("max_val")? });
        let range =
            read().map_err(|error: opgrid_core::Error| error.within(format_args!("range of `{name}`")))?;
        if is_identifier(name) {
            symbols.insert(name.clone(), range);
        }
    }
    Ok(symbols)
}

/// How arguments and results of the caller are nested; flat where the program does not say.
fn trees(module: &Json, inputs: &[InputKind], outputs: &[OutputKind]) -> Result<(Tree, Tree)> {
    let root = optional(module, "module_call_graph").map(json::items).transpose()?.unwrap_or_default();
    let root = root.iter().find(|entry| entry.get("fqn").and_then(Json::as_str) == Some(""));
    let Some(signature) = root.and_then(|entry| optional(entry, "signature")) else {
        let given = inputs.iter().filter(|kind| kind.stored_name().is_none()).count();
        let returned = outputs.iter().filter(|kind| kind.is_returned()).count();
        let arguments = Tree::Tuple(vec![Tree::Leaf; given]);
        return Ok((
            Tree::Tuple(vec![arguments, Tree::Dict(Vec::new())]),
            Tree::Tuple(vec![Tree::Leaf; returned]),
        ));
    };
    let fields = |kind: &str| -> Option<Vec<String>> {
        let names = module.get("treespec_namedtuple_fields")?.get(kind)?.get("field_names")?.as_array()?;
        names.iter().map(|name| name.as_str().map(str::to_owned)).collect()
    };
    let tree = |name: &str| {
        Tree::from_treespec(text(signature, name)?, fields)
            .map_err(|error| error.within(format_args!("field `{name}`")))
    };
    Ok((tree("in_spec")?, tree("out_spec")?))
}

fn input_kind(spec: &Json) -> Result<InputKind> {
    let (kind, content) = union(spec)?;
    let named = |name: &str| text(content, name).map(str::to_owned);
    match kind {
        "user_input" => match union(field(content, "arg")?)? {
            ("as_tensor" | "as_sym_int" | "as_sym_float" | "as_sym_bool", _) => Ok(InputKind::User),
            (kind, value) => constant(kind, value).map(InputKind::Fixed),
        },
        "parameter" => named("parameter_name").map(InputKind::Parameter),
        "buffer" => {
            let persistent = optional(content, "persistent").map(json::truth).transpose()?.unwrap_or(true);
            Ok(InputKind::Buffer { name: named("buffer_name")?, persistent })
        }
        "tensor_constant" => named("tensor_constant_name").map(InputKind::Constant),
        "constant_input" => {
            let (kind, value) = union(field(content, "value")?)?;
            constant(kind, value).map(InputKind::Fixed)
        }
        "custom_obj" => Err(error::unsupported(format!(
            "the program takes the object `{}` of a custom class; expected tensors and numbers: remove it from the module",
            named("custom_obj_name").unwrap_or_default()
        ))),
        other => Err(unknown("input", other)),
    }
}

fn output_kind(spec: &Json) -> Result<OutputKind> {
    let (kind, content) = union(spec)?;
    let named = |name: &str| text(content, name).map(str::to_owned);
    match kind {
        "user_output" => Ok(OutputKind::User),
        "loss_output" => Ok(OutputKind::Loss),
        "buffer_mutation" => named("buffer_name").map(OutputKind::BufferMutation),
        "parameter_mutation" => named("parameter_name").map(OutputKind::ParameterMutation),
        "user_input_mutation" => named("user_input_name").map(OutputKind::InputMutation),
        "gradient_to_parameter" => named("parameter_name").map(OutputKind::ParameterGradient),
        "gradient_to_user_input" => named("user_input_name").map(OutputKind::InputGradient),
        other => Err(unknown("output", other)),
    }
}

/// Reads one block, whose values' types its JSON lists.
struct Reader<'j> {
    tensors: &'j serde_json::Map<String, Json>,
    integers: Option<&'j Json>,
}

impl<'j> Reader<'j> {
    fn new(graph: &'j Json) -> Result<Self> {
        Ok(Self {
            tensors: json::entries(field(graph, "tensor_values")?)?,
            integers: graph.get("sym_int_values"),
        })
    }

    fn block(&self, graph: &Json, specs: &[Json]) -> Result<Block> {
        let mut block = Block::default();
        for (index, input) in list(graph, "inputs")?.iter().enumerate() {
            let parameter = self.parameter(input, specs.get(index));
            block.parameters.push(parameter.map_err(|error| error.within(format_args!("input {index}")))?);
        }
        for (index, node) in list(graph, "nodes")?.iter().enumerate() {
            let name = optional(node, "name").and_then(Json::as_str).unwrap_or_default();
            let node =
                self.node(node).map_err(|error| error.within(format_args!("node {index} `{name}`")))?;
            block.nodes.push(node);
        }
        for (index, output) in list(graph, "outputs")?.iter().enumerate() {
            let result = argument(output).map_err(|error| error.within(format_args!("output {index}")))?;
            block.results.push(result);
        }
        Ok(block)
    }

    /// A parameter of the block. What the caller cannot vary has its name in the signature only.
    fn parameter(&self, input: &Json, spec: Option<&Json>) -> Result<Variable> {
        let named = spec.and_then(|spec| spec.get("constant_input")).and_then(|spec| spec.get("name"));
        match (self.variable(input)?, named.and_then(Json::as_str)) {
            (Some(variable), _) => Ok(variable),
            (None, Some(name)) => Ok(Variable { name: name.to_owned(), kind: ValueType::Unknown }),
            (None, None) => Err(json::unexpected(input, "a value with a name")),
        }
    }

    fn node(&self, node: &Json) -> Result<Node> {
        let target = target(text(node, "target")?);
        // Without a kind, names are those of the schema; functions of Python and higher-order operators have no schema.
        let has_schema = target.contains("::") && !target.starts_with("higher_order::");
        let (mut positional, mut named) = (Vec::new(), Vec::new());
        for (index, input) in list(node, "inputs")?.iter().enumerate() {
            let name = text(input, "name")?;
            let value = argument(field(input, "arg")?)
                .map_err(|error| error.within(format_args!("argument {index} `{name}` of {target}")))?;
            let kind = optional(input, "kind").map(json::integer).transpose()?;
            match kind {
                Some(2) => named.push((name.to_owned(), value)),
                None | Some(0) if has_schema => named.push((name.to_owned(), value)),
                _ => positional.push(value),
            }
        }
        let results = list(node, "outputs")?.iter().map(|output| self.outcome(output));
        let results = results.collect::<Result<_>>().map_err(|error| error.within(&target))?;
        Ok(Node { target, positional, named, results, source: source(node) })
    }

    fn outcome(&self, output: &Json) -> Result<Outcome> {
        let (kind, content) = union(output)?;
        let variables = || -> Result<Vec<Variable>> {
            let one = |item: &Json| self.tensor(text(item, "name")?);
            json::items(content)?.iter().map(one).collect()
        };
        match kind {
            "as_tensors" => Ok(Outcome::List(variables()?)),
            "as_none" => Ok(Outcome::Unused),
            "as_optional_tensor" => match union(content)? {
                ("as_tensor", tensor) => self.tensor(text(tensor, "name")?).map(Outcome::One),
                _ => Ok(Outcome::Unused),
            },
            "as_int" | "as_float" | "as_bool" => Ok(Outcome::Unused),
            "as_tensor" | "as_sym_int" | "as_sym_float" | "as_sym_bool" => {
                Ok(self.variable(output)?.map_or(Outcome::Unused, Outcome::One))
            }
            other => Err(unknown("result", other)),
        }
    }

    /// The variable that a value introduces; `None` for a number.
    fn variable(&self, value: &Json) -> Result<Option<Variable>> {
        let (kind, content) = union(value)?;
        let named = |kind: ValueType| {
            let name = optional(content, "as_name").and_then(Json::as_str);
            Ok(name.map(|name| Variable { name: name.to_owned(), kind }))
        };
        match kind {
            "as_tensor" => self.tensor(text(content, "name")?).map(Some),
            "as_sym_int" => {
                let name = optional(content, "as_name").and_then(Json::as_str).unwrap_or_default();
                let known =
                    self.integers.and_then(|integers| optional(integers, name)).map(size).transpose()?;
                named(ValueType::Int(known))
            }
            "as_sym_float" => named(ValueType::Float),
            "as_sym_bool" => named(ValueType::Bool),
            _ => Ok(None),
        }
    }

    fn tensor(&self, name: &str) -> Result<Variable> {
        let Some(meta) = self.tensors.get(name) else {
            return Err(error::file(format!(
                "value `{name}` has no entry in `tensor_values`, expected its dtype and sizes"
            )));
        };
        let read = || -> Result<ValueType> {
            let dtype = dtype(field(meta, "dtype")?)?;
            let sizes = list(meta, "sizes")?.iter().map(size).collect::<Result<_>>()?;
            Ok(ValueType::Tensor(TensorType { dtype, sizes }))
        };
        let kind = read().map_err(|error| error.within(format_args!("value `{name}`")))?;
        Ok(Variable { name: name.to_owned(), kind })
    }
}

/// `torch.ops.aten.add.Tensor` as opgrid names it; functions of Python keep their names.
fn target(name: &str) -> String {
    let Some(path) = name.strip_prefix("torch.ops.") else { return name.to_owned() };
    match path.split('.').collect::<Vec<_>>().as_slice() {
        [namespace, operator] => format!("{namespace}::{operator}"),
        [namespace, operator, "default"] => format!("{namespace}::{operator}"),
        [namespace, operator, overload] => format!("{namespace}::{operator}.{overload}"),
        _ => name.to_owned(),
    }
}

/// Where the node stood, from the strings that torch keeps for that: the innermost module and the innermost line.
pub(super) fn source(node: &Json) -> Source {
    let metadata = |name: &str| node.get("metadata").and_then(|all| all.get(name)).and_then(Json::as_str);
    let module = metadata("nn_module_stack").and_then(|stack| stack.rsplit(';').next()?.split(',').nth(1));
    let place = metadata("stack_trace").and_then(|stack| {
        let (_, last) = stack.rsplit_once("File \"")?;
        let (path, rest) = last.split_once("\", line ")?;
        let number: String = rest.chars().take_while(char::is_ascii_digit).collect();
        Some(format!("{}:{number}", path.rsplit(['/', '\\']).next()?))
    });
    Source { module: module.unwrap_or_default().to_owned(), place: place.unwrap_or_default() }
}

/// What a node is given.
fn argument(value: &Json) -> Result<Argument> {
    let (kind, content) = union(value)?;
    let each = |one: fn(&Json) -> Result<Argument>| -> Result<Argument> {
        json::items(content)?.iter().map(one).collect::<Result<_>>().map(Argument::List)
    };
    match kind {
        "as_tensor" => reference(content),
        "as_tensors" => each(reference),
        "as_nested_tensors" => {
            each(|inner| json::items(inner)?.iter().map(reference).collect::<Result<_>>().map(Argument::List))
        }
        "as_optional_tensor" => optional_tensor(content),
        "as_optional_tensors" => each(optional_tensor),
        "as_sym_int" | "as_sym_float" | "as_sym_bool" => symbolic(content),
        "as_sym_ints" | "as_sym_floats" | "as_sym_bools" => each(symbolic),
        "as_graph" => {
            let graph = field(content, "graph")?;
            let name = text(content, "name")?;
            let block = Reader::new(graph).and_then(|reader| reader.block(graph, &[]));
            let block = block.map_err(|error| error.within(format_args!("block `{name}`")))?;
            Ok(Argument::Block(name.to_owned(), Box::new(block)))
        }
        "as_custom_obj" => {
            let class = text(content, "class_fqn").unwrap_or_default();
            Err(error::unsupported(format!(
                "an object of the custom class `{class}`, expected tensors and numbers"
            )))
        }
        kind => constant(kind, content),
    }
}

/// What is known before the program runs.
fn constant(kind: &str, content: &Json) -> Result<Argument> {
    let each = |one: fn(&Json) -> Result<Argument>| -> Result<Argument> {
        json::items(content)?.iter().map(one).collect::<Result<_>>().map(Argument::List)
    };
    let nested = |one: fn(&Json) -> Result<Argument>| -> Result<Argument> {
        let inner =
            |list: &Json| json::items(list)?.iter().map(one).collect::<Result<_>>().map(Argument::List);
        json::items(content)?.iter().map(inner).collect::<Result<_>>().map(Argument::List)
    };
    let int = |value: &Json| json::integer(value).map(|value| Argument::Number(Scalar::Int(value)));
    let float = |value: &Json| json::float(value).map(|value| Argument::Number(Scalar::Float(value)));
    let truth = |value: &Json| json::truth(value).map(|value| Argument::Number(Scalar::Bool(value)));
    let string = |value: &Json| {
        let text = value.as_str().ok_or_else(|| json::unexpected(value, "a text"))?;
        Ok(Argument::Str(text.to_owned()))
    };
    match kind {
        "as_none" => Ok(Argument::None),
        "as_int" => int(content),
        "as_ints" => each(int),
        "as_int_lists" => nested(int),
        "as_float" => float(content),
        "as_floats" => each(float),
        "as_float_lists" => nested(float),
        "as_bool" => truth(content),
        "as_bools" => each(truth),
        "as_string" => string(content),
        "as_strings" => each(string),
        "as_complex" => {
            let part = |name: &str| json::float(field(content, name)?);
            Ok(Argument::Number(Scalar::Complex(Complex64::new(part("real")?, part("imag")?))))
        }
        "as_scalar_type" => dtype(content).map(Argument::DType),
        "as_memory_format" => memory_format(content).map(Argument::MemoryFormat),
        "as_layout" => layout(content).map(Argument::Layout),
        "as_device" => device(content).map(Argument::Device),
        other => Err(unknown("value", other)),
    }
}

fn reference(value: &Json) -> Result<Argument> {
    text(value, "name").map(|name| Argument::Value(name.to_owned()))
}

fn optional_tensor(value: &Json) -> Result<Argument> {
    match union(value)? {
        ("as_tensor", tensor) => reference(tensor),
        ("as_none", _) => Ok(Argument::None),
        (other, _) => Err(unknown("optional tensor", other)),
    }
}

fn symbolic(value: &Json) -> Result<Argument> {
    match union(value)? {
        ("as_name", name) => {
            let name = name.as_str().ok_or_else(|| json::unexpected(name, "a name"))?;
            Ok(Argument::Value(name.to_owned()))
        }
        (kind @ ("as_int" | "as_float" | "as_bool"), content) => constant(kind, content),
        (other, _) => Err(unknown("number", other)),
    }
}

fn size(value: &Json) -> Result<Size> {
    match union(value)? {
        ("as_int", value) => json::integer(value).map(Size::Known),
        ("as_expr", expression) => Expression::from_sympy(text(expression, "expr_str")?).map(Size::from),
        (other, _) => Err(unknown("size", other)),
    }
}

fn device(value: &Json) -> Result<Device> {
    let kind: DeviceType = text(value, "type")?.parse()?;
    match optional(value, "index").map(json::integer).transpose()? {
        None => Ok(Device::from_type(kind)),
        Some(index) => {
            let index = usize::try_from(index)
                .map_err(|_| error::file(format!("device number {index}, expected 0 or more")))?;
            Device::numbered(kind, index)
        }
    }
}

#[cold]
fn unknown(what: &str, kind: &str) -> opgrid_core::Error {
    error::unsupported(format!(
        "a {what} of kind `{kind}`, which opgrid does not know; report it with the program"
    ))
}
