//! Conformance statements R1 to R42: the legacy registration call, and kernels that come, go and replace each other.

use std::sync::{Arc, Mutex};

use crate::answers::{
    Answering, Expected, SCHEMA, answer, answer_boxed, ask, dispatchers, expect, keys_of, refused, state,
};
use crate::common::{define, implement, tensor};
use opgrid_core::schema::AliasAnalysis;
use opgrid_core::{
    AnyTensor, DispatchKey, DispatchKeySet, Dispatcher, ErrorKind, Kernel, LegacyOptions, Registration,
    Returns, Value,
};

const QUALIFIED: &str = "test::op(Tensor x) -> str";

/// Backends of every sort: with and without a component of their own, and kinds of one backend.
const BACKENDS: [DispatchKey; 8] = [
    DispatchKey::Cpu,
    DispatchKey::Cuda,
    DispatchKey::Xla,
    DispatchKey::Lazy,
    DispatchKey::PrivateUse1,
    DispatchKey::SparseCpu,
    DispatchKey::QuantizedCpu,
    DispatchKey::Fpga,
];

/// R1: without a schema and a name there is nothing to register.
#[test]
fn r1_a_registration_without_name_fails() {
    for dispatcher in dispatchers() {
        refused(
            &dispatcher,
            ErrorKind::Registration,
            &["without specifying a schema or operator name"],
            || dispatcher.register("", LegacyOptions::new().kernel(DispatchKey::Cpu, answer("cpu"))),
        );
    }
}

/// R2, R3, R4, R5: schema or name can stand before the kernel, behind it, or in front of the options.
#[test]
fn r2_r3_r4_r5_the_place_of_the_schema_among_the_options_does_not_matter() {
    type Form = fn(&'static str) -> (&'static str, LegacyOptions);
    let forms: [Form; 3] = [
        |text| ("", LegacyOptions::new().schema(text).kernel(DispatchKey::Cpu, answer("cpu"))),
        |text| ("", LegacyOptions::new().kernel(DispatchKey::Cpu, answer("cpu")).schema(text)),
        |text| (text, LegacyOptions::new().kernel(DispatchKey::Cpu, answer("cpu"))),
    ];
    for text in [QUALIFIED, "test::op"] {
        for form in forms {
            let dispatcher = Dispatcher::new();
            let (given, options) = form(text);
            let _registered = dispatcher.register(given, options).unwrap();
            expect(&dispatcher, DispatchKey::Cpu, Expected::Answer("cpu"));
            let inferred = text == "test::op";
            let schema = dispatcher.find("test::op").unwrap().schema().unwrap().to_string();
            let expected = if inferred { "test::op(Tensor _0) -> str _0" } else { QUALIFIED };
            assert_eq!(schema, expected);
        }
    }
    let dispatcher = Dispatcher::new();
    refused(&dispatcher, ErrorKind::Registration, &["only specify the schema once"], || {
        dispatcher.register(QUALIFIED, LegacyOptions::new().schema(QUALIFIED))
    });
}

/// R6: a kernel of another key is not run; the error names the operator, the key and what there is.
#[test]
fn r6_a_call_with_another_key_could_not_run() {
    for dispatcher in dispatchers() {
        let options = LegacyOptions::new().kernel(DispatchKey::Cuda, answer("cuda"));
        let _registered = dispatcher.register(QUALIFIED, options).unwrap();
        expect(&dispatcher, DispatchKey::Cuda, Expected::Answer("cuda"));
        refused(
            &dispatcher,
            ErrorKind::MissingKernel,
            &["could not run 'test::op'", "'CPU' backend", "[", "CUDA"],
            || ask(&dispatcher, DispatchKey::Cpu),
        );
    }
}

/// R7: a catch-all kernel serves every backend, with and without autograd.
#[test]
fn r7_a_catch_all_kernel_is_called_for_any_key() {
    for dispatcher in dispatchers() {
        let _registered =
            dispatcher.register(QUALIFIED, LegacyOptions::new().catch_all(answer("catch-all"))).unwrap();
        for backend in BACKENDS {
            for grad in [false, true] {
                expect(&dispatcher, keys_of(backend, grad), Expected::Answer("catch-all"));
            }
        }
    }
}

