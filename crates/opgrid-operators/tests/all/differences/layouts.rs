//! Results that do not depend on where elements lie, and where those of results lie.

use opgrid_tensor::ops::{
    AbsOut, AsStridedScatter, CloneTensor, Contiguous, Conv3d, ConvTranspose2dInput, ConvTranspose3dInput,
    ConvolutionBackward, EmbeddingBag, Erf, FftC2c, FftC2r, FftIfftn, FftIrfft, GeluOut, IndexReduce,
    IsinScalarTensor, IsinTensorTensor, MaxPool3dWithIndices, PixelShuffle, PowScalar, Put,
    SetInplaceSourceTensorStorageOffset, SliceScatter, TakeAlongDim, TakeOut, ToDtypeLayout,
    UpsampleBilinear2d, UpsampleBilinear2dAa, ViewDtype,
};

use super::*;

#[test]
fn transforms_by_their_kernels() {
    let x = to(&count(&[2, 3, 2]), DType::Complex128);
    let [from_end, from_start] = [[-3, -1], [0, 2]].map(|dims| FftC2c.call(&x, &dims, 0, true).unwrap());
    assert_eq!(elements(&from_end), elements(&from_start));
    // Half of six results are four; the fifth element is left out, as `fft_irfft` does.
    let spectrum = to(&count(&[5]), DType::Complex128);
    let real = FftC2r.call(&spectrum, &[0], 0, 6).unwrap();
    assert_eq!(elements(&real), elements(&FftIrfft.call(&spectrum, Some(6), 0, Some("forward")).unwrap()));
    let turned = count(&[2, 3]).t().unwrap();
    assert_eq!(FftIfftn.call(&turned, None, Some(&[]), None).unwrap().strides(), [1, 3]);
}

#[test]
fn bags_of_any_strides() {
    let table = floats(&[4, 1]);
    let bags = |indices: &Tensor, offsets: &Tensor, mode| {
        EmbeddingBag.call(&table, indices, offsets, false, mode, false, None, false).unwrap()
    };
    let (indices, offsets) = (count(&[3]), Tensor::from_slice(&[0i64, 2], &[2]).unwrap());
    for mode in 0..3 {
        let rows = bags(&indices, &offsets, mode);
        let apart = bags(&with_gaps(&indices), &with_gaps(&offsets), mode);
        assert_eq!(elements(&apart.0), elements(&rows.0));
        let none = bags(&indices, &empty(&[0], DType::I64), mode);
        assert_eq!(none.0.sizes(), [0, 1]);
    }
}

#[test]
fn slices_of_any_strides() {
    let x = floats(&[3, 2]);
    let source = floats(&[2]).unsqueeze(1).unwrap().expand(&[2, 2]).unwrap();
    let joined = |source: &Tensor| IndexReduce.call(&x, 0, &count(&[2]), source, "prod", true).unwrap();
    assert_eq!(elements(&joined(&source)), elements(&joined(&source.contiguous().unwrap())));
}

#[test]
fn indices_from_the_end() {
    let x = count(&[2, 3]);
    let last = Tensor::from_slice(&[-1i64, 0], &[2]).unwrap();
    assert_eq!(elements(&TakeAlongDim.call(&x, &last, None).unwrap()), [5.0, 0.0]);
    let narrow = to(&count(&[1, 3]), DType::I32);
    assert_eq!(elements(&TakeAlongDim.call(&x, &narrow, Some(1)).unwrap()), elements(&x));
    // As one list in row-major order, wherever they lie.
    let turned = x.t().unwrap();
    assert_eq!(elements(&TakeAlongDim.call(&turned, &count(&[3]), None).unwrap()), [0.0, 3.0, 1.0]);
}

#[test]
fn shuffled_images_of_any_order() {
    let images = floats(&[1, 2, 4, 1, 2]);
    let last = Contiguous.call(&images, MemoryFormat::ChannelsLast3d).unwrap();
    let shuffled = |x: &Tensor| elements(&PixelShuffle.call(x, 2).unwrap());
    assert_eq!(shuffled(&last), shuffled(&images));
}

#[test]
fn results_that_are_made_lie_in_rows() {
    let (x, places) = (count(&[6]), count(&[2, 2]).t().unwrap());
    let out = empty(&[0], DType::I64);
    TakeOut.call(&x, &places, &out).unwrap();
    assert_eq!(out.strides(), [2, 1]);
    // No order of images: that of rows, as with images.
    let filter = floats(&[3, 2, 2, 2]).permute(&[1, 0, 2, 3]).unwrap();
    let image = empty(&[0, 3, 4, 4], DType::F32);
    let grad = empty(&[0, 2, 3, 3], DType::F32);
    let each = [&[1, 1][..], &[0, 0]];
    let slopes = ConvolutionBackward
        .call(&grad, &image, &filter, Some(&[0]), each[0], each[1], each[0], false, each[1], 1, &[true; 3])
        .unwrap();
    assert_eq!((slopes.1.strides(), elements(&slopes.1)), (&[12, 4, 2, 1][..], vec![0.0; 24]));
    // One slope for each filter, whatever sizes are named.
    assert_eq!(slopes.2.sizes(), [2]);
}

