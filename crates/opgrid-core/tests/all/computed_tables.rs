//! Statements D30 to D39: what torch's teaching tool, its Python dispatcher, shows of one operator.
//!
//! The tool is given a list of keys and prints the registrations and the computed table of an operator with a kernel
//! for each. The dispatcher itself says both here.

use crate::cases::{Step, What, all, apply, check_error, check_table, columns, walk};
use opgrid_core::{DispatchKey as Key, Dispatcher, ErrorKind, Kernel};

/// The columns that the tool prints.
const COLUMNS: &str = "CPU XLA Lazy FPGA QuantizedCPU AutogradOther AutogradCPU AutogradXLA AutogradLazy";

/// A definition and a kernel for each key; the kernels are named as the tool names them.
fn steps(kernels: &[&'static str]) -> Vec<Step> {
    let kernel = |label: &&'static str| {
        let key = label.strip_prefix("fn_").expect("labels begin with fn_");
        (*label, What::Kernel(key.parse().expect("the labels of the cases end in keys")))
    };
    std::iter::once(("def", What::Define("foo(Tensor x) -> Tensor")))
        .chain(kernels.iter().map(kernel))
        .collect()
}

/// The registrations of the operator, as the tool lists them.
fn registrations(dispatcher: &Dispatcher) -> String {
    let dump = dispatcher.find("test::foo").unwrap().dump_state().unwrap();
    let line = |line: &str| line.split_once(" :: ").map(|(kernel, _)| format!("{kernel}\n"));
    dump.lines().filter_map(line).collect()
}

