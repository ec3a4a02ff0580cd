//! Tensors that cross between torch and opgrid, without a copy.
//!
//! A tensor of torch becomes a tensor of ours on the same memory, which keeps torch's alive. A result of ours becomes a
//! tensor of torch on the same memory, which keeps ours alive. A result that is an argument becomes that argument again,
//! and one that is a view of an argument a view of it; where the schema does not say so, torch relies on results having
//! memory of their own, so these are copied.
//!
//! Guards of storages see what opgrid does. What torch does with the memory meanwhile they do not see, as with DLPack: a
//! program that writes a tensor while an operator runs on it in another thread is wrong in torch, too.
#![allow(unsafe_code)]

use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};

use opgrid::array::{Array, Geometry, Storage, TensorSpec};
use opgrid::dispatch::{DeviceType, TensorType};
use opgrid::tensor::Allocation;
use opgrid::{DType, Device, Error, ErrorKind, Result, Tensor, ops};
use smallvec::SmallVec;

use crate::abi::{Torch, TorchTensor};
use crate::numbers::{device_of, dtype_of};

/// torch's numbers of the devices whose tensors cross.
const CPU: i32 = 0;
const META: i32 = 14;

/// A tensor that came from torch.
///
/// Invariant: the handle in `origin` lives as long as `tensor`, whose first array keeps it with its memory, or in `owner`. A tensor
/// keeps its first array, whatever takes that array's place (see `opgrid::Tensor`).
pub(crate) struct Input {
    tensor: Tensor,
    origin: ManuallyDrop<TorchTensor>,
    /// The handle's owner, where the memory is not that of this tensor alone.
    _owner: Option<TorchTensor>,
    /// What it was like, where the call may change that.
    before: Option<Box<(Storage, Geometry)>>,
}

impl Input {
    fn origin(&self) -> &TorchTensor {
        &self.origin
    }
}

/// The tensors that came from torch in one call.
pub(crate) struct Inputs<'t> {
    torch: &'t Torch,
    /// Whether the operator writes some of them: then those on one storage of torch are on one storage here, so that
    /// guards see them together.
    written: bool,
    list: SmallVec<[Input; 3]>,
}

impl<'t> Inputs<'t> {
    pub(crate) fn new(torch: &'t Torch, written: bool) -> Self {
        Self { torch, written, list: SmallVec::new() }
    }

    /// A tensor of ours on the memory of one of torch's.
    ///
    /// # Errors
    ///
    /// A layout, device or dtype that is not supported; memory that is not aligned.
    pub(crate) fn take(&mut self, origin: TorchTensor) -> Result<Tensor> {
        let place = self.keep(origin)?;
        Ok(place.map_or_else(Tensor::undefined, |place| self.tensor(place).clone()))
    }

    /// The tensor at a place that [`keep`](Self::keep) gave.
    #[inline]
    pub(crate) fn tensor(&self, place: usize) -> &Tensor {
        &self.list[place].tensor
    }

