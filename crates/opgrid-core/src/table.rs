//! The table of one operator: an immutable block that a call reads once.
//!
//! ```text
//!   0  mask: u64 per backend (32)      layers that are not fallen through
//! 256  row: u8 per layer (64)          where the layer's row begins, in lines of 32 bytes
//! 320  the operator, its definition, the base, how many kernels and rows there are
//!   …  pointers to kernels, 8 bytes each: those of the base, then the operator's own; padding to a whole line
//!   …  rows: u8 kernel number per backend (32): those of the base, then the operator's own
//!   …  the reasons of the operator's own kernels
//! ```
//!
//! A look-up is `b = highest backend`, `l = layers & mask[b]`, `t = highest layer`, `kernel[line[row[t]][b]]`.
//! "No layer" is bit 0, Undefined; "no backend" is bit 0, CPU, as in torch.
//!
//! What the fallbacks alone give is the same for every operator of a dispatcher: the [`Base`]. A table copies its
//! rows and pointers and adds what the operator's kernels change, usually a single row.
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::Arc;

use crate::kernel::{Kernel, KernelRecord};
use crate::operator::{Definition, OperatorHandle};
use crate::resolve::{Reason, Rules};
use crate::{BackendComponent, DispatchKey, DispatchKeySet, Error, ErrorKind, Functionality, Result};

const BACKENDS: usize = BackendComponent::COUNT;
const LAYERS: usize = Functionality::COUNT;
const LINE: usize = 32;
const ROW: usize = BACKENDS * 8;
const KERNELS: usize = size_of::<Head>();
/// How many kernels a number of one byte can name.
const MOST_KERNELS: usize = 256;

const _: () = assert!(BACKENDS == LINE, "a row is one line");
const _: () = assert!(std::mem::offset_of!(Head, lines) == ROW && KERNELS.is_multiple_of(8));

/// A kernel together with the rule that chose it.
#[derive(Clone)]
pub(crate) struct Slot {
    pub(crate) kernel: Arc<KernelRecord>,
    pub(crate) reason: Reason,
}

/// One kernel number per backend, while a table is put together: kernels of the base come first.
pub(crate) type Row = [u16; BACKENDS];

/// The table of an operator without kernels, of which every table of the dispatcher is a changed copy.
pub(crate) struct Base {
    pub(crate) rules: Rules,
    /// The kernel of AutogradOther where no rule chooses.
    pub(crate) ambiguous: Arc<KernelRecord>,
    slots: Vec<Slot>,
    rows: Vec<[u8; BACKENDS]>,
    /// The number of each layer's row.
    row_of: [u8; LAYERS],
    masks: [u64; BACKENDS],
}

