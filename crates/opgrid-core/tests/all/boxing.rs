//! Typed and boxed callers against typed and boxed kernels, over every kind of argument and result.

use std::fmt;
use std::sync::Arc;

use crate::common::{cpu, define, implement, tensor};
use opgrid_core::{
    AnyTensor as Tensor, Class, Complex64, DType, Device, Dict, DispatchKey, Dispatcher, Error, ErrorKind,
    Generator, Kernel, Layout, List, MemoryFormat, Result, Returns, Scalar, Signature, Stack, SymInt,
    SymNode, SymbolicInt, TypedHandle, Value, ValueRef, ValueType, WritesFirst, WritesLast,
};

const KEY: DispatchKey = DispatchKey::CompositeExplicitAutograd;

fn own<T: ValueType>(item: T) -> Value {
    item.into_value()
}

/// Calls typed and boxed, with a typed kernel and with a boxed one: the arguments arrive and the results come back.
fn four<S: Signature>(
    schema: &str,
    function: S::Returning<S::Output>,
    call: impl Fn(&TypedHandle<S>) -> Result<Vec<Value>>,
    args: Vec<Value>,
    results: Vec<Value>,
) {
    let dispatcher = Dispatcher::new();
    let _defined = define(&dispatcher, schema).unwrap();
    let operator = dispatcher.operators().remove(0);
    let name = operator.name().name.trim_start_matches("test::").to_owned();
    let (expected, left) = (args.clone(), results.clone());
    let boxed = Kernel::boxed(move |call| {
        let found: Vec<_> = call.args().iter().map(|arg| arg.to_value()).collect();
        assert_eq!(found, expected);
        left.iter().for_each(|value| call.push(value.clone()));
        Ok(())
    });
    for (kind, kernel) in [("typed", Kernel::function::<S>(function)), ("boxed", boxed)] {
        let _kernel = implement(&dispatcher, &name, KEY, kernel).unwrap();
        let typed = call(&operator.typed::<S>().unwrap());
        assert_eq!(typed.unwrap(), results, "{schema}: typed call of a {kind} kernel");
        let boxed = operator.call_values(args.clone());
        assert_eq!(boxed.unwrap(), results, "{schema}: boxed call of a {kind} kernel");
        let mut stack = Stack::new();
        stack.push("below");
        stack.push_all(args.clone());
        operator.call_stack(&mut stack).unwrap();
        assert_eq!(stack.values()[0], Value::from("below"));
        assert_eq!(stack.values()[1..], results, "{schema}: stack call of a {kind} kernel");
    }
}

/// `schema, signature: kernel; typed arguments; boxed arguments => results; typed result => values`.
macro_rules! four {
    ($($schema:literal, $signature:ty: $kernel:expr;
       $args:expr; [$($value:expr),*] => [$($result:expr),*]; $out:pat => [$($back:expr),*];)*) => {
        $(four::<$signature>(
            $schema,
            $kernel,
            |handle| { let $out = handle.call($args)?; Ok(vec![$(own($back)),*]) },
            vec![$(own($value)),*],
            vec![$(own($result)),*],
        );)*
    };
}

struct Config(i64);
impl Class for Config {
    const NAME: &'static str = "test.Config";
}

