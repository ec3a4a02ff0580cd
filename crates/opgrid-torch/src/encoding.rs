//! Values as torch's C interface passes them: a word each.
//!
//! ```text
//! Tensor                   a handle
//! int, SymInt, float       the 64 bits of the number
//! bool, dtype, layout, …   the number in the lowest bytes
//! Device                   index in the lower half, kind in the upper
//! str                      a handle of a text
//! T?                       0, or the address of a word with the T
//! T[]                      a handle of a list of words
//! ```
//!
//! A word that is a handle or an address owns what it leads to. Whoever takes a word apart frees it, also when something
//! goes wrong half-way: [`Words`] frees those that nobody has taken.
#![allow(unsafe_code)]

use opgrid::dispatch::schema::Type;
use opgrid::dispatch::{Layout, List, TensorType, ValueRef, ValueView};
use opgrid::{Error, ErrorKind, MemoryFormat, Result, Tensor, Value};
use smallvec::SmallVec;

use crate::abi::{self, Torch, TorchTensor};
use crate::numbers::{device_number, device_of, dtype_of};
use crate::tensors::{Given, Inputs};

/// How a type of a schema is passed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    Tensor,
    Int,
    Float,
    Bool,
    Text,
    DType,
    Layout,
    MemoryFormat,
    Device,
    /// torch's generators are not ours: only an optional one, which is absent, can cross.
    Generator,
    Optional(Box<Kind>),
    /// A list, with the type of its elements.
    List(Box<Kind>, Type),
}

impl Kind {
    /// How values of this type are passed, if they can be.
    pub(crate) fn from_type(declared: &Type) -> Option<Self> {
        Some(match declared {
            Type::Tensor => Self::Tensor,
            Type::Int | Type::SymInt => Self::Int,
            Type::Float => Self::Float,
            Type::Bool => Self::Bool,
            Type::Str => Self::Text,
            Type::ScalarType => Self::DType,
            Type::Layout => Self::Layout,
            Type::MemoryFormat => Self::MemoryFormat,
            Type::Device => Self::Device,
            Type::Optional(inner) if **inner == Type::Generator => Self::Optional(Box::new(Self::Generator)),
            Type::Optional(inner) => Self::Optional(Box::new(Self::from_type(inner)?)),
            Type::List(element) => {
                Self::List(Box::new(Self::from_type(element)?), element.as_ref().clone().without_symint())
            }
            _ => return None,
        })
    }

    /// The type in words of the schema language.
    fn name(&self) -> String {
        match self {
            Self::Tensor => "Tensor".into(),
            Self::Int => "int".into(),
            Self::Float => "float".into(),
            Self::Bool => "bool".into(),
            Self::Text => "str".into(),
            Self::DType => "ScalarType".into(),
            Self::Layout => "Layout".into(),
            Self::MemoryFormat => "MemoryFormat".into(),
            Self::Device => "Device".into(),
            Self::Generator => "Generator".into(),
            Self::Optional(inner) => format!("{}?", inner.name()),
            Self::List(element, _) => format!("{}[]", element.name()),
        }
    }

    /// Frees what a word owns.
    ///
    /// # Safety
    ///
    /// The word holds a value of this kind, whose ownership the caller gives away.
    unsafe fn free(&self, torch: &Torch, word: u64) {
        match self {
            // SAFETY: guaranteed by the caller, see `# Safety`.
            Self::Tensor => drop(unsafe { TorchTensor::of_word(word) }),
            // SAFETY: guaranteed by the caller, see `# Safety`: the word holds a value of this kind, and is given away.
            Self::Text => drop(unsafe { abi::take_text(torch, word) }),
            // SAFETY: guaranteed by the caller, see `# Safety`: the word holds a value of this kind, and is given away.
            Self::Generator => unsafe { abi::drop_generator(torch, word) },
            Self::Optional(inner) => {
                // SAFETY: guaranteed by the caller, see `# Safety`: the word holds a value of this kind, and is given away.
                if let Some(word) = unsafe { abi::take_optional(torch, word) } {
                    // SAFETY: what was behind it is ours, and of that kind.
                    unsafe { inner.free(torch, word) }
                }
            }
            Self::List(element, _) => {
                // SAFETY: guaranteed by the caller, see `# Safety`: the word holds a value of this kind, and is given away.
                for word in unsafe { abi::take_list(torch, word) }.unwrap_or_default() {
                    // SAFETY: the items are ours, and of that kind.
                    unsafe { element.free(torch, word) }
                }
            }
            Self::Int
            | Self::Float
            | Self::Bool
            | Self::DType
            | Self::Layout
            | Self::MemoryFormat
            | Self::Device => {}
        }
    }
}

