//! How arguments and results are nested: torch's pytrees, as far as they are tuples, lists, dicts and named tuples.

use std::fmt;

use opgrid_core::Result;
use serde_json::Value as Json;

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
    /// A dict with texts as keys, in its order.
    Dict(Vec<(String, Tree)>),
    /// A named tuple or a dataclass: the name of its type, and its fields.
    Named(String, Vec<(String, Tree)>),
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
            Self::Dict(entries) | Self::Named(_, entries) => {
                entries.iter().map(|(_, tree)| tree.leaves()).sum()
            }
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
    let context = || -> Result<Json> {
        let text = spec["context"].as_str().ok_or_else(|| malformed("no text `context`"))?;
        serde_json::from_str(text).map_err(|_| malformed("`context` is no JSON"))
    };
    let named = |names: Vec<String>, children: Vec<Tree>| {
        if names.len() == children.len() {
            Ok(names.into_iter().zip(children).collect())
        } else {
            Err(malformed(&format!("{} names for {} values", names.len(), children.len())))
        }
    };
    match kind {
        "builtins.tuple" => Ok(Tree::Tuple(children)),
        "builtins.list" | "collections.deque" => Ok(Tree::List(children)),
        "builtins.NoneType" => Ok(Tree::None),
        "builtins.dict" | "collections.OrderedDict" | "collections.defaultdict" => {
            named(keys(&context()?).ok_or_else(|| malformed("keys that are no texts"))?, children)
                .map(Tree::Dict)
        }
        "collections.namedtuple" => {
            let context = context()?;
            let name = context.as_str().unwrap_or("namedtuple");
            let numbered = || (0..children.len()).map(|index| index.to_string()).collect();
            let names = fields(name).unwrap_or_else(numbered);
            named(names, children).map(|entries| Tree::Named(name.to_owned(), entries))
        }
        // Dataclasses and the outputs of transformers, which say the names of their fields; else they are numbered.
        kind => {
            let names = context().ok().as_ref().and_then(keys).filter(|names| names.len() == children.len());
            let names = names.unwrap_or_else(|| (0..children.len()).map(|index| index.to_string()).collect());
            named(names, children).map(|entries| Tree::Named(kind.to_owned(), entries))
        }
    }
}

/// The keys in the context of a dict; those of a default dict stand behind its factory.
fn keys(context: &Json) -> Option<Vec<String>> {
    let items = context.as_array()?;
    let items = items.iter().rev().find_map(Json::as_array).unwrap_or(items);
    items.iter().map(|key| key.as_str().map(str::to_owned)).collect()
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
            Self::Named(name, all) => {
                write!(f, "named {} {{", Quoted(name))?;
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
