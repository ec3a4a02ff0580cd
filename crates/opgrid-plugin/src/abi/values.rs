//! The dispatcher's values as plugins see them, and plugins' values as the dispatcher takes them. Nothing is copied on the
//! way in either direction but what results own.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;

use opgrid_abi::{
    OPGRID_BOOL, OPGRID_BOOLS, OPGRID_COMPLEX, OPGRID_DEVICE, OPGRID_DTYPE, OPGRID_FLOAT, OPGRID_FLOATS,
    OPGRID_INT, OPGRID_INTS, OPGRID_LAYOUT, OPGRID_MEMORY_FORMAT, OPGRID_NONE, OPGRID_OPTIONAL_TENSORS,
    OPGRID_OTHER, OPGRID_OWNED, OPGRID_STR, OPGRID_TENSOR, OPGRID_TENSORS, OpgridDevice, OpgridError,
    OpgridOther, OpgridPayload, OpgridTensor, OpgridValue,
};
use opgrid_core::{
    AnyTensor, Complex64, DType, Device, DeviceType, Error, ErrorKind, Layout, MemoryFormat, Result, Value,
    ValueRef, ValueView,
};

use super::errors::{answer, quietly};
use super::{lent, refused, slice, write};

/// How many arguments lie on the stack.
const FEW: usize = 8;

const _: () = assert!(size_of::<Complex64>() == 16 && align_of::<Complex64>() == align_of::<f64>());

/// A handle as plugins hold it.
pub(super) fn raw(tensor: &AnyTensor) -> *mut OpgridTensor {
    tensor.as_raw().as_ptr().cast()
}

/// By how much indices of fake devices are above those of others, for each number of a kind.
const FAKE: i32 = 256;

pub(super) fn device_to(device: Device) -> OpgridDevice {
    let mut index = device.index().map_or(-1, |index| index as i32);
    if device.is_fake() {
        // Plugins see the meta device; the index, which they hand back, says what it passes for.
        index += FAKE * (1 + i32::from(device.real().kind().number()));
    }
    OpgridDevice { kind: u32::from(device.kind().number()), index }
}

pub(super) fn device_from(device: OpgridDevice) -> Result<Device> {
    if device.kind == u32::from(DeviceType::Meta.number()) && (FAKE - 1..i32::MAX).contains(&device.index) {
        let (number, index) = ((device.index + 1) / FAKE - 1, (device.index + 1) % FAKE - 1);
        return Ok(device_from(OpgridDevice { kind: number as u32, index })?.fake());
    }
    let kind = u8::try_from(device.kind).ok().and_then(DeviceType::from_number);
    let kind = kind.ok_or_else(|| {
        refused(format!(
            "there is no kind of device {}; take it from a tensor or from `backend`",
            device.kind
        ))
    })?;
    match usize::try_from(device.index) {
        Ok(index) => Device::numbered(kind, index),
        Err(_) => Ok(Device::from_type(kind)),
    }
}

fn list<T>(tag: u32, items: &[T], payload: OpgridPayload) -> OpgridValue {
    // Lists of more elements cannot be named by this version; they travel closed.
    match u32::try_from(items.len()) {
        Ok(size) => OpgridValue { tag, size, payload },
        Err(_) => OpgridValue { tag: OPGRID_OTHER, size: 0, payload },
    }
}

/// A value as plugins see it, lent for as long as `value` lies where it does.
pub(super) fn lend(value: &ValueRef<'_>) -> OpgridValue {
    match value.view() {
        ValueView::Tensor(tensor) => OpgridValue::tensor(raw(tensor)),
        ValueView::Int(number) => OpgridValue::number(OPGRID_INT, number),
        ValueView::Float(number) => OpgridValue::float(number),
        ValueView::None => OpgridValue::NONE,
        ValueView::Bool(flag) => OpgridValue::number(OPGRID_BOOL, i64::from(flag)),
        other => lend_other(value, other),
    }
}

