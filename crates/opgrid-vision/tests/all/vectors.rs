//! Results and gradients are those of torchvision: `vectors.json` has what `vectors.py` wrote.

use std::collections::BTreeMap;

use opgrid::prelude::*;
use serde_json::Value as Json;

/// How far elements may be from torchvision's, relative to the largest one.
fn tolerance(dtype: DType) -> f64 {
    if dtype == DType::F64 { 1e-13 } else { 4e-6 }
}

fn tensor(json: &Json) -> Tensor {
    let list = |name: &str| json[name].as_array().unwrap();
    let sizes: Vec<i64> = list("sizes").iter().map(|size| size.as_i64().unwrap()).collect();
    match json["dtype"].as_str().unwrap() {
        "int64" => {
            let elements: Vec<i64> = list("elements").iter().map(|it| it.as_i64().unwrap()).collect();
            Tensor::from_slice(&elements, &sizes).unwrap()
        }
        dtype => {
            let elements: Vec<f64> = list("elements").iter().map(|it| it.as_f64().unwrap()).collect();
            let tensor = Tensor::from_slice(&elements, &sizes).unwrap();
            tensor.to_dtype(if dtype == "float32" { DType::F32 } else { DType::F64 }).unwrap()
        }
    }
}

fn value(json: &Json) -> Value {
    match json {
        Json::Object(_) => Value::from(&tensor(json)),
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(number) if number.is_i64() => Value::Int(number.as_i64().unwrap()),
        other => Value::Float(other.as_f64().unwrap()),
    }
}

fn check_equal(what: &str, found: &Tensor, expected: &Tensor) {
    assert_eq!((found.dtype(), found.sizes()), (expected.dtype(), expected.sizes()), "{what}");
    let numbers = |tensor: &Tensor| tensor.to_dtype(DType::F64).unwrap().to_vec::<f64>().unwrap();
    let (elements, wanted) = (numbers(found), numbers(expected));
    let largest = wanted.iter().fold(1.0f64, |largest, it| largest.max(it.abs()));
    for (place, (found, wanted)) in elements.iter().zip(&wanted).enumerate() {
        let difference = (found - wanted).abs() / largest;
        let allowed = if found == wanted { 0.0 } else { tolerance(expected.dtype()) };
        assert!(difference <= allowed, "{what}: element {place} is {found}, expected {wanted}");
    }
}

#[test]
fn results_and_gradients_are_those_of_torchvision() {
    let _alone = crate::alone();
    let dispatcher = opgrid::dispatcher().unwrap();
    let _vision = opgrid_vision::register(dispatcher).unwrap();
    let cases: Vec<Json> = serde_json::from_str(include_str!("../vectors.json")).unwrap();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for case in &cases {
        let name = case["operator"].as_str().unwrap();
        let what = format!("{name}, {}", case["name"]);
        let arguments: Vec<Value> = case["arguments"].as_array().unwrap().iter().map(value).collect();
        let gradients = case["gradients"].as_object();
        let leaves: Vec<Option<Tensor>> = arguments
            .iter()
            .map(|value| match value {
                Value::Tensor(tensor) => Some(Tensor::try_from(tensor.clone()).unwrap()),
                _ => None,
            })
            .collect();
        if gradients.is_some() {
            leaves.iter().flatten().for_each(|leaf| {
                leaf.requires_grad_(true).unwrap();
            });
        }
        let results = dispatcher.find(name).unwrap().call_values(arguments).unwrap();
        let Value::Tensor(result) = &results[0] else { panic!("{what}: no tensor") };
        let result = Tensor::try_from(result.clone()).unwrap();
        check_equal(&what, &result.detach().unwrap(), &tensor(&case["result"]));
        if let Some(gradients) = gradients {
            result.mul(&tensor(&case["weights"])).unwrap().sum().unwrap().backward().unwrap();
            for (place, expected) in gradients {
                let leaf = leaves[place.parse::<usize>().unwrap()].as_ref().unwrap();
                let what = format!("{what}, gradient of argument {place}");
                check_equal(&what, &leaf.grad().unwrap_or_else(|| panic!("{what}: none")), &tensor(expected));
            }
        }
        *counts.entry(name.to_owned()).or_default() += 1;
    }
    let least = [("torchvision::deform_conv2d", 5), ("torchvision::nms", 12), ("torchvision::roi_align", 10)];
    for (name, least) in least {
        assert!(counts.get(name).is_some_and(|count| *count >= least), "{name}: {counts:?}");
    }
}
