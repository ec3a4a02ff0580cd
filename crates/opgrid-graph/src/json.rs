//! Graphs as JSON, for programs in other languages.
//!
//! ```text
//! graph    = {"format": "opgrid.graph", "version": 1, "inputs": [input], "symbols": {name: {"min": n, "max": n}},
//!             "input_tree": text, "output_tree": text, "nodes": [node], "outputs": [output]}
//! input    = {"name": text, "type": text, "kind": "parameter" | "buffer" | "constant" | "input" | "fixed",
//!             "stored": text, "persistent": bool, "value": value}
//! output   = {"kind": "result" | "loss" | "buffer" | "parameter" | "input" | "parameter_gradient" | "input_gradient",
//!             "of": text, "value": value}
//! node     = {"target": text, "positional": [value], "named": [[text, value]], "results": [outcome], "module": text, "place": text}
//! outcome  = variable | [variable] | null          variable = {"name": text, "type": text}
//! value    = null | true | false | number | text | [value] | {"value": name} | {"float": "inf" | "-inf" | "nan"}
//!          | {"complex": [value, value]} | {"dtype": text} | {"layout": text} | {"memory_format": text} | {"device": text}
//!          | {"block": text, "parameters": [variable], "nodes": [node], "results": [value]}
//! ```
//!
//! Types, sizes and trees read as in the text form. A number with a point or an exponent is a float, another one an integer.

use opgrid_core::{Complex64, DType, Device, Error, Layout, MemoryFormat, Result, Scalar};
use serde_json::{Map, Value as Json, json};

use crate::error;
use crate::graph::expression::is_identifier;
use crate::graph::types::Range;
use crate::graph::{Argument, Block, Graph, InputKind, Node, Outcome, OutputKind, Source, Variable};
use crate::text::{parse_tree, parse_type};

const FORMAT: &str = "opgrid.graph";
const VERSION: i64 = 1;

impl Graph {
    /// The graph as JSON, which [`from_json`](Self::from_json) reads.
    ///
    /// Types, sizes and trees are strings as in the text form; everything else is structured, so that a program in another language
    /// needs no parser but that of JSON.
    ///
    /// # Examples
    ///
    /// ```
    /// use opgrid_graph::Graph;
    ///
    /// let graph: Graph = "graph(%x: float32[n] = input) where n in 1..64 gives * {
    ///   %y: float32[n] = aten::mul.Tensor(%x, 0.5)
    ///   return %y
    /// }".parse()?;
    /// let json = graph.to_json();
    /// assert_eq!(json["nodes"][0]["positional"].to_string(), r#"[{"value":"x"},0.5]"#);
    /// assert_eq!(json["inputs"][0]["type"], "float32[n]");
    /// assert_eq!(Graph::from_json(&json)?, graph);
    /// # Ok::<(), opgrid_core::Error>(())
    /// ```
    pub fn to_json(&self) -> Json {
        let inputs = self.block.parameters.iter().enumerate().map(|(index, parameter)| {
            let mut input = variable(parameter);
            input_kind(&mut input, self.inputs.get(index).unwrap_or(&InputKind::User));
            Json::Object(input)
        });
        let outputs = self.block.results.iter().enumerate().map(|(index, result)| {
            let (kind, of) = output_kind(self.outputs.get(index).unwrap_or(&OutputKind::User));
            let mut output = Map::from_iter([("kind".to_owned(), json!(kind))]);
            output.extend(of.map(|of| ("of".to_owned(), json!(of))));
            output.insert("value".to_owned(), value(result));
            Json::Object(output)
        });
        let symbols = self.symbols.iter();
        let symbols =
            symbols.map(|(name, range)| (name.clone(), json!({"min": range.min, "max": range.max})));
        json!({
            "format": FORMAT,
            "version": VERSION,
            "inputs": inputs.collect::<Vec<_>>(),
            "symbols": symbols.collect::<Map<_, _>>(),
            "input_tree": self.input_tree.to_string(),
            "output_tree": self.output_tree.to_string(),
            "nodes": self.block.nodes.iter().map(node).collect::<Vec<_>>(),
            "outputs": outputs.collect::<Vec<_>>(),
        })
    }

