//! Reads the arguments of one overload, makes the call, and gives the results back as objects.

use opgrid::dispatch::{AnyTensor, Returns, TensorType, ValueRef, ValueView};
use opgrid::{DispatchKeySet, OperatorHandle, Tensor, Value};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use smallvec::SmallVec;

use super::arguments::Source;
use super::overload::{Overload, Style};
use crate::errors;
use crate::tensor::object::tensor_of;
use crate::values::{read, write};

/// An argument that the dispatcher is lent.
pub(super) enum Lent<'s> {
    /// The tensor of an object that the caller holds.
    Tensor(&'s AnyTensor),
    Integers(read::Integers),
    /// A default.
    Default(&'s Value),
    Value(Value),
}

/// As many arguments as lie on the stack.
pub(super) const FEW: usize = 6;

/// The arguments of a call.
pub(super) type LentArguments<'s> = SmallVec<[Lent<'s>; FEW]>;

/// A place for each parameter of an overload.
macro_rules! places {
    ($places:ident, $count:expr) => {
        let mut few = [None; $crate::operators::call::FEW];
        let mut many = Vec::new();
        let $places = match few.get_mut(..$count) {
            Some(few) => few,
            None => {
                many.resize($count, None);
                many.as_mut_slice()
            }
        };
    };
}

/// Lends the arguments of a call to `body`.
macro_rules! lend {
    ($lent:expr, $values:ident => $body:expr) => {{
        let mut few = [opgrid::dispatch::ValueRef::NONE; $crate::operators::call::FEW];
        let many: Vec<_>;
        let $values = match few.get_mut(..$lent.len()) {
            Some(few) => {
                for (place, lent) in few.iter_mut().zip($lent.iter()) {
                    *place = lent.borrow();
                }
                &*few
            }
            None => {
                many = $lent.iter().map($crate::operators::call::Lent::borrow).collect();
                many.as_slice()
            }
        };
        $body
    }};
}

pub(super) use {lend, places};

/// How many elements an operator looks at before others may run meanwhile.
///
/// Letting go of the interpreter's lock and taking it again costs 50 ns when nobody wants it and a microsecond on average
/// while another thread runs Python; an addition spends 400 ns on so many elements, `exp` 2.4 µs. The design document of the
/// Python border says how this was measured.
pub(super) const RELEASE_FROM: i64 = 8192;

/// Reads what is given as the schema wants it, into `lent`; the number of the first parameter that gets something else,
/// if there is one.
///
/// # Errors
///
/// What the objects' own methods raise.
pub(super) fn read<'s>(
    overload: &'s Overload,
    style: Style,
    sources: &'s [Option<Source<'s, '_, '_>>],
    lent: &mut LentArguments<'s>,
) -> PyResult<Option<usize>> {
    lent.clear();
    for (index, source) in sources.iter().enumerate() {
        let is_left_out = match source {
            None => true,
            Some(Source::One(object)) => object.is_none(),
            Some(Source::Rest(_)) => false,
        };
        if is_left_out && let Some(device) = overload.default_device(index, style) {
            lent.push(Lent::Value(Value::Device(device)));
            continue;
        }
        let read = match source {
            None => Lent::Default(overload.binder.default(index)),
            Some(Source::One(object)) => match tensor_of(object).filter(|_| overload.takes_tensor(index)) {
                Some(tensor) => Lent::Tensor(tensor.as_any()),
                None => match other(overload, style, index, object)? {
                    Some(read) => read,
                    None => return Ok(Some(index)),
                },
            },
            Some(Source::Rest(objects)) => {
                let objects = objects.iter().map(|object| (**object).clone());
                let read = if overload.takes_integers(index) {
                    read::all_integers(objects, overload.rules(style))?.map(Lent::Integers)
                } else {
                    read::all_tensors(objects).map(Lent::Value)
                };
                match read {
                    Some(read) => read,
                    None => return Ok(Some(index)),
                }
            }
        };
        lent.push(read);
    }
    Ok(None)
}

