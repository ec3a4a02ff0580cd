//! `aten::linalg_ldl_factor_ex`, `linalg_ldl_factor`, `linalg_ldl_solve`: symmetric matrices as products of triangles around blocks.
//!
//! `self = P * L * D * Lᵀ * Pᵀ`, or with `Lᴴ` for Hermitian ones, where `D` has blocks of one or two rows
//!
//! - Shapes: square matrices, or batches of them; `info` has a number for each. `B` of matrices with as many rows; batches broadcast.
//! - Dtypes: float32, float64, complex64, complex128, one for all; `pivots` and `info` are int32.
//! - Values: of `self` the lower triangle is read. `LD` has `D`, and below it `L` without its ones; zeros above. `pivots` are the rows, counted
//!   from 1, that each row was exchanged with, negative in blocks of two. `info` is 0, or the number of the first column that is zero.
//! - Strides: column-major, as in torch.
//! - Dispatch: `linalg_ldl_factor` is a composite of `linalg_ldl_factor_ex`.
//! - Aliasing: the `out` forms write their outputs.
//! - Errors: other shapes or dtypes; pivots that are no rows; with `check_errors`, and from `linalg_ldl_factor`, a zero column.
//! - Derivative: none, as in torch.
//! - Source: torch.linalg.ldl_factor, torch.linalg.ldl_solve, PyTorch 2.15.

use super::lu_solve::{expand_stack, solution};
use super::lu_unpack::check_pivots;
use crate::kinds::matrices::{Fault, Stack, check, column_major, row_major};
use crate::prelude::*;
use opgrid_kernels::linalg::{ldl, solve_ldl};

pub use opgrid_tensor::ops::linalg::ldl::*;

/// The family of `aten::linalg_ldl_factor_ex`: its kind, shape rule and `out` rule.
pub const LINALG_LDL_FACTOR_EX: Family<LinalgLdlFactorEx> =
    Family::new(LinalgLdlFactorEx, &kind::FACTORIZATION, |input, _, _| {
        let spec = input.spec()?;
        let stack = Stack::square("self", spec)?;
        Ok((
            column_major(stack.batch, [stack.rows, stack.rows], spec)?,
            row_major(&stack.with(&[stack.rows]), DType::I32, spec)?,
            row_major(stack.batch, DType::I32, spec)?,
        ))
    })
    .same_dtype_out();

