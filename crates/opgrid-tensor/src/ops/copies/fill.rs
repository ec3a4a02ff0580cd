//! `aten::fill_`: sets every element to a number.
//!
//! `self[i] = value`
//!
//! - Dtypes: `value` is converted to that of `self`; a fraction is cut off for integers.
//! - Aliasing: writes `self`, which must not repeat elements.
//! - Errors: a number beyond the range of the dtype.
//! - Source: torch.Tensor.fill_, PyTorch 2.15.

use crate::ops::prelude::*;

operator! {
    home = crate::home;
    /// Sets every element to `value`.
    pub FillInplaceScalar = "aten::fill_.Scalar(Tensor(a!) self, Scalar value) -> Tensor(a!)", method;
}

pub(super) fn register(library: &mut Library) {
    library.define(FillInplaceScalar).kind(&kind::POINTWISE_UNARY).in_place(shape, cpu);
}

pub(super) fn samples(samples: &mut Samples) {
    let inputs = |dtype| {
        let numbers = [Scalar::Int(3), Scalar::Float(1.75), Scalar::Bool(true)];
        make::unary(dtype)
            .into_iter()
            .flat_map(|sample| numbers.map(|number| sample.clone().and(number)))
            .collect()
    };
    samples
        .of(FillInplaceScalar, STORED, inputs, |it| {
            let (x, value) = (it.tensor("self")?, it.value::<Scalar>("value")?);
            Ok(Plain::of(x.dtype(), x.sizes(), &[value]).into())
        })
        .refuses_data("overflow", given(make::numbers(DType::U8, &[2], 0)).and(300));
    samples.differs(FillInplaceScalar, arithmetic::NUMBERS_FIT);
}

fn shape(input: &Tensor, _value: Scalar) -> Result<TensorSpec> {
    input.spec().cloned()
}

fn cpu(_input: &Tensor, value: Scalar, out: &Tensor) -> Result<()> {
    with_dtype!(out.dtype(), T: Stored => arithmetic::element::<T>(value).map(|_| ()))?;
    elementwise::fill(out, value)
}
