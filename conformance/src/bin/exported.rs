//! Runs a program that torch exported; `cargo xtask conformance exported` compares what it gives with torch.
//!
//! What the run says is one line of JSON on the standard output: the nodes of the program, its targets with the number of calls, those
//! that are missing, the seconds that reading and running took, and what each result is. Tensors are written to a file of their own: the
//! results under their numbers, and what the program wrote to its buffers behind `buffer.`.
//!
//! `--written` names a file to write the program to before it runs; the program is then traced from its own run, too, and how far what
//! that gives is from what the program gives is part of the line.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use opgrid_array::files::safetensors;
use opgrid_conformance::options::{self, Options};
use opgrid_core::{DType, Dispatcher, Error, ErrorKind, Result, Value};
use opgrid_graph::{OutputKind, Program, Trace, check, find_target, read};
use opgrid_tensor::{Tensor, ensure_registered, ops};
use serde_json::{Value as Json, json};

// Links the operators that programs call.
use opgrid_operators as _;

const USAGE: &str = "opgrid-conformance-exported --model FILE.pt2 --inputs FILE.safetensors --out FILE.safetensors [--written FILE.pt2]";

/// The command line.
struct Arguments {
    model: PathBuf,
    inputs: PathBuf,
    out: PathBuf,
    written: Option<PathBuf>,
}

impl Arguments {
    fn from_options(options: &Options) -> Result<Self, String> {
        Ok(Self {
            model: options.path("--model")?,
            inputs: options.path("--inputs")?,
            out: options.path("--out")?,
            written: options.text("--written").map(PathBuf::from),
        })
    }
}

fn main() -> ExitCode {
    options::main(USAGE, Arguments::from_options, |arguments| {
        let mut told = json!({});
        let vision = ensure_registered().and_then(|()| opgrid_vision::register(Dispatcher::global()));
        if let Err(error) = vision.and_then(|_vision| run(arguments, &mut told)) {
            told["error"] = json!(error.to_string());
        }
        println!("{told}");
        if told["error"].is_null() { Ok(()) } else { Err("the program did not run".to_owned()) }
    })
}

/// Reads, checks and runs the program, and says in `told` what was found as far as it came.
fn run(arguments: &Arguments, told: &mut Json) -> Result<()> {
    let began = Instant::now();
    let archive = read(&arguments.model)?;
    let targets = archive.graph.targets();
    told["nodes"] = json!(targets.values().sum::<usize>());
    let missing: BTreeMap<_, _> = targets.iter().filter(|(target, _)| find_target(target).is_err()).collect();
    told["missing"] = json!(missing);
    told["targets"] = json!(targets);
    let errors = check(&archive.graph)?;
    if !errors.is_empty() {
        let messages: Vec<_> = errors.iter().map(Error::message).collect();
        return Err(Error::new(ErrorKind::Value, messages.join("; ")));
    }
    let program = Program::new(archive.graph, archive.tensors)?;
    told["load"] = json!(began.elapsed().as_secs_f64());
    let inputs = inputs(&arguments.inputs)?;
    if let Some(written) = &arguments.written {
        program.save(written)?;
        told["traced"] = json!(traced(arguments, &inputs)?);
    }
    let began = Instant::now();
    let results = program.run_values(inputs)?;
    told["run"] = json!(began.elapsed().as_secs_f64());
    let mut tensors = Vec::new();
    let mut described = Vec::new();
    for (place, result) in results.into_iter().enumerate() {
        described.push(description(&result));
        if let Value::Tensor(tensor) = result {
            tensors.push((place.to_string(), Tensor::try_from(tensor)?));
        }
    }
    told["results"] = json!(described);
    let written = |name: &str| {
        program
            .graph()
            .outputs
            .iter()
            .any(|kind| matches!(kind, OutputKind::BufferMutation(known) if known == name))
    };
    let buffers = program.buffers().into_iter().filter(|(name, _)| written(name));
    tensors.extend(buffers.map(|(name, tensor)| (format!("buffer.{name}"), tensor)));
    write(&arguments.out, &tensors)
}

