//! `opgrid run`: runs a program that torch exported, or a graph that somebody wrote.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use indicatif::HumanBytes;
use opgrid::devices;
use opgrid::dispatch::Explanation;
use opgrid::dispatch::schema::FunctionSchema;
use opgrid::profile::{Profile, Timeline};
use opgrid::tensor::LimitedAllocator;
use opgrid::{DType, Device, Error, ErrorKind, Result, Tensor, Value, files, set_num_threads};
use opgrid_graph::{ExecutedNode, Limits, Program, ValueType, Variable};
use serde_json::json;

use super::call::{Target, expect_distinct_files, split_keyword, tensors};
use super::graph;
use crate::answer::Answer;
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
    /// Compare the results with the arrays of a file, as .npz, .npy or .safetensors: those named as in `--out`, or in their order.
    /// Status 1 where one differs by more than the tolerance.
    #[arg(long, value_name = "FILE[:NAMES]")]
    against: Option<String>,
    /// How far a result may be from what `--against` expects, in parts of the largest magnitude expected.
    #[arg(long, value_name = "NUMBER", default_value_t = 1e-5, requires = "against", value_parser = arguments::tolerance)]
    tolerance: f64,
    /// Run the program so many times more, and show how long a run took.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    repeat: Option<u32>,
    /// Use at most so many threads; as many as there are processors unless this is given.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// End with an error where a run has executed so many nodes, those in loops each time.
    #[arg(long, value_name = "N", help_heading = "Limits")]
    limit_steps: Option<u64>,
    /// Refuse a program whose blocks, such as bodies of loops, are nested deeper; 32 is the most.
    #[arg(long, value_name = "N", help_heading = "Limits", value_parser = clap::value_parser!(u16).range(..=32))]
    limit_depth: Option<u16>,
    /// End with an error where tensors would take more bytes at a time, as in 500M or 2G; weights that are read from MODEL when they are used do not count.
    #[arg(long, value_name = "BYTES", help_heading = "Limits", value_parser = arguments::bytes)]
    limit_memory: Option<usize>,
    /// Fuse consecutive element-wise operators into loops; below the results, list the groups, and why other operators are in none.
    #[arg(long)]
    compile: bool,
    /// Show below the results which kernels each node ran, and why.
    #[arg(long)]
    explain: bool,
    /// Write how long each kernel ran to FILE, for Perfetto or chrome://tracing, and show the times below the results.
    #[arg(long, value_name = "FILE")]
    profile: Option<PathBuf>,
}

/// What a run leaves besides its results.
#[derive(Default)]
struct Report {
    explanations: Vec<(String, Explanation)>,
    timeline: Option<Timeline>,
    times: Option<Times>,
    comparisons: Vec<Comparison>,
    fusion: Option<opgrid_graph::Report>,
}

/// How long runs took.
struct Times {
    count: u32,
    /// Bytes that are planned for results of nodes, and of how many.
    memory: (usize, usize),
    fastest: Duration,
    median: Duration,
}

/// A result beside what was expected.
struct Comparison {
    name: String,
    /// The largest difference.
    difference: f64,
    /// The largest magnitude expected.
    largest: f64,
    is_close: bool,
}

impl Run {
    pub(crate) fn run(&self, json: bool) -> Result<Answer> {
        let target = self.out.as_deref().map(Target::from_path).transpose()?;
        if let Some(target) = &target {
            let others = [
                ("--json", json),
                ("--explain", self.explain),
                ("--repeat", self.repeat.is_some()),
                ("--against", self.against.is_some()),
                ("--profile", self.profile.is_some()),
            ];
            target.expect_free_output(&others)?;
        }
        expect_distinct_files(target.as_ref(), self.profile.as_deref())?;
        let expected = self.against.as_deref().map(expected).transpose()?;
        if let Some(threads) = self.threads {
            set_num_threads(usize::from(threads));
        }
        if let Some(bytes) = self.limit_memory {
            devices::set_allocator(Device::CPU, Some(Arc::new(LimitedAllocator::new(bytes))))?;
        }
        let waiting = Waiting::start(self.model.display());
        let mut program = self.limited(graph::program(&self.model)?)?;
        if self.compile {
            program = program.compiled().map_err(|error| error.within(self.model.display()))?;
        }
        let inputs = self.given(&program)?;
        let (results, mut report) =
            self.perform(&program, &inputs, &waiting).map_err(|error| error.within(self.model.display()))?;
        drop(waiting);
        if let Some((path, expected)) = expected {
            report.comparisons =
                compare(&results, &expected, self.tolerance).map_err(|error| error.within(path))?;
        }
        if let Some((timeline, path)) = report.timeline.as_ref().zip(self.profile.as_deref()) {
            timeline.write_chrome(path)?;
        }
        if let Some(target) = &target {
            // Nothing is left behind where the results cannot be written.
            target.write(&results).inspect_err(|_| {
                let _ = self.profile.as_ref().map(std::fs::remove_file);
            })?;
        }
        let found = report.comparisons.iter().any(|comparison| !comparison.is_close);
        if json {
            let results = results.iter().map(json::value).collect::<Result<Vec<_>>>()?;
            let mut description = json!({"model": self.model.display().to_string(), "results": results});
            if let Some(out) = &self.out {
                description["out"] = json!(out.display().to_string());
            }
            report.describe(&mut description);
            return Ok(Answer { text: json::line(&description), found });
        }
        let mut text = String::new();
        if target.is_none() && self.against.is_none() {
            text.extend(results.iter().map(|result| format!("{result}\n")));
        }
        text += &report.to_string();
        Ok(Answer { text, found })
    }

