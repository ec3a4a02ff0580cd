//! `aten::squeeze`: without dimensions of size 1.
//!
//! - Shapes: all dimensions of size 1 disappear, or those of `dim` that have it.
//! - Aliasing: a view of `self`; `squeeze_` makes `self` that view of itself, `squeeze_copy` copies it.
//! - Errors: a dimension out of range or named twice.
//! - Source: torch.squeeze, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::tensor::views::normalise_dim;

pub use opgrid_tensor::ops::views::squeeze::*;

/// The view family of `aten::squeeze`, which removes every dimension of size 1.
pub const SQUEEZE: ViewFamily<Squeeze> = ViewFamily::new(Squeeze, |input| without(input, |_| true));

/// The view family of `aten::squeeze.dim`, which removes one dimension if its size is 1.
pub const SQUEEZE_DIM: ViewFamily<SqueezeDim> = ViewFamily::new(SqueezeDim, |input, dim| {
    let dim = normalise_dim(dim, input.spec()?.geometry().dims())?;
    without(input, |at| at == dim)
});

/// The view family of `aten::squeeze.dims`, which removes those of some dimensions whose size is 1.
pub const SQUEEZE_DIMS: ViewFamily<SqueezeDims> = ViewFamily::new(SqueezeDims, squeeze_dims);

pub(super) fn register(library: &mut Library) {
    library.view(Squeeze, &SQUEEZE).derivative(|d, (input,)| {
        let sizes = input.sizes().to_vec();
        d.by(input, [], move |grad, []| grad.reshape(&sizes))
    });
    library.view(SqueezeDim, &SQUEEZE_DIM).derivative(|d, (input, _)| {
        let sizes = input.sizes().to_vec();
        d.by(input, [], move |grad, []| grad.reshape(&sizes))
    });
    library.view(SqueezeDims, &SQUEEZE_DIMS).derivative(|d, (input, _)| {
        let sizes = input.sizes().to_vec();
        d.by(input, [], move |grad, []| grad.reshape(&sizes))
    });
    library.view_in_place(SqueezeInplace, &SQUEEZE);
    library.view_in_place(SqueezeInplaceDim, &SQUEEZE_DIM);
    library.view_in_place(SqueezeInplaceDims, &SQUEEZE_DIMS);
    library.copy_of_view(SqueezeCopy, Squeeze);
    library.copy_of_view(SqueezeCopyDim, SqueezeDim);
    library.copy_of_view(SqueezeCopyDims, SqueezeDims);
}

fn squeeze_dims(input: &Tensor, dim: &[i64]) -> Result<Geometry> {
    let dims = input.spec()?.geometry().dims();
    let mut named = vec![false; dims.max(1)];
    for &dim in dim {
        if std::mem::replace(&mut named[normalise_dim(dim, dims)?], true) {
            return Err(argument(format!("dim {dim} appears multiple times in the list of dims")));
        }
    }
    without(input, |at| named[at])
}

/// Removes the dimensions of size 1 for which `named` holds.
fn without(input: &Tensor, named: impl Fn(usize) -> bool) -> Result<Geometry> {
    let geometry = input.spec()?.geometry();
    let all = geometry.sizes().iter().zip(geometry.strides()).enumerate();
    let kept = all.filter(|(at, (size, _))| **size != 1 || !named(*at));
    let (sizes, strides): (Vec<i64>, Vec<i64>) = kept.map(|(_, (size, stride))| (*size, *stride)).unzip();
    Geometry::strided(&sizes, &strides, geometry.offset())
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.operator(Squeeze, STORED, generate::unary, |it| reference(it, None)).view();
        samples.operator(SqueezeInplace, STORED, generate::unary, |it| reference(it, None));
        let inputs = |dtype| {
            let cases: [(&[i64], i64); 5] =
                [(&[2, 1, 3], 1), (&[2, 3], 0), (&[1, 2], -2), (&[], 0), (&[0, 1], 1)];
            cases.map(|(sizes, dim)| given(generate::numbers(dtype, sizes, 0)).and(dim)).to_vec()
        };
        samples
            .operator(SqueezeDim, STORED, inputs, |it| reference(it, Some(vec![it.value("dim")?])))
            .view()
            .refuses("range", given(generate::numbers(DType::F32, &[2], 0)).and(1));
        samples.operator(SqueezeInplaceDim, STORED, inputs, |it| reference(it, Some(vec![it.value("dim")?])));
        let several = |dtype| {
            let cases: [(&[i64], &[i64]); 3] = [(&[1, 2, 1, 1], &[0, -1]), (&[1, 0], &[0]), (&[], &[])];
            cases.map(|(sizes, dims)| given(generate::numbers(dtype, sizes, 0)).and(dims.to_vec())).to_vec()
        };
        samples.operator(SqueezeDims, STORED, several, |it| reference(it, it.value("dim")?)).view().refuses(
            "multiple times",
            given(generate::numbers(DType::F32, &[1, 2], 0)).and([0, -2].to_vec()),
        );
        samples.operator(SqueezeInplaceDims, STORED, several, |it| reference(it, it.value("dim")?));
        samples.copy_of_view(SqueezeCopy, Squeeze);
        samples.copy_of_view(SqueezeCopyDim, SqueezeDim);
        samples.copy_of_view(SqueezeCopyDims, SqueezeDims);
    }

    fn reference(it: &Inputs, dims: Option<Vec<i64>>) -> Result<Expected> {
        let x = it.tensor("self")?;
        let all = x.sizes().len();
        let is_named = |at: usize| {
            dims.as_ref().is_none_or(|dims| dims.iter().any(|&dim| naive::dimension(dim, all) == at))
        };
        let kept = x.sizes().iter().enumerate().filter(|(at, size)| **size != 1 || !is_named(*at));
        Ok(x.with_sizes(&kept.map(|(_, &size)| size).collect::<Vec<_>>()).into())
    }
}
