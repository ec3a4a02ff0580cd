//! Fake tensors: sizes, dtypes and devices without data, to find out what a program would do, and what memory it would take.
//!
//! They lie on [fake devices](Device::fake), which are the meta device that passes for another one, so that the kernels for meta
//! compute what results are like. The layer sees every call with such a tensor, and on threads that have [entered](enter) it every
//! call that makes tensors of nothing. It has tensors be on one device as they would have to be for real, sends devices that are
//! asked for to fake ones, and lets tensors with data take part as if they had none.
//!
//! # Examples
//!
//! ```
//! use std::sync::Arc;
//!
//! use opgrid::prelude::*;
//! use opgrid::layers::fake::{self, FakeMemory};
//!
//! let cuda: Device = "cuda:0".parse()?;
//! let memory = Arc::new(FakeMemory::default());
//! memory.limit(cuda, 40 << 30);
//! let _entered = fake::enter(memory.clone())?;
//! let x = Tensor::zeros((1 << 14, 1 << 14), DType::F32, cuda)?;
//! x.requires_grad_(true)?;
//! x.matmul(&x)?.sum()?.backward()?;
//! assert_eq!(x.grad().map(|grad| grad.to_string()).unwrap_or_default(), "FakeTensor(..., device='cuda:0', size=(16384, 16384))");
//! assert!(memory.usage(cuda).peak > 3 << 30);
//! // Other devices are refused as they would be.
//! let error = x.mm(&Tensor::zeros((1 << 14, 1), DType::F32, Device::CPU)?).unwrap_err();
//! assert!(error.message().contains("found at least two, cuda:0 and cpu"), "{error}");
//! # Ok::<(), opgrid_core::Error>(())
//! ```

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use opgrid_core::schema::{Argument, FunctionSchema};
use opgrid_core::{
    BoxedCall, ContextPart, Device, DispatchKey, Dispatcher, Kernel, Reason, Registration, Result, Value,
    ValueRef, ValueView, is_included, register_context_part, set_included,
};

use opgrid_array::storage::fake::{self, set_memory};
pub use opgrid_array::storage::fake::{FakeMemory, Usage, memory};

use crate::error::{self, argument};
use crate::layers::levels::{each_tensor, map_tensors};
use crate::tensor::{Array, Storage, Tensor, TensorSpec};

/// Where the layer stands: below autograd, above backends.
pub const KEY: DispatchKey = DispatchKey::Fake;

/// Operators that take tensors of several devices.
const BETWEEN_DEVICES: [&str; 3] = ["aten::copy_", "aten::copy", "aten::_to_copy"];

/// Puts the layer over the backends of a dispatcher; dropping the registration takes it out.
///
/// # Errors
///
/// The dispatcher has a fallback for the key already.
pub fn install(dispatcher: &Dispatcher) -> Result<Registration> {
    register_context_part(&Carried);
    let mut everything = dispatcher.implementations("_", KEY);
    everything.fallback(Kernel::engine(run).named("fake tensors"));
    everything.finish()
}

/// A tensor like another one, without its data, on the device that passes for its own or for `device`.
///
/// It has the sizes and strides, and requires a gradient if the other one does; it is no result of it. Memory that the thread counts
/// is that of the whole storage of a tensor of which the other is a view.
///
/// # Errors
///
/// A tensor that is not defined, or is one of another layer; more memory than the device has.
pub fn like(tensor: &Tensor, device: Option<Device>) -> Result<Tensor> {
    let array = tensor.array()?;
    let device = device.unwrap_or(tensor.device().real()).fake();
    let spec = TensorSpec::new(array.geometry().clone(), array.dtype(), device);
    let made = Tensor::from_array(Array::new(spec, fake::storage(device, array.storage().bytes())?)?)?;
    if tensor.requires_grad() {
        made.requires_grad_(true)?;
    }
    Ok(made)
}

/// What a thread has entered, the innermost last.
type Entries = Vec<ActiveEntry>;

