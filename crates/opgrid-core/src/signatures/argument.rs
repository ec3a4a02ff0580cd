//! The types of kernels' parameters: how each is written in a schema, lent, packed into a value and read back.
//!
//! The owned type is the marker. A kernel of signature `fn(Tensor, Vec<i64>, String)` is a function of
//! `(&Tensor, &[i64], &str)`: each marker names the borrowed form in which its values travel ([`Argument::At`]).

use std::sync::Arc;

use num_complex::Complex64;
use opgrid_schema::Type;

use crate::error::{Error, Result};
use crate::keys::set::DispatchKeySet;
use crate::signatures::dict::Dict;
use crate::signatures::value_type::{ValueType, foreign, wrong_length};
use crate::values::borrowed::{ValueRef, ValueView, mismatch, unexpected};
use crate::values::device::Device;
use crate::values::dtype::DType;
use crate::values::layout::{Layout, MemoryFormat};
use crate::values::scalar::{Scalar, SymInt};
use crate::values::tensor::TensorType;
use crate::values::value::{Class, Generator, List, Value};

mod sealed {
    /// Keeps [`Argument`](super::Argument) to this crate.
    pub trait Sealed {}
}

/// A type that can stand as a parameter in a [`Signature`](crate::Signature).
///
/// Only this crate implements it; parameters of one's own are tensors ([`TensorType`]), objects ([`Class`]), and lists,
/// dicts and tuples of one's own [`ValueType`]s.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an argument of an operator",
    note = "arguments are tensors, i64, f64, bool, String, Scalar, Complex64, SymInt, DType, Layout, MemoryFormat, \
            Device, Generator, Value, objects in an `Arc`, and `Option`, `Vec`, arrays, `Dict` and tuples of them"
)]
pub trait Argument: sealed::Sealed + 'static {
    /// The borrowed form in which kernels take it.
    type At<'a>: Copy;
    /// What packing or unpacking needs to keep while the call runs; `()` for everything that needs no temporary.
    type Hold: Default;
    /// The type with `i64` instead of every [`SymInt`].
    type Concrete: Argument;

    /// Whether the argument says on which device something is made.
    const NAMES_DEVICE: bool = false;

    /// The type's name in schemas.
    fn schema_type() -> Type;

    /// The keys that the argument brings into a typed call.
    #[inline]
    fn keys(_argument: Self::At<'_>) -> DispatchKeySet {
        DispatchKeySet::EMPTY
    }

    /// The keys that the argument brings into a typed call where it may be absent.
    #[inline]
    fn optional_keys(argument: Option<Self::At<'_>>) -> DispatchKeySet {
        argument.map_or(DispatchKeySet::EMPTY, Self::keys)
    }

    /// Shortens the borrow; the body is its argument.
    fn shorten<'long: 'short, 'short>(argument: Self::At<'long>) -> Self::At<'short>;

    /// The argument as a borrowed value.
    fn pack<'a>(argument: Self::At<'a>, hold: &'a mut Self::Hold) -> ValueRef<'a>;

    /// The argument read from a borrowed value. The value is not moved: it was just written in parts, and a processor
    /// that reads it as a whole waits until all parts are in memory.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Value`](crate::ErrorKind::Value) where the value is of another kind; nothing is converted.
    fn unpack<'a>(value: &ValueRef<'a>, hold: &'a mut Self::Hold) -> Result<Self::At<'a>>;
}

/// Plain values that travel as they are.
macro_rules! by_value {
    ($($type:ty: $schema:ident $([$is:ident])?, $view:pat => $read:expr;)*) => {
        $(
            impl sealed::Sealed for $type {}

            impl Argument for $type {
                type At<'a> = $type;
                type Hold = ();
                type Concrete = $type;

                $(const $is: bool = true;)?

                fn schema_type() -> Type {
                    Type::$schema
                }

                #[inline]
                fn shorten<'long: 'short, 'short>(argument: $type) -> $type {
                    argument
                }

                #[inline]
                fn pack<'a>(argument: $type, _: &'a mut ()) -> ValueRef<'a> {
                    ValueRef::from(argument)
                }

                #[inline]
                fn unpack<'a>(value: &ValueRef<'a>, _: &'a mut ()) -> Result<$type> {
                    if let Ok($view) = value.direct()
                        && let Some(read) = $read
                    {
                        return Ok(read);
                    }
                    Err(unexpected(value, <Self as Argument>::schema_type))
                }
            }
        )*
    };
}

