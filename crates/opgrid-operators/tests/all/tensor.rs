//! Tensors as handles: keys, views, numbers in a tensor's place, outputs, overlaps, errors, other dispatchers.

use std::collections::BTreeSet;

use opgrid_core::{
    AnyTensor, DType, Device, DispatchKey, Dispatcher, Error, ErrorKind, Layout, Result, Scalar, TensorData,
    TensorType, Value, inference_mode, tensor_key_set,
};
use opgrid_tensor::ops::{
    AddInplaceTensor, AddOut, AddScalar, AddTensor, AsStrided, Contiguous, EmptyMemoryFormat, MulTensor,
};
use opgrid_tensor::{Array, Bool, Tensor, TensorSpec};

fn floats(elements: &[f32]) -> Tensor {
    Tensor::from_slice(elements, &[elements.len() as i64]).unwrap()
}

fn ints(elements: &[i64], sizes: &[i64]) -> Tensor {
    Tensor::from_slice(elements, sizes).unwrap()
}

fn meta(sizes: &[i64], dtype: DType) -> Tensor {
    Tensor::empty(sizes, dtype, Device::META).unwrap()
}

fn message<T>(result: Result<T>) -> String {
    result.map(|_| ()).unwrap_err().to_string()
}

#[test]
fn tensors_carry_torch_s_keys() {
    let x = floats(&[1.0]);
    assert_eq!(x.keys(), tensor_key_set(DispatchKey::Cpu));
    assert_eq!(
        meta(&[2], DType::F32).keys().to_string(),
        "DispatchKeySet(Meta, ADInplaceOrView, AutogradMeta)"
    );
    assert_eq!(Tensor::number(2).keys(), x.keys());
    assert_eq!(Tensor::undefined().keys().to_string(), "DispatchKeySet(ADInplaceOrView, AutogradOther)");
    let quantized = TensorSpec::contiguous(&[2], DType::QInt8, Device::CPU).unwrap();
    assert!(Tensor::allocate(quantized).unwrap().keys().contains(DispatchKey::QuantizedCpu));
    let _inference = inference_mode();
    let y = floats(&[1.0]);
    assert_eq!(y.keys().to_string(), "DispatchKeySet(CPU, AutocastCPU)");
    assert_eq!(y.add(&y).unwrap().keys(), y.keys());
    // A view is what its base is.
    assert_eq!(x.view(&[1, 1]).unwrap().keys(), x.keys());
}

#[test]
fn values_print_as_tensors() {
    let x = floats(&[2.0, 3.0, 4.0]);
    assert_eq!(AnyTensor::from(x.clone()).to_string(), "tensor([2., 3., 4.])");
    assert_eq!(format!("{x:?}"), "tensor([2., 3., 4.])");
    assert_eq!(Value::from(&x).to_string(), "tensor([2., 3., 4.])");
    assert_eq!(Tensor::number(2).to_string(), "tensor(2)");
    assert_eq!(
        Tensor::number(Scalar::Complex(opgrid_core::Complex64::new(0.0, 1.0))).to_string(),
        "tensor(0.+1.j, dtype=torch.complex128)"
    );
    assert_eq!(Tensor::undefined().to_string(), "tensor(<undefined>)");
    assert_eq!(meta(&[2], DType::F32).to_string(), "tensor(..., device='meta', size=(2,))");
}

#[test]
fn views_share_memory() {
    let x = ints(&[0, 1, 2, 3, 4, 5], &[2, 3]);
    let column = x.select(1, 2).unwrap();
    let steps = x.view(&[6]).unwrap().slice(0, None, None, 2).unwrap();
    let window = x.as_strided(&[2, 2], &[1, 1], Some(1)).unwrap();
    column.fill_(9).unwrap();
    assert_eq!(x.to_vec::<i64>().unwrap(), [0, 1, 9, 3, 4, 9]);
    assert_eq!(steps.to_vec::<i64>().unwrap(), [0, 9, 4]);
    assert_eq!(window.to_vec::<i64>().unwrap(), [1, 9, 9, 3]);
    assert!(message(x.as_strided(&[2], &[6], None)).contains("out of bounds for storage of size 48"));
}

