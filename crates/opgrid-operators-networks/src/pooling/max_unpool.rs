//! `aten::max_unpool2d`, `max_unpool3d`: elements at places of larger images, and zeros elsewhere, as an inverse of pooling.
//!
//! `out[…, indices[…, p]] = self[…, p]`, where `indices` number the elements of an image in row-major order
//!
//! - Shapes: images of a batch or a single one; `indices` has the shape of `self`, the result has images of `output_size`. The `stride`
//!   and the `padding` of `max_unpool3d` have no effect.
//! - Dtypes: floating-point ones; `indices` is int64.
//! - Strides: a channels-last batch of images with two dimensions gives channels-last results.
//! - Values: of several elements for one place the last one stays; all of them get its gradient.
//! - Aliasing: the `out` forms write `out`.
//! - Errors: sizes of 0 but the first; other dtypes and shapes; an `output_size`, `stride` or `padding` of another length; a negative size;
//!   strides below 1; indices beyond the image.
//! - Source: torch.nn.functional.max_unpool2d, PyTorch 2.15.

use crate::kinds::pooling::{self, check_gradient};
use crate::prelude::*;
use opgrid_kernels::pooling::unpool;
use opgrid_kinds::images::{check_float, in_format_of};

pub use opgrid_tensor::ops::pooling::max_unpool::*;

/// The family of `aten::max_unpool2d`: its kind, shape rule and `out` rule.
pub const MAX_UNPOOL2D: Family<MaxUnpool2d> =
    Family::new(MaxUnpool2d, &kind::POOLING, |input, indices, output| shape(input, indices, output, 2))
        .same_dtype_out();

/// The family of `aten::max_unpool3d`: its kind, shape rule and `out` rule.
pub const MAX_UNPOOL3D: Family<MaxUnpool3d> =
    Family::new(MaxUnpool3d, &kind::POOLING, |input, indices, output, stride, padding| {
        for (name, list) in [("stride", stride), ("padding", padding)] {
            if list.len() != 3 {
                return Err(argument(format!("argument `{name}` is {list:?}, expected 3 numbers")));
            }
        }
        if stride.iter().any(|stride| *stride < 1) {
            return Err(argument(format!("argument `stride` is {stride:?}, expected numbers of at least 1")));
        }
        shape(input, indices, output, 3)
    })
    .same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&MAX_UNPOOL2D).cpu(cpu).derivative(|d, (input, indices, _)| {
        d.by(input, [indices], |grad, [indices]| pooling::gathered(grad, indices, 2))
    });
    library
        .family(&MAX_UNPOOL3D)
        .cpu(|input, indices, output, _, _, out| cpu(input, indices, output, out))
        .derivative(|d, (input, indices, ..)| {
            d.by(input, [indices], |grad, [indices]| pooling::gathered(grad, indices, 3))
        });
}

fn shape(input: &Tensor, indices: &Tensor, output: &[i64], dims: usize) -> Result<TensorSpec> {
    let spec = input.spec()?;
    check_float(spec.dtype())?;
    let sizes = pooling::adaptive(spec, output, dims, 1)?;
    let numbers = TensorSpec::new(spec.geometry().clone(), DType::I64, spec.device());
    check_gradient("indices", indices.spec()?, &numbers, spec.sizes())?;
    match dims {
        3 => TensorSpec::contiguous(&sizes, spec.dtype(), spec.device()),
        _ => in_format_of(spec, &sizes, false),
    }
}

