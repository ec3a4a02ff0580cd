//! `aten::slice`, `aten::slice_backward`: every `step`-th index of a dimension from `start` to before `end`, and the gradient.
//!
//! - Bounds: negative ones count from the end, those beyond the ends are moved to them.
//! - Aliasing: a view of `self`; `slice_copy` copies it, `slice_backward.out` writes `out`.
//! - Dispatch: the gradient is a composite of `slice_scatter`.
//! - Errors: a dimension out of range, a step that is not positive, no dimensions; a gradient that does not
//!   broadcast to the view.
//! - Source: torch's `x[start:end:step]`, PyTorch 2.15.

use crate::kinds::views;
use crate::prelude::*;
use opgrid_tensor::ops::SliceScatter;

pub use opgrid_tensor::ops::views::slice::*;

/// The view family of `aten::slice.Tensor`: its place in the base.
pub const SLICE: ViewFamily<SliceTensor> = ViewFamily::new(SliceTensor, geometry);

pub(super) fn register(library: &mut Library) {
    library.view(SliceTensor, &SLICE);
    library.copy_of_view(SliceCopyTensor, SliceTensor);
    library.implicit(SliceBackward, &kind::INDEXING, |grad, sizes, dim, start, end, step| {
        let (start, end) = (Some(start), Some(end));
        let view = |zeros: &Tensor| SliceTensor.call(zeros, dim, start, end, step);
        let (zeros, grad) = views::zeros_for(("grad_output", grad), sizes, view)?;
        SliceScatter.call(&zeros, &grad, dim, start, end, step)
    });
}

fn geometry(input: &Tensor, dim: i64, start: Option<i64>, end: Option<i64>, step: i64) -> Result<Geometry> {
    input.spec()?.geometry().slice(dim, start.unwrap_or(0), end.unwrap_or(i64::MAX), step)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = || generate::numbers(DType::F32, &[2], 0);
        samples
            .operator(SliceTensor, STORED, inputs, |it| Ok(sliced(it.tensor("self")?, it)?.into()))
            .view()
            .refuses("", given(x()).and(0).and(0).and(2).and(0));
        let gradients = |dtype| {
            views::samples::gradients(inputs(dtype), |x, others| {
                let [dim, start, end, step] = [0, 1, 2, 3].map(|at| views::samples::whole(&others[at]));
                place(x.sizes(), dim, [start, end], step).2
            })
        };
        samples
            .operator(SliceBackward, ANY, gradients, |it| {
                let sizes: Vec<i64> = it.value("input_sizes")?;
                naive::transposed(it.tensor("grad_output")?, &sizes, |one| sliced(one, it)).map(Into::into)
            })
            .refuses("`grad_output` has shape", given(x()).and(vec![4]).and(0).and(0).and(3).and(1));
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
        samples.copy_of_view(SliceCopyTensor, SliceTensor);
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
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
    }

    /// The dimension that is sliced, its first index, and the sizes of the view.
    fn place(sizes: &[i64], dim: i64, bounds: [i64; 2], step: i64) -> (usize, i64, Vec<i64>) {
        let dim = naive::dimension(dim, sizes.len());
        let size = sizes[dim];
        let [start, end] = bounds.map(|bound| (if bound < 0 { bound + size } else { bound }).clamp(0, size));
        let mut sizes = sizes.to_vec();
        sizes[dim] = ((end - start).max(0) + step - 1) / step;
        (dim, start, sizes)
    }

    fn sliced(x: &Plain, it: &Inputs) -> Result<Plain> {
        let (bounds, step) = ([it.value("start")?, it.value("end")?], it.value("step")?);
        let (dim, start, sizes) = place(x.sizes(), it.value("dim")?, bounds, step);
        Ok(Plain::from_fn(x.dtype(), &sizes, |position| {
            let mut position = position.to_vec();
            position[dim] = start + position[dim] * step;
            x.at(&position)
        }))
    }
}
