//! What a thread knows: its included and excluded keys, how deep its calls are nested, and what it has to attend to.
//!
//! A call reads this once. The flags are one word for everything out of the ordinary (an observer, a request of a
//! writer, the thread's first call, another dispatcher than the global one), so that ordinary calls test one word.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::marker::PhantomData;
#[cfg(target_os = "linux")]
use std::mem::MaybeUninit;
use std::ptr::NonNull;

use crate::calling::owner::Owner;
use crate::calling::retirement::{Mark, Nested};
use crate::calling::slow_path_counts::Lines;
use crate::error::{Error, ErrorKind, Result};
use crate::keys::key::DispatchKey;
use crate::keys::set::DispatchKeySet;

/// How deep calls may be nested on one thread unless [`set_depth_limit`] says otherwise.
pub const DEFAULT_DEPTH_LIMIT: u32 = 1_000;

/// From which depth on a call looks at the stack that is left, on a thread with a stack of the usual sizes. On a smaller
/// one every call looks.
const LOOKS_AT_STACK: u32 = 16;

/// The smallest stack on which the first calls need not look, in bytes.
#[cfg(target_os = "linux")]
const USUAL_STACK: usize = 1 << 20;

/// How much of its stack a thread keeps for the kernel that is called last, and for the error, in bytes; half of a
/// smaller one.
#[cfg(target_os = "linux")]
const STACK_RESERVE: usize = 256 << 10;

/// The state of one thread. Only its thread writes it, but for the flags of its mark, which writers of tables set.
#[repr(align(64))]
pub(crate) struct ThreadState {
    /// The flags, and how many dispatches are running.
    pub(crate) mark: Mark,
    limit: Cell<u32>,
    /// The depth from which on calls take the long way to be let in; at most `limit`.
    checked_from: Cell<u32>,
    included_backends: Cell<u32>,
    included_layers: Cell<u64>,
    /// The complement of the excluded layers, so that a call needs one `and`.
    kept_layers: Cell<u64>,
    excluded_backends: Cell<u32>,
    /// The dispatcher whose kernels run; none for the global one.
    pub(crate) dispatcher: Cell<Option<NonNull<dyn Owner>>>,
    /// The address below which the stack is kept for the last kernel; 0 until the thread's first call.
    stack_floor: Cell<usize>,
    /// From which depth on calls look at the stack.
    looks_from: Cell<u32>,
    /// How many batches of garbage the thread frees now, one in a destructor of another.
    pub(crate) freeing: Cell<u32>,
    /// Where the thread counts its slow paths; none where it has to look at the rules of strict mode first.
    pub(crate) lines: Cell<&'static Lines>,
}

// A destructor would end the state before the thread's other destructors, which may call.
const _: () = assert!(!std::mem::needs_drop::<ThreadState>());

thread_local! {
    static STATE: ThreadState = const {
        ThreadState {
            mark: Mark::new(),
            limit: Cell::new(DEFAULT_DEPTH_LIMIT),
            checked_from: Cell::new(LOOKS_AT_STACK),
            included_backends: Cell::new(DispatchKeySet::DEFAULT_INCLUDED.backends()),
            included_layers: Cell::new(DispatchKeySet::DEFAULT_INCLUDED.layers()),
            kept_layers: Cell::new(!DispatchKeySet::DEFAULT_EXCLUDED.layers()),
            excluded_backends: Cell::new(DispatchKeySet::DEFAULT_EXCLUDED.backends()),
            dispatcher: Cell::new(None),
            stack_floor: Cell::new(0),
            looks_from: Cell::new(LOOKS_AT_STACK),
            freeing: Cell::new(0),
            lines: Cell::new(Lines::none()),
        }
    };
}

/// The state of this thread.
///
/// Only the address goes through the thread-local's own access, and no closure stands on the call path: closures
/// that several callers share are not compiled into them.
///
/// # Safety
///
/// The reference does not leave the thread, and is not kept where it could outlive it.
#[inline(always)]
pub(crate) unsafe fn current<'t>() -> &'t ThreadState {
    // Unlike `with`, it says `inline`.
    let Ok(state) = STATE.try_with(std::ptr::from_ref) else {
        unreachable!("a state without a destructor stays until its thread ends")
    };
    // SAFETY:
    // - The state has no destructor, which an assertion below the type says, so its memory lasts as long as the thread.
    // - Guaranteed by the caller, see `# Safety`: the reference stays on the thread.
    unsafe { &*state }
}