    /// Reads what [`to_json`](Self::to_json) writes. Fields that are not known are passed over.
    ///
    /// # Errors
    ///
    /// A field that is missing or is something else than it should be, with the way to it; another format or version.
    pub fn from_json(json: &Json) -> Result<Self> {
        let format = text(json, "format")?;
        if format != FORMAT {
            return Err(error::value(format!("field `format`: found `{format}`, expected `{FORMAT}`")));
        }
        match field(json, "version")?.as_i64() {
            Some(VERSION) => {}
            _ => {
                return Err(error::unsupported(format!(
                    "field `version`: found {}, expected {VERSION}",
                    json["version"]
                )));
            }
        }
        let mut graph = Self::default();
        each(json, "inputs", |input| {
            graph.block.parameters.push(read_variable(input)?);
            graph.inputs.push(read_input_kind(input)?);
            Ok(())
        })?;
        let symbols = field(json, "symbols")?;
        for (name, range) in
            symbols.as_object().ok_or_else(|| unexpected(symbols, "an object").within("field `symbols`"))?
        {
            if !is_identifier(name) {
                let message = format!("symbol `{name}`: expected a name of letters, digits and `_`");
                return Err(error::value(message));
            }
            let end = |end: &str| match range.get(end) {
                None | Some(Json::Null) => Ok(None),
                Some(value) => value.as_i64().map(Some).ok_or_else(|| {
                    unexpected(value, "an integer of 64 bits")
                        .within(format_args!("field `{end}` of symbol `{name}`"))
                }),
            };
            graph.symbols.insert(name.clone(), Range { min: end("min")?, max: end("max")? });
        }
        let tree = |name: &str| {
            parse_tree(text(json, name)?).map_err(|error| error.within(format_args!("field `{name}`")))
        };
        graph.input_tree = tree("input_tree")?;
        graph.output_tree = tree("output_tree")?;
        graph.block.nodes = each(json, "nodes", read_node)?;
        each(json, "outputs", |output| {
            graph.outputs.push(read_output_kind(output)?);
            graph.block.results.push(read_value(field(output, "value")?)?);
            Ok(())
        })?;
        Ok(graph)
    }
}

fn variable(variable: &Variable) -> Map<String, Json> {
    Map::from_iter([
        ("name".to_owned(), json!(variable.name)),
        ("type".to_owned(), json!(variable.kind.to_string())),
    ])
}

fn read_variable(json: &Json) -> Result<Variable> {
    let name = text(json, "name")?.to_owned();
    let kind =
        parse_type(text(json, "type")?).map_err(|error| error.within(format_args!("type of `{name}`")))?;
    Ok(Variable { name, kind })
}

fn input_kind(input: &mut Map<String, Json>, kind: &InputKind) {
    let (word, stored) = match kind {
        InputKind::Parameter(name) => ("parameter", Some(name)),
        InputKind::Buffer { name, .. } => ("buffer", Some(name)),
        InputKind::Constant(name) => ("constant", Some(name)),
        InputKind::User => ("input", None),
        InputKind::Fixed(_) => ("fixed", None),
    };
    input.insert("kind".to_owned(), json!(word));
    input.extend(stored.map(|name| ("stored".to_owned(), json!(name))));
    match kind {
        InputKind::Buffer { persistent, .. } => {
            drop(input.insert("persistent".to_owned(), json!(persistent)))
        }
        InputKind::Fixed(argument) => drop(input.insert("value".to_owned(), value(argument))),
        _ => {}
    }
}

fn read_input_kind(json: &Json) -> Result<InputKind> {
    let stored = || text(json, "stored").map(str::to_owned);
    match text(json, "kind")? {
        "parameter" => stored().map(InputKind::Parameter),
        "buffer" => {
            let persistent = field(json, "persistent")?;
            let persistent = persistent.as_bool().ok_or_else(|| unexpected(persistent, "true or false"))?;
            Ok(InputKind::Buffer { name: stored()?, persistent })
        }
        "constant" => stored().map(InputKind::Constant),
        "input" => Ok(InputKind::User),
        "fixed" => read_value(field(json, "value")?).map(InputKind::Fixed),
        _ => {
            Err(unexpected(&json["kind"], "parameter, buffer, constant, input or fixed")
                .within("field `kind`"))
        }
    }
}

