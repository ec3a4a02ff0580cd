//! Conformance statements R87 to R99: libraries, what they define and implement, and who hears of it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use crate::answers::{
    Answering, Expected, SCHEMA, answer, answer_boxed, ask, dispatchers, expect, keys_of, refused,
};
use crate::common::{define, implement, tensor};
use opgrid_core::schema::{AliasAnalysis, FunctionSchema};
use opgrid_core::{
    AnyTensor, BoxedCall, DispatchKey, DispatchKeySet, Dispatcher, ErrorKind, Kernel, Library, Listener,
    OperatorHandle, Result, operator,
};

use DispatchKey as Key;
use Expected::{Answer, Missing};

/// R87: operators are defined with and without kernels, and implemented where they are defined or elsewhere; a schema
/// that nothing implements is found.
#[test]
fn r87_definitions_and_implementations() {
    for dispatcher in dispatchers() {
        let mut library = dispatcher.library("test");
        library.define("alone(Tensor x) -> str");
        library.define("with_kernel(Tensor x) -> str").add(answer("own"));
        library.define("op(Tensor x) -> str");
        library.implement("op").add(answer("cpu").at(Key::Cpu));
        let defined = library.finish().unwrap();
        let mut library = dispatcher.implementations("test", Key::Cuda);
        library.implement("op").add(answer("cuda"));
        let implemented = library.finish().unwrap();

        let alone = dispatcher.find("test::alone").unwrap();
        assert!(alone.has_schema());
        assert_eq!(alone.schema().unwrap().to_string(), "test::alone(Tensor x) -> str");
        let error = alone.call_values(vec![tensor(Key::Cpu).into()]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::MissingKernel);
        let with_kernel = dispatcher.find("test::with_kernel").unwrap();
        assert!(with_kernel.has_kernel_for(Key::CompositeImplicitAutograd));
        expect(&dispatcher, Key::Cpu, Answer("cpu"));
        expect(&dispatcher, Key::Cuda, Answer("cuda"));
        expect(&dispatcher, Key::Xla, Missing);
        drop(implemented);
        expect(&dispatcher, Key::Cuda, Missing);
        drop(defined);
        assert!(dispatcher.registrations_for(None).is_empty());
    }
}

mod declared {
    //! Operators that are known at compile time: those of [`super::ask`] and of a library of the whole process.

    use opgrid_core::{AnyTensor as Tensor, Result};

    super::operator! {
        pub Op = "test::op(Tensor x) -> str";
        pub Def1 = "statement88::def1(Tensor self) -> Tensor";
        pub Def2 = "statement88::def2(Tensor self) -> Tensor";
        pub Def3 = "statement88::def3(Tensor self) -> Tensor";
        pub Impl1 = "statement88::impl1(Tensor self) -> Tensor";
    }

    pub fn same(input: &Tensor) -> Result<Tensor> {
        Ok(input.clone())
    }
}

/// R88: a library and a block of implementations at the top level of a program, whose operators serve the whole
/// process: defined with a kernel for a key, with a composite, with an inferred schema, and implemented elsewhere.
///
/// DIFFERENCE: nothing runs before `main`; a program registers where it says so.
#[test]
fn r88_a_library_of_the_whole_process() {
    use declared::{Def1, Def2, Def3, Impl1, same};
    type Same = fn(AnyTensor) -> AnyTensor;
    let mut library = Dispatcher::global().library("statement88");
    library.define(Def1).kernel(Key::Cpu, same);
    library.define(Def2).kernel(Key::CompositeImplicitAutograd, same);
    library.define_inferred("def3", Kernel::function::<Same>(same));
    library.define(Impl1);
    let _defined = library.finish().unwrap();
    let mut library = Dispatcher::global().implementations("statement88", Key::CatchAll);
    library.implement(Impl1).add(Kernel::function::<Same>(same));
    let _implemented = library.finish().unwrap();

    let x = tensor(Key::Cpu);
    for result in [Def1.call(&x), Def2.call(&x), Def3.call(&x), Impl1.call(&x)] {
        assert!(result.unwrap().is_same(&x));
    }
    let x = tensor(Key::Cuda);
    assert_eq!(Def1.call(&x).unwrap_err().kind(), ErrorKind::MissingKernel);
    assert!(Impl1.call(&x).unwrap().is_same(&x));
}

