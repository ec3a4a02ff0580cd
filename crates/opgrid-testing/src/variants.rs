//! The overloads of an operator that write: in place, and into an output. They are found by their schemas.

use opgrid_core::schema::FunctionSchema;
use opgrid_core::{Dispatcher, OperatorHandle};

/// An overload that does what a functional one does, and writes to an argument.
pub(crate) struct Variant {
    pub(crate) operator: OperatorHandle,
    pub(crate) schema: FunctionSchema,
}

/// What an `out` overload has no arguments for: the output says it.
const OPTIONS: [&str; 4] = ["dtype", "layout", "device", "pin_memory"];

/// The overloads that write their first argument and take the same arguments.
pub(crate) fn in_place(dispatcher: &Dispatcher, functional: &FunctionSchema) -> Vec<Variant> {
    found(dispatcher, |schema| {
        let same_name = schema.name.name == format!("{}_", functional.name.name);
        let writes_first = schema.arguments.first().is_some_and(|first| first.is_write());
        same_name && writes_first && !functional.is_mutable() && names(schema, 0) == names(functional, 0)
    })
}

/// The overloads that take an output behind the same arguments.
pub(crate) fn into_output(dispatcher: &Dispatcher, functional: &FunctionSchema) -> Vec<Variant> {
    found(dispatcher, |schema| {
        let has_output = schema.arguments.last().is_some_and(|last| last.is_out());
        if !has_output || schema.name.name != functional.name.name {
            return false;
        }
        let taken = names(schema, 1);
        let asked = names(functional, 0);
        let asked =
            asked.into_iter().filter(|pair| taken.contains(pair) || !OPTIONS.contains(&pair.0.as_str()));
        taken == asked.collect::<Vec<_>>()
    })
}

fn found(dispatcher: &Dispatcher, wanted: impl Fn(&FunctionSchema) -> bool) -> Vec<Variant> {
    let all = dispatcher.operators().into_iter();
    let with_schemas = all.filter_map(|operator| Some((operator.schema().ok()?, operator)));
    with_schemas
        .filter(|(schema, _)| wanted(schema))
        .map(|(schema, operator)| Variant { operator, schema })
        .collect()
}

/// Names and types of the arguments, without the last `dropped` ones.
fn names(schema: &FunctionSchema, dropped: usize) -> Vec<(String, String)> {
    let kept = schema.arguments.len().saturating_sub(dropped);
    let pair =
        |argument: &opgrid_core::schema::Argument| (argument.name.clone(), argument.real_type.to_string());
    schema.arguments[..kept].iter().map(pair).collect()
}
