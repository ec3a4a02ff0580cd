//! Values that can be owned on their own: results, and elements of lists, dicts and tuples.

use std::sync::Arc;

use num_complex::Complex64;
use opgrid_schema::Type;

use crate::error::{Error, ErrorKind, Result};
use crate::keys::set::DispatchKeySet;
use crate::signatures::argument::Argument;
use crate::signatures::dict::Dict;
use crate::values::borrowed::{ValueRef, ValueView, mismatch};
use crate::values::device::Device;
use crate::values::dtype::DType;
use crate::values::layout::{Layout, MemoryFormat};
use crate::values::scalar::{Scalar, SymInt};
use crate::values::tensor::{AnyTensor, TensorType};
use crate::values::value::{Class, DictValue, Generator, List, Object, Value, Values};

/// A type whose values can be owned on their own: as a result, or as an element of a list, a dict or a tuple.
pub trait ValueType: Clone + 'static {
    /// The type with `i64` instead of every [`SymInt`].
    type Concrete: ValueType;

    /// The type's name in schemas.
    fn schema_type() -> Type;

    /// The owned value.
    fn into_value(self) -> Value;

    /// The element read from a value.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Value`](ErrorKind::Value) where the value is of another kind.
    fn from_value(value: ValueRef<'_>) -> Result<Self>;

    /// The element taken out of an owned value.
    ///
    /// # Errors
    ///
    /// As [`from_value`](Self::from_value).
    fn take(value: Value) -> Result<Self> {
        Self::from_value(value.borrow())
    }

    /// The element taken out of the place of an owned value, which is left as [`Value::None`].
    ///
    /// # Errors
    ///
    /// As [`from_value`](Self::from_value).
    #[inline]
    fn take_from(place: &mut Value) -> Result<Self> {
        Self::take(std::mem::take(place))
    }

    /// A list of such elements.
    fn list(items: Vec<Self>) -> List {
        List::Values(Self::schema_type(), items.into_iter().map(Self::into_value).collect())
    }

    /// A slice as a borrowed value; one that cannot be lent as it is goes through `hold`.
    fn pack_slice<'a>(items: &'a [Self], hold: &'a mut Option<List>) -> ValueRef<'a> {
        ValueRef::from(&*hold.insert(Self::list(items.to_vec())))
    }

    /// A slice read from a value; one that cannot be lent as it is goes through `hold`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Value`](ErrorKind::Value) where the value is no such list.
    fn unpack_slice<'a>(value: ValueRef<'a>, hold: &'a mut Vec<Self>) -> Result<&'a [Self]> {
        *hold = each(value, &Self::schema_type(), Self::from_value)?;
        Ok(hold)
    }

    /// The keys that a list of such elements brings into a typed call.
    #[inline]
    fn slice_keys(_items: &[Self]) -> DispatchKeySet {
        DispatchKeySet::EMPTY
    }

    /// [`list`](Self::list) for a list with gaps.
    fn list_with_gaps(items: Vec<Option<Self>>) -> List {
        let element = Type::Optional(Box::new(Self::schema_type()));
        List::Values(
            element,
            items.into_iter().map(|item| item.map_or(Value::None, Self::into_value)).collect(),
        )
    }

    /// [`pack_slice`](Self::pack_slice) for a list with gaps.
    fn pack_gaps<'a>(items: &'a [Option<Self>], hold: &'a mut Option<List>) -> ValueRef<'a> {
        ValueRef::from(&*hold.insert(Self::list_with_gaps(items.to_vec())))
    }

    /// [`unpack_slice`](Self::unpack_slice) for a list with gaps.
    ///
    /// # Errors
    ///
    /// As [`unpack_slice`](Self::unpack_slice).
    fn unpack_gaps<'a>(value: ValueRef<'a>, hold: &'a mut Vec<Option<Self>>) -> Result<&'a [Option<Self>]> {
        let one =
            |value: ValueRef<'_>| if value.is_none() { Ok(None) } else { Self::from_value(value).map(Some) };
        *hold = each(value, &Type::Optional(Box::new(Self::schema_type())), one)?;
        Ok(hold)
    }

    /// [`slice_keys`](Self::slice_keys) for a list with gaps.
    #[inline]
    fn gap_keys(_items: &[Option<Self>]) -> DispatchKeySet {
        DispatchKeySet::EMPTY
    }
}

