//! Several kernels in one cell: conditions, order, preference, refusals, and what follows when all refuse.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::tensor;
use opgrid_core::{
    AnyTensor as Tensor, DispatchKey, Dispatcher, Error, ErrorKind, Kernel, Library, Provider, Registration,
    Result, Returns, SlowPath, Value, ValueRef, operator, record_calls, strict,
};

operator! {
    pub Pick = "t::pick(Tensor self, int n) -> int";
}

fn one(_: &Tensor, _: i64) -> Result<i64> {
    Ok(1)
}

fn two(_: &Tensor, _: i64) -> Result<i64> {
    Ok(2)
}

fn three(_: &Tensor, _: i64) -> Result<i64> {
    Ok(3)
}

fn is_even(_: &Tensor, n: i64) -> Result<bool> {
    Ok(n % 2 == 0)
}

fn is_big(_: &Tensor, n: i64) -> Result<bool> {
    Ok(n > 100)
}

fn cpu() -> Tensor {
    tensor(DispatchKey::Cpu.key_set())
}

/// A dispatcher with `t::pick` as `fill` says.
fn dispatcher(fill: impl FnOnce(&mut Library)) -> (Dispatcher, Registration) {
    let dispatcher = Dispatcher::new();
    let mut library = dispatcher.library("t");
    fill(&mut library);
    let registration = library.finish().unwrap();
    dispatcher.check_invariants().unwrap();
    (dispatcher, registration)
}

/// What typed and boxed calls give, which must be the same.
fn pick(dispatcher: &Dispatcher, n: i64) -> Result<i64> {
    let tensor = cpu();
    let typed = dispatcher.call(Pick, (&tensor, n));
    let mut returns = Returns::new();
    let handle = dispatcher.find("t::pick").unwrap();
    let boxed = handle.call_boxed(&[ValueRef::from(&tensor), n.into()], &mut returns);
    let (recorded, _) = record_calls(|| dispatcher.call(Pick, (&tensor, n)));
    match (&typed, boxed) {
        (Ok(value), Ok(())) => assert_eq!(returns.into_single().unwrap(), Value::from(*value)),
        (Err(typed), Err(boxed)) => assert_eq!(typed.message(), boxed.message()),
        (typed, boxed) => panic!("typed {typed:?}, boxed {boxed:?}"),
    }
    assert_eq!(typed.as_ref().ok(), recorded.as_ref().ok());
    typed
}

fn three_providers(library: &mut Library) {
    library
        .define(Pick)
        .provider(DispatchKey::Cpu, "even", one)
        .when("n is even", is_even)
        .provider(DispatchKey::Cpu, "big", two)
        .when("n is big", is_big)
        .provider(DispatchKey::Cpu, "default", three);
}

#[test]
fn the_first_provider_whose_condition_holds_runs() {
    let (dispatcher, _registration) = dispatcher(three_providers);
    assert_eq!(pick(&dispatcher, 4).unwrap(), 1);
    assert_eq!(pick(&dispatcher, 400).unwrap(), 1);
    assert_eq!(pick(&dispatcher, 401).unwrap(), 2);
    assert_eq!(pick(&dispatcher, 5).unwrap(), 3);
}

#[test]
fn one_kernel_without_a_condition_is_no_chain() {
    let (dispatcher, _registration) =
        dispatcher(|library| drop(library.define(Pick).provider(DispatchKey::Cpu, "only", one)));
    let table = dispatcher.find("t::pick").unwrap().table().unwrap();
    let cell = table.iter().find(|column| column.key == DispatchKey::Cpu).unwrap();
    assert_eq!(cell.kernel.as_ref().unwrap().name.as_deref(), Some("only"));
    assert_eq!(pick(&dispatcher, 1).unwrap(), 1);
}

