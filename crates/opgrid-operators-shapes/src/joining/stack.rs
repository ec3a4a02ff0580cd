//! `aten::stack`: tensors of one shape along a new dimension.
//!
//! `out[…, k, …] = tensors[k][…, …]`
//!
//! - Shapes: all equal; the new dimension stands before `dim`, which may also be one past the last.
//! - Dtypes: promoted over all tensors.
//! - Aliasing: `stack.out` writes `out`, and gives it its shape if it has no elements.
//! - Dispatch: composites of `cat` and views.
//! - Errors: no tensors, different shapes, a dimension out of range, what `cat` refuses.
//! - Source: torch.stack, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::{Cat, CatOut, Unsqueeze, View};
use opgrid_tensor::tensor::views::normalise_dim;

pub use opgrid_tensor::ops::joining::stack::*;

pub(super) fn register(library: &mut Library) {
    library.define_with_forms(Stack, &kind::JOINING).on_every_backend(stack).derivative(
        |d, (tensors, dim)| d.by_each(tensors, move |grad, index| grad.select(dim, index as i64)),
    );
    library.implement(StackOut).on_every_backend(|tensors, dim, out| {
        let (_, dim) = check(tensors, dim)?;
        CatOut.call(&unsqueezed(tensors, dim)?, dim as i64, out)
    });
}

fn stack(tensors: &[Tensor], dim: i64) -> Result<Tensor> {
    let (first, dim) = check(tensors, dim)?;
    if dim == first.len() {
        return Cat.call(&unsqueezed(tensors, dim)?, dim as i64);
    }
    // One dimension can always be cut in two, and `cat` keeps the order of the inputs' dimensions in memory.
    let joined = Cat.call(tensors, dim as i64)?;
    View.call(&joined, &[&first[..dim], &[tensors.len() as i64], &first[dim..]].concat())
}

/// The shape of all, and the place of the new dimension.
fn check(tensors: &[Tensor], dim: i64) -> Result<(&[i64], usize)> {
    let Some(first) = tensors.first() else {
        return Err(argument("argument `tensors` is empty, expected a non-empty list of tensors"));
    };
    let sizes = first.spec()?.sizes();
    let dim = normalise_dim(dim, sizes.len() + 1)?;
    for (k, tensor) in tensors.iter().enumerate() {
        if tensor.spec()?.sizes() != sizes {
            let message = format!(
                "tensor {k} of `tensors` has shape {:?}, expected {sizes:?} as the first one",
                tensor.sizes()
            );
            return Err(argument(message));
        }
    }
    Ok((sizes, dim))
}

fn unsqueezed(tensors: &[Tensor], dim: usize) -> Result<Vec<Tensor>> {
    tensors.iter().map(|tensor| Unsqueeze.call(tensor, dim as i64)).collect()
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::joining::cat;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = generate::numbers(DType::F32, &[2, 3], 0);
        samples
            .operator(Stack, STORED, inputs, reference)
            .refuses("non-empty list", given(Vec::<Plain>::new()))
            .refuses("expected [2, 3]", given(vec![x.clone(), generate::numbers(DType::F32, &[2, 4], 0)]))
            .refuses("range", given(vec![x.clone(), x]).and(3));
        samples.differs_as(Stack, &[cat::samples::ANY_STRIDES]);
        samples.differs(
            Stack,
            Difference {
                id: "empty-outputs-among-what-is-stacked",
                what: "torch resizes an empty output before it checks the stacked tensors, of which it \
                     may be one; here they are checked first",
                why: "arguments are evaluated before outputs change",
                test: (
                    "opgrid-operators/tests/all/differences/outputs.rs",
                    "what_has_no_elements_shares_none",
                ),
                when: |seen| {
                    let is_among = |out: &Operand| {
                        out.is_empty() && seen.inputs().iter().any(|input| input.memory == out.memory)
                    };
                    seen.torch_refuses("Tensors must have same number of dimensions")
                        && seen.out().is_some_and(is_among)
                },
                directed: Some(Directed {
                    operator: "aten::stack.out",
                    arguments: || {
                        vec![
                            (
                                "tensors",
                                Argument::Tensors(vec![
                                    Some(Operand::rows(0, DType::F32, &[4, 0], &[])),
                                    Some(Operand::rows(1, DType::F32, &[4, 0], &[])),
                                ]),
                            ),
                            ("dim", Scalar::Int(1).into()),
                            ("out", Operand::rows(1, DType::F32, &[4, 0], &[]).into()),
                        ]
                    },
                    needs: None,
                }),
            },
        );
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        let cases: [(&[i64], i64); 6] =
            [(&[2, 3], 0), (&[2, 3], 1), (&[2, 3], -1), (&[], 0), (&[0], 1), (&[3, 2, 2], 0)];
        let one = |(sizes, dim): (&[i64], i64)| {
            given([0, 1, 2].map(|seed| generate::numbers(dtype, sizes, seed)).to_vec()).and(dim)
        };
        let mixed = given(vec![
            generate::numbers(dtype, &[2], 0),
            generate::numbers(generate::beside(dtype, DType::F32), &[2], 1),
        ]);
        cases.into_iter().map(one).chain([mixed]).collect()
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let (tensors, dim) = (it.tensors("tensors")?, it.value("dim")?);
        let dtype = tensors
            .iter()
            .map(Plain::dtype)
            .try_fold(tensors[0].dtype(), opgrid_tensor::tensor::promote_types)?;
        let mut sizes = tensors[0].sizes().to_vec();
        let dim = naive::dimension(dim, sizes.len() + 1);
        sizes.insert(dim, tensors.len() as i64);
        let stacked = Plain::from_fn(dtype, &sizes, |position| {
            let mut position = position.to_vec();
            let which = position.remove(dim);
            tensors[which as usize].at(&position)
        });
        Ok(stacked.into())
    }
}
