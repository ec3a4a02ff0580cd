//! The known name that someone probably meant, for the remedies in error messages.

use opgrid_schema::OperatorName;

use crate::error::{Error, ErrorKind};
use crate::registration::registry::Registry;

impl Registry {
    /// The error for a name that is not there, with what was probably meant.
    pub(crate) fn unknown(&self, name: &OperatorName) -> Error {
        let overloads = self.overloads(&name.name);
        let remedy = if overloads.is_empty() {
            self.meant(name).map_or_else(
                || self.why_nothing_is_near(name),
                |meant| format!("did you mean {}?", meant.join(" or ")),
            )
        } else {
            format!("its overloads are {}", overloads.join(", "))
        };
        let dot = if name.overload.is_empty() { "" } else { "." };
        let message = format!("could not find schema for {}{dot}{}: {remedy}", name.name, name.overload);
        Error::new(ErrorKind::Unknown, message)
    }

    /// The overloads of a name that has its namespace, in order.
    fn overloads(&self, name: &str) -> Vec<String> {
        let known = self.operators.names().filter(|known| known.name == name);
        let mut overloads: Vec<_> = known.map(ToString::to_string).collect();
        overloads.sort();
        overloads
    }

    /// The overloads that someone probably meant: of this name in another namespace, else of the name nearest to it.
    fn meant(&self, name: &OperatorName) -> Option<Vec<String>> {
        let local = |name: &str| name.rsplit("::").next().unwrap_or_default().to_owned();
        let mut names: Vec<_> = self.operators.names().map(|known| known.name.as_str()).collect();
        names.sort();
        names.dedup();
        let elsewhere = names.iter().copied().find(|known| local(known) == local(&name.name));
        let nearest = || {
            let spelled =
                |known: &&str| if name.namespace().is_some() { (*known).into() } else { local(known) };
            let near = nearest(&name.name, names.iter().map(spelled))?;
            names.iter().copied().find(|known| spelled(known) == near)
        };
        let overloads = self.overloads(elsewhere.or_else(nearest)?);
        let same = |known: &&String| match known.split_once('.') {
            None => name.overload.is_empty(),
            Some((_, overload)) => overload == name.overload,
        };
        match overloads.iter().find(same) {
            Some(same) => Some(vec![same.clone()]),
            None => Some(overloads),
        }
    }

    fn why_nothing_is_near(&self, name: &OperatorName) -> String {
        let namespace = name.namespace().unwrap_or_default();
        if namespace.is_empty() || self.operators.names().any(|known| known.namespace() == Some(namespace)) {
            return "list the operators to see what there is".into();
        }
        format!(
            "this dispatcher has no operators in namespace {namespace}; register their library, and keep its \
             registration, which takes them back when it is dropped"
        )
    }
}

/// The candidate that differs least from `text` in spelling, unless all of them differ in more than a third.
pub(crate) fn nearest(text: &str, candidates: impl Iterator<Item = String>) -> Option<String> {
    const LONGEST: usize = 64;
    if text.len() > LONGEST {
        return None;
    }
    let folded = text.to_lowercase();
    let near = |candidate: String| {
        let distance = edits(&folded, &candidate.to_lowercase());
        (distance * 3 <= candidate.len()).then_some((distance, candidate))
    };
    let best = candidates.filter_map(near).min_by_key(|(distance, _)| *distance);
    best.map(|(_, candidate)| candidate)
}

/// How many letters have to be inserted, removed or replaced to make one text from the other.
fn edits(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, letter) in from.chars().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, other) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *other);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        let names = || ["CPU", "AutogradCPU", "AutogradCUDA", "Tracer"].into_iter().map(String::from);
        assert_eq!(nearest("Cpu", names()).as_deref(), Some("CPU"));
        assert_eq!(nearest("AutogradCUD", names()).as_deref(), Some("AutogradCUDA"));
        assert_eq!(nearest("Tracr", names()).as_deref(), Some("Tracer"));
        assert_eq!(nearest("Banana", names()), None);
        assert_eq!(nearest("", names()), None);
        assert_eq!(nearest(&"CPU".repeat(100), names()), None);
    }

    #[test]
    fn edits_are_counted() {
        for (from, to, count) in
            [("", "", 0), ("", "abc", 3), ("abc", "", 3), ("abc", "abd", 1), ("ab", "ba", 2)]
        {
            assert_eq!(edits(from, to), count, "{from} {to}");
        }
    }
}
