//! Compares the strides of element-wise results with those that PyTorch 2.15 gave for the same inputs.

use opgrid_core::{DType, Device};
use opgrid_tensor::{Geometry, TensorSpec};
use serde_json::Value;

#[test]
fn elementwise_results_have_torch_s_strides() {
    let file: Value = serde_json::from_str(include_str!("vectors/elementwise_strides.json")).unwrap();
    let list = |value: &Value| -> Vec<i64> {
        value.as_array().unwrap().iter().map(|number| number.as_i64().unwrap()).collect()
    };
    let cases = file["cases"].as_array().unwrap();
    assert!(cases.len() > 200);
    for case in cases {
        let inputs = case["inputs"].as_array().unwrap().iter();
        let inputs: Vec<Geometry> =
            inputs.map(|input| Geometry::strided(&list(&input[0]), &list(&input[1]), 0).unwrap()).collect();
        let result = TensorSpec::elementwise(&inputs.iter().collect::<Vec<_>>(), DType::F32, Device::CPU);
        let result = result.unwrap();
        assert_eq!(result.sizes(), list(&case["sizes"]), "{case}");
        assert_eq!(result.strides(), list(&case["strides"]), "{case}");
    }
}