    /// A tensor of ours on the memory of one of torch's, which stays here: its place. None for one that is not there.
    ///
    /// # Errors
    ///
    /// As of [`take`](Self::take).
    pub(crate) fn keep(&mut self, origin: TorchTensor) -> Result<Option<usize>> {
        let torch = self.torch;
        let described = match origin.describe(torch) {
            // torch has no answers for a tensor that is not there.
            Err(_) if !origin.is_defined(torch)? => return Ok(None),
            described => described?,
        };
        if described.layout != 0 {
            let layout = opgrid::dispatch::Layout::from_number(described.layout.into());
            let layout = layout.map_or("unknown", opgrid::dispatch::Layout::name);
            let message =
                format!("found a tensor of layout {layout}, expected a strided one; call to_dense() first");
            return Err(Error::new(ErrorKind::Argument, message));
        }
        let dtype = dtype_of(described.dtype)?;
        let device = match described.device {
            CPU => Device::CPU,
            META => Device::META,
            other => {
                let device = device_of(other, -1)?;
                let message =
                    format!("found a tensor on {device}, expected one on the cpu; call cpu() first");
                return Err(Error::new(ErrorKind::Argument, message));
            }
        };
        let (offset, bytes) = if self.written {
            let (offset, bytes) = origin.storage(torch)?;
            (offset, usize::try_from(bytes).ok())
        } else {
            (0, None)
        };
        let geometry = match Geometry::contiguous(described.sizes) {
            // As most are.
            Ok(geometry) if offset == 0 && geometry.strides() == described.strides => geometry,
            _ => Geometry::strided(described.sizes, described.strides, offset)?,
        };
        let bytes = bytes.unwrap_or(geometry.end() as usize * dtype.size_in_bytes());
        let data = if device == Device::META { ptr::null_mut() } else { origin.data(torch)? };
        let base = data.wrapping_sub(offset as usize * dtype.size_in_bytes());
        let spec = TensorSpec::new(geometry, dtype, device);
        // SAFETY: the handle goes to the storage of the first array of `tensor`, or to `owner`.
        let handle = unsafe { origin.lent() };
        let (storage, owner) = match NonNull::new(base) {
            _ if device == Device::META => (Storage::meta(spec.bytes()?)?, Some(origin)),
            Some(base) if bytes > 0 && spec.numel() > 0 => match self.storage_at(base) {
                Some(storage) => (storage, Some(origin)),
                None => (storage_on(base, bytes, dtype, origin)?, None),
            },
            // Without elements there is nothing to share.
            _ => (Storage::cpu(spec.bytes()?)?, Some(origin)),
        };
        let before = self.written.then(|| Box::new((storage.clone(), spec.geometry().clone())));
        let tensor = Tensor::from_array(Array::new(spec, storage)?)?;
        self.list.push(Input { tensor, origin: handle, _owner: owner, before });
        Ok(Some(self.list.len() - 1))
    }

    /// The storage that begins there, if an earlier input is on it that may be written.
    fn storage_at(&self, base: NonNull<u8>) -> Option<Storage> {
        if !self.written {
            return None;
        }
        let storages = self.list.iter().filter_map(|input| Some(&input.before.as_ref()?.0));
        storages.into_iter().find(|storage| storage.address() == Some(base)).cloned()
    }

    /// Lets torch's tensors know what has become of them where an operator has changed their sizes: an `out` argument takes
    /// the shape of the result, with one copy of its elements.
    ///
    /// # Errors
    ///
    /// torch refuses other sizes.
    pub(crate) fn write_back(&self) -> Result<()> {
        for input in &self.list {
            let Some((storage, geometry)) = input.before.as_deref() else { continue };
            let array = input.tensor.array()?;
            let (same, now) = (array.storage().is_same(storage), array.geometry());
            if same && now == geometry {
                continue;
            }
            if same {
                input.origin().set_strides(self.torch, now.sizes(), now.strides(), now.offset())?;
                continue;
            }
            input.origin().resize(self.torch, now.sizes())?;
            let given = Given::new(self);
            let content = given.give_memory(&input.tensor)?;
            input.origin().copy_from(self.torch, &content)?;
        }
        Ok(())
    }
}

/// Memory of torch, which keeps the tensor that it is of.
fn storage_on(base: NonNull<u8>, bytes: usize, dtype: DType, origin: TorchTensor) -> Result<Storage> {
    let alignment = dtype.alignment();
    if !base.addr().get().is_multiple_of(alignment) {
        let message =
            format!("found memory at an address that is not a multiple of {alignment}; call clone() first");
        return Err(Error::new(ErrorKind::Argument, message));
    }
    // SAFETY: torch guarantees so many bytes there as long as the tensor, which `origin` keeps until the release. That others
    // write them meanwhile is in the hands of who shares them, as this module's text says.
    let memory = unsafe { Allocation::foreign(base, bytes, move || drop(origin)) };
    // SAFETY: torch's memory has been given to a kernel to read; what it holds is a value of its dtype.
    unsafe { Storage::of_written(memory) }
}