/// Reads what is no tensor where the schema says one.
fn other<'s>(
    overload: &Overload,
    style: Style,
    index: usize,
    object: &Bound<'_, PyAny>,
) -> PyResult<Option<Lent<'s>>> {
    let (rules, argument) = (overload.rules(style), &overload.schema().arguments[index]);
    if overload.takes_integers(index)
        && let Some(numbers) = read::integers(object, rules)?
    {
        return Ok(Some(Lent::Integers(numbers)));
    }
    let Some(value) = read::value(&argument.real_type, object, rules)? else { return Ok(None) };
    // A single number stands for a sized list, and in functions for no other.
    if style.is_function() && !is_whole(&value, argument) {
        return Ok(None);
    }
    Ok(overload.binder.fit(index, value).ok().map(Lent::Value))
}

/// Whether a value for a list is a list, or the list has a size.
fn is_whole(value: &Value, argument: &opgrid::dispatch::schema::Argument) -> bool {
    let declared = argument.real_type.without_optional();
    !matches!(declared, opgrid::dispatch::schema::Type::List(_))
        || argument.size.is_some()
        || matches!(value, Value::List(_) | Value::None)
}

/// Makes the call.
///
/// # Errors
///
/// Those of the kernel, and of the dispatcher where there is none.
#[inline]
pub(super) fn run(py: Python<'_>, overload: &Overload, lent: &LentArguments<'_>) -> PyResult<Py<PyAny>> {
    lend!(lent, values => {
        make(py, &overload.handle, values, None, |handle, values, returns| handle.call_boxed(values, returns))
    })
}

/// Makes a call in one of the ways in which operators are called, by these keys if it is one with keys; others may run meanwhile if it looks at much.
///
/// # Errors
///
/// As [`run`].
#[inline]
pub(super) fn make(
    py: Python<'_>,
    handle: &OperatorHandle,
    args: &[ValueRef<'_>],
    keys: Option<DispatchKeySet>,
    way: impl FnOnce(&OperatorHandle, &[ValueRef<'_>], &mut Returns) -> opgrid::Result<()> + Send,
) -> PyResult<Py<PyAny>> {
    let mut returns = Returns::new();
    let outcome = if work(args) < RELEASE_FROM {
        way(handle, args, &mut returns)
    } else {
        let returns = &mut returns;
        crate::collector::detached(py, || way(handle, args, returns))
    };
    match outcome {
        Ok(()) => results(py, &mut returns),
        Err(error) => Err(errors::of_call(py, &error, handle, args, keys)),
    }
}

impl Lent<'_> {
    #[inline]
    pub(super) fn borrow(&self) -> ValueRef<'_> {
        match self {
            Self::Tensor(tensor) => ValueRef::from(*tensor),
            Self::Integers(numbers) => ValueRef::from(numbers.as_slice()),
            Self::Default(value) => value.borrow(),
            Self::Value(value) => value.borrow(),
        }
    }
}

/// About how many elements a call looks at: those of its largest tensor, or as many as its sizes ask for.
fn work(args: &[ValueRef<'_>]) -> i64 {
    let of = |value: &ValueRef<'_>| match value.view() {
        ValueView::Tensor(tensor) => Tensor::from_any_ref(tensor).map_or(0, Tensor::numel),
        ValueView::Ints(sizes) => {
            sizes.iter().fold(1, |all: i64, size| all.saturating_mul(size.max(&0).to_owned()))
        }
        ValueView::Tensors(_) => RELEASE_FROM,
        _ => 0,
    };
    args.iter().map(of).max().unwrap_or(0)
}

/// The results as Python has them: none, one, or a tuple.
///
/// # Errors
///
/// A result that has no object.
#[inline]
pub(crate) fn results(py: Python<'_>, returns: &mut Returns) -> PyResult<Py<PyAny>> {
    match returns.len() {
        0 => Ok(py.None()),
        1 => write::owned(py, returns.take(0).unwrap_or_default()),
        count => {
            let objects =
                (0..count).filter_map(|index| returns.take(index)).map(|value| write::owned(py, value));
            Ok(PyTuple::new(py, objects.collect::<PyResult<Vec<_>>>()?)?.into_any().unbind())
        }
    }
}