#[test]
fn plain_values() {
    let z = Complex64::new(1.0, -2.0);
    let cuda = "cuda:1".parse::<Device>().unwrap();
    four! {
        "f(int x) -> int", fn(i64) -> i64: |x| Ok(x + 1); (2,); [2] => [3]; x => [x];
        "f(float x) -> float", fn(f64) -> f64: |x| Ok(-x); (2.5,); [2.5] => [-2.5]; x => [x];
        "f(bool x) -> bool", fn(bool) -> bool: |x| Ok(!x); (true,); [true] => [false]; x => [x];
        "f(complex x) -> complex", fn(Complex64) -> Complex64: |x| Ok(x.conj()); (z,); [z] => [z.conj()]; x => [x];
        "f(str x) -> str", fn(String) -> String: |x| Ok(x.repeat(2)); ("ab",);
            [String::from("ab")] => [String::from("abab")]; x => [x];
        "f(str x) -> str", fn(String) -> String: |x| Ok(x.into()); ("",); [String::new()] => [String::new()]; x => [x];
        "f(ScalarType x) -> ScalarType", fn(DType) -> DType: Ok; (DType::F32,);
            [DType::F32] => [DType::F32]; x => [x];
        "f(Layout x) -> Layout", fn(Layout) -> Layout: Ok; (Layout::Strided,);
            [Layout::Strided] => [Layout::Strided]; x => [x];
        "f(MemoryFormat x) -> MemoryFormat", fn(MemoryFormat) -> MemoryFormat: Ok; (MemoryFormat::ChannelsLast,);
            [MemoryFormat::ChannelsLast] => [MemoryFormat::ChannelsLast]; x => [x];
        "f(Device x) -> Device", fn(Device) -> Device: Ok; (cuda,); [cuda] => [cuda]; x => [x];
        "f(Scalar x) -> Scalar", fn(Scalar) -> Scalar: Ok; (Scalar::Int(1),);
            [Scalar::Int(1)] => [Scalar::Int(1)]; x => [x];
        "f(Scalar x) -> Scalar", fn(Scalar) -> Scalar: Ok; (Scalar::Float(0.5),);
            [Scalar::Float(0.5)] => [Scalar::Float(0.5)]; x => [x];
        "f(Scalar x) -> Scalar", fn(Scalar) -> Scalar: Ok; (Scalar::Bool(true),);
            [Scalar::Bool(true)] => [Scalar::Bool(true)]; x => [x];
        "f(Scalar x) -> Scalar", fn(Scalar) -> Scalar: Ok; (Scalar::Complex(z),);
            [Scalar::Complex(z)] => [Scalar::Complex(z)]; x => [x];
        "f(Any x) -> Any", fn(Value) -> Value: |x| Ok(x.clone()); (&Value::from(1),);
            [Value::from(1)] => [Value::from(1)]; x => [x];
        "f() -> ()", fn() -> (): || Ok(()); (); [] => []; () => [];
        "f() -> int", fn() -> i64: || Ok(7); (); [] => [7]; x => [x];
    }
}

#[test]
fn tensors() {
    let (x, y) = (cpu(), cpu());
    let gaps = [Some(x.clone()), None];
    four! {
        "f(Tensor x) -> Tensor", fn(Tensor) -> Tensor: |x| Ok(x.clone()); (&x,);
            [x.clone()] => [x.clone()]; z => [z];
        "f(Tensor? x) -> Tensor?", fn(Option<Tensor>) -> Option<Tensor>: |x| Ok(x.cloned()); (Some(&x),);
            [x.clone()] => [x.clone()]; z => [z];
        "f(Tensor? x) -> Tensor?", fn(Option<Tensor>) -> Option<Tensor>: |x| Ok(x.cloned()); (None,);
            [Value::None] => [Value::None]; z => [z];
        "f(Tensor[] x) -> Tensor[]", fn(Vec<Tensor>) -> Vec<Tensor>: |x| Ok(x.to_vec()); (&[x.clone(), y.clone()],);
            [vec![x.clone(), y.clone()]] => [vec![x.clone(), y.clone()]]; z => [z];
        "f(Tensor[] x) -> Tensor[]", fn(Vec<Tensor>) -> Vec<Tensor>: |x| Ok(x.to_vec()); (&[],);
            [Vec::<Tensor>::new()] => [Vec::<Tensor>::new()]; z => [z];
        "f(Tensor?[] x) -> Tensor?[]", fn(Vec<Option<Tensor>>) -> Vec<Option<Tensor>>: |x| Ok(x.to_vec()); (&gaps,);
            [gaps.to_vec()] => [gaps.to_vec()]; z => [z];
        "f(Tensor[2] x) -> Tensor[]", fn([Tensor; 2]) -> [Tensor; 2]: |x| Ok(x.clone());
            (&[x.clone(), y.clone()],);
            [vec![x.clone(), y.clone()]] => [vec![x.clone(), y.clone()]]; z => [z];
        "f(Tensor[]? x) -> Tensor[]?", fn(Option<Vec<Tensor>>) -> Option<Vec<Tensor>>: |x| Ok(x.map(<[_]>::to_vec));
            (Some(std::slice::from_ref(&x)),); [vec![x.clone()]] => [vec![x.clone()]]; z => [z];
        "f(Tensor[][] x) -> Tensor[][]", fn(Vec<Vec<Tensor>>) -> Vec<Vec<Tensor>>: |x| Ok(x.to_vec());
            (&[vec![x.clone()], vec![]],); [vec![vec![x.clone()], vec![]]] => [vec![vec![x.clone()], vec![]]]; z => [z];
    }
}

