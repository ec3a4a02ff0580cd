//! Random values given to operators with arguments of many types, in every way in which boxed callers call.

use std::sync::{Arc, OnceLock};

use opgrid_core::schema::Type;
use opgrid_core::signature::Return;
use opgrid_core::{
    AnyTensor, Argument, Class, Complex64, DType, Device, DeviceType, DictValue, DispatchKey, Dispatcher,
    ErrorKind, Generator, Kernel, Layout, List, MemoryFormat, Object, OperatorHandle, Scalar, Stack, Value,
};

use crate::bare::Bare;
use crate::input::Input;

/// A class that schemas name and kernels of these operators do not take.
struct Config;

impl Class for Config {
    const NAME: &'static str = "fuzz.Config";
}

/// Operators with a boxed kernel that leaves its arguments as a tuple.
const SCHEMAS: &[&str] = &[
    "boxed0() -> Any",
    "boxed1(Tensor a, int b=1, *, float c=2.5, str? d=None, bool[] e=[]) -> Any",
    "boxed2(Tensor(a!) self, Tensor[] others, Tensor?[] indices, *, Tensor(b!) out) -> Any",
    "boxed3(Scalar a, Scalar? b=None, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin=None) -> Any",
    "boxed4(Any a, Any[] b, Dict(str, int) c, (int, float) d) -> Any",
    "boxed5(int[2] stride=1, SymInt[] size=[], SymInt x=3, MemoryFormat? format=None, Generator? g=None) -> Any",
    "boxed6(Tensor a, ...) -> Any",
    "boxed7(complex z=2j, float[]? f=None, int[] more=[], *, int[][] nested, str[] names, Union(int, str) u) -> Any",
    "boxed8(__torch__.torch.classes.fuzz.Config config, Device d='cpu', ScalarType t=6) -> Any",
];

/// One operator of the run.
struct Tried {
    handle: OperatorHandle,
    /// The argument's type, where a typed kernel gives its one argument back.
    echo: Option<Type>,
}

/// Every operator, registered once.
fn operators() -> &'static [Tried] {
    static OPERATORS: OnceLock<(Dispatcher, Vec<Tried>)> = OnceLock::new();
    let (_, operators) = OPERATORS.get_or_init(|| {
        let dispatcher = Dispatcher::new();
        let mut tried = typed(&dispatcher);
        for schema in SCHEMAS {
            let mut library = dispatcher.fragment("fuzz");
            library.define(*schema).add(Kernel::boxed(|call| {
                let args: Vec<_> = call.args().iter().map(|arg| arg.to_value()).collect();
                call.push(Value::Tuple(Arc::new(args.into())));
                Ok(())
            }));
            library.finish().expect("the schemas are right").keep();
            let name = schema.split('(').next().unwrap_or_default();
            let handle = dispatcher.find(&format!("fuzz::{name}")).expect("it is defined");
            tried.push(Tried { handle, echo: None });
        }
        (dispatcher, tried)
    });
    operators
}

/// An operator whose typed kernel gives its argument back.
fn echo<T>(dispatcher: &Dispatcher, number: usize, own: for<'a> fn(T::At<'a>) -> T) -> Tried
where
    T: Argument + Return<Output = T> + 'static,
{
    let name = format!("typed{number}");
    let mut library = dispatcher.fragment("fuzz");
    library.define_inferred(&name, Kernel::closure::<fn(T) -> T>(move |(x,)| Ok(own(x))));
    library.finish().expect("every name is used once").keep();
    let handle = dispatcher.find(&format!("fuzz::{name}")).expect("it is defined");
    let declared = handle.schema().expect("it is defined").arguments[0].real_type.clone();
    Tried { handle, echo: Some(declared) }
}

fn typed(dispatcher: &Dispatcher) -> Vec<Tried> {
    let mut tried = Vec::new();
    macro_rules! echo {
        ($($type:ty: $own:expr;)*) => { $(tried.push(echo::<$type>(dispatcher, tried.len(), $own));)* };
    }
    echo! {
        i64: |x| x;
        f64: |x| x;
        bool: |x| x;
        String: str::to_owned;
        AnyTensor: AnyTensor::clone;
        Scalar: |x| x;
        Complex64: |x| x;
        DType: |x| x;
        Device: |x| x;
        Layout: |x| x;
        MemoryFormat: |x| x;
        Option<i64>: |x| x;
        Option<f64>: |x| x;
        Option<String>: |x| x.map(str::to_owned);
        Option<AnyTensor>: |x| x.cloned();
        Option<Scalar>: |x| x;
        Option<DType>: |x| x;
        Vec<i64>: <[i64]>::to_vec;
        Vec<f64>: <[f64]>::to_vec;
        Vec<bool>: <[bool]>::to_vec;
        Vec<String>: <[String]>::to_vec;
        Vec<AnyTensor>: <[AnyTensor]>::to_vec;
        Option<Vec<i64>>: |x| x.map(<[i64]>::to_vec);
        [i64; 2]: <[i64; 2]>::clone;
        [AnyTensor; 1]: <[AnyTensor; 1]>::clone;
    }
    tried
}

