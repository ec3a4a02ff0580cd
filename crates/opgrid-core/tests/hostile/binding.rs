//! Calls are bound as `torch.ops` binds them. What torch 2.15 answers stands beside each case.

use std::sync::Arc;

use opgrid_core::schema::Type;
use opgrid_core::{
    AnyTensor, Complex64, DType, Device, DictValue, DispatchKeySet, Dispatcher, ErrorKind, Layout, List,
    MemoryFormat, OperatorHandle, Registration, TensorData, Value,
};

struct Nothing;

impl TensorData for Nothing {
    fn describe(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("tensor()")
    }
}

fn define(dispatcher: &Dispatcher, arguments: &str) -> (Registration, OperatorHandle) {
    let mut library = dispatcher.library("binding");
    library.define(format!("f({arguments}) -> ()").as_str());
    (library.finish().unwrap(), dispatcher.find("binding::f").unwrap())
}

fn list(element: Type, items: Vec<Value>) -> Value {
    List::Values(element, items.into()).into()
}

/// The one value of a call with one argument; `None` where it is refused.
fn check(declared: &str, given: impl Into<Value>, expected: Option<Value>) {
    let dispatcher = Dispatcher::new();
    let (_registration, f) = define(&dispatcher, &format!("{declared} x"));
    let given = given.into();
    for named in [false, true] {
        let (positional, keyword) = if named {
            (vec![], vec![("x".to_owned(), given.clone())])
        } else {
            (vec![given.clone()], vec![])
        };
        let bound = f.bind(positional, keyword);
        if let Err(error) = &bound {
            assert_eq!(error.kind(), ErrorKind::Value, "{error}");
            assert!(error.to_string().contains("binding::f: argument `x`"), "{error}");
        }
        assert_eq!(bound.ok(), expected.clone().map(|value| vec![value]), "{declared} {given}");
    }
}

#[test]
fn values_become_what_the_schema_wants() {
    let device: Device = "cuda:1".parse().unwrap();
    let complex = |re, im| Some(Value::from(Complex64::new(re, im)));
    check("int", 3, Some(3.into()));
    check("int", true, Some(1.into()));
    check("int", 1.0, None);
    check("float", 1, Some(1.0.into()));
    check("float", true, Some(1.0.into()));
    check("float?", 1, Some(1.0.into()));
    check("float?", Value::None, Some(Value::None));
    check("complex", 1, complex(1.0, 0.0));
    check("complex", 1.5, complex(1.5, 0.0));
    check("bool", 1, Some(true.into()));
    check("bool", 1.0, None);
    check("Scalar", true, Some(true.into()));
    check("Scalar", "x", None);
    check("str", 1, None);
    check("Device", "cuda:1", Some(device.into()));
    check("Device?", "cuda:1", Some(device.into()));
    check("Device", "blah", None);
    check("Device", 1, None);
    check("Device[]", list(Type::Str, vec!["cuda:1".into()]), Some(list(Type::Device, vec![device.into()])));
    check("ScalarType", 6, Some(DType::F32.into()));
    check("ScalarType", DType::F64, Some(DType::F64.into()));
    check("ScalarType", "float32", None);
    // torch crashes.
    check("ScalarType", 1000, None);
    check("Layout", 0, Some(Layout::Strided.into()));
    check("Layout", "strided", None);
    check("MemoryFormat", 0, Some(MemoryFormat::Contiguous.into()));
    check("MemoryFormat", 77, None);
    // torch passes None on, and the kernel fails.
    check("Tensor", Value::None, None);
    check("Tensor", 1, None);
    check("Generator", Value::None, None);
}

#[test]
fn one_number_stands_for_a_sized_list() {
    check("int[2]", 5, Some(vec![5, 5].into()));
    check("int[2]?", 4, Some(vec![4, 4].into()));
    check("int[2]", true, Some(vec![1, 1].into()));
    check("int[2]", 5.0, None);
    check("int[2]", vec![5], Some(vec![5].into()));
    check("int[2]", vec![5, 6, 7], Some(vec![5, 6, 7].into()));
    check("int[]", 5, None);
    check("float[2]", 5.5, Some(vec![5.5, 5.5].into()));
    // DIFFERENCE: torch.ops refuses these two, its other callers take them.
    check("float[2]", 5, Some(vec![5.0, 5.0].into()));
    check("SymInt[2]", 1, Some(vec![1, 1].into()));
    check("bool[2]", true, None);
    check("Scalar[2]", 1, None);
    check("Scalar[]", 1, None);
    let x = AnyTensor::new(DispatchKeySet::EMPTY, Nothing);
    check("Tensor[2]", x, None);
    // Schemas can name any size, and memory has an end.
    check("int[2147483647]", 1, None);
}

