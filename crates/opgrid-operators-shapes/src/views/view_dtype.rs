//! `aten::view.dtype`: the same bytes as elements of another dtype.
//!
//! - Shapes: those of `self`; the last dimension counts more elements where they are smaller, and fewer where they are
//!   larger.
//! - Aliasing: a view of `self`; `view_copy.dtype` copies it.
//! - Errors: elements of another size in a tensor without dimensions, or whose last dimension has gaps; sizes,
//!   strides or an offset that larger elements do not divide.
//! - Source: torch.Tensor.view, PyTorch 2.15.

use crate::prelude::*;

pub use opgrid_tensor::ops::views::view_dtype::*;

pub(super) fn register(library: &mut Library) {
    library.define(ViewDtype).kind(&kind::VIEW).on_every_backend(view_dtype).non_differentiable();
    library.copy_of_view(ViewCopyDtype, ViewDtype);
    library.implement(ViewCopyDtype).non_differentiable();
}

fn view_dtype(input: &Tensor, dtype: DType) -> Result<Tensor> {
    let spec = input.spec()?;
    let geometry = spec.geometry();
    let (found, wanted) = (spec.dtype().size_in_bytes() as i64, dtype.size_in_bytes() as i64);
    if found == wanted {
        let view = input.view_with(TensorSpec::new(geometry.clone(), dtype, spec.device()))?;
        return Ok(view.reinterpreted_from(input));
    }
    let refused = |why: &str| {
        let message = format!(
            "argument `self` of {}, sizes {:?}, strides {:?} and storage offset {} cannot be viewed as \
             {dtype}: {why}",
            spec.dtype(),
            spec.sizes(),
            spec.strides(),
            geometry.offset()
        );
        argument(message)
    };
    let (Some((&last, outer)), Some((&1, steps))) =
        (geometry.sizes().split_last(), geometry.strides().split_last())
    else {
        return Err(match geometry.dims() {
            0 => refused("a tensor without dimensions cannot change the size of its elements"),
            _ => refused("the stride of the last dimension must be 1 if the size of elements changes"),
        });
    };
    let (scaled, last): (Box<dyn Fn(i64) -> Option<i64>>, _) = if found > wanted {
        let ratio = found / wanted;
        (Box::new(move |count: i64| count.checked_mul(ratio)), last.checked_mul(ratio))
    } else {
        let ratio = wanted / found;
        let all_fit = |counts: &[i64]| counts.iter().all(|count| count % ratio == 0);
        if !all_fit(&[last, geometry.offset()]) || !all_fit(steps) {
            return Err(refused(&format!(
                "the last size, the other strides and the offset must be divisible by {ratio}"
            )));
        }
        (Box::new(move |count: i64| Some(count / ratio)), Some(last / ratio))
    };
    let too_many = || refused("the number of elements would overflow 64 bits");
    let strides: Option<Vec<i64>> = steps.iter().map(|&step| scaled(step)).chain([Some(1)]).collect();
    let sizes = [outer, &[last.ok_or_else(too_many)?]].concat();
    let offset = scaled(geometry.offset()).ok_or_else(too_many)?;
    let geometry = Geometry::strided(&sizes, &strides.ok_or_else(too_many)?, offset)?;
    let view = input.view_with(TensorSpec::new(geometry, dtype, spec.device()))?;
    Ok(view.reinterpreted_from(input))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_kinds::complex;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.differs(ViewDtype, complex::samples::NO_MARK);
        let inputs = |dtype| match dtype {
            DType::I32 => {
                let to = |sizes: &[i64], dtype| given(generate::numbers(DType::I32, sizes, 0)).and(dtype);
                vec![
                    to(&[2, 4], DType::I32),
                    to(&[2, 2], DType::I16),
                    to(&[2, 4], DType::I64),
                    to(&[3, 0], DType::U8),
                    to(&[], DType::I32),
                ]
            }
            _ => Vec::new(),
        };
        let x = generate::numbers(DType::I32, &[3], 0);
        samples
            .operator(ViewDtype, &[DType::I32], inputs, reference)
            .view()
            .needs_contiguous()
            .refuses("divisible by 2", given(x).and(DType::I64))
            .refuses("without dimensions", given(Plain::number(DType::I32, 1)).and(DType::U8));
        samples.differs(
            ViewDtype,
            Difference {
                id: "bits-of-nan",
                what: "conversions of NaN to narrower floats give other bits in torch than here, and \
                     again others in its vectorized code, which is visible through a view of another \
                     dtype",
                why: "NaN payloads are not specified",
                test: (
                    "opgrid-operators/tests/all/differences/layouts.rs",
                    "results_do_not_depend_on_the_layout",
                ),
                when: |seen| {
                    let has_nan = |input: &Operand| input.elements.iter().any(|element| element.is_nan());
                    seen.tensor("self").is_some_and(has_nan) && !seen.elements.is_empty()
                },
                directed: None,
            },
        );
        samples.differs(
            ViewDtype,
            Difference {
                id: "bytes-of-bools-are-kept",
                what: "torch normalizes bools to 0 and 1 when it copies them; here copies have the same \
                     bytes, which is visible through a view of another dtype",
                why: "a copy has equal bytes",
                test: (
                    "opgrid-operators/tests/all/differences/layouts.rs",
                    "results_do_not_depend_on_the_layout",
                ),
                when: |seen| {
                    seen.tensor("self").is_some_and(|input| input.dtype == DType::Bool)
                        && !seen.elements.is_empty()
                },
                directed: None,
            },
        );
        samples.copy_of_view(ViewCopyDtype, ViewDtype);
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let (x, dtype): (_, DType) = (it.tensor("self")?, it.value("dtype")?);
        let bytes: Vec<u8> =
            x.elements().iter().flat_map(|element| (number::whole(*element) as i32).to_le_bytes()).collect();
        let whole = |bytes: &[u8]| {
            let sign = if bytes.last().is_some_and(|byte| byte >> 7 == 1) { u64::MAX } else { 0 };
            bytes.iter().rev().fold(sign, |number, byte| number << 8 | u64::from(*byte)) as i64
        };
        let size = dtype.size_in_bytes();
        let elements: Vec<i64> = bytes.chunks_exact(size).map(whole).collect();
        let mut sizes = x.sizes().to_vec();
        if let Some(last) = sizes.last_mut() {
            *last = *last * 4 / size as i64;
        }
        Ok(Plain::from_elements(dtype, &sizes, &elements).into())
    }
}
