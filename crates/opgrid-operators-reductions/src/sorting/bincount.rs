//! `aten::bincount`: how often each number is there, or the sum of weights for it.
//!
//! `out[k] = sum of weights[i] where self[i] == k`, with weights of one where none are given
//!
//! - Shapes: one dimension, as long as the largest number asks for, and no shorter than `minlength`.
//! - Dtypes: `self` has integers; int64 without `weights`, float32 for weights of that dtype, float64 for others.
//! - Aliasing: `bincount.out` writes `out`, and gives it its shape if it has no elements.
//! - Errors: another dtype or another number of dimensions; negative numbers; `weights` of another shape; a negative
//!   `minlength`; a meta tensor; an `out` of another dtype or shape.
//! - Source: torch.bincount, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::layers::fake;
use opgrid_tensor::tensor::{Element, Number};

pub use opgrid_tensor::ops::sorting::bincount::*;

pub(super) fn register(library: &mut Library) {
    library.define_with_forms(Bincount, &kind::SORTING).on_cpu_and_meta(bincount);
    library.implement(BincountOut).on_cpu_and_meta(|input, weights, minlength, out| {
        result::copied(out, &bincount(input, weights, minlength)?)
    });
}

fn bincount(input: &Tensor, weights: Option<&Tensor>, minlength: i64) -> Result<Tensor> {
    let spec = input.spec()?;
    with_dtype!(spec.dtype(), _T: Integer by itself => Ok(()))?;
    if spec.sizes().len() != 1 {
        let message = format!("argument `self` has shape {:?}, expected one dimension", spec.sizes());
        return Err(argument(message));
    }
    if minlength < 0 {
        return Err(argument(format!("argument `minlength` is {minlength}, expected zero or more")));
    }
    if let Some(weights) = weights
        && weights.sizes() != spec.sizes()
    {
        let message = format!(
            "argument `weights` has shape {:?}, expected that of `self`, {:?}",
            weights.sizes(),
            spec.sizes()
        );
        return Err(argument(message));
    }
    if let Some(most) = fake::assumed_count("self", input.device(), input.numel())? {
        let dtype = weights.map_or(DType::I64, |weights| match weights.dtype() {
            DType::F32 => DType::F32,
            _ => DType::F64,
        });
        return Tensor::empty(&[most.max(minlength)], dtype, input.device());
    }
    let places = input.to_dtype(DType::I64)?.to_vec::<i64>()?;
    if let Some(place) = places.iter().find(|place| **place < 0) {
        return Err(argument(format!(
            "argument `self` has the negative element {place}, expected zero or more"
        )));
    }
    let length = places.iter().copied().max().map_or(0, |most| most.saturating_add(1)).max(minlength);
    match weights {
        None => sums(&places, length, |_| 1i64, |sum, one| sum + one),
        Some(weights) if weights.dtype() == DType::F32 => {
            let weights = weights.to_vec::<f32>()?;
            sums(&places, length, |at| weights[at], |sum, weight| sum + weight)
        }
        Some(weights) => {
            let weights = weights.to_dtype(DType::F64)?.to_vec::<f64>()?;
            sums(&places, length, |at| weights[at], |sum, weight| sum + weight)
        }
    }
}

/// The sums of weights for each place, of which there are `length`.
fn sums<T: Element>(
    places: &[i64],
    length: i64,
    weight: impl Fn(usize) -> T,
    add: impl Fn(T, T) -> T,
) -> Result<Tensor> {
    let out = Tensor::empty(&[length], T::DTYPE, Device::CPU)?;
    {
        let array = out.array()?;
        let mut writer = array.storage().write()?;
        let sums = writer.slice::<T>()?;
        sums.iter_mut().for_each(|sum| *sum = T::from_number(Number::I64(0)));
        for (at, place) in places.iter().enumerate() {
            let sum = &mut sums[*place as usize];
            *sum = add(*sum, weight(at));
        }
    }
    Ok(out)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let one = Plain::from_elements(DType::I64, &[2], &[1, 2]);
        samples
            .operator(Bincount, INTEGERS, inputs, reference)
            .not_on_meta()
            .refuses("one dimension", given(one.with_sizes(&[1, 2])))
            .refuses_data("negative", given(Plain::from_elements(DType::I64, &[1], &[-1])))
            .refuses("minlength", given(one.clone()).named("minlength", -1))
            .refuses("weights", given(one).named("weights", generate::numbers(DType::F32, &[3], 0)));
        samples.differs(
            Bincount,
            Difference {
                id: "weights-of-nothing",
                what: "torch ignores the weights if there is nothing to count, and returns integers; \
                     here the result has the dtype of other sums of weights, and their shape is checked",
                why: "dtypes must not depend on data",
                test: (
                    "opgrid-operators/tests/all/differences/computed.rs",
                    "sums_of_no_weights_are_sums_of_weights",
                ),
                when: |seen| {
                    let is_empty = seen.tensor("self").is_some_and(Operand::is_empty);
                    let is_other = seen.part == Part::DType
                        || seen.we_refuse("argument `out` has dtype")
                        || seen.we_refuse("argument `weights` has shape");
                    is_other && is_empty && seen.tensor("weights").is_some()
                },
                directed: Some(Directed {
                    operator: "aten::bincount",
                    arguments: || {
                        vec![
                            ("self", Operand::rows(0, DType::I64, &[0], &[]).into()),
                            ("weights", Operand::rows(1, DType::F32, &[0], &[]).into()),
                        ]
                    },
                    needs: None,
                }),
            },
        );
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        let x = Plain::from_elements(dtype, &[7], &[3, 0, 3, 5, 1, 3, 0]);
        let weights = |dtype| generate::numbers(dtype, &[7], 2);
        vec![
            given(x.clone()),
            given(x.clone()).named("minlength", 9),
            given(x.clone()).named("weights", weights(DType::F32)),
            given(x.clone()).named("weights", weights(DType::I64)).named("minlength", 7),
            given(x).named("weights", weights(DType::F16)),
            given(Plain::from_elements(dtype, &[0], &[0])).named("minlength", 2),
        ]
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let (x, weights, least): (_, _, i64) =
            (it.tensor("self")?, it.tensor("weights").ok(), it.value("minlength")?);
        let places: Vec<i64> = x.elements().iter().map(|element| number::whole(*element)).collect();
        let length = places.iter().map(|place| place + 1).max().unwrap_or(0).max(least);
        let dtype = match weights.map(Plain::dtype) {
            None => DType::I64,
            Some(DType::F32) => DType::F32,
            Some(_) => DType::F64,
        };
        let mut counts = Plain::from_elements(dtype, &[length], &[0]);
        for (at, place) in places.iter().enumerate() {
            let weight = weights.map_or(Scalar::Int(1), |weights| weights.elements()[at]);
            let sum = number::plus(counts.at(&[*place]), weight);
            counts.set(&[*place], sum);
        }
        Ok(counts.into())
    }
}
