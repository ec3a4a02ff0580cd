//! Operators for torch, written in Rust: a library that `torch.ops.load_library` takes.
//!
//! ```text
//! import torch
//! torch.ops.load_library("target/release/libtorch_operator.so")
//! torch.ops.rusty.scale(torch.ones(3), 2.0)      # tensor([2., 2., 2.])
//! ```
//!
//! Nothing of torch is needed to build it, and it serves torch 2.13 and later.

use opgrid::prelude::*;
use opgrid_torch::Export;

operator! {
    /// Every element of a float32 tensor, times a factor.
    pub Scale = "rusty::scale(Tensor x, float factor) -> Tensor";
}

operator! {
    /// Writes the same into the tensor itself.
    pub ScaleInplace = "rusty::scale_(Tensor(a!) x, float factor) -> Tensor(a!)";
}

operator! {
    /// Panics, to show what torch makes of it.
    pub Panics = "rusty::panics(Tensor x) -> Tensor";
}

/// Refuses what the loops cannot take.
fn check(x: &Tensor) -> Result<()> {
    if x.dtype() == DType::F32 {
        return Ok(());
    }
    let message =
        format!("rusty::scale: argument `x` has dtype {}, expected float32; convert it first", x.dtype());
    Err(Error::new(ErrorKind::Argument, message))
}

fn scale(x: &Tensor, factor: f64) -> Result<Tensor> {
    check(x)?;
    let x = x.contiguous()?;
    let result = scale_on_meta(&x, factor)?;
    {
        let (source, target) = (x.array()?, result.array()?);
        let (first, count) = (source.geometry().offset() as usize, x.numel() as usize);
        let (source, mut target) = (source.storage().read()?, target.storage().write()?);
        for (target, x) in
            target.slice::<f32>()?.iter_mut().zip(&source.slice::<f32>()?[first..first + count])
        {
            *target = x * factor as f32;
        }
    }
    Ok(result)
}

/// The result without its elements, on the device of the argument.
fn scale_on_meta(x: &Tensor, _factor: f64) -> Result<Tensor> {
    check(x)?;
    Tensor::allocate(opgrid::array::TensorSpec::contiguous(x.sizes(), DType::F32, x.device())?)
}

fn scale_in_place(x: &Tensor, factor: f64) -> Result<()> {
    opgrid::ops::CopyInplace.call(x, &scale(x, factor)?, false).map(drop)
}

fn panics(_x: &Tensor) -> Result<Tensor> {
    panic!("this kernel always does")
}

/// Defines the operators here.
///
/// # Errors
///
/// The namespace is taken.
pub fn register(dispatcher: &Dispatcher) -> Result<Registration> {
    let mut library = dispatcher.library("rusty");
    library.define(Scale).kernel(DispatchKey::Cpu, scale).kernel(DispatchKey::Meta, scale_on_meta);
    library.define(ScaleInplace).kernel(DispatchKey::Cpu, scale_in_place);
    library.define(Panics).kernel(DispatchKey::Cpu, panics);
    library.finish()
}

/// Gives torch all of them, when it loads the library.
fn load() -> Result<()> {
    let dispatcher = opgrid::dispatcher()?;
    register(dispatcher)?.keep();
    for name in ["rusty::scale", "rusty::scale_", "rusty::panics"] {
        Export::new(&dispatcher.find(name)?).register()?;
    }
    Ok(())
}

opgrid_torch::on_load!(load);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_operators_work_without_torch() {
        let dispatcher = opgrid::dispatcher().unwrap();
        let _registration = register(dispatcher).unwrap();
        let x = Tensor::from_slice(&[1.0f32, 2.0], &[2]).unwrap();
        assert_eq!(Scale.call(&x, 3.0).unwrap().to_vec::<f32>().unwrap(), [3.0, 6.0]);
        ScaleInplace.call(&x, 2.0).unwrap();
        assert_eq!(x.to_vec::<f32>().unwrap(), [2.0, 4.0]);
        let integers = Tensor::from_slice(&[1i64], &[1]).unwrap();
        assert!(Scale.call(&integers, 3.0).unwrap_err().to_string().contains("expected float32"));
    }
}
