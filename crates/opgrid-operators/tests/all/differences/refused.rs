//! What torch does not check.

use opgrid_tensor::ops::{
    AdaptiveAvgPool2dBackward, AdaptiveAvgPool3d, AddbmmOut, AffineGridGenerator, Allclose, AsStridedScatter,
    AvgPool3dBackward, Bincount, BucketizeScalar, Cdist, Conv3d, ConvolutionBackward, Cov, CumprodInplace,
    CumsumInplace, Einsum, EluBackward, EmbeddingBag, EmbeddingDenseBackward, EmbeddingRenorm, FftC2c,
    FftC2cOut, FftC2r, FftRfftfreq, IndexAdd, IndexReduce, Kthvalue, LerpTensor, Linear, LocalScalarDense,
    LogSoftmaxBackwardData, MaxPool2dWithIndicesBackward, MaxUnaryOut, Mode, Nanmean, Nansum, NansumOut,
    NormalInplace, PadCircular, PdistForward, Polar, PowScalarOut, RandintLikeTensor, ScatterReduceTwo,
    SetInplaceSourceTensor, SetInplaceSourceTensorStorageOffset, SoftmaxBackwardData, TakeAlongDim,
    Tensordot, ToCopy, UpsampleBilinear2dAa, VarCorrection, ViewAsComplex,
};

use super::*;

#[test]
fn bags_that_do_not_fit() {
    let (table, indices) = (floats(&[4, 1]), count(&[3]));
    let bags = |indices: &Tensor, offsets: &[i64]| {
        let offsets = Tensor::from_slice(offsets, &[offsets.len() as i64]).unwrap();
        message(EmbeddingBag.call(&table, indices, &offsets, false, 1, false, None, false))
    };
    assert!(bags(&indices, &[0, 2, 1]).contains("not in ascending order"));
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
    let (one, other) = (floats(&[2, 0]), to(&count(&[0, 3]), DType::F64));
    assert!(message(Einsum.call("ij,jk->ik", &[one, other], None)).contains("convert one of them"));
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
    let slopes = ConvolutionBackward
        .call(&image, &image, &filter, None, each[0], each[1], each[1], false, each[1], 1, &[true; 3]);
    assert!(message(slopes).contains("argument `dilation` is [0], expected numbers of at least 1"));
    let none = empty(&[0, 1, 2], DType::Complex64);
    let counts = to(&image, DType::I64);
    for (grad, dtype) in [(&none, DType::Complex64), (&counts, DType::I64)] {
        let filter = to(&filter, dtype);
        let slopes = ConvolutionBackward
            .call(grad, grad, &filter, None, each[0], each[1], each[0], false, each[1], 1, &[true; 3]);
        assert!(message(slopes).contains("expected a floating-point dtype"));
    }
    let x = floats(&[1]);
    assert!(message(Allclose.call(&x, &x, 0.0, f64::NAN, true)).contains("argument `atol` is NaN"));
    let wrong = FftC2c.call(&to(&count(&[2]), DType::Complex64), &[], -1, true);
    assert!(message(wrong).contains("argument `normalization` is -1"));
    let twice = FftC2r.call(&to(&count(&[2, 2]), DType::Complex64), &[1, 1], 0, 2);
    assert!(message(twice).contains("argument `dim` is [1, 1], which names dimension 1 twice"));
}

#[test]
fn powers_of_one_are_checked_as_all_others() {
    let refused = PowScalarOut.call(Scalar::Int(1), &count(&[2]), &empty(&[2], DType::Bool));
    assert!(message(refused).contains("can't be cast to the desired output type bool"));
}

