//! What outputs get: memory, a shape, the result and nothing else; and what overlaps.

use opgrid_tensor::ops::{
    AdaptiveAvgPool3dOut, AddbmmInplace, AllAllOut, AllDimsOut, AvgPool3d, AvgPool3dOut, BernoulliOut,
    CatOut, Contiguous, ExpOut, FftFftOut, FftIhfft2Out, FillInplaceScalar, GatherOut, Im2col, Im2colOut,
    IsnanOut, LinalgMatrixPowerOut, Linear, LinearOut, LogSoftmaxOut, LogicalNotOut, MatmulOut, MaxDimMax,
    MmOut, MseLossOut, MulOut, MulScalarOut, NarrowCopy, NarrowCopyOut, NormalTensorFloatOut, PutInplace,
    QuantileOut, ReflectionPad2d, ReflectionPad2dOut, ReluOut, ResizeInplace, ScatterSrcOut,
    SoftMarginLossOut, StackOut, UniqueConsecutiveOut, VarCorrectionOut,
};

use super::*;

#[test]
fn an_output_that_gets_a_shape_gets_memory() {
    let block = empty(&[6], DType::F32);
    let out = block.slice(0, 4, 4, 1).unwrap();
    ExpOut.call(&floats(&[2, 3]), &out).unwrap();
    assert_eq!((out.sizes(), out.geometry().offset()), (&[2, 3][..], 0));
    assert!(!out.array().unwrap().storage().is_same(block.array().unwrap().storage()));
    // It has the order of the input.
    let column = floats(&[2, 3]).t().unwrap();
    let (relu, nan) = (empty(&[0], DType::F32), empty(&[0], DType::Bool));
    ReluOut.call(&column, &relu).unwrap();
    IsnanOut.call(&column, &nan).unwrap();
    assert_eq!((relu.strides(), nan.strides()), (&[1, 3][..], &[1, 3][..]));
    // What composites turn or lay in columns comes in rows.
    let (parts, inverse) = (empty(&[0], DType::F32), empty(&[0], DType::F32));
    let [part, unit] = [&[2][..], &[2, 2]].map(|sizes| {
        Tensor::from_slice(&[0.0f32, 1.0, 1.0, 0.0][..sizes.iter().product::<i64>() as usize], sizes).unwrap()
    });
    QuantileOut.call(&floats(&[3, 5]), &part, Some(0), false, "linear", &parts).unwrap();
    LinalgMatrixPowerOut.call(&unit, -1, &inverse).unwrap();
    assert_eq!((parts.strides(), inverse.strides()), (&[5, 1][..], &[2, 1][..]));
}

#[test]
fn powers_of_matrices_convert_where_the_last_step_is_a_copy() {
    let unit = Tensor::from_slice(&[0.0f32, 1.0, 1.0, 0.0], &[2, 2]).unwrap();
    let of = |n| LinalgMatrixPowerOut.call(&unit, n, &empty(&[2, 2], DType::F64)).is_ok();
    let taken: Vec<i64> = (-9..=9).filter(|n| of(*n)).collect();
    assert_eq!(taken, [-8, -4, 0, 1, 4, 8]);
}

#[test]
fn a_tensor_that_grows_gets_memory() {
    let block = count(&[4]);
    let view = block.slice(0, 1, 3, 1).unwrap();
    ResizeInplace.call(&view, &[3, 2], None).unwrap();
    assert!(!view.array().unwrap().storage().is_same(block.array().unwrap().storage()));
    assert_eq!(view.to_vec::<i64>().unwrap(), [1, 2, 3, 0, 0, 0]);
    assert_eq!((block.sizes(), block.to_vec::<i64>().unwrap()), (&[4][..], vec![0, 1, 2, 3]));
    // Less needs no other memory, and what had been there comes back.
    let before = view.array().unwrap().storage().clone();
    for size in [[2, 1], [3, 2]] {
        ResizeInplace.call(&view, &size, None).unwrap();
        assert!(view.array().unwrap().storage().is_same(&before));
    }
    assert_eq!(view.to_vec::<i64>().unwrap(), [1, 2, 3, 0, 0, 0]);
}

