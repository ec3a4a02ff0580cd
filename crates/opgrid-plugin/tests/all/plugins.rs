//! Plugins in C and C++: what they define, implement, hook, call and throw.

use opgrid_abi::{OPGRID_ABI_MAJOR, OPGRID_ABI_MINOR};
use opgrid_core::{
    DType, DispatchKey, Dispatcher, ErrorKind, ExcludeGuard, IncludeGuard, LocalKeys, Result, SlowPath,
    TensorType, Value, including, is_excluded, is_included, strict,
};
use opgrid_plugin::{Level, Load, Manifest, Plugin};
use opgrid_tensor::Tensor;
use opgrid_tensor::layers::{autocast, vmap};

use crate::common::{build, root, subject};
use crate::heard;

fn floats(elements: &[f32]) -> Tensor {
    Tensor::from_slice(elements, &[elements.len() as i64]).unwrap()
}

/// Calls an operator with values, and takes its only result as a text.
fn call(dispatcher: &Dispatcher, operator: &str, arguments: &[Value]) -> Result<String> {
    let results = dispatcher.find(operator)?.call_values(arguments.to_vec())?;
    Ok(results.iter().map(Value::to_string).collect::<Vec<_>>().join(" "))
}

fn message(result: Result<String>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn layers_take_what_a_plugin_says_of_its_operators() {
    let (dispatcher, _plugin) = cpp("cases_layers");
    let _layers = [autocast::install(&dispatcher).unwrap(), vmap::install(&dispatcher).unwrap()];
    dispatcher.within(|| {
        let x = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0], &[2, 2]).unwrap();
        let product = dispatcher.find("cases::product").unwrap();
        let run = |a: &Tensor, b: &Tensor| -> Result<Tensor> {
            let results = product.call_values(vec![a.into(), b.into()])?;
            Tensor::try_from(results[0].borrow().as_tensor().cloned().unwrap())
        };
        assert_eq!(run(&x, &x).unwrap().dtype(), DType::F32);
        autocast::within(DType::BF16, || {
            assert_eq!(run(&x, &x)?.dtype(), DType::BF16);
            let square = call(&dispatcher, "cases::square_in_full", &[Value::from(&x)])?;
            assert!(square.contains("float64"), "{square}");
            Ok::<(), opgrid_core::Error>(())
        })
        .unwrap();
        // The whole batch is one call, not one for each example.
        let batch = Tensor::from_slice(&[1.0f32, 0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0], &[2, 2, 2]).unwrap();
        let products = vmap::over(&[&batch], |examples| run(&examples[0], &x)).unwrap();
        assert_eq!(products.to_vec::<f32>().unwrap(), [1.0, 2.0, 3.0, 4.0, 3.0, 4.0, 1.0, 2.0]);
        let is_loop = |it: &opgrid_core::SlowPathCount| it.operator == "cases::product";
        assert!(!opgrid_core::stats().slow_paths.iter().any(is_loop));
    });
}

#[test]
fn a_plugin_in_one_file_of_c_defines_an_operator_and_a_hook() {
    let path = build("examples/plugin-c/plugin.c", "plugin_c", &[]);
    let manifest = Manifest::read(&path).unwrap();
    assert_eq!((manifest.name.as_str(), manifest.abi), ("plugin_c", (1, 3)));
    assert_eq!(manifest.namespaces, ["demo_c"]);
    assert_eq!(manifest.keys, ["CPU", "TESTING_ONLY_GenericMode"]);

    let (dispatcher, _operators) = subject();
    let plugin = dispatcher.load(&path).unwrap();
    assert_eq!(plugin.manifest(), &manifest);
    let (x, y) = (floats(&[1.0, 2.0, 3.0]), floats(&[10.0, 20.0, 30.0]));
    let arguments = [Value::from(&x), Value::from(&y), Value::from(2.0)];
    assert_eq!(call(&dispatcher, "demo_c::scale_add", &arguments).unwrap(), "tensor([21., 42., 63.])");
    let hooked =
        including(DispatchKey::TestingOnlyGenericMode, || call(&dispatcher, "demo_c::scale_add", &arguments));
    assert_eq!(hooked.unwrap(), "tensor([21., 42., 63.])");

    let error = message(call(
        &dispatcher,
        "demo_c::scale_add",
        &[Value::from(&x), Value::from(&x), Value::from("a")],
    ));
    assert!(error.starts_with("demo_c::scale_add: argument `scale`"), "{error}");
    let error =
        message(call(&dispatcher, "demo_c::scale_add", &[(&x).into(), (&floats(&[1.0])).into(), 1.0.into()]));
    assert_eq!(error, "demo_c::scale_add: expected two tensors of one shape; expand one");
    let dump = dispatcher.find("demo_c::scale_add").unwrap().dump_state().unwrap();
    assert!(dump.contains("plugin.c:"), "{dump}");

    drop(plugin);
    assert_eq!(dispatcher.find("demo_c::scale_add").unwrap_err().kind(), ErrorKind::Unknown);
    let again = dispatcher.load(&path).unwrap();
    assert!(dispatcher.find("demo_c::scale_add").is_ok());
    again.keep();
    assert!(dispatcher.find("demo_c::scale_add").is_ok());
}

