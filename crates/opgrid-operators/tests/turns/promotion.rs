//! Type promotion against torch: every pair of dtypes, and every category of input.

use opgrid_core::{Complex64, DType, Device, Scalar};
use opgrid_tensor::tensor::{can_cast, finfo, iinfo, promote_types, result_type, set_default_dtype};
use opgrid_tensor::{Tensor, TensorSpec};
use serde_json::{Value as Json, json};

use crate::alone;

fn file() -> Json {
    serde_json::from_str(include_str!("../vectors/promotion.json")).unwrap()
}

/// DIFFERENCE: torch has complex dtypes of two 16-bit floats, for which the next wider one stands here.
fn dtype(json: &Json) -> DType {
    match json.as_str().unwrap() {
        "complex32" | "bcomplex32" => DType::Complex64,
        name => name.parse().unwrap(),
    }
}

fn dtypes(file: &Json) -> Vec<DType> {
    let list: Vec<_> = file["dtypes"].as_array().unwrap().iter().map(dtype).collect();
    assert_eq!(list.len(), 17);
    list
}

/// What the array API standard (2025.12) promotes to where torch has no common dtype: each name of the first line with the one at
/// the start of each other line. Bools and complex numbers are beside integers as in torch.
///
/// DIFFERENCE: torch promotes unsigned integers of more than 8 bits with floats only.
const BESIDE_UNSIGNED: &str = "
    beside bool   uint8  int8  int16 int32 int64 uint16 uint32 uint64 complex64 complex128
    uint16 uint16 uint16 int32 int32 int32 int64 uint16 uint32 uint64 complex64 complex128
    uint32 uint32 uint32 int64 int64 int64 int64 uint32 uint32 uint64 complex64 complex128
    uint64 uint64 uint64 none  none  none  none  uint64 uint64 uint64 complex64 complex128";

/// What two dtypes promote to by that table.
fn beside_unsigned(one: DType, other: DType) -> Option<DType> {
    let mut lines = BESIDE_UNSIGNED.lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>());
    let names = lines.next().unwrap();
    lines.find_map(|line| {
        let beside = [(one, other), (other, one)].into_iter().find(|(dtype, _)| dtype.name() == line[0])?.1;
        let column = names.iter().position(|name| *name == beside.name())?;
        line[column].parse().ok()
    })
}

#[test]
fn every_pair_of_dtypes() {
    let _alone = alone();
    let file = file();
    for (one, row) in dtypes(&file).iter().zip(file["promote"].as_array().unwrap()) {
        for (other, expected) in dtypes(&file).iter().zip(row.as_array().unwrap()) {
            let found = promote_types(*one, *other);
            if let Some(expected) = beside_unsigned(*one, *other).filter(|_| expected.is_null()) {
                assert_eq!(found.unwrap(), expected, "{one} and {other}");
            } else if expected.is_null() {
                assert!(found.unwrap_err().to_string().contains("convert one of them"), "{one} and {other}");
            } else {
                assert_eq!(found.unwrap(), dtype(expected), "{one} and {other}");
            }
        }
    }
    assert!(promote_types(DType::QInt8, DType::F32).unwrap_err().to_string().contains("qint8 and float32"));
    assert_eq!(promote_types(DType::QInt8, DType::QInt8).unwrap(), DType::QInt8);
}

#[test]
fn every_cast() {
    let _alone = alone();
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
fn every_category_under_every_default() {
    let _alone = alone();
    let file = file();
    let categories = file["categories"].as_array().unwrap();
    assert_eq!(categories.len(), 28);
    for (default, rows) in file["result"].as_object().unwrap() {
        set_default_dtype(default.parse().unwrap()).unwrap();
        for (one, row) in categories.iter().zip(rows.as_array().unwrap()) {
            for (other, expected) in categories.iter().zip(row.as_array().unwrap()) {
                let found = result_type(&[&input(one), &input(other)]).unwrap();
                assert_eq!(found, dtype(expected), "{one} and {other} with {default}");
            }
        }
    }
    set_default_dtype(DType::F32).unwrap();
    assert!(set_default_dtype(DType::I64).unwrap_err().to_string().contains("only floating-point types"));
    assert!(result_type(&[]).is_err());
    assert!(result_type(&[&Tensor::undefined()]).unwrap_err().to_string().contains("undefined"));
}

#[test]
fn the_limits_of_every_dtype() {
    let _alone = alone();
    let file = file();
    for (name, expected) in file["finfo"].as_object().unwrap() {
        let limits = finfo(name.parse().unwrap()).unwrap();
        let numbers = [limits.eps, limits.max, limits.min, limits.smallest_normal, limits.resolution];
        let expected_numbers: Vec<f64> =
            (2..7).map(|at| expected[at].as_str().unwrap().parse().unwrap()).collect();
        assert_eq!(numbers.as_slice(), expected_numbers, "{name}");
        assert_eq!(
            (limits.dtype, u64::from(limits.bits)),
            (dtype(&expected[0]), expected[1].as_u64().unwrap())
        );
    }
    for (name, expected) in file["iinfo"].as_object().unwrap() {
        let limits = iinfo(name.parse().unwrap()).unwrap();
        assert_eq!(json!([limits.bits, limits.max, limits.min]), *expected, "{name}");
    }
    assert!(finfo(DType::I64).unwrap_err().to_string().contains("iinfo"));
    assert!(iinfo(DType::Bool).unwrap_err().to_string().contains("finfo"));
}
