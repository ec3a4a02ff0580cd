//! The backend from outside: copies, kernels, the counted way through the CPU, autograd, printing and errors.

use opgrid::dispatch::{DeviceType, Returns, SlowPath, Strict, TensorType, inference_mode, strict};
use opgrid::ops;
use opgrid::prelude::*;
use toy_backend::{MultiplyAdd, TOY, arena::Block, device, register, to};

/// A dispatcher with the operators and the backend. Typed calls of tests go to it by [`Dispatcher::call`].
struct Subject {
    dispatcher: Dispatcher,
    _registrations: [Registration; 2],
}

impl Subject {
    fn new() -> Self {
        let dispatcher = Dispatcher::new();
        let operators = opgrid::ops::register(&dispatcher).unwrap();
        let backend = register(&dispatcher).unwrap();
        Self { dispatcher, _registrations: [operators, backend] }
    }

    fn to(&self, tensor: &Tensor, device: Device) -> Tensor {
        let arguments = (tensor, None, None, Some(device), None, false, None);
        self.dispatcher.call(ops::ToCopy, arguments).unwrap()
    }

    fn toy(&self, elements: &[f32], sizes: &[i64]) -> Tensor {
        self.to(&Tensor::from_slice(elements, sizes).unwrap(), device().unwrap())
    }

    fn cpu_copies(&self, operator: &str) -> u64 {
        self.dispatcher.stats().count(SlowPath::CPU_COPY, operator)
    }

    /// The hops of a call, as `key operator kernel`.
    fn path(&self, operator: &str, arguments: &[&Tensor]) -> Vec<String> {
        let values: Vec<_> = arguments.iter().map(|tensor| Value::from(*tensor)).collect();
        let lent: Vec<_> = values.iter().map(Value::borrow).collect();
        let handle = self.dispatcher.find(operator).unwrap();
        let (result, explanation) = handle.call_explained(&lent, &mut Returns::new()).unwrap();
        result.unwrap();
        let text = explanation.to_string();
        let hops =
            text.lines().filter(|line| line.trim_start().starts_with(|first: char| first.is_ascii_digit()));
        hops.map(|hop| hop.split_whitespace().skip(1).take(2).collect::<Vec<_>>().join(" ")).collect()
    }
}

fn floats(tensor: &Tensor) -> Vec<f32> {
    tensor.to_vec().unwrap()
}

#[test]
fn devices_have_a_name_and_a_number() {
    let toy = device().unwrap();
    assert_eq!(toy.to_string(), "toy:0");
    assert_eq!("toy".parse::<DeviceType>().unwrap(), toy.kind());
    let subject = Subject::new();
    let make = |device: &str| {
        let arguments = (&[2][..], None, None, Some(device.parse().unwrap()), None, None);
        subject.dispatcher.call(ops::EmptyMemoryFormat, arguments)
    };
    assert_eq!(make("toy").unwrap().device(), toy);
    assert_eq!(make("toy:1").unwrap().device().to_string(), "toy:1");
    let error = make("toy:2").unwrap_err().to_string();
    assert!(error.contains("there is no device toy:2, expected toy:0 to toy:1"), "{error}");
}

#[test]
fn elements_cross_both_ways_and_lie_hidden() {
    let subject = Subject::new();
    let x = subject.toy(&[1.0, -2.5, 3.0, 4.0], &[2, 2]);
    assert_eq!(x.keys().to_string(), "DispatchKeySet(Toy, ADInplaceOrView, AutogradToy, AutocastToy)");
    assert_eq!(x.to_string(), "tensor([[ 1.0000, -2.5000],\n        [ 3.0000,  4.0000]], device='toy:0')");
    let back = subject.to(&x, Device::CPU);
    assert_eq!((back.device(), floats(&back)), (Device::CPU, vec![1.0, -2.5, 3.0, 4.0]));
    assert!(x.array().unwrap().storage().read().is_err());

    let address = x.array().unwrap().storage().memory::<Block>().unwrap().address();
    let session = TOY.arena(0).lock();
    let raw: Vec<u8> = (address..address + 4).map(|address| session.raw(address)).collect();
    assert_ne!(raw, 1.0f32.to_le_bytes());
}