#[test]
fn lists() {
    let texts = || vec![String::from("a"), String::new()];
    four! {
        "f(int[] x) -> int[]", fn(Vec<i64>) -> Vec<i64>: |x| Ok(x.to_vec()); (&[1, 2, 3],);
            [vec![1_i64, 2, 3]] => [vec![1_i64, 2, 3]]; x => [x];
        "f(int[2] x) -> int[]", fn([i64; 2]) -> [i64; 2]: |&[a, b]| Ok([b, a]); (&[1, 2],);
            [[1_i64, 2]] => [[2_i64, 1]]; x => [x];
        "f(int[]? x) -> int[]?", fn(Option<Vec<i64>>) -> Option<Vec<i64>>: |x| Ok(x.map(<[_]>::to_vec)); (Some(&[1]),);
            [vec![1_i64]] => [vec![1_i64]]; x => [x];
        "f(int[]? x) -> int[]?", fn(Option<Vec<i64>>) -> Option<Vec<i64>>: |x| Ok(x.map(<[_]>::to_vec)); (None,);
            [Value::None] => [Value::None]; x => [x];
        "f(float[] x) -> float[]", fn(Vec<f64>) -> Vec<f64>: |x| Ok(x.to_vec()); (&[0.5],);
            [vec![0.5]] => [vec![0.5]]; x => [x];
        "f(bool[3] x) -> bool[]", fn([bool; 3]) -> [bool; 3]: |x| Ok(*x); (&[true, false, true],);
            [[true, false, true]] => [[true, false, true]]; x => [x];
        "f(str[] x) -> str[]", fn(Vec<String>) -> Vec<String>: |x| Ok(x.to_vec()); (&texts(),);
            [texts()] => [texts()]; x => [x];
        "f(Scalar[] x) -> Scalar[]", fn(Vec<Scalar>) -> Vec<Scalar>: |x| Ok(x.to_vec());
            (&[Scalar::Int(1), Scalar::Float(2.0)],);
            [vec![Scalar::Int(1), Scalar::Float(2.0)]] => [vec![Scalar::Int(1), Scalar::Float(2.0)]]; x => [x];
        "f(ScalarType[] x) -> ScalarType[]", fn(Vec<DType>) -> Vec<DType>: |x| Ok(x.to_vec()); (&[DType::F32],);
            [vec![DType::F32]] => [vec![DType::F32]]; x => [x];
        "f(int?[] x) -> int?[]", fn(Vec<Option<i64>>) -> Vec<Option<i64>>: |x| Ok(x.to_vec()); (&[Some(1), None],);
            [vec![Some(1_i64), None]] => [vec![Some(1_i64), None]]; x => [x];
    }
}

#[test]
fn dicts_tuples_objects_and_generators() {
    let dict = || Dict::from_iter([("a".to_owned(), 1_i64), ("b".to_owned(), 2)]);
    let deep =
        || Dict::from_iter([("k".to_owned(), vec![Some(Dict::from_iter([(1_i64, "v".to_owned())])), None])]);
    type Deep = Dict<String, Vec<Option<Dict<i64, String>>>>;
    let config = Arc::new(Config(5));
    let generator = Generator::new(DispatchKey::Cpu.key_set(), "cpu".parse().unwrap(), 1_u8);
    four! {
        "f(Dict(str, int) x) -> Dict(str, int)", fn(Dict<String, i64>) -> Dict<String, i64>: |x| Ok(x.clone());
            (&dict(),); [dict()] => [dict()]; x => [x];
        "f(Dict(str, Dict(int, str)?[])[] x) -> Dict(str, Dict(int, str)?[])[]", fn(Vec<Deep>) -> Vec<Deep>:
            |x| Ok(x.to_vec()); (&[deep()],); [vec![deep()]] => [vec![deep()]]; x => [x];
        "f((int, str) x) -> int", fn((i64, String)) -> i64: |x| Ok(x.0 + x.1.len() as i64);
            (&(1, "t".to_owned()),); [(1_i64, "t".to_owned())] => [2_i64]; x => [x];
        "f((int, str)[] x) -> int", fn(Vec<(i64, String)>) -> i64: |x| Ok(x[0].0);
            (&[(1, "t".to_owned())],); [vec![(1_i64, "t".to_owned())]] => [1_i64]; x => [x];
        "f(__torch__.torch.classes.test.Config x) -> __torch__.torch.classes.test.Config",
            fn(Arc<Config>) -> Arc<Config>: |x| { assert_eq!(x.0, 5); Ok(x.clone()) }; (&config,);
            [config.clone()] => [config.clone()]; x => [x];
        "f(Generator x) -> Generator", fn(Generator) -> Generator: |x| Ok(x.clone()); (&generator,);
            [generator.clone()] => [generator.clone()]; x => [x];
        "f(Generator? x) -> Generator?", fn(Option<Generator>) -> Option<Generator>: |x| Ok(x.cloned()); (None,);
            [Value::None] => [Value::None]; x => [x];
    }
}

