//! What padding operators share: what lists of numbers mean, shape rules and references.

use opgrid_core::Result;

use crate::kinds::resampling::spread;
use opgrid_array::error::argument;
use opgrid_kernels::resampling::Line;
use opgrid_kernels::runs::{self, Run, Runs};
use opgrid_kinds::{derivatives, pointwise};
use opgrid_tensor::layers::autograd::Recorder;
use opgrid_tensor::tensor::{Geometry, Tensor, TensorSpec};

/// How many elements are added before and after each dimension, by a list that begins with the last one.
pub(crate) fn pairs(pad: &[i64], dims: usize) -> Vec<(i64, i64)> {
    let mut pairs: Vec<(i64, i64)> = pad.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
    pairs.resize(dims, (0, 0));
    pairs.reverse();
    pairs
}

/// # Errors
///
/// An odd count of numbers, or more than for all dimensions.
pub(crate) fn check(pad: &[i64], dims: usize) -> Result<()> {
    if !pad.len().is_multiple_of(2) {
        return Err(argument(format!(
            "argument `pad` has {} numbers, expected an even count of them",
            pad.len()
        )));
    }
    if pad.len() / 2 > dims {
        let message = format!(
            "argument `pad` has {} numbers, expected at most two for each of the {dims} dimensions",
            pad.len()
        );
        return Err(argument(message));
    }
    Ok(())
}

/// The size of a dimension with its padding.
///
/// # Errors
///
/// More elements left out than there are, or a size that cannot be counted.
pub(crate) fn padded(size: i64, (before, after): (i64, i64)) -> Result<i64> {
    if size.saturating_add(before.min(0)).saturating_add(after.min(0)) < 0 {
        return Err(argument(format!(
            "padding by {before} and {after} would make a dimension of size {size} negative"
        )));
    }
    match size.checked_add(before).and_then(|size| size.checked_add(after)) {
        Some(size) => Ok(size),
        None => Err(argument(format!(
            "a dimension of size {size} padded by {before} and {after} overflows 64 bits"
        ))),
    }
}

/// What stands beside the elements of a dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// The elements again, mirrored at the ends, which are not repeated.
    Reflect,
    /// The elements at the ends again.
    Replicate,
    /// The elements of the other end.
    Circular,
}

impl Mode {
    /// The indices that a dimension of `size` is read at, with `before` and `after` elements added; negative ones leave
    /// elements out.
    ///
    /// # Errors
    ///
    /// More elements than there are to repeat, no elements left.
    pub(crate) fn runs(self, size: i64, (before, after): (i64, i64)) -> Result<Runs> {
        let length = size.checked_add(before).and_then(|length| length.checked_add(after));
        let Some(length) = length.filter(|length| *length > 0 && size > 0) else {
            return Err(argument(format!(
                "a dimension of size {size} padded by {before} and {after} would be empty, or has no \
                 element to repeat"
            )));
        };
        // The elements that stay lie in this range, which is empty where one side leaves out all of them.
        let start = before.saturating_neg().clamp(0, size);
        let end = size.saturating_add(after.min(0)).max(start);
        let most = match self {
            Self::Reflect => size - 1,
            Self::Replicate => i64::MAX,
            Self::Circular => end - start,
        };
        if before > most || after > most {
            let message = format!(
                "a dimension of size {size} is padded by {before} and {after}, expected at most {most} on each side"
            );
            return Err(argument(message));
        }
        let left = before.clamp(0, length);
        let kept = (size - start).min(length - left);
        let right = length - left - kept;
        // How far beyond the last element the first one at the right lies: by more than one where all are left out.
        let beyond = before.saturating_neg().saturating_sub(size).max(0) + 1;
        let kept = Run::forwards(start, kept);
        let [left, right] = match self {
            Self::Reflect => [Run::backwards(before, left), Run::backwards(size - 1 - beyond, right)],
            Self::Replicate => [Run::again(0, left), Run::again(size - 1, right)],
            Self::Circular => [Run::forwards(end - left, left), Run::forwards(start, right)],
        };
        Ok([left, kept, right].into_iter().filter(|run| run.count > 0).collect())
    }
}

/// The runs of all dimensions, of which the last `spatial` are padded.
///
/// # Errors
///
/// As [`Mode::runs`].
fn all_runs(mode: Mode, sizes: &[i64], padding: &[i64], spatial: usize) -> Result<Vec<Runs>> {
    let pairs = pairs(padding, sizes.len());
    let outer = sizes.len().saturating_sub(spatial);
    let one = |(dim, (&size, &pair)): (usize, (&i64, &(i64, i64)))| {
        if dim < outer { Ok(Runs::from_iter([Run::forwards(0, size)])) } else { mode.runs(size, pair) }
    };
    sizes.iter().zip(&pairs).enumerate().map(one).collect()
}

