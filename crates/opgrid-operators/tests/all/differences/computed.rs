//! What torch refuses by accident, loses or does not survive.

use opgrid_tensor::ops::{
    AdaptiveAvgPool2dOut, AdaptiveAvgPool3d, AdaptiveAvgPool3dOut, Addmv, AvgPool3d, Bilinear, Bincount,
    ChannelShuffle, Combinations, ConjKernel, Contiguous, Conv3d, ConvTranspose2dInput, ConvolutionBackward,
    Cov, DiffOut, EmbeddingDenseBackward, EmbeddingRenorm, FillInplaceScalar, GridSampler,
    IndexFillIntTensor, IsConj, IsinTensorTensor, Kron, Logsumexp, MaxPool2dWithIndices, MaxPool3d,
    MaxUnaryOut, MeanOut, MedianDimValues, Multinomial, NativeDropout, NormalFloatTensor, PixelUnshuffle,
    RepeatInterleaveSelfTensor, Roll, ScaledDotProductFlashAttentionForCpu, TensorSplitIndices, TriuIndices,
    UniqueDim, UnsafeIndexTensor, UpsampleBilinear2dAa, UpsampleNearest1d,
};

use super::*;

#[test]
fn products_and_slices_of_nothing() {
    let none = empty(&[2, 0], DType::F32);
    let bias = Tensor::from_slice(&[1.0f32, 2.0], &[2]).unwrap();
    let pairs = Bilinear.call(&none, &floats(&[2, 2]), &empty(&[2, 0, 2], DType::F32), Some(&bias));
    assert_eq!(elements(&pairs.unwrap()), [1.0, 2.0, 1.0, 2.0]);
    let sum = Addmv.call(&floats(&[1]), &none, &empty(&[0], DType::F32), 1.into(), 1.into());
    assert_eq!(sum.unwrap().sizes(), [2]);
    let (image, filters) = (floats(&[1, 1, 2, 2]), empty(&[1, 0, 1, 1], DType::F32));
    let each = [&[1, 1][..], &[0, 0]];
    let convolved =
        ConvTranspose2dInput.call(&image, &filters, None, each[0], each[1], each[1], 1, &[1, 1]).unwrap();
    assert_eq!(convolved.sizes(), [1, 0, 2, 2]);
    let (by_image, by_filters, by_bias) = ConvolutionBackward
        .call(&convolved, &image, &filters, None, each[0], each[1], each[0], true, each[1], 1, &[true; 3])
        .unwrap();
    assert_eq!(elements(&by_image), [0.0; 4]);
    assert_eq!((by_filters.sizes(), by_bias.sizes()), (&[1, 0, 1, 1][..], &[0][..]));
    let (rows, indices) = (empty(&[2, 0], DType::F32), Tensor::from_slice(&[1i64], &[1]).unwrap());
    assert_eq!(EmbeddingRenorm.call(&rows, &indices, 1.0, f64::INFINITY).unwrap().sizes(), [2, 0]);
    let slices = UniqueDim.call(&empty(&[0, 0], DType::F32), 0, true, true, true).unwrap();
    assert_eq!((slices.0.sizes(), slices.1.sizes()), (&[0, 0][..], &[0][..]));
}

#[test]
fn numbers_at_the_ends_of_the_range() {
    let rolled = Roll.call(&count(&[3]), &[i64::MIN], &[0]).unwrap();
    // 2 ** 63 is 2 modulo 3.
    assert_eq!(rolled.to_vec::<i64>().unwrap(), [2, 0, 1]);
    let places = TriuIndices.call(1, 2, i64::MIN, None, None, None, None).unwrap();
    assert_eq!(places.to_vec::<i64>().unwrap(), [0, 0, 0, 1]);
    let largest = Tensor::from_slice(&[f32::MAX, 1.2e38], &[2]).unwrap();
    assert_eq!(largest.hardswish().unwrap().to_vec::<f32>().unwrap(), [f32::MAX, 1.2e38]);
}

#[test]
fn complex_numbers_that_are_real() {
    let (x, places) = (count(&[3]), Tensor::from_slice(&[1i64], &[1]).unwrap());
    let number = |im: f64| Tensor::from_slice(&[Complex64::new(7.0, im)], ()).unwrap();
    let filled = IndexFillIntTensor.call(&x, 0, &places, &number(0.0)).unwrap();
    assert_eq!(filled.to_vec::<i64>().unwrap(), [0, 7, 2]);
    assert!(IndexFillIntTensor.call(&x, 0, &places, &number(1.0)).is_err());
}

#[test]
fn what_is_read_is_not_written() {
    let x = floats(&[3, 1]).add(1).unwrap();
    let weight = Tensor::from_slice(&[1.5f32], &[1]).unwrap();
    assert!(elements(&Cov.call(&x, 1, None, Some(&weight)).unwrap()).iter().all(|x| x.is_nan()));
    assert_eq!(elements(&x), [1.0, 2.0, 3.0]);
}

