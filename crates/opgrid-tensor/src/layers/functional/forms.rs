//! The operator that computes what another one writes, and gives it as new results.

use opgrid_core::schema::{Argument as Declared, FunctionSchema};
use opgrid_core::{Dispatcher, Forms, OperatorHandle, Result};

use crate::error::argument;

/// The overload without writes that belongs to one with: it takes the same arguments but for outputs, and gives the results that are new
/// first, then what would be written.
#[derive(Clone, Debug)]
pub struct PureForm {
    /// The name of the overload.
    pub target: String,
    /// Its schema.
    pub schema: std::sync::Arc<FunctionSchema>,
}

/// Finds the pure form of an overload that writes: among the overloads of its name without the mark of those in place, with `_functional`
/// behind it, or as it is, the one whose arguments fit best.
///
/// # Errors
///
/// There is none.
pub fn pure_form(dispatcher: &Dispatcher, operator: &OperatorHandle) -> Result<PureForm> {
    let schema = operator.schema()?;
    let linked = operator.column::<Forms>()?.map(|forms| forms.functional.to_string());
    let name = schema.name.name.as_str();
    // Python's operators in place are `__iand__` and the like, others end with an underscore.
    let bare = match name.split_once("::__i") {
        Some((namespace, operator)) => format!("{namespace}::__{operator}"),
        None => name.strip_suffix('_').unwrap_or(name).to_owned(),
    };
    let mut best: Option<(usize, PureForm)> = None;
    for name in [bare.clone(), format!("{bare}_functional")] {
        for other in dispatcher.overloads(&name) {
            let Some(found) = other.find_schema() else { continue };
            let Some(mut distance) = distance(&schema, &found) else { continue };
            let target = other.name().to_string();
            if linked.as_ref() == Some(&target) {
                distance = 0;
            } else if found.name.overload != schema.name.overload {
                distance += 100;
            }
            if best.as_ref().is_none_or(|(least, _)| distance < *least) {
                best = Some((distance, PureForm { target, schema: found }));
            }
        }
    }
    best.map(|(_, form)| form).ok_or_else(|| {
        argument(format!(
            "{}: it writes, and no overload computes the same without; expected one of `{bare}` with the same arguments",
            schema.name
        ))
    })
}

/// How far an overload is from being the pure form of another one: by how many arguments it has more. `None` where it is none.
fn distance(writing: &FunctionSchema, pure: &FunctionSchema) -> Option<usize> {
    let written = writing.arguments.iter().filter(|argument| argument.is_write()).count();
    let is_pure = !pure.arguments.iter().any(Declared::is_write);
    if !is_pure || pure.returns.len() != fresh(writing).count() + written {
        return None;
    }
    let taken: Vec<&Declared> = writing.arguments.iter().filter(|argument| !argument.is_out()).collect();
    let is_known = |argument: &&Declared| {
        let place = writing.arguments.iter().position(|other| other.name == argument.name);
        let known = pure.arguments.iter().find(|other| source(writing, pure, other) == place);
        known.is_some_and(|other| other.real_type == argument.real_type)
    };
    let more: Vec<&Declared> =
        pure.arguments.iter().filter(|argument| source(writing, pure, argument).is_none()).collect();
    (taken.iter().all(is_known) && more.iter().all(|argument| argument.default.is_some()))
        .then_some(1 + more.len())
}

/// The place of the argument of the writing overload that the pure one has under the same name; the tensors that come first may have two.
pub fn source(writing: &FunctionSchema, pure: &FunctionSchema, argument: &Declared) -> Option<usize> {
    let is_first = pure.arguments.first().is_some_and(|first| first.name == argument.name);
    let first = writing.arguments.first().filter(|first| is_first && first.is_write() && !first.kwarg_only);
    writing.argument_index(&argument.name).or(first.map(|_| 0))
}

/// The places of the written arguments in the order in which a pure form gives their values, behind the results that are new: outputs stand for
/// results, and come before what is written besides.
pub fn written_places(schema: &FunctionSchema) -> Vec<usize> {
    let places = (0..schema.arguments.len()).filter(|place| schema.arguments[*place].is_write());
    let (outputs, others): (Vec<usize>, Vec<usize>) =
        places.partition(|place| schema.arguments[*place].is_out());
    [outputs, others].concat()
}

/// The places of the results that are not written arguments.
pub fn fresh(schema: &FunctionSchema) -> impl Iterator<Item = usize> + '_ {
    schema.returns.iter().enumerate().filter(|(_, given)| !given.is_write()).map(|(index, _)| index)
}

/// Whether an overload gives views.
pub fn gives_views(schema: &FunctionSchema) -> bool {
    schema.returns.iter().any(|given| given.alias.is_some() && !given.is_write())
}
