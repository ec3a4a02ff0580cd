//! What reference fallbacks leave on the thread, and what replacing a fallback says.

use std::sync::{Arc, Mutex};

use opgrid_core::{
    AnyTensor, DispatchKey as Key, DispatchKeySet, Dispatcher, ErrorKind, Kernel, LocalKeys, TensorData,
};

struct Nothing;

impl TensorData for Nothing {
    fn describe(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("tensor()")
    }
}

type Unary = fn(AnyTensor) -> AnyTensor;

/// torch's fallback for autograd redispatches below and leaves the thread alone: an operator that the CPU kernel calls
/// comes to its own autograd kernel.
#[test]
fn operators_called_below_a_fallback_of_autograd_reach_their_own_autograd_kernel() {
    let dispatcher = Dispatcher::with_reference_fallbacks();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let note = |text: &'static str| {
        let seen = seen.clone();
        move || seen.lock().unwrap().push((text, LocalKeys::current()))
    };
    let mut library = dispatcher.library("fallbacks");
    let (of_cpu, of_autograd) = (note("inner CPU"), note("inner AutogradCPU"));
    library
        .define("inner(Tensor x) -> Tensor")
        .add(
            Kernel::layer::<Unary>(move |_, (x,)| {
                of_cpu();
                Ok(x.clone())
            })
            .at(Key::Cpu),
        )
        .add(
            Kernel::layer::<Unary>(move |next, args| {
                of_autograd();
                next.call(args)
            })
            .at(Key::AutogradCpu),
        );
    let outer = note("outer CPU");
    library.define("outer(Tensor x) -> Tensor").add(
        Kernel::layer::<Unary>(move |_, (x,)| {
            outer();
            Dispatcher::current().find("fallbacks::inner")?.typed::<Unary>()?.call((x,))
        })
        .at(Key::Cpu),
    );
    let _registration = library.finish().unwrap();
    let x = AnyTensor::new(DispatchKeySet::from_keys(&[Key::Cpu, Key::AutogradCpu]), Nothing);
    dispatcher.find("fallbacks::outer").unwrap().typed::<Unary>().unwrap().call((&x,)).unwrap();
    let seen = seen.lock().unwrap();
    let names: Vec<_> = seen.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["outer CPU", "inner AutogradCPU", "inner CPU"]);
    assert_eq!(seen[0].1, LocalKeys::DEFAULT, "the fallback leaves the thread's keys alone");
    assert!(seen[2].1.excluded.has_all(DispatchKeySet::AUTOGRAD), "a layer that calls on excludes its keys");
}

/// Calls at keys whose fallback in torch looks for tensors with a bit of theirs.
#[test]
fn fallbacks_that_only_look_leave_the_thread_alone() {
    for key in [Key::Conjugate, Key::Negative, Key::ZeroTensor, Key::AutogradOther, Key::AutogradPrivateUse1]
    {
        let dispatcher = Dispatcher::with_reference_fallbacks();
        let mut library = dispatcher.library("fallbacks");
        let look = |_: &mut opgrid_core::BoxedCall<'_>| {
            assert_eq!(LocalKeys::current(), LocalKeys::DEFAULT);
            Ok(())
        };
        library.define("look(Tensor x) -> ()").boxed(Key::Cpu, look).boxed(Key::PrivateUse1, look);
        let _registration = library.finish().unwrap();
        let backend = if key == Key::AutogradPrivateUse1 { Key::PrivateUse1 } else { Key::Cpu };
        let x = AnyTensor::new(DispatchKeySet::from_keys(&[backend, key]), Nothing);
        dispatcher.find("fallbacks::look").unwrap().call_values(vec![x.into()]).unwrap();
    }
}

/// DIFFERENCE: torch takes a second fallback for AutogradPrivateUse1 in silence and drops both with either. Here it is
/// refused like any other, unless the library allows overriding; then the first one comes back.
#[test]
fn a_second_fallback_for_autograd_of_privateuse1_needs_to_allow_overriding() {
    let dispatcher = Dispatcher::with_reference_fallbacks();
    let overrides = Arc::new(Mutex::new(Vec::new()));
    let noted = overrides.clone();
    dispatcher.on_override(move |replaced| noted.lock().unwrap().push(replaced.to_string()));
    let mut library = dispatcher.library("fallbacks");
    library.define("f(Tensor x) -> ()").boxed(Key::PrivateUse1, |_| Ok(()));
    let _registration = library.finish().unwrap();
    let line = || {
        let dump = dispatcher.find("fallbacks::f").unwrap().dump_computed_table().unwrap();
        dump.lines().find(|line| line.starts_with("AutogradPrivateUse1: ")).unwrap().to_owned()
    };
    let of_torch = line();
    let second = |may_replace: bool| {
        let mut library = dispatcher.implementations("_", Key::AutogradPrivateUse1);
        if may_replace {
            library.allow_override();
        }
        library.fallback(Kernel::boxed(|call| call.below()).describe("mine"));
        library.finish()
    };
    let error = second(false).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Duplicate);
    assert!(
        error.to_string().contains("AutogradPrivateUse1") && error.to_string().contains("mine"),
        "{error}"
    );
    assert_eq!(line(), of_torch);
    let mine = second(true).unwrap();
    assert_eq!(line(), "AutogradPrivateUse1: mine [backend fallback]");
    drop(mine);
    assert_eq!(line(), of_torch);
    let overrides = overrides.lock().unwrap();
    let [told] = overrides.as_slice() else { panic!("told {overrides:?}") };
    assert!(
        told.contains("dispatch key: AutogradPrivateUse1") && told.contains("new kernel: mine"),
        "{told}"
    );
}

#[test]
fn a_replaced_fallback_is_reported_once_for_what_it_covers() {
    let dispatcher = Dispatcher::bare();
    let overrides = Arc::new(Mutex::new(Vec::new()));
    let noted = overrides.clone();
    dispatcher
        .on_override(move |replaced| noted.lock().unwrap().push((replaced.key, replaced.previous.clone())));
    let fallback = |key: Key, text: &str| {
        let mut library = dispatcher.implementations("_", key);
        library.allow_override().fallback(Kernel::boxed(|call| call.below()).describe(text));
        library.finish().unwrap()
    };
    let _first = (fallback(Key::AutogradCpu, "a"), fallback(Key::AutogradCuda, "b"));
    assert!(overrides.lock().unwrap().is_empty());
    let _over = fallback(Key::Autograd, "over");
    let mut told = overrides.lock().unwrap().clone();
    told.sort_by(|a, b| a.1.cmp(&b.1));
    assert_eq!(told, [(Key::Autograd, "a".to_owned()), (Key::Autograd, "b".to_owned())]);
}
