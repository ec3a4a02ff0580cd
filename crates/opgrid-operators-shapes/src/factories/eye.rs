//! `aten::eye`: ones on the diagonal, zeros elsewhere.
//!
//! `out[i, j] = 1 if i == j else 0`
//!
//! - Shapes: `[n, n]`, or `[n, m]`.
//! - Dtypes: `dtype`, the default one without it.
//! - Aliasing: `eye.out` writes `out`, and gives it its shape if it has no elements.
//! - Dispatch: as [`EmptyMemoryFormat`](opgrid_tensor::ops::EmptyMemoryFormat); a composite of `zeros`, `as_strided` and `fill_`.
//! - Errors: negative sizes; what `empty` refuses.
//! - Source: torch.eye, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kinds::factory::Factories;
use opgrid_tensor::families::result::give_shape;
use opgrid_tensor::ops::{AsStrided, FillInplaceScalar, ZeroInplace, Zeros};

pub use opgrid_tensor::ops::factories::eye::*;

pub(super) fn register(library: &mut Library) {
    library
        .define_with_forms(Eye, &kind::FACTORY)
        .factory(|n, dtype, layout, device, pin_memory| eye(n, n, dtype, layout, device, pin_memory));
    library.define_with_forms(EyeM, &kind::FACTORY).factory(eye);
    library.implement(EyeOut).on_every_backend(|n, out| eye_out(n, n, out));
    library.implement(EyeMOut).on_every_backend(eye_out);
}

fn eye(
    n: i64,
    m: i64,
    dtype: Option<DType>,
    layout: Option<Layout>,
    device: Option<Device>,
    pin_memory: Option<bool>,
) -> Result<Tensor> {
    check(n, m)?;
    let result = Zeros.call(&[n, m], dtype, layout, device, pin_memory)?;
    fill_diagonal(&result)?;
    Ok(result)
}

fn eye_out(n: i64, m: i64, out: &Tensor) -> Result<()> {
    check(n, m)?;
    give_shape(out, &TensorSpec::contiguous(&[n, m], out.dtype(), out.device())?)?;
    ZeroInplace.call(out)?;
    fill_diagonal(out)
}

fn fill_diagonal(matrix: &Tensor) -> Result<()> {
    let length = matrix.sizes().iter().copied().min().unwrap_or(0);
    // A sum that saturates is of strides that are never used, of dimensions of size 1.
    let stride = matrix.strides().iter().fold(0i64, |sum, &stride| sum.saturating_add(stride));
    FillInplaceScalar.call(&AsStrided.call(matrix, &[length], &[stride], None)?, Scalar::Int(1))
}

fn check(n: i64, m: i64) -> Result<()> {
    if n < 0 || m < 0 {
        return Err(argument(format!("sizes must be greater or equal to 0, got {n} and {m}")));
    }
    Ok(())
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let squares = |dtype| [0, 1, 3].map(|n| given(n).named("dtype", dtype)).to_vec();
        samples
            .operator(Eye, ANY, squares, |it| reference(it, "n"))
            .output_decides()
            .refuses("greater or equal to 0", given(-1));
        let matrices =
            |dtype| [(2, 3), (3, 2), (0, 2)].map(|(n, m)| given(n).and(m).named("dtype", dtype)).to_vec();
        samples
            .operator(EyeM, ANY, matrices, |it| reference(it, "m"))
            .output_decides()
            .refuses("greater or equal to 0", given(1).and(-1));
    }

    fn reference(it: &Inputs, columns: &str) -> Result<Expected> {
        let sizes = [it.value("n")?, it.value(columns)?];
        let dtype: Option<DType> = it.value("dtype")?;
        Ok(Plain::from_fn(dtype.unwrap_or(default_dtype()), &sizes, |at| Scalar::Bool(at[0] == at[1])).into())
    }
}
