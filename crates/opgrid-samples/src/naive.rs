//! Plain loops over the arguments of a sample: element by element, and over dimensions.

use num_complex::Complex64;
use opgrid_core::{DType, Result, Scalar};

use super::plain::strange;
pub use super::plain::{convert, positions};
use super::{Expected, Given, Inputs, Plain, number};
use opgrid_tensor::tensor::{complex_of, default_dtype, inexact, part_of, promote_types};

/// The dtypes of an element-wise operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DTypeRule {
    /// Computed in the arguments' common dtype, which is that of the result.
    Promoted,
    /// Computed in the arguments' common dtype, or in the default dtype if that is integral.
    Inexact,
    /// Computed in the common dtype; the result is bool.
    Bool,
    /// Computed in the common dtype; the result has that of the parts if it is complex.
    Part,
    /// Computed in the common dtype, or in the default dtype if that is integral; the result has the dtype of the
    /// parts if it is complex.
    InexactPart,
}

/// What counts more for the common dtype: tensors with dimensions, those without, numbers in a tensor's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Weight {
    Dimensions,
    NoDimensions,
    Number,
}

impl Inputs {
    /// What a function of one element gives for the first argument.
    ///
    /// # Errors
    ///
    /// It is no tensor.
    pub fn unary(&self, rule: DTypeRule, function: impl Fn(Scalar) -> Scalar) -> Result<Expected> {
        self.elementwise(1, rule, &|x| function(x[0]))
    }

    /// What a function of floats and complex numbers gives for the first argument; integers and bools are floats first.
    ///
    /// # Errors
    ///
    /// It is no tensor.
    pub fn inexact(&self, floats: fn(f64) -> f64, complex: fn(Complex64) -> Complex64) -> Result<Expected> {
        self.unary(DTypeRule::Inexact, |x| number::inexact(x, floats, complex))
    }

    /// What a function of two elements gives for the first two arguments, of which one may be a number.
    ///
    /// # Errors
    ///
    /// One is neither a tensor nor a number; shapes that do not broadcast.
    pub fn binary(&self, rule: DTypeRule, function: impl Fn(Scalar, Scalar) -> Scalar) -> Result<Expected> {
        self.elementwise(2, rule, &|x| function(x[0], x[1]))
    }

    /// Computes a function of three elements for the first three arguments.
    ///
    /// # Errors
    ///
    /// As [`binary`](Self::binary).
    pub fn ternary(
        &self,
        rule: DTypeRule,
        function: impl Fn(Scalar, Scalar, Scalar) -> Scalar,
    ) -> Result<Expected> {
        self.elementwise(3, rule, &|x| function(x[0], x[1], x[2]))
    }

    fn elementwise(
        &self,
        count: usize,
        rule: DTypeRule,
        function: &dyn Fn(&[Scalar]) -> Scalar,
    ) -> Result<Expected> {
        let operands = self.arguments().iter().take(count).map(|(name, given)| operand(name, given));
        let operands = operands.collect::<Result<Vec<_>>>()?;
        let common = common_dtype(&operands)?;
        let (computed, result) = match rule {
            DTypeRule::Promoted => (common, common),
            DTypeRule::Inexact => (inexact(common), inexact(common)),
            DTypeRule::Bool => (common, DType::Bool),
            DTypeRule::Part => (common, part_of(common)),
            DTypeRule::InexactPart => (inexact(common), part_of(inexact(common))),
        };
        let sizes = broadcast(operands.iter().map(|(tensor, _)| tensor.sizes()))?;
        let result = Plain::from_fn(result, &sizes, |position| {
            let elements: Vec<_> =
                operands.iter().map(|(tensor, _)| convert(tensor.at(position), computed)).collect();
            function(&elements)
        });
        Ok(result.into())
    }

    /// The argument of that name as a tensor, which a number is too.
    ///
    /// # Errors
    ///
    /// It is neither.
    pub fn operand(&self, name: &str) -> Result<Plain> {
        Ok(operand(name, self.argument(name)?)?.0)
    }

    /// The common dtype of the arguments with these names, as promotion has it.
    ///
    /// # Errors
    ///
    /// One is neither a tensor nor a number.
    pub fn common_dtype(&self, names: &[&str]) -> Result<DType> {
        let mut operands = Vec::new();
        for (name, given) in self.arguments().iter().filter(|(name, _)| names.contains(&name.as_str())) {
            match given {
                Given::Tensors(list) => operands.extend(list.iter().map(weighted)),
                one => operands.push(operand(name, one)?),
            }
        }
        common_dtype(&operands)
    }
}

