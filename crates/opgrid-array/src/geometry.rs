//! Maps an index to an element: sizes, strides and the offset of the first element.
//!
//! Every [`Geometry`] is checked when it is made, so that the arithmetic of those who use one cannot overflow.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use opgrid_core::{MemoryFormat, Result};
use smallvec::SmallVec;

use crate::error::argument;

/// A list with one number per dimension; up to six of them need no heap.
pub type Dims = SmallVec<[i64; 6]>;

/// Where the elements of a strided tensor lie in its storage, counted in elements.
///
/// Invariants: as many strides as sizes; none of them and not the offset is negative; the number of elements and
/// the position after the last one fit an `i64`; places of sizes that there are not are 0.
///
/// # Examples
///
/// ```
/// use opgrid_array::Geometry;
///
/// let matrix = Geometry::contiguous(&[2, 3])?;
/// assert_eq!(matrix.strides(), [3, 1]);
/// assert_eq!(matrix.transpose(0, 1)?.strides(), [1, 3]);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[derive(Clone)]
pub struct Geometry {
    /// Not beside `numel`: two numbers that are written one after the other and copied as one make the processor wait.
    offset: i64,
    /// Sizes and strides of up to [`INLINE`] dimensions. They lie here and not in a type of their own, so that the
    /// small fields share one word: geometries are moved much.
    inline: [[i64; INLINE]; 2],
    /// Sizes and strides of more dimensions.
    heap: Option<Box<[[i64; MAX_DIMS]; 2]>>,
    numel: i64,
    dims: u8,
    /// Whether elements lie in row-major order without gaps.
    contiguous: bool,
    /// Whether the strides are those of a new row-major tensor, where they do not matter too.
    canonical: bool,
}

/// Dimensions whose sizes and strides need no heap.
const INLINE: usize = 5;

impl PartialEq for Geometry {
    fn eq(&self, other: &Self) -> bool {
        self.sizes() == other.sizes() && self.strides() == other.strides() && self.offset == other.offset
    }
}

impl Eq for Geometry {}

impl Hash for Geometry {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.sizes(), self.strides(), self.offset).hash(state);
    }
}

impl Geometry {
    /// The geometry of a tensor without dimensions.
    pub const ONE: Self = Self {
        inline: [[0; INLINE]; 2],
        heap: None,
        dims: 0,
        offset: 0,
        numel: 1,
        contiguous: true,
        canonical: true,
    };

    /// The geometry of a list without elements.
    pub const NONE: Self = Self { inline: [[0; INLINE], [1, 0, 0, 0, 0]], dims: 1, numel: 0, ..Self::ONE };

    /// The sizes, at most [`MAX_DIMS`], with strides to be written.
    fn of_sizes(sizes: &[i64]) -> Self {
        let mut geometry = Self { dims: sizes.len() as u8, ..Self::ONE };
        if sizes.len() > INLINE {
            geometry.heap = Some(Box::new([[0; MAX_DIMS]; 2]));
        }
        geometry.list_mut(0).copy_from_slice(sizes);
        geometry
    }

    /// Sizes (0) or strides (1).
    #[inline]
    fn list(&self, which: usize) -> &[i64] {
        match &self.heap {
            None => &self.inline[which][..self.dims()],
            Some(heap) => &heap[which][..self.dims()],
        }
    }

    #[inline]
    fn list_mut(&mut self, which: usize) -> &mut [i64] {
        let dims = self.dims();
        match &mut self.heap {
            None => &mut self.inline[which][..dims],
            Some(heap) => &mut heap[which][..dims],
        }
    }

    /// Row-major from offset 0.
    ///
    /// # Errors
    ///
    /// A negative size, or more elements than an `i64` counts.
    #[inline]
    pub fn contiguous(sizes: &[i64]) -> Result<Self> {
        let mut geometry = Self::ONE;
        geometry.become_contiguous(sizes)?;
        Ok(geometry)
    }