/// Runs `body` with the state of this thread.
#[inline(always)]
pub(crate) fn with_thread<X>(body: impl FnOnce(&ThreadState) -> X) -> X {
    // SAFETY: the type of `body` is for every lifetime, so that it keeps the reference nowhere; `ThreadState` is not `Sync`,
    // so that it sends it nowhere.
    body(unsafe { current() })
}

/// A number of this thread, which no other one has as long as it runs.
pub(crate) fn this_thread() -> usize {
    with_thread(|thread| std::ptr::from_ref(thread).addr())
}

impl ThreadState {
    /// Begins a dispatch: from here on the thread may hold tables.
    #[inline(always)]
    pub(crate) fn enter(&self) -> Result<Nested<'_>> {
        let nest = self.mark.depth();
        if nest >= self.checked_from.get() {
            self.admit(nest)?;
        }
        Ok(self.mark())
    }

    /// Says that the thread may hold tables from here on, however deep its calls are nested: for looking at a table,
    /// which runs no kernel.
    #[inline(always)]
    pub(crate) fn mark(&self) -> Nested<'_> {
        self.mark.begin()
    }

    /// Whether a call that is nested so deep may begin: within the limit, and with stack left for its kernel.
    #[cold]
    #[inline(never)]
    fn admit(&self, nest: u32) -> Result<()> {
        if nest >= self.limit.get() {
            return Err(too_deep(self.limit.get()));
        }
        let here = std::ptr::from_ref(&nest).addr();
        if here < self.stack_floor.get() { Err(no_stack(nest)) } else { Ok(()) }
    }

    /// Learns how much stack the thread has. Called once, before its first call.
    pub(crate) fn measure_stack(&self) {
        let (floor, is_small) = stack_floor();
        self.stack_floor.set(floor);
        if is_small {
            self.looks_from.set(0);
            self.checked_from.set(0);
        }
    }

    /// Whether something out of the ordinary is to be attended to.
    #[inline(always)]
    pub(crate) fn flags(&self) -> u32 {
        self.mark.flags()
    }

    pub(crate) fn set_flag(&self, bit: u32, on: bool) {
        self.mark.set_flag(bit, on);
    }

    /// `keys` with the included keys and without the excluded layers.
    #[inline(always)]
    pub(crate) fn apply(&self, keys: DispatchKeySet) -> DispatchKeySet {
        DispatchKeySet::from_parts(
            (keys.layers() | self.included_layers.get()) & self.kept_layers.get(),
            keys.backends() | self.included_backends.get(),
        )
    }

    #[inline]
    fn included(&self) -> DispatchKeySet {
        DispatchKeySet::from_parts(self.included_layers.get(), self.included_backends.get())
    }

    #[inline]
    fn excluded(&self) -> DispatchKeySet {
        DispatchKeySet::from_parts(!self.kept_layers.get(), self.excluded_backends.get())
    }

    fn set(&self, local: LocalKeys) {
        self.included_layers.set(local.included.layers());
        self.included_backends.set(local.included.backends());
        self.set_excluded(local.excluded);
    }

    #[inline(always)]
    fn set_excluded(&self, keys: DispatchKeySet) {
        self.kept_layers.set(!keys.layers());
        self.excluded_backends.set(keys.backends());
    }

    /// Takes `layers` out of what this thread's calls reach, until the guard is dropped.
    #[inline(always)]
    pub(crate) fn exclude_layers(&self, layers: u64) -> ExcludedLayers<'_> {
        let before = self.kept_layers.get();
        self.kept_layers.set(before & !layers);
        ExcludedLayers(self, before)
    }

    /// Excludes keys, and returns those that were not excluded before.
    #[inline(always)]
    fn exclude(&self, keys: DispatchKeySet) -> DispatchKeySet {
        let (kept, excluded) = (self.kept_layers.get(), self.excluded_backends.get());
        self.kept_layers.set(kept & !keys.layers());
        self.excluded_backends.set(excluded | keys.backends());
        DispatchKeySet::from_parts(keys.layers() & kept, keys.backends() & !excluded)
    }

    /// Excludes keys no longer, backends included.
    #[inline(always)]
    fn stop_excluding(&self, keys: DispatchKeySet) {
        self.kept_layers.set(self.kept_layers.get() | keys.layers());
        self.excluded_backends.set(self.excluded_backends.get() & !keys.backends());
    }

    /// Includes keys, and returns those that were not included before.
    #[inline]
    fn include(&self, keys: DispatchKeySet) -> DispatchKeySet {
        let (layers, backends) = (self.included_layers.get(), self.included_backends.get());
        self.included_layers.set(layers | keys.layers());
        self.included_backends.set(backends | keys.backends());
        DispatchKeySet::from_parts(keys.layers() & !layers, keys.backends() & !backends)
    }

    /// Includes keys no longer, backends included.
    #[inline]
    fn stop_including(&self, keys: DispatchKeySet) {
        self.included_layers.set(self.included_layers.get() & !keys.layers());
        self.included_backends.set(self.included_backends.get() & !keys.backends());
    }
}

