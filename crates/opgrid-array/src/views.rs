//! Computes the geometry of views: same storage, other sizes, strides and offset.

use opgrid_core::Result;

use super::geometry::{Dims, Geometry, count};
use crate::error::{argument, out_of_range};

/// The dimension that `dim` means in a tensor of `dims` dimensions; negative numbers count from the last one.
///
/// # Errors
///
/// A number out of range. A tensor without dimensions takes 0 and -1, as in torch.
pub fn normalise_dim(dim: i64, dims: usize) -> Result<usize> {
    let count = dims.max(1) as i64;
    if !(-count..count).contains(&dim) {
        let message = format!(
            "dimension out of range (expected to be in range of [-{count}, {}], but got {dim})",
            count - 1
        );
        return Err(out_of_range(message));
    }
    Ok(if dim < 0 { dim + count } else { dim } as usize)
}

/// The sizes of a view of `numel` elements, with a `-1` in `sizes` replaced by what is left.
///
/// # Errors
///
/// Several sizes of -1, another negative size, or a number of elements that is not `numel`.
pub fn infer_sizes(sizes: &[i64], numel: i64) -> Result<Dims> {
    let mut inferred = None;
    for (dim, &size) in sizes.iter().enumerate() {
        match size {
            -1 if inferred.is_some() => {
                return Err(argument(format!("only one dimension can be inferred, found {sizes:?}")));
            }
            -1 => inferred = Some(dim),
            _ if size < 0 => return Err(argument(format!("invalid shape dimension {size} in {sizes:?}"))),
            _ => {}
        }
    }
    let mut result = Dims::from_slice(sizes);
    if let Some(dim) = inferred {
        result[dim] = 1;
        let rest = count(&result)?;
        if rest == 0 && numel == 0 {
            let message = format!(
                "cannot reshape tensor of 0 elements into shape {sizes:?} because the unspecified dimension size -1 can be any value and is ambiguous; give that size"
            );
            return Err(argument(message));
        }
        if rest != 0 && numel % rest == 0 {
            result[dim] = numel / rest;
            return Ok(result);
        }
    } else if count(&result)? == numel {
        return Ok(result);
    }
    Err(argument(format!("shape {sizes:?} is invalid for input of size {numel}")))
}

impl Geometry {
    /// Returns this geometry with another offset.
    ///
    /// # Errors
    ///
    /// An offset that is negative or leads beyond what can be addressed.
    pub fn at_offset(&self, offset: i64) -> Result<Self> {
        Self::strided(self.sizes(), self.strides(), offset)
    }

    /// Returns the geometry of a view with other sizes, of which one may be -1.
    ///
    /// # Errors
    ///
    /// Sizes that do not fit (see [`infer_sizes`]), or strides that cannot express the view.
    pub fn view(&self, sizes: &[i64]) -> Result<Self> {
        let sizes = infer_sizes(sizes, self.numel())?;
        let strides = self.view_strides(&sizes).ok_or_else(|| {
            let message = format!(
                "view size {sizes:?} is not compatible with input tensor's size {:?} and stride {:?} (at least one dimension spans across two contiguous subspaces). use reshape instead",
                self.sizes(),
                self.strides()
            );
            argument(message)
        })?;
        Self::strided(&sizes, &strides, self.offset())
    }

    /// The strides under `sizes` (as many elements), if there are any.
    ///
    /// Both shapes are cut into blocks of the same number of elements, from the last dimension on. A block of the
    /// input consists of dimensions that could be one dimension; within it any cut is possible.
    fn view_strides(&self, sizes: &[i64]) -> Option<Dims> {
        if self.numel() == 0 {
            let same = sizes == self.sizes();
            return Some(if same {
                Dims::from_slice(self.strides())
            } else {
                Dims::from_slice(Self::contiguous(sizes).ok()?.strides())
            });
        }
        let mut strides = Dims::from_elem(1, sizes.len());
        let mut open = sizes.len();
        let mut blocks = self.blocks();
        // A tensor without dimensions is one block of one element.
        if blocks.is_empty() {
            blocks.push((1, 1));
        }
        for (elements, stride) in blocks {
            let mut taken = 1;
            while open > 0 && (taken < elements || sizes[open - 1] == 1) {
                open -= 1;
                strides[open] = stride.saturating_mul(taken);
                taken *= sizes[open];
            }
            if taken != elements {
                return None;
            }
        }
        (open == 0).then_some(strides)
    }

