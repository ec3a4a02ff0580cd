//! Programs: what both dispatchers are asked to do, step by step.
//!
//! A program is data. It is written as commands for the driver ([`Step::command`]), run on our dispatcher by
//! [`super::ours`], and printed for people.

use std::fmt::{self, Write};

use opgrid_core::{DispatchKey, DispatchKeySet};
use opgrid_schema::AliasAnalysis;

/// A sequence of steps that depends on nothing but its seed.
#[derive(Debug)]
pub struct Program {
    /// The seed.
    pub seed: u64,
    /// What is done, in order.
    pub steps: Vec<Step>,
    /// What the program has, by names that are counted over all programs.
    pub features: Vec<&'static str>,
}

/// An operator's name: qualified, and the overload.
pub type Name = (String, String);

/// One thing to do, with one answer.
#[derive(Clone, Debug)]
pub enum Step {
    /// A library with its definitions, kernels and fallbacks.
    Block(Block),
    /// A legacy registration.
    Legacy(Legacy),
    /// The end of the block or legacy registration of that number.
    Drop(usize),
    /// The end of everything that is still registered.
    Clear,
    /// Everything that can be seen of an operator.
    Look(Name),
    /// A call.
    Call(Call),
    /// The algebra of two sets and a key.
    Set(DispatchKeySet, DispatchKeySet, DispatchKey),
    /// What is known of a key.
    Key(DispatchKey),
    /// The key of that name.
    KeyName(String),
    /// A schema to be read and printed.
    Parse(String),
}

/// The kinds of libraries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The one that claims a namespace.
    Library,
    /// One that adds to a namespace.
    Fragment,
    /// One that only implements.
    Implementations,
}

/// One library.
#[derive(Clone, Debug)]
pub struct Block {
    /// The number by which it is dropped.
    pub number: usize,
    /// Its kind.
    pub kind: Kind,
    /// Its namespace, or `_`.
    pub namespace: String,
    /// Its key.
    pub key: Option<DispatchKey>,
    /// Whether it says where it stands; if not, its place is not compared.
    pub is_placed: bool,
    /// Whether it is dropped at once: for what torch takes and opgrid refuses.
    pub is_transient: bool,
    /// What it registers, in order.
    pub items: Vec<Item>,
}

impl Block {
    /// The file that torch is told; [`super::compare`] forgets places in files of this ending.
    pub fn file(&self) -> String {
        if self.is_placed { format!("block{}", self.number) } else { "block.cpp".to_owned() }
    }

    /// The line that torch is told.
    pub fn line(&self) -> usize {
        self.number * 10 + 1
    }

    /// What dumps say of definitions and kernels without a text of their own.
    pub fn debug(&self) -> String {
        format!("registered at {}:{}", self.file(), self.line())
    }
}

/// One registration of a block.
#[derive(Clone, Debug)]
pub struct Item {
    /// What is registered.
    pub what: What,
    /// The schema or name.
    pub text: String,
    /// The kernel.
    pub kernel: Option<KernelSpec>,
    /// What is said about aliasing.
    pub alias: Option<AliasAnalysis>,
}

/// The kinds of registrations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A definition.
    Define,
    /// A kernel.
    Implement,
    /// A fallback.
    Fallback,
}

/// A kernel to be made.
#[derive(Clone, Debug)]
pub struct KernelSpec {
    /// What it is made of.
    pub sort: Sort,
    /// The number that it notes when it runs.
    pub number: usize,
    /// Its own key; [`DispatchKey::CatchAll`] is the same as none.
    pub key: Option<DispatchKey>,
    /// Whether its debug text is its number; if not, it is the place of the block.
    pub is_described: bool,
    /// The operator that it calls when it runs.
    pub callee: Option<Name>,
}

impl KernelSpec {
    /// The debug text, if it has one.
    pub fn debug(&self) -> Option<String> {
        self.is_described.then(|| format!("kernel{}", self.number))
    }
}

/// What a kernel is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// A function of that number in [`super::kernels::SIGNATURES`].
    Typed(usize),
    /// A function of values.
    Boxed,
    /// A fallthrough.
    Fallthrough,
}

