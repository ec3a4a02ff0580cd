//! Backends and layers that are allocated at run time.
//!
//! Keys belong to the process: each test allocates names of its own, and each gap between torch's layers belongs to one
//! test. What happens when places run out is in `runtime_keys_full.rs`.

mod common;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use common::{cpu, define, implement, nothing, tensor};
use opgrid_core::{
    BackendComponent, DType, Device, DeviceType, DispatchKey, DispatchKeySet, Dispatcher, ErrorKind,
    Functionality, Kernel, KeyKind, Layout, OperatorHandle, Reason, Registration, Returns, Value, ValueRef,
    autocast_key, autograd_key, columns, compute_dispatch_key, device_key, excluding, including,
    key_to_options, record_calls, set_excluded, tensor_key_set, torch_columns,
};
use proptest::prelude::*;

fn key(name: &str) -> DispatchKey {
    name.parse().unwrap()
}

fn backend(name: &str) -> BackendComponent {
    BackendComponent::register(name).unwrap()
}

/// A boxed kernel that returns a text.
fn says(text: &'static str) -> Kernel {
    Kernel::boxed(move |call| {
        call.push(text);
        Ok(())
    })
}

/// What an operator of one tensor that returns a text says.
fn ask(operator: &OperatorHandle, keys: impl Into<DispatchKeySet>) -> String {
    let mut returns = Returns::new();
    operator.call_boxed(&[ValueRef::from(&tensor(keys))], &mut returns).unwrap();
    match returns.into_single().unwrap() {
        Value::Str(text) => text.to_string(),
        other => format!("{other:?}"),
    }
}

/// An operator `test::op` of one tensor that returns a text.
fn operator(dispatcher: &Dispatcher) -> (OperatorHandle, Registration) {
    let defined = define(dispatcher, "op(Tensor x) -> str").unwrap();
    (dispatcher.find("test::op").unwrap(), defined)
}

fn fallback(dispatcher: &Dispatcher, key: DispatchKey, kernel: Kernel) -> Registration {
    let mut library = dispatcher.implementations("_", key);
    library.fallback(kernel);
    library.finish().unwrap()
}

fn reason(operator: &OperatorHandle, key: DispatchKey) -> Reason {
    operator.table().unwrap().into_iter().find(|column| column.key == key).unwrap().reason
}

#[test]
fn a_backend_brings_keys_that_print_parse_and_are_listed() {
    let toy = backend("Toy");
    assert_eq!((toy.name(), toy.to_string()), (Some("Toy"), "ToyBit".into()));
    assert_eq!((toy.is_run_time(), toy.torch_index()), (true, None));
    assert!(BackendComponent::all().any(|known| known == toy));
    let names =
        ["Toy", "QuantizedToy", "SparseToy", "SparseCsrToy", "NestedTensorToy", "AutogradToy", "AutocastToy"];
    let keys = names.map(key);
    let every: Vec<_> = DispatchKey::all().collect();
    for (name, key) in names.into_iter().zip(keys) {
        assert_eq!((key.to_string().as_str(), key.backend()), (name, Some(toy)));
        assert_eq!((key.kind(), key.exists(), key.is_runtime()), (KeyKind::Instance, true, true));
        assert_eq!((key.torch_value(), key.torch_column()), (None, None));
        assert_eq!(every.iter().filter(|known| **known == key).count(), 1);
        assert_eq!(key.key_set().to_string(), format!("DispatchKeySet({name})"));
        assert_eq!((key.key_set().highest_priority_key(), key.key_set().len()), (key, 1));
        assert!(columns()[torch_columns().len()..].contains(&key));
    }
    assert_eq!(every.iter().filter(|key| key.backend() == Some(toy)).count(), names.len());
    assert_eq!(toy.key(), keys[0]);
    assert_eq!((autograd_key(toy), autocast_key(toy)), (keys[5], Some(keys[6])));
    assert!(every.is_sorted_by_key(|key| key.is_alias()));
    assert!(every.windows(2).all(|pair| pair[0] < pair[1]), "in the order of numbers");
    assert_eq!(
        tensor_key_set(toy.key()).to_string(),
        "DispatchKeySet(Toy, ADInplaceOrView, AutogradToy, AutocastToy)"
    );
    let others = DispatchKeySet::from_keys(&[DispatchKey::AutocastPrivateUse1, DispatchKey::Cpu]);
    assert_eq!(others.to_string(), "DispatchKeySet(CPU, AutocastPrivateUse1)");
    assert_eq!((others | keys[0].into()).highest_priority_key(), keys[6]);
    assert_eq!(keys[6].key_set().to_torch_bits(), DispatchKey::AutocastPrivateUse1.key_set().to_torch_bits());
}

