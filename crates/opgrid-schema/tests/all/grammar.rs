//! Checks the grammar: tokens, names, arguments, returns, types, annotations and the rules among arguments.
//!
//! Expected forms and messages are PyTorch 2.15's unless a line says DIFFERENCE.

use opgrid_schema::{Declaration, FunctionSchema, OperatorName, ParseErrorKind, ParseOptions, Type};

/// Parses and prints; an error gives its first line without the colon at the end.
fn check(text: &str) -> Result<String, String> {
    FunctionSchema::parse(text).map(|schema| schema.to_string()).map_err(|error| error.message().to_owned())
}

fn accepts(cases: &[(&str, &str)]) {
    for (text, printed) in cases {
        assert_eq!(check(text).as_deref(), Ok(*printed), "{text:?}");
    }
}

fn refuses(cases: &[(&str, &str)]) {
    for (text, message) in cases {
        assert_eq!(check(text).as_ref().map_err(String::as_str), Err(*message), "{text:?}");
    }
}

#[test]
fn blanks_comments_and_lines() {
    accepts(&[
        ("  foo ( Tensor x )->( )  ", "foo(Tensor x) -> ()"),
        ("foo(int x, # c )\n int y)->()", "foo(int x, int y) -> ()"),
        ("foo(\nTensor\tx\r\n)->(\n)", "foo(Tensor x) -> ()"),
        ("foo(\\\n)->\\\n()", "foo() -> ()"),
        ("# c\n  \nfoo()->() # a\n# b\n  ", "foo() -> ()"),
    ]);
    refuses(&[
        ("foo()\n->()", "expected arrow but found 'newline' here"),
        ("foo()->\n()", "expected ident but found 'newline' here"),
        ("foo()->()\nbar()->()", "expected eof but found 'ident' here"),
    ]);
}

#[test]
fn unexpected_tokens_are_named() {
    refuses(&[
        ("", "expected ident but found 'eof' here"),
        ("foo(Tensor -> x)->()", "expected ident but found 'arrow' here"),
        ("foo(Tensor ... x)->()", "expected ident but found 'dots' here"),
        ("foo(Tensor 'x')->()", "expected ident but found 'string_literal' here"),
        ("foo(5 x)->()", "expected ident but found 'number' here"),
        ("foo(Tensor x @)->()", "expected ) but found '@' here"),
        ("foo(Tensor($0) x)->()", "expected a valid token but found '$' here"),
        ("foo(str s=\"abc)->()", "expected a valid token but found '\"' here"),
        ("foo(é x)->()", "expected a valid token but found 'é' here"),
        ("foo(Tensor x) -> Tensor ;", "expected a valid token but found ';' here"),
        ("foo(Tensor x)) -> Tensor", "expected arrow but found ')' here"),
        ("foo(Tensor x,, Tensor y) -> Tensor", "expected ident but found ',' here"),
        ("foo(Tensor x)->Tensor, Tensor", "expected eof but found ',' here"),
    ]);
}

#[test]
fn names() {
    accepts(&[
        ("default(int x)->()", "default(int x) -> ()"),
        ("__x(int x)->()", "__x(int x) -> ()"),
        ("ns::foo._x(int x)->()", "ns::foo._x(int x) -> ()"),
    ]);
    refuses(&[
        ("a::b::c()->()", "expected eof but found ':' here"),
        ("ns:foo()->()", "expected : but found 'ident' here"),
        ("ns::()->()", "expected ident but found '(' here"),
        ("foo.default()->()", "default is not a legal overload name for aten operators"),
        ("foo.__x()->()", "__x is not a legal overload name for aten operators"),
        ("foo.in()->()", "expected ident but found 'in' here"),
        ("foo", "Tried to parse a function schema but only the operator name was given"),
    ]);
}

