//! `aten::kthvalue`: the element of a rank along a dimension, and where it is.
//!
//! `values` is element `k - 1` of those in ascending order, `values = self[indices]`
//!
//! - Shapes: without the dimension `dim`, or with size 1 for it with `keepdim`.
//! - Dtypes: integers and floats; indices are int64. NaN is larger than every number.
//! - Aliasing: `kthvalue.values` writes `values` and `indices`.
//! - Errors: other dtypes; a dimension of size 0 or out of range; a `k` below one or above the size; an output of another
//!   dtype.
//! - Source: torch.kthvalue, PyTorch 2.15.

use crate::kinds::order;
use crate::prelude::*;
use opgrid_kernels::sorting::Rank;

pub use opgrid_tensor::ops::sorting::kthvalue::*;

/// The family of `aten::kthvalue`: its kind, shape rule and `out` rule.
pub const KTHVALUE: Family<Kthvalue> = Family::new(Kthvalue, &kind::SORTING, shape).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library
        .family(&KTHVALUE)
        .cpu(|input, k, dim, _, values, indices| {
            order::fill_one(input, dim, Rank::At(k as usize - 1), values, indices)
        })
        .derivative(|d, (input, _, dim, keepdim)| derivatives::selected_values(d, input, dim, keepdim));
}

fn shape(input: &Tensor, k: i64, dim: i64, keepdim: bool) -> Result<(TensorSpec, TensorSpec)> {
    pointwise::check_real(input.spec()?.dtype())?;
    let specs = order::one(input, dim, keepdim)?;
    let size = input.sizes().get(order::dimension(input, dim)?).copied().unwrap_or(1);
    if !(1..=size).contains(&k) {
        return Err(argument(format!("argument `k` is {k}, expected a rank from 1 to {size}")));
    }
    Ok(specs)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let inputs = |dtype| {
            let ranks = |sample: Sample| match sample.positional.as_slice() {
                [input, dim] => [false, true]
                    .map(|keepdim| given(input.clone()).and(1).and(dim.clone()).and(keepdim))
                    .to_vec(),
                _ => Vec::new(),
            };
            let third = given(generate::extremes(dtype)).and(3);
            order::samples::filled_lines(dtype).into_iter().flat_map(ranks).chain([third]).collect()
        };
        let two = given(generate::numbers(DType::F32, &[2], 0));
        let refused = [given(generate::numbers(DType::F32, &[0], 0)).and(1), two.clone().and(1).and(1)];
        order::samples::of_one(samples, Kthvalue, REAL, inputs, refused, |it, line| {
            let rank = it.value::<i64>("k").unwrap_or(1) as usize - 1;
            order::samples::places(line, false).get(rank).copied().unwrap_or(0)
        })
        .refuses("argument `k`", two.clone().and(0))
        .refuses("argument `k`", two.and(3));
        samples.differs(Kthvalue, order::samples::EQUAL_ELEMENTS);
        samples.differs(Kthvalue, order::samples::REPEATED);
        samples.differs(Kthvalue, READ_AFTER_WRITTEN);
        samples.differs(
            Kthvalue,
            Difference {
                id: "ranks-of-one-complex-number",
                what: "torch returns a complex number or a bool without dimensions as its own k-th \
                     smallest; here they are rejected, however many there are",
                why: "whether a call is valid must not depend on sizes or elements",
                test: (
                    "opgrid-operators/tests/all/differences/refused.rs",
                    "what_torch_does_not_check_is_refused",
                ),
                when: |seen| {
                    let has_no_ranks = |dtype: DType| dtype.is_complex() || dtype == DType::Bool;
                    let is_one = |input: &Operand| has_no_ranks(input.dtype) && input.geometry.dims() == 0;
                    seen.tensor("self").is_some_and(is_one)
                        && seen.we_refuse("expected an integer or floating-point")
                },
                directed: Some(Directed {
                    operator: "aten::kthvalue",
                    arguments: || {
                        vec![
                            ("self", Operand::rows(0, DType::Complex64, &[], &[1.0]).into()),
                            ("k", Scalar::Int(1).into()),
                            ("dim", Scalar::Int(0).into()),
                        ]
                    },
                    needs: None,
                }),
            },
        );
    }
}