    /// The program with the limits that were given.
    fn limited(&self, program: Program) -> Result<Program> {
        let mut limits = Limits::default();
        limits.steps = self.limit_steps.unwrap_or(limits.steps);
        limits.depth = self.limit_depth.map_or(limits.depth, usize::from);
        program.with_limits(limits).map_err(|error| error.within(self.model.display()))
    }

    /// Runs the program, once or several times.
    fn perform(
        &self,
        program: &Program,
        inputs: &[(String, Value)],
        waiting: &Waiting,
    ) -> Result<(Vec<Value>, Report)> {
        let given = || {
            let named = inputs.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
            program.in_order(named)
        };
        let mut report = Report::default();
        let profile = self.profile.is_some().then(Profile::start);
        let show = |ran: &ExecutedNode<'_>| {
            if ran.depth() == 0 {
                let (place, count) = ran.position();
                waiting.reach(place + 1, count);
            }
        };
        let results = if self.explain {
            program.explain(given()?, |ran| {
                show(&ran);
                report
                    .explanations
                    .extend(ran.explanation().map(|it| (ran.subject().to_owned(), it.clone())));
                Ok(())
            })
        } else if self.compile {
            // Nodes of groups would be called one by one to be shown.
            program.run_values(given()?)
        } else {
            program.observe(given()?, |ran| {
                show(&ran);
                Ok(())
            })
        }?;
        report.timeline = profile.map(Profile::finish);
        if let Some(count) = self.repeat {
            let mut times = Vec::new();
            for round in 0..count {
                waiting.reach(round as usize, count as usize);
                let inputs = given()?;
                let start = Instant::now();
                drop(program.run_values(inputs)?);
                times.push(start.elapsed());
            }
            times.sort_unstable();
            let memory = program.planned_memory(&given()?)?;
            report.times = Some(Times { count, memory, fastest: times[0], median: times[times.len() / 2] });
        }
        report.fusion = self.compile.then(|| program.report());
        Ok((results, report))
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
                    "found positional input `{text}` after named ones, expected it before them"
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

impl Report {
    fn describe(self, description: &mut serde_json::Value) {
        if !self.explanations.is_empty() {
            let nodes = self.explanations.iter();
            description["explanation"] =
                nodes.map(|(node, it)| json!({"node": node, "call": it.to_json()})).collect();
        }
        if let Some(times) = &self.times {
            let seconds = |time: Duration| json!(time.as_secs_f64());
            description["times"] = json!({"count": times.count, "planned_bytes": times.memory.0, "fastest": seconds(times.fastest), "median": seconds(times.median)});
        }
        if !self.comparisons.is_empty() {
            let each = self.comparisons.iter().map(|it| {
                json!({"name": it.name, "difference": it.difference, "largest": it.largest, "is_close": it.is_close})
            });
            description["against"] = each.collect();
        }
        if let Some(fusion) = &self.fusion {
            description["compiled"] = fused(fusion);
        }
        if let Some(timeline) = self.timeline {
            description["profile"] = timeline.to_json();
        }
    }
}

/// What is fused in a program and what is not.
fn fused(report: &opgrid_graph::Report) -> serde_json::Value {
    let seconds = |time: Duration| json!(time.as_secs_f64());
    let groups = report.groups.iter().map(|group| {
        json!({
            "node": group.node,
            "operators": group.operators,
            "level": group.level.as_ref().ok(),
            "reason": group.level.as_ref().err(),
            "compile_time": seconds(group.compile_time),
            "fused_runs": group.fused_runs,
            "interpreted_runs": group.interpreted_runs,
            "bytes_saved": group.bytes_saved,
        })
    });
    let unfused =
        report.unfused.iter().map(|it| json!({"node": it.node, "operator": it.target, "reason": it.reason}));
    json!({
        "compile_time": seconds(report.compile_time),
        "groups": groups.collect::<Vec<_>>(),
        "unfused": unfused.collect::<Vec<_>>(),
    })
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (node, explanation) in &self.explanations {
            write!(f, "{node}\n{explanation}")?;
        }
        for Comparison { name, difference, largest, is_close } in &self.comparisons {
            let verdict = if *is_close { "equal" } else { "DIFFERENT" };
            writeln!(
                f,
                "{name}: {verdict}, largest difference {difference:.2e}, largest magnitude {largest:.2e}"
            )?;
        }
        if let Some(fusion) = &self.fusion {
            write!(f, "{fusion}")?;
        }
        if let Some(timeline) = &self.timeline {
            write!(f, "{timeline}")?;
        }
        if let Some(Times { count, memory: (bytes, values), fastest, median }) = &self.times {
            let runs = if *count == 1 { "run" } else { "runs" };
            writeln!(f, "{count} {runs}: fastest {fastest:.3?}, median {median:.3?}")?;
            if *values > 0 {
                writeln!(f, "planned memory: {} for {values} values", HumanBytes(*bytes as u64))?;
            }
        }
        Ok(())
    }
}

