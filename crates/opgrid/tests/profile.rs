//! The profiler: what it sees on every thread, and that its traces keep to the rules of the format.
//!
//! A program of its own: a profile sees the calls of the whole process. Tests take turns.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use opgrid::dispatch::AnyTensor;
use opgrid::prelude::*;
use opgrid::profile::{Outcome, Profile, Timeline, TimelineEvent};
use serde_json::Value as Json;

static TURN: Mutex<()> = Mutex::new(());

fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

type Unary = fn(Tensor) -> Tensor;

fn x() -> Tensor {
    Tensor::from_slice(&[1.0f32, 2.0, 3.0], &[3]).unwrap()
}

/// Operators of a namespace of the test's own: `inner`; `outer`, a layer that calls `inner` and calls on; `fails`;
/// `panics`; `quiet`, which profilers leave out.
fn populated() -> (Dispatcher, Registration) {
    let dispatcher = Dispatcher::new();
    let mut library = dispatcher.library("profile");
    library
        .define("inner(Tensor self) -> Tensor")
        .add(Kernel::function::<Unary>(|x| Ok(x.clone())).at(DispatchKey::Cpu).named("plain"));
    let slow = |x: &Tensor| {
        std::thread::sleep(Duration::from_millis(2));
        Ok(x.clone())
    };
    library
        .define("outer(Tensor self) -> Tensor")
        .add(Kernel::function::<Unary>(slow).at(DispatchKey::Cpu).named("slow"))
        .add(
            Kernel::layer::<Unary>(|next, (x,)| {
                Dispatcher::current().find("profile::inner")?.typed::<Unary>()?.call((x,))?;
                next.call((x,))
            })
            .at(DispatchKey::Tracer),
        );
    library.define("fails(Tensor self) -> Tensor").add(
        Kernel::function::<Unary>(|_| Err(Error::new(ErrorKind::Kernel, "no \"luck\""))).at(DispatchKey::Cpu),
    );
    let through = Kernel::boxed(|call| call.below()).at(DispatchKey::Tracer);
    library
        .define("panics(Tensor self) -> Tensor")
        .add(Kernel::boxed(|_| std::panic::resume_unwind(Box::new("gone"))).at(DispatchKey::Cpu))
        .add(through);
    library
        .define("quiet(Tensor self) -> Tensor")
        .unobserved()
        .add(Kernel::function::<Unary>(|x| Ok(x.clone())).at(DispatchKey::Cpu));
    let registration = library.finish().unwrap();
    (dispatcher, registration)
}

fn call(dispatcher: &Dispatcher, name: &str) -> Result<Tensor> {
    let x = AnyTensor::from(x());
    let operator = dispatcher.find(&format!("profile::{name}"))?;
    let traced = || operator.call_values(vec![x.clone().into()]);
    including(DispatchKey::Tracer, traced)?.into_iter().next().unwrap_or_default().try_into()
}

fn named(event: &TimelineEvent) -> (String, String) {
    (event.step.operator.name().to_string(), event.step.key.to_string())
}

