//! What normalisations share: the dtypes of their parameters, the order of their results, and derivatives by a mask.

use opgrid_core::{DType, DeviceType, MemoryFormat, Result};

use opgrid_array::error::argument;
use opgrid_array::with_dtype;
use opgrid_kernels::normalise::Layout;
use opgrid_kinds::derivatives;
use opgrid_tensor::families::result::compute_all_into;
use opgrid_tensor::tensor::{Array, Element, Geometry, Tensor, TensorSpec};

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
        if spec.device().real() != input.device().real() {
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

/// # Errors
///
/// A gradient of another shape or dtype than the input, on another device.
pub(crate) fn check_gradient(grad: &Tensor, input: &TensorSpec) -> Result<()> {
    check_sizes([("grad_out", Some(grad))], input.sizes())?;
    statistics_dtype(input, [("grad_out", Some(grad))])?;
    if grad.dtype() == input.dtype() {
        Ok(())
    } else {
        let message = format!(
            "argument `grad_out` has dtype {}, expected {} as the input",
            grad.dtype(),
            input.dtype()
        );
        Err(argument(message))
    }
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

/// A result of the sizes and dtype of the input, in its order where that is channels-last, as its strides look like.
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
    let turned = |array: &Array| {
        if layout.channels_last { array.view(array.geometry().permute(&order)?) } else { Ok(array.clone()) }
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
        *result = wanted.then(|| Tensor::allocate(spec)).transpose()?;
    }
    if !is_meta {
        cpu(results.each_ref().map(Option::as_ref))?;
        results.iter().flatten().for_each(Tensor::restart_version);
    }
    let [first, second, third] = results.map(|result| result.unwrap_or_else(Tensor::undefined));
    Ok((first, second, third))
}

/// Writes the results of a derivative that `mask` selects to outputs; the others stay unchanged.
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
    compute_all_into(&wanted, |outs| {
        let mut outs = outs.iter();
        cpu(mask.map(|is_wanted| if is_wanted { outs.next() } else { None }))
    })
}

/// # Errors
///
/// Another length.
pub(crate) fn check_mask(mask: &[bool]) -> Result<[bool; 3]> {
    let expected = || argument(format!("argument `output_mask` has {} entries, expected 3", mask.len()));
    mask.try_into().map_err(|_| expected())
}

/// What derivatives of normalisations are made of: tensors that broadcast to the sizes of the input, or of their gradients.
pub(crate) struct Normal<'a> {
    pub input: &'a Tensor,
    pub mean: &'a Tensor,
    pub rstd: &'a Tensor,
    /// The dimensions that averages are taken along.
    pub dims: &'a [i64],
}

impl Normal<'_> {
    /// How many elements an average is made of.
    fn count(&self) -> i64 {
        self.dims.iter().map(|dim| self.input.sizes()[*dim as usize]).product()
    }

    fn apart(&self) -> Result<Tensor> {
        self.input.sub(self.mean)
    }

    /// The gradient of the input by those of averages and deviations, as far as these have any.
    ///
    /// # Errors
    ///
    /// Those of the operators that it is made of.
    pub(crate) fn by_statistics(
        &self,
        mean: Option<&Tensor>,
        rstd: Option<&Tensor>,
    ) -> Result<Option<Tensor>> {
        let part = 1.0 / self.count() as f64;
        let by_mean = mean.map(|grad| grad.mul(part)?.expand(self.input.sizes())).transpose()?;
        let by_rstd = match rstd {
            Some(grad) => {
                let cube = self.rstd.mul(self.rstd)?.mul(self.rstd)?.mul(-part)?;
                Some(self.apart()?.mul(&grad.mul(&cube)?)?)
            }
            None => None,
        };
        derivatives::sum_gradients([by_mean, by_rstd])
    }

    /// A gradient without what does not change the normalised numbers, times their scale.
    fn projected(&self, normal: &Tensor, grad: &Tensor) -> Result<Tensor> {
        let constant = grad.mean_dim(self.dims, true)?;
        let along = normal.mul(&grad.mul(normal)?.mean_dim(self.dims, true)?)?;
        self.rstd.mul(&grad.sub(&constant)?.sub(&along)?)
    }

    /// The gradients of the gradients: of `grad`, the input, the averages, the deviations and the weights, by those of the
    /// gradients of the input, the weights and the bias. All have the sizes of the input, and count as their sums.
    ///
    /// # Errors
    ///
    /// Those of the operators that it is made of.
    pub(crate) fn second(
        &self,
        grad: &Tensor,
        weight: Option<&Tensor>,
        [by_input, by_weight, by_bias]: [Option<&Tensor>; 3],
    ) -> Result<[Option<Tensor>; 5]> {
        let times = |of: &Tensor| weight.map_or_else(|| Ok(of.clone()), |weight| of.mul(weight));
        let normal = self.apart()?.mul(self.rstd)?;
        let weighed = times(grad)?;
        let projected = by_input.map(|by| self.projected(&normal, by)).transpose()?;
        let of_grad = derivatives::sum_gradients([
            projected.as_ref().map(times).transpose()?,
            by_weight.map(|by| by.mul(&normal)).transpose()?,
            by_bias.map(|by| by.expand(self.input.sizes())).transpose()?,
        ])?;
        let of_weight = projected.as_ref().map(|projected| grad.mul(projected)).transpose()?;
        // The gradient of the normalised numbers.
        let through = match by_input {
            Some(by) => {
                let first = by.mul(&weighed.mul(&normal)?.mean_dim(self.dims, true)?)?;
                let second = weighed.mul(&by.mul(&normal)?.mean_dim(self.dims, true)?)?;
                Some(first.add(&second)?.mul(self.rstd)?.neg()?)
            }
            None => None,
        };
        let of_normal = derivatives::sum_gradients([through, by_weight.map(|by| by.mul(grad)).transpose()?])?;
        let scale = projected.map(|projected| weighed.mul(&projected)?.div(self.rstd)).transpose()?;
        let Some(of_normal) = of_normal else { return Ok([of_grad, None, None, None, of_weight]) };
        let of_input = of_normal.mul(self.rstd)?;
        let of_rstd = derivatives::sum_gradients([Some(of_normal.mul(&self.apart()?)?), scale])?;
        Ok([of_grad, Some(of_input.clone()), Some(of_input.neg()?), of_rstd, of_weight])
    }
}

