//! What both sides run: memory, tensors on it, and calls of operators.

use std::borrow::Cow;
use std::fmt;

use opgrid_core::{Complex64, DType, Layout, MemoryFormat};
use serde_json::{Value as Json, json};

use super::hex;

/// A piece of memory that holds elements of one dtype.
#[derive(Clone, Debug)]
pub struct Block {
    /// The dtype of its elements and of every tensor on it.
    pub dtype: DType,
    /// Its contents.
    pub bytes: Vec<u8>,
}

/// A view of a block as a tensor; strides and offset count elements.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// The number of the block.
    pub block: usize,
    /// Sizes of dimensions.
    pub sizes: Vec<i64>,
    /// Strides of dimensions.
    pub strides: Vec<i64>,
    /// Where the first element lies.
    pub offset: i64,
}

/// An argument of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Arg {
    /// An optional that is absent.
    None,
    /// The tensor of that number: those of the case, then the results of its calls.
    Tensor(usize),
    /// A list of tensors with gaps.
    Tensors(Vec<Option<usize>>),
    /// An integer; where a tensor is asked for, a number in its place. The same for the next three.
    Int(i64),
    /// A float.
    Float(f64),
    /// A complex number.
    Complex(Complex64),
    /// A truth value.
    Bool(bool),
    /// A text.
    Str(Cow<'static, str>),
    /// A dtype.
    DType(DType),
    /// A memory format.
    Format(MemoryFormat),
    /// A layout.
    Layout(Layout),
    /// A device: the one that the case runs on.
    Device,
    /// A list of integers.
    Ints(Vec<i64>),
    /// A list of floats.
    Floats(Vec<f64>),
    /// A list of truth values.
    Bools(Vec<bool>),
}

/// A call of an operator.
#[derive(Clone, Debug)]
pub struct Call {
    /// The overload, as in `aten::add.Tensor`.
    pub operator: String,
    /// The arguments by position.
    pub positional: Vec<Arg>,
    /// The arguments by name.
    pub keyword: Vec<(String, Arg)>,
}

/// Calls on tensors.
#[derive(Clone, Debug)]
pub struct Case {
    /// What it was made of.
    pub seed: u64,
    /// The default dtype.
    pub default: DType,
    /// The seed of random numbers.
    pub stream: u64,
    /// The memory.
    pub blocks: Vec<Block>,
    /// The tensors.
    pub tensors: Vec<View>,
    /// The calls; the first tensor among the results of each is a tensor more, and a call without one repeats the last.
    pub calls: Vec<Call>,
}

impl Block {
    /// Dtype and contents, as the other side reads them.
    pub fn json(&self) -> Json {
        json!([self.dtype.name(), hex::digits(&self.bytes)])
    }
}

impl View {
    /// Block, sizes, strides and offset, as the other side reads them.
    pub fn json(&self) -> Json {
        json!([self.block, self.sizes, self.strides, self.offset])
    }
}

impl Arg {
    fn json(&self) -> Json {
        match self {
            Self::None => Json::Null,
            Self::Tensor(at) => json!(["tensor", at]),
            Self::Tensors(list) => json!(["tensors", list]),
            Self::Int(value) => json!(["int", value]),
            Self::Float(value) => json!(["float", hex::double(*value)]),
            Self::Complex(value) => json!(["complex", [hex::double(value.re), hex::double(value.im)]]),
            Self::Bool(value) => json!(["bool", value]),
            Self::Str(text) => json!(["str", text]),
            Self::DType(dtype) => json!(["dtype", dtype.name()]),
            Self::Format(format) => json!(["format", format_name(*format)]),
            Self::Layout(layout) => json!(["layout", layout.name()]),
            Self::Device => json!(["device", "cpu"]),
            Self::Ints(list) => json!(["ints", list]),
            Self::Floats(list) => {
                json!(["floats", list.iter().copied().map(hex::double).collect::<Vec<_>>()])
            }
            Self::Bools(list) => json!(["bools", list]),
        }
    }
}

/// The name under which Python knows a memory format.
fn format_name(format: MemoryFormat) -> &'static str {
    match format {
        MemoryFormat::Contiguous => "contiguous_format",
        MemoryFormat::Preserve => "preserve_format",
        MemoryFormat::ChannelsLast => "channels_last",
        MemoryFormat::ChannelsLast3d => "channels_last_3d",
    }
}

impl Call {
    /// All arguments.
    pub fn args(&self) -> impl Iterator<Item = &Arg> {
        self.positional.iter().chain(self.keyword.iter().map(|(_, arg)| arg))
    }

    /// The numbers of the tensors among the arguments.
    pub fn tensors(&self) -> Vec<usize> {
        let of = |arg: &Arg| match arg {
            Arg::Tensor(at) => vec![*at],
            Arg::Tensors(list) => list.iter().flatten().copied().collect(),
            _ => Vec::new(),
        };
        self.args().flat_map(of).collect()
    }

    /// The argument of that name, where it stands by its name.
    pub fn named(&self, name: &str) -> Option<&Arg> {
        self.keyword.iter().find(|(known, _)| known == name).map(|(_, arg)| arg)
    }
}

pub use opgrid_samples::differences::family;

impl Case {
    /// The line that the other side reads.
    pub fn line(&self) -> String {
        let call = |call: &Call| {
            let positional: Vec<Json> = call.positional.iter().map(Arg::json).collect();
            let keyword: serde_json::Map<String, Json> =
                call.keyword.iter().map(|(name, arg)| (name.clone(), arg.json())).collect();
            json!([call.operator, positional, keyword])
        };
        let case = json!({
            "default": self.default.name(),
            "stream": self.stream,
            "blocks": self.blocks.iter().map(Block::json).collect::<Vec<_>>(),
            "tensors": self.tensors.iter().map(View::json).collect::<Vec<_>>(),
            "calls": self.calls.iter().map(call).collect::<Vec<_>>(),
        });
        case.to_string()
    }

    /// The dtype of a tensor that the case begins with.
    pub fn dtype(&self, tensor: usize) -> Option<DType> {
        self.tensors.get(tensor).map(|view| self.blocks[view.block].dtype)
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "default {}, stream {}", self.default, self.stream)?;
        for (at, view) in self.tensors.iter().enumerate() {
            let block = &self.blocks[view.block];
            write!(f, "\n  tensor {at}: {} {:?} strides {:?}", block.dtype, view.sizes, view.strides)?;
            write!(f, " offset {} of block {}", view.offset, view.block)?;
        }
        for (at, block) in self.blocks.iter().enumerate() {
            write!(f, "\n  block {at}: {}", hex::elements(block.dtype, &block.bytes))?;
        }
        for call in &self.calls {
            write!(f, "\n  {call}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let positional = self.positional.iter().map(|arg| format!("{arg:?}"));
        let keyword = self.keyword.iter().map(|(name, arg)| format!("{name}={arg:?}"));
        write!(f, "{}({})", self.operator, positional.chain(keyword).collect::<Vec<_>>().join(", "))
    }
}
