//! Conformance statements R43 to R62 and R100 to R112: which of several kernels, composites and fallbacks a call
//! reaches; what signatures kernels and callers may have; and kernels that pass a call on by its keys.

use crate::answers::{
    Answering, Expected, SCHEMA, answer, answer_boxed, ask, dispatchers, expect, keys_of, refused,
};
use crate::common::{define, implement, tensor};
use opgrid_core::{
    AnyTensor, CallKind, DispatchKey, DispatchKeySet, Dispatcher, ErrorKind, ExcludeGuard, Kernel,
    Registration, Result, Signature, Value, operator, record_calls,
};

use DispatchKey as Key;
use Expected::{Ambiguous, Answer, Missing};

/// Registers a boxed kernel for a key and every operator.
fn fall_back(dispatcher: &Dispatcher, key: DispatchKey, label: &'static str) -> Registration {
    let mut library = dispatcher.implementations("_", key);
    library.fallback(answer_boxed(label));
    library.finish().unwrap()
}

/// Defines the operator and registers kernels by key, in this order.
fn kernels(dispatcher: &Dispatcher, kernels: &[(DispatchKey, &'static str)]) -> Registration {
    let mut all = define(dispatcher, SCHEMA).unwrap();
    for (key, label) in kernels {
        all.join(implement(dispatcher, "op", *key, answer(label)).unwrap());
    }
    all
}

/// R43, R44, R45, R46, R47 and R48: a fallback runs for its key where the operator has no kernel for the key; beside it
/// kernels of other keys run; a kernel beats it, and so does a catch-all kernel on the column of a backend.
#[test]
fn r43_to_r48_fallbacks_of_backends() {
    type Kernels = &'static [(DispatchKey, &'static str)];
    let cases: [(Kernels, DispatchKey, Expected); 8] = [
        (&[], Key::Cpu, Answer("fallback")),
        (&[], Key::Cuda, Missing),
        (&[(Key::Cuda, "cuda")], Key::Cuda, Answer("cuda")),
        (&[(Key::Cuda, "cuda")], Key::Cpu, Answer("fallback")),
        (&[(Key::Cpu, "cpu")], Key::Cpu, Answer("cpu")),
        (&[(Key::Cpu, "cpu"), (Key::Cuda, "cuda")], Key::Xla, Missing),
        (&[(Key::CatchAll, "catch-all")], Key::Cpu, Answer("catch-all")),
        (&[(Key::CatchAll, "catch-all")], Key::Cuda, Answer("catch-all")),
    ];
    for (registered, called, expected) in cases {
        for dispatcher in dispatchers() {
            for fallback_first in [false, true] {
                let early = fallback_first.then(|| fall_back(&dispatcher, Key::Cpu, "fallback"));
                let _kernels = kernels(&dispatcher, registered);
                let late = (!fallback_first).then(|| fall_back(&dispatcher, Key::Cpu, "fallback"));
                expect(&dispatcher, called, expected);
                drop((early, late));
                if matches!(expected, Answer("fallback")) {
                    expect(&dispatcher, called, Missing);
                }
                dispatcher.check_invariants().unwrap();
            }
        }
    }
}

/// What a tensor of `backend` without and with autograd, and with autograd below a guard, is answered.
type Row = (DispatchKey, [Expected; 3]);

/// Checks the answers once the kernels are there.
#[track_caller]
fn check_rows(dispatcher: &Dispatcher, rows: &[Row]) {
    for (backend, [plain, grad, guarded]) in rows {
        expect(dispatcher, keys_of(*backend, false), *plain);
        expect(dispatcher, keys_of(*backend, true), *grad);
        let _guard = ExcludeGuard::below_autograd();
        expect(dispatcher, keys_of(*backend, true), *guarded);
    }
    dispatcher.check_invariants().unwrap();
}