#[test]
fn several_results_and_results_that_are_arguments() {
    let (x, y, z) = (cpu(), cpu(), cpu());
    four! {
        "f(Tensor x, int n) -> (Tensor, int)", fn(Tensor, i64) -> (Tensor, i64): |x, n| Ok((x.clone(), n + 1));
            (&x, 1); [x.clone(), 1_i64] => [x.clone(), 2_i64]; (a, b) => [a, b];
        "f(int n) -> (int, int, int, int, int, int)", fn(i64) -> (i64, i64, i64, i64, i64, i64):
            |n| Ok((n, n + 1, n + 2, n + 3, n + 4, n + 5)); (0,);
            [0_i64] => [0_i64, 1_i64, 2_i64, 3_i64, 4_i64, 5_i64]; (a, b, c, d, e, f) => [a, b, c, d, e, f];
        "f(Tensor(a!) self, Tensor y) -> Tensor(a!)", fn(Tensor, Tensor) -> WritesFirst: |_, _| Ok(()); (&x, &y);
            [x.clone(), y.clone()] => [x.clone()]; () => [x.clone()];
        "f(Tensor x, *, Tensor(a!) out) -> Tensor(a!)", fn(Tensor, Tensor) -> WritesLast: |_, _| Ok(()); (&x, &y);
            [x.clone(), y.clone()] => [y.clone()]; () => [y.clone()];
        "f(Tensor x, *, Tensor(a!) p, Tensor(b!) q) -> (Tensor(a!), Tensor(b!))",
            fn(Tensor, Tensor, Tensor) -> WritesLast<2>: |_, _, _| Ok(()); (&x, &y, &z);
            [x.clone(), y.clone(), z.clone()] => [y.clone(), z.clone()]; () => [y.clone(), z.clone()];
    }
}

/// A symbolic integer with a value, or with none yet.
struct Symbol(Option<i64>);

impl fmt::Display for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("s0")
    }
}

impl SymbolicInt for Symbol {
    fn guard(&self) -> Result<i64> {
        self.0.ok_or_else(|| Error::new(ErrorKind::Argument, "s0 has no value yet"))
    }
}

fn symbol(value: Option<i64>) -> SymInt {
    SymInt::Node(SymNode::new(Symbol(value)))
}

#[test]
fn symbolic_integers_between_symbolic_callers_and_kernels() {
    let node = symbol(Some(4));
    let sizes = [SymInt::Int(2), node.clone()];
    four! {
        "f(SymInt x) -> SymInt", fn(SymInt) -> SymInt: |x| Ok(x.clone()); (&node,);
            [node.clone()] => [node.clone()]; x => [x];
        "f(SymInt x) -> SymInt", fn(SymInt) -> SymInt: |x| Ok(x.clone()); (&SymInt::Int(3),);
            [3_i64] => [3_i64]; x => [x];
        "f(SymInt[] x) -> SymInt[]", fn(Vec<SymInt>) -> Vec<SymInt>: |x| Ok(x.to_vec()); (&sizes,);
            [sizes.to_vec()] => [sizes.to_vec()]; x => [x];
        "f(SymInt[] x) -> SymInt[]", fn(Vec<SymInt>) -> Vec<SymInt>: |x| Ok(x.to_vec()); (&[SymInt::Int(1)],);
            [vec![1_i64]] => [vec![1_i64]]; x => [x];
        "f(SymInt? x) -> SymInt?", fn(Option<SymInt>) -> Option<SymInt>: |x| Ok(x.cloned()); (None,);
            [Value::None] => [Value::None]; x => [x];
        "f(SymInt[2]? x) -> SymInt", fn(Option<[SymInt; 2]>) -> SymInt: |x| Ok(x.map_or(SymInt::Int(0), |x| x[1].clone()));
            (Some(&sizes),); [sizes.to_vec()] => [node.clone()]; x => [x];
        "f(SymInt x) -> int", fn(i64) -> i64: Ok; (3,); [3_i64] => [3_i64]; x => [x];
    }
}

