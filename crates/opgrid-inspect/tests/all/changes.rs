//! Registries on record: written, read again, and compared.

use opgrid_core::{DispatchKey, Dispatcher, Kernel, Library};
use opgrid_inspect::{Change, ChangeKind, Grid, Record};

fn kernel() -> Kernel {
    Kernel::boxed(|_| Ok(()))
}

fn recorded(register: impl FnOnce(&mut Library)) -> Record {
    let dispatcher = Dispatcher::new();
    let mut library = dispatcher.library("my");
    register(&mut library);
    let _registration = library.finish().unwrap();
    Record::from_dispatcher(&dispatcher)
}

fn before() -> Record {
    recorded(|library| {
        library.define("add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor").add(kernel());
        library.define("add.Scalar(Tensor self, Scalar other) -> Tensor").add(kernel());
    })
}

/// Checks that this is the only change, and what it says.
fn one(changes: &[Change], kind: ChangeKind, breaks: bool, words: &[&str]) {
    let [change] = changes else { panic!("{kind}: {changes:?}") };
    assert_eq!((change.kind, change.breaks), (kind, breaks), "{change}");
    for word in words {
        assert!(change.to_string().contains(word), "`{word}` is not in: {change}");
    }
}

#[test]
fn nothing_changed() {
    assert_eq!(before().changes_to(&before()), []);
    let read = Record::from_json(&before().to_json()).unwrap();
    assert_eq!(read, before());
}

#[test]
fn a_removed_overload() {
    let after = recorded(|library| {
        library.define("add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor").add(kernel());
    });
    one(
        &before().changes_to(&after),
        ChangeKind::RemovedOverload,
        true,
        &["removed-overload: my::add.Scalar", "remaining: my::add.Tensor"],
    );
    one(&after.changes_to(&before()), ChangeKind::AddedOperator, false, &["my::add.Scalar"]);
    let gone = before().changes_to(&recorded(|_| {}));
    assert_eq!(gone.iter().map(|change| change.kind).collect::<Vec<_>>(), [ChangeKind::RemovedOperator; 2]);
}

#[test]
fn a_changed_default() {
    let after = recorded(|library| {
        library.define("add.Tensor(Tensor self, Tensor other, *, Scalar alpha=2) -> Tensor").add(kernel());
        library.define("add.Scalar(Tensor self, Scalar other) -> Tensor").add(kernel());
    });
    one(
        &before().changes_to(&after),
        ChangeKind::ChangedDefault,
        true,
        &["my::add.Tensor: the default of argument `alpha` was 1 and is now 2"],
    );
}

#[test]
fn a_new_fallthrough() {
    let after = recorded(|library| {
        let add = library
            .define("add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor")
            .add(kernel());
        add.fallthrough(DispatchKey::AutogradCpu);
        library.define("add.Scalar(Tensor self, Scalar other) -> Tensor").add(kernel());
    });
    one(
        &before().changes_to(&after),
        ChangeKind::NewFallthrough,
        true,
        &["AutogradCPU: alias CompositeImplicitAutograd became direct (fallthrough)"],
    );
    one(&after.changes_to(&before()), ChangeKind::EndedFallthrough, false, &["AutogradCPU"]);
}

#[test]
fn a_fallback_is_told_once() {
    let with = |fallthrough: bool| {
        let dispatcher = Dispatcher::new();
        let mut library = dispatcher.library("my");
        library.define("one(Tensor self) -> Tensor").add(kernel());
        library.define("two(Tensor self) -> Tensor").add(kernel());
        let _operators = library.finish().unwrap();
        let mut library = dispatcher.implementations("_", DispatchKey::Tracer);
        library.fallback(if fallthrough { Kernel::fallthrough() } else { kernel() });
        let _fallback = library.finish().unwrap();
        Record::from_dispatcher(&dispatcher)
    };
    one(
        &with(false).changes_to(&with(true)),
        ChangeKind::NewFallthrough,
        true,
        &["_: Tracer: fallback became fallback (fallthrough)"],
    );
}