fn output_kind(kind: &OutputKind) -> (&'static str, Option<&str>) {
    match kind {
        OutputKind::User => ("result", None),
        OutputKind::Loss => ("loss", None),
        OutputKind::BufferMutation(name) => ("buffer", Some(name)),
        OutputKind::ParameterMutation(name) => ("parameter", Some(name)),
        OutputKind::InputMutation(name) => ("input", Some(name)),
        OutputKind::ParameterGradient(name) => ("parameter_gradient", Some(name)),
        OutputKind::InputGradient(name) => ("input_gradient", Some(name)),
    }
}

fn read_output_kind(json: &Json) -> Result<OutputKind> {
    let kind: fn(String) -> OutputKind = match text(json, "kind")? {
        "result" => return Ok(OutputKind::User),
        "loss" => return Ok(OutputKind::Loss),
        "buffer" => OutputKind::BufferMutation,
        "parameter" => OutputKind::ParameterMutation,
        "input" => OutputKind::InputMutation,
        "parameter_gradient" => OutputKind::ParameterGradient,
        "input_gradient" => OutputKind::InputGradient,
        _ => {
            let expected = "result, loss, buffer, parameter, input, parameter_gradient or input_gradient";
            return Err(unexpected(&json["kind"], expected).within("field `kind`"));
        }
    };
    text(json, "of").map(|name| kind(name.to_owned()))
}

fn node(node: &Node) -> Json {
    let outcomes = node.results.iter().map(|outcome| match outcome {
        Outcome::Unused => Json::Null,
        Outcome::One(one) => Json::Object(variable(one)),
        Outcome::List(all) => all.iter().map(|one| Json::Object(variable(one))).collect(),
    });
    json!({
        "target": node.target,
        "positional": node.positional.iter().map(value).collect::<Vec<_>>(),
        "named": node.named.iter().map(|(name, argument)| json!([name, value(argument)])).collect::<Vec<_>>(),
        "results": outcomes.collect::<Vec<_>>(),
        "module": node.source.module,
        "place": node.source.place,
    })
}

fn read_node(json: &Json) -> Result<Node> {
    let target = text(json, "target")?.to_owned();
    let positional = each(json, "positional", read_value)?;
    let named = each(json, "named", |pair| match pair.as_array().map(Vec::as_slice) {
        Some([Json::String(name), argument]) => Ok((name.clone(), read_value(argument)?)),
        _ => Err(unexpected(pair, "a list of a name and a value")),
    })?;
    let results = each(json, "results", |outcome| match outcome {
        Json::Null => Ok(Outcome::Unused),
        Json::Array(all) => all.iter().map(read_variable).collect::<Result<_>>().map(Outcome::List),
        one => read_variable(one).map(Outcome::One),
    })?;
    let source = Source { module: text(json, "module")?.to_owned(), place: text(json, "place")?.to_owned() };
    Ok(Node { target, positional, named, results, source })
}

fn value(argument: &Argument) -> Json {
    match argument {
        Argument::None => Json::Null,
        Argument::Value(name) => json!({ "value": name }),
        Argument::Number(Scalar::Int(number)) => json!(number),
        Argument::Number(Scalar::UInt(number)) => json!(number),
        Argument::Number(Scalar::Float(number)) => float(*number),
        Argument::Number(Scalar::Bool(truth)) => json!(truth),
        Argument::Number(Scalar::Complex(Complex64 { re, im })) => {
            json!({"complex": [float(*re), float(*im)]})
        }
        Argument::Str(text) => json!(text),
        Argument::DType(dtype) => json!({"dtype": dtype.name()}),
        Argument::Layout(layout) => json!({"layout": layout.name()}),
        Argument::MemoryFormat(format) => json!({"memory_format": format.name()}),
        Argument::Device(device) => json!({"device": device.to_string()}),
        Argument::List(items) => items.iter().map(value).collect(),
        Argument::Block(name, block) => json!({
            "block": name,
            "parameters": block.parameters.iter().map(|one| Json::Object(variable(one))).collect::<Vec<_>>(),
            "nodes": block.nodes.iter().map(node).collect::<Vec<_>>(),
            "results": block.results.iter().map(value).collect::<Vec<_>>(),
        }),
    }
}