#[test]
fn frequencies_of_rows_that_are_there() {
    let indices = Tensor::from_slice(&[1i64, 70, -1, 1], &[4]).unwrap();
    let slope = EmbeddingDenseBackward.call(&floats(&[4, 1]), &indices, 2, -1, true).unwrap();
    assert_eq!(elements(&slope), [0.0, 1.5]);
}

#[test]
fn indices_of_no_weight_come_last() {
    let weights = Tensor::from_slice(&[0.0f32, 1.0, 0.0, 2.0], &[4]).unwrap();
    for seed in 0..20 {
        let drawn = Multinomial.call(&weights, 4, false, Some(&generator(seed))).unwrap();
        let mut drawn = drawn.to_vec::<i64>().unwrap();
        drawn[..2].sort_unstable();
        drawn[2..].sort_unstable();
        assert_eq!(drawn, [1, 3, 0, 2], "seed {seed}");
    }
}

#[test]
fn windows_reach_into_padding() {
    let volume = floats(&[1, 2, 2, 2]);
    let averages = AvgPool3d.call(&volume, &[4], &[1], &[1], false, false, None).unwrap();
    assert_eq!(elements(&averages), [3.5]);
    let nothing = AdaptiveAvgPool3d.call(&empty(&[2, 0, 2, 2, 2], DType::F32), &[1, 2, 2]).unwrap();
    assert_eq!(nothing.sizes(), [2, 0, 1, 2, 2]);
    // Every place of the window is padding, and the index is one of the image.
    let line = floats(&[1, 1, 4]);
    let (largest, places) = MaxPool2dWithIndices.call(&line, &[2], &[1], &[1], &[2], false).unwrap();
    assert!(elements(&largest).iter().all(|x| *x == f64::NEG_INFINITY));
    assert!(elements(&places).iter().all(|place| (0.0..4.0).contains(place)));
}

#[test]
fn places_in_volumes_are_those_of_images() {
    for dtype in [DType::BF16, DType::F16] {
        let image = to(&count(&[1, 1, 1, 1, 40]), dtype);
        // Of the numbers that the dtype has beside 19/40: in 16 bits the place would round to the next element.
        let grid: Vec<f64> = (-60..60).map(|step| f64::from(step) / 64.0).collect();
        let grid: Vec<f64> = grid.into_iter().flat_map(|x| [x, 0.0, 0.0]).collect();
        let grid = to(&Tensor::from_slice(&grid, &[1, 1, 1, 120, 3]).unwrap(), dtype);
        let found = elements(&GridSampler.call(&image, &grid, 1, 0, false).unwrap());
        let nearest = |x: f64| (((x + 1.0) * 40.0 - 1.0) / 2.0).round_ties_even();
        let expected: Vec<f64> = (-60..60).map(|step| nearest(f64::from(step) / 64.0)).collect();
        assert_eq!(found, expected);
    }
}

#[test]
fn scales_count_beside_sizes() {
    let image = floats(&[1, 1, 4]);
    let twice = UpsampleNearest1d.call(&image, &[4], Some(2.0)).unwrap();
    assert_eq!(elements(&twice), [0.0, 0.0, 1.0, 1.0]);
}

#[test]
fn choices_of_many_elements() {
    // Ten to the power of ten tuples, of which one rises.
    let chosen = Combinations.call(&count(&[10]), 10, false).unwrap();
    assert_eq!(chosen.sizes(), [1, 10]);
}

#[test]
fn means_beyond_the_range() {
    let deviations = floats(&[2]);
    let drawn = NormalFloatTensor.call(-1e300, &deviations, Some(&generator(1))).unwrap();
    assert_eq!(elements(&drawn), [f64::NEG_INFINITY; 2]);
    let [x, matrix, vector] = [&[2][..], &[2, 1], &[1]].map(|sizes| to(&floats(sizes), DType::F16));
    let x = x.add(1).unwrap();
    let sum = Addmv.call(&x, &matrix, &vector, Scalar::Int(1 << 60), 1.into()).unwrap();
    assert_eq!(elements(&sum), [f64::INFINITY; 2]);
    // The norm of an order that far below zero is the smallest length.
    let (rows, first) = (floats(&[1, 2]).add(2).unwrap(), Tensor::from_slice(&[0i64], &[1]).unwrap());
    let shortened = elements(&EmbeddingRenorm.call(&rows, &first, 0.5, -1e300).unwrap());
    assert!((shortened[0] - 0.5).abs() < 1e-6, "{shortened:?}");
}