/// The result of padding the last `spatial` dimensions of images, of which there may be a batch.
///
/// # Errors
///
/// Another number of dimensions or of numbers; no elements but in the batch; as [`Mode::runs`].
pub(crate) fn shape(mode: Mode, spatial: usize, input: &Tensor, padding: &[i64]) -> Result<TensorSpec> {
    let spec = input.spec()?;
    let sizes = spec.sizes();
    if padding.len() != 2 * spatial {
        let message = format!("argument `padding` has {} numbers, expected {}", padding.len(), 2 * spatial);
        return Err(argument(message));
    }
    let batched = sizes.len() == spatial + 2;
    if !batched && sizes.len() != spatial + 1
        || sizes.iter().skip(usize::from(batched)).any(|size| *size == 0)
    {
        let message = format!(
            "argument `self` has shape {sizes:?}, expected {} or {} dimensions, of which only the first of {} may have no elements",
            spatial + 1,
            spatial + 2,
            spatial + 2
        );
        return Err(argument(message));
    }
    opgrid_array::with_dtype!(spec.dtype(), _T: Number by itself => Ok(()))?;
    let runs = all_runs(mode, sizes, padding, spatial)?;
    let sum = |runs: &Runs| runs.iter().try_fold(0i64, |sum, run| sum.checked_add(run.count));
    let padded: Option<Vec<i64>> = runs.iter().map(sum).collect();
    let padded =
        padded.ok_or_else(|| argument(format!("{sizes:?} padded by {padding:?} overflows 64 bits")))?;
    let geometry = Geometry::in_format(&padded, spec.geometry().suggested_format())?;
    Ok(TensorSpec::new(geometry, spec.dtype(), spec.device()))
}

/// The loop of such an operator.
///
/// # Errors
///
/// As [`runs::read`].
pub(crate) fn write(mode: Mode, spatial: usize, input: &Tensor, padding: &[i64], out: &Tensor) -> Result<()> {
    if out.numel() == 0 {
        return Ok(());
    }
    runs::read(out.array()?, input.array()?, &all_runs(mode, input.sizes(), padding, spatial)?)
}

/// The gradient of what was padded: each element has those of all places that it was read for.
///
/// # Errors
///
/// Those of the operators that it is made of.
fn gradient(grad: &Tensor, sizes: &[i64], runs: &[Runs]) -> Result<Tensor> {
    runs.iter().enumerate().try_fold(grad.clone(), |grad, (dim, runs)| {
        let mut line = Line::new(sizes[dim] as usize);
        for run in runs {
            (0..run.count).for_each(|at| line.push([((run.start + at * run.step) as usize, 1.0)]));
        }
        spread(&grad, dim as i64, &line)
    })
}

/// The gradient of an operator that pads the last `spatial` dimensions, by its arguments.
///
/// # Errors
///
/// Those of [`shape`]; a gradient of another shape than the result; other dtypes than floating-point and complex ones.
pub(crate) fn backward(
    mode: Mode,
    spatial: usize,
    grad: &Tensor,
    input: &Tensor,
    padding: &[i64],
) -> Result<Tensor> {
    let result = shape(mode, spatial, input, padding)?;
    pointwise::check_inexact(grad.spec()?.dtype())?;
    pointwise::check_one_dtype(("self", input), ("grad_output", grad))?;
    if grad.sizes() != result.sizes() {
        let message = format!(
            "argument `grad_output` has shape {:?}, expected {:?} as the padded tensor",
            grad.sizes(),
            result.sizes()
        );
        return Err(argument(message));
    }
    let runs = all_runs(mode, input.sizes(), padding, spatial)?;
    derivatives::owned(gradient(grad, input.sizes(), &runs)?, grad)
}