#[test]
fn outputs_that_repeat_or_share_elements_are_refused() {
    let repeated = empty(&[1], DType::F32).expand(&[3]).unwrap();
    for refused in
        [message(FillInplaceScalar.call(&repeated, Scalar::Int(1))), message(repeated.add_(&floats(&[3])))]
    {
        assert!(refused.contains("more than one element of the written-to tensor"), "{refused}");
    }
    let flags = Tensor::from_slice(&[Bool::TRUE], ()).unwrap();
    let shifted = floats(&[4]);
    let (low, high) = (shifted.slice(0, 0, 3, 1).unwrap(), shifted.slice(0, 1, 4, 1).unwrap());
    for refused in [message(AllAllOut.call(&flags, &flags)), message(ReluOut.call(&low, &high))] {
        assert!(refused.contains("some elements of the input tensor and the written-to tensor"), "{refused}");
    }
    // Also where no value comes to a place.
    let nowhere = empty(&[0], DType::I64);
    let refused = message(ScatterSrcOut.call(&floats(&[3]), 0, &nowhere, &low, &high));
    assert!(refused.contains("some elements of the input tensor and the written-to tensor"), "{refused}");
    let (values, places) = (empty(&[4], DType::F32), empty(&[0], DType::I64));
    let refused = message(UniqueConsecutiveOut.call(&shifted, true, true, None, &values, &places, &places));
    assert!(refused.contains("two outputs refer to the same memory"), "{refused}");
}

#[test]
fn outputs_between_the_elements_of_an_input() {
    let block = floats(&[6]);
    let (even, odd) = (block.slice(0, 0, 6, 2).unwrap(), block.slice(0, 1, 6, 2).unwrap());
    MulOut.call(&even, &even, &odd).unwrap();
    assert_eq!(block.to_vec::<f32>().unwrap(), [0.0, 0.0, 2.0, 4.0, 4.0, 16.0]);
    // Rows that interleave with rows: whether they meet is not found out, and an element may be read after it was
    // written.
    let rows = floats(&[2, 8]).slice(1, 0, 4, 1).unwrap();
    let shifted = rows.as_strided(&[2, 4], &[8, 1], Some(1)).unwrap();
    LogicalNotOut.call(&rows, &shifted).unwrap();
}

#[test]
fn values_that_lie_beside_what_is_written() {
    let block = floats(&[6]);
    let (first, last) = (block.slice(0, 0, 3, 1).unwrap(), block.slice(0, 3, 6, 1).unwrap());
    let index = Tensor::from_slice(&[2i64, 0, 1], &[3]).unwrap();
    first.index_put_(&[Some(index.clone())], &last, false).unwrap();
    assert_eq!(block.to_vec::<f32>().unwrap(), [4.0, 5.0, 3.0, 3.0, 4.0, 5.0]);
    PutInplace.call(&first, &index, &last, true).unwrap();
    assert_eq!(block.to_vec::<f32>().unwrap(), [8.0, 10.0, 6.0, 3.0, 4.0, 5.0]);
    last.index_put_(&[Some(index.clone())], &first, true).unwrap();
    assert_eq!(block.to_vec::<f32>().unwrap(), [8.0, 10.0, 6.0, 13.0, 10.0, 13.0]);
    // And indices.
    let block = Tensor::from_slice(&[0i64, 0, 0, 2, 0, 1], &[6]).unwrap();
    let (first, last) = (block.slice(0, 0, 3, 1).unwrap(), block.slice(0, 3, 6, 1).unwrap());
    GatherOut.call(&index, 0, &last, false, &first).unwrap();
    assert_eq!(first.to_vec::<i64>().unwrap(), [1, 2, 0]);
    let (largest, place) = (block.slice(0, 3, 4, 1).unwrap(), block.slice(0, 4, 5, 1).unwrap());
    MaxDimMax.call(&index, 0, true, &largest, &place).unwrap();
    assert_eq!(block.to_vec::<i64>().unwrap(), [1, 2, 0, 2, 0, 1]);
}

#[test]
fn what_has_no_elements_shares_none() {
    let nothing = empty(&[0], DType::F32);
    CatOut.call(&[nothing.clone(), floats(&[2])], 0, &nothing).unwrap();
    assert_eq!(nothing.to_vec::<f32>().unwrap(), [0.0, 1.0]);
}

#[test]
fn what_is_joined_is_written_to_outputs_of_any_strides() {
    let out = empty(&[6], DType::F32).as_strided(&[3, 1], &[1, 6], None).unwrap();
    StackOut.call(&[floats(&[3])], -1, &out).unwrap();
    assert_eq!(out.to_vec::<f32>().unwrap(), [0.0, 1.0, 2.0]);
}