#[test]
fn contiguous_gives_a_contiguous_tensor_itself() {
    let x = ints(&[1, 2, 3, 4], &[2, 2]);
    assert!(x.contiguous().unwrap().is_same(&x));
    let transposed = x.as_strided(&[2, 2], &[1, 2], None).unwrap();
    let copy = transposed.contiguous().unwrap();
    assert!(copy.is_contiguous() && !transposed.is_contiguous() && !copy.is_same(&transposed));
    assert_eq!(copy.to_vec::<i64>().unwrap(), [1, 3, 2, 4]);
    let error = message(Contiguous.call(&transposed, opgrid_core::MemoryFormat::Preserve));
    assert!(error.starts_with("aten::contiguous: argument `memory_format` is preserve_format"), "{error}");
}

#[test]
fn empty_goes_where_its_options_say() {
    let empty = |device: &str, layout, pin| {
        let device = device.parse::<Device>().unwrap();
        EmptyMemoryFormat.call(&[2, 3], Some(DType::F32), layout, Some(device), pin, None)
    };
    let x = EmptyMemoryFormat.call(&[2, 3], None, None, None, None, None).unwrap();
    assert_eq!((x.sizes(), x.dtype(), x.device()), ([2, 3].as_slice(), DType::F32, Device::CPU));
    assert_eq!(empty("meta", None, None).unwrap().device(), Device::META);
    for (result, key) in
        [(empty("cuda:1", None, None), "CUDA"), (empty("cpu", Some(Layout::SparseCoo), None), "SparseCPU")]
    {
        let error = result.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::MissingKernel);
        assert!(error.to_string().contains("aten::empty.memory_format"), "{error}");
        assert!(error.to_string().contains(key), "{error}");
    }
    let error = message(empty("cpu", None, Some(true)));
    assert!(error.starts_with("aten::empty.memory_format: the call asks for pinned memory"), "{error}");
    let error = message(empty("cpu", Some(Layout::Jagged), None));
    assert!(error.contains("argument `layout` is jagged, expected strided"), "{error}");
    assert!(message(Tensor::empty(&[-1], DType::F32, Device::CPU)).contains("negative dimension -1"));
}

#[test]
fn broken_calls_name_operator_argument_and_shapes() {
    let (x, four) = (ints(&[1, 2, 3, 4, 5, 6], &[2, 3]), ints(&[1, 2, 3, 4], &[4]));
    let expected = "aten::add.Tensor: argument `other` has shape [2, 3], which does not broadcast with `self` of \
                    shape [4]";
    assert_eq!(message(four.add(&x)), expected);
    assert_eq!(
        message(four.add_(&x)),
        expected.replace("add.Tensor", "add_.Tensor"),
        "each overload names itself"
    );
    let row = ints(&[1, 2, 3], &[3]);
    assert_eq!(
        message(row.add_(&x)),
        "aten::add_.Tensor: argument `self` has shape [3], which doesn't match the result's shape [2, 3]"
    );
    assert_eq!(
        message(x.add_(&floats(&[1.0]))),
        "aten::add_.Tensor: result type float32 can't be cast to the desired output type int64"
    );
    assert!(message(x.add_with(&x, 0.5)).contains("must not be a floating-point number for integral inputs"));
    assert!(
        message(floats(&[1.0]).add_with(&x.select(0, 0).unwrap(), true))
            .contains("only for results of dtype bool")
    );
    let flag = Tensor::from_slice(&[Bool::from(true)], &[1]).unwrap();
    assert!(message(flag.neg()).contains("negation is not defined"));
    let scaled = TensorSpec::contiguous(&[2], DType::QInt8, Device::CPU).unwrap();
    let scaled = Tensor::allocate(scaled).unwrap();
    let error = message(opgrid_core::including(DispatchKey::Cpu, || scaled.mul(&scaled)));
    assert!(error.contains("aten::mul"), "{error}");
    assert!(
        message(x.mm(&x)).starts_with("aten::mm: mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)")
    );
    assert!(message(x.add(&meta(&[3], DType::I64))).contains("found at least two, cpu and meta"));
    assert!(message(ints(&[1], &[]).fill_(1e300)).contains("without overflow"));
    assert!(message(floats(&[1.0]).fill_(1e300)).contains("to Float (float32) without overflow"));
    assert!(message(x.copy_(&meta(&[2, 3], DType::I64))).contains("argument `src` is a meta tensor"));
    assert!(message(x.add(&Tensor::undefined())).contains("undefined tensor"));
}