#[test]
fn order_of_a_cell_beats_that_of_the_operator_and_the_newest_counts() {
    let (dispatcher, _registration) = dispatcher(three_providers);
    let order = |key: Option<DispatchKey>, names: &[&str]| {
        let mut library = dispatcher.implementations("t", None);
        let _ = library.implement(Pick).order(key, names);
        let registration = library.finish().unwrap();
        dispatcher.check_invariants().unwrap();
        registration
    };
    let operator = order(None, &["default"]);
    assert_eq!(pick(&dispatcher, 4).unwrap(), 3);
    let cell = order(Some(DispatchKey::Cpu), &["big", "even"]);
    assert_eq!(pick(&dispatcher, 400).unwrap(), 2);
    assert_eq!(pick(&dispatcher, 4).unwrap(), 1);
    let newer = order(Some(DispatchKey::Cpu), &["default"]);
    assert_eq!(pick(&dispatcher, 400).unwrap(), 3);
    drop(newer);
    assert_eq!(pick(&dispatcher, 400).unwrap(), 2);
    drop(cell);
    assert_eq!(pick(&dispatcher, 400).unwrap(), 3);
    drop(operator);
    assert_eq!(pick(&dispatcher, 400).unwrap(), 1);
}

#[test]
fn a_preference_follows_nested_calls_and_ends_with_its_scope() {
    let (dispatcher, _registration) = dispatcher(|library| {
        three_providers(library);
        library.define("outer(Tensor self, int n) -> int").add(
            Kernel::boxed(|call| {
                let (tensor, n) = (call.tensor(0)?, call.args()[1]);
                let inner = Dispatcher::current().find("t::pick")?;
                inner.call_boxed(&[ValueRef::from(tensor), n], call.returns())
            })
            .at(DispatchKey::Cpu),
        );
    });
    let tensor = cpu();
    let outer = dispatcher.find("t::outer").unwrap();
    let call = || {
        let mut returns = Returns::new();
        outer.call_boxed(&[ValueRef::from(&tensor), 4.into()], &mut returns).unwrap();
        returns.into_single().unwrap()
    };
    assert_eq!(call(), Value::from(1));
    dispatcher
        .prefer("t::pick", &["big", "default"], || {
            assert_eq!(call(), Value::from(3), "`big` refuses, so `default` is next");
            assert_eq!(pick(&dispatcher, 400).unwrap(), 2);
            dispatcher.prefer("t::pick", &["even"], || assert_eq!(call(), Value::from(1))).unwrap();
            assert_eq!(call(), Value::from(3));
            let elsewhere =
                std::thread::scope(|scope| scope.spawn(|| pick(&dispatcher, 4).unwrap()).join().unwrap());
            assert_eq!(elsewhere, 1, "a preference belongs to its thread");
        })
        .unwrap();
    assert_eq!(call(), Value::from(1));
    let scope = || dispatcher.prefer("t::pick", &["default"], || panic!("left by a panic"));
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(scope)).is_err());
    assert_eq!(call(), Value::from(1), "the scope ends however it is left");
}

#[test]
fn preferences_that_guards_open_end_in_any_order() {
    let (dispatcher, _registration) = dispatcher(three_providers);
    let default = dispatcher.preference("t::pick", &["default"]).unwrap();
    assert_eq!(pick(&dispatcher, 4).unwrap(), 3);
    let even = dispatcher.preference("t::pick", &["even"]).unwrap();
    assert_eq!(pick(&dispatcher, 4).unwrap(), 1);
    drop(default);
    assert_eq!(pick(&dispatcher, 400).unwrap(), 1, "the inner scope is still open");
    drop(even);
    let before = pick(&dispatcher, 400).unwrap();
    drop(dispatcher.preference("t::pick", &["big"]).unwrap());
    assert_eq!(pick(&dispatcher, 400).unwrap(), before);
    let Err(error) = dispatcher.preference("t::pick", &["avx512"]) else { panic!("no such provider") };
    assert_eq!(error.kind(), ErrorKind::Unknown);
}

#[test]
fn a_preference_for_what_is_not_there_is_an_error() {
    let (dispatcher, _registration) = dispatcher(three_providers);
    let error = dispatcher.prefer("t::pick", &["avx512"], || ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unknown);
    assert_eq!(
        error.message(),
        "t::pick: no cell has a provider `avx512`; its providers are big, default, even"
    );
    let error = dispatcher.prefer("t::pack", &["even"], || ()).unwrap_err();
    assert!(error.message().contains("did you mean t::pick?"), "{error}");
}