#[test]
fn products_into_their_own_factors() {
    let x = floats(&[2, 2]);
    let refused = message(MmOut.call(&x, &x, &x));
    assert!(refused.contains("some elements of the input tensor and the written-to tensor"), "{refused}");
    // An output that has the shape keeps its strides.
    let out = empty(&[6], DType::F32).as_strided(&[1], &[6], None).unwrap();
    MatmulOut.call(&floats(&[2]), &floats(&[2, 1]), &out).unwrap();
    assert_eq!((out.to_vec::<f32>().unwrap(), out.strides()), (vec![1.0], &[6][..]));
    let out = empty(&[8], DType::F32).as_strided(&[2, 1, 4], &[1, 2, 2], None).unwrap();
    MatmulOut.call(&floats(&[2, 1, 3]), &floats(&[3, 4]), &out).unwrap();
    assert_eq!(out.to_vec::<f32>().unwrap(), [20.0, 23.0, 26.0, 29.0, 56.0, 68.0, 80.0, 92.0]);
    let out = empty(&[4], DType::F32).as_strided(&[2], &[2], None).unwrap();
    LinearOut.call(&floats(&[2]), &floats(&[2, 2]), None, &out).unwrap();
    assert_eq!((out.to_vec::<f32>().unwrap(), out.strides()), (vec![1.0, 3.0], &[2][..]));
    let none = empty(&[1], DType::F32).as_strided(&[0], &[2], None).unwrap();
    MatmulOut.call(&floats(&[2]), &floats(&[2, 0]), &none).unwrap();
    assert_eq!(none.strides(), [2]);
    let flags = Tensor::from_slice(&[Bool::TRUE, Bool::FALSE], &[2]).unwrap();
    AllDimsOut.call(&flags, Some(&[]), false, &flags).unwrap();
    assert_eq!(flags.to_vec::<Bool>().unwrap(), [Bool::TRUE, Bool::FALSE]);
}

#[test]
fn sums_of_products_in_place_keep_their_shape() {
    let (x, pairs) = (floats(&[1]), floats(&[2, 3, 3]));
    let refused = message(AddbmmInplace.call(&x, &pairs, &pairs, 1.into(), 1.into()));
    assert!(refused.contains("argument `self` has shape [1]"), "{refused}");
    assert_eq!(x.sizes(), [1]);
}

#[test]
fn numbers_that_are_written_fit_the_dtype() {
    let x = empty(&[], DType::F16);
    assert!(message(x.fill_(-1e300)).contains("cannot be converted to Half (float16) without overflow"));
    let one =
        opgrid_tensor::ops::Linspace.call(4.into(), (-2.0).into(), 1, Some(DType::U8), None, None, None);
    assert!(message(one).contains("cannot be converted to Byte (uint8) without overflow"));
    assert_eq!(x.contiguous().unwrap().strides(), [0i64; 0]);
    assert!(Contiguous.call(&count(&[2, 3]).t().unwrap(), MemoryFormat::Preserve).is_err());
}

#[test]
fn spreads_of_halves_are_written_to_wider_outputs() {
    let x = floats(&[4]).to_dtype(DType::F16).unwrap();
    let out = empty(&[], DType::F64);
    VarCorrectionOut.call(&x, None, None, false, &out).unwrap();
    assert!(out.to_vec::<f64>().unwrap()[0] > 0.0);
}

#[test]
fn outputs_take_what_converts_to_them() {
    let out = empty(&[3], DType::F64);
    MulScalarOut.call(&floats(&[3]), Scalar::Int(2), &out).unwrap();
    assert_eq!(out.to_vec::<f64>().unwrap(), [0.0, 2.0, 4.0]);
    let out = empty(&[4], DType::Complex128);
    FftFftOut.call(&floats(&[4]), None, -1, None, &out).unwrap();
    assert_eq!(out.to_vec::<Complex64>().unwrap()[0], Complex64::new(6.0, 0.0));
    let out = empty(&[1], DType::F64);
    SoftMarginLossOut.call(&floats(&[1]), &floats(&[1]), 0, &out).unwrap();
    assert!((out.to_vec::<f64>().unwrap()[0] - std::f64::consts::LN_2).abs() < 1e-7);
}