/// Reads every element of a list value.
fn each<T>(value: ValueRef<'_>, element: &Type, one: impl Fn(ValueRef<'_>) -> Result<T>) -> Result<Vec<T>> {
    let owned = match value.view() {
        ValueView::List(_, items) => return items.iter().map(|item| one(item.borrow())).collect(),
        ValueView::Ints(items) => items.iter().map(|&item| Value::Int(item)).collect(),
        ValueView::Floats(items) => items.iter().map(|&item| Value::Float(item)).collect(),
        ValueView::Bools(items) => items.iter().map(|&item| Value::Bool(item)).collect(),
        ValueView::Tensors(items) => items.iter().cloned().map(Value::Tensor).collect(),
        ValueView::OptionalTensors(items) => items.iter().cloned().map(Value::from).collect::<Vec<_>>(),
        _ => return Err(mismatch(&Type::List(Box::new(element.clone())).python_name(), value)),
    };
    owned.iter().map(|item| one(item.borrow())).collect()
}

/// Elements that are read through their [`Argument`] side; lists of some are lent as slices.
macro_rules! elements {
    ($($type:ty $(: $variant:ident)?;)*) => {
        $(
            impl ValueType for $type {
                type Concrete = $type;

                fn schema_type() -> Type {
                    <$type as Argument>::schema_type()
                }

                #[inline]
                fn into_value(self) -> Value {
                    self.into()
                }

                #[inline]
                fn from_value(value: ValueRef<'_>) -> Result<Self> {
                    <$type as Argument>::unpack(&value, &mut Default::default())
                }

                $(
                    fn list(items: Vec<Self>) -> List {
                        List::$variant(items)
                    }

                    #[inline]
                    fn pack_slice<'a>(items: &'a [Self], _: &'a mut Option<List>) -> ValueRef<'a> {
                        items.into()
                    }

                    #[inline]
                    fn unpack_slice<'a>(value: ValueRef<'a>, hold: &'a mut Vec<Self>) -> Result<&'a [Self]> {
                        #[inline(never)]
                        fn others<'a>(value: ValueRef<'a>, hold: &'a mut Vec<$type>) -> Result<&'a [$type]> {
                            if let ValueView::$variant(items) = value.view() {
                                return Ok(items);
                            }
                            *hold = each(value, &<$type as ValueType>::schema_type(), ValueType::from_value)?;
                            Ok(hold)
                        }
                        match value.direct() {
                            Ok(ValueView::$variant(items)) => Ok(items),
                            _ => others(value, hold),
                        }
                    }
                )?
            }
        )*
    };
}

elements! {
    i64: Ints;
    f64: Floats;
    bool: Bools;
    Complex64;
    Scalar;
    DType;
    Layout;
    MemoryFormat;
    Device;
}

impl ValueType for String {
    type Concrete = Self;

    fn schema_type() -> Type {
        Type::Str
    }

    fn into_value(self) -> Value {
        self.into()
    }

    fn from_value(value: ValueRef<'_>) -> Result<Self> {
        value.as_str().map(str::to_owned).ok_or_else(|| mismatch("str", value))
    }
}

impl ValueType for Generator {
    type Concrete = Self;

    fn schema_type() -> Type {
        Type::Generator
    }

    fn into_value(self) -> Value {
        self.into()
    }

    fn from_value(value: ValueRef<'_>) -> Result<Self> {
        Self::unpack(&value, &mut ()).cloned()
    }
}

impl ValueType for Value {
    type Concrete = Self;

    fn schema_type() -> Type {
        Type::Any
    }

    fn into_value(self) -> Value {
        self
    }

    fn from_value(value: ValueRef<'_>) -> Result<Self> {
        Ok(value.to_value())
    }

    fn take(value: Value) -> Result<Self> {
        Ok(value)
    }
}

impl ValueType for SymInt {
    type Concrete = i64;

    fn schema_type() -> Type {
        Type::SymInt
    }

    fn into_value(self) -> Value {
        self.into()
    }

    fn from_value(value: ValueRef<'_>) -> Result<Self> {
        match value.view() {
            ValueView::Int(value) => Ok(Self::Int(value)),
            ValueView::SymInt(node) => Ok(Self::Node(node.clone())),
            _ => Err(mismatch("int", value)),
        }
    }

    fn list(items: Vec<Self>) -> List {
        let known = |item: &Self| if let Self::Int(value) = item { Some(*value) } else { None };
        match items.iter().map(known).collect::<Option<Vec<_>>>() {
            Some(ints) => List::Ints(ints),
            None => List::Values(Type::SymInt, items.into_iter().map(Self::into_value).collect()),
        }
    }
}

impl<T: TensorType> ValueType for T {
    type Concrete = T;

