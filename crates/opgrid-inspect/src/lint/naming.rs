//! Faults of names: those that are nearly others', and overloads that calls cannot choose between.

use std::collections::{BTreeMap, BTreeSet};

use opgrid_core::schema::FunctionSchema;

use super::{Fault, Report, Subject};
use crate::names::confusable;

pub(super) fn check(subjects: &[Subject], report: &mut Report) {
    near(subjects, report);
    same_arguments(subjects, report);
}

/// Namespaces, names within a namespace, and overloads of a name are compared each with their like.
fn near(subjects: &[Subject], report: &mut Report) {
    let mut namespaces: BTreeMap<&str, &Subject> = BTreeMap::new();
    let mut names: BTreeMap<&str, BTreeMap<&str, &Subject>> = BTreeMap::new();
    let mut overloads: BTreeMap<&str, BTreeMap<&str, &Subject>> = BTreeMap::new();
    for subject in subjects {
        let name = &subject.schema.name;
        let namespace = name.namespace().unwrap_or_default();
        namespaces.entry(namespace).or_insert(subject);
        names.entry(namespace).or_default().entry(name.base()).or_insert(subject);
        overloads.entry(&name.name).or_default().entry(&name.overload).or_insert(subject);
    }
    compare("namespace", &namespaces, report);
    names.values().for_each(|names| compare("name", names, report));
    overloads.values().for_each(|overloads| compare("overload", overloads, report));
}

fn compare(what: &str, names: &BTreeMap<&str, &Subject>, report: &mut Report) {
    for (later, subject) in names {
        for (earlier, _) in names.range(..*later).filter(|(earlier, _)| confusable(earlier, later)) {
            let message =
                format!("the {what} `{later}` is nearly `{earlier}`; one of them is probably misspelled");
            report.add(Fault::NearName, &subject.name, subject.place(), message);
        }
    }
}

/// Calls by the name without overload choose by the arguments.
fn same_arguments(subjects: &[Subject], report: &mut Report) {
    let mut known: BTreeMap<(&str, String), &str> = BTreeMap::new();
    let mut told: BTreeSet<&str> = BTreeSet::new();
    for subject in subjects {
        let key = (subject.schema.name.name.as_str(), arguments(&subject.schema));
        match known.get(&key) {
            Some(other) if told.insert(&subject.name) => {
                let message = format!(
                    "takes the same arguments as {other}, so that a call of `{}` never reaches it; \
                     remove one, or name them differently",
                    subject.schema.name.name
                );
                report.add(Fault::SameArguments, &subject.name, subject.place(), message);
            }
            Some(_) => {}
            None => {
                known.insert(key, &subject.name);
            }
        }
    }
}

/// What a call sees of a schema: types in their order, names of those by name, and which must be given.
fn arguments(schema: &FunctionSchema) -> String {
    let one = |argument: &opgrid_core::schema::Argument| {
        let name = if argument.kwarg_only { argument.name.as_str() } else { "" };
        let size = argument.size.map_or(String::new(), |size| size.to_string());
        format!("{name} {}{size} {} {}", argument.real_type, argument.default.is_some(), argument.is_out())
    };
    schema.arguments.iter().map(one).collect::<Vec<_>>().join(",")
}
