//! Owned values of any kind that a schema can name, two words each.
//!
//! What fits into a word lies in the value itself; everything else lies behind one counted pointer.
//!
//! Lists, tuples and dicts are values: a copy shares the memory until one of the two is changed, and then only
//! that one changes. (In torch two copies stay one list.)
#![allow(unsafe_code)]

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use num_complex::Complex64;
use opgrid_schema::Type;

use crate::deferred_drop::Flat;
use crate::error::Result;
use crate::keys::set::DispatchKeySet;
use crate::values::borrowed::{ValueRef, mismatch};
use crate::values::device::Device;
use crate::values::dtype::DType;
use crate::values::layout::{Layout, MemoryFormat};
use crate::values::scalar::{Scalar, SymInt, SymNode};
pub use crate::values::sequence::Values;
use crate::values::tensor::{AnyTensor, TensorType};

/// An owned value of any kind that a schema can name.
///
/// # Examples
///
/// ```
/// use opgrid_core::Value;
///
/// assert_eq!(size_of::<Value>(), 16);
/// assert_eq!(Value::from(vec![1, 2]).to_string(), "[1, 2]");
/// assert_ne!(Value::from(1), Value::from(1.0));
/// ```
#[derive(Clone, Default, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// Nothing: an optional that is absent.
    #[default]
    None,
    /// A tensor.
    Tensor(AnyTensor),
    /// An integer.
    Int(i64),
    /// An integer above the largest `Int`: a [`Scalar::UInt`].
    UInt(u64),
    /// An integer not known yet. One that is known is an [`Int`](Self::Int).
    SymInt(SymNode),
    /// A floating-point number.
    Float(f64),
    /// A complex number.
    Complex(Arc<Complex64>),
    /// True or false.
    Bool(bool),
    /// A text.
    Str(Arc<String>),
    /// A dtype.
    DType(DType),
    /// A layout.
    Layout(Layout),
    /// A memory format.
    MemoryFormat(MemoryFormat),
    /// A device.
    Device(Device),
    /// A source of random numbers.
    Generator(Generator),
    /// A list.
    List(Arc<List>),
    /// A tuple.
    Tuple(Arc<Values>),
    /// A dict.
    Dict(Arc<DictValue>),
    /// Any Rust object.
    Object(Object),
}

