//! `aten::lu_unpack`: the factors of a matrix one by one.
//!
//! `A = P * L * U`, where `LU_data` holds `U` and, below its diagonal, `L` without its ones
//!
//! - Shapes: of `[.., m, n]` with `k = min(m, n)`: `P` `[.., m, m]`, `L` `[.., m, k]`, `U` `[.., k, n]`; those that are not asked for have
//!   no elements.
//! - Dtypes: those of `LU_data`; `LU_pivots` is int32.
//! - Aliasing: `lu_unpack.out` writes `P`, `L` and `U`.
//! - Errors: pivots of another dtype or shape, or that are no rows.
//! - Derivative: parts of the gradients of both triangles.
//! - Source: torch.lu_unpack, PyTorch 2.15.

use crate::kinds::matrices::{Stack, row_major};
use crate::prelude::*;
use opgrid_kernels::linalg::permutation;
use opgrid_kernels::triangle::{Side, one_side};
use opgrid_tensor::ops::ConstantPadNd;

pub use opgrid_tensor::ops::linalg::lu_unpack::*;

/// The family of `aten::lu_unpack`: its kind, shape rule and `out` rule.
pub const LU_UNPACK: Family<LuUnpack> =
    Family::new(LuUnpack, &kind::FACTORIZATION, |data, pivots, with_data, with_pivots| {
        let (spec, pivots) = (data.spec()?, pivots.spec()?);
        let stack = Stack::new("LU_data", spec)?;
        let (m, n, k) = (stack.rows, stack.columns, stack.least());
        if with_pivots {
            check_pivots("LU_pivots", pivots, &stack.with(&[k]))?;
        }
        let shape = |is_there: bool, rows, columns| {
            let sizes = if is_there { stack.with(&[rows, columns]) } else { vec![0] };
            row_major(&sizes, spec.dtype(), spec)
        };
        Ok((shape(with_pivots, m, m)?, shape(with_data, m, k)?, shape(with_data, k, n)?))
    })
    .same_dtype_out();

/// # Errors
///
/// Pivots of another dtype or shape.
pub(super) fn check_pivots(name: &str, pivots: &TensorSpec, sizes: &[i64]) -> Result<()> {
    if pivots.dtype() != DType::I32 {
        let message = format!("argument `{name}` is {}, expected int32; convert it", pivots.dtype());
        return Err(argument(message));
    }
    if pivots.sizes() != sizes {
        let message = format!("argument `{name}` has shape {:?}, expected {sizes:?}", pivots.sizes());
        return Err(argument(message));
    }
    Ok(())
}

pub(super) fn register(library: &mut Library) {
    library
        .family(&LU_UNPACK)
        .cpu(|data, pivots, with_data, with_pivots, p, l, u| {
            if with_pivots {
                permutation(p.array()?, pivots.array()?)?;
            }
            if with_data {
                let least = *l.sizes().last().unwrap_or(&0);
                let data = data.array()?;
                let part = |dim, length| data.view(data.geometry().slice(dim, 0, length, 1)?);
                one_side(l.array()?, &part(-1, least)?, -1, Side::Lower)?;
                let diagonal = l.array()?;
                elementwise::fill(&diagonal.view(diagonal.geometry().diagonal(0, -2, -1)?)?, 1)?;
                one_side(u.array()?, &part(-2, least)?, 0, Side::Upper)?;
            }
            Ok(())
        })
        .derivative(|d, (data, _, with_data, _)| {
            let sizes = data.sizes().to_vec();
            let [.., rows, columns] = sizes[..] else { return Ok(()) };
            d.by_all(data, [], move |grads, []| {
                if !with_data {
                    return Ok(None);
                }
                let padded = |x: Tensor, dim: i64, length: i64| {
                    let pad = if dim == -1 { vec![0, length] } else { vec![0, 0, 0, length] };
                    ConstantPadNd.call(&x, &pad, 0.into())
                };
                let least = rows.min(columns);
                let l = grads
                    .for_result(1)
                    .map(|grad| padded(grad.tril(-1)?, -1, columns - least))
                    .transpose()?;
                let u =
                    grads.for_result(2).map(|grad| padded(grad.triu(0)?, -2, rows - least)).transpose()?;
                derivatives::sum(l, u)
            })
        });
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::kinds::matrices::DTYPES;
    use crate::kinds::matrices::samples::{
        Matrix, SHAPES, batch, matrices, matrix_sizes, stack_matrices, well_conditioned,
    };
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = generate::numbers(DType::F32, &[2, 2], 0);
        let pivots =
            |dtype, elements: &[i64]| Plain::from_elements(dtype, &[elements.len() as i64], elements);
        samples
            .operator(LuUnpack, DTYPES, inputs, |it| {
                let (data, pivots) = (it.tensor("LU_data")?, it.tensor("LU_pivots")?);
                Ok(unpack(data, pivots, it.value("unpack_data")?, it.value("unpack_pivots")?).into())
            })
            .refuses("expected int32", given(x.clone()).and(pivots(DType::I64, &[1, 2])))
            .refuses("expected [2]", given(x.clone()).and(pivots(DType::I32, &[1])))
            .refuses_data("numbers of rows from 1 to 2", given(x).and(pivots(DType::I32, &[1, 3])));
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        let flags = [(true, true), (false, true), (true, false)].into_iter().cycle();
        let one = |(sizes, (data, pivots)): (&&[i64], (bool, bool))| {
            let [factors, places, _] =
                super::super::lu::samples::lu_factors(&well_conditioned(dtype, sizes, 1)).ok()?;
            Some(given(factors).and(places).and(data).and(pivots))
        };
        SHAPES.iter().zip(flags).filter_map(one).collect()
    }

    pub(crate) fn unpack(data: &Plain, pivots: &Plain, with_data: bool, with_pivots: bool) -> [Plain; 3] {
        let ([m, n], stack, dtype) = (matrix_sizes(data), batch(data), data.dtype());
        let k = m.min(n);
        let none = || Plain::from_fn(dtype, &[0], |_| Scalar::Int(0));
        let all = matrices(data);
        let places: Vec<i64> =
            pivots.elements().iter().map(|place| place.to_f64().unwrap_or(0.0) as i64).collect();
        let permuted = |matrix: usize| {
            let mut rows: Vec<usize> = (0..m as usize).collect();
            for (row, place) in places[matrix * k as usize..][..k as usize].iter().enumerate() {
                rows.swap(row, *place as usize - 1);
            }
            Matrix::from_fn(m as usize, m as usize, |i, j| if rows[j] == i { 1.0.into() } else { 0.0.into() })
        };
        let p = if with_pivots {
            stack_matrices(dtype, stack, [m, m], &(0..all.len()).map(permuted).collect::<Vec<_>>())
        } else {
            none()
        };
        if !with_data {
            return [p, none(), none()];
        }
        let part = |is_upper: bool, rows: i64, columns: i64| {
            let one =
                |matrix: &Matrix| matrix.triangle(is_upper, !is_upper).first(rows as usize, columns as usize);
            stack_matrices(dtype, stack, [rows, columns], &all.iter().map(one).collect::<Vec<_>>())
        };
        [p, part(false, m, k), part(true, k, n)]
    }
}
