//! Slow paths: what is counted and what is not, on which thread, and what strict mode makes of it.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex, PoisonError};

use common::{cpu, on_own_thread, tensor};
use opgrid_core::{
    AnyTensor as Tensor, DispatchKey, DispatchKeySet, Dispatcher, ErrorKind, Kernel, Registration, Result,
    Returns, SlowPath, Stats, Strict, ValueRef, including, note_slow_path, operator, reset_stats, set_strict,
    stats, strict,
};

operator! {
    pub Plain = "ledger::plain(Tensor self) -> ()";
    pub Hooked = "ledger::hooked(Tensor self) -> ()";
    pub Copied = "ledger::copied(Tensor self) -> ()";
}

const HOOK: DispatchKey = DispatchKey::TestingOnlyGenericMode;
const ADAPTED: SlowPath = SlowPath::BOXED_ADAPTATION;
const FALLBACK: SlowPath = SlowPath::FALLBACK;

/// Rules and resets are the process's: tests that set them, or count on nobody resetting, take turns.
static TURN: Mutex<()> = Mutex::new(());

fn plain(_: &Tensor) -> Result<()> {
    Ok(())
}

fn through_cpu(next: &opgrid_core::Next<'_, fn(Tensor)>, input: &Tensor) -> Result<()> {
    next.note_slow_path(SlowPath::CPU_COPY)?;
    next.redispatch(DispatchKey::Cpu.key_set(), (input,))
}

/// A dispatcher with the three operators, a boxed layer on `hooked`, a copying one on `copied`, a fallback on [`HOOK`].
fn populated(ran: Arc<AtomicUsize>) -> (Dispatcher, Vec<Registration>) {
    let dispatcher = Dispatcher::new();
    let mut library = dispatcher.library("ledger");
    library.define(Plain).kernel(DispatchKey::Cpu, plain);
    library
        .define(Hooked)
        .kernel(DispatchKey::Cpu, plain)
        .add(Kernel::boxed(|call| call.below()).at(DispatchKey::AutogradCpu).named("layer"));
    library
        .define(Copied)
        .kernel(DispatchKey::Cpu, plain)
        .layer(DispatchKey::PrivateUse1, |next, (input,)| through_cpu(&next, input));
    let operators = library.finish().unwrap();
    let mut library = dispatcher.implementations("_", HOOK);
    library.fallback(
        Kernel::boxed(move |call| {
            ran.fetch_add(1, Ordering::Relaxed);
            call.below()
        })
        .named("hook"),
    );
    let hook = library.finish().unwrap();
    (dispatcher, vec![operators, hook])
}

fn with_grad() -> Tensor {
    tensor(DispatchKey::Cpu.key_set() | DispatchKey::AutogradCpu.key_set())
}

fn counts(stats: &Stats) -> Vec<(&str, &str, Option<DispatchKey>, u64)> {
    let mut counts: Vec<_> =
        stats.slow_paths.iter().map(|it| (it.path.name(), it.operator.as_str(), it.key, it.count)).collect();
    counts.sort();
    counts
}

#[test]
fn adaptations_and_fallbacks_are_counted_and_nothing_else() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let (dispatcher, _registrations) = populated(Arc::default());
    let (x, y) = (cpu(), with_grad());
    // A typed kernel, called typed and boxed; a boxed kernel called boxed; no kernel at all.
    dispatcher.call(Plain, (&x,)).unwrap();
    dispatcher.find("ledger::plain").unwrap().call_values(vec![x.clone().into()]).unwrap();
    dispatcher.find("ledger::hooked").unwrap().call_values(vec![y.clone().into()]).unwrap();
    dispatcher.call(Plain, (&tensor(DispatchKey::Cuda),)).unwrap_err();
    assert_eq!(counts(&dispatcher.stats()), []);
    for _ in 0..3 {
        dispatcher.call(Hooked, (&y,)).unwrap();
    }
    including(HOOK, || dispatcher.call(Plain, (&x,)).unwrap());
    including(HOOK, || {
        dispatcher.find("ledger::plain").unwrap().call_values(vec![x.clone().into()]).unwrap()
    });
    including(HOOK, || dispatcher.call(Hooked, (&y,)).unwrap());
    let stats = dispatcher.stats();
    let expected = [
        // Of the hooked calls three went straight to the boxed layer; the fallback reached it with values.
        ("boxed adaptation", "ledger::hooked", None, 3),
        ("fallback", "ledger::hooked", Some(HOOK), 1),
        ("fallback", "ledger::plain", Some(HOOK), 2),
    ];
    assert_eq!(counts(&stats), expected);
    assert_eq!((stats.total(FALLBACK), stats.count(FALLBACK, "ledger::plain")), (3, 2));
    assert_eq!(stats.totals().iter().map(|(_, count)| count).sum::<u64>(), 6);
    let text = stats.to_string();
    assert!(text.contains("3  boxed adaptation  ledger::hooked  any\n"), "{text}");
    assert!(text.contains("2  fallback          ledger::plain   TESTING_ONLY_GenericMode\n"), "{text}");
    let json = stats.to_json();
    assert_eq!(json["totals"]["fallback"], 3);
    assert!(json["kernels"].as_u64().unwrap() > 0);
    reset_stats();
    assert_eq!(counts(&dispatcher.stats()), []);
    dispatcher.call(Hooked, (&y,)).unwrap();
    assert_eq!(counts(&dispatcher.stats()), [("boxed adaptation", "ledger::hooked", None, 1)]);
}