    /// The blocks of dimensions that could be one dimension, last one first: number of elements, innermost stride.
    fn blocks(&self) -> smallvec::SmallVec<[(i64, i64); 6]> {
        let mut blocks: smallvec::SmallVec<[(i64, i64); 6]> = smallvec::SmallVec::new();
        for (&size, &stride) in self.sizes().iter().zip(self.strides()).rev() {
            match blocks.last_mut() {
                Some((elements, inner)) if size == 1 || elements.checked_mul(*inner) == Some(stride) => {
                    *elements *= size
                }
                _ => blocks.push((size, stride)),
            }
        }
        blocks
    }

    /// One index of a dimension, which disappears.
    ///
    /// # Errors
    ///
    /// A dimension or an index out of range; a tensor without dimensions.
    pub fn select(&self, dim: i64, index: i64) -> Result<Self> {
        if self.dims() == 0 {
            return Err(out_of_range("select() cannot be applied to a 0-dim tensor"));
        }
        let at = normalise_dim(dim, self.dims())?;
        let size = self.sizes()[at];
        if !(-size..size).contains(&index) {
            let message = format!(
                "select(): index {index} out of range for tensor of size {:?} at dimension {dim}",
                self.sizes()
            );
            return Err(out_of_range(message));
        }
        let index = if index < 0 { index + size } else { index };
        let (mut sizes, mut strides) = self.lists();
        sizes.remove(at);
        let stride = strides.remove(at);
        Self::strided(&sizes, &strides, self.offset().saturating_add(stride.saturating_mul(index)))
    }

    /// Every `step`-th index of a dimension from `start` to before `end`.
    ///
    /// Negative bounds count from the end; bounds beyond the ends are moved to them, as in torch. The absent end is
    /// `i64::MAX`.
    ///
    /// # Errors
    ///
    /// A dimension out of range, a step that is not positive, a tensor without dimensions.
    pub fn slice(&self, dim: i64, start: i64, end: i64, step: i64) -> Result<Self> {
        if self.dims() == 0 {
            return Err(argument("slice() cannot be applied to a 0-dim tensor"));
        }
        let dim = normalise_dim(dim, self.dims())?;
        if step <= 0 {
            return Err(argument(format!("slice step must be positive, found {step}")));
        }
        let size = self.sizes()[dim];
        let bound = |at: i64| if at < 0 { at + size } else { at }.clamp(0, size);
        let start = bound(start);
        let length = (bound(end) - start).max(0);
        let (mut sizes, mut strides) = self.lists();
        let offset = self.offset().checked_add(start.saturating_mul(strides[dim]));
        sizes[dim] = length / step + i64::from(length % step != 0);
        // With at most one element left the stride is never used; saturating keeps it a number.
        strides[dim] = strides[dim].saturating_mul(step);
        let offset = offset.ok_or_else(|| argument("slice() starts beyond the address space"))?;
        Self::strided(&sizes, &strides, offset)
    }

    /// Two dimensions exchanged.
    ///
    /// # Errors
    ///
    /// A dimension out of range.
    pub fn transpose(&self, first: i64, second: i64) -> Result<Self> {
        let (first, second) = (normalise_dim(first, self.dims())?, normalise_dim(second, self.dims())?);
        let (mut sizes, mut strides) = self.lists();
        if self.dims() > 0 {
            sizes.swap(first, second);
            strides.swap(first, second);
        }
        Self::strided(&sizes, &strides, self.offset())
    }

    /// The dimensions in the order of `order`.
    ///
    /// # Errors
    ///
    /// Another number of dimensions, one out of range, or one named twice.
    pub fn permute(&self, order: &[i64]) -> Result<Self> {
        if order.len() != self.dims() {
            let message = format!(
                "permute(): number of dimensions in the tensor input does not match the length of the desired ordering of dimensions: {} is not equal to {}",
                self.dims(),
                order.len()
            );
            return Err(argument(message));
        }
        let (mut sizes, mut strides) = (Dims::new(), Dims::new());
        let mut seen = Dims::new();
        for &dim in order {
            let dim = normalise_dim(dim, self.dims())?;
            if seen.contains(&(dim as i64)) {
                return Err(argument(format!("permute(): duplicate dims are not allowed, found {order:?}")));
            }
            seen.push(dim as i64);
            sizes.push(self.sizes()[dim]);
            strides.push(self.strides()[dim]);
        }
        Self::strided(&sizes, &strides, self.offset())
    }