#[test]
fn what_is_refused_with_elements_is_refused_without() {
    let (whole, flags) = (empty(&[0], DType::I64), empty(&[2, 0], DType::Bool));
    assert!(message(NormalInplace.call(&whole, 0.0, 1.0, None)).contains("not implemented for 'Long'"));
    let select = count(&[2]).index_select(0, &empty(&[0], DType::F32));
    assert!(message(select).contains("expected int32 or int64"));
    assert!(message(flags.mm(&flags.t().unwrap())).contains("not implemented for 'Bool'"));
    assert!(
        message(empty(&[2, 0], DType::F32).mm(&empty(&[0, 2], DType::F64))).contains("convert one of them")
    );
    let (left, right) = (empty(&[2, 0], DType::I32), empty(&[0, 2], DType::I32));
    let far = empty(&[2, 2], DType::I32).addmm_with(&left, &right, 1, f64::NAN);
    assert!(message(far).contains("cannot be converted to Int"));
    let sum = NansumOut.call(&empty(&[0], DType::F32), None, false, None, &empty(&[], DType::I8));
    assert!(message(sum).contains("expected a floating-point one as `self`"));
    let sum = Nansum.call(&empty(&[0], DType::F32), None, false, Some(DType::Complex64));
    assert!(message(sum).contains("expected one that is not complex"));
    let average = Nanmean.call(&empty(&[0], DType::F32), None, false, Some(DType::Complex64));
    assert!(message(average).contains("not implemented for 'ComplexFloat'"));
    let distances = Cdist.call(&empty(&[2, 0], DType::F32), &empty(&[4, 0], DType::F64), 2.0, None);
    assert!(message(distances).contains("convert one of them"));
    let (complex, nowhere) = (empty(&[2], DType::Complex64), empty(&[0], DType::I64));
    let none = empty(&[0], DType::Complex64);
    let largest = ScatterReduceTwo.call(&complex, 0, &nowhere, &none, "amax", true);
    assert!(message(largest).contains("not implemented for 'ComplexFloat'"));
    let weights = Bincount.call(&nowhere, Some(&empty(&[1], DType::F32)), 7);
    assert!(message(weights).contains("argument `weights` has shape [1]"));
}

#[test]
fn a_number_is_read_out_of_one_element_only() {
    assert!(
        message(LocalScalarDense.call(&count(&[2]))).contains("2 elements cannot be converted to a number")
    );
}

#[test]
fn pinned_memory_is_refused() {
    let refused = ToCopy.call(&count(&[2]), None, None, None, Some(true), false, None);
    assert!(message(refused).contains("asks for pinned memory"));
}

#[test]
fn no_complex_numbers_have_parts_of_16_bits() {
    let pair = Tensor::from_slice(&[f16::from_f32(1.0), f16::from_f32(2.0)], &[2]).unwrap();
    let error = message(pair.view_as_complex());
    assert!(error.contains("expected float32 or float64"), "{error}");
}

