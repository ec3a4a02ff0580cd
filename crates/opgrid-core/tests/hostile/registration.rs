//! What once vanished silently while a library was put together.

use opgrid_core::schema::AliasAnalysis;
use opgrid_core::{DispatchKey, Dispatcher, ErrorKind, Kernel, Library, operator};

operator! {
    pub Half = "registration::half(int x) -> int";
    pub Third = "registration::third(int x) -> int";
}

fn half(x: i64) -> opgrid_core::Result<i64> {
    Ok(x / 2)
}

fn even(x: i64) -> opgrid_core::Result<bool> {
    Ok(x % 2 == 0)
}

/// What a definition says cannot be said where an operator is only implemented.
#[test]
fn settings_of_a_definition_are_refused_where_there_is_none() {
    type Say = fn(&mut Library);
    let says: [(&str, Say); 4] = [
        ("a tag belongs to the definition", |library| drop(library.implement("f").tag("core"))),
        ("a description belongs to the definition", |library| drop(library.implement("f").describe("text"))),
        ("an alias analysis belongs to the definition", |library| {
            drop(library.implement("f").alias_analysis(Some(AliasAnalysis::PureFunction)));
        }),
        ("being unobserved belongs to the definition", |library| drop(library.implement("f").unobserved())),
    ];
    for (expected, say) in says {
        let dispatcher = Dispatcher::new();
        let mut library = dispatcher.library("registration");
        library.define("f(int x) -> int").tag("core").describe("text").unobserved();
        say(&mut library);
        let error = library.finish().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Registration);
        assert!(
            error.to_string().contains(expected) && error.to_string().contains("registration::f"),
            "{error}"
        );
        assert!(dispatcher.operators().is_empty());
    }
}

/// A condition belongs to the kernel before it, of the same operator.
#[test]
fn a_condition_without_a_kernel_does_not_go_to_another_operator() {
    let dispatcher = Dispatcher::new();
    let mut library = dispatcher.library("registration");
    library.define(Half).provider(DispatchKey::BackendSelect, "half", half);
    library.define(Third).when("x is even", even);
    let error = library.finish().unwrap_err();
    assert!(error.to_string().contains("there is no kernel before it"), "{error}");

    let mut library = dispatcher.library("registration");
    library.define(Half).add(Kernel::function::<fn(i64) -> i64>(half).at(DispatchKey::BackendSelect));
    library.define(Third).provider(DispatchKey::BackendSelect, "third", half).when("x is even", even);
    let _registration = library.finish().unwrap();
    let dump = dispatcher.find("registration::half").unwrap().dump_state().unwrap();
    assert!(!dump.contains("even"), "{dump}");
}
