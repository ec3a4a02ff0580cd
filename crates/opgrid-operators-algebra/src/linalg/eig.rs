//! `aten::linalg_eig`, `_linalg_eigvals`, `linalg_eigvals`: eigenvalues and eigenvectors of matrices.
//!
//! `A * V = V * diag(L)`
//!
//! - Shapes: square matrices, or batches of them; a value for each column of `V`.
//! - Dtypes: float32, float64, complex64, complex128; eigenvalues and eigenvectors are complex.
//! - Values: eigenvectors have length 1, and their largest element is real and positive. The order of eigenvalues is not defined.
//! - Strides: column-major, as in torch.
//! - Dispatch: `linalg_eigvals` is a composite of `_linalg_eigvals`, or of `linalg_eig` where its result is differentiated.
//! - Aliasing: `linalg_eig.out` and `linalg_eigvals.out` write their outputs.
//! - Errors: other shapes or dtypes; elements that are not finite.
//! - Derivative: for different eigenvalues; a function of eigenvectors must not depend on the numbers that they may be multiplied by.
//! - Source: torch.linalg.eig, PyTorch 2.15.

use crate::kinds::matrices::{
    Stack, adjoint, check_converged, column_major, complex, diagonal_matrix, needs_vectors, row_major,
};
use crate::prelude::*;
use opgrid_kernels::linalg::eigen;
use opgrid_tensor::ops::{Diagonal, LinalgSolveExWithFactors, Real};
use opgrid_tensor::tensor::Array;

pub use opgrid_tensor::ops::linalg::eig::*;

/// The family of `aten::linalg_eig`: its kind, shape rule and `out` rule.
pub const LINALG_EIG: Family<LinalgEig> = Family::new(LinalgEig, &kind::FACTORIZATION, |a| {
    let spec = a.spec()?;
    let stack = Stack::square("self", spec)?;
    let dtype = complex(spec.dtype());
    let values = row_major(&stack.with(&[stack.rows]), dtype, spec)?;
    let vectors = column_major(stack.batch, [stack.rows, stack.rows], &values)?;
    Ok((values, vectors))
})
.same_dtype_out();

/// The family of `aten::_linalg_eigvals`: its kind and shape rule.
pub const LINALG_EIGVALS_ALONE: Family<LinalgEigvalsAlone> =
    Family::new(LinalgEigvalsAlone, &kind::FACTORIZATION, |a| {
        let spec = a.spec()?;
        let stack = Stack::square("self", spec)?;
        row_major(&stack.with(&[stack.rows]), complex(spec.dtype()), spec)
    })
    .same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library
        .family(&LINALG_EIG)
        .cpu(|a, values, vectors| {
            let found = eigen(values.array()?, vectors.array()?, a.array()?)?;
            check_converged(found, "linalg.eig", a)
        })
        .derivative(|d, (a,)| {
            let is_real = !a.dtype().is_complex();
            d.by_all(a, [d.result(0), d.result(1)], move |grads, [values, vectors]| {
                gradient(grads.for_result(0), grads.for_result(1), values, vectors, is_real)
            })
        });
    library
        .family(&LINALG_EIGVALS_ALONE)
        .cpu(|a, values| {
            let none = Array::empty(row_major(&[0], values.dtype(), values.spec()?)?)?;
            check_converged(eigen(values.array()?, &none, a.array()?)?, "linalg.eig", a)
        })
        .derivative(|d, (a,)| {
            let is_real = !a.dtype().is_complex();
            d.by(a, [a], move |grad, [a]| {
                let (values, vectors) = LinalgEig.call(a)?;
                let by_values = gradient(Some(grad), None, &values, &vectors, is_real)?;
                by_values.map_or_else(|| derivatives::zeros(a), Ok)
            })
        });
    library.define_with_forms(LinalgEigvals, &kind::FACTORIZATION).implicit(|a| {
        // The vectors are needed for the derivative, so that they are computed once with the values.
        if needs_vectors(a) { Ok(LinalgEig.call(a)?.0) } else { LinalgEigvalsAlone.call(a) }
    });
    library.implement(LinalgEigvalsOut).implicit(|a, out| result::copied(out, &LinalgEigvalsAlone.call(a)?));
}

fn gradient(
    of_values: Option<&Tensor>,
    of_vectors: Option<&Tensor>,
    values: &Tensor,
    vectors: &Tensor,
    is_real: bool,
) -> Result<Option<Tensor>> {
    let by_values = of_values.map(diagonal_matrix).transpose()?;
    let vh = adjoint(vectors)?;
    let by_vectors = of_vectors
        .map(|grad| {
            let inner = vh.matmul(grad)?;
            // Vectors keep their length.
            let along = Real.call(&Diagonal.call(&inner, 0, -2, -1)?)?.unsqueeze(-2)?;
            let inner = inner.sub(&vh.matmul(&vectors.mul(&along)?)?)?;
            let inner = inner.div(&super::eigh::differences(values)?.conj()?)?;
            inner.sub(&diagonal_matrix(&Diagonal.call(&inner, 0, -2, -1)?)?)
        })
        .transpose()?;
    let Some(inner) = derivatives::sum(by_values, by_vectors)? else { return Ok(None) };
    let all = LinalgSolveExWithFactors.call(&vh, &inner.matmul(&vh)?, true, false)?.0;
    if is_real { Real.call(&all).map(Some) } else { Ok(Some(all)) }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::kinds::matrices::DTYPES;
    use crate::kinds::matrices::samples::{STACKS, refuse_others_than_square, well_conditioned};
    use opgrid_samples::OperatorSamples;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let nan = || given(Plain::from_elements(DType::F32, &[2, 2], &[1.0, 2.0, f64::NAN, 4.0]));
        let refused = |operator: &mut OperatorSamples| {
            refuse_others_than_square(operator)
                // Gradients of what does not depend on the numbers that vectors may be multiplied by are compared elsewhere.
                .constant(&["eigenvectors"])
                .refuses_data("failed to converge", nan());
        };
        let inputs = |dtype| -> Vec<Sample> {
            STACKS.iter().map(|sizes| given(well_conditioned(dtype, sizes, 1))).collect()
        };
        refused(samples.operator(LinalgEig, DTYPES, inputs, |it| {
            let x = it.tensor("self")?;
            let vectors = Expected::Shape(x.sizes().to_vec(), complex(x.dtype()));
            Ok(Expected::Several(vec![values(x), vectors]))
        }));
        refused(samples.operator(LinalgEigvalsAlone, DTYPES, inputs, |it| Ok(values(it.tensor("self")?))));
        refused(samples.operator(LinalgEigvals, DTYPES, inputs, |it| Ok(values(it.tensor("self")?))));
        samples.rounds(LinalgEig, Roundings::all(Rounding::Unset));
        samples.rounds(LinalgEigvalsAlone, Roundings::all(Rounding::Unset));
        samples.rounds(LinalgEigvals, Roundings::all(Rounding::Unset));
    }
    /// In which order they come is not defined; that they are eigenvalues is tested elsewhere.
    fn values(x: &Plain) -> Expected {
        Expected::Shape(x.sizes()[..x.sizes().len() - 1].to_vec(), complex(x.dtype()))
    }
}