#[test]
fn what_torch_does_not_check_is_refused() {
    let line = floats(&[3]);
    let backwards = SetInplaceSourceTensorStorageOffset.call(&floats(&[1]), &line, 2, &[1], &[-1]);
    assert!(message(backwards).contains("negative strides are not supported"));
    let number = Kthvalue.call(&empty(&[], DType::Complex64), 1, 0, false);
    assert!(message(number).contains("expected an integer or floating-point dtype"));
    let x = floats(&[2, 2]);
    let complex = empty(&[2, 2], DType::Complex64);
    let cast = "can't be cast to the desired output type";
    assert!(message(FftC2cOut.call(&complex, &[0], 0, true, &x)).contains(cast));
    let softmax = SoftmaxBackwardData.call(&x, &x, 0, DType::F64);
    assert!(message(softmax).contains("argument `input_dtype` has dtype float64"));
    let softmax = LogSoftmaxBackwardData.call(&x, &floats(&[2, 3]), 0, DType::F32);
    assert!(message(softmax).contains("argument `output` has shape [2, 3], expected that of `grad_output`"));
    let averages = AdaptiveAvgPool2dBackward.call(&floats(&[2, 1, 1, 1]), &floats(&[1, 1, 2, 2]));
    assert!(message(averages).contains("argument `grad_output` has shape"));
    let (volumes, less) = (floats(&[3, 1, 2, 2, 2]), floats(&[1, 1, 2, 2, 2]));
    let averages = AvgPool3dBackward.call(&less, &volumes, &[1; 3], &[1; 3], &[0; 3], false, true, None);
    assert!(message(averages).contains("argument `grad_output` has shape"));
    assert!(message(FftRfftfreq.call(-1, 1.0, None, None, None, None)).contains("argument `n` is -1"));
    assert!(message(Mode.call(&empty(&[], DType::Complex64), -1, false)).contains("a non-complex dtype"));
    let flag = empty(&[], DType::Bool);
    assert!(message(CumsumInplace.call(&flag, 0, None)).contains("expected a numeric dtype"));
    assert!(message(CumprodInplace.call(&flag, 0, None)).contains("expected a numeric dtype"));
    let slope = EluBackward.call(&x, f64::NAN.into(), 1.into(), 1.into(), true, &x);
    assert!(slope.is_err(), "a result of a slope that is no number");
    assert!(message(PdistForward.call(&x, -1.0)).contains("argument `p` is -1"));
    let flags = Tensor::from_slice(&[Bool::TRUE; 2], &[2]).unwrap();
    assert!(message(Tensordot.call(&flags, &flags, &[0], &[0])).contains("not implemented for 'Bool'"));
    assert!(message(PadCircular.call(&floats(&[1, 1, 2]), &[1, 1, 1])).contains("expected an even count"));
    let bytes = to(&count(&[1, 1, 2, 2]), DType::U8);
    let smooth = UpsampleBilinear2dAa.call(&bytes, &[1, 1], false, None, None);
    assert!(message(smooth).contains("expected a floating-point dtype"));
    let grid = AffineGridGenerator.call(&to(&count(&[1, 2, 3]), DType::I8), &[1, 1, 2, 2], true);
    assert!(message(grid).contains("expected a floating-point dtype"));
    let bools = to(&count(&[2]), DType::Bool);
    assert!(message(BucketizeScalar.call(3.into(), &bools, false, false)).contains("'Bool'"));
    assert!(message(to(&count(&[0]), DType::I64).nanmedian()).contains("has no elements"));
    let largest = MaxUnaryOut.call(&floats(&[0]), &empty(&[], DType::F32));
    assert!(message(largest).contains("has no elements to reduce"));
    let weight = to(&count(&[]), DType::F64);
    assert!(message(LerpTensor.call(&x, &x, &weight)).contains("has dtype float64"));
    let halves = to(&x, DType::F16);
    assert!(message(ViewAsComplex.call(&halves)).contains("expected float32 or float64"));
    let (angle, length) = (halves.select(0, 0).unwrap(), halves.select(0, 1).unwrap());
    assert_eq!(Polar.call(&length, &angle).unwrap().dtype(), DType::Complex64);
    let refused = message(SetInplaceSourceTensorStorageOffset.call(&floats(&[1]), &x, 2, &[9], &[1]));
    assert!(refused.contains("out of bounds for storage"), "{refused}");
    assert!(
        message(RandintLikeTensor.call(
            &x,
            &to(&count(&[]), DType::F32).add(2.5).unwrap(),
            None,
            None,
            None,
            None,
            None
        ))
        .contains("without loss")
    );
    let vector = Tensor::from_slice(&[0i64], &[1]).unwrap();
    let sum =
        IndexAdd.call(&to(&count(&[1]), DType::U8), 0, &vector, &to(&count(&[1]), DType::U8), true.into());
    assert!(message(sum).contains("argument `alpha` is a bool"));
    let spread = VarCorrection.call(&x, None, Some(Complex64::new(1.0, 0.0).into()), false);
    assert!(message(spread).contains("argument `correction`"));
    let (image, filter) = (floats(&[1, 1, 2, 2, 2]), floats(&[1, 1, 1, 1, 1]));
    let bias = to(&count(&[1]), DType::I32);
    let convolved = Conv3d.call(&image, &filter, Some(&bias), &[1], &[0], &[1], 1);
    assert!(message(convolved).contains("argument `bias`"));
    let circular = PadCircular.call(&floats(&[1, 2, 2]), &[-1, 2]);
    assert!(message(circular).contains("expected at most 1 on each side"));
    let rest = floats(&[4]).slice(0, 2, None, 1).unwrap();
    let before = AsStridedScatter.call(&rest, &floats(&[1]), &[1], &[1], Some(1));
    assert!(message(before).contains("before the first element of `self`; expected 2 or more"));
}
