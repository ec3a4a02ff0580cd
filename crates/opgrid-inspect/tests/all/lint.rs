//! Faults that are planted are found, each by its name and nothing else; a registry without faults has no findings.

use opgrid_core::schema::OperatorName;
use opgrid_core::{DispatchKey, Dispatcher, Forms, Kernel, Library, Place};
use opgrid_inspect::{Fault, lint};

fn kernel() -> Kernel {
    Kernel::boxed(|_| Ok(()))
}

/// What is found of the libraries: the fault's name and the operator of each finding.
fn found(register: impl FnOnce(&mut Library)) -> Vec<(String, String, String)> {
    let dispatcher = Dispatcher::new();
    dispatcher.on_override(|_| {});
    let mut library = dispatcher.library("my");
    register(library.stands_at(Place::new("planted.rs", 7)));
    let registration = library.finish().unwrap();
    let findings = lint(&dispatcher);
    drop(registration);
    findings.into_iter().map(|it| (it.fault.name().to_owned(), it.operator, it.message)).collect()
}

/// Checks that exactly this fault is found, of this operator, with these words in its message.
fn planted(fault: Fault, operator: &str, words: &[&str], register: impl FnOnce(&mut Library)) {
    let findings = found(register);
    let [(name, subject, message)] = findings.as_slice() else { panic!("{fault}: {findings:?}") };
    assert_eq!((name.as_str(), subject.as_str()), (fault.name(), operator));
    for word in words {
        assert!(message.contains(word), "{fault}: `{word}` is not in: {message}");
    }
}

#[test]
fn a_sound_registry_has_no_findings() {
    let findings = found(|library| {
        library.define("add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor").add(kernel());
        library
            .define("add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)")
            .add(kernel());
        library
            .define("view(Tensor(a) self) -> Tensor(a)")
            .add(kernel().at(DispatchKey::CompositeExplicitAutograd));
        library.define("full(int[] size) -> Tensor").add(kernel().at(DispatchKey::BackendSelect));
        library
            .define("sin(Tensor self) -> Tensor")
            .add(kernel().at(DispatchKey::Cpu))
            .add(kernel().at(DispatchKey::Meta));
        library.define("sinh(Tensor self) -> Tensor").add(kernel());
        library.define("truth(Tensor self) -> bool").add(kernel().at(DispatchKey::Cpu));
        library
            .define("found(Tensor self) -> Tensor")
            .tag("dynamic_output_shape")
            .add(kernel().at(DispatchKey::Cpu));
        library
            .define("chosen(Tensor self) -> Tensor")
            .add(kernel().at(DispatchKey::Meta))
            .add(kernel().at(DispatchKey::Cpu).named("fast").when("it is small", |_| Ok(true)))
            .add(kernel().at(DispatchKey::Cpu).named("slow"));
    });
    assert_eq!(findings, []);
}

#[test]
fn dangling_implementation() {
    planted(
        Fault::DanglingImplementation,
        "my::tiwce",
        &["CPU", "but no schema", "did you mean my::twice?"],
        |library| {
            library.define("twice(Tensor self) -> Tensor").add(kernel());
            library.implement("tiwce").add(kernel().at(DispatchKey::Cpu));
        },
    );
}

#[test]
fn schema_without_kernel() {
    planted(Fault::SchemaWithoutKernel, "my::twice", &["has no kernel"], |library| {
        library.define("twice(Tensor self) -> Tensor");
    });
}

#[test]
fn overridden_kernel() {
    planted(Fault::OverriddenKernel, "my::twice", &["never runs", "planted.rs:7 replaced it"], |library| {
        library.allow_override().define("twice(Tensor self) -> Tensor").add(kernel()).add(kernel());
    });
}

#[test]
fn shadowed_provider() {
    planted(Fault::ShadowedProvider, "my::twice", &["slow", "never runs", "fast"], |library| {
        library
            .define("twice(Tensor self) -> Tensor")
            .add(kernel().at(DispatchKey::Meta))
            .add(kernel().at(DispatchKey::Cpu).named("fast"))
            .add(kernel().at(DispatchKey::Cpu).named("slow"));
    });
}

#[test]
fn covered_alias() {
    planted(
        Fault::CoveredAlias,
        "my::twice",
        &["CompositeImplicitAutograd", "CompositeExplicitAutograd"],
        |library| {
            library
                .define("twice(Tensor self) -> Tensor")
                .add(kernel().at(DispatchKey::CompositeExplicitAutograd))
                .add(kernel().at(DispatchKey::CompositeImplicitAutograd));
        },
    );
}