/// A value of any kind, nested at most three deep.
fn value(input: &mut Input<'_>, depth: usize) -> Value {
    match input.below(if depth == 0 { 15 } else { 23 }) {
        0 => Value::None,
        1 => Value::Int(i64::from(input.byte()) - 100),
        2 => Value::Int(input.pick(&[i64::MIN, i64::MAX, 0])),
        3 => Value::Float(input.pick(&[0.5, -0.0, f64::INFINITY, f64::MIN_POSITIVE])),
        4 => Value::Bool(input.once_in(2)),
        5 => Value::from(input.pick(&["", "text", "ü\0'"])),
        6 | 7 => Value::Tensor(tensor(input)),
        8 => Value::from(Complex64::new(1.0, f64::from(input.byte()))),
        9 => Value::DType(DType::all().nth(input.below(DType::all().count())).unwrap_or(DType::F32)),
        10 => Value::Layout(Layout::all().nth(input.below(Layout::all().count())).unwrap_or(Layout::Strided)),
        11 => MemoryFormat::all().nth(input.below(3)).map_or(Value::None, Value::MemoryFormat),
        12 => Value::Device(Device::from_type(input.pick(&[DeviceType::Cpu, DeviceType::Cuda]))),
        13 => Value::Generator(Generator::new(DispatchKey::Cpu.key_set(), Device::CPU, ())),
        14 => Value::Object(Object::new(Arc::new(Config))),
        15 => Value::from((0..input.below(4)).map(|_| i64::from(input.byte())).collect::<Vec<_>>()),
        16 => Value::from((0..input.below(4)).map(|_| f64::from(input.byte())).collect::<Vec<_>>()),
        17 => Value::from((0..input.below(4)).map(|_| input.once_in(2)).collect::<Vec<_>>()),
        18 => Value::from((0..input.below(4)).map(|_| tensor(input)).collect::<Vec<_>>()),
        19 => Value::Tuple(Arc::new(values(input, depth - 1).into())),
        20 => {
            let of = element(input);
            Value::from(List::Values(of, values(input, depth - 1).into()))
        }
        21 => {
            let of = element(input);
            List::from_values(of, values(input, depth - 1)).map_or(Value::None, Value::from)
        }
        _ => {
            let (key, of) = (element(input), element(input));
            let entries = (0..input.below(3)).map(|_| (value(input, 0), value(input, depth - 1))).collect();
            Value::Dict(Arc::new(DictValue::new(key, of, entries)))
        }
    }
}

fn values(input: &mut Input<'_>, depth: usize) -> Vec<Value> {
    (0..input.below(4)).map(|_| value(input, depth)).collect()
}

/// The type of a list's or dict's elements, which need not be theirs.
fn element(input: &mut Input<'_>) -> Type {
    let text = input.pick(&["int", "str", "Tensor", "Any", "Tensor?", "int[]", "float", "Scalar"]);
    Type::parse(text).expect("these are types")
}

fn tensor(input: &mut Input<'_>) -> AnyTensor {
    AnyTensor::new(
        input.pick(&[DispatchKey::Cpu, DispatchKey::Cuda, DispatchKey::AutogradCpu]).key_set(),
        Bare,
    )
}

/// Calls one operator with random values in every way. Panics where a way does what it must not.
pub fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    while !input.is_empty() {
        let operators = operators();
        let tried = &operators[input.below(operators.len())];
        let args = arguments(tried, &mut input);
        let outcome = call_values(tried, &args);
        call_stack(tried, &args, &outcome, &mut input);
        call_with(tried, args, &mut input);
    }
}

/// Arguments, about as many as the operator takes.
fn arguments(tried: &Tried, input: &mut Input<'_>) -> Vec<Value> {
    let expected = tried.handle.schema().expect("it is defined").arguments.len();
    let count = if input.once_in(8) { input.below(8) } else { expected };
    (0..count).map(|_| value(input, 3)).collect()
}

