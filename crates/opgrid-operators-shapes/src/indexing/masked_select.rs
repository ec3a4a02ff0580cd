//! `aten::masked_select`, `aten::masked_select_backward`: the elements where a mask is true, and the gradient.
//!
//! - Shapes: a list of the elements in row-major order of what `self` and `mask` broadcast to; the gradient has the shape
//!   that both broadcast to.
//! - Dtypes: that of `self`; `mask` is bool.
//! - Aliasing: `masked_select.out` writes `out`, of the dtype of `self`, and gives it its shape if it has no elements.
//! - Dispatch: composites of `expand` and `index`; how many elements there are is known from data only. The gradient is
//!   `masked_scatter` on zeros.
//! - Errors: a mask of another dtype; shapes that do not broadcast.
//! - Source: torch.masked_select, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::{Expand, IndexTensor, IndexTensorOut, Reshape};
use opgrid_tensor::tensor::broadcast;

pub use opgrid_tensor::ops::indexing::masked_select::*;

pub(super) fn register(library: &mut Library) {
    library
        .define_with_forms(MaskedSelect, &kind::INDEXING)
        .on_every_backend(|input, mask| {
            let (input, mask) = stretched(input, mask)?;
            IndexTensor.call(&input, &[Some(mask)])
        })
        .derivative(|d, (input, mask)| {
            let sizes = input.sizes().to_vec();
            d.by(input, [mask], move |grad, [mask]| gradient(grad, &sizes, mask))
        });
    library.implicit(MaskedSelectBackward, &kind::INDEXING, |grad, input, mask| {
        gradient(grad, input.spec()?.sizes(), mask)
    });
    library.implement(MaskedSelectOut).on_every_backend(|input, mask, out| {
        let (input, mask) = stretched(input, mask)?;
        IndexTensorOut.call(&input, &[Some(mask)], out)
    });
}

/// The gradient of elements of these sizes, stretched as the mask is.
fn gradient(grad: &Tensor, sizes: &[i64], mask: &Tensor) -> Result<Tensor> {
    derivatives::zeros_of(sizes, grad)?.masked_scatter(mask, grad)
}

/// Both with the sizes that they broadcast to, or as lists; a number becomes a list.
fn stretched(input: &Tensor, mask: &Tensor) -> Result<(Tensor, Tensor)> {
    let (spec, mask_spec) = (input.spec()?, mask.spec()?);
    if mask_spec.dtype() != DType::Bool {
        return Err(argument(format!("argument `mask` has dtype {}, expected bool", mask_spec.dtype())));
    }
    let sizes = broadcast(&[spec.sizes(), mask_spec.sizes()])?;
    let (input, mask) = (Expand.call(input, &sizes, false)?, Expand.call(mask, &sizes, false)?);
    // One list for all elements, where that takes no copy: their places are one number each.
    let is_list = [&input, &mask].iter().all(|tensor| tensor.geometry().is_contiguous());
    if is_list { Ok((Reshape.call(&input, &[-1])?, Reshape.call(&mask, &[-1])?)) } else { Ok((input, mask)) }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let inputs = |dtype| {
            let shapes: [[&[i64]; 2]; 6] = [
                [&[2, 3], &[2, 3]],
                [&[2, 3], &[3]],
                [&[3], &[2, 3]],
                [&[], &[]],
                [&[0], &[1]],
                [&[2, 1], &[1, 3]],
            ];
            let one = |[sizes, mask]: [&[i64]; 2]| {
                given(generate::numbers(dtype, sizes, 0)).and(generate::numbers(DType::Bool, mask, 1))
            };
            shapes.map(one).to_vec()
        };
        let x = generate::numbers(DType::F32, &[2], 0);
        samples
            .operator(MaskedSelect, STORED, inputs, |it| {
                let (x, mask) = (it.tensor("self")?, it.tensor("mask")?);
                let sizes = naive::broadcast([x.sizes(), mask.sizes()].into_iter())?;
                let chosen = naive::positions(&sizes).filter(|position| mask.at(position).to_bool());
                let elements: Vec<Scalar> = chosen.map(|position| x.at(&position)).collect();
                Ok(Plain::from_elements(x.dtype(), &[elements.len() as i64], &elements).into())
            })
            .not_on_meta()
            .refuses("expected bool", given(x.clone()).and(x.clone()))
            .refuses("broadcast", given(x.clone()).and(generate::numbers(DType::Bool, &[3], 0)));
        let gradients = |dtype| {
            let shapes: [[&[i64]; 2]; 5] =
                [[&[2, 3], &[2, 3]], [&[2, 3], &[3]], [&[3], &[2, 3]], [&[], &[]], [&[0], &[1]]];
            let one = |[sizes, mask]: [&[i64]; 2]| {
                // As many as there are places.
                given(generate::numbers(dtype, &[6], 2))
                    .and(generate::numbers(dtype, sizes, 0))
                    .and(generate::numbers(DType::Bool, mask, 1))
            };
            shapes.map(one).to_vec()
        };
        samples
            .operator(MaskedSelectBackward, ANY, gradients, |it| {
                let (grad, x, mask) = (it.tensor("grad")?, it.tensor("input")?, it.tensor("mask")?);
                let sizes = naive::broadcast([x.sizes(), mask.sizes()].into_iter())?;
                let mut result = Plain::from_elements::<i64>(grad.dtype(), &sizes, &[]);
                let places = naive::positions(&sizes).filter(|position| mask.at(position).to_bool());
                for (place, element) in places.zip(grad.elements()) {
                    result.set(&place, *element);
                }
                Ok(result.into())
            })
            .refuses("expected bool", given(x.clone()).and(x.clone()).and(x));
    }
}
