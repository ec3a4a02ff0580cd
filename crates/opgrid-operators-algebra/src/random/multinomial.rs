//! `aten::multinomial`: draws indices with the probabilities that the elements of a line are weights for.
//!
//! `out[…, k]` is `i` with a probability of `self[…, i] / sum(self[…])`
//!
//! - Shapes: `num_samples` for a line, or for each of the rows.
//! - Dtypes: `self` has a floating-point one; the result is int64.
//! - Values: without `replacement` no index comes twice, as long as there are weights above zero.
//! - Random numbers: those of `generator` or of the stream of [`manual_seed`](opgrid_tensor::manual_seed).
//! - Aliasing: `multinomial.out` writes `out`.
//! - Errors: other dtypes; another number of dimensions than one or two; no samples, or more than there are elements to draw
//!   without `replacement`; weights that are negative, infinite or NaN, or none above zero; an `out` of another dtype.
//! - Source: torch.multinomial, PyTorch 2.15. Without replacement by dividing weights by exponentially distributed numbers:
//!   P. S. Efraimidis and P. G. Spirakis, Weighted random sampling with a reservoir (2006).

use opgrid_core::Generator;

use crate::kinds::draws;
use crate::prelude::*;
use opgrid_kernels::random::Random;
use opgrid_kernels::{random, sorting};
use opgrid_tensor::tensor::Array;

pub use opgrid_tensor::ops::random::multinomial::*;

/// The family of `aten::multinomial`: its kind, shape rule and `out` rule.
pub const MULTINOMIAL: Family<Multinomial> = Family::new(Multinomial, &kind::RANDOM, shape).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&MULTINOMIAL).cpu(cpu);
}

fn shape(
    input: &Tensor,
    num_samples: i64,
    replacement: bool,
    _generator: Option<&Generator>,
) -> Result<TensorSpec> {
    let spec = input.spec()?;
    draws::like_floats(input)?;
    let (rows, count) = match spec.sizes() {
        [count] => (&[][..], *count),
        [rows, count] => (std::slice::from_ref(rows), *count),
        sizes => {
            return Err(argument(format!(
                "argument `self` has shape {sizes:?}, expected one or two dimensions"
            )));
        }
    };
    if num_samples < 1 || (!replacement && num_samples > count) || (count == 0 && spec.sizes() == [0]) {
        let message = format!(
            "argument `num_samples` is {num_samples}, expected one or more, and at most {count} without `replacement`"
        );
        return Err(argument(message));
    }
    sorting::check_length(count)?;
    TensorSpec::contiguous(&[rows, &[num_samples]].concat(), DType::I64, spec.device())
}

fn cpu(
    input: &Tensor,
    _count: i64,
    replacement: bool,
    generator: Option<&Generator>,
    out: &Tensor,
) -> Result<()> {
    let weights = input.array()?;
    let last = input.dim() - 1;
    let length = input.sizes()[last] as usize;
    let numbers = {
        let copy = Tensor::empty(input.sizes(), DType::F64, input.device())?;
        elementwise::copy(&copy, input)?;
        copy.to_vec::<f64>()?
    };
    if let Some(weight) = numbers.iter().find(|weight| !weight.is_finite() || **weight < 0.0) {
        return Err(argument(format!(
            "found {weight} among the weights, expected finite numbers of zero and above"
        )));
    }
    if length == 0 || numbers.chunks(length).any(|row| row.iter().sum::<f64>() <= 0.0) {
        return Err(argument("the weights add up to zero, expected one above zero in each row"));
    }
    // Where one is drawn from each row nothing is put back either.
    if !replacement || out.sizes()[last] == 1 {
        return without_replacement(weights, generator, last, out);
    }
    let (samples, single) = (out.sizes()[last] as usize, input.dtype() != DType::F64);
    let draw = |random: &mut Random| {
        let rows = numbers.chunks(length).map(|row| shares(row, single));
        rows.flat_map(|shares| {
            let mut one = || {
                let drawn = random.uniform(53);
                shares.partition_point(|share| *share < drawn) as i64
            };
            (0..samples).map(|_| one()).collect::<Vec<_>>()
        })
        .collect::<Vec<i64>>()
    };
    let drawn = random::draw(generator, draw)?;
    elementwise::copy(out, &Array::from_slice(&drawn, out.sizes())?)
}

