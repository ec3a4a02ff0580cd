//! `opgrid explain`: which kernels a described call would run, and why.

use std::path::PathBuf;

use opgrid::dispatch::schema::{Argument, FunctionSchema};
use opgrid::dispatch::{Explanation, autograd_key, compute_dispatch_key, excluding, including};
use opgrid::{
    Device, DispatchKey, DispatchKeySet, Error, ErrorKind, OperatorHandle, Result, Value, files,
    tensor::requires_grad_key,
};

use super::call::Call;
use super::{keys, overloads};
use crate::file::{Spec, is_standard_input};
use crate::literal::takes_tensors;
use crate::{arguments, html, json, style};

/// Say which kernels a call would run, and why, from its arguments or from a description of its tensors.
///
/// Arguments are those of `opgrid call`, of which one at least is a file, a number, a list or named; the call is not made. Otherwise each ARGSPEC describes one tensor argument, in the order of the schema: a device (`cpu`, `meta`, `cuda:1`) or a
/// dispatch key (`SparseCPU`) stands for tensors of it without gradients; `+grad` adds its autograd key and the mark that it requires a gradient, and `+KEY`
/// any other; `none` is an argument left out. `{CPU,AutogradCPU}` gives the keys themselves.
#[derive(clap::Args)]
pub(crate) struct Explain {
    /// The operator, as in aten::add.Tensor, or a name such as aten::add or add for the first of its overloads that takes the
    /// arguments.
    operator: String,
    /// The tensors of the call, as in `cpu+grad cpu`, or its arguments, as in `x.npy 2`.
    #[arg(value_parser = arguments::unmarked)]
    argspec: Vec<String>,
    /// Keys that the thread includes, as in `Tracer,Python`.
    #[arg(long, value_name = "KEYS", default_value = "", hide_default_value = true)]
    include: String,
    /// Keys that the thread excludes, as in `AutogradCPU`. A set holds layers and backends apart: `CPU` excludes the dense
    /// layer, which all backends share, and the call finds no kernel of any; its backend stays.
    #[arg(long, value_name = "KEYS", default_value = "", hide_default_value = true)]
    exclude: String,
    /// Write the explanation as a page for a browser, which loads nothing.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

impl Explain {
    pub(crate) fn run(&self, json: bool) -> Result<String> {
        let overloads = overloads(&self.operator)?;
        let included = read_keys(&self.include).map_err(|error| error.within("--include"))?;
        let excluded = read_keys(&self.exclude).map_err(|error| error.within("--exclude"))?;
        let explain = || {
            if self.argspec.iter().any(|text| is_value(text)) {
                self.explain_values(&overloads)
            } else {
                self.explain_described(overloads)
            }
        };
        let explanation = including(included, || excluding(excluded, explain))?;
        if let Some(path) = &self.html {
            files::write_text(path, &html::explanation(&explanation))?;
        }
        Ok(match (json, &self.html) {
            (true, _) => json::line(&explanation.to_json()),
            (false, Some(path)) => format!("{}\n", path.display()),
            (false, None) => colored(&explanation.to_string()),
        })
    }

    /// Explains the call that `opgrid call` would make with these arguments.
    fn explain_values(&self, overloads: &[OperatorHandle]) -> Result<Explanation> {
        let (operator, arguments) = Call::without_options(&self.operator, &self.argspec).chosen(overloads)?;
        let arguments: Vec<_> = arguments.iter().map(Value::borrow).collect();
        operator.explain(&arguments)
    }

    /// Explains a call of the first overload that has as many tensors.
    fn explain_described(&self, mut overloads: Vec<OperatorHandle>) -> Result<Explanation> {
        // A whole name means that overload where there is one, and what writes no output is meant before what does.
        overloads.sort_by_key(|operator| {
            let writes = operator.find_schema().is_some_and(|it| it.arguments.iter().any(Argument::is_out));
            (operator.name().to_string() != self.operator.trim(), writes)
        });
        let mut refused = None;
        for operator in &overloads {
            match self.arguments(&*operator.schema()?) {
                Ok(arguments) => return operator.explain_keys(arguments),
                Err(error) => refused = refused.or(Some(error)),
            }
        }
        Err(refused.unwrap_or_else(|| Error::new(ErrorKind::Unknown, "all overloads have been unregistered")))
    }

    /// The described arguments under their names.
    fn arguments(&self, schema: &FunctionSchema) -> Result<Vec<(String, DispatchKeySet)>> {
        let tensors: Vec<_> = schema.arguments.iter().filter(|it| takes_tensors(&it.real_type)).collect();
        let required = tensors.iter().filter(|it| it.default.is_none()).count();
        if !(required..=tensors.len()).contains(&self.argspec.len()) {
            return Err(wrong_count(schema, &self.argspec, &tensors, required));
        }
        let named = tensors.iter().zip(&self.argspec).map(|(argument, spec)| {
            let subject = format!("{}: argument `{}`", schema.name, argument.name);
            Ok((argument.name.clone(), read_spec(spec).map_err(|error| error.within(subject))?))
        });
        named.collect()
    }
}

/// Whether an argument is one of `opgrid call` and describes no tensor.
fn is_value(text: &str) -> bool {
    let starts = |first: char| first.is_ascii_digit() || matches!(first, '[' | '"' | '-' | '.');
    let is_named = text.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && !name.contains(|letter: char| !letter.is_alphanumeric() && letter != '_')
    });
    let is_word = matches!(text, "true" | "false" | "inf" | "nan");
    text.starts_with(starts) || is_named || is_word || is_standard_input(text) || Spec::read(text).is_some()
}