#[test]
fn parts_by_strides_are_places_of_memory() {
    let gaps = with_gaps(&floats(&[3]));
    assert_eq!(gaps.strides(), [2]);
    let (two, seven) = (&[2][..], Tensor::from_slice(&[7.0f32, 8.0], &[2]).unwrap());
    let first = gaps.geometry().offset();
    let read = gaps.as_strided(two, two, Some(first + 2)).unwrap();
    assert_eq!(elements(&read), [1.0, 2.0]);
    let replaced = AsStridedScatter.call(&gaps, &seven, two, two, Some(first + 2)).unwrap();
    assert_eq!((elements(&replaced), replaced.strides()), (vec![0.0, 7.0, 8.0], &[1][..]));
    // Elements that lie in one place are copied before.
    let repeated = floats(&[2]).unsqueeze(1).unwrap().expand(&[2, 2]).unwrap();
    let one = Tensor::from_slice(&[7.0f32], &[1]).unwrap();
    let replaced = |x: &Tensor| elements(&AsStridedScatter.call(x, &one, &[1], &[1], Some(1)).unwrap());
    assert_eq!(replaced(&repeated), replaced(&CloneTensor.call(&repeated, None).unwrap()));
    assert_eq!(replaced(&repeated).iter().filter(|x| **x == 7.0).count(), 1);
}

#[test]
fn converted_inputs_decide_on_the_order_as_they_lie() {
    let every_other = count(&[3, 4]).slice(1, 0, 4, 2).unwrap().t().unwrap();
    assert_eq!(to(&every_other, DType::I32).add(&count(&[2, 3])).unwrap().strides(), [1, 2]);
    assert_eq!(every_other.mul(&floats(&[2, 3])).unwrap().strides(), [1, 2]);
    let narrow = to(&count(&[2, 2]), DType::I32).t().unwrap();
    assert_eq!(count(&[4]).index(&[Some(narrow)]).unwrap().strides(), [1, 2]);
}

#[test]
fn powers_of_a_number_lie_as_the_exponents() {
    let exponents = count(&[2, 3]).t().unwrap();
    assert_eq!(PowScalar.call(Scalar::Int(2), &exponents).unwrap().strides(), [1, 3]);
}

#[test]
fn distances_of_complex_numbers_lie_in_rows() {
    let numbers = to(&count(&[1, 2, 3]), DType::Complex64).as_strided(&[1, 2, 3], &[1, 3, 1], None).unwrap();
    assert_eq!(numbers.abs().unwrap().strides(), [6, 3, 1]);
    let out = empty(&[0], DType::F32);
    AbsOut.call(&numbers, &out).unwrap();
    assert_eq!(out.strides(), [6, 3, 1]);
}

#[test]
fn strides_of_single_places() {
    let block = floats(&[8]);
    let column = block.as_strided(&[3, 1], &[2, 7], None).unwrap();
    let (values, _) = column.sort(0, false).unwrap();
    assert_eq!((values.strides(), values.to_vec::<f32>().unwrap()), (&[1, 3][..], vec![0.0, 2.0, 4.0]));
}

