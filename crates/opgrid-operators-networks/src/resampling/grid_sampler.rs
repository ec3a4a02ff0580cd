//! `aten::grid_sampler`: images, read at the places that a grid names.
//!
//! `out[n, c, p] = self[n, c]` at column `grid[n, p, 0]`, row `grid[n, p, 1]` and, of images with depth, depth `grid[n, p, 2]`;
//! -1 and 1 are the outer edges of the image, or the middles of the outermost elements if corners are aligned.
//!
//! - Modes: `interpolation_mode` 0 takes neighbours by distance, 1 the nearest one, 2 cubic polynomials of four (not of images
//!   with depth); `padding_mode` says what lies beyond the edges: 0 zeros, 1 the edge, 2 the image, mirrored.
//! - Shapes: images `[batch, channels, …]` and a grid `[batch, …, 2]`, or `3` with depth, give `[batch, channels, …]`.
//! - Dtypes: one floating-point dtype for both.
//! - Aliasing: the `out` forms write `out`, which must not overlap the others.
//! - Dispatch: `grid_sampler` is a composite of `grid_sampler_2d` and `grid_sampler_3d`.
//! - Errors: other dimensions; images of size 0; other batches; dtypes that differ; other modes, of which torch takes some.
//! - Source: torch.nn.functional.grid_sample, PyTorch 2.15.

use crate::kinds::sampling::Sampled;
use crate::prelude::*;
use opgrid_kernels::sampling::{Beyond, Interpolation, Sampling, sample};
use opgrid_kinds::images::check_float;
use opgrid_tensor::layers::autograd::Recorder;

pub use opgrid_tensor::ops::resampling::grid_sampler::*;

/// The family of `aten::grid_sampler_2d`: its kind, shape rule and `out` rule.
pub const GRID_SAMPLER_2D: Family<GridSampler2d> =
    Family::new(GridSampler2d, &kind::RESAMPLING, |input, grid, interpolation, padding, align| {
        shape(input, grid, 2).and_then(|spec| sampling(2, interpolation, padding, align).map(|_| spec))
    })
    .same_dtype_out();

/// The family of `aten::grid_sampler_3d`: its kind, shape rule and `out` rule.
pub const GRID_SAMPLER_3D: Family<GridSampler3d> =
    Family::new(GridSampler3d, &kind::RESAMPLING, |input, grid, interpolation, padding, align| {
        shape(input, grid, 3).and_then(|spec| sampling(3, interpolation, padding, align).map(|_| spec))
    })
    .same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library
        .family(&GRID_SAMPLER_2D)
        .cpu(|input, grid, interpolation, padding, align, out| {
            cpu(input, grid, sampling(2, interpolation, padding, align)?, out)
        })
        .derivative(|d, (input, grid, interpolation, padding, align)| {
            derivative(d, [input, grid], sampling(2, interpolation, padding, align)?)
        });
    library
        .family(&GRID_SAMPLER_3D)
        .cpu(|input, grid, interpolation, padding, align, out| {
            cpu(input, grid, sampling(3, interpolation, padding, align)?, out)
        })
        .derivative(|d, (input, grid, interpolation, padding, align)| {
            derivative(d, [input, grid], sampling(3, interpolation, padding, align)?)
        });
    library.define(GridSampler).kind(&kind::RESAMPLING).implicit(
        |input, grid, interpolation, padding, align| match input.spec()?.sizes().len() {
            5 => GridSampler3d.call(input, grid, interpolation, padding, align),
            _ => GridSampler2d.call(input, grid, interpolation, padding, align),
        },
    );
}

/// # Errors
///
/// Modes that are not there.
fn sampling(dims: usize, interpolation: i64, padding: i64, align_corners: bool) -> Result<Sampling> {
    let interpolation = match interpolation {
        0 => Interpolation::Linear,
        1 => Interpolation::Nearest,
        2 if dims == 2 => Interpolation::Cubic,
        _ => {
            return Err(argument(format!(
                "argument `interpolation_mode` is {interpolation}, expected 0 (bilinear), 1 (nearest) \
                 or, for images, 2 (bicubic)"
            )));
        }
    };
    let beyond = match padding {
        0 => Beyond::Zeros,
        1 => Beyond::Border,
        2 => Beyond::Reflection,
        _ => {
            return Err(argument(format!(
                "argument `padding_mode` is {padding}, expected 0 (zeros), 1 (border) or 2 (reflection)"
            )));
        }
    };
    Ok(Sampling { interpolation, beyond, align_corners })
}

