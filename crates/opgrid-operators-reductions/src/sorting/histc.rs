//! `aten::histc`: how many elements lie in each of equal parts of a range.
//!
//! `out[k]` counts the elements from `min + k * w` to before `min + (k + 1) * w`, where `w = (max - min) / bins`; the last
//! part has its end, too
//!
//! - Shapes: `bins`.
//! - Dtypes: floating-point ones, that of `self`.
//! - Values: where `min` is `max`, the range is that of the elements, and reaches one further at both ends where all are
//!   equal. Elements beyond the range and NaN do not count.
//! - Aliasing: `histc.out` writes `out`.
//! - Errors: other dtypes; no parts; a `max` below `min`; a range that is not finite; an output of another dtype.
//! - Source: torch.histc, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::{choice, searching};
use opgrid_tensor::tensor::Array;

pub use opgrid_tensor::ops::sorting::histc::*;

/// The family of `aten::histc`: its kind, shape rule and `out` rule.
pub const HISTC: Family<Histc> = Family::new(Histc, &kind::SORTING, shape).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&HISTC).cpu(cpu).non_differentiable();
}

fn shape(input: &Tensor, bins: i64, min: Scalar, max: Scalar) -> Result<TensorSpec> {
    let spec = input.spec()?;
    with_dtype!(spec.dtype(), _T: Float => Ok(()))?;
    if bins < 1 {
        return Err(argument(format!("argument `bins` is {bins}, expected one or more")));
    }
    let (least, most) = (min.to_f64()?, max.to_f64()?);
    if most < least {
        return Err(argument(format!("argument `max` is {most}, which is below `min`, {least}")));
    }
    // Ends that are one are those of the elements, whatever they are.
    if least != most || spec.numel() == 0 {
        check_finite(least, most)?;
    }
    TensorSpec::contiguous(&[bins], spec.dtype(), spec.device())
}

fn check_finite(least: f64, most: f64) -> Result<()> {
    if least.is_finite() && most.is_finite() {
        Ok(())
    } else {
        Err(argument(format!(
            "the range is [{least}, {most}], expected finite numbers; give `min` and `max`"
        )))
    }
}