/// A registration with schema and kernels in one call.
#[derive(Clone, Debug)]
pub struct Legacy {
    /// The number by which it is dropped.
    pub number: usize,
    /// The schema or name given first.
    pub text: Option<String>,
    /// The schema given among the options.
    pub schema: Option<String>,
    /// What is said about aliasing.
    pub alias: Option<AliasAnalysis>,
    /// The kernels, with their keys.
    pub kernels: Vec<KernelSpec>,
}

/// A call under guards.
#[derive(Clone, Debug)]
pub struct Call {
    /// The operator.
    pub name: Name,
    /// Whether it is a plain call; if not, the keys of the first tensor are called as they are.
    pub is_plain: bool,
    /// The tensors' keys, in turn; `None` is no tensor where there need not be one.
    pub tensors: Vec<Option<DispatchKeySet>>,
    /// The guards, outermost first.
    pub guards: Vec<Guard>,
}

/// A change of the thread's keys for a call.
#[derive(Clone, Copy, Debug)]
pub enum Guard {
    /// Includes keys.
    Include(DispatchKeySet),
    /// Excludes keys.
    Exclude(DispatchKeySet),
    /// Sets both sets.
    Force(DispatchKeySet, DispatchKeySet),
}

/// Puts the fields of a command together.
struct Command(String);

impl Command {
    fn new(name: &str) -> Self {
        Self(name.to_owned())
    }

    fn field(mut self, field: impl fmt::Display) -> Self {
        let _ = write!(self.0, "\t{}", super::wire::escaped(&field.to_string()));
        self
    }

    fn optional(self, field: Option<impl fmt::Display>) -> Self {
        match field {
            Some(field) => self.field(field),
            None => self.field('-'),
        }
    }

    fn key(self, key: Option<DispatchKey>) -> Self {
        self.optional(key.map(|key| key.torch_value().expect("programs name torch's keys")))
    }

    fn keys(self, keys: DispatchKeySet) -> Self {
        self.field(format_args!("{:x}", keys.to_torch_bits()))
    }

    fn name(self, name: &Name) -> Self {
        self.field(&name.0).field(&name.1)
    }

    fn callee(self, callee: Option<&Name>) -> Self {
        match callee {
            Some(name) => self.name(name),
            None => self.field('-').field(""),
        }
    }

    fn alias(self, alias: Option<AliasAnalysis>) -> Self {
        self.optional(alias.map(|kind| kind as usize))
    }

    fn sort(self, sort: Sort) -> Self {
        match sort {
            Sort::Typed(signature) => self.field(signature),
            Sort::Boxed => self.field("boxed"),
            Sort::Fallthrough => self.field("fallthrough"),
        }
    }
}

impl Step {
    /// The step as a command for the driver, without the end of the line.
    pub fn command(&self) -> String {
        match self {
            Self::Block(block) => block.command(),
            Self::Legacy(legacy) => legacy.command(),
            Self::Drop(number) => Command::new("drop").field(number).0,
            Self::Clear => Command::new("clear").0,
            Self::Look(name) => Command::new("look").name(name).0,
            Self::Call(call) => call.command(),
            Self::Set(a, b, key) => Command::new("set").keys(*a).keys(*b).key(Some(*key)).0,
            Self::Key(key) => Command::new("key").key(Some(*key)).0,
            Self::KeyName(name) => Command::new("keyname").field(name).0,
            Self::Parse(text) => Command::new("parse").field(text).0,
        }
    }
}

impl Block {
    fn command(&self) -> String {
        let kind = match self.kind {
            Kind::Library => "D",
            Kind::Fragment => "F",
            Kind::Implementations => "I",
        };
        let mut command = Command::new("block").field(self.number).field(kind).field(&self.namespace);
        command = command.key(self.key).field(self.file()).field(self.line());
        command = command.field(usize::from(self.is_transient)).field(self.items.len());
        for item in &self.items {
            let what = match item.what {
                What::Define => "def",
                What::Implement => "impl",
                What::Fallback => "fallback",
            };
            command = command.field(what).field(&item.text);
            command = match &item.kernel {
                Some(kernel) => {
                    let command = command.sort(kernel.sort).field(kernel.number).key(kernel.key);
                    command.optional(kernel.debug()).callee(kernel.callee.as_ref())
                }
                None => command.field('-').field(0).field('-').field('-').callee(None),
            };
            command = command.alias(item.alias);
        }
        command.0
    }
}

