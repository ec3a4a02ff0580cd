//! Makers of samples that many operators share: one tensor, pairs that broadcast, a tensor and a number, reductions.

use opgrid_core::{DType, Result, Scalar};

use super::{Expected, Inputs, Plain, Sample, given};
use opgrid_tensor::tensor::{Tensor, default_dtype, finfo, iinfo, promote_types, result_type};

/// Shapes with what goes wrong first: no dimensions, no elements, sizes of 1, more than a vector register holds, the
/// four dimensions of images.
pub const SHAPES: [&[i64]; 8] = [&[2, 3], &[], &[0], &[5], &[2, 0, 3], &[3, 1, 2], &[2, 37], &[2, 3, 2, 2]];

/// Different small numbers of both signs, with fractions where the dtype has them. Every dtype has them exactly; those
/// of another `seed` come in another order.
pub fn numbers(dtype: DType, sizes: &[i64], seed: i64) -> Plain {
    let count = sizes.iter().product::<i64>().max(1);
    let elements: Vec<Scalar> = (0..count).map(|place| small(dtype, place * 29 + seed * 17)).collect();
    Plain::from_elements(dtype, sizes, &elements)
}

fn small(dtype: DType, place: i64) -> Scalar {
    let whole = (place * 37 + 11).rem_euclid(41) - 20;
    match dtype {
        DType::Bool => Scalar::Bool(whole % 3 != 0),
        dtype if dtype.is_floating_point() => Scalar::Float(whole as f64 / 8.0),
        dtype if dtype.is_complex() => {
            let im = (place * 31 + 5).rem_euclid(37) - 18;
            Scalar::Complex(num_complex::Complex64::new(whole as f64 / 8.0, im as f64 / 4.0))
        }
        dtype if dtype.is_signed() => Scalar::Int(whole),
        _ => Scalar::Int(whole + 20),
    }
}

/// Distinct small numbers of both signs without zero, with fractions if the dtype has them.
pub fn nonzero(dtype: DType, sizes: &[i64], seed: i64) -> Plain {
    let all = numbers(dtype, sizes, seed);
    let one = |x: &Scalar| if x.to_bool() { *x } else { Scalar::Int(3) };
    Plain::from_elements(dtype, sizes, &all.elements().iter().map(one).collect::<Vec<_>>())
}

