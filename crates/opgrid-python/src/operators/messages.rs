//! What is wrong with the arguments of a call, in the words that torch's users know.

use std::ffi::CString;
use std::sync::Arc;

use opgrid::dispatch::Misplaced;
use opgrid::dispatch::schema::{Argument, Type};
use opgrid::{DType, ErrorKind};
use pyo3::prelude::*;

use super::arguments::{Arguments, Object, Source};
use super::call;
use super::overload::{Overload, Style, in_order};
use crate::errors;
use crate::exchange::foreign;

/// The exception where arguments have no places.
#[cold]
pub(super) fn misplaced(
    py: Python<'_>,
    overload: &Overload,
    style: Style,
    arguments: &Arguments<'_, '_>,
    misplaced: &Misplaced,
) -> PyErr {
    refusal(py, style, misplaced_text(overload, style, arguments, misplaced))
}

/// The exception where parameter number `index` gets something else than it takes.
#[cold]
pub(super) fn misfit(
    py: Python<'_>,
    overload: &Overload,
    style: Style,
    arguments: &Arguments<'_, '_>,
    sources: &[Option<Source<'_, '_, '_>>],
    index: usize,
) -> PyErr {
    refusal(py, style, misfit_text(overload, style, arguments, sources, index))
}

/// The exception where no overload takes the arguments.
#[cold]
pub(super) fn no_overload(
    py: Python<'_>,
    name: &str,
    overloads: &[Arc<Overload>],
    style: Style,
    arguments: &Arguments<'_, '_>,
) -> PyErr {
    if overloads.is_empty() {
        let message = format!("{name}: the operator is no longer registered; look it up again");
        return errors::new(py, ErrorKind::Stale, &message);
    }
    if style.is_function() {
        // Where only one overload takes so many arguments, what is wrong with that one says most.
        let given = arguments.positional.len() + arguments.keyword.len();
        let plausible: Vec<_> = overloads.iter().filter(|overload| takes(overload, given)).collect();
        if let [only] = plausible.as_slice() {
            return refusal(py, style, why_not(only, style, arguments));
        }
        let found = types_of(arguments, style);
        let function = name.rsplit("::").next().unwrap_or(name);
        let mut message = format!(
            "{function}() received an invalid combination of arguments - got ({found}), but expected one of:"
        );
        for overload in overloads {
            let why = why_not(overload, style, arguments);
            message += &format!("\n * ({})\n      {why}", signature(overload, style));
        }
        return refusal(py, style, message);
    }
    let mut message = format!("{name}: overloaded operator invoked from Python failed to match any schema:");
    for overload in overloads {
        message += &format!("\n  {}", why_not(overload, style, arguments));
    }
    refusal(py, style, message)
}

/// The exception where a keyword that chooses between two operators is no bool.
#[cold]
pub(super) fn no_bool(py: Python<'_>, name: &str, keyword: &str, found: &Object<'_, '_>) -> PyErr {
    let function = name.rsplit("::").next().unwrap_or(name);
    let message = format!("{function}(): argument '{keyword}' must be bool, not {}", class_name(found));
    refusal(py, Style::Function, message)
}

/// The warning where the arguments stand in an order of former times.
#[cold]
pub(super) fn deprecated(overload: &Overload, style: Style, order: &[&'static str]) -> CString {
    let function = title(overload, style);
    let parameters = &overload.schema().arguments;
    let described = |name: &str| {
        let parameter = parameters.iter().find(|argument| argument.name == name)?;
        Some(format!("{} {}", type_name(&parameter.real_type), parameter_name(parameter, style)))
    };
    let own = usize::from(style == Style::Method);
    let found: Vec<_> = in_order(order, style).skip(own).filter_map(described).collect();
    let message = format!(
        "This overload of {function} is deprecated:\n\t{function}({})\nConsider using one of the following signatures \
         instead:\n\t{function}({})",
        found.join(", "),
        signature(overload, style),
    );
    CString::new(message).unwrap_or_default()
}

fn refusal(py: Python<'_>, style: Style, message: String) -> PyErr {
    errors::named(py, if style.is_function() { "ArgumentError" } else { "OperatorError" }, &message)
}

fn takes(overload: &Overload, count: usize) -> bool {
    let needed = overload.schema().arguments.iter().filter(|argument| argument.default.is_none()).count();
    (needed..=overload.binder.count()).contains(&count)
}

fn why_not(overload: &Overload, style: Style, arguments: &Arguments<'_, '_>) -> String {
    let mut sources = vec![None; overload.binder.count()];
    if let Err(misplaced) = overload.place(arguments, style, &mut sources) {
        return misplaced_text(overload, style, arguments, &misplaced);
    }
    match call::read(overload, style, &sources, &mut call::LentArguments::new()) {
        Ok(Some(index)) => misfit_text(overload, style, arguments, &sources, index),
        Ok(None) => format!("{}: the arguments changed while they were read", overload.schema().name),
        Err(raised) => raised.to_string(),
    }
}

/// The name by which people call the overload.
fn title(overload: &Overload, style: Style) -> String {
    match style {
        Style::Packet => overload.schema().name.to_string(),
        Style::Function | Style::Method => overload.schema().name.base().to_owned(),
    }
}

fn misplaced_text(
    overload: &Overload,
    style: Style,
    arguments: &Arguments<'_, '_>,
    misplaced: &Misplaced,
) -> String {
    if !style.is_function() {
        return overload.binder.refusal(misplaced).message().to_owned();
    }
    let function = title(overload, style);
    let parameters = &overload.schema().arguments;
    let own = usize::from(style == Style::Method);
    match misplaced {
        Misplaced::TooMany(given) => {
            let most = overload.binder.positions().saturating_sub(own);
            let needed = parameters[own..]
                .iter()
                .filter(|argument| argument.default.is_none() && !argument.kwarg_only);
            let least = needed.count();
            let given = given.saturating_sub(own);
            let plural = if most == 1 { "argument" } else { "arguments" };
            let were = if given == 1 { "was" } else { "were" };
            if least == most {
                format!("{function}() takes {most} positional {plural} but {given} {were} given")
            } else {
                format!(
                    "{function}() takes from {least} to {most} positional {plural} but {given} {were} given"
                )
            }
        }
        Misplaced::Unknown(name) => format!("{function}() got an unexpected keyword argument '{name}'"),
        Misplaced::Twice(index) => {
            format!(
                "{function}() got multiple values for argument '{}'",
                parameter_name(&parameters[*index], style)
            )
        }
        Misplaced::Missing(first) => {
            let given = |argument: &Argument| {
                arguments.keyword.iter().any(|(name, _)| {
                    name.to_str().is_ok_and(|name| overload.parameter(name, style) == argument.name)
                })
            };
            let missing: Vec<_> = parameters[*first..]
                .iter()
                .filter(|argument| argument.default.is_none() && !given(argument))
                .map(|argument| format!("\"{}\"", parameter_name(argument, style)))
                .collect();
            let plural = if missing.len() == 1 { "argument" } else { "arguments" };
            format!(
                "{function}() missing {} required positional {plural}: {}",
                missing.len(),
                missing.join(", ")
            )
        }
    }
}

fn misfit_text(
    overload: &Overload,
    style: Style,
    arguments: &Arguments<'_, '_>,
    sources: &[Option<Source<'_, '_, '_>>],
    index: usize,
) -> String {
    let argument = &overload.schema().arguments[index];
    let expected = type_name(&argument.real_type);
    let own = usize::from(style == Style::Method);
    let by_position = index < arguments.positional.len();
    let position =
        if by_position { format!(" (position {})", index + 1 - own.min(index)) } else { String::new() };
    let name = parameter_name(argument, style);
    let remedy = match sources[index] {
        Some(Source::One(object)) => match wrong_element(argument, &object) {
            Some((_, element)) => foreign::remedy(&element),
            None => foreign::remedy(&object),
        },
        _ => String::new(),
    };
    let found = match sources[index] {
        Some(Source::One(object)) => match wrong_element(argument, &object) {
            Some((place, element)) => {
                let found = class_name(&element.as_borrowed());
                format!("{expected}, but found element of type {found} at pos {place}")
            }
            None => format!("{expected}, not {}", class_name(&object)),
        },
        Some(Source::Rest(objects)) => {
            let found = objects.iter().map(class_name).collect::<Vec<_>>().join(", ");
            format!("{expected}, not ({found})")
        }
        None => expected,
    };
    let text = format!("{}(): argument '{name}'{position} must be {found}{remedy}", title(overload, style));
    if style.is_function() { text } else { format!("{text}; the schema is {}", overload.schema()) }
}

/// Which element of a list is not what the parameter takes.
fn wrong_element<'py>(argument: &Argument, object: &Object<'_, 'py>) -> Option<(usize, Bound<'py, PyAny>)> {
    let Type::List(element) = argument.real_type.without_optional() else { return None };
    let items = crate::values::read::items(object)?;
    let rules = crate::values::read::Rules { numbers_for_tensors: false, as_functions: true };
    let misfit = |item: &Bound<'_, PyAny>| {
        !crate::values::read::value(element, item, rules).is_ok_and(|it| it.is_some())
    };
    items.into_iter().enumerate().find(|(_, item)| misfit(item))
}

fn class_name(object: &Object<'_, '_>) -> String {
    foreign::class_name(object)
}

fn types_of(arguments: &Arguments<'_, '_>, style: Style) -> String {
    let own = usize::from(style == Style::Method);
    let mut text = String::new();
    for object in arguments.positional.iter().skip(own) {
        text += &format!("{}, ", class_name(object));
    }
    for (name, object) in &arguments.keyword {
        text += &format!("{}={}, ", name.to_string_lossy(), class_name(object));
    }
    text
}

/// What functions call a parameter.
pub(super) fn parameter_name(argument: &Argument, style: Style) -> &str {
    if style == Style::Function && argument.name == "self" { "input" } else { &argument.name }
}

/// The signature as messages print it: `Tensor input, Tensor other, *, Number alpha = 1`.
pub(super) fn signature(overload: &Overload, style: Style) -> String {
    let own = usize::from(style == Style::Method);
    let mut parts = Vec::new();
    let mut by_name = false;
    for argument in overload.schema().arguments.iter().skip(own) {
        if argument.kwarg_only && !by_name {
            parts.push("*".to_owned());
            by_name = true;
        }
        let default = default_text(argument).map_or(String::new(), |default| format!(" = {default}"));
        parts.push(format!(
            "{} {}{default}",
            type_name(&argument.real_type),
            parameter_name(argument, style)
        ));
    }
    parts.join(", ")
}

/// A parameter's default as messages print it; schemas write dtypes as numbers.
pub(super) fn default_text(argument: &Argument) -> Option<String> {
    let text = argument.default.as_ref()?.to_string();
    let is_dtype = *argument.real_type.without_optional() == Type::ScalarType;
    let number = text.parse::<i64>().ok().filter(|_| is_dtype);
    let named = number.and_then(|number| DType::all().find(|dtype| dtype.number() == number));
    Some(named.map_or(text, |dtype| format!("opgrid.{}", dtype.name())))
}

/// What messages call a type.
fn type_name(declared: &Type) -> String {
    match declared.without_optional() {
        Type::Scalar => "Number".into(),
        Type::Int | Type::SymInt => "int".into(),
        Type::ScalarType => "opgrid.dtype".into(),
        Type::Layout => "opgrid.layout".into(),
        Type::MemoryFormat => "opgrid.memory_format".into(),
        Type::Device => "opgrid.device".into(),
        Type::Generator => "opgrid.Generator".into(),
        Type::Any => "object".into(),
        Type::List(element) => match element.without_optional() {
            Type::Tensor => "tuple of Tensors".into(),
            Type::Scalar => "tuple of Scalars".into(),
            element => format!("tuple of {}s", type_name(element)),
        },
        other => other.python_name(),
    }
}
