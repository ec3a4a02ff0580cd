//! The allocator of the CPU is exchanged, for the whole process: so this is one test.

use opgrid_operators as _;

use std::sync::Arc;

use opgrid_core::{DType, Device, Result};
use opgrid_tensor::devices;
use opgrid_tensor::tensor::{
    Allocation, Allocator, CountingAllocator, CpuAllocator, DeviceMemory, FailingAllocator,
};
use opgrid_tensor::{Storage, Tensor};

/// Memory that tensors of the CPU cannot use.
struct Elsewhere;

impl DeviceMemory for Elsewhere {
    fn read(&self, _start: usize, out: &mut [u8]) -> Result<()> {
        out.fill(0);
        Ok(())
    }

    fn write(&self, _start: usize, _bytes: &[u8]) -> Result<()> {
        Ok(())
    }
}

impl Allocator for Elsewhere {
    fn name(&self) -> &str {
        "elsewhere"
    }

    fn allocate(&self, bytes: usize) -> Result<Allocation> {
        Ok(Allocation::on_device(Self, bytes))
    }
}

/// Too little.
struct Short;

impl Allocator for Short {
    fn name(&self) -> &str {
        "short"
    }

    fn allocate(&self, bytes: usize) -> Result<Allocation> {
        CpuAllocator.allocate(bytes / 2)
    }
}

fn set(allocator: impl Allocator + 'static) -> Option<Arc<dyn Allocator>> {
    devices::set_allocator(Device::CPU, Some(Arc::new(allocator))).unwrap()
}

#[test]
fn tensors_of_the_cpu_take_their_memory_from_the_allocator_that_was_set() -> Result<()> {
    let first = Tensor::ones(&[4], DType::F32, Device::CPU)?;
    assert_eq!(devices::allocator(Device::CPU)?.name(), "cpu");
    let counting = CountingAllocator::default();
    assert!(set(counting.clone()).is_none());
    assert_eq!(devices::allocator(Device::CPU)?.name(), "counting");

    // Results and new tensors, small and large; memory that was never written reads as zero.
    let sum = first.add(&first)?;
    let large = Tensor::empty(&[1 << 16], DType::F32, Device::CPU)?;
    assert_eq!((counting.live_allocations(), counting.live_bytes()), (2, 16 + (4 << 16)));
    assert_eq!((sum.to_vec::<f32>()?, large.to_vec::<f32>()?), (vec![2.0; 4], vec![0.0; 1 << 16]));
    let of_thread = std::thread::scope(|scope| scope.spawn(|| sum.mul(&sum)).join().unwrap())?;
    assert_eq!(of_thread.to_vec::<f32>()?, [4.0; 4]);
    assert_eq!(counting.live_allocations(), 3);

    // An error of the allocator is that of the call, and what was there before is used on.
    set(FailingAllocator);
    let error = first.add(&first).unwrap_err().to_string();
    assert!(error.contains("allocator `failing` has no memory for 16 bytes"), "{error}");
    assert_eq!(sum.add_(&first)?.to_vec::<f32>()?, [3.0; 4]);
    set(Elsewhere);
    let error = Storage::cpu(8).unwrap_err().to_string();
    assert!(error.contains("allocator `elsewhere` returned memory that CPU tensors cannot use"), "{error}");
    set(Short);
    let error = Storage::cpu(8).unwrap_err().to_string();
    assert!(error.contains("allocator `short` returned 4 bytes, expected 8"), "{error}");

    let last = devices::set_allocator(Device::CPU, None)?;
    assert_eq!(last.map(|last| last.name().to_owned()).as_deref(), Some("short"));
    let again = first.add(&first)?;
    assert_eq!((again.to_vec::<f32>()?, counting.total_allocations()), (vec![2.0; 4], 3));
    drop((sum, large, of_thread));
    assert_eq!(counting.live_bytes(), 0);
    Ok(())
}
