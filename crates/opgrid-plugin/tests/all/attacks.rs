//! Plugins that attack their host where it can notice: each attack is an error, and the host goes on.
#![allow(unsafe_code)]

use std::ffi::{CString, c_int};
use std::path::{Path, PathBuf};

use opgrid_core::{Dispatcher, ErrorKind, Registration, Result, TensorType, Value};
use opgrid_plugin::{Level, Load, Plugin};
use opgrid_tensor::Tensor;

use crate::common::{build, subject};
use crate::heard;

const SOURCE: &str = "crates/opgrid-plugin/tests/sources/attacks.c";

/// The file of a plugin whose entry does what `case` says. Each test has one of its own, with counts of its own.
fn file(name: &str, case: i32) -> PathBuf {
    build(SOURCE, &format!("attacks_{name}"), &["-D_GNU_SOURCE", &format!("-DCASE={case}"), "-pthread"])
}

fn loaded(name: &str) -> (Dispatcher, Registration, Plugin) {
    let (dispatcher, operators) = subject();
    let plugin = dispatcher.load(file(name, 0)).unwrap();
    (dispatcher, operators, plugin)
}

fn floats() -> Tensor {
    Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0], &[4]).unwrap()
}

fn call(dispatcher: &Dispatcher, operator: &str, arguments: &[Value]) -> Result<Value> {
    let mut results = dispatcher.find(operator)?.call_values(arguments.to_vec())?;
    Ok(results.remove(0))
}

/// A function that a plugin exports for these tests.
fn exported(path: &Path, name: &str) -> *mut std::ffi::c_void {
    let path = CString::new(path.to_str().unwrap()).unwrap();
    let name = CString::new(name).unwrap();
    // SAFETY: both strings end with zero bytes; the library is loaded already, and stays.
    let found = unsafe {
        libc::dlsym(libc::dlopen(path.as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_NOW), name.as_ptr())
    };
    assert!(!found.is_null(), "{name:?} is not there");
    found
}

/// How many contexts a plugin has freed, and what it was told when it wanted to register more: how often it was let, and refused.
fn counts(path: &Path) -> [i64; 3] {
    // SAFETY: the source declares it so.
    let ask: extern "C" fn(c_int) -> i64 = unsafe { std::mem::transmute(exported(path, "attacks_counts")) };
    [0, 1, 2].map(|which| ask(which))
}

#[test]
fn sizes_that_lie_are_errors() {
    let (dispatcher, _operators, _plugin) = loaded("sizes");
    let x = Value::from(&floats());
    assert_eq!(
        call(&dispatcher, "attacks::lies_about_sizes", std::slice::from_ref(&x)).unwrap(),
        Value::from(21)
    );
    // What was lent for tensors that could not be was given back, each once.
    assert_eq!(call(&dispatcher, "attacks::freed", &[]).unwrap(), Value::from(6));
    assert_eq!(x.to_string(), "tensor([1., 2., 3., 4.])");
}

#[test]
fn a_device_without_the_memory_that_it_said_gives_errors() {
    let (dispatcher, _operators, _plugin) = loaded("hollow");
    let Value::Tensor(hollow) = call(&dispatcher, "attacks::hollow", &[]).unwrap() else {
        panic!("no tensor")
    };
    let tensor = Tensor::from_any_ref(&hollow).unwrap();
    let error = tensor.to_vec::<f32>().unwrap_err().to_string();
    assert!(error.contains("the device has less memory than was said"), "{error}");
    assert!(tensor.elements::<f32>().is_err());
    assert_eq!(call(&dispatcher, "attacks::freed", &[]).unwrap(), Value::from(0));
    drop(hollow);
    assert_eq!(call(&dispatcher, "attacks::freed", &[]).unwrap(), Value::from(1));
}

#[test]
fn guards_keep_others_away_until_they_are_given_back() {
    let (dispatcher, _operators, _plugin) = loaded("guards");
    let x = floats();
    let handles = x.as_any().handle_count();
    // Four refusals, and three times nobody was in the way.
    assert_eq!(call(&dispatcher, "attacks::guards", &[Value::from(&x)]).unwrap(), Value::from(34));
    assert_eq!(x.to_vec::<f32>().unwrap(), [7.0, 2.0, 3.0, 4.0]);
    assert!(x.array().unwrap().storage().write().is_ok(), "no guard is left");
    assert_eq!(x.as_any().handle_count(), handles);
}

