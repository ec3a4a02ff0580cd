//! Statements D1 to D29 and D40 to D43: what registrations, in any order, make of an operator's dumps and table.
//!
//! Each case is run for all orders of registration and many of dropping: the state after any subset depends only on
//! the subset, and a refused registration leaves the state as it was. The cases run on the fallbacks of torch.

mod cases;

use cases::What::{Binary, Define, DefineAs, Fallback, Infer, Kernel as Unary, Legacy, Symbolic};
use cases::{Step, all, check_accepted, check_error, check_refused, check_state, check_table, columns, walk};
use opgrid_core::schema::AliasAnalysis;
use opgrid_core::{
    AnyTensor, DispatchKey as Key, Dispatcher, ErrorKind, Kernel, LegacyOptions, OperatorHandle,
    Registration, Returns, ValueRef,
};

const DEFINITION: Step = ("def", Define("foo(Tensor x) -> Tensor"));
const MATH: Step = ("math", Unary(Key::CompositeImplicitAutograd));
const EXPLICIT: Step = ("explicit", Unary(Key::CompositeExplicitAutograd));
const CPU: Step = ("cpu", Unary(Key::Cpu));
const XLA: Step = ("xla", Unary(Key::Xla));
const QUANTIZED_CPU: Step = ("quantized", Unary(Key::QuantizedCpu));
const AUTOGRAD: Step = ("autograd", Unary(Key::Autograd));
const AUTOGRAD_CPU: Step = ("autograd_cpu", Unary(Key::AutogradCpu));

const HEAD: &str = "\
name: test::foo
schema: test::foo(Tensor x) -> Tensor
debug: def
alias analysis kind: FROM_SCHEMA
";

/// D1: what is there at the start keeps the invariants, with or without operators.
#[test]
fn d1_the_invariants_hold_at_the_start() {
    let dispatchers = [
        Dispatcher::new(),
        Dispatcher::bare(),
        Dispatcher::with_reference_fallbacks(),
        Dispatcher::global().clone(),
    ];
    for dispatcher in dispatchers {
        dispatcher.check_invariants().unwrap();
    }
    let keys = [
        Key::Cpu,
        Key::QuantizedCpu,
        Key::Autograd,
        Key::CompositeImplicitAutograd,
        Key::CompositeExplicitAutograd,
    ];
    let dispatcher = Dispatcher::with_reference_fallbacks();
    let mut library = dispatcher.library("test");
    for subset in 0..1 << keys.len() {
        let schema = format!("op{subset}(Tensor x) -> ()");
        let mut operator = library.define(schema.as_str());
        for (place, key) in keys.iter().enumerate().filter(|(place, _)| subset >> place & 1 == 1) {
            operator = operator.add(Kernel::boxed(|_| Ok(())).at(*key).named(&place.to_string()));
        }
    }
    let _registration = library.finish().unwrap();
    assert_eq!(dispatcher.operators().len(), 32);
    dispatcher.check_invariants().unwrap();
}

/// D2, D3: a definition, a kernel for every key and kernels for CPU, Autograd and AutogradCPU are dumped with
/// exactly these lines, whatever the order; when all are dropped the operator is gone.
#[test]
fn d2_d3_definition_and_kernels_are_dumped_in_the_order_of_keys() {
    let steps = [DEFINITION, ("catch_all", Unary(Key::CatchAll)), CPU, AUTOGRAD, AUTOGRAD_CPU];
    let kernels = "\
CPU: cpu :: (Tensor _0) -> Tensor _0 [ boxed unboxed ]
AutogradCPU: autograd_cpu :: (Tensor _0) -> Tensor _0 [ boxed unboxed ]
Autograd[alias]: autograd :: (Tensor _0) -> Tensor _0 [ boxed unboxed ]
CompositeImplicitAutograd[alias]: catch_all :: (Tensor _0) -> Tensor _0 [ boxed unboxed ]
";
    check_state(&steps, &format!("{HEAD}{kernels}"));

    let (dispatcher, registrations) = all(&steps);
    let operator = dispatcher.find("test::foo").unwrap();
    drop(registrations);
    assert_eq!(dispatcher.find_with_or_without_schema("test::foo").unwrap_err().kind(), ErrorKind::Unknown);
    assert_eq!(operator.dump_state().unwrap_err().kind(), ErrorKind::Stale);
    assert!(dispatcher.registrations_for(None).is_empty());
}