#[test]
fn plain_kernels_fix_symbolic_integers_of_their_callers() {
    let dispatcher = Dispatcher::new();
    let _defined = define(&dispatcher, "f(SymInt x, SymInt[] y, SymInt? z) -> int").unwrap();
    let sum = Kernel::function::<fn(i64, Vec<i64>, Option<i64>) -> i64>(|x, y, z| {
        Ok(x + y.iter().sum::<i64>() + z.unwrap_or_default())
    });
    let _kernel = implement(&dispatcher, "f", KEY, sum).unwrap();
    let operator = dispatcher.find("test::f").unwrap();
    let typed = operator.typed::<fn(SymInt, Vec<SymInt>, Option<SymInt>) -> i64>().unwrap();
    let (known, unknown) = (symbol(Some(40)), symbol(None));
    assert_eq!(typed.call((&known, &[SymInt::Int(1), known.clone()], Some(&known))).unwrap(), 121);
    let values = vec![own(known.clone()), own(vec![known.clone()]), Value::from(2)];
    assert_eq!(operator.call_values(values).unwrap(), [Value::from(82)]);
    for error in [
        typed.call((&unknown, &[], None)).unwrap_err(),
        typed.call((&known, std::slice::from_ref(&unknown), None)).unwrap_err(),
        operator.call_values(vec![Value::from(1), own(vec![unknown.clone()]), Value::None]).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Argument, "{error}");
        assert!(error.to_string().contains("s0 has no value yet"), "{error}");
    }
}

#[test]
fn symbolic_kernels_take_plain_integers_and_both_kinds_stand_side_by_side() {
    type Plain = fn(i64, Vec<i64>) -> i64;
    type Symbolic = fn(SymInt, Vec<SymInt>) -> i64;
    let dispatcher = Dispatcher::new();
    let _defined = define(&dispatcher, "f(SymInt x, SymInt[] y) -> int").unwrap();
    let symbolic = Kernel::function::<Symbolic>(|x, y| Ok(x.guard()? + y.len() as i64));
    let kernel = implement(&dispatcher, "f", KEY, symbolic).unwrap();
    let operator = dispatcher.find("test::f").unwrap();
    let plain = operator.typed::<Plain>().unwrap();
    assert_eq!(plain.call((1, &[5, 5])).unwrap(), 3);
    drop(kernel);
    let _kernel = implement(&dispatcher, "f", KEY, Kernel::function::<Plain>(|x, _| Ok(-x))).unwrap();
    assert_eq!(plain.call((1, &[5, 5])).unwrap(), -1);
    assert_eq!(operator.typed::<Symbolic>().unwrap().call((&symbol(Some(2)), &[])).unwrap(), -2);
    let refused = operator.typed::<fn(f64, Vec<i64>) -> i64>().unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Signature);
}

#[test]
fn enumerations_may_come_as_their_numbers() {
    type Enumerations = fn(DType, Option<Layout>, MemoryFormat, Vec<DType>) -> DType;
    let dispatcher = Dispatcher::new();
    let _defined =
        define(&dispatcher, "f(ScalarType a, Layout? b, MemoryFormat c, ScalarType[] d) -> ScalarType")
            .unwrap();
    let kernel = Kernel::function::<Enumerations>(|a, b, c, d| {
        assert_eq!((b, c, d), (Some(Layout::Strided), MemoryFormat::ChannelsLast, &[DType::F32][..]));
        Ok(a)
    });
    let _kernel = implement(&dispatcher, "f", KEY, kernel).unwrap();
    let operator = dispatcher.find("test::f").unwrap();
    let numbers = vec![Value::from(6), Value::from(0), Value::from(2), Value::from(vec![6])];
    assert_eq!(operator.call_values(numbers).unwrap(), [Value::DType(DType::F32)]);
    let error = operator
        .call_values(vec![Value::from(999), Value::None, Value::from(2), Value::from(vec![6])])
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Value);
    assert!(error.to_string().contains("test::f: argument `a`"), "{error}");
}

