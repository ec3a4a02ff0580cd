//! The table of one operator: an immutable block that a call reads once.
//!
//! ```text
//!   0  mask: u64 per backend (32)      layers that are not fallen through
//! 256  row: u8 per layer (64)          where the layer's row begins, in lines of 32 bytes
//! 320  pointer to what explains the table (`About`)
//! 328  pointers to kernels, 8 bytes each, then padding to a whole line
//!   …  rows: u8 kernel number per backend (32); equal rows are stored once
//! ```
//!
//! A look-up is `b = highest backend`, `l = layers & mask[b]`, `t = highest layer`, `kernel[line[row[t]][b]]`.
//! "No layer" is bit 0, Undefined; "no backend" is bit 0, CPU, as in torch.
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::Arc;

use crate::kernel::KernelRecord;
use crate::operator::{Definition, OperatorHandle};
use crate::resolve::Reason;
use crate::{BackendComponent, DispatchKey, DispatchKeySet, Error, ErrorKind, Functionality, Result};

const BACKENDS: usize = BackendComponent::COUNT;
const LAYERS: usize = Functionality::COUNT;
const LINE: usize = 32;
const ROW: usize = BACKENDS * 8;
const ABOUT: usize = ROW + LAYERS;
const KERNELS: usize = ABOUT + 8;

const _: () = assert!(BACKENDS == LINE, "a row is one line");

/// A kernel together with the rule that chose it.
#[derive(Clone)]
pub(crate) struct Slot {
    pub(crate) kernel: Arc<KernelRecord>,
    pub(crate) reason: Reason,
}

/// One kernel number per backend, while a table is put together.
pub(crate) type Row = [u16; BACKENDS];

/// A table while it is put together.
#[derive(Clone)]
pub(crate) struct Draft {
    slots: Vec<Slot>,
    rows: Vec<Row>,
    row_of: [u8; LAYERS],
    masks: [u64; BACKENDS],
}

impl Draft {
    /// A table whose every slot is `slot`.
    pub(crate) fn filled(slot: Slot) -> Self {
        Self {
            slots: vec![slot],
            rows: vec![[0; BACKENDS]],
            row_of: [0; LAYERS],
            masks: [u64::MAX; BACKENDS],
        }
    }

    /// The number of `slot`, new or known.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Registration`] for more kernels than there can be keys.
    pub(crate) fn number(&mut self, slot: Slot) -> Result<u16> {
        let same = |known: &Slot| Arc::ptr_eq(&known.kernel, &slot.kernel) && known.reason == slot.reason;
        let known = self.slots.iter().rposition(same);
        let number = known.unwrap_or_else(|| {
            self.slots.push(slot);
            self.slots.len() - 1
        });
        u16::try_from(number).map_err(|_| {
            let message = "one operator cannot have more than 65,536 distinct kernels; merge some of them";
            Error::new(ErrorKind::Registration, message)
        })
    }

    /// The row of a layer.
    pub(crate) fn row(&self, layer: Functionality) -> Row {
        self.rows[usize::from(self.row_of[layer.position() as usize])]
    }

    /// Sets the row of a layer, and with it the layer's bit in the masks.
    pub(crate) fn set_row(&mut self, layer: Functionality, row: Row) -> Result<()> {
        let bit = 1u64 << layer.position();
        for (mask, &number) in self.masks.iter_mut().zip(&row) {
            let falls_through = self.slots[usize::from(number)].kernel.is_fallthrough();
            *mask = if falls_through { *mask & !bit } else { *mask | bit };
        }
        let known = self.rows.iter().position(|known| *known == row);
        let place = known.unwrap_or_else(|| {
            self.rows.push(row);
            self.rows.len() - 1
        });
        let too_many = |_| Error::new(ErrorKind::Internal, "a table has more rows than layers");
        self.row_of[layer.position() as usize] = u8::try_from(place).map_err(too_many)?;
        Ok(())
    }

