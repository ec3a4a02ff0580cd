//! Shows what opgrid's tensors do where they differ from torch's on purpose; the comparison with torch names these tests.

mod computed;
mod kernels;
mod layouts;
mod numbers;
mod outputs;
mod refused;
mod special;

use opgrid_core::{Complex64, DType, Device, MemoryFormat, Result, Scalar};
use opgrid_kernels::random::generator;
use opgrid_tensor::ops::ToCopy;
use opgrid_tensor::{Bool, Complex, Tensor, f16};

fn count(sizes: &[i64]) -> Tensor {
    Tensor::arange(0, sizes.iter().product::<i64>(), 1).unwrap().reshape(sizes).unwrap()
}

fn floats(sizes: &[i64]) -> Tensor {
    to(&count(sizes), DType::F32)
}

fn to(tensor: &Tensor, dtype: DType) -> Tensor {
    ToCopy.call(tensor, Some(dtype), None, None, None, false, None).unwrap()
}

fn empty(sizes: &[i64], dtype: DType) -> Tensor {
    Tensor::empty(sizes, dtype, Device::CPU).unwrap()
}

fn message<T: std::fmt::Debug>(result: Result<T>) -> String {
    result.unwrap_err().to_string()
}

/// A tensor with the elements of another one, every second element of its memory.
fn with_gaps(tensor: &Tensor) -> Tensor {
    let sizes: Vec<i64> = tensor.sizes().iter().map(|size| size * 2).collect();
    let mut gaps = empty(&sizes, tensor.dtype());
    for dim in 0..sizes.len() as i64 {
        gaps = gaps.slice(dim, None, None, 2).unwrap();
    }
    gaps.copy_(tensor).unwrap();
    assert!(!gaps.is_contiguous());
    gaps
}

fn elements(tensor: &Tensor) -> Vec<f64> {
    to(tensor, DType::F64).to_vec().unwrap()
}
