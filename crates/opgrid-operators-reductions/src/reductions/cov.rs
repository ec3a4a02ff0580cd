//! `aten::cov`, `aten::corrcoef`: how variables vary together.
//!
//! `cov[i, j] = Σ w[k] * (self[i, k] - mean[i]) * conj(self[j, k] - mean[j]) / n`, with `n` the sum of the weights less `correction`;
//! `corrcoef[i, j] = cov[i, j] / sqrt(cov[i, i] * cov[j, j])`
//!
//! - Shapes: a row of observations for each variable, or one variable without rows; one variable gives a number.
//! - Weights: `fweights` say how often an observation was made, `aweights` how much it counts; the correction of the latter is
//!   their own average.
//! - Dtypes: floats and complex numbers; integers give the default dtype.
//! - Values: `n` is 0 at least; coefficients are cut to 1.
//! - Dispatch: composites of `sum`, `matmul` and arithmetic.
//! - Errors: bools, more than two dimensions; weights of other shapes or dtypes, that are negative or add up to zero.
//! - Source: torch.cov, torch.corrcoef, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::{
    ClampMin, Clip, ComplexParts, Conj, Diag, DivScalar, DivTensor, Imag, Item, Matmul, MulScalar, MulTensor,
    Real, Reshape, Sqrt, Squeeze, SubScalar, SubTensor, Sum, SumDim, TMatrix,
};
use opgrid_tensor::tensor::choose::unsupported;

pub use opgrid_tensor::ops::reductions::cov::*;

pub(super) fn register(library: &mut Library) {
    library.define(Cov).kind(&kind::PRODUCT).implicit(cov);
    library.define(Corrcoef).kind(&kind::PRODUCT).implicit(corrcoef);
}

fn cov(
    input: &Tensor,
    correction: i64,
    fweights: Option<&Tensor>,
    aweights: Option<&Tensor>,
) -> Result<Tensor> {
    let spec = input.spec()?;
    pointwise::check_numbers(spec.dtype())?;
    let rows = match spec.sizes() {
        [_, _] => input.clone(),
        [] | [_] => Reshape.call(input, &[1, spec.numel()])?,
        sizes => {
            return Err(argument(format!(
                "argument `self` has shape {sizes:?}, expected two dimensions at most"
            )));
        }
    };
    // Weights are signed integers, with which these have no common dtype.
    let rows = if spec.dtype() == DType::U64 { rows.to_dtype(inexact(DType::U64))? } else { rows };
    let count = rows.sizes()[1];
    if let Some(weights) = fweights {
        check_weights("fweights", weights, count, check_counts)?;
    }
    if let Some(weights) = aweights {
        check_weights("aweights", weights, count, pointwise::check_float)?;
    }
    let weights = match (fweights, aweights) {
        (Some(one), Some(other)) => Some(MulTensor.call(one, other)?),
        (one, other) => one.or(other).cloned(),
    };
    let Some(weights) = weights else {
        let mean = DivScalar.call(&SumDim.call(&rows, Some(&[1]), true, None)?, Scalar::Int(count))?;
        let apart = SubTensor.call(&rows, &mean, Scalar::Int(1))?;
        let products = Matmul.call(&apart, &Conj.call(&TMatrix.call(&apart)?)?)?;
        let n = count.saturating_sub(correction).max(0);
        return Squeeze.call(&DivScalar.call(&products, Scalar::Int(n))?);
    };
    let all = Sum.call(&weights, None)?;
    if !is_meta(&all) && Item.call(&all)?.to_f64()? == 0.0 {
        return Err(argument("the weights sum to zero, expected a positive sum"));
    }
    let mean = SumDim.call(&MulTensor.call(&rows, &weights)?, Some(&[1]), true, None)?;
    let apart = SubTensor.call(&rows, &DivTensor.call(&mean, &all)?, Scalar::Int(1))?;
    let products = Matmul.call(&apart, &Conj.call(&TMatrix.call(&MulTensor.call(&apart, &weights)?)?)?)?;
    let n = match aweights {
        Some(own) if correction != 0 => {
            let squares = Sum.call(&MulTensor.call(&weights, own)?, None)?;
            let corrected = DivTensor.call(&MulScalar.call(&squares, Scalar::Int(correction))?, &all)?;
            SubTensor.call(&all, &corrected, Scalar::Int(1))?
        }
        _ => SubScalar.call(&all, Scalar::Int(correction), Scalar::Int(1))?,
    };
    Squeeze.call(&DivTensor.call(&products, &ClampMin.call(&n, Scalar::Int(0))?)?)
}

fn is_meta(tensor: &Tensor) -> bool {
    tensor.device().is_meta()
}

/// # Errors
///
/// A dtype that counts nothing.
fn check_counts(dtype: DType) -> Result<()> {
    if dtype.is_integral() { Ok(()) } else { Err(unsupported(dtype, "an integer dtype")) }
}

