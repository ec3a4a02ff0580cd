//! Values as both sides see them: a tag, a size and one word.

use std::ffi::c_char;

/// No value: an optional that is absent.
pub const OPGRID_NONE: u32 = 0;
/// `tensor`: a tensor.
pub const OPGRID_TENSOR: u32 = 1;
/// `int_value`: an integer.
pub const OPGRID_INT: u32 = 2;
/// `float_value`: a floating-point number.
pub const OPGRID_FLOAT: u32 = 3;
/// `floats`: a complex number, its real and its imaginary part.
pub const OPGRID_COMPLEX: u32 = 4;
/// `int_value`: 0 or 1.
pub const OPGRID_BOOL: u32 = 5;
/// `text` of `size` bytes of UTF-8, which need not end in a zero byte.
pub const OPGRID_STR: u32 = 6;
/// `int_value`: torch's number of a dtype, such as `OPGRID_DTYPE_FLOAT32`.
pub const OPGRID_DTYPE: u32 = 7;
/// `int_value`: torch's number of a layout.
pub const OPGRID_LAYOUT: u32 = 8;
/// `int_value`: torch's number of a memory format.
pub const OPGRID_MEMORY_FORMAT: u32 = 9;
/// `device`: a device.
pub const OPGRID_DEVICE: u32 = 10;
/// `ints`: a list of `size` integers.
pub const OPGRID_INTS: u32 = 11;
/// `floats`: a list of `size` floating-point numbers.
pub const OPGRID_FLOATS: u32 = 12;
/// `bools`: a list of `size` bytes, each 0 or 1.
pub const OPGRID_BOOLS: u32 = 13;
/// `tensors`: a list of `size` tensors.
pub const OPGRID_TENSORS: u32 = 14;
/// `tensors`: a list of `size` tensors, null where one is absent.
pub const OPGRID_OPTIONAL_TENSORS: u32 = 15;
/// `other`: a lent value of another kind (a tuple, a dict, an object, a list of lists), to be handed on. Its elements, if it
/// has any, are read by `value_element`.
pub const OPGRID_OTHER: u32 = 16;
/// `other`: a value that belongs to its holder, as `call` and others write it. `value_view` opens it.
pub const OPGRID_OWNED: u32 = 17;

/// The dtype uint8.
pub const OPGRID_DTYPE_UINT8: i32 = 0;
/// The dtype int8.
pub const OPGRID_DTYPE_INT8: i32 = 1;
/// The dtype int16.
pub const OPGRID_DTYPE_INT16: i32 = 2;
/// The dtype int32.
pub const OPGRID_DTYPE_INT32: i32 = 3;
/// The dtype int64.
pub const OPGRID_DTYPE_INT64: i32 = 4;
/// The dtype float16.
pub const OPGRID_DTYPE_FLOAT16: i32 = 5;
/// The dtype float32.
pub const OPGRID_DTYPE_FLOAT32: i32 = 6;
/// The dtype float64.
pub const OPGRID_DTYPE_FLOAT64: i32 = 7;
/// The dtype complex64.
pub const OPGRID_DTYPE_COMPLEX64: i32 = 9;
/// The dtype complex128.
pub const OPGRID_DTYPE_COMPLEX128: i32 = 10;
/// The dtype bool.
pub const OPGRID_DTYPE_BOOL: i32 = 11;
/// The dtype qint8.
pub const OPGRID_DTYPE_QINT8: i32 = 12;
/// The dtype quint8.
pub const OPGRID_DTYPE_QUINT8: i32 = 13;
/// The dtype qint32.
pub const OPGRID_DTYPE_QINT32: i32 = 14;
/// The dtype bfloat16.
pub const OPGRID_DTYPE_BFLOAT16: i32 = 15;
/// The dtype float8_e5m2.
pub const OPGRID_DTYPE_FLOAT8_E5M2: i32 = 23;
/// The dtype float8_e4m3fn.
pub const OPGRID_DTYPE_FLOAT8_E4M3FN: i32 = 24;
/// The dtype uint16.
pub const OPGRID_DTYPE_UINT16: i32 = 27;
/// The dtype uint32.
pub const OPGRID_DTYPE_UINT32: i32 = 28;
/// The dtype uint64.
pub const OPGRID_DTYPE_UINT64: i32 = 29;

/// For `tensor_data`: memory is read.
pub const OPGRID_READ: u32 = 1;
/// For `tensor_data`: memory is written, and may be read.
pub const OPGRID_WRITE: u32 = 2;

/// For `program_load`: the weights are not copied but are the memory of the file, which nobody may change or shorten from then on. To
/// replace it by another file is fine.
pub const OPGRID_PROGRAM_MAP: u32 = 1;

/// A tensor. A pointer to one is a counted handle.
pub struct OpgridTensor {
    _opaque: [u8; 0],
}

/// An operator of a dispatcher.
pub struct OpgridOperator {
    _opaque: [u8; 0],
}

/// An error. Errors belong to the host: one that was given back twice does no harm.
pub struct OpgridError {
    _opaque: [u8; 0],
}

/// All that one plugin registers: at once when its entry has returned `OPGRID_OK`, or not at all. The handle stays what it
/// is when the plugin is dropped; then functions that take it fail.
pub struct OpgridLibrary {
    _opaque: [u8; 0],
}