#[test]
fn redispatched_and_nested_calls_are_events_within_events() {
    let _turn = turn();
    let (dispatcher, _registration) = populated();
    let profile = Profile::start();
    std::thread::scope(|scope| {
        scope.spawn(|| (0..3).for_each(|_| drop(call(&dispatcher, "outer").unwrap())));
    });
    let timeline = profile.finish();
    let events = timeline.events();
    let steps: Vec<_> = events.iter().map(named).collect();
    let once = [("profile::outer", "Tracer"), ("profile::inner", "CPU"), ("profile::outer", "CPU")];
    let expected: Vec<_> =
        [once; 3].iter().flatten().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
    assert_eq!(steps, expected);
    let [layer, inner, kernel] = &events[..3] else { panic!("three steps: {events:?}") };
    assert_eq!([layer.recursive, inner.recursive, kernel.recursive], [false, false, true]);
    assert_eq!((inner.step.kernel.title(), kernel.step.kernel.title()), ("plain", "slow"));
    assert!(layer.step.depth < kernel.step.depth);
    assert_eq!(layer.total, layer.own + inner.total + kernel.total);
    assert!(kernel.own >= Duration::from_millis(2) && kernel.own == kernel.total);

    let times = timeline.operators();
    let outer = times.iter().find(|time| time.operator == "profile::outer").unwrap();
    let inner = times.iter().find(|time| time.operator == "profile::inner").unwrap();
    assert_eq!((outer.calls, inner.calls, outer.failures), (3, 3, 0));
    assert_eq!(outer.total, outer.own + inner.total);
    assert!(outer.mean() >= Duration::from_millis(2) && outer.mean() <= outer.total);
    let text = timeline.to_string();
    assert!(text.lines().next().unwrap().contains("total µs") && text.contains("profile::outer\n"), "{text}");
    let json = timeline.to_json();
    assert!(
        json.as_array().unwrap().iter().any(|row| row["operator"] == "profile::outer" && row["calls"] == 3)
    );
}

#[test]
fn errors_and_panics_end_their_events() {
    let _turn = turn();
    let (dispatcher, _registration) = populated();
    let profile = Profile::start();
    call(&dispatcher, "fails").unwrap_err();
    assert!(catch_unwind(AssertUnwindSafe(|| call(&dispatcher, "panics"))).is_err());
    call(&dispatcher, "quiet").unwrap();
    call(&dispatcher, "inner").unwrap();
    let timeline = profile.finish();
    let ends: Vec<_> =
        timeline.events().iter().map(|event| (named(event).0, event.outcome.clone())).collect();
    let expected = [
        ("profile::fails", Outcome::Failed("no \"luck\"".into())),
        ("profile::panics", Outcome::Panicked),
        ("profile::panics", Outcome::Panicked),
        ("profile::inner", Outcome::Returned),
    ];
    assert_eq!(ends, expected.map(|(name, outcome)| (name.to_owned(), outcome)));
    assert_eq!(timeline.operators().iter().map(|time| time.failures).sum::<u64>(), 3);
    let trace = check_trace(&timeline);
    let find = |name: &str| trace.iter().find(|event| event["name"] == name).unwrap()["args"].clone();
    assert_eq!(find("profile::fails")["error"], "no \"luck\"");
    assert_eq!(find("profile::panics")["panicked"], true);
    assert_eq!(find("profile::inner")["error"], Json::Null);
}

#[test]
fn steps_that_run_when_the_profile_ends_are_marked() {
    let _turn = turn();
    let dispatcher = Dispatcher::new();
    let (began, waits) = std::sync::mpsc::channel();
    let (go_on, release) = std::sync::mpsc::channel::<()>();
    let parts = Mutex::new((began, release));
    let wait = move |(x,): (&Tensor,)| {
        let parts = parts.lock().unwrap();
        parts.0.send(()).unwrap();
        parts.1.recv().unwrap();
        Ok(x.clone())
    };
    let mut library = dispatcher.library("profile");
    library.define("waits(Tensor self) -> Tensor").add(Kernel::closure::<Unary>(wait).at(DispatchKey::Cpu));
    let _registration = library.finish().unwrap();
    let profile = Profile::start();
    std::thread::scope(|scope| {
        let caller = scope.spawn(|| call(&dispatcher, "waits").unwrap());
        waits.recv().unwrap();
        let timeline = profile.finish();
        go_on.send(()).unwrap();
        caller.join().unwrap();
        assert_eq!(timeline.events()[0].outcome, Outcome::Unfinished);
        let trace = check_trace(&timeline);
        assert!(trace.iter().any(|event| event["args"]["unfinished"] == true));
    });
}

