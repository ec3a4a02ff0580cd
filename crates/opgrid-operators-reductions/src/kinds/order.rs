//! What operators share that put elements in order or select them by rank: shape rules, kernels, derivatives and samples.

use opgrid_core::{DType, Result};

use opgrid_array::error::argument;
use opgrid_kernels::sorting;
use opgrid_kinds::derivatives::ReducedDims;
use opgrid_kinds::{extremum, pointwise};
use opgrid_tensor::layers::autograd::Recorder;
use opgrid_tensor::tensor::choose::unsupported;
use opgrid_tensor::tensor::views::normalise_dim;
use opgrid_tensor::tensor::{Tensor, TensorSpec};

/// One element of all.
pub(crate) fn middle(input: &Tensor) -> Result<TensorSpec> {
    let spec = input.spec()?;
    pointwise::check_real(spec.dtype())?;
    sorting::check_length(spec.numel())?;
    if spec.numel() == 0 && !spec.dtype().is_floating_point() {
        return Err(argument(format!(
            "argument `self` has no elements, and the result, NaN, does not exist in {}",
            spec.dtype()
        )));
    }
    TensorSpec::contiguous(&[], spec.dtype(), spec.device())
}

/// The element in the middle along a dimension, and where it was.
pub(crate) fn middle_of_lines(input: &Tensor, dim: i64, keepdim: bool) -> Result<(TensorSpec, TensorSpec)> {
    pointwise::check_real(input.spec()?.dtype())?;
    one(input, dim, keepdim)
}

/// States the derivative of the element in the middle of all: equal ones share the gradient.
pub(crate) fn derivative_of_middle(d: &Recorder<'_>, input: &Tensor) -> Result<()> {
    let kept = ReducedDims::new(input, None, false)?;
    d.by(input, [input, d.result(0)], move |grad, [x, out]| {
        extremum::distribute_gradient(grad, x, out, &kept)
    })
}

/// All elements in order along a dimension, and where they were. Values and indices lie as the input does.
pub(crate) fn sorted(input: &Tensor, dim: i64) -> Result<(TensorSpec, TensorSpec)> {
    let spec = input.spec()?;
    length(input, dim)?;
    if !sorting::is_sortable(spec.dtype()) {
        return Err(unsupported(spec.dtype(), "a bool, integer or floating-point dtype"));
    }
    let of = |dtype| TensorSpec::elementwise(&[spec.geometry()], dtype, spec.device());
    Ok((of(spec.dtype())?, of(DType::I64)?))
}

/// As many elements as `count` along a dimension, and where they were.
pub(crate) fn some(input: &Tensor, dim: i64, count: i64) -> Result<(TensorSpec, TensorSpec)> {
    let spec = input.spec()?;
    length(input, dim)?;
    pointwise::check_real(spec.dtype())?;
    let mut sizes = spec.sizes().to_vec();
    let at = dimension(input, dim)?;
    sizes.iter_mut().skip(at).take(1).for_each(|size| *size = count);
    let of = |dtype| TensorSpec::contiguous(&sizes, dtype, spec.device());
    Ok((of(spec.dtype())?, of(DType::I64)?))
}

/// One element along a dimension, and where it was.
pub(crate) fn one(input: &Tensor, dim: i64, keepdim: bool) -> Result<(TensorSpec, TensorSpec)> {
    let spec = input.spec()?;
    if length(input, dim)? == 0 {
        let message = format!("dimension {dim} of argument `self` has size 0, expected at least one element");
        return Err(argument(message));
    }
    pointwise::check_ordered(&[input])?;
    let of = |dtype| opgrid_kernels::reduce::shape(spec, &[dim], keepdim, dtype);
    Ok((of(spec.dtype())?, of(DType::I64)?))
}

/// The elements of a line along a dimension, of which there are not too many to be put in order.
fn length(input: &Tensor, dim: i64) -> Result<i64> {
    let length = input.sizes().get(dimension(input, dim)?).copied().unwrap_or(1);
    sorting::check_length(length)?;
    Ok(length)
}

/// The dimension of a call.
///
/// # Errors
///
/// One out of range.
pub(crate) fn dimension(input: &Tensor, dim: i64) -> Result<usize> {
    normalise_dim(dim, input.sizes().len())
}

