//! `aten::addmm`: a matrix, scaled, plus a product of two others, scaled.
//!
//! `out = beta * self + alpha * (mat1 @ mat2)`
//!
//! - Shapes: `mat1` and `mat2` as for `mm`; `self` is stretched to their product.
//! - Dtypes: one for all, no bools. Integers wrap around, and have `alpha` and `beta` without fractions.
//! - Values: with a `beta` of zero `self` does not count, not even NaN.
//! - Aliasing: `addmm_` writes `self`, `addmm.out` writes `out`; neither may overlap the factors.
//! - Errors: two dtypes or devices, other shapes; an `alpha` or `beta` beyond the dtype.
//! - Source: torch.addmm, PyTorch 2.15.

use super::prelude::*;
use crate::kernels::matmul;
use crate::tensor::Array;

operator! {
    home = crate::home;
    pub Addmm = "aten::addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor";
    pub AddmmInplace = "aten::addmm_(Tensor(a!) self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor(a!)";
    pub AddmmOut = "aten::addmm.out(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)";
}

pub(super) fn register(library: &mut Library) {
    library.define(Addmm).structured(shape, cpu);
    library.define(AddmmInplace).in_place(shape, cpu);
    library.define(AddmmOut).out_by(Addmm, out_shape, cpu);
}

fn shape(input: &Tensor, mat1: &Tensor, mat2: &Tensor, beta: Scalar, alpha: Scalar) -> Result<TensorSpec> {
    let (c, a, b) = (input.spec()?, mat1.spec()?, mat2.spec()?);
    let sizes = matmul::sizes(a.sizes(), b.sizes())?;
    products::check_factors(&[("mat1", a), ("mat2", b), ("self", c)])?;
    if c.geometry().expand(&sizes).is_err() {
        let message = format!(
            "argument `self` has shape {:?}, which does not broadcast to the product's shape {:?}",
            c.sizes(),
            sizes.as_slice()
        );
        return Err(argument(message));
    }
    with_dtype!(a.dtype(), T: Number => {
        arithmetic::element::<T>(beta)?;
        arithmetic::element::<T>(alpha).map(|_| ())
    })?;
    TensorSpec::contiguous(&sizes, a.dtype(), a.device())
}

fn out_shape(
    input: &Tensor,
    mat1: &Tensor,
    mat2: &Tensor,
    beta: Scalar,
    alpha: Scalar,
    out: &Tensor,
) -> Result<TensorSpec> {
    let spec = shape(input, mat1, mat2, beta, alpha)?;
    pointwise::check_out_dtype(out, spec.dtype())?;
    Ok(spec)
}

fn cpu(
    input: &Tensor,
    mat1: &Tensor,
    mat2: &Tensor,
    beta: Scalar,
    alpha: Scalar,
    out: &Tensor,
) -> Result<()> {
    let product = Array::empty(TensorSpec::contiguous(out.sizes(), out.dtype(), out.device())?)?;
    matmul::mm(&product, mat1.array()?, mat2.array()?)?;
    with_dtype!(out.dtype(), T: Number => {
        let (beta, alpha) = (arithmetic::element::<Math<T>>(beta)?, arithmetic::element::<Math<T>>(alpha)?);
        if beta == Math::<T>::ZERO {
            return elementwise::unary::<T, T>(out, &product, move |product| alpha.times(product));
        }
        elementwise::binary::<T, T, T>(out, input, &product, move |added, product| {
            beta.times(added).plus(alpha.times(product))
        })
    })
}