/// The lines of an explanation, of which those that frame the hops stand back.
fn colored(text: &str) -> String {
    let line = |(place, line): (usize, &str)| match place {
        0 => style::HEADING.apply(line),
        _ if line.starts_with("keys") || line.starts_with("skipped") => style::QUIET.apply(line),
        _ => line.to_owned(),
    };
    text.lines().enumerate().map(|numbered| line(numbered) + "\n").collect()
}

fn wrong_count(
    schema: &FunctionSchema,
    found: &[String],
    tensors: &[&opgrid::dispatch::schema::Argument],
    required: usize,
) -> Error {
    let names: Vec<_> = tensors.iter().map(|argument| format!("`{}`", argument.name)).collect();
    let names = if names.is_empty() { "none".into() } else { names.join(", ") };
    let expected = if required == tensors.len() {
        required.to_string()
    } else {
        format!("{required} to {}", tensors.len())
    };
    let message = format!(
        "{}: the number of tensor descriptions is {}, expected {expected}, one for each tensor \
         argument ({names})",
        schema.name,
        found.len()
    );
    Error::new(ErrorKind::Value, message)
}

/// The keys of a described tensor.
fn read_spec(spec: &str) -> Result<DispatchKeySet> {
    if spec.starts_with('{') {
        return read_keys(spec);
    }
    if spec == "none" {
        return Ok(DispatchKeySet::EMPTY);
    }
    let mut parts = spec.split('+').map(str::trim);
    let key = read_base(parts.next().unwrap_or_default())?;
    parts.try_fold(key.key_set(), |keys, part| match part {
        "grad" => Ok(keys.add(autograd_key(key.backend())).add(requires_grad_key()?)),
        part => Ok(keys.add(read_key(part)?)),
    })
}

/// The key of the data: that of a device's dense tensors, or the one named.
fn read_base(text: &str) -> Result<DispatchKey> {
    if let Ok(device) = text.parse::<Device>() {
        return compute_dispatch_key(None, None, Some(device));
    }
    read_key(text).map_err(|error| {
        let message = format!(
            "`{text}` does not describe a tensor, expected a device such as cpu or a dispatch key such \
             as SparseCPU: {error}"
        );
        Error::new(ErrorKind::Unknown, message)
    })
}

/// The keys of a list such as `{CPU, AutogradCPU}`.
fn read_keys(text: &str) -> Result<DispatchKeySet> {
    let inner = text.strip_prefix('{').map_or(Some(text), |rest| rest.strip_suffix('}'));
    let inner = inner.ok_or_else(|| {
        let message =
            format!("`{text}` is not a key set, expected `}}` at its end, as in {{CPU,AutogradCPU}}");
        Error::new(ErrorKind::Unknown, message)
    })?;
    let names = inner.split(',').map(str::trim).filter(|name| !name.is_empty());
    names.map(read_key).try_fold(DispatchKeySet::EMPTY, |keys, key| Ok(keys.add(key?)))
}

/// A key that a set can hold.
fn read_key(name: &str) -> Result<DispatchKey> {
    let key = keys::by_name(name)?;
    if key.is_alias() {
        let message = format!(
            "`{name}` is an alias key, which is only for registrations, expected a runtime key such as \
             AutogradCPU; `opgrid keys` lists what it stands for"
        );
        return Err(Error::new(ErrorKind::Unknown, message));
    }
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(spec: &str, expected: &str) {
        let found = match read_spec(spec) {
            Ok(keys) => json::keys(keys).join(" "),
            Err(error) => error.to_string(),
        };
        assert!(found.contains(expected), "{spec}: {found}");
        assert_eq!(found.is_empty(), expected.is_empty(), "{spec}: {found}");
    }

    #[test]
    fn arguments_of_calls_are_told_from_descriptions() {
        for value in
            ["x.npy", "s.npz:w", "-", "-:w", "2", "-1.5", "[1,2]", "[[1]]:f32", "\"a\"", "dim=1", "true"]
        {
            assert!(is_value(value), "{value}");
        }
        for described in
            ["cpu", "cuda:1+grad", "meta+Tracer", "SparseCPU", "none", "{CPU,AutogradCPU}", "{}", "cpo"]
        {
            assert!(!is_value(described), "{described}");
        }
    }

    #[test]
    fn specs_are_read() {
        check("cpu", "CPU");
        check("cpu+grad", "CPU AutogradCPU RequiresGrad");
        check("cuda:1+grad+Tracer", "CUDA AutogradCUDA RequiresGrad Tracer");
        check("meta", "Meta");
        check("SparseCPU+grad", "SparseCPU AutogradCPU RequiresGrad");
        check("none", "");
        check("{}", "");
        check("{CPU, AutogradCPU}", "CPU AutogradCPU");
        check("cpo", "`cpo` does not describe a tensor");
        check("cpu+grd", "grd");
        check("{CPU", "expected `}` at its end");
        check("{CPU,Autograd}", "`Autograd` is an alias");
    }
}
