//! Rust's types as values of the interface.
#![allow(unsafe_code)]

use std::ptr;

use opgrid_abi::{
    OPGRID_BOOL, OPGRID_DEVICE, OPGRID_DTYPE, OPGRID_FLOAT, OPGRID_FLOATS, OPGRID_INT, OPGRID_INTS,
    OPGRID_NONE, OPGRID_STR, OPGRID_TENSOR, OPGRID_TENSORS, OpgridPayload, OpgridTensor, OpgridText,
    OpgridValue,
};

use crate::call::Call;
use crate::error::{Error, ErrorKind, Result, check, text};
use crate::host;
use crate::tensor::{DType, Device, Tensor};

/// What a kernel's parameter is made of.
pub trait FromValue: Sized {
    /// Reads a value that is lent.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Value`]: it is of another kind.
    fn from_value(value: &OpgridValue) -> Result<Self>;
}

/// What can be an argument or a result.
pub trait ToValue {
    /// The value, which borrows from `self`.
    fn to_value(&self) -> OpgridValue;
}

/// What a kernel returns: nothing, a value, or a tuple of values.
pub trait IntoResults {
    /// Leaves the results.
    ///
    /// # Errors
    ///
    /// Those of the host.
    fn leave(self, call: &mut Call<'_>) -> Result<()>;
}

/// A type that stands for one of the schema language.
pub trait SchemaType {
    /// The type as schemas write it, such as `float?`.
    fn text() -> String;
}

/// What a kernel returns, as types of the schema language.
pub trait ResultTypes {
    /// The results as schemas write them, such as `(Tensor, int)`.
    fn text() -> String;
}

/// Names the types that stand for a type of the schema language.
macro_rules! schema_types {
    ($($type:ty: $text:literal;)*) => {$(
        impl SchemaType for $type {
            fn text() -> String {
                $text.into()
            }
        }
    )*};
}

schema_types! {
    Tensor: "Tensor";
    i64: "int";
    f64: "float";
    bool: "bool";
    String: "str";
    Device: "Device";
    DType: "ScalarType";
}

impl<T: SchemaType> SchemaType for Vec<T> {
    fn text() -> String {
        T::text() + "[]"
    }
}

impl<T: SchemaType> SchemaType for Option<T> {
    fn text() -> String {
        T::text() + "?"
    }
}

impl ResultTypes for () {
    fn text() -> String {
        "()".into()
    }
}

impl<T: SchemaType> ResultTypes for T {
    fn text() -> String {
        T::text()
    }
}

#[cold]
fn mismatch<T>(expected: &str, found: &OpgridValue) -> Result<T> {
    let mut shown = format!("a value of kind {}", found.tag);
    if let Ok(api) = host::api() {
        let mut printed = OpgridValue::NONE;
        // SAFETY: the value is lent by the host; the result is here.
        if unsafe { (api.value_text)(found, &raw mut printed, ptr::null_mut()) } == 0 {
            shown = Value::of_host(printed).to::<String>().unwrap_or(shown);
        }
    }
    let message = format!("a kernel expected {expected}, found {shown}; let its parameters fit the schema");
    Err(Error::new(ErrorKind::Value, message))
}

/// Implements both ways for kinds that are one field of the payload.
macro_rules! plain {
    ($($type:ty: $tag:path, $expected:literal, $payload:ident => $read:expr, $value:ident => $write:expr;)*) => {$(
        impl FromValue for $type {
            fn from_value(value: &OpgridValue) -> Result<Self> {
                if value.tag != $tag {
                    return mismatch($expected, value);
                }
                let $payload = &value.payload;
                // SAFETY: the tag says which field of the payload it is, and the host that it is initialised.
                Ok(unsafe { $read })
            }
        }

        impl ToValue for $type {
            fn to_value(&self) -> OpgridValue {
                let $value = self;
                OpgridValue { tag: $tag, size: 0, payload: $write }
            }
        }
    )*};
}

plain! {
    bool: OPGRID_BOOL, "a bool", payload => payload.int_value != 0, value => OpgridPayload { int_value: i64::from(*value) };
    i64: OPGRID_INT, "an integer", payload => payload.int_value, value => OpgridPayload { int_value: *value };
    Device: OPGRID_DEVICE, "a device", payload => Device(payload.device), value => OpgridPayload { device: value.0 };
    DType: OPGRID_DTYPE, "a dtype", payload => DType(payload.int_value as i32),
        value => OpgridPayload { int_value: i64::from(value.0) };
}

impl FromValue for f64 {
    fn from_value(value: &OpgridValue) -> Result<Self> {
        match value.tag {
            // SAFETY: the tag says which field of the payload it is.
            OPGRID_FLOAT => Ok(unsafe { value.payload.float_value }),
            // SAFETY: as above.
            OPGRID_INT => Ok(unsafe { value.payload.int_value } as f64),
            _ => mismatch("a number", value),
        }
    }
}

impl ToValue for f64 {
    fn to_value(&self) -> OpgridValue {
        OpgridValue::float(*self)
    }
}

/// The elements of a list, of a kind that the tag says.
///
/// # Safety
///
/// There are as many at the address, or it is null.
unsafe fn items<T: Copy>(start: *const T, size: u32) -> Vec<T> {
    if start.is_null() || size == 0 {
        return Vec::new();
    }
    // SAFETY: guaranteed by the caller, see `# Safety`.
    unsafe { std::slice::from_raw_parts(start, size as usize) }.to_vec()
}

impl FromValue for String {
    fn from_value(value: &OpgridValue) -> Result<Self> {
        if value.tag != OPGRID_STR {
            return mismatch("a text", value);
        }
        // SAFETY: the tag says that it is a text of so many bytes.
        Ok(unsafe { text(OpgridText { data: value.payload.text, size: value.size as usize }) })
    }
}

impl ToValue for str {
    fn to_value(&self) -> OpgridValue {
        OpgridValue {
            tag: OPGRID_STR,
            size: self.len() as u32,
            payload: OpgridPayload { text: self.as_ptr().cast() },
        }
    }
}

impl ToValue for String {
    fn to_value(&self) -> OpgridValue {
        self.as_str().to_value()
    }
}

impl FromValue for Vec<i64> {
    fn from_value(value: &OpgridValue) -> Result<Self> {
        if value.tag != OPGRID_INTS {
            return mismatch("a list of integers", value);
        }
        // SAFETY: the tag says that it is a list of so many.
        Ok(unsafe { items(value.payload.ints, value.size) })
    }
}

impl ToValue for Vec<i64> {
    fn to_value(&self) -> OpgridValue {
        OpgridValue {
            tag: OPGRID_INTS,
            size: self.len() as u32,
            payload: OpgridPayload { ints: self.as_ptr() },
        }
    }
}

impl FromValue for Vec<f64> {
    fn from_value(value: &OpgridValue) -> Result<Self> {
        if value.tag != OPGRID_FLOATS {
            return mismatch("a list of floats", value);
        }
        // SAFETY: the tag says that it is a list of so many.
        Ok(unsafe { items(value.payload.floats, value.size) })
    }
}

impl ToValue for Vec<f64> {
    fn to_value(&self) -> OpgridValue {
        OpgridValue {
            tag: OPGRID_FLOATS,
            size: self.len() as u32,
            payload: OpgridPayload { floats: self.as_ptr() },
        }
    }
}

impl FromValue for Tensor {
    fn from_value(value: &OpgridValue) -> Result<Self> {
        if value.tag != OPGRID_TENSOR {
            return mismatch("a tensor", value);
        }
        // SAFETY: the tag says that it is a tensor, which is lent.
        unsafe { Self::borrow(value.payload.tensor) }
    }
}

impl ToValue for Tensor {
    fn to_value(&self) -> OpgridValue {
        OpgridValue::tensor(self.as_ptr())
    }
}

impl FromValue for Vec<Tensor> {
    fn from_value(value: &OpgridValue) -> Result<Self> {
        if value.tag != OPGRID_TENSORS {
            return mismatch("a list of tensors", value);
        }
        // SAFETY: the tag says that it is a list of so many, which are lent.
        let handles: Vec<*mut OpgridTensor> = unsafe { items(value.payload.tensors, value.size) };
        // SAFETY: as above.
        handles.into_iter().map(|handle| unsafe { Tensor::borrow(handle) }).collect()
    }
}

impl ToValue for Vec<Tensor> {
    fn to_value(&self) -> OpgridValue {
        // A tensor is nothing but its handle.
        let tensors = self.as_ptr().cast();
        OpgridValue { tag: OPGRID_TENSORS, size: self.len() as u32, payload: OpgridPayload { tensors } }
    }
}

impl<T: FromValue> FromValue for Option<T> {
    fn from_value(value: &OpgridValue) -> Result<Self> {
        if value.tag == OPGRID_NONE { Ok(None) } else { T::from_value(value).map(Some) }
    }
}

impl<T: ToValue> ToValue for Option<T> {
    fn to_value(&self) -> OpgridValue {
        self.as_ref().map_or(OpgridValue::NONE, ToValue::to_value)
    }
}

impl IntoResults for () {
    fn leave(self, _: &mut Call<'_>) -> Result<()> {
        Ok(())
    }
}

impl<T: ToValue> IntoResults for T {
    fn leave(self, call: &mut Call<'_>) -> Result<()> {
        call.push(&self)
    }
}

/// Implements results of several values.
macro_rules! several {
    ($(($($name:ident),*);)*) => {$(
        impl<$($name: ToValue),*> IntoResults for ($($name,)*) {
            #[allow(non_snake_case, reason = "each value is named as its type")]
            fn leave(self, call: &mut Call<'_>) -> Result<()> {
                let ($($name,)*) = self;
                $(call.push(&$name)?;)*
                Ok(())
            }
        }

        impl<$($name: SchemaType),*> ResultTypes for ($($name,)*) {
            fn text() -> String {
                format!("({})", [$($name::text()),*].join(", "))
            }
        }
    )*};
}

several! {
    (A, B);
    (A, B, C);
    (A, B, C, D);
}

/// A value of any kind that the host gave.
pub struct Value(OpgridValue);

impl Value {
    /// Takes a value that belongs to the plugin.
    pub(crate) fn of_host(value: OpgridValue) -> Self {
        Self(value)
    }

    /// The value as a `T`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Value`]: it is of another kind.
    pub fn to<T: FromValue>(&self) -> Result<T> {
        let api = host::api()?;
        let (mut view, mut error) = (OpgridValue::NONE, ptr::null_mut());
        // SAFETY: the value is the host's, and lives here.
        check(unsafe { (api.value_view)(&raw const self.0, &raw mut view, &raw mut error) }, error)?;
        T::from_value(&view)
    }
}

impl ToValue for Value {
    fn to_value(&self) -> OpgridValue {
        self.0
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        if let Some(api) = host::known() {
            // SAFETY: the value belongs to this, which goes.
            unsafe { (api.value_release)(&raw mut self.0) }
        }
    }
}
