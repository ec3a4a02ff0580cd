//! Checks how the values of a call are put in order and which are refused.

use opgrid_schema::{BindErrorKind, Constant, FunctionSchema, Type, TypedValue};

/// A value that is nothing but its type, or a default.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    Of(&'static str),
    EmptyDict,
    Default(String),
}

impl TypedValue for Value {
    fn value_type(&self) -> Type {
        match self {
            Value::Of(text) => Type::parse(text).expect("a type"),
            Value::EmptyDict => Type::parse("Dict(str, Tensor)").expect("a type"),
            Value::Default(_) => Type::Any,
        }
    }

    fn also_fits(&self, declared: &Type) -> bool {
        *self == Value::EmptyDict && matches!(declared, Type::Dict(..))
    }

    fn describe(&self) -> String {
        match self {
            Value::Of("str") => "'seven'".to_owned(),
            _ => String::new(),
        }
    }
}

use Value::Of;

fn bind(
    schema: &str,
    positional: &[Value],
    keyword: &[(&str, Value)],
) -> Result<Vec<Value>, (BindErrorKind, String)> {
    let schema = FunctionSchema::parse(schema).expect("a schema");
    let keyword = keyword.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    let constant = |constant: &Constant, _: &_| Value::Default(constant.to_string());
    schema.bind(positional.to_vec(), keyword, constant).map_err(|error| (error.kind(), error.to_string()))
}

const SCHEMA: &str = "my::f.x(int a, str b, *, float c=1.5) -> ()";

#[test]
fn values_by_position_name_and_default() {
    let one_point_five = Value::Default("1.5".to_owned());
    assert_eq!(
        bind(SCHEMA, &[Of("int"), Of("str")], &[]),
        Ok(vec![Of("int"), Of("str"), one_point_five.clone()])
    );
    assert_eq!(
        bind(SCHEMA, &[], &[("b", Of("str")), ("a", Of("int"))]),
        Ok(vec![Of("int"), Of("str"), one_point_five])
    );
    // Keyword-only arguments take positional values here.
    let all = vec![Of("int"), Of("str"), Of("float")];
    assert_eq!(bind(SCHEMA, &all, &[]), Ok(all.clone()));
}

#[test]
fn messages() {
    let declaration = "my::f.x(int a, str b, *, float c=1.5) -> ()";
    let four = vec![Of("int"); 4];
    assert_eq!(
        bind(SCHEMA, &four, &[]),
        Err((
            BindErrorKind::TooMany,
            format!(
                "Expected at most 3 argument(s) for operator 'my::f', but received 4 argument(s). Declaration: \
                 {declaration}"
            )
        ))
    );
    assert_eq!(
        bind(SCHEMA, &[Of("int")], &[("zz", Of("int"))]),
        Err((
            BindErrorKind::Missing,
            format!("my::f() is missing value for argument 'b'. Declaration: {declaration}")
        ))
    );
    assert_eq!(
        bind(SCHEMA, &[Of("str"), Of("str")], &[]),
        Err((
            BindErrorKind::WrongType,
            format!(
                "my::f() Expected a value of type 'int' for argument 'a' but instead found type 'str'.\nPosition: \
                 0\nValue: 'seven'\nDeclaration: {declaration}"
            )
        ))
    );
    assert_eq!(
        bind(SCHEMA, &[Of("int"), Of("str")], &[("c", Of("int"))]),
        Err((
            BindErrorKind::WrongType,
            format!(
                "my::f() Expected a value of type 'float' for argument 'c' but instead found type 'int'.\n\
                 Declaration: {declaration}"
            )
        ))
    );
    let (good, extra) = ([Of("int"), Of("str")], [("a", Of("int")), ("zz", Of("int"))]);
    assert_eq!(
        bind(SCHEMA, &good, &extra),
        Err((
            BindErrorKind::UnknownKeyword,
            format!("Unknown keyword argument 'zz' for operator 'my::f'. Schema: {declaration}")
        ))
    );
    assert_eq!(
        bind(SCHEMA, &good, &extra[..1]),
        Err((
            BindErrorKind::GivenTwice,
            format!("Argument 'a' specified both as positional and keyword argument. Schema: {declaration}")
        ))
    );
    assert_eq!(
        bind(SCHEMA, &good, &[("c", Of("float")), ("c", Of("float"))]),
        Err((
            BindErrorKind::GivenTwice,
            format!("Argument 'c' specified 2 times as keyword argument. Schema: {declaration}")
        ))
    );
}

#[test]
fn values_must_be_subtypes() {
    for (argument, value, fits) in [
        ("int", "int", true),
        ("int", "SymInt", true),
        ("SymInt", "int", true),
        ("float", "int", false),
        ("int", "bool", false),
        ("Scalar", "float", true),
        ("Scalar", "bool", false),
        ("Tensor?", "None", true),
        ("Tensor", "None", false),
        ("Any", "Tensor[]", true),
        ("SymInt[]", "int[]", true),
        ("Tensor?[]", "Tensor[]", false),
        ("ScalarType", "int", true),
        ("ScalarType", "ScalarType", true),
        ("ScalarType?", "int", true),
        ("Layout[]", "int[]", true),
        ("MemoryFormat", "int", true),
        ("Device", "int", false),
        ("int", "ScalarType", false),
    ] {
        let found = bind(&format!("f({argument} a) -> ()"), &[Of(value)], &[]);
        assert_eq!(found.is_ok(), fits, "{value} for {argument}: {found:?}");
    }
}

#[test]
fn empty_dictionaries_fit_every_dictionary() {
    assert!(bind("f(Dict(int, int) a) -> ()", &[Value::EmptyDict], &[]).is_ok());
    assert!(bind("f(Dict(int, int) a) -> ()", &[Of("Dict(str, Tensor)")], &[]).is_err());
    assert!(bind("f(int a) -> ()", &[Value::EmptyDict], &[]).is_err());
}

#[test]
fn messages_name_the_real_type() {
    let (_, message) = bind("f(ScalarType? a) -> ()", &[Of("str")], &[]).expect_err("a string");
    assert!(
        message.starts_with("f() Expected a value of type 'Optional[ScalarType]' for argument 'a'"),
        "{message}"
    );
}
