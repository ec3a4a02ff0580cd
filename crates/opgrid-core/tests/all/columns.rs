//! Columns: what operators and kinds carry beside kernels, how it is found, and how it goes.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use opgrid_core::{
    AnyTensor, Column, DispatchKey, DispatchKeySet, Dispatcher, ErrorKind, Forms, Kernel, Kind, Registration,
    Result, Returns, TensorData, ValueRef,
};

#[derive(Debug, PartialEq)]
struct Cost(i64);

impl Column for Cost {
    const NAME: &'static str = "cost";

    fn describe(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} units", self.0)
    }
}

static BASIC: Kind = Kind::new("basic");
static SPECIAL: Kind = Kind::under("special", &BASIC);

/// A dispatcher with `f`, of the kind `special`, and `g`, of none.
fn dispatcher() -> Dispatcher {
    let dispatcher = Dispatcher::new();
    let mut library = dispatcher.library("test");
    let _ = library.define("f(Tensor x) -> int").column(SPECIAL.clone());
    let _ = library.define("g(Tensor x) -> int");
    library.finish().unwrap().keep();
    dispatcher
}

fn cost(dispatcher: &Dispatcher, name: &str) -> Option<i64> {
    dispatcher.find(name).unwrap().column::<Cost>().unwrap().map(|cost| cost.0)
}

#[test]
fn the_operators_own_value_goes_before_that_of_its_kind_and_of_the_kind_above() -> Result<()> {
    let dispatcher = dispatcher();
    assert_eq!(cost(&dispatcher, "test::f"), None);

    let mut kinds = dispatcher.implementations("_", None);
    kinds.kind_column(&BASIC, Cost(1));
    let of_basic = kinds.finish()?;
    assert_eq!([cost(&dispatcher, "test::f"), cost(&dispatcher, "test::g")], [Some(1), None]);

    let mut kinds = dispatcher.implementations("_", None);
    kinds.kind_column(&SPECIAL, Cost(2));
    let of_special = kinds.finish()?;
    assert_eq!(cost(&dispatcher, "test::f"), Some(2));

    let mut own = dispatcher.implementations("test", None);
    let _ = own.implement("f").column(Cost(3));
    let own = own.finish()?;
    assert_eq!(cost(&dispatcher, "test::f"), Some(3));
    let listed = dispatcher.find("test::f")?.columns()?;
    let shown: Vec<_> = listed.iter().map(|column| (column.name, column.text.as_str())).collect();
    assert_eq!(shown, [("cost", "3 units"), ("kind", "special < basic")]);
    assert!(listed[0].place.contains("columns.rs"), "{}", listed[0].place);

    drop(of_special);
    assert_eq!(cost(&dispatcher, "test::f"), Some(3));
    drop(own);
    assert_eq!(cost(&dispatcher, "test::f"), Some(1));
    assert_eq!(dispatcher.find("test::f")?.columns()?[1].kind.as_deref(), Some("basic"));
    drop(of_basic);
    assert_eq!(cost(&dispatcher, "test::f"), None);
    Ok(())
}

#[test]
fn a_second_value_is_refused_unless_the_library_may_replace() -> Result<()> {
    let dispatcher = dispatcher();
    let add = |value: i64, may_replace: bool| {
        let mut library = dispatcher.implementations("test", None);
        if may_replace {
            library.allow_override();
        }
        let _ = library.implement("g").column(Cost(value));
        library.finish()
    };
    let first = add(1, false)?;
    let error = add(2, false).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Duplicate);
    let parts = ["test::g", "`cost`", "First value", "New value", "allow overriding"];
    assert!(parts.iter().all(|part| error.message().contains(part)), "{error}");
    assert_eq!(cost(&dispatcher, "test::g"), Some(1));

    let second = add(2, true)?;
    assert_eq!(cost(&dispatcher, "test::g"), Some(2));
    drop(first);
    assert_eq!(cost(&dispatcher, "test::g"), Some(2));
    drop(second);
    assert_eq!(cost(&dispatcher, "test::g"), None);
    Ok(())
}

#[test]
fn an_operator_that_only_has_columns_goes_with_them() -> Result<()> {
    let dispatcher = dispatcher();
    let mut library = dispatcher.implementations("later", None);
    let _ = library.implement("h").column(Cost(1)).column(Kind::named("made", None));
    let registration = library.finish()?;
    // It is no operator that one can find before it is defined, and has its columns then.
    assert!(dispatcher.find("later::h").is_err());
    let mut definition = dispatcher.library("later");
    let _ = definition.define("h() -> ()");
    let definition = definition.finish()?;
    let h = dispatcher.find("later::h")?;
    assert_eq!(h.column::<Cost>()?.as_deref(), Some(&Cost(1)));
    drop(registration);
    assert_eq!(h.column::<Cost>()?, None);
    drop(definition);
    assert_eq!(h.column::<Cost>().unwrap_err().kind(), ErrorKind::Stale);
    Ok(())
}

