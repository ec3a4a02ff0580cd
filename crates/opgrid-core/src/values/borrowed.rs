//! Borrowed values of any kind that a schema can name, two words each, and looking at them.
//!
//! A [`ValueRef`] holds the address of the caller's tensor, text or list, so that packing the arguments of a call allocates
//! nothing and counts nothing.
#![allow(unsafe_code)]

use std::fmt;
use std::ptr::NonNull;
use std::slice;
use std::sync::Arc;

use num_complex::Complex64;
use opgrid_schema::Type;

use crate::error::{Error, ErrorKind};
use crate::keys::set::DispatchKeySet;
use crate::values::device::Device;
use crate::values::dtype::DType;
use crate::values::layout::{Layout, MemoryFormat};
use crate::values::scalar::{Scalar, SymNode, print_complex};
use crate::values::tensor::AnyTensor;
use crate::values::value::{DictValue, Generator, List, Object, Value, Values};

/// How deep values are printed and their types are told. They may be nested deeper.
pub const DEEPEST_SHOWN: usize = 64;

/// A borrowed value of any kind that a schema can name.
///
/// Made from references with `From`; looked at through [`view`](Self::view) or the `as_…` methods.
///
/// # Examples
///
/// ```
/// use opgrid_core::{ValueRef, ValueView};
///
/// let sizes = [2, 3];
/// let boxed = ValueRef::from(&sizes[..]);
/// assert!(matches!(boxed.view(), ValueView::Ints([2, 3])));
/// assert_eq!(boxed.to_value().to_string(), "[2, 3]");
/// ```
#[derive(Clone, Copy)]
pub struct ValueRef<'a>(Repr<'a>);