impl Base {
    /// A base whose every slot is `slot`.
    pub(crate) fn filled(rules: Rules, slot: Slot) -> Self {
        Self {
            rules,
            ambiguous: Arc::new(Kernel::ambiguous().record),
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
    /// [`ErrorKind::Registration`] for more kernels than a byte can number.
    pub(crate) fn number(&mut self, slot: Slot) -> Result<u8> {
        u8::try_from(number_in(&mut self.slots, slot)).map_err(|_| {
            let message =
                format!("one table cannot hold more than {MOST_KERNELS} kernels; merge some of them");
            Error::new(ErrorKind::Registration, message)
        })
    }

    /// Sets the row of a layer, and with it the layer's bit in the masks.
    pub(crate) fn set_row(&mut self, layer: Functionality, row: [u8; BACKENDS]) {
        mark_fallthroughs(&mut self.masks, layer, |backend| &self.slots[usize::from(row[backend])]);
        let known = self.rows.iter().position(|known| *known == row);
        let number = known.unwrap_or_else(|| {
            self.rows.push(row);
            self.rows.len() - 1
        });
        self.row_of[layer.position() as usize] = u8::try_from(number).expect("there are 64 layers");
    }

    /// The row of a layer.
    pub(crate) fn row(&self, layer: Functionality) -> Row {
        self.rows[usize::from(self.row_of[layer.position() as usize])].map(u16::from)
    }
}

/// The place of `slot` in `slots`, new or known.
fn number_in(slots: &mut Vec<Slot>, slot: Slot) -> usize {
    let same = |known: &Slot| Arc::ptr_eq(&known.kernel, &slot.kernel) && known.reason == slot.reason;
    slots.iter().rposition(same).unwrap_or_else(|| {
        slots.push(slot);
        slots.len() - 1
    })
}

/// Sets or clears the bit of `layer` in each backend's mask.
fn mark_fallthroughs<'s>(
    masks: &mut [u64; BACKENDS],
    layer: Functionality,
    slot: impl Fn(usize) -> &'s Slot,
) {
    let bit = 1u64 << layer.position();
    for (backend, mask) in masks.iter_mut().enumerate() {
        *mask = if slot(backend).kernel.is_fallthrough() { *mask & !bit } else { *mask | bit };
    }
}

/// What an operator's own kernels change in the base, while its table is put together.
pub(crate) struct Draft {
    base: Arc<Base>,
    slots: Vec<Slot>,
    rows: Vec<(Functionality, Row)>,
    masks: [u64; BACKENDS],
}

impl Draft {
    pub(crate) fn of(base: &Arc<Base>) -> Self {
        Self { base: base.clone(), slots: Vec::new(), rows: Vec::new(), masks: base.masks }
    }

    /// The number of `slot`, new or known.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Registration`] for more kernels than there can be keys.
    pub(crate) fn number(&mut self, slot: Slot) -> Result<u16> {
        u16::try_from(self.base.slots.len() + number_in(&mut self.slots, slot)).map_err(|_| {
            let message = "one operator cannot have more than 65,000 kernels; merge some of them";
            Error::new(ErrorKind::Registration, message)
        })
    }

    /// The slot of a number.
    pub(crate) fn slot(&self, number: u16) -> &Slot {
        let number = usize::from(number);
        self.base.slots.get(number).unwrap_or_else(|| &self.slots[number - self.base.slots.len()])
    }

    pub(crate) fn base(&self) -> &Arc<Base> {
        &self.base
    }

    /// Sets the row of a layer.
    pub(crate) fn set_row(&mut self, layer: Functionality, row: Row) {
        if row == self.base.row(layer) {
            return;
        }
        let mut masks = self.masks;
        mark_fallthroughs(&mut masks, layer, |backend| self.slot(row[backend]));
        self.masks = masks;
        self.rows.push((layer, row));
    }

    /// The finished block.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Registration`] for more distinct kernels than a byte can number.
    pub(crate) fn publish(
        self,
        operator: OperatorHandle,
        definition: Option<Arc<Definition>>,
    ) -> Result<Table> {
        if self.base.slots.len() + self.slots.len() <= MOST_KERNELS {
            return Ok(Table::new(self, operator, definition));
        }
        let own = self.own_base().map_err(|error| error.within(operator.name()))?;
        Ok(Table::new(Self::of(&Arc::new(own)), operator, definition))
    }

