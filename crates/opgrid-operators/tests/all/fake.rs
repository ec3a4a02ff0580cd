//! Fake tensors: what results are like without elements, devices that are refused, and the memory that they would take.

use std::sync::Arc;

use opgrid_core::{DType, Device, Dispatcher, Registration, Result, ThreadContext, Value};
use opgrid_tensor::layers::autocast::Region;
use opgrid_tensor::layers::fake::{self, FakeMemory};
use opgrid_tensor::layers::{autocast, autograd};
use opgrid_tensor::{Tensor, ops};

fn dispatcher() -> (Dispatcher, Vec<Registration>) {
    let dispatcher = Dispatcher::new();
    let registrations = vec![
        opgrid_tensor::register(&dispatcher).unwrap(),
        autograd::install(&dispatcher).unwrap(),
        autocast::install_for(&dispatcher, cuda().kind()).unwrap(),
        fake::install(&dispatcher).unwrap(),
    ];
    (dispatcher, registrations)
}

fn within(body: impl FnOnce() -> Result<()>) {
    let (dispatcher, _registrations) = dispatcher();
    dispatcher.within(body).unwrap();
}

fn cuda() -> Device {
    "cuda:0".parse().unwrap()
}

fn on(device: Device, sizes: &[i64]) -> Tensor {
    Tensor::empty(sizes, DType::F32, device.fake()).unwrap()
}

fn refused(result: Result<impl Sized>) -> String {
    result.err().expect("an error").message().to_owned()
}

#[test]
fn results_are_like_those_of_tensors_with_data() {
    within(|| {
        let x = on(cuda(), &[4, 3]);
        x.requires_grad_(true)?;
        let y = x.matmul(&on(cuda(), &[3, 5]))?.relu()?.add(1)?;
        assert_eq!((y.sizes(), y.device().real(), y.dtype()), (&[4, 5][..], cuda(), DType::F32));
        assert_eq!(y.detach()?.to_string(), "FakeTensor(..., device='cuda:0', size=(4, 5))");
        y.sum()?.backward()?;
        let grad = x.grad().expect("a gradient");
        assert_eq!((grad.sizes(), grad.device()), (x.sizes(), x.device()));
        // Shapes that do not go together are refused in the same words.
        let real = |sizes: &[i64]| Tensor::zeros(sizes, DType::F32, Device::CPU);
        let (a, b) = (real(&[2, 3])?, real(&[2, 3])?);
        let fakes = (fake::like(&a, None)?, fake::like(&b, None)?);
        assert_eq!(refused(fakes.0.matmul(&fakes.1)), refused(a.matmul(&b)));
        assert_eq!(refused(fakes.0.view(&[5])), refused(a.view(&[5])));
        Ok(())
    });
}

#[test]
fn devices_that_do_not_go_together_are_refused() {
    within(|| {
        let (here, there) = (on(Device::CPU, &[2, 3]), on(cuda(), &[2, 3]));
        let both = "expected all tensors to be on the same device, but found at least two, cpu and cuda:0";
        for error in [refused(here.add(&there)), refused(here.mm(&there.t()?)), refused(here.add_(&there))] {
            assert!(error.contains(both), "{error}");
        }
        let own_words = refused(here.matmul(&there.t()?));
        assert!(own_words.contains("is float32 on cuda:0, expected float32 on cpu"), "{own_words}");
        // A number on the CPU goes with any, and so do indices.
        assert_eq!(there.add(&on(Device::CPU, &[]))?.device(), there.device());
        assert_eq!(there.add(&Tensor::from_slice(&[2.0f32], &[0i64; 0])?)?.device(), there.device());
        assert!(refused(on(Device::CPU, &[]).add_(&there)).contains("cuda:0"));
        let rows = Tensor::from_slice(&[1i64, 0], &[2])?;
        let chosen = ops::IndexTensor.call(&there, &[Some(rows.clone())])?;
        assert_eq!((chosen.sizes(), chosen.device()), (&[2, 3][..], there.device()));
        assert!(
            refused(ops::IndexSelect.call(&there, 0, &rows)).contains("found at least two, cuda:0 and cpu")
        );
        // Copies go from one to the other.
        here.copy_(&there)?;
        let moved = here.to(cuda())?;
        assert_eq!((moved.device(), moved.sizes()), (there.device(), here.sizes()));
        assert_eq!(there.to(Device::CPU)?.device(), Device::CPU.fake());
        assert!(there.to(cuda())?.is_same(&there), "it is there");
        Ok(())
    });
}