#[test]
fn an_undefined_tensor_alone_finds_no_kernel() {
    let error = Tensor::undefined().neg().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::MissingKernel, "{error}");
    assert!(!Tensor::undefined().is_defined() && Tensor::undefined().array().is_err());
}

#[test]
fn outputs_take_the_shape_of_the_result_once() {
    for device in [Device::CPU, Device::META] {
        let x = Tensor::empty(&[2, 2], DType::I64, device).unwrap();
        x.fill_(3).unwrap();
        let out = Tensor::empty(&[0], DType::F64, device).unwrap();
        let other_handle = out.clone();
        AddOut.call(&x, &x, 2.into(), &out).unwrap();
        assert_eq!((other_handle.sizes(), out.dtype()), ([2, 2].as_slice(), DType::F64));
        if device == Device::CPU {
            assert_eq!(other_handle.to_vec::<f64>().unwrap(), [9.0; 4]);
        }
        AddOut.call(&x, &x, 1.into(), &out).unwrap();
        let row = x.select(0, 0).unwrap();
        let expected =
            "aten::add.out: argument `out` has shape [2, 2], which doesn't match the result's shape [2]";
        assert_eq!(message(AddOut.call(&row, &row, 1.into(), &out)), expected);
    }
    let x = floats(&[1.0]);
    let ints = ints(&[1], &[1]);
    assert!(message(AddOut.call(&x, &x, 1.into(), &ints)).contains("float32 can't be cast"));
    assert!(
        message(AddOut.call(&x, &x, 1.into(), &meta(&[1], DType::F32)))
            .contains("is on device meta, expected cpu")
    );
    let none = Tensor::from_slice::<f32>(&[], &[0]).unwrap();
    AddOut.call(&ints, &ints, 1.into(), &none).unwrap();
    assert_eq!(none.to_vec::<f32>().unwrap(), [2.0]);
}

#[test]
fn an_output_may_be_resized_many_times_while_it_is_empty() {
    let out = Tensor::from_slice::<f32>(&[], &[0]).unwrap();
    for rows in 1..=100_000 {
        let empty = out.as_strided(&[rows, 0], &[1, 1], None).unwrap();
        AddOut.call(&empty, &empty, 1.into(), &out).unwrap();
    }
    assert_eq!(out.sizes(), [100_000, 0]);
}

#[test]
fn overlaps_are_refused_whatever_the_dtypes() {
    let x = floats(&[1.0, 2.0, 3.0, 4.0]);
    let (head, tail) = (x.slice(0, None, 3, 1).unwrap(), x.slice(0, 1, None, 1).unwrap());
    assert!(message(tail.add_(&head)).contains("clone()"));
    let doubles = Tensor::from_slice(&[0.5f64; 3], &[3]).unwrap();
    assert!(message(AddOut.call(&head, &doubles, 1.into(), &tail)).contains("clone()"));
    x.add_(&x).unwrap();
    assert_eq!(x.to_vec::<f32>().unwrap(), [2.0, 4.0, 6.0, 8.0]);
    for device in [Device::CPU, Device::META] {
        let one = Tensor::empty(&[1], DType::F32, device).unwrap();
        let wide = one.as_strided(&[3], &[0], None).unwrap();
        assert!(message(wide.fill_(1)).contains("more than one element"));
    }
    // In place on another dtype's copy: what is read is read first.
    x.add_(&doubles.select(0, 0).unwrap()).unwrap().add_(&x.contiguous().unwrap()).unwrap();
    assert_eq!(x.to_vec::<f32>().unwrap(), [5.0, 9.0, 13.0, 17.0]);
}

