//! Functions whose graph keeps nothing: what it needs is computed again in the backward pass.
//!
//! The function runs with recording, so that its calls are part of the graph like all others: gradients reach whatever it
//! uses, and can be recorded themselves. What differs is what nodes keep. A saved tensor is a [`Slot`] of the function's
//! [`Segment`] instead of memory. The first slot that is asked for in the backward pass runs the function a second time, in the state of the
//! thread and with the random numbers of the first run. That run saves the same tensors in the same order, and they fill the slots;
//! its own graph is dropped at once.
//!
//! A slot gives what it has once: a formula needs it once on each backward pass. What nobody has asked for by the end of a backward pass is
//! dropped, so that a graph that stays is as small as before.
//!
//! Segments nest. The inputs of an inner one are saved by the outer one, and so are computed again, too.

use std::cell::{Cell, RefCell};
use std::mem::{self, ManuallyDrop};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use opgrid_core::deferred_drop::Flat;
use opgrid_core::{DType, Error, Generator, Result, ThreadContext, WeakTensor};

use super::is_grad_enabled;
use super::reach::{Foreign, Visitor};
use super::saved::Saved;
use super::variable::detached;
use crate::devices;
use crate::error::argument;
use crate::tensor::{Dims, Tensor};
use opgrid_array::random::{self, Random};

/// What [`checkpoint`] keeps beside the inputs.
#[derive(Clone, Copy, Debug)]
pub struct CheckpointOptions {
    /// The second run draws the same numbers from the default streams of random numbers as the first one. A function that draws none
    /// can do without.
    pub preserve_random: bool,
}

impl Default for CheckpointOptions {
    fn default() -> Self {
        Self { preserve_random: true }
    }
}

/// Runs a function and keeps its inputs instead of what its derivative needs, which is computed again in the backward pass: less memory
/// for a second run.
///
/// Gradients reach the inputs and whatever else the function uses, bit for bit as without a checkpoint, and can be
/// differentiated. The second run happens within the state that the thread has now: keys, autocast, and
/// random numbers of the default stream. It has to do the same as the first one. Tensors that are not inputs have to be there as
/// they were; one that was written is an error as long as it is there.
///
/// Where the thread does not record, the function just runs.
///
/// # Errors
///
/// Those of the function; in the backward pass those of its second run, a second run that saves other tensors than the first one, and
/// an input that was written since.
///
/// # Examples
///
/// ```
/// use opgrid::{Tensor, layers::autograd};
///
/// let (x, w) = (Tensor::from_slice(&[0.5f64, 2.0], &[2])?, Tensor::from_slice(&[3.0f64, 4.0], &[2])?);
/// w.requires_grad_(true)?;
/// let weight = w.clone();
/// let y = autograd::checkpoint(
///     move |inputs| Ok(vec![inputs[0].mul(&weight)?.exp()?]),
///     &[x],
///     Default::default(),
/// )?;
/// let loss = y[0].sum()?;
/// assert_eq!(autograd::graph(&[&loss], &Default::default())?.saved_bytes(), 16, "the input");
/// loss.backward()?;
/// assert_eq!(w.grad().unwrap().to_vec::<f64>()?, [0.5 * 1.5f64.exp(), 2.0 * 8f64.exp()]);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub fn checkpoint(
    function: impl Fn(&[Tensor]) -> Result<Vec<Tensor>> + Send + Sync + 'static,
    inputs: &[Tensor],
    options: CheckpointOptions,
) -> Result<Vec<Tensor>> {
    run(function, None, inputs, options)
}

/// As [`checkpoint`], of a function that holds something of another language, whose collector sees it
/// ([`held_by_tensor`](super::held_by_tensor)).
///
/// # Errors
///
/// Those of [`checkpoint`].
pub fn checkpoint_with(
    held: Foreign,
    function: impl Fn(&[Tensor]) -> Result<Vec<Tensor>> + Send + Sync + 'static,
    inputs: &[Tensor],
    options: CheckpointOptions,
) -> Result<Vec<Tensor>> {
    run(function, Some(held), inputs, options)
}

