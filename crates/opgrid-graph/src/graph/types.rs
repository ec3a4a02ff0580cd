//! What is known of a value before a program runs: its type, and the range of a size.

use std::collections::BTreeMap;
use std::fmt;

use opgrid_core::DType;

use super::expression::Expression;

/// What is known of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ValueType {
    /// A tensor.
    Tensor(TensorType),
    /// An integer, and which one, as far as that is known.
    Int(Option<Size>),
    /// A floating-point number.
    Float,
    /// True or false.
    Bool,
    /// Nothing, or something else that is known as a constant.
    Unknown,
}

impl ValueType {
    /// The size of a dimension, where it is a tensor that has it.
    pub(crate) fn size(&self, dimension: usize) -> Option<&Size> {
        match self {
            Self::Tensor(tensor) => tensor.sizes.get(dimension),
            _ => None,
        }
    }
}

/// What is known of a tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorType {
    /// The dtype.
    pub dtype: DType,
    /// The size of each dimension.
    pub sizes: Vec<Size>,
}

/// The size of a dimension, or another integer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Size {
    /// A number.
    Known(i64),
    /// One that depends on the program's inputs or on data.
    Varying(Expression),
}

impl Size {
    /// The number that it is where symbols have these values; `None` where one is not known.
    pub(crate) fn evaluate(&self, symbols: &BTreeMap<String, i64>) -> Option<i64> {
        match self {
            Self::Known(value) => Some(*value),
            Self::Varying(expression) => expression.evaluate(symbols),
        }
    }
}

/// From where to where a size may vary, both ends included.
///
/// # Examples
///
/// ```
/// use opgrid_graph::Range;
///
/// let range = Range { min: Some(1), max: Some(64) };
/// assert!(range.contains(64) && !range.contains(0));
/// assert_eq!(range.to_string(), "1..64");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Range {
    /// The smallest value; `None` where there is none.
    pub min: Option<i64>,
    /// The largest value; `None` where there is none.
    pub max: Option<i64>,
}

impl Range {
    /// Whether the value lies in the range.
    pub fn contains(self, value: i64) -> bool {
        self.min.is_none_or(|min| min <= value) && self.max.is_none_or(|max| value <= max)
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(min) = self.min {
            write!(f, "{min}")?;
        }
        f.write_str("..")?;
        self.max.map_or(Ok(()), |max| write!(f, "{max}"))
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known(value) => write!(f, "{value}"),
            Self::Varying(expression) => write!(f, "{expression}"),
        }
    }
}

impl fmt::Display for TensorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[", self.dtype.name())?;
        for (index, size) in self.sizes.iter().enumerate() {
            if index > 0 {
                f.write_str(", ")?;
            }
            write!(f, "{size}")?;
        }
        f.write_str("]")
    }
}

impl fmt::Display for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tensor(tensor) => write!(f, "{tensor}"),
            Self::Int(None) => f.write_str("int"),
            Self::Int(Some(size)) => write!(f, "int({size})"),
            Self::Float => f.write_str("float"),
            Self::Bool => f.write_str("bool"),
            Self::Unknown => f.write_str("any"),
        }
    }
}

impl ValueType {
    /// What is known of a tensor that is there.
    pub(crate) fn from_tensor(tensor: &opgrid_tensor::Tensor) -> Self {
        let sizes = tensor.sizes().iter().map(|size| Size::Known(*size)).collect();
        Self::Tensor(TensorType { dtype: tensor.dtype(), sizes })
    }
}
