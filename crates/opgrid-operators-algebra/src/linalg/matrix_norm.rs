//! `aten::linalg_matrix_norm`, `frobenius_norm`, `nuclear_norm`: norms of matrices.
//!
//! `fro`, the root of the sum of squares; `nuc`, the sum of the singular values; 2 and -2, the largest and the smallest one; 1 and -1, the
//! largest and the smallest sum of absolute values of a column; `inf` and `-inf`, those of a row; the largest of none is zero
//!
//! - Shapes: matrices are the two dimensions of `dim`, which are left out, or of size 1 with `keepdim`. `frobenius_norm` takes vectors, too.
//! - Dtypes: floating-point and complex ones, of which singular values are found for float32, float64 and complex numbers of both; `dtype` if
//!   given, to which elements are converted first. Norms are real.
//! - Dispatch: composites of `linalg_vector_norm`, `linalg_svdvals` and reductions.
//! - Aliasing: the `out` forms write `out`.
//! - Errors: integers; other orders; one dimension twice; a matrix without elements where the smallest one is asked for; an `out` of another
//!   dtype.
//! - Source: torch.linalg.matrix_norm, PyTorch 2.15.

use crate::kinds::matrices::restore_matrix_dims;
use crate::prelude::*;
use opgrid_tensor::ops::{LinalgSvdvals, LinalgVectorNorm, MovedimIntlist, NormScalarOptDim};
use opgrid_tensor::tensor::views::normalise_dim;

pub use opgrid_tensor::ops::linalg::matrix_norm::*;

/// Which norm is meant.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Order {
    Frobenius,
    /// The sum of the singular values.
    Nuclear,
    /// Singular values (2), columns (1) or rows (infinite); the smallest ones where it is negative.
    Number(f64),
}

impl Order {
    /// # Errors
    ///
    /// Another number than those of norms.
    fn of_number(ord: Scalar) -> Result<Self> {
        match ord {
            Scalar::Complex(_) => {}
            real => {
                let number = real.to_f64()?;
                if [1.0, 2.0, f64::INFINITY].contains(&number.abs()) {
                    return Ok(Self::Number(number));
                }
            }
        }
        Err(argument(format!("argument `ord` is {ord}, expected 1, -1, 2, -2, inf or -inf")))
    }

    /// # Errors
    ///
    /// Another name than those of norms.
    fn of_name(ord: &str) -> Result<Self> {
        match ord {
            "fro" => Ok(Self::Frobenius),
            "nuc" => Ok(Self::Nuclear),
            other => Err(argument(format!("argument `ord` is `{other}`, expected `fro` or `nuc`"))),
        }
    }
}

pub(super) fn register(library: &mut Library) {
    library
        .define_with_forms(LinalgMatrixNorm, &kind::REDUCTION)
        .implicit(|input, ord, dim, keepdim, dtype| norm(input, Order::of_number(ord)?, dim, keepdim, dtype));
    library.implement(LinalgMatrixNormOut).implicit(|input, ord, dim, keepdim, dtype, out| {
        result::copied(out, &LinalgMatrixNorm.call(input, ord, dim, keepdim, dtype)?)
    });
    library
        .define_with_forms(LinalgMatrixNormStrOrd, &kind::REDUCTION)
        .implicit(|input, ord, dim, keepdim, dtype| norm(input, Order::of_name(ord)?, dim, keepdim, dtype));
    library.implement(LinalgMatrixNormStrOrdOut).implicit(|input, ord, dim, keepdim, dtype, out| {
        result::copied(out, &LinalgMatrixNormStrOrd.call(input, ord, dim, keepdim, dtype)?)
    });
    library.define_with_forms(FrobeniusNormDim, &kind::REDUCTION).implicit(frobenius);
    library
        .implement(FrobeniusNormOut)
        .implicit(|input, dim, keepdim, out| result::converted(&[(out, &frobenius(input, dim, keepdim)?)]));
    library
        .define_with_forms(NuclearNorm, &kind::REDUCTION)
        .implicit(|input, keepdim| norm(input, Order::Nuclear, &[-2, -1], keepdim, None));
    library
        .implement(NuclearNormOut)
        .implicit(|input, keepdim, out| result::copied(out, &NuclearNorm.call(input, keepdim)?));
    library
        .define_with_forms(NuclearNormDim, &kind::REDUCTION)
        .implicit(|input, dim, keepdim| norm(input, Order::Nuclear, dim, keepdim, None));
    library
        .implement(NuclearNormDimOut)
        .implicit(|input, dim, keepdim, out| result::copied(out, &NuclearNormDim.call(input, dim, keepdim)?));
}

