//! Results that do not depend on where elements lie, and where those of results lie.

use opgrid_tensor::ops::{
    ConvolutionBackward, EmbeddingBag, FftC2c, FftC2r, FftIfftn, FftIrfft, IndexReduce, PixelShuffle,
    TakeAlongDim, TakeOut,
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
        .call(&grad, &image, &filter, None, each[0], each[1], each[0], false, each[1], 1, &[true; 3])
        .unwrap();
    assert_eq!((slopes.1.strides(), elements(&slopes.1)), (&[12, 4, 2, 1][..], vec![0.0; 24]));
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
    // What lies in one place changes in all elements that are there.
    let repeated = floats(&[2]).unsqueeze(1).unwrap().expand(&[2, 2]).unwrap();
    let one = Tensor::from_slice(&[7.0f32], &[1]).unwrap();
    let replaced = AsStridedScatter.call(&repeated, &one, &[1], &[1], Some(1)).unwrap();
    assert_eq!(elements(&replaced), [0.0, 0.0, 7.0, 7.0]);
}
