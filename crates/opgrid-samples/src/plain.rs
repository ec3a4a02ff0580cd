//! Tensors as plain numbers: sizes and a list of elements, for references that share no code with kernels.

use std::fmt;

use num_complex::{Complex, Complex64};
use opgrid_core::{DType, Error, ErrorKind, Result, Scalar};
use opgrid_tensor::tensor::{bf16, f16};

use opgrid_array::with_dtype;
use opgrid_tensor::tensor::{Array, Element, Number, Tensor, iinfo};

/// A tensor as plain numbers, in row-major order. Each is a number that the dtype has.
///
/// # Examples
///
/// ```
/// use opgrid_core::{DType, Scalar};
/// use opgrid_samples::Plain;
///
/// let x = Plain::from_elements(DType::U8, &[2, 2], &[1, 2, 3, 260]);
/// assert_eq!(x.at(&[1, 1]), Scalar::Int(4));
/// assert_eq!(x.to_string(), "uint8 [2, 2] (1, 2, 3, 4)");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Plain {
    sizes: Vec<i64>,
    dtype: DType,
    elements: Vec<Scalar>,
}

impl Plain {
    /// A tensor of those elements, converted to the dtype. If there are too few, they come again from the first one
    /// on; without any all are zero.
    pub fn from_elements<T: Into<Scalar> + Copy>(dtype: DType, sizes: &[i64], elements: &[T]) -> Self {
        let count = sizes.iter().product::<i64>().max(0) as usize;
        let given = elements.iter().map(|element| convert((*element).into(), dtype));
        let elements = match elements {
            [] => vec![convert(Scalar::Int(0), dtype); count],
            _ => given.cycle().take(count).collect(),
        };
        Self { sizes: sizes.to_vec(), dtype, elements }
    }

    /// A tensor without dimensions.
    pub fn number(dtype: DType, value: impl Into<Scalar> + Copy) -> Self {
        Self::from_elements(dtype, &[], &[value])
    }

    /// A tensor of which each element is computed from its position.
    pub fn from_fn(dtype: DType, sizes: &[i64], element: impl Fn(&[i64]) -> Scalar) -> Self {
        Self::from_positions(dtype, sizes, &element)
    }

    /// [`from_fn`](Self::from_fn), compiled once.
    fn from_positions(dtype: DType, sizes: &[i64], element: &dyn Fn(&[i64]) -> Scalar) -> Self {
        let elements = positions(sizes).map(|position| convert(element(&position), dtype)).collect();
        Self { sizes: sizes.to_vec(), dtype, elements }
    }

    /// The size of each dimension.
    pub fn sizes(&self) -> &[i64] {
        &self.sizes
    }

    /// The dtype.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The elements, the last dimension the fastest.
    pub fn elements(&self) -> &[Scalar] {
        &self.elements
    }

    /// The element at a position. Dimensions of size 1 repeat theirs, and the position may have more dimensions in
    /// front, as where shapes broadcast. Beyond the ends there are zeros.
    pub fn at(&self, position: &[i64]) -> Scalar {
        let own = &position[position.len().saturating_sub(self.sizes.len())..];
        let place = own
            .iter()
            .zip(&self.sizes)
            .fold(0, |place, (&index, &size)| place * size + if size == 1 { 0 } else { index });
        self.elements.get(place as usize).copied().unwrap_or(convert(Scalar::Int(0), self.dtype))
    }

    /// Replaces the element at a position, as the dtype has it. Beyond the ends there is nothing to replace.
    pub fn set(&mut self, position: &[i64], element: Scalar) {
        let place = position.iter().zip(&self.sizes).fold(0, |place, (index, size)| place * size + index);
        if let Some(old) = self.elements.get_mut(place as usize) {
            *old = convert(element, self.dtype);
        }
    }

    /// The dimensions in another order: dimension `order[i]` becomes dimension `i`.
    pub fn permuted(&self, order: &[usize]) -> Self {
        let sizes: Vec<i64> = order.iter().map(|&dim| self.sizes[dim]).collect();
        Self::from_fn(self.dtype, &sizes, |position| {
            let mut own = vec![0; position.len()];
            order.iter().zip(position).for_each(|(&dim, &index)| own[dim] = index);
            self.at(&own)
        })
    }