/// The exclusion of layers while a layer's kernel calls further down.
///
/// Unlike [`ExcludeGuard`], it restores what was excluded before it: it begins and ends with a call, so that guards begun
/// since have ended.
pub(crate) struct ExcludedLayers<'t>(&'t ThreadState, u64);

impl Drop for ExcludedLayers<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.kept_layers.set(self.1);
    }
}

#[cold]
#[inline(never)]
fn too_deep(limit: u32) -> Error {
    let message = format!(
        "calls are nested deeper than {limit} on this thread: a kernel probably calls itself through \
         the dispatcher; exclude its key during the inner call, or redispatch below it"
    );
    Error::new(ErrorKind::Depth, message)
}

#[cold]
#[inline(never)]
fn no_stack(depth: u32) -> Error {
    let message = format!(
        "calls are nested {depth} deep and the stack of this thread is nearly exhausted: a kernel \
         probably calls itself through the dispatcher, or the thread needs a larger stack"
    );
    Error::new(ErrorKind::Depth, message)
}

/// The address below which this thread's stack is kept for the last kernel, 0 where it cannot be known; and whether the
/// stack is smaller than usual.
#[cfg(target_os = "linux")]
fn stack_floor() -> (usize, bool) {
    let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
    // SAFETY: the thread asks about itself, and the place is as large as the attributes.
    if unsafe { libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) } != 0 {
        return (0, false);
    }
    let (mut lowest, mut size) = (std::ptr::null_mut(), 0);
    // SAFETY: the call before filled the attributes in, as its result says.
    let found = unsafe { libc::pthread_attr_getstack(attributes.as_ptr(), &mut lowest, &mut size) } == 0;
    // SAFETY: `pthread_getattr_np` filled the attributes in, as its result says; nothing below uses them.
    unsafe { libc::pthread_attr_destroy(attributes.as_mut_ptr()) };
    if found { (lowest.addr() + STACK_RESERVE.min(size / 2), size < USUAL_STACK) } else { (0, false) }
}

/// Elsewhere only the number of nested calls is limited.
#[cfg(not(target_os = "linux"))]
fn stack_floor() -> (usize, bool) {
    (0, false)
}

/// Sets how deep calls may be nested on this thread, and returns the limit before. Where the stack ends earlier,
/// that is an error too.
pub fn set_depth_limit(limit: u32) -> u32 {
    with_thread(|thread| {
        thread.checked_from.set(limit.min(thread.looks_from.get()));
        thread.limit.replace(limit)
    })
}

/// How many calls are running on this thread, one in the kernel of another; what goes on with the keys below counts, too.
pub fn nested_calls() -> u32 {
    with_thread(|thread| thread.mark.depth())
}

/// The keys that a thread adds to every call and takes away from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalKeys {
    /// Added to the arguments' keys.
    pub included: DispatchKeySet,
    /// Taken away afterwards; layers only, as in every difference of key sets.
    pub excluded: DispatchKeySet,
}

impl LocalKeys {
    /// The keys of this thread now.
    #[inline]
    pub fn current() -> Self {
        with_thread(|thread| Self { included: thread.included(), excluded: thread.excluded() })
    }

    /// The keys that a thread begins with.
    pub const DEFAULT: Self =
        Self { included: DispatchKeySet::DEFAULT_INCLUDED, excluded: DispatchKeySet::DEFAULT_EXCLUDED };

    /// Makes these the thread's keys, for good. [`ForceGuard`] does it for a scope.
    pub fn force(self) {
        with_thread(|thread| thread.set(self));
    }

