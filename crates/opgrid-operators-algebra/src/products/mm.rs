//! `aten::mm`: product of two matrices.
//!
//! `out[i, j] = self[i, 0] * mat2[0, j] + self[i, 1] * mat2[1, j] + …`
//!
//! - Shapes: `[m, k]` and `[k, n]` give `[m, n]`; nothing broadcasts.
//! - Dtypes: one for all, no bools. Integers wrap around.
//! - Aliasing: `mm.out` writes `out`, which must not overlap the factors.
//! - Errors: two dtypes or devices, other shapes; an `out` of another dtype.
//! - Source: torch.mm, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::products::{multiply, sizes};

pub use opgrid_tensor::ops::products::mm::*;

/// The family of `aten::mm`: its kind, shape rule and `out` rule.
pub const MM: Family<Mm> = Family::new(Mm, &kind::PRODUCT, shape).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&MM).cpu(cpu).derivative(|d, (input, mat2)| {
        let transposed = [input, mat2].map(products::is_transposed);
        d.by(input, [mat2], move |grad, [mat2]| products::left_gradient(grad, mat2, transposed[0]))?;
        d.by(mat2, [input], move |grad, [input]| products::right_gradient(grad, input, transposed[1]))
    });
}

fn shape(input: &Tensor, mat2: &Tensor) -> Result<TensorSpec> {
    let (a, b) = (input.spec()?, mat2.spec()?);
    let sizes = sizes(a.sizes(), b.sizes())?;
    products::check_factors(&[("self", a), ("mat2", b)])?;
    TensorSpec::contiguous(&sizes, a.dtype(), a.device())
}

fn cpu(input: &Tensor, mat2: &Tensor, out: &Tensor) -> Result<()> {
    multiply(out.array()?, input.array()?, mat2.array()?)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = generate::numbers(DType::F32, &[2, 3], 0);
        samples
            .operator(Mm, NUMBERS, inputs, |it| Ok(it.tensor("self")?.product(it.tensor("mat2")?)?.into()))
            .tolerance(64.0)
            .refuses("", given(x.clone()).and(x.clone()))
            .refuses("convert one of them", given(x.clone()).and(generate::numbers(DType::F64, &[3, 2], 0)))
            .refuses("", given(x).and(generate::numbers(DType::F32, &[3], 0)));
        samples.differs_as(Mm, products::samples::DIFFERENCES);
        samples.rounds(Mm, Roundings::all(Rounding::Sum(2)));
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        let sizes =
            [[2, 3, 4], [1, 1, 1], [0, 3, 2], [2, 0, 3], [3, 2, 0], [17, 33, 19], [1, 40, 5], [5, 40, 1]];
        let sizes = sizes.into_iter().filter(|sizes| products::samples::is_sample(dtype, sizes));
        sizes
            .map(|[m, k, n]| {
                given(generate::numbers(dtype, &[m, k], 1)).and(generate::numbers(dtype, &[k, n], 2))
            })
            .collect()
    }
}
