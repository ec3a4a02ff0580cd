//! The meter from outside: what it counts, where it stands, what lies below it sees, and its switch.

use custom_layer::{Cost, install, meter, metered, off, on};
use opgrid::dispatch::{Returns, SlowPath, Strict, is_excluded, is_included, strict};
use opgrid::ops;
use opgrid::prelude::*;

operator! {
    pub Twice = "meter_tests::twice(Tensor self) -> Tensor";
}

/// The CPU kernel of `twice`: what it calls, and what it sees of the layer.
fn twice(input: &Tensor) -> Result<Tensor> {
    if !is_excluded(meter()?) && is_included(meter()?) {
        return Err(Error::new(ErrorKind::Kernel, "the layer is not excluded below itself"));
    }
    ops::AddTensor.call(input, input, Scalar::Int(1))
}

/// A dispatcher with the operators, `twice` with an autograd kernel, and the meter.
fn subject() -> (Dispatcher, Vec<Registration>) {
    let dispatcher = Dispatcher::new();
    let operators = opgrid::ops::register(&dispatcher).unwrap();
    let mut library = dispatcher.library("meter_tests");
    library
        .define(Twice)
        .kernel(DispatchKey::Cpu, twice)
        .layer(DispatchKey::Autograd, |next, (input,)| next.call((input,)));
    let twice = library.finish().unwrap();
    let meter = install(&dispatcher).unwrap();
    (dispatcher, vec![operators, twice, meter])
}

fn x() -> Tensor {
    Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3]).unwrap()
}

/// The keys and operators of the hops of a call.
fn path(dispatcher: &Dispatcher, operator: &str, argument: &Tensor) -> Vec<(String, String)> {
    let handle = dispatcher.find(operator).unwrap();
    let value = Value::from(argument);
    let (result, explanation) = handle.call_explained(&[value.borrow()], &mut Returns::new()).unwrap();
    result.unwrap();
    explanation.hops.into_iter().map(|hop| (hop.key.to_string(), hop.operator)).collect()
}

#[test]
fn the_key_stands_between_autograd_and_the_tracer() {
    let meter = meter().unwrap();
    assert_eq!(meter.to_string(), "Meter");
    assert!(meter.functionality() > DispatchKey::AutogradCpu.functionality());
    assert!(meter.functionality() < DispatchKey::Tracer.functionality());
}

#[test]
fn the_fallback_counts_every_operator_and_mm_counts_for_itself() {
    let (dispatcher, _registrations) = subject();
    let x = x();
    let weights = Tensor::from_slice(&[1.0f32; 12], &[3, 4]).unwrap();
    let ((), tally) = metered(|| {
        let product = dispatcher.call(ops::Mm, (&x, &weights)).unwrap();
        assert_eq!(product.sizes(), [2, 4]);
        dispatcher.call(ops::Neg, (&product,)).unwrap();
        dispatcher.call(ops::Neg, (&x,)).unwrap();
    })
    .unwrap();
    assert_eq!(tally.cost("aten::mm"), Cost { calls: 1, work: 2 * 3 * 8 });
    assert_eq!(tally.cost("aten::neg"), Cost { calls: 2, work: 8 + 6 });
    assert_eq!(tally.operators().count(), 2);
}

#[test]
fn typed_and_boxed_calls_meet_it_and_what_lies_below_does_not() {
    let (dispatcher, _registrations) = subject();
    let x = x();
    let handle = dispatcher.find("meter_tests::twice").unwrap();
    let ((), tally) = metered(|| {
        dispatcher.call(Twice, (&x,)).unwrap();
        handle.call_values(vec![Value::from(&x)]).unwrap();
        handle.typed::<fn(Tensor) -> Tensor>().unwrap().call((&x,)).unwrap();
    })
    .unwrap();
    assert_eq!(tally.cost("meter_tests::twice"), Cost { calls: 3, work: 18 });
    assert_eq!(
        tally.operators().collect::<Vec<_>>(),
        ["meter_tests::twice"],
        "the sum inside is not counted"
    );
}

#[test]
fn explanations_show_it_above_autograd_where_it_is_on() {
    let (dispatcher, _registrations) = subject();
    let hops = |keys: &[(&str, &str)]| -> Vec<(String, String)> {
        keys.iter().map(|(key, operator)| (key.to_string(), operator.to_string())).collect()
    };
    let (operator, sum) = ("meter_tests::twice", "aten::add.Tensor");
    let quiet = hops(&[("AutogradCPU", operator), ("CPU", operator), ("CPU", sum)]);
    let loud = hops(&[("Meter", operator), ("AutogradCPU", operator), ("CPU", operator), ("CPU", sum)]);
    assert_eq!(path(&dispatcher, operator, &x()), quiet);
    let _on = on().unwrap();
    assert_eq!(path(&dispatcher, operator, &x()), loud);
    let off = off().unwrap();
    assert_eq!(path(&dispatcher, operator, &x()), quiet);
    drop(off);
    assert_eq!(path(&dispatcher, operator, &x()), loud);
}

#[test]
fn scopes_nest_and_pauses_count_nothing() {
    let (dispatcher, _registrations) = subject();
    let negate = || dispatcher.call(ops::Neg, (&x(),)).unwrap();
    let (inner, outer) = metered(|| {
        negate();
        let (_, inner) = metered(negate).unwrap();
        let pause = off().unwrap();
        negate();
        drop(pause);
        negate();
        inner
    })
    .unwrap();
    assert_eq!((inner.cost("aten::neg").calls, outer.cost("aten::neg").calls), (1, 3));
    negate();
    let ((), empty) = metered(|| ()).unwrap();
    assert_eq!(empty.operators().count(), 0);
    let threads = metered(|| std::thread::scope(|scope| drop(scope.spawn(negate).join().unwrap()))).unwrap();
    assert_eq!(threads.1.operators().count(), 0, "the switch is that of one thread");
}

#[test]
fn a_scope_that_panics_leaves_switch_and_tally_as_before() {
    let (dispatcher, _registrations) = subject();
    let negate = || dispatcher.call(ops::Neg, (&x(),)).unwrap();
    let ((), tally) = metered(|| {
        negate();
        let broken = std::panic::AssertUnwindSafe(|| metered(|| panic!("broken body")).map(|_: ((), _)| ()));
        assert!(std::panic::catch_unwind(broken).is_err());
        negate();
    })
    .unwrap();
    assert_eq!(tally.cost("aten::neg").calls, 2);
    assert!(!is_included(meter().unwrap()));
}

#[test]
fn the_fallback_is_counted_as_a_slow_path_that_strict_programs_allow() {
    let (dispatcher, _registrations) = subject();
    let call = || metered(|| dispatcher.call(ops::Neg, (&x(),))).unwrap().0;
    call().unwrap();
    assert_eq!(dispatcher.stats().count(SlowPath::FALLBACK, "aten::neg"), 1);
    let error = strict(call).unwrap_err();
    assert!(error.to_string().contains("fallback at Meter is refused"), "{error}");
    Strict::all().allow_at(SlowPath::FALLBACK, meter().unwrap()).run(call).unwrap();
}

#[test]
fn without_the_layer_installed_calls_step_over_the_key() {
    let dispatcher = Dispatcher::new();
    let _operators = opgrid::ops::register(&dispatcher).unwrap();
    let (result, tally) = metered(|| dispatcher.call(ops::Neg, (&x(),))).unwrap();
    assert_eq!((result.unwrap().numel(), tally.operators().count()), (6, 0));
}
