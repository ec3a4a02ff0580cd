//! The table of one operator: an immutable block that a call reads once.
//!
//! ```text
//!  -4096 …  rows, up to 0: a u16 kernel number per backend (32), or one for all; the operator's own, then the base's
//!    0      mask: u64 per backend (32)      layers that are not fallen through
//!  256      row: u16 per layer (64)         where the layer's row begins, and whether it has a number per backend
//!  384      the operator, its definition and columns, the base, the sizes of the parts
//!    …      pointers to kernels, 8 bytes each: those of the base, then the operator's own
//!    …      the reasons of the operator's own kernels
//! ```
//!
//! A look-up is `b = highest backend`, `l = layers & mask[b]`, `t = highest layer`, `kernel[row[t][b]]`. "No layer" is
//! bit 0, Undefined; "no backend" is bit 0, CPU, as in torch. Only the rows that an operator needs are there; they end
//! where the head begins, so that the base's stand at the same place in every table.
//!
//! A number has 16 bits because a slot of its own for every place of every row is more than 8 bits can number, and what
//! can be registered has to have a table: dropping a registration brings back what it hid, and must not fail.
//!
//! What the fallbacks alone give is the same for every operator of a dispatcher: the [`Base`]. A table copies its
//! rows and pointers and adds what the operator's kernels change, usually a single row.
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::Arc;

use crate::calling::columns::Columns;
use crate::calling::kernel::{Kernel, KernelRecord};
use crate::calling::operator::{Definition, OperatorHandle};
use crate::calling::reason::Reason;
use crate::keys::key::DispatchKey;
use crate::keys::parts::{BackendComponent, Functionality};
use crate::keys::set::DispatchKeySet;

const BACKENDS: usize = BackendComponent::COUNT;
const LAYERS: usize = Functionality::COUNT;
/// The most numbers that rows can hold.
const ROWS: usize = LAYERS * BACKENDS;
/// The most that rows can take.
const ROWS_BYTES: usize = ROWS * size_of::<Number>();
const KERNELS: usize = size_of::<Head>();

/// What a row holds: the number of a kernel.
pub(crate) type Number = u16;

/// The most kernels that a table can come to hold while it is put together: one for each place, and for each layer one
/// for each of the ten aliases, of the base and of the operator; and those for slots without a kernel.
const MOST_KERNELS: usize = 2 * (ROWS + 10 * LAYERS) + 8;

const _: () = assert!(KERNELS.is_multiple_of(8) && ROWS <= 1 << (16 - RowPlace::SHIFT));
const _: () = assert!(MOST_KERNELS <= Number::MAX as usize);

/// A kernel together with the rule that chose it.
#[derive(Clone)]
pub(crate) struct Slot {
    pub(crate) kernel: Arc<KernelRecord>,
    pub(crate) reason: Reason,
}

/// One kernel number per backend, while a table is put together: kernels of the base come first.
pub(crate) type Row = [Number; BACKENDS];

/// Where a row is: the low bits are those of a backend that count, the others the distance from the lowest place that
/// a row can have.
#[derive(Clone, Copy)]
struct RowPlace(u16);

impl RowPlace {
    const SHIFT: u32 = BACKENDS.ilog2();

    fn new(offset: usize, length: usize) -> Self {
        Self((offset << Self::SHIFT | (length - 1)) as u16)
    }

    /// How many numbers the row has: one, or one for each backend.
    fn length(self) -> usize {
        usize::from(self.0) % BACKENDS + 1
    }

    /// Where the number for a backend is, from the lowest place that a row can have.
    #[inline(always)]
    fn for_backend(self, backend: u32) -> usize {
        usize::from(self.0 >> Self::SHIFT) + (backend & u32::from(self.0) & (BACKENDS as u32 - 1)) as usize
    }
}

/// Where the row of each layer is. Rows are added from the end.
#[derive(Clone, Copy)]
struct Places {
    begin: usize,
    by_layer: [RowPlace; LAYERS],
}