    /// Makes this geometry, which is [`ONE`](Self::ONE), that of row-major sizes. It stays where it is, which a
    /// geometry in a `Result` does not.
    ///
    /// # Errors
    ///
    /// As [`contiguous`](Self::contiguous).
    #[inline]
    pub(crate) fn become_contiguous(&mut self, sizes: &[i64]) -> Result<()> {
        if sizes.len() > INLINE {
            *self = Self::contiguous_on_heap(sizes)?;
            return Ok(());
        }
        self.dims = sizes.len() as u8;
        let [own, strides] = &mut self.inline;
        let (mut step, mut refused, mut empty) = (1i64, false, false);
        // A plain loop: adapters become calls where they are compiled in another unit, and every new tensor comes by here.
        let mut dim = sizes.len();
        while dim > 0 {
            dim -= 1;
            let size = sizes[dim];
            own[dim] = size;
            strides[dim] = step;
            // A dimension of size 0 counts as 1, as in torch.
            let (next, overflows) = step.overflowing_mul(size.max(1));
            step = next;
            refused |= overflows | (size < 0);
            empty |= size == 0;
        }
        if refused {
            count(sizes)?;
        }
        self.numel = if empty { 0 } else { step };
        Ok(())
    }

    /// The bytes of few elements in row-major order, each of `element` bytes, if their sizes need no heap.
    #[inline]
    pub fn bytes_of_few(sizes: &[i64], element: usize) -> Option<usize> {
        const FEW: u64 = 1 << 20;
        let mut elements = 1;
        // A plain loop, as in `become_contiguous`. A negative size is a large one.
        let mut dim = 0;
        while dim < sizes.len() {
            let size = sizes[dim] as u64;
            if size > FEW || elements > FEW {
                return None;
            }
            elements *= size;
            dim += 1;
        }
        (sizes.len() <= INLINE && elements <= FEW).then_some(elements as usize * element)
    }

    #[cold]
    fn contiguous_on_heap(sizes: &[i64]) -> Result<Self> {
        let numel = count(sizes)?;
        let mut geometry = Self::of_sizes(sizes);
        let mut step = 1;
        for (stride, size) in geometry.list_mut(1).iter_mut().zip(sizes).rev() {
            *stride = step;
            step *= (*size).max(1);
        }
        Ok(Self { numel, ..geometry })
    }

    /// Whether the strides are those of a new row-major tensor, where they do not matter too.
    #[inline]
    pub fn is_row_major(&self) -> bool {
        self.canonical
    }

    /// The sizes of a contiguous geometry in row-major order from the first position.
    #[inline]
    pub fn row_major(&self) -> Self {
        if self.canonical {
            return self.at_start();
        }
        match Self::contiguous(self.sizes()) {
            Ok(geometry) => geometry,
            Err(_) => self.at_start(),
        }
    }

    /// Returns this geometry with an offset of zero.
    #[must_use]
    #[inline]
    pub fn at_start(&self) -> Self {
        Self { offset: 0, ..self.clone() }
    }

    /// In the order of `format` from offset 0.
    ///
    /// # Errors
    ///
    /// As [`contiguous`](Self::contiguous); a format that asks for another number of dimensions; `Preserve`.
    pub fn in_format(sizes: &[i64], format: MemoryFormat) -> Result<Self> {
        // The dimensions from the slowest to the fastest.
        let order: &[usize] = match format {
            MemoryFormat::Contiguous => return Self::contiguous(sizes),
            MemoryFormat::ChannelsLast => &[0, 2, 3, 1],
            MemoryFormat::ChannelsLast3d => &[0, 2, 3, 4, 1],
            MemoryFormat::Preserve => {
                return Err(argument("memory format preserve_format has no strides without an input"));
            }
        };
        if sizes.len() != order.len() {
            let (rank, found) = (order.len(), sizes.len());
            let message =
                format!("required rank {rank} tensor to use {format} format, found {found} in {sizes:?}");
            return Err(argument(message));
        }
        count(sizes)?;
        let mut strides = Dims::from_elem(0, sizes.len());
        let mut step = 1;
        for &dim in order.iter().rev() {
            strides[dim] = step;
            step *= sizes[dim];
        }
        Self::strided(sizes, &strides, 0)
    }

    /// The geometry of a new tensor like this one in the order of `format`. `Preserve` keeps strides without gaps;
    /// with gaps the dimensions keep their order in memory.
    ///
    /// # Errors
    ///
    /// A format that asks for another number of dimensions.
    pub fn like(&self, format: MemoryFormat) -> Result<Self> {
        match format {
            MemoryFormat::Preserve if self.is_dense() => Ok(self.at_start()),
            MemoryFormat::Preserve => elementwise_geometry(&[self]),
            _ => Self::in_format(self.sizes(), format),
        }
    }