/// The dtype that elements are normalised in.
pub(crate) fn computed_in(dtype: DType) -> DType {
    match dtype {
        DType::F16 | DType::BF16 => DType::F32,
        dtype => dtype,
    }
}

/// A gradient that was asked for.
pub(crate) fn defined(gradient: Tensor) -> Option<Tensor> {
    gradient.is_defined().then_some(gradient)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use opgrid_core::{Complex64, Scalar};

    use super::*;
    use opgrid_samples::differences::Pair;
    use opgrid_samples::prelude::*;
    use opgrid_tensor::tensor::finfo;

    /// The dtypes that have averages and deviations here.
    pub(crate) const FLOATS: &[DType] = &[DType::F16, DType::BF16, DType::F32, DType::F64];

    /// Differences for operators whose sizes torch does not check.
    pub(crate) const SIZES_ARE_CHECKED: Difference = Difference {
        id: "sizes-of-statistics-are-checked",
        what: "torch reads weights, biases, means, deviations and gradients of the wrong size as far as \
             they go, or out of bounds, broadcasts single ones in some memory formats, and accepts \
             statistics of any dtype for no rows; here these are errors",
        why: "out-of-bounds reads are never allowed",
        test: ("opgrid-operators/tests/all/networks.rs", "statistics_are_checked"),
        when: |seen| {
            let names = ["weight", "bias", "running_mean", "running_var", "mean", "rstd", "grad_out"];
            let is_empty = seen.tensor("input").is_some_and(Operand::is_empty);
            let of_dtype = |name| seen.we_refuse(&format!("argument `{name}` has dtype"));
            is_empty && ["mean", "rstd"].into_iter().any(of_dtype)
                || names.iter().any(|name| {
                    seen.we_refuse(&format!("argument `{name}` has shape"))
                        || seen.we_refuse(&format!("argument `{name}` has "))
                            && seen.we_refuse("one for each row")
                })
        },
        directed: None,
    };

    /// Differences for operators with running statistics.
    pub(crate) const DEVIATIONS_ARE_CHECKED: Difference = Difference {
        id: "dtypes-of-deviations-are-checked",
        what: "torch checks the dtype of running means but not that of running variances, which it \
             converts or misreads; here both are checked, or converted in `instance_norm`",
        why: "both behave alike",
        test: ("opgrid-operators/tests/all/networks.rs", "instances_take_running_statistics_of_any_dtype"),
        when: |seen| {
            let of = |name| seen.tensor(name).map(|tensor| tensor.dtype);
            let is_read = seen.torch_refuses("expected scalar type")
                || seen.we_refuse("argument `running_var` has dtype");
            is_read && of("running_mean") != of("running_var")
        },
        directed: None,
    };

    /// Differences for `native_group_norm` and its derivative.
    pub(crate) const COUNTS_ARE_CHECKED: Difference = Difference {
        id: "counts-of-images-are-checked",
        what: "torch ignores elements of images beyond the number `N`, and leaves results \
             uninitialized; here there are `N * C * HxW` elements",
        why: "results must not be uninitialized memory",
        test: ("opgrid-operators/tests/all/networks.rs", "statistics_are_checked"),
        when: |seen| {
            let words =
                ["expected N * C * HxW", "argument `group` is", "argument `C` is", "argument `HxW` is"];
            seen.number("N") == Some(Scalar::Int(0)) && words.iter().any(|words| seen.we_refuse(words))
        },
        directed: None,
    };

    /// Differences for operators that normalize by their own statistics.
    pub(crate) const WITHOUT_DEVIATION: Difference = Difference {
        id: "digits-of-what-does-not-vary",
        what: "torch rounds means, for channels to the 16 bits of their variances, and their factors; \
             here means are subtracted first. If elements do not vary, or a negative `eps` cancels \
             most of the variance, the difference is multiplied by a large reciprocal deviation",
        why: "equally precise: no digits of the result are significant",
        test: ("opgrid-operators/tests/all/networks.rs", "what_does_not_vary_is_normalised_to_zero"),
        when: |seen| {
            let Some(input) = seen.tensor("input") else { return false };
            let eps = seen.number("eps").unwrap_or(Scalar::Float(1e-5)).to_f64();
            let (Ok(limits), Ok(eps)) = (finfo(computed_in(input.dtype)), eps) else { return false };
            let largest_of =
                |operand: &Operand| operand.elements.iter().map(|x| x.norm()).fold(0.0, f64::max);
            let scale = seen.tensor("weight").map_or(1.0, largest_of);
            let is_own = ["training", "use_input_stats"]
                .iter()
                .any(|flag| seen.number(flag).is_some_and(Scalar::to_bool));
            let variances = match seen.tensor("running_var") {
                Some(running) if !is_own => running.elements.iter().map(|variance| variance.re).collect(),
                _ => groups(seen, input).iter().map(|group| variance(group)).collect::<Vec<_>>(),
            };
            // The last digits of a variance are the first of what a negative `eps` leaves of it.
            let growth = |variance: f64| (variance / (variance + eps)).abs().max(1.0);
            let rstds = variances.into_iter().map(|variance| growth(variance) / (variance + eps).sqrt());
            let of_average = match seen.argument("normalized_shape") {
                None => finfo(input.dtype).map_or(0.0, |own| own.eps),
                Some(_) => 0.0,
            };
            let step = 16.0 * limits.eps + of_average;
            let distance = step * largest_of(input) * scale * rstds.fold(0.0, f64::max);
            // A variance of 16 bits beside a number that is taken from it.
            let is_root_of_less =
                |torch: &Complex64| eps < 0.0 && of_average > limits.eps && !torch.is_finite();
            let is_near = |(_, ours, torch): &Pair| {
                if distance.is_finite() {
                    (ours - torch).norm() <= distance || is_root_of_less(torch)
                } else {
                    !ours.is_finite() && !torch.is_finite()
                }
            };
            matches!(seen.part, Part::Values | Part::Written) && seen.each(is_near)
        },
        directed: None,
    };

    /// The elements of which an average is made, for each average.
    fn groups(seen: &Seen<'_>, input: &Operand) -> Vec<Vec<f64>> {
        let sizes = input.geometry.sizes();
        let product = |sizes: &[i64]| sizes.iter().product::<i64>().max(1) as usize;
        let channels = sizes.get(1).map_or(1, |channels| *channels.max(&1) as usize);
        let image = product(sizes.get(1..).unwrap_or_default());
        let group_of = |at: usize| match (seen.family(), seen.argument("normalized_shape")) {
            (_, Some(Argument::Ints(row))) => at / product(row),
            ("instance_norm", _) => at / (image / channels).max(1),
            ("native_group_norm" | "group_norm", _) => {
                let count = seen.number("group").or(seen.number("num_groups"));
                let count = count.and_then(|count| count.to_i64().ok()).unwrap_or(1).max(1) as usize;
                at / (image / count).max(1)
            }
            _ => at / (image / channels).max(1) % channels,
        };
        let mut groups: Vec<Vec<f64>> = Vec::new();
        for (at, element) in input.elements.iter().enumerate() {
            let group = group_of(at);
            if groups.len() <= group {
                groups.resize(group + 1, Vec::new());
            }
            groups[group].push(element.re);
        }
        groups
    }

    fn variance(group: &[f64]) -> f64 {
        let n = group.len() as f64;
        let mean = group.iter().sum::<f64>() / n;
        group.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n
    }
}