/// The kinds of several words.
#[derive(Clone, Copy)]
pub(crate) enum Kinds<'k> {
    Each(&'k [Kind]),
    All(&'k Kind),
}

impl<'k> Kinds<'k> {
    fn at(self, place: usize) -> &'k Kind {
        match self {
            Self::Each(kinds) => &kinds[place],
            Self::All(kind) => kind,
        }
    }
}

/// Words that own what they lead to, and free what nobody has taken.
///
/// Invariant: the words from `taken` on hold values of the kinds at the same places, and are ours.
pub(crate) struct Words<'k, W: AsRef<[u64]> = NewWords> {
    torch: &'k Torch,
    kinds: Kinds<'k>,
    words: W,
    taken: usize,
}

/// Words that are being made.
pub(crate) type NewWords = SmallVec<[u64; 6]>;

/// An argument that was read.
pub(crate) enum Read {
    /// The tensor at that place among the inputs.
    Input(usize),
    Value(Value),
}

impl Read {
    /// The argument as calls take it.
    #[inline]
    pub(crate) fn borrow<'a>(&'a self, inputs: &'a Inputs<'_>) -> ValueRef<'a> {
        match self {
            Self::Input(place) => ValueRef::from(inputs.tensor(*place).as_any()),
            Self::Value(value) => value.borrow(),
        }
    }
}

impl<'k> Words<'k> {
    /// No words yet.
    pub(crate) fn none(torch: &'k Torch, kinds: Kinds<'k>) -> Self {
        Self { torch, kinds, words: SmallVec::new(), taken: 0 }
    }

    /// Encodes one more value. A tensor may share the memory of an input if `alias` says so.
    ///
    /// # Errors
    ///
    /// The value is of another kind, or is a tensor that torch cannot have.
    pub(crate) fn push(&mut self, value: ValueView<'_>, alias: bool, given: &mut Given<'_>) -> Result<()> {
        let word = encode(self.torch, self.kinds.at(self.words.len()), value, alias, given)?;
        self.words.push(word);
        Ok(())
    }

    /// The words, which are the caller's from then on.
    pub(crate) fn give(mut self) -> NewWords {
        self.taken = self.words.len();
        std::mem::take(&mut self.words)
    }
}

impl<'k, W: AsRef<[u64]>> Words<'k, W> {
    /// Takes words over.
    ///
    /// # Safety
    ///
    /// The words hold values of these kinds, of which there are at least as many, and the caller gives their ownership away.
    pub(crate) unsafe fn from_raw(torch: &'k Torch, kinds: Kinds<'k>, words: W) -> Self {
        Self { torch, kinds, words, taken: 0 }
    }

