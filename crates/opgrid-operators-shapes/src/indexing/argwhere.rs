//! `aten::argwhere`: the indices of elements that are not zero.
//!
//! - Shapes: a row for each such element, with its index in each dimension; the columns lie one after the other.
//! - Dtypes: int64.
//! - Dispatch: a composite of `nonzero`.
//! - Errors: a meta tensor.
//! - Source: torch.argwhere, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::Nonzero;

pub use opgrid_tensor::ops::indexing::argwhere::*;

pub(super) fn register(library: &mut Library) {
    library.define(Argwhere).kind(&kind::INDEXING).composite(|input| Nonzero.call(input));
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let inputs = |dtype| {
            let of = |sizes: &[i64]| given(Plain::from_elements(dtype, sizes, &[1, 0, 3, 0, 0, 2]));
            vec![of(&[2, 3]), of(&[4]), of(&[]), of(&[2, 0]), of(&[3, 2, 2]), given(Plain::number(dtype, 0))]
        };
        samples
            .operator(Argwhere, ANY, inputs, |it| {
                let x = it.tensor("self")?;
                let found: Vec<Vec<i64>> =
                    naive::positions(x.sizes()).filter(|position| x.at(position).to_bool()).collect();
                let sizes = [found.len() as i64, x.sizes().len() as i64];
                Ok(Plain::from_elements(DType::I64, &sizes, &found.concat()).into())
            })
            .not_on_meta();
    }
}