fn cpu(input: &Tensor, indices: &Tensor, output: &[i64], out: &Tensor) -> Result<()> {
    // Sizes beside one of 0 may be of any size.
    if out.numel() == 0 {
        return Ok(());
    }
    let image = |sizes: &[i64]| sizes[sizes.len() - output.len()..].iter().product::<i64>() as usize;
    let planes = [image(out.sizes()), image(input.sizes())];
    let (out, input, indices) = (out.array()?, input.array()?, indices.array()?);
    with_dtype!(input.dtype(), T: Float => unpool::<T>(out, input, indices, planes))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_kinds::images::FLOATS;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let call = |indices: Plain, output: Vec<i64>| {
            given(generate::numbers(DType::F32, &[1, 2, 2], 0)).and(indices).and(output)
        };
        let indices = |sizes: &[i64], index: i64| Plain::from_elements(DType::I64, sizes, &[index]);
        samples
            .operator(MaxUnpool2d, FLOATS, |dtype| inputs(dtype, 2), reference)
            .refuses("`indices` has shape [1, 2]", call(indices(&[1, 2], 0), vec![4, 4]))
            .refuses("int64", call(indices(&[1, 2, 2], 0).to(DType::I32), vec![4, 4]))
            .refuses("expected 2 sizes", call(indices(&[1, 2, 2], 0), vec![4]))
            .refuses("expected 2 sizes", call(indices(&[1, 2, 2], 0), vec![4, -4]))
            .refuses_data("from 0 to 15", call(indices(&[1, 2, 2], 16), vec![4, 4]))
            .refuses_data("from 0 to 15", call(indices(&[1, 2, 2], -1), vec![4, 4]));
        let volume = |stride: Vec<i64>, padding: Vec<i64>| {
            let call = given(generate::numbers(DType::F32, &[1, 1, 2, 2], 0)).and(indices(&[1, 1, 2, 2], 0));
            call.and(vec![2, 4, 4]).and(stride).and(padding)
        };
        samples
            .operator(
                MaxUnpool3d,
                FLOATS,
                |dtype| {
                    let with_steps = |sample: Sample| sample.and(vec![2i64; 3]).and(vec![0i64; 3]);
                    inputs(dtype, 3).into_iter().map(with_steps).collect()
                },
                reference,
            )
            .refuses("`stride` is [2, 0, 2]", volume(vec![2, 0, 2], vec![0; 3]))
            .refuses("`padding` is [0]", volume(vec![2; 3], vec![0]));
    }

    /// Images with different places for their elements.
    fn inputs(dtype: DType, dims: usize) -> Vec<Sample> {
        let cases: [(&[i64], [i64; 3], [i64; 3]); 5] = [
            (&[2, 3], [2, 2, 3], [4, 5, 6]),
            (&[2], [3, 2, 1], [3, 5, 2]),
            (&[1, 1], [1, 1, 1], [1, 1, 1]),
            (&[0, 2], [2, 2, 2], [3, 4, 4]),
            (&[0], [2, 2, 2], [3, 4, 4]),
        ];
        let one = |(outer, image, output): (&[i64], [i64; 3], [i64; 3])| {
            let (image, output) = (&image[3 - dims..], &output[3 - dims..]);
            let (places, plane) = (image.iter().product::<i64>(), output.iter().product::<i64>());
            let sizes = [outer, image].concat();
            let count = sizes.iter().product::<i64>();
            // Steps of 7 meet no place twice, for no size is a multiple of it.
            let indices: Vec<i64> =
                (0..count).map(|at| (at % places.max(1) * 7 + at / places.max(1)) % plane).collect();
            given(generate::numbers(dtype, &sizes, 1))
                .and(Plain::from_elements(DType::I64, &sizes, &indices))
                .and(output.to_vec())
        };
        cases.map(one).to_vec()
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let (x, indices) = (it.tensor("self")?, it.tensor("indices")?);
        let output: Vec<i64> = it.value("output_size")?;
        let (outer, image) = x.sizes().split_at(x.sizes().len() - output.len());
        Ok(Plain::from_fn(x.dtype(), &[outer, &output].concat(), |at| {
            let (outer, place) = at.split_at(outer.len());
            let wanted = place.iter().zip(&output).fold(0, |number, (at, size)| number * size + at);
            let all = naive::positions(image).map(|from| [outer, &from].concat());
            let found = all.filter(|from| number::whole(indices.at(from)) == wanted);
            found.last().map_or(Scalar::Int(0), |from| x.at(&from))
        })
        .into())
    }
}