    /// `keys` with the included ones added and the excluded layers taken away.
    pub fn apply(self, keys: DispatchKeySet) -> DispatchKeySet {
        (keys | self.included) - self.excluded
    }
}

/// Whether this thread includes every one of these keys.
#[inline]
pub fn is_included(keys: impl Into<DispatchKeySet>) -> bool {
    LocalKeys::current().included.has_all(keys.into())
}

/// Whether this thread excludes every one of these keys.
pub fn is_excluded(keys: impl Into<DispatchKeySet>) -> bool {
    LocalKeys::current().excluded.has_all(keys.into())
}

/// Includes these keys on this thread, or stops including their layers; for foreign callers, without a scope.
pub fn set_included(keys: impl Into<DispatchKeySet>, on: bool) {
    let mut local = LocalKeys::current();
    local.included = with_or_without(local.included, keys.into(), on);
    local.force();
}

/// Excludes these keys on this thread, or stops excluding their layers; for foreign callers, without a scope.
pub fn set_excluded(keys: impl Into<DispatchKeySet>, on: bool) {
    let mut local = LocalKeys::current();
    local.excluded = with_or_without(local.excluded, keys.into(), on);
    local.force();
}

fn with_or_without(set: DispatchKeySet, keys: DispatchKeySet, on: bool) -> DispatchKeySet {
    if on { set | keys } else { set - keys }
}

/// Sets both of the thread's sets, and restores both as a whole when dropped, whatever else changed them meanwhile.
///
/// It is for scopes that are nested strictly. Guards that may end in any order undo their own change only:
/// [`IncludeGuard`], [`ExcludeGuard`] and [`ChangeGuard`].
#[must_use = "the keys are restored when the guard is dropped"]
pub struct ForceGuard {
    before: LocalKeys,
    /// A guard belongs to the thread that made it.
    thread: PhantomData<*const ()>,
}

impl ForceGuard {
    /// Makes `local` the thread's keys until the guard is dropped.
    pub fn new(local: LocalKeys) -> Self {
        let before = LocalKeys::current();
        local.force();
        Self { before, thread: PhantomData }
    }

    /// Remembers the thread's keys as they are now, to be restored whatever happens to them.
    pub fn preserve() -> Self {
        Self::new(LocalKeys::current())
    }
}

impl Drop for ForceGuard {
    fn drop(&mut self) {
        self.before.force();
    }
}

/// What a change of a thread's keys changed, to be undone by itself: keys that others include or exclude meanwhile stay
/// as they are, so that changes may be undone in any order.
#[derive(Clone, Copy, Debug)]
#[must_use = "the change stays until it is undone"]
pub struct KeyChange {
    before: LocalKeys,
    after: LocalKeys,
}

impl KeyChange {
    /// Makes `local` the keys of this thread.
    pub fn apply(local: LocalKeys) -> Self {
        let before = LocalKeys::current();
        local.force();
        Self { before, after: local }
    }

    /// Undoes the change on this thread: keys that it added are taken away, and keys that it took away are added.
    pub fn undo(self) {
        let (before, after) = (self.before, self.after);
        let now = LocalKeys::current();
        let reverted = |now: DispatchKeySet, before: DispatchKeySet, after: DispatchKeySet| {
            let part = |now: u64, before: u64, after: u64| (now & !(after & !before)) | (before & !after);
            let backends = part(now.backends().into(), before.backends().into(), after.backends().into());
            // The three are backends of 32 bits, and so is every combination of them.
            DispatchKeySet::from_parts(part(now.layers(), before.layers(), after.layers()), backends as u32)
        };
        LocalKeys {
            included: reverted(now.included, before.included, after.included),
            excluded: reverted(now.excluded, before.excluded, after.excluded),
        }
        .force();
    }
}

/// Changes both of the thread's sets, and undoes that change, and no other, when dropped.
///
/// # Examples
///
/// ```
/// use opgrid_core::{ChangeGuard, DispatchKey, IncludeGuard, LocalKeys, is_excluded, is_included};
///
/// let local = LocalKeys::current();
/// let guard = ChangeGuard::new(LocalKeys { excluded: local.excluded | DispatchKey::Tracer.key_set(), ..local });
/// let other = IncludeGuard::new(DispatchKey::TestingOnlyGenericMode);
/// drop(guard);
/// assert!(!is_excluded(DispatchKey::Tracer) && is_included(DispatchKey::TestingOnlyGenericMode));
/// # drop(other);
/// ```
#[must_use = "the change is undone when the guard is dropped"]
pub struct ChangeGuard {
    change: KeyChange,
    thread: PhantomData<*const ()>,
}

