//! Faults of what schemas say of memory, and of the forms of an operator.

use opgrid_core::schema::{Argument, WILDCARD};
use opgrid_core::{Dispatcher, Forms};

use super::{Fault, Report, Subject, listed};

pub(super) fn check(subject: &Subject, all: &[Subject], dispatcher: &Dispatcher, report: &mut Report) {
    unwritten(subject, report);
    unknown_sets(subject, report);
    forms(subject, all, dispatcher, report);
}

/// Whether a base name is that of an operator that writes its first argument, as `add_` and not `__and__`.
fn is_in_place(base: &str) -> bool {
    base.ends_with('_') && !base.ends_with("__")
}

fn unwritten(subject: &Subject, report: &mut Report) {
    let first = subject.schema.arguments.first();
    if is_in_place(subject.schema.name.base()) && !first.is_some_and(Argument::is_write) {
        let message = match first {
            Some(first) => format!(
                "is named like an in-place operator, but does not write `{}`; declare it as {}(a!), or \
                 remove the `_`",
                first.name, first.real_type
            ),
            None => "is named like an in-place operator, but has no arguments; remove the `_`".to_owned(),
        };
        report.add(Fault::UnwrittenInPlace, &subject.name, subject.place(), message);
    }
}

/// Results share memory with arguments, or are new.
fn unknown_sets(subject: &Subject, report: &mut Report) {
    let arguments: Vec<_> = subject.schema.arguments.iter().flat_map(sets).collect();
    let known = |set: &String| set == WILDCARD || arguments.contains(set);
    let unknown: Vec<_> = subject
        .schema
        .returns
        .iter()
        .flat_map(sets)
        .filter(|set| !known(set))
        .map(|set| format!("`{set}`"))
        .collect();
    if !unknown.is_empty() {
        let message = format!(
            "a result is in alias set {}, and no argument is; annotate the argument that it aliases, \
             or remove the annotation",
            listed(&unknown)
        );
        report.add(Fault::UnknownAliasSet, &subject.name, subject.place(), message);
    }
}

/// The alias sets of an argument or a result, those of its elements included.
fn sets(argument: &Argument) -> Vec<String> {
    let Some(alias) = &argument.alias else { return Vec::new() };
    let inner = alias.contained.iter().flat_map(|inner| inner.before.iter().chain(&inner.after));
    alias.before.iter().chain(&alias.after).chain(inner).cloned().collect()
}

fn forms(subject: &Subject, all: &[Subject], dispatcher: &Dispatcher, report: &mut Report) {
    if let Ok(Some(links)) = subject.operator.column::<Forms>() {
        let linked = [Some(&links.functional), links.in_place.as_ref(), links.out.as_ref()];
        let missing = linked.into_iter().flatten().map(ToString::to_string);
        let missing: Vec<_> = missing.filter(|name| dispatcher.find(name).is_err()).collect();
        if !missing.is_empty() {
            let message = format!(
                "is linked to {}, which is not defined; define it, or remove the link",
                listed(&missing)
            );
            report.add(Fault::BrokenForm, &subject.name, subject.place(), message);
        }
    }
    let schema = &subject.schema;
    if !is_in_place(schema.name.base()) {
        return;
    }
    let functional = schema.name.name.trim_end_matches('_');
    // One that takes a number where this writes a tensor, as `pow.Scalar` does, is another operator.
    let first =
        |subject: &Subject| subject.schema.arguments.first().map(|argument| argument.real_type.clone());
    let same = |other: &&Subject| {
        let name = &other.schema.name;
        name.name == functional && name.overload == schema.name.overload && first(other) == first(subject)
    };
    let Some(functional) = all.iter().find(same) else { return };
    if let Some(difference) = difference(&schema.arguments, &functional.schema.arguments) {
        let message = format!("{difference} in {}, its functional form; make them equal", functional.name);
        report.add(Fault::FormsDisagree, &subject.name, subject.place(), message);
    }
}

/// The first argument in which two forms differ, as `argument `alpha` has default 1 here and 2`.
fn difference(own: &[Argument], others: &[Argument]) -> Option<String> {
    let default = |argument: &Argument| match &argument.default {
        Some(default) => format!("default {default}"),
        None => "no default".to_owned(),
    };
    for other in others {
        let Some(own) = own.iter().find(|own| own.name == other.name) else { continue };
        if own.real_type != other.real_type {
            return Some(format!(
                "argument `{}` is {} here and {}",
                own.name, own.real_type, other.real_type
            ));
        }
        if own.default != other.default {
            return Some(format!("argument `{}` has {} here and {}", own.name, default(own), default(other)));
        }
    }
    None
}
