//! `aten::linalg_matrix_power`, `aten::matrix_power`: the product of a matrix with itself, `n` times.
//!
//! `out = self @ self @ … @ self`, with `n` factors; the matrix of ones on the diagonal for `n` 0; powers of the inverse below that
//!
//! - Shapes: square matrices, or batches of them.
//! - Dtypes: any; bools only for `n` 0 and 1, and negative `n` for float32, float64 and complex numbers of both. Integers wrap around.
//! - Order: squares of squares, multiplied by how `n` is written in binary, as in torch.
//! - Dispatch: composites of `matmul`, and of `linalg_inv_ex` for negative `n`.
//! - Aliasing: the `out` forms write `out`, and give it its shape if it has no elements. They convert for `n` 0 and 1, and for 4, 8, 16 and so
//!   on, also of the inverse.
//! - Errors: other shapes; a singular matrix for a negative `n`; an `out` of another dtype for other `n`.
//! - Source: torch.linalg.matrix_power, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::{self, Expand, EyeM, LinalgInvEx, Matmul};

pub use opgrid_tensor::ops::products::matrix_power::*;

pub(super) fn register(library: &mut Library) {
    library.define_with_forms(LinalgMatrixPower, &kind::PRODUCT).implicit(power);
    library.implement(LinalgMatrixPowerOut).implicit(write);
    library.define_with_forms(MatrixPower, &kind::PRODUCT).implicit(power);
    library.implement(MatrixPowerOut).implicit(write);
}

fn write(input: &Tensor, n: i64, out: &Tensor) -> Result<()> {
    // Inverses are column-major, and an output that gets its shape is row-major.
    let made = power(input, n)?.contiguous()?;
    // As in torch, whose last step is a copy here and a product elsewhere.
    let power = n.unsigned_abs();
    if matches!(n, 0 | 1) || power > 3 && power.is_power_of_two() {
        result::converted(&[(out, &made)])
    } else {
        result::copied(out, &made)
    }
}

fn power(input: &Tensor, n: i64) -> Result<Tensor> {
    let spec = input.spec()?;
    let &[.., rows, columns] = spec.sizes() else {
        let message = format!(
            "argument `self` has shape {:?}, expected matrices, with 2 dimensions or more",
            spec.sizes()
        );
        return Err(argument(message));
    };
    if rows != columns {
        return Err(argument(format!(
            "argument `self` has matrices of {rows} rows and {columns} columns, expected square ones"
        )));
    }
    match n {
        0 => {
            let ones = EyeM.call(rows, rows, Some(spec.dtype()), None, Some(spec.device()), None)?;
            ops::CloneTensor.call(&Expand.call(&ones, spec.sizes(), false)?, Some(MemoryFormat::Contiguous))
        }
        1 => ops::CloneTensor.call(input, Some(MemoryFormat::Contiguous)),
        3 => Matmul.call(&Matmul.call(input, input)?, input),
        n if n > 0 => by_squares(input, n),
        -1 => Ok(LinalgInvEx.call(input, true)?.0),
        n => power(&LinalgInvEx.call(input, true)?.0, n.saturating_neg()),
    }
}