#[test]
fn an_index_list_without_indices_gives_everything() {
    let x = count(&[2, 3]);
    for list in [vec![], vec![None], vec![None, None]] {
        assert_eq!(x.index(&list).unwrap().to_vec::<i64>().unwrap(), x.to_vec::<i64>().unwrap());
    }
    x.index_put_(&[None], &Tensor::from_slice(&[7i64], ()).unwrap(), true).unwrap();
    assert_eq!(x.to_vec::<i64>().unwrap(), [7, 8, 9, 10, 11, 12]);
}

#[test]
fn steps_of_slices_may_exceed_every_size() {
    let first = count(&[4, 2]).slice(0, 1, i64::MAX, i64::MAX).unwrap();
    assert_eq!(first.to_vec::<i64>().unwrap(), [2, 3]);
}

#[test]
fn conjugates_are_computed() {
    let x = Tensor::from_slice(&[Complex64::new(1.0, 2.0)], &[1]).unwrap();
    let conjugate = x.conj().unwrap();
    FillInplaceScalar.call(&x, Scalar::Int(0)).unwrap();
    assert_eq!(conjugate.to_vec::<Complex64>().unwrap(), [Complex64::new(1.0, -2.0)]);
    assert!(!IsConj.call(&conjugate).unwrap());
}

#[test]
fn averages_of_complex_numbers_are_complex() {
    let numbers = to(&count(&[2]), DType::Complex64);
    let refused = message(MeanOut.call(&numbers, None, false, None, &empty(&[], DType::F64)));
    assert!(refused.contains("can't be cast to the desired output type float64"), "{refused}");
}

#[test]
fn floats_of_16_bits_are_taken_everywhere() {
    for dtype in [DType::F16, DType::BF16] {
        let x = to(&count(&[1, 1, 2, 2, 2]), dtype);
        let averages = AvgPool3d.call(&x, &[2, 2, 2], &[], &[0], false, true, None).unwrap();
        assert_eq!((averages.dtype(), elements(&averages)), (dtype, vec![3.5]));
        let smooth = UpsampleBilinear2dAa.call(&to(&count(&[1, 1, 2, 2]), dtype), &[1, 1], false, None, None);
        assert_eq!(elements(&smooth.unwrap()), [1.5]);
    }
}

#[test]
fn what_torch_refuses_by_accident_is_computed() {
    let x = floats(&[2, 3]);
    let (bytes, extremum) = (Tensor::from_slice(&[1u8, 253], &[2]).unwrap(), empty(&[], DType::I8));
    MaxUnaryOut.call(&bytes, &extremum).unwrap();
    assert_eq!(extremum.to_vec::<i8>().unwrap(), [-3]);
    let twice = RepeatInterleaveSelfTensor.call(
        &count(&[]),
        &Tensor::from_slice(&[2i64], &[1]).unwrap(),
        Some(0),
        None,
    );
    assert_eq!(elements(&twice.unwrap()), [0.0, 0.0]);
    let (image, average) =
        (to(&count(&[1, 1, 2]), DType::Complex64), Tensor::zeros(&[1, 1, 1], DType::Complex64, Device::CPU));
    AdaptiveAvgPool2dOut.call(&image, &[1, 1], average.as_ref().unwrap()).unwrap();
    assert_eq!(average.unwrap().item().unwrap(), Scalar::Complex(Complex64::new(0.5, 0.0)));
    let none = empty(&[0], DType::F32);
    DiffOut.call(&empty(&[0, 2], DType::F32), 1, 0, None, None, &none).unwrap();
    assert_eq!(none.sizes(), [0, 2]);
    let logarithm = elements(&Logsumexp.call(&x, &[], false).unwrap());
    assert!((logarithm[0] - 5.456_193).abs() < 1e-5, "{logarithm:?}");
    let volumes = floats(&[2, 2, 2, 2]);
    let swapped = Contiguous.call(&volumes, MemoryFormat::ChannelsLast).unwrap();
    let pooled = |x: &Tensor| elements(&MaxPool3d.call(x, &[2, 2, 2], &[], &[0], &[1], false).unwrap());
    assert_eq!(pooled(&swapped), pooled(&volumes));
    let (one, other) = (with_gaps(&x), x.t().unwrap());
    assert_eq!(
        elements(&Kron.call(&one, &other).unwrap()),
        elements(&Kron.call(&x, &other.contiguous().unwrap()).unwrap())
    );
    let is_in = IsinTensorTensor.call(&one, &other, false, false).unwrap();
    assert_eq!(elements(&is_in), [1.0; 6]);
    let parts = TensorSplitIndices.call(&x, &[i64::MIN], 0).unwrap();
    assert_eq!(parts.iter().map(|part| part.sizes()[0]).collect::<Vec<_>>(), [0, 2]);
    assert_eq!(elements(&ConjKernel.call(&x).unwrap()), elements(&x));
    assert_eq!(elements(&UnsafeIndexTensor.call(&x, &[None, None]).unwrap()), elements(&x));
}