    /// Converts the numbers to another dtype.
    pub fn to(&self, dtype: DType) -> Self {
        let elements = self.elements.iter().map(|element| convert(*element, dtype)).collect();
        Self { sizes: self.sizes.clone(), dtype, elements }
    }

    /// Returns the elements under other sizes with the same number of elements.
    pub fn with_sizes(&self, sizes: &[i64]) -> Self {
        Self::from_elements(self.dtype, sizes, &self.elements)
    }

    /// A contiguous tensor on the CPU with these elements.
    ///
    /// # Errors
    ///
    /// A dtype whose elements cannot be stored, sizes that cannot be, no memory.
    pub fn to_tensor(&self) -> Result<Tensor> {
        let array = with_dtype!(self.dtype, T: Stored => {
            let elements: Vec<T> = self.elements.iter().map(|element| T::from_number(to_number(*element))).collect();
            Array::from_slice(&elements, &self.sizes)
        })?;
        Tensor::from_array(array)
    }

    /// The elements of a tensor that has data.
    ///
    /// # Errors
    ///
    /// A meta tensor, a dtype that holds no numbers.
    pub fn from_tensor(tensor: &Tensor) -> Result<Self> {
        let elements = with_dtype!(tensor.spec()?.dtype(), T: Stored => {
            let elements = tensor.to_vec::<T>()?;
            Ok(elements.into_iter().map(|element| to_scalar(element.number())).collect())
        })?;
        Ok(Self { sizes: tensor.sizes().to_vec(), dtype: tensor.dtype(), elements })
    }
}

impl fmt::Display for Plain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 12;
        write!(f, "{} {:?} (", self.dtype, self.sizes)?;
        for (place, element) in self.elements.iter().take(SHOWN).enumerate() {
            write!(f, "{}{element}", if place == 0 { "" } else { ", " })?;
        }
        f.write_str(if self.elements.len() > SHOWN { ", …)" } else { ")" })
    }
}

/// All positions of a shape, the last dimension the fastest.
pub fn positions(sizes: &[i64]) -> impl Iterator<Item = Vec<i64>> {
    let count = sizes.iter().product::<i64>().max(0);
    (0..count).map(move |mut place| {
        let mut position = vec![0; sizes.len()];
        for (index, size) in position.iter_mut().zip(sizes).rev() {
            *index = place % size;
            place /= size;
        }
        position
    })
}

/// The number that a dtype has for another: the nearest float, the nearest integer to a float without its fraction, an
/// integer without its high bits, the real part, or whether it is not zero.
pub fn convert(number: Scalar, dtype: DType) -> Scalar {
    match dtype {
        DType::Bool => Scalar::Bool(number.to_bool()),
        DType::Complex64 => {
            let Complex { re, im } = number.to_complex();
            Scalar::Complex(Complex64::new(f64::from(re as f32), f64::from(im as f32)))
        }
        DType::Complex128 => Scalar::Complex(number.to_complex()),
        DType::F16 => Scalar::Float(f16::from_f64(real(number)).to_f64()),
        DType::BF16 => Scalar::Float(bf16::from_f64(real(number)).to_f64()),
        DType::F32 => Scalar::Float(f64::from(real(number) as f32)),
        dtype if dtype.is_float8() => {
            let nearest = with_dtype!(dtype, T: AnyFloat => Ok((real(number) as f32).cast::<T>().cast()));
            Scalar::Float(nearest.expect("there is a type for each float"))
        }
        dtype if dtype.is_floating_point() => Scalar::Float(real(number)),
        _ => {
            let whole = exact(number).unwrap_or_else(|| {
                let (least, most) = iinfo(dtype).map_or((i64::MIN.into(), i64::MAX.into()), |limits| {
                    (i128::from(limits.min), i128::from(limits.max))
                });
                (real(number) as i128).clamp(least, most)
            });
            // The lowest bits, with the sign in the highest of them.
            let cut = 128 - 8 * dtype.size_in_bytes() as u32;
            integer(if dtype.is_signed() {
                whole << cut >> cut
            } else {
                ((whole as u128) << cut >> cut) as i128
            })
        }
    }
}