    /// The slots that some cell of the rows `used` holds, and those rows by the new numbers.
    ///
    /// Fallbacks that the operator's own kernels stand before drop out here. What is left is at most one slot for
    /// each key, so that a number fits a byte.
    fn reached(&self, used: &[u8]) -> Result<(Vec<Slot>, Vec<[u8; BACKENDS]>)> {
        let mut numbers = vec![None; self.slots.len()];
        let mut slots = Vec::new();
        let mut rows = Vec::with_capacity(used.len());
        for &row in used {
            let mut line = [0; BACKENDS];
            for (byte, &old) in line.iter_mut().zip(&self.rows[usize::from(row)]) {
                let number = *numbers[usize::from(old)].get_or_insert_with(|| {
                    slots.push(self.slots[usize::from(old)].clone());
                    slots.len() - 1
                });
                *byte = u8::try_from(number).map_err(|_| {
                    let message =
                        "one operator cannot reach more than 256 distinct kernels; merge some of them";
                    Error::new(ErrorKind::Registration, message)
                })?;
            }
            rows.push(line);
        }
        Ok((slots, rows))
    }

    /// The finished block.
    pub(crate) fn publish(
        self,
        operator: OperatorHandle,
        definition: Option<Arc<Definition>>,
    ) -> Result<Table> {
        // Rows of the base that no layer uses any more are left out.
        let mut used: Vec<u8> = self.row_of.to_vec();
        used.sort_unstable();
        used.dedup();
        let (slots, rows) = self.reached(&used)?;
        let first_row = (KERNELS + slots.len() * 8).div_ceil(LINE);
        let size = (first_row + used.len()) * LINE;
        if first_row + used.len() > 256 {
            let message = format!("{}: too many distinct kernels for one operator", operator.name());
            return Err(Error::new(ErrorKind::Registration, message));
        }
        let layout = Layout::from_size_align(size, 64).expect("a table is small and 64 is a power of two");
        // SAFETY: the size is not 0.
        let Some(block) = NonNull::new(unsafe { alloc(layout) }) else { handle_alloc_error(layout) };
        let put = |offset: usize, bytes: &[u8]| {
            // SAFETY: every offset below lies, with its bytes, within `size`; the block is new and nobody else's.
            unsafe { block.add(offset).copy_from_nonoverlapping(NonNull::from(bytes).cast(), bytes.len()) }
        };
        for (backend, mask) in self.masks.iter().enumerate() {
            put(backend * 8, &mask.to_ne_bytes());
        }
        let line_of = |row: u8| (first_row + used.partition_point(|&other| other < row)) as u8;
        put(ROW, &self.row_of.map(line_of));
        for (place, row) in rows.iter().enumerate() {
            put((first_row + place) * LINE, row);
        }
        for (number, slot) in slots.iter().enumerate() {
            let pointer = Arc::as_ptr(&slot.kernel);
            // SAFETY: within `size`, and aligned: `KERNELS` is a multiple of 8.
            unsafe { block.add(KERNELS + number * 8).cast::<*const KernelRecord>().write(pointer) };
        }
        let about = Box::new(About { operator, definition, slots });
        // SAFETY: within `size`, and aligned: `ABOUT` is a multiple of 8.
        unsafe { block.add(ABOUT).cast::<*const About>().write(Box::into_raw(about)) };
        Ok(Table { block, layout })
    }
}

/// What explains a table, and what keeps its kernels alive.
struct About {
    operator: OperatorHandle,
    definition: Option<Arc<Definition>>,
    slots: Vec<Slot>,
}

/// An owned block.
pub(crate) struct Table {
    block: NonNull<u8>,
    layout: Layout,
}

// SAFETY: a block is immutable; what it points to is `Send + Sync`.
unsafe impl Send for Table {}

impl Table {
    /// The pointer that calls read.
    pub(crate) fn as_ptr(&self) -> *mut u8 {
        self.block.as_ptr()
    }

    /// How many bytes the table takes, without its kernels.
    pub(crate) fn size_in_bytes(&self) -> usize {
        self.layout.size() + size_of::<About>() + self.as_ref().slot_count() * size_of::<Slot>()
    }