fn cpu(input: &Tensor, _bins: i64, min: Scalar, max: Scalar, out: &Tensor) -> Result<()> {
    let (mut least, mut most) = (min.to_f64()?, max.to_f64()?);
    if least == most && input.numel() > 0 {
        let ends = Array::from_slice(&[0.0f64; 2], &[2])?;
        let end = |at: i64| ends.view(ends.geometry().select(0, at)?);
        choice::smallest(&end(0)?, input, &[])?;
        choice::largest(&end(1)?, input, &[])?;
        let found = ends.to_vec::<f64>()?;
        (least, most) = (found[0], found[1]);
        check_finite(least, most)?;
    }
    if least == most {
        (least, most) = (least - 1.0, most + 1.0);
    }
    searching::histogram(out.array()?, input.array()?, least, most)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = given(generate::numbers(DType::F32, &[2], 0));
        let inputs = |dtype| {
            let x = Plain::from_elements(dtype, &[2, 4], &[3.0, 1.0, 2.0, 0.0, 5.0, 4.0, 4.0, -1.5]);
            vec![
                given(x.clone()).and(4),
                given(x.clone()).and(4).and(1).and(3),
                given(x.clone()).and(3).and(2).and(2),
                given(x).and(3).and(f64::INFINITY).and(f64::INFINITY),
                given(Plain::from_elements(dtype, &[2], &[2])).and(3),
                given(Plain::from_elements(dtype, &[], &[2])).and(1).and(0).and(4),
                given(Plain::from_elements(dtype, &[0], &[2])).and(3),
                given(generate::extremes(dtype)).and(2).and(-2).and(2),
            ]
        };
        samples.differs(Histc, READ_AFTER_WRITTEN);
        samples.differs(
            Histc,
            Difference {
                id: "bins-of-16-bit-floats",
                what: "torch computes the bin of a 16-bit float in 16 bits, and rejects ranges that \
                     overflow the input's dtype; here in double precision",
                why: "rounding to 16 bits moves elements near an edge to the wrong bin",
                test: ("opgrid-operators/tests/all/differences/numbers.rs", "bins_of_16_bit_floats"),
                when: |seen| {
                    let is_narrow = |input: &Operand| matches!(input.dtype, DType::F16 | DType::BF16);
                    let differs = !seen.elements.is_empty() && seen.tensor("self").is_some_and(is_narrow);
                    differs || seen.torch_refuses("without overflow")
                },
                directed: Some(Directed {
                    operator: "aten::histc",
                    arguments: || {
                        vec![("self", Operand::rows(0, DType::BF16, &[3], &[0.0, 0.359375, 3.0]).into())]
                    },
                    needs: None,
                }),
            },
        );
        samples.differs(
            Histc,
            Difference {
                id: "bins-beyond-the-range",
                what: "torch multiplies distances from the lower bound by the number of bins before it \
                     divides by the range; if that overflows the dtype, elements are counted in the \
                     first bin, here in their own",
                why: "an intermediate overflow must not decide in which bin an element is",
                test: ("opgrid-operators/tests/all/differences/numbers.rs", "bins_beyond_the_range"),
                when: |seen| {
                    let bins = seen.number("bins").map_or(100.0, |bins| bins.to_complex().re);
                    let is_far = |input: &Operand| {
                        let largest =
                            opgrid_tensor::tensor::finfo(input.dtype).map_or(f64::MAX, |limits| limits.max);
                        let finite = || input.elements.iter().map(|x| x.re).filter(|x| x.is_finite());
                        let spread = finite().fold(f64::MIN, f64::max) - finite().fold(f64::MAX, f64::min);
                        spread * bins > largest
                    };
                    // Only the first bin has more of them.
                    let fuller = seen.elements.iter().filter(|(_, ours, torch)| torch.re > ours.re);
                    fuller.count() == 1 && seen.tensor("self").is_some_and(is_far)
                },
                directed: Some(Directed {
                    operator: "aten::histc",
                    arguments: || {
                        vec![("self", Operand::rows(0, DType::F64, &[3], &[1.7e308, 0.5, 0.25]).into())]
                    },
                    needs: None,
                }),
            },
        );
        samples
            .operator(Histc, INEXACT.split_at(4).0, inputs, reference)
            .refuses("bins", x.clone().and(0))
            .refuses("below", x.clone().and(3).and(2).and(1))
            .refuses("finite", x.and(3).and(0).and(f64::INFINITY))
            .refuses(
                "finite",
                given(Plain::from_elements(DType::F32, &[0], &[2]))
                    .and(3)
                    .and(f64::INFINITY)
                    .and(f64::INFINITY),
            )
            .refuses_data("finite", given(generate::extremes(DType::F32)).and(3));
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let (x, bins): (_, i64) = (it.tensor("self")?, it.value("bins")?);
        let numbers: Vec<f64> =
            x.elements().iter().map(|element| element.to_f64().unwrap_or(f64::NAN)).collect();
        let (mut least, mut most) =
            (it.value::<Scalar>("min")?.to_f64()?, it.value::<Scalar>("max")?.to_f64()?);
        if least == most && !numbers.is_empty() {
            least = numbers.iter().copied().fold(f64::INFINITY, f64::min);
            most = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        }
        if least == most {
            (least, most) = (least - 1.0, most + 1.0);
        }
        let width = (most - least) / bins as f64;
        let mut counts = Plain::from_elements(x.dtype(), &[bins], &[0]);
        for number in numbers.into_iter().filter(|number| (least..=most).contains(number)) {
            let place = [(((number - least) / width) as i64).min(bins - 1)];
            counts.set(&place, number::plus(counts.at(&place), Scalar::Int(1)));
        }
        Ok(counts.into())
    }
}