    /// With the given strides and offset.
    ///
    /// # Errors
    ///
    /// Lists of different lengths, a negative number, or elements whose positions an `i64` cannot hold.
    pub fn strided(sizes: &[i64], strides: &[i64], offset: i64) -> Result<Self> {
        if sizes.len() != strides.len() {
            let message = format!("mismatch in length of strides and shape: {strides:?} for sizes {sizes:?}");
            return Err(argument(message));
        }
        if strides.iter().any(|&stride| stride < 0) {
            let message = format!("negative strides are not supported, got strides {strides:?}");
            return Err(argument(message));
        }
        if offset < 0 {
            return Err(argument(format!("storage offset {offset} is negative, expected 0 or more")));
        }
        let numel = count(sizes)?;
        let contiguous = numel == 0 || is_row_major(sizes, strides);
        let canonical = contiguous && is_canonical(sizes, strides);
        let mut geometry = Self { offset, numel, contiguous, canonical, ..Self::of_sizes(sizes) };
        geometry.list_mut(1).copy_from_slice(strides);
        geometry.checked_end().ok_or_else(|| {
            let message = format!(
                "sizes {sizes:?} with strides {strides:?} and storage offset {offset} \
                 exceed the address space"
            );
            argument(message)
        })?;
        Ok(geometry)
    }

    /// The size of each dimension.
    #[inline]
    pub fn sizes(&self) -> &[i64] {
        self.list(0)
    }

    /// The distance between neighbours in each dimension, in elements.
    #[inline]
    pub fn strides(&self) -> &[i64] {
        self.list(1)
    }

    /// The position of the first element in the storage, in elements.
    #[inline]
    pub fn offset(&self) -> i64 {
        self.offset
    }

    /// The number of dimensions.
    #[inline]
    pub fn dims(&self) -> usize {
        usize::from(self.dims)
    }

    /// The number of elements.
    #[inline]
    pub fn numel(&self) -> i64 {
        self.numel
    }

    /// One past the largest position of an element; 0 where there is none.
    #[inline]
    pub fn end(&self) -> i64 {
        if self.contiguous {
            return if self.numel == 0 { 0 } else { self.offset + self.numel };
        }
        self.checked_end().expect("checked when it was made")
    }

    fn checked_end(&self) -> Option<i64> {
        if self.numel == 0 {
            return Some(0);
        }
        let steps = self.sizes().iter().zip(self.strides());
        steps
            .map(|(size, stride)| (size - 1).checked_mul(*stride))
            .try_fold(self.offset.checked_add(1)?, |end, step| end.checked_add(step?))
    }

    /// Whether elements lie in row-major order without gaps. Strides of dimensions of size 1 do not matter.
    #[inline]
    pub fn is_contiguous(&self) -> bool {
        self.contiguous
    }

    /// Whether both have the same sizes. Always inlined, because every small loop asks for each of its inputs.
    #[inline(always)]
    pub fn has_sizes_of(&self, other: &Self) -> bool {
        if self.heap.is_some() {
            return self.sizes() == other.sizes();
        }
        // All places, which takes a few instructions; as many as there are dimensions would be a loop.
        let [one, other] = [self, other].map(|geometry| (geometry.dims, &geometry.inline[0]));
        let mut differs = u64::from(one.0 ^ other.0);
        for place in 0..INLINE {
            differs |= (one.1[place] ^ other.1[place]) as u64;
        }
        differs == 0
    }

    /// Whether elements lie without gaps and overlaps, in any order of dimensions.
    #[inline]
    pub fn is_dense(&self) -> bool {
        self.contiguous || self.is_dense_in_another_order()
    }

    fn is_dense_in_another_order(&self) -> bool {
        let mut steps: SmallVec<[(i64, i64); 6]> = self
            .strides()
            .iter()
            .copied()
            .zip(self.sizes().iter().copied())
            .filter(|step| step.1 != 1)
            .collect();
        steps.sort_unstable();
        let mut expected = 1;
        steps.into_iter().all(|(stride, size)| {
            let fits = stride == expected;
            expected *= size;
            fits
        })
    }

    /// Whether some dimension repeats one element, as after `expand`.
    #[inline]
    pub fn repeats(&self) -> bool {
        !self.contiguous
            && self.numel > 0
            && self.sizes().iter().zip(self.strides()).any(|(&size, &stride)| size > 1 && stride == 0)
    }

