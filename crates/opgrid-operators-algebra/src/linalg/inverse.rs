//! `aten::linalg_inv_ex`, `linalg_inv`, `inverse`: inverse matrices.
//!
//! `A * out = 1`
//!
//! - Shapes: square matrices, or batches of them; `info` has a number for each.
//! - Dtypes: float32, float64, complex64, complex128; `info` is int32.
//! - Values: `info` is 0, or the first pivot that is zero; what such a matrix gives is not defined.
//! - Strides: column-major, as in torch.
//! - Dispatch: `linalg_inv` and `inverse` are composites of `linalg_inv_ex`.
//! - Aliasing: the `out` forms write their outputs.
//! - Errors: other shapes or dtypes; with `check_errors`, and from `linalg_inv`, a singular matrix.
//! - Derivative: `-outᴴ * grad * outᴴ`.
//! - Source: torch.linalg.inv, PyTorch 2.15.

use crate::kinds::matrices::{Fault, Stack, adjoint, check, column_major, row_major};
use crate::prelude::*;

pub use opgrid_tensor::ops::linalg::inverse::*;

/// The family of `aten::linalg_inv_ex`: its kind, shape rule and `out` rule.
pub const LINALG_INV_EX: Family<LinalgInvEx> = Family::new(LinalgInvEx, &kind::FACTORIZATION, |a, _| {
    let spec = a.spec()?;
    let stack = Stack::square("A", spec)?;
    Ok((
        column_major(stack.batch, [stack.rows, stack.rows], spec)?,
        row_major(stack.batch, DType::I32, spec)?,
    ))
})
.same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library
        .family(&LINALG_INV_EX)
        .cpu(|a, check_errors, inverse, info| {
            opgrid_kernels::linalg::inverse(inverse.array()?, info.array()?, a.array()?)?;
            if check_errors { check(info, "linalg.inv", Fault::NotInvertible) } else { Ok(()) }
        })
        .derivative(|d, (a, _)| {
            d.differentiable(1);
            d.by(a, [d.result(0)], |grad, [inverse]| {
                let inverse = adjoint(inverse)?;
                inverse.matmul(grad)?.matmul(&inverse)?.neg()
            })
        });
    library.define_with_forms(LinalgInv, &kind::FACTORIZATION).implicit(|a| Ok(LinalgInvEx.call(a, true)?.0));
    library.implement(LinalgInvOut).implicit(|a, out| result::copied(out, &LinalgInvEx.call(a, true)?.0));
    library.define_with_forms(Inverse, &kind::FACTORIZATION).implicit(|a| Ok(LinalgInvEx.call(a, true)?.0));
    library.implement(InverseOut).implicit(|a, out| result::copied(out, &LinalgInvEx.call(a, true)?.0));
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::kinds::matrices::DTYPES;
    use crate::kinds::matrices::samples::{
        Matrix, STACKS, batch, map_matrices, refuse_others_than_square, well_conditioned,
    };
    use opgrid_samples::OperatorSamples;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let singular = Plain::from_elements(DType::F32, &[2, 2], &[1.0, 2.0, 2.0, 4.0]);
        let refused = |operator: &mut OperatorSamples| {
            refuse_others_than_square(operator)
                .tolerance(256.0)
                // Matrices with repeated rows are singular.
                .needs_distinct();
        };
        refused(samples.operator(LinalgInvEx, DTYPES, inputs, |it| {
            let x = it.tensor("A")?;
            Ok([expected(x), Plain::from_fn(DType::I32, batch(x), |_| Scalar::Int(0))].into())
        }));
        let linalg = samples.operator(LinalgInv, DTYPES, inputs, |it| Ok(expected(it.tensor("A")?).into()));
        refused(linalg.refuses_data("diagonal element 2 is zero", given(singular.clone())));
        let old = samples.operator(Inverse, DTYPES, inputs, |it| Ok(expected(it.tensor("self")?).into()));
        refused(old.refuses_data("diagonal element 2 is zero", given(singular)));
        samples.rounds(LinalgInvEx, Roundings::all(Rounding::Sum(256)));
        samples.rounds(LinalgInv, Roundings::all(Rounding::Sum(256)));
        samples.rounds(Inverse, Roundings::all(Rounding::Sum(256)));
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        STACKS.iter().map(|sizes| given(well_conditioned(dtype, sizes, 1))).collect()
    }

    fn expected(x: &Plain) -> Plain {
        map_matrices(x, |matrix| matrix.solve(&Matrix::identity(matrix.rows)))
    }
}