impl ChangeGuard {
    /// Makes `local` the thread's keys.
    pub fn new(local: LocalKeys) -> Self {
        Self { change: KeyChange::apply(local), thread: PhantomData }
    }
}

impl Drop for ChangeGuard {
    fn drop(&mut self) {
        self.change.undo();
    }
}

/// Includes keys until it is dropped. The keys that were included before stay so, and guards may end in any order.
///
/// # Examples
///
/// ```
/// use opgrid_core::{DispatchKey, IncludeGuard, is_included};
///
/// let guard = IncludeGuard::new(DispatchKey::Tracer);
/// assert!(is_included(DispatchKey::Tracer));
/// drop(guard);
/// assert!(!is_included(DispatchKey::Tracer));
/// ```
#[must_use = "the keys are included no longer when the guard is dropped"]
pub struct IncludeGuard {
    /// The keys that this guard added.
    added: DispatchKeySet,
    thread: PhantomData<*const ()>,
}

impl IncludeGuard {
    /// Includes `keys` until the guard is dropped.
    pub fn new(keys: impl Into<DispatchKeySet>) -> Self {
        let keys = keys.into();
        Self { added: with_thread(|thread| thread.include(keys)), thread: PhantomData }
    }
}

impl Drop for IncludeGuard {
    fn drop(&mut self) {
        with_thread(|thread| thread.stop_including(self.added));
    }
}

/// Excludes keys until it is dropped. The keys that were excluded before stay so, and guards may end in any order.
///
/// # Examples
///
/// ```
/// use opgrid_core::{DispatchKey, ExcludeGuard, is_excluded};
///
/// let guard = ExcludeGuard::new(DispatchKey::Tracer);
/// assert!(is_excluded(DispatchKey::Tracer));
/// drop(guard);
/// assert!(!is_excluded(DispatchKey::Tracer));
/// ```
#[must_use = "the keys are excluded no longer when the guard is dropped"]
pub struct ExcludeGuard {
    /// The keys that this guard added.
    added: DispatchKeySet,
    thread: PhantomData<*const ()>,
}

impl ExcludeGuard {
    /// Excludes `keys` until the guard is dropped.
    #[inline]
    pub fn new(keys: impl Into<DispatchKeySet>) -> Self {
        let keys = keys.into();
        // SAFETY: the reference stays in this function.
        let added = unsafe { current() }.exclude(keys);
        Self { added, thread: PhantomData }
    }

    /// No autograd of any backend: what runs below it.
    #[inline]
    pub fn below_autograd() -> Self {
        Self::new(DispatchKeySet::AUTOGRAD)
    }

    /// Neither autograd nor the bookkeeping of in-place operators and views.
    #[inline]
    pub fn below_adinplace_or_view() -> Self {
        Self::new(DispatchKeySet::AUTOGRAD_WITH_INPLACE)
    }

    /// No functionalisation.
    #[inline]
    pub fn skip_functionalize() -> Self {
        Self::new(DispatchKey::Functionalize)
    }

    /// No tracing.
    #[inline]
    pub fn no_tracer() -> Self {
        Self::new(DispatchKey::Tracer)
    }
}

impl Drop for ExcludeGuard {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the reference stays in this function.
        unsafe { current() }.stop_excluding(self.added);
    }
}

/// Runs `body` with `keys` excluded for the whole tree of calls below it.
///
/// # Examples
///
/// ```
/// use opgrid_core::{DispatchKey, excluding, is_excluded};
///
/// assert!(excluding(DispatchKey::Tracer, || is_excluded(DispatchKey::Tracer)));
/// assert!(!is_excluded(DispatchKey::Tracer));
/// ```
pub fn excluding<X>(keys: impl Into<DispatchKeySet>, body: impl FnOnce() -> X) -> X {
    let _guard = ExcludeGuard::new(keys);
    body()
}

/// Runs `body` with `keys` included for the whole tree of calls below it.
///
/// # Examples
///
/// ```
/// use opgrid_core::{DispatchKey, including, is_included};
///
/// assert!(including(DispatchKey::Tracer, || is_included(DispatchKey::Tracer)));
/// assert!(!is_included(DispatchKey::Tracer));
/// ```
pub fn including<X>(keys: impl Into<DispatchKeySet>, body: impl FnOnce() -> X) -> X {
    let _guard = IncludeGuard::new(keys);
    body()
}