/// R89: the overloads of an operator are found, implemented and dropped separately.
#[test]
fn r89_overloads_are_found_separately() {
    for dispatcher in dispatchers() {
        let mut library = dispatcher.library("test");
        library.define("fn(Tensor x) -> str");
        library.define("fn.one(Tensor x, int y) -> str");
        let _both = library.finish().unwrap();
        let other = define(&dispatcher, "fn.two(Tensor x, float y) -> str").unwrap();
        for (name, schema) in [
            ("test::fn", "test::fn(Tensor x) -> str"),
            ("test::fn.one", "test::fn.one(Tensor x, int y) -> str"),
            ("test::fn.two", "test::fn.two(Tensor x, float y) -> str"),
        ] {
            assert_eq!(dispatcher.find(name).unwrap().schema().unwrap().to_string(), schema);
        }
        let _kernel = implement(&dispatcher, "fn.one", Key::Cpu, answer_boxed("one")).unwrap();
        assert!(dispatcher.find("test::fn.one").unwrap().has_kernel_for(Key::Cpu));
        assert!(!dispatcher.find("test::fn").unwrap().has_kernel_for(Key::Cpu));
        drop(other);
        let error = dispatcher.find("test::fn.two").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unknown);
        assert!(error.to_string().contains("test::fn.one"), "{error}");
    }
}

/// R90: a library defines in its own namespace alone; naming that one is allowed.
#[test]
fn r90_a_foreign_namespace_is_refused() {
    type Open = fn(&Dispatcher) -> Library;
    let blocks: [(&str, Open); 2] = [
        ("library", |dispatcher| dispatcher.library("test")),
        ("fragment", |dispatcher| dispatcher.fragment("test")),
    ];
    for dispatcher in dispatchers() {
        for (block, open) in blocks {
            let words = ["explicitly provided namespace (other)", block, "(test)", "libraries.rs"];
            refused(&dispatcher, ErrorKind::Registration, &words, || {
                let mut library = open(&dispatcher);
                library.define("other::op(Tensor x) -> str");
                library.finish()
            });
            refused(&dispatcher, ErrorKind::Registration, &words, || {
                let mut library = open(&dispatcher);
                library.define_inferred("other::op", answer("other"));
                library.finish()
            });
            refused(&dispatcher, ErrorKind::Registration, &words, || {
                let mut library = open(&dispatcher);
                library.implement("other::op").add(answer("other"));
                library.finish()
            });
            let mut library = open(&dispatcher);
            library.define("test::op(Tensor x) -> str").add(answer("own"));
            let _registered = library.finish().unwrap();
            expect(&dispatcher, Key::Cpu, Answer("own"));
        }
    }
}

/// R91: what a definition says about aliases: a text, that the schema tells all; a schema parsed before, nothing; a
/// kernel alone, that anything may happen; and whatever is said explicitly.
#[test]
fn r91_the_alias_analysis_of_definitions() {
    let parsed = || "test::op(Tensor x) -> str".parse::<FunctionSchema>().unwrap();
    type Define = fn(&mut Library, FunctionSchema);
    let cases: [(Define, &str); 6] = [
        (|library, _| drop(library.define(SCHEMA)), "FROM_SCHEMA"),
        (|library, schema| drop(library.define_schema(schema)), "CONSERVATIVE (default)"),
        (|library, _| drop(library.define_inferred("op", answer("kernel"))), "CONSERVATIVE"),
        (
            |library, _| drop(library.define(SCHEMA).alias_analysis(Some(AliasAnalysis::PureFunction))),
            "PURE_FUNCTION",
        ),
        (
            |library, mut schema| {
                schema.alias_analysis = Some(AliasAnalysis::PureFunction);
                library.define_schema(schema);
            },
            "PURE_FUNCTION",
        ),
        (|library, _| drop(library.define(SCHEMA).alias_analysis(None)), "CONSERVATIVE (default)"),
    ];
    for (define, kind) in cases {
        let dispatcher = Dispatcher::new();
        let mut library = dispatcher.library("test");
        define(&mut library, parsed());
        let _registered = library.finish().unwrap();
        let state = dispatcher.find("test::op").unwrap().dump_state().unwrap();
        assert!(state.contains(&format!("alias analysis kind: {kind}\n")), "{kind} is not in: {state}");
    }
}

