//! `aten::affine_grid_generator`, `aten::affine_grid_generator_backward`: the grid of an affine map, for `grid_sampler`, and the gradient
//! of the map.
//!
//! `out[n, y, x] = theta[n] @ [u, v, 1]`, and `theta[n] @ [u, v, w, 1]` with depth, where `u` goes over the columns from -1 to 1
//! and `v` over the rows: by the middles of the outermost elements if corners are aligned, else by their outer edges.
//!
//! - Shapes: `theta` `[batch, 2, 3]` and a `size` of four numbers give `[batch, height, width, 2]`; `[batch, 3, 4]` and five
//!   numbers `[batch, depth, height, width, 3]`.
//! - Dtypes: floats.
//! - Aliasing: `affine_grid_generator.out` writes `out`.
//! - Dispatch: composites of `linspace`, `stack` and `bmm`.
//! - Errors: a `size` of another length or with negative numbers, a `theta`, or a gradient, of another shape.
//! - Source: torch.nn.functional.affine_grid, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kinds::images::check_float;
use opgrid_tensor::ops::{Bmm, Expand, Linspace, Reshape, Stack, TransposeInt, Zeros};

pub use opgrid_tensor::ops::resampling::affine_grid_generator::*;

pub(super) fn register(library: &mut Library) {
    library.define_with_forms(AffineGridGenerator, &kind::RESAMPLING).composite(grid).derivative(
        |d, (theta, size, align_corners)| {
            let size = size.to_vec();
            d.by(theta, [], move |grad, []| gradient(grad, &size, align_corners))
        },
    );
    library.implicit(AffineGridGeneratorBackward, &kind::RESAMPLING, |grad, size, align_corners| {
        let spec = grad.spec()?;
        check_float(spec.dtype())?;
        let (dims, images) = images(size)?;
        let expected = [&size[..1], images, &[dims as i64]].concat();
        if spec.sizes() != expected {
            let message = format!(
                "argument `grad` has shape {:?}, expected {expected:?} for `size` {size:?}",
                spec.sizes()
            );
            return Err(argument(message));
        }
        gradient(grad, size, align_corners)
    });
    library.implement(AffineGridGeneratorOut).composite(|theta, size, align_corners, out| {
        result::copied(out, &AffineGridGenerator.call(theta, size, align_corners)?)
    });
}

/// The gradient of the map: each place times its gradient, which lies in columns, as in torch.
fn gradient(grad: &Tensor, size: &[i64], align_corners: bool) -> Result<Tensor> {
    let (places, dims) = (size[2..].iter().product(), size.len() as i64 - 2);
    let flat = repeated(size, align_corners, grad.dtype(), grad.device())?;
    let transposed = TransposeInt.call(&flat, 1, 2)?.bmm(&grad.reshape(&[size[0], places, dims])?)?;
    TransposeInt.call(&transposed, 1, 2)
}

/// How many dimensions images have, and their sizes.
///
/// # Errors
///
/// Other than four or five numbers; negative ones.
fn images(size: &[i64]) -> Result<(usize, &[i64])> {
    match size {
        [_, _, images @ ..] if matches!(images.len(), 2 | 3) => {
            if images.iter().any(|size| *size < 0) {
                return Err(argument(format!("argument `size` is {size:?}, expected no negative numbers")));
            }
            Ok((images.len(), images))
        }
        _ => {
            Err(argument(format!("argument `size` is {size:?}, expected four numbers, or five for volumes")))
        }
    }
}

fn grid(theta: &Tensor, size: &[i64], align_corners: bool) -> Result<Tensor> {
    let spec = theta.spec()?;
    check_float(spec.dtype())?;
    let (dims, images) = images(size)?;
    let expected = [size[0], dims as i64, dims as i64 + 1];
    if spec.sizes() != expected {
        let message = format!(
            "argument `theta` has shape {:?}, expected {expected:?} for `size` {size:?}",
            spec.sizes()
        );
        return Err(argument(message));
    }
    let sizes: Vec<i64> = [size[0]].iter().chain(images).chain(&[dims as i64]).copied().collect();
    let result = TensorSpec::contiguous(&sizes, spec.dtype(), spec.device())?;
    result.bytes()?;
    if result.numel() == 0 {
        // Sizes beside one of 0 may be of any size.
        return Zeros.call(&sizes, Some(spec.dtype()), None, Some(spec.device()), None);
    }
    let flat = repeated(size, align_corners, spec.dtype(), spec.device())?;
    let mapped = Bmm.call(&flat, &TransposeInt.call(theta, 1, 2)?)?;
    Reshape.call(&mapped, &sizes)
}