/// One entry that the thread has not left.
#[derive(Clone)]
struct ActiveEntry {
    number: u64,
    memory: Arc<FakeMemory>,
    density: Option<f64>,
}

thread_local! {
    static ENTRIES: RefCell<Entries> = const { RefCell::new(Vec::new()) };
    /// The density that [`with_density`] says.
    static ASSUMED: Cell<Option<f64>> = const { Cell::new(None) };
    /// Whether the thread includes the key because of them.
    static BRINGS_KEY: Cell<bool> = const { Cell::new(false) };
}

/// Looks at what the thread has entered. A thread that ends has entered nothing.
fn with_entries<X: Default>(body: impl FnOnce(&mut Entries) -> X) -> X {
    ENTRIES.try_with(|entries| body(&mut entries.borrow_mut())).unwrap_or_default()
}

/// The layer, entered by a thread.
#[must_use = "the layer is left when this is dropped"]
pub struct Entered {
    entry: Entry,
    on_this_thread: PhantomData<*const ()>,
}

/// One entering of the layer, for [`Entry::leave`].
pub struct Entry(u64);

/// Has tensors that this thread makes lie on fake devices, and counts the memory that they would take, until what comes back is
/// dropped.
///
/// # Errors
///
/// The thread's dispatcher does not have the layer.
pub fn enter(memory: Arc<FakeMemory>) -> Result<Entered> {
    Ok(Entered { entry: push(memory, None)?, on_this_thread: PhantomData })
}

/// As [`enter`], until [`Entry::leave`], for bindings whose guards do not belong to a thread; with a density as for [`with_density`].
///
/// # Errors
///
/// As [`enter`].
pub fn push(memory: Arc<FakeMemory>, density: Option<f64>) -> Result<Entry> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    if !is_installed()? {
        // That of the process gets its layers with the first call.
        crate::ops::layers()?;
        if !is_installed()? {
            return Err(argument(
                "found a dispatcher without the layer of fake tensors; call `fake::install` first",
            ));
        }
    }
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    with_entries(|entries| entries.push(ActiveEntry { number, memory: memory.clone(), density }));
    set_memory(Some(memory));
    if !is_included(KEY) {
        set_included(KEY, true);
        BRINGS_KEY.set(true);
    }
    Ok(Entry(number))
}

fn is_installed() -> Result<bool> {
    Ok(Dispatcher::current().default_slot(KEY)?.reason == Reason::Fallback)
}

/// Whether this thread has entered the layer.
pub fn is_entered() -> bool {
    with_entries(|entries| !entries.is_empty())
}

/// Runs `body` with an assumption about elements that fake tensors do not have: `density` is the share of them, from 0 to 1, that a mask
/// selects, that `nonzero` and `unique` find, and so on. Without one, operators whose results have sizes that depend on elements are refused.
///
/// # Examples
///
/// ```
/// use opgrid::layers::fake;
/// use opgrid::prelude::*;
///
/// let x = fake::like(&Tensor::zeros((4, 100), DType::F32, Device::CPU)?, None)?;
/// assert!(x.nonzero().is_err());
/// assert_eq!(fake::with_density(0.25, || x.nonzero())?.sizes(), [100, 2]);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub fn with_density<X>(density: f64, body: impl FnOnce() -> X) -> X {
    struct Before(Option<f64>);
    impl Drop for Before {
        fn drop(&mut self) {
            ASSUMED.set(self.0);
        }
    }
    let _before = Before(ASSUMED.replace(Some(density)));
    body()
}