impl Places {
    /// Makes room for a row of a layer; what the row holds there comes back.
    fn add<'r>(&mut self, layer: Functionality, row: &'r Row) -> &'r [Number] {
        let held = held(row);
        self.begin = self.begin.checked_sub(held.len()).expect("`Draft::publish` counts rows");
        self.by_layer[layer.position() as usize] = RowPlace::new(self.begin, held.len());
        held
    }

    fn for_layer(&self, layer: Functionality) -> RowPlace {
        self.by_layer[layer.position() as usize]
    }

    /// How many numbers the rows have together.
    fn len(&self) -> usize {
        ROWS - self.begin
    }
}

/// Rows as a block holds them, from the end.
#[derive(Clone)]
struct Rows {
    numbers: [Number; ROWS],
    places: Places,
}

impl Rows {
    /// One row of zeros for all layers.
    fn new() -> Self {
        let begin = ROWS - 1;
        Self { numbers: [0; ROWS], places: Places { begin, by_layer: [RowPlace::new(begin, 1); LAYERS] } }
    }

    fn get(&self, layer: Functionality) -> Row {
        let place = self.places.for_layer(layer);
        match place.length() {
            1 => [self.numbers[place.for_backend(0)]; BACKENDS],
            _ => std::array::from_fn(|backend| self.numbers[place.for_backend(backend as u32)]),
        }
    }

    /// Sets the row of a layer, to one that says the same if there is one.
    fn set(&mut self, layer: Functionality, row: Row) {
        let held = held(&row);
        let same = |place: &&RowPlace| {
            place.length() == held.len() && self.numbers[place.for_backend(0)..].starts_with(held)
        };
        match self.places.by_layer.iter().find(same).copied() {
            Some(place) => self.places.by_layer[layer.position() as usize] = place,
            None => {
                let held = self.places.add(layer, &row);
                self.numbers[self.places.begin..][..held.len()].copy_from_slice(held);
            }
        }
    }
}

/// What a block holds of a row: its number, where all backends have one.
fn held(row: &Row) -> &[Number] {
    if is_uniform(row) { &row[..1] } else { row }
}

/// The table of an operator without kernels, of which every table of the dispatcher is a changed copy.
pub(crate) struct Base {
    /// The kernel of AutogradOther where no rule chooses.
    pub(crate) ambiguous: Arc<KernelRecord>,
    slots: Vec<Slot>,
    rows: Rows,
    masks: [u64; BACKENDS],
}

impl Base {
    /// A base whose every slot is `slot`.
    pub(crate) fn filled(slot: Slot) -> Self {
        Self {
            ambiguous: Arc::new(Kernel::ambiguous().record),
            slots: vec![slot],
            rows: Rows::new(),
            masks: [u64::MAX; BACKENDS],
        }
    }

    /// The number of `slot`, new or known.
    pub(crate) fn number(&mut self, slot: Slot) -> Number {
        number_of(number_in(&mut self.slots, slot))
    }

    /// Sets the row of a layer, and with it the layer's bit in the masks.
    pub(crate) fn set_row(&mut self, layer: Functionality, row: Row) {
        mark_fallthroughs(&mut self.masks, layer, &row, |number| &self.slots[usize::from(number)]);
        self.rows.set(layer, row);
    }

    /// The row of a layer.
    pub(crate) fn row(&self, layer: Functionality) -> Row {
        self.rows.get(layer)
    }

    /// The slot of a runtime key.
    pub(crate) fn slot_of(&self, key: DispatchKey) -> SlotRef<'_> {
        let backend = key.backend().map_or(0, BackendComponent::position);
        let number = self.row(key.functionality())[backend as usize];
        let slot = &self.slots[usize::from(number)];
        SlotRef { kernel: &slot.kernel, reason: slot.reason }
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

/// The number of a kernel by its place.
fn number_of(place: usize) -> Number {
    Number::try_from(place).expect("a table holds at most `MOST_KERNELS` kernels")
}

/// Whether all backends have one number.
fn is_uniform(row: &Row) -> bool {
    row.iter().all(|number| *number == row[0])
}

/// Sets or clears the bit of `layer` in each backend's mask, by the slots of a row's numbers.
fn mark_fallthroughs<'s>(
    masks: &mut [u64; BACKENDS],
    layer: Functionality,
    row: &Row,
    slot: impl Fn(Number) -> &'s Slot,
) {
    let bit = 1u64 << layer.position();
    let mut before = (row[0], slot(row[0]).kernel.is_fallthrough());
    for (mask, number) in masks.iter_mut().zip(row) {
        if *number != before.0 {
            before = (*number, slot(*number).kernel.is_fallthrough());
        }
        *mask = if before.1 { *mask & !bit } else { *mask | bit };
    }
}

