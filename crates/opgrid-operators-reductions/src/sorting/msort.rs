//! `aten::msort`: the elements in order along the first dimension.
//!
//! `out[0] <= out[1] <= …`
//!
//! - Shapes, dtypes, errors: those of the values of `sort`.
//! - Aliasing: `msort.out` writes `out`.
//! - Dispatch: made of `sort`.
//! - Source: torch.msort, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::Sort;

pub use opgrid_tensor::ops::sorting::msort::*;

pub(super) fn register(library: &mut Library) {
    library.define_with_forms(Msort, &kind::SORTING).implicit(values);
    library.implement(MsortOut).implicit(|input, out| result::copied(out, &values(input)?));
}

fn values(input: &Tensor) -> Result<Tensor> {
    Sort.call(input, 0, false).map(|(values, _)| values)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::kinds::order;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.operator(Msort, ORDERED, generate::unary, |it| {
            let [values, _] = order::samples::expected(it.tensor("self")?, 0, &|length| length, &|line| {
                order::samples::places(line, false)
            });
            Ok(values.into())
        });
        samples.differs_as(Msort, &[READ_AFTER_WRITTEN, order::samples::EQUAL_PLACES]);
    }
}
