//! Values of the wrong kind in boxed calls, and lists of any length.

use std::sync::Arc;

use opgrid_core::schema::Type;
use opgrid_core::{
    AnyTensor, Complex64, DType, Device, DispatchKey, Dispatcher, ErrorKind, Kernel, Layout, List,
    MemoryFormat, Registration, Returns, TensorData, Value, ValueRef, ValueView,
};

struct Nothing;

impl TensorData for Nothing {
    fn describe(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("tensor()")
    }
}

fn define(dispatcher: &Dispatcher, schema: &str) -> Registration {
    let mut library = dispatcher.fragment("arguments");
    let kernel = Kernel::boxed(|call| {
        call.push(1);
        Ok(())
    });
    let undefined = DispatchKey::CompositeExplicitAutograd;
    library.define(schema).add(kernel.at(undefined));
    library.finish().unwrap()
}

/// A boxed kernel is never handed a value of a kind that its schema does not name.
#[test]
fn values_of_another_kind_do_not_reach_a_boxed_kernel() {
    let tensor = || Value::from(AnyTensor::new(DispatchKey::Cpu.key_set(), Nothing));
    let samples: Vec<(&str, Value)> = vec![
        ("none", Value::None),
        ("tensor", tensor()),
        ("int", 3.into()),
        ("float", 0.5.into()),
        ("complex", Complex64::new(1.0, 2.0).into()),
        ("bool", true.into()),
        ("str", "text".into()),
        ("dtype", DType::F32.into()),
        ("layout", Layout::Strided.into()),
        ("format", MemoryFormat::Contiguous.into()),
        ("device", "cpu".parse::<Device>().unwrap().into()),
        ("ints", vec![1, 2].into()),
        ("floats", vec![0.5].into()),
        ("bools", vec![true].into()),
        ("tensors", vec![AnyTensor::new(DispatchKey::Cpu.key_set(), Nothing)].into()),
        ("gaps", List::OptionalTensors(vec![None]).into()),
        ("strs", List::Values(Type::Str, vec!["a".into()].into()).into()),
        ("tuple", Value::Tuple(Arc::new(vec![1.into()].into()))),
    ];
    let cases = [
        ("Tensor", "tensor"),
        ("Tensor?", "none tensor"),
        ("Tensor[]", "tensors strs"),
        ("Tensor?[]", "tensors gaps strs"),
        ("int", "int"),
        ("SymInt", "int"),
        ("float", "float"),
        ("complex", "complex"),
        ("bool", "bool"),
        ("Scalar", "int float complex bool"),
        ("str", "str"),
        ("ScalarType", "int dtype"),
        ("Layout?", "none int layout"),
        ("MemoryFormat", "int format"),
        ("Device", "device"),
        ("int[]", "ints strs"),
        ("float[]", "floats strs"),
        ("bool[]?", "none bools strs"),
        ("Scalar[]", "ints floats bools strs"),
        ("str[]", "strs"),
        ("(int, int)", "tuple"),
    ];
    for (declared, fitting) in cases {
        let dispatcher = Dispatcher::new();
        let _registration = define(&dispatcher, &format!("f(int y, {declared} x) -> int"));
        let f = dispatcher.find("arguments::f").unwrap();
        let fitting: Vec<_> = fitting.split(' ').collect();
        for (name, value) in &samples {
            let args = [ValueRef::from(1), value.borrow()];
            let by_call = f.call_boxed(&args, &mut Returns::new());
            let by_redispatch = f.redispatch_boxed(DispatchKey::Cpu.key_set(), &args, &mut Returns::new());
            let by_key =
                f.call_boxed_for_key(DispatchKey::CompositeExplicitAutograd, &args, &mut Returns::new());
            let held = f.held_kernel(DispatchKey::Cpu).unwrap();
            let by_hand = held.call_boxed(DispatchKey::Cpu.key_set(), &args, &mut Returns::new());
            for result in [by_call, by_redispatch, by_key, by_hand] {
                assert_eq!(result.is_ok(), fitting.contains(name), "{declared} {name}: {result:?}");
                if let Err(error) = result {
                    assert_eq!(error.kind(), ErrorKind::Value);
                    assert!(
                        error.to_string().starts_with("arguments::f: argument `x`: expected "),
                        "{error}"
                    );
                }
            }
        }
        let count = f.redispatch_boxed(DispatchKey::Cpu.key_set(), &[ValueRef::from(1)], &mut Returns::new());
        assert!(count.unwrap_err().to_string().contains("expected 2 arguments but got 1"));
    }
}

/// A layer that calls on with other arguments is held to the schema as well.
#[test]
fn a_layer_cannot_pass_on_values_of_another_kind() {
    let dispatcher = Dispatcher::new();
    let mut library = dispatcher.library("arguments");
    library
        .define("f(Tensor x) -> ()")
        .boxed(DispatchKey::Cpu, |_| panic!("the kernel must not be reached"))
        .boxed(DispatchKey::AutogradCpu, |call| call.below_with(&[ValueRef::from(1)]))
        .boxed(DispatchKey::Tracer, |call| call.redispatch_with(DispatchKey::Cpu.key_set(), &[]));
    let _registration = library.finish().unwrap();
    let f = dispatcher.find("arguments::f").unwrap();
    for key in [DispatchKey::AutogradCpu, DispatchKey::Tracer] {
        let x = AnyTensor::new(DispatchKey::Cpu.key_set().add(key), Nothing);
        assert_eq!(f.call_values(vec![x.into()]).unwrap_err().kind(), ErrorKind::Value);
    }
}

/// More elements than 32 bits count. The memory is never touched, so the machine needs not have it.
#[test]
fn lists_have_as_many_elements_as_memory_has_addresses() {
    const MANY: usize = (1 << 32) + 5;
    let mut zeros: Vec<bool> = Vec::new();
    if zeros.try_reserve_exact(MANY).is_err() {
        return;
    }
    drop(zeros);
    let zeros = vec![false; MANY];
    let dispatcher = Dispatcher::new();
    let mut library = dispatcher.library("arguments");
    let kernel = Kernel::boxed(|call| {
        let ValueView::Bools(items) = call.args()[0].view() else { panic!("the list is lent as it is") };
        call.push(items.len() as i64);
        Ok(())
    });
    library.define("count(bool[] x) -> int").add(kernel.at(DispatchKey::CompositeExplicitAutograd));
    let _registration = library.finish().unwrap();
    let count = dispatcher.find("arguments::count").unwrap();
    let typed = count.typed::<fn(Vec<bool>) -> i64>().unwrap();
    assert_eq!(typed.call((&zeros,)).unwrap(), MANY as i64);
    assert_eq!(count.call_values(vec![zeros.into()]).unwrap(), [Value::Int(MANY as i64)]);
    for length in [0, 1, 0xffff, 0x1_0000, 0x12_3456] {
        let text = "x".repeat(length);
        let ValueView::Str(text) = ValueRef::from(text.as_str()).view() else { panic!() };
        assert_eq!(text.len(), length);
    }
}