/// R92: a definition's kernel can be for a key of its own instead of serving as a composite.
#[test]
fn r92_definitions_with_a_kernel_for_a_key() {
    let cases = [
        (Key::Cpu, [Answer("kernel"), Answer("kernel"), Missing]),
        (Key::Cuda, [Missing, Missing, Answer("kernel")]),
        (Key::Autograd, [Missing, Answer("kernel"), Missing]),
        (Key::CatchAll, [Answer("kernel"), Answer("kernel"), Answer("kernel")]),
    ];
    for dispatcher in dispatchers() {
        for inferred in [false, true] {
            for (key, [cpu, cpu_with_autograd, cuda]) in cases {
                let mut library = dispatcher.library("test");
                if inferred {
                    library.define_inferred("op", answer("kernel").at(key));
                } else {
                    library.define(SCHEMA).add(answer("kernel").at(key));
                }
                let _registered = library.finish().unwrap();
                expect(&dispatcher, keys_of(Key::Cpu, false), cpu);
                expect(&dispatcher, keys_of(Key::Cpu, true), cpu_with_autograd);
                expect(&dispatcher, keys_of(Key::Cuda, false), cuda);
            }
        }
    }
}

/// R93: kernels for several keys of one operator: each for its own, and the autograd one only for tensors that carry
/// autograd.
#[test]
fn r93_kernels_for_several_keys() {
    for dispatcher in dispatchers() {
        let mut library = dispatcher.library("test");
        library
            .define(SCHEMA)
            .add(answer("cpu").at(Key::Cpu))
            .add(answer("cuda").at(Key::Cuda))
            .add(answer("autograd").at(Key::Autograd));
        let _registered = library.finish().unwrap();
        for (backend, label) in [(Key::Cpu, "cpu"), (Key::Cuda, "cuda")] {
            expect(&dispatcher, keys_of(backend, false), Answer(label));
            expect(&dispatcher, keys_of(backend, true), Answer("autograd"));
        }
    }
}

/// R94: a block of the wildcard namespace registers a fallback for every operator, and nothing else.
#[test]
fn r94_fallbacks_come_from_the_wildcard_namespace() {
    for dispatcher in dispatchers() {
        let mut library = dispatcher.library("test");
        library.define(SCHEMA).add(answer("cpu").at(Key::Cpu));
        let _registered = library.finish().unwrap();
        let mut library = dispatcher.implementations("_", Key::Xla);
        library.fallback(Kernel::boxed(|call| {
            let name = call.operator().name().to_string();
            call.push(name);
            Ok(())
        }));
        let fallback = library.finish().unwrap();
        expect(&dispatcher, Key::Xla, Answer("test::op"));
        expect(&dispatcher, Key::Cpu, Answer("cpu"));
        drop(fallback);
        expect(&dispatcher, Key::Xla, Missing);

        type Open = fn(&Dispatcher) -> Library;
        let attempts: [(Open, &str); 3] = [
            (|dispatcher| dispatcher.implementations("test", Key::Xla), "single namespace"),
            (|dispatcher| dispatcher.fragment("test"), "inside of a fragment block"),
            (|dispatcher| dispatcher.implementations("_", None), "needs a dispatch key"),
        ];
        for (open, words) in attempts {
            refused(&dispatcher, ErrorKind::Registration, &["fallback(...)", words], || {
                let mut library = open(&dispatcher);
                library.fallback(answer_boxed("fallback"));
                library.finish()
            });
        }
        refused(&dispatcher, ErrorKind::Registration, &["(test)", "(_)"], || {
            let mut library = dispatcher.implementations("_", Key::Xla);
            library.implement("test::op").add(answer("xla"));
            library.finish()
        });
    }
}

