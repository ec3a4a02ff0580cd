//! `aten::linalg_norm`: the norm of vectors or of matrices, as dimensions say.
//!
//! `linalg_vector_norm` without `ord`, over one dimension, or of a tensor of one dimension; `linalg_matrix_norm` over two dimensions, or of a
//! tensor of two
//!
//! - Shapes: without the dimensions of `dim`, or with size 1 for them with `keepdim`; no `dim` means all.
//! - Dtypes, values: those of the operator that it is. An `ord` that is text is a norm of matrices.
//! - Dispatch: composites of `linalg_vector_norm` and `linalg_matrix_norm`.
//! - Aliasing: the `out` forms write `out`.
//! - Errors: those of the operator that it is; other numbers of dimensions than one and two, where there is an `ord`.
//! - Source: torch.linalg.norm, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::{LinalgMatrixNorm, LinalgMatrixNormStrOrd, LinalgVectorNorm};

pub use opgrid_tensor::ops::linalg::norm::*;

pub(super) fn register(library: &mut Library) {
    library.define_with_forms(LinalgNorm, &kind::REDUCTION).implicit(|input, ord, dim, keepdim, dtype| {
        check_dims(input, dim, ord.is_some())?;
        match ord {
            Some(ord) if dim.map_or(input.dim(), <[i64]>::len) == 2 => {
                LinalgMatrixNorm.call(input, ord, dim.unwrap_or(&[0, 1]), keepdim, dtype)
            }
            ord => LinalgVectorNorm.call(input, ord.unwrap_or(Scalar::Int(2)), dim, keepdim, dtype),
        }
    });
    library.implement(LinalgNormOut).implicit(|input, ord, dim, keepdim, dtype, out| {
        result::copied(out, &LinalgNorm.call(input, ord, dim, keepdim, dtype)?)
    });
    library.define_with_forms(LinalgNormOrdStr, &kind::REDUCTION).implicit(
        |input, ord, dim, keepdim, dtype| {
            check_dims(input, dim, true)?;
            LinalgMatrixNormStrOrd.call(input, ord, dim.unwrap_or(&[0, 1]), keepdim, dtype)
        },
    );
    library.implement(LinalgNormOrdStrOut).implicit(|input, ord, dim, keepdim, dtype, out| {
        result::copied(out, &LinalgNormOrdStr.call(input, ord, dim, keepdim, dtype)?)
    });
}

/// # Errors
///
/// Other numbers of dimensions than those of vectors and matrices.
fn check_dims(input: &Tensor, dim: Option<&[i64]>, has_order: bool) -> Result<()> {
    input.spec()?;
    match dim {
        Some([_] | [_, _]) => Ok(()),
        Some(other) => Err(argument(format!("argument `dim` is {other:?}, expected one or two dimensions"))),
        None if has_order && !(1..=2).contains(&input.dim()) => Err(argument(format!(
            "argument `self` has shape {:?}, expected one or two dimensions where `ord` is given; pass `dim`",
            input.sizes()
        ))),
        None => Ok(()),
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::super::matrix_norm::samples::{
        names_of, nuclear, numbers_of, of_matrix, over_dims, root_of_squares,
    };
    use super::*;
    use crate::kinds::matrices::real;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let cube = || given(generate::numbers(DType::F32, &[2, 3, 2], 0));
        samples
            .operator(LinalgNorm, INEXACT, of_numbers, reference)
            .tolerance(64.0)
            .refuses("pass `dim`", cube().and(1))
            .refuses("one or two dimensions", cube().and(1).and(vec![0, 1, 2]));
        samples
            .operator(LinalgNormOrdStr, INEXACT, of_names, |it| {
                let order: String = it.value("ord")?;
                let of = |matrix: &_| if order == "nuc" { nuclear(matrix) } else { root_of_squares(matrix) };
                over_dims(it, of, it.option::<Vec<i64>>("dim")?.unwrap_or(vec![0, 1]))
            })
            .tolerance(64.0)
            .refuses("pass `dim`", cube().and("fro"));
        samples.rounds(LinalgNorm, Roundings::all(Rounding::Sum(64)));
    }

    fn of_numbers(dtype: DType) -> Vec<Sample> {
        let x = |sizes: &[i64]| given(generate::numbers(dtype, sizes, 3));
        let vectors =
            [x(&[3]), x(&[2, 3, 2]), x(&[3]).and(2).named("keepdim", true), x(&[2, 3]).and(2).and(vec![0])];
        let one = |ord: f64| [x(&[2, 3]).and(ord), x(&[2, 3, 2]).and(ord).and(vec![0, 2]).and(true)];
        vectors.into_iter().chain(numbers_of(dtype).flat_map(one)).collect()
    }

    fn of_names(dtype: DType) -> Vec<Sample> {
        let x = |sizes: &[i64]| given(generate::numbers(dtype, sizes, 3));
        let one = |ord: &str| [x(&[2, 3]).and(ord), x(&[2, 3, 2]).and(ord).and(vec![0, 2]).and(true)];
        names_of(dtype).iter().flat_map(|name| one(name)).collect()
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let (x, order) = (it.tensor("self")?, it.option::<Scalar>("ord")?);
        let dim = it.option::<Vec<i64>>("dim")?;
        if let Some(order) = order
            && dim.as_ref().map_or(x.sizes().len(), Vec::len) == 2
        {
            let order = order.to_f64()?;
            return over_dims(it, |matrix| of_matrix(matrix, order), dim.unwrap_or(vec![0, 1]));
        }
        let dims = dim.unwrap_or((0..x.sizes().len() as i64).collect());
        let keepdim: bool = it.value("keepdim")?;
        let kept = |dim: usize| !dims.contains(&(dim as i64));
        let sizes: Vec<i64> =
            x.sizes().iter().enumerate().map(|(dim, size)| if kept(dim) { *size } else { 1 }).collect();
        let norms = Plain::from_fn(real(x.dtype()), &sizes, |at| {
            let mut places = vec![vec![]];
            for (dim, size) in x.sizes().iter().enumerate() {
                let own = if kept(dim) { at[dim]..at[dim] + 1 } else { 0..*size };
                let longer = |place: &Vec<i64>| {
                    own.clone().map(|at| [place.as_slice(), &[at]].concat()).collect::<Vec<_>>()
                };
                places = places.iter().flat_map(longer).collect();
            }
            let squares = places.iter().map(|place| x.at(place).to_complex().norm_sqr());
            Scalar::Float(squares.sum::<f64>().sqrt())
        });
        let shrunk: Vec<i64> = sizes
            .iter()
            .enumerate()
            .filter(|(dim, _)| keepdim || kept(*dim))
            .map(|(_, size)| *size)
            .collect();
        Ok(norms.with_sizes(&shrunk).into())
    }
}