fn by_squares(input: &Tensor, n: i64) -> Result<Tensor> {
    let (mut square, mut product, mut left) = (input.clone(), None, n);
    loop {
        if left % 2 == 1 {
            product = Some(match product {
                Some(product) => Matmul.call(&product, &square)?,
                None => square.clone(),
            });
        }
        left /= 2;
        match product {
            Some(product) if left == 0 => return Ok(product),
            _ => square = Matmul.call(&square, &square)?,
        }
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::kinds::matrices::samples::Matrix;
    use opgrid_samples::prelude::*;
    use opgrid_tensor::tensor::finfo;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = generate::numbers(DType::F32, &[2, 3], 0);
        samples
            .operator(LinalgMatrixPower, NUMBERS, inputs, reference)
            .tolerance(4096.0)
            .refuses("square ones", given(x.clone()).and(2))
            .refuses("2 dimensions or more", given(x.with_sizes(&[6])).and(2));
        samples.operator(MatrixPower, NUMBERS, inputs, reference).tolerance(4096.0);
        for difference in products::samples::DIFFERENCES {
            samples.differs(LinalgMatrixPower, *difference);
            samples.differs(MatrixPower, *difference);
        }
        samples.rounds(LinalgMatrixPower, Roundings::all(Rounding::Sum(16)));
        samples.rounds(MatrixPower, Roundings::all(Rounding::Sum(16)));
        let difference = Difference {
            id: "inverses-of-nearly-singular-matrices",
            what: "the powers of the inverse of a matrix that is singular, or nearly so, are made of what rounding left; torch and \
                   opgrid round otherwise",
            why: "no inverse is defined there",
            test: ("opgrid-operators/tests/all/linalg.rs", "negative_powers_are_those_of_the_inverse"),
            when: |seen| {
                let power = seen.number("n").and_then(|n| n.to_f64().ok()).filter(|n| *n < 0.0);
                power.is_some_and(|n| is_rounding_of_inverse(seen, -n))
            },
            directed: None,
        };
        samples.differs(LinalgMatrixPower, difference);
        samples.differs(MatrixPower, difference);
    }

    /// Whether a difference of a power of the inverse is one that rounding errors become when they are multiplied by the condition of
    /// the matrix.
    fn is_rounding_of_inverse(seen: &Seen<'_>, power: f64) -> bool {
        if seen.part == Part::Outcome {
            return seen.we_refuse("singular") || seen.torch_refuses("singular");
        }
        let Some(operand) = seen.tensor("self") else { return false };
        let n = *operand.geometry.sizes().last().unwrap_or(&0) as usize;
        let most = |matrix: &Matrix| {
            let rows = (0..n).map(|i| (0..n).map(|j| matrix.at(i, j).norm()).sum::<f64>());
            rows.fold(0.0, |most, sum| if sum > most || sum.is_nan() { sum } else { most })
        };
        let bound = |elements: &[Complex64]| {
            let matrix = Matrix::from_fn(n, n, |i, j| elements[i * n + j]);
            let inverse = most(&matrix.solve(&Matrix::identity(n)));
            // Of a singular matrix nothing is known.
            if inverse.is_finite() { most(&matrix) * inverse * inverse.powf(power) } else { f64::INFINITY }
        };
        let bound = operand.elements.chunks(n.max(1) * n.max(1)).map(bound).fold(0.0, f64::max);
        seen.each(|(dtype, ours, torch)| {
            finfo(*dtype).is_ok_and(|limits| {
                let distance = (ours - torch).norm();
                bound == f64::INFINITY || distance <= 256.0 * power * limits.eps * bound
            })
        })
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        // Of one digit, so that products of several keep all digits in most dtypes.
        let small = |sizes: &[i64]| {
            Plain::from_elements(dtype, sizes, &(0..18).map(|at| (at * 5 + 1) % 3).collect::<Vec<i64>>())
        };
        let cases: [(&[i64], &[i64]); 4] =
            [(&[2, 2], &[0, 1, 2, 3, 5]), (&[2, 3, 3], &[0, 1, 3]), (&[0, 2, 2], &[2]), (&[0, 0], &[3])];
        // Bools have no product, which only counts where there is one.
        let counts = |sizes: &[i64], n: i64| dtype != DType::Bool || (n > 1 && !sizes.contains(&0));
        let one = |(sizes, powers): (&'static [i64], &'static [i64])| {
            powers.iter().filter(move |n| counts(sizes, **n)).map(move |n| given(small(sizes)).and(*n))
        };
        cases.into_iter().flat_map(one).collect()
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let (x, n): (_, i64) = (it.tensor("self")?, it.value("n")?);
        let rank = x.sizes().len();
        let one =
            Plain::from_fn(x.dtype(), x.sizes(), |at| Scalar::Int(i64::from(at[rank - 2] == at[rank - 1])));
        let size = x.sizes()[rank - 1];
        let times = |product: Plain, _| {
            Plain::from_fn(x.dtype(), x.sizes(), |at| {
                let (outer, cell) = at.split_at(rank - 2);
                let element = |of: &Plain, row, column| of.at(&[outer, &[row, column]].concat());
                let term = |k| number::times(element(&product, cell[0], k), element(x, k, cell[1]));
                (0..size).map(term).reduce(number::plus).unwrap_or(Scalar::Int(0))
            })
        };
        Ok((0..n).fold(one, times).into())
    }
}