#[test]
fn a_plugin_is_found_by_name_or_not_at_all() {
    let error = Manifest::read("not_there").unwrap_err().to_string();
    assert!(error.contains("plugin `not_there`: there is no such file"), "{error}");
    let error = Manifest::read("./not/there.so").unwrap_err().to_string();
    assert!(error.contains("there is no such file; give the path"), "{error}");
}

fn cpp(name: &str) -> (Dispatcher, (opgrid_core::Registration, Plugin)) {
    let path = build("crates/opgrid-plugin/tests/sources/cases.cpp", name, &[]);
    let (dispatcher, operators) = subject();
    let plugin = dispatcher.load(path).unwrap();
    (dispatcher, (operators, plugin))
}

#[test]
fn lambdas_take_and_give_values_of_all_kinds() {
    let (dispatcher, _plugin) = cpp("cases_values");
    let check = |operator: &str, arguments: &[Value], expected: &str| {
        assert_eq!(call(&dispatcher, operator, arguments).unwrap(), expected, "{operator}");
    };
    let x = floats(&[1.0, 2.0]);
    let schema = |name: &str| dispatcher.find(name).unwrap().schema().unwrap().to_string();
    assert_eq!(schema("cases::inferred"), "cases::inferred(Tensor _0, int _1, float? _2) -> (Tensor, str)");
    check("cases::inferred", &[(&x).into(), 3.into(), 0.5.into()], "tensor([3.5000, 6.5000]) 3 and 0.500000");
    check("cases::inferred", &[(&x).into(), 3.into(), Value::None], "tensor([3., 6.]) 3 and nothing");
    check(
        "cases::lists",
        &[vec![1, 2, 3].into(), vec![0.5, 0.25].into(), "ab".into(), true.into()],
        "[3, 2, 1] 0.75 ab! False",
    );
    let tensors = Value::from(vec![x.as_any().clone(), floats(&[5.0]).as_any().clone()]);
    check("cases::tensors", &[tensors], "[tensor([5.]), tensor([1., 2.])]");
    check("cases::twice", &[(&x).into()], "tensor([2., 4.])");
    check("cases::identity", &[(&x).into()], "tensor([1., 2.])");
    // Nothing a plugin can look into is handed on as it is.
    let complex = Value::from(opgrid_core::Complex64::new(1.0, -2.0));
    check("cases::hand_on", &[complex], "1.-2.j");
    check("cases::hand_on", &[Value::from(opgrid_core::DType::F32)], "float32");
    check("cases::narrow", &[7.into()], "7");
    let error = message(call(&dispatcher, "cases::narrow", &[(1i64 << 40).into()]));
    assert!(error.contains("expected an integer of fewer bits, found 1099511627776"), "{error}");
}

#[test]
fn elements_are_borrowed_and_people_are_told() {
    let heard = heard();
    let (dispatcher, _plugin) = cpp("cases_elements");
    let x = floats(&[1.0, 2.0]);
    assert_eq!(call(&dispatcher, "cases::sum", &[(&x).into()]).unwrap(), "3. 3");
    assert_eq!(x.to_vec::<f32>().unwrap(), [2.0, 3.0]);
    assert!(x.array().unwrap().storage().write().is_ok(), "no guard is left");
    call(&dispatcher, "cases::says", &["a text".into()]).unwrap();
    let expected = [(Level::Note, "plugin `cases`: a text"), (Level::Warning, "plugin `cases`: a text!")];
    let heard = heard.lock().unwrap();
    let found: Vec<_> = heard.iter().filter(|(_, text)| text.starts_with("plugin `cases`")).collect();
    assert_eq!(found, expected.map(|(level, text)| (level, text.to_owned())).iter().collect::<Vec<_>>());
    let documentation = |name: &str| dispatcher.find(name).unwrap().documentation().into_owned();
    assert_eq!(documentation("cases::sum"), "The sum of all elements, and how often others were refused.");
    assert_eq!(documentation("cases::says"), "Tells people a text.");
}