/// The two words. A slice's length stands beside the tag, which is why its parts are fields of the variant.
///
/// Invariant: pointer and length of a slice variant come from one `&'a [T]`, those of `Str` from a `&'a str`. Only the
/// `From` implementations of [`ValueRef`], in this file, make slice variants, with [`parts`].
#[derive(Clone, Copy)]
enum Repr<'a> {
    None,
    Tensor(&'a AnyTensor),
    Int(i64),
    UInt(u64),
    SymInt(&'a SymNode),
    Float(f64),
    Complex(&'a Complex64),
    Bool(bool),
    Str(Length, NonNull<u8>),
    DType(DType),
    Layout(Layout),
    MemoryFormat(MemoryFormat),
    Device(Device),
    Generator(&'a Generator),
    Ints(Length, NonNull<i64>),
    Floats(Length, NonNull<f64>),
    Bools(Length, NonNull<bool>),
    Tensors(Length, NonNull<AnyTensor>),
    OptionalTensors(Length, NonNull<Option<AnyTensor>>),
    List(&'a List),
    Tuple(&'a Values),
    Dict(&'a DictValue),
    Object(&'a Object),
}

/// A bit for each kind of value, in the order of the variants, so that a kind is the tag shifted.
pub(crate) mod kind {
    pub(crate) const NONE: u32 = 1 << 0;
    pub(crate) const TENSOR: u32 = 1 << 1;
    pub(crate) const INT: u32 = 1 << 2;
    pub(crate) const UINT: u32 = 1 << 3;
    pub(crate) const SYM_INT: u32 = 1 << 4;
    pub(crate) const FLOAT: u32 = 1 << 5;
    pub(crate) const COMPLEX: u32 = 1 << 6;
    pub(crate) const BOOL: u32 = 1 << 7;
    pub(crate) const STR: u32 = 1 << 8;
    pub(crate) const DTYPE: u32 = 1 << 9;
    pub(crate) const LAYOUT: u32 = 1 << 10;
    pub(crate) const MEMORY_FORMAT: u32 = 1 << 11;
    pub(crate) const DEVICE: u32 = 1 << 12;
    pub(crate) const GENERATOR: u32 = 1 << 13;
    pub(crate) const INTS: u32 = 1 << 14;
    pub(crate) const FLOATS: u32 = 1 << 15;
    pub(crate) const BOOLS: u32 = 1 << 16;
    pub(crate) const TENSORS: u32 = 1 << 17;
    pub(crate) const OPTIONAL_TENSORS: u32 = 1 << 18;
    pub(crate) const LIST: u32 = 1 << 19;
    pub(crate) const TUPLE: u32 = 1 << 20;
    pub(crate) const DICT: u32 = 1 << 21;
    pub(crate) const OBJECT: u32 = 1 << 22;
}

// SAFETY: every variant is a number or a shared reference, slices are such references in parts, and what is referred to is
// asserted to be `Sync` below.
unsafe impl Send for ValueRef<'_> {}
// SAFETY: what is referred to is asserted to be `Sync` below; the rest are numbers.
unsafe impl Sync for ValueRef<'_> {}

const _: () = {
    const fn shared<T: Send + Sync>() {}
    shared::<(AnyTensor, SymNode, Complex64, DType, Layout, MemoryFormat, Device, Generator)>();
    shared::<(List, Vec<Value>, DictValue, Object)>();
};

/// A borrowed value opened for matching.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum ValueView<'a> {
    /// Nothing: an optional that is absent.
    None,
    /// A tensor.
    Tensor(&'a AnyTensor),
    /// An integer.
    Int(i64),
    /// An integer above the largest `Int`.
    UInt(u64),
    /// An integer not known yet.
    SymInt(&'a SymNode),
    /// A floating-point number.
    Float(f64),
    /// A complex number.
    Complex(Complex64),
    /// True or false.
    Bool(bool),
    /// A text.
    Str(&'a str),
    /// A dtype.
    DType(DType),
    /// A layout.
    Layout(Layout),
    /// A memory format.
    MemoryFormat(MemoryFormat),
    /// A device.
    Device(Device),
    /// A source of random numbers.
    Generator(&'a Generator),
    /// `int[]`
    Ints(&'a [i64]),
    /// `float[]`
    Floats(&'a [f64]),
    /// `bool[]`
    Bools(&'a [bool]),
    /// `Tensor[]`
    Tensors(&'a [AnyTensor]),
    /// `Tensor?[]`
    OptionalTensors(&'a [Option<AnyTensor>]),
    /// A list of anything else.
    List(&'a Type, &'a [Value]),
    /// A tuple.
    Tuple(&'a [Value]),
    /// A dict.
    Dict(&'a DictValue),
    /// Any Rust object.
    Object(&'a Object),
}

/// The length of a slice in the 48 bits beside the tag: more than there can be elements in any memory.
#[derive(Clone, Copy)]
struct Length([u16; 3]);

impl Length {
    #[inline]
    fn from_len(length: usize) -> Self {
        let length = length as u64;
        assert!(length >> 48 == 0, "no processor addresses 2^48 elements");
        Self([length as u16, (length >> 16) as u16, (length >> 32) as u16])
    }

    #[inline]
    fn get(self) -> usize {
        let [low, middle, high] = self.0.map(u64::from);
        (high << 32 | middle << 16 | low) as usize
    }
}

/// The parts of a slice as a variant holds them.
#[inline]
fn parts<T>(items: &[T]) -> (Length, NonNull<T>) {
    (Length::from_len(items.len()), NonNull::from(items).cast())
}

/// Puts the parts of a slice together again.
///
/// # Safety
///
/// The parts come from one `&'a [T]`.
#[inline]
unsafe fn whole<'a, T>(len: Length, start: NonNull<T>) -> &'a [T] {
    // SAFETY: guaranteed by the caller, see `# Safety`.
    unsafe { slice::from_raw_parts(start.as_ptr(), len.get()) }
}

impl<'a> ValueRef<'a> {
    /// The absent optional.
    pub const NONE: Self = Self(Repr::None);

    /// An integer that may be above the largest `int`. It is no `From`, beside which `ValueRef::from(0)` would need a type.
    #[inline]
    pub(crate) fn unsigned(value: u64) -> Self {
        Self(i64::try_from(value).map_or(Repr::UInt(value), Repr::Int))
    }

    /// The value opened for matching.
    #[inline]
    pub fn view(self) -> ValueView<'a> {
        match self.direct() {
            Ok(view) => view,
            Err(List::Values(element, items)) => ValueView::List(element, items),
            Err(list) => list.borrow().view(),
        }
    }

    /// The value opened for matching, or a list that is to be opened first: short code where a value is asked for that is
    /// nearly always lent as it is.
    #[inline]
    pub(crate) fn direct(self) -> Result<ValueView<'a>, &'a List> {
        // SAFETY, for every `whole` below: the invariant of `Repr`.
        Ok(match self.0 {
            Repr::None => ValueView::None,
            Repr::Tensor(tensor) => ValueView::Tensor(tensor),
            Repr::Int(value) => ValueView::Int(value),
            Repr::UInt(value) => ValueView::UInt(value),
            Repr::SymInt(node) => ValueView::SymInt(node),
            Repr::Float(value) => ValueView::Float(value),
            Repr::Complex(value) => ValueView::Complex(*value),
            Repr::Bool(value) => ValueView::Bool(value),
            Repr::Str(len, start) => {
                // SAFETY: the invariant of `Repr`; `From<&str>` is the only maker of this variant, so it is UTF-8.
                ValueView::Str(unsafe { std::str::from_utf8_unchecked(whole(len, start)) })
            }
            Repr::DType(value) => ValueView::DType(value),
            Repr::Layout(value) => ValueView::Layout(value),
            Repr::MemoryFormat(value) => ValueView::MemoryFormat(value),
            Repr::Device(value) => ValueView::Device(value),
            Repr::Generator(value) => ValueView::Generator(value),
            // SAFETY: the invariant of `Repr`.
            Repr::Ints(len, start) => ValueView::Ints(unsafe { whole(len, start) }),
            // SAFETY: the invariant of `Repr`.
            Repr::Floats(len, start) => ValueView::Floats(unsafe { whole(len, start) }),
            // SAFETY: the invariant of `Repr`.
            Repr::Bools(len, start) => ValueView::Bools(unsafe { whole(len, start) }),
            // SAFETY: the invariant of `Repr`.
            Repr::Tensors(len, start) => ValueView::Tensors(unsafe { whole(len, start) }),
            // SAFETY: the invariant of `Repr`.
            Repr::OptionalTensors(len, start) => ValueView::OptionalTensors(unsafe { whole(len, start) }),
            Repr::List(list) => return Err(list),
            Repr::Tuple(items) => ValueView::Tuple(items),
            Repr::Dict(dict) => ValueView::Dict(dict),
            Repr::Object(object) => ValueView::Object(object),
        })
    }

    /// Whether this is the absent optional.
    #[inline]
    pub fn is_none(self) -> bool {
        matches!(self.0, Repr::None)
    }

    /// The tensor, if this is one.
    #[inline]
    pub fn as_tensor(self) -> Option<&'a AnyTensor> {
        if let Repr::Tensor(tensor) = self.0 { Some(tensor) } else { None }
    }

    /// The integer, if this is one. Floats and bools are not integers.
    #[inline]
    pub fn as_int(self) -> Option<i64> {
        if let Repr::Int(value) = self.0 { Some(value) } else { None }
    }

    /// The float, if this is one. Integers are not floats.
    #[inline]
    pub fn as_float(self) -> Option<f64> {
        if let Repr::Float(value) = self.0 { Some(value) } else { None }
    }

    /// The complex number, if this is one, where it lies.
    #[inline]
    pub fn as_complex(self) -> Option<&'a Complex64> {
        if let Repr::Complex(value) = self.0 { Some(value) } else { None }
    }

    /// The bool, if this is one.
    #[inline]
    pub fn as_bool(self) -> Option<bool> {
        if let Repr::Bool(value) = self.0 { Some(value) } else { None }
    }

    /// The text, if this is one.
    #[inline]
    pub fn as_str(self) -> Option<&'a str> {
        if let Ok(ValueView::Str(text)) = self.direct() { Some(text) } else { None }
    }

    /// The number, if this is one of any kind.
    #[inline]
    pub fn as_scalar(self) -> Option<Scalar> {
        match self.0 {
            Repr::Int(value) => Some(Scalar::Int(value)),
            Repr::UInt(value) => Some(Scalar::UInt(value)),
            Repr::Float(value) => Some(Scalar::Float(value)),
            Repr::Complex(value) => Some(Scalar::Complex(*value)),
            Repr::Bool(value) => Some(Scalar::Bool(value)),
            _ => None,
        }
    }

    /// An owned copy: handles are counted, slices copied.
    pub fn to_value(self) -> Value {
        match self.0 {
            Repr::Complex(value) => Value::Complex(Arc::new(*value)),
            Repr::List(list) => Value::List(Arc::new(list.clone())),
            Repr::Tuple(items) => Value::Tuple(Arc::new(items.clone())),
            Repr::Dict(dict) => Value::Dict(Arc::new(dict.clone())),
            _ => match self.view() {
                ValueView::Tensor(tensor) => Value::Tensor(tensor.clone()),
                ValueView::Int(value) => Value::Int(value),
                ValueView::UInt(value) => Value::UInt(value),
                ValueView::SymInt(node) => Value::SymInt(node.clone()),
                ValueView::Float(value) => Value::Float(value),
                ValueView::Bool(value) => Value::Bool(value),
                ValueView::Str(text) => Value::from(text),
                ValueView::DType(value) => Value::DType(value),
                ValueView::Layout(value) => Value::Layout(value),
                ValueView::MemoryFormat(value) => Value::MemoryFormat(value),
                ValueView::Device(value) => Value::Device(value),
                ValueView::Generator(value) => Value::Generator(value.clone()),
                ValueView::Ints(items) => Value::from(items.to_vec()),
                ValueView::Floats(items) => Value::from(items.to_vec()),
                ValueView::Bools(items) => Value::from(items.to_vec()),
                ValueView::Tensors(items) => Value::from(items.to_vec()),
                ValueView::OptionalTensors(items) => {
                    Value::List(Arc::new(List::OptionalTensors(items.to_vec())))
                }
                ValueView::Object(object) => Value::Object(object.clone()),
                _ => Value::None,
            },
        }
    }

    /// The schema type of this value, as found in it. Of tuples that are nested deeper than [`DEEPEST_SHOWN`], the inner
    /// ones count as `Any`.
    pub fn value_type(self) -> Type {
        self.type_at(0)
    }

    fn type_at(self, depth: usize) -> Type {
        let list = |element: Type| Type::List(Box::new(element));
        match self.view() {
            ValueView::None => Type::None,
            ValueView::Tensor(_) => Type::Tensor,
            ValueView::Int(_) => Type::Int,
            // An `int` of schemas has 64 bits and a sign.
            ValueView::UInt(_) => Type::Scalar,
            ValueView::SymInt(_) => Type::SymInt,
            ValueView::Float(_) => Type::Float,
            ValueView::Complex(_) => Type::Complex,
            ValueView::Bool(_) => Type::Bool,
            ValueView::Str(_) => Type::Str,
            ValueView::DType(_) => Type::ScalarType,
            ValueView::Layout(_) => Type::Layout,
            ValueView::MemoryFormat(_) => Type::MemoryFormat,
            ValueView::Device(_) => Type::Device,
            ValueView::Generator(_) => Type::Generator,
            ValueView::Ints(_) => list(Type::Int),
            ValueView::Floats(_) => list(Type::Float),
            ValueView::Bools(_) => list(Type::Bool),
            ValueView::Tensors(_) => list(Type::Tensor),
            ValueView::OptionalTensors(_) => list(Type::Optional(Box::new(Type::Tensor))),
            ValueView::List(element, _) => list(element.clone()),
            ValueView::Tuple(_) if depth == DEEPEST_SHOWN => Type::Any,
            ValueView::Tuple(items) => {
                Type::Tuple(items.iter().map(|item| item.borrow().type_at(depth + 1)).collect())
            }
            ValueView::Dict(dict) => Type::Dict(Box::new(dict.key.clone()), Box::new(dict.value.clone())),
            ValueView::Object(object) => Type::Class(format!("__torch__.torch.classes.{}", object.class())),
        }
    }

    /// The tensor, if this is one, looked at where the value lies. A value that was just written is written in two parts, and
    /// the processor waits for both before it copies all of it.
    #[inline(always)]
    pub(crate) fn tensor_in_place(&self) -> Option<&'a AnyTensor> {
        if let Repr::Tensor(tensor) = &self.0 { Some(tensor) } else { None }
    }

    /// The bit of the value's kind.
    #[inline]
    pub(crate) fn kind(&self) -> u32 {
        match self.0 {
            Repr::None => kind::NONE,
            Repr::Tensor(..) => kind::TENSOR,
            Repr::Int(..) => kind::INT,
            Repr::UInt(..) => kind::UINT,
            Repr::SymInt(..) => kind::SYM_INT,
            Repr::Float(..) => kind::FLOAT,
            Repr::Complex(..) => kind::COMPLEX,
            Repr::Bool(..) => kind::BOOL,
            Repr::Str(..) => kind::STR,
            Repr::DType(..) => kind::DTYPE,
            Repr::Layout(..) => kind::LAYOUT,
            Repr::MemoryFormat(..) => kind::MEMORY_FORMAT,
            Repr::Device(..) => kind::DEVICE,
            Repr::Generator(..) => kind::GENERATOR,
            Repr::Ints(..) => kind::INTS,
            Repr::Floats(..) => kind::FLOATS,
            Repr::Bools(..) => kind::BOOLS,
            Repr::Tensors(..) => kind::TENSORS,
            Repr::OptionalTensors(..) => kind::OPTIONAL_TENSORS,
            Repr::List(..) => kind::LIST,
            Repr::Tuple(..) => kind::TUPLE,
            Repr::Dict(..) => kind::DICT,
            Repr::Object(..) => kind::OBJECT,
        }
    }

    /// The keys that this value brings into a boxed call: those of a tensor or of a list's tensors.
    #[inline]
    pub fn tensor_keys(&self) -> DispatchKeySet {
        match &self.0 {
            Repr::Tensor(tensor) => tensor.keys(),
            _ => self.list_keys(),
        }
    }

    #[cold]
    #[inline(never)]
    fn list_keys(&self) -> DispatchKeySet {
        let union = |keys: DispatchKeySet, tensor: &AnyTensor| keys | tensor.keys();
        match self.view() {
            ValueView::Tensors(items) => items.iter().fold(DispatchKeySet::EMPTY, union),
            ValueView::OptionalTensors(items) => items.iter().flatten().fold(DispatchKeySet::EMPTY, union),
            ValueView::List(_, items) => {
                items.iter().filter_map(|item| item.borrow().as_tensor()).fold(DispatchKeySet::EMPTY, union)
            }
            _ => DispatchKeySet::EMPTY,
        }
    }
}

/// The error for a value of the wrong kind.
#[cold]
#[inline(never)]
pub(crate) fn mismatch(expected: &str, found: ValueRef<'_>) -> Error {
    let message = format!("expected {expected} but got {}", found.value_type().python_name());
    Error::new(ErrorKind::Value, message)
}

/// [`mismatch`] for readers of arguments, each of which has a copy of the call.
#[cold]
#[inline(never)]
pub(crate) fn unexpected(value: &ValueRef<'_>, expected: fn() -> Type) -> Error {
    mismatch(&expected().python_name(), *value)
}

/// Writes `items` between `open` and `close`.
fn print_all<T>(
    f: &mut fmt::Formatter<'_>,
    (open, close): (&str, &str),
    items: impl IntoIterator<Item = T>,
    mut one: impl FnMut(&mut fmt::Formatter<'_>, T) -> fmt::Result,
) -> fmt::Result {
    f.write_str(open)?;
    for (index, item) in items.into_iter().enumerate() {
        if index > 0 {
            f.write_str(", ")?;
        }
        one(f, item)?;
    }
    f.write_str(close)
}

impl fmt::Display for ValueRef<'_> {
    /// Values that are nested deeper than [`DEEPEST_SHOWN`] are printed as `…`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.print(f, 0)
    }
}

impl ValueRef<'_> {
    fn print(self, f: &mut fmt::Formatter<'_>, depth: usize) -> fmt::Result {
        const SQUARE: (&str, &str) = ("[", "]");
        let inner = |f: &mut fmt::Formatter<'_>, item: &Value| item.borrow().print(f, depth + 1);
        match self.view() {
            ValueView::List(..) | ValueView::Tuple(_) | ValueView::Dict(_) if depth == DEEPEST_SHOWN => {
                f.write_str("…")
            }
            ValueView::None => f.write_str("None"),
            ValueView::Tensor(tensor) => write!(f, "{tensor}"),
            ValueView::Int(value) => write!(f, "{value}"),
            ValueView::UInt(value) => write!(f, "{value}"),
            ValueView::SymInt(node) => write!(f, "{node}"),
            ValueView::Float(value) => f.write_str(&opgrid_schema::print_float(value)),
            ValueView::Complex(value) => print_complex(value, f),
            ValueView::Bool(value) => write!(f, "{}", Scalar::Bool(value)),
            ValueView::Str(text) => f.write_str(text),
            ValueView::DType(value) => write!(f, "{value}"),
            ValueView::Layout(value) => write!(f, "{value}"),
            ValueView::MemoryFormat(value) => write!(f, "{value}"),
            ValueView::Device(value) => write!(f, "{value}"),
            ValueView::Generator(value) => write!(f, "generator({})", value.device()),
            ValueView::Ints(items) => print_all(f, SQUARE, items, |f, item| write!(f, "{item}")),
            ValueView::Floats(items) => {
                print_all(f, SQUARE, items, |f, &item| write!(f, "{}", Scalar::Float(item)))
            }
            ValueView::Bools(items) => {
                print_all(f, SQUARE, items, |f, &item| write!(f, "{}", Scalar::Bool(item)))
            }
            ValueView::Tensors(items) => print_all(f, SQUARE, items, |f, item| write!(f, "{item}")),
            ValueView::OptionalTensors(items) => print_all(f, SQUARE, items, |f, item| match item {
                Some(tensor) => write!(f, "{tensor}"),
                None => f.write_str("None"),
            }),
            ValueView::List(_, items) => print_all(f, SQUARE, items, inner),
            ValueView::Tuple([only]) => {
                f.write_str("(")?;
                inner(f, only)?;
                f.write_str(",)")
            }
            ValueView::Tuple(items) => print_all(f, ("(", ")"), items, inner),
            ValueView::Dict(dict) => print_all(f, ("{", "}"), dict.entries(), |f, (key, value)| {
                inner(f, key)?;
                f.write_str(": ")?;
                inner(f, value)
            }),
            ValueView::Object(object) => write!(f, "<{}>", object.class()),
        }
    }
}

impl fmt::Debug for ValueRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl<'a> From<&'a AnyTensor> for ValueRef<'a> {
    #[inline]
    fn from(value: &'a AnyTensor) -> Self {
        Self(Repr::Tensor(value))
    }
}

impl<'a> From<&'a Value> for ValueRef<'a> {
    #[inline]
    fn from(value: &'a Value) -> Self {
        value.borrow()
    }
}

/// Implements `From` for what a variant takes as it is.
macro_rules! from_plain {
    ($($source:ty => $variant:ident),* $(,)?) => {
        $(impl<'a> From<$source> for ValueRef<'a> {
            #[inline]
            fn from(value: $source) -> Self {
                Self(Repr::$variant(value))
            }
        })*
    };
}

from_plain! {
    i64 => Int,
    f64 => Float,
    bool => Bool,
    DType => DType,
    Layout => Layout,
    MemoryFormat => MemoryFormat,
    Device => Device,
    &'a SymNode => SymInt,
    &'a Complex64 => Complex,
    &'a Generator => Generator,
    &'a DictValue => Dict,
    &'a Object => Object,
    &'a Values => Tuple,
}

/// Implements `From` for slices.
macro_rules! from_slice {
    ($($element:ty => $variant:ident),* $(,)?) => {
        $(impl<'a> From<&'a [$element]> for ValueRef<'a> {
            #[inline]
            fn from(items: &'a [$element]) -> Self {
                let (len, start) = parts(items);
                Self(Repr::$variant(len, start))
            }
        })*
    };
}

from_slice! {
    i64 => Ints,
    f64 => Floats,
    bool => Bools,
    AnyTensor => Tensors,
    Option<AnyTensor> => OptionalTensors,
}

impl<'a> From<&'a str> for ValueRef<'a> {
    #[inline]
    fn from(text: &'a str) -> Self {
        let (len, start) = parts(text.as_bytes());
        Self(Repr::Str(len, start))
    }
}

impl<'a> From<&'a List> for ValueRef<'a> {
    fn from(list: &'a List) -> Self {
        list.borrow()
    }
}

impl List {
    pub(crate) fn borrow(&self) -> ValueRef<'_> {
        match self {
            Self::Ints(items) => ValueRef::from(items.as_slice()),
            Self::Floats(items) => ValueRef::from(items.as_slice()),
            Self::Bools(items) => ValueRef::from(items.as_slice()),
            Self::Tensors(items) => ValueRef::from(items.as_slice()),
            Self::OptionalTensors(items) => ValueRef::from(items.as_slice()),
            Self::Values(..) => ValueRef(Repr::List(self)),
        }
    }
}

impl Value {
    /// The value, lent: nothing is copied or counted.
    #[inline]
    pub fn borrow(&self) -> ValueRef<'_> {
        ValueRef(match self {
            Self::None => Repr::None,
            Self::Tensor(tensor) => Repr::Tensor(tensor),
            Self::Int(value) => Repr::Int(*value),
            Self::UInt(value) => Repr::UInt(*value),
            Self::SymInt(node) => Repr::SymInt(node),
            Self::Float(value) => Repr::Float(*value),
            Self::Complex(value) => Repr::Complex(value),
            Self::Bool(value) => Repr::Bool(*value),
            Self::Str(text) => return ValueRef::from(text.as_str()),
            Self::DType(value) => Repr::DType(*value),
            Self::Layout(value) => Repr::Layout(*value),
            Self::MemoryFormat(value) => Repr::MemoryFormat(*value),
            Self::Device(value) => Repr::Device(*value),
            Self::Generator(value) => Repr::Generator(value),
            Self::List(list) => return list.borrow(),
            Self::Tuple(items) => Repr::Tuple(items),
            Self::Dict(dict) => Repr::Dict(dict),
            Self::Object(object) => Repr::Object(object),
        })
    }
}