#[test]
fn copies_convert_stretch_and_reach_parts() {
    let subject = Subject::new();
    let x = subject.toy(&[0.0; 6], &[2, 3]);
    let column = x.view_as(x.geometry().select(1, 1).unwrap()).unwrap();
    let copy = |to: &Tensor, from: &Tensor| subject.dispatcher.call(ops::CopyInplace, (to, from, false));
    copy(&column, &Tensor::from_slice(&[7i64], &[1]).unwrap()).unwrap();
    assert_eq!(floats(&x), [0.0, 7.0, 0.0, 0.0, 7.0, 0.0]);
    let doubles = subject.to(&Tensor::from_slice(&[0.5f64; 3], &[3]).unwrap(), device().unwrap());
    copy(&x, &doubles).unwrap();
    assert_eq!(floats(&x), [0.5; 6]);
    let host = Tensor::from_slice(&[0i64; 6], &[2, 3]).unwrap();
    copy(&host, &subject.toy(&[1.9, -1.9, 3.0], &[3])).unwrap();
    assert_eq!(host.to_vec::<i64>().unwrap(), [1, -1, 3, 1, -1, 3]);
    let error = copy(&x, &Tensor::from_slice(&[0.0f32; 2], &[2]).unwrap()).unwrap_err().to_string();
    assert!(error.contains("does not broadcast"), "{error}");
    let meta = Tensor::empty(&[2, 3], DType::F32, Device::META).unwrap();
    assert!(copy(&x, &meta).unwrap_err().to_string().contains("meta tensor"));
}

#[test]
fn kernels_of_the_device_take_no_detour() {
    let subject = Subject::new();
    let (x, y) = (subject.toy(&[1.0, 2.0], &[2]), subject.toy(&[10.0, 20.0], &[2]));
    let sum = strict(|| subject.dispatcher.call(ops::AddTensor, (&x, &y, Scalar::Float(0.5)))).unwrap();
    let product = strict(|| subject.dispatcher.call(ops::MulTensor, (&x, &sum))).unwrap();
    assert_eq!((floats(&sum), floats(&product)), (vec![6.0, 12.0], vec![6.0, 24.0]));
    assert_eq!(product.device(), device().unwrap());
    assert!(subject.dispatcher.stats().slow_paths.is_empty());
    assert_eq!(subject.path("aten::mul.Tensor", &[&x, &x]), ["Toy aten::mul.Tensor"]);
    let tail = y.view_as(y.geometry().slice(0, 1, 2, 1).unwrap()).unwrap();
    let sum = strict(|| subject.dispatcher.call(ops::AddTensor, (&tail, &tail, Scalar::Int(1)))).unwrap();
    assert_eq!(floats(&sum), [40.0], "kernels find the first element of a view");
}

#[test]
fn what_the_kernels_refuse_goes_through_the_cpu_and_is_counted() {
    let subject = Subject::new();
    let x = subject.toy(&[1.0, 2.0, 3.0, 4.0], &[2, 2]);
    let row = subject.toy(&[10.0, 20.0], &[2]);
    let sum = subject.dispatcher.call(ops::AddTensor, (&x, &row, Scalar::Int(1))).unwrap();
    assert_eq!((floats(&sum), sum.device()), (vec![11.0, 22.0, 13.0, 24.0], device().unwrap()));
    assert_eq!(subject.cpu_copies("aten::add.Tensor"), 1);
    let sum = subject.dispatcher.call(ops::AddScalar, (&x, Scalar::Int(1), Scalar::Int(1))).unwrap();
    assert_eq!(floats(&sum), [2.0, 3.0, 4.0, 5.0]);
    assert_eq!(subject.cpu_copies("aten::add.Tensor"), 2);
    let negative = subject.dispatcher.call(ops::Neg, (&x,)).unwrap();
    assert_eq!(negative.to_string(), "tensor([[-1., -2.],\n        [-3., -4.]], device='toy:0')");
    assert_eq!(subject.cpu_copies("aten::neg"), 1);
    assert_eq!(subject.path("aten::neg", &[&x])[..2], ["Toy aten::neg", "CPU aten::neg"]);
}

