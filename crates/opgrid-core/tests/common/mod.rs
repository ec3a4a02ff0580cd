//! What the tests of the dispatcher share: a tensor of keys alone, and short ways to register and call.

#![allow(dead_code)]

use opgrid_core::{
    AnyTensor, DispatchKey, DispatchKeySet, Dispatcher, Kernel, Registration, Result, TensorData,
};

/// A tensor that is nothing but its keys.
pub struct Bare;

impl TensorData for Bare {
    fn describe(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("tensor()")
    }
}

/// A tensor with these keys.
pub fn tensor(keys: impl Into<DispatchKeySet>) -> AnyTensor {
    AnyTensor::new(keys.into(), Bare)
}

/// A boxed kernel that leaves nothing.
pub fn nothing() -> Kernel {
    Kernel::boxed(|_| Ok(()))
}

/// Registers one kernel for an operator of namespace `test`, overriding what is there.
pub fn implement(
    dispatcher: &Dispatcher,
    name: &str,
    key: DispatchKey,
    kernel: Kernel,
) -> Result<Registration> {
    let mut library = dispatcher.implementations("test", None);
    library.allow_override();
    library.implement(name).add(kernel.at(key));
    library.finish()
}

/// Defines an operator of namespace `test`.
pub fn define(dispatcher: &Dispatcher, schema: &str) -> Result<Registration> {
    let mut library = dispatcher.fragment("test");
    library.define(schema);
    library.finish()
}

/// A tensor on the CPU and nothing else.
pub fn cpu() -> AnyTensor {
    tensor(DispatchKey::Cpu)
}

/// Runs `body` on a thread with the stack that the standard library gives by default, so that limits and keys of
/// the thread are its own.
pub fn on_own_thread(body: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(body).expect("a thread can be made");
    thread.join().expect("no assertion failed on the thread");
}