/// R8, R9: a kernel for a key can go and a catch-all one come, and the other way round.
#[test]
fn r8_r9_kernels_of_a_key_and_catch_all_kernels_follow_each_other() {
    let kernel = |catch_all: bool| {
        if catch_all {
            LegacyOptions::new().catch_all(answer("catch-all"))
        } else {
            LegacyOptions::new().kernel(DispatchKey::Cpu, answer("cpu"))
        }
    };
    for dispatcher in dispatchers() {
        for catch_all_first in [false, true] {
            for catch_all in [catch_all_first, !catch_all_first] {
                let registered = dispatcher.register(QUALIFIED, kernel(catch_all)).unwrap();
                let label = if catch_all { "catch-all" } else { "cpu" };
                expect(&dispatcher, DispatchKey::Cpu, Expected::Answer(label));
                let elsewhere = if catch_all { Expected::Answer(label) } else { Expected::Missing };
                expect(&dispatcher, DispatchKey::Xla, elsewhere);
                drop(registered);
                assert!(dispatcher.find("test::op").is_err());
            }
        }
    }
}

/// R10: a schema alone is an operator that cannot be called.
#[test]
fn r10_a_schema_alone_registers_and_cannot_be_called() {
    for dispatcher in dispatchers() {
        let _registered = dispatcher.register(QUALIFIED, LegacyOptions::new()).unwrap();
        assert!(dispatcher.find("test::op").unwrap().has_schema());
        let words = ["could not run 'test::op'", "'CPU' backend"];
        refused(&dispatcher, ErrorKind::MissingKernel, &words, || ask(&dispatcher, DispatchKey::Cpu));
    }
}

/// R11: a name alone says too little.
#[test]
fn r11_a_name_without_kernels_fails() {
    for dispatcher in dispatchers() {
        refused(
            &dispatcher,
            ErrorKind::Registration,
            &["cannot infer operator schema", "test::op", "no kernel specified"],
            || dispatcher.register("test::op", LegacyOptions::new()),
        );
        assert!(dispatcher.find_with_or_without_schema("test::op").is_err());
    }
}

/// R12: the schema goes with its registration.
#[test]
fn r12_a_schema_disappears_with_its_registration() {
    for dispatcher in dispatchers() {
        let registered = dispatcher.register(QUALIFIED, LegacyOptions::new()).unwrap();
        let operator = dispatcher.find("test::op").unwrap();
        drop(registered);
        assert_eq!(dispatcher.find("test::op").unwrap_err().kind(), ErrorKind::Unknown);
        assert_eq!(operator.schema().unwrap_err().kind(), ErrorKind::Stale);
        let call = operator.call_values(vec![tensor(DispatchKey::Cpu).into()]);
        assert_eq!(call.unwrap_err().kind(), ErrorKind::Stale);
        assert!(dispatcher.registrations_for(None).is_empty());
    }
}

/// R13: a kernel that is registered after the schema, and after the handle was found, is called.
#[test]
fn r13_a_kernel_registered_later_is_called() {
    for dispatcher in dispatchers() {
        let _schema = dispatcher.register(QUALIFIED, LegacyOptions::new()).unwrap();
        let typed = dispatcher.find("test::op").unwrap().typed::<Answering>().unwrap();
        let argument = tensor(DispatchKey::Cpu);
        assert_eq!(typed.call((&argument,)).unwrap_err().kind(), ErrorKind::MissingKernel);
        let _kernel = implement(&dispatcher, "op", DispatchKey::Cpu, answer("cpu")).unwrap();
        assert_eq!(typed.call((&argument,)).unwrap(), "cpu");
        expect(&dispatcher, DispatchKey::Cpu, Expected::Answer("cpu"));
    }
}