#[test]
fn writes_and_views_survive_the_way_through_the_cpu() {
    let subject = Subject::new();
    let x = subject.toy(&[1.0, 2.0, 3.0, 4.0], &[4]);
    let tail = x.view_as(x.geometry().slice(0, 2, 4, 1).unwrap()).unwrap();
    subject.dispatcher.call(ops::AddInplaceTensor, (&tail, &tail, Scalar::Int(1))).unwrap();
    assert_eq!(floats(&x), [1.0, 2.0, 6.0, 8.0]);

    let results = subject.dispatcher.find("aten::neg_").unwrap().call_values(vec![Value::from(&x)]).unwrap();
    assert_eq!(results, [Value::from(&x)], "what was written is the result");
    assert_eq!(floats(&tail), [-6.0, -8.0]);

    let square = subject.dispatcher.call(ops::View, (&x, &[2, 2][..])).unwrap();
    assert_eq!(
        (subject.cpu_copies("aten::view"), square.device()),
        (0, x.device()),
        "views need no kernel here"
    );
    assert!(square.array().unwrap().storage().is_same(x.array().unwrap().storage()));

    let out = subject.toy(&[0.0; 4], &[4]);
    let overlapping = (&x, &square, Scalar::Int(1), &tail);
    assert!(subject.dispatcher.call(ops::AddOut, overlapping).is_err());
    subject.dispatcher.call(ops::AddOut, (&x, &x, Scalar::Int(1), &out)).unwrap();
    assert_eq!(floats(&out), [-2.0, -4.0, -12.0, -16.0]);
    let empty = subject.toy(&[], &[0]);
    subject.dispatcher.call(ops::AddOut, (&x, &x, Scalar::Int(1), &empty)).unwrap();
    assert_eq!((floats(&empty), empty.device()), (floats(&out), x.device()), "it gets memory of the device");
}

#[test]
fn strict_mode_refuses_the_way_through_the_cpu_before_it_is_taken() {
    let subject = Subject::new();
    let x = subject.toy(&[1.0], &[1]);
    let negate = || subject.dispatcher.call(ops::NegInplace, (&x,));
    let error = strict(negate).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::SlowPath);
    assert!(error.to_string().contains("aten::neg_: fallback at Toy is refused"), "{error}");
    let error = Strict::all().allow(SlowPath::FALLBACK).run(negate).unwrap_err();
    assert!(error.to_string().contains("aten::neg_: copy through the CPU at Toy is refused"), "{error}");
    assert_eq!((subject.cpu_copies("aten::neg_"), floats(&x)), (0, vec![1.0]));
    Strict::all().allow(SlowPath::FALLBACK).allow(SlowPath::CPU_COPY).run(negate).unwrap();
    assert_eq!(floats(&x), [-1.0]);
}

#[test]
fn the_autograd_key_runs_unless_nobody_wants_gradients() {
    let subject = Subject::new();
    let x = subject.toy(&[2.0, 3.0], &[2]);
    let apart = ["AutogradToy toy::multiply_add", "Toy aten::mul.Tensor", "Toy aten::add.Tensor"];
    assert_eq!(subject.path("toy::multiply_add", &[&x, &x, &x]), apart);
    let _inference = inference_mode();
    assert_eq!(subject.path("toy::multiply_add", &[&x, &x, &x]), ["Toy toy::multiply_add"]);
    assert_eq!(floats(&subject.dispatcher.call(MultiplyAdd, (&x, &x, &x)).unwrap()), [6.0, 12.0]);
    let wide = subject.toy(&[1.0], &[1]);
    let error = subject.dispatcher.call(MultiplyAdd, (&x, &x, &wide)).unwrap_err().to_string();
    assert!(
        error.contains("found float32 [2] on toy:0, float32 [2] on toy:0, float32 [1] on toy:0"),
        "{error}"
    );
}

