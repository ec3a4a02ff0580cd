//! A device of a dispatcher: makes tensors there and calls operators, by public operators only.

use std::panic::{AssertUnwindSafe, catch_unwind};

use opgrid_core::{
    DType, Device, Dispatcher, Error, ErrorKind, List, OperatorHandle, Result, Scalar, TensorType, Value,
};
use opgrid_samples::{Given, Plain};
use opgrid_tensor::{Tensor, ops};

use crate::fault::Fault;
use crate::memory::Memory;

/// Where a suite runs.
#[derive(Clone, Copy)]
pub(crate) struct Target<'a> {
    pub(crate) dispatcher: &'a Dispatcher,
    pub(crate) device: Device,
}

impl Target<'_> {
    /// A tensor on the device with these elements, in that order in memory.
    ///
    /// # Errors
    ///
    /// The device cannot make it.
    pub(crate) fn tensor(&self, plain: &Plain, memory: Memory) -> Result<Tensor> {
        if memory == Memory::Contiguous {
            return self.there(plain.to_tensor()?);
        }
        let (strides, offset) = memory.strides(plain.sizes());
        self.window(&self.there(memory.spread(plain).to_tensor()?)?, plain.sizes(), &strides, offset)
    }

    /// A view of all of a tensor's memory.
    ///
    /// # Errors
    ///
    /// It does not reach so far.
    pub(crate) fn window(
        &self,
        tensor: &Tensor,
        sizes: &[i64],
        strides: &[i64],
        offset: i64,
    ) -> Result<Tensor> {
        self.dispatcher.call(ops::AsStrided, (tensor, sizes, strides, Some(offset)))
    }

    /// Tensors of one dtype in one memory, one after another.
    ///
    /// # Errors
    ///
    /// As [`tensor`](Self::tensor).
    pub(crate) fn side_by_side(&self, dtype: DType, plains: &[&Plain]) -> Result<Vec<Tensor>> {
        let elements: Vec<Scalar> =
            plains.iter().flat_map(|plain| plain.elements().iter().copied()).collect();
        let memory = self
            .tensor(&Plain::from_elements(dtype, &[elements.len() as i64], &elements), Memory::Contiguous)?;
        let mut next = 0;
        let mut window = |plain: &&Plain| {
            let (strides, _) = Memory::Contiguous.strides(plain.sizes());
            let offset = next;
            next += plain.elements().len() as i64;
            self.window(&memory, plain.sizes(), &strides, offset)
        };
        plains.iter().map(&mut window).collect()
    }

    fn there(&self, tensor: Tensor) -> Result<Tensor> {
        if self.device == Device::CPU { Ok(tensor) } else { self.copy(&tensor, self.device) }
    }

    fn copy(&self, tensor: &Tensor, device: Device) -> Result<Tensor> {
        self.dispatcher.call(ops::ToCopy, (tensor, None, None, Some(device), None, false, None))
    }

    /// The elements of a tensor on the device.
    ///
    /// # Errors
    ///
    /// The tensor is elsewhere, or cannot be copied to the CPU.
    pub(crate) fn read(&self, tensor: &Tensor) -> Result<Plain, Fault> {
        if tensor.device() != self.device {
            let found = format!("a tensor on {}", tensor.device());
            return Err(Fault::wrong(found, format!("one on {}", self.device)));
        }
        let here =
            if self.device == Device::CPU { Ok(tensor.clone()) } else { self.copy(tensor, Device::CPU) };
        here.and_then(|here| Plain::from_tensor(&here)).map_err(Fault::error)
    }

    /// An argument as calls take it.
    ///
    /// # Errors
    ///
    /// As [`tensor`](Self::tensor).
    pub(crate) fn value(&self, given: &Given, memory: Memory) -> Result<Value> {
        self.value_of(given, |plain| self.tensor(plain, memory))
    }

    /// Converts a sample's argument to a value, with tensors that `make` creates.
    ///
    /// # Errors
    ///
    /// Those of `make`.
    pub(crate) fn value_of(&self, given: &Given, make: impl Fn(&Plain) -> Result<Tensor>) -> Result<Value> {
        let tensor = |plain: &Plain| make(plain).map(Tensor::into_any);
        Ok(match given {
            Given::Tensor(plain) => Value::Tensor(tensor(plain)?),
            Given::Tensors(tensors) => tensors.iter().map(tensor).collect::<Result<Vec<_>>>()?.into(),
            Given::OptionalTensors(tensors) => {
                let gaps = tensors.iter().map(|gap| gap.as_ref().map(tensor).transpose());
                List::OptionalTensors(gaps.collect::<Result<_>>()?).into()
            }
            Given::Value(value) => value.clone(),
        })
    }

    /// Calls an operator; one that panics gives an error that says so.
    ///
    /// # Errors
    ///
    /// Those of the operator.
    pub(crate) fn call(&self, operator: &OperatorHandle, arguments: &[Value]) -> Result<Vec<Value>> {
        guarded(|| operator.call_values(arguments.to_vec()))
    }
}

/// Runs `body`; a panic becomes an error that [`is_panic`] knows.
///
/// # Errors
///
/// Those of `body`.
pub(crate) fn guarded<R>(body: impl FnOnce() -> Result<R>) -> Result<R> {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|payload| {
        let text = payload.downcast_ref::<String>().cloned();
        let text = text.or_else(|| payload.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(Error::new(ErrorKind::Internal, format!("{PANIC}: {}", text.unwrap_or_default())))
    })
}

const PANIC: &str = "the call panicked";

/// Whether an error is a panic that was caught.
pub(crate) fn is_panic(error: &Error) -> bool {
    error.message().starts_with(PANIC)
}
