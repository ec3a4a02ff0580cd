//! `aten::nonzero`, `nonzero_numpy`, `nonzero_static`: where the elements are that are other than zero.
//!
//! `self[out[k, 0], out[k, 1], …] != 0`
//!
//! - Shapes: a row for each such element, in row-major order, and a column for each dimension of `self`; columns lie in
//!   memory one after the other.
//! - `nonzero_numpy` gives the columns one by one, as an index takes them: one list for each dimension; a tensor without
//!   dimensions counts as one of one element.
//! - `nonzero_static` gives `size` rows, whatever the data is: the first ones, and rows of `fill_value` where there are fewer.
//! - Dtypes: int64. NaN is other than zero.
//! - Aliasing: `nonzero.out` writes `out`, and gives it its shape if it has no elements.
//! - Errors: but of `nonzero_static`, a meta tensor, or a fake one without an assumed density; a negative `size`; an `out` of another dtype or shape.
//! - Source: torch.nonzero, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::indexing;
use opgrid_tensor::layers::fake;
use opgrid_tensor::ops::{CopyInplace, FillInplaceScalar, UnbindInt};
use opgrid_tensor::tensor::Array;

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
    library.define_with_forms(NonzeroStatic, &kind::SORTING).on_cpu_and_meta(nonzero_static);
    library.implement(NonzeroStaticOut).on_cpu_and_meta(|input, size, fill_value, out| {
        result::copied(out, &nonzero_static(input, size, fill_value)?)
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

fn nonzero_static(input: &Tensor, size: i64, fill_value: i64) -> Result<Tensor> {
    if size < 0 {
        return Err(argument(format!("argument `size` is {size}, expected zero or more")));
    }
    let spec =
        TensorSpec::contiguous(&[size, input.spec()?.sizes().len() as i64], DType::I64, input.device())?;
    let rows = Tensor::from_array(Array::empty(spec)?)?;
    if input.device().is_meta() || rows.numel() == 0 {
        return Ok(rows);
    }
    FillInplaceScalar.call(&rows, Scalar::Int(fill_value))?;
    let found = nonzero(input)?;
    let count = found.sizes()[0].min(size);
    CopyInplace.call(&rows.slice(0, 0, count, 1)?, &found.slice(0, 0, count, 1)?, false)?;
    Ok(rows)
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
        let padded = |dtype| -> Vec<Sample> {
            let mixed = given(Plain::from_elements(dtype, &[2, 3], &[0, 1, 0, 1, 1, 0]));
            let all = generate::unary(dtype).into_iter().chain([mixed]);
            let sizes = |sample: Sample| {
                let few = sample.clone().named("size", 2);
                [few, sample.clone().named("size", 0), sample.named("size", 7).named("fill_value", 5)]
            };
            all.flat_map(sizes).collect()
        };
        samples
            .operator(NonzeroStatic, STORED, padded, |it| {
                let (x, size, fill): (_, i64, i64) =
                    (it.tensor("self")?, it.value("size")?, it.value("fill_value")?);
                let there = naive::places_other_than_zero(x);
                let element =
                    |at: &[i64]| there.get(at[0] as usize).map_or(fill, |place| place[at[1] as usize]);
                let sizes = [size, x.sizes().len() as i64];
                Ok(Plain::from_fn(DType::I64, &sizes, |at| Scalar::Int(element(at))).into())
            })
            .refuses("zero or more", given(generate::numbers(DType::F32, &[2], 0)).named("size", -1));
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
