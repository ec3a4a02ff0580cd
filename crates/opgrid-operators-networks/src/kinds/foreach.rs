//! Operators over lists: each calls the operator of one tensor for every tensor of its lists.
//!
//! An overload takes over lists of tensors and of numbers what the other one takes as one tensor and as one number; all else is the same
//! for all. The kernels are boxed, so that they are compiled once and not for each of the signatures that there are. They are composites: gradients,
//! batches and what else layers do are those of the calls for single tensors.

use opgrid_core::schema::{FunctionSchema, Type};
use opgrid_core::value_type::ValueType;
use opgrid_core::{
    BoxedCall, DispatchKey, Dispatcher, Error, Kernel, Library, List, Operator, OperatorHandle, Result,
    Returns, TensorType, Value, ValueRef, ValueView,
};
use smallvec::SmallVec;

use opgrid_array::error::argument;
use opgrid_tensor::families::{DefineFamily, kind, result};
use opgrid_tensor::tensor::Tensor;

/// Declares the functions of a file that define overloads over lists, each by the operator that it calls for one tensor, and add
/// their samples.
macro_rules! over_lists {
    ($($list:ident: $single:ident),* $(,)?) => {
        fn define_all(library: &mut Library) {
            $($crate::kinds::foreach::define(library, $list, $single);)*
        }

        #[cfg(feature = "samples")]
        fn sample_all(samples: &mut opgrid_samples::Samples) {
            $(samples.each($list, $single);)*
        }
    };
}

pub(crate) use over_lists;

/// Finds an operator, and registers what it belongs to where that was not needed yet.
type Find = fn() -> Result<OperatorHandle>;

/// Defines an overload over lists with its forms. The one that gives new tensors calls `single`, the one in place calls that one's form in
/// place, and the one with outputs copies what the first one gives.
#[track_caller]
pub(crate) fn define<L: Operator + Default, S: Operator + Default>(
    library: &mut Library,
    list: L,
    _single: S,
) {
    let in_place: Find = || {
        operator::<S>()?;
        Dispatcher::current().find(name_in(S::IN_PLACE.unwrap_or_default()))
    };
    define_forms(library, list, operator::<S>, S::IN_PLACE.map(|_| in_place));
}

/// As [`define`], where the operator of one tensor that is called in place is declared by itself.
#[track_caller]
pub(crate) fn define_with<L: Operator + Default, S: Operator + Default, I: Operator + Default>(
    library: &mut Library,
    list: L,
    _single: S,
    _in_place: I,
) {
    define_forms(library, list, operator::<S>, Some(operator::<I>));
}

#[track_caller]
fn define_forms<L: Operator + Default>(library: &mut Library, list: L, single: Find, in_place: Option<Find>) {
    let _ = library.define_with_forms(list, &kind::OPTIMIZER);
    add(library, L::SCHEMA, each(single));
    if let (Some(schema), Some(in_place)) = (L::IN_PLACE, in_place) {
        add(library, schema, each(in_place));
    }
    if let Some(schema) = L::OUT {
        let functional: Find = operator::<L>;
        let kernel =
            Kernel::boxed(move |call| into_outputs(call, functional).map_err(|error| named(error, call)));
        let _ = library.implement(name_in(schema)).add(kernel.at(DispatchKey::CompositeExplicitAutograd));
    }
}

#[track_caller]
fn add(library: &mut Library, schema: &'static str, kernel: Kernel) {
    let _ = library.implement(name_in(schema)).add(kernel.at(DispatchKey::CompositeImplicitAutograd));
}

fn operator<O: Operator + Default>() -> Result<OperatorHandle> {
    Dispatcher::current().operator(O::default())
}

/// The name at the beginning of a schema.
fn name_in(schema: &'static str) -> &'static str {
    schema.split('(').next().unwrap_or(schema)
}

fn named(error: Error, call: &BoxedCall<'_>) -> Error {
    error.within(call.operator().name())
}

/// The kernel that calls an operator for each tensor.
#[track_caller]
fn each(single: Find) -> Kernel {
    Kernel::boxed(move |call| call_each(call, single).map_err(|error| named(error, call)))
}

fn call_each(call: &mut BoxedCall<'_>, single: Find) -> Result<()> {
    let Some(schema) = call.schema() else { return Err(argument("the operator has no schema")) };
    let args = call.args();
    let count = check(args, schema)?;
    let packed = packed_numbers(args, schema, count)?;
    let given = |place: usize| match &packed {
        Some((at, numbers)) if *at == place => numbers.borrow(),
        _ => args[place],
    };
    let single = single()?;
    let binder = single.binder()?;
    let argument = |place: usize| match source(schema, binder.schema(), place) {
        Some(place) => given(place),
        None => binder.default(place).borrow(),
    };
    let arguments: Arguments<'_> = (0..binder.count()).map(argument).collect();
    let gives_new = !schema.returns.is_empty();
    let mut results = Vec::with_capacity(if gives_new { count } else { 0 });
    let mut returns = Returns::new();
    for index in 0..count {
        let one: Arguments<'_> = arguments.iter().map(|value| item(*value, index)).collect();
        single
            .call_boxed(&one, &mut returns)
            .map_err(|error| error.within(format_args!("tensor {index}")))?;
        if let Some(Value::Tensor(result)) = returns.take(0)
            && gives_new
        {
            results.push(result);
        }
        returns.clear();
    }
    if gives_new {
        call.push(List::Tensors(results));
    }
    Ok(())
}

/// The arguments of a call.
type Arguments<'a> = SmallVec<[ValueRef<'a>; 6]>;

