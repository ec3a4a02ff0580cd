//! `aten::bucketize`: between which boundaries values lie.
//!
//! `boundaries[out[i] - 1] < self[i] <= boundaries[out[i]]`, with `<=` and `<` for `right`
//!
//! - Shapes: that of `self`; `boundaries` has one dimension.
//! - Dtypes, values, errors: those of `searchsorted`.
//! - Aliasing: `bucketize.Tensor_out` and `bucketize.Scalar_out` write `out`.
//! - Source: torch.bucketize, PyTorch 2.15.

use crate::kinds::searching;
use crate::prelude::*;

pub use opgrid_tensor::ops::sorting::bucketize::*;

/// The family of `aten::bucketize.Tensor`: its kind, shape rule and `out` rule.
pub const BUCKETIZE_TENSOR: Family<BucketizeTensor> =
    Family::new(BucketizeTensor, &kind::SORTING, |values, boundaries, out_int32, _| {
        shape(values, boundaries, out_int32)
    })
    .same_dtype_out();

/// The family of `aten::bucketize.Scalar`: its kind, shape rule and `out` rule.
pub const BUCKETIZE_SCALAR: Family<BucketizeScalar> =
    Family::new(BucketizeScalar, &kind::SORTING, |value, boundaries, out_int32, _| {
        shape(&Tensor::number(value), boundaries, out_int32)
    })
    .same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library
        .family(&BUCKETIZE_TENSOR)
        .cpu(|values, boundaries, _, right, out| searching::fill(boundaries, values, right, None, out));
    library.family(&BUCKETIZE_SCALAR).cpu(|value, boundaries, _, right, out| {
        searching::fill(boundaries, &Tensor::number(value), right, None, out)
    });
}

fn shape(values: &Tensor, boundaries: &Tensor, out_int32: bool) -> Result<TensorSpec> {
    if boundaries.dim() != 1 {
        let message =
            format!("argument `boundaries` has shape {:?}, expected one dimension", boundaries.sizes());
        return Err(argument(message));
    }
    searching::places(boundaries, values, out_int32)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let rows = generate::numbers(DType::F32, &[2, 3], 0);
        samples
            .operator(BucketizeTensor, REAL, inputs, |it| {
                searching::samples::expected(it, "boundaries", "self")
            })
            .refuses("one dimension", given(rows.clone()).and(rows));
        samples.operator(
            BucketizeScalar,
            REAL,
            |dtype| {
                vec![
                    Sample::default().and(3).and(line(dtype)),
                    Sample::default().and(3).and(line(dtype)).named("right", true),
                ]
            },
            |it| searching::samples::expected(it, "boundaries", "self"),
        );
        let difference = Difference {
            id: "boundaries-of-bools",
            what: "torch searches bools in `bucketize` if the values are wider; here they are rejected, \
                 as in `searchsorted`",
            why: "no other operator orders bools",
            test: (
                "opgrid-operators/tests/all/differences/refused.rs",
                "what_torch_does_not_check_is_refused",
            ),
            when: |seen| seen.we_refuse("not implemented for 'Bool'"),
            directed: None,
        };
        samples.differs(BucketizeTensor, difference);
        samples.differs(opgrid_tensor::ops::SearchsortedTensor, difference);
        let difference = Difference {
            id: "boundaries-in-disorder",
            what: "torch does not specify the result for boundaries that are not sorted, and searches \
                 them in steps of its own",
            why: "there is no correct result",
            test: (
                "opgrid-operators/tests/all/differences/numbers.rs",
                "boundaries_in_disorder_give_some_place",
            ),
            when: |seen| {
                let is_place = seen.each(|(dtype, ..)| matches!(dtype, DType::I64 | DType::I32));
                let is_ordered =
                    |tensor: &Operand| tensor.elements.windows(2).all(|pair| pair[0].re <= pair[1].re);
                let sequence = ["boundaries", "sorted_sequence"].iter().find_map(|name| seen.tensor(name));
                let is_sorted = match (sequence, seen.tensor("sorter")) {
                    (Some(sequence), Some(sorter)) => {
                        let length =
                            sequence.geometry.sizes().last().map_or(1, |size| (*size).max(1) as usize);
                        let rows = sequence.elements.chunks(length).zip(sorter.elements.chunks(length));
                        rows.into_iter().all(|(row, order)| {
                            let at =
                                |place: &Complex64| row.get(place.re as usize).map_or(f64::NAN, |x| x.re);
                            order.windows(2).all(|pair| at(&pair[0]) <= at(&pair[1]))
                        })
                    }
                    (Some(sequence), None) => is_ordered(sequence),
                    (None, _) => true,
                };
                is_place && !is_sorted
            },
            directed: None,
        };
        samples.differs(BucketizeTensor, difference);
        samples.differs(opgrid_tensor::ops::SearchsortedTensor, difference);
    }

    /// Five boundaries, of which two are equal.
    fn line(dtype: DType) -> Plain {
        Plain::from_elements(dtype, &[5], &[0, 3, 3, 5, 20])
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        let one = given(Plain::from_elements(dtype, &[2, 3], &[3, 0, 21, 4, 5, 1])).and(line(dtype));
        vec![
            one.clone(),
            one.clone().named("right", true),
            one.named("out_int32", true),
            given(Plain::from_elements(dtype, &[], &[4])).and(line(dtype)),
            given(generate::extremes(dtype)).and(line(dtype)),
            given(generate::numbers(dtype, &[0], 1)).and(line(dtype)),
        ]
    }
}