/// # Errors
///
/// Weights of another shape or dtype than observations have; negative ones.
fn check_weights(name: &str, weights: &Tensor, count: i64, dtype: fn(DType) -> Result<()>) -> Result<()> {
    let spec = weights.spec()?;
    dtype(spec.dtype())?;
    if spec.sizes().len() > 1 || spec.numel() != count {
        let sizes = spec.sizes();
        return Err(argument(format!(
            "argument `{name}` has shape {sizes:?}, expected {count} numbers, one for each observation"
        )));
    }
    if count > 0 && !is_meta(weights) && Item.call(&weights.amin((), false)?)?.to_f64()? < 0.0 {
        return Err(argument(format!("argument `{name}` has negative elements, expected zero or more")));
    }
    Ok(())
}

fn corrcoef(input: &Tensor) -> Result<Tensor> {
    let together = cov(input, 1, None, None)?;
    if together.sizes().is_empty() {
        return DivTensor.call(&together, &together);
    }
    let own = Diag.call(&together, 0)?;
    let apart = Sqrt.call(&if own.dtype().is_complex() { Real.call(&own)? } else { own })?;
    let rows = DivTensor.call(&together, &Reshape.call(&apart, &[-1, 1])?)?;
    let both = DivTensor.call(&rows, &Reshape.call(&apart, &[1, -1])?)?;
    let cut = |part: &Tensor| Clip.call(part, Some(Scalar::Int(-1)), Some(Scalar::Int(1)));
    if both.dtype().is_complex() {
        ComplexParts.call(&cut(&Real.call(&both)?)?, &cut(&Imag.call(&both)?)?)
    } else {
        cut(&both)
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_kinds::fourier;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = generate::numbers(DType::F32, &[2, 3], 0);
        let weights = |elements: &[f64]| Plain::from_elements(DType::F32, &[elements.len() as i64], elements);
        samples
            .operator(Cov, NUMBERS, inputs, |it| Ok(expected(it)?.into()))
            .tolerance(256.0)
            .refuses("two dimensions at most", given(x.with_sizes(&[2, 3, 1])))
            .refuses("one for each observation", given(x.clone()).named("aweights", weights(&[1.0])))
            .refuses("not implemented for 'Float'", given(x.clone()).named("fweights", weights(&[1.0; 3])))
            .refuses_data("negative elements", given(x.clone()).named("aweights", weights(&[1.0, -1.0, 1.0])))
            .refuses_data("sum to zero", given(x).named("aweights", weights(&[0.0; 3])));
        samples.operator(Corrcoef, NUMBERS, plain, reference_of_coefficients).tolerance(256.0);
        samples.differs(
            Corrcoef,
            Difference {
                id: "coefficients-of-what-does-not-vary",
                what: "torch divides rounding errors of variables that do not vary; here their \
                     coefficients are NaN",
                why: "the mean of equal numbers is that number",
                test: (
                    "opgrid-operators/tests/all/differences/numbers.rs",
                    "coefficients_of_what_does_not_vary",
                ),
                when: |seen| {
                    let Some(input) = seen.tensor("self") else { return false };
                    let columns = input.geometry.sizes().last().map_or(1, |size| (*size).max(1) as usize);
                    // Squares of the smallest numbers are zero in single precision.
                    let is_narrow = !matches!(input.dtype, DType::F64 | DType::Complex128);
                    let is_alike = |one: &Complex64, other: &Complex64| {
                        one == other || is_narrow && (one - other).norm_sqr() < f64::from(f32::MIN_POSITIVE)
                    };
                    let is_constant =
                        |row: &[Complex64]| row.iter().all(|element| is_alike(element, &row[0]));
                    let rows = || input.elements.chunks(columns);
                    // Averages are rounded here, too.
                    rows().all(is_constant) && !seen.elements.is_empty()
                        || rows().any(is_constant)
                            && seen.each(|(_, ours, torch)| ours.is_nan() || torch.is_nan())
                },
                directed: None,
            },
        );
        samples.differs(
            Cov,
            Difference {
                id: "covariances-divided-by-zero",
                what: "one side divides the rounding error of complex or weighted numbers that do not \
                     vary by zero, the other zero by zero; the quotients are infinite or NaN on both \
                     sides",
                why: "a quotient by zero is not meaningful",
                test: ("opgrid-operators/tests/all/differences/numbers.rs", "results_that_are_not_finite"),
                when: |seen| {
                    let is_weighted = seen.tensor("aweights").or_else(|| seen.tensor("fweights")).is_some();
                    seen.each(|(dtype, ours, torch)| {
                        (is_weighted || dtype.is_complex()) && !ours.is_finite() && !torch.is_finite()
                    })
                },
                directed: None,
            },
        );
        samples.differs(
            Cov,
            Difference {
                id: "observations-are-kept",
                what: "torch sets the observations themselves to zero if there is one per variable, \
                     with a weight, and divides in another dtype; here the input is unchanged, and the \
                     dtype is the same",
                why: "inputs are not modified",
                test: ("opgrid-operators/tests/all/differences/computed.rs", "what_is_read_is_not_written"),
                when: |seen| {
                    let has_weights = seen.tensor("aweights").or_else(|| seen.tensor("fweights")).is_some();
                    let is_one = |input: &Operand| input.geometry.sizes().last() == Some(&1);
                    let is_set = seen.each(|(_, _, torch)| *torch == Complex64::ZERO);
                    let is_met = seen.part == Part::Written && is_set || seen.part == Part::DType;
                    is_met && has_weights && seen.tensor("self").is_some_and(is_one)
                },
                directed: None,
            },
        );
        samples.rounds(Cov, Roundings::all(Rounding::Sum(64)));
        samples.rounds(Corrcoef, Roundings::all(Rounding::Sum(64)));
    }

    /// Variables that differ from each other.
    fn plain(dtype: DType) -> Vec<Sample> {
        let shapes: [&[i64]; 3] = [&[3, 5], &[2, 2], &[6]];
        let elements: Vec<i64> = (0..15).map(|at| (at * 7 + at * at) % 11).collect();
        shapes.map(|sizes| given(Plain::from_elements(dtype, sizes, &elements))).to_vec()
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        let real = match dtype {
            DType::F64 | DType::Complex128 => DType::F64,
            DType::F16 | DType::BF16 => dtype,
            _ => DType::F32,
        };
        let mut samples = plain(dtype);
        let (first, counts) = (samples[0].clone(), Plain::from_elements(DType::I64, &[5], &[1, 2, 1, 0, 3]));
        let sizes = Plain::from_elements(real, &[5], &[1.0, 0.5, 2.0, 1.0, 0.25]);
        samples.push(first.clone().named("correction", 0));
        samples.push(first.clone().named("fweights", counts.clone()));
        samples.push(first.clone().named("aweights", sizes.clone()));
        samples.push(first.named("fweights", counts).named("aweights", sizes).named("correction", 2));
        samples
    }

    /// How the variables of a sample vary together.
    fn expected(it: &Inputs) -> Result<Plain> {
        let x = it.tensor("self")?;
        let rows =
            if x.sizes().len() == 2 { x.clone() } else { x.with_sizes(&[1, x.elements().len() as i64]) };
        let &[variables, count] = rows.sizes() else { return Err(argument("expected two dimensions")) };
        let real = |of: &Plain, k: i64| of.at(&[k]).to_complex().re;
        let list = |name: &str, k: i64| it.tensor(name).map_or(1.0, |weights| real(weights, k));
        let weight = |k: i64| list("fweights", k) * list("aweights", k);
        let all: f64 = (0..count).map(weight).sum();
        let correction = it.option::<i64>("correction")?.unwrap_or(1) as f64;
        let corrected = match it.tensor("aweights") {
            Ok(_) => correction * (0..count).map(|k| weight(k) * list("aweights", k)).sum::<f64>() / all,
            Err(_) => correction,
        };
        let element = |i: i64, k: i64| rows.at(&[i, k]).to_complex();
        let mean = |i: i64| (0..count).map(|k| element(i, k) * weight(k)).sum::<Complex64>() / all;
        let together = Plain::from_fn(DType::Complex128, &[variables, variables], |at| {
            let (one, other) = (mean(at[0]), mean(at[1]));
            let term = |k| (element(at[0], k) - one) * (element(at[1], k) - other).conj() * weight(k);
            Scalar::Complex((0..count).map(term).sum::<Complex64>() / (all - corrected).max(0.0))
        });
        let together = if variables == 1 { together.with_sizes(&[]) } else { together };
        Ok(if x.dtype().is_complex() {
            together.to(x.dtype())
        } else {
            fourier::samples::real(&together).to(inexact(x.dtype()))
        })
    }

    fn reference_of_coefficients(it: &Inputs) -> Result<Expected> {
        let together = expected(it)?;
        if together.sizes().is_empty() {
            // NaN where nothing varies.
            let one = together.at(&[]).to_complex() / together.at(&[]).to_complex();
            let one =
                if together.dtype().is_complex() { Scalar::Complex(one) } else { Scalar::Float(one.re) };
            return Ok(Plain::number(together.dtype(), one).into());
        }
        let own = |i: i64| together.at(&[i, i]).to_complex().re;
        let coefficient =
            |at: &[i64]| Scalar::Complex(together.at(at).to_complex() / (own(at[0]) * own(at[1])).sqrt());
        let all = Plain::from_fn(DType::Complex128, together.sizes(), coefficient);
        let all = if together.dtype().is_complex() { all } else { fourier::samples::real(&all) };
        Ok(all.to(together.dtype()).into())
    }
}