    /// Whether several indices lead to one element, as after `expand` or in windows that slide by less than their
    /// length; `None` where that cannot be decided. Such an output would depend on the order in which it is written.
    ///
    /// The answer is exact, and costs nothing where elements lie in row-major order. Undecided are only geometries that
    /// nobody makes by accident: four dimensions and more that interlock without a pattern, with more than 2³⁴
    /// positions, which memory seldom holds.
    ///
    /// # Examples
    ///
    /// ```
    /// use opgrid_array::Geometry;
    ///
    /// let windows = |step| Geometry::strided(&[4, 3], &[step, 1], 0);
    /// assert_eq!(windows(3)?.overlaps_itself(), Some(false));
    /// assert_eq!(windows(2)?.overlaps_itself(), Some(true));
    /// # Ok::<(), opgrid_core::Error>(())
    /// ```
    #[inline]
    pub fn overlaps_itself(&self) -> Option<bool> {
        if self.contiguous { Some(false) } else { super::overlap::overlaps(self.sizes(), self.strides()) }
    }

    /// The distance between neighbours in dimension `dim`, in elements; 0 where no element has a neighbour, so that
    /// a stride which is never used, and may be of any size, is not reckoned with.
    #[inline]
    pub fn step(&self, dim: usize) -> usize {
        if self.numel > 0 && self.sizes()[dim] > 1 { self.strides()[dim] as usize } else { 0 }
    }

    /// The position of the first element, in elements; 0 where there is none, whatever the offset.
    #[inline]
    pub fn start(&self) -> usize {
        if self.numel == 0 { 0 } else { self.offset as usize }
    }

    /// How far the last element lies behind the first one, in elements; 0 where there is none.
    pub fn reach(&self) -> usize {
        let along = |dim: usize| (self.sizes()[dim].max(1) as usize - 1) * self.step(dim);
        (0..self.dims()).map(along).sum()
    }

    /// The format that strides look like; row-major where they look like several.
    ///
    /// Source: behaviour of torch's operators on images, PyTorch 2.15.
    pub fn suggested_format(&self) -> MemoryFormat {
        // The dimensions from the fastest to the slowest.
        let (format, order): (_, &[usize]) = match self.dims() {
            4 => (MemoryFormat::ChannelsLast, &[1, 3, 2, 0]),
            5 => (MemoryFormat::ChannelsLast3d, &[1, 4, 3, 2, 0]),
            _ => return MemoryFormat::Contiguous,
        };
        let (sizes, strides) = (self.sizes(), self.strides());
        let mut least = 0i64;
        let fits = strides[1] != 0
            && order.iter().all(|&dim| {
                let ambiguous = dim == 0 && least == strides[1];
                let fits = sizes[dim] != 0 && strides[dim] >= least && !ambiguous;
                least = strides[dim].saturating_mul(sizes[dim].max(1));
                fits
            });
        if fits { format } else { MemoryFormat::Contiguous }
    }

    /// The format that all look like, as elements lie that are joined; row-major where they differ.
    pub fn common_format<'g>(parts: impl IntoIterator<Item = &'g Self>) -> MemoryFormat {
        let mut formats = parts.into_iter().map(Self::suggested_format);
        match formats.next() {
            Some(first) if formats.all(|format| format == first) => first,
            _ => MemoryFormat::Contiguous,
        }
    }

    /// Whether elements lie in the order of `format` (of a tensor without one: `false`).
    pub fn is_in_format(&self, format: MemoryFormat) -> bool {
        match format {
            MemoryFormat::Contiguous => self.is_contiguous(),
            MemoryFormat::Preserve => true,
            _ => Self::in_format(self.sizes(), format).is_ok_and(|wanted| {
                let dims = self.sizes().iter().zip(self.strides().iter().zip(wanted.strides()));
                dims.into_iter().all(|(&size, (found, wanted))| size == 1 || found == wanted)
            }),
        }
    }
}

impl fmt::Debug for Geometry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sizes {:?} strides {:?} offset {}", self.sizes(), self.strides(), self.offset)
    }
}

/// The largest number of dimensions, numpy's too.
pub const MAX_DIMS: usize = 64;