#[test]
fn a_generator_selects_the_backend_of_typed_calls_only() {
    let dispatcher = Dispatcher::new();
    let _defined = define(&dispatcher, "f(Generator? g) -> int").unwrap();
    let _cuda = implement(
        &dispatcher,
        "f",
        DispatchKey::Cuda,
        Kernel::boxed(|call| {
            call.push(1);
            Ok(())
        }),
    )
    .unwrap();
    let _none = implement(
        &dispatcher,
        "f",
        KEY,
        Kernel::boxed(|call| {
            call.push(0);
            Ok(())
        }),
    )
    .unwrap();
    let operator = dispatcher.find("test::f").unwrap();
    let generator = Generator::new(DispatchKey::Cuda.key_set(), "cuda".parse().unwrap(), ());
    let typed = operator.typed::<fn(Option<Generator>) -> i64>().unwrap();
    assert_eq!(typed.call((Some(&generator),)).unwrap(), 1);
    assert_eq!(typed.call((None,)).unwrap(), 0);
    assert_eq!(operator.call_values(vec![Value::Generator(generator)]).unwrap(), [Value::from(0)]);
}

/// Which arguments bring keys: the same in typed and in boxed calls.
#[test]
fn the_same_arguments_bring_keys_typed_and_boxed() {
    fn check<S: Signature<Output = i64>>(
        declared: &str,
        brings: bool,
        call: impl Fn(&TypedHandle<S>) -> Result<i64>,
        arg: Value,
    ) {
        let dispatcher = Dispatcher::new();
        let _defined = define(&dispatcher, &format!("f({declared} x) -> int")).unwrap();
        let leave = |number: i64| {
            Kernel::boxed(move |call| {
                call.push(number);
                Ok(())
            })
        };
        let _cpu = implement(&dispatcher, "f", DispatchKey::Cuda, leave(1)).unwrap();
        let _none = implement(&dispatcher, "f", KEY, leave(0)).unwrap();
        let operator = dispatcher.find("test::f").unwrap();
        let expected = i64::from(brings);
        assert_eq!(call(&operator.typed::<S>().unwrap()).unwrap(), expected, "typed {declared}");
        assert_eq!(operator.call_values(vec![arg]).unwrap(), [Value::from(expected)], "boxed {declared}");
    }
    let x = tensor(DispatchKey::Cuda);
    let one = [x.clone()];
    check::<fn(Tensor) -> i64>("Tensor", true, |f| f.call((&x,)), own(x.clone()));
    check::<fn(Option<Tensor>) -> i64>("Tensor?", true, |f| f.call((Some(&x),)), own(x.clone()));
    check::<fn(Vec<Tensor>) -> i64>("Tensor[]", true, |f| f.call((&one,)), own(one.to_vec()));
    check::<fn([Tensor; 1]) -> i64>("Tensor[1]", true, |f| f.call((&one,)), own(one.to_vec()));
    let gaps = [None, Some(x.clone())];
    check::<fn(Vec<Option<Tensor>>) -> i64>("Tensor?[]", true, |f| f.call((&gaps,)), own(gaps.to_vec()));
    // Not these, as in torch.
    check::<fn(Option<Vec<Tensor>>) -> i64>("Tensor[]?", false, |f| f.call((Some(&one),)), own(one.to_vec()));
    check::<fn(Option<[Tensor; 1]>) -> i64>(
        "Tensor[1]?",
        false,
        |f| f.call((Some(&one),)),
        own(one.to_vec()),
    );
    let lists = [one.to_vec()];
    check::<fn(Vec<Vec<Tensor>>) -> i64>("Tensor[][]", false, |f| f.call((&lists,)), own(lists.to_vec()));
    let pair = (x.clone(), 1_i64);
    check::<fn((Tensor, i64)) -> i64>("(Tensor, int)", false, |f| f.call((&pair,)), own(pair.clone()));
    let any = own(x.clone());
    check::<fn(Value) -> i64>("Any", false, |f| f.call((&any,)), any.clone());
    let dict = Dict::from_iter([("k".to_owned(), x.clone())]);
    check::<fn(Dict<String, Tensor>) -> i64>(
        "Dict(str, Tensor)",
        false,
        |f| f.call((&dict,)),
        own(dict.clone()),
    );
}