fn lend_other(value: &ValueRef<'_>, view: ValueView<'_>) -> OpgridValue {
    let closed = |size: usize| {
        let other: *const OpgridOther = std::ptr::from_ref(value).cast();
        let size = u32::try_from(size).unwrap_or(0);
        OpgridValue { tag: OPGRID_OTHER, size, payload: OpgridPayload { other } }
    };
    let lent = match view {
        ValueView::Str(text) => {
            list(OPGRID_STR, text.as_bytes(), OpgridPayload { text: text.as_ptr().cast() })
        }
        ValueView::DType(dtype) => OpgridValue::number(OPGRID_DTYPE, dtype.number()),
        ValueView::Layout(layout) => OpgridValue::number(OPGRID_LAYOUT, layout.number()),
        ValueView::MemoryFormat(format) => OpgridValue::number(OPGRID_MEMORY_FORMAT, format.number()),
        ValueView::Device(device) => {
            OpgridValue { tag: OPGRID_DEVICE, size: 0, payload: OpgridPayload { device: device_to(device) } }
        }
        ValueView::Ints(items) => list(OPGRID_INTS, items, OpgridPayload { ints: items.as_ptr() }),
        ValueView::Floats(items) => list(OPGRID_FLOATS, items, OpgridPayload { floats: items.as_ptr() }),
        ValueView::Bools(items) => list(OPGRID_BOOLS, items, OpgridPayload { bools: items.as_ptr().cast() }),
        ValueView::Tensors(items) => {
            list(OPGRID_TENSORS, items, OpgridPayload { tensors: items.as_ptr().cast() })
        }
        ValueView::OptionalTensors(items) => {
            list(OPGRID_OPTIONAL_TENSORS, items, OpgridPayload { tensors: items.as_ptr().cast() })
        }
        ValueView::List(_, items) | ValueView::Tuple(items) => return closed(items.len()),
        ValueView::Complex(_) => value.as_complex().map_or(OpgridValue::NONE, complex),
        _ => return closed(0),
    };
    if lent.tag == OPGRID_OTHER { closed(0) } else { lent }
}

/// Lends values to `body`.
#[inline]
pub(super) fn with_lent<X>(values: &[ValueRef<'_>], body: impl FnOnce(&[OpgridValue]) -> X) -> X {
    let mut few = [const { MaybeUninit::<OpgridValue>::uninit() }; FEW];
    let Some(few) = few.get_mut(..values.len()) else { return with_many_lent(values, body) };
    for (place, value) in few.iter_mut().zip(values) {
        // Written in parts where it is to lie: a value that is moved right after it was written waits for the memory.
        match value.as_tensor() {
            Some(tensor) => *place = MaybeUninit::new(OpgridValue::tensor(raw(tensor))),
            None => lend_at(place, value),
        }
    }
    // SAFETY: every element was written by the loop above, as both slices have one length.
    body(unsafe { std::slice::from_raw_parts(few.as_ptr().cast::<OpgridValue>(), few.len()) })
}

#[inline(never)]
fn lend_at(place: &mut MaybeUninit<OpgridValue>, value: &ValueRef<'_>) {
    place.write(lend(value));
}

#[cold]
#[inline(never)]
fn with_many_lent<X>(values: &[ValueRef<'_>], body: impl FnOnce(&[OpgridValue]) -> X) -> X {
    body(&values.iter().map(lend).collect::<Vec<_>>())
}

/// A plugin's value as the dispatcher takes it.
///
/// # Errors
///
/// A tag that is unknown, a null pointer, a number that stands for nothing, a text that is no UTF-8.
///
/// # Safety
///
/// The payload is what the tag says, and lives for `'a`; pointers may be null or not aligned.
#[inline]
pub(super) unsafe fn read<'a>(value: &'a OpgridValue) -> Result<ValueRef<'a>> {
    let payload = &value.payload;
    // SAFETY, for every union field below: guaranteed by the caller, see `# Safety`. All bytes of a payload are initialised.
    match value.tag {
        // SAFETY: guaranteed by the caller, see `# Safety`: by its tag the payload is a handle or null.
        OPGRID_TENSOR if unsafe { !payload.tensor.is_null() } => {
            let handle: *const AnyTensor = (&raw const payload.tensor).cast();
            // SAFETY: a handle is nothing but its pointer (`AnyTensor::into_raw`), which lies in the value.
            Ok(ValueRef::from(unsafe { &*handle }))
        }
        // SAFETY: guaranteed by the caller, see `# Safety`: by its tag the payload is an integer.
        OPGRID_INT => Ok(ValueRef::from(unsafe { payload.int_value })),
        // SAFETY: guaranteed by the caller, see `# Safety`: by its tag the payload is a float.
        OPGRID_FLOAT => Ok(ValueRef::from(unsafe { payload.float_value })),
        OPGRID_NONE => Ok(ValueRef::NONE),
        // SAFETY: guaranteed by the caller, see `# Safety`, which is that of `read_other`.
        _ => unsafe { read_other(value) },
    }
}