#[test]
fn masks_of_nothing() {
    let nothing = floats(&[0]);
    let (result, mask) = NativeDropout.call(&nothing, 0.5, Some(true)).unwrap();
    assert!(!result.is_same(&nothing));
    assert_eq!((mask.dtype(), mask.sizes()), (DType::Bool, &[0][..]));
}

#[test]
fn images_of_nothing() {
    let nothing = empty(&[0, 1, 4, 6], DType::F32);
    assert_eq!(PixelUnshuffle.call(&nothing, 2).unwrap().sizes(), [0, 4, 2, 3]);
    let image = floats(&[1, 3, 1, 1]);
    let shuffled = ChannelShuffle.call(&image, 3).unwrap();
    assert!(!shuffled.array().unwrap().storage().is_same(image.array().unwrap().storage()));
}

#[test]
fn calls_that_end_the_process_elsewhere() {
    let x = to(&count(&[1, 1, 1, 1, 1]), DType::BF16);
    let windows =
        AvgPool3d.call(&floats(&[1, 1, 3, 1, 1]), &[3, 1, 1], &[2], &[0], true, false, None).unwrap();
    assert_eq!(elements(&windows), [1.0]);
    let out = empty(&[1, 1, 2, 2, 2], DType::BF16);
    AdaptiveAvgPool3dOut.call(&x, &[2, 2, 2], &out).unwrap();
    assert_eq!(elements(&out), [0.0; 8]);
    let (nothing, places) = (empty(&[4, 1, 0], DType::BF16), empty(&[4, 0], DType::I64));
    MedianDimValues.call(&nothing, 1, false, &nothing, &places).unwrap();
    assert_eq!((nothing.sizes(), places.sizes()), (&[4, 0][..], &[4, 0][..]));
    let none = floats(&[0, 0, 2, 2]);
    let (attended, _) =
        ScaledDotProductFlashAttentionForCpu.call(&none, &none, &none, 0.0, true, None, None).unwrap();
    assert_eq!(attended.sizes(), none.sizes());
}

#[test]
fn sums_of_no_weights_are_sums_of_weights() {
    let (nothing, weights) = (empty(&[0], DType::I64), empty(&[0], DType::F32));
    assert_eq!(Bincount.call(&nothing, Some(&weights), 0).unwrap().dtype(), DType::F32);
    assert_eq!(Bincount.call(&nothing, None, 0).unwrap().dtype(), DType::I64);
}

#[test]
fn convolutions_of_bfloat16_with_strides() {
    let small = |sizes: &[i64]| ((floats(sizes) - 7).unwrap() / 8).unwrap();
    let (image, bias) = (small(&[1, 2, 4, 7]), small(&[2]));
    let (filters, volume) = (small(&[2, 2, 1, 3]), small(&[2, 1, 5, 6, 4]));
    let [two, none, one] = [&[2, 2][..], &[0, 0], &[1, 1]];
    let convolve = |dtype| {
        let narrow = |x: &Tensor| to(x, dtype);
        let (bias, image, volume) = (narrow(&bias), narrow(&image), narrow(&volume));
        let spread = ConvTranspose2dInput
            .call(&image, &narrow(&filters), Some(&bias), two, none, none, 1, one)
            .unwrap();
        let windows = narrow(&small(&[2, 1, 1, 3, 3]));
        let summed = Conv3d.call(&volume, &windows, Some(&bias), &[2; 3], &[0; 3], &[1; 3], 1).unwrap();
        [spread, summed].map(|result| elements(&to(&result, DType::BF16)))
    };
    // Rounded once, from sums of single precision that are exact here.
    assert_eq!(convolve(DType::BF16), convolve(DType::F32));
    // No window reaches the rows between.
    let [spread, _] = convolve(DType::BF16);
    let bias = elements(&to(&bias, DType::BF16));
    assert_eq!(spread[15..30], vec![bias[0]; 15]);
}

#[test]
fn gradients_of_padded_outputs() {
    let (image, filter) = (floats(&[1, 1, 3]), floats(&[1, 1, 2]));
    let grad = floats(&[1, 1, 2]).add(1).unwrap();
    let each = [&[1][..], &[0]];
    let slopes = |padding: &[i64]| {
        ConvolutionBackward
            .call(&grad, &image, &filter, None, each[0], each[1], each[0], false, padding, 1, &[true; 3])
            .map(|slopes| [slopes.0, slopes.1, slopes.2].map(|slope| elements(&slope)))
            .unwrap()
    };
    assert_eq!(slopes(&[2]), slopes(&[0]));
}
