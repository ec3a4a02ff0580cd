//! Conformance statements R63 to R86: every type of argument arrives and comes back as it was sent.
//!
//! Each type goes through kernels that return it, nothing, or it among others; registered in the legacy and in the
//! modern way, with a schema as text and with an inferred one; typed kernels and boxed ones; called typed and boxed.

use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use crate::common::tensor;
use opgrid_core::signature::Return;
use opgrid_core::{
    AnyTensor, DispatchKey, Dispatcher, Kernel, LegacyOptions, OperatorHandle, Registration, Returns, Value,
};
use opgrid_core::{Argument, Dict, ValueType};

/// What a type must be able to do to be sent around.
trait Sample: Argument + ValueType + Return<Output = Self> + Debug + PartialEq + Send + Sync {}

impl<T: Argument + ValueType + Return<Output = T> + Debug + PartialEq + Send + Sync> Sample for T {}

/// From what a caller owns to what a kernel takes, and back.
struct Way<T: Argument> {
    lend: for<'a> fn(&'a T) -> T::At<'a>,
    own: for<'a> fn(T::At<'a>) -> T,
}

impl<T: Argument> Clone for Way<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Argument> Copy for Way<T> {}

/// Registers `test::op` in one of the four ways.
fn register(
    dispatcher: &Dispatcher,
    (legacy, explicit): (bool, bool),
    schema: &str,
    kernel: Kernel,
) -> Registration {
    if legacy {
        let text = if explicit { format!("test::{schema}") } else { "test::op".to_owned() };
        return dispatcher.register(&text, LegacyOptions::new().catch_all(kernel)).unwrap();
    }
    let mut library = dispatcher.library("test");
    if explicit {
        library.define(schema).add(kernel);
    } else {
        library.define_inferred("op", kernel);
    }
    library.finish().unwrap()
}

/// Calls `test::op` with one value and gives back its results.
fn call_boxed(operator: &OperatorHandle, value: &Value) -> Vec<Value> {
    let mut returns = Returns::new();
    operator.call_boxed(&[value.borrow()], &mut returns).unwrap();
    returns.into_vec()
}

/// Sends a value through operators whose typed kernels `kernel` makes and whose boxed ones leave `results`, calling them
/// typed by `call`. `seen` takes what typed kernels have got. Compiled once for all types.
fn send(
    kind: &str,
    (declared, results): (&str, &[Value]),
    sent: &Value,
    kernel: &dyn Fn() -> Kernel,
    call: &dyn Fn(&OperatorHandle) -> Vec<Value>,
    seen: &dyn Fn() -> Vec<Value>,
) {
    let schema = format!("op({kind} x) -> {declared}");
    for way in [(false, false), (false, true), (true, false), (true, true)] {
        let dispatcher = Dispatcher::new();
        let registered = register(&dispatcher, way, &schema, kernel());
        let operator = dispatcher.find("test::op").unwrap();
        assert_eq!(operator.schema().unwrap().arguments[0].real_type.to_string(), kind);
        assert_eq!(call(&operator), results, "{schema}, typed kernel, typed call");
        assert_eq!(call_boxed(&operator, sent), results, "{schema}, typed kernel, boxed call");
        assert_eq!(seen(), [sent.clone(), sent.clone()], "{schema}");
        drop(registered);
        if !way.1 {
            continue;
        }
        let (expected, left) = (sent.clone(), results.to_vec());
        let boxed = Kernel::boxed(move |call| {
            assert_eq!(call.args().len(), 1);
            assert_eq!(call.args()[0].to_value(), expected);
            left.iter().for_each(|result| call.push(result.clone()));
            Ok(())
        });
        let _registered = register(&dispatcher, way, &schema, boxed);
        let operator = dispatcher.find("test::op").unwrap();
        assert_eq!(call(&operator), results, "{schema}, boxed kernel, typed call");
        assert_eq!(call_boxed(&operator, sent), results, "{schema}, boxed kernel, boxed call");
    }
}

