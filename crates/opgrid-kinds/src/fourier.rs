//! What Fourier transforms share: lengths, dimensions, norms, and plain sums for samples.

use opgrid_core::{DType, Error, MemoryFormat, Result};

use opgrid_array::error::argument;
use opgrid_kernels::fourier::Direction;
use opgrid_tensor::ops::{Cat, SliceTensor, Zeros};
use opgrid_tensor::tensor::choose::unsupported;
use opgrid_tensor::tensor::views::normalise_dim;
use opgrid_tensor::tensor::{Dims, Geometry, Tensor, TensorSpec, complex_of, default_dtype};

/// What results are divided by, as transforms take it: nothing, the root of the number of elements, or that number.
pub const NOT: i64 = 0;
pub(crate) const BY_ROOT: i64 = 1;
pub(crate) const BY_NUMBER: i64 = 2;

/// The normalisation that a word asks for: `backward`, which is the default, divides what is transformed backward.
///
/// # Errors
///
/// Another word.
pub fn normalisation(norm: Option<&str>, direction: Direction) -> Result<i64> {
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
pub fn scale(normalisation: i64, sizes: impl Iterator<Item = i64>) -> Result<f64> {
    let count: f64 = sizes.map(|size| size as f64).product();
    match normalisation {
        NOT => Ok(1.0),
        BY_ROOT => Ok(1.0 / count.sqrt()),
        BY_NUMBER => Ok(1.0 / count),
        _ => Err(argument(format!(
            "argument `normalization` is {normalisation}, expected 0 (none), 1 (by the square root of \
             the number of elements) or 2 (by the number of elements)"
        ))),
    }
}

/// The dimensions that are meant, each once.
///
/// # Errors
///
/// One out of range, or named twice.
pub fn dimensions(dims: &[i64], rank: usize) -> Result<Vec<usize>> {
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
pub fn geometry(sizes: &[i64], like: &Geometry, dims: &[usize], sorted: usize) -> Result<Geometry> {
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
/// Complex numbers; as `promoted`.
pub fn as_real(name: &str, input: &Tensor) -> Result<Tensor> {
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
/// As `promoted`.
pub fn as_complex(input: &Tensor) -> Result<Tensor> {
    let dtype = promoted(input.spec()?.dtype())?;
    converted(input, if dtype.is_complex() { dtype } else { complex_of(dtype) })
}

fn converted(input: &Tensor, dtype: DType) -> Result<Tensor> {
    if input.dtype() == dtype { Ok(input.clone()) } else { input.to_dtype(dtype) }
}

/// Checks the number of points of a transform.
///
/// # Errors
///
/// Less than one number to transform.
pub fn check_points(n: i64) -> Result<()> {
    match n {
        1.. => Ok(()),
        _ => Err(argument(format!("invalid number of data points ({n}) specified, expected at least 1"))),
    }
}

/// The refusal of a transform along no dimension.
#[cold]
pub fn no_dimension() -> Error {
    argument("found no dimension to transform, expected at least one dimension")
}

/// The tensor with another size of a dimension: shorter, or with zeros behind.
///
/// # Errors
///
/// A size below 1; one beyond memory.
pub fn resized(input: &Tensor, dim: usize, size: i64) -> Result<Tensor> {
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
pub fn lengths(
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
                "arguments `s` and `dim` are {sizes:?} and {named:?}, expected as many sizes as dimensions"
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
            "invalid numbers of data points {lengths:?}, expected at least 1 in each dimension"
        )));
    }
    Ok((named, lengths))
}

/// The dimensions as operators take them.
pub fn numbers(dims: &[usize]) -> Vec<i64> {
    dims.iter().map(|dim| *dim as i64).collect()
}

/// Samples of Fourier transforms.
#[cfg(feature = "samples")]
pub mod samples {
    use num_complex::Complex64;
    use opgrid_core::Scalar;

    use super::*;

    use opgrid_samples::prelude::*;

    /// A transform along one dimension, as sums: to `n` results of as many elements, zeros behind those that are there.
    pub fn naive(input: &Plain, dim: usize, n: i64, direction: Direction, scale: f64) -> Plain {
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
    pub fn first(input: &Plain, dim: usize, count: i64) -> Plain {
        let mut sizes = input.sizes().to_vec();
        sizes[dim] = count;
        Plain::from_fn(input.dtype(), &sizes, |position| input.at(position))
    }

    /// The numbers of which these are the first half, where they are those of real numbers: conjugates follow.
    pub fn mirrored(input: &Plain, dims: &[usize], n: i64) -> Plain {
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
    pub fn real(input: &Plain) -> Plain {
        let parts: Vec<Scalar> = input.elements().iter().map(|x| Scalar::Float(x.to_complex().re)).collect();
        Plain::from_elements(DType::F64, input.sizes(), &parts)
    }
}
