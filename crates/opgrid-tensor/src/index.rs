//! Indexing with numbers, ranges, masks and tensors of indices: `x.i((.., 1..3))`.

use std::ops::{Bound, Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

use opgrid_core::conversions::Integer;
use opgrid_core::{DType, Result};

use crate::error::argument;
use crate::tensor::Tensor;

/// One part of an index, which most often stands for one dimension.
#[derive(Clone, Debug)]
pub enum IndexPart {
    /// An element; negative numbers count from the end. The dimension is gone.
    At(i64),
    /// The elements from a start to before an end; negative numbers count from the end, and what leads beyond it is cut off.
    Range(Option<i64>, Option<i64>),
    /// The elements that a tensor of integers names, or a mask chooses.
    Chosen(Tensor),
    /// A new dimension of size 1.
    NewAxis,
    /// As many whole dimensions as are left.
    Ellipsis,
}

/// A new dimension of size 1, as part of an index.
#[derive(Clone, Copy, Debug)]
pub struct NewAxis;

/// As many whole dimensions as are left, as part of an index.
#[derive(Clone, Copy, Debug)]
pub struct Ellipsis;

impl From<NewAxis> for IndexPart {
    fn from(_: NewAxis) -> Self {
        Self::NewAxis
    }
}

impl From<Ellipsis> for IndexPart {
    fn from(_: Ellipsis) -> Self {
        Self::Ellipsis
    }
}

impl From<&Tensor> for IndexPart {
    fn from(tensor: &Tensor) -> Self {
        Self::Chosen(tensor.clone())
    }
}

impl From<RangeFull> for IndexPart {
    fn from(_: RangeFull) -> Self {
        Self::Range(None, None)
    }
}

/// The number behind one that is included: none behind -1, which is the last one.
fn behind(included: i64) -> Option<i64> {
    (included != -1).then(|| included.saturating_add(1))
}

impl<T: Integer> From<(Bound<T>, Bound<T>)> for IndexPart {
    fn from((start, end): (Bound<T>, Bound<T>)) -> Self {
        let start = match start {
            Bound::Included(start) => Some(start.to_i64()),
            Bound::Excluded(start) => behind(start.to_i64()),
            Bound::Unbounded => None,
        };
        let end = match end {
            Bound::Included(end) => behind(end.to_i64()),
            Bound::Excluded(end) => Some(end.to_i64()),
            Bound::Unbounded => None,
        };
        Self::Range(start, end)
    }
}

macro_rules! ranges {
    ($($range:ident: |$it:ident| $start:expr, $end:expr;)*) => {
        $(impl<T: Integer> From<$range<T>> for IndexPart {
            fn from($it: $range<T>) -> Self {
                Self::Range($start, $end)
            }
        })*
    };
}

ranges! {
    Range: |it| Some(it.start.to_i64()), Some(it.end.to_i64());
    RangeFrom: |it| Some(it.start.to_i64()), None;
    RangeTo: |it| None, Some(it.end.to_i64());
    RangeInclusive: |it| Some(it.start().to_i64()), behind(it.end().to_i64());
    RangeToInclusive: |it| None, behind(it.end.to_i64());
}

macro_rules! integers {
    ($($integer:ty)*) => {
        $(impl From<$integer> for IndexPart {
            fn from(index: $integer) -> Self {
                Self::At(index.to_i64())
            }
        })*
    };
}

integers!(i32 i64 isize u32 usize);

/// What [`Tensor::i`] takes: one part, or a tuple of them.
pub trait Index {
    /// The parts in order.
    fn into_parts(self) -> Vec<IndexPart>;
}

impl<T: Into<IndexPart>> Index for T {
    fn into_parts(self) -> Vec<IndexPart> {
        vec![self.into()]
    }
}

macro_rules! tuples {
    ($(($($part:ident)*))*) => {
        $(impl<$($part: Into<IndexPart>),*> Index for ($($part,)*) {
            #[allow(non_snake_case, reason = "the values are named like their types")]
            fn into_parts(self) -> Vec<IndexPart> {
                let ($($part,)*) = self;
                vec![$($part.into()),*]
            }
        })*
    };
}

tuples!((A) (A B) (A B C) (A B C D) (A B C D E) (A B C D E F));

/// # Indexing with numbers and ranges
impl Tensor {
    /// The elements at an index, as `x[…]` in Python: a number, a range, a tensor of integers or a mask for each dimension, in a
    /// tuple if there are several. [`NewAxis`] and [`Ellipsis`] stand for `None` and `...`.
    ///
    /// Numbers and ranges give a view. (Clippy takes `1..-1` for an empty range; `x.slice(0, 1, -1, 1)` says the same.) Tensors of indices give a copy; if there are several they are broadcast, and where they stand next
    /// to each other the result has their dimensions in that place.
    ///
    /// # Errors
    ///
    /// More parts than dimensions, two ellipses; those of [`select`](Self::select) and [`index`](Self::index).
    ///
    /// # Examples
    ///
    /// ```
    /// use opgrid::index::{Ellipsis, NewAxis};
    /// use opgrid::prelude::*;
    ///
    /// let x = Tensor::arange(0, 12, 1)?.view((3, 4))?;
    /// assert_eq!(x.i((.., 1..3))?.sizes(), [3, 2]);
    /// assert_eq!(x.i((1, -1))?.to_scalar::<i64>()?, 7);
    /// assert_eq!(x.i((Ellipsis, 0))?.to_vec::<i64>()?, [0, 4, 8]);
    /// assert_eq!(x.i((NewAxis, ..2))?.sizes(), [1, 2, 4]);
    /// assert_eq!(x.i(&x.gt(9)?)?.to_vec::<i64>()?, [10, 11]);
    /// # Ok::<(), opgrid::Error>(())
    /// ```
    pub fn i(&self, index: impl Index) -> Result<Self> {
        let parts = index.into_parts();
        let dimensions_of = |part: &IndexPart| match part {
            IndexPart::NewAxis | IndexPart::Ellipsis => 0,
            IndexPart::Chosen(mask) if mask.dtype() == DType::Bool => mask.dim().max(1),
            _ => 1,
        };
        let named: usize = parts.iter().map(dimensions_of).sum();
        let Some(left) = self.dim().checked_sub(named) else {
            return Err(argument(format!(
                "i: found an index for {named} dimensions, expected at most {} for sizes {:?}",
                self.dim(),
                self.sizes()
            )));
        };
        if parts.iter().filter(|part| matches!(part, IndexPart::Ellipsis)).count() > 1 {
            return Err(argument(
                "i: found two ellipses, expected one at most; write `..` for whole dimensions",
            ));
        }
        // A mask stands for all of its dimensions, and takes one place in the list of indices.
        let (mut result, mut dim, mut masked) = (self.clone(), 0, 0);
        let mut chosen: Vec<Option<Self>> = Vec::new();
        for part in parts {
            match part {
                IndexPart::At(index) => result = result.select(dim, index)?,
                IndexPart::Range(start, end) => {
                    if start.is_some() || end.is_some() {
                        result = result.slice(dim, start, end, 1)?;
                    }
                    dim += 1;
                }
                IndexPart::NewAxis => {
                    result = result.unsqueeze(dim)?;
                    dim += 1;
                }
                IndexPart::Ellipsis => dim += left,
                IndexPart::Chosen(tensor) => {
                    chosen.resize(dim - masked, None);
                    let dimensions = dimensions_of(&IndexPart::Chosen(tensor.clone()));
                    chosen.push(Some(tensor));
                    dim += dimensions;
                    masked += dimensions.saturating_sub(1);
                }
            }
        }
        if chosen.is_empty() { Ok(result) } else { result.index(&chosen) }
    }
}
