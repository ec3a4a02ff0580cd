//! `aten::bmm`: products of as many pairs of matrices.
//!
//! `out[b] = self[b] @ mat2[b]`
//!
//! - Shapes: `[b, m, k]` and `[b, k, n]` give `[b, m, n]`; nothing broadcasts.
//! - Dtypes: one for all, no bools. Integers wrap around.
//! - Aliasing: `bmm.out` writes `out`, which must not overlap the factors.
//! - Errors: two dtypes or devices, other shapes; an `out` of another dtype.
//! - Source: torch.bmm, PyTorch 2.15.

use crate::prelude::*;

pub use opgrid_tensor::ops::products::bmm::*;

/// The family of `aten::bmm`: its kind, shape rule and `out` rule.
pub const BMM: Family<Bmm> = Family::new(Bmm, &kind::PRODUCT_OF_STACKS, shape).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&BMM).cpu(cpu).derivative(|d, (input, mat2)| {
        let transposed = [input, mat2].map(products::is_transposed);
        d.by(input, [mat2], move |grad, [mat2]| products::left_gradient(grad, mat2, transposed[0]))?;
        d.by(mat2, [input], move |grad, [input]| products::right_gradient(grad, input, transposed[1]))
    });
}

fn shape(input: &Tensor, mat2: &Tensor) -> Result<TensorSpec> {
    let (a, b) = (input.spec()?, mat2.spec()?);
    let sizes = products::stack_sizes(("self", a), ("mat2", b))?;
    products::check_factors(&[("self", a), ("mat2", b)])?;
    TensorSpec::contiguous(&sizes, b.dtype(), b.device())
}

fn cpu(input: &Tensor, mat2: &Tensor, out: &Tensor) -> Result<()> {
    products::write_product(out.array()?, input.array()?, mat2.array()?)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = generate::numbers(DType::F32, &[2, 2, 3], 0);
        samples
            .operator(Bmm, NUMBERS, inputs, |it| Ok(it.tensor("self")?.product(it.tensor("mat2")?)?.into()))
            .tolerance(64.0)
            .refuses("to match `self`", given(x.clone()).and(x))
            .refuses(
                "three dimensions",
                given(generate::numbers(DType::F32, &[2, 2], 0)).and(generate::numbers(
                    DType::F32,
                    &[2, 2],
                    0,
                )),
            );
        samples.differs_as(Bmm, products::samples::DIFFERENCES);
        samples.rounds(Bmm, Roundings::all(Rounding::Sum(2)));
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        let sizes = [[2, 2, 3, 4], [1, 1, 1, 1], [0, 2, 3, 2], [2, 0, 3, 1], [2, 3, 0, 2], [3, 9, 17, 5]];
        let one = |[b, m, k, n]: [i64; 4]| {
            given(generate::numbers(dtype, &[b, m, k], 1)).and(generate::numbers(dtype, &[b, k, n], 2))
        };
        sizes.into_iter().filter(|sizes| products::samples::is_sample(dtype, sizes)).map(one).collect()
    }
}
