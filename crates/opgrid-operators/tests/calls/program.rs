//! Random calls of every operator on tensors of any geometry: a result that can be used, or an error, and nothing else.

use std::cell::OnceCell;

use opgrid_core::{
    AnyTensor, Complex64, DType, Device, Dispatcher, Kind, Layout, List, MemoryFormat, OperatorHandle,
    TensorType, Value,
};
use opgrid_tensor::families::kind;
use opgrid_tensor::{Array, Geometry, Storage, Tensor, TensorSpec};

use crate::input::Input;

/// Tensors with more elements are dropped, so that a program ends soon.
const LARGEST: i64 = 1 << 12;
/// How many tensors a program keeps.
const POOL: usize = 8;

thread_local! {
    static OPERATORS: OnceCell<(Dispatcher, Vec<OperatorHandle>)> = const { OnceCell::new() };
}

/// Makes tensors and calls operators as the bytes say.
pub fn run(bytes: &[u8]) {
    OPERATORS.with(|known| {
        let (_, operators) = known.get_or_init(|| {
            let dispatcher = Dispatcher::new();
            opgrid_tensor::register(&dispatcher).expect("the namespace is free").keep();
            let operators = dispatcher.operators();
            (dispatcher, operators)
        });
        let mut input = Input::new(bytes);
        let mut pool: Vec<Tensor> = (0..3).filter_map(|_| tensor(&[], &mut input)).collect();
        while !input.is_empty() {
            let operator =
                &operators[(usize::from(input.byte()) << 8 | usize::from(input.byte())) % operators.len()];
            for result in call(operator, &pool, &mut input) {
                check(operator, &result);
                if result.numel() <= LARGEST {
                    let at = input.below(POOL);
                    if at < pool.len() {
                        pool[at] = result;
                    } else {
                        pool.push(result);
                    }
                }
            }
            if input.once_in(4) {
                let more = tensor(&pool, &mut input);
                pool.extend(more);
                pool.truncate(POOL);
            }
        }
    });
}

/// A call with arguments of the schema's types; the tensors that it gives.
fn call(operator: &OperatorHandle, pool: &[Tensor], input: &mut Input<'_>) -> Vec<Tensor> {
    let schema = operator.schema().expect("operators of a registration have schemas");
    let arguments = schema.arguments.iter();
    let values = arguments.map(|argument| value(&argument.real_type.to_string(), pool, input)).collect();
    match operator.call_values(values) {
        Ok(results) => {
            let results: Vec<Tensor> = results.into_iter().flat_map(tensors).collect();
            if schema.arguments.iter().any(|argument| argument.is_write()) && !writes_nothing(operator) {
                results.iter().for_each(|written| check_written(operator, written));
            }
            results
        }
        Err(error) => {
            assert!(!error.to_string().is_empty(), "{}: an error says something", operator.name());
            Vec::new()
        }
    }
}

