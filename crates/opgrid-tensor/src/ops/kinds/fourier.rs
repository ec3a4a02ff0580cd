//! What Fourier transforms share: lengths, dimensions, norms, and plain sums for samples.

use opgrid_core::{DType, Error, MemoryFormat, Result};

use crate::error::argument;
use crate::kernels::fourier::Direction;
use crate::ops::{Cat, SliceTensor, Zeros};
use crate::tensor::choose::unsupported;
use crate::tensor::views::normalise_dim;
use crate::tensor::{Dims, Geometry, Tensor, TensorSpec, complex_of, default_dtype};

/// What results are divided by, as transforms take it: nothing, the root of the number of elements, or that number.
pub(crate) const NOT: i64 = 0;
pub(crate) const BY_ROOT: i64 = 1;
pub(crate) const BY_NUMBER: i64 = 2;

/// The normalisation that a word asks for: `backward`, which is the default, divides what is transformed backward.
///
/// # Errors
///
/// Another word.
pub(crate) fn normalisation(norm: Option<&str>, direction: Direction) -> Result<i64> {
    let divided = match norm.unwrap_or("backward") {
        "backward" => direction == Direction::Backward,
        "forward" => direction == Direction::Forward,
        "ortho" => return Ok(BY_ROOT),
        other => {
            let message =
                format!("argument `norm` is {other:?}, expected \"backward\", \"forward\" or \"ortho\"");
            return Err(argument(message));
        }
    };
    Ok(if divided { BY_NUMBER } else { NOT })
}

/// The factor of a normalisation, for so many elements.
///
/// # Errors
///
/// A number that means none.
pub(crate) fn scale(normalisation: i64, sizes: impl Iterator<Item = i64>) -> Result<f64> {
    let count: f64 = sizes.map(|size| size as f64).product();
    match normalisation {
        NOT => Ok(1.0),
        BY_ROOT => Ok(1.0 / count.sqrt()),
        BY_NUMBER => Ok(1.0 / count),
        _ => Err(argument(format!(
            "argument `normalization` is {normalisation}, expected 0 for none, 1 for the root of the number of elements, or 2 for \
             that number"
        ))),
    }
}

/// The dimensions that are meant, each once.
///
/// # Errors
///
/// One out of range, or named twice.
pub(crate) fn dimensions(dims: &[i64], rank: usize) -> Result<Vec<usize>> {
    if rank == 0 && !dims.is_empty() {
        return Err(argument(format!(
            "argument `dim` is {dims:?}, expected [] for a tensor without dimensions"
        )));
    }
    let named = dims.iter().map(|dim| normalise_dim(*dim, rank)).collect::<Result<Vec<_>>>()?;
    match (0..named.len()).find(|&at| named[..at].contains(&named[at])) {
        Some(at) => {
            Err(argument(format!("argument `dim` is {dims:?}, which names dimension {} twice", named[at])))
        }
        None => Ok(named),
    }
}

/// Where results lie, as torch has it with MKL: the dimensions that are transformed lie innermost, in their order, the others
/// as they lie in `like`. Those in `sorted`, of the first ones, are put in the order of `like` before. A copy along no dimension
/// lies as `like`.
pub(crate) fn geometry(sizes: &[i64], like: &Geometry, dims: &[usize], sorted: usize) -> Result<Geometry> {
    if sizes.contains(&0) {
        return Geometry::contiguous(sizes);
    }
    if dims.is_empty() {
        return like.like(MemoryFormat::Preserve);
    }
    let by_stride = |list: &mut [usize]| list.sort_by(|a, b| like.strides()[*b].cmp(&like.strides()[*a]));
    let mut order: Vec<usize> = (0..sizes.len()).filter(|dim| !dims.contains(dim)).collect();
    by_stride(&mut order);
    let mut inner = dims.to_vec();
    by_stride(&mut inner[..sorted]);
    order.extend(inner);
    // So that the product of the sizes is counted.
    Geometry::contiguous(sizes)?;
    let (mut strides, mut step) = (Dims::from_elem(0, sizes.len()), 1);
    for dim in order.into_iter().rev() {
        strides[dim] = step;
        step *= sizes[dim];
    }
    Geometry::strided(sizes, &strides, 0)
}