    /// All of the draft as a base of its own, without the kernels that no cell holds: fallbacks that the operator's
    /// kernels stand before.
    fn own_base(&self) -> Result<Base> {
        let mut own = Base {
            rules: self.base.rules,
            ambiguous: self.base.ambiguous.clone(),
            slots: Vec::new(),
            rows: Vec::new(),
            row_of: [0; LAYERS],
            masks: self.masks,
        };
        for layer in Functionality::all() {
            let changed = self.rows.iter().find(|(changed, _)| *changed == layer);
            let row = changed.map_or_else(|| self.base.row(layer), |(_, row)| *row);
            let mut numbers = [0; BACKENDS];
            for (number, place) in numbers.iter_mut().zip(row) {
                *number = own.number(self.slot(place).clone())?;
            }
            own.set_row(layer, numbers);
        }
        Ok(own)
    }
}

/// The beginning of a block.
///
/// Invariant: `base_kernels` and `own_kernels` pointers to kernels follow, then, from line `first_row`, the rows,
/// then the reasons of the own kernels. The table owns a count of each own kernel; the base owns the others.
#[repr(C)]
struct Head {
    masks: [u64; BACKENDS],
    lines: [u8; LAYERS],
    operator: OperatorHandle,
    definition: Option<Arc<Definition>>,
    base: Arc<Base>,
    own_kernels: u16,
    reasons: u16,
    size: u32,
}

/// An owned block.
pub(crate) struct Table(NonNull<Head>);

// SAFETY: a block is immutable; what it points to is `Send + Sync`.
unsafe impl Send for Table {}

impl Table {
    /// Writes the block: `draft` has at most as many kernels as a byte can number.
    fn new(draft: Draft, operator: OperatorHandle, definition: Option<Arc<Definition>>) -> Self {
        let Draft { base, slots, rows, masks } = draft;
        let first_row = (KERNELS + (base.slots.len() + slots.len()) * 8).div_ceil(LINE);
        let mut lines = base.row_of.map(|row| (first_row as u8).wrapping_add(row));
        for (place, (layer, _)) in rows.iter().enumerate() {
            lines[layer.position() as usize] = (first_row + base.rows.len() + place) as u8;
        }
        let end_of_rows = first_row + base.rows.len() + rows.len();
        debug_assert!(end_of_rows <= 256, "256 kernels and 128 rows fit into 256 lines");
        let reasons = end_of_rows * LINE;
        let layout = layout_of(reasons + slots.len() * size_of::<Reason>());
        // SAFETY: the size is not 0.
        let Some(block) = NonNull::new(unsafe { alloc(layout) }) else { handle_alloc_error(layout) };
        // SAFETY: every place below lies within the block, which is new and nobody else's: `layout` counts the head,
        // the pointers, the rows and the reasons; head, pointers and lines begin at multiples of 8 of a block
        // that is aligned so.
        unsafe {
            let kernels = block.byte_add(KERNELS).cast::<*const KernelRecord>();
            for (number, slot) in base.slots.iter().enumerate() {
                kernels.add(number).write(Arc::as_ptr(&slot.kernel));
            }
            let (own_kernels, own_reasons) =
                (kernels.add(base.slots.len()), block.byte_add(reasons).cast::<Reason>());
            let lines_of_rows = block.byte_add(first_row * LINE).cast::<[u8; BACKENDS]>();
            lines_of_rows.copy_from_nonoverlapping(NonNull::from(&base.rows[..]).cast(), base.rows.len());
            for (place, (_, row)) in rows.iter().enumerate() {
                lines_of_rows.add(base.rows.len() + place).write(row.map(|number| number as u8));
            }
            let own_count = slots.len() as u16;
            for (place, slot) in slots.into_iter().enumerate() {
                own_kernels.add(place).write(Arc::into_raw(slot.kernel));
                own_reasons.add(place).write(slot.reason);
            }
            block.cast::<Head>().write(Head {
                masks,
                lines,
                operator,
                definition,
                base,
                own_kernels: own_count,
                reasons: reasons as u16,
                size: layout.size() as u32,
            });
        }
        Self(block.cast())
    }

    /// The pointer that calls read.
    pub(crate) fn as_ptr(&self) -> *mut u8 {
        self.0.as_ptr().cast()
    }

    /// How many bytes the table takes, without its kernels and without the base.
    pub(crate) fn size_in_bytes(&self) -> usize {
        self.as_ref().head().size as usize
    }

    pub(crate) fn as_ref(&self) -> TableRef<'_> {
        TableRef(self.0.cast(), PhantomData)
    }
}

fn layout_of(size: usize) -> Layout {
    Layout::from_size_align(size, align_of::<Head>()).expect("a table has at most some kilobytes")
}