fn weighted(tensor: &Plain) -> (Plain, Weight) {
    let weight = if tensor.sizes().is_empty() { Weight::NoDimensions } else { Weight::Dimensions };
    (tensor.clone(), weight)
}

fn operand(name: &str, given: &Given) -> Result<(Plain, Weight)> {
    match given {
        Given::Tensor(tensor) => Ok(weighted(tensor)),
        Given::Value(value) => {
            let number = value.borrow().as_scalar();
            let number =
                number.ok_or_else(|| strange(format!("argument `{name}` is {value}, expected a number")))?;
            Ok((Plain::number(dtype_of(number), number), Weight::Number))
        }
        other => Err(strange(format!("argument `{name}` is {other}, expected a tensor or a number"))),
    }
}

/// The dtype that a number counts with.
pub(super) fn dtype_of(number: Scalar) -> DType {
    match number {
        Scalar::Bool(_) => DType::Bool,
        Scalar::Int(_) | Scalar::UInt(_) => DType::I64,
        Scalar::Float(_) => default_dtype(),
        Scalar::Complex(_) => complex_of(default_dtype()),
    }
}

fn common_dtype(operands: &[(Plain, Weight)]) -> Result<DType> {
    let mut common: Option<DType> = None;
    for weight in [Weight::Dimensions, Weight::NoDimensions, Weight::Number] {
        let mut dtypes = operands.iter().filter(|(_, own)| *own == weight).map(|(tensor, _)| tensor.dtype());
        let Some(first) = dtypes.next() else { continue };
        let together = dtypes.try_fold(first, promote_types)?;
        common = Some(match common {
            None => together,
            Some(heavy) if kind(together) <= kind(heavy) => heavy,
            Some(heavy) if heavy.is_floating_point() => complex_of(heavy),
            Some(heavy) => promote_types(heavy, together)?,
        });
    }
    common.ok_or_else(|| strange("there is no argument to take the dtype from"))
}

/// bool, integers, floats, complex numbers.
fn kind(dtype: DType) -> u8 {
    match dtype {
        DType::Bool => 0,
        dtype if dtype.is_complex() => 3,
        dtype if dtype.is_floating_point() => 2,
        _ => 1,
    }
}

/// The shape that several broadcast to.
///
/// # Errors
///
/// Two sizes that differ and of which none is 1.
pub fn broadcast<'a>(shapes: impl Iterator<Item = &'a [i64]>) -> Result<Vec<i64>> {
    let mut result: Vec<i64> = Vec::new();
    for shape in shapes {
        while result.len() < shape.len() {
            result.insert(0, 1);
        }
        let behind = result.len() - shape.len();
        for (own, &size) in result[behind..].iter_mut().zip(shape) {
            match (*own, size) {
                (1, size) => *own = size,
                (own, size) if own == size || size == 1 => {}
                (own, size) => return Err(strange(format!("sizes {own} and {size} do not broadcast"))),
            }
        }
    }
    Ok(result)
}

/// The average of each row, which has the dimensions from `axis` on, and one divided by the root of its variance and `eps`: in
/// double precision, with size 1 for these dimensions. A row without elements has the average zero.
pub fn row_statistics(x: &Plain, axis: usize, eps: f64) -> (Plain, Plain) {
    let (outer, inner) = x.sizes().split_at(axis);
    let sizes = [outer, &vec![1; inner.len()]].concat();
    let row = |position: &[i64]| -> Vec<f64> {
        let before = &position[..axis];
        positions(inner).map(|inner| x.at(&[before, &inner].concat()).to_complex().re).collect()
    };
    let average = |row: &[f64]| match row.len() {
        0 => 0.0,
        n => row.iter().sum::<f64>() / n as f64,
    };
    let means = Plain::from_fn(DType::F64, &sizes, |position| Scalar::Float(average(&row(position))));
    let rstds = Plain::from_fn(DType::F64, &sizes, |position| {
        let row = row(position);
        let mean = average(&row);
        let squares = row.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>();
        Scalar::Float(1.0 / (squares / row.len() as f64 + eps).sqrt())
    });
    (means, rstds)
}