#[test]
fn where_all_refuse_the_next_rule_decides() {
    let (dispatcher, _registration) = dispatcher(|library| {
        library
            .define(Pick)
            .provider(DispatchKey::Cpu, "even", one)
            .when("n is even", is_even)
            .kernel(DispatchKey::CompositeExplicitAutograd, two);
    });
    assert_eq!(pick(&dispatcher, 4).unwrap(), 1);
    assert_eq!(pick(&dispatcher, 5).unwrap(), 2);
}

#[test]
fn a_cell_counts_as_a_kernel_although_it_may_refuse() {
    // With a kernel for CPU, the composite stays out of AutogradCPU, where no other rule then gives a kernel.
    let (dispatcher, _registration) = dispatcher(|library| {
        library
            .define(Pick)
            .provider(DispatchKey::Cpu, "even", one)
            .when("n is even", is_even)
            .kernel(DispatchKey::CompositeImplicitAutograd, two);
    });
    let table = dispatcher.find("t::pick").unwrap().dump_computed_table().unwrap();
    assert!(!table.contains("AutogradCPU:"), "{table}");
    assert!(table.contains("AutogradCUDA: "), "{table}");
    assert_eq!(pick(&dispatcher, 5).unwrap(), 2, "the composite follows in the CPU column itself");
}

#[test]
fn a_refusing_fallback_leads_on_and_has_an_order() {
    let (dispatcher, _registration) = dispatcher(|library| drop(library.define(Pick)));
    let fallback = |name: &str, result: i64, least: i64| {
        let kernel = Kernel::boxed(move |call| {
            call.push(result);
            Ok(())
        });
        kernel
            .named(name)
            .when("n is large enough", move |args| Ok(args[1].as_int().is_some_and(|n| n >= least)))
            .at(DispatchKey::Cpu)
    };
    let mut library = dispatcher.implementations("_", None);
    library.fallback(fallback("first", 10, 10)).fallback(fallback("second", 20, 5));
    let _fallbacks = library.finish().unwrap();
    dispatcher.check_invariants().unwrap();
    assert_eq!(pick(&dispatcher, 12).unwrap(), 10);
    assert_eq!(pick(&dispatcher, 7).unwrap(), 20);
    let mut library = dispatcher.implementations("_", None);
    library.fallback_order(DispatchKey::Cpu, &["second"]);
    let order = library.finish().unwrap();
    assert_eq!(pick(&dispatcher, 12).unwrap(), 20);
    drop(order);
    assert_eq!(pick(&dispatcher, 12).unwrap(), 10);
    let error = pick(&dispatcher, 1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::MissingKernel);
    assert_eq!(
        error.message(),
        "t::pick: no provider accepts these arguments for CPU; refused by first (runs when n is large enough), \
         second (runs when n is large enough). Register one without a condition, a fallback for the key or a composite"
    );
    // A prediction says what the call says.
    let tensor = cpu();
    let args = [ValueRef::from(&tensor), 1.into()];
    let explanation = dispatcher.find("t::pick").unwrap().explain(&args).unwrap();
    let hop = explanation.hops.last().unwrap();
    assert_eq!((hop.kernel.is_none(), hop.error.as_deref()), (true, Some(error.message())));
    assert!(explanation.to_string().contains(&format!("    error: {}", error.message())), "{explanation}");
    assert_eq!(explanation.to_json()["hops"][0]["error"], error.message());
}

#[test]
fn a_layer_that_refuses_is_stepped_over() {
    let (dispatcher, _registration) = dispatcher(|library| {
        library
            .define(Pick)
            .kernel(DispatchKey::Cpu, two)
            .provider(DispatchKey::Tracer, "even", one)
            .when("n is even", is_even)
            .provider(DispatchKey::Cpu, "three", three);
    });
    let tensor = tensor(DispatchKey::Cpu.key_set() | DispatchKey::Tracer.key_set());
    assert_eq!(dispatcher.call(Pick, (&tensor, 4)).unwrap(), 1);
    assert_eq!(dispatcher.call(Pick, (&tensor, 5)).unwrap(), 2);
    let (result, steps) = record_calls(|| dispatcher.call(Pick, (&tensor, 5)));
    assert_eq!(result.unwrap(), 2);
    assert_eq!(steps.len(), 1);
    assert_eq!(steps[0].key, DispatchKey::Cpu);
    assert_eq!(steps[0].refused[0].provider, "even");
}

