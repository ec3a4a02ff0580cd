//! Plugins in Rust that panic, fail and lie: the host says what went wrong, and goes on.

mod common;

use std::sync::{Arc, Barrier};

use common::{file, subject};

use opgrid::dispatch::{ExcludeGuard, IncludeGuard, LocalKeys, TensorType, is_excluded, is_included};
use opgrid::plugin::{Level, Load, Plugin, on_message};
use opgrid::{Device, DispatchKey, Dispatcher, ErrorKind, Kernel, Registration, Result, Tensor, Value};
/// A dispatcher that asks the plugin for something.
fn asking(what: &str) -> (Dispatcher, [Registration; 2]) {
    let (dispatcher, operators) = subject();
    let mut library = dispatcher.library("asked");
    library.define(format!("{what}() -> ()").as_str());
    let asked = library.finish().unwrap();
    (dispatcher, [operators, asked])
}

fn loaded(name: &str) -> (Dispatcher, [Registration; 2], Plugin) {
    let (dispatcher, registrations) = asking("nothing");
    let plugin = dispatcher.load(file(name)).unwrap();
    (dispatcher, registrations, plugin)
}

fn floats() -> Value {
    Value::from(&Tensor::from_slice(&[1.0f32, 2.0], &[2]).unwrap())
}

fn call(dispatcher: &Dispatcher, operator: &str, arguments: &[Value]) -> Result<Vec<Value>> {
    dispatcher.find(operator)?.call_values(arguments.to_vec())
}

/// How many contexts of kernels the plugin has; its entry makes one.
fn alive(dispatcher: &Dispatcher) -> Vec<Value> {
    call(dispatcher, "rusty::alive", &[]).unwrap()
}

#[test]
fn an_entry_that_panics_or_fails_registers_nothing() {
    for (what, kind, expected) in [
        ("panic", ErrorKind::Kernel, "a plugin panicked: the entry gave up"),
        ("panic_with_a_bomb", ErrorKind::Kernel, "a plugin panicked: no message"),
        ("error", ErrorKind::NotImplemented, "the entry has nothing to say"),
    ] {
        let path = file(what);
        let (dispatcher, _registrations) = asking(what);
        let before = dispatcher.operators().len();
        let error = dispatcher.load(&path).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(expected), "{what}: {error}");
        assert!(error.to_string().contains("plugin `failures` could not register itself"), "{error}");
        assert_eq!(dispatcher.operators().len(), before, "{what}");
        dispatcher.check_invariants().unwrap();
        // What the entry had made by then was given back, and the file can be loaded by somebody else.
        let (other, _others) = asking("nothing");
        let _plugin = other.load(&path).unwrap();
        assert_eq!(alive(&other), [Value::from(1)], "{what}");
    }
}

#[test]
fn the_types_of_kernels_are_schemas() {
    let (dispatcher, _registrations, _plugin) = loaded("typed");
    let schema = |name: &str| dispatcher.find(name).unwrap().schema().unwrap().to_string();
    assert_eq!(schema("rusty::inferred"), "rusty::inferred(Tensor _0, int _1, float? _2) -> (Tensor, int[])");
    assert_eq!(schema("rusty::nothing"), "rusty::nothing() -> ()");
    let found = call(&dispatcher, "rusty::inferred", &[floats(), 3.into(), 4.0.into()]).unwrap();
    assert_eq!(found[1], Value::from(vec![3, 4]));
    assert_eq!(call(&dispatcher, "rusty::nothing", &[]).unwrap(), []);
    assert_eq!(call(&dispatcher, "rusty::half", &[3.0.into()]).unwrap(), [Value::from(1.5)]);
    let error = call(&dispatcher, "rusty::unlike", &["a".into()]).unwrap_err().to_string();
    assert!(error.contains("a kernel expected a number, found a"), "{error}");
}

#[test]
fn what_kernels_do_wrong_is_an_error_of_the_call() {
    let (dispatcher, _registrations, _plugin) = loaded("kernels");
    for (operator, kind, expected) in [
        ("panics", ErrorKind::Kernel, "a plugin panicked: no kernel for 2 elements"),
        ("panics_with_a_bomb", ErrorKind::Kernel, "a plugin panicked: no message"),
        ("fails", ErrorKind::Argument, "nothing but failure"),
        ("panics_half_way", ErrorKind::Kernel, "a plugin panicked: one result was there"),
        ("misfit", ErrorKind::Argument, "does not broadcast"),
        ("two_for_one", ErrorKind::Value, "was expected to return 1 values on the stack, but left 2"),
        ("none_for_one", ErrorKind::Value, "was expected to return 1 values on the stack, but left 0"),
        ("int_for_tensor", ErrorKind::Value, "return 1: expected Tensor but got int"),
        (
            "two_parameters",
            ErrorKind::Value,
            "rusty::two_parameters: a kernel takes 2 arguments, the schema has 1",
        ),
        ("text_parameter", ErrorKind::Value, "a kernel expected a text, found tensor([1., 2.])"),
        ("asks", ErrorKind::Kernel, "a plugin panicked: the condition gave up"),
    ] {
        let error = call(&dispatcher, &format!("rusty::{operator}"), &[floats()]).unwrap_err();
        assert_eq!(error.kind(), kind, "{operator}: {error}");
        assert!(error.to_string().contains(expected), "{operator}: {error}");
    }
    // The thread is as it was.
    assert_eq!(alive(&dispatcher), [Value::from(1)]);
}

