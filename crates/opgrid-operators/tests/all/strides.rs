//! Strides of results: of element-wise ones those that PyTorch 2.15 gave for the same inputs, and of copies.

use opgrid_core::{DType, Device, MemoryFormat};
use opgrid_tensor::ops;
use opgrid_tensor::{Geometry, Tensor, TensorSpec};
use serde_json::Value;

#[test]
fn elementwise_results_have_torch_s_strides() {
    let file: Value = serde_json::from_str(include_str!("../vectors/elementwise_strides.json")).unwrap();
    let list = |value: &Value| -> Vec<i64> {
        value.as_array().unwrap().iter().map(|number| number.as_i64().unwrap()).collect()
    };
    let cases = file["cases"].as_array().unwrap();
    assert!(cases.len() > 200);
    for case in cases {
        let inputs = case["inputs"].as_array().unwrap().iter();
        let inputs: Vec<Geometry> =
            inputs.map(|input| Geometry::strided(&list(&input[0]), &list(&input[1]), 0).unwrap()).collect();
        let result = TensorSpec::elementwise(&inputs.iter().collect::<Vec<_>>(), DType::F32, Device::CPU);
        let result = result.unwrap();
        assert_eq!(result.sizes(), list(&case["sizes"]), "{case}");
        assert_eq!(result.strides(), list(&case["strides"]), "{case}");
    }
}

#[test]
fn copies_keep_the_order_of_dimensions_in_memory() {
    let strides_of = |x: &Tensor, format| ops::CloneTensor.call(x, format).unwrap().strides().to_vec();
    let rows = Tensor::empty(&[2, 3, 4], DType::F32, Device::CPU).unwrap();
    let turned = rows.permute(&[2, 0, 1]).unwrap();
    assert_eq!(strides_of(&turned, None), [1, 12, 4]);
    assert_eq!(strides_of(&turned, Some(MemoryFormat::Preserve)), [1, 12, 4]);
    assert_eq!(strides_of(&turned, Some(MemoryFormat::Contiguous)), [6, 3, 1]);
    // With gaps the order stays, and the gaps go.
    let part = turned.narrow(0, 1, 2).unwrap();
    assert_eq!(part.strides(), [1, 12, 4]);
    assert_eq!(strides_of(&part, None), [1, 6, 2]);
    let meta = Tensor::empty(&[2, 3], DType::F32, Device::META).unwrap().transpose(0, 1).unwrap();
    assert_eq!(strides_of(&meta, None), [1, 3]);
}

/// What adds nothing up is a product by elements.
#[test]
fn products_over_single_places_lie_as_those_of_elements() {
    let of = |sizes: &[i64]| Tensor::empty(sizes, DType::F32, Device::CPU).unwrap();
    for (equation, a, b, expected) in [
        ("ij,jk->ki", [2, 1], [1, 4], [1, 4]),
        ("ij,jk->ki", [2, 1], [1, 1], [2, 1]),
        ("ij,kj->ki", [7, 1], [5, 1], [7, 1]),
        ("ij,jk->ki", [2, 3], [3, 4], [2, 1]),
    ] {
        let product = ops::Einsum.call(equation, &[of(&a), of(&b)], None).unwrap();
        assert_eq!(product.strides(), expected, "{equation} of {a:?} and {b:?}");
    }
}

