//! What registration refuses, and what it leaves behind: nothing.
//!
//! Each refused case runs on a dispatcher that already has a library, a kernel and a fallback. Messages are compared
//! by their essentials; what the dispatcher shows before and after has to be equal.

use std::sync::{Arc, Mutex};

use opgrid_core::schema::{AliasAnalysis, FunctionSchema};
use opgrid_core::{
    AnyTensor, DispatchKey as Key, Dispatcher, Error, ErrorKind, Kernel, LegacyOptions, Registration, Result,
    Returns, ValueRef,
};

type Unary = fn(AnyTensor) -> AnyTensor;
type Binary = fn(AnyTensor, AnyTensor) -> AnyTensor;

/// A kernel of one tensor.
fn unary() -> Kernel {
    Kernel::function::<Unary>(|x| Ok(x.clone()))
}

/// A kernel of two tensors.
fn binary() -> Kernel {
    Kernel::function::<Binary>(|x, _| Ok(x.clone()))
}

/// A kernel whose schema nobody can infer.
fn boxed() -> Kernel {
    Kernel::boxed(|_| Ok(()))
}

/// An operator `test::foo` with a kernel for CPU, and a fallback for the mode key of the tests.
fn populated() -> (Dispatcher, Vec<Registration>) {
    let dispatcher = Dispatcher::with_reference_fallbacks();
    let mut library = dispatcher.library("test");
    library
        .define("foo(Tensor x) -> Tensor")
        .describe("the def")
        .add(unary().at(Key::Cpu).describe("the cpu kernel"));
    let mut fallbacks = dispatcher.implementations("_", Key::TestingOnlyGenericMode);
    fallbacks.fallback(boxed().describe("the fallback"));
    let registrations = vec![library.finish().unwrap(), fallbacks.finish().unwrap()];
    (dispatcher, registrations)
}

/// Everything that can be seen of every operator.
fn state(dispatcher: &Dispatcher) -> String {
    dispatcher.check_invariants().unwrap();
    let operators = dispatcher.registrations_for(None);
    let dumps = operators.iter().flat_map(|operator| {
        [operator.dump_state(), operator.dump_computed_table(), operator.dump_extractor()].map(Result::unwrap)
    });
    dumps.collect()
}

#[track_caller]
fn check_error(error: &Error, kind: ErrorKind, essentials: &[&str]) {
    assert_eq!(error.kind(), kind, "{error}");
    for essential in essentials {
        assert!(error.message().contains(essential), "`{essential}` is missing in: {error}");
    }
}