#[test]
fn no_tensor_to_dispatch_on() {
    planted(Fault::NoTensorToDispatchOn, "my::full", &["takes no tensor", "BackendSelect"], |library| {
        let full = library.define("full(int[] size) -> Tensor");
        full.add(kernel().at(DispatchKey::Cpu)).add(kernel().at(DispatchKey::Meta));
    });
}

#[test]
fn missing_meta() {
    planted(Fault::MissingMeta, "my::twice", &["CPU", "none for Meta"], |library| {
        library.define("twice(Tensor self) -> Tensor").add(kernel().at(DispatchKey::Cpu));
    });
}

#[test]
fn meta_alone() {
    planted(Fault::MetaAlone, "my::twice", &["none that computes"], |library| {
        library.define("twice(Tensor self) -> Tensor").add(kernel().at(DispatchKey::Meta));
    });
}

#[test]
fn nothing_below() {
    planted(Fault::NothingBelow, "my::twice", &["Autograd", "register one for CPU"], |library| {
        library.define("twice(Tensor self) -> Tensor").add(kernel().at(DispatchKey::Autograd));
    });
}

#[test]
fn backend_stepped_over() {
    planted(Fault::BackendSteppedOver, "my::twice", &["falls through at CPU"], |library| {
        let twice = library.define("twice(Tensor self) -> Tensor").fallthrough(DispatchKey::Cpu);
        twice.add(kernel().at(DispatchKey::CompositeExplicitAutograd));
    });
}

#[test]
fn ambiguous_autograd() {
    planted(Fault::AmbiguousAutograd, "my::twice", &["AutogradOther", "SparseCPU"], |library| {
        let twice = library.define("twice(Tensor self) -> Tensor").add(kernel());
        twice.add(kernel().at(DispatchKey::SparseCpu));
    });
}

#[test]
fn lost_derivative() {
    planted(Fault::LostDerivative, "my::twice", &["kernel for CPU", "out of AutogradCPU"], |library| {
        library.define("twice(Tensor self) -> Tensor").add(kernel()).add(kernel().at(DispatchKey::Cpu));
    });
}

#[test]
fn unwritten_in_place() {
    planted(Fault::UnwrittenInPlace, "my::twice_", &["does not write `self`", "Tensor(a!)"], |library| {
        library.define("twice_(Tensor self) -> Tensor").add(kernel());
    });
}

#[test]
fn unknown_alias_set() {
    planted(Fault::UnknownAliasSet, "my::part", &["`b`"], |library| {
        library.define("part(Tensor(a) self) -> Tensor(b)").add(kernel());
    });
}

#[test]
fn forms_disagree() {
    planted(
        Fault::FormsDisagree,
        "my::add_",
        &["`alpha` has default 2 here and default 1", "my::add"],
        |library| {
            library.define("add(Tensor self, *, Scalar alpha=1) -> Tensor").add(kernel());
            library.define("add_(Tensor(a!) self, *, Scalar alpha=2) -> Tensor(a!)").add(kernel());
        },
    );
}

#[test]
fn broken_form() {
    planted(Fault::BrokenForm, "my::twice", &["my::twice.out, which is not defined"], |library| {
        let name = |overload| OperatorName::new("my::twice", overload);
        let forms = Forms { functional: name(""), in_place: None, out: Some(name("out")) };
        library.define("twice(Tensor self) -> Tensor").column(forms).add(kernel());
    });
}

#[test]
fn same_arguments() {
    planted(Fault::SameArguments, "my::twice.other", &["as my::twice.int", "`my::twice`"], |library| {
        library.define("twice.int(Tensor self, int times) -> Tensor").add(kernel());
        library.define("twice.other(Tensor self, int count) -> Tensor").add(kernel());
    });
}

#[test]
fn near_name() {
    planted(Fault::NearName, "my::matmul", &["`matmul` is nearly `matmlu`"], |library| {
        library.define("matmul(Tensor self) -> Tensor").add(kernel());
        library.define("matmlu(Tensor self) -> Tensor").add(kernel());
    });
    planted(Fault::NearName, "my::twice.tensor", &["overload `tensor` is nearly `Tensor`"], |library| {
        library.define("twice.Tensor(Tensor self) -> Tensor").add(kernel());
        library.define("twice.tensor(Tensor self, int times) -> Tensor").add(kernel());
    });
}

#[test]
fn faults_have_names_of_their_own() {
    for fault in Fault::ALL {
        assert_eq!(Fault::named(fault.name()), Some(fault));
        assert!(!fault.summary().is_empty());
    }
    assert_eq!(Fault::named("no-fault"), None);
}
