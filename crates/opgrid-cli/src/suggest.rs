//! What somebody probably meant who wrote a name that is none.

use opgrid::{Dispatcher, Error, ErrorKind, OperatorHandle, Result};

use crate::literal::takes_tensors;

/// How many names are suggested at most.
const MOST: usize = 4;

/// The operator of a name.
///
/// # Errors
///
/// [`ErrorKind::Unknown`] with the operators that are called so in another spelling, such as `aten.add.Tensor` or
/// `torch.add`; those of the dispatcher.
pub(crate) fn operator(dispatcher: &Dispatcher, name: &str) -> Result<OperatorHandle> {
    let name = name.trim();
    if name.is_empty() {
        let message =
            "found an empty name, expected an operator such as aten::add.Tensor; `opgrid list` prints them";
        return Err(Error::new(ErrorKind::Unknown, message));
    }
    dispatcher.find(name).map_err(|error| {
        let meant = if name.contains("::") { Vec::new() } else { spelled_with_dots(dispatcher, name) };
        if meant.is_empty() {
            return error;
        }
        let more = if meant.len() > MOST { " or another of its overloads" } else { "" };
        let meant = meant[..meant.len().min(MOST)].join(" or ");
        let message = format!(
            "unknown operator `{name}`, expected namespace::name.overload; did you mean {meant}{more}?"
        );
        Error::new(ErrorKind::Unknown, message)
    })
}

/// The overloads that a name may mean: one where it is said, else all of the name, of which the namespace may be left away
/// where only one has it. Those with fewer tensors come first, so that a number is one where it can be.
///
/// # Errors
///
/// As [`operator`].
pub(crate) fn overloads(dispatcher: &Dispatcher, name: &str) -> Result<Vec<OperatorHandle>> {
    let name = name.trim();
    let mut found =
        if name.contains("::") { dispatcher.overloads(name) } else { in_one_namespace(dispatcher, name) };
    if found.is_empty() {
        return Ok(vec![operator(dispatcher, name)?]);
    }
    let tensors = |operator: &OperatorHandle| {
        let schema = operator.schema().ok()?;
        Some(schema.arguments.iter().filter(|it| takes_tensors(&it.real_type)).count())
    };
    found.sort_by_cached_key(|operator| tensors(operator));
    Ok(found)
}

/// The overloads of a name in the only namespace that has it.
fn in_one_namespace(dispatcher: &Dispatcher, name: &str) -> Vec<OperatorHandle> {
    let found = dispatcher.names().into_iter().filter(|it| it.base() == name);
    let mut names: Vec<_> = found.map(|it| it.name).collect();
    names.dedup();
    let [name] = names.as_slice() else { return Vec::new() };
    let mut overloads = dispatcher.overloads(name);
    overloads.sort_by(|a, b| a.name().cmp(b.name()));
    overloads
}

/// The operators of a name in which dots part namespace, name and overload, as Python writes them, or that ends with the
/// name of a function of torch.
fn spelled_with_dots(dispatcher: &Dispatcher, name: &str) -> Vec<String> {
    let parts: Vec<_> = name.split('.').collect();
    let (last, before) = match parts.as_slice() {
        [.., before, last] => (*last, *before),
        _ => return Vec::new(),
    };
    let mut operators = dispatcher.names();
    // The overloads that are called most often come first.
    operators.sort_by_cached_key(|it| {
        let overload = it.overload.as_str();
        (overload.ends_with("out"), !matches!(overload, "" | "Tensor"), it.to_string())
    });
    let names = |admit: &dyn Fn(&&opgrid::dispatch::schema::OperatorName) -> bool| {
        operators.iter().filter(admit).map(ToString::to_string).collect::<Vec<_>>()
    };
    // The default overload has no name here, and is called `default` in Python.
    let overload = if last == "default" { "" } else { last };
    let whole = names(&|it| it.base() == before && it.overload == overload);
    if !whole.is_empty() { whole } else { names(&|it| it.base() == last) }
}

/// Returns the names in `known` that are nearest to `text`, nearest first; empty if nothing is near.
pub(crate) fn nearest<'k>(text: &str, known: impl Iterator<Item = &'k str>) -> Vec<&'k str> {
    let text = text.to_lowercase();
    // That namespaces are the same does not make names near.
    let length = |name: &str| name.rsplit("::").next().unwrap_or(name).len();
    let mut near: Vec<_> = known
        .map(|name| (strsim::osa_distance(&text, &name.to_lowercase()), name))
        .filter(|(distance, name)| 3 * distance <= length(&text).max(length(name)))
        .collect();
    near.sort();
    near.dedup();
    near.into_iter().map(|(_, name)| name).take(MOST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_other_spellings_are_understood() {
        let dispatcher = opgrid::dispatcher().unwrap();
        let said = |name: &str| match operator(dispatcher, name) {
            Ok(operator) => operator.name().to_string(),
            Err(error) => error.to_string(),
        };
        assert_eq!(said("aten::neg"), "aten::neg");
        for (name, expected) in [
            ("aten.add.Tensor", "did you mean aten::add.Tensor?"),
            ("torch.ops.aten.add.Tensor", "did you mean aten::add.Tensor?"),
            ("aten.neg.default", "did you mean aten::neg?"),
            ("torch.add", "did you mean aten::add.Tensor or aten::add.Scalar or "),
            ("torch.nn.functional.relu", "did you mean aten::relu or aten::relu.out?"),
            ("", "found an empty name, expected an operator such as aten::add.Tensor"),
            ("torch.nothing_like_it", "torch.nothing_like_it"),
        ] {
            let said = said(name);
            assert!(said.contains(expected), "{name}: {said}");
        }
    }

    #[test]
    fn near_names_are_near() {
        let known = ["softmax", "softplus", "mm"];
        assert_eq!(nearest("sofmax", known.into_iter()), ["softmax"]);
        assert!(nearest("zzz", known.into_iter()).is_empty());
    }
}
