//! `aten::trace`, `aten::trace_backward`: the sum of a matrix's diagonal, and the gradient.
//!
//! `out = Σ self[i, i]`; the gradient of `self[i, i]` is that of the sum, all others are zero
//!
//! - Shapes: a matrix gives a tensor without dimensions.
//! - Dtypes: as [`Sum`]: integers give int64.
//! - Aliasing: `trace.out` writes `out`, of the dtype of the result.
//! - Dispatch: composites of `diagonal` and `sum`, and of `diagonal_scatter`.
//! - Errors: other than two dimensions; bools; a gradient that has dimensions.
//! - Source: torch.trace, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::{Diagonal, DiagonalScatter, Sum};

pub use opgrid_tensor::ops::indexing::trace::*;

pub(super) fn register(library: &mut Library) {
    library.define_with_forms(Trace, &kind::REDUCTION).on_every_backend(trace).derivative(|d, (input,)| {
        let sizes = input.sizes().to_vec();
        d.by(input, [], move |grad, []| gradient(grad, &sizes))
    });
    library.implicit(TraceBackward, &kind::INDEXING, |grad, sizes| {
        if sizes.len() != 2 {
            return Err(argument(format!("argument `sizes` is {sizes:?}, expected those of a matrix")));
        }
        if grad.dim() != 0 {
            let message =
                format!("argument `grad` has shape {:?}, expected no dimensions, as the sum", grad.sizes());
            return Err(argument(message));
        }
        gradient(grad, sizes)
    });
    library.implement(TraceOut).on_every_backend(|input, out| result::copied(out, &trace(input)?));
}

fn gradient(grad: &Tensor, sizes: &[i64]) -> Result<Tensor> {
    let length = sizes.iter().copied().min().unwrap_or(0);
    DiagonalScatter.call(&derivatives::zeros_of(sizes, grad)?, &grad.expand(&[length])?, 0, 0, 1)
}

fn trace(input: &Tensor) -> Result<Tensor> {
    let spec = input.spec()?;
    if spec.sizes().len() != 2 {
        return Err(argument(format!("argument `self` has shape {:?}, expected a matrix", spec.sizes())));
    }
    pointwise::check_numbers(spec.dtype())?;
    Sum.call(&Diagonal.call(input, 0, 0, 1)?, None)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let inputs = |dtype| {
            [vec![2, 3], vec![3, 3], vec![0, 2], vec![1, 1], vec![4, 2]]
                .map(|sizes| given(generate::numbers(dtype, &sizes, 0)))
                .to_vec()
        };
        samples
            .operator(Trace, NUMBERS, inputs, |it| {
                let x = it.tensor("self")?;
                let sides = x.sizes()[0].min(x.sizes()[1]);
                let dtype = if x.dtype().is_integral() { DType::I64 } else { x.dtype() };
                let sum = (0..sides).map(|i| x.at(&[i, i])).reduce(number::plus);
                Ok(Plain::number(dtype, sum.unwrap_or(Scalar::Int(0))).into())
            })
            .tolerance(4.0)
            .refuses("a matrix", given(generate::numbers(DType::F32, &[3], 0)));
        let gradients = |dtype| {
            [vec![2, 3], vec![3, 3], vec![0, 2], vec![1, 1]]
                .map(|sizes| given(generate::numbers(dtype, &[], 0)).and(sizes))
                .to_vec()
        };
        samples
            .operator(TraceBackward, ANY, gradients, |it| {
                let (grad, sizes): (_, Vec<i64>) = (it.tensor("grad")?, it.value("sizes")?);
                Ok(Plain::from_fn(grad.dtype(), &sizes, |position| {
                    if position[0] == position[1] { grad.at(&[]) } else { Scalar::Int(0) }
                })
                .into())
            })
            .refuses("expected those of a matrix", given(Plain::number(DType::F32, 1)).and(vec![2]))
            .refuses("no dimensions", given(generate::numbers(DType::F32, &[2], 0)).and(vec![2, 2]));
        samples.rounds(Trace, Roundings::all(Rounding::Sum(2)));
    }
}