#[test]
fn a_number_is_a_tensor_without_memory_until_it_is_asked_for() {
    let number = Tensor::number(2.5);
    assert_eq!((number.dtype(), number.dim(), number.is_number()), (DType::F64, 0, true));
    assert_eq!(floats(&[1.0]).add_with(&number, 2).unwrap().to_vec::<f32>().unwrap(), [6.0]);
    assert_eq!(number.add(&number).unwrap().to_vec::<f32>().unwrap(), [5.0]);
    assert_eq!(number.mul(&floats(&[2.0])).unwrap().to_vec::<f32>().unwrap(), [5.0]);
    // Written to, it is what was written; in promotion it still counts as a number.
    number.fill_(4.5).unwrap();
    assert_eq!(number.to_vec::<f64>().unwrap(), [4.5]);
    let sum = floats(&[1.0]).add(&number).unwrap();
    assert_eq!((sum.dtype(), sum.to_vec::<f32>().unwrap()), (DType::F32, vec![5.5]));
    assert_eq!(meta(&[2], DType::I64).add(&number).unwrap().dtype(), DType::F32);
    let x = ints(&[0, 0], &[2]);
    assert_eq!(x.copy_(&Tensor::number(7)).unwrap().to_vec::<i64>().unwrap(), [7, 7]);
    let complex = Tensor::number(Scalar::Complex(opgrid_core::Complex64::new(0.0, 1.0)));
    assert_eq!(
        x.copy_(&Tensor::number(7)).unwrap().add(&complex).unwrap().to_string(),
        "tensor([7.+1.j, 7.+1.j])"
    );
}

#[test]
fn layers_see_one_operator_for_numbers_and_tensors() {
    let x = floats(&[1.0, 2.0]);
    let (result, steps) = opgrid_core::record_calls(|| AddScalar.call(&x, 3.into(), 2.into()));
    assert_eq!(result.unwrap().to_vec::<f32>().unwrap(), [7.0, 8.0]);
    let names: Vec<_> = steps.iter().map(|step| step.operator.name().to_string()).collect();
    assert_eq!(names, ["aten::add.Scalar", "aten::add.Tensor"]);
}

#[test]
fn rust_s_operators_dispatch() {
    let x = floats(&[1.0, 2.0]);
    assert_eq!((&x + &x).unwrap().to_vec::<f32>().unwrap(), [2.0, 4.0]);
    assert_eq!((&x * &x).unwrap().to_vec::<f32>().unwrap(), [1.0, 4.0]);
    assert_eq!((-&x).unwrap().to_vec::<f32>().unwrap(), [-1.0, -2.0]);
    assert_eq!(x.add_with(1.5, 2).unwrap().to_vec::<f32>().unwrap(), [4.0, 5.0]);
}

#[test]
fn boxed_and_typed_calls_agree() {
    // Once with keys that fall through, once with torch's fallbacks, which are boxed kernels on the way.
    boxed_and_typed_calls_agree_on(Dispatcher::new());
    boxed_and_typed_calls_agree_on(Dispatcher::with_reference_fallbacks());
}