fn norm(input: &Tensor, order: Order, dim: &[i64], keepdim: bool, dtype: Option<DType>) -> Result<Tensor> {
    let spec = input.spec()?;
    pointwise::check_inexact(spec.dtype())?;
    if input.dim() < 2 {
        let message = format!(
            "argument `self` has shape {:?}, expected matrices, with 2 dimensions or more",
            input.sizes()
        );
        return Err(argument(message));
    }
    let &[rows, columns] = dim else {
        return Err(argument(format!("argument `dim` is {dim:?}, expected the two dimensions of matrices")));
    };
    let dims = [normalise_dim(rows, input.dim())? as i64, normalise_dim(columns, input.dim())? as i64];
    if dims[0] == dims[1] {
        return Err(argument(format!("argument `dim` is {dim:?}, expected two dimensions that differ")));
    }
    match order {
        Order::Frobenius => LinalgVectorNorm.call(input, Scalar::Int(2), Some(&dims), keepdim, dtype),
        Order::Nuclear | Order::Number(2.0 | -2.0) => {
            let values = LinalgSvdvals.call(&matrices(input, dims, dtype)?, None)?;
            let norms = match order {
                Order::Number(number) if number > 0.0 => largest(&values, -1, keepdim)?,
                Order::Number(_) => values.amin([-1], keepdim)?,
                _ => values.sum_dim([-1], keepdim)?,
            };
            if keepdim { restore_matrix_dims(&norms, dims) } else { Ok(norms) }
        }
        Order::Number(number) => {
            let [summed, mut compared] = if number.is_infinite() { [dims[1], dims[0]] } else { dims };
            let sums = LinalgVectorNorm.call(input, Scalar::Int(1), Some(&[summed]), keepdim, dtype)?;
            if !keepdim && summed < compared {
                compared -= 1;
            }
            if number > 0.0 { largest(&sums, compared, keepdim) } else { sums.amin([compared], keepdim) }
        }
    }
}

/// The largest norm along a dimension, which is zero where there is none.
fn largest(norms: &Tensor, dim: i64, keepdim: bool) -> Result<Tensor> {
    let at = normalise_dim(dim, norms.dim())?;
    if norms.sizes()[at] == 0 { norms.sum_dim([dim], keepdim) } else { norms.amax([dim], keepdim) }
}

/// The tensor with the dimensions of matrices at its end.
fn matrices(input: &Tensor, dims: [i64; 2], dtype: Option<DType>) -> Result<Tensor> {
    let input = match dtype {
        Some(dtype) if dtype.is_complex() != input.dtype().is_complex() => {
            let message = format!(
                "argument `dtype` is {dtype}, expected a {} one for {}",
                if input.dtype().is_complex() { "complex" } else { "real floating-point" },
                input.dtype()
            );
            return Err(argument(message));
        }
        Some(dtype) => input.to_dtype(dtype)?,
        None => input.clone(),
    };
    MovedimIntlist.call(&input, &dims, &[-2, -1])
}