#[test]
fn what_a_kernel_throws_is_an_error_of_the_call() {
    let (dispatcher, _plugin) = cpp("cases_errors");
    let x = Value::from(&floats(&[1.0, 2.0]));
    let check = |operator: &str, expected: &str| {
        let error = message(call(&dispatcher, operator, std::slice::from_ref(&x)));
        assert!(error.contains(expected), "{operator}: {error}");
    };
    check("cases::throws", "thrown by a kernel");
    check("cases::throws_int", "something that is no std::exception");
    check("cases::wrong_count", "was expected to return 1 values on the stack, but left 2");
    check("cases::wrong_kind", "return 1: expected Tensor but got int");
    check("cases::nothing", "was expected to return 1 values on the stack, but left 0");
    check("cases::wrong_signature", "a kernel expected an integer, found tensor([1., 2.])");
    check("cases::unknown_operator", "aten::does_not_exist");
    // The host's own error goes through the plugin with its kind.
    let error = dispatcher.find("cases::misfit").unwrap().call_values(vec![x.clone()]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Argument, "{error}");
    assert!(error.to_string().contains("does not broadcast"), "{error}");
    let error = dispatcher.find("cases::endless").unwrap().call_values(vec![x]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Depth, "{error}");
}

#[test]
fn providers_fallthroughs_guards_and_layers_work_as_ours() {
    let (dispatcher, _plugin) = cpp("cases_keys");
    let x = Value::from(&floats(&[1.0, 2.0]));
    let chosen = |n: i64| call(&dispatcher, "cases::chosen", &[x.clone(), n.into()]).unwrap();
    assert_eq!((chosen(1), chosen(2)), ("general".into(), "even".into()));
    assert_eq!(dispatcher.find("cases::chosen").unwrap().providers(), ["even", "general"]);
    let layer: DispatchKey = "CasesLayer".parse().unwrap();
    let layered = including(layer, || call(&dispatcher, "cases::twice", std::slice::from_ref(&x)));
    assert_eq!(layered.unwrap(), "tensor([2., 4.])");
    assert_eq!(
        call(&dispatcher, "cases::layered_calls", &[]).unwrap(),
        "1",
        "the addition in it skips the layer"
    );
    assert_eq!(call(&dispatcher, "cases::guarded", std::slice::from_ref(&x)).unwrap(), "True False True");
    // The kernel is a fallback of a user's layer, so it counts as one.
    assert!(dispatcher.stats().count(SlowPath::FALLBACK, "cases::twice") > 0);
    assert!(
        strict(|| including(layer, || call(&dispatcher, "cases::twice", std::slice::from_ref(&x)))).is_err()
    );
    assert!(dispatcher.find("cases::twice").unwrap().tags().contains(&"pointwise".to_owned()));
}

