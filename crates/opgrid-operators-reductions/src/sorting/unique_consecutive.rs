//! `aten::unique_consecutive`: the first one of each run of equal elements, or of equal slices.
//!
//! `values[inverse[i]] == self[i]`, and run `k` has `counts[k]` elements
//!
//! - Shapes: those of `_unique2`, also with `dim` 0 of a vector, and with another `dim` those of `unique_dim_consecutive`.
//! - Dtypes, values, errors: those of these operators.
//! - Aliasing: `unique_consecutive.out` writes its outputs, and gives them their shapes if they have no elements.
//! - Source: torch.unique_consecutive, PyTorch 2.15.

use crate::kinds::unique;
use crate::prelude::*;

pub use opgrid_tensor::ops::sorting::unique_consecutive::*;

pub(super) fn register(library: &mut Library) {
    library.define_with_forms(UniqueConsecutive, &kind::SORTING).on_cpu_and_meta(unique_consecutive);
    library.implement(UniqueConsecutiveOut).on_cpu_and_meta(
        |input, inverse, counts, dim, out0, out1, out2| {
            let found = unique_consecutive(input, inverse, counts, dim)?;
            unique::write([(out0, &found.0), (out1, &found.1), (out2, &found.2)])
        },
    );
}

fn unique_consecutive(
    input: &Tensor,
    inverse: bool,
    counts: bool,
    dim: Option<i64>,
) -> Result<unique::Unique> {
    match dim {
        Some(dim) if dim != 0 || input.spec()?.sizes().len() != 1 => unique::of_slices(input, dim, true),
        _ => unique::of_all(input, true, inverse, counts),
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let inputs = |dtype| {
            let runs = Plain::from_elements(dtype, &[2, 4], &[3, 3, 1, 1, 1, 0, 3, 3]);
            let rows = Plain::from_elements(dtype, &[4, 2], &[1, 0, 1, 0, 0, 0, 1, 0]);
            let all = generate::unary(dtype).into_iter().map(|sample| sample.and(true).and(true));
            all.chain([
                given(runs.clone()),
                given(runs).and(false).and(true),
                given(rows).and(true).and(true).and(0),
                given(Plain::from_elements(dtype, &[4], &[1, 1, 0, 1])).and(false).and(true).and(0),
                given(Plain::from_elements(dtype, &[4], &[1, 1, 0, 1])).and(false).and(true).and(-1),
            ])
            .collect()
        };
        samples
            .operator(UniqueConsecutive, ORDERED, inputs, |it| {
                let x = it.tensor("self")?;
                Ok(match it.option::<i64>("dim")? {
                    Some(dim) if dim != 0 || x.sizes().len() != 1 => {
                        unique::samples::expected_slices(x, dim, true).into()
                    }
                    _ => {
                        let found = unique::samples::expected(x, true);
                        unique::samples::asked(found, it.value("return_inverse")?, it.value("return_counts")?)
                    }
                })
            })
            .not_on_meta()
            .refuses("range", given(generate::numbers(DType::F32, &[2], 0)).named("dim", 1));
    }
}