#[test]
fn typed_and_boxed_providers_and_conditions_mix() {
    type Signature = fn(Tensor, i64) -> i64;
    let (dispatcher, _registration) = dispatcher(|library| {
        library
            .define("pick(Tensor self, int n) -> int")
            .add(Provider::<Signature>::function("typed", one).when("n is big", is_big).at(DispatchKey::Cpu))
            .add(
                Kernel::boxed(|call| {
                    call.push(2);
                    Ok(())
                })
                .named("boxed")
                .when("n is even", |args| Ok(args[1].as_int().is_some_and(|n| n % 2 == 0)))
                .at(DispatchKey::Cpu),
            )
            .add(
                Provider::<Signature>::layer("layer", |next, _| Ok(next.keys().layers() as i64))
                    .at(DispatchKey::Cpu),
            );
    });
    assert_eq!(pick(&dispatcher, 101).unwrap(), 1);
    assert_eq!(pick(&dispatcher, 2).unwrap(), 2);
    assert_eq!(pick(&dispatcher, 3).unwrap(), 2, "the layers word of {{CPU}} is the bit of Dense");
}

#[test]
fn errors_and_panics_of_conditions_are_those_of_the_call() {
    let (dispatcher, _registration) = dispatcher(|library| {
        library.define(Pick).provider(DispatchKey::Cpu, "odd", one).when("it feels well", |_, n| match n {
            0 => Err(Error::new(ErrorKind::Kernel, "no idea")),
            1 => panic!("worse"),
            _ => Ok(true),
        });
    });
    assert_eq!(pick(&dispatcher, 2).unwrap(), 1);
    let error = pick(&dispatcher, 0).unwrap_err();
    assert_eq!(error.message(), "t::pick: the condition of provider odd: no idea");
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| pick(&dispatcher, 1).is_ok()));
    assert!(panicked.is_err());
    assert_eq!(pick(&dispatcher, 2).unwrap(), 1, "the thread is as it was");
}

#[test]
fn explanations_name_those_that_refused() {
    let (dispatcher, _registration) = dispatcher(three_providers);
    let (tensor, handle) = (cpu(), dispatcher.find("t::pick").unwrap());
    let known = handle.explain(&[ValueRef::from(&tensor), 5.into()]).unwrap();
    let hop = &known.hops[0];
    assert_eq!(hop.kernel.as_ref().unwrap().name.as_deref(), Some("default"));
    let refused: Vec<_> = hop.refused.iter().map(ToString::to_string).collect();
    assert_eq!(refused, ["even (runs when n is even)", "big (runs when n is big)"]);
    assert!(known.to_string().contains("refused by even (runs when n is even)"), "{known}");
    assert_eq!(known.to_json()["hops"][0]["refused"][1]["provider"], "big");

    let unknown = handle.explain_keys(vec![("self".into(), tensor.keys())]).unwrap();
    assert_eq!(unknown.hops[0].kernel.as_ref().unwrap().name.as_deref(), Some("even, big, default"));
    assert_eq!(unknown.hops[0].refused.len(), 2);

    let mut returns = Returns::new();
    let (result, made) = handle.call_explained(&[ValueRef::from(&tensor), 5.into()], &mut returns).unwrap();
    result.unwrap();
    assert_eq!(made.hops[0].refused.len(), 2);
    let state = handle.dump_state().unwrap();
    assert!(state.contains("CPU (provider even, when n is even): "), "{state}");
    assert!(state.contains("CPU (provider default): "), "{state}");
}

#[test]
fn names_make_providers_and_the_same_name_replaces_only_where_allowed() {
    let (dispatcher, _registration) = dispatcher(three_providers);
    let again = |may_replace: bool| {
        let mut library = dispatcher.implementations("t", None);
        if may_replace {
            library.allow_override();
        }
        let _ = library.implement(Pick).provider(DispatchKey::Cpu, "default", two);
        library.finish()
    };
    assert_eq!(again(false).unwrap_err().kind(), ErrorKind::Duplicate);
    dispatcher.on_override(|_| {});
    let replaced = again(true).unwrap();
    assert_eq!(pick(&dispatcher, 5).unwrap(), 2);
    drop(replaced);
    assert_eq!(pick(&dispatcher, 5).unwrap(), 3);
}

