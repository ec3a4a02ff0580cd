//! Regions of code on a thread in which autocast is on or off, and what the thread knows of them.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};

use opgrid_core::{
    BackendComponent, ContextPart, DType, DeviceType, DispatchKey, DispatchKeySet, Dispatcher, Functionality,
    Result, is_excluded, set_excluded,
};

use super::{is_installed, key_of, weights};
use crate::error::argument;

/// How many dtypes a thread knows: one for each autocast layer, and one for each backend of users, which share theirs.
const PLACES: usize = 10 + BackendComponent::COUNT;

/// Where a key's dtype is.
fn place_of(key: DispatchKey) -> usize {
    match key.backend() {
        Some(backend) => 10 + backend.position() as usize,
        None => (key.functionality().position() - Functionality::AutocastCpu.position()) as usize,
    }
}

/// The bit of a key among those that share the layer of users' backends; none of one with a layer of its own.
fn shared_bit(key: DispatchKey) -> u64 {
    match key.backend() {
        Some(backend) => 1 << backend.position(),
        None if key == DispatchKey::AutocastPrivateUse1 => 1 << 63,
        None => 0,
    }
}

/// The layer of a key, without a backend.
fn layer_of(key: DispatchKey) -> DispatchKeySet {
    DispatchKeySet::from_parts(key.key_set().layers(), 0)
}

/// What a thread knows beside its keys.
#[derive(Clone, Copy)]
struct Settings {
    lower: [Option<DType>; PLACES],
    /// On which backends of users autocast is on, where their layer is.
    shared: u64,
    is_cached: bool,
}

impl Settings {
    const DEFAULT: Self = Self { lower: [None; PLACES], shared: 0, is_cached: true };
}

/// One entering of a region. Entries know what was before, so that they may end in any order.
struct Entry {
    id: u64,
    key: DispatchKey,
    /// Whether autocast was on, its dtype, and whether casts were kept.
    before: (bool, Option<DType>),
    was_cached: bool,
}

thread_local! {
    static SETTINGS: Cell<Settings> = const { Cell::new(Settings::DEFAULT) };
    static ENTRIES: RefCell<Vec<Entry>> = const { RefCell::new(Vec::new()) };
    static NESTING: Cell<u32> = const { Cell::new(0) };
}

/// Looks at the thread's regions. A thread that ends is in none.
fn with_entries<X: Default>(body: impl FnOnce(&mut Vec<Entry>) -> X) -> X {
    ENTRIES.try_with(|entries| body(&mut entries.borrow_mut())).unwrap_or_default()
}

fn change(body: impl FnOnce(&mut Settings)) {
    let mut settings = SETTINGS.get();
    body(&mut settings);
    SETTINGS.set(settings);
}

/// Whether autocast is on for a key whose layer is not excluded.
pub(super) fn is_on(key: DispatchKey) -> bool {
    let bit = shared_bit(key);
    bit == 0 || SETTINGS.with(|settings| settings.get().shared) & bit != 0
}

/// Whether autocast is on for a key.
fn is_key_enabled(key: DispatchKey) -> bool {
    !is_excluded(layer_of(key)) && is_on(key)
}

fn set_key_enabled(key: DispatchKey, on: bool) {
    let bit = shared_bit(key);
    if bit == 0 {
        return set_excluded(layer_of(key), !on);
    }
    // Where the layer is off, it is so for all.
    let before = if is_excluded(layer_of(key)) { 0 } else { SETTINGS.get().shared };
    let shared = if on { before | bit } else { before & !bit };
    change(|settings| settings.shared = shared);
    set_excluded(layer_of(key), shared == 0);
}

/// The lower precision for a key.
pub(super) fn lower(key: DispatchKey) -> DType {
    let known = SETTINGS.with(|settings| settings.get().lower[place_of(key)]);
    known.unwrap_or(match key {
        DispatchKey::AutocastCpu
        | DispatchKey::AutocastMaia
        | DispatchKey::AutocastXla
        | DispatchKey::AutocastHpu => DType::BF16,
        _ => DType::F16,
    })
}

/// How many regions the thread is inside of.
pub(super) fn nesting() -> u32 {
    NESTING.get()
}

/// Whether autocast is on for tensors on a kind of device, on this thread.
///
/// # Errors
///
/// A device without autocast.
pub fn is_enabled(device: DeviceType) -> Result<bool> {
    Ok(is_key_enabled(key_of(device)?))
}

