//! `aten::view_as_complex`: pairs of numbers as complex ones.
//!
//! `out[i] = self[i, 0] + self[i, 1] j`
//!
//! - Shapes: that of `self` without the last dimension, whose size is 2.
//! - Dtypes: float32 and float64; the result has the complex one of such parts.
//! - Aliasing: a view of `self`; `view_as_complex_copy` copies it.
//! - Errors: other dtypes; another size or stride of the last dimension; other strides or an offset that are odd.
//! - Source: torch.view_as_complex, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::{Stack, ViewAsReal};
use opgrid_tensor::tensor::complex_of;

pub use opgrid_tensor::ops::complex::view_as_complex::*;

pub(super) fn register(library: &mut Library) {
    library.define(ViewAsComplex).kind(&kind::VIEW).on_every_backend(view_as_complex).derivative(
        |d, (input,)| {
            d.by(input, [], |grad, []| {
                if grad.dtype().is_complex() {
                    ViewAsReal.call(grad)
                } else {
                    // The imaginary parts of a real gradient are zero.
                    Stack.call(&[grad.clone(), derivatives::zeros(grad)?], -1)
                }
            })
        },
    );
    library.copy_of_view(ViewAsComplexCopy, ViewAsComplex);
}

fn view_as_complex(input: &Tensor) -> Result<Tensor> {
    let spec = input.spec()?;
    if !matches!(spec.dtype(), DType::F32 | DType::F64) {
        let message = format!(
            "argument `self` is {}, expected float32 or float64, the parts of complex numbers",
            spec.dtype()
        );
        return Err(argument(message));
    }
    let geometry = spec.geometry();
    let (Some((last, sizes)), Some((step, strides))) =
        (geometry.sizes().split_last(), geometry.strides().split_last())
    else {
        return Err(argument(
            "argument `self` has no dimensions, expected a last one of size 2 with both parts",
        ));
    };
    if *last != 2 || *step != 1 {
        let message = format!(
            "argument `self` has size {last} and stride {step} in the last dimension, expected size 2 and stride 1 for both parts; \
             call `contiguous` first"
        );
        return Err(argument(message));
    }
    // No step is ever taken along a dimension of one place. As in torch, one without places counts as any other.
    let is_odd = |(stride, size): (&i64, &i64)| *size != 1 && stride % 2 != 0;
    if strides.iter().zip(sizes).any(is_odd) || geometry.offset() % 2 != 0 {
        let message = format!(
            "argument `self` has strides {:?} and storage offset {}, expected even ones, as a complex \
             number consists of two elements; call `clone` first",
            geometry.strides(),
            geometry.offset()
        );
        return Err(argument(message));
    }
    let strides: Vec<i64> = strides.iter().map(|stride| stride / 2).collect();
    let halved = Geometry::strided(sizes, &strides, geometry.offset() / 2)?;
    let view = input.view_with(TensorSpec::new(halved, complex_of(spec.dtype()), spec.device()))?;
    Ok(view.taken_of(input))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.differs(ViewAsComplex, complex::samples::SIXTEEN_BITS);
        let inputs = |dtype| -> Vec<Sample> {
            let shapes: [&[i64]; 4] = [&[2], &[3, 2], &[0, 2], &[2, 37, 2]];
            shapes.map(|sizes| given(generate::numbers(dtype, sizes, 1))).to_vec()
        };
        let of = |sizes: &[i64]| given(generate::numbers(DType::F32, sizes, 0));
        samples
            .operator(ViewAsComplex, &[DType::F32, DType::F64], inputs, |it| {
                let x = it.tensor("self")?;
                let sizes = &x.sizes()[..x.sizes().len() - 1];
                Ok(Plain::from_fn(complex_of(x.dtype()), sizes, |position| {
                    let part = |part: i64| x.at(&[position, &[part]].concat()).to_complex().re;
                    Scalar::Complex(Complex64::new(part(0), part(1)))
                })
                .into())
            })
            .view()
            .needs_contiguous()
            .refuses("no dimensions", of(&[]))
            .refuses("size 3", of(&[2, 3]));
        samples.copy_of_view(ViewAsComplexCopy, ViewAsComplex);
    }
}