/// The slot of a number: those of the base come first.
fn slot_in<'s>(base: &'s Base, own: &'s [Slot], number: Number) -> &'s Slot {
    let number = usize::from(number);
    base.slots.get(number).unwrap_or_else(|| &own[number - base.slots.len()])
}

/// What an operator's own kernels change in the base, while its table is put together.
pub(crate) struct Draft {
    base: Arc<Base>,
    slots: Vec<Slot>,
    rows: Vec<(Functionality, Row)>,
    masks: [u64; BACKENDS],
}

impl Draft {
    pub(crate) fn from_base(base: &Arc<Base>) -> Self {
        // One kernel in one row is the rule.
        Self {
            base: base.clone(),
            slots: Vec::with_capacity(2),
            rows: Vec::with_capacity(2),
            masks: base.masks,
        }
    }

    /// The number of `slot`, new or known.
    pub(crate) fn number(&mut self, slot: Slot) -> Number {
        number_of(self.base.slots.len() + number_in(&mut self.slots, slot))
    }

    /// The slot of a number.
    pub(crate) fn slot(&self, number: u16) -> &Slot {
        slot_in(&self.base, &self.slots, number)
    }

    pub(crate) fn base(&self) -> &Arc<Base> {
        &self.base
    }

    /// Sets the row of a layer.
    pub(crate) fn set_row(&mut self, layer: Functionality, row: Row) {
        if row == self.base.row(layer) {
            return;
        }
        let (base, slots) = (&self.base, &self.slots);
        mark_fallthroughs(&mut self.masks, layer, &row, |number| slot_in(base, slots, number));
        self.rows.push((layer, row));
    }

    /// The finished block.
    pub(crate) fn publish(self, subject: Subject) -> Table {
        if self.base.rows.places.len() + self.rows.len() * BACKENDS <= ROWS {
            return Table::new(self, subject);
        }
        Table::new(Self::from_base(&Arc::new(self.own_base())), subject)
    }

    /// All of the draft as a base of its own, without the kernels that no cell holds: fallbacks that the operator's
    /// kernels stand before.
    fn own_base(&self) -> Base {
        let ambiguous = self.base.ambiguous.clone();
        let mut own = Base { ambiguous, slots: Vec::new(), rows: Rows::new(), masks: self.masks };
        for layer in (0..LAYERS as u32).filter_map(Functionality::at) {
            let changed = self.rows.iter().find(|(changed, _)| *changed == layer);
            let row = changed.map_or_else(|| self.base.row(layer), |(_, row)| *row);
            let mut numbers = [0; BACKENDS];
            for (number, place) in numbers.iter_mut().zip(row) {
                *number = own.number(self.slot(place).clone());
            }
            own.set_row(layer, numbers);
        }
        own
    }
}

/// Whose table it is, and what its operator carries beside kernels.
pub(crate) struct Subject {
    pub(crate) operator: OperatorHandle,
    pub(crate) definition: Option<Arc<Definition>>,
    pub(crate) columns: Option<Arc<Columns>>,
}

/// The middle of a block.
///
/// Invariant: the places in `rows` lie within the `rows_bytes` before the head, and the numbers there below the count
/// of kernels. The base's pointers to kernels and `own_kernels` others follow the head, then the reasons of those. The
/// table owns a count of each own kernel; the base owns the others.
#[repr(C)]
struct Head {
    masks: [u64; BACKENDS],
    rows: [RowPlace; LAYERS],
    subject: Subject,
    base: Arc<Base>,
    rows_bytes: u16,
    own_kernels: u16,
    size: u32,
}

impl Head {
    fn layout(&self) -> Layout {
        layout_of(self.size as usize)
    }