#[test]
fn keys_that_nothing_has_lead_to_errors() {
    let (dispatcher, _operators, _plugin) = loaded("keys");
    let Value::Int(caught) = call(&dispatcher, "attacks::impossible_keys", &[]).unwrap() else {
        panic!("no number")
    };
    assert!((0..=4).contains(&caught), "{caught}");
    // The thread is as it was.
    assert_eq!(call(&dispatcher, "attacks::freed", &[]).unwrap(), Value::from(0));
}

#[test]
fn what_was_kept_is_of_use_only_as_far_as_it_may_be() {
    let heard = heard();
    let (dispatcher, _operators, plugin) = loaded("keeps");
    let (x, path) = (floats(), plugin.path().to_owned());
    assert_eq!(call(&dispatcher, "attacks::keeps", &[Value::from(&x)]).unwrap(), Value::from(1));
    assert_eq!(x.as_any().handle_count(), 2);
    drop(plugin);
    drop(dispatcher);
    // SAFETY: the source declares it so.
    let after: extern "C" fn() -> i64 = unsafe { std::mem::transmute(exported(&path, "attacks_after_drop")) };
    assert_eq!(after(), 31, "a bit for each answer of the host");
    assert_eq!(x.as_any().handle_count(), 1);
    let said = "a plugin that is no longer loaded: said by a plugin that was dropped";
    assert!(heard.lock().unwrap().contains(&(Level::Warning, said.to_owned())));
}

#[test]
fn what_frees_a_context_registers_nothing() {
    // The plugin is dropped: all has been registered long ago.
    let (dispatcher, operators, plugin) = loaded("frees");
    let path = plugin.path().to_owned();
    let before = dispatcher.operators().len();
    drop(plugin);
    opgrid_core::quiesce().unwrap();
    assert_eq!(counts(&path), [7, 0, 5 * 7]);
    assert_eq!(dispatcher.operators().len(), before - 8);
    assert!(dispatcher.find("late::late").is_err());
    drop((dispatcher, operators));

    // The entry fails: what it said goes with it.
    let path = file("fails", 2);
    let (dispatcher, _operators) = subject();
    let error = dispatcher.load(&path).unwrap_err();
    assert!(error.to_string().contains("the entry gave up"), "{error}");
    assert_eq!(counts(&path), [7, 0, 5 * 7]);
    assert!(dispatcher.find("attacks::freed").is_err());
}

#[test]
fn a_block_that_frees_a_context_takes_nothing_meanwhile() {
    let path = file("refused", 1);
    let (dispatcher, _operators) = subject();
    let before = dispatcher.operators().len();
    let error = dispatcher.load(&path).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Registration, "{error}");
    // The context of the kernel that the block refused was freed while the entry ran: it could open a block, and say nothing in
    // the one that was being added to. Those of the other kernels were freed when the entry had failed.
    assert_eq!(counts(&path), [8, 1, 4 + 5 * 7], "{error}");
    assert_eq!(dispatcher.operators().len(), before);
    assert!(dispatcher.find("attacks::freed").is_err());
    dispatcher.check_invariants().unwrap();
}

#[test]
fn what_a_plugin_says_reaches_people_with_its_name() {
    let heard = heard();
    let (dispatcher, _operators, _plugin) = loaded("says");
    call(&dispatcher, "attacks::says", &[]).unwrap();
    let heard = heard.lock().unwrap();
    for (level, text) in [
        (Level::Note, "plugin `attacks`: a note"),
        (Level::Warning, "plugin `attacks`: a warning"),
        (Level::Warning, "plugin `attacks`: of no level"),
        (Level::Note, "a plugin that is no longer loaded: \u{fffd}"),
    ] {
        assert!(heard.contains(&(level, text.to_owned())), "{text}: {heard:?}");
    }
    assert!(heard.iter().any(|(_, text)| text.contains("a message: found 4 elements at 0x0")), "{heard:?}");
}

#[test]
fn what_a_plugin_documents_the_dispatcher_tells() {
    let (dispatcher, _operators, _plugin) = loaded("documents");
    let documentation = |name: &str| dispatcher.find(name).unwrap().documentation().to_string();
    assert_eq!(documentation("attacks::guards"), "Does what it should not.");
    assert_eq!(documentation("attacks::old"), "", "the structure of version 1.0 has no place for it");
}