/// D4: a kernel of one argument does not fit a definition of two, whichever comes first.
#[test]
fn d4_a_kernel_that_does_not_fit_the_definition_is_refused() {
    let essentials = [
        "operator: test::foo",
        "expected schema: test::foo(Tensor x, Tensor y) -> Tensor\n    def",
        "inferred schema: test::foo(Tensor _0) -> Tensor _0\n    cpu",
        "reason: The number of arguments is different. 2 vs 1.",
    ];
    let definition = ("def", Define("foo(Tensor x, Tensor y) -> Tensor"));
    check_refused(&[definition, CPU], ErrorKind::Signature, &essentials);
}

/// D5: kernels whose inferred schemas differ are refused by the definition only, unless their function types, which
/// are compared among kernels of the same kind, differ.
#[test]
fn d5_schemas_of_kernels_are_compared_with_the_definition_only() {
    let symbolic = ("symbolic", Symbolic(Key::Cuda));
    check_accepted(&[CPU, symbolic]);

    for refusals in walk(&[DEFINITION, CPU, symbolic]) {
        let [refused] = refusals.as_slice() else {
            panic!("the definition does not fit the symbolic kernel")
        };
        let meet = if refused.step == "def" { "symbolic" } else { "def" };
        assert!(refused.live.contains(&meet), "{} beside {:?}", refused.step, refused.live);
        let essentials =
            ["reason: The number of arguments is different. 1 vs 2.", "\n    symbolic\n", "\n    def\n"];
        check_error(&refused.error, ErrorKind::Signature, &essentials);
    }

    let essentials =
        ["mismatch in kernel signatures", "test::foo", "dispatch key: CPU\n    cpu", "CUDA\n    binary"];
    for refusals in walk(&[CPU, ("binary", Binary(Key::Cuda))]) {
        let [refused] = refusals.as_slice() else { panic!("the function types differ") };
        check_error(&refused.error, ErrorKind::Signature, &essentials);
    }
}

/// D6: a definition by name takes its schema from the kernel, and the kernel serves every key.
#[test]
fn d6_a_definition_by_name_infers_the_schema() {
    let expected = "\
name: test::foo
schema: test::foo(Tensor _0) -> Tensor _0
debug: def
alias analysis kind: CONSERVATIVE
CompositeImplicitAutograd[alias]: def :: (Tensor _0) -> Tensor _0 [ boxed unboxed ]
";
    check_state(&[("def", Infer)], expected);
}

/// D7: a definition alone has its header and no kernels.
#[test]
fn d7_a_definition_alone() {
    check_state(&[DEFINITION], HEAD);
}

/// D8, D40: a kernel alone: there is no schema, and the lines that say more about it are absent.
#[test]
fn d8_d40_a_kernel_alone() {
    let expected = "\
name: test::foo
schema: (none)
CompositeImplicitAutograd[alias]: math :: (Tensor _0) -> Tensor _0 [ boxed unboxed ]
";
    check_state(&[MATH], expected);
    check_state(&[("catch_all", Unary(Key::CatchAll))], &expected.replace("math", "catch_all"));
    let with_cpu = "\
name: test::foo
schema: (none)
CPU: cpu :: (Tensor _0) -> Tensor _0 [ boxed unboxed ]
Autograd[alias]: autograd :: (Tensor _0) -> Tensor _0 [ boxed unboxed ]
";
    check_state(&[CPU, AUTOGRAD], with_cpu);
}

/// The columns that the statements about computed tables look at.
const COLUMNS: &str =
    "Undefined CPU CUDA XLA AutogradOther AutogradCPU AutogradCUDA AutogradXLA QuantizedCPU";

/// D9: a definition by name serves every key for which nothing else is registered.
#[test]
fn d9_a_kernel_for_all_keys_and_kernels_for_some() {
    let expected = "\
Undefined: def [math kernel]
CPU: cpu [kernel]
CUDA: def [math kernel]
XLA: xla [kernel]
AutogradOther: def [math kernel]
AutogradCPU: autograd_cpu [kernel]
AutogradCUDA: def [math kernel]
AutogradXLA: autograd [autograd kernel]
QuantizedCPU: def [math kernel]
";
    check_table(&[("def", Infer), CPU, XLA, AUTOGRAD, AUTOGRAD_CPU], COLUMNS, expected);
}