#[test]
fn a_backend_has_a_type_of_device() {
    let maker = backend("Maker");
    let device: Device = "maker:3".parse().unwrap();
    assert_eq!((device.to_string().as_str(), device.index()), ("maker:3", Some(3)));
    let kind: DeviceType = "maker".parse().unwrap();
    assert_eq!((device.kind(), kind.backend(), maker.device_type()), (kind, Some(maker), Some(kind)));
    assert_eq!(DeviceType::all().filter(|known| *known == kind).count(), 1);
    assert_eq!(device_key(kind).unwrap(), maker.key());
    let computed = |dtype, layout| compute_dispatch_key(Some(dtype), Some(layout), Some(device)).unwrap();
    assert_eq!(computed(DType::F32, Layout::Strided), key("Maker"));
    assert_eq!(computed(DType::QInt8, Layout::Strided), key("QuantizedMaker"));
    assert_eq!(computed(DType::F32, Layout::SparseCoo), key("SparseMaker"));
    assert_eq!(computed(DType::F32, Layout::SparseBsr), key("SparseCsrMaker"));
    assert_eq!(key_to_options(key("SparseMaker")).unwrap(), (Layout::SparseCoo, kind));
    assert_eq!(key_to_options(key("AutogradMaker")).unwrap(), (Layout::Strided, kind));
    let mkldnn = compute_dispatch_key(None, Some(Layout::Mkldnn), Some(device)).unwrap_err();
    assert_eq!(mkldnn.kind(), ErrorKind::NotImplemented);
    let unknown = "makers".parse::<Device>().unwrap_err().to_string();
    assert!(unknown.contains("privateuseone, ") && unknown.contains("maker"), "{unknown}");
    // Whoever calls a backend of torch by its device keeps what there was.
    assert_eq!(BackendComponent::Maia.device_type(), Some(DeviceType::Maia));
    assert_eq!(BackendComponent::PrivateUse2.device_type(), None);
    assert_eq!((DeviceType::Vulkan.backend(), DeviceType::Ve.backend()), (None, Some(BackendComponent::Ve)));
}

#[test]
fn a_name_is_allocated_once_and_later_backends_rank_higher() {
    let first = backend("Elder");
    let second = Dispatcher::new().backend("younger").unwrap().backend().unwrap();
    assert_eq!((backend("Elder"), backend("younger")), (first, second));
    assert_eq!(key("Autogradyounger").backend(), Some(second));
    assert!(BackendComponent::PrivateUse3 < first && first < second && second < BackendComponent::Meta);
    let both = DispatchKeySet::from_keys(&[second.key(), first.key(), DispatchKey::Cuda]);
    assert_eq!(both.highest_priority_key(), second.key());
    assert_eq!(both.to_string(), "DispatchKeySet(CUDA, Elder, younger)");
    assert_eq!((both | DispatchKey::Meta.into()).highest_priority_key(), DispatchKey::Meta);
}

#[test]
fn names_of_backends_that_cannot_be() {
    backend("Taken");
    let cases = [
        (
            "",
            ErrorKind::Registration,
            "backend ``: the name is not an identifier, expected a letter followed by",
        ),
        ("9lives", ErrorKind::Registration, "backend `9lives`: the name is not an identifier"),
        ("a b", ErrorKind::Registration, "such as `Toy`"),
        ("toy:0", ErrorKind::Registration, "the name is not an identifier"),
        ("Größe", ErrorKind::Registration, "the name is not an identifier"),
        (
            "Autogradish",
            ErrorKind::Registration,
            "backend `Autogradish`: names that begin with `Autograd` are those of",
        ),
        ("sparseish", ErrorKind::Registration, "names that begin with `Sparse`"),
        ("AutocastNew", ErrorKind::Registration, "names that begin with `Autocast`"),
        ("CPU", ErrorKind::Duplicate, "its key `CPU` would be confused with CPU, which is built in"),
        (
            "cuda",
            ErrorKind::Duplicate,
            "its key `cuda` would be confused with CUDA, which is built in; choose another name",
        ),
        ("Tracer", ErrorKind::Duplicate, "its key `Tracer` would be confused with Tracer"),
        ("Undefined", ErrorKind::Duplicate, "`Undefined`"),
        ("CompositeImplicitAutograd", ErrorKind::Duplicate, "`CompositeImplicitAutograd`"),
        ("Other", ErrorKind::Duplicate, "its key `AutogradOther` would be confused with AutogradOther"),
        ("CsrCPU", ErrorKind::Duplicate, "its key `SparseCsrCPU` would be confused with SparseCsrCPU"),
        (
            "taken",
            ErrorKind::Duplicate,
            "its key `taken` would be confused with Taken, which is allocated at",
        ),
        ("CsrTaken", ErrorKind::Duplicate, "its key `SparseCsrTaken` would be confused with SparseCsrTaken"),
        ("OpenGL", ErrorKind::Duplicate, "its type of device would be `opengl`, which there is already"),
        ("PrivateUseOne", ErrorKind::Duplicate, "its type of device would be `privateuseone`"),
    ];
    for (name, kind, expected) in cases {
        let error = BackendComponent::register(name).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(expected), "{error}\n{expected}");
        assert!(!BackendComponent::all().any(|known| known.is_run_time() && known.name() == Some(name)));
    }
    let place = BackendComponent::register("TAKEN").unwrap_err().to_string();
    assert!(place.contains("runtime_keys.rs:"), "{place}");
}

