//! Outputs without elements, which get shapes and memory: beside themselves among the arguments, and when loops fail.

use opgrid_core::{DType, Device};
use opgrid_tensor::ops::{
    AminmaxOut, CatOut, IndexSelectOut, MmOut, PdistForwardOut, SumIntListOut, VarMeanCorrectionOut,
};
use opgrid_tensor::{Geometry, Tensor};

use super::MAX;

/// A tensor of those sizes, without elements, at a wild place.
fn nothing(sizes: &[i64], offset: i64) -> Tensor {
    let memory = Tensor::empty(&[4], DType::F32, Device::CPU).unwrap();
    memory.view_as(Geometry::strided(sizes, &vec![MAX / 2; sizes.len()], offset).unwrap()).unwrap()
}

fn numbers(sizes: &[i64]) -> Tensor {
    Tensor::full(sizes, 2.0, Some(DType::F32), Device::CPU).unwrap()
}

fn elements(tensor: &Tensor) -> (Vec<i64>, Vec<f32>) {
    (tensor.sizes().to_vec(), tensor.to_vec::<f32>().unwrap())
}

#[test]
fn an_argument_that_is_the_output_keeps_its_shape_until_all_is_written() {
    for offset in [0, 3, 1 << 40, MAX] {
        let out = nothing(&[0, 3], offset);
        PdistForwardOut.call(&out, 2.0, &out).unwrap();
        assert_eq!(elements(&out), (vec![0], vec![]), "_pdist_forward");

        let out = nothing(&[0, 3], offset);
        SumIntListOut.call(&out, Some(&[0]), false, None, &out).unwrap();
        assert_eq!(elements(&out), (vec![3], vec![0.0; 3]), "sum");

        let out = nothing(&[0], offset);
        CatOut.call(&[out.clone(), numbers(&[2]), out.clone()], 0, &out).unwrap();
        assert_eq!(elements(&out), (vec![2], vec![2.0; 2]), "cat");

        let out = nothing(&[2, 0], offset);
        MmOut.call(&out, &numbers(&[0, 3]), &out).unwrap();
        assert_eq!(elements(&out), (vec![2, 3], vec![0.0; 6]), "mm");

        let (out, mean) = (nothing(&[0, 2], offset), nothing(&[0], offset));
        VarMeanCorrectionOut.call(&out, Some(&[0]), None, false, &out, &mean).unwrap();
        assert_eq!((out.sizes(), mean.sizes()), ([2].as_slice(), [2].as_slice()), "var_mean");
    }
}

#[test]
fn one_tensor_is_not_two_outputs() {
    let out = nothing(&[0], MAX);
    let error = AminmaxOut.call(&numbers(&[4]), None, false, &out, &out).unwrap_err().to_string();
    assert!(error.contains("two outputs refer to the same memory"), "{error}");
    assert_eq!(out.sizes(), [0]);
}

#[test]
fn a_loop_that_fails_leaves_the_output_as_it_was() {
    let out = nothing(&[0], 1 << 40);
    let beyond = Tensor::from_slice(&[1i64, 7], &[2]).unwrap();
    let error = IndexSelectOut.call(&numbers(&[3]), 0, &beyond, &out).unwrap_err().to_string();
    assert!(error.contains('7'), "{error}");
    assert_eq!(out.sizes(), [0]);
}