/// R14: neither another schema nor a kernel of another schema joins a defined operator.
#[test]
fn r14_a_later_registration_with_another_schema_fails() {
    for dispatcher in dispatchers() {
        let options = LegacyOptions::new().kernel(DispatchKey::Cpu, answer("cpu"));
        let _registered = dispatcher.register(QUALIFIED, options).unwrap();
        let other = "test::op(Tensor x, int y) -> str";
        let words =
            ["(test::op(Tensor x, int y) -> str)", "multiple times", "registered by RegisterOperators"];
        refused(&dispatcher, ErrorKind::Duplicate, &words, || {
            dispatcher.register(other, LegacyOptions::new())
        });
        type Other = fn(AnyTensor, i64) -> String;
        let kernel = || Kernel::closure::<Other>(|_| Ok("other".into()));
        let words = ["test::op(Tensor x) -> str", "number of arguments is different", "1 vs 2"];
        for key in [DispatchKey::Cpu, DispatchKey::Cuda, DispatchKey::CatchAll] {
            refused(&dispatcher, ErrorKind::Signature, &words, || {
                implement(&dispatcher, "op", key, kernel())
            });
        }
        expect(&dispatcher, DispatchKey::Cpu, Expected::Answer("cpu"));
    }
}

/// R15: the schema outlives a kernel, and calls fail then.
#[test]
fn r15_the_schema_stays_when_the_kernel_goes() {
    for dispatcher in dispatchers() {
        let _schema = define(&dispatcher, SCHEMA).unwrap();
        let before = state(&dispatcher);
        for key in [DispatchKey::Cpu, DispatchKey::CatchAll] {
            let kernel = implement(&dispatcher, "op", key, answer("kernel")).unwrap();
            expect(&dispatcher, DispatchKey::Cpu, Expected::Answer("kernel"));
            drop(kernel);
            expect(&dispatcher, DispatchKey::Cpu, Expected::Missing);
            assert_eq!(state(&dispatcher), before);
        }
    }
}

/// R16: an operator without tensors among its inputs registers, with kernels for keys too; only those that serve
/// calls without keys can run.
#[test]
fn r16_an_operator_without_tensor_inputs_registers() {
    type NoInputs = fn() -> String;
    let kernel = |label: &'static str| Kernel::closure::<NoInputs>(move |()| Ok(label.to_owned()));
    for dispatcher in dispatchers() {
        let options =
            LegacyOptions::new().kernel(DispatchKey::Cpu, kernel("cpu")).catch_all(kernel("catch-all"));
        let registered = dispatcher.register("test::op() -> str", options).unwrap();
        let operator = dispatcher.find("test::op").unwrap();
        assert_eq!(operator.typed::<NoInputs>().unwrap().call(()).unwrap(), "catch-all");
        assert_eq!(operator.call_values(vec![]).unwrap(), [Value::from("catch-all")]);
        drop(registered);
        let options = LegacyOptions::new().kernel(DispatchKey::Cpu, kernel("cpu"));
        let _registered = dispatcher.register("test::op() -> str", options).unwrap();
        let error = dispatcher.find("test::op").unwrap().call_values(vec![]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::MissingKernel);
        assert!(error.to_string().contains("there were no tensor arguments"), "{error}");
    }
}

/// R17, R20: replacing the kernel of a key, or the catch-all kernel, warns with operator, key and both kernels.
///
/// DIFFERENCE: every replacement is reported, not only the first of the process, and the kernel named as the previous
/// one is the one that ran until now; without leave to replace, a second kernel is an error.
#[test]
fn r17_r20_replacing_a_kernel_warns() {
    let cases = [(DispatchKey::Cpu, "CPU"), (DispatchKey::CatchAll, "CompositeImplicitAutograd")];
    for (key, name) in cases {
        for dispatcher in dispatchers() {
            let warnings = Arc::new(Mutex::new(Vec::new()));
            let log = warnings.clone();
            dispatcher.on_override(move |warning| log.lock().unwrap().push(warning.to_string()));
            let _schema = define(&dispatcher, SCHEMA).unwrap();
            let _first = implement(&dispatcher, "op", key, answer("first")).unwrap();
            assert!(warnings.lock().unwrap().is_empty());
            let _second = implement(&dispatcher, "op", key, answer("second")).unwrap();
            let _third = implement(&dispatcher, "op", key, answer("third")).unwrap();
            let found = warnings.lock().unwrap().clone();
            assert_eq!(found.len(), 2);
            for (text, previous, new) in [(&found[0], "first", "second"), (&found[1], "second", "third")] {
                for words in [
                    "overriding a previously registered kernel for the same operator and the same dispatch key",
                    "operator: test::op(Tensor x) -> str",
                    &format!("dispatch key: {name}"),
                    &format!("previous kernel: {previous}"),
                    &format!("new kernel: {new}"),
                ] {
                    assert!(text.contains(words), "{words:?} is not in: {text}");
                }
            }
            refused(&dispatcher, ErrorKind::Duplicate, &["test::op", name, "third", "fourth"], || {
                let mut library = dispatcher.implementations("test", None);
                library.implement("op").add(answer("fourth").at(key));
                library.finish()
            });
        }
    }
}

