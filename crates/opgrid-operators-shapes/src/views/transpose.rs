//! `aten::transpose`, `aten::t`, `aten::swapaxes`, `aten::swapdims`: two dimensions exchanged.
//!
//! `out[…, j, …, i, …] = self[…, i, …, j, …]`
//!
//! - Shapes: `t` takes a matrix; a vector or a number stays what it is.
//! - Aliasing: views of `self`; `transpose_`, `t_`, `swapaxes_` and `swapdims_` make `self` that view of itself;
//!   `transpose_copy` and `t_copy` copy it.
//! - Dispatch: `swapaxes` and `swapdims` are `transpose`.
//! - Errors: a dimension out of range; `t` of more than two dimensions.
//! - Source: torch.transpose, torch.t, PyTorch 2.15.

use crate::prelude::*;

pub use opgrid_tensor::ops::views::transpose::*;

/// The view family of `aten::transpose.int`: its place in the base.
pub const TRANSPOSE: ViewFamily<TransposeInt> =
    ViewFamily::new(TransposeInt, |input, dim0, dim1| input.spec()?.geometry().transpose(dim0, dim1));

/// The view family of `aten::t`: its place in the base.
pub const T_VIEW: ViewFamily<TMatrix> = ViewFamily::new(TMatrix, t);

pub(super) fn register(library: &mut Library) {
    library
        .view(TransposeInt, &TRANSPOSE)
        .derivative(|d, (input, dim0, dim1)| d.by(input, [], move |grad, []| grad.transpose(dim0, dim1)));
    library.view(TMatrix, &T_VIEW).derivative(|d, (input,)| d.by(input, [], |grad, []| grad.t()));
    library.view_in_place(TransposeInplace, &TRANSPOSE);
    library.view_in_place(TInplace, &T_VIEW);
    let exchange = |input: &Tensor, dim0, dim1| TransposeInt.call(input, dim0, dim1);
    library.define(Swapaxes).kind(&kind::VIEW).implicit(exchange);
    library.define(Swapdims).kind(&kind::VIEW).implicit(exchange);
    let exchange_in_place = |input: &Tensor, dim0, dim1| TransposeInplace.call(input, dim0, dim1);
    library.define(SwapaxesInplace).kind(&kind::VIEW).implicit(exchange_in_place);
    library.define(SwapdimsInplace).kind(&kind::VIEW).implicit(exchange_in_place);
    library.copy_of_view(TransposeCopyInt, TransposeInt);
    library.copy_of_view(TCopy, TMatrix);
}

fn t(input: &Tensor) -> Result<Geometry> {
    let geometry = input.spec()?.geometry();
    match geometry.dims() {
        2 => geometry.transpose(0, 1),
        0 | 1 => Ok(geometry.clone()),
        dims => {
            let message = format!(
                "t() expects a tensor with at most 2 dimensions, found {dims} in {:?}; use transpose or permute",
                input.sizes()
            );
            Err(argument(message))
        }
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let exchanged = |dtype| {
            let cases: [(&[i64], i64, i64); 5] =
                [(&[2, 3], 0, 1), (&[2, 3, 4], 0, -1), (&[2, 3], 1, 1), (&[], 0, -1), (&[2, 0, 3], 1, 2)];
            cases
                .map(|(sizes, dim0, dim1)| given(generate::numbers(dtype, sizes, 0)).and(dim0).and(dim1))
                .to_vec()
        };
        samples
            .operator(TransposeInt, STORED, exchanged, |it| {
                reference(it, it.value("dim0")?, it.value("dim1")?)
            })
            .view()
            .refuses("range", given(generate::numbers(DType::F32, &[2, 3], 0)).and(0).and(2));
        let by_name = |it: &Inputs| reference(it, it.value("dim0")?, it.value("dim1")?);
        let by_axis = |it: &Inputs| reference(it, it.value("axis0")?, it.value("axis1")?);
        samples.operator(TransposeInplace, STORED, exchanged, by_name);
        samples.operator(Swapdims, STORED, exchanged, by_name).view();
        samples.operator(SwapdimsInplace, STORED, exchanged, by_name);
        samples.operator(Swapaxes, STORED, exchanged, by_axis).view();
        samples.operator(SwapaxesInplace, STORED, exchanged, by_axis);
        let matrices = |dtype| {
            [vec![2, 3], vec![3], vec![], vec![0, 2]]
                .map(|sizes| given(generate::numbers(dtype, &sizes, 0)))
                .to_vec()
        };
        let flipped = |it: &Inputs| match it.tensor("self")?.sizes().len() {
            2 => reference(it, 0, 1),
            _ => reference(it, 0, 0),
        };
        samples.operator(TInplace, STORED, matrices, flipped);
        samples
            .operator(TMatrix, STORED, matrices, flipped)
            .view()
            .refuses("at most 2 dimensions", given(generate::numbers(DType::F32, &[1, 2, 3], 0)));
        samples.copy_of_view(TransposeCopyInt, TransposeInt);
        samples.copy_of_view(TCopy, TMatrix);
    }

    fn reference(it: &Inputs, dim0: i64, dim1: i64) -> Result<Expected> {
        let x = it.tensor("self")?;
        let dims = x.sizes().len();
        let mut order: Vec<usize> = (0..dims).collect();
        if dims > 0 {
            order.swap(naive::dimension(dim0, dims), naive::dimension(dim1, dims));
        }
        Ok(x.permuted(&order).into())
    }
}