#[test]
fn profiles_run_beside_each_other_and_threads_end_within_them() {
    let _turn = turn();
    let (dispatcher, _registration) = populated();
    let first = Profile::start();
    call(&dispatcher, "inner").unwrap();
    let second = Profile::start();
    let work = || (0..50).for_each(|_| drop(call(&dispatcher, "inner").unwrap()));
    std::thread::scope(|scope| {
        for number in 0..4 {
            std::thread::Builder::new().name(format!("worker {number}")).spawn_scoped(scope, work).unwrap();
        }
    });
    let (second, first) = (second.finish(), first.finish());
    call(&dispatcher, "inner").unwrap();
    assert_eq!((first.events().len(), second.events().len()), (201, 200));
    let mut workers: Vec<_> = second.threads().iter().filter(|name| name.starts_with("worker")).collect();
    workers.sort();
    assert_eq!(workers, ["worker 0", "worker 1", "worker 2", "worker 3"]);
    check_trace(&first);
    let path = std::env::temp_dir().join(format!("opgrid-trace-{}.json", std::process::id()));
    second.write_chrome(&path).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), second.to_chrome());
    std::fs::remove_file(&path).unwrap();
    let nowhere = path.join("trace.json");
    assert_eq!(second.write_chrome(&nowhere).unwrap_err().kind(), ErrorKind::File);
}

/// Reads a trace back and compares it with the rules of the format: each event has the fields of its phase, metadata
/// names every thread, and two events of one thread lie within each other or apart. Returns the complete events.
fn check_trace(timeline: &Timeline) -> Vec<Json> {
    let trace: Json = serde_json::from_str(&timeline.to_chrome()).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let mut names = std::collections::HashMap::new();
    let mut complete = Vec::new();
    for event in events {
        assert!(event["name"].is_string() && event["args"].is_object(), "{event}");
        assert_eq!(event["pid"], std::process::id());
        let thread = event["tid"].as_u64().expect("a thread");
        match event["ph"].as_str().expect("a phase") {
            "M" if event["name"] == "thread_name" => {
                names.insert(thread, event["args"]["name"].as_str().unwrap());
            }
            "M" => assert_eq!(event["name"], "process_name"),
            "X" => complete.push(event.clone()),
            other => panic!("phase {other}"),
        }
    }
    // Nanoseconds, in which the events were measured: microseconds as floats are not exact.
    let nanoseconds = |event: &Json, field: &str| (event[field].as_f64().expect(field) * 1e3).round() as u64;
    let mut open: Vec<(u64, u64, u64)> = Vec::new();
    for event in &complete {
        assert!(event["cat"].is_string());
        let args = &event["args"];
        assert!(
            args["keys"].is_array() && args["column"].is_string() && args["kernel"].is_string(),
            "{event}"
        );
        assert!(args["depth"].is_u64() && args["place"].is_string() && args["reason"].is_string(), "{event}");
        let thread = event["tid"].as_u64().unwrap();
        assert!(names.contains_key(&thread), "thread {thread} has no name");
        let start = nanoseconds(event, "ts");
        let end = start + nanoseconds(event, "dur");
        let depth = args["depth"].as_u64().unwrap();
        let beside = |&&(other, _, inner): &&(u64, u64, u64)| other == thread && inner >= depth;
        assert!(open.iter().filter(beside).all(|&(_, until, _)| until <= start), "{event} overlaps another");
        // What is around this event has the same thread, a lower depth, and room for it.
        open.retain(|&(other, _, outer)| other == thread && outer < depth);
        if let Some(&(_, until, _)) = open.last() {
            assert!(end <= until, "{event} ends at {end}, after what is around it, {until}");
        }
        open.push((thread, end, depth));
    }
    assert_eq!(complete.len(), timeline.events().len());
    complete
}

#[test]
fn a_trace_of_real_operators_keeps_to_the_format() {
    let _turn = turn();
    let profile = Profile::start();
    let y = x().add_with(&x(), 2).unwrap().mul(&x()).unwrap();
    assert_eq!(y.to_string(), "tensor([ 3., 12., 27.])");
    let timeline = profile.finish();
    let trace = check_trace(&timeline);
    for name in ["aten::add.Tensor", "aten::mul.Tensor"] {
        assert!(trace.iter().any(|event| event["name"] == name), "{name}");
    }
}