impl sealed::Sealed for i64 {}

impl Argument for i64 {
    type At<'a> = Self;
    type Hold = ();
    type Concrete = Self;

    fn schema_type() -> Type {
        Type::Int
    }

    #[inline]
    fn shorten<'long: 'short, 'short>(argument: Self) -> Self {
        argument
    }

    #[inline]
    fn pack<'a>(argument: Self, _: &'a mut ()) -> ValueRef<'a> {
        argument.into()
    }

    /// A symbolic integer is fixed: the kernel needs the number now.
    #[inline]
    fn unpack<'a>(value: &ValueRef<'a>, _: &'a mut ()) -> Result<Self> {
        match value.as_int() {
            Some(value) => Ok(value),
            None => fixed(value),
        }
    }
}

/// The number that a symbolic integer is fixed to.
#[cold]
#[inline(never)]
fn fixed(value: &ValueRef<'_>) -> Result<i64> {
    match value.view() {
        ValueView::SymInt(node) => node.guard(),
        _ => Err(mismatch("int", *value)),
    }
}

by_value! {
    f64: Float, ValueView::Float(value) => Some(value);
    bool: Bool, ValueView::Bool(value) => Some(value);
    Device: Device [NAMES_DEVICE], ValueView::Device(value) => Some(value);
    DType: ScalarType, value => match value {
        ValueView::DType(value) => Some(value),
        ValueView::Int(number) => DType::from_number(number),
        _ => None,
    };
    Layout: Layout, value => match value {
        ValueView::Layout(value) => Some(value),
        ValueView::Int(number) => Layout::from_number(number),
        _ => None,
    };
    MemoryFormat: MemoryFormat, value => match value {
        ValueView::MemoryFormat(value) => Some(value),
        ValueView::Int(number) => MemoryFormat::from_number(number),
        _ => None,
    };
}

impl sealed::Sealed for Complex64 {}

impl Argument for Complex64 {
    type At<'a> = Self;
    type Hold = Self;
    type Concrete = Self;

    fn schema_type() -> Type {
        Type::Complex
    }

    fn shorten<'long: 'short, 'short>(argument: Self) -> Self {
        argument
    }

    fn pack<'a>(argument: Self, hold: &'a mut Self) -> ValueRef<'a> {
        *hold = argument;
        ValueRef::from(&*hold)
    }

    fn unpack<'a>(value: &ValueRef<'a>, _: &'a mut Self) -> Result<Self> {
        if let ValueView::Complex(value) = value.view() {
            Ok(value)
        } else {
            Err(mismatch("complex", *value))
        }
    }
}

#[cold]
#[inline(never)]
fn not_a_number(value: &ValueRef<'_>) -> Error {
    mismatch("number", *value)
}

impl sealed::Sealed for Scalar {}

impl Argument for Scalar {
    type At<'a> = Self;
    type Hold = Complex64;
    type Concrete = Self;

    fn schema_type() -> Type {
        Type::Scalar
    }

    #[inline]
    fn shorten<'long: 'short, 'short>(argument: Self) -> Self {
        argument
    }

    #[inline]
    fn pack<'a>(argument: Self, hold: &'a mut Complex64) -> ValueRef<'a> {
        match argument {
            Self::Int(value) => value.into(),
            Self::UInt(value) => ValueRef::unsigned(value),
            Self::Float(value) => value.into(),
            Self::Bool(value) => value.into(),
            Self::Complex(value) => Complex64::pack(value, hold),
        }
    }

    #[inline]
    fn unpack<'a>(value: &ValueRef<'a>, _: &'a mut Complex64) -> Result<Self> {
        value.as_scalar().ok_or_else(|| not_a_number(value))
    }
}

