//! Type promotion against torch: every pair of dtypes, and every category of input.

use opgrid_core::{Complex64, DType, Device, Scalar};
use opgrid_tensor::tensor::{can_cast, promote_types, result_type};
use opgrid_tensor::{Tensor, TensorSpec};
use serde_json::Value as Json;

fn file() -> Json {
    serde_json::from_str(include_str!("vectors/promotion.json")).unwrap()
}

fn dtype(json: &Json) -> DType {
    json.as_str().unwrap().parse().unwrap()
}

#[test]
fn every_pair_of_dtypes() {
    let file = file();
    let pairs = file["promote"].as_array().unwrap();
    assert_eq!(pairs.len(), 78);
    for pair in pairs {
        let (one, other, expected) = (dtype(&pair[0]), dtype(&pair[1]), dtype(&pair[2]));
        assert_eq!(promote_types(one, other).unwrap(), expected, "{pair}");
        assert_eq!(promote_types(other, one).unwrap(), expected, "{pair}");
    }
    assert!(promote_types(DType::QInt8, DType::F32).unwrap_err().to_string().contains("qint8 and float32"));
    assert_eq!(promote_types(DType::QInt8, DType::QInt8).unwrap(), DType::QInt8);
}

#[test]
fn every_cast() {
    let file = file();
    let refused = file["cannot_cast"].as_array().unwrap();
    let dtypes = || DType::all().filter(|dtype| !dtype.is_quantized());
    for from in dtypes() {
        for to in dtypes() {
            let expected = !refused.iter().any(|pair| (dtype(&pair[0]), dtype(&pair[1])) == (from, to));
            assert_eq!(can_cast(from, to), expected, "{from} to {to}");
        }
    }
}

/// A tensor with as many dimensions as asked for, or a number.
fn input(json: &Json) -> Tensor {
    let (category, dtype) = (json[0].as_str().unwrap(), dtype(&json[1]));
    let sizes: &[i64] = match category {
        "n" => {
            return Tensor::number(match dtype {
                DType::Bool => Scalar::Bool(true),
                DType::I64 => Scalar::Int(1),
                DType::F64 => Scalar::Float(1.5),
                _ => Scalar::Complex(Complex64::new(0.0, 1.5)),
            });
        }
        "1" => &[1],
        _ => &[],
    };
    Tensor::allocate(TensorSpec::contiguous(sizes, dtype, Device::META).unwrap()).unwrap()
}

#[test]
fn every_category() {
    let file = file();
    let cases = file["result"].as_array().unwrap();
    assert!(cases.len() > 100);
    for case in cases {
        let (one, other) = (input(&case[0]), input(&case[1]));
        assert_eq!(result_type(&[&one, &other]).unwrap(), dtype(&case[2]), "{case}");
        assert_eq!(result_type(&[&other, &one]).unwrap(), dtype(&case[2]), "{case}");
    }
    assert!(result_type(&[]).is_err());
    assert!(result_type(&[&Tensor::undefined()]).unwrap_err().to_string().contains("undefined"));
}