#[test]
fn schemas_and_kernels() {
    let of = |schema: &str, key: DispatchKey| {
        recorded(|library| {
            library.define(schema).add(kernel().at(key));
        })
    };
    let old = of("f(Tensor self) -> Tensor", DispatchKey::Cpu);
    one(
        &old.changes_to(&of("f(Tensor self, int n=1) -> Tensor", DispatchKey::Cpu)),
        ChangeKind::ChangedSchema,
        false,
        &[],
    );
    let stricter = of("f(Tensor self, int n) -> Tensor", DispatchKey::Cpu);
    one(&old.changes_to(&stricter), ChangeKind::ChangedSchema, true, &["'n'", "default"]);
    let moved = old.changes_to(&of("f(Tensor self) -> Tensor", DispatchKey::Meta));
    let kinds: Vec<_> = moved.iter().map(|change| (change.kind, change.breaks)).collect();
    assert_eq!(kinds, [(ChangeKind::LostKernel, true), (ChangeKind::NewKernel, false)]);
}

#[test]
fn what_is_no_record_is_refused() {
    for (text, expected) in [
        ("[]", "begins with `opgrid_registry`"),
        (r#"{"opgrid_registry": 7}"#, "version 7, expected 1"),
        (r#"{"opgrid_registry": 1}"#, "`operators`, an object"),
        (r#"{"opgrid_registry": 1, "operators": {"my::f": {}}, "fallbacks": {}}"#, "my::f: found"),
    ] {
        let error = Record::from_json(&serde_json::from_str(text).unwrap()).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn keys_that_say_the_same_are_one_column() {
    let dispatcher = Dispatcher::new();
    let mut library = dispatcher.library("my");
    library.define("f(Tensor self) -> Tensor").add(kernel().at(DispatchKey::Cpu)).add(kernel());
    library.define("g(Tensor self) -> Tensor").fallthrough(DispatchKey::Tracer).add(kernel());
    let _registration = library.finish().unwrap();
    let grid = Grid::from_dispatcher(&dispatcher, |_| true);
    let column = |key: &str| grid.columns.iter().position(|column| column.key == key).unwrap();
    let (cpu, tracer) = (column("CPU"), column("Tracer"));
    assert!(grid.columns.len() <= 6, "{:?}", grid.columns);
    assert!(
        grid.columns.iter().any(|column| column.also.contains(&"CUDA".to_owned()) || column.key == "CUDA")
    );
    assert_eq!(grid.rows[0].cells[cpu].reason, "direct");
    assert!(grid.rows[1].cells[tracer].fallthrough);
    assert_eq!(grid.rows[0].cells[tracer].kernel, None);
    let json = grid.to_json();
    assert_eq!(json["rows"][0]["cells"].as_array().map(Vec::len), Some(grid.columns.len()));
    assert_eq!(Grid::from_dispatcher(&dispatcher, |name| name == "my::g").rows.len(), 1);
}

#[test]
fn a_grid_begins_with_the_keys_that_have_kernels() {
    let dispatcher = Dispatcher::new();
    let mut library = dispatcher.library("my");
    library.define("f(Tensor self) -> Tensor").add(kernel().at(DispatchKey::CompositeExplicitAutograd));
    library
        .define("g(Tensor self) -> Tensor")
        .add(kernel().at(DispatchKey::PrivateUse1))
        .add(kernel().at(DispatchKey::Xla));
    let _registration = library.finish().unwrap();
    let grid = Grid::from_dispatcher(&dispatcher, |_| true);
    let keys: Vec<_> = grid.columns.iter().map(|column| column.key.as_str()).collect();
    assert_eq!(keys[..2], ["XLA", "PrivateUse1"], "{keys:?}");
    assert!(keys.len() > 2 && grid.rows[0].cells.len() == keys.len());
    for (place, column) in grid.columns.iter().enumerate() {
        let is_direct = grid.rows.iter().any(|row| row.cells[place].reason == "direct");
        assert_eq!(is_direct, place < 2, "{}", column.key);
    }
}