#[test]
fn padding_that_adds_nothing_keeps_the_order() {
    let turned = Tensor::empty(&[2, 3, 4], DType::F32, Device::CPU).unwrap().permute(&[2, 0, 1]).unwrap();
    let strides_of = |pad: &[i64]| {
        let padded = ops::ConstantPadNd.call(&turned, pad, 2.into()).unwrap();
        (padded.sizes().to_vec(), padded.strides().to_vec())
    };
    assert_eq!(strides_of(&[]), (vec![4, 2, 3], vec![1, 12, 4]));
    assert_eq!(strides_of(&[-1, 0]), (vec![4, 2, 2], vec![1, 8, 4]));
    assert_eq!(strides_of(&[-1, 1]), (vec![4, 2, 3], vec![6, 3, 1]));
    // Frames of the other end are row-major, whatever the elements do.
    let circular = ops::PadCircular.call(&turned, &[1, 1]).unwrap();
    assert_eq!((circular.sizes(), circular.strides()), (&[4, 2, 5][..], &[10, 5, 1][..]));
    assert_eq!(ops::PadCircular.call(&turned, &[0, 0]).unwrap().strides(), [6, 3, 1]);
    let images =
        Tensor::empty(&[1, 3, 4, 2], DType::F32, Device::CPU).unwrap().permute(&[0, 3, 1, 2]).unwrap();
    assert_eq!(ops::PadCircular.call(&images, &[1, 0, 0, 1]).unwrap().strides(), [40, 20, 5, 1]);
}

#[test]
fn gradients_lie_as_torch_s() {
    let ones = |sizes: &[i64]| Tensor::ones(sizes, DType::F32, Device::CPU).unwrap();
    let last = |x: &Tensor, format| ops::Contiguous.call(x, format).unwrap();
    let (grad, to, from) = (last(&ones(&[2, 3, 6, 8]), MemoryFormat::ChannelsLast), [6, 8], [2, 3, 3, 4]);
    for (gradient, strides) in [
        (ops::UpsampleBilinear2dBackward.call(&grad, &to, &from, false, None, None), [36, 1, 12, 3]),
        (ops::UpsampleBilinear2dAaBackward.call(&grad, &to, &from, false, None, None), [36, 1, 12, 3]),
        (ops::UpsampleNearest2dBackward.call(&grad, &to, &from, None, None), [36, 1, 12, 3]),
        (ops::UpsampleBicubic2dBackward.call(&grad, &to, &from, false, None, None), [36, 12, 4, 1]),
        (ops::UpsampleBicubic2dAaBackward.call(&grad, &to, &from, false, None, None), [36, 12, 4, 1]),
    ] {
        assert_eq!(gradient.unwrap().strides(), strides);
    }
    let (grad, to, from) =
        (last(&ones(&[2, 3, 4, 6, 8]), MemoryFormat::ChannelsLast3d), [4, 6, 8], [2, 3, 2, 3, 4]);
    let linear = ops::UpsampleTrilinear3dBackward.call(&grad, &to, &from, false, None, None, None).unwrap();
    let nearest = ops::UpsampleNearest3dBackward.call(&grad, &to, &from, None, None, None).unwrap();
    assert_eq!((linear.strides(), nearest.strides()), (&[72, 1, 36, 12, 3][..], &[72, 24, 12, 4, 1][..]));

    let (rows, parameter) = (ones(&[2, 3, 4, 4]), ones(&[3]));
    let columns = last(&rows, MemoryFormat::ChannelsLast);
    for (grad, input) in [(&rows, &columns), (&columns, &rows), (&columns, &columns)] {
        for train in [true, false] {
            let p = Some(&parameter);
            let gradient =
                ops::NativeBatchNormBackward.call(grad, input, p, p, p, p, p, train, 1e-5, &[true; 3]);
            assert_eq!(gradient.unwrap().0.strides(), input.strides());
        }
    }

    let (row, column) = (ones(&[2, 3]), ones(&[3, 2]).t().unwrap());
    let logit = |grad, x| ops::LogitBackward.call(grad, x, None).unwrap().strides().to_vec();
    let gelu = |grad, x| ops::InfinitelyDifferentiableGeluBackward.call(grad, x).unwrap().strides().to_vec();
    // In torch the second one has the strides of the gradient, [1, 2].
    assert_eq!([logit(&row, &column), logit(&column, &row)], [[3, 1], [3, 1]]);
    assert_eq!([gelu(&row, &column), gelu(&column, &row)], [[1, 2], [3, 1]]);
    let map = ops::AffineGridGeneratorBackward.call(&ones(&[2, 2, 3, 2]), &[2, 3, 2, 3], false).unwrap();
    assert_eq!(map.strides(), [6, 1, 2]);
}