/// Sends `value`, whose type is written `kind` in schemas, through operators of every form.
fn check<T: Sample>(
    kind: &str,
    value: T,
    lend: for<'a> fn(&'a T) -> T::At<'a>,
    own: for<'a> fn(T::At<'a>) -> T,
) {
    let way = Way::<T> { lend, own };
    let got = Arc::new(Mutex::new(Vec::new()));
    let note = || {
        let got = got.clone();
        move |x: T::At<'_>| {
            let x = (way.own)(x);
            got.lock().unwrap().push(x.clone().into_value());
            x
        }
    };
    let seen = || std::mem::take(&mut *got.lock().unwrap());
    let packed = value.clone().into_value();

    type Same<T> = fn(T) -> T;
    let kernel = || {
        let note = note();
        Kernel::closure::<Same<T>>(move |(x,)| Ok(note(x)))
    };
    let call = |operator: &OperatorHandle| {
        let result: T = operator.typed::<Same<T>>().unwrap().call(((way.lend)(&value),)).unwrap();
        assert_eq!(result, value);
        vec![result.into_value()]
    };
    send(kind, (kind, std::slice::from_ref(&packed)), &packed, &kernel, &call, &seen);

    type Nothing<T> = fn(T);
    let kernel = || {
        let note = note();
        Kernel::closure::<Nothing<T>>(move |(x,)| {
            note(x);
            Ok(())
        })
    };
    let call = |operator: &OperatorHandle| {
        operator.typed::<Nothing<T>>().unwrap().call(((way.lend)(&value),)).unwrap();
        Vec::new()
    };
    send(kind, ("()", &[]), &packed, &kernel, &call, &seen);

    type Several<T> = fn(T) -> (i64, T, String, T);
    let kernel = || {
        let note = note();
        Kernel::closure::<Several<T>>(move |(x,)| {
            let x = note(x);
            Ok((7, x.clone(), "among others".to_owned(), x))
        })
    };
    let call = |operator: &OperatorHandle| {
        let typed = operator.typed::<Several<T>>().unwrap();
        let (number, first, text, second) = typed.call(((way.lend)(&value),)).unwrap();
        vec![number.into(), first.into_value(), text.into(), second.into_value()]
    };
    let declared = format!("(int, {kind}, str, {kind})");
    let results = [Value::from(7), packed.clone(), Value::from("among others"), packed.clone()];
    send(kind, (&declared, &results), &packed, &kernel, &call, &seen);
}

/// Calls a generic check with two samples of each type that lists are made of, tensors included.
macro_rules! of_each_element {
    ($check:ident) => {
        $check("float", [1.5, -2.25]);
        $check("int", [i64::MIN, 3]);
        $check("bool", [true, false]);
        $check("str", ["first".to_owned(), String::new()]);
        $check("Tensor", [tensor(DispatchKey::Cpu), tensor(DispatchKey::Cuda)]);
    };
}

/// R63: float.
#[test]
fn r63_float() {
    for value in [1.5, -0.0, f64::MAX, f64::INFINITY] {
        check::<f64>("float", value, |x| *x, |x| x);
    }
}

/// R64: int.
#[test]
fn r64_int() {
    for value in [0, 3, i64::MIN, i64::MAX] {
        check::<i64>("int", value, |x| *x, |x| x);
    }
}

/// R65: bool, both values.
#[test]
fn r65_bool() {
    for value in [true, false] {
        check::<bool>("bool", value, |x| *x, |x| x);
    }
}

/// R66: str.
#[test]
fn r66_str() {
    for value in ["", "some text", "ünïcode\0"] {
        check::<String>("str", value.to_owned(), |x| x, str::to_owned);
    }
}

/// R67: Tensor; what comes back is the very same tensor.
#[test]
fn r67_tensor() {
    for key in [DispatchKey::Cpu, DispatchKey::Cuda, DispatchKey::Undefined] {
        check::<AnyTensor>("Tensor", tensor(key), |x| x, AnyTensor::clone);
    }
}

/// R68: an optional of each plain type, present. R69: absent.
#[test]
fn r68_r69_optionals_of_each_plain_type() {
    for present in [true, false] {
        check::<Option<f64>>("float?", present.then_some(2.5), |x| *x, |x| x);
        check::<Option<i64>>("int?", present.then_some(0), |x| *x, |x| x);
        check::<Option<bool>>("bool?", present.then_some(false), |x| *x, |x| x);
        check::<Option<String>>(
            "str?",
            present.then(String::new),
            |x| x.as_deref(),
            |x| x.map(str::to_owned),
        );
        let some = present.then(|| tensor(DispatchKey::Cpu));
        check::<Option<AnyTensor>>("Tensor?", some, |x| x.as_ref(), |x| x.cloned());
    }
}

type Optionals = fn(AnyTensor, Option<AnyTensor>, Option<i64>, Option<String>) -> String;