/// D10, D12: beside a kernel for CPU one for all keys leaves AutogradCPU to the fallback, whether it came with the
/// definition (D10) or apart (D12).
#[test]
fn d10_d12_a_cpu_kernel_keeps_math_out_of_autograd_cpu() {
    let expected = "\
Undefined: math [math kernel]
CPU: cpu [kernel]
CUDA: math [math kernel]
XLA: math [math kernel]
AutogradOther: math [math kernel]
AutogradCPU: [backend fallback]
AutogradCUDA: math [math kernel]
AutogradXLA: math [math kernel]
QuantizedCPU: math [math kernel]
";
    check_table(&[("math", Infer), CPU], COLUMNS, expected);
    check_table(&[DEFINITION, CPU, MATH], COLUMNS, expected);
}

/// D11: math alone fills every listed column.
#[test]
fn d11_math_alone() {
    let expected: String =
        COLUMNS.split(' ').map(|column| format!("{column}: math [math kernel]\n")).collect();
    check_table(&[DEFINITION, MATH], COLUMNS, &expected);
}

/// D13: an Autograd kernel alone fills the autograd columns and no others.
#[test]
fn d13_autograd_alone() {
    let expected = "\
AutogradOther: autograd [autograd kernel]
AutogradCPU: autograd [autograd kernel]
AutogradCUDA: autograd [autograd kernel]
AutogradXLA: autograd [autograd kernel]
";
    check_table(&[DEFINITION, AUTOGRAD], COLUMNS, expected);
}

/// D14: with kernels for CPU, Autograd and math, only the autograd key of CPU has the Autograd kernel.
#[test]
fn d14_cpu_autograd_and_math() {
    let expected = "\
Undefined: math [math kernel]
CPU: cpu [kernel]
CUDA: math [math kernel]
XLA: math [math kernel]
AutogradOther: math [math kernel]
AutogradCPU: autograd [autograd kernel]
AutogradCUDA: math [math kernel]
AutogradXLA: math [math kernel]
QuantizedCPU: math [math kernel]
";
    check_table(&[DEFINITION, CPU, AUTOGRAD, MATH], COLUMNS, expected);
}

/// D15: a kernel of a backend mapped to AutogradOther makes that column ambiguous beside math, in the table that
/// calls read too, whichever came first.
#[test]
fn d15_a_quantized_kernel_and_math_are_ambiguous() {
    let expected = "\
Undefined: math [math kernel]
CPU: math [math kernel]
CUDA: math [math kernel]
XLA: math [math kernel]
AutogradOther: ambiguous_autogradother [ambiguous autogradother]
AutogradCPU: math [math kernel]
AutogradCUDA: math [math kernel]
AutogradXLA: math [math kernel]
QuantizedCPU: quantized [kernel]
";
    check_table(&[DEFINITION, MATH, QUANTIZED_CPU], COLUMNS, expected);
    for steps in [[DEFINITION, MATH, QUANTIZED_CPU], [DEFINITION, QUANTIZED_CPU, MATH]] {
        let (dispatcher, _registrations) = all(&steps);
        let call = |keys: &[Key]| {
            let tensor = AnyTensor::new(keys.iter().copied().collect(), cases::Nothing);
            let operator = dispatcher.find("test::foo").unwrap();
            operator.call_boxed(&[ValueRef::from(&tensor)], &mut Returns::new()).unwrap_err()
        };
        check_error(&call(&[Key::QuantizedCpu]), ErrorKind::Kernel, &["quantized"]);
        let ambiguous = call(&[Key::QuantizedCpu, Key::AutogradOther]);
        let essentials = [
            "test::foo has kernels registered to both CompositeImplicitAutograd and a backend mapped to AutogradOther",
            "canonical state",
            "QuantizedCPU: quantized",
        ];
        check_error(&ambiguous, ErrorKind::AmbiguousKernel, &essentials);
    }
}

