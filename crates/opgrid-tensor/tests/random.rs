//! Random numbers against the streams that torch gave, and answers of operators that give no tensor.

use std::sync::Mutex;

use opgrid_core::{DType, Device};
use opgrid_tensor::kernels::random::generator;
use opgrid_tensor::ops::{RandGenerator, RandnGenerator};
use opgrid_tensor::{Tensor, manual_seed};

/// torch.rand after torch.manual_seed(0), in this order of dtypes; PyTorch 2.15.0.
const UNIFORM: [f32; 3] = [0.4962566, 0.7682218, 0.08847743];
const UNIFORM_DOUBLE: [f64; 2] = [0.0562441839043476, 0.07262971157225484];
/// torch.randn of doubles after torch.manual_seed(2) and (1).
const NORMAL: [f64; 20] = [
    -0.7860438449599233,
    -0.4388945769312437,
    1.366371567034203,
    -0.5094422054806915,
    0.6354552054724681,
    -1.4711947512059713,
    1.750044398740185,
    0.7416545467936133,
    -0.9921359914959428,
    -0.24995242917428942,
    -0.32011125949334185,
    -0.13852694221735581,
    1.5235730700890506,
    0.5376904253604189,
    0.3198383473926968,
    1.3516594875327341,
    -0.3430023542883952,
    0.4755711966122096,
    -2.004520340744039,
    0.1759511928639901,
];
const NORMAL_FEW: [f64; 2] = [0.6613521715704522, 0.2669240982925188];

/// Tests that seed the stream of the process take turns.
static TURN: Mutex<()> = Mutex::new(());

fn near(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-12, "{found} instead of {expected}");
    }
}

#[test]
fn uniform_numbers_are_those_of_torch() {
    let _turn = TURN.lock();
    manual_seed(0);
    let single = Tensor::rand(&[3], DType::F32, Device::CPU).unwrap();
    assert_eq!(single.to_vec::<f32>().unwrap(), UNIFORM);
    let double = Tensor::rand(&[2], DType::F64, Device::CPU).unwrap();
    assert_eq!(double.to_vec::<f64>().unwrap(), UNIFORM_DOUBLE);
}

#[test]
fn normal_numbers_are_those_of_torch() {
    let own = generator(1);
    let few = RandnGenerator.call(&[2], Some(&own), Some(DType::F64), None, None, None).unwrap();
    let (one, other) = (generator(2), generator(2));
    let many = RandnGenerator.call(&[20], Some(&one), Some(DType::F64), None, None, None).unwrap();
    near(&many.to_vec::<f64>().unwrap(), &NORMAL);
    let again = RandnGenerator.call(&[4, 5], Some(&other), Some(DType::F64), None, None, None).unwrap();
    assert_eq!(again.to_vec::<f64>().unwrap(), many.to_vec::<f64>().unwrap());
    near(&few.to_vec::<f64>().unwrap(), &NORMAL_FEW);
}

#[test]
fn meta_tensors_draw_nothing_and_integers_are_refused() {
    let own = generator(3);
    let meta = RandGenerator.call(&[2], Some(&own), None, None, Some(Device::META), None).unwrap();
    assert_eq!((meta.sizes(), meta.dtype()), (&[2][..], DType::F32));
    let error = Tensor::rand(&[2], DType::I64, Device::CPU).unwrap_err().to_string();
    assert!(error.starts_with("aten::rand") && error.contains("int64"), "{error}");
}

#[test]
fn tensors_are_equal_or_as_good_as() {
    let x = Tensor::from_slice(&[1.0f32, f32::NAN], &[2]).unwrap();
    let y = Tensor::from_slice(&[1.0f32, 2.0], &[2]).unwrap();
    let near = y.add_scalar(1e-6, 1).unwrap();
    assert!(y.equal(&y).unwrap() && !x.equal(&x).unwrap() && !y.equal(&near).unwrap());
    assert!(!y.equal(&y.view(&[2, 1]).unwrap()).unwrap());
    assert!(y.allclose(&near, 1e-5, 1e-8).unwrap() && !x.allclose(&x, 1e-5, 1e-8).unwrap());
    assert!(y.equal(&Tensor::from_slice(&[1i64, 2], &[2]).unwrap()).unwrap(), "dtypes are promoted");
    let empty = Tensor::empty(&[0], DType::F32, Device::CPU).unwrap();
    assert!(empty.equal(&empty).unwrap());
}