/// The arrays that results are compared with, and the file's name.
fn expected(text: &str) -> Result<(String, Vec<(String, Tensor)>)> {
    let spec = Spec::read(text).ok_or_else(|| {
        refused(format!("--against: found `{text}`, expected a name that ends in .npy, .npz or .safetensors"))
    })?;
    let path = spec.path.display().to_string();
    let Some(names) = &spec.names else {
        if spec.kind == Kind::Npy {
            return Ok((path, vec![("0".to_owned(), Tensor::load(text)?)]));
        }
        return Ok((path, arrays(&spec)?));
    };
    let all = arrays(&spec)?;
    let one = |name: &str| {
        let found = all.iter().find(|(known, _)| known == name).cloned();
        found.ok_or_else(|| {
            let known = all.iter().map(|(name, _)| format!("`{name}`")).collect::<Vec<_>>().join(", ");
            Error::new(ErrorKind::File, format!("{path}: has no array `{name}`, expected one of {known}"))
        })
    };
    Ok((path.clone(), names.split(',').map(|name| one(name.trim())).collect::<Result<_>>()?))
}

/// Compares results with what was expected of them, in order.
fn compare(results: &[Value], expected: &[(String, Tensor)], tolerance: f64) -> Result<Vec<Comparison>> {
    let tensors = tensors(results)?;
    if tensors.len() != expected.len() {
        return Err(refused(format!(
            "has {} arrays, expected {} as the program has results; name those that are meant, as in r.npz:scores,boxes",
            expected.len(),
            tensors.len()
        )));
    }
    let one = |(found, (name, expected)): (&Tensor, &(String, Tensor))| {
        if found.sizes() != expected.sizes() {
            return Err(refused(format!(
                "array `{name}` has shape {:?}, expected {:?} as the result has",
                expected.sizes(),
                found.sizes()
            )));
        }
        let (found, expected) = (numbers(found)?, numbers(expected)?);
        let mut comparison = Comparison { name: name.clone(), difference: 0.0, largest: 0.0, is_close: true };
        for (found, expected) in found.iter().zip(&expected) {
            if found == expected || found.is_nan() && expected.is_nan() {
                continue;
            }
            // What is infinite or no number on one side only is as different as can be.
            let difference = (found - expected).abs();
            comparison.difference =
                comparison.difference.max(if difference.is_nan() { f64::INFINITY } else { difference });
        }
        let magnitudes = expected.iter().map(|value| value.abs()).filter(|value| value.is_finite());
        comparison.largest = magnitudes.fold(0.0, f64::max);
        comparison.is_close = comparison.difference <= tolerance * comparison.largest;
        Ok(comparison)
    };
    tensors.iter().zip(expected).map(one).collect()
}

/// The elements of a tensor as float64; those of complex numbers as two each.
fn numbers(tensor: &Tensor) -> Result<Vec<f64>> {
    let real =
        if tensor.dtype().is_complex() { tensor.resolve_conj()?.view_as_real()? } else { tensor.clone() };
    real.to_dtype(DType::F64)?.to_vec()
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
