//! Tensors on a backend and under a layer that are allocated at run time.
//!
//! A program of its own: the keys stay for the process, and the test itself gives the global dispatcher its operators.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use opgrid::array::{Array, Storage, TensorSpec};
use opgrid::dispatch::including;
use opgrid::ops;
use opgrid::prelude::*;
use opgrid::tensor::CpuAllocator;

fn empty(
    size: &[i64],
    dtype: Option<DType>,
    _layout: Option<Layout>,
    device: Option<Device>,
    _pin_memory: Option<bool>,
    _memory_format: Option<MemoryFormat>,
) -> Result<Tensor> {
    let spec = TensorSpec::contiguous(size, dtype.unwrap_or(DType::F32), device.unwrap_or_default())?;
    let storage = Storage::new(&CpuAllocator, spec.bytes()?)?;
    Tensor::from_array(Array::new(spec, storage)?)
}

fn neg(input: &Tensor) -> Result<Tensor> {
    let out = Tensor::empty(input.sizes(), DType::F32, input.device())?;
    let negatives: Vec<f32> = input.to_vec::<f32>()?.iter().map(|x| -x).collect();
    out.array()?.storage().write()?.slice::<f32>()?.copy_from_slice(&negatives);
    Ok(out)
}

#[test]
fn tensors_live_on_a_backend_of_a_user() -> Result<()> {
    let dispatcher = Dispatcher::global();
    opgrid::ops::register(dispatcher)?.keep();
    let island = dispatcher.backend("Island")?;
    let mut library = dispatcher.implementations("aten", island);
    library.implement(ops::EmptyMemoryFormat).kernel(island, empty);
    library.implement(ops::Neg).kernel(island, neg);
    let _kernels = library.finish()?;

    let x = Tensor::empty(&[2], DType::F32, "island:1".parse::<Device>()?)?;
    x.array()?.storage().write()?.slice::<f32>()?.copy_from_slice(&[1.0, -2.0]);
    assert_eq!(
        x.keys().to_string(),
        "DispatchKeySet(Island, ADInplaceOrView, AutogradIsland, AutocastIsland)"
    );
    let y = x.neg()?;
    assert_eq!((y.to_vec::<f32>()?, y.device().to_string().as_str()), (vec![-1.0, 2.0], "island:1"));
    assert!(y.to_string().contains("device='island:1'"), "{y}");
    let missing = x.mm(&y).unwrap_err().to_string();
    assert!(missing.contains("'Island' backend"), "{missing}");

    let layer = DispatchKey::layer("Census").above(DispatchKey::Autograd).below(DispatchKey::Tracer);
    let census = layer.register()?;
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    let mut library = dispatcher.implementations("_", census);
    library.fallback(Kernel::boxed(move |call| {
        counted.fetch_add(1, Ordering::Relaxed);
        call.below()
    }));
    let _layer = library.finish()?;
    including(census, || x.neg())?;
    assert_eq!(calls.load(Ordering::Relaxed), 1, "what runs below the layer does not meet it again");
    x.neg()?;
    assert_eq!(calls.load(Ordering::Relaxed), 1);
    Ok(())
}