#[test]
fn a_context_that_panics_when_it_is_dropped_harms_nobody() {
    let path = file("contexts");
    let (dispatcher, registrations) = asking("panic_of_a_context");
    drop(dispatcher.load(&path).unwrap());
    opgrid::dispatch::quiesce().unwrap();
    assert!(dispatcher.find("rusty::alive").is_err());
    dispatcher.check_invariants().unwrap();
    drop((dispatcher, registrations));
    let (other, _others) = asking("nothing");
    let _plugin = other.load(&path).unwrap();
    assert_eq!(alive(&other), [Value::from(1)]);
}

#[test]
fn a_device_whose_memory_panics_gives_errors_and_frees_itself() {
    let (dispatcher, _registrations, plugin) = loaded("devices");
    let make = |panics: bool| call(&dispatcher, "rusty::on_device", &[panics.into()]).unwrap().remove(0);
    let x = make(true);
    assert_eq!(alive(&dispatcher), [Value::from(2)]);
    let error = call(&dispatcher, "rusty::read_back", std::slice::from_ref(&x)).unwrap_err().to_string();
    assert!(error.contains("a plugin panicked: the device is gone at byte 0"), "{error}");
    let error = call(&dispatcher, "rusty::write_back", std::slice::from_ref(&x)).unwrap_err();
    assert_eq!((error.kind(), error.to_string().contains("the device is full")), (ErrorKind::Argument, true));
    drop(x);
    assert_eq!(alive(&dispatcher), [Value::from(1)]);
    let outlives = make(false);
    drop(plugin);
    drop(outlives);
}

#[test]
fn one_file_serves_two_dispatchers_at_a_time() {
    let path = file("twice");
    let host = |number: i64| {
        let dispatcher = Dispatcher::new();
        let mut library = dispatcher.library("asked");
        let which = library.define("which() -> int");
        which.boxed(DispatchKey::CompositeExplicitAutograd, move |call| {
            call.push(number);
            Ok(())
        });
        let registration = library.finish().unwrap();
        let plugin = dispatcher.load(&path).unwrap();
        (dispatcher, registration, plugin)
    };
    let (first, second) = (host(1), host(2));
    let which = |dispatcher: &Dispatcher| call(dispatcher, "rusty::which", &[]).unwrap();
    assert_eq!((which(&first.0), which(&second.0)), (vec![Value::from(1)], vec![Value::from(2)]));
    // The file's variables know the one that came last, which goes now.
    drop(second);
    assert_eq!(which(&first.0), [Value::from(1)]);
    // What the plugin calls is registered anew, and looked up anew.
    let (dispatcher, registration, _plugin) = first;
    drop(registration);
    let error = call(&dispatcher, "rusty::which", &[]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unknown, "{error}");
    let mut library = dispatcher.library("asked");
    library.define("which() -> int").boxed(DispatchKey::CompositeExplicitAutograd, |call| {
        call.push(3i64);
        Ok(())
    });
    let _registration = library.finish().unwrap();
    assert_eq!(which(&dispatcher), [Value::from(3)]);
}

#[test]
fn what_fails_on_the_threads_of_the_host_is_an_error_of_the_call() {
    let (dispatcher, _registrations, _plugin) = loaded("threads");
    let sum = |n: i64, fails: i64, panics: i64| {
        call(&dispatcher, "rusty::sum", &[n.into(), fails.into(), panics.into()])
    };
    assert_eq!(sum(1000, -1, -1).unwrap(), [Value::from(499_500)]);
    let error = sum(1000, 500, -1).unwrap_err();
    assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::Index, "500 is refused"));
    let error = sum(1000, -1, 500).unwrap_err();
    assert_eq!(
        (error.kind(), error.to_string().as_str()),
        (ErrorKind::Kernel, "a plugin panicked: no range has 500")
    );
    assert_eq!(sum(4, -1, -1).unwrap(), [Value::from(6)]);
}

#[test]
fn elements_are_borrowed_as_the_hosts_are() {
    let (dispatcher, _registrations, _plugin) = loaded("borrows");
    let x = Tensor::from_slice(&[1.0f32, 2.0], &[2]).unwrap();
    assert_eq!(call(&dispatcher, "rusty::borrows", &[Value::from(&x)]).unwrap(), [Value::from(6)]);
    assert_eq!(x.to_vec::<f32>().unwrap(), [2.0, 2.0]);
    assert!(x.array().unwrap().storage().write().is_ok(), "no guard is left");
    // What does not lie one after another is not borrowed, and what lies elsewhere neither.
    let both = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0], &[2, 2]).unwrap();
    for other in [both.select(1, 0).unwrap(), both.to(Device::META).unwrap()] {
        assert!(call(&dispatcher, "rusty::borrows", &[Value::from(&other)]).is_err());
    }
}