/// D16: an explicit composite fills the other backends, and leaves autograd to the fallbacks.
#[test]
fn d16_cpu_and_explicit_composite() {
    let expected = "\
Undefined: explicit [default backend kernel]
CPU: cpu [kernel]
CUDA: explicit [default backend kernel]
XLA: explicit [default backend kernel]
AutogradOther: [backend fallback]
AutogradCPU: [backend fallback]
AutogradCUDA: [backend fallback]
AutogradXLA: [backend fallback]
QuantizedCPU: explicit [default backend kernel]
";
    check_table(&[DEFINITION, CPU, EXPLICIT], COLUMNS, expected);
}

/// D17, D18: with an Autograd kernel besides, that one serves all autograd columns, and math changes nothing.
#[test]
fn d17_d18_cpu_autograd_and_explicit_composite() {
    let expected = "\
Undefined: explicit [default backend kernel]
CPU: cpu [kernel]
CUDA: explicit [default backend kernel]
XLA: explicit [default backend kernel]
AutogradOther: autograd [autograd kernel]
AutogradCPU: autograd [autograd kernel]
AutogradCUDA: autograd [autograd kernel]
AutogradXLA: autograd [autograd kernel]
QuantizedCPU: explicit [default backend kernel]
";
    check_table(&[DEFINITION, CPU, AUTOGRAD, EXPLICIT], COLUMNS, expected);
    check_table(&[DEFINITION, CPU, AUTOGRAD, MATH, EXPLICIT], COLUMNS, expected);
}

/// D19: two definitions of one operator are refused, and the error names both.
#[test]
fn d19_two_definitions_are_refused() {
    let first = ("first def", Define("foo(Tensor x, Tensor y) -> Tensor"));
    let second = ("second def", Define("foo(Tensor x) -> Tensor"));
    for refusals in walk(&[first, second]) {
        let [refused] = refusals.as_slice() else { panic!("one of two definitions is refused") };
        let essentials = [
            "test::foo(Tensor x",
            "with the same name and overload name multiple times",
            &format!("Duplicate registration: {}", refused.step),
            &format!("Original registration: {}", refused.live[0]),
        ];
        check_error(&refused.error, ErrorKind::Duplicate, &essentials);
    }
    // An equal schema is no exception.
    check_refused(&[DEFINITION, ("again", DEFINITION.1)], ErrorKind::Duplicate, &["multiple times"]);
}

const PURE: Step = ("pure", DefineAs("test::foo(Tensor x) -> Tensor", AliasAnalysis::PureFunction));

/// D20: a kind of alias analysis that was given stays.
#[test]
fn d20_a_given_kind_of_alias_analysis_is_kept() {
    let expected = "\
name: test::foo
schema: test::foo(Tensor x) -> Tensor
debug: pure
alias analysis kind: PURE_FUNCTION
";
    check_state(&[PURE], expected);
}

/// D21, D22: nor does another kind of alias analysis make a second definition possible, be it a legacy one (D21) or
/// one with its kind given (D22).
#[test]
fn d21_d22_another_kind_of_alias_analysis_makes_no_second_definition() {
    let legacy = ("registered by RegisterOperators", Legacy("test::foo(Tensor x) -> Tensor"));
    let conservative =
        ("conservative", DefineAs("test::foo(Tensor x) -> Tensor", AliasAnalysis::Conservative));
    for other in [legacy, conservative] {
        check_refused(&[PURE, other], ErrorKind::Duplicate, &["multiple times", "pure", other.0]);
    }
}

/// D23, D24: a key has one fallback; when its library is dropped the key is free again.
#[test]
fn d23_d24_one_fallback_per_key() {
    let key = Key::TestingOnlyGenericMode;
    let (first, second) = (("first fallback", Fallback(key)), ("second fallback", Fallback(key)));
    let essentials = [
        "multiple backend fallbacks for the same dispatch key",
        "TESTING_ONLY_GenericMode",
        "first fallback",
        "second fallback",
    ];
    check_refused(&[DEFINITION, first, second], ErrorKind::Duplicate, &essentials);

    let dispatcher = Dispatcher::with_reference_fallbacks();
    let _defined = cases::apply(&dispatcher, DEFINITION).unwrap();
    for step in [first, second, first] {
        let registration = cases::apply(&dispatcher, step).unwrap();
        let operator = dispatcher.find("test::foo").unwrap();
        let line = format!("TESTING_ONLY_GenericMode: {} [backend fallback]", step.0);
        assert!(operator.dump_computed_table().unwrap().contains(&line));
        drop(registration);
        assert!(!operator.has_computed_kernel_for(key).unwrap());
    }
}

