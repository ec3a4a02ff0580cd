//! `opgrid call`: calls any registered operator with values from files and literals.

use std::cell::RefCell;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use opgrid::array::Array;
use opgrid::dispatch::schema::Argument;
use opgrid::dispatch::{Explanation, List, Returns, Stats, Strict, stats};
use opgrid::profile::{Profile, Timeline};
use opgrid::{Error, ErrorKind, OperatorHandle, Result, Tensor, Value, files, manual_seed};
use serde_json::json;

use super::overloads;
use crate::file::{Kind, Spec, are_the_same, is_standard_input};
use crate::progress::Waiting;
use crate::{arguments, json, literal, style};

/// Call an operator, boxed, with files and literals as arguments.
///
/// ARG is a file (`x.npy`, `set.npz:name`, `set.safetensors:name`; `-` and `-:name` for the standard input), a tensor
/// (`[[1,2],[3,4]]:f32`, int64, float32 or bool by its numbers where no dtype is given), a number (`-1.5e-3`, `inf`, `1+2j`), `true`,
/// `none`, `"text"`, a list (`[2,3]`), or the name of a dtype, a device or a layout: whatever the schema wants at that
/// place. `name=ARG` gives an argument by its name.
#[derive(clap::Args)]
pub(crate) struct Call {
    /// The operator, as in aten::add.Tensor, or a name such as aten::add or add for the first of its overloads that takes the
    /// arguments.
    operator: String,
    /// The arguments in the order of the schema, then those by name.
    #[arg(value_name = "ARG|NAME=ARG", value_parser = arguments::unmarked)]
    args: Vec<String>,
    /// Write the result to FILE: one tensor to .npy; any number of them to .npz or .safetensors, as 0, 1, …, or under the
    /// names that follow the file, as in r.npz:values,indices. The file is written anew. `-` writes the one tensor to the
    /// standard output, as an .npy for the next program.
    #[arg(long, value_name = "FILE[:NAMES]")]
    out: Option<PathBuf>,
    /// Seed the random numbers first, so that the same call gives the same ones.
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// Show below the result which kernels ran, and why.
    #[arg(long)]
    explain: bool,
    /// Write how long each kernel ran to FILE, for Perfetto or chrome://tracing, and show the times below the result.
    #[arg(long, value_name = "FILE")]
    profile: Option<PathBuf>,
    /// Show below the result which slow paths were taken, such as fallbacks.
    #[arg(long)]
    stats: bool,
    /// Refuse slow paths: one is an error that names it.
    #[arg(long)]
    strict: bool,
}

/// An overload, what it is called with, and what to know of that.
struct Bound {
    operator: OperatorHandle,
    arguments: Vec<Value>,
    notes: Vec<String>,
}

/// What a call leaves besides its results.
struct Report {
    explanation: Option<Explanation>,
    timeline: Option<Timeline>,
    stats: Option<Stats>,
}

impl Call {
    /// A call as its description begins, with no options.
    pub(super) fn without_options(operator: &str, args: &[String]) -> Self {
        Self {
            operator: operator.to_owned(),
            args: args.to_vec(),
            out: None,
            seed: None,
            explain: false,
            profile: None,
            stats: false,
            strict: false,
        }
    }

    /// The first overload that takes the arguments, and these.
    ///
    /// # Errors
    ///
    /// None does; a file that cannot be read.
    pub(super) fn chosen(&self, overloads: &[OperatorHandle]) -> Result<(OperatorHandle, Vec<Value>)> {
        self.choose(overloads).map(|bound| (bound.operator, bound.arguments))
    }

