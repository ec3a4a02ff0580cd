//! `aten::diagonal`, `linalg_diagonal`, `diagonal_backward`: the diagonals of the matrices that two dimensions are, and the gradient.
//!
//! `out[…, i] = self[…, i, …, i + offset, …]`
//!
//! - Shapes: without `dim1` and `dim2`, and with a last dimension of the diagonal's length. Offsets below zero are
//!   below the main diagonal; one beyond the matrix gives no elements.
//! - Aliasing: a view of `self`; `diagonal_copy` copies it, `diagonal_backward.out` writes `out`.
//! - Dispatch: `linalg_diagonal` is a composite of `diagonal`, of the last two dimensions unless told otherwise;
//!   the gradient is one of `diagonal_scatter`.
//! - Errors: a dimension out of range, twice the same; a gradient that does not broadcast to the view.
//! - Source: torch.diagonal, PyTorch 2.15.

use crate::kinds::views;
use crate::prelude::*;
use opgrid_tensor::ops::DiagonalScatter;

pub use opgrid_tensor::ops::views::diagonal::*;

/// The view family of `aten::diagonal`: its place in the base.
pub const DIAGONAL: ViewFamily<Diagonal> = ViewFamily::new(Diagonal, |input, offset, dim1, dim2| {
    input.spec()?.geometry().diagonal(offset, dim1, dim2)
});

pub(super) fn register(library: &mut Library) {
    library.view(Diagonal, &DIAGONAL);
    library
        .define(LinalgDiagonal)
        .kind(&kind::VIEW)
        .implicit(|input, offset, dim1, dim2| Diagonal.call(input, offset, dim1, dim2));
    library.copy_of_view(DiagonalCopy, Diagonal);
    library.implicit(DiagonalBackward, &kind::INDEXING, |grad, sizes, offset, dim1, dim2| {
        let view = |zeros: &Tensor| Diagonal.call(zeros, offset, dim1, dim2);
        let (zeros, grad) = views::zeros_for(("grad_output", grad), sizes, view)?;
        DiagonalScatter.call(&zeros, &grad, offset, dim1, dim2)
    });
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = generate::numbers(DType::F32, &[2, 3], 0);
        samples
            .operator(Diagonal, STORED, inputs, reference)
            .view()
            .refuses("range", given(x.clone()).and(0).and(0).and(2))
            .refuses("the same", given(x.clone()).and(0).and(-1).and(1))
            .refuses("", given(Plain::number(DType::F32, 1)));
        let gradients = |dtype| {
            views::samples::gradients(inputs(dtype), |x, others| {
                let [offset, one, other] = [0, 1, 2].map(|at| views::samples::whole(&others[at]));
                let places = [one, other].map(|dim| naive::dimension(dim, x.sizes().len()));
                views::samples::Diagonals::new(x.sizes(), offset, places).sizes()
            })
        };
        samples
            .operator(DiagonalBackward, ANY, gradients, |it| {
                let sizes: Vec<i64> = it.value("input_sizes")?;
                naive::transposed(it.tensor("grad_output")?, &sizes, |one| diagonal(one, it)).map(Into::into)
            })
            .refuses("`grad_output` has shape", given(x).and(vec![2, 3]).and(0).and(0).and(1));
        let matrices = |dtype| {
            let x = || given(generate::numbers(dtype, &[2, 3, 4], 0));
            vec![x(), x().named("offset", 1), x().named("offset", -1).named("dim1", 0).named("dim2", 1)]
        };
        samples.operator(LinalgDiagonal, STORED, matrices, reference).view();
        samples.copy_of_view(DiagonalCopy, Diagonal);
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        let cases: [(&[i64], [i64; 3]); 7] = [
            (&[3, 4], [0, 0, 1]),
            (&[3, 4], [1, 0, 1]),
            (&[3, 4], [-1, -2, -1]),
            (&[2, 3, 4], [0, 2, 0]),
            (&[2, 3, 4], [-1, 0, 2]),
            (&[3, 4], [9, 0, 1]),
            (&[0, 2], [0, 0, 1]),
        ];
        let one = |(sizes, [offset, dim1, dim2]): (&[i64], [i64; 3])| {
            given(generate::numbers(dtype, sizes, 0)).and(offset).and(dim1).and(dim2)
        };
        cases.map(one).to_vec()
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let x = it.tensor("self").or_else(|_| it.tensor("A"))?;
        Ok(diagonal(x, it)?.into())
    }

    fn diagonal(x: &Plain, it: &Inputs) -> Result<Plain> {
        let (offset, places) = (it.value("offset")?, views::samples::two_dims(it, x.sizes().len())?);
        let diagonals = views::samples::Diagonals::new(x.sizes(), offset, places);
        Ok(Plain::from_fn(x.dtype(), &diagonals.sizes(), |position| x.at(&diagonals.place(position))))
    }
}
