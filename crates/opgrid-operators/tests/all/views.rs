//! Checks that views share memory, and what recorded results cannot show: numbers, errors that name the argument.

use opgrid_core::{DType, Device, Scalar};
use opgrid_tensor::ops::{
    DiagonalBackward, ExpandCopy, FullOut, GatherOut, IndexSelectOut, LocalScalarDense,
    MaskedFillInplaceTensor, PermuteCopy, SelectBackward, SliceBackward, SplitCopyTensor, SplitCopyTensorOut,
    SqueezeDims, UnfoldBackward, ViewCopy, WhereScalarOther,
};
use opgrid_tensor::{Bool, Tensor};

fn count(sizes: &[i64]) -> Tensor {
    Tensor::arange(0, sizes.iter().product::<i64>(), 1).unwrap().reshape(sizes).unwrap()
}

fn list(elements: &[i64]) -> Tensor {
    Tensor::from_slice(elements, &[elements.len() as i64]).unwrap()
}

fn elements(tensor: &Tensor) -> Vec<i64> {
    tensor.to_vec().unwrap()
}

fn message<T: std::fmt::Debug>(result: opgrid_core::Result<T>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn views_share_memory() {
    let x = count(&[2, 1, 3]);
    let views = [
        x.expand(&[2, 1, 3]),
        x.permute(&[2, 0, 1]),
        x.transpose(0, -1),
        x.squeeze_all(),
        x.squeeze(1),
        SqueezeDims.call(&x, &[1, 0]),
        x.unsqueeze(0),
        x.reshape(&[3, 2]),
        x.flatten(0, -1),
        x.select(0, 1),
        x.slice(2, 0, 2, 1),
        x.squeeze_all().unwrap().t(),
    ];
    for view in views.map(Result::unwrap) {
        assert!(view.array().unwrap().storage().is_same(x.array().unwrap().storage()));
    }
    x.transpose(0, 2).unwrap().select(0, 1).unwrap().fill_(9).unwrap();
    assert_eq!(elements(&x), [0, 9, 2, 3, 9, 5]);
    let copy = x.squeeze_all().unwrap().t().unwrap().reshape(&[-1]).unwrap();
    assert!(!copy.array().unwrap().storage().is_same(x.array().unwrap().storage()));
    assert_eq!(elements(&copy), [0, 3, 9, 9, 2, 5]);
}

#[test]
fn copies_of_views_are_row_major_in_memory_of_their_own() {
    let x = count(&[2, 3]);
    let copies = [
        PermuteCopy.call(&x, &[1, 0]).unwrap(),
        ExpandCopy.call(&x, &[2, 2, 3], false).unwrap(),
        // No view shows a transposed matrix as a vector.
        ViewCopy.call(&x.t().unwrap(), &[6]).unwrap(),
    ];
    let parts = SplitCopyTensor.call(&x.t().unwrap(), 2, 0).unwrap();
    x.fill_(9).unwrap();
    for copy in copies.iter().chain(&parts) {
        assert!(copy.geometry().is_row_major() && copy.geometry().offset() == 0, "{copy:?}");
    }
    assert_eq!(elements(&copies[0]), [0, 3, 1, 4, 2, 5]);
    assert_eq!(elements(&copies[1]), [0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5]);
    assert_eq!(elements(&copies[2]), [0, 3, 1, 4, 2, 5]);
    assert_eq!(parts.iter().map(elements).collect::<Vec<_>>(), [vec![0, 3, 1, 4], vec![2, 5]]);
}

#[test]
fn a_list_of_outputs_has_one_for_each_result() {
    let x = count(&[3, 2]);
    let outputs = [list(&[]), count(&[1, 2])];
    SplitCopyTensorOut.call(&x, 2, 0, &outputs).unwrap();
    assert_eq!((elements(&outputs[0]), elements(&outputs[1])), (vec![0, 1, 2, 3], vec![4, 5]));
    let before = outputs.each_ref().map(elements);
    for (wrong, part) in [
        (&outputs[..1], "argument `out` has 1 tensors, expected 2"),
        (&[outputs[0].clone(), list(&[1])][..], "doesn't match the result's shape [1, 2]"),
        (
            &[outputs[0].clone(), outputs[1].to_dtype(DType::F32).unwrap()][..],
            "dtype float32, expected int64",
        ),
        (&[x.narrow(0, 0, 2).unwrap(), x.narrow(0, 0, 1).unwrap()][..], "two outputs"),
    ] {
        let error = message(SplitCopyTensorOut.call(&x, 2, 0, wrong));
        assert!(error.contains("split_copy.Tensor_out") && error.contains(part), "{error}");
    }
    assert_eq!(outputs.each_ref().map(elements), before);
    assert_eq!(elements(&x), [0, 1, 2, 3, 4, 5]);
}

#[test]
fn numbers_come_out_as_they_went_in() {
    assert_eq!(list(&[7]).item().unwrap(), Scalar::Int(7));
    let flag = Tensor::from_slice(&[Bool::TRUE], ()).unwrap();
    assert_eq!(flag.item().unwrap(), Scalar::Bool(true));
    assert_eq!(Tensor::from_slice(&[0.5f32], &[1, 1]).unwrap().item().unwrap(), Scalar::Float(0.5));
    assert_eq!(LocalScalarDense.call(&Tensor::number(2.5)).unwrap(), Scalar::Float(2.5));
    assert!(message(list(&[1, 2]).item()).contains("2 elements"));
    let meta = Tensor::empty((), DType::F32, Device::META).unwrap();
    assert!(message(meta.item()).contains("aten::_local_scalar_dense: argument `self` is a meta tensor"));
}

#[test]
fn indices_out_of_range_are_named() {
    let x = count(&[3, 4]);
    let far = list(&[0, 4]);
    assert!(
        message(x.index(&[None, Some(far.clone())])).contains("index 4 is out of bounds for dimension 1")
    );
    assert!(message(x.index_select(0, &list(&[-1]))).contains("index -1 is out of bounds for dimension 0"));
    assert!(
        message(x.gather(0, &count(&[4, 1])))
            .contains("index 3 is out of bounds for dimension 0 with size 3")
    );
    assert!(message(x.index_put_(&[Some(far)], &list(&[0]), false)).contains("index 4"));
    assert_eq!(elements(&x), (0..12).collect::<Vec<_>>(), "nothing was written");
}

#[test]
fn later_values_stay_and_sums_add_up() {
    let x = Tensor::zeros(&[3], DType::I64, Device::CPU).unwrap();
    x.index_put_(&[Some(list(&[1, 1, 2]))], &list(&[5, 6, 7]), false).unwrap();
    assert_eq!(elements(&x), [0, 6, 7]);
    x.index_put_(&[Some(list(&[1, 1, -1]))], &list(&[1, 1, 1]), true).unwrap();
    assert_eq!(elements(&x), [0, 8, 8]);
}

#[test]
fn outputs_beside_their_inputs() {
    let x = count(&[2, 4]);
    let (top, bottom) = (x.select(0, 0).unwrap(), x.select(0, 1).unwrap());
    IndexSelectOut.call(&top, 0, &list(&[3, 2, 1, 0]), &bottom).unwrap();
    assert_eq!(elements(&x), [0, 1, 2, 3, 3, 2, 1, 0]);
    assert!(message(IndexSelectOut.call(&top, 0, &list(&[3, 2, 1, 0]), &top)).contains("clone()"));
    assert!(message(GatherOut.call(&bottom, 0, &top, false, &top)).contains("clone()"));
    let (left, right) = (x.slice(1, 0, 2, 1).unwrap(), x.slice(1, 1, 3, 1).unwrap());
    assert!(message(left.index_put_(&[None], &right, false)).contains("clone()"));
    assert!(
        message(Tensor::cat(std::slice::from_ref(&x), 7)).starts_with("aten::cat: dimension out of range")
    );
    let taken = message(FullOut.call(&[3], Scalar::Int(1), &x));
    assert!(taken.starts_with("aten::full.out: argument `out` has shape [2, 4]"), "{taken}");
}

#[test]
fn masks_and_conditions() {
    let x = count(&[2, 2]);
    let mask = Tensor::from_slice(&[Bool::TRUE, Bool::FALSE], &[2]).unwrap();
    assert_eq!(elements(&x.masked_fill(&mask, -1).unwrap()), [-1, 1, -1, 3]);
    MaskedFillInplaceTensor.call(&x, &mask, &Tensor::from_slice(&[9i64], ()).unwrap()).unwrap();
    assert_eq!(elements(&x), [9, 1, 9, 3]);
    assert_eq!(elements(&x.index(&[Some(mask.clone())]).unwrap()), [9, 1]);
    let chosen = WhereScalarOther.call(&mask, &x, Scalar::Int(0)).unwrap();
    assert_eq!(elements(&chosen), [9, 0, 9, 0]);
    assert_eq!(elements(&Tensor::where_(&mask, &x, &list(&[4])).unwrap()), [9, 4, 9, 4]);
    let refused = message(x.masked_fill(&list(&[1]), 0));
    assert!(refused.contains("argument `mask` has dtype int64, expected bool"), "{refused}");
    let bytes = Tensor::zeros(&[2], DType::U8, Device::CPU).unwrap();
    assert!(message(bytes.masked_fill_(&mask, 300)).contains("without overflow"));
}

#[test]
fn joined_images_keep_their_order_in_memory() {
    let images = count(&[2, 3, 2, 2]);
    let last = images.permute(&[0, 2, 3, 1]).unwrap().contiguous().unwrap().permute(&[0, 3, 1, 2]).unwrap();
    assert_eq!(Tensor::cat(&[last.clone(), last.clone()], 1).unwrap().strides(), [24, 1, 12, 6]);
    assert_eq!(Tensor::cat(&[last.clone(), images.clone()], 1).unwrap().strides(), [24, 4, 2, 1]);
    let both = Tensor::stack(&[last, images.clone()], 0).unwrap();
    assert_eq!(elements(&both.select(0, 0).unwrap()), elements(&images));
}

#[test]
fn gradients_of_views_are_stretched() {
    let (one, sizes) = (Tensor::ones((), DType::I64, Device::CPU).unwrap(), [2, 3]);
    let gradients = [
        SelectBackward.call(&one, &sizes, 0, 1).unwrap(),
        SliceBackward.call(&one, &sizes, 1, 0, 3, 2).unwrap(),
        DiagonalBackward.call(&one, &sizes, 0, 0, 1).unwrap(),
        UnfoldBackward.call(&one, &sizes, 1, 2, 1).unwrap(),
    ];
    let expected = [[0, 0, 0, 1, 1, 1], [1, 0, 1, 1, 0, 1], [1, 0, 0, 0, 1, 0], [1, 2, 1, 1, 2, 1]];
    assert_eq!(gradients.each_ref().map(elements), expected.map(Vec::from));
    let error = message(SelectBackward.call(&count(&[2]), &sizes, 0, 1));
    assert!(error.contains("argument `grad_output` has shape [2], expected [3] as the view"), "{error}");
}

#[test]
fn rows_without_elements_are_joined_at_once() {
    let rows = Tensor::empty(&[1i64 << 60, 0], DType::I32, Device::CPU).unwrap();
    assert_eq!(Tensor::cat(&[rows.clone(), rows], 1).unwrap().sizes(), [1 << 60, 0]);
}