#[test]
fn reserved_words_are_no_names() {
    for word in [
        "def", "if", "elif", "else", "while", "return", "is", "and", "or", "not", "for", "in", "global",
        "raise", "assert", "break", "continue", "del", "pass", "class", "import", "with", "as", "True",
        "False", "None", "NoneType", "Ellipsis",
    ] {
        let message = format!("expected ident but found '{word}' here");
        assert_eq!(check(&format!("foo(Tensor {word}) -> ()")), Err(message.clone()));
        assert_eq!(check(&format!("{word}(Tensor x) -> ()")), Err(message));
    }
    for word in ["from", "lambda", "self", "async", "yield", "try", "List", "Future", "nonlocal"] {
        let text = format!("foo(Tensor {word}) -> ()");
        assert_eq!(check(&text), Ok(text));
    }
}

#[test]
fn operator_names_alone() {
    let name = OperatorName::parse("aten::add.Tensor").expect("a name");
    assert_eq!(name, OperatorName::new("aten::add", "Tensor"));
    assert_eq!((name.namespace(), name.base()), (Some("aten"), "add"));
    let plain = OperatorName::parse("add").expect("a name");
    assert_eq!((plain.namespace(), plain.base(), plain.overload.as_str()), (None, "add", ""));
    assert_eq!(plain.with_namespace_if_missing("my").to_string(), "my::add");
    assert_eq!(name.clone().with_namespace_if_missing("my"), name);
    assert!(OperatorName::parse("add(Tensor x) -> ()").is_err());
    assert!(OperatorName::parse("add.default").is_err());
    assert!(OperatorName::new("a", "") < OperatorName::new("a", "x"));
}

#[test]
fn declarations_are_names_or_schemas() {
    let name = Declaration::parse("my::f.out").expect("a name");
    assert_eq!(name, Declaration::Name(OperatorName::new("my::f", "out")));
    let schema = Declaration::parse("my::f.out() -> ()").expect("a schema");
    assert!(matches!(&schema, Declaration::Schema(schema) if schema.returns.is_empty()));
    assert_eq!(schema.name(), name.name());
    assert_eq!((name.to_string(), schema.to_string()), ("my::f.out".into(), "my::f.out() -> ()".into()));
    let error = FunctionSchema::parse("my::f").expect_err("only a name");
    assert_eq!(error.kind(), ParseErrorKind::WrongDeclaration);
}

#[test]
fn argument_lists() {
    accepts(&[
        ("foo(*)->()", "foo() -> ()"),
        ("foo(*, *)->()", "foo() -> ()"),
        ("foo(Tensor x, *, int y, *)->()", "foo(Tensor x, *, int y) -> ()"),
        ("foo(*, ...)->()", "foo(...) -> ()"),
        ("foo(int a, ...)->...", "foo(int a, ...) -> ..."),
        ("foo(Tensor x, Tensor x)->(Tensor y, Tensor y)", "foo(Tensor x, Tensor x) -> (Tensor y, Tensor y)"),
    ]);
    refuses(&[
        ("foo(..., *)->()", "... must be the last element of the argument list"),
        ("foo(..., ...)->()", "... must be the last element of the argument list"),
        ("foo(int a=1, ...)->()", "schemas with vararg (...) can't have default value args"),
        ("foo(Tensor x,)->()", "expected ident but found ')' here"),
        ("foo(Tensor)->()", "expected ident but found ')' here"),
    ]);
}

#[test]
fn defaults_come_last() {
    accepts(&[
        ("foo(int a=1, int[] b)->()", "foo(int a=1, int[] b) -> ()"),
        ("foo(int a=1, int[2] b)->()", "foo(int a=1, int[2] b) -> ()"),
        ("foo(int a=1, *, int b)->()", "foo(int a=1, *, int b) -> ()"),
        ("foo(*, Tensor x=None, int y)->()", "foo(*, Tensor x=None, int y) -> ()"),
    ]);
    let message = "Non-default positional argument follows default argument. Parameter b in ";
    for text in
        ["foo(int a=1, int b) -> ()", "foo(int a=1, int[]? b) -> ()", "foo(int a=1, int[] c, int b) -> ()"]
    {
        assert_eq!(check(text), Err(format!("{message}{text}")));
    }
}

