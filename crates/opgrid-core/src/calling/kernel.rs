//! Kernels: code that can be registered for an operator at a key, typed or boxed, with or without state.
//!
//! A record has a typed side for one signature (`direct`, the function itself, or `entry`, a trampoline that also
//! gets the keys and the record) and always a boxed side. Who calls with the record's signature takes the typed
//! side; everybody else goes through values.
#![allow(unsafe_code)]

use std::any::{TypeId, type_name};
use std::fmt;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use opgrid_schema::{FunctionSchema, OperatorName, check_signature};

use crate::calling::boxing;
use crate::calling::call::{BoxedCall, Next};
use crate::calling::conditions::{Condition, Links};
use crate::calling::inferred::signature_of;
use crate::calling::slow_path::note_fallback;
use crate::calling::slow_path_counts::Serial;
use crate::calling::table::TableRef;
use crate::deferred_drop::drop_flat;
use crate::error::{Error, ErrorKind, Result};
use crate::keys::key::DispatchKey;
use crate::keys::set::DispatchKeySet;
use crate::place::Place;
use crate::signatures::signature::Signature;

/// The entry of a kernel that is more than a function of its arguments: one with state, or one that takes the keys.
pub(crate) type Entry<S> = for<'k, 't, 'a> unsafe fn(
    &'k KernelRecord,
    TableRef<'t>,
    DispatchKeySet,
    <S as Signature>::Args<'a>,
) -> Result<<S as Signature>::Output>;

/// The function or closure of a record, and how it is freed. Made as a pair, in the constructors of [`Kernel`].
type State = (*const (), Option<unsafe fn(*const ())>);

/// The boxed side of a record.
pub(crate) type BoxedEntry = unsafe fn(&KernelRecord, &mut BoxedCall<'_>) -> Result<()>;

/// What a record is, for those who print or resolve it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Typed,
    Boxed,
    Fallthrough,
    Missing,
    Ambiguous,
    /// Several providers, or one with a condition.
    Chain,
}

/// The signature of a typed record.
pub(crate) struct SignatureOf {
    pub(crate) id: TypeId,
    /// The signature with `i64` instead of symbolic integers.
    pub(crate) concrete: TypeId,
    pub(crate) text: fn() -> &'static str,
    /// The schema inferred from the types, with an empty name.
    pub(crate) schema: FunctionSchema,
    /// The [`Entry`] of chains of this signature.
    chain: fn() -> *const (),
}

impl SignatureOf {
    pub(crate) fn new<S: Signature>() -> Self {
        Self {
            id: TypeId::of::<S>(),
            concrete: TypeId::of::<S::Concrete>(),
            text: || type_name::<S>(),
            schema: S::schema(OperatorName::new("", "")),
            chain: || {
                let entry: Entry<S> = boxing::enter_chain::<S>;
                entry as *const ()
            },
        }
    }

    pub(crate) fn is_symbolic(&self) -> bool {
        self.id != self.concrete
    }

    /// Whether the schema inferred from it fits that of a definition.
    pub(crate) fn fits(&self, definition: &FunctionSchema) -> bool {
        check_signature(definition, &self.schema, self.is_symbolic()).is_ok()
    }

    /// The inferred schema as that of the operator `name`.
    pub(crate) fn schema_named(&self, name: OperatorName) -> FunctionSchema {
        FunctionSchema { name, ..self.schema.clone() }
    }
}

/// One typed side: at most one of the two is not null.
#[derive(Clone, Copy)]
pub(crate) struct TypedSide {
    /// The kernel itself, a function of the signature's arguments.
    pub(crate) direct: *const (),
    /// An [`Entry`](crate::signature::Entry) of the signature.
    pub(crate) entry: *const (),
}

impl TypedSide {
    const NONE: Self = Self { direct: std::ptr::null(), entry: std::ptr::null() };
}

