//! Reads plain arguments: those by position that are exactly a tensor, an integer, a float, a truth value, or integers in a tuple.
//!
//! Most calls have no others. What such an argument stands for is known from its class and its parameter alone, so it is read in one
//! step, where [`Overload::place`] and [`call::read`](super::call::read) look at names, conversions and other libraries as well.
//! They read every argument that is left to them the same way as this file does.

use opgrid::dispatch::schema::{Argument, Type};
use opgrid::dispatch::{Binder, TensorType};
use opgrid::{Scalar, Tensor, Value};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyTuple};

use super::arguments::{Arguments, Object};
use super::call::{FEW, Lent, LentArguments};
use super::overload::{Overload, Style};
use crate::tensor::object::plain_tensor_of;
use crate::values::read::Integers;

/// What plain arguments a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Takes {
    Tensor,
    Number,
    Integer,
    Truth,
    /// A list of integers, for which one integer stands as often as the schema says, if it does.
    Integers(Option<usize>),
    /// Nothing that is read here.
    Other,
}

impl Takes {
    fn for_parameter(argument: &Argument) -> Self {
        match argument.real_type.without_optional() {
            Type::Tensor => Self::Tensor,
            Type::Scalar => Self::Number,
            Type::Int | Type::SymInt => Self::Integer,
            Type::Bool => Self::Truth,
            Type::List(element) if matches!(**element, Type::Int | Type::SymInt) => {
                Self::Integers(argument.size)
            }
            _ => Self::Other,
        }
    }
}

/// What the parameters of an overload take.
#[derive(Debug)]
pub(super) struct Plain {
    takes: [Takes; FEW],
    /// How many arguments stand by position at least.
    required: usize,
}

impl Plain {
    /// `None` of overloads with many parameters, and with some that have to be named.
    pub(super) fn new(binder: &Binder) -> Option<Self> {
        let arguments = &binder.schema().arguments;
        let required =
            arguments.iter().rposition(|argument| argument.default.is_none()).map_or(0, |last| last + 1);
        if arguments.len() > FEW || required > binder.positions() {
            return None;
        }
        let mut takes = [Takes::Other; FEW];
        takes.iter_mut().zip(arguments).for_each(|(place, argument)| *place = Takes::for_parameter(argument));
        Some(Self { takes, required })
    }
}

/// What came of reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// All arguments are read.
    Read,
    /// The overload does not take them.
    Misfit,
    /// Some argument is not plain.
    Unknown,
}

/// Reads arguments as the overload wants them, into `lent`, with the defaults of those that are left out.
///
/// `lent` is empty; it is of no use unless all are read.
#[inline]
pub(super) fn read<'s>(
    overload: &'s Overload,
    style: Style,
    arguments: &'s Arguments<'_, '_>,
    lent: &mut LentArguments<'s>,
) -> Outcome {
    let (Some(plain), []) = (&overload.plain, &*arguments.keyword) else { return Outcome::Unknown };
    let objects = &*arguments.positional;
    let spread = overload.spread_from(style).filter(|from| objects.len() > *from);
    let given = spread.map_or(objects.len(), |from| from + 1);
    if given < plain.required || given > overload.binder.positions() {
        return Outcome::Misfit;
    }
    for (index, takes) in plain.takes[..given].iter().enumerate() {
        let read = match (spread, takes) {
            (Some(from), Takes::Integers(_)) if from == index => one_by_one(&objects[from..]),
            (Some(from), _) if from == index => Err(Outcome::Unknown),
            _ => one(overload, *takes, &objects[index]),
        };
        match read {
            Ok(read) => lent.push(read),
            Err(outcome) => return outcome,
        }
    }
    for index in given..overload.binder.count() {
        lent.push(match overload.default_device(index, style) {
            Some(device) => Lent::Value(Value::Device(device)),
            None => Lent::Default(overload.binder.default(index)),
        });
    }
    Outcome::Read
}

#[inline]
fn one<'s>(overload: &Overload, takes: Takes, object: &'s Object<'_, '_>) -> Result<Lent<'s>, Outcome> {
    let tensor = plain_tensor_of(object);
    let read = match takes {
        Takes::Tensor => match tensor {
            Some(tensor) => Some(Lent::Tensor(tensor.as_any())),
            None => match number(object) {
                Some(_) if !overload.takes_numbers => return Err(Outcome::Misfit),
                number => number.map(|number| Lent::Value(Value::Tensor(Tensor::number(number).into()))),
            },
        },
        Takes::Number => match number(object) {
            // A tensor without dimensions is a number.
            None if tensor.is_some_and(|tensor| tensor.dim() > 0) => return Err(Outcome::Misfit),
            number => number.map(|number| Lent::Value(number.into())),
        },
        Takes::Integer => integer(object).map(|number| Lent::Value(Value::Int(number))),
        Takes::Truth => {
            object.cast_exact::<PyBool>().ok().map(|truth| Lent::Value(Value::Bool(truth.is_true())))
        }
        Takes::Integers(size) => match (size, integer(object)) {
            (Some(size), Some(number)) => Some(Lent::Integers(Integers::from_elem(number, size))),
            _ => in_tuple(object).map(Lent::Integers),
        },
        Takes::Other => None,
    };
    read.ok_or(Outcome::Unknown)
}

/// Integers that stand one by one where the schema has a list.
fn one_by_one<'s>(objects: &[Object<'_, '_>]) -> Result<Lent<'s>, Outcome> {
    let numbers = match objects {
        [only] if only.is_exact_instance_of::<PyTuple>() => in_tuple(only),
        objects => objects.iter().map(integer).collect(),
    };
    numbers.map(Lent::Integers).ok_or(Outcome::Unknown)
}

fn in_tuple(object: &Object<'_, '_>) -> Option<Integers> {
    object.cast_exact::<PyTuple>().ok()?.iter_borrowed().map(|item| integer(&item)).collect()
}

/// An integer of 64 bits.
#[inline]
fn integer(object: &Object<'_, '_>) -> Option<i64> {
    object.cast_exact::<PyInt>().ok()?.extract().ok()
}

/// A number of Python's own classes, also a truth value.
#[inline]
fn number(object: &Object<'_, '_>) -> Option<Scalar> {
    if let Ok(number) = object.cast_exact::<PyFloat>() {
        return Some(Scalar::Float(number.value()));
    }
    if let Ok(truth) = object.cast_exact::<PyBool>() {
        return Some(Scalar::Bool(truth.is_true()));
    }
    integer(object).map(Scalar::Int)
}
