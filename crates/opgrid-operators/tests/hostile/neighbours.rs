//! Indices, images and several outputs in one memory with what is written: beside it, between its elements, over it.

use opgrid_core::Result;
use opgrid_tensor::ops::{
    IndexFillInplaceIntScalar, MaxPool2dWithIndicesOut, ScatterInplaceSrc, ScatterInplaceValue,
};
use opgrid_tensor::{Geometry, Tensor};

use super::{MAX, Refused, check};

/// Twelve places: 0, 1, 2 four times.
fn places() -> Tensor {
    let numbers: Vec<i64> = (0..12).map(|at| at % 3).collect();
    Tensor::from_slice(&numbers, &[12]).unwrap()
}

fn part(memory: &Tensor, sizes: &[i64], strides: &[i64], offset: i64) -> Tensor {
    memory.view_as(Geometry::strided(sizes, strides, offset).unwrap()).unwrap()
}

fn all(memory: &Tensor) -> Vec<i64> {
    memory.to_vec().unwrap()
}

#[test]
fn indices_beside_the_elements_that_they_name() -> Result<()> {
    let memory = places();
    // Every second element is an index of the elements between: what is read again is not searched for those in common.
    let (written, index) = (part(&memory, &[6], &[2], 0), part(&memory, &[6], &[2], 1));
    let scattered = ScatterInplaceValue.call(&written, 0, &index, 7.into());
    check("every second", scattered.map(|()| written), Refused("some elements"));
    assert_eq!(all(&memory), all(&places()));
    let (written, index) = (part(&memory, &[3], &[1], 0), part(&memory, &[3], &[1], 3));
    // All values are one element, which lies beside both.
    ScatterInplaceSrc.call(&written, 0, &index, &part(&memory, &[3], &[0], 11))?;
    assert_eq!(all(&memory), [2, 2, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2]);
    Ok(())
}

#[test]
fn indices_among_what_is_written() -> Result<()> {
    for offset in [0, 1, 2, 5] {
        let memory = places();
        let (written, index) = (part(&memory, &[6], &[1], 0), part(&memory, &[6], &[1], offset));
        let scattered = ScatterInplaceValue.call(&written, 0, &index, 7.into());
        check("scatter", scattered.map(|()| written.clone()), Refused("some elements"));
        let filled = IndexFillInplaceIntScalar.call(&written, 0, &index, 7.into());
        check("index_fill", filled.map(|()| written.clone()), Refused("some elements"));
        assert_eq!(all(&memory), all(&places()), "offset {offset}");
    }
    Ok(())
}

#[test]
fn no_indices_far_away() -> Result<()> {
    let memory = places();
    let nowhere = part(&memory, &[0], &[MAX], MAX / 8);
    let written = part(&memory, &[6], &[1], 0);
    ScatterInplaceValue.call(&written, 0, &nowhere, 7.into())?;
    IndexFillInplaceIntScalar.call(&written, 0, &nowhere, 7.into())?;
    assert_eq!(all(&memory), all(&places()));
    Ok(())
}

#[test]
fn two_outputs_beside_each_other_and_the_image() -> Result<()> {
    let pooled = |image: &Tensor, outs: [&Tensor; 2]| {
        MaxPool2dWithIndicesOut.call(image, &[2, 2], &[], &[0, 0], &[1, 1], false, outs[0], outs[1])
    };
    let memory = places();
    let image = part(&memory, &[1, 2, 4], &[8, 4, 1], 4);
    let (out, indices) = (part(&memory, &[1, 1, 2], &[2, 2, 1], 0), part(&memory, &[1, 1, 2], &[2, 2, 1], 2));
    pooled(&image, [&out, &indices])?;
    // The image is 1, 2, 0, 1 over 2, 0, 1, 2.
    assert_eq!(all(&memory), [2, 2, 1, 7, 1, 2, 0, 1, 2, 0, 1, 2]);
    for (out, indices, stride) in [(0, 1, 2), (0, 1, 1), (0, 0, 1), (4, 0, 1), (0, 4, 1)] {
        let memory = places();
        let [out, indices] = [out, indices].map(|offset| part(&memory, &[1, 1, 2], &[4, 4, stride], offset));
        let image = part(&memory, &[1, 2, 4], &[8, 4, 1], 4);
        // Refused, or read before it is written.
        match pooled(&image, [&out, &indices]) {
            Ok(_) => assert_eq!([out, indices].map(|tensor| all(&tensor)), [[2, 2], [1, 7]]),
            Err(_) => assert_eq!(all(&memory), all(&places())),
        }
    }
    Ok(())
}