#[test]
fn a_backend_joins_the_aliases_as_private_use_1_does() {
    let joiner = backend("Joiner");
    for functionality in Functionality::all().filter(|it| it.has_instance_on(joiner)) {
        let ours = DispatchKey::runtime(functionality, joiner);
        let theirs = if functionality.is_per_backend() {
            DispatchKey::runtime(functionality, BackendComponent::PrivateUse1)
        } else {
            DispatchKey::of_functionality(functionality)
        };
        for alias in DispatchKey::aliases() {
            assert_eq!(ours.is_included_in(alias), theirs.is_included_in(alias), "{ours} in {alias}");
            let listed = alias.runtime_set().unwrap().iter().any(|key| key == ours);
            assert_eq!(listed, ours.is_included_in(alias), "{ours} in {alias}");
        }
        assert_eq!(ours.is_backend_key(), theirs.is_backend_key());
    }
}

/// A kernel's key on PrivateUse1, and the same on a user's backend.
fn twins(user: BackendComponent) -> Vec<(DispatchKey, DispatchKey)> {
    let per_backend = Functionality::all().filter(|it| it.is_per_backend());
    let twin = |functionality| {
        let theirs = DispatchKey::runtime(functionality, BackendComponent::PrivateUse1);
        (theirs, DispatchKey::runtime(functionality, user))
    };
    per_backend.map(twin).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    /// The columns of a user's backend are filled as those of PrivateUse1, by the same rules, on dispatchers that were
    /// made before the backend and after.
    #[test]
    fn columns_of_a_backend_are_filled_as_those_of_private_use_1(
        kernels in proptest::collection::vec(any::<bool>(), 6),
        fallbacks in proptest::collection::vec(any::<bool>(), 6),
        aliases in proptest::collection::vec(any::<bool>(), 6),
        late in any::<bool>(),
    ) {
        let made = || [Dispatcher::new(), Dispatcher::bare(), Dispatcher::with_reference_fallbacks()];
        let early = made();
        let twin = backend("Twin");
        for dispatcher in if late { made() } else { early } {
            let (operator, _defined) = operator(&dispatcher);
            let mut kept = Vec::new();
            for ((theirs, ours), chosen) in twins(twin).into_iter().zip(&kernels) {
                for key in [theirs, ours].into_iter().filter(|_| *chosen) {
                    kept.push(implement(&dispatcher, "op", key, nothing()).unwrap());
                }
            }
            for (alias, _) in DispatchKey::aliases().zip(&aliases).filter(|(_, chosen)| **chosen) {
                kept.push(implement(&dispatcher, "op", alias, nothing()).unwrap());
            }
            for ((theirs, ours), _) in twins(twin).into_iter().zip(&fallbacks).filter(|(_, chosen)| **chosen) {
                for key in [theirs, ours] {
                    let mut library = dispatcher.implementations("_", key);
                    library.allow_override();
                    library.fallback(nothing());
                    kept.push(library.finish().unwrap());
                }
            }
            for (theirs, ours) in twins(twin) {
                prop_assert_eq!(reason(&operator, ours), reason(&operator, theirs), "{} {}", ours, theirs);
            }
            operator.check_invariants().unwrap();
        }
    }
}

