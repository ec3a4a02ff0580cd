//! Whatever is thrown at what reads files and descriptions, the host answers with an error and goes on.
#![allow(unsafe_code)]

use std::ffi::{CString, c_char, c_void};
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, Ordering};

use opgrid_abi::{
    OpgridDefinition, OpgridError, OpgridKernel, OpgridKeys, OpgridLibrary, OpgridOperator, OpgridPayload,
    OpgridResults, OpgridText, OpgridValue,
};
use opgrid_core::Dispatcher;
use opgrid_plugin::fuzzing::{api, manifest_of, with_library};
use proptest::prelude::*;

use crate::common::build;

/// The bytes of a plugin.
fn plugin() -> &'static [u8] {
    static BYTES: OnceLock<Vec<u8>> = OnceLock::new();
    BYTES.get_or_init(|| std::fs::read(build("examples/plugin-c/plugin.c", "fuzzed", &[])).unwrap())
}

#[test]
fn a_file_that_is_cut_short_is_refused() {
    assert_eq!(manifest_of(plugin()).unwrap().name, "plugin_c");
    // The last section header is the end of the file, and only its first bytes matter.
    for length in (0..plugin().len() - 64).step_by(7) {
        assert!(manifest_of(&plugin()[..length]).is_err(), "{length}");
    }
}

proptest! {
    #[test]
    fn no_bytes_crash_the_reader(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        prop_assert!(manifest_of(&bytes).is_err());
    }

    #[test]
    fn no_change_of_a_plugin_crashes_the_reader(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40),
        headers in prop::collection::vec((0usize..64, any::<u8>()), 0..6),
    ) {
        let mut bytes = plugin().to_vec();
        for (place, byte) in changes {
            let length = bytes.len();
            bytes[place.index(length)] = byte;
        }
        for (place, byte) in headers {
            bytes[place] = byte;
        }
        if let Ok(manifest) = manifest_of(&bytes) {
            prop_assert!(!manifest.name.is_empty());
        }
    }

    #[test]
    fn no_text_crashes_the_manifest(text in "(opgrid plugin\n)?([a-z]{0,10} ?[0-9.a-z ]{0,12}\n){0,8}") {
        if let Ok(manifest) = opgrid_plugin::Manifest::parse(&text) {
            prop_assert!(!manifest.version.is_empty());
        }
    }
}

static CONTEXTS: AtomicI64 = AtomicI64::new(0);

unsafe extern "C" fn release(_: *mut c_void) {
    CONTEXTS.fetch_sub(1, Ordering::Relaxed);
}

unsafe extern "C" fn kernel(
    _: *mut c_void,
    _: *const OpgridOperator,
    _: OpgridKeys,
    _: *const OpgridValue,
    _: usize,
    _: *mut OpgridResults,
    _: *mut *mut OpgridError,
) -> i32 {
    3
}

/// Strings as plugins may give them: none, well-formed, and not UTF-8.
fn text() -> impl Strategy<Value = Option<CString>> {
    prop_oneof![
        Just(None),
        prop::sample::select(vec![
            "f(Tensor x) -> Tensor",
            "f",
            "fuzz",
            "_",
            "CPU",
            "Autograd",
            "Undefined",
            "",
            "x::y",
            "pointwise",
            "f(",
            "🦀"
        ])
        .prop_map(|text| Some(CString::new(text).unwrap())),
        prop::collection::vec(1u8.., 0..12).prop_map(|bytes| Some(CString::new(bytes).unwrap())),
    ]
}

fn pointer(text: &Option<CString>) -> *const c_char {
    text.as_ref().map_or(ptr::null(), |text| text.as_ptr())
}

/// One thing that an entry says.
#[derive(Clone, Debug)]
enum Step {
    Open(u32, Option<CString>, Option<CString>),
    Define(usize, Option<CString>, Option<CString>),
    Implement(usize, Option<CString>, Option<CString>, u32, bool, Option<CString>),
    Fallback(usize, Option<CString>, u32, bool),
    Override,
    Layer(Option<CString>),
    Keys(Option<CString>),
}

fn step() -> impl Strategy<Value = Step> {
    let definition = size_of::<OpgridDefinition>();
    let description = size_of::<OpgridKernel>();
    prop_oneof![
        (0u32..4, text(), text()).prop_map(|(kind, namespace, key)| Step::Open(kind, namespace, key)),
        (prop_oneof![Just(definition), any::<usize>()], text(), text())
            .prop_map(|(size, schema, kind)| Step::Define(size, schema, kind)),
        (prop_oneof![Just(description), any::<usize>()], text(), text(), 0u32..5, any::<bool>(), text())
            .prop_map(|(size, name, key, flags, has, provider)| Step::Implement(
                size, name, key, flags, has, provider
            )),
        (prop_oneof![Just(description), any::<usize>()], text(), 0u32..5, any::<bool>())
            .prop_map(|(size, key, flags, has)| Step::Fallback(size, key, flags, has)),
        Just(Step::Override),
        text().prop_map(Step::Layer),
        text().prop_map(Step::Keys),
    ]
}

