//! Functions without writes: what a function writes becomes results of pure operators, and comes back to its inputs at the end.
//!
//! A tensor of the level is a view of a memory, by the views that were taken of it. A memory has a value, which is never written. An
//! operator that writes a tensor becomes the one that computes the same as a new result ([`forms`]); that is put back through the views
//! into the value of the memory ([`inverse`]). Other views of the memory are taken again where somebody reads them.
//!
//! New values lie in memory as those that they replace, so that views of them can be taken as before.
//!
//! ```
//! use opgrid::Tensor;
//! use opgrid::layers::functional::{self, Functional, Kept};
//!
//! let _layer = opgrid::layers::levels::install(opgrid::dispatcher()?)?;
//! let x = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0], &[2, 2])?;
//! let entered = Functional::enter(Kept::Views)?;
//! let tensor = functional::wrap(x.clone(), entered.level())?;
//! tensor.select(0, 1)?.add_(&Tensor::from_slice(&[10.0f32], &[1])?)?;
//! let (value, is_written) = functional::value(&tensor, entered.level())?;
//! assert!(is_written);
//! assert_eq!(value.to_vec::<f32>()?, [1.0, 2.0, 13.0, 14.0]);
//! assert_eq!(x.to_vec::<f32>()?, [1.0, 2.0, 3.0, 4.0]);
//! # Ok::<(), opgrid_core::Error>(())
//! ```

pub mod forms;
pub mod inverse;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use opgrid_core::schema::{Argument, FunctionSchema};
use opgrid_core::{
    Binder, BoxedCall, DType, Device, DispatchKey, DispatchKeySet, Dispatcher, Kind, OperatorHandle, Reason,
    Result, TensorType, Value, ValueRef,
};

use opgrid_array::loops::access::check_written;

use crate::error::argument;
use crate::families::kind;
use crate::layers::levels::{
    self, Entered, Level, Leveled, Transform, each_tensor, map_all, map_tensors, plain,
};
use crate::ops::{CloneTensor, Copy, Put, ViewAsComplex, ViewAsReal, ViewDtype};
use crate::tensor::{Tensor, TensorSpec};

/// The transform of a function whose writes become results.
pub struct Functional {
    kept: Kept,
}

/// What stays of views and writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kept {
    /// Views stay, writes become results.
    #[default]
    Views,
    /// Views become copies, too.
    Nothing,
}

/// The memory that tensors of a level share.
struct Memory {
    value: Tensor,
    /// How often it was written.
    version: u64,
    /// Who else has it, if it may not be written.
    shared: bool,
}

/// A tensor of the level: a view of a memory.
struct View {
    memory: Arc<Mutex<Memory>>,
    steps: Vec<Step>,
    /// The value of the tensor, and the version of the memory that it is of.
    value: Mutex<(u64, Tensor)>,
}

/// How a view was taken of another one.
#[derive(Clone)]
struct Step {
    operator: OperatorHandle,
    args: Vec<Value>,
    /// Which result it is, and which item of a list.
    result: (usize, usize),
    kept: Kept,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Functional {
    /// Enters a level on this thread, until what comes back is dropped.
    ///
    /// # Errors
    ///
    /// The thread's dispatcher does not have the layer of [levels].
    #[track_caller]
    pub fn enter(kept: Kept) -> Result<Entered> {
        Level::enter(Self { kept })
    }

    /// Enters a level on this thread until [`Level::leave`], for bindings whose guards do not belong to a thread.
    ///
    /// # Errors
    ///
    /// As [`enter`](Self::enter).
    #[track_caller]
    pub fn push(kept: Kept) -> Result<Level> {
        Level::push(Self { kept })
    }
}

/// A tensor of the level that begins with the elements of another one, which is never written.
///
/// # Errors
///
/// The tensor is not defined.
pub fn wrap(tensor: Tensor, level: &Level) -> Result<Tensor> {
    let memory = Memory { value: tensor.clone(), version: 0, shared: false };
    wrap_view(tensor, Arc::new(Mutex::new(memory)), 0, Vec::new(), level)
}

fn wrap_view(
    value: Tensor,
    memory: Arc<Mutex<Memory>>,
    version: u64,
    steps: Vec<Step>,
    level: &Level,
) -> Result<Tensor> {
    let spec = value.spec()?.clone();
    let wrapped = level.wrap(value.clone(), None, spec, DispatchKeySet::EMPTY);
    if let Some(leveled) = level.behind(&wrapped) {
        leveled.keep(Arc::new(View { memory, steps, value: Mutex::new((version, value)) }));
    }
    Ok(wrapped)
}

/// The value that a tensor has now, and whether its memory was written; one that is not of the level is itself.
///
/// # Errors
///
/// Those of views that are taken again.
pub fn value(tensor: &Tensor, level: &Level) -> Result<(Tensor, bool)> {
    match view_of(tensor, level) {
        Some(view) => {
            let is_written = lock(&view.memory).version != 0;
            Ok((level.outside(|| view.value())?, is_written))
        }
        None => Ok((tensor.clone(), false)),
    }
}

/// Has writes to the memory of a tensor refused, because another tensor outside of the level shares it.
pub fn share(tensor: &Tensor, level: &Level) {
    if let Some(view) = view_of(tensor, level) {
        lock(&view.memory).shared = true;
    }
}

/// Whether two tensors of functions without writes share memory; `None` where one of them is none.
pub fn share_memory(one: &Tensor, other: &Tensor) -> Option<bool> {
    Some(Arc::ptr_eq(memory_of(one)?, memory_of(other)?))
}

/// How many tensors share the memory of one of a function without writes; `None` where it is none.
pub(crate) fn sharing(tensor: &Tensor) -> Option<usize> {
    memory_of(tensor).map(Arc::strong_count)
}

fn memory_of(mut tensor: &Tensor) -> Option<&Arc<Mutex<Memory>>> {
    loop {
        let leveled = tensor.wrapper::<Leveled>()?;
        match leveled.kept::<View>() {
            Some(view) => return Some(&view.memory),
            None => tensor = leveled.inner(),
        }
    }
}

/// Whether a tensor shows the memory of another one, as far as they have any.
fn is_view_of(view: &Tensor, whole: &Tensor) -> bool {
    share_memory(view, whole).unwrap_or_else(|| match (plain(view).array(), plain(whole).array()) {
        (Ok(view), Ok(whole)) => view.storage().is_same(whole.storage()),
        _ => true,
    })
}

fn view_of<'t>(tensor: &'t Tensor, level: &Level) -> Option<&'t View> {
    level.behind(tensor)?.kept::<View>()
}

