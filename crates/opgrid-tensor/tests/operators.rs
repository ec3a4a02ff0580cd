//! Operators against results that torch gave: on CPU and meta tensors, by boxed calls.

use opgrid_core::{DType, Device, Dispatcher, MemoryFormat, Result, TensorType, Value};
use opgrid_tensor::{Array, Bool, Element, Geometry, Storage, Tensor, TensorSpec, with_dtype};
use serde_json::Value as Json;

fn integers(json: &Json) -> Vec<i64> {
    json.as_array().unwrap().iter().map(|number| number.as_i64().unwrap()).collect()
}

fn floats(json: &Json) -> Vec<f64> {
    json.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

/// The strided tensor that a case describes.
fn tensor(case: &Json, device: Device) -> Tensor {
    let offset = case["offset"].as_i64().unwrap();
    let geometry = Geometry::strided(&integers(&case["sizes"]), &integers(&case["strides"]), offset).unwrap();
    let dtype = case["dtype"].as_str().unwrap().parse().unwrap();
    let elements = floats(&case["storage"]);
    let array = with_dtype!(dtype, T => {
        let elements: Vec<T> = elements.iter().map(|element| element.cast::<T>()).collect();
        Array::from_slice(&elements, &[elements.len() as i64])
    });
    let storage = match device {
        Device::META => Storage::meta(elements.len() * dtype.size_in_bytes()).unwrap(),
        _ => array.unwrap().storage().clone(),
    };
    Tensor::from_array(Array::new(TensorSpec::new(geometry, dtype, device), storage).unwrap()).unwrap()
}

fn value(json: &Json, device: Device) -> Value {
    match json {
        Json::Null => Value::None,
        Json::Bool(value) => (*value).into(),
        Json::Number(value) if value.is_i64() => value.as_i64().unwrap().into(),
        Json::Number(value) => value.as_f64().unwrap().into(),
        Json::String(name) => match name.parse::<MemoryFormat>() {
            Ok(format) => format.into(),
            Err(_) => name.parse::<DType>().unwrap().into(),
        },
        Json::Array(_) => integers(json).into(),
        Json::Object(_) => tensor(json, device).into(),
    }
}

fn run(dispatcher: &Dispatcher, case: &Json, device: Device) -> Result<Tensor> {
    let args = case["args"].as_array().unwrap().iter().map(|arg| value(arg, device)).collect();
    let mut results = dispatcher.find(case["op"].as_str().unwrap())?.call_values(args)?;
    match results.pop() {
        Some(Value::Tensor(tensor)) => Tensor::try_from(tensor),
        other => panic!("{case}: expected a tensor, found {other:?}"),
    }
}

fn elements(tensor: &Tensor) -> Vec<f64> {
    let result = with_dtype!(tensor.dtype(), T => {
        tensor.to_vec::<T>().map(|elements| elements.into_iter().map(Element::cast::<f64>).collect())
    });
    result.unwrap()
}

fn check(dispatcher: &Dispatcher, case: &Json) {
    let results = [Device::CPU, Device::META].map(|device| run(dispatcher, case, device));
    let op = case["op"].as_str().unwrap();
    if case["error"].as_bool() == Some(true) {
        for result in results {
            let message = result.expect_err(&case.to_string()).to_string();
            assert!(message.starts_with(op), "{message}");
        }
        return;
    }
    let expected = &case["result"];
    for (result, device) in results.into_iter().zip([Device::CPU, Device::META]) {
        let result = result.unwrap_or_else(|error| panic!("{case}: {error}"));
        assert_eq!(result.dtype().name(), expected["dtype"], "{case}");
        assert_eq!(result.sizes(), integers(&expected["sizes"]), "{case}");
        assert_eq!(result.strides(), integers(&expected["strides"]), "{case}");
        assert_eq!(result.device(), device, "{case}");
        if device == Device::CPU {
            assert_eq!(elements(&result), floats(&expected["values"]), "{case}");
        }
    }
}

#[test]
fn every_case_gives_what_torch_gives() {
    let dispatcher = Dispatcher::new();
    let _registration = opgrid_tensor::register(&dispatcher).unwrap();
    let file: Json = serde_json::from_str(include_str!("vectors/operators.json")).unwrap();
    let cases = file["cases"].as_array().unwrap();
    assert!(cases.len() > 200);
    cases.iter().for_each(|case| check(&dispatcher, case));
}

#[test]
fn bool_results_are_zero_and_one() {
    let flags = Tensor::from_slice(&[Bool::from(true), Bool::from(false)], &[2]).unwrap();
    let sum = flags.add(&flags, true).unwrap();
    assert_eq!(sum.array().unwrap().storage().read().unwrap().bytes(), [1, 0]);
    assert!(Tensor::accepts(&sum.into()));
}
