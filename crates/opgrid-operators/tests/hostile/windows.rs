//! Windows that reach far beyond images, parts at the ends of memory, bags and heads of nothing.

use opgrid_core::{DType, Device};
use opgrid_tensor::ops::{
    AsStridedScatter, Convolution, ConvolutionOut, EmbeddingBag, MaxPool2dWithIndices,
    ScaledDotProductAttention,
};
use opgrid_tensor::{Geometry, Tensor};

use super::{Fine, MAX, Refused, Sizes, base, check, converted, view};

fn zeros(sizes: &[i64]) -> Tensor {
    Tensor::zeros(sizes, DType::F32, Device::CPU).unwrap()
}

#[test]
fn parts_of_memory() {
    let scatter = |input: &Tensor, src: &Tensor, size: &[i64], stride: &[i64], offset: Option<i64>| {
        AsStridedScatter.call(input, src, size, stride, offset)
    };
    let (gaps, one) = (view(&[4], &[16], 3), zeros(&[1]));
    check("the last element", scatter(&gaps, &one, &[1], &[1], Some(51)), Sizes(&[4]));
    check("behind it", scatter(&gaps, &one, &[1], &[1], Some(52)), Refused("out of bounds"));
    check("far behind", scatter(&gaps, &one, &[1], &[1], Some(MAX)), Refused("overflows"));
    check("before", scatter(&gaps, &one, &[1], &[1], Some(2)), Refused("before the first element"));
    check(
        "below zero",
        scatter(&gaps, &one, &[1], &[1], Some(i64::MIN)),
        Refused("before the first element"),
    );
    check("a wide stride", scatter(&gaps, &zeros(&[2]), &[2], &[MAX], None), Refused(""));
    check("strides below zero", scatter(&gaps, &zeros(&[2]), &[2], &[-1], Some(40)), Refused("negative"));
    check("nothing of it", scatter(&gaps, &zeros(&[0]), &[0], &[MAX], Some(MAX)), Fine);
    let nothing = view(&[0, 4], &[MAX, MAX], 7);
    check("of nothing", scatter(&nothing, &zeros(&[0]), &[0], &[1], None), Sizes(&[0, 4]));
    check("one of nothing", scatter(&nothing, &one, &[1], &[1], None), Refused("out of bounds"));
    let overlapping = scatter(&view(&[4, 4], &[1, 1], 0), &zeros(&[2, 2]), &[2, 2], &[1, 1], None);
    check("over itself", overlapping, Refused("single memory location"));
    check("into itself", scatter(&gaps, &gaps, &[4], &[16], None), Sizes(&[4]));
    assert_eq!(gaps.to_vec::<f32>().unwrap(), [4.0, 20.0, 36.0, 52.0]);
    let far = Tensor::empty(&[2], DType::F32, Device::META).unwrap();
    check("without data", scatter(&far, &far, &[2], &[MAX / 8], None), Refused(""));
}

#[test]
fn windows_beyond_images() {
    let image = base().reshape(&[1, 1, 8, 8]).unwrap();
    let pooled = |kernel: i64, stride: i64, padding: i64, dilation: i64| {
        MaxPool2dWithIndices.call(&image, &[kernel], &[stride], &[padding], &[dilation], false).map(
            |(largest, places)| {
                let places = places.to_vec::<i64>().unwrap();
                assert!(places.iter().all(|place| (0..64).contains(place)), "{places:?}");
                largest
            },
        )
    };
    check("half of the kernel size", pooled(8, 1, 4, 1), Sizes(&[1, 1, 9, 9]));
    check("beyond half", pooled(2, 1, MAX, 1), Refused("half"));
    check("far apart", pooled(2, 1, 1, MAX), Refused(""));
    check("next to each other", pooled(2, 1, 1, 9), Sizes(&[1, 1, 1, 1]));
    check("in wide steps", pooled(2, MAX, 1, 1), Sizes(&[1, 1, 1, 1]));
    let filter = zeros(&[1, 1, 3, 3]);
    let convolved = |stride: i64, padding: i64, dilation: i64| {
        let lists = [[stride; 2], [padding; 2], [dilation; 2]];
        Convolution.call(&image, &filter, None, &lists[0], &lists[1], &lists[2], false, &[0, 0], 1)
    };
    check("a frame", convolved(1, 1, 1), Sizes(&[1, 1, 8, 8]));
    check("all in the frame", convolved(4, 40, 1), Sizes(&[1, 1, 22, 22]));
    check("beyond memory", convolved(1, MAX / 2, 1), Refused(""));
    check("a wide step", convolved(MAX, 5, 1), Sizes(&[1, 1, 1, 1]));
    check("far apart", convolved(1, 20, 20), Sizes(&[1, 1, 8, 8]));
    check("too far apart", convolved(1, 1, MAX / 2), Refused(""));
}