#[test]
fn every_thread_counts_and_those_that_ended_are_remembered() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let (dispatcher, _registrations) = populated(Arc::default());
    let start = Barrier::new(4);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let y = with_grad();
                start.wait();
                for _ in 0..1_000 {
                    dispatcher.call(Hooked, (&y,)).unwrap();
                }
            });
        }
    });
    // Threads that come later take over the shards.
    std::thread::scope(|scope| {
        scope.spawn(|| dispatcher.call(Hooked, (&with_grad(),)).unwrap());
    });
    assert_eq!(dispatcher.stats().count(ADAPTED, "ledger::hooked"), 4_001);
}

/// More kernels than a shard has lines, in turns: counts move between lines and map and none is lost.
#[test]
fn many_operators_are_counted_apart() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let dispatcher = Dispatcher::new();
    let mut library = dispatcher.library("many");
    for number in 0..600 {
        library
            .define(format!("op{number}(Tensor self) -> ()").as_str())
            .add(common::nothing().at(DispatchKey::Cpu));
    }
    let _many = library.finish().unwrap();
    let mut library = dispatcher.implementations("_", HOOK);
    library.fallback(Kernel::boxed(|call| call.below()));
    let _hook = library.finish().unwrap();
    let handles = dispatcher.operators();
    let typed: Vec<_> = handles.iter().map(|handle| handle.typed::<fn(Tensor)>().unwrap()).collect();
    let x = cpu();
    for round in 0..3 {
        for operator in &typed {
            operator.call((&x,)).unwrap();
            if round == 0 {
                including(HOOK, || operator.call((&x,)).unwrap());
            }
        }
    }
    let stats = dispatcher.stats();
    assert_eq!((stats.total(ADAPTED), stats.total(FALLBACK)), (1_800, 600));
    assert!(stats.slow_paths.iter().all(|it| it.count == if it.path == ADAPTED { 3 } else { 1 }));
}

#[test]
fn others_note_slow_paths_of_their_own() {
    const DISK: SlowPath = SlowPath::new("copy through the disk", "give it more memory");
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let (dispatcher, _registrations) = populated(Arc::default());
    let plain = dispatcher.find("ledger::plain").unwrap();
    note_slow_path(DISK, &plain).unwrap();
    note_slow_path(DISK, &plain).unwrap();
    dispatcher.call(Copied, (&tensor(DispatchKey::PrivateUse1),)).unwrap();
    let expected = [
        ("copy through the CPU", "ledger::copied", Some(DispatchKey::PrivateUse1), 1),
        ("copy through the disk", "ledger::plain", None, 2),
    ];
    assert_eq!(counts(&dispatcher.stats()), expected);
    assert_eq!(stats().count(DISK, "ledger::plain"), 2);
    let error = strict(|| note_slow_path(DISK, &plain)).unwrap_err();
    let message =
        "ledger::plain: copy through the disk is refused in strict mode; give it more memory, or allow it";
    assert!(error.to_string().starts_with(message), "{error}");
}

/// Checks that the call fails under the rules, says every part, and has run no hook.
fn check_refused(call: impl FnOnce() -> Result<()>, ran: &AtomicUsize, parts: &[&str]) {
    let before = ran.load(Ordering::Relaxed);
    let error = call().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::SlowPath);
    for part in parts {
        assert!(error.to_string().contains(part), "`{part}` is not in: {error}");
    }
    assert_eq!(ran.load(Ordering::Relaxed), before);
}

#[test]
fn strict_mode_refuses_before_anything_is_done() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let ran = Arc::new(AtomicUsize::new(0));
    let (dispatcher, _registrations) = populated(ran.clone());
    let (x, y) = (cpu(), with_grad());
    let adapted = || dispatcher.call(Hooked, (&y,));
    let hooked = || including(HOOK, || dispatcher.call(Plain, (&x,)));
    let boxed = || {
        let plain = dispatcher.find("ledger::plain")?;
        including(HOOK, || plain.call_boxed(&[ValueRef::from(&x)], &mut Returns::new()))
    };
    let copied = || dispatcher.call(Copied, (&tensor(DispatchKey::PrivateUse1),));
    // Counted lines must not hide the rules.
    for call in [&adapted as &dyn Fn() -> Result<()>, &hooked, &boxed, &copied] {
        call().unwrap();
    }
    let counted = counts(&dispatcher.stats()).len();
    check_refused(
        || strict(adapted),
        &ran,
        &[
            "ledger::hooked: boxed adaptation at AutogradCPU is refused",
            "(layer, ",
            "tests/slow_paths.rs:",
            "own types",
        ],
    );
    let fallback =
        ["ledger::plain: fallback at TESTING_ONLY_GenericMode", "(hook, ", "tests/slow_paths.rs:", "allow"];
    check_refused(|| strict(hooked), &ran, &fallback);
    check_refused(|| strict(boxed), &ran, &fallback);
    check_refused(
        || strict(copied),
        &ran,
        &["ledger::copied: copy through the CPU at PrivateUse1", "tests/slow_paths.rs:"],
    );
    strict(|| dispatcher.call(Plain, (&x,))).unwrap();
    assert_eq!(dispatcher.stats().slow_paths.len(), counted, "refused paths are not counted");
    hooked().unwrap();
}

