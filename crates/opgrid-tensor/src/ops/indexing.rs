//! What operators share that take tensors of indices: what a list of them means, and checks.

use opgrid_core::{DType, Result};

use crate::error::argument;
use crate::kernels::indexing::{self, Lookup};
use crate::samples::{Plain, Sample, given, make, naive, number};
use crate::tensor::views::normalise_dim;
use crate::tensor::{Array, Dims, Geometry, Tensor, TensorSpec, broadcast};

/// A tensor seen through a list of index tensors, as in `x[:, i, j]`.
///
/// Index tensors broadcast with each other. Their dimensions take the place of those that they index; if there are
/// others in between, they come first.
pub(super) struct Indexing {
    /// That of the tensor, with the indexed dimensions beside each other.
    geometry: Geometry,
    /// Where the indexed dimensions begin.
    start: usize,
    /// The number of the dimension in the tensor, and its indices.
    indices: Vec<(usize, Array)>,
    /// What the indices broadcast to.
    shape: Dims,
}

impl Indexing {
    /// # Errors
    ///
    /// Indices of a dtype that has none, too many, of shapes that do not broadcast, or on another device; a mask of
    /// another shape than what it indexes, or without data.
    pub(super) fn new(input: &Tensor, indices: &[Option<Tensor>]) -> Result<Self> {
        let spec = input.spec()?;
        let indices = without_masks(spec, indices)?;
        let shapes: Vec<&[i64]> = indices.iter().map(|(_, index)| index.sizes()).collect();
        let shape = broadcast(&shapes).map_err(|_| {
            argument(format!(
                "argument `indices` has tensors of shapes {shapes:?}, which do not broadcast together"
            ))
        })?;
        let dims: Vec<usize> = indices.iter().map(|(dim, _)| *dim).collect();
        let adjacent = dims.windows(2).all(|pair| pair[0] + 1 == pair[1]);
        let (geometry, start) = if adjacent {
            (spec.geometry().clone(), dims.first().copied().unwrap_or(0))
        } else {
            let rest = (0..spec.sizes().len()).filter(|dim| !dims.contains(dim));
            let order: Vec<i64> = dims.iter().copied().chain(rest).map(|dim| dim as i64).collect();
            (spec.geometry().permute(&order)?, 0)
        };
        let indexing = Self { geometry, start, indices, shape };
        indexing.check_empty()?;
        Ok(indexing)
    }

    /// # Errors
    ///
    /// There are indices for a dimension without elements.
    fn check_empty(&self) -> Result<()> {
        let sizes = self.geometry.sizes()[self.start..self.end()].iter();
        let empty = sizes.zip(&self.indices).find(|(size, _)| **size == 0);
        match empty {
            Some((_, (dim, _))) if !self.shape.contains(&0) => {
                Err(argument(format!("index is out of bounds for dimension {dim} with size 0")))
            }
            _ => Ok(()),
        }
    }

    /// Where the indexed dimensions end.
    fn end(&self) -> usize {
        self.start + self.indices.len()
    }

    /// Three parts of a list with a number for each dimension, the middle one replaced.
    fn around(&self, list: &[i64], middle: &[i64]) -> Vec<i64> {
        [&list[..self.start], middle, &list[self.end()..]].concat()
    }

    /// The sizes of the result.
    pub(super) fn sizes(&self) -> Vec<i64> {
        self.around(self.geometry.sizes(), &self.shape)
    }

    /// What the result is like: its dimensions have the order of the tensor's, and then of the indices', in memory.
    ///
    /// # Errors
    ///
    /// Too many elements.
    pub(super) fn spec(&self, input: &TensorSpec) -> Result<TensorSpec> {
        let strides = self.around(self.geometry.strides(), &vec![0; self.shape.len()]);
        let mut inputs = vec![Geometry::strided(&self.sizes(), &strides, self.geometry.offset())?];
        for (_, index) in &self.indices {
            let stretched = index.geometry().expand(&self.shape)?;
            let ones = vec![1; self.geometry.dims()];
            let sizes = self.around(&ones, stretched.sizes());
            inputs.push(Geometry::strided(&sizes, &self.around(&ones, stretched.strides()), 0)?);
        }
        TensorSpec::elementwise(&inputs.iter().collect::<Vec<_>>(), input.dtype(), input.device())
    }