    fn schema_type() -> Type {
        Type::Tensor
    }

    #[inline]
    fn into_value(self) -> Value {
        Value::Tensor(self.into_any())
    }

    #[inline]
    fn from_value(value: ValueRef<'_>) -> Result<Self> {
        <T as Argument>::unpack(&value, &mut ()).cloned()
    }

    #[inline]
    fn take(value: Value) -> Result<Self> {
        match value {
            Value::Tensor(tensor) => Self::from_any(tensor).map_err(|tensor| foreign::<T>(&tensor)),
            _ => Err(mismatch("Tensor", value.borrow())),
        }
    }

    /// The value is looked at where it lies: moved as a whole, it would first have to arrive in memory.
    #[inline]
    fn take_from(place: &mut Value) -> Result<Self> {
        if let Some(tensor) = place.take_tensor() {
            return Self::from_any(tensor).map_err(|tensor| foreign::<T>(&tensor));
        }
        Self::take(std::mem::take(place))
    }

    fn list(items: Vec<Self>) -> List {
        List::Tensors(items.into_iter().map(T::into_any).collect())
    }

    #[inline]
    fn pack_slice<'a>(items: &'a [Self], _: &'a mut Option<List>) -> ValueRef<'a> {
        T::as_any_slice(items).into()
    }

    #[inline]
    fn unpack_slice<'a>(value: ValueRef<'a>, hold: &'a mut Vec<Self>) -> Result<&'a [Self]> {
        if let Ok(ValueView::Tensors(items)) = value.direct()
            && let Some(items) = T::from_any_slice(items)
        {
            return Ok(items);
        }
        tensors_of(value, hold)
    }

    #[inline]
    fn slice_keys(items: &[Self]) -> DispatchKeySet {
        items.iter().fold(DispatchKeySet::EMPTY, |keys, tensor| keys | tensor.as_any().keys())
    }

    fn list_with_gaps(items: Vec<Option<Self>>) -> List {
        List::OptionalTensors(items.into_iter().map(|item| item.map(T::into_any)).collect())
    }

    #[inline]
    fn pack_gaps<'a>(items: &'a [Option<Self>], _: &'a mut Option<List>) -> ValueRef<'a> {
        T::as_any_optional_slice(items).into()
    }

    #[inline]
    fn unpack_gaps<'a>(value: ValueRef<'a>, hold: &'a mut Vec<Option<Self>>) -> Result<&'a [Option<Self>]> {
        if let Ok(ValueView::OptionalTensors(items)) = value.direct()
            && let Some(items) = T::from_any_optional_slice(items)
        {
            return Ok(items);
        }
        optional_tensors_of(value, hold)
    }

    #[inline]
    fn gap_keys(items: &[Option<Self>]) -> DispatchKeySet {
        items.iter().flatten().fold(DispatchKeySet::EMPTY, |keys, tensor| keys | tensor.as_any().keys())
    }
}

/// The tensors of a list that is not lent as it is.
#[inline(never)]
fn tensors_of<'a, T: TensorType>(value: ValueRef<'a>, hold: &'a mut Vec<T>) -> Result<&'a [T]> {
    if let ValueView::Tensors(items) = value.view()
        && let Some(items) = T::from_any_slice(items)
    {
        return Ok(items);
    }
    *hold = each(value, &Type::Tensor, T::from_value)?;
    Ok(hold)
}

/// The tensors of a list with gaps that is not lent as it is.
#[inline(never)]
fn optional_tensors_of<'a, T: TensorType>(
    value: ValueRef<'a>,
    hold: &'a mut Vec<Option<T>>,
) -> Result<&'a [Option<T>]> {
    if let ValueView::OptionalTensors(items) = value.view()
        && let Some(items) = T::from_any_optional_slice(items)
    {
        return Ok(items);
    }
    let one = |value: ValueRef<'_>| if value.is_none() { Ok(None) } else { T::from_value(value).map(Some) };
    *hold = each(value, &Type::Optional(Box::new(Type::Tensor)), one)?;
    Ok(hold)
}

/// The error for a tensor of another library.
#[cold]
#[inline(never)]
pub(crate) fn foreign<T>(tensor: &AnyTensor) -> Error {
    let wanted = std::any::type_name::<T>();
    Error::new(ErrorKind::Value, format!("expected a tensor of type {wanted} but got {tensor}"))
}

impl<T: ValueType> ValueType for Option<T> {
    type Concrete = Option<T::Concrete>;

    fn schema_type() -> Type {
        Type::Optional(Box::new(T::schema_type()))
    }