    pub(crate) fn run(&self, json: bool) -> Result<String> {
        let overloads = overloads(&self.operator)?;
        let target = self.out.as_deref().map(Target::from_path).transpose()?;
        if let Some(target) = &target {
            let others = [
                ("--json", json),
                ("--explain", self.explain),
                ("--stats", self.stats),
                ("--profile", self.profile.is_some()),
            ];
            target.expect_free_output(&others)?;
        }
        expect_distinct_files(target.as_ref(), self.profile.as_deref())?;
        let Bound { operator, arguments, notes } = self.choose(&overloads)?;
        if let Some(seed) = self.seed {
            manual_seed(seed);
        }
        let rules = if self.strict { Strict::all() } else { Strict::none() };
        let waiting = Waiting::start(operator.name());
        let result = rules.run(|| self.call(&operator, &arguments));
        drop(waiting);
        let (results, report) = result?;
        if let Some((timeline, path)) = report.timeline.as_ref().zip(self.profile.as_deref()) {
            timeline.write_chrome(path)?;
        }
        if let Some(target) = &target {
            // Nothing is left behind where the result cannot be written.
            target.write(&results).map_err(|error| {
                let _ = self.profile.as_ref().map(std::fs::remove_file);
                error.within(operator.name())
            })?;
        }
        if json {
            return describe(&operator, &results, self.out.as_deref(), report, &notes);
        }
        for note in notes {
            anstream::eprintln!("{}: {note}", style::NOTE.apply("note"));
        }
        let mut text = String::new();
        if target.is_none() {
            text.extend(results.iter().map(|result| format!("{result}\n")));
        }
        text.extend(report.explanation.map(|explanation| explanation.to_string()));
        text.extend(report.timeline.map(|timeline| timeline.to_string()));
        text.extend(report.stats.map(|stats| stats.to_string()));
        Ok(text)
    }

    /// The first overload that takes the arguments.
    ///
    /// # Errors
    ///
    /// None does; a file that cannot be read.
    fn choose(&self, overloads: &[OperatorHandle]) -> Result<Bound> {
        let mut refusals = Vec::new();
        for operator in overloads {
            match self.bind(operator) {
                Err(error) if error.kind() != ErrorKind::File => refusals.push((operator, error)),
                bound => return bound,
            }
        }
        // What writes an output is meant by those who name it.
        let names_out = self.args.iter().any(|text| text.starts_with("out="));
        let writes = |operator: &OperatorHandle| {
            operator.find_schema().is_some_and(|schema| schema.arguments.iter().any(Argument::is_out))
        };
        let is_meant = |operator: &OperatorHandle| names_out || !writes(operator);
        if refusals.iter().any(|(operator, _)| is_meant(operator)) {
            refusals.retain(|(operator, _)| is_meant(operator));
        }
        if refusals.len() == 1 {
            return Err(refusals.remove(0).1);
        }
        let mut message = format!("{}: none of its overloads takes these arguments", self.operator);
        for (operator, error) in &refusals {
            let reason = error.message();
            let name = operator.name().to_string();
            let reason = reason.strip_prefix(&format!("{name}: ")).unwrap_or(reason);
            message.push_str(&format!("\n  {name}: {reason}"));
        }
        Err(Error::new(ErrorKind::Value, message))
    }

    /// Reads the arguments as this overload wants them.
    ///
    /// # Errors
    ///
    /// They do not fit it; a file that cannot be read.
    fn bind(&self, operator: &OperatorHandle) -> Result<Bound> {
        let (positional, keyword) = arguments(operator, &self.args)?;
        let notes = RefCell::new(Vec::new());
        let arguments = operator.bind_with(positional, keyword, |argument, text| {
            let subject = || format!("{}: argument `{}`", operator.name(), argument.name);
            if argument.is_write() && (is_standard_input(text) || Spec::read(text).is_some()) {
                notes.borrow_mut().push(unchanged(&argument.name, text, self.out.is_some()));
            }
            literal::read(argument, text).map_err(|error| error.within(subject()))
        })?;
        Ok(Bound { operator: operator.clone(), arguments, notes: notes.into_inner() })
    }

    fn call(&self, operator: &OperatorHandle, arguments: &[Value]) -> Result<(Vec<Value>, Report)> {
        let profile = self.profile.is_some().then(Profile::start);
        let (results, explanation) = call(operator, arguments, self.explain)?;
        let timeline = profile.map(Profile::finish);
        Ok((results, Report { explanation, timeline, stats: self.stats.then(stats) }))
    }
}