/// What is registered for PrivateUse1 is not for others, unless torch's own dispatcher has it there.
#[test]
fn fallbacks_of_private_use_1_serve_nobody_else() {
    let reference = Dispatcher::with_reference_fallbacks();
    let dispatcher = Dispatcher::new();
    let (operator, _defined) = operator(&dispatcher);
    let _theirs = fallback(&dispatcher, DispatchKey::PrivateUse1, says("their fallback"));
    // A fallback for an alias serves backends that come later.
    let _autograd = fallback(&dispatcher, DispatchKey::Autograd, Kernel::fallthrough());
    let stranger = backend("Stranger");
    let call = |keys: DispatchKeySet| {
        let mut returns = Returns::new();
        operator.call_boxed(&[ValueRef::from(&tensor(keys))], &mut returns)
    };
    assert_eq!(reason(&operator, stranger.key()), Reason::Missing);
    let missing = call(stranger.key().into()).unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::MissingKernel);
    assert!(missing.to_string().contains("arguments from the 'Stranger' backend"), "{missing}");
    assert_eq!(ask(&operator, DispatchKey::PrivateUse1), "their fallback");
    assert_eq!(reason(&operator, key("AutogradStranger")), Reason::Fallback);
    let _ours = fallback(&dispatcher, stranger.key(), says("our fallback"));
    assert_eq!(
        ask(&operator, DispatchKeySet::from_keys(&[stranger.key(), key("AutogradStranger")])),
        "our fallback"
    );
    assert_eq!(ask(&operator, DispatchKey::PrivateUse1), "their fallback");

    let (operator, _defined) = self::operator(&reference);
    assert_eq!(reason(&operator, key("AutogradStranger")), Reason::Fallback);
    operator.check_invariants().unwrap();
}

#[test]
fn each_backend_has_an_autocast_key_of_its_own() {
    let dispatcher = Dispatcher::new();
    let (operator, _defined) = operator(&dispatcher);
    let (warm, cold) = (backend("Warm"), backend("Cold"));
    let _data = implement(&dispatcher, "op", DispatchKey::CompositeExplicitAutograd, says("data")).unwrap();
    let autocast = |name| {
        Kernel::boxed(move |call| {
            call.push(format!("{name} at {}", call.key()));
            Ok(())
        })
    };
    let layer = key("AutocastWarm");
    let keys = |data: DispatchKey| tensor_key_set(data);
    // Threads exclude autocast from the start.
    let _kernel = implement(&dispatcher, "op", layer, autocast("kernel")).unwrap();
    assert_eq!(ask(&operator, keys(warm.key())), "data");
    set_excluded(layer, false);
    assert_eq!(ask(&operator, keys(warm.key())), "kernel at AutocastWarm");
    // The thread knows of the layer alone. Other backends step over it until they have something there.
    assert_eq!(ask(&operator, keys(cold.key())), "data");
    let _fallback = fallback(&dispatcher, key("AutocastCold"), autocast("fallback"));
    assert_eq!(ask(&operator, keys(cold.key())), "fallback at AutocastCold");
    let _theirs =
        implement(&dispatcher, "op", DispatchKey::AutocastPrivateUse1, autocast("torch's")).unwrap();
    assert_eq!(ask(&operator, keys(DispatchKey::PrivateUse1)), "torch's at AutocastPrivateUse1");
    assert_eq!(ask(&operator, keys(warm.key())), "kernel at AutocastWarm");
    assert_eq!(ask(&operator, keys(cold.key())), "fallback at AutocastCold");
    operator.check_invariants().unwrap();
    assert_eq!(excluding(key("AutocastCold"), || ask(&operator, keys(warm.key()))), "data");
    assert!(operator.dump_computed_table().unwrap().contains("\nAutocastWarm: "));
    // torch's instances there are one key.
    assert_eq!(
        DispatchKey::runtime(Functionality::AutocastPrivateUse1, BackendComponent::Cpu),
        DispatchKey::Undefined
    );
    assert!("AutocastHIP".parse::<DispatchKey>().is_err());
}

#[test]
fn registrations_for_positions_that_nobody_holds_are_refused() {
    let dispatcher = Dispatcher::new();
    let (_operator, _defined) = operator(&dispatcher);
    let layer = DispatchKey::from(Functionality::at(11).unwrap());
    let backend = DispatchKey::runtime(Functionality::Sparse, BackendComponent::at(30).unwrap());
    for key in [layer, backend] {
        assert!(!key.exists());
        let error = implement(&dispatcher, "op", key, nothing()).unwrap_err();
        assert!(error.to_string().contains("a kernel for an unallocated key would never run"), "{error}");
        let mut library = dispatcher.implementations("_", key);
        library.fallback(nothing());
        let error = library.finish().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Registration);
        assert!(error.to_string().contains("allocate a backend with BackendComponent::register"), "{error}");
    }
}

