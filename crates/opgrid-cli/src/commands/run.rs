//! `opgrid run`: runs a program that torch exported, or a graph that somebody wrote.

use std::path::PathBuf;

use opgrid::schema::FunctionSchema;
use opgrid::{Error, ErrorKind, Result, Tensor, Value, files};
use opgrid_graph::{Program, ValueType, Variable};
use serde_json::json;

use super::call::{Target, split_keyword};
use super::graph;
use crate::file::{Kind, Spec};
use crate::progress::Waiting;
use crate::{arguments, json, literal};

/// Run a program that torch.export.save wrote.
///
/// MODEL is a .pt2, or the text of a graph without weights. INPUT is a file (`x.npy`, `set.npz:name`), a tensor or a number, as ARG of
/// `opgrid call`; `name=INPUT` gives it to the input of that name. A whole `set.npz` gives its arrays to the inputs of their names, or
/// in their order where no name is that of an input. `opgrid graph show MODEL` shows the inputs with their dtypes and sizes.
///
/// Weights are read from MODEL when they are used: no other program may change the file meanwhile. To replace it by another is fine.
#[derive(clap::Args)]
pub(crate) struct Run {
    /// The program.
    model: PathBuf,
    /// What the program is given: in its order, then by name.
    #[arg(value_name = "INPUT|NAME=INPUT", value_parser = arguments::unmarked)]
    inputs: Vec<String>,
    /// Write the results to FILE: one tensor to .npy; any number of them to .npz or .safetensors, as 0, 1, …, or under the names that
    /// follow the file, as in r.npz:scores,boxes. `-` writes the one tensor to the standard output.
    #[arg(long, value_name = "FILE[:NAMES]")]
    out: Option<PathBuf>,
}

impl Run {
    pub(crate) fn run(&self, json: bool) -> Result<String> {
        let target = self.out.as_deref().map(Target::of).transpose()?;
        if let Some(target) = &target {
            target.expect_free_output(&[("--json", json)])?;
        }
        let waiting = Waiting::start(self.model.display());
        let program = graph::program(&self.model)?;
        let inputs = self.given(&program)?;
        let results =
            program.run_named(inputs.iter().map(|(name, value)| (name.as_str(), value.clone())).collect());
        drop(waiting);
        let results = results.map_err(|error| error.within(self.model.display()))?;
        if let Some(target) = &target {
            target.write(&results)?;
        }
        if json {
            let results = results.iter().map(json::value).collect::<Result<Vec<_>>>()?;
            let mut description = json!({"model": self.model.display().to_string(), "results": results});
            if let Some(out) = &self.out {
                description["out"] = json!(out.display().to_string());
            }
            return Ok(json::line(&description));
        }
        Ok(if target.is_some() {
            String::new()
        } else {
            results.iter().map(|result| format!("{result}\n")).collect()
        })
    }

    /// The inputs with their names.
    ///
    /// # Errors
    ///
    /// More inputs than the program has, inputs by position behind those by name, files and literals that cannot be read.
    fn given(&self, program: &Program) -> Result<Vec<(String, Value)>> {
        let inputs: Vec<&Variable> = program.graph().user_inputs().collect();
        let known = || {
            inputs
                .iter()
                .map(|input| format!("{}: {}", input.name, input.kind))
                .collect::<Vec<_>>()
                .join(", ")
        };
        let mut given: Vec<(String, Value)> = Vec::new();
        let mut place = 0;
        let mut next = |text: &str| -> Result<&Variable> {
            place += 1;
            inputs.get(place - 1).copied().ok_or_else(|| {
                let expected = inputs.len();
                refused(format!(
                    "found `{text}` as input number {place}, expected {expected} inputs: {}",
                    known()
                ))
            })
        };
        let mut by_name = false;
        for text in &self.inputs {
            if let Some((name, text)) = split_keyword(text) {
                by_name = true;
                let input = inputs.iter().find(|input| input.name == name).ok_or_else(|| {
                    refused(format!("no input is named `{name}`, expected one of {}", known()))
                })?;
                given.push((name.to_owned(), value(input, text)?));
                continue;
            }
            if by_name {
                return Err(refused(format!(
                    "found `{text}` behind inputs by name, expected it before them"
                )));
            }
            let set = Spec::read(text).filter(|spec| spec.names.is_none() && spec.kind != Kind::Npy);
            let Some(set) = set else {
                let input = next(text)?;
                given.push((input.name.clone(), value(input, text)?));
                continue;
            };
            let arrays = arrays(&set)?;
            let are_named = arrays.iter().any(|(name, _)| inputs.iter().any(|input| input.name == *name));
            for (name, tensor) in arrays {
                let input = if are_named {
                    inputs.iter().find(|input| input.name == name).copied()
                } else {
                    Some(next(text)?)
                };
                // A set may hold more than the inputs, such as the expected results.
                if let Some(input) = input {
                    given.push((input.name.clone(), converted(input, tensor)?));
                }
            }
        }
        Ok(given)
    }
}

fn arrays(set: &Spec) -> Result<Vec<(String, Tensor)>> {
    let arrays = match set.kind {
        Kind::Safetensors => files::safetensors::read_all(&set.path)?,
        Kind::Npy | Kind::Npz => files::npz::read_all(&set.path)?,
    };
    arrays.into_iter().map(|(name, array)| Ok((name, Tensor::from_array(array)?))).collect()
}

/// An input as its text says, of the type that the program wants.
fn value(input: &Variable, text: &str) -> Result<Value> {
    let (declared, is_tensor) = match &input.kind {
        ValueType::Tensor(_) => ("Tensor", true),
        ValueType::Int(_) => ("int", false),
        ValueType::Float => ("float", false),
        ValueType::Bool => ("bool", false),
        _ => ("t", false),
    };
    let schema = FunctionSchema::parse(&format!("run::input({declared} x) -> ()"))
        .map_err(|error| Error::new(ErrorKind::Internal, error.to_string()))?;
    let subject = || format!("input `{}`", input.name);
    let value = if !is_tensor && Spec::read(text).is_some() {
        let tensor = Tensor::load(text)?;
        converted(input, tensor)?
    } else {
        literal::read(&schema.arguments[0], text).map_err(|error| error.within(subject()))?
    };
    Ok(value)
}

/// A tensor of a file as the program wants it: a number where it is one of no dimensions.
fn converted(input: &Variable, tensor: Tensor) -> Result<Value> {
    if matches!(input.kind, ValueType::Tensor(_)) {
        return Ok(Value::from(&tensor));
    }
    let number = opgrid::ops::Item
        .call(&tensor)
        .map_err(|error| error.within(format_args!("input `{}`", input.name)))?;
    Ok(Value::from(number))
}

#[cold]
fn refused(message: String) -> Error {
    Error::new(ErrorKind::Value, message)
}
