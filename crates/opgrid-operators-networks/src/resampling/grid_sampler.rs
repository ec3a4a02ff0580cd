//! `aten::grid_sampler`, `grid_sampler_2d_backward`, `grid_sampler_3d_backward`: images, read at the places that a grid names, and the
//! gradients of both.
//!
//! `out[n, c, p] = self[n, c]` at column `grid[n, p, 0]`, row `grid[n, p, 1]` and, of images with depth, depth `grid[n, p, 2]`;
//! -1 and 1 are the outer edges of the image, or the middles of the outermost elements if corners are aligned.
//!
//! - Modes: `interpolation_mode` 0 takes neighbours by distance, 1 the nearest one, 2 cubic polynomials of four (not of images
//!   with depth); `padding_mode` says what lies beyond the edges: 0 zeros, 1 the edge, 2 the image, mirrored.
//! - Shapes: images `[batch, channels, …]` and a grid `[batch, …, 2]`, or `3` with depth, give `[batch, channels, …]`.
//! - Dtypes: one floating-point dtype for both.
//! - Aliasing: the `out` forms write `out`, which must not overlap the others.
//! - Values: `output_mask` says which gradients are asked for; the others are undefined, or outputs that stay as they are.
//! - Dispatch: `grid_sampler` is a composite of `grid_sampler_2d` and `grid_sampler_3d`; gradients are composites of `gather`,
//!   `scatter_add` and arithmetic.
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
    library.implicit(
        GridSampler2dBackward,
        &kind::RESAMPLING,
        |grad, input, grid, interpolation, padding, align, mask| {
            backward(grad, [input, grid], 2, sampling(2, interpolation, padding, align)?, mask)
        },
    );
    library.implicit(
        GridSampler3dBackward,
        &kind::RESAMPLING,
        |grad, input, grid, interpolation, padding, align, mask| {
            backward(grad, [input, grid], 3, sampling(3, interpolation, padding, align)?, mask)
        },
    );
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