/// The dtype in which a tensor is transformed: a float or a complex one; integers and bools become the default dtype.
///
/// # Errors
///
/// 16-bit floats, and others that are not transformed.
pub(crate) fn promoted(dtype: DType) -> Result<DType> {
    match dtype {
        DType::F32 | DType::F64 | DType::Complex64 | DType::Complex128 => Ok(dtype),
        dtype if dtype == DType::Bool || dtype.is_integral() => Ok(default_dtype()),
        other => Err(unsupported(other, "a dtype of 32 or 64 bits")),
    }
}

/// The tensor in a dtype of real numbers.
///
/// # Errors
///
/// Complex numbers; as [`promoted`].
pub(crate) fn as_real(name: &str, input: &Tensor) -> Result<Tensor> {
    let dtype = promoted(input.spec()?.dtype())?;
    if dtype.is_complex() {
        return Err(argument(format!(
            "argument `self` is {dtype}, expected real numbers; use {name} for complex ones"
        )));
    }
    converted(input, dtype)
}

/// The tensor in a dtype of complex numbers.
///
/// # Errors
///
/// As [`promoted`].
pub(crate) fn as_complex(input: &Tensor) -> Result<Tensor> {
    let dtype = promoted(input.spec()?.dtype())?;
    converted(input, if dtype.is_complex() { dtype } else { complex_of(dtype) })
}

fn converted(input: &Tensor, dtype: DType) -> Result<Tensor> {
    if input.dtype() == dtype { Ok(input.clone()) } else { input.to_dtype(dtype) }
}

/// # Errors
///
/// Less than one number to transform.
pub(crate) fn check_points(n: i64) -> Result<()> {
    match n {
        1.. => Ok(()),
        _ => Err(argument(format!("invalid number of data points ({n}) specified, expected 1 at least"))),
    }
}

/// The refusal of a transform along no dimension.
#[cold]
pub(crate) fn no_dimension() -> Error {
    argument("found no dimension to transform, expected one dimension at least")
}

/// The tensor with another size of a dimension: shorter, or with zeros behind.
///
/// # Errors
///
/// A size below 1; one beyond memory.
pub(crate) fn resized(input: &Tensor, dim: usize, size: i64) -> Result<Tensor> {
    check_points(size)?;
    let spec = input.spec()?;
    let found = spec.sizes()[dim];
    if size == found {
        return Ok(input.clone());
    }
    if size < found {
        return SliceTensor.call(input, dim as i64, Some(0), Some(size), 1);
    }
    let mut sizes = spec.sizes().to_vec();
    sizes[dim] = size;
    // What is too large is refused before there are zeros.
    TensorSpec::contiguous(&sizes, spec.dtype(), spec.device())?.bytes()?;
    sizes[dim] = size - found;
    let zeros = Zeros.call(&sizes, Some(spec.dtype()), None, Some(spec.device()), None)?;
    Cat.call(&[input.clone(), zeros], dim as i64)
}

/// Dimensions and their sizes, as transforms of several dimensions take them: all of them, the last ones, or those that are
/// named; -1 means the size that is there.
///
/// # Errors
///
/// Two lists of different lengths; more sizes than dimensions; a dimension out of range or named twice; a size below 1.
pub(crate) fn lengths(
    input: &Tensor,
    sizes: Option<&[i64]>,
    dims: Option<&[i64]>,
) -> Result<(Vec<usize>, Vec<i64>)> {
    let own = input.spec()?.sizes();
    let named = match (sizes, dims) {
        (_, Some(dims)) => dimensions(dims, own.len())?,
        (Some(sizes), None) if sizes.len() <= own.len() => (own.len() - sizes.len()..own.len()).collect(),
        (Some(sizes), None) => {
            let message = format!(
                "argument `s` is {sizes:?}, expected at most {} sizes for `self` of shape {own:?}",
                own.len()
            );
            return Err(argument(message));
        }
        (None, None) => (0..own.len()).collect(),
    };
    let lengths: Vec<i64> = match sizes {
        Some(sizes) if sizes.len() != named.len() => {
            let message = format!(
                "arguments `s` and `dim` are {sizes:?} and {dims:?}, expected as many sizes as dimensions"
            );
            return Err(argument(message));
        }
        Some(sizes) => {
            sizes.iter().zip(&named).map(|(size, dim)| if *size == -1 { own[*dim] } else { *size }).collect()
        }
        None => named.iter().map(|dim| own[*dim]).collect(),
    };
    if lengths.iter().any(|size| *size < 1) {
        return Err(argument(format!(
            "invalid numbers of data points {lengths:?}, expected 1 at least in each dimension"
        )));
    }
    Ok((named, lengths))
}