/// The places of each image before they are mapped, with a column of ones.
fn repeated(size: &[i64], align_corners: bool, dtype: DType, device: Device) -> Result<Tensor> {
    let (dims, images) = (size.len() - 2, &size[2..]);
    let places: i64 = images.iter().product();
    let sizes = [size[0], places, dims as i64 + 1];
    if sizes.contains(&0) {
        return Zeros.call(&sizes, Some(dtype), None, Some(device), None);
    }
    let line = |end: f64, steps: i64| {
        let (start, end) = (Scalar::Float(-end), Scalar::Float(end));
        Linspace.call(start, end, steps, Some(dtype), None, Some(device), None)
    };
    let mut columns = Vec::with_capacity(dims + 1);
    for (dim, &size) in images.iter().enumerate().rev() {
        let end = if size <= 1 {
            0.0
        } else if align_corners {
            1.0
        } else {
            (size - 1) as f64 / size as f64
        };
        let mut along = vec![1; dims];
        along[dim] = size;
        columns.push(Expand.call(&Reshape.call(&line(end, size)?, &along)?, images, false)?);
    }
    let one = Linspace.call(Scalar::Int(1), Scalar::Int(1), 1, Some(dtype), None, Some(device), None)?;
    columns.push(Expand.call(&Reshape.call(&one, &vec![1; dims])?, images, false)?);
    let flat = Reshape.call(&Stack.call(&columns, -1)?, &[1, places, dims as i64 + 1])?;
    Expand.call(&flat, &sizes, false)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_kinds::images::FLOATS;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = generate::numbers(DType::F32, &[1, 2, 3], 0);
        samples
            .operator(AffineGridGenerator, FLOATS, inputs, reference)
            .tolerance(32.0)
            .refuses("expected four numbers", given(x.clone()).and(vec![1, 1, 2]).and(true))
            .refuses("no negative numbers", given(x.clone()).and(vec![1, 1, 2, -1]).and(true))
            .refuses("argument `theta`", given(x).and(vec![2, 1, 2, 2]).and(true));
        samples
            .operator(AffineGridGeneratorBackward, FLOATS, gradients, |it| {
                let (grad, size): (_, Vec<i64>) = (it.tensor("grad")?, it.value("size")?);
                let (align, dims) = (it.value("align_corners")?, size.len() as i64 - 2);
                naive::transposed(grad, &[size[0], dims, dims + 1], |one| Ok(naive_grid(one, &size, align)))
                    .map(Into::into)
            })
            .tolerance(64.0)
            .refuses(
                "argument `grad`",
                given(generate::numbers(DType::F32, &[1, 2, 2, 3], 0)).and(vec![1, 1, 2, 2]).and(true),
            );
        samples.rounds(AffineGridGeneratorBackward, Roundings::all(Rounding::Sum(64)));
        samples.rounds(AffineGridGenerator, Roundings::all(Rounding::Sum(8)));
        samples.differs(
            AffineGridGenerator,
            Difference {
                id: "grids-of-floats",
                what: "torch creates integer grids, which have no positions between elements; here they \
                     are rejected",
                why: "an integer grid is probably a mistake",
                test: (
                    "opgrid-operators/tests/all/differences/refused.rs",
                    "what_torch_does_not_check_is_refused",
                ),
                when: |seen| seen.we_refuse("expected a floating-point dtype"),
                directed: None,
            },
        );
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        let cases: [(&[i64], &[i64]); 5] = [
            (&[2, 2, 3], &[2, 3, 2, 4]),
            (&[1, 3, 4], &[1, 1, 2, 3, 2]),
            (&[1, 2, 3], &[1, 1, 1, 3]),
            (&[0, 2, 3], &[0, 1, 2, 3]),
            (&[2, 2, 3], &[2, 1, 0, 3]),
        ];
        let one = |(theta, size): &(&[i64], &[i64])| {
            let sample = given(generate::numbers(dtype, theta, 1)).and(size.to_vec());
            [sample.clone().and(false), sample.and(true)]
        };
        cases.iter().flat_map(one).collect()
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let (theta, size): (_, Vec<i64>) = (it.tensor("theta")?, it.value("size")?);
        Ok(naive_grid(theta, &size, it.value("align_corners")?).into())
    }

    /// The gradients of the grids of the samples.
    fn gradients(dtype: DType) -> Vec<Sample> {
        let one = |sample: Sample| {
            let size = match &sample.positional[1] {
                Given::Value(value) => Vec::<i64>::from_value(value.borrow()).unwrap_or_default(),
                _ => Vec::new(),
            };
            let sizes = [&size[..1], &size[2..], &[size.len() as i64 - 2]].concat();
            let grad = vec![generate::numbers(dtype, &sizes, 2).into()];
            Sample { positional: [grad, sample.positional[1..].to_vec()].concat(), ..sample }
        };
        inputs(dtype).into_iter().map(one).collect()
    }

    fn naive_grid(theta: &Plain, size: &[i64], align: bool) -> Plain {
        let (images, dims) = (&size[2..], size.len() - 2);
        let sizes = [&size[..1], images, &[dims as i64]].concat();
        Plain::from_fn(theta.dtype(), &sizes, |position| {
            let at = |dim: usize| match (images[dims - 1 - dim], position[dims - dim]) {
                (1, _) => 0.0,
                (size, place) if align => 2.0 * place as f64 / (size - 1) as f64 - 1.0,
                (size, place) => (2.0 * place as f64 + 1.0) / size as f64 - 1.0,
            };
            let weight = |column: i64| theta.at(&[position[0], position[dims + 1], column]).to_complex().re;
            let sum: f64 = (0..dims).map(|dim| at(dim) * weight(dim as i64)).sum();
            Scalar::Float(sum + weight(dims as i64))
        })
    }
}