#[test]
fn return_lists() {
    accepts(&[
        ("foo()->(...)", "foo() -> ..."),
        ("foo()->(Tensor, ...)", "foo() -> (Tensor, ...)"),
        ("foo()->(())", "foo() -> (())"),
        ("foo()->((Tensor, int)?)", "foo() -> ((Tensor, int)?)"),
        ("foo()->(t?)", "foo() -> t?"),
        ("foo()->Tensor[2](a)? y", "foo() -> Tensor[2](a)? y"),
        ("foo()->(int a)", "foo() -> int a"),
    ]);
    refuses(&[
        ("foo()->(Tensor, ..., ...)", "... must be the last element of the return list"),
        ("foo()->(*, Tensor)", "expected ident but found '*' here"),
        ("foo()->Tensor?(a)", "expected eof but found '(' here"),
        ("foo()->(Tensor, int)?", "expected eof but found '?' here"),
        ("foo()->(Tensor,)", "expected ident but found ')' here"),
        ("foo()->int x=1", "expected eof but found '=' here"),
    ]);
}

#[test]
fn every_base_type_has_its_printed_form() {
    for word in [
        "Tensor",
        "int",
        "SymInt",
        "SymBool",
        "float",
        "complex",
        "bool",
        "str",
        "Scalar",
        "ScalarType",
        "Layout",
        "MemoryFormat",
        "Device",
        "Generator",
        "Storage",
        "Stream",
        "QScheme",
        "Quantizer",
        "Capsule",
        "Any",
        "AnyClassType",
        "AnyEnumType",
        "NoneType",
    ] {
        assert_eq!(Type::parse(word).expect(word).to_string(), word);
    }
    for (word, printed) in [("DeviceIndex", "int"), ("ConstQuantizerPtr", "int"), ("None", "NoneType")] {
        assert_eq!(Type::parse(word).expect(word).to_string(), printed);
    }
}

#[test]
fn composed_types() {
    accepts(&[
        ("foo(int?? x)->()", "foo(int? x) -> ()"),
        // DIFFERENCE: PyTorch makes a union of one member of it.
        ("foo(Scalar?? x)->()", "foo(Scalar? x) -> ()"),
        ("foo(int[]?[2] x)->()", "foo(int[]?[2] x) -> ()"),
        ("foo(() x)->()", "foo(() x) -> ()"),
        ("foo((Tensor, int?)[] x)->()", "foo((Tensor, int?)[] x) -> ()"),
        ("foo(Dict(str,int)(a)[](b) x)->()", "foo(Dict(str, int)(a)[](b) x) -> ()"),
        ("foo(Await(Await(int)) x)->()", "foo(Await(Await(int)) x) -> ()"),
        ("foo(RRef(int)[] x, Future(int)? y=None)->()", "foo(RRef(int)[] x, Future(int)? y=None) -> ()"),
        // Inside other types, enumerations and symbolic integers are integers and annotations are dropped.
        ("foo((ScalarType, SymInt[], Layout?) x)->()", "foo((int, int[], int?) x) -> ()"),
        ("foo(Dict(str, Tensor(a)) x)->()", "foo(Dict(str, Tensor) x) -> ()"),
        ("foo(ScalarType?[]? x, SymInt[] y)->()", "foo(ScalarType?[]? x, SymInt[] y) -> ()"),
    ]);
    let key = "Cannot create dict for key type 'int[]', only int, float, complex, Tensor, device and string keys \
               are supported";
    refuses(&[
        ("foo(Dict(int[], int) x)->()", key),
        ("foo(Dict(int) x)->()", "expected , but found ')' here"),
        ("foo(Future x)->()", "expected ( but found 'ident' here"),
        ("foo(Future(Tensor)(a) x)->()", "expected ident but found '(' here"),
        ("foo((Tensor, int)(a) x)->()", "expected ident but found '(' here"),
        ("foo(None? x)->()", "NoneType cannot be optional, it has no other value than None"),
    ]);
}