const _: () = assert!(size_of::<Value>() == 16 && size_of::<ValueRef<'static>>() == 16);

/// A list with elements of one type; the common ones lie as typed kernels read them.
#[derive(Clone, Debug, PartialEq)]
pub enum List {
    /// `int[]`
    Ints(Vec<i64>),
    /// `float[]`
    Floats(Vec<f64>),
    /// `bool[]`
    Bools(Vec<bool>),
    /// `Tensor[]`
    Tensors(Vec<AnyTensor>),
    /// `Tensor?[]`
    OptionalTensors(Vec<Option<AnyTensor>>),
    /// A list of anything else.
    Values(Type, Values),
}

impl PartialEq for AnyTensor {
    /// Whether both are one tensor; elements are not compared.
    fn eq(&self, other: &Self) -> bool {
        self.is_same(other)
    }
}

impl List {
    /// The type of the elements.
    pub fn element_type(&self) -> Type {
        match self {
            Self::Ints(_) => Type::Int,
            Self::Floats(_) => Type::Float,
            Self::Bools(_) => Type::Bool,
            Self::Tensors(_) => Type::Tensor,
            Self::OptionalTensors(_) => Type::Optional(Box::new(Type::Tensor)),
            Self::Values(element, _) => element.clone(),
        }
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        match self {
            Self::Ints(items) => items.len(),
            Self::Floats(items) => items.len(),
            Self::Bools(items) => items.len(),
            Self::Tensors(items) => items.len(),
            Self::OptionalTensors(items) => items.len(),
            Self::Values(_, items) => items.len(),
        }
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The elements, each as a value of its own.
    pub fn values(&self) -> Vec<Value> {
        match self {
            Self::Ints(items) => items.iter().map(|&x| Value::Int(x)).collect(),
            Self::Floats(items) => items.iter().map(|&x| Value::Float(x)).collect(),
            Self::Bools(items) => items.iter().map(|&x| Value::Bool(x)).collect(),
            Self::Tensors(items) => items.iter().cloned().map(Value::Tensor).collect(),
            Self::OptionalTensors(items) => items.iter().cloned().map(Value::from).collect(),
            Self::Values(_, items) => items.to_vec(),
        }
    }

    /// A list of these values with elements of that type, kept as typed kernels read it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Value`](crate::ErrorKind::Value) naming the first value that is not of the element type.
    pub fn from_values(element: Type, values: Vec<Value>) -> Result<Self> {
        fn each<T>(values: &[Value], pick: impl Fn(&Value) -> Option<T>, expected: &Type) -> Result<Vec<T>> {
            let one = |(index, value): (usize, &Value)| {
                pick(value).ok_or_else(|| {
                    mismatch(&expected.to_string(), value.borrow())
                        .within(format_args!("list element {index}"))
                })
            };
            values.iter().enumerate().map(one).collect()
        }
        let tensor = |value: &Value| match value {
            Value::Tensor(tensor) => Some(tensor.clone()),
            _ => None,
        };
        Ok(match &element {
            Type::Int => Self::Ints(each(&values, |value| value.borrow().as_int(), &element)?),
            Type::Float => Self::Floats(each(&values, |value| value.borrow().as_float(), &element)?),
            Type::Bool => Self::Bools(each(&values, |value| value.borrow().as_bool(), &element)?),
            Type::Tensor => Self::Tensors(each(&values, tensor, &element)?),
            Type::Optional(inner) if **inner == Type::Tensor => {
                let gap =
                    |value: &Value| if *value == Value::None { Some(None) } else { tensor(value).map(Some) };
                Self::OptionalTensors(each(&values, gap, &element)?)
            }
            _ => Self::Values(element, values.into()),
        })
    }
}

/// A dict: pairs in the order in which they were put in.
#[derive(Clone, Debug)]
pub struct DictValue {
    pub(crate) key: Type,
    pub(crate) value: Type,
    entries: Vec<(Value, Value)>,
}

impl DictValue {
    /// A dict with keys and values of these types.
    pub fn new(key: Type, value: Type, entries: Vec<(Value, Value)>) -> Self {
        Self { key, value, entries }
    }

    /// Takes all pairs out.
    pub(crate) fn take_entries(&mut self) -> Vec<(Value, Value)> {
        std::mem::take(&mut self.entries)
    }

    /// The pairs, in the order in which they were put in.
    pub fn entries(&self) -> &[(Value, Value)] {
        &self.entries
    }

    /// The types of keys and values.
    pub fn types(&self) -> (&Type, &Type) {
        (&self.key, &self.value)
    }
}

/// A source of random numbers: a key set that selects a backend, and a state that only its owner knows.
#[derive(Clone)]
pub struct Generator(Arc<GeneratorRecord>);

struct GeneratorRecord {
    keys: DispatchKeySet,
    device: Device,
    state: Flat<Box<dyn Any + Send + Sync>>,
}

impl Generator {
    /// A generator for `device` that brings `keys` into typed calls.
    pub fn new(keys: DispatchKeySet, device: Device, state: impl Any + Send + Sync) -> Self {
        Self(Arc::new(GeneratorRecord { keys, device, state: Flat::new(Box::new(state)) }))
    }

    /// The keys that it brings into typed calls. (Boxed calls do not look at generators, as in torch.)
    pub fn keys(&self) -> DispatchKeySet {
        self.0.keys
    }

    /// The device whose numbers it makes.
    pub fn device(&self) -> Device {
        self.0.device
    }

    /// The state, if it is of type `S`.
    pub fn state<S: 'static>(&self) -> Option<&S> {
        self.0.state.downcast_ref()
    }
}

impl PartialEq for Generator {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// A Rust type whose objects schemas name as `__torch__.torch.classes.<namespace>.<Name>`.
pub trait Class: Send + Sync + 'static {
    /// The namespace and name, as in `myops.Config`.
    const NAME: &'static str;
}

/// A shared Rust object of any [`Class`].
#[derive(Clone)]
pub struct Object(Arc<ObjectRecord>);

struct ObjectRecord {
    class: &'static str,
    data: Flat<Arc<dyn Any + Send + Sync>>,
}

impl Object {
    /// A value that shares `object`.
    pub fn new<T: Class>(object: Arc<T>) -> Self {
        Self(Arc::new(ObjectRecord { class: T::NAME, data: Flat::new(object) }))
    }

    /// The object, if it is of type `T`.
    pub fn downcast<T: Class>(&self) -> Option<Arc<T>> {
        Arc::clone(&self.0.data).downcast().ok()
    }

    /// The namespace and name of its class.
    pub fn class(&self) -> &'static str {
        self.0.class
    }
}