#[test]
fn the_elements_of_lists_are_converted() {
    let tuple = |items: Vec<Value>| Value::Tuple(Arc::new(items.into()));
    check("float[]", vec![1, 2], Some(vec![1.0, 2.0].into()));
    check("float[]", tuple(vec![1.into(), 2.5.into()]), Some(vec![1.0, 2.5].into()));
    check("float[2]", list(Type::Scalar, vec![1.into(), 2.5.into()]), Some(vec![1.0, 2.5].into()));
    check("bool[]", vec![1, 0], Some(vec![true, false].into()));
    check("int[]", vec![1.5], None);
    check("SymInt[]", tuple(vec![1.into(), 2.into()]), Some(vec![1, 2].into()));
    check("Tensor[]", Vec::<i64>::new(), Some(Vec::<AnyTensor>::new().into()));
    check("Tensor[]", list(Type::None, vec![Value::None]), None);
    let gap = list(Type::Optional(Box::new(Type::Float)), vec![1.0.into(), Value::None]);
    check("float?[]", list(Type::Any, vec![1.into(), Value::None]), Some(gap));
    check("(int, float)", tuple(vec![1.into(), 2.into()]), Some(tuple(vec![1.into(), 2.0.into()])));
    check("(int, float)", tuple(vec![1.into()]), None);
    let dict = |of: Type, value: Value| {
        Value::Dict(Arc::new(DictValue::new(Type::Str, of, vec![("a".into(), value)])))
    };
    check("Dict(str, float)", dict(Type::Int, 1.into()), Some(dict(Type::Float, 1.0.into())));
    check("Dict(str, float)", dict(Type::Int, "b".into()), None);
    check("Any", vec![1, 2], Some(vec![1, 2].into()));
}

/// Arguments, the numbers given by position, the names given with 0, and the result or a part of the error.
#[test]
fn every_argument_gets_one_value() {
    type Expected = std::result::Result<&'static [i64], &'static str>;
    let cases: [(&str, &[i64], &[&str], Expected); 12] = [
        ("int a, *, int b", &[1], &["b"], Ok(&[1, 0])),
        (
            "int a, *, int b",
            &[1, 2],
            &[],
            Err("at most 1 positional arguments but got 2; the others are keyword-only"),
        ),
        ("int a, *, int b=3", &[1], &[], Ok(&[1, 3])),
        ("int a, *, int b=3", &[1], &["c"], Err("unknown argument `c`, expected one of `a`, `b`")),
        ("int a, *, int b=3", &[1], &["a"], Err("argument `a` is given twice")),
        ("int a, int b=2", &[], &["b", "a"], Ok(&[0, 0])),
        ("int a, int b=2", &[], &["b", "b"], Err("argument `b` is given twice")),
        ("int a, int b=2", &[1, 2], &["b"], Err("argument `b` is given twice")),
        ("int a, int b=2", &[1, 2, 3], &[], Err("at most 2 positional arguments but got 3; the schema is")),
        ("int a, int b=2", &[], &[], Err("argument `a` is missing and has no default")),
        ("int self, int from", &[], &["self", "from"], Ok(&[0, 0])),
        ("", &[], &["x"], Err("unknown argument `x`")),
    ];
    for (arguments, positional, names, expected) in cases {
        let dispatcher = Dispatcher::new();
        let (_registration, f) = define(&dispatcher, arguments);
        let positional = positional.iter().map(|number| Value::Int(*number)).collect();
        let keyword = names.iter().map(|name| ((*name).to_owned(), Value::Int(0))).collect();
        match (f.bind(positional, keyword), expected) {
            (Ok(bound), Ok(expected)) => {
                assert_eq!(bound, expected.iter().map(|number| Value::Int(*number)).collect::<Vec<_>>());
            }
            (Err(error), Err(expected)) => assert!(error.to_string().contains(expected), "{error}"),
            (found, _) => panic!("{arguments}: {found:?}"),
        }
    }
}
