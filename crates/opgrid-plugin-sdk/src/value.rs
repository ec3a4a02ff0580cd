//! Values of any kind: lent by the host, owned by the plugin, and Rust's types as such.
#![allow(unsafe_code)]

use std::fmt;
use std::marker::PhantomData;
use std::ptr;

use num_complex::Complex64;
use opgrid_abi::{
    OPGRID_BOOL, OPGRID_BOOLS, OPGRID_COMPLEX, OPGRID_DEVICE, OPGRID_DTYPE, OPGRID_FLOAT, OPGRID_FLOATS,
    OPGRID_INT, OPGRID_INTS, OPGRID_LAYOUT, OPGRID_MEMORY_FORMAT, OPGRID_NONE, OPGRID_OPTIONAL_TENSORS,
    OPGRID_OTHER, OPGRID_OWNED, OPGRID_STR, OPGRID_TENSOR, OPGRID_TENSORS, OpgridPayload, OpgridValue,
};

use crate::error::{Error, ErrorKind, Result, check};
use crate::host;
use crate::plain::{DType, Device, Layout, MemoryFormat, Scalar};
use crate::tensor::Tensor;

/// A value of any kind that is lent: an argument, or one for a call.
///
/// Invariant: the payload is what the tag says, and lives for `'a`.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct ValueRef<'a>(OpgridValue, PhantomData<&'a ()>);

impl<'a> ValueRef<'a> {
    /// The absent optional.
    pub const NONE: Self = Self(OpgridValue::NONE, PhantomData);

    /// # Safety
    ///
    /// The payload is what the tag says, and lives for `'a`.
    pub(crate) const unsafe fn new(value: OpgridValue) -> Self {
        Self(value, PhantomData)
    }

    /// The arguments that the host lends.
    ///
    /// # Safety
    ///
    /// As many lie there, for `'a`, and each payload is what its tag says.
    pub(crate) unsafe fn slice(start: *const OpgridValue, count: usize) -> &'a [Self] {
        // SAFETY: guaranteed by the caller, see `# Safety`; this type is nothing but its value.
        if count == 0 { &[] } else { unsafe { std::slice::from_raw_parts(start.cast(), count) } }
    }

    pub(crate) const fn raw(&self) -> &OpgridValue {
        &self.0
    }

    const fn from_parts(tag: u32, size: usize, payload: OpgridPayload) -> Self {
        // Longer lists and strings cannot be said. They are given a tag that the host refuses, and never cut short.
        let (tag, size) = if size > u32::MAX as usize { (u32::MAX, 0) } else { (tag, size as u32) };
        Self(OpgridValue { tag, size, payload }, PhantomData)
    }

    /// Looks at what is in the value, which the host opens where it is closed.
    pub(crate) fn opened<X>(&self, look: impl FnOnce(&ValueRef<'_>) -> Result<X>) -> Result<X> {
        if self.0.tag != OPGRID_OWNED {
            return look(self);
        }
        let (mut view, mut error) = (OpgridValue::NONE, ptr::null_mut());
        // SAFETY: the value is the host's, and lives for as long as this reference.
        let status = unsafe { (host::api()?.value_view)(&raw const self.0, &raw mut view, &raw mut error) };
        check(status, error)?;
        // SAFETY: the host says what is in the value, which lives until this function ends.
        look(&unsafe { ValueRef::new(view) })
    }

    /// Whether it is the absent optional.
    pub const fn is_none(&self) -> bool {
        self.0.tag == OPGRID_NONE
    }

    /// The value as a `T`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Value`]: it is of another kind.
    pub fn to<T: ValueType>(&self) -> Result<T> {
        T::from_value(self)
    }

    /// The tensor that it is.
    pub fn as_tensor(&self) -> Option<&Tensor> {
        if self.0.tag != OPGRID_TENSOR {
            return None;
        }
        let handle = (&raw const self.0.payload).cast::<Tensor>();
        // SAFETY: the invariant of this type: the payload is a handle that lives, and a tensor is nothing but its handle. The
        // host lends none that is null.
        Some(unsafe { &*handle })
    }

    /// The text that it is.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Value`]: it is of another kind, or no UTF-8.
    pub fn as_str(&self) -> Result<&'a str> {
        if self.0.tag != OPGRID_STR {
            return Err(mismatch("a text", self));
        }
        // SAFETY: the invariant of this type.
        let bytes = unsafe { self.items::<u8>() };
        std::str::from_utf8(bytes)
            .map_err(|error| Error::new(ErrorKind::Value, format!("a string is not UTF-8: {error}")))
    }

    /// The list or text behind the payload.
    ///
    /// # Safety
    ///
    /// The tag says that its elements are `T`.
    unsafe fn items<T>(&self) -> &'a [T] {
        // SAFETY: every pointer of a payload is one of the same size at the same place.
        let start: *const T = unsafe { self.0.payload.text }.cast();
        if start.is_null() || self.0.size == 0 {
            return &[];
        }
        // SAFETY: the invariant of this type; guaranteed by the caller, see `# Safety`.
        unsafe { std::slice::from_raw_parts(start, self.0.size as usize) }
    }

    /// Element `index` of a list or a tuple.
    ///
    /// # Errors
    ///
    /// It is neither, or has fewer; the plugin is not loaded.
    pub fn element(&self, index: usize) -> Result<Value> {
        let api = host::api()?;
        let (mut element, mut error) = (OpgridValue::NONE, ptr::null_mut());
        // SAFETY: the value lives; the rest is here.
        let status =
            unsafe { (api.value_element)(&raw const self.0, index, &raw mut element, &raw mut error) };
        check(status, error)?;
        Ok(Value(element))
    }

    /// All elements of a list that is not lent as a slice of them.
    fn elements<T: ValueType>(&self, expected: &str) -> Result<Vec<T>> {
        match self.0.tag {
            OPGRID_OTHER
            | OPGRID_OWNED
            | OPGRID_INTS
            | OPGRID_FLOATS
            | OPGRID_BOOLS
            | OPGRID_TENSORS
            | OPGRID_OPTIONAL_TENSORS => (0..self.0.size as usize)
                .map(|index| self.element(index)?.take::<T>())
                .collect::<Result<_>>()
                .map_err(|_| mismatch(expected, self)),
            _ => Err(mismatch(expected, self)),
        }
    }
}

