//! `aten::topk`: the largest or the smallest elements along a dimension, and where they are.
//!
//! `values[0] >= values[1] >= … >= values[k - 1]`, `values[i] = self[indices[i]]`, with indices of dimension `dim`
//!
//! - Shapes: that of `self`, with the size `k` for dimension `dim`; row-major.
//! - Dtypes: integers and floats; indices are int64. NaN is larger than every number.
//! - Values: in order, whether `sorted` or not; of equal elements those that come first.
//! - Aliasing: `topk.values` writes `values` and `indices`.
//! - Errors: other dtypes; a dimension out of range; a `k` that is negative or larger than the size; an output of another
//!   dtype.
//! - Source: torch.topk, PyTorch 2.15.

use crate::kinds::order;
use crate::prelude::*;
use opgrid_kernels::sorting;

pub use opgrid_tensor::ops::sorting::topk::*;

/// The family of `aten::topk`: its kind, shape rule and `out` rule.
pub const TOPK: Family<Topk> = Family::new(Topk, &kind::SORTING, shape).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library
        .family(&TOPK)
        .cpu(|input, _, dim, largest, _, values, indices| {
            let dim = order::dimension(input, dim)?;
            sorting::top(values.array()?, indices.array()?, input.array()?, dim, largest)
        })
        .derivative(|d, (input, _, dim, ..)| derivatives::selected_values(d, input, dim, true));
}

fn shape(
    input: &Tensor,
    k: i64,
    dim: i64,
    _largest: bool,
    _sorted: bool,
) -> Result<(TensorSpec, TensorSpec)> {
    let at = order::dimension(input, dim)?;
    let size = input.sizes().get(at).copied().unwrap_or(1);
    if !(0..=size).contains(&k) {
        return Err(argument(format!(
            "argument `k` is {k}, expected at most {size}, the size of the dimension, and at least 0"
        )));
    }
    order::some(input, dim, k)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.differs(
            Topk,
            Difference {
                id: "order-of-what-is-not-sorted",
                what: "torch leaves the order of the largest elements unspecified if `sorted` is false; \
                     here they are always sorted",
                why: "results depend only on the elements",
                test: (
                    "opgrid-operators/tests/all/differences/numbers.rs",
                    "equal_elements_keep_their_order",
                ),
                when: |seen| {
                    matches!(seen.number("sorted"), Some(Scalar::Bool(false))) && !seen.elements.is_empty()
                },
                directed: Some(Directed {
                    operator: "aten::topk",
                    arguments: || {
                        vec![
                            ("self", Operand::rows(0, DType::F32, &[5], &[1.0, 5.0, 2.0, 4.0, 3.0]).into()),
                            ("k", Scalar::Int(4).into()),
                            ("dim", Scalar::Int(-1).into()),
                            ("largest", Scalar::Bool(true).into()),
                            ("sorted", Scalar::Bool(false).into()),
                        ]
                    },
                    needs: None,
                }),
            },
        );
        let x = given(generate::numbers(DType::F32, &[2], 0));
        samples
            .operator(Topk, REAL, inputs, reference)
            .refuses("range", x.clone().and(1).and(1))
            .refuses("expected at most 2", x.clone().and(3))
            .refuses("expected at most 2", x.and(-1));
        samples.differs(
            Topk,
            Difference {
                id: "equal-elements-of-topk",
                what: "torch does not specify which of several equal elements it takes; here the first \
                     ones are taken",
                why: "results depend only on the elements",
                test: (
                    "opgrid-operators/tests/all/differences/numbers.rs",
                    "equal_elements_keep_their_order",
                ),
                when: |seen| {
                    order::samples::is_place(seen) || (departures::arithmetic::SIGN_OF_ZERO.when)(seen)
                },
                directed: Some(Directed {
                    operator: "aten::topk",
                    arguments: || {
                        vec![
                            ("self", Operand::rows(0, DType::F32, &[4], &[1.0; 4]).into()),
                            ("k", Scalar::Int(2).into()),
                        ]
                    },
                    needs: None,
                }),
            },
        );
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        let ways = |sample: Sample| match sample.positional.as_slice() {
            [Given::Tensor(x), dim] => {
                let at = dim_of(dim, x);
                let size = x.sizes().get(at).copied().unwrap_or(1);
                let call = |k: i64, largest: bool| given(x.clone()).and(k).and(dim.clone()).and(largest);
                vec![call(size / 2 + size % 2, true), call(size, false), call(size, true)]
            }
            _ => Vec::new(),
        };
        order::samples::lines(dtype).into_iter().flat_map(ways).collect()
    }

    fn dim_of(dim: &Given, x: &Plain) -> usize {
        match dim {
            Given::Value(value) => {
                let dim = value.borrow().as_scalar().map_or(0, number::whole);
                naive::dimension(dim, x.sizes().len().max(1))
            }
            _ => 0,
        }
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let (x, k, dim): (_, i64, i64) = (it.tensor("self")?, it.value("k")?, it.value("dim")?);
        let largest: bool = it.value("largest")?;
        let places = |line: &[Scalar]| {
            let mut places = order::samples::places(line, largest);
            places.truncate(k as usize);
            places
        };
        Ok(order::samples::expected(x, dim, &|_| k, &places).into())
    }
}