/// The ends of the dtype's range, zeros of both signs, and what is no number. Complex dtypes have only the last here, in both
/// parts: what becomes of infinite parts, and of one NaN, depends on how a formula is written.
pub fn extremes(dtype: DType) -> Plain {
    let elements: Vec<Scalar> = if dtype.is_complex() {
        vec![Scalar::Complex(num_complex::Complex64::new(f64::NAN, f64::NAN)), Scalar::Float(-1.0)]
    } else if let Ok(limits) = finfo(dtype) {
        let ends = [limits.max, limits.min, limits.eps, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
        ends.into_iter().chain([0.0, -0.0, 1.0]).map(Scalar::Float).collect()
    } else if let Ok(limits) = iinfo(dtype) {
        [limits.min.into(), limits.max.into(), Scalar::Int(0), Scalar::Int(1)].to_vec()
    } else {
        vec![Scalar::Bool(true), Scalar::Bool(false)]
    };
    Plain::from_elements(dtype, &[elements.len() as i64], &elements)
}

/// One tensor of each shape, and [`extremes`].
pub fn unary(dtype: DType) -> Vec<Sample> {
    let shapes = SHAPES.iter().zip(0..).map(|(sizes, seed)| numbers(dtype, sizes, seed));
    shapes.chain([extremes(dtype)]).map(given).collect()
}

/// One tensor of each shape with numbers of small size.
pub fn unary_numbers(dtype: DType) -> Vec<Sample> {
    SHAPES.iter().zip(0..).map(|(sizes, seed)| given(numbers(dtype, sizes, seed))).collect()
}

/// Shapes that broadcast with each other.
const PAIRS: [(&[i64], &[i64]); 9] = [
    (&[2, 3], &[2, 3]),
    (&[2, 3], &[3]),
    (&[2, 1], &[1, 3]),
    (&[], &[3]),
    (&[3], &[]),
    (&[], &[]),
    (&[0], &[1]),
    (&[2, 37], &[2, 37]),
    (&[2, 3, 2, 2], &[3, 1, 1]),
];

/// Two tensors of the dtype that broadcast, two with [`extremes`], and pairs with other dtypes.
pub fn pairs(dtype: DType) -> Vec<Sample> {
    pairs_by(dtype, numbers, true)
}

/// Pairs of the dtype, and those without extremes once more with a named number that scales one of them: what becomes
/// of the largest numbers depends on how a formula is written.
pub fn scaled_pairs(dtype: DType, name: &str, factor: i64) -> Vec<Sample> {
    let scaled = pairs_by(dtype, numbers, false).into_iter().map(|sample| sample.named(name, factor));
    pairs(dtype).into_iter().chain(scaled).collect()
}

/// Two tensors whose shapes do not broadcast.
pub fn misfits() -> Sample {
    given(numbers(DType::F32, &[2], 0)).and(numbers(DType::F32, &[3], 0))
}

/// Pairs of tensors without zeros on the right, and without extremes.
pub fn pairs_to_divide(dtype: DType) -> Vec<Sample> {
    pairs_by(dtype, nonzero, false)
}

fn pairs_by(dtype: DType, right: fn(DType, &[i64], i64) -> Plain, with_extremes: bool) -> Vec<Sample> {
    let shapes = PAIRS.iter().map(|(a, b)| given(numbers(dtype, a, 1)).and(right(dtype, b, 2)));
    let mut samples: Vec<Sample> = shapes.collect();
    if with_extremes {
        let all = extremes(dtype);
        let column = all.with_sizes(&[all.sizes()[0], 1]);
        samples.push(given(column).and(all));
    }
    let others = [DType::I32, DType::F32, DType::BF16].map(|other| beside(dtype, other));
    let others = others.into_iter().filter(|other| *other != dtype);
    for other in others {
        samples.push(given(numbers(dtype, &[2, 3], 1)).and(right(other, &[3], 2)));
        samples.push(given(numbers(dtype, &[4], 1)).and(right(other, &[], 2)));
    }
    samples
}

/// Three tensors of the dtype that broadcast, and three of which one has another dtype; there are no zeros in the third.
pub fn triples(dtype: DType) -> Vec<Sample> {
    let shapes: [[&[i64]; 3]; 6] = [
        [&[2, 3], &[2, 3], &[2, 3]],
        [&[2, 3], &[2, 1], &[3]],
        [&[2, 3], &[], &[1, 3]],
        [&[], &[], &[]],
        [&[0], &[1], &[0]],
        [&[2, 37], &[2, 37], &[37]],
    ];
    let one = |[a, b, c]: [&[i64]; 3]| {
        given(numbers(dtype, a, 1)).and(numbers(dtype, b, 2)).and(nonzero(dtype, c, 3))
    };
    let other = beside(dtype, DType::F32);
    let mixed =
        given(numbers(dtype, &[2, 3], 1)).and(numbers(other, &[3], 2)).and(nonzero(dtype, &[2, 1], 3));
    shapes.into_iter().map(one).chain([mixed]).collect()
}

/// The other dtype if both promote to a common one, else the dtype itself.
pub fn beside(dtype: DType, other: DType) -> DType {
    promote_types(dtype, other).map_or(dtype, |_| other)
}

/// The samples whose elements an operator computes in one of `dtypes`, for one of those; for another dtype the samples that
/// it therefore has to refuse.
pub fn computed_in(dtypes: &[DType], dtype: DType, mut samples: Vec<Sample>) -> Vec<Sample> {
    let operand = |given: &super::Given| match given {
        super::Given::Tensor(tensor) => tensor.to_tensor().ok(),
        super::Given::Value(value) => value.borrow().as_scalar().map(Tensor::number),
        _ => None,
    };
    samples.retain(|sample| {
        let operands: Vec<Tensor> = sample.positional.iter().filter_map(operand).collect();
        let computed = result_type(&operands.iter().collect::<Vec<_>>());
        computed.is_ok_and(|computed| dtypes.contains(&computed) == dtypes.contains(&dtype))
    });
    samples
}

/// The samples whose tensors have one dtype.
pub fn of_one_dtype(mut samples: Vec<Sample>) -> Vec<Sample> {
    samples.retain(|sample| {
        let mut dtypes = sample.arguments().flat_map(super::Given::tensors).map(Plain::dtype);
        let first = dtypes.next();
        dtypes.all(|dtype| Some(dtype) == first)
    });
    samples
}

/// Swaps the first two arguments of samples.
pub fn number_first(samples: Vec<Sample>) -> Vec<Sample> {
    let swap = |mut sample: Sample| {
        sample.positional.swap(0, 1);
        sample
    };
    samples.into_iter().map(swap).collect()
}

/// A tensor and a number of each kind.
pub fn with_scalar(dtype: DType) -> Vec<Sample> {
    let bools = given(numbers(dtype, &[3], 1)).and(true);
    with_number(dtype).into_iter().chain([bools]).collect()
}

/// A tensor and an integer or a float.
pub fn with_number(dtype: DType) -> Vec<Sample> {
    let integers = [3, -2].map(|number| given(numbers(dtype, &[2, 3], 1)).and(number));
    let mut samples = integers.to_vec();
    samples.push(given(numbers(dtype, &[], 1)).and(2));
    samples.push(given(numbers(dtype, &[0], 1)).and(2));
    samples.push(given(numbers(dtype, &[2, 37], 1)).and(0.5));
    samples.push(given(numbers(dtype, &[3], 1)).and(-1.25));
    samples.push(given(extremes(dtype)).and(2));
    samples
}

/// Samples with another one behind each, which has a named argument more.
pub fn and_named(
    samples: Vec<Sample>,
    name: &str,
    value: impl Into<opgrid_core::Value> + Copy,
) -> Vec<Sample> {
    let with = |sample: Sample| [sample.clone(), sample.named(name, value.into())];
    samples.into_iter().flat_map(with).collect()
}

/// A tensor, dimensions to reduce (all of them where there are none) and whether they stay with size 1.
pub fn over_dims(dtype: DType) -> Vec<Sample> {
    let cases: [(&[i64], &[i64], bool); 11] = [
        (&[0, 3], &[1], false),
        (&[2, 3], &[0], false),
        (&[2, 3], &[1], true),
        (&[2, 3], &[-1], false),
        (&[2, 3], &[], false),
        (&[3, 2, 4], &[0, 2], false),
        (&[3, 2, 4], &[2, 0], true),
        (&[], &[0], false),
        (&[2, 37], &[1], false),
        (&[37, 2], &[0], false),
        (&[2, 3, 2, 2], &[1, 3], false),
    ];
    let one = |(sizes, dims, keepdim): (&[i64], &[i64], bool)| {
        given(numbers(dtype, sizes, 3)).and(dims.to_vec()).and(keepdim)
    };
    cases.into_iter().map(one).collect()
}

/// A tensor, one dimension and whether it stays with size 1.
pub fn over_dim(dtype: DType) -> Vec<Sample> {
    let cases: [(&[i64], i64, bool); 6] = [
        (&[0, 3], 1, false),
        (&[2, 3], 0, false),
        (&[2, 3], -1, true),
        (&[], 0, false),
        (&[2, 37], 1, false),
        (&[3, 2, 4], 1, true),
    ];
    let one =
        |(sizes, dim, keepdim): (&[i64], i64, bool)| given(numbers(dtype, sizes, 3)).and(dim).and(keepdim);
    cases.into_iter().map(one).collect()
}

/// A tensor and one dimension.
pub fn along_dim(dtype: DType) -> Vec<Sample> {
    let cases: [(&[i64], i64); 8] = [
        (&[2, 3], 1),
        (&[2, 3], -2),
        (&[], 0),
        (&[0, 3], 0),
        (&[2, 0], 0),
        (&[2, 37], 1),
        (&[3, 1, 2], 0),
        (&[2, 3, 2, 2], 1),
    ];
    cases.map(|(sizes, dim)| given(numbers(dtype, sizes, 3)).and(dim)).to_vec()
}

/// Two tensors of the dtype that are equal, nearly so or not, with tolerances, and NaN that may count as equal.
pub fn nearby(dtype: DType) -> Vec<Sample> {
    let (x, other) = (numbers(dtype, &[2, 3], 1), numbers(dtype, &[2, 3], 2));
    let (row, ends) = (numbers(dtype, &[3], 1), extremes(dtype));
    vec![
        given(x.clone()).and(x.clone()),
        given(x.clone()).and(other.clone()),
        given(x.clone()).and(other).and(0.5),
        given(x.clone()).and(row).and(0.0).and(0.25),
        given(ends.clone()).and(ends.clone()),
        given(ends.clone()).and(ends).and(0.0).and(0.0).and(true),
        given(numbers(dtype, &[], 1)).and(numbers(dtype, &[], 1)),
        given(numbers(dtype, &[0], 1)).and(numbers(dtype, &[0], 1)),
        given(numbers(dtype, &[2, 37], 1)).and(numbers(dtype, &[2, 37], 1)),
    ]
}

/// Pairs of tensors that are equal, nearly so or not, without tolerances, and two tensors of different shapes.
pub fn nearby_pairs(dtype: DType) -> Vec<Sample> {
    let other_shape = given(numbers(dtype, &[2, 3], 0)).and(numbers(dtype, &[3, 2], 0));
    let pairs = nearby(dtype).into_iter().map(|mut sample| {
        sample.positional.truncate(2);
        sample
    });
    pairs.chain([other_shape]).collect()
}

/// A list of sizes and the dtype by its name, for operators that make tensors from nothing.
pub fn shapes(dtype: DType) -> Vec<Sample> {
    SHAPES.iter().map(|sizes| given(sizes.to_vec()).named("dtype", dtype)).collect()
}

/// What an operator of such [`shapes`] answers that gives each element the same number.
///
/// # Errors
///
/// There is no `size` or no `dtype`.
pub fn filled(it: &Inputs, number: Scalar) -> Result<Expected> {
    let (size, dtype): (Vec<i64>, Option<DType>) = (it.value("size")?, it.value("dtype")?);
    Ok(Plain::from_elements(dtype.unwrap_or(default_dtype()), &size, &[number]).into())
}

/// A tensor and sizes of as many elements.
pub fn other_sizes(dtype: DType) -> Vec<Sample> {
    let cases: [(&[i64], &[i64]); 6] = [
        (&[2, 3], &[6]),
        (&[2, 3], &[3, -1]),
        (&[4, 3], &[2, 2, 3]),
        (&[], &[1, 1]),
        (&[1], &[]),
        (&[0, 2], &[2, 0, 3]),
    ];
    cases.map(|(sizes, other)| given(numbers(dtype, sizes, 0)).and(other.to_vec())).to_vec()
}

/// What an operator on such [`other_sizes`] answers that keeps the elements.
///
/// # Errors
///
/// There is no `self`, or no argument with the name of the sizes.
pub fn same_elements(it: &Inputs, sizes: &str) -> Result<Expected> {
    let (x, mut sizes): (_, Vec<i64>) = (it.tensor("self")?, it.value(sizes)?);
    let known: i64 = sizes.iter().filter(|size| **size >= 0).product();
    let unknown = x.elements().len() as i64 / known.max(1);
    sizes.iter_mut().filter(|size| **size < 0).for_each(|size| *size = unknown);
    Ok(x.with_sizes(&sizes).into())
}

/// A tensor beside another one of as many elements.
pub fn beside_as_many(dtype: DType) -> Vec<Sample> {
    let cases: [(&[i64], &[i64]); 5] =
        [(&[2, 3], &[6]), (&[4, 3], &[2, 2, 3]), (&[], &[1, 1]), (&[1], &[]), (&[0, 2], &[2, 0, 3])];
    cases.map(|(sizes, other)| given(numbers(dtype, sizes, 0)).and(numbers(dtype, other, 1))).to_vec()
}

/// What an operator on such tensors answers that gives the elements of the first one the sizes of the other.
///
/// # Errors
///
/// There is no `self` or no `other`.
pub fn as_the_other(it: &Inputs) -> Result<Expected> {
    Ok(it.tensor("self")?.with_sizes(it.tensor("other")?.sizes()).into())
}