/// What the transpose of a linear function makes of `grad`: each element of the result, which has these sizes, is the sum of the
/// elements of `grad`, weighed by what the function gives for a one in its place and zeros elsewhere.
///
/// # Errors
///
/// Those of the function.
pub fn transposed(grad: &Plain, sizes: &[i64], function: impl Fn(&Plain) -> Result<Plain>) -> Result<Plain> {
    let mut result = Plain::from_elements::<i64>(grad.dtype(), sizes, &[]);
    for position in positions(sizes) {
        let mut one = Plain::from_elements::<i64>(DType::F64, sizes, &[]);
        one.set(&position, Scalar::Int(1));
        let weights = function(&one)?;
        let pairs = grad.elements().iter().zip(weights.elements());
        let terms = pairs.filter_map(|(element, weight)| match weight.to_complex().re {
            0.0 => None,
            1.0 => Some(*element),
            _ => Some(number::times(*element, *weight)),
        });
        result.set(&position, terms.reduce(number::plus).unwrap_or(Scalar::Int(0)));
    }
    Ok(result)
}

/// The dimension that a number means, from the end if it is negative.
pub fn dimension(dim: i64, dims: usize) -> usize {
    if dim < 0 { (dim + dims as i64).max(0) as usize } else { dim as usize }
}

impl Plain {
    /// One element for all along some dimensions, which disappear or get the size 1. `None` and an empty list mean all.
    pub fn reduced(
        &self,
        dims: Option<&[i64]>,
        keepdim: bool,
        dtype: DType,
        function: impl Fn(&[Scalar]) -> Scalar,
    ) -> Self {
        self.reduced_by(dims, keepdim, dtype, &function)
    }

    /// [`reduced`](Self::reduced), compiled once.
    fn reduced_by(
        &self,
        dims: Option<&[i64]>,
        keepdim: bool,
        dtype: DType,
        function: &dyn Fn(&[Scalar]) -> Scalar,
    ) -> Self {
        let rank = self.sizes().len();
        let named: Vec<usize> = dims.unwrap_or(&[]).iter().map(|&dim| dimension(dim, rank)).collect();
        let is_reduced = |dim: usize| named.is_empty() || named.contains(&dim);
        let split = |reduced: bool| -> Vec<i64> {
            let sizes = self.sizes().iter().enumerate();
            sizes.map(|(dim, &size)| if is_reduced(dim) == reduced { size } else { 1 }).collect()
        };
        let (kept, inner) = (split(false), split(true));
        let full = Self::from_fn(dtype, &kept, |outer| {
            let along = positions(&inner).map(|inner| {
                let position: Vec<i64> =
                    outer.iter().zip(inner).map(|(outer, inner)| outer + inner).collect();
                self.at(&position)
            });
            function(&along.collect::<Vec<_>>())
        });
        let sizes = kept.iter().enumerate().filter(|(dim, _)| keepdim || !is_reduced(*dim));
        full.with_sizes(&sizes.map(|(_, &size)| size).collect::<Vec<_>>())
    }

    /// What a function makes of the lines of tensors of the same sizes along `dim`: a line of as many elements.
    pub fn of_lines(
        inputs: &[&Self],
        dim: i64,
        dtype: DType,
        function: impl Fn(&[Vec<Scalar>]) -> Vec<Scalar>,
    ) -> Self {
        let length = |length| length;
        Self::of_lines_by(inputs, dim, dtype, &length, &function)
    }

    /// Computes lines of another length from the lines of tensors along `dim`.
    pub fn of_lines_by(
        inputs: &[&Self],
        dim: i64,
        dtype: DType,
        length: &dyn Fn(i64) -> i64,
        function: &dyn Fn(&[Vec<Scalar>]) -> Vec<Scalar>,
    ) -> Self {
        let sizes = inputs.first().map_or(&[][..], |input| input.sizes());
        let whole = if sizes.is_empty() { &[1] } else { sizes };
        let (dim, inputs) =
            (dimension(dim, whole.len()), inputs.iter().map(|x| x.with_sizes(whole)).collect::<Vec<_>>());
        let (mut outer, mut result) = (whole.to_vec(), whole.to_vec());
        (outer[dim], result[dim]) = (1, length(whole[dim]));
        let mut filled = Self::from_elements(dtype, &result, &[0]);
        for start in positions(&outer) {
            let at = |k: i64| {
                start.iter().enumerate().map(|(d, i)| if d == dim { k } else { *i }).collect::<Vec<_>>()
            };
            let lines = inputs.iter().map(|x| (0..whole[dim]).map(|k| x.at(&at(k))).collect());
            for (k, element) in (0..result[dim]).zip(function(&lines.collect::<Vec<_>>())) {
                filled.set(&at(k), element);
            }
        }
        if sizes.is_empty() && result == [1] { filled.with_sizes(&[]) } else { filled }
    }