fn run(
    function: impl Fn(&[Tensor]) -> Result<Vec<Tensor>> + Send + Sync + 'static,
    held: Option<Foreign>,
    inputs: &[Tensor],
    options: CheckpointOptions,
) -> Result<Vec<Tensor>> {
    if !is_grad_enabled() {
        return function(inputs);
    }
    let segment = Arc::new(Segment {
        function: Flat::new(Box::new(function)),
        held: held.map(Flat::new),
        inputs: inputs
            .iter()
            .enumerate()
            .map(|(place, input)| Saved::argument(input, place))
            .collect::<Result<_>>()?,
        context: ThreadContext::capture(),
        random: options.preserve_random.then(devices::random_states),
        slots: Mutex::default(),
    });
    let results = {
        let _run = Run::begin(Role::First(segment.clone()));
        (segment.function)(inputs)?
    };
    segment.lock().is_complete = true;
    Ok(results)
}

type Function = dyn Fn(&[Tensor]) -> Result<Vec<Tensor>> + Send + Sync;

/// A call of [`checkpoint`].
pub(super) struct Segment {
    function: Flat<Box<Function>>,
    /// What the function holds of another language.
    held: Option<Flat<Foreign>>,
    inputs: Vec<Saved>,
    context: ThreadContext,
    /// Where the default streams were.
    random: Option<States>,
    slots: Mutex<Slots>,
}

/// What the first run has saved, in its order.
#[derive(Default)]
struct Slots {
    list: Vec<State>,
    /// The first run has ended.
    is_complete: bool,
}

/// A saved tensor: how it was, and what the last run has computed for it.
struct State {
    sizes: Dims,
    dtype: DType,
    /// The tensor itself, if somebody else still has it: it must not be written.
    original: Option<(WeakTensor, u64)>,
    computed: Option<Computed>,
    /// No formula needs it any more.
    is_gone: bool,
}

/// A tensor and its version.
type Computed = (Tensor, u64);

impl Segment {
    fn lock(&self) -> MutexGuard<'_, Slots> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The tensors that are kept to compute all others.
    pub(super) fn inputs(&self) -> &[Saved] {
        &self.inputs
    }

    /// Shows what the function holds, and the tensors that are kept.
    pub(super) fn reach(&self, visitor: &mut dyn Visitor) {
        self.held.iter().for_each(|held| visitor.held(held));
        self.inputs.iter().for_each(|input| input.reach(visitor));
        if let Ok(slots) = self.slots.try_lock() {
            let computed = slots.list.iter().filter_map(|state| state.computed.as_ref());
            computed.for_each(|(tensor, _)| visitor.tensor(tensor));
        }
    }

    /// Runs the function again, and gives what it saves.
    fn run_again(self: &Arc<Self>) -> Result<Vec<Computed>> {
        let found = RefCell::new(Vec::new());
        let ran = (|| {
            let inputs = self.inputs.iter().map(Saved::input).collect::<Result<Vec<_>>>()?;
            let _random = self.random.clone().map(RandomNumbers::put).transpose()?;
            self.context.within(|| {
                let run = Run::begin(Role::Second(Vec::new()));
                let results = (self.function)(&inputs);
                found.replace(run.end());
                results.map(drop)
            })
        })();
        ran.map_err(|error: Error| {
            error.within("second run of a function for its gradients (`checkpoint`)")
        })?;
        let found = found.into_inner();
        self.check_same(&found)?;
        Ok(found)
    }

    /// # Errors
    ///
    /// The second run saved other tensors than the first.
    fn check_same(&self, found: &[Computed]) -> Result<()> {
        let slots = self.lock();
        let remedy = "the function must be deterministic: nothing that it depends on may change in between";
        // A first run that goes back itself is not at its end yet.
        if found.len() < slots.list.len() || slots.is_complete && found.len() > slots.list.len() {
            return Err(argument(format!(
                "checkpoint: the second run of the function saved {} tensors for its gradients, expected {}, as many as the first; {remedy}",
                found.len(),
                slots.list.len()
            )));
        }
        for (number, (state, (tensor, _))) in slots.list.iter().zip(found).enumerate() {
            if state.sizes.as_slice() != tensor.sizes() || state.dtype != tensor.dtype() {
                return Err(argument(format!(
                    "checkpoint: tensor {number} that the second run of the function saved for its gradients has sizes {:?} and {}, \
                     expected sizes {:?} and {}, as in the first; {remedy}",
                    tensor.sizes(),
                    tensor.dtype(),
                    state.sizes.as_slice(),
                    state.dtype
                )));
            }
        }
        Ok(())
    }
}