/// Registers the kernels in this order and checks the answers.
#[track_caller]
fn check_in_order(registered: &[(DispatchKey, &'static str)], rows: &[Row]) {
    for dispatcher in dispatchers() {
        let _kernels = kernels(&dispatcher, registered);
        check_rows(&dispatcher, rows);
    }
}

/// Registers the kernels in this order and in the reverse one, and checks the answers.
#[track_caller]
fn check_kernels(registered: &[(DispatchKey, &'static str)], rows: &[Row]) {
    check_in_order(registered, rows);
    let reversed: Vec<_> = registered.iter().rev().copied().collect();
    check_in_order(&reversed, rows);
}

/// R49: an Autograd kernel is reached. R50: also beside a kernel of the backend. R51: below a guard the backend's.
#[test]
fn r49_r50_r51_autograd_kernels() {
    check_kernels(&[(Key::Autograd, "autograd")], &[(Key::Cpu, [Missing, Answer("autograd"), Missing])]);
    check_kernels(
        &[(Key::Cpu, "cpu"), (Key::Autograd, "autograd")],
        &[(Key::Cpu, [Answer("cpu"), Answer("autograd"), Answer("cpu")])],
    );
}

/// R52: a catch-all kernel comes before an Autograd one. R53: also below a guard.
#[test]
fn r52_r53_catch_all_kernels_and_autograd_kernels() {
    let all = [Answer("catch-all"); 3];
    check_kernels(
        &[(Key::CatchAll, "catch-all"), (Key::Autograd, "autograd")],
        &[(Key::Cpu, all), (Key::Xla, all), (Key::Fpga, all)],
    );
}

/// R54: the kernel of a backend's autograd key beats the one of Autograd; other backends use the latter.
#[test]
fn r54_autograd_xla_beats_autograd() {
    check_kernels(
        &[(Key::Autograd, "autograd"), (Key::AutogradXla, "autograd of xla")],
        &[
            (Key::Xla, [Missing, Answer("autograd of xla"), Missing]),
            (Key::Cpu, [Missing, Answer("autograd"), Missing]),
        ],
    );
}

type ListSignature = fn(AnyTensor, Vec<i64>) -> i64;
type ArraySignature = fn(AnyTensor, [i64; 2]) -> i64;
type ShortSignature = fn(AnyTensor) -> i64;

fn listed() -> Kernel {
    Kernel::closure::<ListSignature>(|(_, items)| Ok(items.iter().sum()))
}

fn arrayed() -> Kernel {
    Kernel::closure::<ArraySignature>(|(_, items)| Ok(items.iter().sum()))
}

fn short() -> Kernel {
    Kernel::closure::<ShortSignature>(|_| Ok(0))
}

/// R55: a second kernel of another Rust type is refused for the same key. R56: for a backend after a catch-all kernel.
/// R57: the other way round. Whether the operator is defined makes no difference, and dropping the first kernel none.
#[test]
fn r55_r56_r57_kernels_of_one_operator_have_one_signature() {
    let pairs = [
        (Key::Cpu, Key::Cpu),
        (Key::CatchAll, Key::Cpu),
        (Key::Cpu, Key::CatchAll),
        (Key::Cpu, Key::Cuda),
        (Key::CatchAll, Key::CatchAll),
    ];
    for dispatcher in dispatchers() {
        for (first, second) in pairs {
            for defined in [false, true] {
                let schema = "op(Tensor x, int[] items) -> int";
                let _defined = defined.then(|| define(&dispatcher, schema).unwrap());
                let kernel = implement(&dispatcher, "op", first, listed()).unwrap();
                let name = |key: DispatchKey| {
                    if key == Key::CatchAll { "(catch all)".into() } else { key.to_string() }
                };
                let words = [
                    "mismatch in kernel signatures".to_owned(),
                    format!("dispatch key: {}", name(first)),
                    format!("dispatch key: {}", name(second)),
                    "Vec<i64>".into(),
                    "[i64; 2]".into(),
                ];
                let words: Vec<_> = words.iter().map(String::as_str).collect();
                let attempt = || implement(&dispatcher, "op", second, arrayed());
                refused(&dispatcher, ErrorKind::Signature, &words, attempt);
                refused(&dispatcher, ErrorKind::Signature, &["test::op"], || {
                    implement(&dispatcher, "op", second, short())
                });
                drop(kernel);
                if defined {
                    refused(&dispatcher, ErrorKind::Signature, &words[..1], attempt);
                }
            }
        }
    }
}

/// Checks that a typed handle is given for `Right` alone.
#[track_caller]
fn check_typed<Right: Signature, Wrong: Signature>(dispatcher: &Dispatcher) {
    let operator = dispatcher.find("test::op").unwrap();
    operator.typed::<Right>().unwrap();
    let words = ["wrong signature", "test::op", "correct signature: fn(", "accessed/called as: fn("];
    refused(dispatcher, ErrorKind::Signature, &words, || operator.typed::<Wrong>());
    operator.typed::<Right>().unwrap();
}

/// R58: a typed handle of another signature than the kernels' is refused. R59: also that of catch-all kernels.
#[test]
fn r58_r59_typed_handles_of_another_signature_are_refused() {
    for dispatcher in dispatchers() {
        for key in [Key::Cpu, Key::CatchAll] {
            let _defined = define(&dispatcher, "op(Tensor x, int[] items) -> int").unwrap();
            let _kernel = implement(&dispatcher, "op", key, listed()).unwrap();
            check_typed::<ListSignature, ArraySignature>(&dispatcher);
            check_typed::<ListSignature, ShortSignature>(&dispatcher);
            check_typed::<ListSignature, fn(AnyTensor, Vec<i64>) -> ()>(&dispatcher);
        }
    }
}

/// R60: a library cannot give kernels of two signatures. R61: typed handles of libraries' operators are checked, with
/// a schema given as text. R62: and with one inferred from the kernel.
#[test]
fn r60_r61_r62_signatures_in_libraries() {
    for dispatcher in dispatchers() {
        refused(&dispatcher, ErrorKind::Signature, &["mismatch in kernel signatures"], || {
            let mut library = dispatcher.library("test");
            let op = library.define("op(Tensor x, int[] items) -> int");
            op.add(listed().at(Key::Cpu)).add(arrayed().at(Key::Cuda));
            library.finish()
        });
        refused(
            &dispatcher,
            ErrorKind::Signature,
            &["test::op", "expected schema", "inferred schema"],
            || {
                let mut library = dispatcher.library("test");
                library.define("op(Tensor x) -> int").add(listed());
                library.finish()
            },
        );

        let mut library = dispatcher.library("test");
        library.define("op(Tensor x, int[] items) -> int");
        library.implement("op").add(listed().at(Key::Cpu));
        let given = library.finish().unwrap();
        check_typed::<ListSignature, ArraySignature>(&dispatcher);
        drop(given);

        let mut library = dispatcher.library("test");
        library.define_inferred("op", listed());
        let _inferred = library.finish().unwrap();
        check_typed::<ListSignature, ArraySignature>(&dispatcher);
        check_typed::<ListSignature, ShortSignature>(&dispatcher);
    }
}

/// Backends whose autograd key has a fallback in torch, so that calls with autograd come through to the backend.
const DIFFERENTIABLE: [DispatchKey; 8] = [
    Key::Cpu,
    Key::Cuda,
    Key::Xla,
    Key::Lazy,
    Key::PrivateUse1,
    Key::SparseCpu,
    Key::QuantizedCpu,
    Key::Fpga,
];

/// Expects these answers for every backend but those listed.
fn everywhere(expected: [Expected; 3], but: &[Row]) -> Vec<Row> {
    let other = |backend: &DispatchKey| but.iter().all(|(known, _)| known != backend);
    let mut rows: Vec<_> =
        DIFFERENTIABLE.into_iter().filter(other).map(|backend| (backend, expected)).collect();
    rows.extend_from_slice(but);
    rows
}

/// R100: an implicit composite runs for every backend, with and without autograd. R101: an Autograd kernel beside it
/// is not reached. R102: a catch-all kernel is one too, and the last of both runs.
#[test]
fn r100_r101_r102_implicit_composites_run_for_every_key() {
    let implicit = (Key::CompositeImplicitAutograd, "implicit");
    let rows = everywhere([Answer("implicit"); 3], &[]);
    check_kernels(&[implicit], &rows);
    check_kernels(&[implicit, (Key::Autograd, "autograd")], &rows);
    check_in_order(&[(Key::CatchAll, "catch-all"), implicit], &rows);
    check_in_order(&[implicit, (Key::CatchAll, "catch-all")], &everywhere([Answer("catch-all"); 3], &[]));
}

/// R103: a kernel for AutogradCPU takes an implicit composite's place for CPU tensors with autograd alone.
#[test]
fn r103_autograd_cpu_overrides_an_implicit_composite_for_cpu_only() {
    let math = Answer("implicit");
    let cpu = (Key::Cpu, [math, Answer("autograd of cpu"), math]);
    // Sparse and quantized CPU tensors carry AutogradCPU too.
    let sparse = (Key::SparseCpu, cpu.1);
    let quantized = (Key::QuantizedCpu, cpu.1);
    check_kernels(
        &[(Key::CompositeImplicitAutograd, "implicit"), (Key::AutogradCpu, "autograd of cpu")],
        &everywhere([math; 3], &[cpu, sparse, quantized]),
    );
}

/// R104: a CPU kernel takes an implicit composite's place for CPU tensors, also with autograd.
#[test]
fn r104_a_cpu_kernel_overrides_an_implicit_composite() {
    let math = Answer("implicit");
    // AutogradCPU passes sparse and quantized tensors on as well, to the composite.
    check_kernels(
        &[(Key::CompositeImplicitAutograd, "implicit"), (Key::Cpu, "cpu")],
        &everywhere([math; 3], &[(Key::Cpu, [Answer("cpu"); 3])]),
    );
}

/// R105: an explicit composite runs for every backend, with and without autograd. R106: also beside an implicit one.
/// R107: a CPU kernel takes its place for CPU tensors.
#[test]
fn r105_r106_r107_explicit_composites_run_for_every_key() {
    let explicit = (Key::CompositeExplicitAutograd, "explicit");
    let rows = everywhere([Answer("explicit"); 3], &[]);
    check_kernels(&[explicit], &rows);
    check_kernels(&[explicit, (Key::CompositeImplicitAutograd, "implicit")], &rows);
    check_kernels(
        &[explicit, (Key::Cpu, "cpu")],
        &everywhere([Answer("explicit"); 3], &[(Key::Cpu, [Answer("cpu"); 3])]),
    );
}

/// R108: a call with autograd passes to the backend until there is an Autograd kernel, and that one gives way to a
/// kernel for AutogradCPU; the same backwards as registrations are dropped.
#[test]
fn r108_autograd_precedence_as_registrations_come_and_go() {
    let steps = [(Key::Cpu, "cpu"), (Key::Autograd, "autograd"), (Key::AutogradCpu, "autograd of cpu")];
    for dispatcher in dispatchers() {
        let _defined = define(&dispatcher, SCHEMA).unwrap();
        let mut registered = Vec::new();
        for (key, label) in steps {
            registered.push(implement(&dispatcher, "op", key, answer(label)).unwrap());
            check_rows(&dispatcher, &[(Key::Cpu, [Answer("cpu"), Answer(label), Answer("cpu")])]);
        }
        check_rows(&dispatcher, &[(Key::Xla, [Missing, Answer("autograd"), Missing])]);
        for (_, label) in steps.iter().rev() {
            check_rows(&dispatcher, &[(Key::Cpu, [Answer("cpu"), Answer(label), Answer("cpu")])]);
            registered.pop();
        }
        check_rows(&dispatcher, &[(Key::Cpu, [Missing; 3])]);
    }
}

/// R109: beside an implicit composite, a kernel of a backend that shares AutogradOther makes calls with autograd
/// ambiguous; without autograd it runs. A SparseCPU kernel does not, its tensors carrying AutogradCPU.
#[test]
fn r109_implicit_composites_and_backends_of_autograd_other_are_ambiguous() {
    for backend in [Key::Fpga, Key::MkldnnCpu, Key::Vulkan, Key::Metal] {
        let registered = [(Key::CompositeImplicitAutograd, "implicit"), (backend, "backend")];
        let rows = [
            (backend, [Answer("backend"), Ambiguous, Answer("backend")]),
            (Key::Cpu, [Answer("implicit"); 3]),
        ];
        for dispatcher in dispatchers() {
            let _kernels = kernels(&dispatcher, &registered);
            let words = ["test::op", "both CompositeImplicitAutograd and a backend mapped to AutogradOther"];
            refused(&dispatcher, ErrorKind::AmbiguousKernel, &words, || {
                ask(&dispatcher, keys_of(backend, true))
            });
        }
        check_kernels(&registered, &rows);
    }
    let math = Answer("implicit");
    check_kernels(
        &[(Key::CompositeImplicitAutograd, "implicit"), (Key::SparseCpu, "sparse")],
        &[(Key::SparseCpu, [Answer("sparse"), math, Answer("sparse")]), (Key::Cpu, [math; 3])],
    );
}

/// R110: of a PrivateUse1 and a CPU tensor, the PrivateUse1 kernel takes the call with and without autograd, unless
/// there is one for AutogradPrivateUse1; two CPU tensors go to the catch-all kernel.
#[test]
fn r110_two_backends_in_one_call() {
    type Pair = fn(AnyTensor, AnyTensor) -> String;
    let pair = |label: &'static str| Kernel::closure::<Pair>(move |_| Ok(label.to_owned()));
    let check = |dispatcher: &Dispatcher, backends: [DispatchKey; 2], grad: bool, expected: &str| {
        let operator = dispatcher.find("test::op").unwrap();
        let [a, b] = backends.map(|backend| tensor(keys_of(backend, grad)));
        let typed = operator.typed::<Pair>().unwrap();
        assert_eq!(typed.call((&a, &b)).unwrap(), expected, "{backends:?}, autograd {grad}");
        assert_eq!(typed.call((&b, &a)).unwrap(), expected, "{backends:?}, autograd {grad}");
        assert_eq!(operator.call_values(vec![a.into(), b.into()]).unwrap(), [Value::from(expected)]);
    };
    for dispatcher in dispatchers() {
        let _defined = define(&dispatcher, "op(Tensor a, Tensor b) -> str").unwrap();
        let _catch_all = implement(&dispatcher, "op", Key::CatchAll, pair("catch-all")).unwrap();
        let _own = implement(&dispatcher, "op", Key::PrivateUse1, pair("own")).unwrap();
        for grad in [false, true] {
            check(&dispatcher, [Key::PrivateUse1, Key::Cpu], grad, "own");
            check(&dispatcher, [Key::Cpu, Key::Cpu], grad, "catch-all");
        }
        let _autograd =
            implement(&dispatcher, "op", Key::AutogradPrivateUse1, pair("autograd of own")).unwrap();
        check(&dispatcher, [Key::PrivateUse1, Key::Cpu], true, "autograd of own");
        check(&dispatcher, [Key::PrivateUse1, Key::Cpu], false, "own");
        check(&dispatcher, [Key::Cpu, Key::Cpu], true, "catch-all");
    }
}

mod passing {
    //! Kernels that take the keys of the call, take their own away and pass the call on.

    use opgrid_core::{AnyTensor as Tensor, DispatchKeySet, Result, operator::redispatch};

    use super::Key;

    super::operator! {
        pub Pass = "test::op(Tensor x) -> str";
    }

    pub fn tracer(keys: DispatchKeySet, x: &Tensor) -> Result<String> {
        redispatch(Pass, keys & DispatchKeySet::full_after(Key::Tracer), (x,))
    }

    pub fn autograd(keys: DispatchKeySet, x: &Tensor) -> Result<String> {
        redispatch(Pass, keys & DispatchKeySet::AFTER_AUTOGRAD, (x,))
    }

    pub fn cpu(_: DispatchKeySet, _: &Tensor) -> Result<String> {
        Ok("cpu".into())
    }

    pub fn cpu_without_keys(_: &Tensor) -> Result<String> {
        Ok("cpu".into())
    }
}

/// Checks the way of one call through Tracer and Autograd to CPU.
fn check_way(dispatcher: &Dispatcher, boxed: bool) {
    let operator = dispatcher.find("test::op").unwrap();
    let argument = tensor(DispatchKeySet::from_keys(&[Key::Tracer, Key::AutogradCpu, Key::Cpu]));
    let (result, steps) = record_calls(|| -> Result<Value> {
        if boxed {
            Ok(operator.call_values(vec![argument.into()])?.remove(0))
        } else {
            Ok(operator.typed::<Answering>()?.call((&argument,))?.into())
        }
    });
    assert_eq!(result.unwrap(), Value::from("cpu"));
    let way: Vec<_> = steps.iter().map(|step| (step.depth, step.key, step.kind.is_redispatch())).collect();
    assert_eq!(way, [(0, Key::Tracer, false), (1, Key::AutogradCpu, true), (2, Key::Cpu, true)]);
    let first = if boxed { CallKind::CallBoxed } else { CallKind::Call };
    assert_eq!(steps[0].kind, first);
    assert!(steps[1].keys.contains(Key::Cpu) && !steps[1].keys.contains(Key::Tracer));
    assert!(!steps[2].keys.contains(Key::AutogradCpu));
}

/// R111: kernels that take the keys of the call and mask them lead from Tracer over Autograd to CPU. R112: also where
/// the call is boxed, and where only some of the kernels take the keys.
#[test]
fn r111_r112_calls_are_passed_on_by_masking_keys() {
    for dispatcher in dispatchers() {
        for last_takes_keys in [true, false] {
            let mut library = dispatcher.library("test");
            let op = library
                .define(passing::Pass)
                .kernel_with_keys(Key::Tracer, passing::tracer)
                .kernel_with_keys(Key::Autograd, passing::autograd);
            if last_takes_keys {
                op.kernel_with_keys(Key::Cpu, passing::cpu);
            } else {
                op.kernel(Key::Cpu, passing::cpu_without_keys);
            }
            let _registered = library.finish().unwrap();
            for boxed in [false, true] {
                check_way(&dispatcher, boxed);
            }
        }
    }
}

/// R111, R112, with layers: a closure that calls on below itself leads the same way, and so does a boxed kernel.
#[test]
fn r111_r112_layers_lead_the_same_way() {
    for dispatcher in dispatchers() {
        for boxed_layers in [false, true] {
            let layer = |key: DispatchKey| {
                if boxed_layers {
                    Kernel::boxed(|call| call.below()).at(key)
                } else {
                    Kernel::layer::<Answering>(|next, args| next.call(args)).at(key)
                }
            };
            let _defined = define(&dispatcher, SCHEMA).unwrap();
            let _tracer = implement(&dispatcher, "op", Key::Tracer, layer(Key::Tracer)).unwrap();
            let _autograd = implement(&dispatcher, "op", Key::Autograd, layer(Key::Autograd)).unwrap();
            let _cpu = implement(&dispatcher, "op", Key::Cpu, answer("cpu")).unwrap();
            for boxed in [false, true] {
                check_way(&dispatcher, boxed);
            }
        }
    }
}