impl fmt::Display for ValueRef<'_> {
    /// As the host prints it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut printed = OpgridValue::NONE;
        let asked = host::known().map(|api| {
            // SAFETY: the value lives; the result is here.
            unsafe { (api.value_text)(self.raw(), &raw mut printed, ptr::null_mut()) }
        });
        match asked {
            Some(0) => f.write_str(&Value(printed).take::<String>().unwrap_or_default()),
            _ => write!(f, "a value of kind {}", self.0.tag),
        }
    }
}

#[cold]
fn mismatch(expected: &str, found: &ValueRef<'_>) -> Error {
    let message = format!("a kernel expected {expected}, found {found}; let its parameters fit the schema");
    Error::new(ErrorKind::Value, message)
}

/// A value of any kind that the plugin owns: the result of a boxed call.
pub struct Value(OpgridValue);

impl Value {
    /// The absent optional.
    pub const NONE: Self = Self(OpgridValue::NONE);

    /// Takes a value that belongs to the plugin.
    ///
    /// # Safety
    ///
    /// The host gave it to the plugin, or it is of a kind that owns nothing.
    pub(crate) unsafe fn of_host(value: OpgridValue) -> Self {
        Self(value)
    }

    /// The value, lent.
    pub fn borrow(&self) -> ValueRef<'_> {
        // SAFETY: the value owns what is behind it, and lives for as long as the reference.
        unsafe { ValueRef::new(self.0) }
    }

    /// The value as a `T`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Value`]: it is of another kind.
    pub fn to<T: ValueType>(&self) -> Result<T> {
        self.borrow().opened(T::from_value)
    }

    /// The value turned into a `T`.
    ///
    /// # Errors
    ///
    /// As [`to`](Self::to).
    pub fn take<T: ValueType>(self) -> Result<T> {
        T::take(self)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.borrow(), f)
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.borrow(), f)
    }
}

// SAFETY: the host lets its values be used on any thread.
unsafe impl Send for Value {}
// SAFETY: the host lets its values be used by several threads at a time; looking at one changes nothing.
unsafe impl Sync for Value {}

