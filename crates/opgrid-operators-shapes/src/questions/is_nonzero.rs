//! `aten::is_nonzero`: whether the only element of a tensor is true.
//!
//! - Shapes: any with one element.
//! - Dispatch: a composite of `item`.
//! - Errors: another number of elements; a meta tensor, which has none.
//! - Source: torch.is_nonzero, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::Item;

pub use opgrid_tensor::ops::questions::is_nonzero::*;

pub(super) fn register(library: &mut Library) {
    library.define(IsNonzero).kind(&kind::QUESTION).implicit(|input| match input.spec()?.numel() {
        1 => Ok(Item.call(input)?.to_bool()),
        found => {
            let message = format!(
                "whether a tensor with {found} elements is true is ambiguous, expected 1; use `any` or \
                 `all`"
            );
            Err(argument(message))
        }
    });
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let inputs = |dtype| {
            let of = |sizes: &[i64], number: i64| given(Plain::from_elements(dtype, sizes, &[number]));
            vec![of(&[], 0), of(&[], 1), of(&[1], 3), of(&[1, 1], 0)]
        };
        samples
            .operator(IsNonzero, STORED, inputs, |it| {
                Ok(Expected::Value(it.tensor("self")?.elements()[0].to_bool().into()))
            })
            .not_on_meta()
            .refuses("2 elements", given(generate::numbers(DType::F32, &[2], 0)))
            .refuses("0 elements", given(generate::numbers(DType::F32, &[0], 0)));
    }
}