fn boxed_and_typed_calls_agree_on(dispatcher: Dispatcher) {
    let _registration = opgrid_tensor::register(&dispatcher).unwrap();
    let (x, y) = (ints(&[1, 2], &[2]), floats(&[0.5, 1.5]));
    let find = |name| dispatcher.find(name).unwrap();
    let boxed = |name, args| find(name).call_values(args).unwrap().pop().unwrap().to_string();
    let args = || vec![Value::from(&x), Value::from(&y), Value::from(2)];
    let typed = dispatcher.call(AddTensor, (&x, &y, Scalar::Int(2))).unwrap();
    assert_eq!(boxed("aten::add.Tensor", args()), typed.to_string());
    let typed = dispatcher.call(MulTensor, (&x, &y)).unwrap();
    assert_eq!(boxed("aten::mul.Tensor", args()[..2].to_vec()), typed.to_string());
    // In place, the result is the first argument; of `out` overloads it is the last one.
    let results = find("aten::add_.Tensor").call_values(vec![(&y).into(), (&x).into(), 1.into()]).unwrap();
    assert!(matches!(&results[..], [Value::Tensor(result)] if result.is_same(&AnyTensor::from(y.clone()))));
    let out = floats(&[0.0, 0.0]);
    let results =
        find("aten::add.out").call_with(args()[..2].to_vec(), vec![("out".into(), (&out).into())]).unwrap();
    assert!(matches!(&results[..], [Value::Tensor(result)] if result.is_same(&AnyTensor::from(out.clone()))));
    assert_eq!(out.to_vec::<f32>().unwrap(), [2.5, 5.5]);
    dispatcher.call(AddInplaceTensor, (&y, &x, Scalar::Int(1))).unwrap();
    assert_eq!(y.to_vec::<f32>().unwrap(), [2.5, 5.5]);
}

#[test]
fn tensors_of_other_libraries_are_refused() {
    struct Foreign;
    impl TensorData for Foreign {
        fn describe(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("foreign")
        }
    }
    let dispatcher = Dispatcher::new();
    let _registration = opgrid_tensor::register(&dispatcher).unwrap();
    let foreign = AnyTensor::new(tensor_key_set(DispatchKey::Cpu), Foreign);
    assert!(message(Tensor::try_from(foreign.clone())).contains("another library (foreign)"));
    let result = dispatcher.find("aten::neg").unwrap().call_values(vec![foreign.into()]);
    assert_eq!(result.unwrap_err().kind(), ErrorKind::Value);
}

#[test]
fn a_registration_is_undone_when_it_is_dropped() {
    let dispatcher = Dispatcher::new();
    let registration = opgrid_tensor::register(&dispatcher).unwrap();
    assert!(opgrid_tensor::register(&dispatcher).is_err(), "the namespace is taken");
    assert!(dispatcher.operators().len() >= 16);
    drop(registration);
    assert_eq!(dispatcher.operators().len(), 0);
    let x = floats(&[1.0]);
    let result: Result<Tensor, Error> = dispatcher.call(MulTensor, (&x, &x));
    assert!(result.is_err());
}

#[test]
fn threads_that_come_first_together_all_find_operators() {
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                opgrid_tensor::ensure_registered().unwrap();
                let x = Array::from_slice(&[1.0f32], &[1]).and_then(Tensor::from_array).unwrap();
                assert_eq!(x.mul(&x).unwrap().to_vec::<f32>().unwrap(), [1.0]);
            });
        }
    });
}

#[test]
fn every_schema_is_torch_s() {
    let dispatcher = Dispatcher::new();
    let _registration = opgrid_tensor::register(&dispatcher).unwrap();
    // What `torch._C._jit_get_all_schemas()` has of operators on tensors.
    let torch: BTreeSet<_> = include_str!("../vectors/schemas.txt").lines().collect();
    let ours = dispatcher.operators();
    let ours = ours.iter().map(|operator| operator.schema().unwrap().to_string());
    let differing: Vec<_> = ours.filter(|schema| !torch.contains(schema.as_str())).collect();
    assert!(differing.is_empty(), "torch does not have these: {differing:#?}");
    // One that is lost is missed here; a new one is counted.
    assert!(dispatcher.operators().len() >= 1532, "{} are left", dispatcher.operators().len());
}