impl Drop for Value {
    fn drop(&mut self) {
        // What owns nothing need not go back.
        if let (OPGRID_TENSOR | OPGRID_OWNED, Some(api)) = (self.0.tag, host::known()) {
            // SAFETY: the value belongs to this, which goes.
            unsafe { (api.value_release)(&raw mut self.0) }
        }
    }
}

/// A value that is lent under the name of an owned one, for kernels that take it by reference.
pub struct Held<T>(std::mem::ManuallyDrop<T>);

impl<T: From<Value>> Held<T> {
    pub(crate) fn lend(&mut self, value: &ValueRef<'_>) -> &T {
        self.0 = std::mem::ManuallyDrop::new(T::from(Value(value.0)));
        &self.0
    }
}

impl<T: From<Value>> Default for Held<T> {
    fn default() -> Self {
        Self(std::mem::ManuallyDrop::new(T::from(Value::NONE)))
    }
}

/// Types of values that a plugin cannot look into, and can hand on.
macro_rules! closed {
    ($($(#[$doc:meta])* $type:ident $(<$($parameter:ident),*>)?;)*) => {$(
        $(#[$doc])*
        pub struct $type $(<$($parameter),*>)? (Value $(, PhantomData<fn() -> ($($parameter,)*)>)?);

        impl $(<$($parameter),*>)? From<Value> for $type $(<$($parameter),*>)? {
            fn from(value: Value) -> Self {
                Self(value $(, PhantomData::<fn() -> ($($parameter,)*)>)?)
            }
        }

        impl $(<$($parameter),*>)? $type $(<$($parameter),*>)? {
            /// The value, lent.
            pub fn as_value(&self) -> ValueRef<'_> {
                self.0.borrow()
            }
        }

        impl<'a $(, $($parameter),*)?> From<&'a $type $(<$($parameter),*>)?> for ValueRef<'a> {
            fn from(value: &'a $type $(<$($parameter),*>)?) -> Self {
                value.as_value()
            }
        }
    )*};
}

closed! {
    /// A generator of random numbers, which a plugin can hand on.
    Generator;
    /// A dict, which a plugin can hand on.
    Dict<K, V>;
}