/// Checks the table and the registrations for kernels with these labels.
fn check(kernels: &[&'static str], table: &str, listed: &str) {
    let steps = steps(kernels);
    check_table(&steps, COLUMNS, table);
    let (dispatcher, _registrations) = all(&steps);
    assert_eq!(registrations(&dispatcher), listed);
}

/// D30: kernels for three backends, and math for the rest.
#[test]
fn d30_backends_and_math() {
    let table = "\
CPU: fn_CPU [kernel]
XLA: fn_XLA [kernel]
Lazy: fn_Lazy [kernel]
FPGA: fn_CompositeImplicitAutograd [math kernel]
QuantizedCPU: fn_CompositeImplicitAutograd [math kernel]
AutogradOther: fn_CompositeImplicitAutograd [math kernel]
AutogradCPU: [backend fallback]
AutogradXLA: [backend fallback]
AutogradLazy: [backend fallback]
";
    let listed = "\
CPU: fn_CPU
XLA: fn_XLA
Lazy: fn_Lazy
CompositeImplicitAutograd[alias]: fn_CompositeImplicitAutograd
";
    check(&["fn_CPU", "fn_XLA", "fn_Lazy", "fn_CompositeImplicitAutograd"], table, listed);
}

/// D31, D32: the same with a kernel for AutogradCPU, in the table (D31) and in the list of registrations, where
/// aliases are marked (D32).
#[test]
fn d31_d32_backends_math_and_autograd_of_one_backend() {
    let table = "\
CPU: fn_CPU [kernel]
XLA: fn_XLA [kernel]
Lazy: fn_Lazy [kernel]
FPGA: fn_CompositeImplicitAutograd [math kernel]
QuantizedCPU: fn_CompositeImplicitAutograd [math kernel]
AutogradOther: fn_CompositeImplicitAutograd [math kernel]
AutogradCPU: fn_AutogradCPU [kernel]
AutogradXLA: [backend fallback]
AutogradLazy: [backend fallback]
";
    let listed = "\
CPU: fn_CPU
XLA: fn_XLA
Lazy: fn_Lazy
AutogradCPU: fn_AutogradCPU
CompositeImplicitAutograd[alias]: fn_CompositeImplicitAutograd
";
    let kernels = ["fn_CPU", "fn_XLA", "fn_Lazy", "fn_AutogradCPU", "fn_CompositeImplicitAutograd"];
    let (dispatcher, _registrations) = all(&steps(&kernels));
    assert_eq!(columns(&dispatcher, COLUMNS), table);
    assert_eq!(registrations(&dispatcher), listed);
    // Without the kernel for Lazy every order can be tried.
    let fewer = ["fn_CPU", "fn_XLA", "fn_AutogradCPU", "fn_CompositeImplicitAutograd"];
    let math = [
        "Lazy: fn_CompositeImplicitAutograd [math kernel]",
        "AutogradLazy: fn_CompositeImplicitAutograd [math kernel]",
    ];
    let table =
        table.replace("Lazy: fn_Lazy [kernel]", math[0]).replace("AutogradLazy: [backend fallback]", math[1]);
    check(&fewer, &table, &listed.replace("Lazy: fn_Lazy\n", ""));
}

/// D33, D34: an explicit composite and a kernel for AutogradCPU, in the table (D33) and listed (D34).
#[test]
fn d33_d34_explicit_composite_and_autograd_of_one_backend() {
    let table = "\
CPU: fn_CPU [kernel]
XLA: fn_XLA [kernel]
Lazy: fn_CompositeExplicitAutograd [default backend kernel]
FPGA: fn_CompositeExplicitAutograd [default backend kernel]
QuantizedCPU: fn_CompositeExplicitAutograd [default backend kernel]
AutogradOther: [backend fallback]
AutogradCPU: fn_AutogradCPU [kernel]
AutogradXLA: [backend fallback]
AutogradLazy: [backend fallback]
";
    let listed = "\
CPU: fn_CPU
XLA: fn_XLA
AutogradCPU: fn_AutogradCPU
CompositeExplicitAutograd[alias]: fn_CompositeExplicitAutograd
";
    check(&["fn_CPU", "fn_XLA", "fn_AutogradCPU", "fn_CompositeExplicitAutograd"], table, listed);
}

/// D35, D36: a quantized kernel beside math makes AutogradOther ambiguous, in the table (D35); the list shows what
/// was registered and no more (D36).
#[test]
fn d35_d36_a_quantized_kernel_and_math() {
    let table = "\
CPU: fn_CPU [kernel]
XLA: fn_CompositeImplicitAutograd [math kernel]
Lazy: fn_CompositeImplicitAutograd [math kernel]
FPGA: fn_CompositeImplicitAutograd [math kernel]
QuantizedCPU: fn_QuantizedCPU [kernel]
AutogradOther: ambiguous_autogradother [ambiguous autogradother]
AutogradCPU: [backend fallback]
AutogradXLA: fn_CompositeImplicitAutograd [math kernel]
AutogradLazy: fn_CompositeImplicitAutograd [math kernel]
";
    let listed = "\
CPU: fn_CPU
QuantizedCPU: fn_QuantizedCPU
CompositeImplicitAutograd[alias]: fn_CompositeImplicitAutograd
";
    check(&["fn_CPU", "fn_QuantizedCPU", "fn_CompositeImplicitAutograd"], table, listed);
}

/// D37: one key given twice is refused; the error names both kernels.
#[test]
fn d37_a_key_given_twice_is_refused() {
    for key in [Key::Cpu, Key::AutogradCpu, Key::CompositeExplicitAutograd] {
        let twice = [("one", What::Kernel(key)), ("two", What::Kernel(key))];
        for refusals in walk(&twice) {
            let [refused] = refusals.as_slice() else { panic!("one of two kernels for {key} is refused") };
            let found = format!("key {key} already has a kernel");
            let essentials = ["test::foo", found.as_str(), "First kernel: ", "New kernel: ", "one", "two"];
            check_error(&refused.error, ErrorKind::Duplicate, &essentials);
        }
    }
}

/// D38: an implicit and an explicit composite together.
///
/// DIFFERENCE: the tool refuses the pair, torch's dispatcher and this one do not: the explicit one is chosen, and
/// the implicit one fills no column, not even those of nested tensors, which only it covers.
#[test]
fn d38_implicit_and_explicit_composite() {
    let table = "\
CPU: fn_CPU [kernel]
XLA: fn_CompositeExplicitAutograd [default backend kernel]
Lazy: fn_CompositeExplicitAutograd [default backend kernel]
FPGA: fn_CompositeExplicitAutograd [default backend kernel]
QuantizedCPU: fn_CompositeExplicitAutograd [default backend kernel]
AutogradOther: [backend fallback]
AutogradCPU: [backend fallback]
AutogradXLA: [backend fallback]
AutogradLazy: [backend fallback]
";
    let listed = "\
CPU: fn_CPU
CompositeImplicitAutograd[alias]: fn_CompositeImplicitAutograd
CompositeExplicitAutograd[alias]: fn_CompositeExplicitAutograd
";
    let kernels = ["fn_CPU", "fn_CompositeImplicitAutograd", "fn_CompositeExplicitAutograd"];
    check(&kernels, table, listed);
    let (dispatcher, _registrations) = all(&steps(&kernels));
    let dump = dispatcher.find("test::foo").unwrap().dump_computed_table().unwrap();
    assert!(!dump.contains("[math kernel]"), "{dump}");
    assert_eq!(columns(&dispatcher, "NestedTensorCPU NestedTensorCUDA"), "");
}

/// D39: what is no key, and keys for which no kernel could ever run, are refused.
///
/// DIFFERENCE: the tool knows eight runtime keys and three aliases; here every key that has a column or is an alias
/// will do. Building blocks are refused, where torch keeps kernels for them that nothing reaches.
#[test]
fn d39_keys_that_cannot_be_registered_for_are_refused() {
    for name in ["Nonsense", "cpu kernel", ""] {
        check_error(&name.parse::<Key>().unwrap_err(), ErrorKind::Unknown, &[name]);
    }
    let dispatcher = Dispatcher::with_reference_fallbacks();
    let _defined = apply(&dispatcher, ("def", What::Define("foo(Tensor x) -> Tensor"))).unwrap();
    let before = dispatcher.find("test::foo").unwrap().dump_state().unwrap();
    for name in ["Dense", "Quantized", "Sparse", "SparseCsr", "NestedTensor", "AutogradFunctionality"] {
        let mut library = dispatcher.implementations("test", None);
        library.implement("foo").add(Kernel::boxed(|_| Ok(())).at(name.parse().unwrap()));
        let error = library.finish().unwrap_err();
        check_error(&error, ErrorKind::Registration, &["test::foo", name, "would never run"]);
    }
    assert_eq!(dispatcher.find("test::foo").unwrap().dump_state().unwrap(), before);
}