fn shape(input: &Tensor, grid: &Tensor, dims: usize) -> Result<TensorSpec> {
    let (x, g) = (input.spec()?, grid.spec()?);
    if x.sizes().len() != dims + 2 || x.sizes()[2..].contains(&0) {
        let message = format!(
            "argument `input` has shape {:?}, expected {} dimensions, and images that are not empty",
            x.sizes(),
            dims + 2
        );
        return Err(argument(message));
    }
    let fits =
        g.sizes().len() == dims + 2 && g.sizes()[0] == x.sizes()[0] && g.sizes()[dims + 1] == dims as i64;
    if !fits {
        let message = format!(
            "argument `grid` has shape {:?}, expected {} dimensions, of which the first has size {} and the last {dims}",
            g.sizes(),
            dims + 2,
            x.sizes()[0]
        );
        return Err(argument(message));
    }
    products::check_factors(&[("input", x), ("grid", g)])?;
    check_float(x.dtype())?;
    let sizes: Vec<i64> = x.sizes()[..2].iter().chain(&g.sizes()[1..=dims]).copied().collect();
    TensorSpec::contiguous(&sizes, x.dtype(), x.device())
}

fn cpu(input: &Tensor, grid: &Tensor, sampling: Sampling, out: &Tensor) -> Result<()> {
    let dims = input.dim() - 2;
    let mut image = [1; 3];
    image[3 - dims..].iter_mut().zip(&input.sizes()[2..]).for_each(|(own, size)| *own = *size as usize);
    let (out, input, grid) = (out.array()?, input.array()?, grid.array()?);
    if out.spec().numel() == 0 {
        return Ok(());
    }
    with_dtype!(input.dtype(), T: Float => sample::<T>(out, input, grid, image, dims, sampling))
}