    fn into_value(self) -> Value {
        self.map_or(Value::None, T::into_value)
    }

    fn from_value(value: ValueRef<'_>) -> Result<Self> {
        if value.is_none() { Ok(None) } else { T::from_value(value).map(Some) }
    }

    fn list(items: Vec<Self>) -> List {
        T::list_with_gaps(items)
    }

    fn pack_slice<'a>(items: &'a [Self], hold: &'a mut Option<List>) -> ValueRef<'a> {
        T::pack_gaps(items, hold)
    }

    fn unpack_slice<'a>(value: ValueRef<'a>, hold: &'a mut Vec<Self>) -> Result<&'a [Self]> {
        T::unpack_gaps(value, hold)
    }

    fn slice_keys(items: &[Self]) -> DispatchKeySet {
        T::gap_keys(items)
    }
}

impl<T: ValueType> ValueType for Vec<T> {
    type Concrete = Vec<T::Concrete>;

    fn schema_type() -> Type {
        Type::List(Box::new(T::schema_type()))
    }

    fn into_value(self) -> Value {
        T::list(self).into()
    }

    fn from_value(value: ValueRef<'_>) -> Result<Self> {
        let mut hold = Vec::new();
        let items = T::unpack_slice(value, &mut hold)?.to_vec();
        Ok(items)
    }
}

impl<T: ValueType, const N: usize> ValueType for [T; N] {
    type Concrete = [T::Concrete; N];

    fn schema_type() -> Type {
        Type::List(Box::new(T::schema_type()))
    }

    fn into_value(self) -> Value {
        T::list(self.into()).into()
    }

    fn from_value(value: ValueRef<'_>) -> Result<Self> {
        let items = Vec::<T>::from_value(value)?;
        let found = items.len();
        items.try_into().map_err(|_| wrong_length(N, found))
    }
}

#[cold]
pub(crate) fn wrong_length(expected: usize, found: usize) -> Error {
    Error::new(ErrorKind::Value, format!("expected a list of {expected} elements but got {found}"))
}

impl<K: ValueType + PartialEq, V: ValueType> ValueType for Dict<K, V> {
    type Concrete = Dict<K, V::Concrete>;

    fn schema_type() -> Type {
        Type::Dict(Box::new(K::schema_type()), Box::new(V::schema_type()))
    }

    fn into_value(self) -> Value {
        let entries = self.into_iter().map(|(key, value)| (key.into_value(), value.into_value())).collect();
        Value::Dict(Arc::new(DictValue::new(K::schema_type(), V::schema_type(), entries)))
    }

    fn from_value(value: ValueRef<'_>) -> Result<Self> {
        let ValueView::Dict(dict) = value.view() else {
            return Err(mismatch(&<Self as ValueType>::schema_type().python_name(), value));
        };
        let one = |(key, value): &(Value, Value)| {
            Ok((K::from_value(key.borrow())?, V::from_value(value.borrow())?))
        };
        dict.entries().iter().map(one).collect()
    }
}

impl<T: Class> ValueType for Arc<T> {
    type Concrete = Self;

    fn schema_type() -> Type {
        Type::Class(format!("__torch__.torch.classes.{}", T::NAME))
    }

    fn into_value(self) -> Value {
        Value::Object(Object::new(self))
    }

    fn from_value(value: ValueRef<'_>) -> Result<Self> {
        let object = if let ValueView::Object(object) = value.view() { object.downcast() } else { None };
        object.ok_or_else(|| mismatch(T::NAME, value))
    }
}

/// Tuples as one value.
macro_rules! tuples {
    ($(($($name:ident $place:tt),+))*) => {
        $(
            impl<$($name: ValueType),+> ValueType for ($($name,)+) {
                type Concrete = ($($name::Concrete,)+);

                fn schema_type() -> Type {
                    Type::Tuple(vec![$($name::schema_type()),+])
                }

                fn into_value(self) -> Value {
                    Value::Tuple(Arc::new(Values::from(vec![$(self.$place.into_value()),+])))
                }

                fn from_value(value: ValueRef<'_>) -> Result<Self> {
                    match value.view() {
                        ValueView::Tuple(items) if items.len() == [$($place),+].len() => {
                            Ok(($($name::from_value(items[$place].borrow())?,)+))
                        }
                        _ => Err(mismatch(&<Self as ValueType>::schema_type().python_name(), value)),
                    }
                }
            }
        )*
    };
}

tuples! { (A 0) (A 0, B 1) (A 0, B 1, C 2) (A 0, B 1, C 2, D 3) }