/// The number of elements of a tensor of these sizes.
///
/// # Errors
///
/// More than [`MAX_DIMS`] sizes; a negative size; a product (zeros left out, so that strides fit too) that an `i64` cannot hold.
pub fn count(sizes: &[i64]) -> Result<i64> {
    if sizes.len() > MAX_DIMS {
        return Err(argument(format!("found {} dimensions, expected at most {MAX_DIMS}", sizes.len())));
    }
    let mut product = 1i64;
    let mut empty = false;
    for &size in sizes {
        if size < 0 {
            let message = format!("trying to create tensor with negative dimension {size}: {sizes:?}");
            return Err(argument(message));
        }
        empty |= size == 0;
        product = product
            .checked_mul(size.max(1))
            .ok_or_else(|| argument(format!("number of elements overflows 64 bits with sizes {sizes:?}")))?;
    }
    Ok(if empty { 0 } else { product })
}

fn is_canonical(sizes: &[i64], strides: &[i64]) -> bool {
    let mut expected = 1i64;
    sizes.iter().zip(strides).rev().all(|(&size, &stride)| {
        let fits = stride == expected;
        expected = expected.wrapping_mul(size.max(1));
        fits
    })
}

fn is_row_major(sizes: &[i64], strides: &[i64]) -> bool {
    let mut expected = 1i64;
    sizes.iter().zip(strides).rev().all(|(&size, &stride)| {
        let fits = size == 1 || stride == expected;
        expected = expected.wrapping_mul(size);
        fits
    })
}

/// The sizes that all `shapes` broadcast to: aligned at the last dimension, a size of 1 stretches.
///
/// # Errors
///
/// Two shapes that do not fit, both named: `shape [2, 3] does not broadcast with [4]`.
///
/// # Examples
///
/// ```
/// let sizes = opgrid_array::broadcast(&[&[2, 1], &[3]])?;
/// assert_eq!(sizes.as_slice(), [2, 3]);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub fn broadcast(shapes: &[&[i64]]) -> Result<Dims> {
    let Some((first, rest)) = shapes.split_first() else { return Ok(Dims::new()) };
    let mut result = Dims::from_slice(first);
    for shape in rest {
        let before = result.clone();
        if shape.len() > result.len() {
            result.insert_many(0, shape[..shape.len() - result.len()].iter().copied());
        }
        let aligned = result.iter_mut().rev().zip(shape.iter().rev());
        for (size, &other) in aligned {
            if *size == 1 {
                *size = other;
            } else if other != 1 && other != *size {
                let message = format!("shape {:?} does not broadcast with {shape:?}", before.as_slice());
                return Err(argument(message));
            }
        }
    }
    count(&result)?;
    Ok(result)
}

/// The geometry of the result of an element-wise operator: the sizes that the inputs broadcast to, densely, in their order in memory.
#[inline(never)]
pub(super) fn elementwise_geometry(inputs: &[&Geometry]) -> Result<Geometry> {
    let shapes: SmallVec<[&[i64]; 4]> = inputs.iter().map(|input| input.sizes()).collect();
    let sizes = broadcast(&shapes)?;
    let order = memory_order(inputs, &sizes);
    if order.iter().rev().copied().eq(0..sizes.len()) {
        return Geometry::contiguous(&sizes);
    }
    let mut strides = Dims::from_elem(0, sizes.len());
    let mut step = 1;
    for dim in order {
        strides[dim] = step;
        step *= sizes[dim];
    }
    Geometry::strided(&sizes, &strides, 0)
}

/// The dimensions from the fastest to the slowest, as the first input that tells two of them apart has them.
///
/// An insertion sort, because the comparison is not a total order: what it leaves undecided depends on the steps.
///
/// Source: behaviour of torch's element-wise operators, PyTorch 2.15.
fn memory_order(inputs: &[&Geometry], sizes: &[i64]) -> SmallVec<[usize; 6]> {
    let mut order: SmallVec<[usize; 6]> = (0..sizes.len()).rev().collect();
    for start in 1..order.len() {
        let mut at = start;
        for before in (0..start).rev() {
            match compare(inputs, sizes, order[before], order[at]) {
                Ordering::Greater => {
                    order.swap(before, at);
                    at = before;
                }
                Ordering::Less => break,
                Ordering::Equal => {}
            }
        }
    }
    order
}