/// What a call with owned values gives; `None` for an error, which is about values.
fn call_values(tried: &Tried, args: &[Value]) -> Option<Vec<Value>> {
    let found = tried.handle.call_values(args.to_vec());
    let schema = tried.handle.schema().expect("it is defined");
    let fits =
        args.len() == schema.arguments.len() || schema.is_vararg && args.len() >= schema.arguments.len();
    match (&tried.echo, &found) {
        (_, Err(error)) => assert_eq!(error.kind(), ErrorKind::Value, "{schema}: {error}"),
        (None, Ok(results)) => {
            assert!(
                fits && *results == [Value::Tuple(Arc::new(args.to_vec().into()))],
                "{schema}: {args:?} came back as {results:?}"
            )
        }
        (Some(declared), Ok(results)) => {
            assert!(fits && results.len() == 1, "{schema}: {args:?} came back as {results:?}");
            let fits = results[0].value_type().is_subtype_of(declared) || is_converted(&results[0], declared);
            assert!(fits, "{schema}: {:?} came back", results[0]);
        }
    }
    if let (Some(declared), [arg]) = (&tried.echo, args) {
        let plain = !matches!(arg, Value::List(_) | Value::Dict(_));
        let is_certain =
            plain && (arg.value_type() == *declared || *arg == Value::None && is_optional(declared));
        let same = found.as_ref().is_ok_and(|results| *results == args);
        assert!(!is_certain || same, "{schema}: {arg:?} gave {found:?}");
        let is_wrong = plain && !arg.value_type().is_subtype_of(declared) && !is_converted(arg, declared);
        assert!(!is_wrong || found.is_err(), "{schema}: {arg:?} was taken as {found:?}");
    }
    let is_taken = |(arg, argument): (&Value, &opgrid_core::schema::Argument)| {
        arg.value_type().is_subtype_of(&argument.real_type) || is_converted(arg, &argument.real_type)
    };
    let all_fit = fits && args.iter().zip(&schema.arguments).all(is_taken);
    assert!(
        tried.echo.is_some() || !all_fit || found.is_ok(),
        "{schema}: a boxed kernel takes what the schema says, but {found:?}"
    );
    found.ok()
}

/// Enumerations may come as their numbers, and truth values are numbers for `Scalar`.
fn is_converted(arg: &Value, declared: &Type) -> bool {
    let declared = declared.without_optional();
    match arg {
        Value::Int(_) => matches!(declared, Type::ScalarType | Type::Layout | Type::MemoryFormat),
        Value::Bool(_) => *declared == Type::Scalar,
        _ => false,
    }
}

fn is_optional(declared: &Type) -> bool {
    matches!(declared, Type::Optional(_))
}

/// Calls on a stack with values below: they stay, and after an error everything does.
fn call_stack(tried: &Tried, args: &[Value], outcome: &Option<Vec<Value>>, input: &mut Input<'_>) {
    let schema = tried.handle.schema().expect("it is defined");
    let below = values(input, 1);
    let mut stack = Stack::new();
    stack.push_all(below.iter().chain(args).cloned());
    let before = stack.clone();
    let found = tried.handle.call_stack(&mut stack);
    match (&found, outcome) {
        (Err(error), _) => {
            assert_eq!(error.kind(), ErrorKind::Value, "{schema}: {error}");
            assert_eq!(stack, before, "{schema}: a call that failed changed the stack");
        }
        (Ok(()), Some(results)) if args.len() == schema.arguments.len() => {
            let expected: Vec<_> = below.iter().chain(results).cloned().collect();
            assert_eq!(stack.values(), expected, "{schema}");
        }
        (Ok(()), _) => {
            let kept = before.len() - schema.arguments.len();
            assert_eq!(stack.values()[..kept], before.values()[..kept], "{schema}: what lies below is gone");
        }
    }
    if args.len() == schema.arguments.len() {
        assert_eq!(found.is_ok(), outcome.is_some(), "{schema}: {found:?}, with owned values {outcome:?}");
    }
}

/// Calls with some arguments by keyword.
fn call_with(tried: &Tried, args: Vec<Value>, input: &mut Input<'_>) {
    let schema = tried.handle.schema().expect("it is defined");
    let positional: Vec<_> = args.iter().take(input.below(args.len() + 1)).cloned().collect();
    let split = positional.len();
    let named = schema.arguments.iter().zip(&args).skip(split);
    let mut keyword: Vec<_> = named.map(|(argument, value)| (argument.name.clone(), value.clone())).collect();
    if input.once_in(8) {
        keyword.push((input.pick(&["", "unknown", "a", "self"]).to_owned(), value(input, 1)));
    }
    match tried.handle.bind(positional.clone(), keyword.clone()) {
        Err(error) => assert_eq!(error.kind(), ErrorKind::Value, "{schema}: {error}"),
        Ok(bound) => {
            // What is bound fits as it is.
            let by_position = schema.arguments.iter().take_while(|argument| !argument.kwarg_only).count();
            let rest = schema.arguments.iter().zip(&bound).skip(by_position);
            let rest = rest.map(|(argument, value)| (argument.name.clone(), value.clone())).collect();
            let again = tried.handle.bind(bound[..by_position].to_vec(), rest);
            assert_eq!(again.expect("it was bound before"), bound, "{schema}: {positional:?} {keyword:?}");
        }
    }
    if let Err(error) = tried.handle.call_with(positional, keyword) {
        assert_eq!(error.kind(), ErrorKind::Value, "{schema}: {error}");
    }
}