/// The gap of four above autograd.
#[test]
fn a_layer_gets_the_middle_of_the_nearest_gap() {
    let place = |key: DispatchKey| key.functionality().position();
    let between =
        |name: &str| DispatchKey::layer(name).above(DispatchKey::Autograd).below(DispatchKey::Tracer);
    let middle = between("Middle").register().unwrap();
    assert_eq!(place(middle), 29);
    let over = DispatchKey::layer("Over").above(middle).below(DispatchKey::Tracer).register().unwrap();
    assert_eq!(place(over), 30);
    let under = between("Under").below(middle).register().unwrap();
    assert_eq!(place(under), 28);
    let top = DispatchKey::layer("NextToTracer").below(DispatchKey::Tracer).register().unwrap();
    assert_eq!(place(top), 31, "without a lower bound, the gap next to the upper one");
    let order = [under, middle, over, top].map(DispatchKey::functionality);
    assert!(order.is_sorted());

    let full = between("Fifth").register().unwrap_err();
    assert_eq!(full.kind(), ErrorKind::Registration);
    let text = full.to_string();
    assert!(
        text.starts_with(
            "layer `Fifth`: no position is free above Autograd and below Tracer: Under (allocated at "
        ),
        "{text}"
    );
    for expected in [
        "Middle (allocated at ",
        "Over (",
        "NextToTracer (",
        "runtime_keys.rs:",
        "the nearest free positions are above ",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    assert!("Fifth".parse::<DispatchKey>().is_err());

    assert_eq!(between("Middle").register().unwrap(), middle);
    assert_eq!(DispatchKey::layer("Middle").register().unwrap(), middle);
    assert_eq!(DispatchKey::layer("Middle").above(under).below(over).register().unwrap(), middle);
    let moved = DispatchKey::layer("Middle").above(over).register().unwrap_err();
    assert_eq!(moved.kind(), ErrorKind::Duplicate);
    let text = moved.to_string();
    assert!(
        text.contains("layer `Middle` has been allocated at ")
            && text.contains(" below Over, and cannot move above it"),
        "{text}"
    );
    let moved = DispatchKey::layer("Middle").below(DispatchKey::AutogradCpu).register().unwrap_err();
    assert!(moved.to_string().contains(" above AutogradCPU, and cannot move below it"), "{moved}");
}

#[test]
fn layers_that_cannot_be() {
    use DispatchKey as Key;
    backend("Bystander");
    let free = Key::from(Functionality::at(11).unwrap());
    let layer = |name: &str| Key::layer(name).above(Key::FuncTorchBatched);
    let cases = [
        (Key::layer("Lost"), "layer `Lost`: has no position; say with `above` and `below`"),
        (layer("no name"), "layer `no name`: the name is not an identifier"),
        (
            layer("Tracer"),
            "layer `Tracer`: its key `Tracer` would be confused with Tracer, which is built in",
        ),
        (layer("autocastcpu"), "would be confused with AutocastCPU"),
        (layer("SparseBystander"), "would be confused with SparseBystander, which is allocated at "),
        (
            Key::layer("Torn")
                .above(Key::Cpu)
                .above(Key::Tracer)
                .below(Key::Autograd)
                .below(Key::PythonDispatcher),
            "layer `Torn`: above Tracer and below Autograd contradict each other, as Autograd does not rank above Tracer",
        ),
        (
            Key::layer("Same").above(Key::Tracer).below(Key::Tracer),
            "above Tracer and below Tracer contradict",
        ),
        (Key::layer("Low").below(Key::Undefined).above(Key::Undefined), "below Undefined contradict"),
        (
            Key::layer("Bottom").below(Key::Cpu),
            "no position is free below CPU: nothing fits between; the nearest free positions are above NestedTensor",
        ),
        (
            Key::layer("Tight").above(Key::AutogradOther).below(Key::AutogradNestedTensor),
            "no position is free above AutogradOther and below AutogradNestedTensor: AutogradFunctionality; the nearest free",
        ),
        (Key::layer("Adrift").above(free), "layer `Adrift`: is constrained by an unallocated key"),
        (
            layer("Empty").excludes_below(Key::Autograd),
            "`excludes_below` names no layer; an alias key such as Autograd is not part of a key set",
        ),
        (
            layer("Blind").excludes_below(Key::Cpu),
            "`excludes_below` names Dense, whose kernels compute; expected layers above",
        ),
    ];
    for (layer, expected) in cases {
        let error = layer.clone().register().unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Registration | ErrorKind::Duplicate), "{error}");
        assert!(error.to_string().contains(expected), "{error}\n{expected}");
    }
    let taken = BackendComponent::register("Layered").and_then(|_| layer("Layered").register());
    assert_eq!(taken.unwrap_err().kind(), ErrorKind::Duplicate);
}