/// Something to register, and the essentials of the message that refuses it.
type Case<'c> = (fn(&Dispatcher) -> Result<Registration>, &'c [&'c str]);

/// Checks that every case is refused and leaves no trace.
#[track_caller]
fn check_refused(kind: ErrorKind, cases: &[Case<'_>]) {
    for (register, essentials) in cases {
        let (dispatcher, registrations) = populated();
        let before = state(&dispatcher);
        let error = register(&dispatcher).expect_err("the case is refused");
        check_error(&error, kind, essentials);
        assert_eq!(state(&dispatcher), before, "{error}");
        drop(registrations);
        assert!(dispatcher.registrations_for(None).is_empty(), "{error}");
    }
}

/// The end of messages that a library has found itself.
const CONTEXT: &str = concat!("block at ", file!(), ":");

#[test]
fn a_namespace_has_one_library_at_a_time() {
    let (dispatcher, mut registrations) = populated();
    let line = line!() + 1;
    let error = dispatcher.library("test").finish().unwrap_err();
    let essentials = [
        "only a single library can define the namespace test",
        "`Dispatcher::fragment`",
        "`Dispatcher::implementations`",
        &format!("latest registration was registered at {}:{line}", file!()),
        &format!("Previous registration of the library was registered at {}:", file!()),
    ];
    check_error(&error, ErrorKind::Duplicate, &essentials);
    // Fragments claim nothing, and the namespace is free as soon as its library is gone.
    let fragments =
        [dispatcher.fragment("test").finish().unwrap(), dispatcher.fragment("test").finish().unwrap()];
    drop(registrations.remove(0));
    let second = dispatcher.library("test").finish().unwrap();
    assert!(dispatcher.library("test").finish().is_err());
    drop((second, fragments));
    let _third = dispatcher.library("test").finish().unwrap();
}

#[test]
fn a_library_that_fails_gives_its_namespace_back() {
    let dispatcher = Dispatcher::new();
    let mut library = dispatcher.library("other");
    library.define("good(Tensor x) -> Tensor").add(unary().at(Key::Cpu));
    library.implement("good").add(binary().at(Key::Cuda));
    check_error(&library.finish().unwrap_err(), ErrorKind::Signature, &["other::good"]);
    assert!(dispatcher.registrations_for(None).is_empty());
    let mut library = dispatcher.library("other");
    // Nothing remembers the signature of the kernel that was not registered.
    library.define("good(Tensor x, Tensor y) -> Tensor").add(binary().at(Key::Cpu));
    let _registration = library.finish().unwrap();
}

/// DIFFERENCE: torch crashes on a library of namespace `_`; a fragment of it is refused there as here. Libraries and
/// fragments with a dispatch key, which torch asserts against, cannot be written here.
#[test]
fn only_implementations_have_the_wildcard_namespace() {
    check_refused(
        ErrorKind::Registration,
        &[
            (
                |dispatcher| dispatcher.library("_").finish(),
                &[
                    "cannot define a library with the wildcard namespace _",
                    "every library",
                    "did you mean `Dispatcher::implementations`?",
                    CONTEXT,
                ],
            ),
            (
                |dispatcher| dispatcher.fragment("_").finish(),
                &["cannot define a fragment with the wildcard namespace _", "every fragment", CONTEXT],
            ),
            (
                |dispatcher| {
                    let mut library = dispatcher.implementations("_", Key::Cpu);
                    library.implement("test::foo").add(unary());
                    library.finish()
                },
                &[
                    "implement(\"test::foo\")",
                    "namespace (test)",
                    "enclosing implementations block (_)",
                    CONTEXT,
                ],
            ),
            (
                |dispatcher| {
                    let mut library = dispatcher.implementations("_", Key::Cpu);
                    library.implement("foo").add(unary());
                    library.finish()
                },
                &["implement(\"foo\")", "block (_)", CONTEXT],
            ),
            (
                |dispatcher| dispatcher.library("no namespace").finish(),
                &["`no namespace` is not a namespace", CONTEXT],
            ),
            (|dispatcher| dispatcher.implementations("", None).finish(), &["`` is not a namespace", CONTEXT]),
        ],
    );
}

#[test]
fn no_key_and_the_key_of_all_stand_for_a_composite() {
    for key in [None, Some(Key::Undefined), Some(Key::CatchAll)] {
        let dispatcher = Dispatcher::new();
        let mut block = dispatcher.implementations("test", key);
        block.implement("block").add(unary());
        let mut own = dispatcher.fragment("test");
        own.implement("own").add(key.map_or_else(unary, |key| unary().at(key)));
        let _registrations = [block.finish().unwrap(), own.finish().unwrap()];
        for operator in dispatcher.registrations_for(None) {
            assert!(operator.has_kernel_for(Key::CompositeImplicitAutograd), "{operator:?} {key:?}");
            assert!(operator.dump_state().unwrap().contains("\nCompositeImplicitAutograd[alias]: "));
        }
        assert_eq!(dispatcher.registrations_for(Some(Key::CompositeImplicitAutograd)).len(), 2);
    }
}

#[test]
fn definitions_have_their_place() {
    check_refused(
        ErrorKind::Registration,
        &[
            (
                |dispatcher| {
                    let mut library = dispatcher.implementations("test", None);
                    library.define("bar(Tensor x) -> Tensor");
                    library.finish()
                },
                &[
                    "define(\"bar\"): cannot define an operator inside of an implementations block",
                    "library block",
                    "`Dispatcher::library`",
                    "`Dispatcher::fragment`",
                    CONTEXT,
                ],
            ),
            (
                |dispatcher| {
                    let mut library = dispatcher.implementations("test", None);
                    library.define_inferred("bar", unary());
                    library.finish()
                },
                &["define(\"bar\"): cannot define an operator inside of an implementations block", CONTEXT],
            ),
            (
                |dispatcher| {
                    let mut library = dispatcher.library("mine");
                    library.define("yours::bar(Tensor x) -> Tensor");
                    library.finish()
                },
                &[
                    "provided namespace (yours) in schema string",
                    "enclosing library block (mine)",
                    "move this definition",
                    CONTEXT,
                ],
            ),
            (
                |dispatcher| {
                    let mut library = dispatcher.fragment("mine");
                    library.define_schema(FunctionSchema::parse("yours::bar(Tensor x) -> Tensor").unwrap());
                    library.finish()
                },
                &["provided namespace (yours) in schema string", "enclosing fragment block (mine)", CONTEXT],
            ),
        ],
    );
    let dispatcher = Dispatcher::new();
    let mut library = dispatcher.fragment("test");
    library.define("test::same(Tensor x) -> Tensor");
    library.implement("test::same").add(unary().at(Key::Cpu));
    let _registration = library.finish().unwrap();
    assert!(dispatcher.find("test::same").unwrap().has_kernel_for(Key::Cpu));
}

/// A schema with that many arguments.
fn schema_of(arguments: usize) -> String {
    let list: Vec<_> = (0..arguments).map(|number| format!("int a{number}")).collect();
    format!("many({}) -> ()", list.join(", "))
}

#[test]
fn definitions_have_a_schema() {
    check_refused(
        ErrorKind::Schema,
        &[
            (
                |dispatcher| {
                    let mut library = dispatcher.fragment("test");
                    library.define("bar");
                    library.finish()
                },
                &["tried to parse a function schema but only the operator name was given", "bar", CONTEXT],
            ),
            (
                |dispatcher| {
                    let mut library = dispatcher.fragment("test");
                    library.define_inferred("bar", boxed());
                    library.finish()
                },
                &[
                    "define_inferred(\"bar\")",
                    "full schema string was not specified",
                    "explicitly provide a schema string to `Library::define`",
                    CONTEXT,
                ],
            ),
            (
                |dispatcher| {
                    let mut library = dispatcher.fragment("test");
                    library.define_inferred("bar(Tensor x) -> Tensor", unary());
                    library.finish()
                },
                &[CONTEXT],
            ),
            (
                |dispatcher| {
                    let mut library = dispatcher.fragment("test");
                    library.define("bar(Tensor x -> Tensor");
                    library.finish()
                },
                &[CONTEXT],
            ),
            (
                |dispatcher| {
                    let mut library = dispatcher.fragment("test");
                    library.define(schema_of(65).as_str());
                    library.finish()
                },
                &["many: the function schema has 65 arguments", "64", CONTEXT],
            ),
            (
                |dispatcher| dispatcher.register(&format!("test::{}", schema_of(65)), LegacyOptions::new()),
                &["test::many: the function schema has 65 arguments", "64"],
            ),
            (
                |dispatcher| {
                    let mut library = dispatcher.fragment("test");
                    library.define("bar.default(Tensor x) -> Tensor");
                    library.finish()
                },
                &["default is not a legal overload name", CONTEXT],
            ),
            (
                |dispatcher| {
                    let mut library = dispatcher.fragment("test");
                    library.define("bar.__x(Tensor x) -> Tensor");
                    library.finish()
                },
                &["__x is not a legal overload name", CONTEXT],
            ),
        ],
    );
    let dispatcher = Dispatcher::new();
    let mut library = dispatcher.fragment("test");
    library.define(schema_of(64).as_str());
    let _registration = library.finish().unwrap();
    assert_eq!(dispatcher.find("test::many").unwrap().schema().unwrap().arguments.len(), 64);
}

#[test]
fn implementations_name_an_operator_of_their_block() {
    check_refused(
        ErrorKind::Registration,
        &[
            (
                |dispatcher| {
                    let mut library = dispatcher.implementations("mine", Key::Cuda);
                    library.implement("test::foo").add(unary());
                    library.finish()
                },
                &[
                    "implement(\"test::foo\")",
                    "provided namespace (test) in operator name",
                    "enclosing implementations block (mine)",
                    CONTEXT,
                ],
            ),
            (
                |dispatcher| {
                    let mut library = dispatcher.fragment("mine");
                    library.implement("test::foo").add(unary().at(Key::Cuda));
                    library.finish()
                },
                &["implement(\"test::foo\")", "enclosing fragment block (mine)", CONTEXT],
            ),
            (
                |dispatcher| {
                    let mut library = dispatcher.implementations("test", Key::Cpu);
                    library.implement("foo").add(unary().at(Key::Cuda));
                    library.finish()
                },
                &[
                    "implement(\"test::foo\")",
                    "dispatch key (CUDA)",
                    "enclosing implementations block (CPU)",
                    "separate block (`Dispatcher::implementations`)",
                    CONTEXT,
                ],
            ),
        ],
    );
    check_refused(
        ErrorKind::Schema,
        &[
            (
                |dispatcher| {
                    let mut library = dispatcher.implementations("test", Key::Cuda);
                    library.implement("foo(Tensor x) -> Tensor").add(unary());
                    library.finish()
                },
                &[
                    "tried to parse an operator name but function schema was given",
                    "foo(Tensor x) -> Tensor",
                    CONTEXT,
                ],
            ),
            (
                |dispatcher| {
                    let mut library = dispatcher.implementations("test", Key::Cuda);
                    library.implement("no name").add(unary());
                    library.finish()
                },
                &[CONTEXT],
            ),
        ],
    );
}

#[test]
fn implementations_may_stand_anywhere_and_come_first() {
    let dispatcher = Dispatcher::new();
    let mut library = dispatcher.library("test");
    library.implement("bar.over").add(unary().at(Key::Cpu));
    let mut fragment = dispatcher.fragment("test");
    fragment.implement("test::bar.over").add(unary().at(Key::Cuda));
    let mut block = dispatcher.implementations("test", Key::Xla);
    block.implement("bar.over").add(unary().at(Key::Xla));
    let _registrations = [library.finish().unwrap(), fragment.finish().unwrap(), block.finish().unwrap()];
    let operator = dispatcher.find_with_or_without_schema("test::bar.over").unwrap();
    assert!([Key::Cpu, Key::Cuda, Key::Xla].iter().all(|key| operator.has_kernel_for(*key)));
    assert_eq!(dispatcher.dangling_implementations(), [operator]);
}

#[test]
fn kernels_fit_each_other_and_the_definition() {
    check_refused(
        ErrorKind::Signature,
        &[
            (
                |dispatcher| {
                    let mut library = dispatcher.implementations("test", Key::Cuda);
                    library.implement("foo").add(Kernel::function::<fn(i64)>(|_| Ok(())).describe("other"));
                    library.finish()
                },
                &["test::foo(Tensor x) -> Tensor", "the def", "The number of returns is different. 1 vs 0."],
            ),
            (
                |dispatcher| {
                    let mut library = dispatcher.implementations("test", Key::Cuda);
                    library.implement("foo").add(binary().describe("of two"));
                    library.finish()
                },
                &[
                    "expected schema: test::foo(Tensor x) -> Tensor",
                    "the def",
                    "of two",
                    "The number of arguments is different. 1 vs 2.",
                ],
            ),
            (
                |dispatcher| {
                    let mut library = dispatcher.fragment("test");
                    library
                        .define("bar(Tensor x) -> int")
                        .describe("the other def")
                        .add(unary().describe("a kernel"));
                    library.finish()
                },
                &[
                    "test::bar(Tensor x) -> int",
                    "the other def",
                    "a kernel",
                    "Type mismatch in return 1: int vs Tensor.",
                ],
            ),
        ],
    );
}

/// A kernel that was never registered leaves no signature behind either, where its operator was there before.
#[test]
fn a_library_that_fails_leaves_no_signature() {
    let dispatcher = Dispatcher::new();
    let mut library = dispatcher.implementations("test", Key::Cuda);
    library.implement("foo").add(boxed());
    let _registration = library.finish().unwrap();
    let mut library = dispatcher.implementations("test", None);
    library.implement("foo").add(unary().at(Key::Cpu));
    library.implement("foo").add(boxed().at(Key::Cuda));
    check_error(&library.finish().unwrap_err(), ErrorKind::Duplicate, &["test::foo", "key CUDA"]);
    let mut library = dispatcher.implementations("test", Key::Cpu);
    library.implement("foo").add(binary());
    let _binary = library.finish().unwrap();
}

/// A kernel's signature outlives it, and a definition that came in between is still compared with it.
#[test]
fn a_kernel_is_compared_with_the_present_definition() {
    let dispatcher = Dispatcher::new();
    let implement = |key, kernel: Kernel| {
        let mut library = dispatcher.implementations("test", key);
        library.implement("foo").add(kernel);
        library.finish()
    };
    let _boxed = implement(Key::Cuda, boxed()).unwrap();
    let unary_kernel = implement(Key::Cpu, unary()).unwrap();
    let stale = dispatcher.find_with_or_without_schema("test::foo").unwrap().typed::<Unary>();
    assert!(stale.is_ok());
    drop(unary_kernel);
    let mut library = dispatcher.fragment("test");
    library.define("foo(Tensor x, Tensor y) -> Tensor");
    let definition = library.finish().unwrap();
    let refused = implement(Key::Cpu, unary()).unwrap_err();
    check_error(&refused, ErrorKind::Signature, &["test::foo", "2 vs 1"]);
    let operator = dispatcher.find("test::foo").unwrap();
    check_error(&operator.typed::<Unary>().unwrap_err(), ErrorKind::Signature, &["test::foo", "2 vs 1"]);
    drop(definition);
    let _unary = implement(Key::Cpu, unary()).unwrap();
}

/// What replacing a kernel reports, by key.
#[test]
fn a_replaced_kernel_is_reported_by_its_own_text() {
    let overrides = Arc::new(Mutex::new(Vec::new()));
    let heard = overrides.clone();
    let (dispatcher, _registrations) = populated();
    dispatcher.on_override(move |report| heard.lock().unwrap().push(report.to_string()));
    let mut kept = Vec::new();
    let mut implement = |key: Key, text: &str| {
        let mut library = dispatcher.implementations("test", key);
        library.allow_override().implement("foo").add(unary().describe(text));
        kept.push(library.finish().unwrap());
        std::mem::take(&mut *overrides.lock().unwrap())
    };
    for (new, previous) in [("second", "the cpu kernel"), ("third", "second")] {
        let reports = implement(Key::Cpu, new);
        let [report] = reports.as_slice() else { panic!("{reports:?}") };
        for essential in [
            "overriding a previously registered kernel for the same operator and the same dispatch key",
            "operator: test::foo(Tensor x) -> Tensor\n    the def",
            "dispatch key: CPU",
            &format!("previous kernel: {previous}\n"),
            &format!("new kernel: {new}"),
        ] {
            assert!(report.contains(essential), "`{essential}` is missing in: {report}");
        }
    }
    // Kernels for Meta and MTIA are replaced as a matter of course.
    for key in [Key::Meta, Key::Mtia] {
        assert!(implement(key, "first").is_empty());
        assert!(implement(key, "second").is_empty(), "{key}");
    }
}

#[test]
fn fallbacks_have_a_place_and_a_key() {
    check_refused(
        ErrorKind::Registration,
        &[
            (
                |dispatcher| {
                    let mut library = dispatcher.library("mine");
                    library.fallback(boxed().at(Key::Xla));
                    library.finish()
                },
                &[
                    "fallback(...): cannot define a fallback inside of a library block",
                    "did you mean to call this inside `Dispatcher::implementations(\"_\", key)`?",
                    CONTEXT,
                ],
            ),
            (
                |dispatcher| {
                    let mut library = dispatcher.fragment("test");
                    library.fallback(boxed().at(Key::Xla));
                    library.finish()
                },
                &["fallback(...): cannot define a fallback inside of a fragment block", CONTEXT],
            ),
            (
                |dispatcher| {
                    let mut library = dispatcher.implementations("test", Key::Xla);
                    library.fallback(boxed());
                    library.finish()
                },
                &[
                    "only a single namespace (you specified test)",
                    "`Dispatcher::implementations(\"_\", XLA)`",
                    CONTEXT,
                ],
            ),
            (
                |dispatcher| {
                    let mut library = dispatcher.implementations("_", None);
                    library.fallback(boxed());
                    library.finish()
                },
                &["a fallback needs a dispatch key", CONTEXT],
            ),
            // A typed fallback would meet calls of every other signature.
            (
                |dispatcher| {
                    let mut library = dispatcher.implementations("_", Key::Xla);
                    library.fallback(unary());
                    library.finish()
                },
                &[
                    "serves operators of every signature",
                    "found a typed kernel (fn(",
                    "Kernel::boxed",
                    CONTEXT,
                ],
            ),
            // DIFFERENCE: torch ignores a fallback for a key without column silently.
            (
                |dispatcher| {
                    let mut library = dispatcher.implementations("_", Key::Dense);
                    library.fallback(boxed().describe("mine"));
                    library.finish()
                },
                &["a fallback for Dense would never run", "mine"],
            ),
        ],
    );
}

/// DIFFERENCE: where one column of an alias is taken, torch keeps the columns before it as long as the library lives.
#[test]
fn a_fallback_for_an_alias_takes_every_column_or_none() {
    check_refused(
        ErrorKind::Duplicate,
        &[(
            |dispatcher| {
                let mut library = dispatcher.implementations("_", Key::Autograd);
                library.fallback(boxed().describe("mine"));
                library.finish()
            },
            &["multiple backend fallbacks for the same dispatch key Autograd", "new registration mine"],
        )],
    );
    let dispatcher = Dispatcher::bare();
    let mut library = dispatcher.library("test");
    library.define("foo(Tensor x) -> ()");
    let _library = library.finish().unwrap();
    let operator = dispatcher.find("test::foo").unwrap();
    let before = state(&dispatcher);
    let fallback = |key| {
        let mut library = dispatcher.implementations("_", key);
        library.fallback(boxed().describe("mine"));
        library.finish()
    };
    let all = fallback(Key::Autograd).unwrap();
    let filled = operator.list_dispatch_keys().unwrap();
    assert!(filled.contains("AutogradOther") && filled.contains("AutogradXLA"), "{filled}");
    drop(all);
    assert_eq!(state(&dispatcher), before);

    let _one = fallback(Key::AutogradXla).unwrap();
    let before = state(&dispatcher);
    check_error(
        &fallback(Key::Autograd).unwrap_err(),
        ErrorKind::Duplicate,
        &["dispatch key AutogradXLA", "mine"],
    );
    assert_eq!(state(&dispatcher), before);
}

#[test]
fn a_definition_that_goes_leaves_its_kernels() {
    let dispatcher = Dispatcher::new();
    let define = |schema: &str| {
        let mut library = dispatcher.fragment("test");
        library.define(schema);
        library.finish()
    };
    let definition = define("foo(Tensor x) -> Tensor").unwrap();
    let mut library = dispatcher.implementations("test", Key::Cpu);
    library.implement("foo").add(unary());
    let kernel = library.finish().unwrap();
    let operator = dispatcher.find("test::foo").unwrap();
    drop(definition);
    assert_eq!(dispatcher.find_with_or_without_schema("test::foo").unwrap(), operator);
    assert_eq!(dispatcher.dangling_implementations(), std::slice::from_ref(&operator));
    check_error(
        &operator.schema().unwrap_err(),
        ErrorKind::Schema,
        &[
            "tried to access the schema for test::foo which doesn't have a schema registered yet",
            "define it with `Library::define`",
        ],
    );
    check_error(&define("foo(Tensor x, int n) -> Tensor").unwrap_err(), ErrorKind::Signature, &["2 vs 1"]);
    let definition = define("foo(Tensor y) -> Tensor").unwrap();
    assert!(dispatcher.dangling_implementations().is_empty());
    drop(kernel);
    assert!(operator.has_schema());
    drop(definition);
    assert_eq!(operator.dump_state().unwrap_err().kind(), ErrorKind::Stale);
}

#[test]
fn a_registration_ends_with_its_handle_or_with_the_dispatcher() {
    let dispatcher = Dispatcher::new();
    let define = |name: &str| {
        let mut library = dispatcher.fragment("test");
        library.define(format!("{name}() -> ()").as_str());
        library.finish().unwrap()
    };
    // Assigning over a live handle undoes what it stood for, which torch forgets.
    let mut handle = define("first");
    assert!(dispatcher.find("test::first").is_ok());
    handle = std::mem::replace(&mut handle, define("second"));
    drop(handle);
    assert!(dispatcher.find("test::first").is_err());
    let outlives = define("third");
    let operator = dispatcher.find("test::third").unwrap();
    drop(dispatcher);
    assert_eq!(operator.schema().unwrap_err().kind(), ErrorKind::Stale);
    drop(outlives);
}

#[test]
fn looking_up_says_what_is_missing() {
    let (dispatcher, _registrations) = populated();
    let mut library = dispatcher.fragment("test");
    library.implement("bar.over").add(unary().at(Key::Cpu));
    library.implement("bare").add(unary().at(Key::Cpu));
    let _registration = library.finish().unwrap();
    for (name, essentials) in [
        (
            "test::nothing",
            [
                "could not find schema for test::nothing",
                "list the operators with `Dispatcher::operators` or `opgrid list`",
            ],
        ),
        (
            "away::nothing",
            ["could not find schema for away::nothing", "no operators in namespace away; register"],
        ),
        ("other::foo", ["could not find schema for other::foo", "did you mean test::foo?"]),
        ("foo", ["could not find schema for foo", "did you mean test::foo?"]),
        ("test::foo.over", ["could not find schema for test::foo.over", "its overloads are test::foo"]),
        (
            "test::fooo",
            [
                "could not find schema for test::fooo",
                "did you mean test::foo? if not, list the operators with `Dispatcher::operators` or `opgrid list`",
            ],
        ),
        (
            "test::bar.over",
            [
                "could not find schema for test::bar.over but we found an implementation",
                "define the operator with `Library::define`",
            ],
        ),
        (
            "test::bare",
            ["could not find schema for test::bare but we found an implementation", "`Library::define`"],
        ),
    ] {
        check_error(&dispatcher.find(name).unwrap_err(), ErrorKind::Unknown, &essentials);
    }
    check_error(
        &dispatcher.find("test::foo(").unwrap_err(),
        ErrorKind::Schema,
        &["`test::foo(` is not an operator name"],
    );

    let operator = dispatcher.find("test::foo").unwrap();
    let x = AnyTensor::new(Key::Cpu.key_set(), Nothing);
    let call = |key| operator.call_boxed_for_key(key, &[ValueRef::from(&x)], &mut Returns::new());
    call(Key::Cpu).unwrap();
    check_error(
        &call(Key::Cuda).unwrap_err(),
        ErrorKind::MissingKernel,
        &["test::foo", "no kernel for CUDA"],
    );
    let alias = operator.has_computed_kernel_for(Key::Autograd).unwrap_err();
    check_error(&alias, ErrorKind::Registration, &["alias keys do not have runtime kernel registrations"]);
    assert!(operator.has_computed_kernel_for(Key::Cpu).unwrap());
    assert!(!operator.has_computed_kernel_for(Key::Cuda).unwrap());
    assert!(operator.has_kernel_for_any(Key::Cpu.key_set() | Key::Cuda.key_set()));
    assert!(!operator.has_kernel_for_any(Key::Cuda.key_set()));
}

#[test]
fn a_layer_that_nothing_steps_over_says_how_to() {
    let error = |dispatcher: Dispatcher, keys| {
        let mut library = dispatcher.library("test");
        library.define("foo(Tensor x) -> Tensor").add(unary().at(Key::Cpu));
        let _registration = library.finish().unwrap();
        let operator = dispatcher.find("test::foo").unwrap();
        operator.call_values(vec![AnyTensor::new(keys, Nothing).into()]).unwrap_err()
    };
    check_error(
        &error(Dispatcher::bare(), Key::Cpu.key_set() | Key::AutogradCpu.key_set()),
        ErrorKind::MissingKernel,
        &["AutogradCPU", "the key is a layer: register a fallthrough"],
    );
    let of_backend = error(Dispatcher::new(), Key::Cuda.key_set());
    check_error(&of_backend, ErrorKind::MissingKernel, &["CUDA"]);
    assert!(!of_backend.to_string().contains("is a layer"), "{of_backend}");
}

struct Nothing;

impl opgrid_core::TensorData for Nothing {
    fn describe(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("tensor()")
    }
}

#[test]
fn legacy_registrations_are_refused_in_the_same_way() {
    check_refused(
        ErrorKind::Registration,
        &[
            (
                |dispatcher| dispatcher.register("", LegacyOptions::new().catch_all(unary())),
                &["in operator registration", "without specifying a schema or operator name"],
            ),
            (
                |dispatcher| dispatcher.register("test::bar", LegacyOptions::new()),
                &[
                    "cannot infer operator schema in registration of operator test::bar",
                    "no kernel specified",
                ],
            ),
            (
                |dispatcher| dispatcher.register("test::bar", LegacyOptions::new().catch_all(boxed())),
                &[
                    "cannot infer operator schema for this kind of kernel in registration of operator test::bar",
                ],
            ),
            (
                |dispatcher| {
                    let options = LegacyOptions::new().kernel(Key::Cpu, unary()).kernel(Key::Cpu, unary());
                    dispatcher.register("test::bar(Tensor x) -> Tensor", options)
                },
                &["multiple kernels with same dispatch key CPU", "test::bar(Tensor x) -> Tensor"],
            ),
            (
                |dispatcher| {
                    let options = LegacyOptions::new().catch_all(unary()).catch_all(unary());
                    dispatcher.register("test::bar(Tensor x) -> Tensor", options)
                },
                &["multiple catch-all kernels for operator schema test::bar(Tensor x) -> Tensor"],
            ),
            (
                |dispatcher| {
                    let options = LegacyOptions::new().catch_all(unary()).kernel(Key::CatchAll, unary());
                    dispatcher.register("test::bar(Tensor x) -> Tensor", options)
                },
                &["multiple catch-all kernels for operator schema test::bar(Tensor x) -> Tensor"],
            ),
            (
                |dispatcher| {
                    let options = LegacyOptions::new().schema("test::bar(Tensor x) -> Tensor");
                    dispatcher.register("test::bar(Tensor x) -> Tensor", options)
                },
                &["you can only specify the schema once"],
            ),
            (
                |dispatcher| {
                    let options =
                        LegacyOptions::new().schema("test::bar() -> ()").schema("test::bar() -> ()");
                    dispatcher.register("", options)
                },
                &["you can only specify the schema once"],
            ),
            (
                |dispatcher| {
                    let kind = AliasAnalysis::PureFunction;
                    let options = LegacyOptions::new().alias_analysis(kind).alias_analysis(kind);
                    dispatcher.register("test::bar(Tensor x) -> Tensor", options)
                },
                &["you can only call alias_analysis() once"],
            ),
            (
                |dispatcher| dispatcher.register("bar() -> ()", LegacyOptions::new()),
                &["operator bar has no namespace"],
            ),
        ],
    );
    check_refused(
        ErrorKind::Duplicate,
        &[(
            |dispatcher| dispatcher.register("test::foo(Tensor x) -> Tensor", LegacyOptions::new()),
            &[
                "multiple times",
                "a single call to `Library::define`",
                "Duplicate registration: registered by RegisterOperators",
                "Original registration: the def",
            ],
        )],
    );
    check_refused(
        ErrorKind::Signature,
        &[
            (
                |dispatcher| {
                    let options = LegacyOptions::new().kernel(Key::Cpu, unary()).kernel(Key::Cuda, binary());
                    dispatcher.register("test::bar", options)
                },
                &["test::bar"],
            ),
            (
                |dispatcher| {
                    dispatcher.register("test::bar(Tensor x) -> ()", LegacyOptions::new().catch_all(unary()))
                },
                &["test::bar(Tensor x) -> ()", "The number of returns is different. 0 vs 1."],
            ),
        ],
    );
}
