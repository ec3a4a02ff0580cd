//! `aten::_local_scalar_dense`, `aten::item`: the number in a tensor of one element.
//!
//! - Shapes: any with one element.
//! - Dtypes: integers give an integer, bools a bool, floats a float, complex numbers a complex one.
//! - Dispatch: `item` is a composite of `_local_scalar_dense`.
//! - Errors: another number of elements; a meta tensor, which has none.
//! - Source: torch.Tensor.item, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::tensor::{Element, Number};

pub use opgrid_tensor::ops::copies::local_scalar_dense::*;

pub(super) fn register(library: &mut Library) {
    library.define(LocalScalarDense).kind(&kind::QUESTION).on_cpu_and_meta(local_scalar_dense);
    library.define(Item).kind(&kind::QUESTION).implicit(|input| {
        check(input)?;
        LocalScalarDense.call(input)
    });
}

fn local_scalar_dense(input: &Tensor) -> Result<Scalar> {
    check(input)?;
    if input.device().is_meta() {
        let found = without_data(input.device());
        return Err(argument(format!(
            "argument `self` is {found}, which has no data; create it on a device with data"
        )));
    }
    if let Some(value) = input.bare_number() {
        return Ok(*value);
    }
    let number = with_dtype!(input.dtype(), T: Stored => Ok(input.to_vec::<T>()?.first().map(|element| element.number())))?;
    Ok(number.map_or(Scalar::Int(0), scalar))
}

fn scalar(number: Number) -> Scalar {
    match number {
        Number::F32(value) => Scalar::Float(value.into()),
        Number::F64(value) => Scalar::Float(value),
        Number::I64(value) => Scalar::Int(value),
        Number::U64(value) => value.into(),
        Number::Bool(value) => Scalar::Bool(value),
        complex => Scalar::Complex(Element::from_number(complex)),
    }
}

fn check(input: &Tensor) -> Result<()> {
    match input.spec()?.numel() {
        1 => Ok(()),
        found => Err(argument(format!(
            "a tensor with {found} elements cannot be converted to a number, expected 1"
        ))),
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let inputs = |dtype| {
            [vec![], vec![1], vec![1, 1]].map(|sizes| given(generate::numbers(dtype, &sizes, 1))).to_vec()
        };
        let reference = |it: &Inputs| Ok(Expected::Value(it.tensor("self")?.elements()[0].into()));
        let two = given(generate::numbers(DType::F32, &[2], 0));
        samples
            .operator(LocalScalarDense, STORED, inputs, reference)
            .not_on_meta()
            .refuses("2 elements", two.clone());
        samples.operator(Item, STORED, inputs, reference).not_on_meta().refuses("2 elements", two);
        samples.differs(
            LocalScalarDense,
            Difference {
                id: "one-number-of-one-element",
                what: "torch reads the first of several elements, or out of bounds if there are none; \
                     here the tensor must have one element",
                why: "out-of-bounds reads are never allowed",
                test: (
                    "opgrid-operators/tests/all/differences/refused.rs",
                    "a_number_is_read_out_of_one_element_only",
                ),
                when: |seen| seen.we_refuse("elements cannot be converted"),
                directed: None,
            },
        );
    }
}