/// R95: a BackendSelect kernel, which every call reaches, redispatches below itself.
#[test]
fn r95_a_backend_select_kernel_redispatches_below_itself() {
    for dispatcher in dispatchers() {
        let selected = Arc::new(AtomicUsize::new(0));
        let count = selected.clone();
        let mut library = dispatcher.library("test");
        library.define(SCHEMA).add(answer("cpu").at(Key::Cpu)).add(
            Kernel::layer::<Answering>(move |next, args| {
                count.fetch_add(1, Ordering::Relaxed);
                assert_eq!(next.keys().highest_priority_key(), Key::BackendSelect);
                next.redispatch(next.keys() & DispatchKeySet::full_after(Key::BackendSelect), args)
            })
            .at(Key::BackendSelect),
        );
        let _registered = library.finish().unwrap();
        assert_eq!(ask(&dispatcher, Key::Cpu).unwrap(), "cpu");
        assert_eq!(selected.load(Ordering::Relaxed), 2);
        expect(&dispatcher, Key::Cuda, Missing);
    }
}

/// R96: one library at a time defines a namespace; when it is gone another may. Fragments do not count.
#[test]
fn r96_a_second_library_of_a_namespace_is_refused() {
    for dispatcher in dispatchers() {
        let first = dispatcher.library("test").finish().unwrap();
        let words = ["only a single library", "namespace test", "libraries.rs"];
        let message = refused(&dispatcher, ErrorKind::Duplicate, &words, || {
            let mut library = dispatcher.library("test");
            library.define(SCHEMA);
            library.finish()
        });
        assert_eq!(message.matches("registered at").count(), 2, "{message}");
        let _other = dispatcher.library("other").finish().unwrap();
        let fragment = define(&dispatcher, SCHEMA).unwrap();
        drop(first);
        let second = dispatcher.library("test").finish().unwrap();
        refused(&dispatcher, ErrorKind::Duplicate, &words, || dispatcher.library("test").finish());
        drop((second, fragment));
        let _third = dispatcher.library("test").finish().unwrap();
    }
}

fn plain(_: &AnyTensor) -> Result<String> {
    Ok("kernel".into())
}

fn with_keys(keys: DispatchKeySet, _: &AnyTensor) -> Result<String> {
    assert_eq!(keys.highest_priority_key(), Key::Cpu);
    Ok("kernel".into())
}

fn boxed(call: &mut BoxedCall<'_>) -> Result<()> {
    call.push("kernel");
    Ok(())
}