/// An image, or filters, of small numbers in the middle of memory that has large ones before and behind.
fn between_others(sizes: [i64; 4], seed: i64, dtype: DType) -> (Tensor, Vec<i64>) {
    let count: i64 = sizes.iter().product();
    let numbers: Vec<i64> = (0..count).map(|at| (at * 7 + seed) % 5 - 2).collect();
    let others = [1 << 20; 100];
    let all: Vec<i64> = others.iter().chain(&numbers).chain(&others).copied().collect();
    let memory = converted(&Tensor::from_slice(&all, &[all.len() as i64]).unwrap(), dtype);
    let strides = [sizes[1] * sizes[2] * sizes[3], sizes[2] * sizes[3], sizes[3], 1];
    (memory.view_as(Geometry::strided(&sizes, &strides, 100).unwrap()).unwrap(), numbers)
}

#[test]
fn convolutions_read_their_images_alone() {
    // Images, windows, strides, paddings, dilations: wide and narrow ones, beyond the image, with gaps, in parts for threads.
    let cases: [[[i64; 2]; 5]; 9] = [
        [[9, 33], [3, 3], [1, 1], [1, 1], [1, 1]],
        [[40, 40], [3, 3], [1, 1], [1, 1], [1, 1]],
        [[40, 41], [2, 5], [2, 3], [1, 4], [1, 1]],
        [[17, 64], [3, 2], [1, 2], [2, 3], [3, 2]],
        [[1, 300], [1, 7], [1, 1], [0, 6], [1, 1]],
        [[300, 1], [7, 1], [1, 1], [6, 0], [1, 1]],
        [[1, 1], [3, 3], [1, 1], [9, 9], [1, 1]],
        [[2, 50], [2, 2], [2, 7], [3, 3], [1, 1]],
        [[31, 8], [4, 1], [3, 1], [0, 0], [2, 1]],
    ];
    for (number, [image, window, stride, padding, dilation]) in cases.into_iter().enumerate() {
        for (filters, groups) in [(4, 1), (6, 2), (13, 1)] {
            for dtype in
                [DType::F32, DType::F64, DType::I64, DType::BF16, DType::F16, DType::I8, DType::Complex64]
            {
                let channels = 3;
                let (input, inputs) =
                    between_others([2, groups * channels, image[0], image[1]], number as i64, dtype);
                let (weight, weights) = between_others([filters, channels, window[0], window[1]], 3, dtype);
                let out = Convolution
                    .call(&input, &weight, None, &stride, &padding, &dilation, false, &[0, 0], groups)
                    .unwrap();
                let [places_down, places] = [out.sizes()[2], out.sizes()[3]];
                let mut expected = Vec::new();
                for at in 0..out.numel() {
                    let (x, y) = (at % places, at / places % places_down);
                    let (filter, number) =
                        (at / (places * places_down) % filters, at / (places * places_down * filters));
                    let group = filter / (filters / groups);
                    let mut sum = 0;
                    for tap in 0..channels * window[0] * window[1] {
                        let (i, j) = (tap / window[1] % window[0], tap % window[1]);
                        let channel = tap / (window[0] * window[1]);
                        let row = y * stride[0] + i * dilation[0] - padding[0];
                        let column = x * stride[1] + j * dilation[1] - padding[1];
                        if (0..image[0]).contains(&row) && (0..image[1]).contains(&column) {
                            let plane = (number * groups + group) * channels + channel;
                            let element = inputs[((plane * image[0] + row) * image[1] + column) as usize];
                            sum +=
                                element * weights[(filter * channels * window[0] * window[1] + tap) as usize];
                        }
                    }
                    expected.push(sum);
                }
                let name = format!("{image:?}, {window:?}, {filters} filters in {groups} groups of {dtype}");
                assert_eq!(converted(&out, DType::I64).to_vec::<i64>().unwrap(), expected, "{name}");
            }
        }
    }
}