/// The two places above Tracer.
#[test]
fn calls_step_over_a_new_layer_until_it_has_something() {
    let (before, bare) = (Dispatcher::new(), Dispatcher::bare());
    let (early, _early) = operator(&before);
    let _data = implement(&before, "op", DispatchKey::Cpu, says("data")).unwrap();
    let watch = DispatchKey::layer("Watch").above(DispatchKey::Tracer).below(DispatchKey::AutocastCpu);
    let watch = watch.register().unwrap();
    assert_eq!((watch.kind(), watch.to_string().as_str()), (KeyKind::Layer, "Watch"));
    assert_eq!(key("Watch"), watch);
    assert_eq!((watch.torch_value(), watch.torch_column()), (None, None));
    for dispatcher in [&bare, &Dispatcher::new(), &Dispatcher::with_reference_fallbacks()] {
        let (operator, _defined) = operator(dispatcher);
        let _data = implement(dispatcher, "op", DispatchKey::Cpu, says("data")).unwrap();
        // Bare dispatchers have nothing for what threads include from the start.
        let call = || including(watch, || ask(&operator, DispatchKey::Cpu));
        assert_eq!(excluding(DispatchKeySet::DEFAULT_INCLUDED, call), "data");
        assert_eq!(reason(&operator, watch), Reason::SteppedOver);
        operator.check_invariants().unwrap();
    }
    assert_eq!(including(watch, || ask(&early, DispatchKey::Cpu)), "data");

    let around = |text: &'static str| {
        Kernel::boxed(move |call| {
            call.below()?;
            let below = std::mem::take(call.returns()).into_single()?;
            call.push(format!("{text}({})", below.borrow().as_str().unwrap()));
            Ok(())
        })
    };
    let _all = fallback(&before, watch, around("fallback"));
    assert_eq!(including(watch, || ask(&early, DispatchKey::Cpu)), "fallback(data)");
    assert_eq!(ask(&early, DispatchKey::Cpu), "data");
    let _one = implement(&before, "op", watch, around("kernel")).unwrap();
    assert_eq!(ask(&early, DispatchKeySet::from_keys(&[watch, DispatchKey::Cpu])), "kernel(data)");
    assert!(
        early.list_dispatch_keys().unwrap().ends_with(", Watch]")
            || early.list_dispatch_keys().unwrap().contains(", Watch, ")
    );
    assert!(early.dump_computed_table().unwrap().contains("\nWatch: "));
    assert!(early.dump_state().unwrap().contains("Watch: "));
    let explained = including(watch, || early.explain(&[ValueRef::from(&cpu())]).unwrap());
    assert!(explained.to_string().contains(" 1  Watch  "), "{explained}");
    let (_, steps) = record_calls(|| including(watch, || ask(&early, DispatchKey::Cpu)));
    assert_eq!(steps.iter().map(|step| step.key).collect::<Vec<_>>(), [watch, DispatchKey::Cpu]);
    let (dumped, torch) = (early.table().unwrap(), torch_columns());
    assert!(dumped.iter().map(|column| column.key).take(torch.len()).eq(torch), "torch's columns come first");
    early.check_invariants().unwrap();
}