#[test]
fn kinds_and_keys_are_allowed_and_inner_scopes_stand_first() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let ran = Arc::new(AtomicUsize::new(0));
    let (dispatcher, _registrations) = populated(ran.clone());
    let (x, y) = (cpu(), with_grad());
    let adapted = || dispatcher.call(Hooked, (&y,));
    let hooked = || including(HOOK, || dispatcher.call(Plain, (&x,)));
    Strict::all().allow(ADAPTED).run(adapted).unwrap();
    Strict::all().allow_at(ADAPTED, DispatchKeySet::AUTOGRAD).run(adapted).unwrap();
    Strict::all().allow_at(ADAPTED, DispatchKey::AutogradCpu).run(adapted).unwrap();
    check_refused(
        || Strict::all().allow_at(ADAPTED, DispatchKey::AutogradCuda).run(adapted),
        &ran,
        &["boxed"],
    );
    check_refused(|| Strict::all().allow_at(ADAPTED, HOOK).run(adapted), &ran, &["boxed adaptation"]);
    Strict::all().allow_at(FALLBACK, HOOK).run(hooked).unwrap();
    check_refused(|| Strict::all().allow(ADAPTED).run(hooked), &ran, &["fallback"]);
    strict(|| {
        Strict::none().run(|| hooked().unwrap());
        check_refused(hooked, &ran, &["fallback"]);
    });
    // A panic leaves no rules behind.
    let panicking = std::panic::AssertUnwindSafe(|| strict(|| std::panic::resume_unwind(Box::new("left"))));
    assert!(std::panic::catch_unwind(panicking).is_err());
    hooked().unwrap();
    assert!(Strict::all().refuses(FALLBACK, None) && !Strict::none().refuses(FALLBACK, None));
}

#[test]
fn the_process_is_strict_on_every_thread() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let ran = Arc::new(AtomicUsize::new(0));
    let (dispatcher, _registrations) = populated(ran.clone());
    let call = move || including(HOOK, || dispatcher.call(Plain, (&cpu(),)));
    call().unwrap();
    let (set, unset) = (Barrier::new(2), Barrier::new(2));
    std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            // The thread has counted before the rules come.
            call().unwrap();
            set.wait();
            set.wait();
            let refused = call().map_err(|error| error.kind());
            let allowed = Strict::none().run(&call).is_ok();
            unset.wait();
            unset.wait();
            (refused, allowed, call().is_ok())
        });
        set.wait();
        assert_eq!(set_strict(Some(Strict::all())), None);
        set.wait();
        unset.wait();
        assert_eq!(call().unwrap_err().kind(), ErrorKind::SlowPath);
        assert_eq!(set_strict(None), Some(Strict::all()));
        unset.wait();
        assert_eq!(other.join().unwrap(), (Err(ErrorKind::SlowPath), true, true));
    });
    call().unwrap();
}

#[test]
fn threads_count_while_they_end() {
    struct AtTheEnd(Option<Box<dyn FnOnce()>>);
    impl Drop for AtTheEnd {
        fn drop(&mut self) {
            if let Some(last) = self.0.take() {
                last();
            }
        }
    }
    thread_local! {
        static END: std::cell::RefCell<AtTheEnd> = const { std::cell::RefCell::new(AtTheEnd(None)) };
    }
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let (dispatcher, _registrations) = populated(Arc::default());
    let inner = dispatcher.clone();
    on_own_thread(move || {
        let last = inner.clone();
        let end = move || (0..2).for_each(|_| last.call(Hooked, (&with_grad(),)).unwrap());
        END.with_borrow_mut(|slot| slot.0 = Some(Box::new(end)));
        inner.call(Hooked, (&with_grad(),)).unwrap();
    });
    assert_eq!(dispatcher.stats().count(ADAPTED, "ledger::hooked"), 3);
}

#[test]
fn counted_calls_go_on_when_operators_go() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let kernels = || stats().kernels;
    let (dispatcher, registrations) = populated(Arc::default());
    dispatcher.call(Hooked, (&with_grad(),)).unwrap();
    let alive = kernels();
    drop(registrations);
    assert!(kernels() < alive);
    assert_eq!(dispatcher.stats().count(ADAPTED, "ledger::hooked"), 1);
    reset_stats();
    assert_eq!(counts(&dispatcher.stats()), []);
}