/// A type whose values can be owned: as a result, or as an element of a list.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a result or an element in a plugin",
    note = "values are Tensor, i64, f64, bool, String, Scalar, Complex64, DType, Layout, MemoryFormat, Device, Generator, \
            Value, Dict, and `Option` and `Vec` of them; what else a schema can name is for boxed kernels"
)]
pub trait ValueType: Sized + 'static {
    /// The type's name in schemas.
    fn schema_type() -> String;

    /// Reads a value that is lent.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Value`]: it is of another kind.
    fn from_value(value: &ValueRef<'_>) -> Result<Self>;

    /// Takes an owned value.
    ///
    /// # Errors
    ///
    /// As [`from_value`](Self::from_value).
    fn take(value: Value) -> Result<Self> {
        value.to()
    }

    /// Lends the value to `body`.
    fn lend<X>(&self, body: impl FnOnce(ValueRef<'_>) -> X) -> X;
}

/// Types of values that are one number, with their tag.
macro_rules! numbers {
    ($($type:ty: $tag:path, $schema:literal, $expected:literal, $payload:ident => $read:expr, $value:ident => $write:expr;)*) => {$(
        impl From<$type> for ValueRef<'_> {
            fn from($value: $type) -> Self {
                Self::from_parts($tag, 0, $write)
            }
        }

        impl ValueType for $type {
            fn schema_type() -> String {
                $schema.into()
            }

            fn from_value(value: &ValueRef<'_>) -> Result<Self> {
                if value.0.tag != $tag {
                    return Err(mismatch($expected, value));
                }
                let $payload = &value.0.payload;
                // SAFETY: the invariant of `ValueRef`: the tag says which field of the payload it is.
                Ok(unsafe { $read })
            }

            fn lend<X>(&self, body: impl FnOnce(ValueRef<'_>) -> X) -> X {
                body((*self).into())
            }
        }
    )*};
}

numbers! {
    bool: OPGRID_BOOL, "bool", "a bool", payload => payload.int_value != 0,
        value => OpgridPayload { int_value: i64::from(value) };
    i64: OPGRID_INT, "int", "an integer", payload => payload.int_value, value => OpgridPayload { int_value: value };
    Device: OPGRID_DEVICE, "Device", "a device", payload => Device::of_host(payload.device),
        value => OpgridPayload { device: value.to_host() };
    DType: OPGRID_DTYPE, "ScalarType", "a dtype", payload => DType::from_number(payload.int_value),
        value => OpgridPayload { int_value: value.number() };
    Layout: OPGRID_LAYOUT, "Layout", "a layout", payload => Layout::from_number(payload.int_value),
        value => OpgridPayload { int_value: value.number() };
    MemoryFormat: OPGRID_MEMORY_FORMAT, "MemoryFormat", "a memory format",
        payload => MemoryFormat::from_number(payload.int_value), value => OpgridPayload { int_value: value.number() };
}

impl From<f64> for ValueRef<'_> {
    fn from(value: f64) -> Self {
        Self::from_parts(OPGRID_FLOAT, 0, OpgridPayload { float_value: value })
    }
}

impl ValueType for f64 {
    fn schema_type() -> String {
        "float".into()
    }

    /// An integer becomes the float that it is, as in Python.
    fn from_value(value: &ValueRef<'_>) -> Result<Self> {
        match value.0.tag {
            // SAFETY: the invariant of `ValueRef`: the tag says which field of the payload it is.
            OPGRID_FLOAT => Ok(unsafe { value.0.payload.float_value }),
            // SAFETY: the invariant of `ValueRef`: the tag says which field of the payload it is.
            OPGRID_INT => Ok(unsafe { value.0.payload.int_value } as f64),
            _ => Err(mismatch("a number", value)),
        }
    }

    fn lend<X>(&self, body: impl FnOnce(ValueRef<'_>) -> X) -> X {
        body((*self).into())
    }
}

impl<'a> From<&'a Complex64> for ValueRef<'a> {
    fn from(value: &'a Complex64) -> Self {
        // Both parts lie one after the other.
        Self::from_parts(OPGRID_COMPLEX, 0, OpgridPayload { floats: ptr::from_ref(value).cast() })
    }
}

impl ValueType for Complex64 {
    fn schema_type() -> String {
        "complex".into()
    }

    fn from_value(value: &ValueRef<'_>) -> Result<Self> {
        if value.0.tag != OPGRID_COMPLEX {
            return Err(mismatch("a complex number", value));
        }
        // SAFETY: the invariant of `ValueRef`: the tag says that the payload leads to the two parts.
        let parts = unsafe { value.0.payload.floats.cast::<[f64; 2]>().read_unaligned() };
        Ok(Self::new(parts[0], parts[1]))
    }

    fn lend<X>(&self, body: impl FnOnce(ValueRef<'_>) -> X) -> X {
        body(self.into())
    }
}

impl Scalar {
    /// The number as a value; a complex one is kept in `hold`.
    pub(crate) fn to_value(self, hold: &mut Complex64) -> ValueRef<'_> {
        match self {
            Self::Int(value) => value.into(),
            Self::Float(value) => value.into(),
            Self::Bool(value) => value.into(),
            Self::Complex(value) => {
                *hold = value;
                (&*hold).into()
            }
        }
    }
}

impl ValueType for Scalar {
    fn schema_type() -> String {
        "Scalar".into()
    }

    fn from_value(value: &ValueRef<'_>) -> Result<Self> {
        match value.0.tag {
            OPGRID_INT => value.to().map(Self::Int),
            OPGRID_FLOAT => value.to().map(Self::Float),
            OPGRID_BOOL => value.to().map(Self::Bool),
            OPGRID_COMPLEX => value.to().map(Self::Complex),
            _ => Err(mismatch("a number", value)),
        }
    }

    fn lend<X>(&self, body: impl FnOnce(ValueRef<'_>) -> X) -> X {
        let mut hold = Complex64::ZERO;
        body(self.to_value(&mut hold))
    }
}

impl<'a> From<&'a str> for ValueRef<'a> {
    fn from(value: &'a str) -> Self {
        Self::from_parts(OPGRID_STR, value.len(), OpgridPayload { text: value.as_ptr().cast() })
    }
}

impl ValueType for String {
    fn schema_type() -> String {
        "str".into()
    }

    fn from_value(value: &ValueRef<'_>) -> Result<Self> {
        value.as_str().map(str::to_owned)
    }

    fn lend<X>(&self, body: impl FnOnce(ValueRef<'_>) -> X) -> X {
        body(self.as_str().into())
    }
}

impl<'a> From<&'a Tensor> for ValueRef<'a> {
    fn from(value: &'a Tensor) -> Self {
        Self(OpgridValue::tensor(value.as_ptr()), PhantomData)
    }
}

impl ValueType for Tensor {
    fn schema_type() -> String {
        "Tensor".into()
    }

    fn from_value(value: &ValueRef<'_>) -> Result<Self> {
        value.as_tensor().cloned().ok_or_else(|| mismatch("a tensor", value))
    }

    fn take(mut value: Value) -> Result<Self> {
        if value.0.tag != OPGRID_TENSOR {
            return Err(mismatch("a tensor", &value.borrow()));
        }
        let taken = std::mem::replace(&mut value.0, OpgridValue::NONE);
        // SAFETY: the tag says that it is a tensor; its handle was the value's, which has none any more.
        unsafe { Self::from_raw(taken.payload.tensor) }
    }

    fn lend<X>(&self, body: impl FnOnce(ValueRef<'_>) -> X) -> X {
        body(self.into())
    }
}

/// Elements whose lists are lent as slices.
pub trait ListElement: ValueType + Clone {
    /// A slice as a value.
    fn lend_slice(items: &[Self]) -> ValueRef<'_>;

    /// The slice that a value is.
    fn slice_of<'a>(value: &ValueRef<'a>) -> Option<&'a [Self]>;
}

/// Implements lists of elements that lie on both sides in the same way.
macro_rules! lists {
    ($($type:ty: $tag:path, $field:ident;)*) => {$(
        impl<'a> From<&'a [$type]> for ValueRef<'a> {
            fn from(items: &'a [$type]) -> Self {
                <$type>::lend_slice(items)
            }
        }

        impl ListElement for $type {
            fn lend_slice(items: &[Self]) -> ValueRef<'_> {
                ValueRef::from_parts($tag, items.len(), OpgridPayload { $field: items.as_ptr().cast() })
            }

            fn slice_of<'a>(value: &ValueRef<'a>) -> Option<&'a [Self]> {
                // SAFETY: the tag says that its elements are of this type, or of one that lies in memory as it does: a bool is a
                // byte 0 or 1, a tensor nothing but its handle, and one that may be absent null where it is.
                (value.0.tag == $tag).then(|| unsafe { value.items() })
            }
        }
    )*};
}