/// R17: for Meta and MTIA replacing is the ordinary course, and nothing is said.
#[test]
fn r17_replacing_a_meta_or_mtia_kernel_does_not_warn() {
    for key in [DispatchKey::Meta, DispatchKey::Mtia] {
        let dispatcher = Dispatcher::new();
        let warnings = Arc::new(Mutex::new(Vec::new()));
        let log = warnings.clone();
        dispatcher.on_override(move |warning| log.lock().unwrap().push(warning.to_string()));
        let _first = implement(&dispatcher, "op", key, answer("first")).unwrap();
        let _second = implement(&dispatcher, "op", key, answer("second")).unwrap();
        assert_eq!(*warnings.lock().unwrap(), Vec::<String>::new(), "{key}");
    }
}

/// R18, R21: one call cannot give two kernels for one key, nor two catch-all kernels.
#[test]
fn r18_r21_two_kernels_for_one_key_in_one_call_fail() {
    for dispatcher in dispatchers() {
        for text in [QUALIFIED, "test::op"] {
            let words = ["multiple kernels with same dispatch key CPU", text];
            refused(&dispatcher, ErrorKind::Registration, &words, || {
                let options = LegacyOptions::new().kernel(DispatchKey::Cpu, answer("first"));
                dispatcher.register(text, options.kernel(DispatchKey::Cpu, answer("second")))
            });
            let catch_all = || LegacyOptions::new().catch_all(answer("first"));
            let twice = [
                catch_all().catch_all(answer("second")),
                catch_all().kernel(DispatchKey::CatchAll, answer("second")),
            ];
            for options in twice {
                refused(&dispatcher, ErrorKind::Registration, &["multiple catch-all kernels", text], || {
                    dispatcher.register(text, options)
                });
            }
        }
    }
}

