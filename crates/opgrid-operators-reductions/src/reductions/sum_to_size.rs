//! `aten::sum_to_size`: sums over the dimensions along which another shape would be stretched to that of a tensor.
//!
//! - Shapes: `size`, which broadcasts to the shape of `self`.
//! - Dtypes: those of sums: int64 for integers and bools, where there is something to sum, and always for a `size` without dimensions.
//! - Aliasing: `self` itself if it has the size already, and that has dimensions.
//! - Dispatch: a composite of `sum`.
//! - Errors: a `size` that does not broadcast to the shape of `self`.
//! - Source: torch.Tensor.sum_to_size, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::layers::autograd::sum_to;

pub use opgrid_tensor::ops::reductions::sum_to_size::*;

pub(super) fn register(library: &mut Library) {
    library.define(SumToSize).kind(&kind::REDUCTION).implicit(|input, size| {
        let sizes = input.spec()?.sizes();
        let more = sizes.len().wrapping_sub(size.len());
        let fits = size.len() <= sizes.len()
            && size
                .iter()
                .zip(&sizes[more.min(sizes.len())..])
                .all(|(wanted, found)| wanted == found || *wanted == 1);
        if !fits {
            return Err(argument(format!(
                "argument `size` is {size:?}, expected one that broadcasts to the shape of `self`, {sizes:?}"
            )));
        }
        // As in torch, where the number of a tensor without dimensions is a sum.
        if size.is_empty() { input.sum() } else { sum_to(input, size) }
    });
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = || given(generate::numbers(DType::F32, &[2, 3], 0));
        samples
            .operator(SumToSize, ANY, inputs, reference)
            .tolerance(16.0)
            .refuses("`size` is [2, 2]", x().and(vec![2, 2]))
            .refuses("`size` is [1, 2, 3]", x().and(vec![1, 2, 3]))
            .refuses("`size` is [0, 3]", x().and(vec![0, 3]))
            .refuses("`size` is [-1, 3]", x().and(vec![-1, 3]));
        samples.rounds(SumToSize, Roundings::all(Rounding::Sum(2)));
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        let cases: [(&[i64], &[i64]); 7] = [
            (&[3, 4], &[1, 4]),
            (&[3, 4], &[4]),
            (&[3, 4], &[]),
            (&[3, 4], &[3, 4]),
            (&[2, 3, 4], &[3, 1]),
            (&[0, 4], &[1, 4]),
            (&[], &[]),
        ];
        cases.map(|(sizes, size)| given(generate::numbers(dtype, sizes, 1)).and(size.to_vec())).to_vec()
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let (x, size): (_, Vec<i64>) = (it.tensor("self")?, it.value("size")?);
        if x.sizes() == size && !size.is_empty() {
            return Ok(x.clone().into());
        }
        let more = x.sizes().len() - size.len();
        let is_whole = !x.dtype().is_floating_point() && !x.dtype().is_complex();
        let zero = if is_whole { Scalar::Int(0) } else { Scalar::Float(0.0) };
        let dtype = if is_whole { DType::I64 } else { x.dtype() };
        Ok(Plain::from_fn(dtype, &size, |at| {
            let meets = |from: &Vec<i64>| {
                from[more..].iter().zip(at).zip(&size).all(|((from, at), size)| *size == 1 || from == at)
            };
            let own = naive::positions(x.sizes()).filter(meets);
            own.map(|from| naive::convert(x.at(&from), if is_whole { DType::I64 } else { x.dtype() }))
                .fold(zero, number::plus)
        })
        .into())
    }
}