#[test]
fn tensors_with_data_take_part_and_are_not_written() {
    within(|| {
        let (real, fake) = (Tensor::zeros(&[3], DType::F32, Device::CPU)?, on(Device::CPU, &[2, 3]));
        assert!(fake.add(&real)?.device().is_fake());
        assert!(ops::Cat.call(&[fake.clone(), real.unsqueeze(0)?], 0)?.device().is_fake());
        let version = real.version();
        let error = refused(real.add_(&on(Device::CPU, &[3])));
        assert!(error.contains("argument `self` is a tensor with data"), "{error}");
        assert!(refused(real.copy_(&on(Device::CPU, &[3]))).contains("fake"));
        assert_eq!((real.to_vec::<f32>()?, real.version()), (vec![0.0; 3], version));
        // Also where an operator is made of others.
        let square = Tensor::zeros(&[3, 3], DType::F32, Device::CPU)?;
        assert!(square.matmul(&on(Device::CPU, &[3, 3]))?.device().is_fake());
        assert!(ops::Linear.call(&fake, &square, None)?.device().is_fake());
        // Without a fake one among them, they are what they are.
        let _entered = fake::enter(Arc::default())?;
        assert_eq!(real.add(1)?.to_vec::<f32>()?, [1.0; 3]);
        assert!(real.to(cuda())?.device().is_fake());
        Ok(())
    });
}

#[test]
fn elements_are_refused() {
    within(|| {
        let x = on(Device::CPU, &[1]);
        for error in [
            refused(x.item()),
            refused(ops::Nonzero.call(&x)),
            refused(ops::MaskedSelect.call(&x, &x.gt(0)?)),
        ] {
            assert!(error.contains("a fake tensor"), "{error}");
        }
        assert!(refused(x.to_vec::<f32>()).contains("fake tensor"));
        Ok(())
    });
}

#[test]
fn factories_are_fake_inside_and_devices_need_not_be_there() {
    within(|| {
        let entered = fake::enter(Arc::default())?;
        let made = Tensor::zeros(&[2], DType::F32, "xpu".parse::<Device>()?)?;
        assert_eq!((made.device().to_string().as_str(), made.device().is_fake()), ("xpu:0", true));
        assert!(ops::Arange.call(5.into(), None, None, None, None)?.device().is_fake());
        assert!(ops::Full.call(&[2], 1.into(), None, None, Some(cuda()), None)?.device().is_fake());
        drop(fake::enter(Arc::default())?);
        // They may end in any order, and the innermost that is left counts.
        let (outer, inner) = (Arc::new(FakeMemory::default()), Arc::new(FakeMemory::default()));
        let (first, second) = (fake::enter(outer.clone())?, fake::enter(inner.clone())?);
        drop(first);
        let counted = Tensor::ones(&[2], DType::F32, Device::CPU)?;
        assert_eq!((counted.device().is_fake(), outer.usage(Device::CPU).bytes), (true, 0));
        assert_eq!(inner.usage(Device::CPU).bytes, 8);
        drop(second);
        assert!(fake::is_entered() && Tensor::ones(&[2], DType::F32, Device::CPU)?.device().is_fake());
        drop(entered);
        assert!(!fake::is_entered() && !Tensor::ones(&[2], DType::F32, Device::CPU)?.device().is_fake());
        // What was made stays fake.
        assert!(made.add(1)?.device().is_fake());
        Ok(())
    });
    let bare = Dispatcher::new();
    let _operators = opgrid_tensor::register(&bare).unwrap();
    assert!(refused(bare.within(|| fake::enter(Arc::default()))).contains("fake::install"));
}

#[test]
fn autocast_casts_for_the_device_that_a_tensor_passes_for() {
    within(|| {
        let (x, y) = (on(cuda(), &[2, 2]), on(Device::CPU, &[2, 2]));
        let _region = Region::new(cuda().kind()).dtype(DType::F16).enter()?;
        assert_eq!((x.matmul(&x)?.dtype(), y.matmul(&y)?.dtype()), (DType::F16, DType::F32));
        Ok(())
    });
}

#[test]
fn memory_is_counted_until_tensors_are_dropped() {
    within(|| {
        let memory = Arc::new(FakeMemory::default());
        memory.limit(cuda(), 4000);
        let _entered = fake::enter(memory.clone())?;
        let x = Tensor::zeros(&[100], DType::F32, cuda())?;
        let (view, y) = (x.view(&[10, 10])?, x.add(1)?);
        assert_eq!(memory.usage(cuda()).bytes, 800, "a view takes nothing");
        drop((x, y));
        assert_eq!((memory.usage(cuda()).bytes, memory.usage(cuda()).peak), (400, 800));
        let error = refused(Tensor::zeros(&[1000], DType::F32, cuda()));
        assert!(
            error.contains("device cuda:0 is out of memory: 4000 bytes were asked for, and tensors take 400"),
            "{error}"
        );
        memory.restart_peak(cuda());
        // Other threads count with the context of this one, and give back without it.
        let context = ThreadContext::capture();
        let here = view.clone();
        let made = std::thread::spawn(move || context.within(|| here.add(1))).join().unwrap()?;
        assert_eq!(memory.usage(cuda()).peak, 800);
        std::thread::spawn(move || drop((made, view))).join().unwrap();
        assert_eq!((memory.usage(cuda()).bytes, memory.devices()), (0, vec![cuda().fake()]));
        Ok(())
    });
}

#[test]
fn a_device_goes_through_values_as_it_is() {
    let fake = cuda().fake();
    assert_eq!(Value::from(fake), Value::Device(fake));
    assert_ne!(fake, cuda());
    assert_eq!((fake.real(), fake.fake(), Device::META.fake()), (cuda(), fake, Device::META));
    assert_eq!(format!("{fake} {fake:?}"), "cuda:0 fake cuda:0");
}