/// How many elements an operator finds in its argument `name`, of at most so many, as this thread [assumes](with_density); `None` where the
/// argument has data, which says it. For kernels whose results have sizes that depend on elements.
///
/// # Errors
///
/// A tensor without data, of which nothing is assumed.
pub fn assumed_count(name: &str, device: Device, most: i64) -> Result<Option<i64>> {
    if !device.is_meta() {
        return Ok(None);
    }
    let of_entry = || with_entries(|entries| entries.last().and_then(|entry| entry.density));
    if let Some(density) = ASSUMED.get().or_else(of_entry).filter(|_| device.is_fake()) {
        // What is no number counts as nothing.
        return Ok(Some(((most as f64 * density).ceil() as i64).clamp(0, most.max(0))));
    }
    let remedy = if device.is_fake() { "assume a density of elements, or " } else { "" };
    Err(argument(format!(
        "argument `{name}` is {}, but the size of the result depends on its elements; {remedy}create it on a device with data",
        error::without_data(device)
    )))
}

impl Entry {
    /// Leaves what was entered, if this thread did; others that it has entered stay, in whatever order they end.
    pub fn leave(&self) {
        let innermost = with_entries(|entries| {
            entries.retain(|entry| entry.number != self.0);
            entries.last().map(|entry| entry.memory.clone())
        });
        let is_last = innermost.is_none();
        set_memory(innermost);
        if is_last && BRINGS_KEY.replace(false) {
            set_included(KEY, false);
        }
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.entry.leave();
    }
}

impl fmt::Debug for Entered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Entered")
    }
}

/// The tensors of a call.
#[derive(Default)]
struct Seen {
    /// The device of all that may not be of another one.
    device: Option<Device>,
    another: Option<Device>,
    is_any_fake: bool,
    has_any_data: bool,
    /// Whether one has to pass for a tensor of the device of the others.
    is_any_free: bool,
}

impl Seen {
    fn in_call(call: &BoxedCall<'_>) -> Self {
        let mut seen = Self::default();
        for value in call.args() {
            each_tensor(std::slice::from_ref(value), &mut |tensor| seen.add(tensor, are_indices(*value)));
        }
        seen
    }

    fn add(&mut self, tensor: &Tensor, is_index: bool) {
        let Some(spec) = tensor.array_spec() else { return };
        let device = spec.device();
        self.is_any_fake |= device.is_fake();
        self.has_any_data |= !device.is_meta();
        if is_free(spec, is_index) {
            self.is_any_free |= device.is_fake();
        } else if *self.device.get_or_insert(device.real()) != device.real() {
            self.another.get_or_insert(device.real());
        }
    }
}

/// Whether a tensor goes with those of any device: a number on the CPU, and indices there.
fn is_free(spec: &TensorSpec, is_index: bool) -> bool {
    (is_index || spec.sizes().is_empty()) && spec.device().real() == Device::CPU
}

/// Whether an argument is a list of indices.
fn are_indices(value: ValueRef<'_>) -> bool {
    matches!(value.view(), ValueView::OptionalTensors(_))
}

/// The layer's kernel for every operator.
fn run(call: &mut BoxedCall<'_>) -> Result<()> {
    let seen = Seen::in_call(call);
    let is_inside = is_entered();
    if !seen.is_any_fake && !is_inside {
        return call.below();
    }
    let is_copy = BETWEEN_DEVICES.contains(&call.operator().name().name.as_str());
    if seen.is_any_fake
        && !is_copy
        && let (Some(one), Some(other)) = (seen.device, seen.another)
    {
        return Err(argument(format!(
            "expected all tensors to be on the same device, but found at least two, {one} and {other}"
        ))
        .within(call.operator().name()));
    }
    // Devices that are asked for.
    let makes_tensors = is_inside && !seen.is_any_fake && !seen.has_any_data;
    let schema = call.schema();
    let asks = schema.is_some_and(|schema| schema.argument_index("device").is_some());
    let mixes =
        seen.is_any_fake && (seen.has_any_data || (seen.is_any_free && seen.device.is_some() && !is_copy));
    if !asks && !mixes {
        return call.below();
    }
    let mut args: Vec<Value> = call.args().iter().map(|value| value.to_value()).collect();
    if let (true, Some(schema)) = (asks, schema) {
        fake_devices(schema, &mut args, makes_tensors);
    }
    if let (true, Some(schema)) = (mixes, schema) {
        let common = seen.device.filter(|_| !is_copy);
        for (value, declared) in args.iter_mut().zip(&schema.arguments) {
            let given = value.clone();
            let are_indices = are_indices(given.borrow());
            *value = map_tensors(given.borrow(), &mut |tensor| {
                without_data(tensor, common, declared, are_indices)
            })
            .map_err(|error| error.within(call.operator().name()))?;
        }
    }
    call.below_with(&args.iter().map(Value::borrow).collect::<Vec<_>>())
}

