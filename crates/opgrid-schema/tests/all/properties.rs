//! Checks over random schemas and random strings that reading and writing agree and nothing panics.

use opgrid_schema::{Constant, Declaration, FunctionSchema, OperatorName, ParseOptions, Type, TypedValue};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

const BASE_TYPES: &[&str] = &[
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
    "t",
    "DeviceIndex",
    "__torch__.torch.classes.my.Class",
];

/// Types without annotations.
fn type_text() -> impl Strategy<Value = String> {
    let leaf = select(BASE_TYPES).prop_map(str::to_owned);
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            inner.clone().prop_map(|element| format!("{element}[]")),
            inner.clone().prop_map(|inner| format!("{inner}?")),
            vec(inner.clone(), 0..4).prop_map(|parts| format!("({})", parts.join(", "))),
            (select(&["str", "int", "Tensor"][..]), inner.clone())
                .prop_map(|(key, value)| format!("Dict({key}, {value})")),
            (select(&["Future", "Await", "RRef"][..]), inner.clone())
                .prop_map(|(outer, inner)| format!("{outer}({inner})")),
            inner.prop_map(|member| format!("Union(str, Device, {member})")),
        ]
    })
}

fn alias() -> impl Strategy<Value = String> {
    let sets = || vec(select(&["a", "b", "c"][..]), 1..4).prop_map(|sets| sets.join("|"));
    let named = (sets(), any::<bool>(), option::of(prop_oneof![sets(), Just("*".to_owned())])).prop_map(
        |(before, is_write, after)| {
            let after = after.map_or(String::new(), |after| format!(" -> {after}"));
            format!("({before}{}{after})", if is_write { "!" } else { "" })
        },
    );
    prop_oneof![4 => Just(String::new()), 1 => Just("!".to_owned()), 1 => Just("(*)".to_owned()), 3 => named]
}

fn constant() -> impl Strategy<Value = String> {
    let float = any::<f64>().prop_filter("normal", |value| value.is_normal());
    prop_oneof![
        any::<i64>().prop_map(|value| value.to_string()),
        float.prop_map(|value| format!("{value:e}")),
        select(&["None", "True", "False", "2j", "-1.5j", "float", "Mean", "'a\"b\\n'", "'cpu'", "\"é\""][..])
            .prop_map(str::to_owned),
        vec(-2..3i64, 0..4).prop_map(|items| format!("{items:?}")),
        select(&["inf", "-inf", "nan", "-0.", "['a', \"b\"]", "[inf, -inf, 1]", "[float, long]"][..])
            .prop_map(str::to_owned),
        any::<String>().prop_map(|text| quoted(&text)),
    ]
}

/// A string literal of any text.
fn quoted(text: &str) -> String {
    let escaped = text.chars().map(|character| match character {
        '\\' | '"' => format!("\\{character}"),
        '\n' => "\\n".to_owned(),
        other => other.to_string(),
    });
    format!("\"{}\"", escaped.collect::<String>())
}

/// Each type beside a strategy of the strings of its defaults.
fn typed_default() -> impl Strategy<Value = (String, String)> {
    let text = |texts: &'static [&'static str]| select(texts).prop_map(str::to_owned).boxed();
    let float = prop_oneof![
        any::<f64>().prop_filter("normal", |value| value.is_normal()).prop_map(|value| format!("{value:e}")),
        text(&["inf", "-inf", "nan", "0.", "-0.", "-2.5", "3"]),
    ];
    let string = any::<String>().prop_map(|text| quoted(&text));
    let list = |element: BoxedStrategy<String>| {
        vec(element, 0..4).prop_map(|items| format!("[{}]", items.join(", "))).boxed()
    };
    let integer = any::<i64>().prop_map(|value| value.to_string());
    let base: Vec<(&str, BoxedStrategy<String>)> = vec![
        ("int", integer.clone().boxed()),
        ("SymInt", integer.boxed()),
        ("float", float.clone().boxed()),
        ("bool", text(&["True", "False"])),
        ("str", string.boxed()),
        ("Scalar", prop_oneof![float, text(&["7", "-7", "True", "2j"])].boxed()),
        ("complex", text(&["1.5", "-2.5j", "inf"])),
        ("ScalarType", text(&["float16", "long", "bool", "bfloat16", "int7"])),
        ("Layout", text(&["strided"])),
        ("MemoryFormat", text(&["contiguous_format"])),
        ("Device", text(&["\"cpu\"", "\"cuda:1\"", "\"privateuseone\""])),
        ("Tensor[]", text(&["[]"])),
        ("Tensor?[]", text(&["[]"])),
        ("Tensor(a!)[]", text(&["[]"])),
    ];
    let mut all: Vec<BoxedStrategy<(String, String)>> = Vec::new();
    for (name, default) in base {
        all.push(default.clone().prop_map(move |text| (name.to_owned(), text)).boxed());
        let optional = prop_oneof![3 => default.clone(), 1 => Just("None".to_owned())];
        all.push(optional.prop_map(move |text| (format!("{name}?"), text)).boxed());
        if name != "Device" && !name.starts_with("Tensor") {
            all.push(list(default.clone()).prop_map(move |text| (format!("{name}[]"), text)).boxed());
            all.push(list(default).prop_map(move |text| (format!("{name}[]?"), text)).boxed());
        }
    }
    prop::strategy::Union::new(all)
}