/// A tensor that a checkpoint computes again.
pub(super) struct Slot {
    segment: Arc<Segment>,
    number: usize,
}

impl Slot {
    /// The tensor, and the version that it has to have.
    ///
    /// # Errors
    ///
    /// Those of the second run.
    pub(super) fn compute(&self) -> Result<(Tensor, u64)> {
        if let Some((tensor, version)) = self.original()
            && tensor.version() != version
        {
            return Ok((tensor, version));
        }
        let computed = self.segment.lock().list[self.number].computed.take();
        if let Some(computed) = computed {
            return Ok(computed);
        }
        let mut found: Vec<Option<Computed>> = self.segment.run_again()?.into_iter().map(Some).collect();
        let own = found[self.number].take().expect("as many as there are slots, which was checked");
        for (state, found) in self.segment.lock().list.iter_mut().zip(&mut found) {
            if !state.is_gone && state.computed.is_none() {
                state.computed = found.take();
            }
        }
        COMPUTED.with(|computed| computed.borrow_mut().push(Arc::downgrade(&self.segment)));
        Ok(own)
    }

    /// Takes note that the operator which gives the tensor has run.
    pub(super) fn is_written_now(&mut self) {
        let Some((tensor, _)) = self.original() else { return };
        let now = tensor.version();
        if let Some((_, version)) = &mut self.segment.lock().list[self.number].original {
            *version = now;
        }
    }

    /// The tensor itself and its version, if somebody else still has it. It may be the last handle when it is dropped, which must
    /// not be under the lock.
    fn original(&self) -> Option<(Tensor, u64)> {
        let slots = self.segment.lock();
        let (weak, version) = slots.list[self.number].original.as_ref()?;
        Some((Tensor::upgrade(weak)?, *version))
    }

    /// Sizes and dtype.
    pub(super) fn described(&self) -> (Dims, DType) {
        let slots = self.segment.lock();
        let state = &slots.list[self.number];
        (state.sizes.clone(), state.dtype)
    }

    /// What the last run has computed and nobody has asked for yet.
    pub(super) fn computed(&self) -> Option<Tensor> {
        self.segment.lock().list[self.number].computed.as_ref().map(|(tensor, _)| tensor.clone())
    }

    pub(super) fn segment(&self) -> &Arc<Segment> {
        &self.segment
    }

    /// The inputs of the checkpoint, if this was its last slot.
    pub(super) fn into_last_inputs(self) -> Vec<Saved> {
        let segment = self.segment.clone();
        drop(self);
        Arc::into_inner(segment).map(|segment| segment.inputs).unwrap_or_default()
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let unused = {
            let mut slots = self.segment.lock();
            let state = &mut slots.list[self.number];
            state.is_gone = true;
            (state.computed.take(), state.original.take())
        };
        // Dropped after the lock: a tensor may lead to the graph.
        drop(unused);
    }
}

/// What saved tensors become on this thread.
enum Role {
    /// Slots.
    First(Arc<Segment>),
    /// What they are, and the list of what fills slots.
    Second(Vec<Computed>),
}

thread_local! {
    static ACTIVE: Cell<bool> = const { Cell::new(false) };
    // Without a destructor they can be used by destructors of the thread's other values, which may run a backward pass. Their
    // memory goes when they get empty, as they are before a thread ends.
    static ROLES: ManuallyDrop<RefCell<Vec<Role>>> = const { ManuallyDrop::new(RefCell::new(Vec::new())) };
    /// What has been filled on this backward pass, and those that it is a part of.
    static COMPUTED: ManuallyDrop<RefCell<Vec<Weak<Segment>>>> = const { ManuallyDrop::new(RefCell::new(Vec::new())) };
}

/// Takes the items from a place on; a list that gets empty keeps no memory.
fn from<T>(list: &mut Vec<T>, place: usize) -> Vec<T> {
    match place {
        0 => mem::take(list),
        place if place < list.len() => list.split_off(place),
        _ => Vec::new(),
    }
}

