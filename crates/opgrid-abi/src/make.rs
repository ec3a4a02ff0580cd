//! How Rust code makes values; the header has nothing of it.

use crate::values::{
    OPGRID_FLOAT, OPGRID_NONE, OPGRID_TENSOR, OpgridDevice, OpgridKeys, OpgridPayload, OpgridProgramValue,
    OpgridTensor, OpgridTensorInfo, OpgridText, OpgridValue,
};

impl OpgridValue {
    /// The absent optional.
    pub const NONE: Self = Self { tag: OPGRID_NONE, size: 0, payload: OpgridPayload { int_value: 0 } };

    /// A value that is a number: an integer, a bool, a dtype, a layout or a memory format, as the tag says.
    #[inline]
    pub const fn number(tag: u32, value: i64) -> Self {
        Self { tag, size: 0, payload: OpgridPayload { int_value: value } }
    }

    /// A floating-point number.
    #[inline]
    pub const fn float(value: f64) -> Self {
        Self { tag: OPGRID_FLOAT, size: 0, payload: OpgridPayload { float_value: value } }
    }

    /// A tensor.
    #[inline]
    pub const fn tensor(tensor: *mut OpgridTensor) -> Self {
        Self { tag: OPGRID_TENSOR, size: 0, payload: OpgridPayload { tensor } }
    }
}

impl Default for OpgridTensorInfo {
    /// Nothing yet, with the size set.
    fn default() -> Self {
        Self {
            struct_size: size_of::<Self>(),
            dims: 0,
            sizes: std::ptr::null(),
            strides: std::ptr::null(),
            offset: 0,
            numel: 0,
            dtype: 0,
            item_size: 0,
            device: OpgridDevice { kind: 0, index: -1 },
            is_contiguous: 0,
            reserved: 0,
            storage_bytes: 0,
            keys: OpgridKeys::default(),
        }
    }
}

impl Default for OpgridProgramValue {
    /// Nothing yet, with the size set.
    fn default() -> Self {
        let nothing = OpgridText { data: std::ptr::null(), size: 0 };
        Self {
            struct_size: size_of::<Self>(),
            name: nothing,
            type_text: nothing,
            tag: OPGRID_NONE,
            dtype: -1,
            dims: 0,
            min_sizes: std::ptr::null(),
            max_sizes: std::ptr::null(),
        }
    }
}

const _: () = assert!(size_of::<OpgridValue>() == 16 && size_of::<*const u8>() == 8);
