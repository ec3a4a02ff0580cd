//! What stands behind handles, is kept with them, and sees writes: wrappers, metadata, versions, weak handles.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

use opgrid_core::{
    DType, Device, DeviceType, DispatchKey, DispatchKeySet, Dispatcher, ErrorKind, Result, Scalar,
    TensorType, Value,
};
use opgrid_tensor::tensor::Wrapper;
use opgrid_tensor::{Geometry, Tensor, TensorSpec, ops};

/// A wrapper that says something else of itself at each look.
struct Changing(AtomicBool, [TensorSpec; 2]);

impl Changing {
    fn new() -> Self {
        let of = |sizes: &[i64]| TensorSpec::contiguous(sizes, DType::F32, Device::CPU).unwrap();
        Self(AtomicBool::new(false), [of(&[2]), of(&[1 << 20, 3])])
    }
}

impl Wrapper for Changing {
    fn layer(&self) -> &str {
        "changing"
    }

    fn spec(&self) -> &TensorSpec {
        &self.1[usize::from(self.0.fetch_xor(true, Ordering::Relaxed))]
    }
}

#[test]
fn a_wrapper_has_no_memory_whatever_it_says_of_itself() -> Result<()> {
    let x = Tensor::wrap(DispatchKey::Cpu.key_set(), Changing::new());
    let y = Tensor::from_slice(&[1.0f32, 2.0], &[2])?;
    for error in [
        x.add(&y).unwrap_err(),
        y.add(&x).unwrap_err(),
        y.add_(&x).unwrap_err(),
        x.sum().unwrap_err(),
        x.to_vec::<f32>().unwrap_err(),
        x.view_as(Geometry::contiguous(&[1])?).unwrap_err(),
    ] {
        // A geometry that changes between two looks may be refused before memory is asked for.
        assert_eq!(error.kind(), ErrorKind::Argument, "{error}");
    }
    assert!(x.array().unwrap_err().message().contains("the layer `changing`, which has no memory"));
    assert!(x.to_string().starts_with("changing("));
    assert!(x.wrapper::<Changing>().is_some() && y.any_wrapper().is_none());
    Ok(())
}

#[test]
fn every_view_sees_writes_in_the_version() -> Result<()> {
    let x = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0], &[2, 2])?;
    let row = x.select(0, 0)?;
    assert!(!row.array()?.storage().is_same(Tensor::from_slice(&[0.0f32], &[1])?.array()?.storage()));
    let before = (x.version(), row.version());
    assert_eq!(before.0, before.1);
    x.add(&x)?;
    x.to_vec::<f32>()?;
    assert_eq!(x.version(), before.0, "reading is no writing");
    row.add_(&row.clone())?;
    assert!(x.version() > before.0 && x.version() == row.version());

    let sum = x.add(&x)?;
    assert_eq!(sum.version(), 0, "a result begins at 0");
    let between = x.version();
    ops::AddOut.call(&sum, &sum, Scalar::Int(1), &row.clone()).unwrap_err();
    assert_eq!(x.version(), between);

    let meta = Tensor::empty(&[2], DType::F32, Device::META)?;
    let before = meta.version();
    meta.add_(&meta.clone())?;
    assert!(meta.version() > before);
    Ok(())
}

struct Name(&'static str);

/// Metadata whose destructor asks the tensor for metadata.
struct Asking(Tensor);

impl Drop for Asking {
    fn drop(&mut self) {
        assert!(self.0.metadata::<Name>().is_some());
    }
}

#[test]
fn metadata_belongs_to_the_tensor_and_not_to_its_views() -> Result<()> {
    let x = Tensor::from_slice(&[1.0f32], &[1])?;
    assert!(x.metadata::<Name>().is_none());
    assert!(x.set_metadata::<Name>(None).is_none());
    assert!(x.set_metadata(Some(Arc::new(Name("one")))).is_none());
    assert_eq!(x.set_metadata(Some(Arc::new(Name("two")))).unwrap().0, "one");
    assert_eq!(x.clone().metadata::<Name>().unwrap().0, "two");
    assert!(x.unsqueeze(0)?.metadata::<Name>().is_none());
    x.set_metadata(Some(Arc::new(Asking(x.clone()))));
    drop(x.set_metadata::<Asking>(None));
    assert!(x.set_metadata::<Name>(None).is_some() && x.metadata::<Name>().is_none());

    // A number keeps its value, and an output that gets a shape keeps what is kept with it.
    let number = Tensor::number(2);
    number.set_metadata(Some(Arc::new(Name("number"))));
    assert_eq!(number.add(&number)?.to_vec::<i64>()?, [4]);
    let out = Tensor::empty(&[0], DType::F32, Device::CPU)?;
    out.set_metadata(Some(Arc::new(Name("out"))));
    ops::AddOut.call(&x, &x, Scalar::Int(1), &out)?;
    assert_eq!((out.sizes(), out.metadata::<Name>().unwrap().0), (&[1][..], "out"));
    Ok(())
}

#[test]
fn weak_handles_do_not_keep_a_tensor() -> Result<()> {
    let x = Tensor::from_slice(&[1.0f32], &[1])?;
    let (weak, again) = (x.downgrade(), x.downgrade());
    let same = Tensor::upgrade(&weak).unwrap();
    assert!(same.is_same(&x) && x.as_any().handle_count() == 2);
    drop((x, same));
    assert!(Tensor::upgrade(&weak).is_none() && again.upgrade().is_none());
    // The memory of the record may serve another tensor now, to which the weak handle must not lead.
    let others: Vec<_> = (0..64).map(|_| Tensor::from_slice(&[2.0f32], &[1])).collect::<Result<_>>()?;
    assert!(again.upgrade().is_none() && others.len() == 64);
    Ok(())
}

#[test]
fn threads_that_race_for_the_last_handle_get_it_whole_or_not() -> Result<()> {
    for _ in 0..200 {
        let x = Tensor::from_slice(&[7.0f32], &[1])?;
        let (weak, start) = (x.downgrade(), Barrier::new(3));
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    start.wait();
                    for _ in 0..50 {
                        if let Some(x) = Tensor::upgrade(&weak) {
                            assert_eq!(x.to_vec::<f32>().unwrap(), [7.0]);
                        }
                        let _another = weak.clone();
                    }
                });
            }
            start.wait();
            drop(x);
        });
        assert!(weak.upgrade().is_none());
    }
    Ok(())
}

