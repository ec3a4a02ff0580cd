//! `aten::outer`, `aten::ger`: the product of a column and a row.
//!
//! `out[i, j] = self[i] * vec2[j]`
//!
//! - Shapes: `[m]` and `[n]` give `[m, n]`.
//! - Dtypes: as `mul`.
//! - Dispatch: composites of `mul`.
//! - Aliasing: `outer.out` and `ger.out` write `out`, and give it its shape if it has no elements.
//! - Errors: tensors that are no vectors; those of `mul`.
//! - Source: torch.outer, torch.ger, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::MulTensor;

pub use opgrid_tensor::ops::products::outer::*;

pub(super) fn register(library: &mut Library) {
    library.define_with_forms(Outer, &kind::PRODUCT).implicit(outer);
    library
        .implement(OuterOut)
        .implicit(|input, vec2, out| result::converted(&[(out, &outer(input, vec2)?)]));
    library.define_with_forms(Ger, &kind::PRODUCT).implicit(outer);
    library.implement(GerOut).implicit(|input, vec2, out| result::converted(&[(out, &outer(input, vec2)?)]));
}

fn outer(input: &Tensor, vec2: &Tensor) -> Result<Tensor> {
    for (name, vector) in [("self", input), ("vec2", vec2)] {
        if vector.spec()?.sizes().len() != 1 {
            let message = format!("argument `{name}` has shape {:?}, expected a vector", vector.sizes());
            return Err(argument(message));
        }
    }
    MulTensor.call(&input.unsqueeze(1)?, vec2)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let (x, vector) = (generate::numbers(DType::F32, &[2, 3], 0), generate::numbers(DType::F32, &[3], 0));
        samples
            .operator(Outer, ANY, inputs, reference)
            .refuses("expected a vector", given(x.clone()).and(vector.clone()));
        samples.operator(Ger, ANY, inputs, reference).refuses("expected a vector", given(vector).and(x));
        for difference in
            [departures::arithmetic::SIGN_OF_ZERO, departures::math::NOT_FINITE, READ_AFTER_WRITTEN]
        {
            samples.differs(Outer, difference);
            samples.differs(Ger, difference);
        }
        samples.rounds(Outer, pointwise::samples::COMPLEX_ARITHMETIC);
        samples.rounds(Ger, pointwise::samples::COMPLEX_ARITHMETIC);
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        let pairs = [[2, 3], [1, 1], [0, 3], [3, 0], [3, 37]];
        let mut samples: Vec<Sample> = pairs
            .map(|[m, n]| given(generate::numbers(dtype, &[m], 1)).and(generate::numbers(dtype, &[n], 2)))
            .to_vec();
        let other = generate::beside(dtype, DType::F32);
        samples.push(given(generate::numbers(dtype, &[2], 1)).and(generate::numbers(other, &[3], 2)));
        samples
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let (column, row) = (it.tensor("self")?, it.tensor("vec2")?);
        let dtype = it.common_dtype(&["self", "vec2"])?;
        let product = Plain::from_fn(dtype, &[column.sizes()[0], row.sizes()[0]], |position| {
            number::times(column.at(&position[..1]), row.at(&position[1..]))
        });
        Ok(product.into())
    }
}
