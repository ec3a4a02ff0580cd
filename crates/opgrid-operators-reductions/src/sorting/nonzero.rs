//! `aten::nonzero`, `aten::nonzero_numpy`: where the elements are that are other than zero.
//!
//! `self[out[k, 0], out[k, 1], …] != 0`
//!
//! - Shapes: a row for each such element, in row-major order, and a column for each dimension of `self`; columns lie in
//!   memory one after the other.
//! - `nonzero_numpy` gives the columns one by one, as an index takes them: one list for each dimension; a tensor without
//!   dimensions counts as one of one element.
//! - Dtypes: int64. NaN is other than zero.
//! - Aliasing: `nonzero.out` writes `out`, and gives it its shape if it has no elements.
//! - Errors: a meta tensor, or a fake one without an assumed density; an `out` of another dtype or shape.
//! - Source: torch.nonzero, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::indexing;
use opgrid_tensor::layers::fake;
use opgrid_tensor::ops::UnbindInt;

pub use opgrid_tensor::ops::sorting::nonzero::*;

pub(super) fn register(library: &mut Library) {
    library
        .define_with_forms(Nonzero, &kind::SORTING)
        .column(Switch { keyword: "as_tuple", operator: "aten::nonzero_numpy" })
        .on_cpu_and_meta(nonzero);
    library.define(NonzeroNumpy).kind(&kind::SORTING).composite(|input| {
        let input = if input.dim() == 0 { &input.unsqueeze(0)? } else { input };
        UnbindInt.call(&Nonzero.call(input)?, 1)
    });
    library.implement(NonzeroOut).on_cpu_and_meta(|input, out| result::copied(out, &nonzero(input)?));
}

fn nonzero(input: &Tensor) -> Result<Tensor> {
    if let Some(count) = fake::assumed_count("self", input.device(), input.numel())? {
        let columns = Tensor::empty(&[input.dim() as i64, count], DType::I64, input.device())?;
        return Tensor::from_array(columns.array()?.view(columns.geometry().transpose(0, 1)?)?);
    }
    let mask = Tensor::empty(input.sizes(), DType::Bool, input.device())?;
    elementwise::copy(&mask, input)?;
    if mask.dim() == 0 {
        let is_there = mask.to_vec::<Bool>()?.iter().any(|found| found.is_true());
        return Tensor::empty(&[i64::from(is_there), 0], DType::I64, input.device());
    }
    let columns = indexing::columns(mask.array()?)?;
    Tensor::from_array(columns.view(columns.geometry().transpose(0, 1)?)?)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let inputs = |dtype| {
            let mixed = given(Plain::from_elements(dtype, &[2, 3], &[0, 1, 0, 1, 1, 0]));
            generate::unary(dtype).into_iter().chain([mixed]).collect()
        };
        samples.operator(Nonzero, STORED, inputs, reference).not_on_meta();
        samples
            .operator(NonzeroNumpy, STORED, inputs, |it| naive::columns_of_places(it.tensor("self")?))
            .not_on_meta();
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let x = it.tensor("self")?;
        let there = naive::places_other_than_zero(x);
        let elements: Vec<i64> = there.iter().flatten().copied().collect();
        Ok(Plain::from_elements(DType::I64, &[there.len() as i64, x.sizes().len() as i64], &elements).into())
    }
}