/// Has arguments name fake devices; one that is left out, too, where nothing else says on which device the results are.
fn fake_devices(schema: &FunctionSchema, args: &mut [Value], makes_tensors: bool) {
    for (value, declared) in args.iter_mut().zip(&schema.arguments) {
        match value {
            Value::Device(device) => *device = device.fake(),
            Value::None if makes_tensors && declared.name == "device" => {
                *value = Value::Device(Device::CPU.fake());
            }
            _ => {}
        }
    }
}

/// A tensor as those without data beside it need it: without data, and of the common device if it goes with any.
///
/// # Errors
///
/// The call writes a tensor with data, which would have to take elements that are not there.
fn without_data(
    tensor: &Tensor,
    common: Option<Device>,
    declared: &Argument,
    is_index: bool,
) -> Result<Tensor> {
    let Some(spec) = tensor.array_spec() else { return Ok(tensor.clone()) };
    let device = spec.device();
    if !device.is_meta() && declared.is_write() {
        let name = &declared.name;
        return Err(argument(format!(
            "argument `{name}` is a tensor with data, which cannot be written with results of fake tensors; make it fake, too"
        )));
    }
    let passes_for = if is_free(spec, is_index) { common.unwrap_or(Device::CPU) } else { device.real() };
    if device.is_meta() && (declared.is_write() || device.real() == passes_for) {
        return Ok(tensor.clone());
    }
    let bytes = tensor.array()?.storage().bytes();
    let spec = TensorSpec::new(spec.geometry().clone(), spec.dtype(), passes_for.fake());
    // It stands in for the call, and takes no memory of its own.
    Tensor::from_array(Array::new(spec, Storage::meta(bytes)?)?)
}

/// The layer goes along where work goes to other threads; the key itself is among the thread's keys.
struct Carried;

impl ContextPart for Carried {
    fn capture(&self) -> Option<Box<dyn Any + Send + Sync>> {
        let entries = with_entries(|entries| entries.clone());
        let assumed = ASSUMED.get();
        let is_there = !entries.is_empty() || assumed.is_some();
        is_there.then(|| {
            Box::new(Carrying { entries, memory: fake::memory(), assumed, brings_key: BRINGS_KEY.get() }) as _
        })
    }

    fn within(&self, state: &(dyn Any + Send + Sync), body: &mut dyn FnMut()) {
        let _before = Before(state.downcast_ref::<Carrying>().cloned().unwrap_or_default().replace());
        body();
    }
}

/// What goes along.
#[derive(Clone, Default)]
struct Carrying {
    entries: Entries,
    /// Where memory is counted.
    memory: Option<Arc<FakeMemory>>,
    assumed: Option<f64>,
    /// Whether the key is there because of the entries.
    brings_key: bool,
}

impl Carrying {
    /// Gives the thread this, for what it has.
    fn replace(self) -> Self {
        Self {
            entries: with_entries(|own| std::mem::replace(own, self.entries)),
            memory: set_memory(self.memory),
            assumed: ASSUMED.replace(self.assumed),
            brings_key: BRINGS_KEY.replace(self.brings_key),
        }
    }
}

/// Puts back what a thread had.
struct Before(Carrying);

impl Drop for Before {
    fn drop(&mut self) {
        let _carried = std::mem::take(&mut self.0).replace();
    }
}