/// The share of the weights up to each one in all of them, added in the precision of the weights.
fn shares(weights: &[f64], single: bool) -> Vec<f64> {
    let rounded = |x: f64| if single { f64::from(x as f32) } else { x };
    let mut sum = 0.0;
    let mut shares: Vec<f64> = weights
        .iter()
        .map(|weight| {
            sum = rounded(sum + weight);
            sum
        })
        .collect();
    shares.iter_mut().for_each(|share| *share = rounded(*share / sum));
    if let Some(last) = shares.last_mut() {
        *last = 1.0;
    }
    shares
}

/// The indices of the largest weights after each was divided by an exponentially distributed number.
fn without_replacement(
    weights: &Array,
    generator: Option<&Generator>,
    dim: usize,
    out: &Tensor,
) -> Result<()> {
    // Drawn in the order of the weights in memory.
    let order = weights.geometry().like(MemoryFormat::Preserve)?;
    let divided =
        Tensor::from_array(Array::empty(TensorSpec::new(order, weights.dtype(), weights.device()))?)?;
    draws::fill(&divided, generator, |random| -(1.0 - random.uniform(53)).ln())?;
    with_dtype!(weights.dtype(), T: Float => {
        elementwise::binary::<T, T, T>(&divided, weights, &divided, |weight, number| weight / number)
    })?;
    let values = Array::empty(TensorSpec::contiguous(out.sizes(), weights.dtype(), weights.device())?)?;
    sorting::top(&values, out.array()?, divided.array()?, dim, true)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let weights = |dtype| Plain::from_elements(dtype, &[4], &[1.0, 0.0, 1.0, 2.0]);
        let inputs = |dtype| {
            let weights = Plain::from_elements(dtype, &[4], &[1.0, 0.0, 1.0, 2.0]);
            let rows = Plain::from_elements(dtype, &[2, 4], &[1.0, 0.0, 1.0, 2.0]);
            vec![
                given(weights).and(500).and(true),
                given(rows.clone()).and(1000).and(true),
                given(rows).and(3),
            ]
        };
        samples.differs(
            Multinomial,
            Difference {
                id: "indices-of-no-weight",
                what: "torch and opgrid sort samples by different algorithms, which decide the order of \
                     indices with equal quotients: those of zero weight once no others are left, and \
                     those of 16-bit floats that round to the same number",
                why: "their order is not specified",
                test: (
                    "opgrid-operators/tests/all/differences/computed.rs",
                    "indices_of_no_weight_come_last",
                ),
                when: |seen| {
                    let Some(weights) = seen.tensor("self") else { return false };
                    let Some(Scalar::Int(count)) = seen.number("num_samples") else { return false };
                    let length = weights.geometry.sizes().last().map_or(1, |size| (*size).max(1) as usize);
                    let is_short = |row: &[Complex64]| {
                        (row.iter().filter(|weight| weight.re > 0.0).count() as i64) < count
                    };
                    let is_narrow = matches!(weights.dtype, DType::F16 | DType::BF16);
                    !seen.elements.is_empty() && (is_narrow || weights.elements.chunks(length).any(is_short))
                },
                directed: None,
            },
        );
        let x = given(weights(DType::F32));
        samples
            .operator(Multinomial, INEXACT.split_at(4).0, inputs, |it| {
                let (x, count): (_, i64) = (it.tensor("self")?, it.value("num_samples")?);
                let mut sizes = x.sizes().to_vec();
                sizes.pop();
                sizes.push(count);
                // 0, 2 and 3 with probabilities of 1/4, 1/4 and 1/2.
                let distribution =
                    Distribution { least: 0.0, most: 3.0, mean: 2.0, deviation: 1.5f64.sqrt() };
                Ok(Expected::Random(sizes, DType::I64, distribution))
            })
            .refuses("num_samples", x.clone().and(0))
            .refuses("num_samples", x.and(5))
            .refuses("one or two dimensions", given(generate::numbers(DType::F32, &[], 0)).and(1))
            .refuses_data("weights", given(Plain::from_elements(DType::F32, &[2], &[1.0, -1.0])).and(1))
            .refuses_data("weights", given(Plain::from_elements(DType::F32, &[2], &[0.0])).and(1));
    }
}