/// Refuses one file for `--out` and `--profile`: one of the two would be lost.
pub(super) fn expect_distinct_files(target: Option<&Target>, profile: Option<&Path>) -> Result<()> {
    match (target, profile) {
        (Some(Target::File(spec)), Some(profile)) if are_the_same(&spec.path, profile) => {
            let message = format!(
                "--out and --profile: both are {}, expected two files; give one of them another name",
                profile.display()
            );
            Err(Error::new(ErrorKind::File, message))
        }
        _ => Ok(()),
    }
}

/// What to know of a file that is given for an argument which the operator writes.
fn unchanged(argument: &str, file: &str, is_kept: bool) -> String {
    let remedy =
        if is_kept { "the result is in the file of --out" } else { "keep the result with --out FILE" };
    format!("`{argument}` was written in memory only, and {file} is unchanged; {remedy}")
}

/// Strings by position, and strings by name.
type Arguments<'t> = (Vec<&'t str>, Vec<(String, &'t str)>);

/// Parts the strings into those by position and those by name, which come after them.
fn arguments<'t>(operator: &OperatorHandle, texts: &'t [String]) -> Result<Arguments<'t>> {
    let (mut positional, mut keyword) = (Vec::new(), Vec::new());
    for text in texts {
        match split_keyword(text) {
            Some((name, text)) => keyword.push((name.to_owned(), text)),
            None if keyword.is_empty() => positional.push(text.as_str()),
            None => {
                let message = format!(
                    "{}: found positional argument `{text}` after named ones, expected it before them",
                    operator.name()
                );
                return Err(Error::new(ErrorKind::Value, message));
            }
        }
    }
    Ok((positional, keyword))
}

/// The name and the text of `name=text`.
pub(super) fn split_keyword(text: &str) -> Option<(&str, &str)> {
    let (name, value) = text.split_once('=')?;
    let starts_well = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    let is_name = starts_well && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_name.then_some((name, value))
}

fn call(
    operator: &OperatorHandle,
    arguments: &[Value],
    explain: bool,
) -> Result<(Vec<Value>, Option<Explanation>)> {
    let arguments: Vec<_> = arguments.iter().map(Value::borrow).collect();
    let mut returns = Returns::new();
    if explain {
        let (result, explanation) = operator.call_explained(&arguments, &mut returns)?;
        result?;
        return Ok((returns.into_vec(), Some(explanation)));
    }
    operator.call_boxed(&arguments, &mut returns)?;
    Ok((returns.into_vec(), None))
}

/// Where results are written.
pub(super) enum Target {
    File(Spec),
    StandardOutput,
}

impl Target {
    pub(super) fn from_path(path: &Path) -> Result<Self> {
        if path.to_str() == Some("-") {
            return Ok(Self::StandardOutput);
        }
        let spec =
            path.to_str().and_then(Spec::read).filter(|spec| spec.kind != Kind::Npy || spec.names.is_none());
        spec.map(Self::File).ok_or_else(|| {
            let message = format!(
                "--out: found `{}`, expected a name that ends in .npy, .npz or .safetensors; the \
                 latter two may be followed by names of arrays, as in r.npz:values,indices",
                path.display()
            );
            Error::new(ErrorKind::File, message)
        })
    }

    /// Bytes of a tensor are for programs, and nothing else may stand between them: no option that writes there, too.
    pub(super) fn expect_free_output(&self, others: &[(&str, bool)]) -> Result<()> {
        if !matches!(self, Self::StandardOutput) {
            return Ok(());
        }
        let message = match others.iter().find(|(_, is_given)| *is_given) {
            Some((other, _)) => {
                format!("--out - and {other}: both write to the standard output; write the tensor to a file")
            }
            None if std::io::stdout().is_terminal() => {
                "--out -: the standard output is a terminal, expected a pipe or a file; omit --out to \
                 see the result"
                    .to_owned()
            }
            None => return Ok(()),
        };
        Err(Error::new(ErrorKind::File, message))
    }