    /// The products of the matrices in the last two dimensions of both; those before broadcast.
    ///
    /// # Errors
    ///
    /// One has fewer than two dimensions; those before do not broadcast.
    pub fn product(&self, other: &Self) -> Result<Self> {
        let ([stack, m, k], [other_stack, _, n]) = (self.stack()?, other.stack()?);
        let stack = broadcast([stack, other_stack].into_iter())?;
        Ok(Self::from_fn(self.dtype(), &[&stack[..], m, n].concat(), |position| {
            let (stack, cell) = position.split_at(position.len() - 2);
            let element = |x: &Self, row, column| x.at(&[stack, &[row, column]].concat());
            let terms =
                (0..k[0]).map(|at| number::times(element(self, cell[0], at), element(other, at, cell[1])));
            terms.reduce(number::plus).unwrap_or(Scalar::Int(0))
        }))
    }

    /// The sizes before the last two, and those.
    fn stack(&self) -> Result<[&[i64]; 3]> {
        let sizes = self.sizes();
        let Some(before) = sizes.len().checked_sub(2) else {
            return Err(strange(format!("expected a matrix, found {self}")));
        };
        Ok([&sizes[..before], &sizes[before..=before], &sizes[before + 1..]])
    }
}

/// The positions of elements other than zero, in row-major order.
pub fn places_other_than_zero(x: &Plain) -> Vec<Vec<i64>> {
    positions(x.sizes()).filter(|position| x.at(position).to_bool()).collect()
}

/// The indices of elements other than zero: a list for each dimension, as `nonzero_numpy` gives them.
pub fn columns_of_places(x: &Plain) -> Result<Expected> {
    let there = places_other_than_zero(x);
    let column = |dim: usize| {
        let column: Vec<i64> = there.iter().map(|place| place.get(dim).copied().unwrap_or(0)).collect();
        Plain::from_elements(DType::I64, &[column.len() as i64], &column).into()
    };
    Ok(Expected::Several((0..x.sizes().len().max(1)).map(column).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn integers(sizes: &[i64], elements: &[i64]) -> Plain {
        Plain::from_elements(DType::I64, sizes, elements)
    }

    #[test]
    fn reductions_keep_the_other_dimensions() {
        let x = integers(&[2, 3], &[1, 2, 3, 4, 5, 6]);
        let sum =
            |elements: &[Scalar]| elements.iter().copied().reduce(number::plus).unwrap_or(Scalar::Int(0));
        let reduced = |dims: &[i64], keepdim| x.reduced(Some(dims), keepdim, DType::I64, sum);
        assert_eq!(reduced(&[0], false), integers(&[3], &[5, 7, 9]));
        assert_eq!(reduced(&[-1], true), integers(&[2, 1], &[6, 15]));
        assert_eq!(reduced(&[], false), integers(&[], &[21]));
        let none = integers(&[0, 2], &[]).reduced(Some(&[0]), false, DType::I64, sum);
        assert_eq!(none, integers(&[2], &[0, 0]));
    }

    #[test]
    fn products_broadcast_their_stacks() -> Result<()> {
        let (a, b) = (integers(&[2, 1, 2], &[1, 2, 3, 4]), integers(&[2, 1], &[10, 100]));
        assert_eq!(a.product(&b)?, integers(&[2, 1, 1], &[210, 430]));
        assert!(integers(&[2], &[1]).product(&b).is_err());
        Ok(())
    }

    #[test]
    fn dtypes_with_dimensions_outweigh_others_of_their_kind() -> Result<()> {
        let of = |dtype, sizes: &[i64], weight| (Plain::from_elements::<i64>(dtype, sizes, &[]), weight);
        let cases = [
            ([of(DType::U8, &[2], Weight::Dimensions), of(DType::I64, &[], Weight::NoDimensions)], DType::U8),
            (
                [of(DType::U8, &[2], Weight::Dimensions), of(DType::F64, &[], Weight::NoDimensions)],
                DType::F64,
            ),
            ([of(DType::F16, &[2], Weight::Dimensions), of(DType::F32, &[], Weight::Number)], DType::F16),
            (
                [of(DType::F64, &[2], Weight::Dimensions), of(DType::Complex64, &[], Weight::Number)],
                DType::Complex128,
            ),
            (
                [of(DType::F16, &[2], Weight::Dimensions), of(DType::BF16, &[2], Weight::Dimensions)],
                DType::F32,
            ),
        ];
        for (operands, expected) in cases {
            assert_eq!(common_dtype(&operands)?, expected, "{operands:?}");
        }
        Ok(())
    }
}