    /// The positions that the indices name.
    ///
    /// # Errors
    ///
    /// An index out of range, an index tensor without data, no memory.
    pub(super) fn lookup(&self) -> Result<Lookup> {
        let count = self.shape.iter().product::<i64>() as usize;
        let mut offsets = Vec::new();
        offsets
            .try_reserve_exact(count)
            .map_err(|error| argument(format!("no memory for {count} indices")).caused_by(error))?;
        offsets.resize(count, 0usize);
        let parts = self.geometry.sizes().iter().zip(self.geometry.strides()).skip(self.start);
        for ((dim, index), (&size, &stride)) in self.indices.iter().zip(parts) {
            let index = index.view(index.geometry().expand(&self.shape)?)?;
            for (offset, value) in offsets.iter_mut().zip(indexing::indices(&index)?) {
                *offset += (indexing::place(value, size, *dim, true)? * stride) as usize;
            }
        }
        Lookup::new(&self.geometry, self.start..self.end(), offsets)
    }
}

/// The indices by dimension, with masks replaced by the indices of their true elements.
fn without_masks(input: &TensorSpec, indices: &[Option<Tensor>]) -> Result<Vec<(usize, Array)>> {
    let sizes = input.sizes();
    let mut result = Vec::new();
    let mut dim = 0;
    for index in indices {
        let Some(index) = index.as_ref().filter(|index| index.is_defined()) else {
            dim += 1;
            continue;
        };
        check_device(input, index, "indices")?;
        match index.dtype() {
            DType::I32 | DType::I64 => {
                result.push((dim, index.array()?.clone()));
                dim += 1;
            }
            DType::Bool | DType::U8 => {
                let covered = sizes.get(dim..dim + index.dim()).unwrap_or(&[]);
                if covered != index.sizes() {
                    let message = format!(
                        "the mask in `indices` has shape {:?}, expected that of the dimensions of {sizes:?} from {dim} on",
                        index.sizes()
                    );
                    return Err(argument(message));
                }
                for column in indexing::columns(index.array()?)? {
                    result.push((dim, Array::from_slice(&column, &[column.len() as i64])?));
                    dim += 1;
                }
            }
            other => {
                let message = format!(
                    "argument `indices` has a tensor of dtype {other}, expected int64, int32, or a mask of dtype bool"
                );
                return Err(argument(message));
            }
        }
    }
    if dim > sizes.len() {
        let message = format!("too many indices for a tensor of dimension {} (got {dim})", sizes.len());
        return Err(argument(message));
    }
    Ok(result)
}

/// # Errors
///
/// A tensor of indices on another device, unless it is on the CPU.
fn check_device(input: &TensorSpec, index: &Tensor, name: &str) -> Result<()> {
    if index.device() != input.device() && index.device() != opgrid_core::Device::CPU {
        let message = format!(
            "argument `{name}` has a tensor on device {}, expected cpu or {} as `self`",
            index.device(),
            input.device()
        );
        return Err(argument(message));
    }
    Ok(())
}

/// The dimension that `dim` means.
///
/// # Errors
///
/// One out of range; indices that are no integers, or on another device.
pub(super) fn along(input: &TensorSpec, dim: i64, index: &TensorSpec) -> Result<usize> {
    let dim = normalise_dim(dim, input.sizes().len())?;
    if !matches!(index.dtype(), DType::I32 | DType::I64) {
        let message = format!("argument `index` has dtype {}, expected int32 or int64", index.dtype());
        return Err(argument(message));
    }
    if index.device() != input.device() {
        let message = format!(
            "argument `index` is on device {}, expected {} as `self`",
            index.device(),
            input.device()
        );
        return Err(argument(message));
    }
    Ok(dim)
}