#[test]
fn unions() {
    accepts(&[
        // DIFFERENCE: the members keep their order.
        ("foo(Union(int, Tensor, str) x)->()", "foo(Union(int, Tensor, str) x) -> ()"),
        ("foo(Union(Union(int,str),Tensor)(a) x)->()", "foo(Union(int, str, Tensor)(a) x) -> ()"),
        ("foo(Union(int, None) x)->()", "foo(int? x) -> ()"),
        ("foo(Union(int?, int) x)->()", "foo(int? x) -> ()"),
        ("foo(Union(int, float, complex) x)->()", "foo(Union(Scalar) x) -> ()"),
    ]);
    refuses(&[
        ("foo(Union() x)->()", "expected ident but found ')' here"),
        (
            "foo(Union(int, SymInt) x)->()",
            "this union has the single type int; write int instead of the union",
        ),
        ("foo(Union(Any, int) x)->()", "this union has the single type Any; write Any instead of the union"),
    ]);
}

#[test]
fn sized_lists() {
    accepts(&[
        ("foo(int[2] x)->()", "foo(int[2] x) -> ()"),
        ("foo(int[](a)[2](b)? x)->()", "foo(int[](a)[2](b)? x) -> ()"),
        ("foo(int?[0] x)->()", "foo(int?[0] x) -> ()"),
    ]);
    refuses(&[
        ("foo(int[2][3] x)->()", "expected ident but found '[' here"),
        ("foo(int[2][] x)->()", "expected ident but found '[' here"),
        ("foo(int[2]?? x)->()", "expected ident but found '?' here"),
        ("foo(int[-1] x)->()", "expected number but found '-' here"),
        ("foo((int[2], int) x)->()", "expected ) but found '[' here"),
    ]);
    // DIFFERENCE: PyTorch cuts sizes that are no 32-bit integers; here they are an error.
    for size in ["2.5", "2j", "0x2", "99999999999"] {
        let message = format!("the size of a list is an integer from 0 to 2147483647, not {size}");
        assert_eq!(check(&format!("foo(int[{size}] x)->()")), Err(message));
    }
}

#[test]
fn annotations() {
    accepts(&[
        ("foo(Tensor(a|a) x)->()", "foo(Tensor(a) x) -> ()"),
        ("foo(Tensor(*|*) x)->()", "foo(Tensor(*) x) -> ()"),
        ("foo(Tensor(*|) x)->()", "foo(Tensor(*) x) -> ()"),
        ("foo(Tensor(a! -> a) x)->()", "foo(Tensor(a!) x) -> ()"),
        ("foo(Tensor(a! -> b|*) x)->()", "foo(Tensor(a! -> b|*) x) -> ()"),
        // DIFFERENCE: the sets keep their order.
        ("foo(Tensor(b|a) x)->()", "foo(Tensor(b|a) x) -> ()"),
        ("foo(Tensor! x, Tensor! y)->()", "foo(Tensor($0! -> ) x, Tensor($1! -> ) y) -> ()"),
        ("foo(Tensor[]! x)->()", "foo(Tensor[]($0! -> ) x) -> ()"),
        ("foo(Tensor(a!)? x)->()", "foo(Tensor(a!)? x) -> ()"),
    ]);
    refuses(&[
        ("foo(Tensor?(a!) x)->()", "expected ident but found '(' here"),
        ("foo(Tensor(a -> ) x)->()", "expected ident but found ')' here"),
        ("foo(Tensor(*|a) x)->()", "expected ) but found 'ident' here"),
        ("foo(Tensor(a!|b) x)->()", "expected ) but found '|' here"),
        ("foo(Tensor() x)->()", "expected ident but found ')' here"),
        ("foo(Tensor(a)! x)->()", "expected ident but found '!' here"),
        ("foo(Tensor(if) x)->()", "expected ident but found 'if' here"),
    ]);
}

