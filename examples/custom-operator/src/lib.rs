//! An operator of one's own, from its schema to an Autograd kernel above it.
//!
//! `myops::myadd(Tensor self, Tensor other) -> Tensor` adds two tensors of equal shape. Its CPU kernel checks sizes,
//! dtype and device, takes both inputs through `contiguous`, makes the result through a dispatched `empty`, and loops.

use opgrid::dispatch::ExcludeGuard;
use opgrid::prelude::*;
use opgrid::{Device, Dispatcher, Registration, ops};

operator! {
    /// The sum of two f32 tensors of equal shape.
    pub MyAdd = "myops::myadd(Tensor self, Tensor other) -> Tensor";
}

/// Refuses what the loop cannot take.
fn check(input: &Tensor, other: &Tensor) -> Result<()> {
    let refuse = |what: String| Err(Error::new(ErrorKind::Argument, format!("myops::myadd: {what}")));
    if input.sizes() != other.sizes() {
        return refuse(format!(
            "argument `other` has shape {:?}, expected that of `self`, {:?}",
            other.sizes(),
            input.sizes()
        ));
    }
    for (name, tensor) in [("self", input), ("other", other)] {
        if tensor.dtype() != DType::F32 {
            return refuse(format!(
                "argument `{name}` has dtype {}, expected float32; convert it first",
                tensor.dtype()
            ));
        }
        if tensor.device() != Device::CPU {
            return refuse(format!("argument `{name}` lies on {}, expected cpu", tensor.device()));
        }
    }
    Ok(())
}

/// The CPU kernel.
fn myadd(input: &Tensor, other: &Tensor) -> Result<Tensor> {
    check(input, other)?;
    let (input, other) = (input.contiguous()?, other.contiguous()?);
    let result = ops::EmptyMemoryFormat.call(input.sizes(), None, None, None, None, None)?;
    {
        // Guards are checked at run time: nobody else writes the inputs, nobody else touches the result.
        let (a, b) = (input.array()?, other.array()?);
        let (first, second) = (a.geometry().offset() as usize, b.geometry().offset() as usize);
        let (a, b) = (a.storage().read()?, b.storage().read()?);
        let mut out = result.array()?.storage().write()?;
        let inputs = a.slice::<f32>()?[first..].iter().zip(&b.slice::<f32>()?[second..]);
        for (out, (a, b)) in out.slice::<f32>()?.iter_mut().zip(inputs) {
            *out = a + b;
        }
    }
    Ok(result)
}

/// Defines the operator with its CPU kernel.
///
/// # Errors
///
/// Where the namespace is taken.
pub fn register(dispatcher: &Dispatcher) -> Result<Registration> {
    let mut library = dispatcher.library("myops");
    library.define(MyAdd).kernel(DispatchKey::Cpu, myadd);
    library.finish()
}

/// Adds an Autograd kernel that says so, excludes autograd, and calls the operator again.
///
/// # Errors
///
/// Where the operator has an Autograd kernel already.
pub fn register_autograd(dispatcher: &Dispatcher) -> Result<Registration> {
    let mut library = dispatcher.implementations("myops", DispatchKey::Autograd);
    library.implement(MyAdd).kernel(DispatchKey::Autograd, |input, other| {
        println!("myadd: autograd kernel");
        let _below = ExcludeGuard::below_autograd();
        MyAdd.call(input, other)
    });
    library.finish()
}
