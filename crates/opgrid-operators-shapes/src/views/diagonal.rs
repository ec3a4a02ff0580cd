//! `aten::diagonal`, `linalg_diagonal`: the diagonals of the matrices that two dimensions are.
//!
//! `out[…, i] = self[…, i, …, i + offset, …]`
//!
//! - Shapes: without `dim1` and `dim2`, and with a last dimension of the diagonal's length. Offsets below zero are
//!   below the main diagonal; one beyond the matrix gives no elements.
//! - Aliasing: a view of `self`.
//! - Dispatch: `linalg_diagonal` is a composite of `diagonal`, of the last two dimensions unless told otherwise.
//! - Errors: a dimension out of range, twice the same.
//! - Source: torch.diagonal, PyTorch 2.15.

use crate::prelude::*;

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
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::kinds::views;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let inputs = |dtype| {
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
        };
        let x = generate::numbers(DType::F32, &[2, 3], 0);
        samples
            .operator(Diagonal, STORED, inputs, reference)
            .view()
            .refuses("range", given(x.clone()).and(0).and(0).and(2))
            .refuses("the same", given(x).and(0).and(-1).and(1))
            .refuses("", given(Plain::number(DType::F32, 1)));
        let matrices = |dtype| {
            let x = || given(generate::numbers(dtype, &[2, 3, 4], 0));
            vec![x(), x().named("offset", 1), x().named("offset", -1).named("dim1", 0).named("dim2", 1)]
        };
        samples.operator(LinalgDiagonal, STORED, matrices, reference).view();
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let x = it.tensor("self").or_else(|_| it.tensor("A"))?;
        let (offset, places) = (it.value("offset")?, views::samples::two_dims(it, x.sizes().len())?);
        let diagonals = views::samples::Diagonals::new(x.sizes(), offset, places);
        Ok(Plain::from_fn(x.dtype(), &diagonals.sizes(), |position| x.at(&diagonals.place(position))).into())
    }
}
