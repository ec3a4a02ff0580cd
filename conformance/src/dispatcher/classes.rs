//! Sorts messages of both sides by what they are about.
//!
//! Messages of opgrid have their own words, so that only their essentials can be compared: the class, and the names
//! that stand in them.

use std::collections::BTreeSet;

use super::faults::ELSEWHERE;
use super::generate::OPERATORS;

/// One sort of errors: a phrase of torch's message, and one of ours.
struct Class {
    name: &'static str,
    torch: &'static str,
    ours: &'static str,
}

const fn class(name: &'static str, torch: &'static str, ours: &'static str) -> Class {
    Class { name, torch, ours }
}

/// Two libraries for one namespace.
pub(crate) const SECOND_LIBRARY: &str = "second library of a namespace";

/// Kernels of one operator that take or return other types.
pub(crate) const TWO_TYPES: &str = "kernels of two types";

/// A kernel and a schema that take or return other types.
pub(crate) const ANOTHER_TYPE: &str = "kernel of another type than the schema";

/// A schema with more arguments than there are bits for them.
pub(crate) const TOO_MANY_ARGUMENTS: &str = "too many arguments";

/// A text that is no key's name.
pub(crate) const UNKNOWN_KEY: &str = "unknown key";

/// The classes; the first one that fits counts.
const CLASSES: &[Class] = &[
    class(SECOND_LIBRARY, "Only a single TORCH_LIBRARY", "only a single library can define"),
    class("library of namespace _", "with the wildcard namespace _", "with the wildcard namespace _"),
    class(
        "fallback in the wrong block",
        "fallback(...): Cannot define an operator inside of a",
        "fallback(...): cannot define a fallback inside of a",
    ),
    class(
        "definition among implementations",
        "Cannot define an operator inside of a TORCH_LIBRARY_IMPL",
        "cannot define an operator inside of an implementations block",
    ),
    class(
        "schema of another namespace",
        "in schema string does not match namespace",
        "in schema string does not match namespace",
    ),
    class(
        "name without a schema",
        "Tried to parse a function schema but only the operator name was given",
        "tried to parse a function schema but only the operator name was given",
    ),
    class("schema cannot be inferred", "we couldn't infer schema either", "we couldn't infer schema either"),
    class(
        "defined twice",
        "with the same name and overload name multiple times",
        "with the same name and overload name multiple times",
    ),
    class(TOO_MANY_ARGUMENTS, "but this PyTorch build only supports 64", "arguments but at most 64"),
    class("reserved overload name", "is not a legal overload name", "is not a legal overload name"),
    class(
        "schema in the place of a name",
        "Tried to parse an operator name but function schema was given",
        "tried to parse an operator name but function schema was given",
    ),
    class(
        "kernel of another namespace",
        "in operator name does not match namespace",
        "in operator name does not match namespace",
    ),
    class("kernel of another key", "is inconsistent with the", "is inconsistent with the"),
    class(TWO_TYPES, "Mismatch in kernel C++ signatures", "mismatch in kernel signatures"),
    class(
        ANOTHER_TYPE,
        "Inferred operator schema for a C++ kernel function doesn't match",
        "inferred operator schema for a kernel function doesn't match",
    ),
    class(
        "fallback of a namespace",
        "Fallback functions which apply to only a single namespace",
        "fallback functions which apply to only a single namespace",
    ),
    class("fallback without a key", "dispatch_key.has_value()", "a fallback needs a dispatch key"),
    class(
        "second fallback",
        "Tried to register multiple backend fallbacks",
        "tried to register multiple backend fallbacks",
    ),
    class("kernel that would never run", "only opgrid refuses this", "would never run, because"),
    class(
        "two kernels for a key in one call",
        "Tried to register multiple kernels with same dispatch key",
        "tried to register multiple kernels with same dispatch key",
    ),
    class(
        "two kernels for every key in one call",
        "Tried to register multiple catch-all kernels",
        "tried to register multiple catch-all kernels",
    ),
    class(
        "two schemas in one call",
        "You can only specify the schema once",
        "you can only specify the schema once",
    ),
    class(
        "nothing to infer a schema from",
        "because there is no kernel specified",
        "because there is no kernel specified",
    ),
    class(
        "kernel without a type to infer from",
        "Cannot infer operator schema for this kind of kernel",
        "cannot infer operator schema for this kind of kernel",
    ),
    class(
        "neither schema nor name",
        "without specifying a schema or operator name",
        "without specifying a schema or operator name",
    ),
    class("call without tensors", "There were no tensor arguments", "there were no tensor arguments"),
    class("call without a kernel", "Could not run '", "could not run '"),
    class(
        "ambiguous kernel",
        "This makes the backend kernel unreachable",
        "This makes the backend kernel unreachable",
    ),
    class("fallthrough reached", "fallthrough_kernel was executed", "fallthrough_kernel was executed"),
    class(UNKNOWN_KEY, "could not parse dispatch key", "could not parse dispatch key"),
];

/// The class of torch's message.
pub fn class_of_torch(message: &str) -> Option<&'static str> {
    CLASSES.iter().find(|class| message.contains(class.torch)).map(|class| class.name)
}

/// The class of our message.
pub fn class_of_ours(message: &str) -> Option<&'static str> {
    CLASSES.iter().find(|class| message.contains(class.ours)).map(|class| class.name)
}

/// The names of a program's own things in a message: operators without namespaces, kernels and blocks.
///
/// What follows the message itself is left out: which block the error comes from is known, and dumps are compared
/// on their own.
pub fn names_in(message: &str) -> BTreeSet<&str> {
    let ends = ["(Error occurred", "(error occurred", "anonical state", "\n\n"];
    let end = ends.iter().filter_map(|end| message.find(end)).min().unwrap_or(message.len());
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_:.".contains(c);
    let words = message[..end].split(|c| !is_name(c)).map(|word| word.trim_matches(['.', ':']));
    words.map(|word| word.rsplit("::").next().unwrap_or(word)).filter(|word| is_own(word)).collect()
}

fn is_own(word: &str) -> bool {
    let numbered = |start: &str| {
        word.strip_prefix(start).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    let base = word.split('.').next().unwrap_or(word);
    numbered("kernel") || numbered("block") || OPERATORS.contains(&base) || base == ELSEWHERE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_both_sides_have_one_class() {
        let torch = "Tried to register multiple backend fallbacks for the same dispatch key CPU; previous \
                     registration kernel4, new registration registered at block7:71";
        let ours = "tried to register multiple backend fallbacks for the same dispatch key CPU; previous registration \
                    kernel4, new registration registered at block7:71; give the new one a name";
        assert_eq!(class_of_torch(torch), Some("second fallback"));
        assert_eq!(class_of_ours(ours), class_of_torch(torch));
        assert_eq!(names_in(torch), names_in(ours));
        assert_eq!(names_in(torch).into_iter().collect::<Vec<_>>(), ["block7:71", "kernel4"]);
        assert_eq!(class_of_torch("something else"), None);
    }

    #[test]
    fn names_of_classes_are_different() {
        let names: BTreeSet<_> = CLASSES.iter().map(|class| class.name).collect();
        assert_eq!(names.len(), CLASSES.len());
    }
}