fn tensors(value: Value) -> Vec<Tensor> {
    match value {
        Value::Tensor(tensor) => Tensor::try_from(tensor).into_iter().collect(),
        Value::List(list) => match &*list {
            List::Tensors(tensors) => tensors.iter().cloned().flat_map(Tensor::try_from).collect(),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// # Panics
///
/// A tensor whose elements lie outside of its storage, or that cannot be printed.
fn check(operator: &OperatorHandle, tensor: &Tensor) {
    if !tensor.is_defined() || tensor.is_number() {
        return;
    }
    let (spec, array) = (tensor.spec().expect("it is defined"), tensor.array().expect("it is defined"));
    let held = spec.check_storage(array.storage().bytes());
    assert!(held.is_ok(), "{}: {held:?}", operator.name());
    if tensor.numel() <= 64 {
        assert!(tensor.to_string().starts_with("tensor("), "{}", operator.name());
    }
}

/// Whether the operator writes no element: it changes sizes and strides, or leaves open what is in new memory.
fn writes_nothing(operator: &OperatorHandle) -> bool {
    let kind = operator.column::<Kind>().expect("it is defined");
    let name = operator.name().to_string();
    kind.is_some_and(|kind| *kind == kind::VIEW)
        || name.starts_with("aten::empty")
        || name.starts_with("aten::new_empty")
}

/// # Panics
///
/// Several indices of what was written lead to one element.
fn check_written(operator: &OperatorHandle, written: &Tensor) {
    let geometry = written.geometry();
    if !written.is_defined() || geometry.numel() > LARGEST {
        return;
    }
    // A geometry without elements may have any offset.
    let mut positions = vec![0i64; usize::from(geometry.numel() > 0)];
    for (size, stride) in geometry.sizes().iter().zip(geometry.strides()) {
        let along = |at: i64| (0..*size).map(move |index| at + index * stride);
        positions = positions.into_iter().flat_map(along).collect();
    }
    positions.sort_unstable();
    let distinct = positions.windows(2).all(|pair| pair[0] != pair[1]);
    assert!(distinct, "{}: wrote {geometry:?}", operator.name());
}

/// Any geometry: strides that repeat elements, meet or interlock, and of dimensions without neighbours, or of tensors
/// without elements, with numbers of any size.
fn geometry(input: &mut Input<'_>) -> Option<Geometry> {
    let dims = input.below(5);
    let sizes: Vec<i64> = (0..dims).map(|_| input.pick(&[3, 1, 2, 4, 0, 5, 7])).collect();
    let geometry = match input.below(5) {
        0 => Geometry::contiguous(&sizes),
        1 => {
            let order = input.pick(&[MemoryFormat::ChannelsLast, MemoryFormat::ChannelsLast3d]);
            Geometry::in_format(&sizes, order)
        }
        wild => {
            let mut strides: Vec<i64> = (0..dims).map(|_| input.pick(&[1, 0, 2, 3, 4, 12, 20])).collect();
            let mut offset = input.below(4) as i64;
            if wild == 4 {
                const WILD: [i64; 6] = [i64::MAX, 1 << 62, 1 << 44, i64::MAX / 8, (1 << 61) + 1, 1 << 20];
                let empty = sizes.contains(&0);
                let unused = strides.iter_mut().zip(&sizes).filter(|(_, size)| empty || **size == 1);
                unused.for_each(|(stride, _)| *stride = input.pick(&WILD));
                offset = if empty { input.pick(&WILD) } else { offset };
            }
            Geometry::strided(&sizes, &strides, offset)
        }
    };
    geometry.ok().filter(|geometry| geometry.numel() <= LARGEST)
}

/// A tensor of any geometry on memory that is just large enough, or on that of another one; a number in a tensor's
/// place; or none where there cannot be one.
fn tensor(pool: &[Tensor], input: &mut Input<'_>) -> Option<Tensor> {
    if input.once_in(16) {
        return Some(Tensor::number(2.5));
    }
    let dtype = dtype(input);
    let geometry = geometry(input)?;
    if !pool.is_empty() && input.once_in(3) {
        let other = &pool[input.below(pool.len())];
        return other.view_as(geometry).ok();
    }
    let device = if input.once_in(12) { Device::META } else { Device::CPU };
    let spec = TensorSpec::new(geometry, dtype, device);
    let bytes = spec.bytes().ok()?;
    let storage = if device == Device::META { Storage::meta(bytes) } else { Storage::cpu(bytes) }.ok()?;
    if device == Device::CPU && !input.once_in(8) && dtype != DType::Bool {
        let mut guard = storage.write().ok()?;
        let step = input.byte();
        let size = dtype.size_in_bytes();
        // Integers are small mostly, so that many are indices and numbers of elements.
        let is_small = matches!(dtype, DType::I16 | DType::I32 | DType::I64) && !input.once_in(8);
        for (at, byte) in guard.bytes().iter_mut().enumerate() {
            *byte = if !is_small {
                (at as u8).wrapping_mul(step)
            } else if at % size == 0 {
                ((at as u8).wrapping_mul(step) as i8 >> 4) as u8
            } else {
                ((((at - at % size) as u8).wrapping_mul(step) as i8) >> 7) as u8
            };
        }
    }
    Tensor::from_array(Array::new(spec, storage).ok()?).ok()
}

fn dtype(input: &mut Input<'_>) -> DType {
    const DTYPES: [DType; 12] = [
        DType::F32,
        DType::Bool,
        DType::U8,
        DType::I8,
        DType::I16,
        DType::I32,
        DType::I64,
        DType::F16,
        DType::BF16,
        DType::F64,
        DType::Complex64,
        DType::Complex128,
    ];
    input.pick(&DTYPES)
}

fn int(input: &mut Input<'_>) -> i64 {
    input.pick(&[0, 1, -1, 2, 3, -2, 4, 5, 7, -5, 16, i64::MAX, i64::MIN, 1 << 62, i64::MAX - 1, -(1 << 40)])
}

fn float(input: &mut Input<'_>) -> f64 {
    input.pick(&[
        0.0,
        1.0,
        -1.0,
        0.5,
        2.0,
        -0.0,
        1e-300,
        1e300,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        3.75,
    ])
}

fn ints(input: &mut Input<'_>) -> Vec<i64> {
    (0..input.below(6)).map(|_| int(input)).collect()
}

fn handle(pool: &[Tensor], input: &mut Input<'_>) -> AnyTensor {
    match pool {
        [] => Tensor::undefined().into_any(),
        _ if input.once_in(24) => Tensor::undefined().into_any(),
        _ => pool[input.below(pool.len())].clone().into_any(),
    }
}

/// A value of that type; sometimes of another one.
fn value(kind: &str, pool: &[Tensor], input: &mut Input<'_>) -> Value {
    if let Some(kind) = kind.strip_suffix('?') {
        return if input.once_in(3) { value(kind, pool, input) } else { Value::None };
    }
    if input.once_in(48) {
        return value(input.pick(&["Tensor", "int", "bool", "float[]"]), pool, input);
    }
    match kind {
        "Tensor" => handle(pool, input).into(),
        "Tensor[]" => List::Tensors((0..input.below(4)).map(|_| handle(pool, input)).collect()).into(),
        "Tensor?[]" => {
            let some = |input: &mut Input<'_>| (!input.once_in(3)).then(|| handle(pool, input));
            List::OptionalTensors((0..input.below(4)).map(|_| some(input)).collect()).into()
        }
        "int" | "SymInt" => int(input).into(),
        "float" => float(input).into(),
        "bool" => (input.below(2) == 1).into(),
        "Scalar" => match input.below(4) {
            0 => int(input).into(),
            1 => float(input).into(),
            2 => true.into(),
            _ => Complex64::new(float(input), float(input)).into(),
        },
        "float[]" => vec![float(input)].into(),
        "bool[]" => vec![true, false].into(),
        "ScalarType" => dtype(input).into(),
        "Layout" => input.pick(&[Layout::Strided, Layout::SparseCoo]).into(),
        "MemoryFormat" => {
            let formats = [
                MemoryFormat::Contiguous,
                MemoryFormat::Preserve,
                MemoryFormat::ChannelsLast,
                MemoryFormat::ChannelsLast3d,
            ];
            input.pick(&formats).into()
        }
        "Device" => input.pick(&[Device::CPU, Device::META]).into(),
        "str" => input.pick(&["trunc", "floor", "sum"]).into(),
        _ if kind.ends_with(']') => ints(input).into(),
        _ => Value::None,
    }
}