/// D25: of two kernels for every key the newest is active and the older one listed as inactive; here order matters.
///
/// DIFFERENCE: the second one has to come from a library that allows overriding; else it is refused, because a
/// kernel that is silently replaced is mostly a mistake.
#[test]
fn d25_the_newer_of_two_catch_alls_is_active() {
    let implement = |dispatcher: &Dispatcher, label: &str, override_it: bool| {
        let mut library = dispatcher.implementations("test", None);
        if override_it {
            library.allow_override();
        }
        library.implement("foo").add(Kernel::boxed(|_| Ok(())).describe(label));
        library.finish()
    };
    for [older, newer] in [["a", "b"], ["b", "a"]] {
        let dispatcher = Dispatcher::with_reference_fallbacks();
        let first = implement(&dispatcher, older, false).unwrap();
        let operator = dispatcher.find_with_or_without_schema("test::foo").unwrap();
        let alone = operator.dump_state().unwrap();

        let refused = implement(&dispatcher, newer, false).unwrap_err();
        check_error(
            &refused,
            ErrorKind::Duplicate,
            &["test::foo", "CompositeImplicitAutograd already has a kernel", older, newer],
        );
        assert_eq!(operator.dump_state().unwrap(), alone);

        let second = implement(&dispatcher, newer, true).unwrap();
        let expected = format!(
            "name: test::foo\nschema: (none)\n\
             CompositeImplicitAutograd[alias]: {newer} :: (none) [ boxed ]\n\
             CompositeImplicitAutograd[alias] (inactive): {older} :: (none) [ boxed ]\n"
        );
        assert_eq!(operator.dump_state().unwrap(), expected);
        assert_eq!(columns(&dispatcher, "CPU"), format!("CPU: {newer} [math kernel]\n"));
        drop(second);
        assert_eq!(operator.dump_state().unwrap(), alone);

        let _second = implement(&dispatcher, newer, true).unwrap();
        drop(first);
        assert_eq!(columns(&dispatcher, "CPU"), format!("CPU: {newer} [math kernel]\n"));
        assert!(!operator.dump_state().unwrap().contains("inactive"));
    }
}

/// D26: nothing is implemented without being defined in a process that registered nothing.
#[test]
fn d26_a_clean_dispatcher_has_no_dangling_implementations() {
    assert!(Dispatcher::global().dangling_implementations().is_empty());
    assert!(Dispatcher::new().dangling_implementations().is_empty());
    let (dispatcher, _registrations) = all(&[DEFINITION, CPU]);
    assert!(dispatcher.dangling_implementations().is_empty());
}

/// D27: a library that implements what nobody defines leaves exactly one dangling implementation, whose dump says
/// file and line.
#[test]
fn d27_an_implementation_without_definition_dangles() {
    let dispatcher = Dispatcher::new();
    let mut library = dispatcher.implementations("__test__", Key::CompositeImplicitAutograd);
    let line = line!() + 1;
    library.implement("foo").add(Kernel::boxed(|_| Ok(())));
    let registration = library.finish().unwrap();

    let dangling = dispatcher.dangling_implementations();
    let [operator] = dangling.as_slice() else { panic!("{dangling:?}") };
    assert_eq!(operator.name().to_string(), "__test__::foo");
    let expected = format!(
        "name: __test__::foo\nschema: (none)\n\
         CompositeImplicitAutograd[alias]: registered at {}:{line} :: (none) [ boxed ]\n",
        file!()
    );
    assert_eq!(operator.dump_state().unwrap(), expected);
    drop(registration);
    assert!(dispatcher.dangling_implementations().is_empty());
}

fn names(operators: Vec<OperatorHandle>) -> Vec<String> {
    operators.iter().map(|operator| operator.name().to_string()).collect()
}

/// Three operators: one with a kernel for CPU, one with a kernel for the alias Autograd, one with none.
fn population(dispatcher: &Dispatcher) -> Registration {
    let mut library = dispatcher.library("test");
    library.define("a(Tensor x) -> ()").boxed(Key::Cpu, |_| Ok(()));
    library.define("b(Tensor x) -> ()").boxed(Key::Autograd, |_| Ok(()));
    library.define("c(Tensor x) -> ()");
    library.finish().unwrap()
}