/// The largest difference between what the program gives and what is traced from its run, relative to the largest magnitude. Each
/// reads the file, as a run may write buffers.
fn traced(arguments: &Arguments, inputs: &[Value]) -> Result<f64> {
    let given = || {
        let tensors = inputs.iter().map(|value| match value {
            Value::Tensor(tensor) => Ok(ops::CloneTensor.call(&Tensor::try_from(tensor.clone())?, None)?),
            _ => Err(Error::new(ErrorKind::Value, "an input is no tensor")),
        });
        tensors.collect::<Result<Vec<Tensor>>>()
    };
    let original = Program::load(&arguments.model)?;
    let mut trace = Trace::new().guard_reads();
    for (name, tensor) in original.parameters().into_iter().chain(original.constants()) {
        trace = trace.parameter(name, &tensor);
    }
    for (name, tensor) in original.buffers() {
        trace = trace.buffer(name, &tensor);
    }
    let example = given()?;
    let run = |inputs: &[Tensor]| tensors_given(&original, inputs);
    let again = trace.run(&example.iter().collect::<Vec<_>>(), run)?;
    let (first, second) = (given()?, given()?);
    let expected = tensors_given(&Program::load(&arguments.model)?, &first)?;
    let found = tensors_given(&again, &second)?;
    let kinds = |tensors: &[Tensor]| -> Vec<(DType, Vec<i64>)> {
        tensors.iter().map(|tensor| (tensor.dtype(), tensor.sizes().to_vec())).collect()
    };
    if kinds(&found) != kinds(&expected) {
        return Ok(f64::INFINITY);
    }
    let mut largest = 0.0_f64;
    for (found, expected) in found.iter().zip(&expected) {
        if !expected.dtype().is_floating_point() {
            let is_equal = ops::Equal.call(found, expected)?;
            largest = largest.max(if is_equal { 0.0 } else { f64::INFINITY });
            continue;
        }
        let [found, expected] = [found, expected].map(|tensor| tensor.to_dtype(DType::F64)?.to_vec::<f64>());
        let (found, expected) = (found?, expected?);
        let scale =
            expected.iter().filter(|it| it.is_finite()).fold(1e-30, |scale: f64, it| scale.max(it.abs()));
        for (found, expected) in found.iter().zip(&expected) {
            if found == expected || found.is_nan() && expected.is_nan() {
                continue;
            }
            let off = (found - expected).abs() / scale;
            largest = largest.max(if off.is_nan() { f64::INFINITY } else { off });
        }
    }
    Ok(largest)
}

/// The tensors among the results: what is traced gives no numbers.
fn tensors_given(program: &Program, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
    let results = program.run_values(inputs.iter().map(Value::from).collect())?;
    let tensors = results.into_iter().filter_map(|result| match result {
        Value::Tensor(tensor) => Some(Tensor::try_from(tensor)),
        _ => None,
    });
    tensors.collect()
}

/// What the caller gives, under the numbers of the places.
fn inputs(file: &Path) -> Result<Vec<Value>> {
    let mut numbered = Vec::new();
    for (name, array) in safetensors::read_all(file)? {
        let place: usize = name.parse().map_err(|_| {
            Error::new(ErrorKind::Value, format!("input `{name}`: expected a number as its name"))
        })?;
        numbered.push((place, Value::from(&Tensor::from_array(array)?)));
    }
    numbered.sort_by_key(|(place, _)| *place);
    Ok(numbered.into_iter().map(|(_, value)| value).collect())
}

/// What a result is: the number, text or nothing itself, else the name of its type.
fn description(value: &Value) -> Json {
    match value {
        Value::None => Json::Null,
        Value::Bool(value) => json!(value),
        Value::Int(value) => json!(value),
        Value::Float(value) => json!(value),
        Value::Str(value) => json!(**value),
        other => json!({"type": other.borrow().value_type().python_name()}),
    }
}

fn write(file: &Path, tensors: &[(String, Tensor)]) -> Result<()> {
    let mut arrays = Vec::new();
    for (name, tensor) in tensors {
        arrays.push((name.as_str(), tensor.array()?));
    }
    safetensors::write(file, &arrays)
}
