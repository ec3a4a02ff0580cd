//! Checks default values: what each type accepts, how constants are read and how they are written.

use opgrid_schema::{Constant, FunctionSchema, ParseErrorKind, print_float};

fn default(argument: &str) -> Result<Constant, String> {
    let schema = FunctionSchema::parse(&format!("f({argument}) -> ()"));
    schema
        .map(|mut schema| schema.arguments.remove(0).default.expect("the argument has a default"))
        .map_err(|error| error.message().to_owned())
}

fn printed(argument: &str) -> String {
    match FunctionSchema::parse(&format!("f({argument}) -> ()")) {
        Ok(schema) => schema.arguments[0].to_string(),
        Err(error) => error.message().to_owned(),
    }
}

fn ints(values: &[i64]) -> Constant {
    Constant::List(values.iter().copied().map(Constant::Int).collect())
}

#[test]
fn constants_are_not_checked_against_the_type() {
    for (argument, expected) in [
        ("int x=1.5", Constant::Float(1.5)),
        ("int x='a'", Constant::Str("a".into())),
        ("int x=None", Constant::None),
        ("int x=True", Constant::Bool(true)),
        ("bool x=1", Constant::Int(1)),
        ("str x=None", Constant::None),
        ("Tensor? x=1", Constant::Int(1)),
        ("float x=1", Constant::Float(1.0)),
        ("float? x=1", Constant::Int(1)),
        ("Scalar x=1j", Constant::Complex(0.0, 1.0)),
        ("int x=- 3", Constant::Int(-3)),
        ("int x=-9223372036854775808", Constant::Int(i64::MIN)),
        ("Device? d='blah'", Constant::Str("blah".into())),
        ("(int, int)? x=None", Constant::None),
    ] {
        assert_eq!(default(argument), Ok(expected), "{argument}");
    }
}

#[test]
fn lists_are_checked() {
    assert_eq!(default("int[2] x=1"), Ok(ints(&[1, 1])));
    assert_eq!(default("int[3] x=[1,2]"), Ok(ints(&[1, 2])));
    assert_eq!(default("int[0] x=1"), Ok(ints(&[])));
    assert_eq!(default("int[] x=[float, -1]"), Ok(ints(&[6, -1])));
    assert_eq!(default("ScalarType[] x=[half]"), Ok(ints(&[5])));
    assert_eq!(default("float[] x=[1]"), Ok(Constant::List(vec![Constant::Float(1.0)])));
    assert_eq!(default("int[2]? x=1"), Ok(Constant::Int(1)));
    for empty in ["Tensor[] x=[]", "Tensor?[]? x=[]", "int[][] x=[]", "int?[] x=[]", "Device[] x=[]"] {
        assert_eq!(default(empty), Ok(ints(&[])), "{empty}");
    }
    let only = "lists are only supported for float, int and complex types";
    for (argument, message) in [
        ("int[2] x=1.5", "expected int but found float in the list"),
        ("int[] x=[True]", "expected int but found bool in the list"),
        ("int[2] x=None", "expected int but found None in the list"),
        ("bool[] x=[1]", "expected bool but found int in the list"),
        ("float[] x=[True]", "expected float but found bool in the list"),
        ("str[] x=[1]", "expected str but found int in the list"),
        ("Tensor[] x=[None]", only),
        ("Scalar[] x=['a']", "expected number but found str in the list"),
        ("int?[] x=[1]", only),
        ("int[] x=3", "expected [ but found 'number' here"),
        ("Tensor[] x=None", "expected [ but found 'None' here"),
        ("int[2] x=float", "expected None but found 'ident' here"),
        ("int[]? x=[1.5]", "expected int but found float in the list"),
        ("str? x=[1]", "expected number but found '[' here"),
        ("int[] x=[1,]", "expected number but found ']' here"),
        (
            "int[2000000000] x=1",
            "a single default is repeated at most 65536 times, not 2000000000; use no default",
        ),
    ] {
        assert_eq!(default(argument), Err(message.to_owned()), "{argument}");
    }
}