#[test]
fn kinds_belong_to_no_namespace() {
    let dispatcher = dispatcher();
    let mut library = dispatcher.fragment("test");
    library.kind_column(&BASIC, Cost(1));
    let error = library.finish().unwrap_err();
    assert!(error.message().contains("implementations(\"_\", None)"), "{error}");
}

#[derive(Debug)]
struct Nothing;

impl TensorData for Nothing {
    fn describe(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("nothing")
    }
}

#[test]
fn kernels_read_columns_of_the_call() -> Result<()> {
    type F = fn(AnyTensor) -> i64;
    let dispatcher = dispatcher();
    let (layer, below) = (DispatchKey::AutogradCpu, DispatchKey::Cpu);
    let mut library = dispatcher.implementations("test", None);
    let _ = library
        .implement("f")
        .column(Cost(40))
        .column(Forms {
            functional: "test::f".parse().unwrap(),
            in_place: Some("test::f_".parse().unwrap()),
            out: None,
        })
        .add(
            Kernel::layer::<F>(|next, args| {
                let forms = next.column::<Forms>().map_or(0, |forms| i64::from(forms.in_place.is_some()));
                Ok(next.call(args)? + forms)
            })
            .at(layer),
        )
        .boxed(below, |call| {
            let cost = call.column::<Cost>().map(|cost| cost.0);
            call.push(cost.unwrap_or(-1) + i64::from(call.column::<Kind>() == Some(&SPECIAL)));
            Ok(())
        });
    let _registration = library.finish()?;
    let x = AnyTensor::new(DispatchKeySet::from_keys(&[layer, below]), Nothing);
    let mut returns = Returns::new();
    dispatcher.find("test::f")?.call_boxed(&[ValueRef::from(&x)], &mut returns)?;
    assert_eq!(returns.into_vec(), [42.into()]);
    Ok(())
}

#[test]
fn a_call_sees_its_columns_to_its_end() -> Result<()> {
    let dispatcher = dispatcher();
    let held: Arc<Mutex<Option<Registration>>> = Arc::default();
    let (taken, seen) = (held.clone(), Arc::new(AtomicUsize::new(0)));
    let noted = seen.clone();
    let mut library = dispatcher.implementations("test", None);
    let kernel = Kernel::boxed(move |call| {
        drop(taken.lock().unwrap().take());
        let cost = call.column::<Cost>().map_or(0, |cost| cost.0);
        noted.store(cost as usize, Ordering::Relaxed);
        call.push(cost);
        Ok(())
    });
    let _ = library.implement("f").column(Cost(7)).add(kernel.at(DispatchKey::Cpu));
    *held.lock().unwrap() = Some(library.finish()?);
    let x = AnyTensor::new(DispatchKeySet::from_keys(&[DispatchKey::Cpu]), Nothing);
    let call = || dispatcher.find("test::f")?.call_boxed(&[ValueRef::from(&x)], &mut Returns::new());
    call()?;
    assert_eq!(seen.load(Ordering::Relaxed), 7);
    assert_eq!(cost(&dispatcher, "test::f"), None);
    assert_eq!(call().unwrap_err().kind(), ErrorKind::MissingKernel);
    Ok(())
}

/// A value whose destructor uses the dispatcher, or panics.
struct Hostile(Dispatcher, Arc<AtomicUsize>, bool);

impl Column for Hostile {
    const NAME: &'static str = "hostile";
}

impl Drop for Hostile {
    fn drop(&mut self) {
        self.0.find("test::f").unwrap();
        self.1.fetch_add(1, Ordering::Relaxed);
        assert!(!self.2, "a destructor that panics");
    }
}

#[test]
fn values_are_dropped_without_the_lock_and_all_of_them() -> Result<()> {
    let dispatcher = dispatcher();
    let dropped = Arc::new(AtomicUsize::new(0));
    let value = |panics| Hostile(dispatcher.clone(), dropped.clone(), panics);

    let mut library = dispatcher.implementations("test", None);
    let _ = library.implement("f").column(value(true));
    let _ = library.implement("g").column(value(false));
    let registration = library.finish()?;
    let twice = {
        let mut library = dispatcher.implementations("test", None);
        let _ = library.implement("f").column(value(false));
        library.finish()
    };
    assert!(twice.is_err());
    assert_eq!(dropped.load(Ordering::Relaxed), 1, "the refused value goes at once");
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        drop(registration);
        opgrid_core::quiesce().unwrap();
    }));
    assert!(outcome.is_err());
    let _ = std::panic::catch_unwind(opgrid_core::quiesce);
    assert_eq!(dropped.load(Ordering::Relaxed), 3);
    assert_eq!(cost(&dispatcher, "test::f"), None);
    Ok(())
}