/// Turns autocast on or off for a kind of device, until somebody turns it again or the thread leaves the region that it is in.
///
/// # Errors
///
/// As [`is_enabled`].
pub fn set_enabled(device: DeviceType, on: bool) -> Result<()> {
    set_key_enabled(key_of(device)?, on);
    Ok(())
}

/// The lower precision for a kind of device on this thread: bfloat16 for the CPU, where nothing else was said.
///
/// # Errors
///
/// As [`is_enabled`].
pub fn dtype(device: DeviceType) -> Result<DType> {
    Ok(lower(key_of(device)?))
}

/// Changes the lower precision for a kind of device, until somebody changes it again or the thread leaves the region that it is in.
///
/// # Errors
///
/// As [`is_enabled`].
pub fn set_dtype(device: DeviceType, dtype: DType) -> Result<()> {
    let place = place_of(key_of(device)?);
    change(|settings| settings.lower[place] = Some(dtype));
    Ok(())
}

/// Whether casts of weights are kept in the region that this thread is in.
pub fn is_cache_enabled() -> bool {
    SETTINGS.with(|settings| settings.get().is_cached)
}

/// Says whether casts of weights are kept, until the thread leaves the region that it is in.
pub fn set_cache_enabled(on: bool) {
    change(|settings| settings.is_cached = on);
}

/// Counts one more region, for bindings that turn autocast on by hand; how many the thread is in then.
pub fn increment_nesting() -> u32 {
    NESTING.set(NESTING.get() + 1);
    NESTING.get()
}

/// Counts one region less; outside of all, casts of weights are forgotten.
pub fn decrement_nesting() -> u32 {
    NESTING.set(NESTING.get().saturating_sub(1));
    if NESTING.get() == 0 {
        weights::clear();
    }
    NESTING.get()
}

/// A region of code: on which device, whether autocast is on in it, and how.
///
/// # Examples
///
/// ```
/// use opgrid::layers::autocast::{self, Region};
/// use opgrid_core::{DType, Device, DeviceType, Dispatcher};
/// use opgrid::Tensor;
///
/// let dispatcher = Dispatcher::new();
/// let _operators = opgrid::ops::register(&dispatcher)?;
/// let _layer = autocast::install(&dispatcher)?;
/// dispatcher.within(|| -> opgrid_core::Result<()> {
///     let x = Tensor::ones(&[2, 2], DType::F32, Device::CPU)?;
///     let _on = Region::new(DeviceType::Cpu).dtype(DType::F16).enter()?;
///     assert_eq!(x.mm(&x)?.dtype(), DType::F16);
///     let _off = Region::new(DeviceType::Cpu).enabled(false).enter()?;
///     assert_eq!(x.mm(&x)?.dtype(), DType::F32);
///     Ok(())
/// })?;
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Region {
    device: DeviceType,
    dtype: Option<DType>,
    is_enabled: bool,
    is_cached: Option<bool>,
}

impl Region {
    /// A region in which autocast is on for tensors on a kind of device, with the lower precision and the cache of the thread.
    pub fn new(device: DeviceType) -> Self {
        Self { device, dtype: None, is_enabled: true, is_cached: None }
    }

    /// The lower precision: bfloat16 or float16.
    pub fn dtype(mut self, dtype: DType) -> Self {
        self.dtype = Some(dtype);
        self
    }

    /// Whether autocast is on in the region.
    pub fn enabled(mut self, on: bool) -> Self {
        self.is_enabled = on;
        self
    }

    /// Whether weights are cast once in the region, not at each use.
    pub fn cached(mut self, on: bool) -> Self {
        self.is_cached = Some(on);
        self
    }

    /// Enters the region on this thread, until what comes back is dropped.
    ///
    /// # Errors
    ///
    /// A device without autocast, another dtype where autocast is on, a dispatcher without the layer
    /// ([`install_for`](super::install_for)).
    pub fn enter(self) -> Result<Entered> {
        Ok(Entered { id: self.push()?, on_this_thread: PhantomData })
    }

    /// Enters the region on this thread until [`RegionId::leave`], for bindings whose guards do not belong to a thread.
    ///
    /// # Errors
    ///
    /// As [`enter`](Self::enter).
    pub fn push(self) -> Result<RegionId> {
        let key = key_of(self.device)?;
        let dtype = self.dtype.unwrap_or_else(|| lower(key));
        if self.is_enabled && !matches!(dtype, DType::BF16 | DType::F16) {
            return Err(argument(format!(
                "autocast: found {dtype} for `{}`, expected bfloat16 or float16",
                self.device
            )));
        }
        if self.is_enabled && !is_installed(&Dispatcher::current(), key)? {
            return Err(argument(format!(
                "autocast: found a dispatcher without the layer for `{}`; call `autocast::install_for` first",
                self.device
            )));
        }
        Ok(push(key, self.dtype, self.is_enabled, self.is_cached))
    }
}

