//! What normalisations share: the dtypes of their parameters, the order of their results, and derivatives by a mask.

use opgrid_core::{DType, DeviceType, MemoryFormat, Result};

use crate::error::argument;
use crate::families::result::written_all;
use crate::kernels::normalise::Layout;
use crate::tensor::{Array, Element, Geometry, Tensor, TensorSpec};
use crate::with_dtype;

/// The dtypes that have averages and deviations here.
pub(crate) const FLOATS: &[DType] = &[DType::F16, DType::BF16, DType::F32, DType::F64];

/// Arguments that may be absent, by name.
pub(crate) type Parameters<'a, const N: usize> = [(&'static str, Option<&'a Tensor>); N];

/// The dtype of averages and deviations: that of the parameters, which is the input's, or float32 beside 16-bit floats.
///
/// # Errors
///
/// An input without fractions; parameters of other dtypes, or on another device.
pub(crate) fn statistics_dtype<const N: usize>(
    input: &TensorSpec,
    parameters: Parameters<'_, N>,
) -> Result<DType> {
    with_dtype!(input.dtype(), T: Float => Ok(T::DTYPE))?;
    let mut dtype = None;
    for (name, parameter) in parameters {
        let Some(parameter) = parameter else { continue };
        let (spec, own) = (parameter.spec()?, input.dtype());
        if spec.device() != input.device() {
            let message = format!(
                "argument `{name}` is on {}, expected {} as the input",
                spec.device(),
                input.device()
            );
            return Err(argument(message));
        }
        let is_mixed = own.size_in_bytes() == 2 && spec.dtype() == DType::F32;
        let first = *dtype.get_or_insert(spec.dtype());
        if first != spec.dtype() || !(is_mixed || first == own) {
            let allowed = if own.size_in_bytes() == 2 { " or float32 for all parameters" } else { "" };
            let message =
                format!("argument `{name}` has dtype {}, expected {own} as the input{allowed}", spec.dtype());
            return Err(argument(message));
        }
    }
    Ok(dtype.unwrap_or(input.dtype()))
}

/// # Errors
///
/// A parameter that is there and has another shape.
pub(crate) fn check_sizes<const N: usize>(parameters: Parameters<'_, N>, expected: &[i64]) -> Result<()> {
    for (name, parameter) in parameters {
        match parameter {
            Some(parameter) if parameter.sizes() != expected => {
                let message =
                    format!("argument `{name}` has shape {:?}, expected {expected:?}", parameter.sizes());
                return Err(argument(message));
            }
            _ => {}
        }
    }
    Ok(())
}

/// A parameter's elements, if it is there.
///
/// # Errors
///
/// An undefined tensor.
pub(crate) fn array(parameter: Option<&Tensor>) -> Result<Option<&Array>> {
    parameter.map(Tensor::array).transpose()
}

/// How many rows the dimensions in front of `normalized_shape` make, and how long they are.
///
/// # Errors
///
/// A list without sizes, or that are not the last ones of the input.
pub(crate) fn rows(input: &[i64], normalized_shape: &[i64]) -> Result<(usize, usize)> {
    if normalized_shape.is_empty() {
        return Err(argument("argument `normalized_shape` is empty, expected at least one dimension"));
    }
    match input.len().checked_sub(normalized_shape.len()) {
        Some(axis) if input[axis..] == *normalized_shape => {
            // Without elements some sizes may have products beyond the range; those are never walked.
            let product =
                |sizes: &[i64]| sizes.iter().try_fold(1i64, |product, size| product.checked_mul(*size));
            let counts = product(&input[..axis]).zip(product(&input[axis..]));
            let (rows, length) =
                counts.ok_or_else(|| argument(format!("the sizes {input:?} overflow 64 bits")))?;
            Ok((rows as usize, length as usize))
        }
        _ => Err(argument(format!(
            "argument `input` has shape {input:?}, expected it to end with `normalized_shape`, {normalized_shape:?}"
        ))),
    }
}

