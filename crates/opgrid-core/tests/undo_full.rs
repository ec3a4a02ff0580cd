//! Dropping registrations where everything is registered that can be: 16 backends and 16 layers of users, a fallback or
//! a kernel of its own for every column. The keys fill this process, so that tests of other keys stand elsewhere.
#![forbid(unsafe_code)]

use std::sync::Once;

use opgrid_core::{
    BackendComponent, DispatchKey as Key, Dispatcher, Kernel, OperatorHandle, Registration, Result, Returns,
    columns,
};

/// Allocates every key that users can have.
fn fill() {
    static FILLED: Once = Once::new();
    FILLED.call_once(|| {
        for number in 0..16 {
            BackendComponent::register(&format!("Toy{number}")).unwrap();
        }
        let above = [
            Key::PythonDispatcher,
            Key::Tracer,
            Key::Functionalize,
            Key::BackendSelect,
            Key::Python,
            Key::AdInplaceOrView,
            Key::AutogradCpu,
            Key::AutocastCpu,
            Key::FuncTorchBatched,
            Key::NestedTensor,
            Key::AutocastPrivateUse1,
        ];
        let mut layers = 0;
        while above.iter().any(|key| Key::layer(format!("Mine{layers}")).above(*key).register().is_ok()) {
            layers += 1;
        }
        assert!(layers >= 16, "{layers} layers");
    });
}

/// A kernel that leaves its text.
fn kernel(text: String) -> Kernel {
    Kernel::boxed(move |call| {
        call.push(text.as_str());
        Ok(())
    })
}

fn fallback(dispatcher: &Dispatcher, key: Key) -> Result<Registration> {
    let mut library = dispatcher.implementations("_", key);
    library.allow_override().fallback(kernel(format!("fallback for {key}")));
    library.finish()
}

fn define(dispatcher: &Dispatcher) -> (Registration, OperatorHandle) {
    dispatcher.on_override(|_| {});
    let mut library = dispatcher.library("undo");
    library.define("f() -> str");
    (library.finish().unwrap(), dispatcher.find("undo::f").unwrap())
}

/// What runs for every column.
fn check(operator: &OperatorHandle, expected: impl Fn(Key) -> Option<String>) {
    operator.check_invariants().unwrap();
    for key in columns().into_iter().filter(|key| *key != Key::Undefined) {
        let mut returns = Returns::new();
        let called = operator.redispatch_boxed(key.key_set(), &[], &mut returns);
        let ran = called.ok().and_then(|()| returns.into_single().ok()).map(|value| value.to_string());
        assert_eq!(ran, expected(key), "{key}");
    }
}

/// What the fallback of an alias hid comes back when the alias goes, and has room.
#[test]
fn fallbacks_that_an_alias_hid_come_back() {
    fill();
    let dispatcher = Dispatcher::bare();
    let (_registration, operator) = define(&dispatcher);
    let alias = Key::CompositeExplicitAutograd;
    let all: Vec<Key> = columns().into_iter().filter(|key| *key != Key::Undefined).collect();
    assert!(all.len() > 256, "{} columns", all.len());
    let is_covered = |key: Key| {
        let probe = Dispatcher::bare();
        let _first = fallback(&probe, alias).unwrap();
        let mut library = probe.implementations("_", key);
        library.fallback(kernel(String::new()));
        library.finish().is_err()
    };
    let (covered, others): (Vec<Key>, Vec<Key>) = all.iter().partition(|key| is_covered(**key));
    let mut kept: Vec<_> = covered.iter().map(|key| fallback(&dispatcher, *key).unwrap()).collect();
    let over = fallback(&dispatcher, alias).unwrap();
    kept.extend(others.iter().map(|key| fallback(&dispatcher, *key).unwrap()));
    check(&operator, |key| {
        let key = if covered.contains(&key) { alias } else { key };
        Some(format!("fallback for {key}"))
    });
    drop(over);
    check(&operator, |key| Some(format!("fallback for {key}")));
    // The dispatcher goes on.
    drop(fallback(&dispatcher, Key::Python).unwrap());
    check(&operator, |key| Some(format!("fallback for {key}")));
    kept.truncate(1);
    check(&operator, |key| (key == covered[0]).then(|| format!("fallback for {key}")));
}

/// A kernel of one operator for every column, above a fallback for every column.
#[test]
fn kernels_that_go_uncover_fallbacks() {
    fill();
    let dispatcher = Dispatcher::bare();
    let (_registration, operator) = define(&dispatcher);
    let all: Vec<Key> = columns().into_iter().filter(|key| *key != Key::Undefined).collect();
    let _fallbacks: Vec<_> = all.iter().map(|key| fallback(&dispatcher, *key).unwrap()).collect();
    let implement = |key: Key| {
        let mut library = dispatcher.implementations("undo", key);
        library.implement("f").add(kernel(format!("kernel for {key}")));
        library.finish().unwrap()
    };
    let mut kernels: Vec<_> = all.iter().map(|key| implement(*key)).collect();
    check(&operator, |key| Some(format!("kernel for {key}")));
    drop(kernels.split_off(100));
    check(&operator, |key| {
        let what = if all[..100].contains(&key) { "kernel" } else { "fallback" };
        Some(format!("{what} for {key}"))
    });
    drop(kernels);
    check(&operator, |key| Some(format!("fallback for {key}")));
}
