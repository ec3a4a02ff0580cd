//! `aten::one_hot`: a one at each index, zeros elsewhere.
//!
//! `out[…, k] = 1 if self[…] == k else 0`
//!
//! - Shapes: that of `self` with a last dimension of `num_classes`; without it one more than the largest index.
//! - Dtypes: int64.
//! - Dispatch: a composite of `zeros` and `scatter_`. On meta tensors `num_classes` is needed, and indices are not checked.
//! - Errors: another dtype, indices below zero or not below `num_classes`, no elements and no `num_classes`.
//! - Source: torch.nn.functional.one_hot, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::{Amax, Amin, Item, NewZeros, ScatterInplaceValue, Unsqueeze};

pub use opgrid_tensor::ops::indexing::one_hot::*;

pub(super) fn register(library: &mut Library) {
    library.define(OneHot).kind(&kind::INDEXING).implicit(one_hot);
}

fn one_hot(input: &Tensor, num_classes: i64) -> Result<Tensor> {
    let spec = input.spec()?;
    if spec.dtype() != DType::I64 {
        return Err(argument(format!("argument `self` has dtype {}, expected int64", spec.dtype())));
    }
    let zeros =
        |classes: i64| NewZeros.call(input, &[spec.sizes(), &[classes]].concat(), None, None, None, None);
    if spec.numel() == 0 {
        return if num_classes > 0 {
            zeros(num_classes)
        } else {
            Err(argument("argument `self` has no elements to find the number of classes; give `num_classes`"))
        };
    }
    if num_classes < -1 {
        return Err(argument(format!(
            "argument `num_classes` is {num_classes}, expected one more than the largest index"
        )));
    }
    // What has no elements cannot be checked; a program that is made of the call checks its indices when it runs.
    let is_unknown = spec.device().is_meta() && num_classes > 0;
    let classes = if is_unknown { num_classes } else { count_classes(input, num_classes)? };
    let result = zeros(classes)?;
    ScatterInplaceValue.call(&result, -1, &Unsqueeze.call(input, -1)?, Scalar::Int(1))?;
    Ok(result)
}

/// The number of classes that was given, or one more than the largest index.
///
/// # Errors
///
/// Indices below zero, or not below the number that was given.
fn count_classes(input: &Tensor, num_classes: i64) -> Result<i64> {
    let number = |tensor: Tensor| -> Result<i64> { arithmetic::element(Item.call(&tensor)?) };
    let (least, most) = (number(Amin.call(input, &[], false)?)?, number(Amax.call(input, &[], false)?)?);
    if least < 0 {
        return Err(argument(format!("argument `self` has the index {least}, expected 0 or more")));
    }
    match num_classes {
        -1 => most.checked_add(1).ok_or_else(|| argument("the number of classes overflows 64 bits")),
        classes if most < classes => Ok(classes),
        classes => {
            let message =
                format!("argument `self` has the index {most}, expected less than `num_classes`, {classes}");
            Err(argument(message))
        }
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let inputs = |dtype| {
            let cases: [(&[i64], i64); 2] = [(&[2, 2], 5), (&[], 3)];
            let one = |(sizes, classes): (&[i64], i64)| {
                given(Plain::from_elements(dtype, sizes, &[1, 0, 2])).and(classes)
            };
            cases.map(one).to_vec()
        };
        let without_elements = |dtype| {
            [(vec![0], 2), (vec![2, 0], 1)]
                .map(|(sizes, classes)| given(Plain::from_elements(dtype, &sizes, &[0])).and(classes))
                .to_vec()
        };
        samples.operator(OneHot, &[DType::I64], without_elements, reference);
        let largest = |dtype| vec![given(Plain::from_elements(dtype, &[3], &[1, 0, 2])).and(-1)];
        samples.operator(OneHot, &[DType::I64], largest, reference).not_on_meta();
        let index = Plain::from_elements(DType::I64, &[2], &[1, 4]);
        samples
            .operator(OneHot, &[DType::I64], inputs, reference)
            .refuses_data("num_classes", given(index.clone()).and(4))
            .refuses_data("0 or more", given(Plain::from_elements(DType::I64, &[1], &[-1])))
            .refuses("no elements", given(index.with_sizes(&[0])))
            .refuses("expected int64", given(index.to(DType::I32)));
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let (x, mut classes): (_, i64) = (it.tensor("self")?, it.value("num_classes")?);
        if classes < 0 {
            classes = x.elements().iter().map(|index| number::whole(*index) + 1).max().unwrap_or(0);
        }
        let sizes = [x.sizes(), &[classes]].concat();
        Ok(Plain::from_fn(DType::I64, &sizes, |position| {
            let (class, place) = position.split_last().unwrap_or((&0, &[]));
            Scalar::Bool(number::whole(x.at(place)) == *class)
        })
        .into())
    }
}