/// The family of `aten::linalg_ldl_solve`: its kind, shape rule and `out` rule.
pub const LINALG_LDL_SOLVE: Family<LinalgLdlSolve> =
    Family::new(LinalgLdlSolve, &kind::FACTORIZATION, |factors, pivots, right, _| {
        let (a, b) = (factors.spec()?, right.spec()?);
        let stack = Stack::square("LD", a)?;
        check_pivots("pivots", pivots.spec()?, &stack.with(&[stack.rows]))?;
        solution(("LD", a), ("B", b), true)
    })
    .same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&LINALG_LDL_FACTOR_EX).cpu(|input, is_hermitian, check_errors, factors, pivots, info| {
        ldl(factors.array()?, pivots.array()?, info.array()?, input.array()?, is_hermitian)?;
        if check_errors { check(info, "linalg.ldl_factor", Fault::ZeroBlock) } else { Ok(()) }
    });
    library.define_with_forms(LinalgLdlFactor, &kind::FACTORIZATION).implicit(|input, is_hermitian| {
        let (factors, pivots, _) = LinalgLdlFactorEx.call(input, is_hermitian, true)?;
        Ok((factors, pivots))
    });
    library.implement(LinalgLdlFactorOut).implicit(|input, is_hermitian, factors, pivots| {
        let made = LinalgLdlFactorEx.call(input, is_hermitian, true)?;
        result::all_copied(&[(factors, &made.0), (pivots, &made.1)])
    });
    library.family(&LINALG_LDL_SOLVE).cpu(|factors, pivots, right, is_hermitian, out| {
        let out = out.array()?;
        let factors = expand_stack(factors.array()?, out, 2)?;
        let pivots = expand_stack(pivots.array()?, out, 1)?;
        solve_ldl(out, [&factors, &pivots], &expand_stack(right.array()?, out, 2)?, is_hermitian)
    });
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::kinds::matrices::DTYPES;
    use crate::kinds::matrices::samples::{
        Matrix, batch, map_matrices, matrices, refuse_others_than_square, stack_matrices,
    };
    use num_complex::Complex64;
    use opgrid_samples::OperatorSamples;
    use opgrid_samples::prelude::*;

    /// The factors of a matrix and its pivots, by the definition of Bunch and Kaufman: whole matrices are exchanged and multiplied.
    struct Factors {
        factors: Matrix,
        pivots: Vec<i64>,
    }

    pub(crate) fn collect(samples: &mut Samples) {
        let singular = Plain::from_elements(DType::F32, &[2, 2], &[0.0; 4]);
        let accurate = |operator: &mut OperatorSamples| {
            refuse_others_than_square(operator)
                .tolerance(256.0)
                // Of the upper triangle nothing is read, and matrices with repeated rows are singular.
                .needs_distinct();
        };
        accurate(samples.operator(LinalgLdlFactorEx, DTYPES, inputs, |it| {
            let [factors, pivots] = expected(it)?;
            let info = Plain::from_fn(DType::I32, batch(&factors), |_| Scalar::Int(0));
            Ok([factors, pivots, info].into())
        }));
        accurate(
            samples
                .operator(LinalgLdlFactor, DTYPES, inputs, |it| Ok(expected(it)?.into()))
                .refuses_data("column 1", given(singular)),
        );
        let x = || generate::numbers(DType::F32, &[2, 2], 0);
        let pivots = || Plain::from_elements(DType::I32, &[2], &[1, 2]);
        samples
            .operator(LinalgLdlSolve, DTYPES, solved_inputs, |it| {
                let (factors, pivots) = (it.tensor("LD")?, it.tensor("pivots")?);
                let is_hermitian: bool = it.value("hermitian")?;
                let products = multiplied(factors, pivots, is_hermitian);
                super::super::lu_solve::samples::solve_each(&products, it.tensor("B")?, true, |a, b| {
                    a.solve(b)
                })
                .map(Expected::from)
            })
            .tolerance(512.0)
            .needs_distinct()
            .refuses("expected int32", given(x()).and(pivots().to(DType::I64)).and(x()))
            .refuses(
                "expected 2 as those of",
                given(x()).and(pivots()).and(generate::numbers(DType::F32, &[3, 1], 0)),
            )
            .refuses_data(
                "numbers of rows from 1 to 2",
                given(x()).and(Plain::from_elements(DType::I32, &[2], &[0, 2])).and(x()),
            );
        samples.rounds(LinalgLdlFactorEx, Roundings::all(Rounding::Sum(256)));
        samples.rounds(LinalgLdlFactor, Roundings::all(Rounding::Sum(256)));
        samples.rounds(LinalgLdlSolve, Roundings::all(Rounding::Sum(512)));
    }

    /// Matrices with small numbers on the diagonal, so that there are blocks of two rows.
    fn symmetric(dtype: DType, sizes: &[i64], is_hermitian: bool) -> Plain {
        map_matrices(&generate::numbers(dtype, sizes, 1), |matrix| {
            Matrix::from_fn(matrix.rows, matrix.rows, |i, j| {
                let other = if is_hermitian { matrix.at(j, i).conj() } else { matrix.at(j, i) };
                // None of them is as large as another one.
                let place = (i.min(j) * 3 + i.max(j)) as f64;
                let sum = matrix.at(i, j) + other + place / 8.0;
                if i == j { Complex64::from(sum.re / 64.0) } else { sum }
            })
        })
    }

    const SIZES: [&[i64]; 5] = [&[4, 4], &[2, 2, 2], &[0, 0], &[0, 2, 2], &[2, 1, 5, 5]];

    fn inputs(dtype: DType) -> Vec<Sample> {
        let of = |sizes: &&[i64]| {
            [false, true].map(|is_hermitian| {
                given(symmetric(dtype, sizes, is_hermitian)).named("hermitian", is_hermitian)
            })
        };
        SIZES.iter().flat_map(of).collect()
    }

    fn solved_inputs(dtype: DType) -> Vec<Sample> {
        let of = |sizes: &&[i64]| {
            [false, true].map(|is_hermitian| {
                let [factors, pivots] = factored(&symmetric(dtype, sizes, is_hermitian), is_hermitian);
                let right = [&sizes[..sizes.len() - 1], &[2]].concat();
                given(factors)
                    .and(pivots)
                    .and(generate::numbers(dtype, &right, 3))
                    .named("hermitian", is_hermitian)
            })
        };
        let broadcast = || {
            let [factors, pivots] = factored(&symmetric(dtype, &[4, 4], false), false);
            given(factors).and(pivots).and(generate::numbers(dtype, &[2, 4, 1], 3))
        };
        SIZES.iter().flat_map(of).chain([broadcast()]).collect()
    }

    fn expected(it: &Inputs) -> Result<[Plain; 2]> {
        Ok(factored(it.tensor("self")?, it.value("hermitian")?))
    }

    fn factored(x: &Plain, is_hermitian: bool) -> [Plain; 2] {
        let all: Vec<Factors> = matrices(x).iter().map(|matrix| factor(matrix, is_hermitian)).collect();
        let pivots: Vec<i64> = all.iter().flat_map(|one| one.pivots.clone()).collect();
        let factors: Vec<Matrix> = all.into_iter().map(|one| one.factors).collect();
        let sizes = crate::kinds::matrices::samples::matrix_sizes(x);
        [
            stack_matrices(x.dtype(), batch(x), sizes, &factors),
            Plain::from_elements(DType::I32, &[batch(x), &[sizes[0]]].concat(), &pivots),
        ]
    }

    /// The matrix with two rows exchanged, and the same columns.
    fn exchanged(matrix: &Matrix, one: usize, other: usize) -> Matrix {
        let from = |i: usize| match i {
            i if i == one => other,
            i if i == other => one,
            i => i,
        };
        Matrix::from_fn(matrix.rows, matrix.columns, |i, j| matrix.at(from(i), from(j)))
    }

    /// How large LAPACK takes a number to be.
    fn size(z: Complex64) -> f64 {
        z.re.abs() + z.im.abs()
    }

    fn factor(matrix: &Matrix, is_hermitian: bool) -> Factors {
        let n = matrix.rows;
        let turned = |z: Complex64| if is_hermitian { z.conj() } else { z };
        // What is left, as a whole matrix.
        let mut left =
            Matrix::from_fn(n, n, |i, j| if i >= j { matrix.at(i, j) } else { turned(matrix.at(j, i)) });
        let (mut factors, mut pivots) = (Matrix::from_fn(n, n, |_, _| 0.0.into()), vec![0; n]);
        let mut k = 0;
        while k < n {
            let threshold = (1.0 + 17.0_f64.sqrt()) / 8.0;
            let largest = |row: usize| {
                let others = (k..n).filter(move |i| *i != row);
                others.fold((row, 0.0), |best, i| {
                    let found = size(left.at(i, row));
                    if found > best.1 { (i, found) } else { best }
                })
            };
            let (row, below) = largest(k);
            let own = size(left.at(k, k));
            let (row, count) = if k + 1 == n || own >= threshold * below {
                (k, 1)
            } else {
                let beside = largest(row).1;
                if own * beside >= threshold * below * below {
                    (k, 1)
                } else if size(left.at(row, row)) >= threshold * beside {
                    (row, 1)
                } else {
                    (row, 2)
                }
            };
            let last = k + count - 1;
            left = exchanged(&left, last, row);
            let block = Matrix::from_fn(count, count, |i, j| left.at(k + i, k + j));
            let columns = Matrix::from_fn(n - k - count, count, |i, j| left.at(k + count + i, k + j));
            // `L * D` is what stands there, so that its transpose solves an equation with the transposed block.
            let transposed = Matrix::from_fn(count, count, |i, j| block.at(j, i));
            let right = Matrix::from_fn(count, columns.rows, |i, j| columns.at(j, i));
            let l = transposed.solve(&right);
            for i in 0..n - k - count {
                for j in 0..n - k - count {
                    let taken: Complex64 = (0..count).map(|c| columns.at(i, c) * turned(l.at(c, j))).sum();
                    let place = (k + count + i, k + count + j);
                    left.set(place.0, place.1, left.at(place.0, place.1) - taken);
                }
            }
            for c in 0..count {
                (c..count).for_each(|i| factors.set(k + i, k + c, block.at(i, c)));
                (0..n - k - count).for_each(|i| factors.set(k + count + i, k + c, l.at(c, i)));
            }
            let number = row as i64 + 1;
            pivots[k..k + count].fill(if count == 1 { number } else { -number });
            k += count;
        }
        Factors { factors, pivots }
    }

    /// The matrices that factors multiply to.
    fn multiplied(factors: &Plain, pivots: &Plain, is_hermitian: bool) -> Plain {
        let turned = |z: Complex64| if is_hermitian { z.conj() } else { z };
        let n = *factors.sizes().last().unwrap_or(&0) as usize;
        let pivots: Vec<i64> = pivots.elements().iter().map(|pivot| pivot.to_complex().re as i64).collect();
        let one = |(place, ld): (usize, &Matrix)| {
            let pivots = &pivots[place * n..][..n];
            let starts: Vec<usize> = (0..n).fold(Vec::new(), |mut starts, k| {
                let is_second = starts.last().is_some_and(|last| *last + 1 == k && pivots[*last] < 0);
                if !is_second {
                    starts.push(k);
                }
                starts
            });
            let mut product = Matrix::from_fn(n, n, |_, _| 0.0.into());
            // From the last block to the first one.
            for k in starts.into_iter().rev() {
                let count = if pivots[k] < 0 { 2 } else { 1 };
                let is_own = |j: usize| (k..k + count).contains(&j);
                let l = Matrix::from_fn(n, n, |i, j| {
                    if i == j {
                        1.0.into()
                    } else if is_own(j) && i >= k + count {
                        ld.at(i, j)
                    } else {
                        0.0.into()
                    }
                });
                let with_block = Matrix::from_fn(n, n, |i, j| match (is_own(i) && is_own(j), i >= j) {
                    (true, true) => ld.at(i, j),
                    (true, false) => turned(ld.at(j, i)),
                    (false, _) => product.at(i, j),
                });
                let other = Matrix::from_fn(n, n, |i, j| turned(l.at(j, i)));
                product = l.times(&with_block).times(&other);
                let (last, row) = (k + count - 1, pivots[k].unsigned_abs() as usize - 1);
                product = exchanged(&product, last, row);
            }
            product
        };
        let all: Vec<Matrix> = matrices(factors).iter().enumerate().map(one).collect();
        let sizes = crate::kinds::matrices::samples::matrix_sizes(factors);
        stack_matrices(factors.dtype(), batch(factors), sizes, &all)
    }
}