impl Transform for Functional {
    fn name(&self) -> &'static str {
        "functionalize"
    }

    fn run(&self, call: &mut BoxedCall<'_>, level: &Level) -> Result<()> {
        let backend = call.keys().highest_backend_type();
        if call.operator().slot(backend)?.reason == Reason::Alias(DispatchKey::CompositeImplicitAutograd) {
            // What it is made of is called within the level, so that tensors that it makes can be written.
            return level.redispatch_parts(call, backend.key_set());
        }
        levels::check_writes(call, level)?;
        let name = call.operator().name().clone();
        let Some(schema) = call.schema() else { return call.below() };
        let done = level.outside(|| {
            if schema.arguments.iter().any(Argument::is_write) {
                write(call, schema, level)
            } else {
                self.pure(call, schema, level)
            }
        });
        done.map_err(|error| error.within(format_args!("{name} in functionalize")))
    }

    fn adopt(&self, made: Tensor, level: &Level) -> Result<Tensor> {
        wrap(made, level)
    }
}

impl Functional {
    /// A call that writes nothing: its results are new, or views.
    fn pure(&self, call: &mut BoxedCall<'_>, schema: &FunctionSchema, level: &Level) -> Result<()> {
        let viewed = schema.arguments.iter().position(|declared| declared.alias.is_some());
        let args = values_of(call.args(), level)?;
        let results = call.operator().call_values(args.clone())?;
        for (place, result) in results.into_iter().enumerate() {
            let is_view = schema.returns.get(place).is_some_and(|returned| returned.alias.is_some());
            let mut item = 0;
            let wrapped = map_tensors(result.borrow(), &mut |result| {
                let at = (place, item);
                item += 1;
                if !result.is_defined() {
                    return Ok(result.clone());
                }
                if let Some(same) = argument_of(call, result, level) {
                    return Ok(same);
                }
                match viewed.filter(|_| is_view).and_then(|viewed| call.args().get(viewed)) {
                    Some(of) => self.view(call, *of, &args, at, result, level),
                    None => wrap(result.clone(), level),
                }
            })?;
            call.push(wrapped);
        }
        Ok(())
    }

    /// A result as a view of an argument.
    fn view(
        &self,
        call: &BoxedCall<'_>,
        of: ValueRef<'_>,
        args: &[Value],
        result: (usize, usize),
        value: &Tensor,
        level: &Level,
    ) -> Result<Tensor> {
        let of = of.as_tensor().and_then(Tensor::from_any_ref).and_then(|of| view_of(of, level));
        // Some are declared as views and computed, such as conjugates.
        let Some(of) = of.filter(|of| is_view_of(value, &lock(&of.value).1)) else {
            return wrap(value.clone(), level);
        };
        let step = Step { operator: call.operator().clone(), args: args.to_vec(), result, kept: self.kept };
        let value = step.kept.of_view(value.clone())?;
        let version = lock(&of.memory).version;
        wrap_view(value, of.memory.clone(), version, [of.steps.as_slice(), &[step]].concat(), level)
    }
}