#[test]
fn a_boxed_call_takes_wrappers_as_typed_ones_do() -> Result<()> {
    let x = Tensor::wrap(DispatchKey::Cpu.key_set(), Changing::new());
    opgrid_tensor::ensure_registered()?;
    let exp = Dispatcher::global().find("aten::exp")?;
    let error = exp.call_values(vec![Value::from(&x)]).unwrap_err();
    assert!(error.message().contains("aten::exp"), "{error}");
    Ok(())
}

#[test]
fn an_overload_is_redispatched_with_exactly_these_keys() {
    let x = Tensor::from_slice(&[1.0f32, 2.0], &[2]).unwrap();
    let sum = ops::AddTensor.redispatch(DispatchKey::Cpu.key_set(), &x, &x, Scalar::Int(2)).unwrap();
    assert_eq!(sum.to_vec::<f32>().unwrap(), [3.0, 6.0]);
    let error = ops::AddTensor.redispatch(DispatchKeySet::EMPTY, &x, &x, Scalar::Int(1)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::MissingKernel);
}

#[test]
fn elements_are_borrowed_in_row_major_order() {
    let x = Tensor::from_slice(&[1i64, 2, 3, 4, 5, 6], &[2, 3]).unwrap();
    assert_eq!(&*x.elements::<i64>().unwrap(), [1, 2, 3, 4, 5, 6]);
    let row = x.view_as(x.geometry().select(0, 1).unwrap()).unwrap();
    let lent = row.elements::<i64>().unwrap();
    assert_eq!(lent.iter().sum::<i64>(), 15);
    let error = x.fill_(0).unwrap_err();
    assert!(error.message().contains("read"), "nobody writes meanwhile: {error}");
    drop(lent);
    x.fill_(0).unwrap();

    let column = x.view_as(x.geometry().select(1, 1).unwrap()).unwrap();
    let refused = [
        (column.elements::<i64>().unwrap_err(), "row-major order"),
        (x.elements::<f32>().unwrap_err(), "float32"),
        (Tensor::empty(&[2], DType::I64, Device::META).unwrap().elements::<i64>().unwrap_err(), "meta"),
    ];
    for (error, text) in refused {
        assert!(error.message().contains(text), "{error}");
    }
    assert!(Tensor::from_slice::<f32>(&[], &[0, 3]).unwrap().elements::<f32>().unwrap().is_empty());
}

#[test]
fn lists_of_tensors_are_values() {
    let x = Tensor::from_slice(&[1.0f32], &[1]).unwrap();
    let dispatcher = Dispatcher::new();
    let _operators = opgrid_tensor::register(&dispatcher).unwrap();
    let cat = dispatcher.find("aten::cat").unwrap();
    let results = cat.call_values(vec![vec![x.clone(), x].into(), 0.into()]).unwrap();
    assert_eq!(results[0].to_string(), "tensor([1., 1.])");
}

#[test]
fn tensors_are_converted_to_what_is_named() {
    let x = Tensor::from_slice(&[1.5f32, 2.5], &[2]).unwrap();
    let like = Tensor::from_slice(&[1i64], &[1]).unwrap();
    assert_eq!(x.to(&like).unwrap().to_vec::<i64>().unwrap(), [1, 2]);
    assert!(x.to(DType::F32).unwrap().is_same(&x) && x.to(Device::CPU).unwrap().is_same(&x));
    assert_eq!(x.to(Device::META).unwrap().device().kind(), DeviceType::Meta);
}