/// Samples of a tensor and a list of indices, also negative ones and with gaps.
pub(super) fn inputs(dtype: DType) -> Vec<Sample> {
    let of = |sizes: &[i64], indices: &[i64]| Some(Plain::of(DType::I64, sizes, indices));
    let narrow = Some(Plain::of(DType::I32, &[2], &[1, 0]));
    let cases: [(&[i64], Vec<Option<Plain>>); 6] = [
        (&[3, 4], vec![of(&[3], &[2, 0, -1])]),
        (&[3, 4], vec![None, of(&[1, 2], &[1, -2])]),
        (&[2, 3, 4], vec![of(&[2], &[1, 0]), None, of(&[2], &[3, 1])]),
        (&[2, 3, 4], vec![None, of(&[2, 1], &[0, 2]), of(&[3], &[1, 1, 3])]),
        (&[4], vec![of(&[], &[-1])]),
        (&[2, 3], vec![narrow, of(&[2], &[2, 2])]),
    ];
    let none =
        given(make::numbers(dtype, &[2, 3], 0)).and(vec![Some(Plain::of::<i64>(DType::I64, &[0], &[]))]);
    let one =
        |(sizes, indices): (&[i64], Vec<Option<Plain>>)| given(make::numbers(dtype, sizes, 0)).and(indices);
    cases.into_iter().map(one).chain([none]).collect()
}

/// Samples of a tensor and masks.
pub(super) fn masks(dtype: DType) -> Vec<Sample> {
    let mask = |sizes: &[i64]| Some(make::numbers(DType::Bool, sizes, 1));
    let cases = [vec![mask(&[2, 3])], vec![mask(&[2])], vec![None, mask(&[3])]];
    cases.map(|indices| given(make::numbers(dtype, &[2, 3], 0)).and(indices)).to_vec()
}

/// For samples: the sizes that indices give, and the place in the tensor of each of those positions.
///
/// # Errors
///
/// Indices that do not broadcast.
pub(super) fn sources(
    x: &Plain,
    indices: &[Option<Plain>],
) -> Result<(Vec<i64>, impl Fn(&[i64]) -> Vec<i64>)> {
    let mut by_dim: Vec<Option<Plain>> = indices
        .iter()
        .flat_map(|gap| match gap {
            Some(mask) if mask.dtype() == DType::Bool => true_places(mask).into_iter().map(Some).collect(),
            other => vec![other.clone()],
        })
        .collect();
    by_dim.resize(x.sizes().len(), None);
    let shape = naive::broadcast(by_dim.iter().flatten().map(Plain::sizes))?;
    let indexed: Vec<usize> = (0..by_dim.len()).filter(|&dim| by_dim[dim].is_some()).collect();
    let adjacent = indexed.windows(2).all(|pair| pair[1] == pair[0] + 1);
    let start = if adjacent { indexed.first().copied().unwrap_or(0) } else { 0 };
    let own = x.sizes().to_vec();
    let mut sizes: Vec<i64> =
        (0..own.len()).filter(|&dim| by_dim[dim].is_none()).map(|dim| own[dim]).collect();
    sizes.splice(start..start, shape.iter().copied());
    let source = move |position: &[i64]| {
        let mut free = position.to_vec();
        let middle: Vec<i64> = free.drain(start..start + shape.len()).collect();
        let mut free = free.into_iter();
        let place = |(index, size): (&Option<Plain>, &i64)| match index {
            Some(index) => number::whole(index.at(&middle)).rem_euclid(*size),
            None => free.next().unwrap_or(0),
        };
        by_dim.iter().zip(&own).map(place).collect()
    };
    Ok((sizes, source))
}

/// The indices of a mask's true elements, one tensor for each dimension.
fn true_places(mask: &Plain) -> Vec<Plain> {
    let places: Vec<_> = naive::positions(mask.sizes()).filter(|place| mask.at(place).to_bool()).collect();
    let column = |dim: usize| places.iter().map(|place| place[dim]).collect::<Vec<_>>();
    (0..mask.sizes().len()).map(|dim| Plain::of(DType::I64, &[places.len() as i64], &column(dim))).collect()
}