lists! {
    i64: OPGRID_INTS, ints;
    f64: OPGRID_FLOATS, floats;
    bool: OPGRID_BOOLS, bools;
    Tensor: OPGRID_TENSORS, tensors;
    Option<Tensor>: OPGRID_OPTIONAL_TENSORS, tensors;
}

/// A list as a slice; one that is not lent as it is goes through `hold`.
///
/// # Errors
///
/// [`ErrorKind::Value`]: it is of another kind.
pub(crate) fn list_of<'a, T: ListElement>(value: &ValueRef<'a>, hold: &'a mut Vec<T>) -> Result<&'a [T]> {
    match T::slice_of(value) {
        Some(items) => Ok(items),
        None => {
            *hold = value.to()?;
            Ok(hold)
        }
    }
}

impl<T: ListElement> ValueType for Vec<T> {
    fn schema_type() -> String {
        T::schema_type() + "[]"
    }

    fn from_value(value: &ValueRef<'_>) -> Result<Self> {
        match T::slice_of(value) {
            Some(items) => Ok(items.to_vec()),
            None => value.elements(&format!("a list of {}", T::schema_type())),
        }
    }

    fn lend<X>(&self, body: impl FnOnce(ValueRef<'_>) -> X) -> X {
        body(T::lend_slice(self))
    }
}

impl<'a, T: Into<ValueRef<'a>>> From<Option<T>> for ValueRef<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::NONE, T::into)
    }
}

impl<T: ValueType> ValueType for Option<T> {
    fn schema_type() -> String {
        T::schema_type() + "?"
    }

    fn from_value(value: &ValueRef<'_>) -> Result<Self> {
        if value.is_none() { Ok(None) } else { T::from_value(value).map(Some) }
    }

