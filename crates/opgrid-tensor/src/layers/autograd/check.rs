//! Compares gradients with differences of the function itself.

use num_complex::Complex64;
use opgrid_core::{DType, Result};

use super::{BackwardOptions, enable_grad, grad, no_grad};
use crate::error::argument;
use crate::ops::Reshape;
use crate::tensor::Tensor;

/// How a gradient is compared with differences.
#[derive(Clone, Copy, Debug)]
pub struct CheckOptions {
    /// How far each element is moved, to both sides.
    pub step: f64,
    /// Differences up to this are none.
    pub atol: f64,
    /// Differences up to this share of the expected number are none.
    pub rtol: f64,
}

impl Default for CheckOptions {
    fn default() -> Self {
        Self { step: 1e-6, atol: 1e-5, rtol: 1e-3 }
    }
}

/// Checks the gradients of a function by each input that requires one, element by element, against central differences. Inputs
/// are of float64 or complex128; those of other dtypes are constant.
///
/// # Errors
///
/// A gradient that differs, which the error names with both numbers; an input of less digits; those of the function and of its
/// derivatives.
///
/// # Examples
///
/// ```
/// use opgrid::{Tensor, layers::autograd};
///
/// let x = Tensor::from_slice(&[0.5f64, 2.0], &[2])?;
/// x.requires_grad_(true)?;
/// autograd::gradcheck(|x| Ok(vec![x[0].exp()?.mul(&x[0])?]), &[x], Default::default())?;
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub fn gradcheck(
    function: impl Fn(&[Tensor]) -> Result<Vec<Tensor>>,
    inputs: &[Tensor],
    options: CheckOptions,
) -> Result<()> {
    let wanted: Vec<usize> = (0..inputs.len()).filter(|place| inputs[*place].requires_grad()).collect();
    for place in &wanted {
        if !matches!(inputs[*place].dtype(), DType::F64 | DType::Complex128) {
            return Err(argument(format!(
                "input {place} is of {}, expected float64 or complex128, whose precision finite \
                 differences need",
                inputs[*place].dtype()
            )));
        }
    }
    let results = function(inputs)?;
    let moving: Vec<Moving> =
        wanted.iter().map(|place| Moving::for_input(inputs, *place)).collect::<Result<_>>()?;
    // By input and its part, the differences of all results.
    let mut differences = Vec::new();
    for moving in &moving {
        differences.push(moving.differences(&function, options.step)?);
    }
    let sought: Vec<&Tensor> = wanted.iter().map(|place| &inputs[*place]).collect();
    for (output, result) in results.iter().enumerate() {
        if !result.requires_grad() {
            check_constant(output, &wanted, &differences, options)?;
            continue;
        }
        for (part, direction) in unit_gradients(result)?.into_iter().enumerate() {
            let keeps = BackwardOptions { retain_graph: true, create_graph: false };
            let grads = grad(&[result], &sought, &[Some(direction)], keeps)?;
            for (which, found) in grads.iter().enumerate() {
                let count = differences[which].len();
                let found = match found {
                    Some(found) => parts(found)?,
                    None => vec![0.0; count],
                };
                for (at, found) in found.iter().enumerate() {
                    let expected = differences[which][at][output][part];
                    let far = (found - expected).abs() > options.atol + options.rtol * expected.abs();
                    if far || found.is_nan() != expected.is_nan() {
                        return Err(argument(format!(
                            "result {output}, part {part}, by input {}, part {at}: found a gradient of \
                             {found}, expected {expected} by finite differences",
                            wanted[which]
                        )));
                    }
                }
            }
        }
    }
    Ok(())
}

/// Checks the gradients of the gradients of a function, as [`gradcheck`] does those of the function.
///
/// # Errors
///
/// As [`gradcheck`].
pub fn gradgradcheck(
    function: impl Fn(&[Tensor]) -> Result<Vec<Tensor>>,
    inputs: &[Tensor],
    options: CheckOptions,
) -> Result<()> {
    let results = function(inputs)?;
    let is_sought: Vec<bool> = results.iter().map(Tensor::requires_grad).collect();
    let count = inputs.len();
    let mut all = inputs.to_vec();
    for result in results.iter().filter(|result| result.requires_grad()) {
        let given = some_numbers(result)?;
        given.requires_grad_(true)?;
        all.push(given);
    }
    let gradients = |all: &[Tensor]| {
        let results = function(&all[..count])?;
        let outputs: Vec<&Tensor> =
            results.iter().zip(&is_sought).filter(|(_, is)| **is).map(|(result, _)| result).collect();
        let sought: Vec<&Tensor> = all[..count].iter().filter(|input| input.requires_grad()).collect();
        let given: Vec<Option<Tensor>> = all[count..].iter().cloned().map(Some).collect();
        let keeps = BackwardOptions { retain_graph: true, create_graph: true };
        let found = grad(&outputs, &sought, &given, keeps)?;
        Ok(found.into_iter().flatten().collect())
    };
    // The function of differences runs without recording, and differentiates all the same.
    gradcheck(|all| enable_grad(|| gradients(all)), &all, options)
}

