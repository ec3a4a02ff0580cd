//! `aten::mT`, `aten::numpy_T`: transposed matrices, and dimensions in reverse order.
//!
//! - Shapes: `mT` exchanges the last two dimensions; `numpy_T` reverses all of them.
//! - Aliasing: views of `self`.
//! - Dispatch: composites of `transpose` and `permute`.
//! - Errors: `mT` of one dimension; a tensor without dimensions stays what it is.
//! - Source: torch.Tensor.T, torch.Tensor.mT, PyTorch 2.15.

use crate::ops::prelude::*;
use crate::ops::{Alias, Permute, TransposeInt};

operator! {
    home = crate::home;
    pub MT = "aten::mT(Tensor(a) self) -> Tensor(a)";
    pub NumpyT = "aten::numpy_T(Tensor(a) self) -> Tensor(a)";
}

pub(super) fn register(library: &mut Library) {
    library.define(MT).kind(&kind::VIEW).implicit(|input| {
        check_matrices(input)?;
        match input.sizes() {
            [] => Alias.call(input),
            _ => TransposeInt.call(input, -2, -1),
        }
    });
    library.define(NumpyT).kind(&kind::VIEW).implicit(|input| {
        let dims = input.spec()?.sizes().len() as i64;
        match dims {
            0 => Alias.call(input),
            _ => Permute.call(input, &(0..dims).rev().collect::<Vec<_>>()),
        }
    });
}

pub(super) fn samples(samples: &mut Samples) {
    let matrices = |dtype| {
        [vec![2, 3], vec![4, 2, 3], vec![0, 2], vec![]]
            .map(|sizes| given(make::numbers(dtype, &sizes, 0)))
            .to_vec()
    };
    samples
        .of(MT, STORED, matrices, |it| {
            let x = it.tensor("self")?;
            let mut order: Vec<usize> = (0..x.sizes().len()).collect();
            if let [.., row, column] = order.as_mut_slice() {
                std::mem::swap(row, column);
            }
            Ok(x.permuted(&order).into())
        })
        .view()
        .refuses("2 dimensions or more", given(make::numbers(DType::F32, &[3], 0)));
    samples
        .of(NumpyT, STORED, make::unary, |it| {
            let x = it.tensor("self")?;
            Ok(x.permuted(&(0..x.sizes().len()).rev().collect::<Vec<_>>()).into())
        })
        .view();
}

/// # Errors
///
/// A vector.
fn check_matrices(input: &Tensor) -> Result<()> {
    match input.spec()?.sizes() {
        [size] => {
            let message = format!(
                "argument `self` has shape [{size}], expected a matrix or a batch of them, with 2 dimensions or more"
            );
            Err(argument(message))
        }
        _ => Ok(()),
    }
}