#[test]
fn what_a_plugin_says_reaches_people_and_what_it_documents_is_shown() {
    let heard = Arc::new(std::sync::Mutex::new(Vec::new()));
    let keep = heard.clone();
    on_message(move |message| keep.lock().unwrap().push((message.level, message.to_string())));
    let (dispatcher, _registrations, _plugin) = loaded("says");
    assert_eq!(call(&dispatcher, "rusty::says", &["all is well".into()]).unwrap(), []);
    let mut heard = std::mem::take(&mut *heard.lock().unwrap());
    heard.sort();
    let expected = [
        (Level::Note, "plugin `failures`: all is well"),
        (Level::Warning, "plugin `failures`: all is well, on a thread"),
    ];
    assert_eq!(heard, expected.map(|(level, text)| (level, text.to_owned())));
    let documentation = |name: &str| dispatcher.find(name).unwrap().documentation().to_string();
    assert_eq!(documentation("rusty::half"), "Half of a number.");
    assert_eq!(documentation("rusty::says"), "Tells people a text.");
    assert_eq!(documentation("rusty::which"), "");
}

/// A kernel runs on another thread while its plugin goes: the call ends as it would have, and what the kernel holds is freed
/// afterwards.
#[test]
fn a_plugin_is_dropped_while_its_kernel_runs() {
    let path = file("running");
    let (dispatcher, _operators) = subject();
    let (inside, outside) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
    let mut library = dispatcher.library("asked");
    let waits = (inside.clone(), outside.clone());
    library.define("wait() -> ()").boxed(DispatchKey::CompositeExplicitAutograd, move |_| {
        waits.0.wait();
        waits.1.wait();
        Ok(())
    });
    let _asked = library.finish().unwrap();
    let plugin = dispatcher.load(&path).unwrap();
    let handle = dispatcher.find("rusty::waits").unwrap();
    let running = {
        let handle = handle.clone();
        std::thread::spawn(move || handle.call_values(vec![floats()]).map(|results| results[0].to_string()))
    };
    inside.wait();
    drop(plugin);
    assert_eq!(handle.call_values(vec![floats()]).unwrap_err().kind(), ErrorKind::Stale);
    // Another plugin comes meanwhile, on a dispatcher of its own.
    let (other, _others) = asking("nothing");
    let again = other.load(&path).unwrap();
    outside.wait();
    assert_eq!(running.join().unwrap().unwrap(), "tensor([2., 4.])");
    opgrid::dispatch::quiesce().unwrap();
    assert_eq!(alive(&other), [Value::from(1)]);
    drop(again);
}

#[test]
fn guards_that_are_kept_undo_their_own_change() {
    let (dispatcher, _registrations, _plugin) = loaded("kept");
    // Calls pass the key by that the guard includes.
    let mut everything = dispatcher.implementations("_", DispatchKey::TestingOnlyGenericMode);
    everything.fallback(Kernel::fallthrough());
    let _fallback = everything.finish().unwrap();
    let keep = |on: bool| drop(call(&dispatcher, "rusty::keep", &[on.into()]).unwrap());
    let (kept, other) = (DispatchKey::TestingOnlyGenericMode, DispatchKey::DeferredInit);
    let start = LocalKeys::current();
    // Begun before another guard and ended while it lasts.
    keep(true);
    assert!(is_included(kept) && is_excluded(DispatchKey::Tracer));
    let guards = (ExcludeGuard::new(other), IncludeGuard::new(other));
    keep(false);
    assert!(!is_included(kept) && !is_excluded(DispatchKey::Tracer));
    assert!(is_excluded(other) && is_included(other));
    drop(guards);
    assert_eq!(LocalKeys::current(), start);
    // Begun while another one lasts and ended after it.
    let guards = (ExcludeGuard::new(other), IncludeGuard::new(other));
    keep(true);
    drop(guards);
    assert!(is_included(kept) && is_excluded(DispatchKey::Tracer));
    assert!(!is_excluded(other) && !is_included(other));
    keep(false);
    assert_eq!(LocalKeys::current(), start);
    // Keys that others included and excluded before stay so.
    let guards = (ExcludeGuard::new(DispatchKey::Tracer), IncludeGuard::new(kept));
    keep(true);
    keep(false);
    assert!(is_included(kept) && is_excluded(DispatchKey::Tracer));
    drop(guards);
    assert_eq!(LocalKeys::current(), start);
}

#[test]
fn tensors_and_errors_outlive_their_plugin() {
    let (dispatcher, _registrations, plugin) = loaded("outlived");
    let error = call(&dispatcher, "rusty::fails", &[floats()]).unwrap_err();
    let tensor = call(&dispatcher, "rusty::read_back", &[floats()]).unwrap().remove(0);
    drop(plugin);
    drop(dispatcher);
    assert_eq!(
        (error.to_string().as_str(), tensor.to_string().as_str()),
        ("nothing but failure", "tensor([1., 2.])")
    );
    let Value::Tensor(tensor) = tensor else { panic!("found {tensor}, expected a tensor") };
    assert_eq!(Tensor::from_any_ref(&tensor).unwrap().to_vec::<f32>().unwrap(), [1.0, 2.0]);
}