/// The two places above autocast.
#[test]
fn a_layer_says_what_is_skipped_below_it() {
    let dispatcher = Dispatcher::new();
    let layer = |name: &str| {
        DispatchKey::layer(name).above(DispatchKey::AutocastPrivateUse1).below(DispatchKey::FuncTorchBatched)
    };
    let plain = layer("Plain").register().unwrap();
    let quiet = layer("Quiet").excludes_below(DispatchKeySet::AUTOGRAD).register().unwrap();
    let tracer = DispatchKeySet::from(DispatchKey::Tracer);
    let other = layer("Quiet").excludes_below(tracer).register().unwrap_err();
    assert!(other.to_string().contains("with another `excludes_below`, which cannot change"), "{other}");
    assert_eq!(layer("Quiet").excludes_below(DispatchKeySet::AUTOGRAD).register().unwrap(), quiet);
    assert_eq!(layer("Quiet").register().unwrap(), quiet);

    let _defined = define(&dispatcher, "inner(Tensor x) -> str").unwrap();
    let (outer, _outer) = operator(&dispatcher);
    let inner = dispatcher.find("test::inner").unwrap();
    let below = || Kernel::boxed(|call| call.below());
    let _kernels = [plain, quiet, DispatchKey::Autograd].map(|key| {
        [
            implement(&dispatcher, "op", key, below()).unwrap(),
            implement(&dispatcher, "inner", key, below()).unwrap(),
        ]
    });
    let calls_inner = Kernel::boxed(move |call| {
        let mut returns = Returns::new();
        inner.call_boxed(&[ValueRef::from(call.tensor(0)?)], &mut returns)?;
        call.push(returns.into_single()?);
        Ok(())
    });
    let _data = [
        implement(&dispatcher, "op", DispatchKey::Cpu, calls_inner).unwrap(),
        implement(&dispatcher, "inner", DispatchKey::Cpu, says("data")).unwrap(),
    ];
    let x = DispatchKeySet::from_keys(&[DispatchKey::Cpu, DispatchKey::AutogradCpu]);
    let path = |layer: DispatchKey| {
        let (_, steps) = record_calls(|| including(layer, || ask(&outer, x)));
        let explained = including(layer, || outer.explain(&[ValueRef::from(&tensor(x))]).unwrap());
        let names = |step: &opgrid_core::Step| format!("{} {}", step.operator.name().name, step.key);
        let hops: Vec<_> = explained.hops.iter().map(|hop| hop.key).collect();
        (steps.iter().map(names).collect::<Vec<_>>(), hops)
    };
    let (steps, hops) = path(plain);
    assert_eq!(steps, ["test::op Plain", "test::op AutogradCPU", "test::op CPU", "test::inner CPU"]);
    assert_eq!(hops, [plain, DispatchKey::AutogradCpu, DispatchKey::Cpu]);
    let (steps, hops) = path(quiet);
    assert_eq!(steps, ["test::op Quiet", "test::op CPU", "test::inner CPU"]);
    assert_eq!(hops, [quiet, DispatchKey::Cpu]);
}

/// A naive set: pairs of functionality and backend, where a functionality without instances goes with none.
fn naive_keys(functionalities: &BTreeSet<u32>, backends: &BTreeSet<u32>) -> Vec<DispatchKey> {
    let mut keys = Vec::new();
    for functionality in functionalities.iter().filter_map(|it| Functionality::at(*it)) {
        let on: Vec<_> = backends.iter().filter_map(|it| BackendComponent::at(*it)).collect();
        let users: Vec<_> = on.iter().copied().filter(|it| it.is_run_time()).collect();
        match functionality {
            it if it.is_per_backend() => {
                keys.extend(on.iter().map(|backend| DispatchKey::runtime(it, *backend)))
            }
            Functionality::AutocastPrivateUse1 if !users.is_empty() => {
                keys.extend(users.iter().map(|backend| DispatchKey::runtime(functionality, *backend)));
                keys.extend((on.last() != users.last()).then_some(DispatchKey::from(functionality)));
            }
            _ => keys.push(functionality.into()),
        }
    }
    keys
}

/// The layer above FuncTorchBatched, the backends and the keys that the property is about.
fn universe() -> (Vec<u32>, Vec<u32>) {
    let layer = DispatchKey::layer("Model")
        .above(DispatchKey::FuncTorchBatched)
        .below(DispatchKey::BatchedNestedTensor);
    let layer = layer.register().unwrap().functionality();
    let users = [backend("ModelA"), backend("ModelB")];
    let torch = [BackendComponent::Cpu, BackendComponent::PrivateUse1, BackendComponent::Meta];
    let built_in = (1..64).filter_map(Functionality::at).filter(|it| !it.is_run_time());
    let functionalities = built_in.chain([layer]).map(Functionality::position).collect();
    (functionalities, users.into_iter().chain(torch).map(BackendComponent::position).collect())
}

/// A set as its parts, chosen from the [`universe`].
fn any_parts() -> impl Strategy<Value = (BTreeSet<u32>, BTreeSet<u32>)> {
    let (functionalities, backends) = universe();
    let few = proptest::sample::subsequence(functionalities.clone(), 0..6);
    let some = proptest::sample::subsequence(backends, 0..5);
    // The position that users' backends subdivide is in half of the sets.
    (few, some, any::<bool>()).prop_map(|(few, some, subdivided)| {
        let autocast = Functionality::AutocastPrivateUse1.position();
        (few.into_iter().chain(subdivided.then_some(autocast)).collect(), some.into_iter().collect())
    })
}

