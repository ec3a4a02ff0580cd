//! How arguments and results are nested: torch's pytrees.

use std::fmt;

use opgrid_core::Result;
use serde_json::{Value as Json, json};

use crate::error;

/// How values are nested.
///
/// # Examples
///
/// ```
/// use opgrid_graph::Tree;
///
/// let pair = Tree::Tuple(vec![Tree::Leaf, Tree::Dict(vec![("mask".to_owned(), Tree::Leaf)])]);
/// assert_eq!(pair.to_string(), r#"(*, {"mask": *})"#);
/// assert_eq!(pair.leaves(), 2);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Tree {
    /// One value.
    Leaf,
    /// Nothing, where a value might have been.
    None,
    /// A tuple.
    Tuple(Vec<Tree>),
    /// A list.
    List(Vec<Tree>),
    /// A dict with strings as keys, in its order.
    Dict(Vec<(String, Tree)>),
    /// Values of a type that is registered with torch, such as the outputs of transformers: the type's name, and its keys.
    Named(String, Vec<(String, Tree)>),
    /// A named tuple: the name under which its type is registered with torch, and its fields.
    NamedTuple(String, Vec<(String, Tree)>),
    /// A dataclass: the name under which it is registered with torch, and its fields. Those that are `None` stand last.
    Dataclass(String, Vec<(String, Tree)>),
}

impl Default for Tree {
    fn default() -> Self {
        Self::Tuple(Vec::new())
    }
}

impl Tree {
    /// The number of values.
    pub fn leaves(&self) -> usize {
        match self {
            Self::Leaf => 1,
            Self::None => 0,
            Self::Tuple(items) | Self::List(items) => items.iter().map(Self::leaves).sum(),
            Self::Dict(entries)
            | Self::Named(_, entries)
            | Self::NamedTuple(_, entries)
            | Self::Dataclass(_, entries) => entries.iter().map(|(_, tree)| tree.leaves()).sum(),
        }
    }

    /// Reads what torch's `treespec_dumps` writes. `fields` knows the fields of named tuples by the names of their types.
    ///
    /// # Errors
    ///
    /// Another text or version of it; kinds of nodes other than those of [`Tree`], by name.
    pub(crate) fn from_treespec(text: &str, fields: impl Fn(&str) -> Option<Vec<String>>) -> Result<Self> {
        let spec: Json = serde_json::from_str(text).map_err(|cause| {
            error::file(format!("tree of values: {cause}, expected JSON")).caused_by(cause)
        })?;
        match &spec[0] {
            Json::Number(version) if version.as_i64() == Some(1) => read(&spec[1], &fields),
            version => {
                Err(error::unsupported(format!("tree of values: found version {version}, expected 1")))
            }
        }
    }
}

fn read(spec: &Json, fields: &impl Fn(&str) -> Option<Vec<String>>) -> Result<Tree> {
    let malformed =
        |what: &str| error::file(format!("tree of values: {what}, expected what treespec_dumps writes"));
    let children = spec["children_spec"].as_array().ok_or_else(|| malformed("no list `children_spec`"))?;
    let children = children.iter().map(|child| read(child, fields)).collect::<Result<Vec<_>>>()?;
    let Some(kind) = spec["type"].as_str() else {
        return if children.is_empty() { Ok(Tree::Leaf) } else { Err(malformed("a leaf with children")) };
    };
    let numbered = || (0..children.len()).map(|index| index.to_string()).collect::<Vec<_>>();
    let pair = |names: Vec<String>| {
        if names.len() == children.len() {
            Ok(names.into_iter().zip(children.clone()).collect::<Vec<_>>())
        } else {
            Err(malformed(&format!("{} names for {} values", names.len(), children.len())))
        }
    };
    let context = context(&spec["context"]);
    match kind {
        "builtins.tuple" => Ok(Tree::Tuple(children)),
        "builtins.list" => Ok(Tree::List(children)),
        "builtins.NoneType" => Ok(Tree::None),
        "builtins.dict" => {
            pair(texts(&context).ok_or_else(|| malformed("keys that are no texts"))?).map(Tree::Dict)
        }
        // What makes values that are missing is code, which no file tells.
        "collections.defaultdict" => {
            let keys = texts(&context["dict_context"]).or_else(|| texts(&context[1]));
            pair(keys.ok_or_else(|| malformed("keys that are no texts"))?).map(Tree::Dict)
        }
        "collections.namedtuple" => {
            let name = context.as_str().or_else(|| spec["context"].as_str()).unwrap_or("namedtuple");
            let entries = pair(fields(name).unwrap_or_else(numbered))?;
            Ok(Tree::NamedTuple(name.to_owned(), entries))
        }
        kind => {
            if let Some(given) = texts(&context[0]) {
                let mut entries = pair(given)?;
                let absent = texts(&context[1]).unwrap_or_default();
                entries.extend(absent.into_iter().map(|name| (name, Tree::None)));
                return Ok(Tree::Dataclass(kind.to_owned(), entries));
            }
            // Types that say the names of their fields; else they are numbered.
            let names = texts(&context).filter(|names| names.len() == children.len());
            Ok(Tree::Named(kind.to_owned(), pair(names.unwrap_or_else(numbered))?))
        }
    }
}