/// The dimensions as operators take them.
pub(crate) fn numbers(dims: &[usize]) -> Vec<i64> {
    dims.iter().map(|dim| *dim as i64).collect()
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use num_complex::Complex64;
    use opgrid_core::Scalar;

    use super::*;
    use crate::samples::differences::DIED;
    use crate::samples::prelude::*;

    /// A transform along one dimension, as sums: to `n` results of as many elements, zeros behind those that are there.
    pub(crate) fn naive(input: &Plain, dim: usize, n: i64, direction: Direction, scale: f64) -> Plain {
        let mut sizes = input.sizes().to_vec();
        let found = sizes[dim].min(n);
        sizes[dim] = n;
        let sign = if direction == Direction::Forward { -1.0 } else { 1.0 };
        Plain::from_fn(DType::Complex128, &sizes, |position| {
            let mut at = position.to_vec();
            let sum: Complex64 = (0..found)
                .map(|k| {
                    at[dim] = k;
                    // Of equal angles the smaller one, which is more exact.
                    let turns = (i128::from(k) * i128::from(position[dim])).rem_euclid(i128::from(n)) as f64
                        / n as f64;
                    input.at(&at).to_complex()
                        * Complex64::from_polar(1.0, sign * std::f64::consts::TAU * turns)
                })
                .sum();
            Scalar::Complex(sum * scale)
        })
    }

    /// The numbers at the first positions of a dimension.
    pub(crate) fn first(input: &Plain, dim: usize, count: i64) -> Plain {
        let mut sizes = input.sizes().to_vec();
        sizes[dim] = count;
        Plain::from_fn(input.dtype(), &sizes, |position| input.at(position))
    }

    /// The numbers of which these are the first half, where they are those of real numbers: conjugates follow.
    pub(crate) fn mirrored(input: &Plain, dims: &[usize], n: i64) -> Plain {
        let last = dims[dims.len() - 1];
        let mut sizes = input.sizes().to_vec();
        sizes[last] = n;
        Plain::from_fn(DType::Complex128, &sizes, |position| {
            let mut at = position.to_vec();
            if position[last] <= n / 2 {
                let element =
                    if at[last] < input.sizes()[last] { input.at(&at).to_complex() } else { Complex64::ZERO };
                return Scalar::Complex(element);
            }
            for &dim in dims {
                at[dim] = (sizes[dim] - position[dim]) % sizes[dim];
            }
            let element = if at[last] < input.sizes()[last] {
                input.at(&at).to_complex().conj()
            } else {
                Complex64::ZERO
            };
            Scalar::Complex(element)
        })
    }

    /// All real parts.
    pub(crate) fn real(input: &Plain) -> Plain {
        let parts: Vec<Scalar> = input.elements().iter().map(|x| Scalar::Float(x.to_complex().re)).collect();
        Plain::of(DType::F64, input.sizes(), &parts)
    }

    /// The differences from torch that all transforms have.
    pub(crate) const DIFFERENCES: &[Difference] = &[
        Difference {
            id: "transforms-into-other-dtypes",
            what: "torch computes some transforms in the dtype of the output, which it then refuses beside its own intermediate \
                   results; here results are converted to the output",
            why: "one rule for all outputs",
            test: ("opgrid-tensor/tests/all/differences/outputs.rs", "outputs_take_what_converts_to_them"),
            when: |seen| seen.family().starts_with("fft_") && seen.torch_refuses("Found dtype"),
            directed: None,
        },
        Difference {
            id: "transforms-keep-imaginary-parts",
            what: "torch's kernels of transforms write to outputs of any dtype, where imaginary parts and fractions are lost; here \
                   that is refused",
            why: "nothing is lost silently",
            test: ("opgrid-tensor/tests/all/differences/refused.rs", "what_torch_does_not_check_is_refused"),
            when: |seen| {
                seen.family().starts_with("_fft_")
                    && seen.we_refuse("can't be cast to the desired output type")
            },
            directed: None,
        },
        Difference {
            id: "transforms-of-conjugates-are-written",
            what: "torch gives outputs of `ihfft2` and `ihfftn` back without the result where it conjugates it; here it is written",
            why: "an output is there to hold the result",
            test: ("opgrid-tensor/tests/all/differences/outputs.rs", "outputs_of_any_strides_are_written"),
            when: |seen| {
                let is_such = matches!(seen.operator, "aten::fft_ihfft2.out" | "aten::fft_ihfftn.out");
                let Some(out) = seen.out() else { return false };
                let is_left = |(_, _, torch): &(DType, Complex64, Complex64)| out.elements.contains(torch);
                let is_unwritten = match seen.part {
                    Part::Sizes => seen.torch == format!("{:?}", out.geometry.sizes()),
                    Part::Strides | Part::Offset => out.is_empty(),
                    _ => seen.each(is_left),
                };
                is_such && is_unwritten
            },
            directed: None,
        },
        Difference {
            id: "transforms-lie-as-their-inputs",
            what: "torch decides on the order of transformed dimensions by copies of what repeats elements; here the input itself \
                   decides",
            why: "one rule for all operators",
            test: ("opgrid-tensor/tests/all/differences/layouts.rs", "results_do_not_depend_on_the_layout"),
            when: |seen| {
                let repeats = seen.inputs().iter().any(|input| input.repeats());
                seen.family().contains("fft_") && repeats && seen.are_both_dense()
            },
            directed: None,
        },
        Difference {
            id: "transforms-along-dimensions-from-the-end",
            what: "torch's kernels of transforms do not know dimensions that count from the end, which an assertion within them meets, \
                   or memory beside the tensor, or nothing where sizes are checked; here they are those that are meant",
            why: "one rule for all dimensions",
            test: ("opgrid-tensor/tests/all/differences/layouts.rs", "transforms_by_their_kernels"),
            when: |seen| {
                let Some(Argument::Ints(dims)) = seen.argument("dim") else { return false };
                let is_met = seen.torch_refuses("") || seen.part != Part::Outcome;
                let is_met = is_met || seen.we_refuse("argument `last_dim_size` is");
                seen.family().starts_with("_fft_") && is_met && dims.iter().any(|dim| *dim < 0)
            },
            directed: None,
        },
        Difference {
            id: "normalisations-of-transforms-are-checked",
            what: "torch's kernels of transforms take any number for a normalisation, and then divide by nothing; here the three that \
                   there are",
            why: "a wrong number is a mistake that nobody notices",
            test: ("opgrid-tensor/tests/all/differences/refused.rs", "places_that_are_not_there"),
            when: |seen| seen.family().starts_with("_fft_") && seen.we_refuse("argument `normalization` is"),
            directed: None,
        },
        Difference {
            id: "transforms-along-dimensions-once",
            what: "torch's kernels of transforms take a dimension that is named twice; here that is refused, as in all other transforms",
            why: "the result of a second transform of what is half a spectrum says nothing",
            test: ("opgrid-tensor/tests/all/differences/refused.rs", "places_that_are_not_there"),
            when: |seen| {
                let names_twice = seen.we_refuse("which names dimension") && seen.we_refuse("twice");
                seen.family().starts_with("_fft_") && names_twice
            },
            directed: None,
        },
        Difference {
            id: "more-than-half-of-a-spectrum",
            what: "torch's `_fft_c2r` meets an assertion within it, or memory beside its result, where there are more elements than half \
                   of the results; here those beyond are left out",
            why: "the result that `fft_irfft` has",
            test: ("opgrid-tensor/tests/all/differences/layouts.rs", "transforms_by_their_kernels"),
            when: |seen| {
                let (Some(input), Some(Argument::Ints(dims))) = (seen.tensor("self"), seen.argument("dim"))
                else {
                    return false;
                };
                let Some(Scalar::Int(size)) = seen.number("last_dim_size") else { return false };
                let last = dims.last().and_then(|dim| normalise_dim(*dim, input.geometry.dims()).ok());
                let is_met = seen.torch_refuses("INTERNAL ASSERT FAILED")
                    || seen.torch_refuses(DIED)
                    || matches!(seen.part, Part::Values | Part::Written);
                is_met && last.is_some_and(|last| input.geometry.sizes()[last] > size / 2 + 1)
            },
            directed: None,
        },
    ];
}