#[test]
fn results_do_not_depend_on_the_layout() {
    let (x, turned) = (floats(&[2, 3]), empty(&[3, 2], DType::F32).t().unwrap());
    GeluOut.call(&x, "none", &turned).unwrap();
    assert_eq!(elements(&turned), elements(&x.gelu().unwrap()));
    // The largest of the smallest numbers is the first one, also where channels come last.
    let volume = Tensor::zeros(&[1, 3, 2, 2, 2], DType::U8, Device::CPU).unwrap();
    let places = |volume: &Tensor| {
        let pooled = MaxPool3dWithIndices.call(volume, &[2, 2, 2], &[1, 1, 1], &[0], &[1], false);
        elements(&pooled.unwrap().1)
    };
    let [rows, channels_last] = [
        volume.permute(&[0, 4, 1, 2, 3]).unwrap().contiguous().unwrap(),
        volume.permute(&[0, 4, 1, 2, 3]).unwrap(),
    ];
    assert_eq!(places(&rows), [0.0, 4.0, 0.0, 4.0]);
    assert_eq!(places(&channels_last), places(&rows));
    // One column of bytes is what each row has, in each channel.
    let bytes = to(&count(&[5, 1]), DType::U8).expand(&[1, 3, 5, 2]).unwrap().contiguous().unwrap();
    let column = UpsampleBilinear2d.call(&bytes, &[4, 1], false, None, None).unwrap();
    assert_eq!(column.to_vec::<u8>().unwrap(), [0, 1, 3, 4].repeat(3));
    // Of several elements for one place the last one of the list stays, however they lie.
    let places = Tensor::from_slice(&[0i64, 1, 0, 1], &[2, 2]).unwrap();
    let source = Tensor::from_slice(&[1i64, 3, 2, 4], &[2, 2]).unwrap();
    for source in [
        source.clone(),
        Contiguous.call(&source.t().unwrap(), MemoryFormat::Contiguous).unwrap().t().unwrap(),
    ] {
        let put = Put.call(&count(&[2]), &places, &source, false).unwrap();
        assert_eq!(put.to_vec::<i64>().unwrap(), [2, 4]);
    }
    // Copies of bools have their bytes.
    let bools = ViewDtype.call(&Tensor::from_slice(&[0u8, 2], &[2]).unwrap(), DType::Bool).unwrap();
    let copy = ViewDtype.call(&CloneTensor.call(&bools, None).unwrap(), DType::U8).unwrap();
    assert_eq!(copy.to_vec::<u8>().unwrap(), [0, 2]);
    let set = Tensor::from_slice(&[3i64, 3, 1], &[3]).unwrap();
    let elements_of = Tensor::from_slice(&[1i64, 3, 2, 3], &[4]).unwrap();
    let told = IsinTensorTensor.call(&elements_of, &set, true, false).unwrap();
    assert_eq!(elements(&told), [1.0, 1.0, 0.0, 1.0]);
    let bytes = |count: i64| Tensor::arange(0, count, 1).unwrap().to_dtype(DType::U8).unwrap();
    for count in [4, 40] {
        let is_in = IsinScalarTensor.call(259.into(), &bytes(count), false, false).unwrap();
        assert_eq!(elements(&is_in), [1.0], "259 is 3 modulo 256, among {count}");
    }
    let every_other = floats(&[2, 6]).slice(1, 1, 6, 2).unwrap();
    let replaced = SliceScatter.call(&every_other, &floats(&[2, 3]), 1, None, None, 1).unwrap();
    assert_eq!((replaced.strides(), replaced.geometry().offset()), (&[3, 1][..], 0));
    let image = floats(&[1, 2, 4, 4]);
    let smooth = |x: &Tensor| elements(&UpsampleBilinear2dAa.call(x, &[2, 2], false, None, None).unwrap());
    assert_eq!(smooth(&Contiguous.call(&image, MemoryFormat::ChannelsLast).unwrap()), smooth(&image));
    let tiny = Tensor::from_slice(&[1.2e-38f32; 20], &[20]).unwrap();
    assert!(
        elements(&Erf.call(&tiny).unwrap()).iter().all(|element| (*element / 1.354e-38 - 1.0).abs() < 1e-3)
    );
    let (volume, filter) =
        (to(&count(&[1, 2, 3, 3, 3]), DType::BF16), to(&count(&[2, 2, 1, 1, 1]), DType::BF16));
    let last = Contiguous.call(&volume, MemoryFormat::ChannelsLast3d).unwrap();
    let result = Conv3d.call(&last, &filter, None, &[1], &[0], &[1], 1).unwrap();
    assert_eq!(result.strides(), last.strides());
    let transposed = |volume: &Tensor, filter: &Tensor| {
        let each = [&[1, 1, 1][..], &[0, 0, 0], &[0, 0, 0]];
        let result =
            ConvTranspose3dInput.call(volume, filter, None, each[0], each[1], each[2], 2, &[1, 1, 1]);
        elements(&result.unwrap())
    };
    let (volume, filter) = (floats(&[2, 4, 1, 3, 2]), floats(&[4, 2, 1, 3, 3]));
    let last = |x: &Tensor| Contiguous.call(x, MemoryFormat::ChannelsLast3d).unwrap();
    assert_eq!(transposed(&last(&volume), &last(&filter)), transposed(&volume, &filter));
    let transposed = |image: &Tensor, filter: &Tensor| {
        let pair = [&[2, 2][..], &[0, 0]];
        let result = ConvTranspose2dInput.call(image, filter, None, pair[0], pair[1], pair[1], 2, &[1, 1]);
        elements(&result.unwrap())
    };
    let (image, filter) = (floats(&[1, 4, 6, 3]), floats(&[4, 2, 2, 1]));
    let last = |x: &Tensor| Contiguous.call(x, MemoryFormat::ChannelsLast).unwrap();
    assert_eq!(transposed(&last(&image), &last(&filter)), transposed(&image, &filter));
    let set = count(&[4]).slice(0, 0, 4, 2).unwrap();
    SetInplaceSourceTensorStorageOffset.call(&set, &count(&[3]), 1, &[2], &[]).unwrap();
    assert_eq!((elements(&set), set.strides()), (vec![1.0, 2.0], &[1][..]));
    let column = floats(&[2, 3]).t().unwrap();
    let rows =
        ToDtypeLayout.call(&column, None, None, None, None, false, false, Some(MemoryFormat::Contiguous));
    assert_eq!(rows.unwrap().strides(), [2, 1]);
}