/// What the kind of a node has to say: JSON, in a text or bare.
fn context(context: &Json) -> Json {
    match context {
        Json::String(text) => serde_json::from_str(text).unwrap_or_else(|_| context.clone()),
        context => context.clone(),
    }
}

/// A list of strings.
fn texts(json: &Json) -> Option<Vec<String>> {
    json.as_array()?.iter().map(|text| text.as_str().map(str::to_owned)).collect()
}

impl Tree {
    /// What torch's `treespec_loads` reads.
    pub(crate) fn to_treespec(&self) -> String {
        json!([1, write(self)]).to_string()
    }

    /// Shows the names of the named tuples in it, with those of their fields.
    pub(crate) fn visit_named_tuples(&self, look: &mut impl FnMut(&str, Vec<&str>)) {
        match self {
            Self::Leaf | Self::None => {}
            Self::Tuple(items) | Self::List(items) => {
                items.iter().for_each(|item| item.visit_named_tuples(look));
            }
            Self::Dict(entries)
            | Self::Named(_, entries)
            | Self::NamedTuple(_, entries)
            | Self::Dataclass(_, entries) => {
                if let Self::NamedTuple(name, _) = self {
                    look(name, entries.iter().map(|(name, _)| name.as_str()).collect());
                }
                entries.iter().for_each(|(_, item)| item.visit_named_tuples(look));
            }
        }
    }
}

/// The JSON of a node. Contexts are JSON within a text, apart from names of named tuples.
fn write(tree: &Tree) -> Json {
    let node = |kind: &str, context: &str, children: Vec<Json>| json!({"type": kind, "context": context, "children_spec": children});
    let all = |items: &[Tree]| items.iter().map(write).collect();
    let values = |entries: &[(String, Tree)]| entries.iter().map(|(_, tree)| write(tree)).collect();
    let names = |entries: &[(String, Tree)]| entries.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    match tree {
        Tree::Leaf => json!({"type": null, "context": null, "children_spec": []}),
        Tree::None => node("builtins.NoneType", "null", Vec::new()),
        Tree::Tuple(items) => node("builtins.tuple", "null", all(items)),
        Tree::List(items) => node("builtins.list", "null", all(items)),
        Tree::Dict(entries) => node("builtins.dict", &json!(names(entries)).to_string(), values(entries)),
        Tree::NamedTuple(name, entries) => node("collections.namedtuple", name, values(entries)),
        Tree::Dataclass(kind, entries) => {
            let is_absent = |entry: &&(String, Tree)| entry.1 == Tree::None;
            let (absent, given): (Vec<_>, Vec<_>) = entries.iter().partition(is_absent);
            let names =
                |some: &[&(String, Tree)]| some.iter().map(|entry| entry.0.clone()).collect::<Vec<_>>();
            let context = json!([names(&given), names(&absent)]).to_string();
            node(kind, &context, given.iter().map(|entry| write(&entry.1)).collect())
        }
        Tree::Named(kind, entries) => {
            // Types without keys have numbers for them; the keys of dicts may be such numbers, too.
            let is_numbered = entries.iter().enumerate().all(|(index, (name, _))| *name == index.to_string());
            let has_keys = !is_numbered || kind.ends_with("Dict");
            let keys = if has_keys { json!(names(entries)).to_string() } else { "null".to_owned() };
            node(kind, &keys, values(entries))
        }
    }
}

impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let items = |f: &mut fmt::Formatter<'_>, items: &[Self]| {
            for (index, item) in items.iter().enumerate() {
                write!(f, "{}{item}", if index > 0 { ", " } else { "" })?;
            }
            Ok(())
        };
        let entries = |f: &mut fmt::Formatter<'_>, entries: &[(String, Self)]| {
            for (index, (name, item)) in entries.iter().enumerate() {
                write!(f, "{}{}: {item}", if index > 0 { ", " } else { "" }, Quoted(name))?;
            }
            Ok(())
        };
        match self {
            Self::Leaf => f.write_str("*"),
            Self::None => f.write_str("None"),
            Self::Tuple(only) if only.len() == 1 => write!(f, "({},)", only[0]),
            Self::Tuple(all) => {
                f.write_str("(")?;
                items(f, all)?;
                f.write_str(")")
            }
            Self::List(all) => {
                f.write_str("[")?;
                items(f, all)?;
                f.write_str("]")
            }
            Self::Dict(all) => {
                f.write_str("{")?;
                entries(f, all)?;
                f.write_str("}")
            }
            Self::Named(name, all) | Self::NamedTuple(name, all) | Self::Dataclass(name, all) => {
                let word = match self {
                    Self::NamedTuple(..) => "namedtuple",
                    Self::Dataclass(..) => "dataclass",
                    _ => "named",
                };
                write!(f, "{word} {} {{", Quoted(name))?;
                entries(f, all)?;
                f.write_str("}")
            }
        }
    }
}

/// A text in quotes, as JSON has it.
pub(crate) struct Quoted<'t>(pub(crate) &'t str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Json::from(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `treespec_dumps` of torch 2.15 writes, and the text form.
    const DUMPED: &[(&str, &str)] = &[
        (r#"{"type": "builtins.NoneType", "context": "null", "children_spec": []}"#, "None"),
        (r#"{"type": "builtins.dict", "context": "[\"a\"]", "children_spec": [LEAF]}"#, r#"{"a": *}"#),
        (
            r#"{"type": "D", "context": "[[\"a\", \"b\"], []]", "children_spec": [LEAF, LEAF]}"#,
            r#"dataclass "D" {"a": *, "b": *}"#,
        ),
        (
            r#"{"type": "D", "context": "[[\"a\"], [\"b\"]]", "children_spec": [LEAF]}"#,
            r#"dataclass "D" {"a": *, "b": None}"#,
        ),
        (
            r#"{"type": "collections.namedtuple", "context": "P", "children_spec": [LEAF, LEAF]}"#,
            r#"namedtuple "P" {"x": *, "y": *}"#,
        ),
        (
            r#"{"type": "torch.return_types.topk", "context": "null", "children_spec": [LEAF, LEAF]}"#,
            r#"named "torch.return_types.topk" {"0": *, "1": *}"#,
        ),
        (
            r#"{"type": "collections.OrderedDict", "context": "[\"a\"]", "children_spec": [LEAF]}"#,
            r#"named "collections.OrderedDict" {"a": *}"#,
        ),
        (
            r#"{"type": "collections.OrderedDict", "context": "[\"0\", \"1\"]", "children_spec": [LEAF, LEAF]}"#,
            r#"named "collections.OrderedDict" {"0": *, "1": *}"#,
        ),
        (
            r#"{"type": "collections.deque", "context": "null", "children_spec": [LEAF]}"#,
            r#"named "collections.deque" {"0": *}"#,
        ),
        (
            r#"{"type": "m.Output", "context": "[\"last_hidden_state\"]", "children_spec": [LEAF]}"#,
            r#"named "m.Output" {"last_hidden_state": *}"#,
        ),
    ];

    fn fields(name: &str) -> Option<Vec<String>> {
        (name == "P").then(|| vec!["x".to_owned(), "y".to_owned()])
    }

    #[test]
    fn what_torch_writes_of_trees_is_read_and_written() {
        for (dumped, text) in DUMPED {
            let leaf = r#"{"type": null, "context": null, "children_spec": []}"#;
            let spec = format!("[1, {}]", dumped.replace("LEAF", leaf));
            let tree = Tree::from_treespec(&spec, fields).unwrap();
            assert_eq!(tree.to_string(), *text);
            assert_eq!(tree.to_treespec(), spec.replace(' ', ""), "{text}");
        }
    }

    #[test]
    fn default_dicts_are_dicts() {
        let spec = r#"[1, {"type": "collections.defaultdict", "context": {"default_factory_name": "list", "dict_context": ["a"]},
            "children_spec": [{"type": null, "context": null, "children_spec": []}]}]"#;
        assert_eq!(Tree::from_treespec(spec, fields).unwrap().to_string(), r#"{"a": *}"#);
    }
}
