//! What operations on bits share: shape rule, dtypes and samples.

use opgrid_core::Result;

use opgrid_array::with_dtype;
use opgrid_kinds::pointwise;
use opgrid_tensor::tensor::{Tensor, TensorSpec};

/// What has the promoted dtype of both, which are integers or bools.
pub(crate) fn of_two(input: &Tensor, other: &Tensor) -> Result<TensorSpec> {
    let spec = pointwise::promoted([("self", input), ("other", other)])?;
    pointwise::check_integral(spec.dtype())?;
    Ok(spec)
}

/// What has the promoted dtype of both, which are integers.
pub(crate) fn of_two_numbers(input: &Tensor, other: &Tensor) -> Result<TensorSpec> {
    let spec = of_two(input, other)?;
    pointwise::check_numbers(spec.dtype())?;
    Ok(spec)
}

/// The spec of what two integers give.
///
/// # Errors
///
/// Shapes that do not broadcast; a promoted dtype of no integers.
pub(crate) fn integers_of_two(input: &Tensor, other: &Tensor) -> Result<TensorSpec> {
    let spec = of_two(input, other)?;
    with_dtype!(spec.dtype(), _T: Integer by itself => Ok(spec))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use opgrid_core::{DType, Operator, Scalar};

    use opgrid_samples::prelude::*;

    /// Samples of an operator of two tensors, of a tensor and a number, and of a number and a tensor; `function` is that of two
    /// numbers of one kind.
    pub(crate) fn collect<T: Operator, N: Operator, F: Operator>(
        samples: &mut Samples,
        (tensors, number, number_first): (T, N, F),
        function: fn(Scalar, Scalar) -> Scalar,
    ) {
        let reference = move |it: &Inputs| it.binary(DTypeRule::Promoted, function);
        samples.operator_with(tensors, INTEGRAL, pairs, reference).refuses("does not broadcast", {
            let x = generate::numbers(DType::I32, &[2], 0);
            given(x).and(generate::numbers(DType::I32, &[3], 0))
        });
        samples.operator_with(number, INTEGRAL, beside_number, reference);
        samples.operator_with(
            number_first,
            INTEGRAL,
            |dtype| generate::number_first(beside_number(dtype)),
            reference,
        );
    }

    /// Samples of overloads that write their first argument and are no form of another one, as `__iand__`; `function` is that of two
    /// numbers of a dtype.
    pub(crate) fn in_place_samples<T: Operator, N: Operator>(
        samples: &mut Samples,
        (tensors, number): (T, N),
        dtypes: &[DType],
        function: impl Fn(Scalar, Scalar, DType) -> Scalar + Copy + Send + Sync + 'static,
    ) {
        let reference = move |it: &Inputs| {
            let (x, other) = (it.tensor("self")?, it.operand("other")?);
            let one = |position: &[i64]| {
                let convert = |number| naive::convert(number, x.dtype());
                function(convert(x.at(position)), convert(other.at(position)), x.dtype())
            };
            Ok(Plain::from_fn(x.dtype(), x.sizes(), one).into())
        };
        let beside = |dtype| {
            let shapes: [(&[i64], &[i64]); 4] =
                [(&[2, 3], &[3]), (&[], &[]), (&[0], &[1]), (&[2, 37], &[2, 37])];
            let pair = |(a, b): (&[i64], &[i64])| {
                given(generate::numbers(dtype, a, 1)).and(generate::numbers(dtype, b, 2))
            };
            shapes.map(pair).to_vec()
        };
        samples.operator_with(tensors, dtypes, beside, reference);
        let numbers = |dtype| {
            let number = if dtype == DType::Bool { Scalar::Bool(true) } else { Scalar::Int(3) };
            let shapes: [&[i64]; 3] = [&[2, 3], &[], &[0]];
            shapes.map(|sizes| given(generate::numbers(dtype, sizes, 1)).and(number)).to_vec()
        };
        samples.operator_with(number, dtypes, numbers, reference);
    }

    /// Samples of a shift: of the overloads of [`collect`], and of those of [`in_place_samples`]. `moved` moves a number by as many
    /// places; a count that is negative or beyond the width is 64.
    pub(crate) fn of_shift<T: Operator, N: Operator, F: Operator>(
        samples: &mut Samples,
        (tensors, number, number_first): (T, N, F),
        in_place: (impl Operator, impl Operator),
        moved: fn(i128, u32) -> i128,
    ) {
        let of_numbers = move |a, b, dtype: DType| {
            let [value, count] = [a, b].map(|x| number::exact(x).unwrap_or(0));
            let bits = 8 * dtype.size_in_bytes() as i128;
            number::integer(moved(value, if (0..bits).contains(&count) { count as u32 } else { 64 }))
        };
        let reference = move |it: &Inputs| {
            let dtype = it.common_dtype(&["self", "other"])?;
            it.binary(DTypeRule::Promoted, |a, b| of_numbers(a, b, dtype))
        };
        let pairs = |dtype| generate::computed_in(INTEGERS, dtype, generate::pairs(dtype));
        samples.operator_with(tensors, INTEGERS, pairs, reference);
        let numbers = |dtype| generate::computed_in(INTEGERS, dtype, generate::with_scalar(dtype));
        samples.operator_with(number, INTEGERS, numbers, reference);
        let numbers_first = |dtype| {
            generate::computed_in(INTEGERS, dtype, generate::number_first(generate::with_scalar(dtype)))
        };
        samples.operator_with(number_first, INTEGERS, numbers_first, reference);
        in_place_samples(samples, in_place, INTEGERS, of_numbers);
    }

    /// Pairs of tensors of which the bits are those of the promoted dtype.
    pub(crate) fn pairs(dtype: DType) -> Vec<Sample> {
        generate::computed_in(INTEGRAL, dtype, generate::pairs(dtype))
    }

    /// Pairs of a tensor and a number.
    pub(crate) fn beside_number(dtype: DType) -> Vec<Sample> {
        generate::computed_in(INTEGRAL, dtype, generate::with_scalar(dtype))
    }

    /// Samples of two integers, some of which are 0.
    pub(crate) fn integer_pairs(dtype: DType) -> Vec<Sample> {
        let zeros = given(Plain::from_elements(dtype, &[4], &[0, 6, 0, 12])).and(Plain::from_elements(
            dtype,
            &[4],
            &[4, 0, 0, 18],
        ));
        let pairs = generate::pairs_to_divide(dtype).into_iter().chain([zeros]).collect();
        generate::computed_in(INTEGERS, dtype, pairs)
    }
}
