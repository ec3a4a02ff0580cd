//! In what form graphs keep tensors: as they are, or as users pack them, to save memory or to see what is kept.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use opgrid_core::deferred_drop::Flat;
use opgrid_core::{ContextPart, DType, Result, register_context_part};

use super::checkpoint;
use super::mode::no_grad;
use super::reach::{Foreign, Visitor};
use super::variable::detached;
use crate::error::argument;
use crate::tensor::{Dims, Tensor};

type Unpack = Box<dyn Fn() -> Result<Tensor> + Send + Sync>;
type Pack = Flat<Arc<dyn Fn(&Tensor) -> Result<Packed> + Send + Sync>>;

/// A tensor in the form in which a graph keeps it, by the function that restores it.
pub struct Packed {
    unpack: Flat<Unpack>,
    held: Option<Flat<Foreign>>,
}

impl Packed {
    /// A packed tensor; `unpack` gives one of the same sizes, dtype and elements, each time that a backward pass needs it.
    pub fn new(unpack: impl Fn() -> Result<Tensor> + Send + Sync + 'static) -> Self {
        Self { unpack: Flat::new(Box::new(unpack)), held: None }
    }

    /// As [`new`](Self::new), of a function that holds something of another language, whose collector sees it
    /// ([`held_by_tensor`](super::held_by_tensor)).
    pub fn with_held(held: Foreign, unpack: impl Fn() -> Result<Tensor> + Send + Sync + 'static) -> Self {
        Self { held: Some(Flat::new(held)), ..Self::new(unpack) }
    }
}

impl fmt::Debug for Packed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Packed")
    }
}

/// A scope on this thread in which graphs keep tensors as a function packs them. Of nested scopes the innermost one packs. Threads
/// that take over this thread's state ([`ThreadContext`](opgrid_core::ThreadContext)) take it over.
///
/// The function gets a tensor without its history, and runs without recording, as does what restores it. What was packed is restored
/// when a backward pass needs it. A tensor that is written after it was packed is no error: the graph has what was packed.
///
/// # Examples
///
/// What a graph keeps takes half the memory in `bfloat16`:
///
/// ```
/// use opgrid::layers::autograd::{self, PackSavedTensors, Packed};
/// use opgrid::{DType, Tensor};
///
/// let x = Tensor::from_slice(&[1.5f32, 2.0], &[2])?;
/// x.requires_grad_(true)?;
/// let loss = {
///     let _half = PackSavedTensors::new(|tensor| {
///         let small = tensor.to_dtype(DType::BF16)?;
///         Ok(Packed::new(move || small.to_dtype(DType::F32)))
///     });
///     x.mul(&x)?.sum()?
/// };
/// loss.backward()?;
/// assert_eq!(x.grad().unwrap().to_vec::<f32>()?, [3.0, 4.0]);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[must_use = "the scope ends when this is dropped"]
pub struct PackSavedTensors {
    depth: usize,
    /// The scope ends on the thread on which it began.
    _of_this_thread: PhantomData<*const ()>,
}

impl PackSavedTensors {
    /// Begins the scope.
    pub fn new(pack: impl Fn(&Tensor) -> Result<Packed> + Send + Sync + 'static) -> Self {
        Self { depth: Self::push(pack), _of_this_thread: PhantomData }
    }

    /// Begins a scope that ends with [`pop`](Self::pop), for bindings whose guards do not belong to a thread; gives how many scopes
    /// are around it.
    pub fn push(pack: impl Fn(&Tensor) -> Result<Packed> + Send + Sync + 'static) -> usize {
        register_context_part(&Carried);
        let scope = Scope { pack: Flat::new(Arc::new(pack)), checkpoints: checkpoint::depth() };
        IS_ACTIVE.set(true);
        with_scopes(|scopes| {
            scopes.push(scope);
            scopes.len() - 1
        })
    }

    /// Ends the scopes of this thread inside of as many as [`push`](Self::push) gave.
    pub fn pop(depth: usize) {
        // Dropped when the list is no longer borrowed: functions are code of users.
        let _ended = with_scopes(|scopes| scopes.split_off(depth.min(scopes.len())));
        IS_ACTIVE.set(with_scopes(|scopes| !scopes.is_empty()));
    }
}

impl fmt::Debug for PackSavedTensors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PackSavedTensors")
    }
}

impl Drop for PackSavedTensors {
    fn drop(&mut self) {
        Self::pop(self.depth);
    }
}