/// The derivative of an operator that pads the last `spatial` dimensions.
///
/// # Errors
///
/// As [`Mode::runs`].
pub(crate) fn derivative(
    d: &Recorder<'_>,
    mode: Mode,
    spatial: usize,
    input: &Tensor,
    padding: &[i64],
) -> Result<()> {
    let (sizes, runs) = (input.sizes().to_vec(), all_runs(mode, input.sizes(), padding, spatial)?);
    d.by(input, [], move |grad, []| gradient(grad, &sizes, &runs))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use opgrid_core::{DType, Operator};

    use super::*;
    use opgrid_samples::prelude::*;

    /// The index that is read at a place of a padded dimension.
    fn source(mode: Mode, size: i64, (before, after): (i64, i64), place: i64) -> i64 {
        let at = place - before;
        match mode {
            Mode::Reflect if at < 0 => -at,
            Mode::Reflect if at >= size => 2 * (size - 1) - at,
            Mode::Reflect => at,
            Mode::Replicate => at.clamp(0, size - 1),
            Mode::Circular => {
                let (start, end) = ((-before).max(0), size + after.min(0));
                (at - start).rem_euclid(end - start) + start
            }
        }
    }

    /// What padding by a list of that name answers.
    pub(crate) fn reference(it: &Inputs, mode: Mode, name: &str) -> Result<Expected> {
        Ok(padded(it.tensor("self")?, mode, &it.value::<Vec<i64>>(name)?).into())
    }

    fn padded(x: &Plain, mode: Mode, padding: &[i64]) -> Plain {
        let pairs = pairs(padding, x.sizes().len());
        let sizes: Vec<i64> =
            x.sizes().iter().zip(&pairs).map(|(size, (before, after))| size + before + after).collect();
        Plain::from_fn(x.dtype(), &sizes, |position| {
            let dims = position.iter().zip(x.sizes()).zip(&pairs);
            x.at(&dims.map(|((at, size), pair)| source(mode, *size, *pair, *at)).collect::<Vec<_>>())
        })
    }

    /// Samples of an operator that pads the last `spatial` dimensions.
    pub(crate) fn collect<O: Operator + Copy>(
        samples: &mut Samples,
        operator: O,
        mode: Mode,
        spatial: usize,
    ) {
        let inputs = [inputs::<1>, inputs::<2>, inputs::<3>][spatial - 1];
        let x = generate::numbers(DType::F32, &[1, 2, 2][..spatial.min(2) + 1], 0);
        samples
            .operator_with(operator, NUMBERS, inputs, move |it| reference(it, mode, "padding"))
            .refuses(
                "dimensions",
                given(x.with_sizes(&[x.elements().len() as i64])).and(vec![0; 2 * spatial]),
            )
            .refuses("numbers", given(x).and(vec![0; 2 * spatial + 1]));
    }

    /// Samples of the gradient of an operator that pads the last `spatial` dimensions.
    pub(crate) fn collect_backward<O: Operator + Copy>(
        samples: &mut Samples,
        operator: O,
        mode: Mode,
        spatial: usize,
    ) {
        let inputs = [gradients::<1>, gradients::<2>, gradients::<3>][spatial - 1];
        let x = generate::numbers(DType::F32, &[1, 2, 2, 2][..spatial + 1], 0);
        samples
            .operator_with(operator, INEXACT, inputs, move |it| {
                let (grad, x) = (it.tensor("grad_output")?, it.tensor("self")?);
                let padding: Vec<i64> = it.value("padding")?;
                naive::transposed(grad, x.sizes(), |one| Ok(padded(one, mode, &padding))).map(Into::into)
            })
            .tolerance(16.0)
            .refuses("`grad_output` has shape", given(x.clone()).and(x).and(vec![1; 2 * spatial]));
        samples.rounds(operator, Roundings::all(Rounding::Sum(16)));
    }

    fn inputs<const SPATIAL: usize>(dtype: DType) -> Vec<Sample> {
        let one = |(sizes, padding): &(&[i64], &[i64])| {
            given(generate::numbers(dtype, sizes, 0)).and(padding.to_vec())
        };
        cases(SPATIAL).iter().map(one).collect()
    }

    fn gradients<const SPATIAL: usize>(dtype: DType) -> Vec<Sample> {
        let one = |(sizes, padding): &(&[i64], &[i64])| {
            let x = generate::numbers(dtype, sizes, 0);
            // All modes give the same sizes.
            let grad = generate::numbers(dtype, padded(&x, Mode::Replicate, padding).sizes(), 1);
            given(grad).and(x).and(padding.to_vec())
        };
        cases(SPATIAL).iter().map(one).collect()
    }

    /// Sizes and padding, for operators that pad the last `spatial` dimensions.
    fn cases(spatial: usize) -> &'static [(&'static [i64], &'static [i64])] {
        match spatial {
            1 => &[(&[2, 4], &[1, 2]), (&[2, 2, 3], &[2, 0]), (&[1, 5], &[-1, 1]), (&[0, 1, 2], &[1, 1])],
            2 => {
                &[(&[2, 3, 4], &[1, 2, 0, 1]), (&[2, 3, 2, 3], &[1, 1, 1, 1]), (&[1, 3, 3], &[-3, 2, 2, -3])]
            }
            _ => &[(&[1, 2, 2, 3], &[1, 1, 0, 1, 1, 0]), (&[2, 1, 2, 3, 2], &[0, 1, 2, 0, -1, 1])],
        }
    }
}