#[test]
fn types_without_defaults() {
    for argument_type in [
        "Dict(str, int)",
        "(int, int)",
        "Any",
        "Storage",
        "Stream",
        "QScheme",
        "Capsule",
        "t",
        "SymBool",
        "Future(int)",
    ] {
        let message = default(&format!("{argument_type} x=None")).expect_err(argument_type);
        assert!(message.starts_with("unexpected type, file a bug report"), "{message}");
        assert_eq!(default(&format!("{argument_type}? x=None")), Ok(Constant::None));
    }
    for argument_type in ["Tensor", "Generator", "Quantizer"] {
        assert_eq!(default(&format!("{argument_type} x=None")), Ok(Constant::None));
        let message = "expected None but found 'number' here".to_owned();
        assert_eq!(default(&format!("{argument_type} x=1")), Err(message));
    }
}

#[test]
fn named_numbers() {
    for (argument, number) in [
        ("int x=float", 6),
        ("int x=long", 4),
        ("int x=complex", 9),
        ("Layout x=strided", 0),
        ("int x=Mean", 1),
        ("MemoryFormat x=contiguous_format", 0),
        ("ScalarType x=double", 7),
        ("ScalarType x=uint8", 0),
        ("ScalarType x=chalf", 8),
        ("ScalarType x=complex64", 9),
        ("ScalarType x=qint8", 12),
        ("ScalarType x=bfloat16", 15),
        ("ScalarType x=bits1x8", 18),
        ("ScalarType x=uint1", 30),
        ("ScalarType x=int7", 43),
        ("ScalarType x=float8_e8m0fnu", 44),
        ("ScalarType x=float4_e2m1fn_x2", 45),
        ("ScalarType? x=half", 5),
    ] {
        assert_eq!(default(argument), Ok(Constant::Int(number)), "{argument}");
    }
    for argument in
        ["int x=half", "Layout x=half", "ScalarType x=Half", "int x=inf", "MemoryFormat x=preserve"]
    {
        assert_eq!(default(argument), Err("invalid numeric default value".to_owned()), "{argument}");
    }
}

#[test]
fn numbers() {
    for (text, value) in [
        ("0x10", 16.0),
        ("0x1p3", 8.0),
        ("0x.8p1", 1.0),
        ("1E5", 1e5),
        (".5", 0.5),
        ("0e-400", 0.0),
        ("1.e3", 1e3),
    ] {
        assert_eq!(default(&format!("float x={text}")), Ok(Constant::Float(value)), "{text}");
    }
    assert_eq!(default("float x=0x123456789abcdef01234p0"), Ok(Constant::Float(8.596805828370696e+22)));
    // DIFFERENCE: a complex default without j is real; PyTorch cuts its last digit and makes it imaginary.
    assert_eq!(default("complex x=12"), Ok(Constant::Complex(12.0, 0.0)));
    assert_eq!(default("complex[2] x=-1.5"), Ok(Constant::List(vec![Constant::Complex(-1.5, 0.0); 2])));
    // DIFFERENCE: numbers that PyTorch cuts, or reports by the name of a C function, are errors with a place.
    for (argument, message) in [
        (
            "int x=9223372036854775808",
            "the number 9223372036854775808 is too large or too close to zero for 64 bits",
        ),
        ("float x=1e400", "the number 1e400 is too large or too close to zero for 64 bits"),
        ("float x=1e-400", "the number 1e-400 is too large or too close to zero for 64 bits"),
        (
            "float x=0x1p99999999999999999999",
            "the number 0x1p99999999999999999999 is too large or too close to zero for 64 bits",
        ),
        ("int x=0x10", "0x10 is not a decimal integer; write it with digits only, or as 1e5"),
        ("int x=1E5", "1E5 is not a decimal integer; write it with digits only, or as 1e5"),
    ] {
        assert_eq!(default(argument), Err(message.to_owned()), "{argument}");
    }
    for (argument, message) in [
        ("int x=--3", "expected number but found '-' here"),
        ("int x=+3", "expected number but found '+' here"),
        ("int x=-True", "expected number but found 'True' here"),
        ("int x=", "expected number but found ')' here"),
    ] {
        assert_eq!(default(argument), Err(message.to_owned()), "{argument}");
    }
}

#[test]
fn devices() {
    for device in ["cpu", "cuda", "cuda:0", "privateuseone:12", "meta"] {
        assert_eq!(default(&format!("Device d='{device}'")), Ok(Constant::Device(device.into())));
    }
    // DIFFERENCE: an index above 127 is an error; PyTorch wraps it around.
    for device in ["cuda:01", "cuda:", "cuda:-1", "cuda:1x", "cuda:1000"] {
        let message = format!("Invalid device string: '{device}'");
        assert_eq!(default(&format!("Device d='{device}'")), Err(message));
    }
    let message = default("Device d='gpu'").expect_err("no device");
    assert!(message.starts_with("Expected one of cpu, cuda, ipu,"), "{message}");
    assert!(message.ends_with(" device type at start of device string: gpu"), "{message}");
    assert_eq!(default("Device d=''"), Err("Device string must not be empty".to_owned()));
    assert_eq!(default("Device d=3"), Err("expected string_literal but found 'number' here".to_owned()));
}

