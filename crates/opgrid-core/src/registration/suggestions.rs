//! The error for a name that is not registered, with the name that was probably meant.

use opgrid_schema::OperatorName;

use crate::error::{Error, ErrorKind};
use crate::registration::registry::Registry;
use crate::spelling::nearest;

/// What lists the operators, in code and on the command line.
const LISTS: &str = "`Dispatcher::operators` or `opgrid list`";

impl Registry {
    /// The error for a name that is not there, with what was probably meant.
    pub(crate) fn unknown(&self, name: &OperatorName) -> Error {
        let overloads = self.overloads(&name.name);
        let remedy = if overloads.is_empty() {
            self.meant(name).map_or_else(
                || self.why_nothing_is_near(name),
                |(base, overloads)| match overloads.as_slice() {
                    [only] => format!("did you mean {only}? if not, list the operators with {LISTS}"),
                    several => format!(
                        "did you mean {base}? its overloads are {}; if not, list the operators with {LISTS}",
                        several.join(", ")
                    ),
                },
            )
        } else {
            format!("its overloads are {}", overloads.join(", "))
        };
        let dot = if name.overload.is_empty() { "" } else { "." };
        let hint = name
            .namespace()
            .filter(|_| !self.demand.is_known())
            .and_then(|namespace| self.hint_of(namespace));
        let hint = hint.map_or(String::new(), |hint| format!("; {hint}"));
        let message =
            format!("could not find schema for {}{dot}{}: {remedy}{hint}", name.name, name.overload);
        Error::new(ErrorKind::Unknown, message)
    }

    /// The names of all defined operators in order, registered or waiting to be.
    pub(super) fn names(&self) -> Vec<OperatorName> {
        let defined = self.operators.iter().filter(|record| record.definition.is_some());
        self.with_waiting(defined.map(|record| record.handle.name().clone()))
    }

    /// The names of all operators in order, implemented ones and those that wait to be registered included.
    fn all_names(&self) -> Vec<OperatorName> {
        self.with_waiting(self.operators.names().cloned())
    }

    fn with_waiting(&self, known: impl Iterator<Item = OperatorName>) -> Vec<OperatorName> {
        let mut names: Vec<_> = known.collect();
        let before = names.len();
        names.extend(self.demand.waiting_names().map(|name| {
            let (base, overload) = name.split_once('.').unwrap_or((name, ""));
            OperatorName::new(base, overload)
        }));
        names.sort();
        if names.len() > before {
            names.dedup();
        }
        names
    }

    /// The overloads of a name that has its namespace: those that are called most often first, `out` forms last.
    fn overloads(&self, name: &str) -> Vec<String> {
        let mut known: Vec<_> = self.all_names().into_iter().filter(|known| known.name == name).collect();
        known.sort_by_cached_key(|known| {
            let overload = known.overload.as_str();
            (overload.ends_with("out"), !matches!(overload, "" | "Tensor"), known.to_string())
        });
        known.iter().map(ToString::to_string).collect()
    }

    /// The name that someone probably meant, and its overloads: this name in another namespace, else the name nearest to it.
    fn meant(&self, name: &OperatorName) -> Option<(String, Vec<String>)> {
        let local = |name: &str| name.rsplit("::").next().unwrap_or_default().to_owned();
        let all = self.all_names();
        let mut names: Vec<_> = all.iter().map(|known| known.name.as_str()).collect();
        names.sort();
        names.dedup();
        let elsewhere = names.iter().copied().find(|known| local(known) == local(&name.name));
        let nearest = || {
            let spelled =
                |known: &&str| if name.namespace().is_some() { (*known).into() } else { local(known) };
            let near = nearest(&name.name, names.iter().map(spelled))?;
            names.iter().copied().find(|known| spelled(known) == near)
        };
        let base = elsewhere.or_else(nearest)?;
        let overloads = self.overloads(base);
        let same = |known: &&String| match known.split_once('.') {
            None => name.overload.is_empty(),
            Some((_, overload)) => overload == name.overload,
        };
        match overloads.iter().find(same) {
            Some(same) => Some((base.to_owned(), vec![same.clone()])),
            None => Some((base.to_owned(), overloads)),
        }
    }

    fn why_nothing_is_near(&self, name: &OperatorName) -> String {
        let namespace = name.namespace().unwrap_or_default();
        if namespace.is_empty() || self.all_names().iter().any(|known| known.namespace() == Some(namespace)) {
            return format!("list the operators with {LISTS}");
        }
        format!(
            "this dispatcher has no operators in namespace {namespace}; register their library, and \
             keep its registration, which unregisters them when it is dropped"
        )
    }
}