/// D28: the registrations of a key are those for exactly that key; what is no key's name is refused as such.
#[test]
fn d28_registrations_are_listed_by_key() {
    let error = "FAKE".parse::<Key>().unwrap_err();
    check_error(&error, ErrorKind::Unknown, &["FAKE"]);
    let dispatcher = Dispatcher::new();
    let _registration = population(&dispatcher);
    for (key, expected) in [("CPU", vec!["test::a"]), ("Autograd", vec!["test::b"]), ("AutogradCPU", vec![])]
    {
        assert_eq!(names(dispatcher.registrations_for(Some(key.parse().unwrap()))), expected, "{key}");
    }
}

/// D29: all operators are more than those with a kernel for CPU.
#[test]
fn d29_all_operators_are_more_than_those_of_cpu() {
    let dispatcher = Dispatcher::new();
    let _registration = population(&dispatcher);
    let everything = names(dispatcher.registrations_for(None));
    let of_cpu = names(dispatcher.registrations_for(Some(Key::Cpu)));
    assert!(of_cpu.iter().all(|name| everything.contains(name)));
    assert_eq!((of_cpu.len(), everything.len()), (1, 3));
}

/// D41: a text of its own takes the place of file and line, in dumps and in errors.
#[test]
fn d41_a_text_takes_the_place_of_file_and_line() {
    let dispatcher = Dispatcher::with_reference_fallbacks();
    let mut library = dispatcher.library("test");
    let line = line!() + 1;
    library.define("foo(Tensor x) -> Tensor").boxed(Key::Cpu, |_| Ok(()));
    library.implement("foo").add(Kernel::boxed(|_| Ok(())).at(Key::Cuda).describe("a text of its own"));
    let _registration = library.finish().unwrap();
    let expected = format!(
        "name: test::foo\nschema: test::foo(Tensor x) -> Tensor\ndebug: registered at {0}:{line}\n\
         alias analysis kind: FROM_SCHEMA\nCPU: registered at {0}:{line} :: (none) [ boxed ]\n\
         CUDA: a text of its own :: (none) [ boxed ]\n",
        file!()
    );
    assert_eq!(dispatcher.find("test::foo").unwrap().dump_state().unwrap(), expected);
    assert_eq!(columns(&dispatcher, "CUDA"), "CUDA: a text of its own [kernel]\n");
    let mut again = dispatcher.fragment("test");
    again.define("foo(Tensor x) -> Tensor").describe("another text");
    check_error(
        &again.finish().unwrap_err(),
        ErrorKind::Duplicate,
        &["another text", &format!("{}:{line}", file!())],
    );
}

/// D42: a legacy definition says nothing about aliases, and the dump that the default holds.
#[test]
fn d42_a_legacy_definition_is_conservative_by_default() {
    let expected = "\
name: test::foo
schema: test::foo(Tensor x) -> Tensor
debug: registered by RegisterOperators
alias analysis kind: CONSERVATIVE (default)
";
    check_state(&[("legacy", Legacy("test::foo(Tensor x) -> Tensor"))], expected);
    let dispatcher = Dispatcher::new();
    let options = LegacyOptions::new().alias_analysis(AliasAnalysis::Conservative);
    let _registration = dispatcher.register("test::foo(Tensor x) -> Tensor", options).unwrap();
    let given = dispatcher.find("test::foo").unwrap().dump_state().unwrap();
    assert_eq!(given, expected.replace(" (default)", ""));
}

/// D43: fragments define operators too, without the library of their namespace and any number of them.
#[test]
fn d43_fragments_define_operators() {
    let dispatcher = Dispatcher::new();
    let fragment = |name: &str| {
        let mut library = dispatcher.fragment("test");
        library.define(format!("{name}(Tensor x) -> ()").as_str());
        library.finish().unwrap()
    };
    let (first, second) = (fragment("foo"), fragment("bar"));
    assert_eq!(names(dispatcher.operators()), ["test::bar", "test::foo"]);
    let _library = dispatcher.library("test").finish().unwrap();
    drop(first);
    assert_eq!(names(dispatcher.operators()), ["test::bar"]);
    drop(second);
    assert!(dispatcher.operators().is_empty());
}