/// R97: every form of kernel is accepted, by the methods that take functions and as a [`Kernel`], with a key of its
/// own or the block's, and with a text for dumps.
///
/// DIFFERENCE: the pointer to a function cannot be null here, so that nothing has to be refused for it.
#[test]
fn r97_every_form_of_kernel_is_accepted() {
    use declared::Op;
    type Add = fn(&mut Library);
    let forms: [(Add, &str); 12] = [
        (|library| drop(library.implement(Op).kernel(Key::Cpu, plain)), "[ boxed unboxed ]"),
        (
            |library| drop(library.implement(Op).kernel(Key::Cpu, |_| Ok("kernel".into()))),
            "[ boxed unboxed ]",
        ),
        (|library| drop(library.implement(Op).kernel_with_keys(Key::Cpu, with_keys)), "[ boxed unboxed ]"),
        (|library| drop(library.implement(Op).closure(Key::Cpu, |(x,)| plain(x))), "[ boxed unboxed ]"),
        (
            |library| drop(library.implement(Op).layer(Key::Cpu, |next, (x,)| with_keys(next.keys(), x))),
            "[ boxed unboxed ]",
        ),
        (|library| drop(library.implement(Op).boxed(Key::Cpu, boxed)), "[ boxed ]"),
        (|library| drop(library.implement("op").boxed(Key::Cpu, boxed)), "[ boxed ]"),
        (
            |library| drop(library.implement("op").add(Kernel::function::<Answering>(plain).at(Key::Cpu))),
            "[ boxed unboxed ]",
        ),
        (
            |library| {
                let kernel = Kernel::function_with_keys::<Answering>(with_keys);
                library.implement("op").add(kernel.at(Key::Cpu));
            },
            "[ boxed unboxed ]",
        ),
        (
            |library| {
                let kernel = Kernel::closure::<Answering>(|(x,)| plain(x));
                library.implement("op").add(kernel.at(Key::Cpu));
            },
            "[ boxed unboxed ]",
        ),
        (
            |library| {
                let kernel = Kernel::layer::<Answering>(|next, (x,)| with_keys(next.keys(), x));
                library.implement("op").add(kernel.at(Key::Cpu));
            },
            "[ boxed unboxed ]",
        ),
        (|library| drop(library.implement("op").add(Kernel::boxed(boxed).at(Key::Cpu))), "[ boxed ]"),
    ];
    for dispatcher in dispatchers() {
        let _defined = define(&dispatcher, SCHEMA).unwrap();
        for (add, words) in forms {
            let mut library = dispatcher.implementations("test", Key::Cpu);
            add(&mut library);
            let _registered = library.finish().unwrap();
            expect(&dispatcher, Key::Cpu, Answer("kernel"));
            let dump = dispatcher.find("test::op").unwrap().dump_state().unwrap();
            let line = dump.lines().find(|line| line.starts_with("CPU: ")).unwrap();
            assert!(line.contains("libraries.rs") && line.ends_with(words), "{line}");
        }
        check_state_and_texts(&dispatcher, "kernel".to_owned());
        check_fallthroughs(&dispatcher);
    }
}

/// Kernels with state keep it as long as they are registered; their text replaces file and line.
fn check_state_and_texts(dispatcher: &Dispatcher, state: String) {
    let held = Arc::new(state);
    let (typed, boxed) = (held.clone(), held.clone());
    let mut library = dispatcher.implementations("test", None);
    library.implement("op").add(
        Kernel::closure::<Answering>(move |_| Ok(typed.to_string())).at(Key::Cpu).describe("with state"),
    );
    library.implement("op").boxed(Key::Cuda, move |call| {
        call.push(boxed.as_str());
        Ok(())
    });
    let registered = library.finish().unwrap();
    expect(dispatcher, Key::Cpu, Answer("kernel"));
    expect(dispatcher, Key::Cuda, Answer("kernel"));
    let dump = dispatcher.find("test::op").unwrap().dump_state().unwrap();
    assert!(dump.contains("CPU: with state :: "), "{dump}");
    assert_eq!(Arc::strong_count(&held), 3);
    drop(registered);
    opgrid_core::quiesce().unwrap();
    assert_eq!(Arc::strong_count(&held), 1);
}

/// Calls step over fallthroughs, as builder method or as a kernel.
fn check_fallthroughs(dispatcher: &Dispatcher) {
    for as_kernel in [false, true] {
        let mut library = dispatcher.implementations("test", None);
        let op = library.implement("op").add(answer("cpu").at(Key::Cpu));
        if as_kernel {
            op.add(Kernel::fallthrough().at(Key::AutogradCpu));
        } else {
            op.fallthrough(Key::AutogradCpu);
        }
        let _registered = library.finish().unwrap();
        expect(dispatcher, DispatchKeySet::from_keys(&[Key::Cpu, Key::AutogradCpu]), Answer("cpu"));
        let dump = dispatcher.find("test::op").unwrap().dump_state().unwrap();
        let line = dump.lines().find(|line| line.starts_with("AutogradCPU: ")).unwrap();
        assert!(line.ends_with("[ fallthrough boxed ]"), "{line}");
    }
}