#[test]
fn type_variables_can_be_forbidden() {
    let options = ParseOptions { allow_type_variables: false, ..ParseOptions::default() };
    for (text, is_variable) in [("f(t x)->()", true), ("f(num.ber x)->()", true), ("f(int x)->()", false)] {
        assert!(FunctionSchema::parse(text).is_ok());
        let strict = FunctionSchema::parse_with(text, &options);
        assert_eq!(
            strict.err().map(|error| error.kind()),
            is_variable.then_some(ParseErrorKind::UnknownType)
        );
    }
    assert!(matches!(Type::parse("number"), Ok(Type::Var(name)) if name == "number"));
    for word in ["T", "_t", "Dimname", "SymFloat", "DispatchKeySet", "Optional", "Tensor.x"] {
        let error = Type::parse(word).expect_err(word);
        assert_eq!(error.kind(), ParseErrorKind::UnknownType);
        assert!(
            error.message().starts_with("unknown type specifier. Common valid schema types include Tensor")
        );
    }
}

#[test]
fn custom_classes() {
    let text = "f(__torch__.torch.classes.my.Class[]? x=None) -> __torch__.torch.classes.my.Class";
    let schema = FunctionSchema::parse(text).expect("any well-formed class is accepted");
    assert_eq!(schema.to_string(), text);
    assert_eq!(schema.returns[0].real_type, Type::Class("__torch__.torch.classes.my.Class".into()));
    let parse = |known: &str| {
        let is_known = |name: &str| name == known;
        FunctionSchema::parse_with(
            text,
            &ParseOptions { custom_class: Some(&is_known), ..ParseOptions::default() },
        )
    };
    assert!(parse("my.Class").is_ok());
    let unknown = parse("my.Other").expect_err("not registered");
    assert_eq!(unknown.kind(), ParseErrorKind::UnknownClass);
    assert_eq!(unknown.message(), "Unknown custom class type my.Class. Please ensure it is registered.");
    refuses(&[
        ("f(__torch__.x.classes.my.C x)->()", "Expected classes namespace but got x"),
        ("f(__torch__.torch.y.my.C x)->()", "Expected classes namespace but got y"),
        ("f(__torch__.torch.classes.my.C(a) x)->()", "expected ident but found '(' here"),
        ("f(__torch__ x)->()", "expected . but found 'ident' here"),
    ]);
}

#[test]
fn strict_refuses_repeated_names_and_unfit_defaults() {
    let strict = ParseOptions { strict: true, ..ParseOptions::default() };
    // DIFFERENCE: only when asked for; PyTorch has no such mode.
    for (text, message) in [
        ("f(int x, int x)->()", "two arguments are named `x`; names must differ"),
        ("f()->(int x, int x)", "two returns are named `x`; names must differ"),
        ("f(int x=1.5)->()", "the default is a value of type float, which is not a int"),
        ("f(int x='a')->()", "the default is a value of type str, which is not a int"),
        ("f(bool x=1)->()", "the default is a value of type int, which is not a bool"),
        ("f(int x=None)->()", "the default is a value of type None, which is not a int"),
        ("f(float x=Mean)->()", "the default is a value of type int, which is not a float"),
        ("f(Device? x='x')->()", "the default is a value of type str, which is not a Optional[Device]"),
    ] {
        assert!(FunctionSchema::parse(text).is_ok(), "{text}");
        let error = FunctionSchema::parse_with(text, &strict).expect_err(text);
        assert_eq!(error.message(), message);
    }
    for text in [
        "f(int x=1, float y=1, Scalar z=1j, ScalarType d=half, Device e='cpu', str s='a')->(int, int)",
        "f(int? x=None, float? y=1, int[2]? z=1, SymInt[2] w=1, Tensor? t=None, bool[2] b=True)->()",
        "f(Tensor x=None, Device? d='cuda:1', ScalarType? e=float, Layout l=strided)->()",
    ] {
        assert!(FunctionSchema::parse_with(text, &strict).is_ok(), "{text}");
    }
}
