//! `aten::heaviside`: the step from zero to one.
//!
//! `out[i] = 0 if self[i] < 0, values[i] if self[i] = 0, 1 if self[i] > 0`
//!
//! - Shapes: `self` and `values` broadcast.
//! - Dtypes: one for both, which the result has. NaN gives 0.
//! - Aliasing: `heaviside_` writes `self`, `heaviside.out` writes `out`, which has the dtype of the result.
//! - Errors: two dtypes; complex numbers.
//! - Source: torch.heaviside, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::arithmetic::Ordered;

pub use opgrid_tensor::ops::pointwise::heaviside::*;

/// The family of `aten::heaviside`: its kind, shape rule and `out` rule.
pub const HEAVISIDE: Family<Heaviside> =
    Family::new(Heaviside, &kind::POINTWISE_BINARY, shape).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&HEAVISIDE).cpu(cpu);
}

fn shape(input: &Tensor, values: &Tensor) -> Result<TensorSpec> {
    pointwise::check_ordered(&[input, values])?;
    pointwise::check_one_dtype(("self", input), ("values", values))?;
    pointwise::promoted([("self", input), ("values", values)])
}

fn cpu(input: &Tensor, values: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(input.dtype(), T: Ordered by value => {
        elementwise::binary::<T, T, T>(out, input, values, |a, value| {
            let step = if Math::<T>::ZERO.is_below(a) { Math::<T>::ONE } else { Math::<T>::ZERO };
            if a == Math::<T>::ZERO { value } else { step }
        })
    })
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let inputs = |dtype| generate::of_one_dtype(generate::pairs(dtype));
        let x = generate::numbers(DType::F32, &[2], 0);
        samples
            .operator(Heaviside, ORDERED, inputs, |it| {
                it.binary(DTypeRule::Promoted, |a, b| match a {
                    Scalar::Bool(false) | Scalar::Int(0) => b,
                    a if a.to_complex().re == 0.0 => b,
                    a => Scalar::Int((a.to_complex().re > 0.0).into()),
                })
            })
            .refuses("expected float32 as `self`", given(x.clone()).and(x.to(DType::F64)));
        samples.differs(Heaviside, departures::arithmetic::SIGN_OF_ZERO);
    }
}