/// A float; JSON has no number for some.
fn float(number: f64) -> Json {
    if number.is_finite() {
        return json!(number);
    }
    json!({"float": if number.is_nan() { "nan" } else if number > 0.0 { "inf" } else { "-inf" }})
}

fn read_value(json: &Json) -> Result<Argument> {
    const EXPECTED: &str =
        "a value: null, true, false, a number, a text, a list or an object that says its kind";
    Ok(match json {
        Json::Null => Argument::None,
        Json::Bool(truth) => Argument::Number(Scalar::Bool(*truth)),
        Json::String(text) => Argument::Str(text.clone()),
        Json::Number(number) => {
            match number.as_i64().map(Scalar::Int).or(number.as_u64().map(Scalar::from)) {
                Some(number) => Argument::Number(number),
                None => Argument::Number(Scalar::Float(read_float(json)?)),
            }
        }
        Json::Array(items) => Argument::List(items.iter().map(read_value).collect::<Result<_>>()?),
        Json::Object(object) => {
            let Some((kind, content)) = object.iter().next() else { return Err(unexpected(json, EXPECTED)) };
            let name = || content.as_str().ok_or_else(|| unexpected(content, "a text"));
            match kind.as_str() {
                "value" => Argument::Value(name()?.to_owned()),
                "float" => Argument::Number(Scalar::Float(read_float(json)?)),
                "complex" => match content.as_array().map(Vec::as_slice) {
                    Some([re, im]) => {
                        Argument::Number(Scalar::Complex(Complex64::new(read_float(re)?, read_float(im)?)))
                    }
                    _ => return Err(unexpected(content, "a list of two floats")),
                },
                "dtype" => Argument::DType(name()?.parse::<DType>()?),
                "layout" => Argument::Layout(name()?.parse::<Layout>()?),
                "memory_format" => Argument::MemoryFormat(name()?.parse::<MemoryFormat>()?),
                "device" => Argument::Device(name()?.parse::<Device>()?),
                "block" => {
                    let name = name()?.to_owned();
                    let block = || -> Result<Block> {
                        Ok(Block {
                            parameters: each(json, "parameters", read_variable)?,
                            nodes: each(json, "nodes", read_node)?,
                            results: each(json, "results", read_value)?,
                        })
                    };
                    let block = block().map_err(|error| error.within(format_args!("block `{name}`")))?;
                    Argument::Block(name, Box::new(block))
                }
                _ => return Err(unexpected(json, EXPECTED)),
            }
        }
    })
}

fn read_float(json: &Json) -> Result<f64> {
    let named = match json.get("float").and_then(Json::as_str) {
        Some("nan") => Some(f64::NAN),
        Some("inf") => Some(f64::INFINITY),
        Some("-inf") => Some(f64::NEG_INFINITY),
        _ => None,
    };
    named
        .or_else(|| json.as_f64())
        .ok_or_else(|| unexpected(json, "a float: a number, or {\"float\": \"inf\", \"-inf\" or \"nan\"}"))
}

/// A field that has to be there.
fn field<'j>(object: &'j Json, name: &str) -> Result<&'j Json> {
    if !object.is_object() {
        return Err(unexpected(object, &format!("an object with `{name}`")));
    }
    object.get(name).ok_or_else(|| error::value(format!("no field `{name}`, expected one")))
}

fn text<'j>(object: &'j Json, name: &str) -> Result<&'j str> {
    let value = field(object, name)?;
    value.as_str().ok_or_else(|| unexpected(value, "a text").within(format_args!("field `{name}`")))
}

/// Reads each element of a list; errors say which.
fn each<X>(object: &Json, name: &str, mut one: impl FnMut(&Json) -> Result<X>) -> Result<Vec<X>> {
    let value = field(object, name)?;
    let items =
        value.as_array().ok_or_else(|| unexpected(value, "a list").within(format_args!("field `{name}`")))?;
    let read = |(index, item)| one(item).map_err(|error: Error| error.within(format_args!("{name} {index}")));
    items.iter().enumerate().map(read).collect()
}

#[cold]
fn unexpected(found: &Json, expected: &str) -> Error {
    let shown = found.to_string();
    let mut short: String = shown.chars().take(60).collect();
    if short.len() < shown.len() {
        short.push('…');
    }
    error::value(format!("found `{short}`, expected {expected}"))
}