fn frobenius(input: &Tensor, dim: &[i64], keepdim: bool) -> Result<Tensor> {
    if dim.len() > 2 {
        return Err(argument(format!("argument `dim` is {dim:?}, expected at most 2 dimensions")));
    }
    NormScalarOptDim.call(input, Some(Scalar::Int(2)), dim, keepdim)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::kinds::matrices::samples::{Matrix, batch, matrices};
    use crate::kinds::matrices::{DTYPES, real};
    use opgrid_samples::prelude::*;

    /// Orders that are numbers.
    pub(crate) const NUMBERS: [f64; 6] = [1.0, -1.0, 2.0, -2.0, f64::INFINITY, f64::NEG_INFINITY];

    pub(crate) fn collect(samples: &mut Samples) {
        let x = || given(generate::numbers(DType::F32, &[2, 3], 0));
        let vector = || given(generate::numbers(DType::F32, &[3], 0));
        samples
            .operator(LinalgMatrixNorm, INEXACT, of_numbers, |it| {
                let order: Scalar = it.value("ord")?;
                reference(it, order.to_f64()?)
            })
            .tolerance(64.0)
            .refuses("2 dimensions or more", vector().and(1))
            .refuses("expected 1, -1, 2, -2", x().and(3))
            .refuses("that differ", x().and(1).and(vec![0, -2]))
            .refuses("the two dimensions of matrices", x().and(1).and(vec![0]))
            .refuses("range", x().and(1).and(vec![0, 2]))
            .refuses("expected a real floating-point one", x().and(2).named("dtype", DType::Complex64))
            .refuses("at least one element", given(generate::numbers(DType::F32, &[2, 0], 0)).and(-2));
        samples
            .operator(LinalgMatrixNormStrOrd, INEXACT, of_names, |it| {
                let order: String = it.value("ord")?;
                let of =
                    |matrix: &Matrix| if order == "nuc" { nuclear(matrix) } else { root_of_squares(matrix) };
                over_dims(it, of, it.value::<Vec<i64>>("dim")?)
            })
            .tolerance(64.0)
            .refuses("`fro` or `nuc`", x().and("two"))
            .refuses("2 dimensions or more", vector().and("fro"));
        let without_order = |dtype| {
            let one = |sample: Sample| {
                let mut positional = sample.positional;
                positional.remove(1);
                Sample { positional, keyword: sample.keyword }
            };
            of_names(dtype).into_iter().map(one).collect::<Vec<Sample>>()
        };
        samples
            .operator(FrobeniusNormDim, INEXACT, without_order, |it| {
                over_dims(it, root_of_squares, it.value::<Vec<i64>>("dim")?)
            })
            .tolerance(64.0)
            .refuses("at most 2 dimensions", x().and(vec![0, 1, 2]));
        samples
            .operator(NuclearNormDim, DTYPES, without_order, |it| {
                over_dims(it, nuclear, it.value::<Vec<i64>>("dim")?)
            })
            .tolerance(64.0);
        samples
            .operator(
                NuclearNorm,
                DTYPES,
                |dtype| {
                    let x = || given(generate::numbers(dtype, &[2, 3], 3));
                    vec![x(), x().and(true), given(generate::numbers(dtype, &[2, 3, 2], 3))]
                },
                |it| over_dims(it, nuclear, vec![-2, -1]),
            )
            .tolerance(64.0)
            .refuses("2 dimensions or more", vector());
        samples.rounds(LinalgMatrixNorm, Roundings::all(Rounding::Sum(64)));
        samples.rounds(FrobeniusNormDim, Roundings::all(Rounding::Sum(64)));
        samples.rounds(NuclearNorm, Roundings::all(Rounding::Sum(64)));
    }

    /// Orders that there are for a dtype: 16-bit floats have no singular values.
    pub(crate) fn numbers_of(dtype: DType) -> impl Iterator<Item = f64> {
        NUMBERS.into_iter().filter(move |order| order.abs() != 2.0 || DTYPES.contains(&dtype))
    }

    /// As [`numbers_of`], of names.
    pub(crate) fn names_of(dtype: DType) -> &'static [&'static str] {
        if DTYPES.contains(&dtype) { &["fro", "nuc"] } else { &["fro"] }
    }

    fn of_numbers(dtype: DType) -> Vec<Sample> {
        let one = |ord: f64| {
            let x = |sizes: &[i64]| given(generate::numbers(dtype, sizes, 3)).and(ord);
            [
                x(&[2, 3]),
                x(&[3, 2]).and(vec![-1, -2]),
                x(&[2, 3, 2]).and(vec![0, 2]),
                x(&[2, 3, 2]).and(vec![2, 0]).and(true),
                x(&[0, 2, 2]),
            ]
        };
        numbers_of(dtype).flat_map(one).collect()
    }

    fn of_names(dtype: DType) -> Vec<Sample> {
        let one = |ord: &str| {
            let x = |sizes: &[i64]| given(generate::numbers(dtype, sizes, 3)).and(ord);
            [
                x(&[2, 3]).and(vec![-2, -1]),
                x(&[2, 3, 2]).and(vec![0, 2]),
                x(&[2, 3, 2]).and(vec![2, 0]).and(true),
                x(&[0, 2, 2]).and(vec![-2, -1]),
            ]
        };
        names_of(dtype).iter().flat_map(|name| one(name)).collect()
    }

    /// The norm of a matrix by an order that is a number.
    pub(crate) fn of_matrix(matrix: &Matrix, order: f64) -> f64 {
        let lines = |matrix: &Matrix| -> Vec<f64> {
            (0..matrix.columns).map(|j| (0..matrix.rows).map(|i| matrix.at(i, j).norm()).sum()).collect()
        };
        let all = match order.abs() {
            2.0 => matrix.singular_values(),
            1.0 => lines(matrix),
            _ => lines(&matrix.adjoint()),
        };
        let better = |a: f64, b: f64| if order > 0.0 { a.max(b) } else { a.min(b) };
        all.into_iter().reduce(better).unwrap_or(0.0)
    }

    pub(crate) fn nuclear(matrix: &Matrix) -> f64 {
        matrix.singular_values().iter().sum()
    }

    pub(crate) fn root_of_squares(matrix: &Matrix) -> f64 {
        let squares =
            (0..matrix.rows).flat_map(|i| (0..matrix.columns).map(move |j| matrix.at(i, j).norm_sqr()));
        squares.sum::<f64>().sqrt()
    }

    fn reference(it: &Inputs, order: f64) -> Result<Expected> {
        over_dims(it, |matrix| of_matrix(matrix, order), it.value::<Vec<i64>>("dim")?)
    }

    /// A number for the matrix that two dimensions are.
    pub(crate) fn over_dims(
        it: &Inputs,
        number: impl Fn(&Matrix) -> f64,
        dims: Vec<i64>,
    ) -> Result<Expected> {
        let x = it.tensor("self")?;
        let rank = x.sizes().len();
        let dims: Vec<usize> = dims.iter().map(|dim| dim.rem_euclid(rank as i64) as usize).collect();
        let others: Vec<usize> = (0..rank).filter(|dim| !dims.contains(dim)).collect();
        let order: Vec<usize> = others.iter().chain(&dims).copied().collect();
        let sizes: Vec<i64> = order.iter().map(|dim| x.sizes()[*dim]).collect();
        let turned = Plain::from_fn(x.dtype(), &sizes, |at| {
            let mut own = vec![0; rank];
            order.iter().zip(at).for_each(|(dim, at)| own[*dim] = *at);
            x.at(&own)
        });
        let all: Vec<Scalar> = matrices(&turned).iter().map(|matrix| Scalar::Float(number(matrix))).collect();
        let norms = Plain::from_elements(real(x.dtype()), batch(&turned), &all);
        if !it.value::<bool>("keepdim")? {
            return Ok(norms.into());
        }
        let kept: Vec<i64> =
            (0..rank).map(|dim| if dims.contains(&dim) { 1 } else { x.sizes()[dim] }).collect();
        Ok(norms.with_sizes(&kept).into())
    }
}