/// A group of registrations in one namespace. It lives until the plugin's entry returns.
pub struct OpgridBlock {
    _opaque: [u8; 0],
}

/// The place of a call's results, and of the call. It lives until the kernel returns.
pub struct OpgridResults {
    _opaque: [u8; 0],
}

/// What keeps others away from a tensor's memory. It is given back once.
pub struct OpgridGuard {
    _opaque: [u8; 0],
}

/// A program. A handle that was given back stays known as such: functions that take it fail.
pub struct OpgridProgram {
    _opaque: [u8; 0],
}

/// A value that only the host knows the inside of.
pub struct OpgridOther {
    _opaque: [u8; 0],
}

/// A text of `size` bytes of UTF-8. Strings that the host gives are lent.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct OpgridText {
    /// The first byte.
    pub data: *const c_char,
    /// The number of bytes.
    pub size: usize,
}

/// A set of dispatch keys. Sets are united, intersected and reduced bit by bit; backends do not count in differences.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpgridKeys {
    /// A bit for each layer.
    pub layers: u64,
    /// A bit for each backend.
    pub backends: u32,
    /// Zero.
    pub reserved: u32,
}

/// A device: torch's number of its kind, or that which `backend` gave, and which one of the kind.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpgridDevice {
    /// 0 is the CPU, 14 is meta.
    pub kind: u32,
    /// −1 is "the current one".
    pub index: i32,
}

/// What a value's tag says that it is.
#[repr(C)]
#[derive(Clone, Copy)]
pub union OpgridPayload {
    /// The payload of `OPGRID_INT`, `OPGRID_BOOL`, `OPGRID_DTYPE`, `OPGRID_LAYOUT` and `OPGRID_MEMORY_FORMAT`.
    pub int_value: i64,
    /// The payload of `OPGRID_FLOAT`.
    pub float_value: f64,
    /// The payload of `OPGRID_TENSOR`.
    pub tensor: *mut OpgridTensor,
    /// The payload of `OPGRID_STR`.
    pub text: *const c_char,
    /// The payload of `OPGRID_DEVICE`.
    pub device: OpgridDevice,
    /// The payload of `OPGRID_INTS`.
    pub ints: *const i64,
    /// The payload of `OPGRID_FLOATS`, and the two parts of `OPGRID_COMPLEX`.
    pub floats: *const f64,
    /// The payload of `OPGRID_BOOLS`.
    pub bools: *const u8,
    /// The payload of `OPGRID_TENSORS` and `OPGRID_OPTIONAL_TENSORS`.
    pub tensors: *const *mut OpgridTensor,
    /// The payload of `OPGRID_OTHER` and `OPGRID_OWNED`.
    pub other: *const OpgridOther,
}

/// A value of any kind that a schema can name.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct OpgridValue {
    /// One of `OPGRID_NONE` to `OPGRID_OWNED`.
    pub tag: u32,
    /// The number of elements or bytes of a list or a text, else 0.
    pub size: u32,
    /// What the tag says.
    pub payload: OpgridPayload,
}

/// What a tensor is like. The pointers are good as long as the tensor is held and not resized.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct OpgridTensorInfo {
    /// The bytes of this structure that the caller knows; set it before asking.
    pub struct_size: usize,
    /// The number of dimensions.
    pub dims: usize,
    /// The size of each dimension.
    pub sizes: *const i64,
    /// The distance between neighbours in each dimension, in elements.
    pub strides: *const i64,
    /// The first element's place in the storage, in elements.
    pub offset: i64,
    /// The number of elements.
    pub numel: i64,
    /// The dtype, `OPGRID_DTYPE_…`.
    pub dtype: i32,
    /// The bytes of one element.
    pub item_size: u32,
    /// Where the elements are.
    pub device: OpgridDevice,
    /// 1 if the elements lie one after another in row-major order, else 0.
    pub is_contiguous: u32,
    /// Zero.
    pub reserved: u32,
    /// The bytes of the storage.
    pub storage_bytes: usize,
    /// The keys that the tensor brings into calls.
    pub keys: OpgridKeys,
}

/// What an input or a result of a program is. The pointers are good as long as the program is held.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct OpgridProgramValue {
    /// The bytes of this structure that the caller knows; set it before asking.
    pub struct_size: usize,
    /// The name; empty for a result that is a constant.
    pub name: OpgridText,
    /// The type as people read it, as in `float32[batch, 8]`.
    pub type_text: OpgridText,
    /// `OPGRID_TENSOR`, `OPGRID_INT`, `OPGRID_FLOAT` or `OPGRID_BOOL`; `OPGRID_OTHER` where the program does not say.
    pub tag: u32,
    /// The dtype of a tensor, `OPGRID_DTYPE_…`; −1 for other values.
    pub dtype: i32,
    /// The number of dimensions of a tensor.
    pub dims: usize,
    /// The smallest size of each dimension.
    pub min_sizes: *const i64,
    /// The largest size of each dimension: the smallest one where it does not vary, `INT64_MAX` where there is none.
    pub max_sizes: *const i64,
}
