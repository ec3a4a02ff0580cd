//! Kernels of plugins on the host's threads.

use std::path::PathBuf;
use std::sync::OnceLock;

use opgrid_array::loops::num_threads;
use opgrid_core::{DispatchKey, Dispatcher, ErrorKind, Registration, Result, Value};
use opgrid_plugin::{Load, Plugin};

use crate::common::{build, subject};

/// The plugin's file, built once for all tests.
fn file() -> &'static PathBuf {
    static FILE: OnceLock<PathBuf> = OnceLock::new();
    FILE.get_or_init(|| build("crates/opgrid-plugin/tests/sources/threads.cpp", "threads", &["-pthread"]))
}

/// A dispatcher with the plugin and an operator that says which one it is.
fn loaded(number: i64) -> (Dispatcher, [Registration; 2], Plugin) {
    let (dispatcher, operators) = subject();
    let mut library = dispatcher.library("asked");
    library.define("which() -> int").boxed(DispatchKey::CompositeExplicitAutograd, move |call| {
        call.push(number);
        Ok(())
    });
    let asked = library.finish().unwrap();
    let plugin = dispatcher.load(file()).unwrap();
    (dispatcher, [operators, asked], plugin)
}

fn call(dispatcher: &Dispatcher, operator: &str, arguments: &[i64]) -> Result<Vec<Value>> {
    dispatcher.find(operator)?.call_values(arguments.iter().map(|argument| Value::from(*argument)).collect())
}

#[test]
fn every_number_is_in_one_range() {
    let (dispatcher, _registrations, _plugin) = loaded(1);
    for (n, grain, sum, ranges) in [(1000, 7, 499_500, 143), (1, 100, 0, 1), (0, 1, 0, 0), (5, 0, 10, 5)] {
        let found = call(&dispatcher, "threads::sum", &[n, grain]).unwrap();
        assert_eq!(found, [Value::from(sum), Value::from(ranges)], "{n} by {grain}");
    }
    let threads = num_threads();
    assert_eq!(call(&dispatcher, "threads::num", &[]).unwrap(), [Value::from(threads as i64)]);
    if threads > 1 {
        assert_eq!(call(&dispatcher, "threads::meets", &[]).unwrap(), [Value::from(2)]);
    }
}

#[test]
fn what_a_range_throws_is_the_error_of_the_call() {
    let (dispatcher, _registrations, _plugin) = loaded(1);
    assert_eq!(call(&dispatcher, "threads::throws", &[100, -1]).unwrap(), [Value::from(100)]);
    let error = call(&dispatcher, "threads::throws", &[100, 50]).unwrap_err();
    assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::Index, "range refused"));
    let error = call(&dispatcher, "threads::null", &[]).unwrap_err().to_string();
    assert!(error.contains("the function for `parallel_for` is null"), "{error}");
}

#[test]
fn threads_run_for_the_dispatcher_of_the_kernel_with_its_keys() {
    let (first, second) = (loaded(1), loaded(2));
    for (number, (dispatcher, ..)) in [(1, &first), (2, &second)] {
        let found = call(dispatcher, "threads::asks", &[64]).unwrap();
        assert_eq!(found, [Value::from(64 * number), Value::from(true)]);
    }
}
