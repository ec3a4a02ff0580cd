//! `aten::isin`: whether elements are among others.
//!
//! `out[i] = elements[i] == test_elements[0] || elements[i] == test_elements[1] || …`, or not so with `invert`
//!
//! - Shapes: that of `elements`.
//! - Dtypes: integers and floats, compared in their promoted dtype; the result is bool. NaN is equal to nothing.
//! - Aliasing: the overloads whose names end in `out` write `out`.
//! - Errors: other dtypes; an output of another dtype.
//! - Source: torch.isin, PyTorch 2.15. `assume_unique` is a hint, and changes nothing.

use crate::prelude::*;
use opgrid_kernels::searching;

pub use opgrid_tensor::ops::sorting::isin::*;

/// The family of `aten::isin.Tensor_Tensor`: its kind, shape rule and `out` rule.
pub const ISIN_TENSOR_TENSOR: Family<IsinTensorTensor> =
    Family::new(IsinTensorTensor, &kind::SORTING, |elements, set, _, _| shape(elements, set))
        .same_dtype_out();

/// The family of `aten::isin.Tensor_Scalar`: its kind, shape rule and `out` rule.
pub const ISIN_TENSOR_SCALAR: Family<IsinTensorScalar> =
    Family::new(IsinTensorScalar, &kind::SORTING, |elements, number, _, _| {
        shape(elements, &Tensor::number(number))
    })
    .same_dtype_out();

/// The family of `aten::isin.Scalar_Tensor`: its kind, shape rule and `out` rule.
pub const ISIN_SCALAR_TENSOR: Family<IsinScalarTensor> =
    Family::new(IsinScalarTensor, &kind::SORTING, |number, set, _, _| shape(&Tensor::number(number), set))
        .same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&ISIN_TENSOR_TENSOR).cpu(|elements, set, _, invert, out| cpu(elements, set, invert, out));
    library
        .family(&ISIN_TENSOR_SCALAR)
        .cpu(|elements, number, _, invert, out| cpu(elements, &Tensor::number(number), invert, out));
    library
        .family(&ISIN_SCALAR_TENSOR)
        .cpu(|number, set, _, invert, out| cpu(&Tensor::number(number), set, invert, out));
}

fn shape(elements: &Tensor, set: &Tensor) -> Result<TensorSpec> {
    pointwise::check_real(elements.dtype())?;
    pointwise::check_real(set.dtype())?;
    let spec = elements.spec()?;
    TensorSpec::elementwise(&[spec.geometry()], DType::Bool, set_device(elements, set)?)
}

/// The device of the tensor, where the other one is a number.
fn set_device(elements: &Tensor, set: &Tensor) -> Result<Device> {
    Ok(if elements.is_number() { set.spec()?.device() } else { elements.spec()?.device() })
}