#[test]
fn aliases_take_one_kernel_for_all_arguments() {
    let attempt = |fill: &dyn Fn(&mut Library)| {
        let dispatcher = Dispatcher::new();
        let mut library = dispatcher.library("t");
        fill(&mut library);
        library.finish().unwrap_err()
    };
    let composite = DispatchKey::CompositeExplicitAutograd;
    let conditional = attempt(&|library| {
        drop(library.define(Pick).provider(composite, "even", one).when("n is even", is_even))
    });
    assert_eq!(conditional.kind(), ErrorKind::Registration);
    assert!(conditional.message().contains("the kernel has a condition"), "{conditional}");
    let second = attempt(&|library| {
        drop(library.define(Pick).provider(composite, "one", one).provider(composite, "two", two));
    });
    assert!(second.message().contains("is an alias, and aliases take one kernel"), "{second}");
}

#[test]
fn a_condition_without_a_kernel_is_an_error() {
    let dispatcher = Dispatcher::new();
    let mut library = dispatcher.library("t");
    let _ = library.define(Pick).when("n is even", is_even);
    let error = library.finish().unwrap_err();
    assert!(error.message().starts_with("when(\"n is even\"): there is no kernel before it"), "{error}");
}

#[test]
fn a_held_chain_ends_with_any_of_its_providers() {
    let (dispatcher, _registration) = dispatcher(|library| {
        drop(library.define(Pick).provider(DispatchKey::Cpu, "even", one).when("n is even", is_even));
    });
    let mut library = dispatcher.implementations("t", None);
    let _ = library.implement(Pick).provider(DispatchKey::Cpu, "default", three);
    let default = library.finish().unwrap();
    let held = dispatcher.find("t::pick").unwrap().held_kernel(DispatchKey::Cpu).unwrap();
    let tensor = cpu();
    let mut returns = Returns::new();
    held.call_boxed(tensor.keys(), &[ValueRef::from(&tensor), 5.into()], &mut returns).unwrap();
    assert_eq!(returns.into_single().unwrap(), Value::from(3));
    drop(default);
    assert!(!held.is_valid());
    assert_eq!(pick(&dispatcher, 5).unwrap_err().kind(), ErrorKind::MissingKernel);
}

#[test]
fn refusals_are_counted_and_errors_in_strict_mode() {
    let (dispatcher, _registration) = dispatcher(three_providers);
    let tensor = cpu();
    let refused = || dispatcher.stats().total(SlowPath::PROVIDER_REFUSED);
    dispatcher.call(Pick, (&tensor, 4)).unwrap();
    assert_eq!(refused(), 0);
    for _ in 0..3 {
        dispatcher.call(Pick, (&tensor, 5)).unwrap();
    }
    assert_eq!(refused(), 3, "once for each call, however many refuse");
    let error = strict(|| dispatcher.call(Pick, (&tensor, 5))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::SlowPath);
    assert!(error.message().contains("provider refused") && error.message().contains("even"), "{error}");
    assert_eq!(strict(|| dispatcher.call(Pick, (&tensor, 4))).unwrap(), 1);
}

#[test]
fn conditions_are_asked_once_per_call() {
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    let (dispatcher, _registration) = dispatcher(|library| {
        library
            .define(Pick)
            .provider(DispatchKey::Cpu, "even", one)
            .when("n is even", |_, n| {
                ASKED.fetch_add(1, Ordering::Relaxed);
                Ok(n % 2 == 0)
            })
            .provider(DispatchKey::Cpu, "default", two);
    });
    dispatcher
        .prefer("t::pick", &["even"], || assert_eq!(dispatcher.call(Pick, (&cpu(), 3)).unwrap(), 2))
        .unwrap();
    assert_eq!(ASKED.load(Ordering::Relaxed), 1);
}