    /// Reads the next value, if there is one, into `args`. Its word is freed, also where this fails. Most are tensors, which stay
    /// among the inputs.
    ///
    /// # Errors
    ///
    /// As of [`next`](Self::next).
    #[inline]
    pub(crate) fn read(&mut self, inputs: &mut Inputs<'_>, args: &mut SmallVec<[Read; 6]>) -> Result<bool> {
        let word = match (self.words.as_ref().get(self.taken), self.kinds) {
            (Some(word), Kinds::Each(kinds)) if kinds[self.taken] == Kind::Tensor => *word,
            _ => {
                let value = self.next(inputs)?;
                let is_one = value.is_some();
                args.extend(value.map(Read::Value));
                return Ok(is_one);
            }
        };
        self.taken += 1;
        // SAFETY: the invariant, and the word is counted as taken.
        let place = inputs.keep(unsafe { TorchTensor::of_word(word) }?)?;
        args.push(place.map_or_else(|| Read::Value(Tensor::undefined().into()), Read::Input));
        Ok(true)
    }

    /// The next value, if there is one. Its word is freed, also where this fails.
    ///
    /// # Errors
    ///
    /// The value is a tensor that we cannot have.
    pub(crate) fn next(&mut self, inputs: &mut Inputs<'_>) -> Result<Option<Value>> {
        let Some(&word) = self.words.as_ref().get(self.taken) else { return Ok(None) };
        let kind = self.kinds.at(self.taken);
        self.taken += 1;
        // SAFETY: the invariant, and the word is counted as taken.
        unsafe { decode(self.torch, kind, word, inputs) }.map(Some)
    }

    /// All values that are left.
    fn rest(&mut self, inputs: &mut Inputs<'_>) -> Result<Vec<Value>> {
        let mut values = Vec::with_capacity(self.words.as_ref().len());
        while let Some(value) = self.next(inputs)? {
            values.push(value);
        }
        Ok(values)
    }
}

impl<W: AsRef<[u64]>> Drop for Words<'_, W> {
    fn drop(&mut self) {
        for (place, word) in self.words.as_ref().iter().enumerate().skip(self.taken) {
            // SAFETY: the invariant; nobody uses the words again.
            unsafe { self.kinds.at(place).free(self.torch, *word) }
        }
    }
}

/// The value in a word, which is freed.
///
/// # Safety
///
/// The word holds a value of this kind, whose ownership the caller gives away.
unsafe fn decode(torch: &Torch, kind: &Kind, word: u64, inputs: &mut Inputs<'_>) -> Result<Value> {
    Ok(match kind {
        // SAFETY: guaranteed by the caller, see `# Safety`.
        Kind::Tensor => Value::Tensor(inputs.take(unsafe { TorchTensor::of_word(word) }?)?.into_any()),
        Kind::Int => Value::Int(word as i64),
        Kind::Float => Value::Float(f64::from_bits(word)),
        Kind::Bool => Value::Bool(word as u8 != 0),
        // SAFETY: guaranteed by the caller, see `# Safety`: the word holds a value of this kind, and is given away.
        Kind::Text => unsafe { abi::take_text(torch, word) }?.into(),
        Kind::DType => Value::DType(dtype_of(word as i32)?),
        Kind::Layout => {
            let number = i64::from(word as i32);
            Value::Layout(Layout::from_number(number).ok_or_else(|| unknown("layout", number))?)
        }
        Kind::MemoryFormat => {
            let number = i64::from(word as i32);
            Value::MemoryFormat(
                MemoryFormat::from_number(number).ok_or_else(|| unknown("memory format", number))?,
            )
        }
        Kind::Device => Value::Device(device_of((word >> 32) as i32, word as i32)?),
        Kind::Generator => {
            // SAFETY: guaranteed by the caller, see `# Safety`: the word holds a value of this kind, and is given away.
            unsafe { abi::drop_generator(torch, word) };
            let message =
                "a generator of torch cannot be used here; leave it out, or seed opgrid's with `manual_seed`";
            return Err(Error::new(ErrorKind::Value, message));
        }
        Kind::Optional(inner) => {
            // SAFETY: guaranteed by the caller, see `# Safety`: the word holds a value of this kind, and is given away.
            match unsafe { abi::take_optional(torch, word) } {
                None => Value::None,
                // SAFETY: what was behind it is ours, and of that kind.
                Some(word) => unsafe { decode(torch, inner, word, inputs) }?,
            }
        }
        Kind::List(element, declared) => {
            // SAFETY: guaranteed by the caller, see `# Safety`: the word holds a value of this kind, and is given away.
            let words = unsafe { abi::take_list(torch, word) }?;
            // SAFETY: the items are ours, and of that kind.
            let values = unsafe { Words::from_raw(torch, Kinds::All(element), words) }.rest(inputs)?;
            List::from_values(declared.clone(), values)?.into()
        }
    })
}