#[test]
fn tables_have_kernels_where_torch_has_apart_from_numbers_and_views() {
    let [select, cpu, meta] = [DispatchKey::BackendSelect, DispatchKey::Cpu, DispatchKey::Meta];
    let (explicit, implicit) =
        (DispatchKey::CompositeExplicitAutograd, DispatchKey::CompositeImplicitAutograd);
    let dispatcher = Dispatcher::new();
    let _registration = opgrid_tensor::register(&dispatcher).unwrap();
    for (name, keys) in [
        ("aten::empty.memory_format", &[select, cpu, meta][..]),
        ("aten::add.Tensor", &[cpu, meta]),
        ("aten::add_.Tensor", &[cpu, meta]),
        ("aten::add.out", &[cpu, meta]),
        // In torch explicit, with a derivative of its own; here it has what `add.Tensor` has in every layer.
        ("aten::add.Scalar", &[implicit]),
        // In torch for each backend; here for all of them.
        ("aten::view", &[explicit]),
        ("aten::select.int", &[explicit]),
        ("aten::slice.Tensor", &[explicit]),
        ("aten::contiguous", &[implicit]),
        ("aten::zeros", &[select, explicit]),
        ("aten::arange.start_out", &[cpu, meta]),
        ("aten::expand", &[explicit]),
        ("aten::reshape", &[implicit]),
        ("aten::stack", &[explicit]),
        ("aten::index_select", &[cpu, meta]),
        ("aten::where.ScalarSelf", &[implicit]),
    ] {
        let operator = dispatcher.find(name).unwrap();
        for key in [select, cpu, meta, explicit, implicit] {
            assert_eq!(operator.has_kernel_for(key), keys.contains(&key), "{name} at {key}");
        }
    }
}

#[test]
fn bool_results_are_zero_and_one() {
    let flags = Tensor::from_slice(&[Bool::from(true), Bool::from(false)], &[2]).unwrap();
    let sum = flags.add_with(&flags, true).unwrap();
    assert_eq!(sum.array().unwrap().storage().read().unwrap().bytes(), [1, 0]);
    assert!(Tensor::accepts(&sum.into()));
}

/// Sizes and strides of the tensors, and of the result in torch 2.15.
#[test]
fn tensors_with_channels_last_are_joined_so() {
    type Strided = (&'static [i64], &'static [i64]);
    let image: Strided = (&[2, 3, 2, 2], &[12, 1, 6, 3]);
    let cases: [(Strided, i64, Strided); 7] = [
        (image, 0, (&[4, 3, 2, 2], &[12, 1, 6, 3])),
        (image, 1, (&[2, 6, 2, 2], &[24, 1, 12, 6])),
        (image, 2, (&[2, 3, 4, 2], &[24, 1, 6, 3])),
        (image, 3, (&[2, 3, 2, 4], &[24, 1, 12, 3])),
        ((&[1, 3, 2, 2], &[12, 1, 6, 3]), 0, (&[2, 3, 2, 2], &[12, 1, 6, 3])),
        ((&[2, 1, 2, 2], &[4, 1, 2, 1]), 1, (&[2, 2, 2, 2], &[8, 1, 4, 2])),
        ((&[1, 2, 2, 3, 2], &[24, 1, 12, 4, 2]), 0, (&[2, 2, 2, 3, 2], &[24, 1, 12, 4, 2])),
    ];
    for ((sizes, strides), dim, (joined, expected)) in cases {
        let memory = Tensor::arange(0, sizes.iter().product::<i64>(), 1).unwrap();
        let part = AsStrided.call(&memory, sizes, strides, None).unwrap();
        let result = Tensor::cat(&[part.clone(), part], dim).unwrap();
        assert_eq!((result.sizes(), result.strides()), (joined, expected), "dim {dim} of {sizes:?}");
    }
}