/// One thing that happens to a stack of kernels.
enum Event {
    Add(&'static str),
    Drop(&'static str),
    Answers(&'static str),
    Fails,
}

/// Lets the events happen to the kernels of one key, and looks after each at the answer to a CPU tensor.
fn check_stack(dispatcher: &Dispatcher, key: DispatchKey, events: &[Event]) {
    let _schema = define(dispatcher, SCHEMA).unwrap();
    let mut kernels: Vec<(&str, Registration)> = Vec::new();
    for event in events {
        match event {
            Event::Add(label) => {
                kernels.push((label, implement(dispatcher, "op", key, answer(label)).unwrap()));
            }
            Event::Drop(label) => kernels.retain(|(known, _)| known != label),
            Event::Answers(label) => expect(dispatcher, DispatchKey::Cpu, Expected::Answer(label)),
            Event::Fails => expect(dispatcher, DispatchKey::Cpu, Expected::Missing),
        }
        dispatcher.check_invariants().unwrap();
    }
}

/// R19 and R22: the newer kernel is called. R23, R24: without the newer the older. R25, R26: without the older the
/// newer. R27, R28, R29, R30: without both, whichever goes first, calls fail. Each for a key and for catch-all kernels.
#[test]
fn r19_r22_to_r30_the_newest_kernel_that_is_left_is_called() {
    use Event::{Add, Answers, Drop, Fails};
    let stories: [&[Event]; 4] = [
        &[Add("older"), Answers("older"), Add("newer"), Answers("newer")],
        &[Add("older"), Add("newer"), Drop("newer"), Answers("older"), Drop("older"), Fails],
        &[Add("older"), Add("newer"), Drop("older"), Answers("newer"), Drop("newer"), Fails],
        &[
            Add("older"),
            Add("middle"),
            Add("newer"),
            Drop("middle"),
            Answers("newer"),
            Drop("newer"),
            Answers("older"),
            Add("newest"),
            Answers("newest"),
            Drop("newest"),
            Drop("older"),
            Fails,
        ],
    ];
    for events in stories {
        for key in [DispatchKey::Cpu, DispatchKey::CatchAll] {
            for dispatcher in dispatchers() {
                check_stack(&dispatcher, key, events);
            }
        }
    }
}

/// R31: a redispatch looks at the keys that it is given and not at the tensor's, in both directions.
#[test]
fn r31_a_redispatch_ignores_the_keys_of_the_tensor() {
    for dispatcher in dispatchers() {
        let options = LegacyOptions::new()
            .kernel(DispatchKey::Cpu, answer("cpu"))
            .kernel(DispatchKey::Cuda, answer("cuda"));
        let _registered = dispatcher.register(QUALIFIED, options).unwrap();
        let operator = dispatcher.find("test::op").unwrap();
        let typed = operator.typed::<Answering>().unwrap();
        for (own, given, label) in
            [(DispatchKey::Cpu, DispatchKey::Cuda, "cuda"), (DispatchKey::Cuda, DispatchKey::Cpu, "cpu")]
        {
            let argument = tensor(own);
            let keys = DispatchKeySet::from(given);
            assert_eq!(typed.redispatch(keys, (&argument,)).unwrap(), label);
            let mut returns = Returns::new();
            operator.redispatch_boxed(keys, &[Value::from(argument).borrow()], &mut returns).unwrap();
            assert_eq!(returns.into_single().unwrap(), Value::from(label));
        }
    }
}

/// R32: of several kernels in one call the key chooses; where it has none, the error lists those that there are.
/// R33: when the registration goes, every call fails.
#[test]
fn r32_r33_several_kernels_in_one_call() {
    for dispatcher in dispatchers() {
        let options = LegacyOptions::new()
            .kernel(DispatchKey::Cpu, answer("cpu"))
            .kernel(DispatchKey::Cuda, answer("cuda"));
        let registered = dispatcher.register(QUALIFIED, options).unwrap();
        expect(&dispatcher, DispatchKey::Cpu, Expected::Answer("cpu"));
        expect(&dispatcher, DispatchKey::Cuda, Expected::Answer("cuda"));
        let words = ["could not run 'test::op'", "'XLA' backend", "[CPU, CUDA"];
        refused(&dispatcher, ErrorKind::MissingKernel, &words, || ask(&dispatcher, DispatchKey::Xla));

        let operator = dispatcher.find("test::op").unwrap();
        let typed = operator.typed::<Answering>().unwrap();
        drop(registered);
        for key in [DispatchKey::Cpu, DispatchKey::Cuda, DispatchKey::Xla] {
            assert_eq!(typed.call((&tensor(key),)).unwrap_err().kind(), ErrorKind::Stale);
            assert_eq!(ask(&dispatcher, key).unwrap_err().kind(), ErrorKind::Unknown);
        }
    }
}

/// R34: boxed kernels alone do not tell the schema of a name. R35: with a schema each is called for its key.
#[test]
fn r34_r35_boxed_kernels_alone_need_a_schema() {
    let boxed = || {
        LegacyOptions::new()
            .kernel(DispatchKey::Cpu, answer_boxed("cpu"))
            .kernel(DispatchKey::Cuda, answer_boxed("cuda"))
    };
    for dispatcher in dispatchers() {
        let words = ["cannot infer operator schema for this kind of kernel", "test::op"];
        refused(&dispatcher, ErrorKind::Registration, &words, || dispatcher.register("test::op", boxed()));
        let _registered = dispatcher.register(QUALIFIED, boxed()).unwrap();
        expect(&dispatcher, DispatchKey::Cpu, Expected::Answer("cpu"));
        expect(&dispatcher, DispatchKey::Cuda, Expected::Answer("cuda"));
        expect(&dispatcher, DispatchKey::Xla, Expected::Missing);
    }
}

/// R36: one typed kernel among boxed ones tells the schema of a name, wherever it stands. R37: so with a schema.
#[test]
fn r36_r37_one_typed_kernel_tells_the_schema() {
    let kernels = [DispatchKey::Cpu, DispatchKey::Cuda, DispatchKey::Xla];
    let labels = ["cpu", "cuda", "xla"];
    for (text, schema) in
        [("test::op", "test::op(Tensor _0) -> str _0"), (QUALIFIED, "test::op(Tensor x) -> str")]
    {
        for typed in 0..kernels.len() {
            for dispatcher in dispatchers() {
                let options = kernels.iter().zip(labels).enumerate().fold(
                    LegacyOptions::new(),
                    |options, (place, (key, label))| {
                        let kernel = if place == typed { answer(label) } else { answer_boxed(label) };
                        options.kernel(*key, kernel)
                    },
                );
                let _registered = dispatcher.register(text, options).unwrap();
                let operator = dispatcher.find("test::op").unwrap();
                assert_eq!(operator.schema().unwrap().to_string(), schema);
                for (key, label) in kernels.into_iter().zip(labels) {
                    expect(&dispatcher, key, Expected::Answer(label));
                }
            }
        }
    }
}

/// R38: kernels of one call that do not agree are refused together.
#[test]
fn r38_mismatching_kernels_in_one_call_fail() {
    type Other = fn(AnyTensor, i64) -> String;
    let other = || Kernel::closure::<Other>(|_| Ok("other".into()));
    for dispatcher in dispatchers() {
        for text in [QUALIFIED, "test::op"] {
            for swapped in [false, true] {
                refused(&dispatcher, ErrorKind::Signature, &["test::op"], || {
                    let (first, second) =
                        if swapped { (other(), answer("one")) } else { (answer("one"), other()) };
                    let options = LegacyOptions::new().kernel(DispatchKey::Cpu, first);
                    dispatcher.register(text, options.kernel(DispatchKey::Cuda, second))
                });
                assert!(dispatcher.find_with_or_without_schema("test::op").is_err());
            }
        }
    }
}

/// R39, R42: a second definition is refused, whatever either says about aliases: the same, something else or nothing.
#[test]
fn r39_r42_a_second_definition_is_refused_with_every_alias_analysis() {
    let kinds = [None, Some(AliasAnalysis::Conservative), Some(AliasAnalysis::PureFunction)];
    let options = |kind: Option<AliasAnalysis>| match kind {
        Some(kind) => LegacyOptions::new().catch_all(answer("kernel")).alias_analysis(kind),
        None => LegacyOptions::new().catch_all(answer("kernel")),
    };
    for dispatcher in dispatchers() {
        for first in kinds {
            for second in kinds {
                let _registered = dispatcher.register(QUALIFIED, options(first)).unwrap();
                refused(&dispatcher, ErrorKind::Duplicate, &["test::op", "multiple times"], || {
                    dispatcher.register(QUALIFIED, options(second))
                });
            }
        }
    }
}

/// R40: the alias analysis kind that was given can be read back. R41: without one the default is reported as such.
#[test]
fn r40_r41_the_alias_analysis_kind_can_be_read_back() {
    let cases = [
        (None, "alias analysis kind: CONSERVATIVE (default)\n"),
        (Some(AliasAnalysis::Conservative), "alias analysis kind: CONSERVATIVE\n"),
        (Some(AliasAnalysis::FromSchema), "alias analysis kind: FROM_SCHEMA\n"),
        (Some(AliasAnalysis::PureFunction), "alias analysis kind: PURE_FUNCTION\n"),
    ];
    for dispatcher in dispatchers() {
        for (kind, line) in cases {
            let options = match kind {
                Some(kind) => LegacyOptions::new().alias_analysis(kind),
                None => LegacyOptions::new(),
            };
            let _registered = dispatcher.register(QUALIFIED, options).unwrap();
            let operator = dispatcher.find("test::op").unwrap();
            assert_eq!(operator.schema().unwrap().alias_analysis, kind);
            let state = operator.dump_state().unwrap();
            assert!(state.contains(line), "{line:?} is not in: {state}");
        }
        refused(&dispatcher, ErrorKind::Registration, &["only call alias_analysis() once"], || {
            let kind = AliasAnalysis::PureFunction;
            dispatcher.register(QUALIFIED, LegacyOptions::new().alias_analysis(kind).alias_analysis(kind))
        });
    }
}