fn backward(
    grad: &Tensor,
    [input, grid]: [&Tensor; 2],
    dims: usize,
    sampling: Sampling,
    mask: &[bool],
) -> Result<(Tensor, Tensor)> {
    let (spec, found) = (shape(input, grid, dims)?, grad.spec()?);
    products::check_factors(&[("input", input.spec()?), ("grad_output", found)])?;
    if found.sizes() != spec.sizes() {
        let message = format!(
            "argument `grad_output` has shape {:?}, expected {:?} as the result",
            found.sizes(),
            spec.sizes()
        );
        return Err(argument(message));
    }
    let &[first, second] = mask else {
        return Err(argument(format!("argument `output_mask` has {} entries, expected 2", mask.len())));
    };
    let [by_input, by_grid] = Sampled { input, grid, sampling }.gradients(grad, [first, second])?;
    let given = |gradient: Option<Tensor>, is_wanted: bool| match gradient.filter(|_| is_wanted) {
        Some(gradient) => gradient.to_dtype(spec.dtype()),
        None => Ok(Tensor::undefined()),
    };
    Ok((given(by_input, first)?, given(by_grid, second)?))
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
        samples
            .operator(GridSampler2dBackward, FLOATS, gradients::<2>, reference_of_gradients)
            .tolerance(1e5)
            .refuses("`grad_output` has shape", {
                let sample = given(x(&[1, 2, 2, 3])).and(x(&[1, 2, 3, 3])).and(x(&[1, 2, 2, 2]));
                sample.and(0).and(0).and(false).and(vec![true; 2])
            });
        samples
            .operator(GridSampler3dBackward, FLOATS, gradients::<3>, reference_of_gradients)
            .tolerance(1e5);
        samples.rounds(GridSampler2dBackward, Roundings::all(Rounding::Sum(64)));
        samples.rounds(GridSampler3dBackward, Roundings::all(Rounding::Sum(64)));
        samples.differs_as(GridSampler2dBackward, &[NARROW_PLACES, MODES]);
        samples.differs_as(GridSampler3dBackward, &[NARROW_PLACES, MODES]);
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

    /// Gradients of the samples of both operators, with a mask that asks for all.
    fn gradients<const DIMS: usize>(dtype: DType) -> Vec<Sample> {
        let one = |sample: Sample| {
            let [x, grid] = [0, 1].map(|at| sample.positional[at].tensors()[0]);
            let sizes = [&x.sizes()[..2], &grid.sizes()[1..=DIMS]].concat();
            let grad = vec![generate::numbers(dtype, &sizes, 3).into()];
            Sample { positional: [grad, sample.positional].concat(), ..sample }.and(vec![true; 2])
        };
        inputs(dtype, DIMS).into_iter().map(one).collect()
    }

    /// How a sample reads images.
    struct Reading {
        mode: i64,
        padding: i64,
        align: bool,
        image: Vec<i64>,
    }

    impl Reading {
        fn new(it: &Inputs) -> Result<Self> {
            Ok(Self {
                mode: it.value("interpolation_mode")?,
                padding: it.value("padding_mode")?,
                align: it.value("align_corners")?,
                image: it.tensor("input")?.sizes()[2..].to_vec(),
            })
        }

        /// Steps back into the image until it is there.
        fn mirrored(&self, mut at: f64, size: i64) -> f64 {
            let (low, high) = if self.align { (0.0, size as f64 - 1.0) } else { (-0.5, size as f64 - 0.5) };
            while high > low && !(low..=high).contains(&at) {
                at = if at < low { 2.0 * low - at } else { 2.0 * high - at };
            }
            at
        }

        fn within(&self, at: f64, size: i64) -> f64 {
            match self.padding {
                0 => at,
                1 => at.clamp(0.0, size as f64 - 1.0),
                _ => self.mirrored(at, size).clamp(0.0, size as f64 - 1.0),
            }
        }

        /// The elements of a dimension that a number of the grid names, with their weights.
        fn taps(&self, at: f64, size: i64) -> Vec<(f64, f64)> {
            let at = if self.align {
                (at + 1.0) / 2.0 * (size as f64 - 1.0)
            } else {
                ((at + 1.0) * size as f64 - 1.0) / 2.0
            };
            match self.mode {
                0 => {
                    let at = self.within(at, size);
                    let upper = at.fract().rem_euclid(1.0);
                    vec![(at.floor(), 1.0 - upper), (at.floor() + 1.0, upper)]
                }
                1 => vec![(self.within(at, size).round_ties_even(), 1.0)],
                _ => {
                    let weight = |distance: f64| match distance.abs() {
                        x if x <= 1.0 => 1.25 * x.powi(3) - 2.25 * x.powi(2) + 1.0,
                        x if x < 2.0 => -0.75 * x.powi(3) + 3.75 * x.powi(2) - 6.0 * x + 3.0,
                        _ => 0.0,
                    };
                    let tap = |k: i64| {
                        let element = at.floor() + k as f64;
                        (self.within(element, size).floor(), weight(at - element))
                    };
                    (-1..=2).map(tap).collect()
                }
            }
        }

        /// The elements of an image that the numbers of a place of the grid name, the last dimension first, with their weights.
        fn elements(&self, place: &[f64]) -> Vec<(Vec<i64>, f64)> {
            let sizes = self.image.iter().zip(place.iter().rev());
            let along: Vec<_> = sizes.map(|(size, at)| self.taps(*at, *size)).collect();
            let counts: Vec<i64> = along.iter().map(|taps| taps.len() as i64).collect();
            let product = |chosen: Vec<i64>| {
                let chosen: Vec<_> = chosen.iter().zip(&along).map(|(k, taps)| taps[*k as usize]).collect();
                let weight: f64 = chosen.iter().map(|(_, weight)| weight).product();
                (chosen.iter().map(|(at, _)| *at as i64).collect::<Vec<_>>(), weight)
            };
            let is_inside = |(at, _): &(Vec<i64>, f64)| {
                at.iter().zip(&self.image).all(|(at, size)| (0..*size).contains(at))
            };
            naive::positions(&counts).map(product).filter(is_inside).collect()
        }

        /// What a channel of an image has at a place of the grid.
        fn read(&self, x: &Plain, channel: &[i64], place: &[f64]) -> f64 {
            let terms = self.elements(place).into_iter();
            terms.map(|(at, weight)| x.at(&[channel, &at].concat()).to_complex().re * weight).sum()
        }
    }

    /// The numbers that a grid has for a place of a result.
    fn place(grid: &Plain, position: &[i64]) -> Vec<f64> {
        let at = |number: i64| [&position[..1], &position[2..], &[number]].concat();
        (0..position.len() as i64 - 2).map(|number| grid.at(&at(number)).to_complex().re).collect()
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let (x, grid, reading) = (it.tensor("input")?, it.tensor("grid")?, Reading::new(it)?);
        let sizes = [&x.sizes()[..2], &grid.sizes()[1..grid.sizes().len() - 1]].concat();
        Ok(Plain::from_fn(x.dtype(), &sizes, |position| {
            Scalar::Float(reading.read(x, &position[..2], &place(grid, position)))
        })
        .into())
    }

    fn reference_of_gradients(it: &Inputs) -> Result<Expected> {
        let (x, grid, reading) = (it.tensor("input")?, it.tensor("grid")?, Reading::new(it)?);
        let grad = it.tensor("grad_output")?;
        let mut by_input = Plain::from_elements::<i64>(DType::F64, x.sizes(), &[]);
        for position in naive::positions(grad.sizes()) {
            for (at, weight) in reading.elements(&place(grid, &position)) {
                let at = [&position[..2], &at].concat();
                let share = Scalar::Float(grad.at(&position).to_complex().re * weight);
                by_input.set(&at, number::plus(by_input.at(&at), share));
            }
        }
        // By differences, which are exact for the polynomials between elements.
        let by_grid = Plain::from_fn(grid.dtype(), grid.sizes(), |position| {
            let (number, at) = (position[position.len() - 1] as usize, &position[1..position.len() - 1]);
            let slope = |channel: i64| {
                let position = [&position[..1], &[channel], at].concat();
                let moved = |step: f64| {
                    let mut place = place(grid, &position);
                    place[number] += step;
                    reading.read(x, &position[..2], &place)
                };
                let difference = |step: f64| (moved(step) - moved(-step)) / (2.0 * step);
                let slope = (4.0 * difference(1e-3) - difference(2e-3)) / 3.0;
                grad.at(&position).to_complex().re * slope
            };
            Scalar::Float((0..x.sizes()[1]).map(slope).sum())
        });
        Ok([by_input.to(x.dtype()), by_grid].into())
    }
}
