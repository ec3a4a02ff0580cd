//! `aten::count_nonzero`: how many elements are other than zero, of all or over dimensions.
//!
//! `out[j] = (self[0, j] != 0) + (self[1, j] != 0) + …`
//!
//! - Shapes: without the dimensions of `dim`; none named means all.
//! - Dtypes: int64. NaN is other than zero.
//! - Aliasing: `count_nonzero.out` and `count_nonzero.dim_IntList_out` write `out`.
//! - Errors: a dimension out of range or named twice; an `out` of another dtype.
//! - Source: torch.count_nonzero, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::count;

pub use opgrid_tensor::ops::reductions::count_nonzero::*;

/// The family of `aten::count_nonzero`: its kind, shape rule and `out` rule.
pub const COUNT_NONZERO: Family<CountNonzero> =
    Family::new(CountNonzero, &kind::REDUCTION, |input, dim| shape(input, dim.as_slice())).same_dtype_out();

/// The family of `aten::count_nonzero.dim_IntList`: its kind, shape rule and `out` rule.
pub const COUNT_NONZERO_DIM_INT_LIST: Family<CountNonzeroDimIntList> =
    Family::new(CountNonzeroDimIntList, &kind::REDUCTION, shape).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&COUNT_NONZERO).cpu(|input, dim, out| count::nonzero(out, input, dim.as_slice()));
    library.family(&COUNT_NONZERO_DIM_INT_LIST).cpu(|input, dim, out| count::nonzero(out, input, dim));
}

fn shape(input: &Tensor, dim: &[i64]) -> Result<TensorSpec> {
    reduce::shape(input.spec()?, dim, false, DType::I64)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let over_dim = |dtype| {
            let without_flag = |mut sample: Sample| {
                sample.positional.truncate(2);
                sample
            };
            generate::over_dim(dtype).into_iter().map(without_flag).chain(generate::unary(dtype)).collect()
        };
        let over_dims = |dtype| {
            let without_flag = |mut sample: Sample| {
                sample.positional.truncate(2);
                sample
            };
            generate::over_dims(dtype).into_iter().map(without_flag).collect()
        };
        samples
            .operator(CountNonzero, ANY, over_dim, |it| reference(it, it.option("dim")?.map(|dim| vec![dim])))
            .refuses("range", given(generate::numbers(DType::F32, &[2], 0)).and(2));
        samples
            .operator(CountNonzeroDimIntList, ANY, over_dims, |it| reference(it, it.option("dim")?))
            .refuses(
                "multiple times",
                given(generate::numbers(DType::F32, &[2, 3], 0)).and([1, -1].to_vec()),
            );
        samples.differs(CountNonzero, READ_AFTER_WRITTEN);
    }

    fn reference(it: &Inputs, dims: Option<Vec<i64>>) -> Result<Expected> {
        let count = |elements: &[Scalar]| {
            Scalar::Int(elements.iter().filter(|element| element.to_bool()).count() as i64)
        };
        Ok(it.tensor("self")?.reduced(dims.as_deref(), false, DType::I64, count).into())
    }
}