impl PartialEq for Object {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0.data, &other.0.data)
    }
}

impl Value {
    /// Takes a tensor out and leaves [`Value::None`]; anything else stays. Unlike `mem::take` it moves one word.
    #[inline]
    pub(crate) fn take_tensor(&mut self) -> Option<AnyTensor> {
        let Self::Tensor(tensor) = self else { return None };
        // SAFETY: the place is borrowed mutably, and overwritten next without being dropped, with nothing between that may
        // panic: the handle is there once.
        let taken = unsafe { std::ptr::read(tensor) };
        // SAFETY: the place is a borrowed one, of this type.
        unsafe { std::ptr::write(self, Self::None) };
        Some(taken)
    }

    /// The schema type of this value, as found in it: a list of integers is `int[]`.
    pub fn value_type(&self) -> Type {
        self.borrow().value_type()
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.borrow().fmt(f)
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.borrow().fmt(f)
    }
}

/// Implements `From` for what an owned value takes as it is.
macro_rules! own_plain {
    ($($source:ty => $variant:ident),* $(,)?) => {
        $(impl From<$source> for Value {
            #[inline]
            fn from(value: $source) -> Self {
                Self::$variant(value)
            }
        })*
    };
}

own_plain! {
    AnyTensor => Tensor,
    i64 => Int,
    f64 => Float,
    bool => Bool,
    DType => DType,
    Layout => Layout,
    MemoryFormat => MemoryFormat,
    Device => Device,
    Generator => Generator,
    Object => Object,
}

impl From<i32> for Value {
    fn from(value: i32) -> Self {
        Self::Int(value.into())
    }
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Scalar::from(value).into()
    }
}

impl From<Complex64> for Value {
    fn from(value: Complex64) -> Self {
        Self::Complex(Arc::new(value))
    }
}

impl From<Scalar> for Value {
    fn from(value: Scalar) -> Self {
        match value {
            Scalar::Int(value) => Self::Int(value),
            Scalar::UInt(value) => Self::UInt(value),
            Scalar::Float(value) => Self::Float(value),
            Scalar::Complex(value) => value.into(),
            Scalar::Bool(value) => Self::Bool(value),
        }
    }
}

impl From<SymInt> for Value {
    fn from(value: SymInt) -> Self {
        match value {
            SymInt::Int(value) => Self::Int(value),
            SymInt::Node(node) => Self::SymInt(node),
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Str(Arc::new(text.to_owned()))
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Str(Arc::new(text))
    }
}

impl From<List> for Value {
    fn from(list: List) -> Self {
        Self::List(Arc::new(list))
    }
}

impl From<Vec<i64>> for Value {
    fn from(items: Vec<i64>) -> Self {
        List::Ints(items).into()
    }
}

impl From<Vec<f64>> for Value {
    fn from(items: Vec<f64>) -> Self {
        List::Floats(items).into()
    }
}

impl From<Vec<bool>> for Value {
    fn from(items: Vec<bool>) -> Self {
        List::Bools(items).into()
    }
}

impl<T: TensorType> From<Vec<T>> for Value {
    fn from(items: Vec<T>) -> Self {
        List::Tensors(items.into_iter().map(T::into_any).collect()).into()
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::None, Into::into)
    }
}
