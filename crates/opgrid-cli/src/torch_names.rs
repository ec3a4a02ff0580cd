//! The public names of torch, by namespace, and which of them are here.
//!
//! Names of torch are recorded (`names/torch.txt`). Functions and methods of the Python package are operators of the registry, which
//! is asked; what the package has beyond these is recorded (`names/package.txt`), and a test of the package compares the record.
//! `names/record.py` prints both files.

use std::collections::BTreeSet;

use opgrid::{Dispatcher, OperatorHandle};

const TORCH: &str = include_str!("names/torch.txt");
const PACKAGE: &str = include_str!("names/package.txt");

/// A namespace of torch.
pub(crate) struct Namespace {
    pub(crate) name: &'static str,
    /// The names that are here.
    pub(crate) here: Vec<&'static str>,
    /// The others.
    pub(crate) missing: Vec<&'static str>,
}

/// The names of the namespaces.
pub(crate) fn namespace_names() -> impl Iterator<Item = &'static str> {
    sections(TORCH).map(|(name, _)| name)
}

/// All namespaces, with what a registry and the package have of them.
pub(crate) fn namespaces(dispatcher: &Dispatcher) -> Vec<Namespace> {
    let operators = dispatcher.operators();
    let functions = names(operators.iter());
    let methods =
        names(operators.iter().filter(|operator| operator.find_schema().is_some_and(|it| it.is_method())));
    let in_package = |namespace: &str, name: &str| {
        sections(PACKAGE).any(|(own, mut names)| own == namespace && names.any(|known| known == name))
    };
    let is_operator = |namespace: &str, name: &str| match (namespace, prefix(namespace)) {
        ("torch.Tensor", _) => methods.contains(name),
        (_, Some(prefix)) => functions.contains(format!("{prefix}{name}").as_str()),
        (_, None) => false,
    };
    let namespace = |(name, names): (&'static str, std::str::SplitWhitespace<'static>)| {
        let (here, missing) = names.partition(|one| is_operator(name, one) || in_package(name, one));
        Namespace { name, here, missing }
    };
    sections(TORCH).map(namespace).collect()
}

/// What the names of operators begin with that are the functions of a namespace; nothing where they are none.
fn prefix(namespace: &str) -> Option<&'static str> {
    let known =
        [("torch", ""), ("torch.linalg", "linalg_"), ("torch.fft", "fft_"), ("torch.special", "special_")];
    known.into_iter().find_map(|(name, prefix)| (name == namespace).then_some(prefix))
}

/// The names of operators of `aten`, without overloads.
fn names<'o>(operators: impl Iterator<Item = &'o OperatorHandle>) -> BTreeSet<&'o str> {
    operators
        .map(OperatorHandle::name)
        .filter(|name| name.namespace() == Some("aten"))
        .map(|name| name.base())
        .collect()
}

/// The sections of a record: `[namespace]`, and names separated by white space, after a comment in the first line.
fn sections(
    record: &'static str,
) -> impl Iterator<Item = (&'static str, std::str::SplitWhitespace<'static>)> {
    record.split("\n[").skip(1).filter_map(|section| {
        let (name, names) = section.split_once(']')?;
        Some((name, names.split_whitespace()))
    })
}