    pub(crate) fn as_ref(&self) -> TableRef<'_> {
        TableRef(self.block, PhantomData)
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        let about = self.as_ref().about_ptr();
        // SAFETY: `publish` made both; the owner gives them up, and retirement has made sure that no call reads them.
        unsafe {
            // The kernels go last: freeing one may panic.
            dealloc(self.block.as_ptr(), self.layout);
            drop(Box::from_raw(about.cast_mut()));
        }
    }
}

/// A table that this thread's nesting mark keeps alive. It must not leave the thread.
#[derive(Clone, Copy)]
pub(crate) struct TableRef<'t>(NonNull<u8>, PhantomData<(&'t (), *const ())>);

impl<'t> TableRef<'t> {
    /// The table behind a pointer read from an operator, or `None` for null.
    ///
    /// # Safety
    ///
    /// The pointer is null or was published, and the table is not freed during `'t`: the caller's thread has marked
    /// a dispatch since before it read the pointer, or holds the registry's lock.
    #[inline(always)]
    pub(crate) unsafe fn new(pointer: *mut u8) -> Option<Self> {
        NonNull::new(pointer).map(|block| Self(block, PhantomData))
    }

    /// `keys` without the layers that the operator falls through.
    #[inline(always)]
    pub(crate) fn mask(self, keys: DispatchKeySet) -> DispatchKeySet {
        let backend = (keys.backends() | 1).ilog2() as usize;
        // SAFETY: `backend < 32`, and the block begins with 32 masks.
        let mask = unsafe { self.0.cast::<u64>().add(backend).read() };
        DispatchKeySet::from_parts(keys.layers() & mask, keys.backends())
    }

    #[inline(always)]
    fn number_at(self, layer: u32, backend: u32) -> u8 {
        // SAFETY: `layer < 64` and `backend < 32`, as they are logarithms; the row's line lies within the block.
        unsafe {
            let line = self.0.add(ROW + layer as usize).read();
            self.0.add(usize::from(line) * LINE + backend as usize).read()
        }
    }

    /// The kernel of the highest layer and the highest backend of `keys`.
    #[inline(always)]
    pub(crate) fn kernel(self, keys: DispatchKeySet) -> &'t KernelRecord {
        let layer = (keys.layers() | 1).ilog2();
        let backend = (keys.backends() | 1).ilog2();
        let number = self.number_at(layer, backend);
        // SAFETY: every number in a row is that of a kernel in the block, and the table keeps its kernels alive.
        unsafe { &*self.0.add(KERNELS + usize::from(number) * 8).cast::<*const KernelRecord>().read() }
    }

    fn about_ptr(self) -> *const About {
        // SAFETY: `publish` wrote the pointer there.
        unsafe { self.0.add(ABOUT).cast::<*const About>().read() }
    }

    #[inline]
    fn about(self) -> &'t About {
        // SAFETY: the pointer lives as long as the table.
        unsafe { &*self.about_ptr() }
    }

    /// The operator whose table this is.
    #[inline]
    pub(crate) fn operator(self) -> &'t OperatorHandle {
        &self.about().operator
    }

    /// What the operator's definition said when the table was published.
    #[inline]
    pub(crate) fn definition(self) -> Option<&'t Definition> {
        self.about().definition.as_deref()
    }

    fn slot_count(self) -> usize {
        self.about().slots.len()
    }

    /// The slot that a call with exactly these keys reaches.
    pub(crate) fn slot(self, keys: DispatchKeySet) -> &'t Slot {
        let number = self.number_at((keys.layers() | 1).ilog2(), (keys.backends() | 1).ilog2());
        &self.about().slots[usize::from(number)]
    }

    /// The slot of a runtime key.
    pub(crate) fn slot_of(self, key: DispatchKey) -> &'t Slot {
        let backend = key.backend().map_or(0, BackendComponent::position);
        &self.about().slots[usize::from(self.number_at(key.functionality().position(), backend))]
    }

    /// The layers that calls on the highest backend of `keys` do not fall through.
    pub(crate) fn kept_layers(self, keys: DispatchKeySet) -> u64 {
        self.mask(DispatchKeySet::from_parts(u64::MAX, keys.backends())).layers()
    }
}
