//! `aten::view_as_real`: the parts of complex numbers as a dimension more.
//!
//! `out[i, 0]` and `out[i, 1]` are the real and the imaginary part of `self[i]`
//!
//! - Shapes: that of `self` with a last dimension of size 2.
//! - Dtypes: complex ones; the result has that of the parts.
//! - Aliasing: a view of `self`; `view_as_real_copy` copies it.
//! - Errors: real numbers.
//! - Source: torch.view_as_real, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::ViewAsComplex;

pub use opgrid_tensor::ops::complex::view_as_real::*;

pub(super) fn register(library: &mut Library) {
    library
        .define(ViewAsReal)
        .kind(&kind::VIEW)
        .on_every_backend(view_as_real)
        .derivative(|d, (input,)| d.by(input, [], |grad, []| ViewAsComplex.call(&grad.contiguous()?)));
    library.copy_of_view(ViewAsRealCopy, ViewAsReal);
}

fn view_as_real(input: &Tensor) -> Result<Tensor> {
    let spec = input.spec()?;
    pointwise::check_complex("self", spec.dtype())?;
    let geometry = spec.geometry();
    let doubled = |count: &i64| count.checked_mul(2).ok_or_else(complex::too_many);
    let strides = geometry.strides().iter().map(doubled).chain([Ok(1)]).collect::<Result<Vec<_>>>()?;
    let sizes = [geometry.sizes(), &[2]].concat();
    let geometry = Geometry::strided(&sizes, &strides, doubled(&geometry.offset())?)?;
    let view = input.view_with(TensorSpec::new(geometry, part_of(spec.dtype()), spec.device()))?;
    Ok(view.taken_of(input))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.differs(ViewAsReal, complex::samples::NO_MARK);
        samples
            .operator(ViewAsReal, COMPLEX, generate::unary, |it| {
                let x = it.tensor("self")?;
                let sizes = [x.sizes(), &[2]].concat();
                Ok(Plain::from_fn(part_of(x.dtype()), &sizes, |position| {
                    let (part, position) =
                        position.split_last().map_or((0, position), |(part, rest)| (*part, rest));
                    let x = x.at(position).to_complex();
                    Scalar::Float(if part == 0 { x.re } else { x.im })
                })
                .into())
            })
            .view();
        samples.copy_of_view(ViewAsRealCopy, ViewAsReal);
    }
}
