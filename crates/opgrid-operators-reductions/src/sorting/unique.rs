//! `aten::_unique2`, `aten::_unique`: the different elements in order.
//!
//! `values[inverse[i]] == self[i]`, and `counts[k]` elements are equal to `values[k]`
//!
//! - Shapes: `values` has one dimension, and so has `counts`; `inverse` has the shape of `self`. What is not asked for has no
//!   elements.
//! - Dtypes: bools, integers and floats; `inverse` and `counts` are int64.
//! - Values: in order, whether `sorted` or not. NaN is equal to nothing.
//! - Aliasing: `_unique2.out` and `_unique.out` write their outputs, and give them their shapes if they have no elements.
//! - Errors: other dtypes; a meta tensor; an output of another dtype or shape.
//! - Source: torch.unique, PyTorch 2.15.

use crate::kinds::unique;
use crate::prelude::*;

pub use opgrid_tensor::ops::sorting::unique::*;

pub(super) fn register(library: &mut Library) {
    library
        .define_with_forms(Unique2, &kind::SORTING)
        .on_cpu_and_meta(|input, _, inverse, counts| unique::of_all(input, false, inverse, counts));
    library.implement(Unique2Out).on_cpu_and_meta(|input, _, inverse, counts, out0, out1, out2| {
        let found = unique::of_all(input, false, inverse, counts)?;
        unique::write([(out0, &found.0), (out1, &found.1), (out2, &found.2)])
    });
    library.define_with_forms(Unique, &kind::SORTING).on_cpu_and_meta(|input, _, inverse| {
        unique::of_all(input, false, inverse, false).map(|(values, inverse, _)| (values, inverse))
    });
    library.implement(UniqueOut).on_cpu_and_meta(|input, _, inverse, out0, out1| {
        let found = unique::of_all(input, false, inverse, false)?;
        unique::write([(out0, &found.0), (out1, &found.1)])
    });
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let counted =
            |dtype| inputs(dtype).into_iter().map(|sample| sample.named("return_counts", true)).collect();
        let complex = given(generate::numbers(DType::Complex64, &[2], 0));
        samples
            .operator(Unique2, ORDERED, counted, |it| {
                let asked = (it.value("return_inverse")?, it.value("return_counts")?);
                Ok(unique::samples::asked(
                    unique::samples::expected(it.tensor("self")?, false),
                    asked.0,
                    asked.1,
                ))
            })
            .not_on_meta()
            .refuses("not implemented", complex);
        samples
            .operator(Unique, ORDERED, inputs, |it| {
                let [values, inverse, _] = unique::samples::expected(it.tensor("self")?, false);
                let none = Plain::from_elements::<i64>(DType::I64, &[0], &[]);
                Ok([values, if it.value("return_inverse")? { inverse } else { none }].into())
            })
            .not_on_meta();
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        let equal = Plain::from_elements(dtype, &[2, 4], &[3, 1, 1, 0, 3, 2, 1]);
        let all = generate::unary(dtype).into_iter().map(|sample| sample.and(true).and(true));
        all.chain([given(equal.clone()), given(equal).and(false).and(true)]).collect()
    }
}
