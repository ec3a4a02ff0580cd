//! `aten::scatter_reduce`: values combined at the places of a dimension that indices name.
//!
//! `out[p] = reduce(self[p], src[q], src[r], …)` over all positions whose index is `p`
//!
//! - Combinations: `sum`, `prod`, `mean`, `amax`, `amin`; without `include_self` the element that was there does not count.
//!   Places that no value comes to keep it. The mean of integers is rounded down.
//! - Shapes, dtypes, errors: as [`ScatterSrc`](opgrid_tensor::ops::ScatterSrc); extremes are not for complex numbers, means not for
//!   bools.
//! - Aliasing: `scatter_reduce_` writes `self`, `scatter_reduce.two_out` writes `out`, of the dtype of `self`.
//! - Source: torch.scatter_reduce, PyTorch 2.15.

use crate::kinds::scatter::{self, Named, Reduction, Source};
use crate::prelude::*;

pub use opgrid_tensor::ops::indexing::scatter_reduce::*;

/// The family of `aten::scatter_reduce.two`: its kind, shape rule and `out` rule.
pub const SCATTER_REDUCE_TWO: Family<ScatterReduceTwo> =
    Family::new(ScatterReduceTwo, &kind::INDEXING, |input, dim, index, src, reduce, include_self| {
        Reduction::named(reduce, &NAMES, include_self)?.check_dtype(input.spec()?.dtype())?;
        scatter::shape(input, dim, index, Source::Tensor(src))
    })
    .same_dtype_out();

const NAMES: [&str; 5] = ["sum", "prod", "mean", "amax", "amin"];

pub(super) fn register(library: &mut Library) {
    library
        .family(&SCATTER_REDUCE_TWO)
        .cpu(|input, dim, index, src, reduce, include_self, out| {
            let reduction = Reduction::named(reduce, &NAMES, include_self)?;
            scatter::scatter((input, out), (dim, index), Source::Tensor(src), reduction)
        })
        .derivative(|d, (input, dim, index, src, reduce, include_self)| {
            scatter::reduction_derivative(
                d,
                Named::Elements,
                [input, src],
                (dim, index),
                reduce,
                include_self,
            )
        });
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        // All take sums and products; extremes need an order, and means numbers.
        let all = |dtype: DType| named(dtype, &["sum", "prod"]);
        let x = generate::numbers(DType::F32, &[2, 3], 0);
        let index = Plain::from_elements(DType::I64, &[1, 3], &[0]);
        samples
            .operator(ScatterReduceTwo, ANY, all, reference)
            .tolerance(8.0)
            .refuses("sum, prod", given(x.clone()).and(0).and(index).and(x).and("add"));
        samples.operator(ScatterReduceTwo, ORDERED, |dtype| named(dtype, &["amax", "amin"]), reference);
        samples
            .operator(ScatterReduceTwo, NUMBERS, |dtype| named(dtype, &["mean"]), reference)
            .tolerance(8.0);
        samples.rounds(ScatterReduceTwo, Roundings::all(Rounding::Sum(4)));
        samples.differs(ScatterReduceTwo, departures::arithmetic::SIGN_OF_ZERO);
        samples.differs(
            ScatterReduceTwo,
            Difference {
                id: "largest-complex-numbers-are-refused",
                what: "torch computes the maximum and minimum of complex numbers if there are no \
                     indices; here they are rejected whatever the sizes are",
                why: "whether a call is valid must not depend on sizes or elements",
                test: (
                    "opgrid-operators/tests/all/differences/refused.rs",
                    "what_is_refused_with_elements_is_refused_without",
                ),
                when: |seen| {
                    let is_complex = seen.we_refuse("not implemented for 'Complex");
                    is_complex && seen.tensor("index").is_some_and(Operand::is_empty)
                },
                directed: Some(Directed {
                    operator: "aten::scatter_reduce.two",
                    arguments: || {
                        let none = |memory, dtype| Operand::rows(memory, dtype, &[0], &[]).into();
                        vec![
                            ("self", Operand::rows(0, DType::Complex64, &[2], &[1.0, 2.0]).into()),
                            ("dim", Scalar::Int(0).into()),
                            ("index", none(1, DType::I64)),
                            ("src", none(2, DType::Complex64)),
                            ("reduce", Argument::Text("amax".to_owned())),
                        ]
                    },
                    needs: None,
                }),
            },
        );
    }

    fn named(dtype: DType, names: &[&str]) -> Vec<Sample> {
        let all = scatter::samples::inputs_with_values(dtype).into_iter();
        let with_names = |sample: Sample| {
            names.iter().flat_map(move |name| {
                let sample = sample.clone().and(*name);
                [sample.clone(), sample.named("include_self", false)]
            })
        };
        all.flat_map(with_names).collect()
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let (name, include_self): (String, bool) = (it.value("reduce")?, it.value("include_self")?);
        let combine = scatter::samples::reduced(&name, include_self, it.tensor("self")?.dtype());
        scatter::samples::reference_of_each(it, it.tensor("src")?, &combine)
    }
}
