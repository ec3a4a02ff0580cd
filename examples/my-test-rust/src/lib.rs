//! An extension as people build them for torch: an operator, its CPU kernel, a hook, and functions for Python.

mod python;

use std::sync::atomic::{AtomicU64, Ordering};

use opgrid_plugin_sdk::{Call, Error, ErrorKind, ExcludeGuard, Keys, Registrar, Result, Tensor, plugin};

/// The key of the hook.
const HOOK: &str = "TESTING_ONLY_GenericMode";

plugin! {
    name: "my_test",
    version: "0.1.0",
    namespaces: "aten",
    keys: "CPU TESTING_ONLY_GenericMode",
    register: register,
}

fn register(registrar: &Registrar) -> Result<()> {
    let aten = registrar.fragment("aten")?;
    aten.define("add_1(Tensor self) -> Tensor")?;
    aten.implement("add_1", "CompositeImplicitAutograd", add_1_elsewhere)?;
    aten.implement("add_1", "CPU", add_1)?;
    registrar.implementations("_", HOOK)?.fallback(hook)
}

/// The definition's own kernel, for keys that have none.
fn add_1_elsewhere(_: Tensor) -> Result<Tensor> {
    let message = "aten::add_1 has a kernel for the CPU alone; move the tensor to the CPU";
    Err(Error::new(ErrorKind::NotImplemented, message))
}

fn add_1(x: Tensor) -> Result<Tensor> {
    let sums: Vec<f32> = x.to_vec::<f32>()?.into_iter().map(|x| x + 1.0).collect();
    Tensor::from_slice(&sums, x.sizes()?)
}

fn hook(call: &mut Call<'_>) -> Result<()> {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    python::print(&format!("Custom hook called {} times", CALLS.fetch_add(1, Ordering::Relaxed)))?;
    python::print(&format!("  Operator: {}", call.name()))?;
    let _guard = ExcludeGuard::new(Keys::named(HOOK)?)?;
    call.call_anew()
}
