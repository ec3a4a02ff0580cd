//! `aten::rot90`: the plane of two dimensions turned by right angles.
//!
//! - Shapes: that of `self`, with the two sizes exchanged where `k` is odd. From the first of `dims` to the second,
//!   `k` times; against that direction where `k` is negative.
//! - Aliasing: `rot90.out` writes `out`, of the dtype of `self`, and gives it its shape if it has no elements.
//! - Dispatch: a composite of `flip` and `transpose`.
//! - Errors: other than two dimensions, twice the same, one out of range, a tensor of less than two dimensions.
//! - Source: torch.rot90, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::{Flip, TransposeInt};
use opgrid_tensor::tensor::views::normalise_dim;

pub use opgrid_tensor::ops::indexing::rot90::*;

pub(super) fn register(library: &mut Library) {
    library.define_with_forms(Rot90, &kind::INDEXING).on_every_backend(rot90).derivative(
        |d, (input, k, dims)| {
            let dims = dims.to_vec();
            d.by(input, [], move |grad, []| Rot90.call(grad, 4 - k.rem_euclid(4), &dims))
        },
    );
    library
        .implement(Rot90Out)
        .on_every_backend(|input, k, dims, out| result::copied(out, &rot90(input, k, dims)?));
}

fn rot90(input: &Tensor, k: i64, dims: &[i64]) -> Result<Tensor> {
    let sizes = input.spec()?.sizes();
    let &[first, second] = dims else {
        return Err(argument(format!("argument `dims` is {dims:?}, expected two dimensions")));
    };
    if sizes.len() < 2 {
        return Err(argument(format!("argument `self` has shape {sizes:?}, expected 2 dimensions or more")));
    }
    if normalise_dim(first, sizes.len())? == normalise_dim(second, sizes.len())? {
        return Err(argument(format!("argument `dims` is {dims:?}, expected two different dimensions")));
    }
    match k.rem_euclid(4) {
        1 => TransposeInt.call(&Flip.call(input, &[second])?, first, second),
        2 => Flip.call(input, dims),
        3 => TransposeInt.call(&Flip.call(input, &[first])?, first, second),
        _ => opgrid_tensor::ops::CloneTensor.call(input, Some(MemoryFormat::Contiguous)),
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let inputs = |dtype| {
            let cases: [(&[i64], i64, [i64; 2]); 7] = [
                (&[2, 3], 1, [0, 1]),
                (&[2, 3], 2, [0, 1]),
                (&[2, 3], -1, [0, 1]),
                (&[2, 3], 4, [0, 1]),
                (&[2, 3, 4], 7, [2, 0]),
                (&[0, 2], 1, [1, 0]),
                (&[2, 3], i64::MIN, [0, -1]),
            ];
            cases
                .map(|(sizes, k, dims)| given(generate::numbers(dtype, sizes, 0)).and(k).and(dims.to_vec()))
                .to_vec()
        };
        let x = generate::numbers(DType::F32, &[2, 3], 0);
        samples
            .operator(Rot90, STORED, inputs, reference)
            .refuses("expected two", given(x.clone()).and(1).and([0].to_vec()))
            .refuses("different", given(x.clone()).and(1).and([0, -2].to_vec()))
            .refuses("range", given(x).and(1).and([0, 2].to_vec()))
            .refuses("2 dimensions", given(generate::numbers(DType::F32, &[2], 0)));
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let (x, k, dims): (_, i64, Vec<i64>) = (it.tensor("self")?, it.value("k")?, it.value("dims")?);
        let [one, other] = [0, 1].map(|at| naive::dimension(dims[at], x.sizes().len()));
        let mut turned = x.clone();
        for _ in 0..k.rem_euclid(4) {
            let mut sizes = turned.sizes().to_vec();
            sizes.swap(one, other);
            turned = Plain::from_fn(x.dtype(), &sizes, |position| {
                let mut source = position.to_vec();
                (source[one], source[other]) = (position[other], turned.sizes()[other] - 1 - position[one]);
                turned.at(&source)
            });
        }
        Ok(turned.into())
    }
}