/// R68, R69 together: several optionals in one call, each present or absent.
#[test]
fn r68_r69_several_optionals_in_one_call() {
    let kernel = || {
        Kernel::closure::<Optionals>(|(_, other, number, text)| {
            Ok(format!("{} {number:?} {text:?}", other.is_some()))
        })
    };
    let schema = "op(Tensor x, Tensor? other, int? number, str? text) -> str";
    for way in [(false, false), (false, true), (true, false), (true, true)] {
        let dispatcher = Dispatcher::new();
        let _registered = register(&dispatcher, way, schema, kernel());
        let operator = dispatcher.find("test::op").unwrap();
        let typed = operator.typed::<Optionals>().unwrap();
        for bits in 0..8 {
            let x = tensor(DispatchKey::Cpu);
            let other = (bits & 1 != 0).then(|| tensor(DispatchKey::Cuda));
            let number = (bits & 2 != 0).then_some(4);
            let text = (bits & 4 != 0).then_some("text");
            let expected = format!("{} {number:?} {text:?}", other.is_some());
            assert_eq!(typed.call((&x, other.as_ref(), number, text)).unwrap(), expected);
            let values = vec![x.into(), other.into(), number.into(), text.into()];
            assert_eq!(operator.call_values(values).unwrap(), [Value::from(expected)]);
        }
    }
}

fn list<T: Sample>(kind: &str, items: Vec<T>) {
    check::<Vec<T>>(&format!("{kind}[]"), items, |x| x, <[T]>::to_vec);
}

fn empty_list<T: Sample>(kind: &str, _: [T; 2]) {
    list::<T>(kind, Vec::new());
}

fn full_list<T: Sample>(kind: &str, items: [T; 2]) {
    list(kind, items.to_vec());
    list(kind, items.iter().cycle().take(9).cloned().collect());
}

/// R70: empty lists. R72: empty slices. R76: empty vectors, as the legacy call takes them.
///
/// DIFFERENCE: torch has three types for these; here one, which callers lend as a slice and own as a `Vec`, serves
/// both ways of registering.
#[test]
fn r70_r72_r76_empty_lists() {
    of_each_element!(empty_list);
}

/// R71, R73, R77: the same with elements, tensors among them.
#[test]
fn r71_r73_r77_lists_with_elements() {
    of_each_element!(full_list);
}

fn empty_array<T: Sample>(kind: &str, _: [T; 2]) {
    check::<[T; 0]>(&format!("{kind}[]"), [], |x| x, <[T; 0]>::clone);
}

fn full_array<T: Sample>(kind: &str, items: [T; 2]) {
    check::<[T; 2]>(&format!("{kind}[]"), items, |x| x, <[T; 2]>::clone);
}

/// R74: arrays of length 0.
#[test]
fn r74_empty_arrays() {
    of_each_element!(empty_array);
}

/// R75: arrays of length 2, of tensors too; a list of another length is refused with both lengths.
#[test]
fn r75_arrays() {
    of_each_element!(full_array);
    let dispatcher = Dispatcher::new();
    let kernel = Kernel::closure::<fn([i64; 2]) -> i64>(|(items,)| Ok(items[0] + items[1]));
    let _registered = register(&dispatcher, (false, true), "op(int[2] x) -> int", kernel);
    let operator = dispatcher.find("test::op").unwrap();
    assert_eq!(operator.call_values(vec![vec![1, 2].into()]).unwrap(), [Value::from(3)]);
    for wrong in [vec![], vec![1], vec![1, 2, 3]] {
        let found = wrong.len();
        let error = operator.call_values(vec![wrong.into()]).unwrap_err().to_string();
        let expected = format!("test::op: argument `x`: expected a list of 2 elements but got {found}");
        assert_eq!(error, expected);
    }
}

fn optional_list<T: Sample>(kind: &str, items: Option<Vec<T>>) {
    check::<Option<Vec<T>>>(&format!("{kind}[]?"), items, |x| x.as_deref(), |x| x.map(<[T]>::to_vec));
}

fn absent_list<T: Sample>(kind: &str, _: [T; 2]) {
    optional_list::<T>(kind, None);
}

fn present_empty_list<T: Sample>(kind: &str, _: [T; 2]) {
    optional_list::<T>(kind, Some(Vec::new()));
}

fn present_full_list<T: Sample>(kind: &str, items: [T; 2]) {
    optional_list(kind, Some(items.to_vec()));
}

/// R78: an optional list that is absent.
#[test]
fn r78_absent_lists() {
    of_each_element!(absent_list);
}

/// R79: an optional list that is present and empty, which is not the same.
#[test]
fn r79_present_empty_lists() {
    of_each_element!(present_empty_list);
}