/// Checks the lists, and tells how many tensors there are in each.
///
/// # Errors
///
/// No tensors, lists of different lengths, one tensor of several elements for all.
fn check(args: &[ValueRef<'_>], schema: &FunctionSchema) -> Result<usize> {
    let lists = args.iter().zip(&schema.arguments);
    let mut first: Option<(usize, &str)> = None;
    for (value, declared) in lists {
        let name = declared.name.as_str();
        match (length(*value), first) {
            (Some(0), None) => {
                return Err(argument(format!(
                    "argument `{name}` is an empty list, expected at least one tensor"
                )));
            }
            (Some(count), None) => first = Some((count, name)),
            (Some(found), Some((count, of))) if found != count => {
                let what = if let ValueView::Tensors(_) = value.view() { "tensors" } else { "numbers" };
                return Err(argument(format!(
                    "argument `{name}` has {found} {what}, expected {count}, one for each of `{of}`"
                )));
            }
            (Some(_), Some(_)) => {}
            (None, _) => {
                let sizes = tensor_in(*value).map_or(&[][..], Tensor::sizes);
                if !sizes.is_empty() && name != PACKED {
                    return Err(argument(format!(
                        "argument `{name}` has sizes {sizes:?}, expected [], one number for all"
                    )));
                }
            }
        }
    }
    Ok(first.map_or(0, |(count, _)| count))
}

/// The name of arguments that are a tensor of numbers, one for each tensor of the lists.
const PACKED: &str = "scalars";

/// The numbers in a tensor of one for each tensor of the lists, as a list, and which argument it is.
///
/// # Errors
///
/// It is no vector of that many; its elements are not there.
fn packed_numbers(
    args: &[ValueRef<'_>],
    schema: &FunctionSchema,
    count: usize,
) -> Result<Option<(usize, Value)>> {
    let Some(place) = schema.argument_index(PACKED) else { return Ok(None) };
    let Some(tensor) = tensor_in(args[place]) else { return Ok(None) };
    let sizes = tensor.sizes();
    if sizes != [count as i64] {
        return Err(argument(format!(
            "argument `{PACKED}` has sizes {sizes:?}, expected [{count}], a number for each tensor"
        )));
    }
    let numbers = (0..count).map(|index| Ok(Value::from(tensor.select(0, index as i64)?.item()?)));
    let numbers = numbers.collect::<Result<Vec<Value>>>()?;
    Ok(Some((place, List::Values(Type::Scalar, numbers.into()).into())))
}

/// Which argument of the call the operator of one tensor takes: that of the same name, or else the one at the same place, unless
/// another one has its name. `None` where it keeps its default.
fn source(lists: &FunctionSchema, single: &FunctionSchema, place: usize) -> Option<usize> {
    lists.argument_index(&single.arguments[place].name).or_else(|| {
        let given = lists.arguments.get(place)?;
        single.argument_index(&given.name).is_none().then_some(place)
    })
}

fn tensor_in(value: ValueRef<'_>) -> Option<&Tensor> {
    value.as_tensor().and_then(Tensor::from_any_ref)
}

/// How many elements a list has; `None` for what is no list.
fn length(value: ValueRef<'_>) -> Option<usize> {
    match value.view() {
        ValueView::Tensors(list) => Some(list.len()),
        ValueView::Ints(list) => Some(list.len()),
        ValueView::Floats(list) => Some(list.len()),
        ValueView::Bools(list) => Some(list.len()),
        ValueView::List(_, list) => Some(list.len()),
        _ => None,
    }
}

/// The element of a list; of anything else it is the value itself.
fn item(value: ValueRef<'_>, index: usize) -> ValueRef<'_> {
    match value.view() {
        ValueView::Tensors(list) => (&list[index]).into(),
        ValueView::Ints(list) => list[index].into(),
        ValueView::Floats(list) => list[index].into(),
        ValueView::Bools(list) => list[index].into(),
        ValueView::List(_, list) => list[index].borrow(),
        _ => value,
    }
}

/// Copies what the overload gives that writes nothing to the tensors of the last argument.
fn into_outputs(call: &mut BoxedCall<'_>, functional: Find) -> Result<()> {
    let Some((outputs, arguments)) = call.args().split_last() else {
        return Err(argument("the operator has no outputs"));
    };
    let mut returns = Returns::new();
    functional()?.call_boxed(arguments, &mut returns)?;
    let results = Vec::<Tensor>::take(returns.into_single()?)?;
    result::list_copied(&Vec::<Tensor>::from_value(*outputs)?, &results)
}