impl Legacy {
    fn command(&self) -> String {
        let mut command = Command::new("legacy").field(self.number).optional(self.text.as_ref());
        command = command.optional(self.schema.as_ref()).alias(self.alias).field(self.kernels.len());
        for kernel in &self.kernels {
            command = command.sort(kernel.sort).field(kernel.number).key(kernel.key);
            command = command.callee(kernel.callee.as_ref());
        }
        command.0
    }
}

impl Call {
    fn command(&self) -> String {
        let entry = if self.is_plain { "call" } else { "redispatch" };
        let mut command = Command::new("call").name(&self.name).field(entry).field(self.tensors.len());
        for keys in &self.tensors {
            command = match keys {
                Some(keys) => command.keys(*keys),
                None => command.field('n'),
            };
        }
        command = command.field(self.guards.len());
        for guard in &self.guards {
            command = match guard {
                Guard::Include(keys) => command.field('i').keys(*keys),
                Guard::Exclude(keys) => command.field('e').keys(*keys),
                Guard::Force(included, excluded) => command.field('f').keys(*included).keys(*excluded),
            };
        }
        command.0
    }
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.what {
            What::Define => "define",
            What::Implement => "implement",
            What::Fallback => "fallback",
        };
        write!(f, "{what} {}", self.text)?;
        if let Some(kernel) = &self.kernel {
            write!(f, " {kernel}")?;
        }
        if let Some(alias) = self.alias {
            write!(f, " {alias}")?;
        }
        Ok(())
    }
}

impl fmt::Display for KernelSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.sort {
            Sort::Typed(signature) => write!(f, "[{}", super::kernels::SIGNATURES[signature].text())?,
            Sort::Boxed => f.write_str("[boxed")?,
            Sort::Fallthrough => f.write_str("[fallthrough")?,
        }
        write!(f, " {}{}", self.number, if self.is_described { "" } else { " by place" })?;
        self.key.map_or(Ok(()), |key| write!(f, " at {key}"))?;
        self.callee.as_ref().map_or(Ok(()), |(name, overload)| write!(f, ", calls {name} {overload:?}"))?;
        f.write_str("]")
    }
}

impl fmt::Display for Step {
    /// Writes the step for people, on one line or several.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Block(block) => {
                write!(f, "block {} {:?} {}", block.number, block.kind, block.namespace)?;
                block.key.map_or(Ok(()), |key| write!(f, " {key}"))?;
                f.write_str(if block.is_transient { " (dropped at once)" } else { "" })?;
                block.items.iter().try_for_each(|item| write!(f, "\n        {item}"))
            }
            Self::Legacy(legacy) => {
                write!(f, "legacy {} {:?}", legacy.number, legacy.text.as_deref().unwrap_or_default())?;
                legacy.schema.as_ref().map_or(Ok(()), |schema| write!(f, " schema {schema:?}"))?;
                legacy.alias.map_or(Ok(()), |alias| write!(f, " {alias}"))?;
                legacy.kernels.iter().try_for_each(|kernel| write!(f, "\n        {kernel}"))
            }
            Self::Drop(number) => write!(f, "drop {number}"),
            Self::Clear => f.write_str("drop what is left"),
            Self::Look((name, overload)) => write!(f, "look at {name} {overload:?}"),
            Self::Call(call) => {
                let entry = if call.is_plain { "call" } else { "redispatch" };
                write!(f, "{entry} {} {:?} with {:?}", call.name.0, call.name.1, call.tensors)?;
                call.guards.iter().try_for_each(|guard| write!(f, "\n        under {guard:?}"))
            }
            Self::Set(a, b, key) => write!(f, "sets {a:?} {b:?} {key}"),
            Self::Key(key) => write!(f, "key {key}"),
            Self::KeyName(name) => write!(f, "key named {name:?}"),
            Self::Parse(text) => write!(f, "parse {text:?}"),
        }
    }
}