/// The word of a value.
///
/// # Errors
///
/// The value is of another kind, or is a tensor that torch cannot have.
pub(crate) fn encode(
    torch: &Torch,
    kind: &Kind,
    value: ValueView<'_>,
    alias: bool,
    given: &mut Given<'_>,
) -> Result<u64> {
    Ok(match (kind, value) {
        (Kind::Optional(_), ValueView::None) => 0,
        (Kind::Optional(inner), value) => {
            let mut one = Words::none(torch, Kinds::All(inner));
            one.push(value, alias, given)?;
            let place = abi::new_optional(torch)?;
            place.fill(one.give()[0])
        }
        (Kind::Tensor, ValueView::Tensor(tensor)) => match Tensor::from_any_ref(tensor) {
            Some(tensor) => given.give(tensor, alias)?.into_word(),
            None => {
                let message = format!("found a tensor of another library ({tensor}), expected a dense one");
                return Err(Error::new(ErrorKind::Value, message));
            }
        },
        (Kind::Int, ValueView::Int(value)) => value as u64,
        (Kind::Float, ValueView::Float(value)) => value.to_bits(),
        (Kind::Float, ValueView::Int(value)) => (value as f64).to_bits(),
        (Kind::Bool, ValueView::Bool(value)) => value.into(),
        (Kind::Text, ValueView::Str(text)) => abi::new_text(torch, text)?,
        (Kind::DType, ValueView::DType(dtype)) => dtype.number() as u64,
        (Kind::Layout, ValueView::Layout(layout)) => layout.number() as u64,
        (Kind::MemoryFormat, ValueView::MemoryFormat(format)) => format.number() as u64,
        (Kind::Device, ValueView::Device(device)) => {
            let index = device.index().map_or(-1, |index| index as i32);
            u64::from(device_number(device)? as u32) << 32 | u64::from(index as u32)
        }
        (Kind::List(element, _), list) => {
            let mut words = Words::none(torch, Kinds::All(element));
            match list {
                ValueView::Ints(items) => {
                    items.iter().try_for_each(|item| words.push(ValueView::Int(*item), alias, given))?;
                }
                ValueView::Floats(items) => {
                    items.iter().try_for_each(|item| words.push(ValueView::Float(*item), alias, given))?;
                }
                ValueView::Bools(items) => {
                    items.iter().try_for_each(|item| words.push(ValueView::Bool(*item), alias, given))?;
                }
                ValueView::Tensors(items) => {
                    items.iter().try_for_each(|item| words.push(ValueView::Tensor(item), alias, given))?;
                }
                ValueView::OptionalTensors(items) => items.iter().try_for_each(|item| {
                    let item = item.as_ref().map_or(ValueView::None, ValueView::Tensor);
                    words.push(item, alias, given)
                })?,
                ValueView::List(_, items) => {
                    items.iter().try_for_each(|item| words.push(item.borrow().view(), alias, given))?;
                }
                _ => return Err(mismatch(kind)),
            }
            abi::new_list(torch, &words.give())?
        }
        _ => return Err(mismatch(kind)),
    })
}

#[cold]
fn mismatch(kind: &Kind) -> Error {
    Error::new(ErrorKind::Value, format!("found a value of another type, expected {}", kind.name()))
}

#[cold]
fn unknown(what: &str, number: i64) -> Error {
    Error::new(ErrorKind::Value, format!("found {what} number {number} of torch, which opgrid does not have"))
}
