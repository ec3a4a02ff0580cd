//! `aten::mT`, `aten::mH`, `aten::adjoint`, `aten::matrix_H`, `aten::numpy_T`: transposed matrices, their conjugates, and dimensions
//! in reverse order.
//!
//! - Shapes: `mT`, `mH`, `adjoint` and `matrix_H` exchange the last two dimensions; `numpy_T` reverses all of them.
//! - Dtypes: any; of complex numbers `mH`, `adjoint` and `matrix_H` give the conjugates.
//! - Aliasing: views of `self`; conjugates are computed, in new memory.
//! - Dispatch: composites of `transpose`, `conj` and `permute`.
//! - Errors: one dimension, where matrices are exchanged; more than two for `matrix_H`. A tensor without dimensions stays what
//!   it is.
//! - Source: torch.Tensor.T, torch.Tensor.mT, torch.Tensor.mH, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::{Alias, Conj, Permute, TransposeInt};

pub use opgrid_tensor::ops::views::matrix_transpose::*;

pub(super) fn register(library: &mut Library) {
    library.define(MT).kind(&kind::VIEW).implicit(|input| {
        check_matrices(input)?;
        match input.sizes() {
            [] => Ok(input.clone()),
            _ => TransposeInt.call(input, -2, -1),
        }
    });
    library.define(MH).kind(&kind::VIEW).implicit(adjoint);
    library.define(Adjoint).kind(&kind::VIEW).implicit(adjoint);
    library.define(MatrixH).kind(&kind::VIEW).implicit(|input| match input.spec()?.sizes() {
        [] | [_, _] => adjoint(input),
        sizes => Err(argument(format!(
            "argument `self` has shape {sizes:?}, expected a matrix; use `mH` for a batch of them"
        ))),
    });
    library.define(NumpyT).kind(&kind::VIEW).implicit(|input| {
        let dims = input.spec()?.sizes().len() as i64;
        match dims {
            0 => Alias.call(input),
            _ => Permute.call(input, &(0..dims).rev().collect::<Vec<_>>()),
        }
    });
}

/// Matrices transposed, of conjugates; a tensor without dimensions is one element.
fn adjoint(input: &Tensor) -> Result<Tensor> {
    check_matrices(input)?;
    match input.sizes() {
        [] => Conj.call(input),
        _ => Conj.call(&TransposeInt.call(input, -2, -1)?),
    }
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

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let matrices = |dtype| {
            [vec![2, 3], vec![4, 2, 3], vec![0, 2], vec![]]
                .map(|sizes| given(generate::numbers(dtype, &sizes, 0)))
                .to_vec()
        };
        let transposed = |it: &Inputs| -> Result<Plain> {
            let x = it.tensor("self")?;
            let mut order: Vec<usize> = (0..x.sizes().len()).collect();
            if let [.., row, column] = order.as_mut_slice() {
                std::mem::swap(row, column);
            }
            Ok(x.permuted(&order))
        };
        let vector = given(generate::numbers(DType::F32, &[3], 0));
        samples
            .operator_with(MT, STORED, matrices, move |it| Ok(transposed(it)?.into()))
            .view()
            .refuses("2 dimensions or more", vector.clone());
        let conjugated = move |it: &Inputs| -> Result<Expected> {
            let x = transposed(it)?;
            let conjugate = |position: &[i64]| match x.at(position) {
                Scalar::Complex(element) => Scalar::Complex(element.conj()),
                element => element,
            };
            Ok(Plain::from_fn(x.dtype(), x.sizes(), conjugate).into())
        };
        samples.operator_with(MH, ANY, matrices, conjugated).refuses("2 dimensions or more", vector.clone());
        samples
            .operator_with(Adjoint, ANY, matrices, conjugated)
            .refuses("2 dimensions or more", vector.clone());
        let one = |dtype| {
            [vec![2, 3], vec![0, 2], vec![]].map(|sizes| given(generate::numbers(dtype, &sizes, 0))).to_vec()
        };
        samples
            .operator_with(MatrixH, ANY, one, conjugated)
            .refuses("expected a matrix", vector)
            .refuses("use `mH`", given(generate::numbers(DType::F32, &[2, 2, 2], 0)));
        let eager = Difference {
            id: "conjugates-of-matrices-are-computed",
            what: "torch returns a view of complex matrices with the conjugate bit set; here a new \
                 tensor has the conjugates",
            why: "no operator has to check the conjugate bit",
            test: ("opgrid-operators/tests/all/differences/computed.rs", "conjugates_are_computed"),
            when: |seen| {
                let is_complex = seen.inputs().iter().any(|input| input.dtype.is_complex());
                let is_layout =
                    matches!(seen.part, Part::Identity | Part::Strides | Part::Offset | Part::Written);
                is_complex && is_layout
            },
            directed: None,
        };
        samples.differs(MH, eager);
        samples.differs(Adjoint, eager);
        samples.differs(MatrixH, eager);
        samples
            .operator(NumpyT, STORED, generate::unary, |it| {
                let x = it.tensor("self")?;
                Ok(x.permuted(&(0..x.sizes().len()).rev().collect::<Vec<_>>()).into())
            })
            .view();
    }
}