/// R80: an optional list with values.
#[test]
fn r80_present_lists_with_values() {
    of_each_element!(present_full_list);
}

fn list_with_gaps<T: Sample>(kind: &str, items: Vec<Option<T>>) {
    check::<Vec<Option<T>>>(&format!("{kind}?[]"), items, |x| x, <[Option<T>]>::to_vec);
}

fn empty_list_of_optionals<T: Sample>(kind: &str, _: [T; 2]) {
    list_with_gaps::<T>(kind, Vec::new());
}

fn full_list_of_optionals<T: Sample>(kind: &str, [first, second]: [T; 2]) {
    list_with_gaps(kind, vec![Some(first.clone()), None, Some(second), None]);
    list_with_gaps(kind, vec![Some(first)]);
    list_with_gaps::<T>(kind, vec![None]);
}

/// R81: an empty list of optionals.
#[test]
fn r81_empty_lists_of_optionals() {
    of_each_element!(empty_list_of_optionals);
}

/// R82: a list of optionals with values and gaps.
#[test]
fn r82_lists_of_optionals_with_values() {
    of_each_element!(full_list_of_optionals);
}

fn dict<K: Sample, V: Sample>(kind: &str, pairs: Vec<(K, V)>) {
    check::<Dict<K, V>>(kind, pairs.into_iter().collect(), |x| x, Dict::clone);
}

/// R83: a dict from strings to strings. R84: from integers to tensors. R85: both in the legacy call, where torch takes
/// standard maps.
///
/// DIFFERENCE: dicts are values, and one type serves both ways of registering; pairs stay in their order.
#[test]
fn r83_r84_r85_dicts() {
    let texts = [("key1", "value1"), ("key2", "value2"), ("", "")];
    let texts: Vec<_> = texts.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    dict("Dict(str, str)", texts);
    dict::<String, String>("Dict(str, str)", Vec::new());
    let tensors = vec![(1, tensor(DispatchKey::Cpu)), (-2, tensor(DispatchKey::Cuda))];
    dict("Dict(int, Tensor)", tensors);
    dict::<i64, AnyTensor>("Dict(int, Tensor)", Vec::new());
}

/// R83, R84: a kernel finds what is under a key, and nothing under others.
#[test]
fn r83_r84_kernels_look_into_dicts() {
    type Find = fn(Dict<i64, AnyTensor>, i64) -> Option<AnyTensor>;
    for legacy in [false, true] {
        let dispatcher = Dispatcher::new();
        let kernel = Kernel::closure::<Find>(|(dict, key)| Ok(dict.find(&key).cloned()));
        let schema = "op(Dict(int, Tensor) dict, int key) -> Tensor?";
        let _registered = register(&dispatcher, (legacy, true), schema, kernel);
        let operator = dispatcher.find("test::op").unwrap();
        let (a, b) = (tensor(DispatchKey::Cpu), tensor(DispatchKey::Cuda));
        let dict = Dict::from_iter([(1, a.clone()), (2, b.clone())]);
        let typed = operator.typed::<Find>().unwrap();
        for (key, expected) in [(1, Some(a)), (2, Some(b)), (3, None)] {
            assert_eq!(typed.call((&dict, key)).unwrap(), expected);
            let values = vec![dict.clone().into_value(), Value::from(key)];
            assert_eq!(operator.call_values(values).unwrap(), [expected.into()]);
        }
    }
}

/// R86: dicts, lists and optionals within each other.
#[test]
fn r86_deeply_nested_containers() {
    type Inner = Dict<i64, String>;
    type Outer = Dict<String, Vec<Option<Inner>>>;
    let inner = Inner::from_iter([(10, "ten".to_owned()), (11, "eleven".to_owned())]);
    let outer = Outer::from_iter([
        ("some".to_owned(), vec![Some(inner.clone()), None, Some(Inner::default())]),
        ("none".to_owned(), Vec::new()),
    ]);
    check::<Vec<Outer>>(
        "Dict(str, Dict(int, str)?[])[]",
        vec![outer.clone(), Outer::default(), outer],
        |x| x,
        <[Outer]>::to_vec,
    );
    let tensors = vec![vec![tensor(DispatchKey::Cpu)], Vec::new()];
    check::<Vec<Vec<AnyTensor>>>("Tensor[][]", tensors, |x| x, <[Vec<AnyTensor>]>::to_vec);
    check::<Option<Inner>>("Dict(int, str)?", Some(inner), |x| x.as_ref(), |x| x.cloned());
}
