//! `aten::tril`, `aten::triu`: one side of matrices' diagonals, zeros on the other.
//!
//! `tril`: `out[…, i, j] = self[…, i, j] if j - i <= diagonal else 0`; `triu`: `>=`
//!
//! - Shapes: that of `self`, a matrix or a batch of them, row-major.
//! - Aliasing: `tril_` and `triu_` write `self`, the `out` forms `out`, of the dtype of `self`.
//! - Errors: less than two dimensions.
//! - Source: torch.tril, torch.triu, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::triangle::{self, Side};

pub use opgrid_tensor::ops::indexing::tril::*;

/// The family of `aten::tril`: its kind, shape rule and `out` rule.
pub const TRIL: Family<Tril> = Family::new(Tril, &kind::INDEXING, shape).same_dtype_out();

/// The family of `aten::triu`: its kind, shape rule and `out` rule.
pub const TRIU: Family<Triu> = Family::new(Triu, &kind::INDEXING, shape).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library
        .family(&TRIL)
        .cpu(|input, diagonal, out| one_side(input, diagonal, out, Side::Lower))
        .derivative(|d, (input, diagonal)| d.by(input, [], move |grad, []| Tril.call(grad, diagonal)));
    library
        .family(&TRIU)
        .cpu(|input, diagonal, out| one_side(input, diagonal, out, Side::Upper))
        .derivative(|d, (input, diagonal)| d.by(input, [], move |grad, []| Triu.call(grad, diagonal)));
}

fn shape(input: &Tensor, _diagonal: i64) -> Result<TensorSpec> {
    let spec = input.spec()?;
    with_dtype!(spec.dtype(), _T: Any by itself => Ok(()))?;
    if spec.sizes().len() < 2 {
        let message = format!(
            "argument `self` has shape {:?}, expected a matrix or a batch of them, with 2 dimensions or more",
            spec.sizes()
        );
        return Err(argument(message));
    }
    TensorSpec::contiguous(spec.sizes(), spec.dtype(), spec.device())
}

fn one_side(input: &Tensor, diagonal: i64, out: &Tensor, side: Side) -> Result<()> {
    triangle::one_side(out.array()?, input.array()?, diagonal, side)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let inputs = |dtype| {
            let cases: [(&[i64], i64); 8] = [
                (&[3, 4], 0),
                (&[3, 4], 1),
                (&[4, 3], -2),
                (&[2, 3, 3], 0),
                (&[3, 3], i64::MAX),
                (&[3, 3], i64::MIN),
                (&[0, 3], 0),
                (&[2, 37], 5),
            ];
            cases.map(|(sizes, diagonal)| given(generate::numbers(dtype, sizes, 0)).and(diagonal)).to_vec()
        };
        let vector = given(generate::numbers(DType::F32, &[3], 0));
        samples
            .operator(Tril, ANY, inputs, |it| reference(it, |column, end| column <= end))
            .refuses("2 dimensions", vector.clone());
        samples
            .operator(Triu, ANY, inputs, |it| reference(it, |column, end| column >= end))
            .refuses("2 dimensions", vector);
    }

    fn reference(it: &Inputs, stays: fn(i64, i64) -> bool) -> Result<Expected> {
        let (x, diagonal): (_, i64) = (it.tensor("self")?, it.value("diagonal")?);
        Ok(Plain::from_fn(x.dtype(), x.sizes(), |position| {
            let [.., row, column] = *position else { return Scalar::Int(0) };
            if stays(column, row.saturating_add(diagonal)) { x.at(position) } else { Scalar::Int(0) }
        })
        .into())
    }
}