    pub(super) fn write(&self, results: &[Value]) -> Result<()> {
        let tensors = tensors(results)?;
        let arrays = tensors.iter().map(Tensor::array).collect::<Result<Vec<&Array>>>()?;
        let spec = match (self, arrays.as_slice()) {
            (Self::File(spec), _) => spec,
            (Self::StandardOutput, [array]) => {
                let mut out = std::io::stdout().lock();
                files::npy::write_to("standard output", array, &mut out)?;
                return out.flush().map_err(|error| {
                    Error::new(ErrorKind::File, format!("standard output: {error}")).caused_by(error)
                });
            }
            (Self::StandardOutput, arrays) => {
                let message = format!(
                    "found {} tensors for the standard output, expected one; write them to a file that ends in .npz or .safetensors",
                    arrays.len()
                );
                return Err(Error::new(ErrorKind::Value, message));
            }
        };
        let path = spec.path.as_path();
        let write = match (spec.kind, arrays.as_slice()) {
            (Kind::Npy, [array]) => return files::npy::write(path, array),
            (Kind::Npy, arrays) => {
                let message = format!(
                    "found {} tensors for {}, expected one; write them to a file that ends in .npz or .safetensors",
                    arrays.len(),
                    path.display()
                );
                return Err(Error::new(ErrorKind::Value, message));
            }
            (Kind::Npz, _) => files::npz::write,
            (Kind::Safetensors, _) => files::safetensors::write,
        };
        let names = names(spec, arrays.len())?;
        let named: Vec<_> = names.iter().map(String::as_str).zip(arrays).collect();
        write(path, &named)
    }
}

/// The names of as many tensors: those that were asked for, else numbers.
fn names(spec: &Spec, count: usize) -> Result<Vec<String>> {
    let Some(names) = &spec.names else {
        return Ok((0..count).map(|place| place.to_string()).collect());
    };
    let names: Vec<_> = names.split(',').map(|name| name.trim().to_owned()).collect();
    if names.len() != count {
        let message = format!(
            "--out: found {} names for {count} tensors, expected one for each: {}",
            names.len(),
            names.join(", ")
        );
        return Err(Error::new(ErrorKind::Value, message));
    }
    Ok(names)
}

/// The tensors of results, those in lists one by one.
pub(super) fn tensors(results: &[Value]) -> Result<Vec<Tensor>> {
    let mut tensors = Vec::new();
    for (place, result) in results.iter().enumerate() {
        add_tensors(place, result, &mut tensors)?;
    }
    Ok(tensors)
}

/// Adds the tensors of a result.
fn add_tensors(place: usize, result: &Value, tensors: &mut Vec<Tensor>) -> Result<()> {
    match result {
        Value::Tensor(tensor) => tensors.push(Tensor::try_from(tensor.clone())?),
        Value::List(list) if matches!(**list, List::Tensors(_)) => {
            for tensor in list.values() {
                add_tensors(place, &tensor, tensors)?;
            }
        }
        other => {
            let found = other.value_type();
            let message = format!("result {place} is {found}, expected a tensor; omit --out to print it");
            return Err(Error::new(ErrorKind::Value, message));
        }
    }
    Ok(())
}

fn describe(
    operator: &OperatorHandle,
    results: &[Value],
    out: Option<&Path>,
    report: Report,
    notes: &[String],
) -> Result<String> {
    let results = results.iter().map(json::value).collect::<Result<Vec<_>>>()?;
    let mut description = json!({"operator": operator.name().to_string(), "results": results});
    if let Some(path) = out {
        description["out"] = json!(path.display().to_string());
    }
    if !notes.is_empty() {
        description["notes"] = json!(notes);
    }
    if let Some(explanation) = report.explanation {
        description["explanation"] = explanation.to_json();
    }
    if let Some(timeline) = report.timeline {
        description["profile"] = timeline.to_json();
    }
    if let Some(stats) = report.stats {
        description["stats"] = stats.to_json();
    }
    Ok(json::line(&description))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_begin_with_a_name() {
        assert_eq!(split_keyword("alpha=2"), Some(("alpha", "2")));
        assert_eq!(split_keyword("path=a=b"), Some(("path", "a=b")));
        for positional in ["2", "\"a=b\"", "./x=1.npy", "[1]", "=1", "1a=2", "a b=1"] {
            assert_eq!(split_keyword(positional), None, "{positional}");
        }
    }
}