#[test]
fn strings() {
    for (literal, value) in [
        (r#""a'b""#, "a'b"),
        (r"'a\'b\\'", r"a'b\"),
        (r"'\a\b\f\n\r\t\v'", "\u{7}\u{8}\u{c}\n\r\t\u{b}"),
        (r"'\101\177'", "A\u{7f}"),
        ("\"\"\"a\"b\nc\"\"\"", "a\"b\nc"),
        ("'a\\\nb'", "a\nb"),
        ("''", ""),
        ("'é漢'", "é漢"),
    ] {
        assert_eq!(default(&format!("str s={literal}")), Ok(Constant::Str(value.into())), "{literal}");
    }
    assert_eq!(default(r"str s='\x41'"), Err("unsupported hex specifier".to_owned()));
    for literal in [r"'\q'", r"'\18'", r"'\400'", r"'\1'"] {
        assert_eq!(default(&format!("str s={literal}")), Err("ill formed octal specifier".to_owned()));
    }
    let error = FunctionSchema::parse(r"f(str s='\x41') -> ()").expect_err("an escape");
    assert_eq!(error.kind(), ParseErrorKind::InvalidString);
}

#[test]
fn printed_forms() {
    for (argument, expected) in [
        (r#"str s='a"b\'c\n\177'"#, r#"str s="a\"b\'c\n\177""#),
        ("str? s='q'", "str? s=\"q\""),
        // DIFFERENCE: characters beyond ASCII stay readable.
        ("str s='é'", "str s=\"é\""),
        ("int x='a'", "int x=a"),
        ("int[2] x=[2,2]", "int[2] x=2"),
        ("int[] x=[1,1]", "int[] x=1"),
        ("int[1] x=3", "int[1] x=[3]"),
        ("SymInt[2] x=1", "SymInt[2] x=[1, 1]"),
        ("bool[2] x=True", "bool[2] x=[True, True]"),
        ("Device d='cuda:1'", "Device d=cuda:1"),
        ("complex x=-2.5j", "complex x=0.-2.5j"),
        ("complex[] x=[1j]", "complex[] x=[0.+1.j]"),
    ] {
        assert_eq!(printed(argument), expected);
    }
}

#[test]
fn floats() {
    for (value, expected) in [
        (-0.0, "0."),
        (1.0, "1."),
        (-2.5, "-2.5"),
        (0.1, "0.10000000000000001"),
        (3.15, "3.1499999999999999"),
        (1e-4, "0.0001"),
        (1e-5, "1.0000000000000001e-05"),
        (1.234e-5, "1.234e-05"),
        (1e16, "10000000000000000."),
        (1e18, "1000000000000000000."),
        (123_456_789_012_345_678.0, "123456789012345680."),
        (1e19, "1e+19"),
        (9.3e18, "9.3e+18"),
        (f64::MAX, "1.7976931348623157e+308"),
        (f64::MIN_POSITIVE, "2.2250738585072014e-308"),
        (12_345_678_901.5, "12345678901.5"),
        (f64::INFINITY, "inf"),
        (f64::NEG_INFINITY, "-inf"),
        (f64::NAN, "nan"),
    ] {
        assert_eq!(print_float(value), expected);
    }
}

#[test]
fn the_alternate_form_reads_back() {
    for text in [
        "f(int[3] x=[1, 1]) -> ()",
        "f(int[] x=[1, 1]) -> ()",
        "f(complex x=1.j) -> ()",
        "f(complex x=1.5) -> ()",
        "f(complex x=0.j) -> ()",
        "f(float x=Mean, complex y=float) -> ()",
        "f(Device d=\"cpu\") -> ()",
        "f(int x=\"a\") -> ()",
        "f(Tensor! x, Tensor[]! y) -> ()",
        "f(Tensor(a)?[] x) -> ()",
        "f(Tensor(a)[](b)[] x) -> Tensor(a)[][]",
    ] {
        let schema = FunctionSchema::parse(text).expect(text);
        assert_eq!(format!("{schema:#}"), text);
    }
}