/// An input whose elements are moved one by one.
struct Moving<'i> {
    inputs: &'i [Tensor],
    place: usize,
    parts: Vec<f64>,
}

/// The parts of all results.
type Parts = Vec<Vec<f64>>;

impl<'i> Moving<'i> {
    fn for_input(inputs: &'i [Tensor], place: usize) -> Result<Self> {
        Ok(Self { inputs, place, parts: parts(&inputs[place])? })
    }

    /// For each part of the input, the differences of all parts of all results.
    fn differences(
        &self,
        function: &impl Fn(&[Tensor]) -> Result<Vec<Tensor>>,
        step: f64,
    ) -> Result<Vec<Parts>> {
        (0..self.parts.len())
            .map(|at| {
                let (above, below) = (self.moved(function, at, step)?, self.moved(function, at, -step)?);
                let both = above.iter().zip(&below);
                Ok(both
                    .map(|(above, below)| {
                        above.iter().zip(below).map(|(above, below)| (above - below) / (2.0 * step)).collect()
                    })
                    .collect())
            })
            .collect()
    }

    fn moved(
        &self,
        function: &impl Fn(&[Tensor]) -> Result<Vec<Tensor>>,
        at: usize,
        by: f64,
    ) -> Result<Parts> {
        let mut parts_of_input = self.parts.clone();
        parts_of_input[at] += by;
        let mut inputs = self.inputs.to_vec();
        inputs[self.place] = of_parts(&parts_of_input, &self.inputs[self.place])?;
        // The functions of second derivatives differentiate by the input themselves.
        inputs[self.place].requires_grad_(true)?;
        no_grad(|| function(&inputs))?.iter().map(parts).collect()
    }
}

/// A result that requires no gradient must not move.
fn check_constant(
    output: usize,
    wanted: &[usize],
    differences: &[Vec<Parts>],
    options: CheckOptions,
) -> Result<()> {
    for (which, by_parts) in differences.iter().enumerate() {
        let moved = by_parts.iter().flat_map(|results| &results[output]).find(|by| by.abs() > options.atol);
        if let Some(by) = moved {
            return Err(argument(format!(
                "result {output} requires no gradient, but changes with input {} by {by}",
                wanted[which]
            )));
        }
    }
    Ok(())
}

/// The elements as real numbers; a complex one is two.
fn parts(tensor: &Tensor) -> Result<Vec<f64>> {
    if !tensor.dtype().is_complex() {
        return no_grad(|| tensor.to_dtype(DType::F64))?.to_vec::<f64>();
    }
    let elements = no_grad(|| tensor.to_dtype(DType::Complex128))?.to_vec::<Complex64>()?;
    Ok(elements.iter().flat_map(|element| [element.re, element.im]).collect())
}

/// The opposite of [`parts`], for a tensor like another one.
fn of_parts(parts: &[f64], like: &Tensor) -> Result<Tensor> {
    let flat = if like.dtype().is_complex() {
        let elements: Vec<Complex64> =
            parts.chunks_exact(2).map(|part| Complex64::new(part[0], part[1])).collect();
        Tensor::from_slice(&elements, &[elements.len() as i64])?
    } else {
        Tensor::from_slice(parts, &[parts.len() as i64])?
    };
    no_grad(|| Reshape.call(&flat.to_dtype(like.dtype())?, like.sizes()))
}

/// For each part of a result, the gradient that asks for that part alone.
fn unit_gradients(result: &Tensor) -> Result<Vec<Tensor>> {
    let count = result.numel() as usize * if result.dtype().is_complex() { 2 } else { 1 };
    (0..count)
        .map(|part| {
            let mut parts = vec![0.0; count];
            parts[part] = 1.0;
            of_parts(&parts, result)
        })
        .collect()
}

/// Numbers without a pattern, of the shape of a tensor.
fn some_numbers(like: &Tensor) -> Result<Tensor> {
    let count = like.numel() as usize * if like.dtype().is_complex() { 2 } else { 1 };
    let parts: Vec<f64> = (0..count).map(|at| ((at * 37 + 11) % 23) as f64 / 8.0 - 1.3).collect();
    of_parts(&parts, like)
}