    /// Stretched to `sizes` by repeating elements (stride 0); -1 keeps a size.
    ///
    /// # Errors
    ///
    /// Fewer dimensions than there are, a size that does not fit, -1 for a dimension that is not there.
    pub fn expand(&self, sizes: &[i64]) -> Result<Self> {
        let Some(added) = sizes.len().checked_sub(self.dims()) else {
            let message = format!(
                "expand: the number of sizes provided ({}) must be greater or equal to the number of dimensions in the tensor ({}), found {sizes:?} for {:?}",
                sizes.len(),
                self.dims(),
                self.sizes()
            );
            return Err(argument(message));
        };
        let (mut result, mut strides) = (Dims::from_slice(sizes), Dims::from_elem(0, sizes.len()));
        for dim in (0..sizes.len()).rev() {
            let size = sizes[dim];
            let Some(own) = dim.checked_sub(added) else {
                if size < 0 {
                    let message = format!(
                        "expand: size {size} is not allowed in a leading, non-existing dimension {dim}"
                    );
                    return Err(argument(message));
                }
                // A new dimension that repeats nothing has the stride that `unsqueeze` would give it.
                if size == 1 && self.dims() > 0 {
                    strides[dim] = result[dim + 1].saturating_mul(strides[dim + 1]);
                }
                continue;
            };
            let found = self.sizes()[own];
            if size == -1 || size == found {
                (result[dim], strides[dim]) = (found, self.strides()[own]);
            } else if found != 1 {
                let message = format!(
                    "the expanded size of the tensor ({size}) must match the existing size ({found}) at non-singleton dimension {dim}, target sizes {sizes:?}, tensor sizes {:?}",
                    self.sizes()
                );
                return Err(argument(message));
            }
        }
        Self::strided(&result, &strides, self.offset())
    }

    /// A dimension of size 1 put in before `dim` (which may also be one past the last).
    ///
    /// # Errors
    ///
    /// A dimension out of range.
    pub fn unsqueeze(&self, dim: i64) -> Result<Self> {
        let dim = normalise_dim(dim, self.dims() + 1)?;
        let (mut sizes, mut strides) = self.lists();
        let stride = match (sizes.get(dim), strides.get(dim)) {
            (Some(size), Some(stride)) => size.saturating_mul(*stride),
            _ => 1,
        };
        sizes.insert(dim, 1);
        strides.insert(dim, stride);
        Self::strided(&sizes, &strides, self.offset())
    }

    /// The dimension `dim` taken out if its size is 1; otherwise the same.
    ///
    /// # Errors
    ///
    /// A dimension out of range.
    pub fn squeeze(&self, dim: i64) -> Result<Self> {
        let dim = normalise_dim(dim, self.dims())?;
        let (mut sizes, mut strides) = self.lists();
        if sizes.get(dim) == Some(&1) {
            sizes.remove(dim);
            strides.remove(dim);
        }
        Self::strided(&sizes, &strides, self.offset())
    }

    /// With as many dimensions of size 1 in front that there are `dims`, which are no fewer than there are now.
    ///
    /// # Errors
    ///
    /// More dimensions than a tensor has.
    pub fn padded(&self, dims: usize) -> Result<Self> {
        let added = dims.saturating_sub(self.dims());
        let in_front = |value: i64, list: &[i64]| -> Vec<i64> {
            std::iter::repeat_n(value, added).chain(list.iter().copied()).collect()
        };
        Self::strided(&in_front(1, self.sizes()), &in_front(0, self.strides()), self.offset())
    }

    /// The diagonals of the matrices that two dimensions are, as a last dimension.
    ///
    /// # Errors
    ///
    /// A dimension out of range; twice the same.
    pub fn diagonal(&self, offset: i64, dim1: i64, dim2: i64) -> Result<Self> {
        let (row, column) = (normalise_dim(dim1, self.dims())?, normalise_dim(dim2, self.dims())?);
        if row == column {
            let message = format!(
                "diagonal dimensions cannot be the same, found {dim1} and {dim2} for {:?}",
                self.sizes()
            );
            return Err(argument(message));
        }
        let (mut sizes, mut strides) = self.lists();
        let (moved, size) = if offset < 0 {
            (row, sizes[row].saturating_add(offset).min(sizes[column]))
        } else {
            (column, sizes[column].saturating_sub(offset).min(sizes[row]))
        };
        let mut start = self.offset();
        if size > 0 {
            // The first element is one of the matrix, so that its position is a number.
            start = start.saturating_add(strides[moved].saturating_mul(offset.saturating_abs()));
        }
        let step = strides[row].saturating_add(strides[column]);
        for dim in [row.max(column), row.min(column)] {
            sizes.remove(dim);
            strides.remove(dim);
        }
        sizes.push(size.max(0));
        strides.push(step);
        Self::strided(&sizes, &strides, start)
    }