#[test]
fn convolutions_into_their_images_are_refused() {
    let (image, _) = between_others([1, 4, 20, 20], 0, DType::F32);
    let (filters, _) = between_others([4, 4, 3, 3], 1, DType::F32);
    let before = image.to_string();
    for out in [image.clone(), view(&[1, 4, 20, 20], &[0, 0, 0, 0], 5)] {
        let convolved =
            ConvolutionOut.call(&image, &filters, None, &[1, 1], &[1, 1], &[1, 1], false, &[0, 0], 1, &out);
        check("an output that overlaps", convolved.map(|()| out), Refused("memory"));
    }
    assert_eq!(image.to_string(), before);
    // Without images nothing is read, wherever they would be.
    let nothing = view(&[0, 4, 20, 20], &[MAX / 2, 1, 1, 1], MAX / 2);
    let convolved = Convolution.call(&nothing, &filters, None, &[1, 1], &[1, 1], &[1, 1], false, &[0, 0], 1);
    check("no images", convolved, Sizes(&[0, 4, 20, 20]));
}

#[test]
fn heads_and_bags_of_nothing() {
    let of = |sizes: &[i64]| view(sizes, &[0; 4], 0);
    let attended = |query: &[i64], key: &[i64], is_causal: bool| {
        ScaledDotProductAttention.call(&of(query), &of(key), &of(key), None, 0.0, is_causal, None, false)
    };
    check("no keys", attended(&[1, 1, 3, 2], &[1, 1, 0, 2], false), Sizes(&[1, 1, 3, 2]));
    check("no keys that are seen", attended(&[1, 1, 3, 2], &[1, 1, 0, 2], true), Sizes(&[1, 1, 3, 2]));
    check("no queries", attended(&[1, 1, 0, 2], &[1, 1, 3, 2], false), Sizes(&[1, 1, 0, 2]));
    check("no elements", attended(&[1, 1, 3, 0], &[1, 1, 3, 0], false), Sizes(&[1, 1, 3, 0]));
    check("more queries than keys", attended(&[1, 1, 40, 2], &[1, 1, 3, 2], true), Sizes(&[1, 1, 40, 2]));
    let table = view(&[4, 2], &[0, 0], 63);
    let bags = |indices: &[i64], offsets: &[i64]| {
        let [indices, offsets] =
            [indices, offsets].map(|list| Tensor::from_slice(list, &[list.len() as i64]).unwrap());
        EmbeddingBag.call(&table, &indices, &offsets, false, 1, false, None, false).map(|bags| bags.0)
    };
    check("bags of nothing", bags(&[], &[0, 0]), Sizes(&[2, 2]));
    check("no bags", bags(&[], &[]), Sizes(&[0, 2]));
    check("rows at the ends", bags(&[MAX, i64::MIN], &[0]), Refused("out of range"));
    check("offsets at the ends", bags(&[1, 2], &[0, MAX]), Refused("argument `offsets`"));
    check("offsets below zero", bags(&[1, 2], &[i64::MIN, 1]), Refused("argument `offsets`"));
}