    fn take(value: Value) -> Result<Self> {
        if value.0.tag == OPGRID_NONE { Ok(None) } else { T::take(value).map(Some) }
    }

    fn lend<X>(&self, body: impl FnOnce(ValueRef<'_>) -> X) -> X {
        match self {
            Some(value) => value.lend(body),
            None => body(ValueRef::NONE),
        }
    }
}

impl<'a> From<&'a Value> for ValueRef<'a> {
    fn from(value: &'a Value) -> Self {
        value.borrow()
    }
}

/// Implements types of values that are handed on as they are.
macro_rules! handed_on {
    ($($type:ty, [$($parameters:tt)*], $schema:expr, $lent:ident => $lend:expr;)*) => {$(
        impl<$($parameters)*> ValueType for $type {
            fn schema_type() -> String {
                $schema
            }

            fn from_value(value: &ValueRef<'_>) -> Result<Self> {
                let message = format!(
                    "{value} is borrowed, and a plugin cannot keep a value of that kind; pass it on \
                     while it is borrowed"
                );
                Err(Error::new(ErrorKind::Value, message))
            }

            fn take(value: Value) -> Result<Self> {
                Ok(value.into())
            }

            fn lend<X>(&self, body: impl FnOnce(ValueRef<'_>) -> X) -> X {
                let $lent = self;
                body($lend)
            }
        }
    )*};
}

handed_on! {
    Value, [], "t".into(), value => value.borrow();
    Generator, [], "Generator".into(), value => value.as_value();
    Dict<K, V>, [K: ValueType, V: ValueType], format!("Dict({}, {})", K::schema_type(), V::schema_type()),
        value => value.as_value();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip<T: ValueType>(value: &T) -> T {
        value.lend(|value| value.to()).unwrap()
    }

    #[test]
    fn values_are_read_as_they_were_lent() {
        assert_eq!(round_trip(&7i64), 7);
        assert_eq!(round_trip(&Some(0.5f64)), Some(0.5));
        assert_eq!(round_trip(&None::<bool>), None);
        assert_eq!(round_trip(&String::from("größer")), "größer");
        assert_eq!(round_trip(&Complex64::new(1.0, -2.0)), Complex64::new(1.0, -2.0));
        assert_eq!(round_trip(&Scalar::from(Complex64::I)), Scalar::Complex(Complex64::I));
        assert_eq!(round_trip(&Scalar::from(true)), Scalar::Bool(true));
        assert_eq!(round_trip(&DType::BF16), DType::BF16);
        assert_eq!(round_trip(&Device::META), Device::META);
        let list = [true, false];
        assert_eq!(list_of::<bool>(&ValueRef::from(&list[..]), &mut Vec::new()).unwrap(), list);
        assert_eq!(list_of::<f64>(&ValueRef::from(&[1.5, 2.5][..]), &mut Vec::new()).unwrap(), [1.5, 2.5]);
        assert_eq!(list_of::<i64>(&ValueRef::from(&[][..] as &[i64]), &mut Vec::new()).unwrap(), []);
    }

    #[test]
    fn other_kinds_are_refused() {
        let refused = |error: Error| (error.kind(), error.message().to_owned());
        let (kind, message) = refused(ValueRef::from(1.5).to::<i64>().unwrap_err());
        assert_eq!(kind, ErrorKind::Value);
        assert!(message.contains("a kernel expected an integer, found a value of kind"), "{message}");
        let (_, message) = refused(ValueRef::from("1").to::<Scalar>().unwrap_err());
        assert!(message.contains("expected a number"), "{message}");
        let (_, message) = refused(list_of::<i64>(&ValueRef::from(1), &mut Vec::new()).unwrap_err());
        assert!(message.contains("expected a list of int"), "{message}");
        assert!(ValueRef::NONE.to::<Tensor>().is_err() && ValueRef::NONE.as_tensor().is_none());
        assert_eq!(ValueRef::from(3).to::<f64>().unwrap(), 3.0);
    }

    #[test]
    fn types_have_the_names_of_schemas() {
        assert_eq!(Option::<Vec<Tensor>>::schema_type(), "Tensor[]?");
        assert_eq!(Vec::<Option<Tensor>>::schema_type(), "Tensor?[]");
        assert_eq!(Dict::<String, i64>::schema_type(), "Dict(str, int)");
    }
}
