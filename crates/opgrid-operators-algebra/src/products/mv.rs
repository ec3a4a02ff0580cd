//! `aten::mv`: product of a matrix and a vector.
//!
//! `out[i] = self[i, 0] * vec[0] + self[i, 1] * vec[1] + …`
//!
//! - Shapes: `[m, k]` and `[k]` give `[m]`.
//! - Dtypes: one for both, no bools. Integers wrap around.
//! - Aliasing: `mv.out` writes `out`, which must not overlap the factors.
//! - Errors: two dtypes or devices, other shapes; an `out` of another dtype.
//! - Source: torch.mv, PyTorch 2.15; there it is made of `addmv_`.

use crate::prelude::*;
use opgrid_tensor::ops::Outer;

pub use opgrid_tensor::ops::products::mv::*;

/// The family of `aten::mv`: its kind, shape rule and `out` rule.
pub const MV: Family<Mv> = Family::new(Mv, &kind::PRODUCT, shape).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&MV).cpu(cpu).derivative(|d, (input, vec)| {
        d.by(input, [vec], |grad, [vec]| Outer.call(grad, &vec.conj()?))?;
        d.by(vec, [input], |grad, [input]| input.t()?.conj()?.mv(grad))
    });
}

fn shape(input: &Tensor, vec: &Tensor) -> Result<TensorSpec> {
    let factors = [("self", input.spec()?), ("vec", vec.spec()?)];
    let rows = products::vector_size(factors[0], factors[1])?;
    products::check_factors(&factors)?;
    TensorSpec::contiguous(&[rows], input.dtype(), input.device())
}

fn cpu(input: &Tensor, vec: &Tensor, out: &Tensor) -> Result<()> {
    let [target, vector] = [out.array()?, vec.array()?].map(products::column);
    products::write_product(&target?, input.array()?, &vector?)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let (x, vector) = (generate::numbers(DType::F32, &[2, 3], 0), generate::numbers(DType::F32, &[3], 0));
        samples
            .operator(Mv, NUMBERS, inputs, |it| {
                Ok(products::samples::expected_vector(it.tensor("self")?, it.tensor("vec")?)?.into())
            })
            .tolerance(64.0)
            .refuses("a matrix and a vector", given(x.clone()).and(x.clone()))
            .refuses("expected 3 elements", given(x.clone()).and(generate::numbers(DType::F32, &[2], 0)))
            .refuses("convert one of them", given(x).and(vector.to(DType::F64)));
        samples.differs_as(Mv, products::samples::DIFFERENCES);
        samples.rounds(Mv, Roundings::all(Rounding::Sum(2)));
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        let sizes = [[2, 3], [1, 1], [0, 3], [2, 0], [37, 19], [3, 70]];
        let sizes = sizes.into_iter().filter(|sizes| products::samples::is_sample(dtype, sizes));
        sizes
            .map(|[m, k]| given(generate::numbers(dtype, &[m, k], 1)).and(generate::numbers(dtype, &[k], 2)))
            .collect()
    }
}