/// The number, if it is an integer.
pub fn exact(number: Scalar) -> Option<i128> {
    match number {
        Scalar::Int(value) => Some(value.into()),
        Scalar::UInt(value) => Some(value.into()),
        _ => None,
    }
}

/// An integer as a number, with its lowest 64 bits where it has more.
pub fn integer(value: i128) -> Scalar {
    u64::try_from(value).map_or(Scalar::Int(value as i64), Scalar::from)
}

/// The real part of a number.
pub(super) fn real(number: Scalar) -> f64 {
    number.to_complex().re
}

fn to_number(number: Scalar) -> Number {
    match number {
        Scalar::Int(value) => Number::I64(value),
        Scalar::UInt(value) => Number::U64(value),
        Scalar::Float(value) => Number::F64(value),
        Scalar::Complex(value) => Number::Complex128(value),
        Scalar::Bool(value) => Number::Bool(value),
    }
}

fn to_scalar(number: Number) -> Scalar {
    match number {
        Number::F32(value) => Scalar::Float(value.into()),
        Number::F64(value) => Scalar::Float(value),
        Number::I64(value) => Scalar::Int(value),
        Number::U64(value) => value.into(),
        Number::Bool(value) => Scalar::Bool(value),
        complex => Scalar::Complex(Element::from_number(complex)),
    }
}

/// # Errors
///
/// Always: for references that find something in a sample that cannot be.
pub(super) fn strange(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Argument, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_become_those_of_the_dtype() {
        let cases = [
            (Scalar::Int(300), DType::U8, Scalar::Int(44)),
            (Scalar::Float(-1.75), DType::I8, Scalar::Int(-1)),
            (Scalar::Int(-1), DType::U64, Scalar::UInt(u64::MAX)),
            (Scalar::UInt(u64::MAX), DType::I64, Scalar::Int(-1)),
            (Scalar::Float(1e30), DType::U64, Scalar::UInt(u64::MAX)),
            (Scalar::Float(f64::NAN), DType::I64, Scalar::Int(0)),
            (Scalar::Float(1.0 + 1e-4), DType::F16, Scalar::Float(1.0)),
            (Scalar::Float(1e39), DType::F32, Scalar::Float(f64::INFINITY)),
            (Scalar::Complex(Complex64::new(2.5, 1.0)), DType::F64, Scalar::Float(2.5)),
            (Scalar::Float(0.5), DType::Bool, Scalar::Bool(true)),
        ];
        for (number, dtype, expected) in cases {
            assert_eq!(convert(number, dtype), expected, "{number} as {dtype}");
        }
    }

    #[test]
    fn elements_go_to_a_tensor_and_back() -> Result<()> {
        for dtype in super::super::ANY {
            let x = super::super::generate::numbers(*dtype, &[2, 3], 1);
            assert_eq!(Plain::from_tensor(&x.to_tensor()?)?, x);
        }
        Ok(())
    }

    #[test]
    fn positions_reach_elements_as_shapes_broadcast() {
        let x = Plain::from_elements(DType::I64, &[2, 1], &[10, 20]);
        assert_eq!(x.at(&[1, 7]), Scalar::Int(20));
        assert_eq!(x.at(&[9, 1, 0]), Scalar::Int(20));
        assert_eq!(Plain::number(DType::I64, 3).at(&[4, 4]), Scalar::Int(3));
        assert_eq!(x.permuted(&[1, 0]), Plain::from_elements(DType::I64, &[1, 2], &[10, 20]));
        assert_eq!(positions(&[2, 2]).collect::<Vec<_>>(), [[0, 0], [0, 1], [1, 0], [1, 1]]);
        assert_eq!(positions(&[0, 2]).count(), 0);
    }
}