/// What a slot of a table points to.
///
/// Invariant: `typed` belongs to a signature without symbolic integers, `symbolic` to one with; which one it is says
/// `signature`, or `links` for a chain. `boxed`, `behind`, `entry` and `state` are made for each other. Only the
/// constructors of [`Kernel`] put them into a record, and nobody changes them but [`Kernel::for_fallback`].
#[repr(C)]
pub(crate) struct KernelRecord {
    pub(crate) typed: TypedSide,
    pub(crate) symbolic: TypedSide,
    pub(crate) boxed: BoxedEntry,
    /// By what typed calls are counted that take the boxed side. Fallbacks count themselves.
    pub(crate) serial: Serial,
    /// The kernel's own boxed side, where `boxed` counts fallbacks first.
    behind: BoxedEntry,
    /// The function or the closure, as `boxed` and `entry` know it.
    pub(crate) state: *const (),
    /// Frees `state`, where it is more than a function pointer.
    free: Option<unsafe fn(*const ())>,
    /// The layers that the arguments of a call have to carry; calls that do not pass the kernel by.
    pub(crate) wants: u64,
    pub(crate) role: Role,
    /// Whether `state` leads to a function that chooses keys, an `S::Returning<DispatchKeySet>` of the signature.
    pub(crate) selects: bool,
    pub(crate) signature: Option<&'static SignatureOf>,
    pub(crate) name: Option<Arc<str>>,
    pub(crate) origin: Origin,
    /// Whether the library of the kernel is registered; none for kernels that belong to no library.
    pub(crate) life: Option<Life>,
    /// Which calls the kernel is for, if not for all.
    pub(crate) condition: Option<Box<Condition>>,
    /// The providers, in the record of a chain.
    pub(crate) links: Option<Box<Links>>,
}

// SAFETY:
// - `state`, `direct` and `entry` are function pointers, or lead to a closure that the constructors of `Kernel` only take if
//   it is `Send + Sync`.
// - The other fields are asserted to be below.
unsafe impl Send for KernelRecord {}
// SAFETY: function pointers may be shared, and the constructors of `Kernel` only take closures that are `Sync`; the other
// fields are asserted to be below.
unsafe impl Sync for KernelRecord {}

