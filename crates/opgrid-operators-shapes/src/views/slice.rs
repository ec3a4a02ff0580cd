//! `aten::slice`: every `step`-th index of a dimension from `start` to before `end`.
//!
//! - Bounds: negative ones count from the end, those beyond the ends are moved to them.
//! - Aliasing: a view of `self`.
//! - Errors: a dimension out of range, a step that is not positive, no dimensions.
//! - Source: torch's `x[start:end:step]`, PyTorch 2.15.

use crate::prelude::*;

pub use opgrid_tensor::ops::views::slice::*;

/// The view family of `aten::slice.Tensor`: its place in the base.
pub const SLICE: ViewFamily<SliceTensor> = ViewFamily::new(SliceTensor, geometry);

pub(super) fn register(library: &mut Library) {
    library.view(SliceTensor, &SLICE);
}

fn geometry(input: &Tensor, dim: i64, start: Option<i64>, end: Option<i64>, step: i64) -> Result<Geometry> {
    input.spec()?.geometry().slice(dim, start.unwrap_or(0), end.unwrap_or(i64::MAX), step)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let inputs = |dtype| {
            let cases: [(&[i64], [i64; 4]); 5] = [
                (&[5, 3], [0, 1, 4, 2]),
                (&[2, 7], [1, -5, -1, 3]),
                (&[4], [0, 3, 1, 1]),
                (&[4], [0, -9, 9, 1]),
                (&[0], [0, 0, 2, 1]),
            ];
            let one = |(sizes, [dim, start, end, step]): (&[i64], [i64; 4])| {
                given(generate::numbers(dtype, sizes, 0)).and(dim).and(start).and(end).and(step)
            };
            cases.map(one).to_vec()
        };
        samples
            .operator(SliceTensor, STORED, inputs, |it| {
                let (x, dim, step): (_, i64, i64) = (it.tensor("self")?, it.value("dim")?, it.value("step")?);
                let dim = naive::dimension(dim, x.sizes().len());
                let size = x.sizes()[dim];
                let bound = |bound: i64| (if bound < 0 { bound + size } else { bound }).clamp(0, size);
                let (start, end) = (bound(it.value("start")?), bound(it.value("end")?));
                let mut sizes = x.sizes().to_vec();
                sizes[dim] = ((end - start).max(0) + step - 1) / step;
                Ok(Plain::from_fn(x.dtype(), &sizes, |position| {
                    let mut position = position.to_vec();
                    position[dim] = start + position[dim] * step;
                    x.at(&position)
                })
                .into())
            })
            .view()
            .refuses("", given(generate::numbers(DType::F32, &[2], 0)).and(0).and(0).and(2).and(0));
        samples.differs(
            SliceTensor,
            Difference {
                id: "steps-beyond-every-size",
                what: "torch overflows if a step is near the end of the range; here every positive step is \
                 accepted",
                why: "only the first element is selected",
                test: (
                    "opgrid-operators/tests/all/differences/computed.rs",
                    "steps_of_slices_may_exceed_every_size",
                ),
                when: |seen| seen.number("step") == Some(Scalar::Int(i64::MAX)),
                directed: Some(Directed {
                    operator: "aten::slice.Tensor",
                    arguments: || {
                        vec![
                            ("self", Operand::rows(0, DType::F32, &[3], &[0.0, 1.0, 2.0]).into()),
                            ("dim", Scalar::Int(0).into()),
                            ("start", Scalar::Int(1).into()),
                            ("end", Scalar::Int(3).into()),
                            ("step", Scalar::Int(i64::MAX).into()),
                        ]
                    },
                    needs: None,
                }),
            },
        );
    }
}