#[derive(Clone)]
struct Scope {
    pack: Pack,
    /// How many functions with a checkpoint the thread was running: what they save inside of the scope is packed, what a
    /// checkpoint inside of the scope saves is computed again.
    checkpoints: usize,
}

thread_local! {
    static IS_ACTIVE: Cell<bool> = const { Cell::new(false) };
    static SCOPES: RefCell<Vec<Scope>> = const { RefCell::new(Vec::new()) };
}

/// Looks at the thread's scopes. A thread that ends has none.
fn with_scopes<X: Default>(body: impl FnOnce(&mut Vec<Scope>) -> X) -> X {
    SCOPES.try_with(|scopes| body(&mut scopes.borrow_mut())).unwrap_or_default()
}

/// Whether saved tensors are packed on this thread.
#[inline]
pub(super) fn is_active() -> bool {
    IS_ACTIVE.get() && innermost().is_some()
}

fn innermost() -> Option<Scope> {
    with_scopes(|scopes| scopes.last().filter(|scope| scope.checkpoints == checkpoint::depth()).cloned())
}

/// A tensor that a graph keeps packed.
pub(super) struct PackedTensor {
    packed: Packed,
    sizes: Dims,
    dtype: DType,
}

impl PackedTensor {
    /// Packs a tensor as the innermost scope of the thread wants it.
    ///
    /// # Errors
    ///
    /// Those of the function that packs.
    pub(super) fn new(tensor: &Tensor) -> Result<Option<Self>> {
        let Some(scope) = innermost() else { return Ok(None) };
        let packed = no_grad(|| (scope.pack)(&detached(tensor)))?;
        Ok(Some(Self { packed, sizes: Dims::from_slice(tensor.sizes()), dtype: tensor.dtype() }))
    }

    /// The tensor.
    ///
    /// # Errors
    ///
    /// Those of the function that unpacks; it gave a tensor of other sizes or of another dtype.
    pub(super) fn unpack(&self) -> Result<Tensor> {
        let tensor = no_grad(|| (self.packed.unpack)())?;
        let found = (tensor.sizes(), tensor.dtype());
        if found != (self.sizes.as_slice(), self.dtype) {
            return Err(argument(format!(
                "the function that unpacks saved tensors returned a {} tensor of shape {:?}, expected {} and shape {:?}, as it was packed",
                found.1.name(),
                found.0,
                self.dtype.name(),
                self.sizes.as_slice(),
            )));
        }
        Ok(detached(&tensor))
    }

    /// Sizes and dtype of the tensor that was packed.
    pub(super) fn described(&self) -> (Dims, DType) {
        (self.sizes.clone(), self.dtype)
    }

    /// Shows what the function that unpacks holds.
    pub(super) fn reach(&self, visitor: &mut dyn Visitor) {
        self.packed.held.iter().for_each(|held| visitor.held(held));
    }
}

/// The scopes go along where work goes to other threads.
struct Carried;

impl ContextPart for Carried {
    fn capture(&self) -> Option<Box<dyn Any + Send + Sync>> {
        let depth = checkpoint::depth();
        let carried = |scope: Scope| (scope.pack, scope.checkpoints == depth);
        let scopes: Captured = with_scopes(|scopes| scopes.iter().cloned().map(carried).collect());
        (!scopes.is_empty()).then(|| Box::new(scopes) as _)
    }

    fn within(&self, state: &(dyn Any + Send + Sync), body: &mut dyn FnMut()) {
        let depth = checkpoint::depth();
        let scopes = state.downcast_ref::<Captured>().cloned().unwrap_or_default();
        let here = |(pack, packs)| Scope { pack, checkpoints: if packs { depth } else { NOWHERE } };
        let _before = Before(replace(scopes.into_iter().map(here).collect()));
        body();
    }
}

/// The scopes of a thread, and whether they packed what it saved then.
type Captured = Vec<(Pack, bool)>;

/// More functions with a checkpoint than run anywhere.
const NOWHERE: usize = usize::MAX;

/// Gives the thread other scopes; those that it had.
fn replace(scopes: Vec<Scope>) -> Vec<Scope> {
    IS_ACTIVE.set(!scopes.is_empty());
    with_scopes(|own| std::mem::replace(own, scopes))
}

/// Puts back the scopes of a thread.
struct Before(Vec<Scope>);

impl Drop for Before {
    fn drop(&mut self) {
        let _carried = replace(std::mem::take(&mut self.0));
    }
}