prop_compose! {
    fn value_type()(
        base in select(&["Tensor", "int", "SymInt", "float", "bool", "Scalar", "Device", "str", "ScalarType"][..]),
        element in alias(),
        shape in select(&["", "?", "[]", "[2]", "?[]", "[]?", "[2]?", "[][]", "[]?[3]"][..]),
        other in option::weighted(0.3, type_text()),
    ) -> String {
        other.unwrap_or_else(|| format!("{base}{element}{shape}"))
    }
}

prop_compose! {
    fn argument()(value_type in value_type(), default in option::weighted(0.4, constant())) -> (String, String) {
        (value_type, default.map_or(String::new(), |default| format!("={default}")))
    }
}

/// Strings of schemas; some break a rule of the language.
fn schema_text() -> impl Strategy<Value = String> {
    (vec(argument(), 0..5), 0..6usize, vec(value_type(), 0..4), any::<bool>()).prop_map(
        |(arguments, star, returns, is_vararg)| {
            let mut items: Vec<_> = arguments
                .into_iter()
                .enumerate()
                .map(|(index, (value_type, default))| format!("{value_type} x{index}{default}"))
                .collect();
            if star < items.len() {
                items.insert(star, "*".to_owned());
            }
            if is_vararg {
                items.push("...".to_owned());
            }
            format!("ns::f.o({}) -> ({})", items.join(", "), returns.join(", "))
        },
    )
}

/// Whether a default is written as a string in quotes although the quotes are part of its text: strings are written bare where
/// the type is another one, here as in torch, and reading takes the quotes off.
fn holds_a_literal(default: &Constant) -> bool {
    match default {
        Constant::Str(text) | Constant::Device(text) => text.trim_start().starts_with(['"', '\'']),
        Constant::List(items) => items.iter().any(holds_a_literal),
        _ => false,
    }
}