/// # Safety
///
/// As of [`read`].
#[inline(never)]
unsafe fn read_other<'a>(value: &'a OpgridValue) -> Result<ValueRef<'a>> {
    let (payload, size) = (&value.payload, value.size as usize);
    // SAFETY: for every union field and every slice below: guaranteed by the caller, see `# Safety`.
    unsafe {
        Ok(match value.tag {
            OPGRID_BOOL => match payload.int_value {
                0 => ValueRef::from(false),
                1 => ValueRef::from(true),
                found => return Err(refused(format!("a bool is {found}, expected 0 or 1"))),
            },
            OPGRID_COMPLEX => ValueRef::from(lent(payload.floats.cast::<Complex64>(), "a complex number")?),
            OPGRID_STR => {
                let bytes = slice(payload.text.cast::<u8>(), size, "a text")?;
                let text = std::str::from_utf8(bytes);
                ValueRef::from(text.map_err(|error| refused(format!("a string is not UTF-8: {error}")))?)
            }
            OPGRID_DTYPE => ValueRef::from(dtype_from(payload.int_value)?),
            OPGRID_LAYOUT => {
                let layout = Layout::from_number(payload.int_value);
                ValueRef::from(layout.ok_or_else(|| unknown("layout", payload.int_value))?)
            }
            OPGRID_MEMORY_FORMAT => {
                let format = MemoryFormat::from_number(payload.int_value);
                ValueRef::from(format.ok_or_else(|| unknown("memory format", payload.int_value))?)
            }
            OPGRID_DEVICE => ValueRef::from(device_from(payload.device)?),
            OPGRID_INTS => ValueRef::from(slice(payload.ints, size, "a list of integers")?),
            OPGRID_FLOATS => ValueRef::from(slice(payload.floats, size, "a list of floats")?),
            OPGRID_BOOLS => {
                let bytes = slice(payload.bools, size, "a list of bools")?;
                if let Some(found) = bytes.iter().find(|byte| **byte > 1) {
                    return Err(refused(format!("a list of bools has an element {found}, expected 0 or 1")));
                }
                // Every byte is 0 or 1, as a bool is.
                ValueRef::from(slice(payload.bools.cast::<bool>(), size, "a list of bools")?)
            }
            OPGRID_TENSORS => {
                let handles = slice(payload.tensors, size, "a list of tensors")?;
                if let Some(place) = handles.iter().position(|handle| handle.is_null()) {
                    let message = format!(
                        "element {place} of a list of tensors is null; use OPGRID_OPTIONAL_TENSORS for \
                         missing ones"
                    );
                    return Err(refused(message));
                }
                // None is null, so that each is a handle.
                ValueRef::from(slice(payload.tensors.cast::<AnyTensor>(), size, "a list of tensors")?)
            }
            OPGRID_OPTIONAL_TENSORS => {
                ValueRef::from(slice(payload.tensors.cast::<Option<AnyTensor>>(), size, "a list of tensors")?)
            }
            OPGRID_OTHER => *lent(payload.other.cast::<ValueRef<'a>>(), "a closed value")?,
            OPGRID_OWNED => lent(payload.other.cast::<Value>(), "an owned value")?.borrow(),
            OPGRID_TENSOR => return Err(refused("a tensor is null; use OPGRID_NONE for an absent one")),
            tag => return Err(unknown_tag(tag)),
        })
    }
}

