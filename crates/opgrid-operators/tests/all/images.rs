//! Convolutions and other operators on images: what differs from torch on purpose, and what samples cannot say.

use opgrid_core::{DType, Result};
use opgrid_tensor::Tensor;
use opgrid_tensor::ops::{
    Cdist, Conv3dPadding, Convolution, ConvolutionBackward, GridSampler, MaxPool3d, ToCopy,
};

fn ones(sizes: &[i64], dtype: DType) -> Tensor {
    let ones = vec![1.0f32; sizes.iter().product::<i64>() as usize];
    let ones = Tensor::from_slice(&ones, sizes).unwrap();
    ToCopy.call(&ones, Some(dtype), None, None, None, false, None).unwrap()
}

fn convolved(image: &Tensor, weight: &Tensor, bias: Option<&Tensor>, transposed: bool) -> Result<Tensor> {
    Convolution.call(image, weight, bias, &[1], &[0], &[1], transposed, &[0], 1)
}

fn total(tensor: &Tensor) -> f64 {
    tensor.to_dtype(DType::F64).unwrap().sum().unwrap().item().unwrap().to_complex().re
}

#[test]
fn all_numbers_are_convolved() {
    for dtype in [DType::U8, DType::I32, DType::BF16, DType::Complex64] {
        let (image, weight) = (ones(&[1, 2, 4], dtype), ones(&[2, 2, 2], dtype));
        assert_eq!(total(&convolved(&image, &weight, None, false).unwrap()), 24.0);
        assert_eq!(total(&convolved(&image, &weight, None, true).unwrap()), 32.0);
    }
}

/// More taps than are packed at once, so that parts begin and end within a channel.
#[test]
fn channels_that_are_packed_in_parts() {
    let (channels, [height, width]) = (47i64, [5i64, 21]);
    let whole = |sizes: &[i64], factor: i64| {
        let numbers = 0..sizes.iter().product::<i64>();
        let numbers: Vec<f32> = numbers.map(|at| (at * factor % 7 - 3) as f32).collect();
        (Tensor::from_slice(&numbers, sizes).unwrap(), numbers)
    };
    let (image, pixels) = whole(&[2, channels, height, width], 5);
    let (weight, taps) = whole(&[3, channels, 3, 3], 4);
    let places = (0..2).flat_map(|number| (0..3).map(move |filter| (number, filter)));
    let expected: Vec<f32> = places
        .flat_map(|(number, filter)| (0..height * width).map(move |place| (number, filter, place)))
        .map(|(number, filter, place)| {
            let (y, x) = (place / width, place % width);
            let all = (0..channels * 9).map(|tap| (tap / 9, y + tap / 3 % 3 - 1, x + tap % 3 - 1, tap));
            let inside = all.filter(|(_, y, x, _)| (0..height).contains(y) && (0..width).contains(x));
            let product = |(channel, y, x, tap): (i64, i64, i64, i64)| {
                let pixel = pixels[(((number * channels + channel) * height + y) * width + x) as usize];
                pixel * taps[(filter * channels * 9 + tap) as usize]
            };
            inside.map(product).sum()
        })
        .collect();
    let found =
        Convolution.call(&image, &weight, None, &[1, 1], &[1, 1], &[1, 1], false, &[0, 0], 1).unwrap();
    assert_eq!(found.to_vec::<f32>().unwrap(), expected);
}

#[test]
fn a_single_image_lies_as_one_of_a_batch() {
    let image = ones(&[1, 5, 5, 6], DType::BF16);
    let weight =
        ones(&[2, 2, 2, 2, 1], DType::BF16).as_strided(&[2, 1, 2, 2, 2], &[8, 1, 4, 2, 1], None).unwrap();
    let strides = |image: &Tensor| {
        let result = Conv3dPadding.call(image, &weight, None, &[1], "same", &[1], 1).unwrap();
        result.strides()[result.dim() - 4..].to_vec()
    };
    assert_eq!(strides(&image), [1, 60, 12, 2]);
    assert_eq!(strides(&image.unsqueeze(0).unwrap()), [1, 60, 12, 2]);
}

#[test]
fn a_single_volume_is_pooled_as_it_lies() {
    let volume = ones(&[4, 4, 4, 2], DType::F32).as_strided(&[2, 4, 4, 4], &[1, 32, 8, 2], None).unwrap();
    let pooled = |volume: &Tensor| MaxPool3d.call(volume, &[2], &[2], &[0], &[1], false).unwrap();
    assert_eq!(pooled(&volume).strides(), [1, 8, 4, 2]);
    assert_eq!(total(&pooled(&volume)), 16.0);
    assert_eq!(pooled(&volume.contiguous().unwrap()).strides(), [8, 4, 2, 1]);
}

#[test]
fn a_convolution_without_channels_gives_the_bias() {
    let (image, weight) = (ones(&[2, 0, 3], DType::F32), ones(&[2, 0, 2], DType::F32));
    let bias = ones(&[2], DType::F32);
    assert_eq!(convolved(&image, &weight, Some(&bias), false).unwrap().to_vec::<f32>().unwrap(), [1.0; 8]);
}

#[test]
fn gradients_that_nobody_asks_for_are_undefined() {
    let (image, weight) = (ones(&[1, 2, 4], DType::F32), ones(&[3, 2, 2], DType::F32));
    let grad = ones(&[1, 3, 3], DType::F32);
    let of = |mask: [bool; 3]| {
        ConvolutionBackward
            .call(&grad, &image, &weight, None, &[1], &[0], &[1], false, &[0], 1, &mask)
            .unwrap()
    };
    let (by_input, by_weight, by_bias) = of([false, true, false]);
    assert_eq!([by_input.is_defined(), by_weight.is_defined(), by_bias.is_defined()], [false, true, false]);
    assert_eq!(by_weight.to_vec::<f32>().unwrap(), [3.0; 12]);
}

#[test]
fn modes_of_grids_are_checked() {
    let (image, grid) = (ones(&[1, 1, 2, 2], DType::F32), ones(&[1, 2, 2, 2], DType::F32));
    for (interpolation, padding) in [(3, 0), (-1, 0), (0, 3)] {
        assert!(GridSampler.call(&image, &grid, interpolation, padding, false).is_err());
    }
}

#[test]
fn the_largest_distance_of_what_is_no_number() {
    let (nan, one) = (Tensor::from_slice(&[f32::NAN, 1.0], &[1, 2]).unwrap(), ones(&[1, 2], DType::F32));
    let far = Cdist.call(&nan, &one, f64::INFINITY, None).unwrap().to_vec::<f32>().unwrap();
    assert!(far[0].is_nan());
}