fn set_of((functionalities, backends): &(BTreeSet<u32>, BTreeSet<u32>)) -> DispatchKeySet {
    let layers = functionalities.iter().fold(0, |word, bit| word | 1_u64 << bit);
    DispatchKeySet::from_parts(layers, backends.iter().fold(0, |word, bit| word | 1 << bit))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn sets_with_keys_of_users_are_those_of_the_model(a in any_parts(), b in any_parts()) {
        let (left, right) = (set_of(&a), set_of(&b));
        let keys: Vec<_> = left.iter().collect();
        prop_assert_eq!(&keys, &naive_keys(&a.0, &a.1));
        prop_assert_eq!(left.len(), keys.len());
        let union = (&a.0 | &b.0, &a.1 | &b.1);
        prop_assert_eq!((left | right).iter().collect::<Vec<_>>(), naive_keys(&union.0, &union.1));
        let both = (&a.0 & &b.0, &a.1 & &b.1);
        prop_assert_eq!((left & right).iter().collect::<Vec<_>>(), naive_keys(&both.0, &both.1));
        let rest = (&a.0 - &b.0, a.1.clone());
        prop_assert_eq!((left - right).iter().collect::<Vec<_>>(), naive_keys(&rest.0, &rest.1));
        for key in DispatchKey::all().filter(|key| !key.is_alias() && *key != DispatchKey::Undefined) {
            let functionality = a.0.contains(&key.functionality().position());
            let on = key.backend().is_none_or(|backend| a.1.contains(&backend.position()));
            prop_assert_eq!(left.contains(key), functionality && on, "{}", key);
        }
        let highest = left.highest_priority_key();
        match keys.last() {
            Some(last) if *last == highest => {}
            // A building block without backends is above every key that is iterated.
            _ => prop_assert!(highest.is_placeholder() || highest == DispatchKey::Undefined),
        }
        let again: DispatchKeySet = keys.iter().copied().collect();
        prop_assert!(left.has_all(again) && again.iter().all(|key| keys.contains(&key)));
        let text = left.to_string();
        let names = text.strip_prefix("DispatchKeySet(").and_then(|text| text.strip_suffix(')')).unwrap();
        let parsed = names.split(", ").filter(|name| !name.is_empty()).map(key).collect::<Vec<_>>();
        prop_assert_eq!(parsed, keys);
        prop_assert_eq!(DispatchKeySet::from_torch_bits(left.to_torch_bits()).unwrap(), left & DispatchKeySet::FULL);
    }
}

/// Has all threads stop when one of them ends, in whichever way.
struct Stop<'s>(&'s AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// The places on top, and two backends.
#[test]
fn threads_call_print_and_parse_while_keys_are_allocated() {
    let dispatcher = Dispatcher::new();
    let (operator, _defined) = operator(&dispatcher);
    let _data = implement(&dispatcher, "op", DispatchKey::CompositeExplicitAutograd, says("data")).unwrap();
    let (done, calls) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let _stop = Stop(&done);
                while !done.load(Ordering::Acquire) {
                    for key in DispatchKey::all() {
                        assert_eq!(key.to_string().parse::<DispatchKey>().unwrap(), key);
                    }
                    for backend in BackendComponent::all().filter(|backend| backend.is_run_time()) {
                        assert_eq!(BackendComponent::named(backend.name().unwrap()), Some(backend));
                        let set = tensor_key_set(backend.key());
                        let said = ask(&operator, set);
                        let may_have_a_kernel = backend.name() == Some("RaceB");
                        assert!(said == "data" || said == "ours" && may_have_a_kernel, "{set}: {said}");
                        assert!(!set.to_string().contains("Unknown"), "{set}");
                    }
                    operator.dump_computed_table().unwrap();
                    calls.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let _stop = Stop(&done);
        let racing: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let high = DispatchKey::layer("RaceHigh").above(DispatchKey::PythonDispatcher);
                    (backend("RaceA"), backend("RaceB"), high.register().unwrap())
                })
            })
            .collect();
        let results: Vec<_> = racing.into_iter().map(|thread| thread.join().unwrap()).collect();
        assert!(
            results.windows(2).all(|pair| pair[0] == pair[1]),
            "everyone gets the same keys: {results:?}"
        );
        let (a, b, high) = results[0];
        let _layer = fallback(&dispatcher, high, Kernel::boxed(|call| call.below()));
        assert_eq!(including(high, || ask(&operator, a.key())), "data");
        let _ours = implement(&dispatcher, "op", b.key(), says("ours")).unwrap();
        let started = calls.load(Ordering::Relaxed);
        while calls.load(Ordering::Relaxed) < started + 3 && !done.load(Ordering::Relaxed) {
            assert_eq!(including(high, || ask(&operator, a.key())), "data");
            std::thread::yield_now();
        }
    });
    operator.check_invariants().unwrap();
}