/// Arguments that kernels take by reference to an owned element; unpacking makes one and keeps it.
macro_rules! by_reference {
    ($([$($parameters:tt)*] $type:ty, $concrete:ty;)*) => {
        $(
            impl<$($parameters)*> sealed::Sealed for $type {}

            impl<$($parameters)*> Argument for $type {
                type At<'a> = &'a Self;
                type Hold = (Option<Value>, Option<Self>);
                type Concrete = $concrete;

                fn schema_type() -> Type {
                    <Self as ValueType>::schema_type()
                }

                fn shorten<'long: 'short, 'short>(argument: &'long Self) -> &'short Self {
                    argument
                }

                fn pack<'a>(argument: &'a Self, hold: &'a mut Self::Hold) -> ValueRef<'a> {
                    hold.0.insert(argument.clone().into_value()).borrow()
                }

                fn unpack<'a>(value: &ValueRef<'a>, hold: &'a mut Self::Hold) -> Result<&'a Self> {
                    Ok(hold.1.insert(Self::from_value(*value)?))
                }
            }
        )*
    };
}

by_reference! {
    [] SymInt, i64;
    [] Value, Value;
    [T: Class] Arc<T>, Self;
    [A: ValueType] (A,), (A::Concrete,);
    [A: ValueType, B: ValueType] (A, B), (A::Concrete, B::Concrete);
    [A: ValueType, B: ValueType, C: ValueType] (A, B, C), (A::Concrete, B::Concrete, C::Concrete);
    [K: ValueType + PartialEq, V: ValueType] Dict<K, V>, Dict<K, V::Concrete>;
}

impl sealed::Sealed for String {}

impl Argument for String {
    type At<'a> = &'a str;
    type Hold = ();
    type Concrete = Self;

    fn schema_type() -> Type {
        Type::Str
    }

    fn shorten<'long: 'short, 'short>(argument: &'long str) -> &'short str {
        argument
    }

    fn pack<'a>(argument: &'a str, _: &'a mut ()) -> ValueRef<'a> {
        argument.into()
    }

    fn unpack<'a>(value: &ValueRef<'a>, _: &'a mut ()) -> Result<&'a str> {
        value.as_str().ok_or_else(|| unexpected(value, <Self as Argument>::schema_type))
    }
}

impl sealed::Sealed for Generator {}

impl Argument for Generator {
    type At<'a> = &'a Self;
    type Hold = ();
    type Concrete = Self;

    fn schema_type() -> Type {
        Type::Generator
    }

    fn keys(argument: &Self) -> DispatchKeySet {
        Generator::keys(argument)
    }

    fn shorten<'long: 'short, 'short>(argument: &'long Self) -> &'short Self {
        argument
    }

    fn pack<'a>(argument: &'a Self, _: &'a mut ()) -> ValueRef<'a> {
        argument.into()
    }

    fn unpack<'a>(value: &ValueRef<'a>, _: &'a mut ()) -> Result<&'a Self> {
        match value.direct() {
            Ok(ValueView::Generator(generator)) => Ok(generator),
            _ => Err(unexpected(value, <Self as Argument>::schema_type)),
        }
    }
}

impl<T: TensorType> sealed::Sealed for T {}

impl<T: TensorType> Argument for T {
    type At<'a> = &'a T;
    type Hold = ();
    type Concrete = T;

    fn schema_type() -> Type {
        Type::Tensor
    }

    #[inline]
    fn keys(argument: &T) -> DispatchKeySet {
        argument.as_any().keys()
    }

    #[inline]
    fn shorten<'long: 'short, 'short>(argument: &'long T) -> &'short T {
        argument
    }

    #[inline]
    fn pack<'a>(argument: &'a T, _: &'a mut ()) -> ValueRef<'a> {
        ValueRef::from(argument.as_any())
    }

    #[inline]
    fn unpack<'a>(value: &ValueRef<'a>, _: &'a mut ()) -> Result<&'a T> {
        match value.tensor_in_place().and_then(T::from_any_ref) {
            Some(tensor) => Ok(tensor),
            None => Err(no_tensor_of::<T>(value)),
        }
    }
}