/// The arguments with the values that tensors of the level have now.
fn values_of(args: &[ValueRef<'_>], level: &Level) -> Result<Vec<Value>> {
    map_all(args, &mut |tensor| match view_of(tensor, level) {
        Some(view) => view.value(),
        None => Ok(tensor.clone()),
    })
}

/// The argument that a result is.
fn argument_of(call: &BoxedCall<'_>, result: &Tensor, level: &Level) -> Option<Tensor> {
    let mut same = None;
    each_tensor(call.args(), &mut |tensor| {
        if view_of(tensor, level).is_some_and(|view| lock(&view.value).1.is_same(result)) {
            same = Some(tensor.clone());
        }
    });
    same
}

/// A call that writes arguments: the values of these become results of the operator without writes.
fn write(call: &mut BoxedCall<'_>, schema: &FunctionSchema, level: &Level) -> Result<()> {
    if call.column::<Kind>().is_some_and(|kind| *kind == kind::VIEW) {
        return Err(argument(
            "it gives a tensor other sizes or strides, which tensors in functionalize keep; use the form that returns a view",
        ));
    }
    let dispatcher = Dispatcher::current();
    let form = forms::pure_form(&dispatcher, call.operator())?;
    let pure = dispatcher.find(&form.target)?;
    let given = values_of(call.args(), level)?;
    let binder = Binder::new(form.schema.clone());
    let args = form.schema.arguments.iter().enumerate().map(|(place, declared)| {
        let own = forms::source(schema, &form.schema, declared);
        own.and_then(|own| given.get(own)).unwrap_or(binder.default(place)).clone()
    });
    let mut results = pure.call_values(args.collect())?;
    let fresh = forms::fresh(schema).count();
    let written = results.split_off(fresh.min(results.len()));
    let (mut values, mut targets) = (Vec::new(), Vec::new());
    each_tensor(&written.iter().map(Value::borrow).collect::<Vec<_>>(), &mut |it| values.push(it.clone()));
    let all: Vec<ValueRef<'_>> = forms::written_places(schema)
        .into_iter()
        .filter_map(|place| call.args().get(place).copied())
        .collect();
    each_tensor(&all, &mut |target| targets.push(target.clone()));
    let memories: Vec<_> =
        targets.iter().filter_map(|it| view_of(it, level)).map(|view| view.memory.clone()).collect();
    let is_same = |one: &Arc<_>, others: &[Arc<_>]| others.iter().any(|other| Arc::ptr_eq(one, other));
    if memories.iter().enumerate().any(|(at, memory)| is_same(memory, &memories[..at])) {
        return Err(argument(
            "it writes one memory twice, and what the second write gives depends on the first; write one tensor after the other",
        ));
    }
    for (target, value) in targets.iter().zip(&values) {
        match view_of(target, level) {
            Some(view) => view.set(value)?,
            None => return Err(argument("it writes a tensor that is not of the level")),
        }
    }
    let (mut fresh, mut given) = (results.into_iter(), all.iter());
    for returned in &schema.returns {
        if returned.is_write() {
            given.next().into_iter().for_each(|target| call.push(target.to_value()));
            continue;
        }
        if let Some(result) = fresh.next() {
            let wrapped = map_tensors(result.borrow(), &mut |result| {
                if result.is_defined() { wrap(result.clone(), level) } else { Ok(result.clone()) }
            })?;
            call.push(wrapped);
        }
    }
    Ok(())
}

impl View {
    /// The value that the tensor has now.
    ///
    /// # Errors
    ///
    /// Those of views that are taken again.
    fn value(&self) -> Result<Tensor> {
        let (whole, version) = {
            let memory = lock(&self.memory);
            (memory.value.clone(), memory.version)
        };
        let (of, value) = lock(&self.value).clone();
        if of == version {
            return Ok(value);
        }
        let value = self.steps.iter().try_fold(whole, |whole, step| step.taken_of(&whole))?;
        *lock(&self.value) = (version, value.clone());
        Ok(value)
    }

    /// Puts another value in the place of the tensor's: whatever shares its memory has it, too.
    ///
    /// # Errors
    ///
    /// A value of other sizes; a view that has no inverse, or repeats elements; memory that others have.
    fn set(&self, value: &Tensor) -> Result<()> {
        let (whole, shared) = {
            let memory = lock(&self.memory);
            (memory.value.clone(), memory.shared)
        };
        if shared {
            return Err(argument(
                "it writes an input whose memory another input shares; give the function tensors with memory of their own",
            ));
        }
        check_written(whole.geometry())?;
        let mut wholes = vec![whole];
        for step in &self.steps {
            let view = step.view_of(&wholes[wholes.len() - 1])?;
            // What a repeated element becomes would depend on the order.
            check_written(view.geometry())?;
            wholes.push(step.kept.of_view(view)?);
        }
        let value = with_layout_of(&wholes[wholes.len() - 1], value)?;
        let mut changed = value.clone();
        for (step, both) in self.steps.iter().zip(wholes.windows(2)).rev() {
            let put = step.put_back(&both[0], &both[1], &changed)?;
            changed = with_layout_of(&both[0], &put)?;
        }
        let version = {
            let mut memory = lock(&self.memory);
            memory.value = changed;
            memory.version += 1;
            memory.version
        };
        *lock(&self.value) = (version, value);
        Ok(())
    }
}

/// The value with the sizes, dtype and strides of another one, whose place it takes.
///
/// # Errors
///
/// Sizes that cannot be stretched to those.
fn with_layout_of(before: &Tensor, value: &Tensor) -> Result<Tensor> {
    let is_alike = before.dtype() == value.dtype()
        && before.sizes() == value.sizes()
        && before.geometry().strides() == value.geometry().strides()
        && value.geometry().offset() == 0;
    if is_alike { Ok(value.clone()) } else { Copy.call(before, value, false) }
}

impl Kept {
    /// The value of a view.
    fn of_view(self, view: Tensor) -> Result<Tensor> {
        match self {
            Self::Views => Ok(view),
            Self::Nothing => CloneTensor.call(&view, None),
        }
    }
}

impl Step {
    /// The view of another tensor.
    fn taken_of(&self, whole: &Tensor) -> Result<Tensor> {
        self.kept.of_view(self.view_of(whole)?)
    }

    fn view_of(&self, whole: &Tensor) -> Result<Tensor> {
        let mut args = self.args.clone();
        if let Some(first) = args.first_mut() {
            *first = whole.clone().into();
        }
        let results = self.operator.call_values(args)?;
        let (place, item) = self.result;
        let (mut at, mut found) = (0, None);
        each_tensor(&results.get(place).map(Value::borrow).into_iter().collect::<Vec<_>>(), &mut |tensor| {
            if at == item {
                found = Some(tensor.clone());
            }
            at += 1;
        });
        found.ok_or_else(|| argument(format!("{} gave fewer views than before", self.operator.name())))
    }

    /// The whole, with another value where the view shows it.
    ///
    /// # Errors
    ///
    /// A view that only shows a part of each element, or of memory that is no part of the whole.
    fn put_back(&self, whole: &Tensor, shown: &Tensor, value: &Tensor) -> Result<Tensor> {
        let schema = self.operator.schema()?;
        let name = schema.name.name.as_str();
        if name == "aten::as_strided" && !(whole.geometry().is_row_major() && whole.geometry().offset() == 0)
        {
            return Err(argument(
                "it writes a tensor that as_strided took of a part of a larger memory; use slice, select or transpose",
            ));
        }
        if let Some(scatter) = inverse::scatter_of(&Dispatcher::current(), &schema) {
            let mut args = vec![whole.clone().into(), value.clone().into()];
            args.extend(self.args.iter().skip(1).cloned());
            return match scatter.call_values(args)?.into_iter().next() {
                Some(Value::Tensor(tensor)) => Tensor::try_from(tensor),
                _ => Err(argument(format!("{} gave no tensor", scatter.name()))),
            };
        }
        if shown.dtype() != whole.dtype() {
            return match name {
                "aten::view_as_real" => ViewAsComplex.call(value),
                "aten::view_as_complex" => ViewAsReal.call(value),
                "aten::view" => ViewDtype.call(value, whole.dtype()),
                _ => Err(argument(format!(
                    "it writes the view by {name}, whose dtype is another than that of its memory; expected view_as_real, \
                     view_as_complex or view.dtype"
                ))),
            };
        }
        // Where a row-major whole has the elements that the view shows.
        let layout = TensorSpec::new(whole.geometry().row_major(), whole.dtype(), Device::META);
        let taken = self.view_of(&Tensor::allocate(layout.clone())?)?.geometry().clone();
        if taken.numel() == whole.geometry().numel() {
            if taken.is_row_major() {
                return value.reshape(whole.sizes());
            }
            if let Some(order) = inverse::order(layout.geometry(), &taken) {
                return value.permute(order);
            }
        }
        let numbers = Tensor::arange(0, whole.numel(), 1)?.reshape(whole.sizes())?;
        let places = self.view_of(&numbers)?;
        if places.dtype() != DType::I64 || places.sizes() != value.sizes() {
            return Err(argument(format!(
                "it writes the view by {name}, which cannot be taken of other elements; expected one that only moves elements"
            )));
        }
        Put.call(whole, &places, value, false)
    }
}