const _: () = {
    const fn shared<T: Send + Sync>() {}
    shared::<(BoxedEntry, Serial, Role, Option<Life>)>();
    shared::<(Option<&'static SignatureOf>, Option<Arc<str>>, Origin)>();
    shared::<(Option<Box<Condition>>, Option<Box<Links>>)>();
};

impl Drop for KernelRecord {
    fn drop(&mut self) {
        DROPPED.fetch_add(1, Ordering::Release);
        if let Some(free) = self.free {
            drop_flat(OwnedState { state: self.state, free });
        }
    }
}

/// The state of a record that is gone. It may own another kernel, or the registration of one.
struct OwnedState {
    state: *const (),
    free: unsafe fn(*const ()),
}

impl Drop for OwnedState {
    fn drop(&mut self) {
        // SAFETY: `State` keeps `free` together with the state that it is for; the drop of a record, which alone makes this,
        // happens once, and nobody uses a record that is dropped.
        unsafe { (self.free)(self.state) }
    }
}

/// How many records were dropped.
static DROPPED: AtomicU64 = AtomicU64::new(0);

/// How many kernels there are: registered, on the way to it, or waiting with the tables that they were in.
pub(crate) fn kernels_alive() -> u64 {
    // In this order, because every record is made before it is dropped.
    let dropped = DROPPED.load(Ordering::Acquire);
    Serial::count() - dropped
}

impl KernelRecord {
    /// The text of dumps and errors.
    pub(crate) fn debug(&self) -> String {
        self.origin.to_string()
    }

    /// Whether code of users runs when the record is freed.
    pub(crate) fn owns_state(&self) -> bool {
        self.free.is_some() || self.condition.is_some()
    }

    /// Whether the registration of the kernel was dropped.
    pub(crate) fn is_dropped(&self) -> bool {
        self.life.as_ref().is_some_and(Life::has_ended)
    }

    pub(crate) fn is_fallthrough(&self) -> bool {
        self.role == Role::Fallthrough
    }

    /// Whether the kernel is for calls whose arguments carry these keys, as far as the thread does not exclude them.
    #[inline(always)]
    pub(crate) fn is_for(&self, carried: DispatchKeySet) -> bool {
        self.wants & !carried.layers() == 0
    }
}

/// Whether a library is registered, for its kernels and for those who hold them apart from tables.
#[derive(Clone, Default)]
pub(crate) struct Life(Arc<AtomicBool>);

impl Life {
    /// Says that the library's registration is dropped.
    pub(crate) fn end(&self) {
        self.0.store(true, Ordering::Release);
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// Where a definition or a kernel comes from: what its author said, or the place of the registration.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    pub(crate) description: Option<Arc<str>>,
    pub(crate) place: Place,
}

impl Origin {
    pub(crate) fn at(place: Place) -> Self {
        Self { description: None, place }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.description {
            Some(text) => f.write_str(text),
            None => write!(f, "registered at {}", self.place),
        }
    }
}

/// Code that can be registered for an operator at a key.
///
/// # Examples
///
/// ```
/// use opgrid_core::{AnyTensor, Dispatcher, DispatchKey, Kernel, Result};
///
/// fn first(x: &AnyTensor, _y: &AnyTensor) -> Result<AnyTensor> {
///     Ok(x.clone())
/// }
///
/// let dispatcher = Dispatcher::new();
/// let mut library = dispatcher.library("myops");
/// library.define("first(Tensor x, Tensor y) -> Tensor");
/// library
///     .implement("first")
///     .add(Kernel::function::<fn(AnyTensor, AnyTensor) -> AnyTensor>(first).at(DispatchKey::Cpu));
/// let _registration = library.finish()?;
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub struct Kernel {
    pub(crate) record: KernelRecord,
    pub(crate) key: Option<DispatchKey>,
    /// Whether the kernel means to serve every operator, so that it is no slow path as a fallback.
    is_engine: bool,
}

/// Frees a boxed closure.
///
/// # Safety
///
/// `state` comes from `Box::into_raw` of a `Box<F>`, and nobody uses it afterwards.
unsafe fn free<F>(state: *const ()) {
    // SAFETY: guaranteed by the caller, see `# Safety`.
    drop(unsafe { Box::from_raw(state.cast::<F>().cast_mut()) });
}

impl Kernel {
    #[track_caller]
    fn from_parts(
        signature: Option<&'static SignatureOf>,
        side: TypedSide,
        boxed: BoxedEntry,
        state: State,
    ) -> Self {
        let symbolic = signature.is_some_and(|signature| signature.is_symbolic());
        let (typed, symbolic) = if symbolic { (TypedSide::NONE, side) } else { (side, TypedSide::NONE) };
        let role = if signature.is_some() { Role::Typed } else { Role::Boxed };
        let (state, free) = state;
        let (name, origin) = (None, Origin::at(Place::here()));
        let record = KernelRecord {
            typed,
            symbolic,
            boxed,
            serial: Serial::next(),
            behind: boxed,
            state,
            free,
            wants: 0,
            role,
            selects: false,
            signature,
            name,
            origin,
            life: None,
            condition: None,
            links: None,
        };
        Self { record, key: None, is_engine: false }
    }

    /// A function of the signature's borrowed arguments.
    #[track_caller]
    pub fn function<S: Signature>(function: S::Returning<S::Output>) -> Self {
        let pointer = S::erase(function);
        let side = TypedSide { direct: pointer, entry: std::ptr::null() };
        Self::from_parts(Some(signature_of::<S>()), side, boxing::boxed_function::<S>, (pointer, None))
    }

    /// A function that takes the keys of the call in front of the arguments.
    #[track_caller]
    pub fn function_with_keys<S: Signature>(function: S::ReturningWithKeys<S::Output>) -> Self {
        let entry: Entry<S> = boxing::enter_with_keys::<S>;
        let side = TypedSide { direct: std::ptr::null(), entry: entry as *const () };
        let state = (S::erase_with_keys(function), None);
        Self::from_parts(Some(signature_of::<S>()), side, boxing::boxed_entry::<S>, state)
    }

    /// A closure over the arguments as a tuple; it may carry state.
    #[track_caller]
    pub fn closure<S: Signature>(
        closure: impl for<'a> Fn(S::Args<'a>) -> Result<S::Output> + Send + Sync + 'static,
    ) -> Self {
        Self::layer::<S>(move |_, args| closure(args))
    }

    /// A closure that can call on to the keys below the one it is registered for; see [`Next`].
    #[track_caller]
    pub fn layer<S: Signature>(
        layer: impl for<'n, 'a> Fn(Next<'n, S>, S::Args<'a>) -> Result<S::Output> + Send + Sync + 'static,
    ) -> Self {
        fn parts<S, F>(layer: F) -> (TypedSide, State)
        where
            S: Signature,
            F: for<'n, 'a> Fn(Next<'n, S>, S::Args<'a>) -> Result<S::Output> + Send + Sync + 'static,
        {
            let entry: Entry<S> = boxing::enter_layer::<S, F>;
            let side = TypedSide { direct: std::ptr::null(), entry: entry as *const () };
            (side, (Box::into_raw(Box::new(layer)).cast_const().cast(), Some(free::<F>)))
        }
        let (side, state) = parts::<S, _>(layer);
        Self::from_parts(Some(signature_of::<S>()), side, boxing::boxed_entry::<S>, state)
    }

    /// A function that chooses the keys with which the call goes on, as the kernels at `BackendSelect` do where no argument
    /// is a tensor. Calls that name a device pass it without a second dispatch: the function is asked, and the kernel of the keys
    /// that it gives gets the arguments as they came.
    ///
    /// # Examples
    ///
    /// ```
    /// use opgrid_core::{Device, DispatchKey, Dispatcher, Kernel, compute_dispatch_key};
    ///
    /// type Make = fn(i64, Option<Device>) -> i64;
    ///
    /// let dispatcher = Dispatcher::new();
    /// let mut library = dispatcher.library("docs");
    /// let choose = Kernel::selecting::<Make>(|_, device| Ok(compute_dispatch_key(None, None, device)?.key_set()));
    /// library.define("docs::make(int n, *, Device? device=None) -> int");
    /// library.implement("docs::make").add(choose.at(DispatchKey::BackendSelect));
    /// library.implement("docs::make").add(Kernel::function::<Make>(|n, _| Ok(n)).at(DispatchKey::Cpu));
    /// library.implement("docs::make").add(Kernel::function::<Make>(|_, _| Ok(0)).at(DispatchKey::Meta));
    /// let _registration = library.finish()?;
    /// let make = dispatcher.find("docs::make")?.typed::<Make>()?;
    /// assert_eq!((make.call((3, None))?, make.call((3, Some(Device::META)))?), (3, 0));
    /// # Ok::<(), opgrid_core::Error>(())
    /// ```
    #[track_caller]
    pub fn selecting<S: Signature>(select: S::Returning<DispatchKeySet>) -> Self {
        let entry: Entry<S> = boxing::enter_selecting::<S>;
        let side = TypedSide { direct: std::ptr::null(), entry: entry as *const () };
        let free = free::<S::Returning<DispatchKeySet>>;
        let state = (Box::into_raw(Box::new(select)).cast_const().cast(), Some(free as unsafe fn(*const ())));
        let mut kernel = Self::from_parts(Some(signature_of::<S>()), side, boxing::boxed_entry::<S>, state);
        kernel.record.selects = true;
        kernel
    }

    /// A function or closure over values: it serves every operator.
    #[track_caller]
    pub fn boxed(kernel: impl Fn(&mut BoxedCall<'_>) -> Result<()> + Send + Sync + 'static) -> Self {
        fn parts<F>(kernel: F) -> (BoxedEntry, State)
        where
            F: Fn(&mut BoxedCall<'_>) -> Result<()> + Send + Sync + 'static,
        {
            (boxing::run_boxed::<F>, (Box::into_raw(Box::new(kernel)).cast_const().cast(), Some(free::<F>)))
        }
        let (boxed, state) = parts(kernel);
        Self::from_parts(None, TypedSide::NONE, boxed, state)
    }

    /// Creates the kernel of a layer that serves every operator and looks up what is special about each in its
    /// [`Column`](crate::Column)s. As a fallback it is what the layer wants, and not counted as a slow path.
    #[track_caller]
    pub fn engine(kernel: impl Fn(&mut BoxedCall<'_>) -> Result<()> + Send + Sync + 'static) -> Self {
        Self { is_engine: true, ..Self::boxed(kernel) }
    }

    /// An engine that only sees calls with an argument that carries the key, on threads that do not exclude it. All others
    /// pass it by as they pass a fallthrough, typed calls without becoming values.
    ///
    /// The key is one of a layer that marks tensors and has no kernels of its own, such as a user's layer.
    ///
    /// # Examples
    ///
    /// ```
    /// use opgrid_core::{AnyTensor, DispatchKey, DispatchKeySet, Dispatcher, Kernel, TensorData, excluding};
    /// use std::sync::atomic::{AtomicU32, Ordering};
    ///
    /// # struct Number(f32);
    /// # impl TensorData for Number {
    /// #     fn describe(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
    /// #         write!(f, "number {}", self.0)
    /// #     }
    /// # }
    /// static SEEN: AtomicU32 = AtomicU32::new(0);
    /// let marked = DispatchKey::layer("DocsMarked").above(DispatchKey::Autograd).register()?;
    ///
    /// let dispatcher = Dispatcher::new();
    /// let mut library = dispatcher.library("docs");
    /// library
    ///     .define("same(Tensor x) -> Tensor")
    ///     .add(Kernel::function::<fn(AnyTensor) -> AnyTensor>(|x| Ok(x.clone())).at(DispatchKey::Cpu));
    /// let mut everything = dispatcher.implementations("_", DispatchKey::Autograd);
    /// everything.fallback(Kernel::engine_for(marked, |call| {
    ///     SEEN.fetch_add(1, Ordering::Relaxed);
    ///     call.below()
    /// }));
    /// let _registrations = (library.finish()?, everything.finish()?);
    ///
    /// let same = dispatcher.find("docs::same")?.typed::<fn(AnyTensor) -> AnyTensor>()?;
    /// let keys = DispatchKeySet::from_keys(&[DispatchKey::Cpu, DispatchKey::AutogradCpu]);
    /// let (plain, special) = (AnyTensor::new(keys, Number(1.0)), AnyTensor::new(keys.add(marked), Number(2.0)));
    /// same.call((&plain,))?;
    /// excluding(marked, || same.call((&special,)))?;
    /// assert_eq!(SEEN.load(Ordering::Relaxed), 0);
    /// same.call((&special,))?;
    /// assert_eq!(SEEN.load(Ordering::Relaxed), 1);
    /// # Ok::<(), opgrid_core::Error>(())
    /// ```
    #[track_caller]
    pub fn engine_for(
        key: DispatchKey,
        kernel: impl Fn(&mut BoxedCall<'_>) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        let mut engine = Self::engine(kernel);
        engine.record.wants = key.key_set().layers();
        engine.record.boxed = run_if_wanted;
        engine
    }

    /// Skips the key: calls go to the next lower one at no cost.
    #[track_caller]
    pub fn fallthrough() -> Self {
        Self::special(Role::Fallthrough, fallthrough_ran)
    }

    /// What the slot of a cell with several providers points to, or with one that has a condition.
    pub(crate) fn chain(links: Links) -> Self {
        let run = |chain: &KernelRecord, call: &mut BoxedCall<'_>| {
            crate::calling::conditions::run_chain(chain, call)
        };
        let mut kernel = Self::special(Role::Chain, run);
        let record = &mut kernel.record;
        for provider in &links.providers {
            let Some(signature) = provider.signature else { continue };
            let side = if signature.is_symbolic() { &mut record.symbolic } else { &mut record.typed };
            side.entry = (signature.chain)();
        }
        record.origin = links.providers[0].origin.clone();
        record.links = Some(Box::new(links));
        kernel
    }

    /// What a slot without a kernel points to.
    pub(crate) fn missing() -> Self {
        let report =
            |_: &KernelRecord, call: &mut BoxedCall<'_>| Err(crate::calling::missing::missing_kernel(call));
        Self::special(Role::Missing, report)
    }

    /// What AutogradOther points to where no rule chooses between kernels.
    pub(crate) fn ambiguous() -> Self {
        let report =
            |_: &KernelRecord, call: &mut BoxedCall<'_>| Err(crate::calling::missing::ambiguous_kernel(call));
        Self::special(Role::Ambiguous, report).describe("ambiguous_autogradother")
    }

    #[track_caller]
    fn special(role: Role, boxed: BoxedEntry) -> Self {
        let mut kernel = Self::from_parts(None, TypedSide::NONE, boxed, (std::ptr::null(), None));
        kernel.record.role = role;
        kernel.record.serial = Serial::UNCOUNTED;
        kernel
    }

    /// Names the kernel, which makes it one of several providers in its cell.
    pub fn named(mut self, name: &str) -> Self {
        self.record.name = Some(name.into());
        self
    }

    /// Restricts the kernel to calls for whose arguments the condition holds. `text` completes "runs when …".
    ///
    /// Typed kernels take typed conditions with [`Provider::when`](crate::Provider::when).
    pub fn when(
        mut self,
        text: &str,
        holds: impl Fn(&[crate::values::borrowed::ValueRef<'_>]) -> Result<bool> + Send + Sync + 'static,
    ) -> Self {
        self.record.condition = Some(Box::new(Condition::of_values(text, holds)));
        self
    }

    /// Replaces the file and line in dumps and errors by a description.
    pub fn describe(mut self, text: &str) -> Self {
        self.record.origin.description = Some(text.into());
        self
    }

    /// Registers the kernel at this key, whatever the library's key is. `CatchAll` stands for no key.
    pub fn at(mut self, key: DispatchKey) -> Self {
        self.key = (key != DispatchKey::CatchAll).then_some(key);
        self
    }

    /// Sets the source location of the registration.
    pub(crate) fn placed(mut self, place: Place) -> Self {
        self.record.origin.place = place;
        self
    }

    /// Makes the kernel the fallback of a key: its calls are counted as slow paths, unless it is an engine.
    pub(crate) fn for_fallback(mut self) -> Self {
        if self.record.role == Role::Boxed {
            self.record.serial = Serial::UNCOUNTED;
            if !self.is_engine {
                self.record.boxed = run_fallback;
            }
        }
        self
    }

    /// The schema that can be inferred from the kernel's signature; boxed kernels have none.
    pub fn inferred_schema(&self, name: OperatorName) -> Option<FunctionSchema> {
        self.record.signature.map(|signature| signature.schema_named(name))
    }
}

/// The boxed side of fallthroughs, which the dispatcher steps over.
fn fallthrough_ran(_: &KernelRecord, call: &mut BoxedCall<'_>) -> Result<()> {
    let message = format!(
        "{}: fallthrough_kernel was executed for key {}, but calls skip fallthroughs; redispatch with \
         keys at which the operator has a kernel",
        call.operator().name(),
        call.key()
    );
    Err(Error::new(ErrorKind::Internal, message))
}

/// The boxed side of an engine for calls whose arguments carry a key.
fn run_if_wanted(kernel: &KernelRecord, call: &mut BoxedCall<'_>) -> Result<()> {
    if call.keys().layers() <= 1 || kernel.is_for(call.carried()?) {
        // SAFETY: the record's own boxed side, which `engine_for` left there.
        unsafe { (kernel.behind)(kernel, call) }
    } else {
        call.pass_by()
    }
}

/// The boxed side of a fallback.
fn run_fallback(kernel: &KernelRecord, call: &mut BoxedCall<'_>) -> Result<()> {
    note_fallback(kernel, call)?;
    // SAFETY: the record's own boxed side, which `for_fallback` left there.
    unsafe { (kernel.behind)(kernel, call) }
}