#[test]
fn tensors_on_two_devices_are_refused() {
    let subject = Subject::new();
    let (there, here) = (subject.toy(&[1.0, 2.0], &[2]), Tensor::from_slice(&[1.0f32, 2.0], &[2]).unwrap());
    for (input, other) in [(&there, &here), (&here, &there)] {
        let error = subject.dispatcher.call(ops::AddTensor, (input, other, Scalar::Int(1))).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Argument);
        let text = error.to_string();
        assert!(
            text.starts_with("aten::add.Tensor") && text.contains("at least two, toy:0 and cpu"),
            "{text}"
        );
    }
}

#[test]
fn a_missing_kernel_and_a_missing_backend_are_named() {
    let subject = Subject::new();
    let mut library = subject.dispatcher.library("elsewhere");
    library.define("only_meta(Tensor self) -> Tensor");
    let _elsewhere = library.finish().unwrap();
    let x = subject.toy(&[1.0], &[1]);
    let handle = subject.dispatcher.find("elsewhere::only_meta").unwrap();
    let error = handle.call_values(vec![Value::from(&x)]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::MissingKernel);
    let text = error.to_string();
    assert!(text.starts_with("elsewhere::only_meta, through the CPU:") && text.contains("'CPU'"), "{text}");

    let bare = Dispatcher::new();
    let _operators = opgrid::ops::register(&bare).unwrap();
    let error = bare.call(ops::Neg, (&x,)).unwrap_err();
    assert!(error.to_string().contains("'Toy' backend"), "{error}");
}

#[test]
fn the_arena_runs_out_with_an_error_and_gets_its_blocks_back() {
    let subject = Subject::new();
    let make = |elements: i64| {
        let arguments = (&[elements][..], None, None, Some(device().unwrap()), None, None);
        subject.dispatcher.call(ops::EmptyMemoryFormat, arguments)
    };
    let error = make(1 << 19).unwrap_err().to_string();
    assert!(error.contains("device toy:0 has no memory for 2097152 bytes"), "{error}");
    // Half of the arena at a time, so this works only if every tensor gives its block back.
    for _ in 0..8 {
        let tensor = make(1 << 17).unwrap();
        assert!(tensor.as_any().keys().contains(toy_backend::backend().unwrap().key()));
    }
}

#[test]
fn typed_calls_without_a_dispatcher_reach_the_backend_too() -> Result<()> {
    let _backend = register(opgrid::dispatcher()?)?;
    let x = to(&Tensor::from_slice(&[1.0f32, 2.0], &[2])?, device()?)?;
    assert_eq!(MultiplyAdd.call(&x, &x, &x)?.to_string(), "tensor([2., 6.], device='toy:0')");
    assert_eq!(x.add_with_(&x.neg()?, 2)?.to_string(), "tensor([-1., -2.], device='toy:0')");
    Ok(())
}

#[test]
fn autocast_has_a_region_and_the_list_of_accelerators() {
    use opgrid::layers::autocast::{self, Region};
    let subject = Subject::new();
    let toy = device().unwrap().kind();
    let _layer = autocast::install_for(&subject.dispatcher, toy).unwrap();
    let x = subject.toy(&[1.0, 2.0], &[2]);
    subject
        .dispatcher
        .within(|| {
            let half = x.to_dtype(DType::F16)?;
            let on_cpu = subject.to(&half, Device::CPU);
            let on = Region::new(toy).enter()?;
            assert_eq!(autocast::dtype(toy)?, DType::F16);
            assert_eq!(half.exp()?.dtype(), DType::F32);
            assert_eq!(ops::Dot.call(&half, &x)?.dtype(), DType::F32, "the widest");
            assert_eq!(on_cpu.exp()?.dtype(), DType::F16, "it is on for the device alone");
            let other = "privateuseone".parse::<DeviceType>()?;
            assert!(!autocast::is_enabled(other)?, "which has the same layer");
            drop(on);
            assert_eq!(half.exp()?.dtype(), DType::F16);
            Ok::<(), Error>(())
        })
        .unwrap();
}
