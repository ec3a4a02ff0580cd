//! `aten::fill_diagonal_`: the elements of the main diagonal set to a number.
//!
//! `self[i, i, …] = value`, and with `wrap`, of a matrix with more rows than columns also `self[i + k * (columns + 1), i] = value`
//!
//! - Shapes: at least two dimensions; of more than two, all have one size.
//! - Dtypes: `value` is converted to that of `self`; a fraction is cut off for integers.
//! - Aliasing: writes `self`, which must not repeat elements.
//! - Errors: fewer dimensions, or three and more of different sizes; a number beyond the range of the dtype.
//! - Source: torch.Tensor.fill_diagonal_, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::CloneTensor;

pub use opgrid_tensor::ops::indexing::fill_diagonal::*;

pub(super) fn register(library: &mut Library) {
    library.define(FillDiagonalInplace).kind(&kind::INDEXING).in_place(shape, cpu).derivative(
        |d, (input, _, wrap)| {
            d.by(input, [], move |grad, []| {
                let grad = CloneTensor.call(grad, None)?;
                FillDiagonalInplace.call(&grad, Scalar::Int(0), wrap)?;
                Ok(grad)
            })
        },
    );
}

fn shape(input: &Tensor, _value: Scalar, _wrap: bool) -> Result<TensorSpec> {
    let spec = input.spec()?;
    match spec.sizes() {
        [_, _] => Ok(spec.clone()),
        [first, _, rest @ ..] if !rest.is_empty() && spec.sizes().iter().all(|size| size == first) => {
            Ok(spec.clone())
        }
        found => Err(argument(format!(
            "argument `self` has shape {found:?}, expected a matrix, or more dimensions of one size"
        ))),
    }
}

fn cpu(_input: &Tensor, value: Scalar, wrap: bool, out: &Tensor) -> Result<()> {
    with_dtype!(out.dtype(), T: Stored => arithmetic::element::<T>(value).map(drop))?;
    if out.numel() == 0 {
        return Ok(());
    }
    let array = out.array()?;
    let geometry = array.geometry();
    let (sizes, strides) = (geometry.sizes(), geometry.strides());
    let (rows, columns, wraps) = (sizes[0], sizes[1], wrap && sizes.len() == 2);
    let step = strides.iter().fold(0, |sum: i64, stride| sum.saturating_add(*stride));
    // After a square, one row is left out before the next diagonal.
    let starts = (0..rows).step_by(columns as usize + 1).take(if wraps { usize::MAX } else { 1 });
    for start in starts {
        let (count, offset) = ((rows - start).min(columns), geometry.offset() + start * strides[0]);
        elementwise::fill(&array.view(Geometry::strided(&[count], &[step], offset)?)?, value)?;
    }
    Ok(())
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
