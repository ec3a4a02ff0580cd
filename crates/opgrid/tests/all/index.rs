//! `Tensor::i`, by what the same index gives in Python with torch 2.15.
#![allow(clippy::reversed_empty_ranges, reason = "negative ends count from the end")]

use std::ops::Bound;

use opgrid::index::{Ellipsis, NewAxis};
use opgrid::prelude::*;

/// The numbers 0 to 23 in the shape 2x3x4.
fn cube() -> Tensor {
    Tensor::arange(0, 24, 1).unwrap().view((2, 3, 4)).unwrap()
}

fn sizes_and_first(x: Result<Tensor>) -> (Vec<i64>, i64) {
    let x = x.unwrap();
    (x.sizes().to_vec(), x.to_vec::<i64>().unwrap().first().copied().unwrap_or(-1))
}

#[test]
fn numbers_and_ranges() {
    let x = cube();
    for (found, expected) in [
        (x.i(1), (vec![3, 4], 12)),                           // x[1]
        (x.i(-2), (vec![3, 4], 0)),                           // x[-2]
        (x.i((0, 2, 3)), (vec![], 11)),                       // x[0, 2, 3]
        (x.i((.., 1..)), (vec![2, 2, 4], 4)),                 // x[:, 1:]
        (x.i((.., .., 1..3)), (vec![2, 3, 2], 1)),            // x[:, :, 1:3]
        (x.i((.., -2..-1)), (vec![2, 1, 4], 4)),              // x[:, -2:-1]
        (x.i((.., 1..=2)), (vec![2, 2, 4], 4)),               // x[:, 1:3]
        (x.i((.., 0..=-1)), (vec![2, 3, 4], 0)),              // x[:, 0:]
        (x.i((.., ..=1)), (vec![2, 2, 4], 0)),                // x[:, :2]
        (x.i((.., 2..9)), (vec![2, 1, 4], 8)),                // x[:, 2:9]
        (x.i((.., 2..1)), (vec![2, 0, 4], -1)),               // x[:, 2:1]
        (x.i((Ellipsis, 1)), (vec![2, 3], 1)),                // x[..., 1]
        (x.i((1, Ellipsis, 2..)), (vec![3, 2], 14)),          // x[1, ..., 2:]
        (x.i((NewAxis, 1, NewAxis)), (vec![1, 1, 3, 4], 12)), // x[None, 1, None]
        (x.i((Bound::Excluded(0), Bound::Unbounded)), (vec![1, 3, 4], 12)),
    ] {
        assert_eq!(sizes_and_first(found), expected);
    }
}

#[test]
fn numbers_of_any_type_and_views() -> Result<()> {
    let x = cube();
    let n: usize = 1;
    assert_eq!(x.i((n, n as u32, n as i64))?.to_scalar::<i64>()?, 17);
    assert_eq!(x.i(0..n)?.sizes(), [1, 3, 4]);
    x.i((0, 0, 0))?.fill_(100)?;
    assert_eq!(x.i((0, 0, 0))?.to_scalar::<i64>()?, 100, "a view");
    Ok(())
}

#[test]
fn tensors_of_indices_and_masks() -> Result<()> {
    let x = cube();
    let rows = tensor![2, 0]?;
    assert_eq!(sizes_and_first(x.i(&tensor![1]?)), (vec![1, 3, 4], 12)); // x[[1]]
    assert_eq!(sizes_and_first(x.i((.., &rows))), (vec![2, 2, 4], 8)); // x[:, [2, 0]]
    assert_eq!(sizes_and_first(x.i((1, &rows, 1..))), (vec![2, 3], 21)); // x[1, [2, 0], 1:]
    assert_eq!(sizes_and_first(x.i((&tensor![1, 0]?, &rows))), (vec![2, 4], 20)); // x[[1, 0], [2, 0]]
    let mask = x.gt(20)?;
    assert_eq!(x.i(&mask)?.to_vec::<i64>()?, [21, 22, 23]); // x[x > 20]
    let plane = tensor![[false, true, false], [true, false, false]]?;
    assert_eq!(x.i((&plane, 3))?.to_vec::<i64>()?, [7, 15]); // x[plane, 3]
    assert_eq!(sizes_and_first(x.i((&plane, &tensor![0, 3]?))), (vec![2], 4)); // x[plane, [0, 3]]
    let columns = tensor![true, false, true]?;
    assert_eq!(sizes_and_first(x.i((0, &columns))), (vec![2, 4], 0)); // x[0, columns]
    Ok(())
}

#[test]
fn indices_that_do_not_fit_are_errors() {
    let x = cube();
    let message = |index: Result<Tensor>| index.unwrap_err().to_string();
    assert!(message(x.i((0, 0, 0, 0))).contains("found an index for 4 dimensions, expected at most 3"));
    assert!(message(x.i((Ellipsis, 0, Ellipsis))).contains("found two ellipses"));
    assert!(message(x.i(2)).contains("out of range"));
    assert!(message(x.i(&tensor![0.5].unwrap())).contains("has a tensor of dtype float32, expected int64"));
}
