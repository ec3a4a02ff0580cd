//! `aten::argmax`: where the largest element is, of all or over a dimension.
//!
//! `self[argmax(self)] = max(self)`
//!
//! - Shapes: without `dim`, or with size 1 for it with `keepdim`; without one it is an index into all elements in
//!   row-major order.
//! - Dtypes: int64. Of several largest elements it is the first; NaN is larger than every number.
//! - Aliasing: `argmax.out` writes `out`.
//! - Errors: complex numbers and bools; nothing to choose from; a dimension out of range.
//! - Source: torch.argmax, PyTorch 2.15.

use crate::kernels::choice;
use crate::ops::prelude::*;

operator! {
    home = crate::home;
    /// Where the largest element is, of all or over a dimension.
    pub Argmax = "aten::argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor", out, method;
}

/// Kind, shape rule and `out` rule, for everybody.
pub const ARGMAX: Family<Argmax> = Family::new(Argmax, &kind::REDUCTION, shape).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&ARGMAX).cpu(cpu);
}

pub(super) fn samples(samples: &mut Samples) {
    samples
        .of(Argmax, REAL, inputs, reference)
        .refuses("", given(make::numbers(DType::F32, &[0], 0)))
        .refuses("range", given(make::numbers(DType::F32, &[2], 0)).and(2));
    samples.differs(Argmax, READ_AFTER_WRITTEN);
}

fn inputs(dtype: DType) -> Vec<Sample> {
    let of_all = [
        given(make::numbers(dtype, &[3, 4], 1)),
        given(make::extremes(dtype)),
        given(Plain::of(dtype, &[4], &[1, 2])),
    ];
    make::over_dim(dtype).into_iter().chain(of_all).collect()
}

fn reference(it: &Inputs) -> Result<Expected> {
    let (x, dim) = (it.tensor("self")?, it.value::<Option<i64>>("dim")?);
    let index = |elements: &[Scalar]| {
        let beats = |best: usize, other: usize| {
            let [best, other] = [best, other].map(|at| elements[at]);
            !number::is_nan(best)
                && (number::is_nan(other) || number::order(best, other).is_some_and(|order| order.is_lt()))
        };
        let best = (0..elements.len()).reduce(|best, other| if beats(best, other) { other } else { best });
        Scalar::Int(best.unwrap_or(0) as i64)
    };
    Ok(x.reduced(dim.as_ref().map(std::slice::from_ref), it.value("keepdim")?, DType::I64, index).into())
}

fn shape(input: &Tensor, dim: Option<i64>, keepdim: bool) -> Result<TensorSpec> {
    let spec = input.spec()?;
    choice::check_not_empty(spec, dim.as_slice())?;
    pointwise::check_real(spec.dtype())?;
    reduce::shape(spec, dim.as_slice(), keepdim, DType::I64)
}

fn cpu(input: &Tensor, dim: Option<i64>, _keepdim: bool, out: &Tensor) -> Result<()> {
    choice::index_of_largest(out, input, dim.as_slice())
}