/// The error for another value, or a tensor of another library.
#[cold]
#[inline(never)]
fn no_tensor_of<T>(value: &ValueRef<'_>) -> Error {
    match value.as_tensor() {
        Some(tensor) => foreign::<T>(tensor),
        None => mismatch("Tensor", *value),
    }
}

impl<T: Argument> sealed::Sealed for Option<T> {}

impl<T: Argument> Argument for Option<T> {
    type At<'a> = Option<T::At<'a>>;
    type Hold = T::Hold;
    type Concrete = Option<T::Concrete>;

    const NAMES_DEVICE: bool = T::NAMES_DEVICE;

    fn schema_type() -> Type {
        Type::Optional(Box::new(T::schema_type()))
    }

    #[inline]
    fn keys(argument: Option<T::At<'_>>) -> DispatchKeySet {
        T::optional_keys(argument)
    }

    #[inline]
    fn shorten<'long: 'short, 'short>(argument: Option<T::At<'long>>) -> Option<T::At<'short>> {
        argument.map(T::shorten)
    }

    #[inline]
    fn pack<'a>(argument: Option<T::At<'a>>, hold: &'a mut T::Hold) -> ValueRef<'a> {
        argument.map_or(ValueRef::NONE, |argument| T::pack(argument, hold))
    }

    #[inline]
    fn unpack<'a>(value: &ValueRef<'a>, hold: &'a mut T::Hold) -> Result<Option<T::At<'a>>> {
        if value.is_none() { Ok(None) } else { T::unpack(value, hold).map(Some) }
    }
}

impl<T: ValueType> sealed::Sealed for Vec<T> {}

impl<T: ValueType> Argument for Vec<T> {
    type At<'a> = &'a [T];
    type Hold = (Option<List>, Vec<T>);
    type Concrete = Vec<T::Concrete>;

    fn schema_type() -> Type {
        <Self as ValueType>::schema_type()
    }

    #[inline]
    fn keys(argument: &[T]) -> DispatchKeySet {
        T::slice_keys(argument)
    }

    /// None, as in boxed calls and in torch: a list that may be absent selects nothing.
    #[inline]
    fn optional_keys(_: Option<&[T]>) -> DispatchKeySet {
        DispatchKeySet::EMPTY
    }

    #[inline]
    fn shorten<'long: 'short, 'short>(argument: &'long [T]) -> &'short [T] {
        argument
    }

    #[inline]
    fn pack<'a>(argument: &'a [T], hold: &'a mut Self::Hold) -> ValueRef<'a> {
        T::pack_slice(argument, &mut hold.0)
    }

    #[inline]
    fn unpack<'a>(value: &ValueRef<'a>, hold: &'a mut Self::Hold) -> Result<&'a [T]> {
        T::unpack_slice(*value, &mut hold.1)
    }
}

impl<T: ValueType, const N: usize> sealed::Sealed for [T; N] {}

impl<T: ValueType, const N: usize> Argument for [T; N] {
    type At<'a> = &'a [T; N];
    type Hold = (Option<List>, Vec<T>);
    type Concrete = [T::Concrete; N];

    fn schema_type() -> Type {
        <Self as ValueType>::schema_type()
    }

    fn keys(argument: &[T; N]) -> DispatchKeySet {
        T::slice_keys(argument)
    }

    /// None, as for `Vec`.
    fn optional_keys(_: Option<&[T; N]>) -> DispatchKeySet {
        DispatchKeySet::EMPTY
    }

    fn shorten<'long: 'short, 'short>(argument: &'long [T; N]) -> &'short [T; N] {
        argument
    }

    fn pack<'a>(argument: &'a [T; N], hold: &'a mut Self::Hold) -> ValueRef<'a> {
        T::pack_slice(argument, &mut hold.0)
    }

    fn unpack<'a>(value: &ValueRef<'a>, hold: &'a mut Self::Hold) -> Result<&'a [T; N]> {
        let items = T::unpack_slice(*value, &mut hold.1)?;
        items.try_into().map_err(|_| wrong_length(N, items.len()))
    }
}