/// Boxed kernels that leave the wrong number or kind of values: schema, what they leave, part of the message.
#[test]
fn wrong_results_of_boxed_kernels_are_errors_that_name_the_kernel() {
    let x = || own(cpu());
    let cases: Vec<(&str, Vec<Value>, &str)> = vec![
        ("f() -> int", vec![], "return 1 values on the stack, but left 0"),
        ("f() -> int", vec![Value::from(1), Value::from(2)], "but left 2"),
        ("f() -> ()", vec![Value::from(1)], "but left 1"),
        ("f() -> (int, int)", vec![Value::from(1)], "but left 1"),
        ("f() -> int", vec![Value::from(1.0)], "return 1: expected int but got float"),
        ("f() -> float", vec![Value::from(1)], "return 1: expected float but got int"),
        ("f() -> (int, str)", vec![Value::from(1), Value::from(1)], "return 2: expected str but got int"),
        ("f() -> Tensor", vec![Value::None], "return 1: expected Tensor but got None"),
        ("f() -> int", vec![x()], "return 1: expected int but got Tensor"),
        ("f() -> Tensor[]", vec![Value::from(vec![1])], "return 1: expected List[Tensor] but got List[int]"),
        ("f() -> int[]", vec![own(vec![cpu()])], "return 1: expected List[int] but got List[Tensor]"),
        ("f() -> Tensor[]", vec![own(vec![None, Some(cpu())])], "return 1: expected List[Tensor]"),
        ("f() -> Tensor[]?", vec![Value::from(1)], "return 1: expected"),
    ];
    for (schema, left, message) in cases {
        let dispatcher = Dispatcher::new();
        let _defined = define(&dispatcher, schema).unwrap();
        let kernel = Kernel::boxed(move |call| {
            left.iter().for_each(|value| call.push(value.clone()));
            Ok(())
        });
        let _kernel = implement(&dispatcher, "f", KEY, kernel.describe("mine")).unwrap();
        let operator = dispatcher.find("test::f").unwrap();
        let mut returns = Returns::new();
        returns.push("kept");
        let error = operator.call_boxed(&[], &mut returns).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Value, "{schema}: {error}");
        let text = error.to_string();
        assert!(text.contains(message) && text.contains("test::f: boxed kernel mine"), "{schema}: {text}");
        assert_eq!(returns.into_vec(), [Value::from("kept")], "{schema}");
    }
}

#[test]
fn results_that_fit_more_than_one_way_are_let_through() {
    let node = symbol(None);
    let cases: Vec<(&str, Value)> = vec![
        ("f() -> int[]", own(Vec::<Tensor>::new())),
        ("f() -> Tensor[]", Value::from(Vec::<i64>::new())),
        ("f() -> Tensor?[]", own(vec![cpu()])),
        ("f() -> SymInt", own(node.clone())),
        ("f() -> SymInt[]", own(vec![node])),
        ("f() -> SymInt[]", Value::from(vec![1])),
        ("f() -> Scalar", Value::from(true)),
        ("f() -> Scalar[]", Value::from(vec![1])),
        ("f() -> Any", Value::None),
        ("f() -> Tensor[]?", Value::None),
        ("f() -> ScalarType", Value::from(6)),
        ("f() -> ScalarType[]", Value::from(vec![6])),
        ("f() -> Any[]", Value::from(vec![6])),
        (
            "f() -> int[][]",
            Value::from(List::Values("int[]".parse().unwrap(), vec![Value::from(vec![1])].into())),
        ),
    ];
    for (schema, left) in cases {
        let dispatcher = Dispatcher::new();
        let _defined = define(&dispatcher, schema).unwrap();
        let result = left.clone();
        let kernel = Kernel::boxed(move |call| {
            call.push(left.clone());
            Ok(())
        });
        let _kernel = implement(&dispatcher, "f", KEY, kernel).unwrap();
        assert_eq!(dispatcher.find("test::f").unwrap().call_values(vec![]).unwrap(), [result], "{schema}");
    }
}

#[test]
fn typed_callers_check_what_boxed_kernels_leave() {
    let dispatcher = Dispatcher::new();
    let _defined = define(&dispatcher, "f(Tensor(a!) x) -> Tensor(a!)").unwrap();
    let _kernel = implement(&dispatcher, "f", KEY, Kernel::boxed(|_| Ok(()))).unwrap();
    let typed = dispatcher.find("test::f").unwrap().typed::<fn(Tensor) -> WritesFirst>().unwrap();
    let error = typed.call((&cpu(),)).unwrap_err();
    assert!(error.to_string().contains("expected to return 1 values on the stack, but left 0"), "{error}");
}