impl Drop for Table {
    fn drop(&mut self) {
        /// Frees the block, also where freeing a kernel panics.
        struct Block(NonNull<Head>, Layout);
        impl Drop for Block {
            fn drop(&mut self) {
                // SAFETY: `Table::new` allocated the block with this layout, and nothing in it is used any more.
                unsafe { dealloc(self.0.as_ptr().cast(), self.1) }
            }
        }
        let table = self.as_ref();
        let own = usize::from(table.head().own_kernels);
        let first = table.head().base.slots.len();
        // SAFETY: the owner gives the table up, and retirement has made sure that no call reads it; each own pointer
        // came from `Arc::into_raw`.
        let take = |number| unsafe { Arc::from_raw(table.pointer_at(number)) };
        let _own: Vec<Arc<KernelRecord>> = (first..first + own).map(take).collect();
        let _block = Block(self.0, layout_of(table.head().size as usize));
        // SAFETY: as above; nothing reads the head after this.
        unsafe { std::ptr::drop_in_place(self.0.as_ptr()) };
        // The block goes now and the kernels go last: freeing one may panic.
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
        unsafe { &*self.pointer_at(usize::from(number)) }
    }

    /// The pointer of kernel number `number`.
    ///
    /// # Safety
    ///
    /// There is such a kernel in the block.
    #[inline(always)]
    unsafe fn pointer_at(self, number: usize) -> *const KernelRecord {
        // SAFETY: the caller's word; the pointers begin at `KERNELS`, which is a multiple of 8.
        unsafe { self.0.byte_add(KERNELS + number * 8).cast::<*const KernelRecord>().read() }
    }

    #[inline]
    fn head(self) -> &'t Head {
        // SAFETY: `Table::new` wrote it there, and it lives as long as the table.
        unsafe { self.0.cast::<Head>().as_ref() }
    }

    /// The operator whose table this is.
    #[inline]
    pub(crate) fn operator(self) -> &'t OperatorHandle {
        &self.head().operator
    }

    /// What the operator's definition said when the table was published.
    #[inline]
    pub(crate) fn definition(self) -> Option<&'t Definition> {
        self.head().definition.as_deref()
    }

    fn slot_number(self, number: u8) -> SlotRef<'t> {
        let (head, number) = (self.head(), usize::from(number));
        // SAFETY: every number in a row is that of a kernel in the block, and the table keeps its kernels alive.
        let kernel = unsafe { &*self.pointer_at(number) };
        let reason = match head.base.slots.get(number) {
            Some(slot) => slot.reason,
            // SAFETY: the reasons of the own kernels, by their numbers, begin at `reasons`.
            None => unsafe {
                let own = number - head.base.slots.len();
                self.0.byte_add(usize::from(head.reasons)).cast::<Reason>().add(own).read()
            },
        };
        SlotRef { kernel, reason }
    }

    /// The slot that a call with exactly these keys reaches.
    pub(crate) fn slot(self, keys: DispatchKeySet) -> SlotRef<'t> {
        self.slot_number(self.number_at((keys.layers() | 1).ilog2(), (keys.backends() | 1).ilog2()))
    }

    /// The slot of a runtime key.
    pub(crate) fn slot_of(self, key: DispatchKey) -> SlotRef<'t> {
        let backend = key.backend().map_or(0, BackendComponent::position);
        self.slot_number(self.number_at(key.functionality().position(), backend))
    }

    /// The layers that calls on the highest backend of `keys` do not fall through.
    pub(crate) fn kept_layers(self, keys: DispatchKeySet) -> u64 {
        self.mask(DispatchKeySet::from_parts(u64::MAX, keys.backends())).layers()
    }
}

/// A kernel of a table together with the rule that chose it.
#[derive(Clone, Copy)]
pub(crate) struct SlotRef<'t> {
    pub(crate) kernel: &'t KernelRecord,
    pub(crate) reason: Reason,
}

impl SlotRef<'_> {
    /// The kernel, counted.
    pub(crate) fn counted(self) -> Arc<KernelRecord> {
        // SAFETY: every kernel of a table is in an `Arc`, of which the table or its base owns a count.
        unsafe {
            Arc::increment_strong_count(self.kernel);
            Arc::from_raw(self.kernel)
        }
    }
}
