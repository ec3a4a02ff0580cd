//! Where messages and dumps differ from torch's on purpose, as far as no other test shows it.

use std::sync::{Arc, Mutex};

use crate::common::{define, implement, nothing};
use opgrid_core::schema::FunctionSchema;
use opgrid_core::{AnyTensor, DispatchKey as Key, Dispatcher, ErrorKind, Kernel};

fn unary() -> Kernel {
    Kernel::function::<fn(AnyTensor) -> AnyTensor>(|x| Ok(x.clone()))
}

fn binary() -> Kernel {
    Kernel::function::<fn(AnyTensor, AnyTensor) -> AnyTensor>(|x, _| Ok(x.clone()))
}

/// DIFFERENCE: torch takes kernels and fallbacks for keys that no call reaches, lists the first and forgets the others.
#[test]
fn kernels_for_building_blocks_are_refused() {
    let dispatcher = Dispatcher::new();
    for key in Key::all().filter(|key| key.is_building_block()) {
        let error = implement(&dispatcher, "f", key, nothing()).unwrap_err();
        assert!(error.message().contains(&format!("a kernel for {key} would never run")), "{error}");
        let mut library = dispatcher.implementations("_", key);
        library.fallback(nothing());
        let error = library.finish().unwrap_err();
        assert!(error.message().contains(&format!("a fallback for {key} would never run")), "{error}");
    }
    assert!(dispatcher.registrations_for(None).is_empty());
}

/// DIFFERENCE: torch compares a kernel with the other kernels first, so that its message does not say what the
/// schema asks for.
#[test]
fn the_schema_comes_before_other_kernels() {
    let dispatcher = Dispatcher::new();
    let _defined = define(&dispatcher, "f(Tensor x) -> Tensor").unwrap();
    let _kernel = implement(&dispatcher, "f", Key::Cpu, unary()).unwrap();
    let error = implement(&dispatcher, "f", Key::Cuda, binary()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Signature);
    assert!(error.message().contains("expected schema: test::f(Tensor x) -> Tensor"), "{error}");
}

/// DIFFERENCE: torch goes through its kernels in the order of a hash table.
#[test]
fn the_first_kernel_that_does_not_fit_is_named() {
    let dispatcher = Dispatcher::new();
    let describe = |text: &str| unary().describe(text);
    let _kernels = [
        implement(&dispatcher, "f", Key::AutogradCpu, describe("autograd")).unwrap(),
        implement(&dispatcher, "f", Key::Cpu, describe("cpu")).unwrap(),
        implement(&dispatcher, "f", Key::Tracer, describe("tracer")).unwrap(),
    ];
    let error = define(&dispatcher, "f(Tensor x, Tensor y) -> Tensor").unwrap_err();
    let named = |text: &str| error.message().contains(&format!("\n    {text}\n"));
    assert!(named("tracer") && !named("cpu") && !named("autograd"), "{error}");
}

/// DIFFERENCE: torch prints `(catch all)` for the key under which such kernels are kept.
#[test]
fn kernels_for_every_key_are_reported_by_their_key() {
    let dispatcher = Dispatcher::new();
    let noted = Arc::new(Mutex::new(Vec::new()));
    let keys = noted.clone();
    dispatcher.on_override(move |replaced| keys.lock().unwrap().push(replaced.key));
    let _kernels = [
        implement(&dispatcher, "f", Key::CatchAll, nothing()).unwrap(),
        implement(&dispatcher, "f", Key::CatchAll, nothing()).unwrap(),
    ];
    assert_eq!(*noted.lock().unwrap(), [Key::CompositeImplicitAutograd]);
}

/// DIFFERENCE: where backends fall through different keys, torch's dump has those that changed last for any of them.
#[test]
fn the_extractor_shows_the_keys_of_cpu() {
    let dispatcher = Dispatcher::bare();
    let _defined = define(&dispatcher, "f(Tensor x) -> Tensor").unwrap();
    let operator = dispatcher.find("test::f").unwrap();
    let before = operator.dump_extractor().unwrap();
    let cuda = implement(&dispatcher, "f", Key::Cuda, Kernel::fallthrough()).unwrap();
    assert_eq!(operator.dump_extractor().unwrap(), before);
    let cpu = implement(&dispatcher, "f", Key::Cpu, Kernel::fallthrough()).unwrap();
    assert!(!operator.dump_extractor().unwrap().contains("(CPU, "));
    drop((cuda, cpu));
    assert_eq!(operator.dump_extractor().unwrap(), before);
}

/// DIFFERENCE: torch numbers the sets of inner types too and then forgets them, so that what it prints reads back to
/// other numbers.
#[test]
fn only_sets_that_are_kept_are_numbered() {
    let schema = FunctionSchema::parse("f(Dict(int!, t)! x, Tensor! y) -> ()").unwrap();
    assert_eq!(schema.to_string(), "f(Dict(int, t)($0! -> ) x, Tensor($1! -> ) y) -> ()");
}