/// Compares two dimensions by the inputs' strides, where neither is stretched.
fn compare(inputs: &[&Geometry], sizes: &[i64], one: usize, other: usize) -> Ordering {
    let stride = |input: &Geometry, dim: usize| {
        let own = (dim + input.dims()).checked_sub(sizes.len())?;
        let stretched = input.sizes()[own] == 1 && sizes[dim] != 1;
        (!stretched).then(|| input.strides()[own]).filter(|stride| *stride != 0)
    };
    for input in inputs {
        let (Some(first), Some(second)) = (stride(input, one), stride(input, other)) else { continue };
        match first.cmp(&second) {
            Ordering::Equal if sizes[one] > sizes[other] => return Ordering::Greater,
            Ordering::Equal => {}
            decided => return decided,
        }
    }
    Ordering::Equal
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message<T: fmt::Debug>(result: Result<T>) -> String {
        result.unwrap_err().to_string()
    }

    #[test]
    fn contiguous_geometry_matches_torch() {
        for (sizes, strides, numel) in [
            (vec![], vec![], 1),
            (vec![3], vec![1], 3),
            (vec![2, 3, 4], vec![12, 4, 1], 24),
            (vec![2, 0, 4], vec![4, 4, 1], 0),
            (vec![0], vec![1], 0),
        ] {
            let geometry = Geometry::contiguous(&sizes).unwrap();
            assert_eq!((geometry.strides(), geometry.numel()), (strides.as_slice(), numel), "{sizes:?}");
            assert!(geometry.is_contiguous() && geometry.is_dense());
            assert_eq!(geometry.end(), numel);
        }
    }

    #[test]
    fn refused_sizes_are_named() {
        let negative = message(Geometry::contiguous(&[-1]));
        assert_eq!(negative, "trying to create tensor with negative dimension -1: [-1]");
        let huge = [i64::MAX, 2];
        assert!(message(Geometry::contiguous(&huge)).contains("[9223372036854775807, 2]"));
        assert!(Geometry::contiguous(&[0, i64::MAX, 2]).is_err(), "strides would overflow");
        assert!(message(Geometry::strided(&[2], &[1, 1], 0)).contains("mismatch"));
        assert!(message(Geometry::strided(&[2], &[-1], 0)).contains("negative strides"));
        assert!(message(Geometry::strided(&[2], &[1], -1)).contains("offset -1"));
        assert!(message(Geometry::strided(&[3], &[i64::MAX], 0)).contains("exceed the address space"));
        assert!(Geometry::strided(&[2], &[1], i64::MAX).is_err());
        assert!(Geometry::contiguous(&[1; MAX_DIMS]).is_ok());
        assert!(message(Geometry::contiguous(&[1; MAX_DIMS + 1])).contains("65 dimensions"));
    }

    #[test]
    fn channels_last_strides() {
        let format = MemoryFormat::ChannelsLast;
        let image = Geometry::in_format(&[2, 3, 4, 5], format).unwrap();
        assert_eq!(image.strides(), [60, 1, 15, 3]);
        assert!(image.is_in_format(format) && image.is_dense() && !image.is_contiguous());
        assert!(message(Geometry::in_format(&[2, 3], format)).contains("required rank 4"));
        let volume = Geometry::in_format(&[2, 3, 4, 5, 6], MemoryFormat::ChannelsLast3d).unwrap();
        assert_eq!(volume.strides(), [360, 1, 90, 18, 3]);
    }

    #[test]
    fn dense_and_repeating_views() {
        let padded = Geometry::strided(&[2, 2], &[3, 1], 0).unwrap();
        assert!(!padded.is_dense() && !padded.is_contiguous());
        let expanded = Geometry::strided(&[2, 2], &[0, 1], 0).unwrap();
        assert!(expanded.repeats() && !expanded.is_dense());
        assert!(!Geometry::strided(&[1, 2], &[0, 1], 0).unwrap().repeats());
    }

    #[test]
    fn broadcasting() {
        let shapes: [&[i64]; 4] = [&[1, 3], &[2, 1], &[], &[4, 1, 1]];
        assert_eq!(broadcast(&shapes).unwrap().as_slice(), [4, 2, 3]);
        assert_eq!(broadcast(&[&[0, 1], &[1, 3]]).unwrap().as_slice(), [0, 3]);
        assert_eq!(broadcast(&[]).unwrap().len(), 0);
        assert_eq!(message(broadcast(&[&[2, 3], &[4]])), "shape [2, 3] does not broadcast with [4]");
        assert!(broadcast(&[&[2], &[0]]).is_err());
        assert!(broadcast(&[&[i64::MAX, 1], &[1, i64::MAX]]).is_err());
    }
}