pub(super) fn dtype_from(number: i64) -> Result<DType> {
    DType::from_number(number).ok_or_else(|| unknown("dtype", number))
}

#[cold]
fn unknown(what: &str, number: i64) -> Error {
    refused(format!("there is no {what} {number}, expected one of torch's numbers"))
}

#[cold]
fn unknown_tag(tag: u32) -> Error {
    refused(format!("a value has tag {tag}, expected OPGRID_NONE to OPGRID_OWNED ({OPGRID_OWNED})"))
}

/// Gives `count` values of a plugin to `body`.
///
/// # Errors
///
/// Those of `body`; a value that cannot be.
///
/// # Safety
///
/// As of [`read`], for every value.
#[inline]
pub(super) unsafe fn with_read<X>(
    values: *const OpgridValue,
    count: usize,
    body: impl FnOnce(&[ValueRef<'_>]) -> Result<X>,
) -> Result<X> {
    // SAFETY: guaranteed by the caller, see `# Safety`.
    let values = unsafe { slice(values, count, "arguments") }?;
    let mut few = [ValueRef::NONE; FEW];
    match few.get_mut(..values.len()) {
        Some(few) => {
            for (index, (place, value)) in few.iter_mut().zip(values).enumerate() {
                // SAFETY: guaranteed by the caller, see `# Safety`.
                *place = unsafe { read(value) }.map_err(|error| at(error, index))?;
            }
            body(few)
        }
        None => {
            let each = values.iter().enumerate().map(|(index, value)| {
                // SAFETY: guaranteed by the caller, see `# Safety`, for every value.
                unsafe { read(value) }.map_err(|error| at(error, index))
            });
            body(&each.collect::<Result<Vec<_>>>()?)
        }
    }
}

#[cold]
fn at(error: Error, index: usize) -> Error {
    error.within(format_args!("argument {}", index + 1))
}

/// A value that belongs to a plugin.
pub(super) fn give(value: Value) -> OpgridValue {
    match value {
        Value::None => OpgridValue::NONE,
        Value::Tensor(tensor) => OpgridValue::tensor(tensor.into_raw().as_ptr().cast()),
        Value::Int(_)
        | Value::Float(_)
        | Value::Bool(_)
        | Value::DType(_)
        | Value::Layout(_)
        | Value::MemoryFormat(_)
        | Value::Device(_) => lend(&value.borrow()),
        other => {
            let other = Box::into_raw(Box::new(other)).cast_const().cast();
            OpgridValue { tag: OPGRID_OWNED, size: 0, payload: OpgridPayload { other } }
        }
    }
}

/// Takes a value back that [`give`] gave, and leaves nothing.
///
/// # Safety
///
/// `give` made the value, and nobody took it back since; or it is of a kind that owns nothing.
pub(super) unsafe fn take_back(value: &mut OpgridValue) {
    let taken = std::mem::replace(value, OpgridValue::NONE);
    // SAFETY: guaranteed by the caller, see `# Safety`; the tag says which field it is.
    unsafe {
        match taken.tag {
            OPGRID_TENSOR => drop(super::tensors::handle(taken.payload.tensor)),
            OPGRID_OWNED if !taken.payload.other.is_null() => {
                drop(Box::from_raw(taken.payload.other.cast_mut().cast::<Value>()));
            }
            _ => {}
        }
    }
}

/// A value that lies somewhere as plugins see it. A closed one is handed on as the owned value that it is.
pub(super) fn opened(value: &Value) -> OpgridValue {
    let view = lend(&value.borrow());
    if view.tag != OPGRID_OTHER {
        return view;
    }
    let other = std::ptr::from_ref(value).cast();
    OpgridValue { tag: OPGRID_OWNED, size: view.size, payload: OpgridPayload { other } }
}

pub(super) unsafe extern "C" fn value_view(
    value: *const OpgridValue,
    out: *mut OpgridValue,
    error: *mut *mut OpgridError,
) -> i32 {
    let body = || {
        // SAFETY: the plugin guarantees that its pointers are null or what their types say, and payloads what their tags
        // say.
        let value = unsafe { lent(value, "a value") }?;
        let view = match value.tag {
            OPGRID_OWNED => {
                // SAFETY: the plugin guarantees that payloads are what their tags say: here the address of an owned value, or null.
                let owned = unsafe { lent(value.payload.other.cast::<Value>(), "an owned value") }?;
                opened(owned)
            }
            OPGRID_OTHER => {
                // SAFETY: the plugin guarantees that payloads are what their tags say: here the address of a
                // value that a call lends, or null.
                let closed = unsafe { lent(value.payload.other.cast::<ValueRef<'_>>(), "a closed value") }?;
                lend(closed)
            }
            _ => *value,
        };
        // SAFETY: the plugin guarantees that the address of the result is null or can be written.
        unsafe { write(out, view) }
    };
    // SAFETY: the plugin guarantees that the address of its error is null or can be written.
    unsafe { answer(error, body) }
}

fn complex(number: &Complex64) -> OpgridValue {
    let floats = std::ptr::from_ref(number).cast();
    OpgridValue { tag: OPGRID_COMPLEX, size: 0, payload: OpgridPayload { floats } }
}

pub(super) unsafe extern "C" fn value_release(value: *mut OpgridValue) {
    quietly((), || {
        if !value.is_null() && value.is_aligned() {
            // SAFETY: the plugin guarantees that the value belongs to it.
            unsafe { take_back(&mut *value) };
        }
    });
}

pub(super) unsafe extern "C" fn value_element(
    value: *const OpgridValue,
    index: usize,
    out: *mut OpgridValue,
    error: *mut *mut OpgridError,
) -> i32 {
    let body = || {
        // SAFETY: the plugin guarantees that its pointers are null or what their types say, and payloads what their tags
        // say.
        let value = unsafe { read(lent(value, "a value")?) }?;
        let element = match value.to_value() {
            Value::List(list) => list.values().into_iter().nth(index),
            Value::Tuple(items) => items.get(index).cloned(),
            _ => return Err(refused(format!("a {} has no elements", value.value_type().python_name()))),
        };
        let element = element.ok_or_else(|| {
            Error::new(
                ErrorKind::Index,
                format!("element {index} is beyond the end of the value; ask for fewer"),
            )
        })?;
        // SAFETY: the plugin guarantees that the address of the result is null or can be written.
        unsafe { write(out, give(element)) }
    };
    // SAFETY: the plugin guarantees that the address of its error is null or can be written.
    unsafe { answer(error, body) }
}

pub(super) unsafe extern "C" fn value_text(
    value: *const OpgridValue,
    out: *mut OpgridValue,
    error: *mut *mut OpgridError,
) -> i32 {
    let body = || {
        // SAFETY: the plugin guarantees that its pointers are null or what their types say, and payloads what their tags
        // say.
        let value = unsafe { read(lent(value, "a value")?) }?;
        // SAFETY: the plugin guarantees that the address of the result is null or can be written.
        unsafe { write(out, give(Value::from(value.to_string()))) }
    };
    // SAFETY: the plugin guarantees that the address of its error is null or can be written.
    unsafe { answer(error, body) }
}