#[test]
fn outputs_of_any_strides_are_written() {
    let x = floats(&[1, 1, 2, 4, 4]);
    let rows = empty(&[1, 1, 2, 2, 2], DType::F32);
    let gaps = with_gaps(&rows);
    AdaptiveAvgPool3dOut.call(&x, &[2, 2, 2], &rows).unwrap();
    AdaptiveAvgPool3dOut.call(&x, &[2, 2, 2], &gaps).unwrap();
    assert_eq!(elements(&gaps), elements(&rows));

    let image = floats(&[1, 2, 3, 3]);
    let columns = Im2col.call(&image, &[2, 2], &[1, 1], &[0, 0], &[1, 1]).unwrap();
    let gaps = with_gaps(&empty(columns.sizes(), DType::F32));
    Im2colOut.call(&image, &[2, 2], &[1, 1], &[0, 0], &[1, 1], &gaps).unwrap();
    assert_eq!(elements(&gaps), elements(&columns));

    let padded = ReflectionPad2d.call(&image, &[1, 1, 1, 1]).unwrap();
    let gaps = with_gaps(&padded);
    ReflectionPad2dOut.call(&image, &[1, 1, 1, 1], &gaps).unwrap();
    assert!(!gaps.is_contiguous(), "an output got other strides");
    assert_eq!(elements(&gaps), elements(&padded));

    let volume = floats(&[1, 1, 4, 4, 4]);
    let averages = AvgPool3d.call(&volume, &[2], &[], &[0], false, true, None).unwrap();
    let turned = empty(averages.sizes(), DType::F32).transpose(2, 4).unwrap();
    AvgPool3dOut.call(&volume, &[2], &[], &[0], false, true, None, &turned).unwrap();
    assert_eq!(elements(&turned), elements(&averages));

    let part = NarrowCopy.call(&volume, 2, 1, 2).unwrap();
    let turned = empty(&[1, 1, 4, 4, 2], DType::F32).transpose(2, 4).unwrap();
    NarrowCopyOut.call(&volume, 2, 1, 2, &turned).unwrap();
    assert_eq!(elements(&turned), elements(&part));

    let rows = empty(&[2, 3], DType::F32);
    let gaps = with_gaps(&rows);
    LogSoftmaxOut.call(&floats(&[2, 3]), 1, false, &rows).unwrap();
    LogSoftmaxOut.call(&floats(&[2, 3]), 1, false, &gaps).unwrap();
    assert_eq!(elements(&gaps), elements(&rows));

    let out = empty(&[0], DType::Complex64);
    FftIhfft2Out.call(&floats(&[2, 2]), None, &[-2, -1], None, &out).unwrap();
    assert_eq!(out.sizes(), [2, 2]);
    let out = empty(&[0], DType::F32);
    NormalTensorFloatOut.call(&floats(&[]), 1.0, Some(&generator(1)), &out).unwrap();
    assert_eq!(out.sizes(), [0i64; 0]);
    let out = empty(&[0], DType::F32);
    NormalTensorFloatOut.call(&floats(&[2]), 1.0, Some(&generator(1)), &out).unwrap();
    assert_eq!(out.sizes(), [2]);
    let (stack, weight, bias) =
        (floats(&[2, 2, 3]).permute(&[1, 0, 2]).unwrap(), floats(&[2, 3]), floats(&[2]));
    let out = empty(&[2, 2, 2], DType::F32);
    LinearOut.call(&stack, &weight, Some(&bias), &out).unwrap();
    assert_eq!(elements(&out), elements(&Linear.call(&stack, &weight, Some(&bias)).unwrap()));
}

#[test]
fn results_are_computed_before_they_are_written() {
    let bits = Tensor::from_slice(&[1.0f32, 0.0, 1.0, 0.0], &[4]).unwrap();
    let (low, high) = (bits.slice(0, 0, 3, 1).unwrap(), bits.slice(0, 1, 4, 1).unwrap());
    BernoulliOut.call(&low, Some(&generator(1)), &high).unwrap();
    assert_eq!(elements(&bits), [1.0, 1.0, 0.0, 1.0]);
    let numbers = floats(&[4]);
    let (low, high) = (numbers.slice(0, 0, 3, 1).unwrap(), numbers.slice(0, 1, 4, 1).unwrap());
    MseLossOut.call(&low, &floats(&[3]).mul(2).unwrap(), 0, &high).unwrap();
    assert_eq!(elements(&numbers), [0.0, 0.0, 1.0, 4.0]);
}