/// What has been given to torch in one call.
pub(crate) struct Given<'g> {
    torch: &'g Torch,
    inputs: &'g [Input],
    /// The memory of results, of which each has its own.
    before: SmallVec<[Storage; 2]>,
    /// Whether these are arguments of a call of torch, which may share memory with each other.
    lends: bool,
}

impl<'g> Given<'g> {
    pub(crate) fn new(inputs: &'g Inputs<'_>) -> Self {
        Self { torch: inputs.torch, inputs: &inputs.list, before: SmallVec::new(), lends: false }
    }

    /// For arguments of a call of torch.
    pub(crate) fn lending(inputs: &Inputs<'g>) -> Self {
        Self { torch: inputs.torch, inputs: &[], before: SmallVec::new(), lends: true }
    }

    /// A tensor of torch on the memory of one of ours; the argument itself, or a view of it, where the result is one and
    /// `alias` says that it may be.
    ///
    /// # Errors
    ///
    /// A tensor without memory; a dtype that torch does not have; another device.
    pub(crate) fn give(&mut self, tensor: &Tensor, alias: bool) -> Result<TorchTensor> {
        if !tensor.is_defined() {
            return TorchTensor::undefined(self.torch);
        }
        if self.lends {
            return self.give_memory(tensor);
        }
        let array = tensor.array()?;
        let shared = self.inputs.iter().find(|input| {
            let of_input = input.tensor.array();
            of_input.is_ok_and(|of_input| of_input.storage().is_same(array.storage()))
        });
        match shared {
            Some(input) if alias && tensor.as_any().is_same(input.tensor.as_any()) => {
                input.origin().share(self.torch)
            }
            Some(input) if alias && input.tensor.dtype() == array.dtype() => {
                let offset = array.geometry().offset() - input.tensor.geometry().offset();
                input.origin().view(self.torch, array.sizes(), array.geometry().strides(), offset)
            }
            Some(_) if !alias => self.give_memory(&ops::CloneTensor.call(tensor, None)?),
            _ if self.before.iter().any(|storage| storage.is_same(array.storage())) => {
                self.give_memory(&ops::CloneTensor.call(tensor, None)?)
            }
            _ => {
                self.before.push(array.storage().clone());
                self.give_memory(tensor)
            }
        }
    }

    /// Returns a tensor of torch on the memory of one of ours, without looking at the arguments.
    fn give_memory(&self, tensor: &Tensor) -> Result<TorchTensor> {
        let array = tensor.array()?;
        let (sizes, strides, dtype) = (array.sizes(), array.geometry().strides(), array.dtype());
        if dtype.is_quantized() {
            let message = format!("a tensor of dtype {dtype} cannot be given to torch; dequantize it first");
            return Err(Error::new(ErrorKind::Argument, message));
        }
        let number = dtype.number() as i32;
        match array.device().kind() {
            DeviceType::Cpu => {}
            DeviceType::Meta => return TorchTensor::empty(self.torch, sizes, strides, number, META),
            _ => {
                let message = format!(
                    "a tensor on device {} cannot be given to torch; copy it to the cpu first",
                    array.device()
                );
                return Err(Error::new(ErrorKind::Argument, message));
            }
        }
        if array.spec().numel() == 0 {
            return TorchTensor::empty(self.torch, sizes, strides, number, CPU);
        }
        // Reading clears memory that nobody has written.
        drop(array.storage().read()?);
        let start = array.storage().address().map_or(ptr::null_mut(), NonNull::as_ptr);
        let data = start.wrapping_add(array.geometry().offset() as usize * dtype.size_in_bytes());
        // SAFETY: an array's storage holds every element that its geometry addresses, initialised as the guard above has seen to;
        // the tensor that is kept keeps it, and its array.
        unsafe { TorchTensor::of_memory(self.torch, data, sizes, strides, number, tensor.as_any().clone()) }
    }
}
