//! What torch does not check.

use opgrid_tensor::ops::{
    AdaptiveAvgPool3d, AddbmmOut, Allclose, ConvolutionBackward, Einsum, EmbeddingBag,
    EmbeddingDenseBackward, EmbeddingRenorm, FftC2c, IndexReduce, Linear, MaxPool2dWithIndicesBackward,
    SetInplaceSourceTensor, TakeAlongDim,
};

use super::*;

#[test]
fn bags_that_do_not_fit() {
    let (table, indices) = (floats(&[4, 1]), count(&[3]));
    let bags = |indices: &Tensor, offsets: &[i64]| {
        let offsets = Tensor::from_slice(offsets, &[offsets.len() as i64]).unwrap();
        message(EmbeddingBag.call(&table, indices, &offsets, false, 1, false, None, false))
    };
    assert!(bags(&indices, &[0, 2, 1]).contains("descending elements"));
    assert!(bags(&indices, &[1, 2]).contains("argument `offsets`"));
    assert!(bags(&indices, &[0, 7]).contains("argument `offsets`"));
    assert!(bags(&to(&indices, DType::I16), &[0, 2]).contains("argument `indices` has dtype int16"));
}

#[test]
fn tables_of_integers() {
    let indices = Tensor::from_slice(&[0i64], &[1]).unwrap();
    let shortened = EmbeddingRenorm.call(&to(&count(&[2, 2]), DType::U8), &indices, 1.0, 2.0);
    assert!(message(shortened).contains("expected a floating-point or complex dtype"));
    let grad = to(&count(&[1, 2]), DType::Bool);
    let scaled = EmbeddingDenseBackward.call(&grad, &indices, 2, -1, true);
    assert!(message(scaled).contains("expected a floating-point or complex dtype"));
}

#[test]
fn dtypes_that_differ() {
    let (x, whole) = (floats(&[2]), count(&[2]));
    assert!(message(SetInplaceSourceTensor.call(&x, &whole)).contains("cannot become one of"));
    assert_eq!(x.dtype(), DType::F32);
    let (one, other) = (floats(&[1, 1]), to(&count(&[1, 1]), DType::F64));
    assert!(message(Einsum.call("ij,jk->", &[one, other], None)).contains("convert one of them"));
    let bias = Linear.call(&x, &floats(&[3, 2]), Some(&to(&count(&[3]), DType::Bool)));
    assert!(message(bias).contains("argument `bias` is bool"));
    let (pairs, whole) = (floats(&[2, 2, 2]), count(&[2, 2]));
    let sum = AddbmmOut.call(&whole, &pairs, &pairs, 1.into(), 1.into(), &floats(&[2, 2]));
    assert!(message(sum).contains("argument `self` is int64"));
    let counts = Cov.call(&floats(&[2]), 1, Some(&to(&count(&[2]), DType::Bool)), None);
    assert!(message(counts).contains("'Bool'"));
    let slices = IndexReduce.call(
        &to(&count(&[2, 2]), DType::Complex64),
        0,
        &count(&[2]),
        &to(&count(&[2, 2]), DType::Complex64),
        "mean",
        true,
    );
    assert!(message(slices).contains("not implemented for 'Complex"));
}

#[test]
fn places_that_are_not_there() {
    let (grad, image) = (floats(&[1, 1, 1]), floats(&[1, 2, 2]));
    let places = Tensor::from_slice(&[4i64], &[1, 1, 1]).unwrap();
    let slope = MaxPool2dWithIndicesBackward.call(&grad, &image, &[2], &[], &[0], &[1], false, &places);
    assert!(message(slope).contains("argument `indices` holds 4, expected numbers from 0 to 3"));
    let nothing = AdaptiveAvgPool3d.call(&floats(&[1, 1, 2, 2, 0]), &[1, 1, 1]);
    assert!(message(nothing).contains("images that are not empty"));
    let one = Tensor::from_slice(&[1i64], &[1, 1]).unwrap();
    assert!(message(TakeAlongDim.call(&floats(&[1, 1]), &one, Some(0))).contains("out of bounds"));
    let (grad, image, filter) = (floats(&[2, 1, 2]), floats(&[3, 1, 3]), floats(&[1, 1, 2]));
    let each = [&[1][..], &[0]];
    let slopes = ConvolutionBackward
        .call(&grad, &image, &filter, None, each[0], each[1], each[0], false, each[1], 1, &[true; 3]);
    assert!(message(slopes).contains("argument `grad_output` has shape [2, 1, 2], expected [3, 1, 2]"));
    let x = floats(&[1]);
    assert!(message(Allclose.call(&x, &x, 0.0, f64::NAN, true)).contains("argument `atol` is NaN"));
    let wrong = FftC2c.call(&to(&count(&[2]), DType::Complex64), &[], -1, true);
    assert!(message(wrong).contains("argument `normalization` is -1"));
}
