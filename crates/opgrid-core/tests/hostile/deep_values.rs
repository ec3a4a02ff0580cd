//! Values that are nested deep: made, compared, printed, told of in errors, and dropped.

use std::sync::Arc;

use opgrid_core::schema::Type;
use opgrid_core::{DEEPEST_SHOWN, DictValue, DispatchKey, Dispatcher, Kernel, List, Value};

/// A value within a tuple, a list or a dict, so often.
fn nested(times: usize) -> Value {
    let mut value = Value::from(1);
    for time in 0..times {
        value = match time % 3 {
            0 => Value::Tuple(Arc::new(vec![value].into())),
            1 => List::Values(Type::Any, vec![value].into()).into(),
            _ => Value::Dict(Arc::new(DictValue::new(Type::Str, Type::Any, vec![("k".into(), value)]))),
        };
    }
    value
}

#[test]
fn two_million_levels_are_dropped_and_compared() {
    let (one, two) = (nested(2_000_000), nested(2_000_000));
    assert!(one == two);
    assert!(one != nested(1_999_999));
    let shared = one.clone();
    drop(one);
    assert!(shared == two);
}

#[test]
fn deep_values_are_printed_to_a_depth() {
    let text = nested(100_000).to_string();
    assert!(text.contains('…') && text.len() < 40 * DEEPEST_SHOWN, "{text}");
    assert!(!nested(DEEPEST_SHOWN).to_string().contains('…'));
    assert_eq!(format!("{:?}", nested(3)), "{k: [(1,)]}");
}

/// A result of the wrong kind is named by its type.
#[test]
fn the_type_of_a_deep_value_is_told() {
    let dispatcher = Dispatcher::new();
    let mut library = dispatcher.library("depth");
    let kernel = Kernel::boxed(|call| {
        let mut value = Value::from(1);
        for _ in 0..100_000 {
            value = Value::Tuple(Arc::new(vec![value].into()));
        }
        call.push(value);
        Ok(())
    });
    library.define("f() -> int").add(kernel.at(DispatchKey::CompositeExplicitAutograd));
    library.define("g(int x, Any y) -> ()");
    let _registration = library.finish().unwrap();
    let error = dispatcher.find("depth::f").unwrap().call_values(vec![]).unwrap_err();
    assert!(error.to_string().contains("Any"), "{error}");
    let g = dispatcher.find("depth::g").unwrap();
    for value in [nested(100_000), nested(99_999), nested(99_998)] {
        assert!(g.bind(vec![value.clone(), Value::None], vec![]).is_err());
        assert!(g.call_values(vec![value.clone(), Value::None]).is_err());
        assert_eq!(g.bind(vec![1.into(), value.clone()], vec![]).unwrap()[1], value);
    }
}

/// Schemas of any depth are read or refused.
#[test]
fn deep_schemas_are_read_or_refused() {
    let deep = 200_000;
    let around = [
        ("(", ")"),
        ("Dict(str, ", ")"),
        ("Optional(", ")"),
        ("Union[", "]"),
        ("Future(", ")"),
        ("Union(", ")"),
    ];
    let mut texts: Vec<String> = around
        .map(|(open, close)| format!("depth::f({}int{} x) -> int", open.repeat(deep), close.repeat(deep)))
        .into();
    texts.extend(["[]", "?", "[2]"].map(|suffix| format!("depth::f(int{} x) -> int", suffix.repeat(deep))));
    texts.push(format!("depth::f(int[] x={}{}) -> int", "[".repeat(deep), "]".repeat(deep)));
    texts.push(format!("depth::f(int[{}] x=1) -> int", i64::MAX));
    texts.push("depth::f(int[99999999999] x=1) -> int".into());
    for text in texts {
        let dispatcher = Dispatcher::new();
        let mut library = dispatcher.library("depth");
        library.define(text.as_str());
        let start: String = text.chars().take(30).collect();
        let finished = library.finish();
        if let Err(error) = &finished {
            assert!(error.to_string().len() < 10 * deep * 10, "{start}");
        }
        if finished.is_ok() {
            let f = dispatcher.find("depth::f").unwrap();
            let _ = f.bind(vec![], vec![]);
            let _ = f.bind(vec![1.into()], vec![]);
        }
    }
}