    /// Where the reasons of the own kernels begin, in bytes from the head.
    fn reasons(&self) -> usize {
        KERNELS + (self.base.slots.len() + usize::from(self.own_kernels)) * 8
    }
}

/// An owned block, by its head.
pub(crate) struct Table(NonNull<Head>);

// SAFETY: a block is immutable, and what it holds or points to is `Send + Sync`, as is asserted below.
unsafe impl Send for Table {}

const _: () = {
    const fn shared<T: Send + Sync>() {}
    shared::<(KernelRecord, Subject, Base, Reason)>();
};

impl Table {
    /// Writes the block: the rows of `draft` are at most `ROWS` long together, which `Draft::publish` sees to.
    fn new(draft: Draft, subject: Subject) -> Self {
        let Draft { base, slots, rows: changed, masks } = draft;
        // Numbers in rows are those of slots: `Base::set_row` and `Draft::set_row` have looked each of them up, and
        // `number_of` has fitted them into a `Number`.
        let mut places = base.rows.places;
        for (layer, row) in &changed {
            places.add(*layer, row);
        }
        let rows_bytes = (places.len() * size_of::<Number>()).next_multiple_of(8);
        let reasons = KERNELS + (base.slots.len() + slots.len()) * 8;
        let layout = layout_of(rows_bytes + reasons + slots.len() * size_of::<Reason>());
        // SAFETY: the size is not 0: it counts the head.
        let Some(block) = NonNull::new(unsafe { alloc(layout) }) else { handle_alloc_error(layout) };
        // SAFETY: every place below lies within the block, which is new and nobody else's: the lines above count the rows, for
        // which `Places::add` makes room one below the other, the head, the pointers and the reasons, each of which begins at
        // a multiple of 8 of a block aligned so.
        unsafe {
            let head = block.byte_add(rows_bytes);
            let write_row = |begin: usize, held: &[Number]| {
                let place = head.cast::<Number>().sub(ROWS - begin);
                place.copy_from_nonoverlapping(NonNull::from(held).cast(), held.len());
            };
            let mut begin = base.rows.places.begin;
            write_row(begin, &base.rows.numbers[begin..]);
            for (_, row) in &changed {
                let held = held(row);
                begin -= held.len();
                write_row(begin, held);
            }
            let kernels = head.byte_add(KERNELS).cast::<*const KernelRecord>();
            for (number, slot) in base.slots.iter().enumerate() {
                kernels.add(number).write(Arc::as_ptr(&slot.kernel));
            }
            let own_kernels = slots.len() as u16;
            let (first, first_reason) = (base.slots.len(), head.byte_add(reasons).cast::<Reason>());
            for (place, slot) in slots.into_iter().enumerate() {
                kernels.add(first + place).write(Arc::into_raw(slot.kernel));
                first_reason.add(place).write(slot.reason);
            }
            let (rows, rows_bytes, size) = (places.by_layer, rows_bytes as u16, layout.size() as u32);
            let base = base.clone();
            head.cast().write(Head { masks, rows, subject, base, rows_bytes, own_kernels, size });
            Self(head.cast())
        }
    }

    /// The pointer that calls read.
    pub(crate) fn as_ptr(&self) -> *mut u8 {
        self.0.as_ptr().cast()
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
        struct Block(NonNull<u8>, Layout);
        impl Drop for Block {
            fn drop(&mut self) {
                // SAFETY: `Table::new` allocated the block with this layout, and nothing in it is used any more.
                unsafe { dealloc(self.0.as_ptr(), self.1) }
            }
        }
        let table = self.as_ref();
        let head = table.head();
        let (first, own) = (head.base.slots.len(), usize::from(head.own_kernels));
        // SAFETY:
        // - Nobody reads the table: one that was published is only dropped by limbo, which is past every call that could
        //   (`Record::publish` gives it to `retire`), others were never seen.
        // - By the invariant of `Head` each own pointer came from `Arc::into_raw`, and is taken once.
        let take = |number| unsafe { Arc::from_raw(table.pointer_at(number)) };
        let _own: Vec<Arc<KernelRecord>> = (first..first + own).map(take).collect();
        // SAFETY: by the invariant of `Head` the block begins with so many bytes of rows, right before the head.
        let block = unsafe { self.0.byte_sub(usize::from(head.rows_bytes)) };
        let _block = Block(block.cast(), head.layout());
        // SAFETY: the table owns its head, and nothing below reads it.
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
        // SAFETY: `backend` is the place of a bit in 32, and the head begins with 32 masks.
        let mask = unsafe { self.0.cast::<u64>().add(backend).read() };
        DispatchKeySet::from_parts(keys.layers() & mask, keys.backends())
    }

