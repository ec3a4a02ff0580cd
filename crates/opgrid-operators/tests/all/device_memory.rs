//! Memory that the CPU cannot address: who may touch it, and what tensors there can do.

use opgrid_core::{DType, Result};
use opgrid_tensor::tensor::{Allocation, Allocator, DeviceMemory};
use opgrid_tensor::{Array, Storage, TensorSpec};

fn message<T: std::fmt::Debug>(result: Result<T>) -> String {
    result.unwrap_err().to_string()
}

/// Bytes that are kept from the CPU.
struct Far(std::sync::Mutex<Vec<u8>>);

impl DeviceMemory for Far {
    fn read(&self, start: usize, out: &mut [u8]) -> Result<()> {
        out.copy_from_slice(&self.0.lock().unwrap()[start..start + out.len()]);
        Ok(())
    }

    fn write(&self, start: usize, bytes: &[u8]) -> Result<()> {
        self.0.lock().unwrap()[start..start + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }
}

struct FarAway;

impl Allocator for FarAway {
    fn name(&self) -> &str {
        "far away"
    }

    fn allocate(&self, bytes: usize) -> Result<Allocation> {
        Ok(Allocation::on_device(Far(vec![0; bytes].into()), bytes))
    }
}

#[test]
fn memory_of_a_device_is_reached_through_its_owner_alone() {
    let storage = Storage::new(&FarAway, 8).unwrap();
    assert!(storage.has_data());
    for refused in [message(storage.read()), message(storage.write())] {
        assert!(refused.contains("whose memory the CPU cannot address; copy the tensor"), "{refused}");
    }
    let bytes: Vec<u8> = [1.5f32, -2.0].iter().flat_map(|number| number.to_le_bytes()).collect();
    storage.device_memory().unwrap().write(0, &bytes).unwrap();
    assert_eq!(*storage.memory::<Far>().unwrap().0.lock().unwrap(), bytes);

    let spec = TensorSpec::contiguous(&[2], DType::F32, "cuda:1".parse().unwrap()).unwrap();
    let array = Array::new(spec, storage.clone()).unwrap();
    assert_eq!(array.to_vec::<f32>().unwrap(), [1.5, -2.0]);
    assert_eq!(array.to_string(), "tensor([ 1.5000, -2.0000], device='cuda:1')");
    assert!(!storage.on_cpu().unwrap().is_same(&storage));
    let own = Storage::cpu(8).unwrap();
    assert!(own.on_cpu().unwrap().is_same(&own) && own.device_memory().is_none());
}