#[test]
fn what_lies_below_in_the_results_stays_and_failed_kernels_leave_nothing() {
    let dispatcher = Dispatcher::new();
    let _defined = define(&dispatcher, "f(Tensor x) -> int").unwrap();
    // The backend's kernel leaves something and fails; the layer goes another way.
    let fails = Kernel::boxed(|call| {
        call.push(1);
        Err(Error::new(ErrorKind::Kernel, "after a result"))
    });
    let _fails = implement(&dispatcher, "f", DispatchKey::Cpu, fails).unwrap();
    let recovers = Kernel::boxed(|call| {
        assert!(call.below().is_err());
        call.push(2);
        Ok(())
    });
    let _recovers = implement(&dispatcher, "f", DispatchKey::AutogradCpu, recovers).unwrap();
    let clears = Kernel::boxed(|call| {
        call.below()?;
        let found = call.returns().take(0).unwrap_or_default();
        call.returns().clear();
        call.push(found);
        Ok(())
    });
    let _clears = implement(&dispatcher, "f", DispatchKey::Tracer, clears).unwrap();
    let operator = dispatcher.find("test::f").unwrap();
    let keys =
        DispatchKey::Cpu.key_set() | DispatchKey::AutogradCpu.key_set() | DispatchKey::Tracer.key_set();
    let (x, plain) = (tensor(keys), cpu());
    let autograd = tensor(keys - DispatchKey::Tracer.key_set());
    let mut returns = Returns::new();
    returns.push("kept");
    operator.call_boxed(&[ValueRef::from(&x)], &mut returns).unwrap();
    assert!(operator.call_boxed(&[ValueRef::from(&plain)], &mut returns).is_err());
    assert_eq!(returns.into_vec(), [Value::from("kept"), Value::from(2)]);
    let mut returns = Returns::new();
    assert!(operator.call_boxed(&[ValueRef::from(&plain)], &mut returns).is_err());
    assert!(returns.is_empty());
    operator.redispatch_boxed(keys, &[ValueRef::from(&x)], &mut returns).unwrap();
    operator
        .call_boxed_for_key(DispatchKey::AutogradCpu, &[ValueRef::from(&autograd)], &mut returns)
        .unwrap();
    assert_eq!(returns.len(), 2);
}

#[test]
fn wrong_arguments_name_operator_and_argument() {
    let dispatcher = Dispatcher::new();
    let _defined = define(&dispatcher, "f(Tensor x, int[2] sizes, str? mode=None) -> ()").unwrap();
    type F = fn(Tensor, [i64; 2], Option<String>) -> ();
    let _kernel = implement(&dispatcher, "f", KEY, Kernel::function::<F>(|_, _, _| Ok(()))).unwrap();
    let operator = dispatcher.find("test::f").unwrap();
    let x = || own(cpu());
    let cases: Vec<(Vec<Value>, &str)> = vec![
        (vec![], "test::f: expected 3 arguments but got 0"),
        (vec![x(), Value::from(vec![1]), Value::None, Value::None], "expected 3 arguments but got 4"),
        (
            vec![Value::None, Value::from(vec![1, 2]), Value::None],
            "argument `x`: expected Tensor but got None",
        ),
        (
            vec![x(), Value::from(vec![1]), Value::None],
            "argument `sizes`: expected a list of 2 elements but got 1",
        ),
        (
            vec![x(), Value::from(vec![1.0, 2.0]), Value::None],
            "argument `sizes`: expected List[int] but got List[float]",
        ),
        (vec![x(), Value::from(vec![1, 2]), Value::from(1)], "argument `mode`: expected str but got int"),
    ];
    for (args, message) in cases {
        let error = operator.call_values(args).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Value);
        assert!(error.to_string().contains(message), "{error}");
    }
}

/// `...` stands for any number of arguments after those that have names, not for fewer.
#[test]
fn variadic_operators_take_at_least_their_named_arguments() {
    let dispatcher = Dispatcher::new();
    let _defined = define(&dispatcher, "f(Tensor x, int n, ...) -> int").unwrap();
    let count = Kernel::boxed(|call| {
        call.push(call.args().len() as i64);
        Ok(())
    });
    let _kernel = implement(&dispatcher, "f", KEY, count).unwrap();
    let operator = dispatcher.find("test::f").unwrap();
    for count in 0..5 {
        let args = [own(cpu()), own(1), own(2), own(3)].into_iter().take(count).collect();
        match operator.call_values(args) {
            Ok(results) => assert_eq!((results, count >= 2), (vec![Value::from(count.min(4) as i64)], true)),
            Err(error) => {
                assert!(count < 2, "{error}");
                assert_eq!(error.kind(), ErrorKind::Value);
                assert!(
                    error.to_string().contains(&format!("expected at least 2 arguments but got {count}"))
                );
            }
        }
    }
}