fn cpu(elements: &Tensor, set: &Tensor, invert: bool, out: &Tensor) -> Result<()> {
    let dtype = result_type(&[elements, set])?;
    let array = |tensor: &Tensor| match tensor.bare_number() {
        Some(number) => Tensor::number(*number).array().cloned(),
        None => tensor.array().cloned(),
    };
    searching::is_in(out.array()?, &array(elements)?, &array(set)?, dtype, invert)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let bools = generate::numbers(DType::Bool, &[2], 0);
        let sets = |dtype| {
            let set = Plain::from_elements(dtype, &[2, 2], &[3, 0, 1, 3]);
            let elements = generate::unary(dtype).into_iter();
            let mut all: Vec<Sample> = elements.map(|sample| sample.and(set.clone())).collect();
            all.push(given(set.clone()).and(generate::extremes(dtype)).named("invert", true));
            all.push(given(set.clone()).and(Plain::from_elements(dtype, &[0], &[0])));
            all.push(
                given(generate::extremes(dtype)).and(generate::extremes(dtype)).named("assume_unique", true),
            );
            all
        };
        let numbers = |dtype| generate::unary(dtype).into_iter().map(|sample| sample.and(1)).collect();
        let one = |dtype| {
            let set = Plain::from_elements(dtype, &[2, 2], &[3, 0, 1, 3]);
            vec![
                Sample::default().and(3).and(set.clone()),
                Sample::default().and(2).and(set).named("invert", true),
            ]
        };
        let refused = given(bools.clone()).and(bools);
        samples
            .operator(IsinTensorTensor, REAL, sets, |it| expected(it, "elements", "test_elements"))
            .refuses("", refused);
        samples.operator(IsinTensorScalar, REAL, numbers, |it| expected(it, "elements", "test_element"));
        samples.operator(IsinScalarTensor, REAL, one, |it| expected(it, "element", "test_elements"));
        samples.differs(
            IsinTensorTensor,
            Difference {
                id: "members-lie-as-the-elements",
                what: "torch returns results for large sets in row-major order; here they have the \
                     memory format of the elements",
                why: "the memory format of a result must not depend on the size of another tensor",
                test: (
                    "opgrid-operators/tests/all/differences/layouts.rs",
                    "results_do_not_depend_on_the_layout",
                ),
                when: |seen| seen.lies_in_rows_there(),
                directed: None,
            },
        );
        samples.differs(
            IsinTensorTensor,
            Difference {
                id: "members-of-sets-that-are-not-unique",
                what: "torch returns anything if `assume_unique` is set and elements are not unique; \
                     here the result is always correct",
                why: "a wrong hint must not change results",
                test: (
                    "opgrid-operators/tests/all/differences/layouts.rs",
                    "results_do_not_depend_on_the_layout",
                ),
                when: |seen| {
                    let is_told = matches!(seen.number("assume_unique"), Some(Scalar::Bool(true)));
                    let repeats =
                        ["elements", "test_elements"].iter().any(|name| seen.has_equal_elements(name));
                    is_told && repeats && !seen.elements.is_empty()
                },
                directed: None,
            },
        );
        samples.differs(
            IsinTensorTensor,
            Difference {
                id: "sets-of-any-strides",
                what: "torch fails to flatten sets with some strides; here they are flattened",
                why: "results must not depend on strides",
                test: (
                    "opgrid-operators/tests/all/differences/computed.rs",
                    "what_torch_refuses_by_accident_is_computed",
                ),
                when: |seen| seen.torch_refuses("view size is not compatible"),
                directed: None,
            },
        );
        samples.differs(
            IsinTensorTensor,
            Difference {
                id: "numbers-beyond-the-range-of-a-set",
                what: "torch compares a number that the set's dtype cannot represent as one of that \
                     dtype for small sets, and exactly for large ones; here always as one of that dtype",
                why: "sets of every size behave alike",
                test: (
                    "opgrid-operators/tests/all/differences/layouts.rs",
                    "results_do_not_depend_on_the_layout",
                ),
                when: |seen| {
                    let Some((_, set)) = seen.tensors().first().copied() else { return false };
                    let is_beyond = |number: Scalar| match (number, opgrid_tensor::tensor::iinfo(set.dtype)) {
                        (Scalar::Int(number), Ok(range)) => {
                            number < range.min || u64::try_from(number).is_ok_and(|number| number > range.max)
                        }
                        (Scalar::Float(number), Err(_)) => number.is_finite() && set.dtype != DType::F64,
                        _ => false,
                    };
                    !seen.elements.is_empty() && seen.numbers().any(is_beyond)
                },
                directed: Some(Directed {
                    operator: "aten::isin.Scalar_Tensor",
                    arguments: || {
                        vec![
                            ("element", Scalar::Int(257).into()),
                            (
                                "test_elements",
                                Operand::rows(
                                    0,
                                    DType::U8,
                                    &[10],
                                    &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0],
                                )
                                .into(),
                            ),
                        ]
                    },
                    needs: None,
                }),
            },
        );
    }

    fn expected(it: &Inputs, elements: &str, set: &str) -> Result<Expected> {
        let (x, set, invert): (_, _, bool) = (it.operand(elements)?, it.operand(set)?, it.value("invert")?);
        let is_in = |x: Scalar| {
            set.elements().iter().any(|other| number::order(x, *other).is_some_and(|order| order.is_eq()))
        };
        Ok(Plain::from_fn(DType::Bool, x.sizes(), |position| Scalar::Bool(is_in(x.at(position)) != invert))
            .into())
    }
}
