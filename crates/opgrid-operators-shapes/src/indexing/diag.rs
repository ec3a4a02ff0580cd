//! `aten::diag`, `aten::diag_embed`, `aten::diagflat`: vectors as diagonals of matrices, and back.
//!
//! - Shapes: `diag_embed` makes a matrix of each vector in the last dimension, whose sides are dimensions `dim1` and `dim2` of
//!   the result, large enough for its `offset`. `diag` does so with a vector, and gives a copy of a matrix's diagonal;
//!   `diagflat` takes all elements as one vector.
//! - Aliasing: the `out` forms write `out`, of the dtype of `self`, and give it its shape if it has no elements.
//! - Dispatch: composites of `zeros`, `diagonal` and `copy_`.
//! - Errors: a dimension out of range, twice the same; other than one or two dimensions for `diag`.
//! - Source: torch.diag, torch.diag_embed, torch.diagflat, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::{CopyInplace, Diagonal, NewZeros, Reshape};
use opgrid_tensor::tensor::views::normalise_dim;

pub use opgrid_tensor::ops::indexing::diag::*;

pub(super) fn register(library: &mut Library) {
    library.define_with_forms(DiagEmbed, &kind::INDEXING).on_every_backend(diag_embed).derivative(
        |d, (input, offset, dim1, dim2)| {
            d.by(input, [], move |grad, []| Diagonal.call(grad, offset, dim1, dim2))
        },
    );
    library.implement(DiagEmbedOut).on_every_backend(|input, offset, dim1, dim2, out| {
        result::copied(out, &diag_embed(input, offset, dim1, dim2)?)
    });
    library.define_with_forms(Diag, &kind::INDEXING).implicit(diag);
    library.implement(DiagOut).implicit(|input, diagonal, out| result::copied(out, &diag(input, diagonal)?));
    library
        .define(Diagflat)
        .kind(&kind::INDEXING)
        .implicit(|input, offset| DiagEmbed.call(&Reshape.call(input, &[-1])?, offset, 0, 1));
}

fn diag_embed(input: &Tensor, offset: i64, dim1: i64, dim2: i64) -> Result<Tensor> {
    let spec = input.spec()?;
    let dims = spec.sizes().len() + 1;
    let (one, other) = (normalise_dim(dim1, dims)?, normalise_dim(dim2, dims)?);
    if one == other {
        return Err(argument(format!("diagonal dimensions cannot be the same, found {dim1} and {dim2}")));
    }
    let (&last, outer) = spec.sizes().split_last().ok_or_else(|| {
        argument("argument `self` has no dimensions, expected at least one, which becomes a diagonal")
    })?;
    let side = offset.checked_abs().and_then(|offset| offset.checked_add(last));
    let side = side.ok_or_else(|| argument(format!("a matrix for offset {offset} would be too large")))?;
    let mut sizes = outer.to_vec();
    for dim in [one.min(other), one.max(other)] {
        sizes.insert(dim, side);
    }
    let result = NewZeros.call(input, &sizes, None, None, None, None)?;
    CopyInplace.call(&Diagonal.call(&result, offset, dim1, dim2)?, input, false)?;
    Ok(result)
}

fn diag(input: &Tensor, diagonal: i64) -> Result<Tensor> {
    match input.spec()?.sizes() {
        [_] => DiagEmbed.call(input, diagonal, 0, 1),
        [_, _] => opgrid_tensor::ops::CloneTensor
            .call(&Diagonal.call(input, diagonal, 0, 1)?, Some(MemoryFormat::Contiguous)),
        sizes => Err(argument(format!("argument `self` has shape {sizes:?}, expected 1 or 2 dimensions"))),
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::kinds::views;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let inputs = |dtype| {
            let cases: [(&[i64], [i64; 3]); 6] = [
                (&[3], [0, -2, -1]),
                (&[3], [1, 0, 1]),
                (&[2, 3], [-1, -2, -1]),
                (&[2, 3], [0, 2, 0]),
                (&[0], [0, 0, 1]),
                (&[2, 0], [1, 0, 1]),
            ];
            let one = |(sizes, [offset, dim1, dim2]): (&[i64], [i64; 3])| {
                given(generate::numbers(dtype, sizes, 0)).and(offset).and(dim1).and(dim2)
            };
            cases.map(one).to_vec()
        };
        let x = generate::numbers(DType::F32, &[2], 0);
        samples
            .operator(DiagEmbed, STORED, inputs, |it| {
                let x = it.tensor("self")?;
                embedded(x, it.value("offset")?, views::samples::two_dims(it, x.sizes().len() + 1)?)
            })
            .refuses("the same", given(x.clone()).and(0).and(0).and(0))
            .refuses("range", given(x.clone()).and(0).and(0).and(2))
            .refuses("range", given(Plain::number(DType::F32, 1)))
            .refuses("", given(x).and(i64::MIN));
        let either = |dtype| {
            let cases: [(&[i64], i64); 6] =
                [(&[3], 0), (&[2], -1), (&[2, 3], 0), (&[2, 3], 1), (&[3, 2], -7), (&[0], 1)];
            cases.map(|(sizes, diagonal)| given(generate::numbers(dtype, sizes, 0)).and(diagonal)).to_vec()
        };
        samples
            .operator(Diag, STORED, either, |it| {
                let (x, offset) = (it.tensor("self")?, it.value("diagonal")?);
                if x.sizes().len() == 1 {
                    return embedded(x, offset, [0, 1]);
                }
                let diagonal = views::samples::Diagonals::new(x.sizes(), offset, [0, 1]);
                Ok(Plain::from_fn(x.dtype(), &diagonal.sizes(), |position| x.at(&diagonal.place(position)))
                    .into())
            })
            .refuses("1 or 2 dimensions", given(generate::numbers(DType::F32, &[1, 1, 1], 0)));
        let flat = |dtype| {
            let cases: [(&[i64], i64); 4] = [(&[2, 2], 1), (&[3], 0), (&[], -1), (&[0, 2], 0)];
            cases.map(|(sizes, offset)| given(generate::numbers(dtype, sizes, 0)).and(offset)).to_vec()
        };
        samples.operator(Diagflat, STORED, flat, |it| {
            let x = it.tensor("self")?;
            embedded(&x.with_sizes(&[x.elements().len() as i64]), it.value("offset")?, [0, 1])
        });
    }

    fn embedded(x: &Plain, offset: i64, dims: [usize; 2]) -> Result<Expected> {
        let (last, outer) = x.sizes().split_last().unwrap_or((&1, &[]));
        let side = last + offset.abs();
        let mut sizes = outer.to_vec();
        for dim in [dims[0].min(dims[1]), dims[0].max(dims[1])] {
            sizes.insert(dim, side);
        }
        let mut result = Plain::from_elements::<i64>(x.dtype(), &sizes, &[]);
        let diagonals = views::samples::Diagonals::new(&sizes, offset, dims);
        for position in naive::positions(x.sizes()) {
            result.set(&diagonals.place(&position), x.at(&position));
        }
        Ok(result.into())
    }
}