/// What averages and deviations of rows are like: size 1 for the dimensions of a row.
///
/// # Errors
///
/// Sizes that overflow.
pub(crate) fn row_statistics(input: &TensorSpec, row_dims: usize, dtype: DType) -> Result<TensorSpec> {
    let axis = input.sizes().len() - row_dims;
    let sizes: Vec<i64> =
        input.sizes().iter().enumerate().map(|(dim, size)| if dim < axis { *size } else { 1 }).collect();
    TensorSpec::contiguous(&sizes, dtype, input.device())
}

/// A result of the sizes and dtype of the input, in its order where that is channels-last.
///
/// # Errors
///
/// Sizes that overflow.
pub(crate) fn like_images(input: &TensorSpec) -> Result<TensorSpec> {
    let geometry = Geometry::in_format(input.sizes(), input.geometry().suggested_format())?;
    Ok(TensorSpec::new(geometry, input.dtype(), input.device()))
}

/// Input and output with the elements in the order in which they are walked, and how they lie then.
///
/// # Errors
///
/// Fewer than two dimensions.
pub(crate) fn images(out: &Array, input: &Array) -> Result<(Array, Array, Layout)> {
    let geometry = input.geometry();
    let (count, channels, inner) = match *geometry.sizes() {
        [count, channels, ref inner @ ..] => (count, channels, inner.iter().product::<i64>()),
        ref sizes => {
            return Err(argument(format!("expected images with channels, found shape {sizes:?}")));
        }
    };
    let layout = Layout {
        count: count as usize,
        channels: channels as usize,
        inner: inner as usize,
        channels_last: inner == 1 || geometry.suggested_format() != MemoryFormat::Contiguous,
    };
    let order: Vec<i64> = [0].into_iter().chain(2..geometry.dims() as i64).chain([1]).collect();
    let turned = |array: &Array| match layout.channels_last {
        true => array.view(array.geometry().permute(&order)?),
        false => Ok(array.clone()),
    };
    Ok((turned(out)?, turned(input)?, layout))
}

/// The results of a derivative that `mask` asks for; the others are undefined.
///
/// # Errors
///
/// A mask of another length; those of `cpu`.
pub(crate) fn masked(
    specs: [TensorSpec; 3],
    mask: &[bool],
    cpu: impl FnOnce([Option<&Tensor>; 3]) -> Result<()>,
) -> Result<(Tensor, Tensor, Tensor)> {
    let mask = check_mask(mask)?;
    let is_meta = specs[0].device().kind() == DeviceType::Meta;
    let mut results = [const { None }; 3];
    for ((result, spec), wanted) in results.iter_mut().zip(specs).zip(mask) {
        *result = wanted.then(|| Tensor::fresh(spec)).transpose()?;
    }
    if !is_meta {
        cpu(results.each_ref().map(Option::as_ref))?;
    }
    let [first, second, third] = results.map(|result| result.map_or_else(Tensor::undefined, Tensor::publish));
    Ok((first, second, third))
}

/// The same into outputs; those that the mask leaves out stay what they are.
///
/// # Errors
///
/// As [`masked`]; outputs of other dtypes or shapes, or that share memory.
pub(crate) fn masked_out(
    outs: [&Tensor; 3],
    specs: [TensorSpec; 3],
    mask: &[bool],
    cpu: impl FnOnce([Option<&Tensor>; 3]) -> Result<()>,
) -> Result<()> {
    let mask = check_mask(mask)?;
    let pairs = outs.into_iter().zip(&specs).zip(mask);
    let wanted: Vec<_> = pairs.filter_map(|(pair, is_wanted)| is_wanted.then_some(pair)).collect();
    written_all(&wanted, |outs| {
        let mut outs = outs.iter();
        cpu(mask.map(|is_wanted| if is_wanted { outs.next() } else { None }))
    })
}

/// # Errors
///
/// Another length.
fn check_mask(mask: &[bool]) -> Result<[bool; 3]> {
    let expected = || argument(format!("argument `output_mask` has {} entries, expected 3", mask.len()));
    mask.try_into().map_err(|_| expected())
}