/// Fills outputs of one element along a dimension.
pub(crate) fn fill_one(
    input: &Tensor,
    dim: i64,
    rank: sorting::Rank,
    values: &Tensor,
    indices: &Tensor,
) -> Result<()> {
    let (input, dim) = (input.array()?, dimension(input, dim)?);
    let kept = |out: &Tensor| {
        let out = out.array()?;
        if out.sizes().len() == input.sizes().len() {
            Ok(out.clone())
        } else {
            out.view(out.geometry().unsqueeze(dim as i64)?)
        }
    };
    sorting::ranked(&kept(values)?, &kept(indices)?, input, dim, rank)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use std::cmp::Ordering;

    use opgrid_core::{Complex64, Operator, Scalar};

    use super::*;
    use opgrid_samples::OperatorSamples;
    use opgrid_samples::prelude::*;

    /// Where the elements of a line are in order: equal ones as they were, NaN behind all.
    pub(crate) fn places(line: &[Scalar], descending: bool) -> Vec<usize> {
        let order = |a: &usize, b: &usize| {
            let (a, b) = (line[*a], line[*b]);
            match (number::is_nan(a), number::is_nan(b)) {
                (false, false) => number::order(a, b).unwrap_or(Ordering::Equal),
                (a, b) => a.cmp(&b),
            }
        };
        let mut places: Vec<usize> = (0..line.len()).collect();
        places.sort_by(|a, b| if descending { order(b, a) } else { order(a, b) });
        places
    }

    /// The elements at such places along a dimension, and the places.
    pub(crate) fn expected(
        x: &Plain,
        dim: i64,
        length: &dyn Fn(i64) -> i64,
        places: &dyn Fn(&[Scalar]) -> Vec<usize>,
    ) -> [Plain; 2] {
        let values = |x: &[Vec<Scalar>]| places(&x[0]).into_iter().map(|at| x[0][at]).collect();
        let indices =
            |x: &[Vec<Scalar>]| places(&x[0]).into_iter().map(|at| Scalar::Int(at as i64)).collect();
        [
            Plain::of_lines_by(&[x], dim, x.dtype(), length, &values),
            Plain::of_lines_by(&[x], dim, DType::I64, length, &indices),
        ]
    }

    /// Tensors with equal elements and with NaN, and a dimension.
    pub(crate) fn lines(dtype: DType) -> Vec<Sample> {
        let ends = given(generate::extremes(dtype)).and(0);
        let equal = given(Plain::from_elements(dtype, &[3, 4], &[2, 1, 1, 2, 0])).and(-1);
        generate::along_dim(dtype).into_iter().chain([ends, equal]).collect()
    }

    /// Tensors of all shapes, with elements where there is no NaN.
    pub(crate) fn unary_filled(dtype: DType) -> Vec<Sample> {
        let is_there = |sample: &Sample| {
            let is_filled = sample.positional[0].tensors().iter().all(|x| !x.elements().is_empty());
            is_filled || dtype.is_floating_point()
        };
        generate::unary(dtype).into_iter().filter(is_there).collect()
    }

    /// Samples that have elements along the dimension.
    pub(crate) fn filled_lines(dtype: DType) -> Vec<Sample> {
        let is_there = |sample: &Sample| sample.positional[0].tensors().iter().all(|x| x.sizes() != [0, 3]);
        lines(dtype).into_iter().filter(is_there).collect()
    }

    /// Samples of an operator that gives one element along a dimension, at the place that `chosen` says.
    pub(crate) fn of_one<'a, O: Operator>(
        samples: &'a mut Samples,
        operator: O,
        dtypes: &[DType],
        inputs: fn(DType) -> Vec<Sample>,
        [size_zero, out_of_range]: [Sample; 2],
        chosen: impl Fn(&Inputs, &[Scalar]) -> usize + Send + Sync + 'static,
    ) -> &'a mut OperatorSamples {
        let reference = move |it: &Inputs| -> Result<Expected> {
            let (x, dim, keepdim): (_, i64, bool) =
                (it.tensor("self")?, it.value("dim")?, it.value("keepdim")?);
            let value = |line: &[Scalar]| line.get(chosen(it, line)).copied().unwrap_or(Scalar::Int(0));
            let index = |line: &[Scalar]| Scalar::Int(chosen(it, line) as i64);
            Ok([
                x.reduced(Some(&[dim]), keepdim, x.dtype(), value),
                x.reduced(Some(&[dim]), keepdim, DType::I64, index),
            ]
            .into())
        };
        samples
            .operator_with(operator, dtypes, inputs, reference)
            .refuses("size 0", size_zero)
            .refuses("range", out_of_range)
    }

    /// Samples of operators that give the element in the middle of all, and along a dimension, at the place that `chosen` says.
    pub(crate) fn of_middle(
        samples: &mut Samples,
        (all, lines): (impl Operator, impl Operator),
        chosen: fn(&[Scalar]) -> usize,
    ) {
        let reference = move |it: &Inputs| {
            let x = it.tensor("self")?;
            let value = |line: &[Scalar]| line.get(chosen(line)).copied().unwrap_or(Scalar::Float(f64::NAN));
            Ok(x.reduced(None, false, x.dtype(), value).into())
        };
        samples
            .operator_with(all, REAL, unary_filled, reference)
            .refuses("no elements", given(generate::numbers(DType::I64, &[0], 0)));
        let refused = [
            given(generate::numbers(DType::F32, &[0], 0)).and(0),
            given(generate::numbers(DType::F32, &[2], 0)).and(1),
        ];
        of_one(samples, lines, REAL, filled_lines, refused, move |_, line| chosen(line));
    }

    /// Differences for operators that need an order.
    pub(crate) const ONE_COMPLEX_NUMBER: Difference = Difference {
        id: "one-complex-number-without-an-order",
        what: "torch does not check the dtype of a tensor without dimensions; here complex numbers are \
             rejected whatever the sizes are",
        why: "whether a call is valid must not depend on sizes or elements",
        test: ("opgrid-operators/tests/all/differences/refused.rs", "what_torch_does_not_check_is_refused"),
        when: |seen| {
            let is_one = seen.tensor("self").is_some_and(|input| input.geometry.dims() == 0);
            is_one && seen.we_refuse("expected a non-complex dtype")
        },
        directed: Some(Directed {
            operator: "aten::mode",
            arguments: || vec![("self", Operand::rows(0, DType::Complex64, &[], &[1.0]).into())],
            needs: None,
        }),
    };

    /// Differences for operators that select one of equal elements.
    pub(crate) const EQUAL_ELEMENTS: Difference = Difference {
        id: "equal-elements-of-ranks",
        what: "torch does not specify which of several equal elements it finds; here it is the one at \
             that rank in a stable sort",
        why: "results depend only on the elements",
        test: ("opgrid-operators/tests/all/differences/numbers.rs", "equal_elements_keep_their_order"),
        when: |seen| are_zeros(seen) || is_place(seen),
        directed: None,
    };

    /// Differences for the indices of ranks.
    pub(crate) const REPEATED: Difference = Difference {
        id: "ranks-of-repeated-elements",
        what: "torch sorts copies of rows with repeated elements as if each element were separate; here \
             rows are read as they are",
        why: "inputs must not change while they are read",
        test: ("opgrid-operators/tests/all/differences/layouts.rs", "results_do_not_depend_on_the_layout"),
        when: |seen| !seen.elements.is_empty() && seen.tensor("self").is_some_and(|input| input.repeats()),
        directed: None,
    };

    /// Differences for medians of empty inputs.
    pub(crate) const OF_NOTHING: Difference = Difference {
        id: "medians-of-nothing",
        what: "torch returns the smallest integer, true, or a complex NaN as the median of an empty \
             tensor; here integers, bools and complex numbers without elements are rejected",
        why: "no integer means \"no median\"",
        test: ("opgrid-operators/tests/all/differences/refused.rs", "what_torch_does_not_check_is_refused"),
        when: |seen| {
            let is_empty = seen.tensor("self").is_some_and(|input| input.is_empty());
            is_empty && (seen.we_refuse("no elements") || seen.we_refuse("not implemented for"))
        },
        directed: None,
    };

    /// Differences for operators that sort, unless the sort is stable.
    pub(crate) const EQUAL_PLACES: Difference = Difference {
        id: "equal-elements-of-sorts",
        what: "torch sorts stably only if asked to; here sorting is always stable",
        why: "results depend only on the elements",
        test: ("opgrid-operators/tests/all/differences/numbers.rs", "equal_elements_keep_their_order"),
        when: |seen| {
            let is_stable = matches!(seen.number("stable"), Some(Scalar::Bool(true)));
            !is_stable && (are_zeros(seen) || is_place(seen))
        },
        directed: None,
    };

    /// Whether only the signs of zeros differ, which are equal elements.
    fn are_zeros(seen: &Seen<'_>) -> bool {
        seen.each(|(_, ours, torch)| ours.norm() == 0.0 && torch.norm() == 0.0)
    }

    /// Whether places differ in a result, of elements among which some are equal.
    pub(crate) fn is_place(seen: &Seen<'_>) -> bool {
        let is_written = matches!(seen.part, Part::Values | Part::Written);
        let count = seen.tensor("self").map_or(0.0, |input| input.elements.len() as f64);
        let is_place = |place: &Complex64| place.re >= 0.0 && place.re < count;
        let are_places =
            seen.each(|(dtype, ours, torch)| *dtype == DType::I64 && is_place(ours) && is_place(torch));
        is_written && are_places && seen.has_equal_elements("self")
    }
}