/// A run of a function, until it is dropped.
struct Run {
    depth: usize,
}

impl Run {
    fn begin(role: Role) -> Self {
        let depth = ROLES.with(|roles| {
            let mut roles = roles.borrow_mut();
            roles.push(role);
            roles.len() - 1
        });
        ACTIVE.set(true);
        Self { depth }
    }

    /// What a second run has saved.
    fn end(self) -> Vec<Computed> {
        match self.take() {
            Some(Role::Second(found)) => found,
            Some(Role::First(_)) | None => Vec::new(),
        }
    }

    fn take(&self) -> Option<Role> {
        let mut ended = ROLES.with(|roles| from(&mut roles.borrow_mut(), self.depth));
        ACTIVE.set(self.depth > 0);
        ended.drain(..).next()
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.take();
    }
}

/// Whether a function with a checkpoint runs on this thread.
#[inline]
pub(super) fn is_active() -> bool {
    ACTIVE.get()
}

/// How many functions with a checkpoint run on this thread, one inside of the other.
pub(super) fn depth() -> usize {
    if is_active() { ROLES.with(|roles| roles.borrow().len()) } else { 0 }
}

/// How a saved tensor is kept.
pub(super) enum How {
    Kept(Tensor),
    Recomputed(Slot),
}

/// Saves a tensor as the run wants it.
pub(super) fn save(tensor: &Tensor) -> How {
    // Made before the list is borrowed: layers may be asked.
    let (handle, version) = (detached(tensor), tensor.version());
    ROLES.with(|roles| match roles.borrow_mut().last_mut() {
        None => How::Kept(handle),
        Some(Role::First(segment)) => {
            let state = State {
                sizes: Dims::from_slice(tensor.sizes()),
                dtype: tensor.dtype(),
                original: Some((tensor.downgrade(), version)),
                computed: None,
                is_gone: false,
            };
            let mut slots = segment.lock();
            slots.list.push(state);
            How::Recomputed(Slot { segment: segment.clone(), number: slots.list.len() - 1 })
        }
        Some(Role::Second(found)) => {
            found.push((handle.clone(), version));
            How::Kept(handle)
        }
    })
}

/// Takes note of the new version of a result that was saved before its operator ran.
pub(super) fn is_written_now(tensor: &Tensor) {
    if !is_active() {
        return;
    }
    ROLES.with(|roles| {
        let mut roles = roles.borrow_mut();
        let Some(Role::Second(found)) = roles.last_mut() else { return };
        if let Some((_, version)) = found.iter_mut().rev().find(|(saved, _)| saved.is_same(tensor)) {
            *version = tensor.version();
        }
    });
}

/// A backward pass on this thread. What it has computed again and not used goes when it is dropped.
pub(super) struct WayBack {
    before: usize,
}

impl WayBack {
    pub(super) fn begin() -> Self {
        Self { before: COMPUTED.with(|computed| computed.borrow().len()) }
    }
}

impl Drop for WayBack {
    fn drop(&mut self) {
        let ended = COMPUTED.with(|computed| from(&mut computed.borrow_mut(), self.before));
        for segment in ended.iter().filter_map(Weak::upgrade) {
            let unused: Vec<_> =
                segment.lock().list.iter_mut().filter_map(|state| state.computed.take()).collect();
            drop(unused);
        }
    }
}

/// Default streams of random numbers, of the CPU and of devices, and where each is.
type States = Vec<(Generator, Random)>;

/// The default streams of random numbers, put elsewhere until this is dropped.
struct RandomNumbers {
    before: States,
}

impl RandomNumbers {
    fn put(states: States) -> Result<Self> {
        let before = devices::random_states();
        let put = Self { before };
        for (generator, state) in states {
            random::set_state(Some(&generator), state)?;
        }
        Ok(put)
    }
}

impl Drop for RandomNumbers {
    fn drop(&mut self) {
        for (generator, state) in self.before.drain(..) {
            // These are the streams that `random_states` has just read.
            let _ = random::set_state(Some(&generator), state);
        }
    }
}