/// Whether the host takes over the context of a description of that size.
fn is_read(size: usize) -> bool {
    // As many as it had in version 1.0.
    (88..=1 << 12).contains(&size)
}

fn say(library: *mut OpgridLibrary, steps: &[Step]) {
    let api = api();
    let mut block = ptr::null_mut();
    for step in steps {
        let mut error = ptr::null_mut();
        let described =
            |size: usize, key: &Option<CString>, flags: u32, has: bool, provider: &Option<CString>| {
                if is_read(size) {
                    CONTEXTS.fetch_add(1, Ordering::Relaxed);
                }
                OpgridKernel {
                    struct_size: size,
                    key: pointer(key),
                    kernel: if has { Some(kernel) } else { None },
                    context: ptr::null_mut(),
                    release: Some(release),
                    flags,
                    line: 1,
                    file: ptr::null(),
                    provider: pointer(provider),
                    condition: None,
                    condition_text: ptr::null(),
                    description: ptr::null(),
                }
            };
        // SAFETY: every pointer is null or of something here; sizes that lie are what is tested, and larger ones are refused.
        unsafe {
            match step {
                Step::Open(kind, namespace, key) => {
                    (api.block_open)(
                        library,
                        *kind,
                        pointer(namespace),
                        pointer(key),
                        ptr::null(),
                        0,
                        &raw mut block,
                        &raw mut error,
                    );
                }
                Step::Define(size, schema, kind) => {
                    let definition = OpgridDefinition {
                        struct_size: *size,
                        schema: pointer(schema),
                        tags: ptr::null(),
                        tag_count: 0,
                        kind: pointer(kind),
                        file: ptr::null(),
                        line: 0,
                        documentation: pointer(kind),
                    };
                    (api.define)(block, &raw const definition, &raw mut error);
                }
                Step::Implement(size, name, key, flags, has, provider) => {
                    if name.as_ref().is_some_and(|name| name.to_str().is_ok()) {
                        let description = described(*size, key, *flags, *has, provider);
                        (api.implement)(block, pointer(name), &raw const description, &raw mut error);
                    }
                }
                Step::Fallback(size, key, flags, has) => {
                    let description = described(*size, key, *flags, *has, &None);
                    (api.fallback)(block, &raw const description, &raw mut error);
                }
                Step::Override => {
                    (api.block_allow_override)(block, &raw mut error);
                }
                Step::Layer(name) => {
                    let mut operator = ptr::null_mut();
                    (api.operator_find)(library, pointer(name), &raw mut operator, &raw mut error);
                    (api.operator_release)(operator);
                }
                Step::Keys(name) => {
                    let mut keys = OpgridKeys::default();
                    (api.keys_named)(pointer(name), &raw mut keys, &raw mut error);
                }
            }
            (api.error_release)(error);
        }
    }
}

proptest! {
    #[test]
    fn no_entry_crashes_the_host_or_leaves_anything(steps in prop::collection::vec(step(), 0..12), status in 0i32..2) {
        let dispatcher = Dispatcher::new();
        let registered = with_library(&dispatcher, "fuzzed", |library| {
            say(library, &steps);
            status
        });
        if registered.is_err() {
            prop_assert!(dispatcher.operators().is_empty());
        }
        dispatcher.check_invariants().unwrap();
        drop(registered);
        prop_assert!(dispatcher.operators().is_empty());
        opgrid_core::quiesce().unwrap();
        // Only this test makes contexts.
        prop_assert_eq!(CONTEXTS.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn no_value_crashes_the_host(tag in 0u32..30, number in any::<i64>(), size in 0u32..4) {
        // Tags that say that there is a pointer get null; a pointer to elsewhere is nothing that a host can find out.
        let number = if matches!(tag, 2 | 3 | 5 | 7 | 8 | 9 | 10) { number } else { 0 };
        let value = OpgridValue { tag, size, payload: OpgridPayload { int_value: number } };
        let (mut out, mut error) = (OpgridValue::NONE, ptr::null_mut());
        // SAFETY: the pointers are of values here.
        unsafe {
            (api().value_text)(&raw const value, &raw mut out, &raw mut error);
            (api().value_release)(&raw mut out);
            (api().error_release)(error);
            error = ptr::null_mut();
            (api().value_element)(&raw const value, number as usize, &raw mut out, &raw mut error);
            (api().value_release)(&raw mut out);
            (api().error_release)(error);
        }
    }

    #[test]
    fn no_handle_of_an_error_crashes_the_host(number in any::<usize>(), kind in any::<i32>()) {
        let text = "said";
        // SAFETY: handles of errors are numbers; the text is here.
        unsafe {
            (api().error_release)(ptr::without_provenance_mut(number | 1 << 40));
            let error = (api().error_new)(kind, OpgridText { data: text.as_ptr().cast(), size: text.len() });
            prop_assert_eq!((api().error_message)(error).size, 4);
            (api().error_release)(error);
            (api().error_release)(error);
        }
    }
}