#[test]
fn guards_that_are_kept_undo_their_own_change() {
    let (dispatcher, _plugin) = cpp("cases_kept");
    let keep = |on: bool| drop(call(&dispatcher, "cases::keep", &[on.into()]).unwrap());
    let (kept, other) = ("CasesLayer".parse::<DispatchKey>().unwrap(), DispatchKey::DeferredInit);
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
fn a_failing_entry_leaves_nothing() {
    for (case, expected) in [
        ("1", "halfway: the entry gave up"),
        ("2", "its entry returned status 7 and no error"),
        ("3", "the function of the kernel is null"),
        ("4", "OpgridKernel says that it has 8 bytes"),
        ("5", "multiple times"),
        ("6", "expected eof but found"),
        ("7", "the block does not exist"),
        ("8", "kind 9 is unknown"),
        ("9", "the name of a dispatch key is not UTF-8"),
        ("10", "could not parse dispatch key: NoSuchKey"),
        ("11", "a fallthrough has no function"),
    ] {
        let path = build(
            "crates/opgrid-plugin/tests/sources/liar.c",
            &format!("liar_{case}"),
            &[&format!("-DCASE={case}"), "-DMANIFEST=1"],
        );
        let (dispatcher, _operators) = subject();
        let before = dispatcher.operators().len();
        let error = dispatcher.load(&path).unwrap_err().to_string();
        assert!(error.contains(expected), "case {case}: {error}");
        assert!(error.contains(&format!("libliar_{case}.so")), "{error}");
        assert_eq!(dispatcher.operators().len(), before, "case {case}");
        assert!(dispatcher.find("liar::first").is_err(), "case {case}");
    }
}

#[test]
fn plugins_of_earlier_versions_are_loaded() {
    let path = build("examples/plugin-c/plugin.c", "earlier", &[]);
    let whole = std::fs::read(&path).unwrap();
    let written = format!("abi {OPGRID_ABI_MAJOR}.{OPGRID_ABI_MINOR}");
    let at = whole.windows(written.len()).position(|bytes| bytes == written.as_bytes()).unwrap();
    for minor in 0..OPGRID_ABI_MINOR {
        let mut bytes = whole.clone();
        bytes[at..at + written.len()].copy_from_slice(format!("abi {OPGRID_ABI_MAJOR}.{minor}").as_bytes());
        let path = path.with_file_name(format!("libearlier_{minor}.so"));
        std::fs::write(&path, bytes).unwrap();
        let (dispatcher, _operators) = subject();
        let plugin = dispatcher.load(&path).unwrap();
        assert_eq!(plugin.manifest().abi, (OPGRID_ABI_MAJOR, minor));
        let (x, y) = (floats(&[1.0, 2.0]), floats(&[10.0, 20.0]));
        let sum = call(&dispatcher, "demo_c::scale_add", &[(&x).into(), (&y).into(), 2.0.into()]);
        assert_eq!(sum.unwrap(), "tensor([21., 42.])");
    }
}

#[test]
fn a_file_that_is_no_plugin_of_ours_is_refused_before_it_runs() {
    for (case, option, expected) in [
        ("no_manifest", "-DMANIFEST=0", "does not define `opgrid_plugin_manifest`"),
        (
            "old",
            "-DMANIFEST=2",
            "was built for version 0.9 of the plugin interface, found 1.3 here; build the plugin",
        ),
        (
            "new",
            "-DMANIFEST=3",
            "was built for version 1.99 of the plugin interface, found 1.3 here; install a newer",
        ),
        ("no_entry", "-DMANIFEST=1 -DNO_ENTRY", "does not define `opgrid_plugin_init`"),
        ("second_core", "-DMANIFEST=1 -DSECOND_CORE", "contains a dispatcher of its own"),
        ("text", "-DMANIFEST=4", "the manifest has no `name`"),
    ] {
        let options: Vec<&str> = option.split(' ').chain(["-DCASE=0", "-DABORTS_WHEN_OPENED"]).collect();
        let path = build("crates/opgrid-plugin/tests/sources/liar.c", &format!("refused_{case}"), &options);
        let (dispatcher, _operators) = subject();
        let error = dispatcher.load(&path).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::File);
        assert!(error.to_string().contains(expected), "{case}: {error}");
    }
    let (dispatcher, _operators) = subject();
    let error = dispatcher.load(root().join("Cargo.toml")).unwrap_err().to_string();
    assert!(error.contains("Cargo.toml: found a file of another kind"), "{error}");
}

#[test]
fn errors_that_are_freed_twice_and_calls_after_the_end_do_no_harm() {
    let path =
        build("crates/opgrid-plugin/tests/sources/liar.c", "liar_kernels", &["-DCASE=20", "-DMANIFEST=1"]);
    let (dispatcher, _operators) = subject();
    let plugin = dispatcher.load(&path).unwrap();
    let check = |operator: &str, expected: &str| {
        let error = message(call(&dispatcher, operator, &[]));
        assert!(error.contains(expected), "{operator}: {error}");
    };
    check("liar::freed_before", "returned an error that does not exist");
    check("liar::freed_twice", "returned an error that does not exist");
    check("liar::no_error", "a plugin's kernel failed with status 8 and returned no error");
    check("liar::error_and_ok", "said on the way");
    check("liar::bad_tag", "a value has tag 999");
    check("liar::bad_text", "a string is not UTF-8");
    check("liar::bad_bool", "a bool is 7");
    check("liar::null_tensor", "a tensor is null");
    check("liar::late", "the entry of the plugin has returned");
    let handle = dispatcher.find("liar::no_error").unwrap();
    drop(plugin);
    assert_eq!(handle.call_values(Vec::new()).unwrap_err().kind(), ErrorKind::Stale);
}