/// Inference: no autograd and no bookkeeping of views; tensors made inside carry no such keys.
pub fn inference_mode() -> ChangeGuard {
    let local = LocalKeys::current();
    ChangeGuard::new(LocalKeys {
        included: local.included - DispatchKey::AdInplaceOrView.key_set(),
        excluded: local.excluded | DispatchKeySet::AUTOGRAD,
    })
}

/// Whether the thread is in [`inference_mode`].
#[inline]
pub fn is_inference_mode() -> bool {
    !is_included(DispatchKey::AdInplaceOrView)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys with a layer, a backend and an alias among them.
    const CHANGED: [DispatchKey; 4] =
        [DispatchKey::Tracer, DispatchKey::TestingOnlyGenericMode, DispatchKey::Cuda, DispatchKey::Autograd];

    /// A guard of each kind.
    fn guards() -> Vec<Box<dyn std::any::Any>> {
        let mut all: Vec<Box<dyn std::any::Any>> = vec![Box::new(inference_mode())];
        let local = LocalKeys::current();
        let excluded = local.excluded | DispatchKey::Conjugate.key_set();
        all.push(Box::new(ChangeGuard::new(LocalKeys { excluded, ..local })));
        for key in CHANGED {
            all.push(Box::new(IncludeGuard::new(key)));
            all.push(Box::new(ExcludeGuard::new(key)));
        }
        all
    }

    #[test]
    fn guards_end_in_any_order() {
        let start = LocalKeys::current();
        assert_eq!(start, LocalKeys::DEFAULT);
        let count = guards().len();
        assert_eq!(LocalKeys::current(), start, "dropped in the order in which they were made");
        for first in 0..count {
            for second in 0..count - 1 {
                let mut all = guards();
                drop(all.remove(first));
                drop(all.remove(second));
                while let Some(last) = all.pop() {
                    drop(last);
                }
                assert_eq!(LocalKeys::current(), start, "guards {first} and {second} ended first");
            }
        }
    }

    #[test]
    fn guards_undo_their_own_change_only() {
        let start = LocalKeys::current();
        let other = DispatchKey::DeferredInit;
        let count = guards().len();
        for place in 0..count {
            let mut all = guards();
            let guard = all.remove(place);
            drop(all);
            set_included(other, true);
            set_excluded(other, true);
            drop(guard);
            assert!(is_included(other) && is_excluded(other), "guard {place}");
            set_included(other, false);
            set_excluded(other, false);
            assert_eq!(LocalKeys::current(), start, "guard {place}");
        }
    }

    #[test]
    fn a_guard_without_effect_undoes_nothing() {
        let start = LocalKeys::current();
        let outer = ExcludeGuard::below_autograd();
        let inner = ExcludeGuard::below_autograd();
        drop(inner);
        assert!(is_excluded(DispatchKeySet::AUTOGRAD));
        drop(outer);
        assert_eq!(LocalKeys::current(), start);
    }

    #[test]
    fn forced_keys_are_restored_as_a_whole() {
        let start = LocalKeys::current();
        let guard = ForceGuard::preserve();
        set_excluded(DispatchKey::Tracer, true);
        drop(guard);
        assert_eq!(LocalKeys::current(), start);
    }

    #[test]
    fn inference_mode_is_a_scope() {
        assert!(!is_inference_mode());
        {
            let _guard = inference_mode();
            assert!(is_inference_mode());
            assert!(is_excluded(DispatchKeySet::AUTOGRAD));
        }
        assert!(!is_inference_mode());
    }

    #[test]
    fn every_thread_begins_with_the_defaults() {
        let _guard = IncludeGuard::new(DispatchKey::Cuda);
        assert_eq!(std::thread::spawn(LocalKeys::current).join().unwrap(), LocalKeys::DEFAULT);
    }

    #[test]
    fn the_depth_limit_is_the_threads_own() {
        std::thread::spawn(|| {
            assert_eq!(set_depth_limit(1), DEFAULT_DEPTH_LIMIT);
            with_thread(|thread| {
                let _one = thread.enter().unwrap();
                assert_eq!(thread.enter().err().unwrap().kind(), ErrorKind::Depth);
            });
        })
        .join()
        .unwrap();
    }
}