    /// Windows of a dimension, `step` apart, of which the elements are a last dimension.
    ///
    /// # Errors
    ///
    /// A dimension out of range, windows of a negative size or larger than the dimension, a step that is not positive.
    pub fn unfold(&self, dimension: i64, size: i64, step: i64) -> Result<Self> {
        let dim = normalise_dim(dimension, self.dims())?;
        let (mut sizes, mut strides) = self.lists();
        let whole = sizes.get(dim).copied().unwrap_or(1);
        if size < 0 {
            return Err(argument(format!("size is {size} but must be 0 or more")));
        }
        if size > whole {
            let message =
                format!("maximum size for tensor at dimension {dim} is at most {whole}, but size is {size}");
            return Err(argument(message));
        }
        if step <= 0 {
            return Err(argument(format!("step is {step} but must be positive")));
        }
        let within = strides.get(dim).copied().unwrap_or(1);
        if self.dims() > 0 {
            sizes[dim] = (whole - size) / step + 1;
            strides[dim] = within.saturating_mul(step);
        }
        sizes.push(size);
        strides.push(within);
        Self::strided(&sizes, &strides, self.offset())
    }

    fn lists(&self) -> (Dims, Dims) {
        (Dims::from_slice(self.sizes()), Dims::from_slice(self.strides()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn contiguous(sizes: &[i64]) -> Geometry {
        Geometry::contiguous(sizes).unwrap()
    }

    fn message<T: std::fmt::Debug>(result: Result<T>) -> String {
        result.unwrap_err().to_string()
    }

    /// The positions of all elements in row-major order of indices: the naive model of a geometry.
    fn positions(geometry: &Geometry) -> Vec<i64> {
        let mut result = vec![geometry.offset()];
        for (&size, &stride) in geometry.sizes().iter().zip(geometry.strides()) {
            result = result.iter().flat_map(|at| (0..size).map(move |index| at + index * stride)).collect();
        }
        result
    }

    #[test]
    fn views_infer_and_refuse() {
        let geometry = contiguous(&[2, 3, 4]);
        assert_eq!(geometry.view(&[-1, 4]).unwrap().sizes(), [6, 4]);
        assert_eq!(geometry.view(&[24]).unwrap().strides(), [1]);
        assert_eq!(message(geometry.view(&[5, -1])), "shape [5, -1] is invalid for input of size 24");
        assert!(message(geometry.view(&[-1, -1])).contains("only one dimension can be inferred"));
        assert!(message(geometry.view(&[-2])).contains("invalid shape dimension -2"));
        assert!(message(contiguous(&[0]).view(&[0, -1])).contains("ambiguous"));
        assert_eq!(contiguous(&[0, 3]).view(&[-1, 3]).unwrap().sizes(), [0, 3]);
        let transposed = geometry.transpose(0, 2).unwrap();
        let error = message(transposed.view(&[24]));
        assert!(
            error.contains("[24]") && error.contains("[4, 3, 2]") && error.contains("reshape"),
            "{error}"
        );
        assert_eq!(contiguous(&[]).view(&[1, 1]).unwrap().strides(), [1, 1]);
        assert_eq!(contiguous(&[1, 1]).view(&[]).unwrap().dims(), 0);
    }

    #[test]
    fn select_and_slice_follow_torch() {
        let geometry = contiguous(&[3, 4]);
        let row = geometry.select(0, -1).unwrap();
        assert_eq!((row.sizes(), row.strides(), row.offset()), ([4].as_slice(), [1].as_slice(), 8));
        assert!(message(geometry.select(0, 3)).contains("index 3 out of range for tensor of size [3, 4]"));
        assert!(message(geometry.select(2, 0)).contains("range of [-2, 1], but got 2"));
        assert!(contiguous(&[]).select(0, 0).is_err());
        for ((start, end, step), (size, stride, offset)) in [
            ((0, i64::MAX, 1), (4, 1, 0)),
            ((-2, i64::MAX, 1), (2, 1, 2)),
            ((1, -1, 1), (2, 1, 1)),
            ((-100, 100, 3), (2, 3, 0)),
            ((3, 1, 1), (0, 1, 3)),
            ((100, 200, 2), (0, 2, 4)),
            ((0, 4, i64::MAX), (1, i64::MAX, 0)),
        ] {
            let slice = geometry.slice(1, start, end, step).unwrap();
            assert_eq!((slice.sizes()[1], slice.strides()[1], slice.offset()), (size, stride, offset));
        }
        assert!(message(geometry.slice(0, 0, 1, 0)).contains("must be positive"));
    }

    #[test]
    fn expand_permute_squeeze() {
        let column = contiguous(&[3, 1]);
        assert_eq!(column.expand(&[2, -1, 4]).unwrap().strides(), [0, 1, 0]);
        assert!(message(column.expand(&[2, 4])).contains("non-singleton dimension 0"));
        assert!(column.expand(&[3]).is_err() && column.expand(&[-1, 3, 1]).is_err());
        assert_eq!(column.squeeze(-1).unwrap().sizes(), [3]);
        assert_eq!(column.squeeze(0).unwrap().sizes(), [3, 1]);
        assert_eq!(column.unsqueeze(2).unwrap().sizes(), [3, 1, 1]);
        assert_eq!(contiguous(&[2, 3, 4]).permute(&[2, 0, -2]).unwrap().strides(), [1, 12, 4]);
        assert!(message(column.permute(&[0, 0])).contains("duplicate"));
        assert!(column.permute(&[0]).is_err());
        assert_eq!(contiguous(&[]).transpose(0, -1).unwrap().dims(), 0);
    }

    /// A geometry that no constructor would make: sliced, permuted, expanded.
    fn any_geometry() -> impl Strategy<Value = Geometry> {
        let sizes = proptest::collection::vec(1i64..5, 0..4);
        (sizes, any::<[u8; 4]>(), any::<bool>()).prop_map(|(sizes, pick, expand)| {
            let mut geometry = Geometry::contiguous(&sizes).unwrap();
            for dim in 0..geometry.dims() as i64 {
                let choice = i64::from(pick[dim as usize]);
                geometry = geometry.slice(dim, choice % 2, i64::MAX, 1 + choice % 3).unwrap();
                geometry = geometry.transpose(dim, choice % geometry.dims() as i64).unwrap();
            }
            let mut wide = geometry.sizes().to_vec();
            wide.iter_mut().filter(|size| expand && **size == 1).for_each(|size| *size = 2);
            geometry.expand(&wide).unwrap()
        })
    }

    proptest! {
        #[test]
        fn a_view_keeps_every_element(geometry in any_geometry(), cut in 1i64..6) {
            let numel = geometry.numel();
            for sizes in [vec![numel], vec![cut, -1], vec![-1, cut, 1], geometry.sizes().to_vec()] {
                if let Ok(view) = geometry.view(&sizes) {
                    prop_assert_eq!(positions(&view), positions(&geometry), "{:?} as {:?}", geometry, sizes);
                }
            }
            prop_assert!(geometry.view(geometry.sizes()).is_ok());
        }

        #[test]
        fn a_flat_view_is_refused_only_without_a_common_stride(geometry in any_geometry()) {
            let at = positions(&geometry);
            let even = at.windows(3).all(|run| run[1] - run[0] == run[2] - run[1]);
            prop_assert_eq!(geometry.view(&[-1]).is_ok() || geometry.numel() == 0, even || geometry.numel() == 0);
        }

        #[test]
        fn predicates_match_the_model(geometry in any_geometry()) {
            let mut at = positions(&geometry);
            let rows = at.iter().enumerate().all(|(i, p)| *p == geometry.offset() + i as i64);
            prop_assert_eq!(geometry.is_contiguous(), rows);
            prop_assert_eq!(geometry.end(), at.iter().max().map_or(0, |last| last + 1));
            at.sort_unstable();
            let dense = at.iter().enumerate().all(|(i, p)| *p == geometry.offset() + i as i64);
            prop_assert_eq!(geometry.is_dense(), dense);
            let mut unique = at.clone();
            unique.dedup();
            prop_assert!(!geometry.repeats() || unique.len() < at.len());
        }
    }
}