/// Writes down what it hears.
#[derive(Default)]
struct Log(Mutex<Vec<String>>);

impl Log {
    fn taken(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

impl Listener for Log {
    fn defined(&self, operator: &OperatorHandle, schema: &FunctionSchema) {
        self.0.lock().unwrap().push(format!("+{} {}", operator.name(), schema.arguments.len()));
    }

    fn dropped(&self, operator: &OperatorHandle, schema: &FunctionSchema) {
        self.0.lock().unwrap().push(format!("-{} {}", operator.name(), schema.arguments.len()));
    }
}

/// R98: a listener hears of definitions alone, beginning with those that are there, and of their end, with the
/// schema; not of kernels, nor of a library that failed.
#[test]
fn r98_listeners_hear_of_definitions() {
    for dispatcher in dispatchers() {
        let early = define(&dispatcher, "early(Tensor x) -> str").unwrap();
        let kernel = implement(&dispatcher, "undefined", Key::Cpu, answer("cpu")).unwrap();
        let log = Arc::new(Log::default());
        let listening = dispatcher.listen(log.clone());
        assert_eq!(log.taken(), ["+test::early 1"]);

        let of_early = implement(&dispatcher, "early", Key::Cpu, answer("cpu")).unwrap();
        let of_op = implement(&dispatcher, "op", Key::Cpu, answer("cpu")).unwrap();
        assert_eq!(log.taken(), Vec::<String>::new());
        let op = define(&dispatcher, SCHEMA).unwrap();
        assert_eq!(log.taken(), ["+test::op 1"]);
        refused(&dispatcher, ErrorKind::Duplicate, &["multiple times"], || {
            let mut library = dispatcher.fragment("test");
            library.define("third() -> ()");
            library.define(SCHEMA);
            library.finish()
        });
        assert_eq!(log.taken(), Vec::<String>::new());
        drop(op);
        assert_eq!(log.taken(), ["-test::op 1"]);
        drop((of_op, of_early, kernel));
        assert_eq!(log.taken(), Vec::<String>::new());
        drop(early);
        assert_eq!(log.taken(), ["-test::early 1"]);
        drop(listening);
        let _unheard = define(&dispatcher, SCHEMA).unwrap();
        assert_eq!(log.taken(), Vec::<String>::new());
    }
}

/// R99: no operator is implemented and undefined, in new dispatchers and after all of the above; one that is, is
/// listed, and its dump names the place.
#[test]
fn r99_no_implementation_dangles() {
    for dispatcher in dispatchers() {
        assert!(dispatcher.dangling_implementations().is_empty());
        let defined = define(&dispatcher, SCHEMA).unwrap();
        let kernel = {
            let mut library = dispatcher.implementations("test", Key::Cpu);
            library.implement("op").add(answer_boxed("cpu"));
            library.implement("misspelt").add(Kernel::boxed(boxed));
            library.finish().unwrap()
        };
        let names = |dispatcher: &Dispatcher| -> Vec<String> {
            let dangling = dispatcher.dangling_implementations();
            dangling.iter().map(|operator| operator.name().to_string()).collect()
        };
        assert_eq!(names(&dispatcher), ["test::misspelt"]);
        let dump = dispatcher.dangling_implementations()[0].dump_state().unwrap();
        assert!(dump.contains("schema: (none)") && dump.contains("libraries.rs:"), "{dump}");
        let error = dispatcher.find("test::misspelt").unwrap_err().to_string();
        assert!(error.contains("we found an implementation"), "{error}");
        drop(defined);
        assert_eq!(names(&dispatcher), ["test::misspelt", "test::op"]);
        drop(kernel);
        assert!(dispatcher.dangling_implementations().is_empty());
    }
}