fn derivative(d: &Recorder<'_>, [input, grid]: [&Tensor; 2], sampling: Sampling) -> Result<()> {
    d.together([Some(input), Some(grid)], [Some(input), Some(grid)], move |grads, kept, needs| {
        let (Some(grad), [Some(input), Some(grid)]) = (grads.for_result(0), kept) else {
            return Ok([None, None]);
        };
        Sampled { input, grid, sampling }.gradients(grad, needs)
    })
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_kinds::images::FLOATS;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples
            .operator(GridSampler, FLOATS, |dtype| [inputs(dtype, 2), inputs(dtype, 3)].concat(), reference)
            .tolerance(64.0);
        let x = |sizes: &[i64]| generate::numbers(DType::F32, sizes, 0);
        let refused = |grid: &[i64], mode: i64, padding: i64| {
            given(x(&[1, 2, 3, 3])).and(x(grid)).and(mode).and(padding).and(false)
        };
        samples
            .operator(GridSampler2d, FLOATS, |dtype| inputs(dtype, 2), reference)
            .tolerance(64.0)
            .refuses("argument `grid`", refused(&[2, 2, 2, 2], 0, 0))
            .refuses("argument `grid`", refused(&[1, 2, 2, 3], 0, 0))
            .refuses("`interpolation_mode` is 3", refused(&[1, 2, 2, 2], 3, 0))
            .refuses("`padding_mode` is -1", refused(&[1, 2, 2, 2], 0, -1));
        samples
            .operator(GridSampler3d, FLOATS, |dtype| inputs(dtype, 3), reference)
            .tolerance(64.0)
            .refuses("`interpolation_mode` is 2", {
                given(x(&[1, 1, 2, 2, 2])).and(x(&[1, 1, 1, 1, 3])).and(2).and(0).and(false)
            });
        samples.rounds(GridSampler, Roundings::all(Rounding::Sum(8)));
        samples.rounds(GridSampler2d, Roundings::all(Rounding::Sum(8)));
        samples.rounds(GridSampler3d, Roundings::all(Rounding::Sum(8)));
        samples.differs(GridSampler, NARROW_PLACES);
        samples.differs(GridSampler2d, NARROW_PLACES);
        samples.differs(GridSampler3d, NARROW_PLACES);
        samples.differs(GridSampler, MODES);
        samples.differs(GridSampler2d, MODES);
        samples.differs(GridSampler3d, MODES);
    }

    const NARROW_PLACES: Difference = Difference {
        id: "places-of-16-bit-floats",
        what: "torch computes positions of 16-bit floats in 16 bits, for volumes and for images with \
             some strides, which may round to the next element; here in single precision",
        why: "results must not depend on strides",
        test: ("opgrid-operators/tests/all/differences/computed.rs", "places_in_volumes_are_those_of_images"),
        when: |seen| seen.each(|(dtype, ..)| matches!(dtype, DType::F16 | DType::BF16)),
        directed: None,
    };

    const MODES: Difference = Difference {
        id: "modes-of-grids-are-checked",
        what: "torch returns uninitialized memory, or zeros, for invalid modes of grid_sampler; here \
             they are rejected",
        why: "an invalid mode is probably a mistake",
        test: ("opgrid-operators/tests/all/images.rs", "modes_of_grids_are_checked"),
        when: |seen| seen.we_refuse("_mode` is"),
        directed: Some(Directed {
            operator: "aten::grid_sampler_3d",
            arguments: || {
                vec![
                    ("input", Operand::rows(0, DType::F32, &[1, 1, 1, 1, 1], &[1.0]).into()),
                    ("grid", Operand::rows(1, DType::F32, &[1, 1, 1, 1, 3], &[0.0; 3]).into()),
                    ("interpolation_mode", Scalar::Int(2).into()),
                    ("padding_mode", Scalar::Int(0).into()),
                    ("align_corners", Scalar::Bool(false).into()),
                ]
            },
            needs: None,
        }),
    };

    fn inputs(dtype: DType, dims: usize) -> Vec<Sample> {
        let (image, grid) = ([3, 4, 5], [2, 3, 4]);
        let mut samples = Vec::new();
        for mode in 0..(if dims == 2 { 3 } else { 2 }) {
            for padding in 0..3 {
                for align in [false, true] {
                    let x = generate::numbers(dtype, &[&[2, 2], &image[3 - dims..]].concat(), 1);
                    let places = &[&[2], &grid[3 - dims..], &[dims as i64]].concat();
                    // A little beyond the edges, and not on the border between two elements.
                    let at = |k: usize| Scalar::Float(((k * 37 + 5) % 29) as f64 / 16.0 - 0.90625);
                    let count = places.iter().product::<i64>() as usize;
                    let grid = Plain::from_elements(dtype, places, &(0..count).map(at).collect::<Vec<_>>());
                    samples.push(given(x).and(grid).and(mode).and(padding).and(align));
                    // Few enough elements for the checks of gradients.
                    let x = generate::numbers(dtype, &[&[1, 1], &[1, 2, 3][3 - dims..]].concat(), 1);
                    let place = Plain::from_elements(
                        dtype,
                        &[&[1], &[1, 1, 1][3 - dims..], &[dims as i64]].concat(),
                        &[0.25],
                    );
                    samples.push(given(x).and(place).and(mode).and(padding).and(align));
                }
            }
        }
        let empty = |sizes: &[i64]| generate::numbers(dtype, sizes, 1);
        let (none, grid) =
            ([&[0, 2], &image[3 - dims..]].concat(), [&[0], &grid[3 - dims..], &[dims as i64]].concat());
        samples.push(given(empty(&none)).and(empty(&grid)).and(0).and(0).and(false));
        samples
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let (x, grid) = (it.tensor("input")?, it.tensor("grid")?);
        let [mode, padding]: [i64; 2] = [it.value("interpolation_mode")?, it.value("padding_mode")?];
        let align: bool = it.value("align_corners")?;
        let dims = x.sizes().len() - 2;
        let sizes = [&x.sizes()[..2], &grid.sizes()[1..=dims]].concat();
        let image = x.sizes()[2..].to_vec();
        // Steps back into the image until it is there.
        let mirrored = |mut at: f64, size: i64| {
            let (low, high) = if align { (0.0, size as f64 - 1.0) } else { (-0.5, size as f64 - 0.5) };
            while high > low && !(low..=high).contains(&at) {
                at = if at < low { 2.0 * low - at } else { 2.0 * high - at };
            }
            at
        };
        let within = |at: f64, size: i64| match padding {
            0 => at,
            1 => at.clamp(0.0, size as f64 - 1.0),
            _ => mirrored(at, size).clamp(0.0, size as f64 - 1.0),
        };
        let taps = |at: f64, size: i64| -> Vec<(f64, f64)> {
            let at = if align {
                (at + 1.0) / 2.0 * (size as f64 - 1.0)
            } else {
                ((at + 1.0) * size as f64 - 1.0) / 2.0
            };
            match mode {
                0 => {
                    let at = within(at, size);
                    vec![
                        (at.floor(), 1.0 - at.fract().rem_euclid(1.0)),
                        (at.floor() + 1.0, at.fract().rem_euclid(1.0)),
                    ]
                }
                1 => vec![(within(at, size).round_ties_even(), 1.0)],
                _ => {
                    let weight = |distance: f64| match distance.abs() {
                        x if x <= 1.0 => 1.25 * x.powi(3) - 2.25 * x.powi(2) + 1.0,
                        x if x < 2.0 => -0.75 * x.powi(3) + 3.75 * x.powi(2) - 6.0 * x + 3.0,
                        _ => 0.0,
                    };
                    let tap = |k: i64| {
                        let element = at.floor() + k as f64;
                        (within(element, size).floor(), weight(at - element))
                    };
                    (-1..=2).map(tap).collect()
                }
            }
        };
        Ok(Plain::from_fn(x.dtype(), &sizes, |position| {
            let along: Vec<_> = (0..dims)
                .map(|dim| {
                    let place = [&position[..1], &position[2..], &[(dims - 1 - dim) as i64]].concat();
                    taps(grid.at(&place).to_complex().re, image[dim])
                })
                .collect();
            let counts: Vec<i64> = along.iter().map(|taps| taps.len() as i64).collect();
            let products = naive::positions(&counts).map(|chosen| {
                let chosen: Vec<_> = chosen.iter().zip(&along).map(|(k, taps)| taps[*k as usize]).collect();
                let weight: f64 = chosen.iter().map(|(_, weight)| weight).product();
                let at: Vec<i64> = chosen.iter().map(|(at, _)| *at as i64).collect();
                let inside = at.iter().zip(&image).all(|(at, size)| (0..*size).contains(at));
                if inside { x.at(&[&position[..2], &at].concat()).to_complex().re * weight } else { 0.0 }
            });
            Scalar::Float(products.sum())
        })
        .into())
    }
}
