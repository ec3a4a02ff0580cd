//! An extension as people build them for torch: an operator, its CPU kernel, a hook, and functions for Python.

mod python;

use std::sync::atomic::{AtomicU64, Ordering};

use opgrid_plugin_sdk::ExcludeGuard;
use opgrid_plugin_sdk::prelude::*;

/// The key of the hook.
const HOOK: DispatchKey = DispatchKey::TestingOnlyGenericMode;

plugin! {
    name: "my_test",
    version: "0.1.0",
    namespaces: "aten",
    keys: "CPU TESTING_ONLY_GenericMode",
    register: register,
}

operator! {
    /// Each element and 1.
    pub Add1 = "aten::add_1(Tensor self) -> Tensor";
}

fn register(dispatcher: &Dispatcher) -> Result<Registration> {
    let mut aten = dispatcher.fragment("aten");
    aten.define(Add1).kernel(DispatchKey::CompositeImplicitAutograd, add_1_elsewhere).kernel(DispatchKey::Cpu, add_1);
    let mut everything = dispatcher.implementations("_", HOOK);
    everything.fallback(Kernel::boxed(hook));
    let mut registration = aten.finish()?;
    registration.join(everything.finish()?);
    Ok(registration)
}

/// The definition's own kernel, for keys that have none.
fn add_1_elsewhere(_: &Tensor) -> Result<Tensor> {
    let message = "aten::add_1 has a kernel for the CPU alone; move the tensor to the CPU";
    Err(Error::new(ErrorKind::NotImplemented, message))
}

fn add_1(input: &Tensor) -> Result<Tensor> {
    let sums: Vec<f32> = input.to_vec::<f32>()?.into_iter().map(|x| x + 1.0).collect();
    Tensor::from_slice(&sums, input.sizes())
}

fn hook(call: &mut BoxedCall<'_>) -> Result<()> {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    python::print(&format!("Custom hook called {} times", CALLS.fetch_add(1, Ordering::Relaxed)))?;
    python::print(&format!("  Operator: {}", call.operator().name().name))?;
    let _guard = ExcludeGuard::new(HOOK);
    call.call()
}