/// As torch 2.15 prints the same strings.
#[test]
fn a_string_that_is_a_literal_loses_its_quotes_when_it_is_read_back() {
    let printed = |text: &str| FunctionSchema::parse(text).unwrap().to_string();
    let once = printed(r#"ns::f.o(*, Tensor[]? x0="''") -> ()"#);
    assert_eq!(once, "ns::f.o(*, Tensor[]? x0='') -> ()");
    assert_eq!(printed(&once), "ns::f.o(*, Tensor[]? x0=) -> ()");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2_000) })]

    #[test]
    fn the_alternate_form_reads_back_to_an_equal_schema(text in schema_text()) {
        let Ok(schema) = FunctionSchema::parse(&text) else { return Ok(()) };
        let alternate = format!("{schema:#}");
        let again = FunctionSchema::parse(&alternate);
        prop_assert_eq!(again.as_ref(), Ok(&schema), "{} was written {}", text, alternate);
        prop_assert_eq!(again.map(|again| again.to_string()), Ok(schema.to_string()));
    }

    #[test]
    fn the_canonical_form_is_a_fixed_point_where_it_reads_back(text in schema_text()) {
        let Ok(schema) = FunctionSchema::parse(&text) else { return Ok(()) };
        let printed = schema.to_string();
        // A number by its name is an integer even for a float, here as in torch, and becomes a float when it is read back.
        let names_a_number = ["=float", "=Mean"].iter().any(|name| text.contains(name));
        let holds_a_literal = schema.arguments.iter().filter_map(|it| it.default.as_ref()).any(holds_a_literal);
        if let Ok(again) = FunctionSchema::parse(&printed)
            && !names_a_number
            && !holds_a_literal
        {
            prop_assert_eq!(again.to_string(), printed);
        }
    }

    #[test]
    fn registered_looking_schemas_are_fixed_points(text in "[a-z]{1,5}::[a-z_]{1,8}") {
        let full = format!("{text}(Tensor(a!) self, int[2] k=1, *, float f=0.5, Scalar? s=None) -> Tensor(a!)");
        let schema = FunctionSchema::parse(&full);
        // A name may happen to be a reserved word.
        if let Ok(schema) = schema {
            prop_assert_eq!(schema.to_string(), full);
        }
    }

    #[test]
    fn every_default_of_every_type_is_read_and_reads_back((name, default) in typed_default()) {
        let text = format!("f({name} x={default}) -> ()");
        let schema = FunctionSchema::parse(&text);
        prop_assert!(schema.is_ok(), "{text}: {schema:?}");
        let schema = schema.expect("checked above");
        let alternate = format!("{schema:#}");
        let again = FunctionSchema::parse(&alternate);
        prop_assert_eq!(again.as_ref(), Ok(&schema), "{} was written {}", text, alternate);
        prop_assert_eq!(again.map(|again| format!("{again:#}")), Ok(alternate));
    }

    #[test]
    fn types_read_back(text in type_text()) {
        let Ok(read) = Type::parse(&text) else { return Ok(()) };
        prop_assert_eq!(Type::parse(&read.to_string()), Ok(read.clone()));
        prop_assert!(read.is_subtype_of(&read) && read.is_subtype_of(&Type::Any));
        prop_assert!(read.is_subtype_of(&Type::Optional(Box::new(read.clone()))));
        prop_assert_eq!(read.fake().fake(), read.fake());
        prop_assert!(!read.python_name().is_empty());
    }

    #[test]
    fn any_text_gives_a_result_with_a_place_inside(text in ".{0,60}") {
        if let Err(error) = Declaration::parse(&text) {
            let span = error.span();
            prop_assert!(text.get(span).is_some());
            prop_assert!(error.line() >= 1 && error.column() >= 1);
        }
        let _ = (OperatorName::parse(&text), Type::parse(&text));
    }

    #[test]
    fn damaged_schemas_give_a_result(text in schema_text(), at in any::<prop::sample::Index>(), with in "[\\PC\n]{0,2}") {
        let mut characters: Vec<String> = text.chars().map(String::from).collect();
        let at = at.index(characters.len());
        characters[at] = with;
        let damaged = characters.concat();
        if let Ok(schema) = FunctionSchema::parse(&damaged) {
            prop_assert_eq!(FunctionSchema::parse(&format!("{schema:#}")), Ok(schema));
        }
    }

    #[test]
    fn strictness_only_refuses(text in schema_text()) {
        let strict = ParseOptions { strict: true, ..ParseOptions::default() };
        if let Ok(schema) = FunctionSchema::parse_with(&text, &strict) {
            prop_assert_eq!(FunctionSchema::parse(&text), Ok(schema));
        }
    }

    #[test]
    fn floats_read_back(value in any::<f64>().prop_filter("normal", |value| value.is_normal())) {
        let printed = opgrid_schema::print_float(value);
        let schema = FunctionSchema::parse(&format!("f(float x={printed}) -> ()"));
        prop_assert_eq!(schema.map(|schema| schema.arguments[0].default.clone()), Ok(Some(Constant::Float(value))));
    }

    #[test]
    fn compatibility_with_itself(text in schema_text()) {
        let Ok(schema) = FunctionSchema::parse(&text) else { return Ok(()) };
        prop_assert_eq!(schema.is_backward_compatible_with(&schema), Ok(()));
        prop_assert_eq!(schema.is_forward_compatible_with(&schema), Ok(()));
        prop_assert!(opgrid_schema::check_signature(&schema, &schema, true).is_ok());
    }

    #[test]
    fn values_of_the_right_types_bind_by_position_and_by_name(text in schema_text(), split in 0..6usize) {
        let Ok(schema) = FunctionSchema::parse(&text) else { return Ok(()) };
        let values: Vec<_> = schema.arguments.iter().map(|argument| Typed(argument.real_type.clone())).collect();
        let named = schema.arguments.iter().zip(&values).skip(split);
        let keyword = named.map(|(argument, value)| (argument.name.clone(), value.clone())).rev().collect();
        let positional = values.iter().take(split).cloned().collect();
        let bound = schema.bind(positional, keyword, |_, argument| Typed(argument.real_type.clone()));
        prop_assert_eq!(bound, Ok(values));
    }
}

/// The properties above say little if few of the random strings are schemas.
#[test]
fn enough_random_texts_are_schemas() {
    let mut runner = TestRunner::deterministic();
    let mut next = || schema_text().new_tree(&mut runner).expect("a text").current();
    let accepted = (0..1_000).filter(|_| FunctionSchema::parse(&next()).is_ok()).count();
    assert!((300..1_000).contains(&accepted), "{accepted} of 1000 texts are schemas");
}

/// A value that is nothing but its type.
#[derive(Clone, Debug, PartialEq)]
struct Typed(Type);

impl TypedValue for Typed {
    fn value_type(&self) -> Type {
        self.0.clone()
    }

    fn describe(&self) -> String {
        String::new()
    }
}
