//! The memory that tensors of fake devices would take: counted, and refused where a device would have no more.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use opgrid_core::{Device, Error, ErrorKind, Result};

use super::{Allocation, Allocator, Storage};

/// Counts the bytes of tensors of [fake](Device::fake) devices, by device.
///
/// A thread that [has one](set_memory) counts what it allocates there; tensors are taken off the account where they are dropped, on
/// any thread. Bytes are those of elements, without what an allocator would round up.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
///
/// use opgrid_array::storage::fake::FakeMemory;
/// use opgrid_array::{Array, TensorSpec};
/// use opgrid_core::{DType, Device};
///
/// let device = "cuda:0".parse::<Device>()?.fake();
/// let memory = Arc::new(FakeMemory::default());
/// memory.limit(device, 1000);
/// let numbers = |length| Array::empty(TensorSpec::contiguous(&[length], DType::F32, device)?);
/// memory.within(|| {
///     drop((numbers(100)?, numbers(100)?));
///     let refused = numbers(251).unwrap_err();
///     assert!(refused.message().contains("1004 bytes were asked for"), "{refused}");
///     Ok::<(), opgrid_core::Error>(())
/// })?;
/// assert_eq!((memory.usage(device).bytes, memory.usage(device).peak), (0, 800));
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[derive(Default)]
pub struct FakeMemory {
    devices: Mutex<HashMap<Device, Usage>>,
}

/// What tensors of a device take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Bytes of tensors that are there now.
    pub bytes: usize,
    /// The most that there were at once.
    pub peak: usize,
    /// How many there may be at once, if that is limited.
    pub limit: Option<usize>,
}

thread_local! {
    static MEMORY: RefCell<Option<Arc<FakeMemory>>> = const { RefCell::new(None) };
}

/// Where this thread counts the memory of fake devices.
pub fn memory() -> Option<Arc<FakeMemory>> {
    MEMORY.try_with(|memory| memory.borrow().clone()).ok().flatten()
}

/// Has this thread count the memory of fake devices elsewhere, or nowhere; where it did before.
pub fn set_memory(memory: Option<Arc<FakeMemory>>) -> Option<Arc<FakeMemory>> {
    MEMORY.try_with(|own| own.replace(memory)).ok().flatten()
}

/// A size without memory, which the thread's account of the device counts.
///
/// # Errors
///
/// The device has a limit, which would be exceeded.
#[cold]
pub fn storage(device: Device, bytes: usize) -> Result<Storage> {
    match memory() {
        Some(memory) => Storage::new(&Counted { memory, device: device.fake() }, bytes),
        None => Storage::meta(bytes),
    }
}

impl FakeMemory {
    /// What tensors of a device take; a device may be given as the one that the fake one passes for.
    pub fn usage(&self, device: Device) -> Usage {
        self.lock().get(&device.fake()).copied().unwrap_or_default()
    }

    /// Says how many bytes tensors of a device may take at once.
    pub fn limit(&self, device: Device, bytes: usize) {
        self.lock().entry(device.fake()).or_default().limit = Some(bytes);
    }

    /// Counts the most that tensors of a device take at once from here on.
    pub fn restart_peak(&self, device: Device) {
        if let Some(usage) = self.lock().get_mut(&device.fake()) {
            usage.peak = usage.bytes;
        }
    }

    /// The devices of which there were tensors, or that have a limit.
    pub fn devices(&self) -> Vec<Device> {
        let mut devices: Vec<Device> = self.lock().keys().copied().collect();
        devices.sort_unstable();
        devices
    }

    /// Runs `body` with what it allocates on fake devices counted here.
    pub fn within<X>(self: &Arc<Self>, body: impl FnOnce() -> X) -> X {
        struct Before(Option<Arc<FakeMemory>>);
        impl Drop for Before {
            fn drop(&mut self) {
                set_memory(self.0.take());
            }
        }
        let _before = Before(set_memory(Some(self.clone())));
        body()
    }

    fn take(&self, device: Device, bytes: usize) -> Result<()> {
        let mut devices = self.lock();
        let usage = devices.entry(device).or_default();
        let after = usage.bytes.saturating_add(bytes);
        if let Some(limit) = usage.limit.filter(|limit| after > *limit) {
            let message = format!(
                "device {device} is out of memory: {bytes} bytes were asked for, and tensors take {} of the {limit} that it has",
                usage.bytes
            );
            return Err(Error::new(ErrorKind::Kernel, message));
        }
        usage.bytes = after;
        usage.peak = usage.peak.max(after);
        Ok(())
    }

    fn give_back(&self, device: Device, bytes: usize) {
        if let Some(usage) = self.lock().get_mut(&device) {
            usage.bytes = usage.bytes.saturating_sub(bytes);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Device, Usage>> {
        self.devices.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Gives out sizes that an account counts.
struct Counted {
    memory: Arc<FakeMemory>,
    device: Device,
}

impl Allocator for Counted {
    fn name(&self) -> &str {
        "fake"
    }

    fn allocate(&self, bytes: usize) -> Result<Allocation> {
        let (memory, device) = (self.memory.clone(), self.device);
        memory.take(device, bytes)?;
        Ok(Allocation::nowhere(bytes, move || memory.give_back(device, bytes)))
    }
}
