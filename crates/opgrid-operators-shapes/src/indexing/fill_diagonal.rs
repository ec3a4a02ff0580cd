//! `aten::fill_diagonal_`: the elements of the main diagonal set to a number.
//!
//! `self[i, i, …] = value`, and with `wrap`, of a matrix with more rows than columns also `self[i + k * (columns + 1), i] = value`
//!
//! - Shapes: at least two dimensions; of more than two, all have one size.
//! - Dtypes: `value` is converted to that of `self`; a fraction is cut off for integers.
//! - Aliasing: writes `self`, which must not repeat elements.
//! - Dispatch: a composite of views and `fill_`.
//! - Errors: fewer dimensions, or three and more of different sizes; a number beyond the range of the dtype.
//! - Source: torch.Tensor.fill_diagonal_, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::access::check_written;
use opgrid_tensor::ops::{Diagonal, FillInplaceScalar, UnflattenInt};

pub use opgrid_tensor::ops::indexing::fill_diagonal::*;

pub(super) fn register(library: &mut Library) {
    library.define(FillDiagonalInplace).kind(&kind::INDEXING).implicit(|input, value, wrap| {
        check(input)?;
        for diagonal in diagonals(input, wrap)? {
            FillInplaceScalar.call(&diagonal, value)?;
        }
        Ok(())
    });
}

fn check(input: &Tensor) -> Result<()> {
    let spec = input.spec()?;
    check_written(spec.geometry())?;
    match spec.sizes() {
        [_, _] => Ok(()),
        [first, _, rest @ ..] if !rest.is_empty() && spec.sizes().iter().all(|size| size == first) => Ok(()),
        found => Err(argument(format!(
            "argument `self` has shape {found:?}, expected a matrix, or more dimensions of one size"
        ))),
    }
}

/// Views of the elements that are set.
fn diagonals(input: &Tensor, wrap: bool) -> Result<Vec<Tensor>> {
    let &[rows, columns] = input.sizes() else {
        let mut diagonal = input.clone();
        while diagonal.dim() > 1 {
            diagonal = Diagonal.call(&diagonal, 0, 0, -1)?;
        }
        return Ok(vec![diagonal]);
    };
    if !wrap || columns == 0 || rows <= columns {
        return Ok(vec![Diagonal.call(input, 0, 0, 1)?]);
    }
    // After each square, one row is left out before the next diagonal.
    let period = columns + 1;
    let blocks = rows / period;
    let whole = UnflattenInt.call(&input.slice(0, 0, blocks * period, 1)?, 0, &[blocks, period])?;
    let rest = input.slice(0, blocks * period, rows, 1)?;
    Ok(vec![Diagonal.call(&whole, 0, 1, 2)?, Diagonal.call(&rest, 0, 0, 1)?])
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = |sizes: &[i64]| given(generate::numbers(DType::U8, sizes, 0));
        samples
            .operator(FillDiagonalInplace, STORED, inputs, reference)
            .refuses("`self` has shape [3]", x(&[3]).and(1))
            .refuses("`self` has shape []", x(&[]).and(1))
            .refuses("`self` has shape [2, 3, 2]", x(&[2, 3, 2]).and(1))
            .refuses_data("overflow", x(&[2, 2]).and(300));
        samples.differs(FillDiagonalInplace, departures::arithmetic::NUMBERS_FIT);
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        let shapes: [&[i64]; 8] = [&[3, 3], &[2, 4], &[8, 3], &[7, 3], &[5, 1], &[2, 2, 2], &[0, 3], &[3, 0]];
        let calls = shapes.map(|sizes| given(generate::numbers(dtype, sizes, 1)).and(Scalar::Float(1.75)));
        generate::and_named(calls.to_vec(), "wrap", true)
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let (x, value, wrap): (_, Scalar, bool) =
            (it.tensor("self")?, it.value("fill_value")?, it.value("wrap")?);
        let is_filled = |at: &[i64]| match *at {
            // One row is left out after each square.
            [row, column] if wrap => row % (x.sizes()[1] + 1) == column,
            _ => at.windows(2).all(|pair| pair[0] == pair[1]),
        };
        let one = |at: &[i64]| if is_filled(at) { value } else { x.at(at) };
        Ok(Plain::from_fn(x.dtype(), x.sizes(), one).into())
    }
}