    #[inline(always)]
    fn number_at(self, layer: u32, backend: u32) -> Number {
        // SAFETY: `layer` is the place of a bit in 64, or of a `Functionality`, of which there are as many; by the invariant of
        // `Head` the places in the head lead to rows before it, for every number that `RowPlace::for_backend` leaves of a backend.
        unsafe {
            let place = (*self.0.cast::<Head>().as_ptr()).rows.as_ptr().add(layer as usize).read();
            self.0
                .as_ptr()
                .wrapping_byte_sub(ROWS_BYTES)
                .cast::<Number>()
                .wrapping_add(place.for_backend(backend))
                .read()
        }
    }

    /// The kernel of the highest layer and the highest backend of `keys`.
    #[inline(always)]
    pub(crate) fn kernel(self, keys: DispatchKeySet) -> &'t KernelRecord {
        let layer = (keys.layers() | 1).ilog2();
        let backend = (keys.backends() | 1).ilog2();
        let number = self.number_at(layer, backend);
        // SAFETY: by the invariant of `Head` every number in a row is that of a kernel in the block, and the table keeps
        // its kernels alive.
        unsafe { &*self.pointer_at(usize::from(number)) }
    }

    /// The pointer of kernel number `number`.
    ///
    /// # Safety
    ///
    /// There is such a kernel in the block.
    #[inline(always)]
    unsafe fn pointer_at(self, number: usize) -> *const KernelRecord {
        // SAFETY: guaranteed by the caller, see `# Safety`; the pointers begin at `KERNELS`, which is a multiple of 8.
        unsafe { self.0.byte_add(KERNELS + number * 8).cast::<*const KernelRecord>().read() }
    }

    #[inline]
    fn head(self) -> &'t Head {
        // SAFETY: `Table::new` wrote it there, and it lives as long as the table.
        unsafe { self.0.cast::<Head>().as_ref() }
    }

    /// How many bytes the table takes, without its kernels and without the base.
    pub(crate) fn size_in_bytes(self) -> usize {
        self.head().size as usize
    }

    /// The operator whose table this is.
    #[inline]
    pub(crate) fn operator(self) -> &'t OperatorHandle {
        &self.head().subject.operator
    }

    /// What the operator's definition said when the table was published.
    #[inline]
    pub(crate) fn definition(self) -> Option<&'t Definition> {
        self.head().subject.definition.as_deref()
    }

    /// What the operator carried beside kernels when the table was published.
    #[inline]
    pub(crate) fn columns(self) -> Option<&'t Columns> {
        self.head().subject.columns.as_deref()
    }

    fn slot_number(self, number: Number) -> SlotRef<'t> {
        let (head, number) = (self.head(), usize::from(number));
        // SAFETY: by the invariant of `Head` every number in a row is that of a kernel in the block, and `number_at`,
        // which gave this one, reads rows; the table keeps its kernels alive.
        let kernel = unsafe { &*self.pointer_at(number) };
        let reason = match head.base.slots.get(number) {
            Some(slot) => slot.reason,
            // SAFETY: the reasons of the own kernels begin there, by their numbers.
            None => unsafe {
                let own = number - head.base.slots.len();
                self.0.byte_add(head.reasons()).cast::<Reason>().add(own).read()
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
        // SAFETY: only `Table::new` fills blocks, with the pointers of `Slot`s, which hold kernels in `Arc`s; the table or its
        // base owns a count of each.
        unsafe {
            Arc::increment_strong_count(self.kernel);
            Arc::from_raw(self.kernel)
        }
    }
}