/// Enters a region.
fn push(key: DispatchKey, dtype: Option<DType>, is_enabled: bool, is_cached: Option<bool>) -> RegionId {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let id = NEXT.fetch_add(1, Ordering::Relaxed);
    let settings = SETTINGS.get();
    let before = (is_key_enabled(key), settings.lower[place_of(key)]);
    with_entries(|entries| entries.push(Entry { id, key, before, was_cached: settings.is_cached }));
    increment_nesting();
    change(|settings| {
        settings.lower[place_of(key)] = dtype.or(before.1);
        settings.is_cached = is_cached.unwrap_or(settings.is_cached);
    });
    set_key_enabled(key, is_enabled);
    RegionId(id)
}

/// Leaves a region, if the thread is inside of it. What it changed is as before, except where a region that was entered later
/// has changed it, too: that one leads back to what was before both.
fn pop(id: u64) -> bool {
    let ended = with_entries(|entries| {
        let place = entries.iter().position(|entry| entry.id == id)?;
        let mut ended = entries.remove(place);
        let (mut restores_key, mut restores_cache) = (true, true);
        if let Some(later) = entries.get_mut(place) {
            later.was_cached = ended.was_cached;
            restores_cache = false;
        }
        if let Some(later) = entries[place..].iter_mut().find(|later| later.key == ended.key) {
            std::mem::swap(&mut later.before, &mut ended.before);
            restores_key = false;
        }
        Some((ended, restores_key, restores_cache))
    });
    let Some((ended, restores_key, restores_cache)) = ended else { return false };
    if restores_key {
        let (was_enabled, lower) = ended.before;
        change(|settings| settings.lower[place_of(ended.key)] = lower);
        set_key_enabled(ended.key, was_enabled);
    }
    if restores_cache {
        set_cache_enabled(ended.was_cached);
    }
    decrement_nesting();
    true
}

/// A region that a thread has entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegionId(u64);

impl RegionId {
    /// Leaves the region; whether this thread was inside of it.
    pub fn leave(self) -> bool {
        pop(self.0)
    }
}

/// A region that is entered. It stays on the thread that entered it.
#[must_use = "the region is left when this is dropped"]
pub struct Entered {
    id: RegionId,
    on_this_thread: PhantomData<*const ()>,
}

impl fmt::Debug for Entered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Entered")
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.id.leave();
    }
}

/// Runs `body` with autocast on for tensors on the CPU, with this dtype as the lower precision. Where the layer is not installed,
/// nothing is cast; [`Region`] says so.
pub fn within<X>(lower: DType, body: impl FnOnce() -> X) -> X {
    let id = push(DispatchKey::AutocastCpu, Some(lower), true, None);
    let _entered = Entered { id, on_this_thread: PhantomData };
    body()
}

/// Dtypes and the cache's setting go along where work goes to other threads; whether autocast is on is among the thread's keys.
/// Casts of weights are each thread's own.
pub(super) struct Carried;

impl ContextPart for Carried {
    fn capture(&self) -> Option<Box<dyn Any + Send + Sync>> {
        Some(Box::new((SETTINGS.get(), NESTING.get())))
    }

    fn within(&self, state: &(dyn Any + Send + Sync), body: &mut dyn FnMut()) {
        let (settings, nesting) = *state.downcast_ref::<(Settings, u32)>().unwrap_or(&(Settings::DEFAULT, 0));
        let _before = Before {
            settings: SETTINGS.replace(settings),
            nesting: NESTING.replace(nesting.min(1)),
            entries: with_entries(std::mem::take),
            casts: weights::replace(weights::Casts::new()),
        };
        body();
    }
}

/// Puts back what a thread knew.
struct Before {
    settings: Settings,
    nesting: u32,
    entries: Vec<Entry>,
    casts: weights::Casts,
}

impl Drop for Before {
    fn drop(&mut self) {
        SETTINGS.set(self.settings);
        NESTING.set(self.nesting);
        let entries = std::mem::take(&mut self.entries);
        with_entries(|own| *own = entries);
        let _carried = weights::replace(std::mem::take(&mut self.casts));
    }
}
