//! What operators share that take tensors of indices: what a list of them means, and checks.

use opgrid_core::{DType, Device, Result};

use opgrid_array::error::{argument, out_of_range};
use opgrid_kernels::indexing::{self, Indexed, Lookup};
use opgrid_tensor::layers::fake;
use opgrid_tensor::tensor::views::normalise_dim;
use opgrid_tensor::tensor::{Array, Dims, Geometry, Tensor, TensorSpec, broadcast};

/// A tensor seen through a list of index tensors, as in `x[:, i, j]`.
///
/// Index tensors broadcast with each other. Their dimensions take the place of those that they index; if there are
/// others in between, they come first.
pub struct Indexing {
    /// The geometry of the tensor, with the indexed dimensions adjacent.
    geometry: Geometry,
    /// Where the indexed dimensions begin.
    start: usize,
    /// The number of the dimension in the tensor, and its indices.
    indices: Vec<(usize, Array)>,
    /// What the indices broadcast to.
    shape: Dims,
}

impl Indexing {
    /// Broadcasts the indices and arranges the dimensions of the tensor.
    ///
    /// # Errors
    ///
    /// Indices of a dtype that has none, too many, of shapes that do not broadcast, or on another device; a mask of
    /// another shape than what it indexes, or without data.
    pub fn new(input: &Tensor, indices: &[Option<Tensor>]) -> Result<Self> {
        let spec = input.spec()?;
        let (seen, indices) = without_masks(spec, indices, columns)?;
        let shapes: Vec<&[i64]> = indices.iter().map(|(_, index)| index.sizes()).collect();
        let shape = broadcast(&shapes).map_err(|_| {
            argument(format!(
                "argument `indices` has tensors of shapes {shapes:?}, which do not broadcast together"
            ))
        })?;
        let dims: Vec<usize> = indices.iter().map(|(dim, _)| *dim).collect();
        let adjacent = dims.windows(2).all(|pair| pair[0] + 1 == pair[1]);
        let (geometry, start) = if adjacent {
            (seen, dims.first().copied().unwrap_or(0))
        } else {
            let rest = (0..seen.dims()).filter(|dim| !dims.contains(dim));
            let order: Vec<i64> = dims.iter().copied().chain(rest).map(|dim| dim as i64).collect();
            (seen.permute(&order)?, 0)
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
                Err(out_of_range(format!("index is out of bounds for dimension {dim} with size 0")))
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
    pub fn sizes(&self) -> Vec<i64> {
        self.around(self.geometry.sizes(), &self.shape)
    }

    /// What the result is like: its dimensions have the order of the tensor's, and then of the indices', in memory.
    ///
    /// # Errors
    ///
    /// Too many elements.
    pub fn spec(&self, input: &TensorSpec) -> Result<TensorSpec> {
        let strides = self.around(self.geometry.strides(), &vec![0; self.shape.len()]);
        let mut inputs = vec![Geometry::strided(&self.sizes(), &strides, self.geometry.offset())?];
        for (_, index) in &self.indices {
            let stretched = index.geometry().expand(&self.shape)?;
            let ones = vec![1; self.geometry.dims()];
            let sizes = self.around(&ones, stretched.sizes());
            // Indices without a common view are laid in rows first.
            inputs.push(stretched.view(&sizes).or_else(|_| Geometry::contiguous(&sizes))?);
        }
        TensorSpec::elementwise(&inputs.iter().collect::<Vec<_>>(), input.dtype(), input.device())
    }

    /// The positions that the indices name.
    ///
    /// # Errors
    ///
    /// An index out of range, an index tensor without data, no memory.
    pub fn lookup(&self) -> Result<Lookup> {
        let parts = self.geometry.sizes().iter().zip(self.geometry.strides()).skip(self.start);
        let mut lists = Vec::new();
        for ((dim, index), (&size, &stride)) in self.indices.iter().zip(parts) {
            let stretched = index.view(index.geometry().expand(&self.shape)?)?;
            lists.push((Indexed { dim: *dim, size, stride, from_end: true }, stretched));
        }
        let lists = lists.iter().map(|(indexed, list)| (*indexed, list));
        let offsets = indexing::offsets(&self.shape, lists)?;
        Lookup::new(&self.geometry, self.start..self.end(), offsets)
    }
}

/// Checks the dtypes, shapes and devices of indices.
///
/// # Errors
///
/// As [`Indexing::new`], as far as they do not depend on which elements of masks are true.
pub fn check(input: &TensorSpec, indices: &[Option<Tensor>]) -> Result<()> {
    let nothing = |mask: &Array| {
        Array::empty(TensorSpec::contiguous(&[mask.sizes().len() as i64, 0], DType::I64, Device::CPU)?)
    };
    without_masks(input, indices, nothing).map(drop)
}

/// The indices of the true elements of a mask, a row for each dimension; of a fake one those that it is assumed to have.
///
/// # Errors
///
/// A mask without data of which nothing is assumed.
fn columns(mask: &Array) -> Result<Array> {
    match fake::assumed_count("indices", mask.device(), mask.geometry().numel())? {
        Some(found) => {
            let sizes = [mask.sizes().len() as i64, found];
            Array::empty(TensorSpec::contiguous(&sizes, DType::I64, mask.device())?)
        }
        None => indexing::columns(mask),
    }
}

/// Whether an index is a mask, so that its elements decide how many others are named.
pub fn is_mask(index: &Tensor) -> bool {
    index.is_defined() && matches!(index.dtype(), DType::Bool | DType::U8)
}

/// The indices by dimension, with masks replaced by the indices of their true elements, which `columns` finds; and the
/// geometry that they are for: a mask without dimensions stands for one of size 1 in front of it and of what it masks.
fn without_masks(
    input: &TensorSpec,
    indices: &[Option<Tensor>],
    columns: impl Fn(&Array) -> Result<Array>,
) -> Result<(Geometry, Vec<(usize, Array)>)> {
    let mut seen = input.geometry().clone();
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
                let mut mask = index.array()?.clone();
                if mask.sizes().is_empty() && dim <= seen.dims() {
                    mask = mask.view(mask.geometry().unsqueeze(0)?)?;
                    seen = seen.unsqueeze(dim as i64)?;
                }
                let covered = seen.sizes().get(dim..dim + mask.sizes().len());
                if covered != Some(mask.sizes()) {
                    let message = format!(
                        "the mask in `indices` has shape {:?}, expected that of the dimensions of {:?} from {dim} on",
                        index.sizes(),
                        seen.sizes()
                    );
                    return Err(out_of_range(message));
                }
                let columns = columns(&mask)?;
                for column in 0..mask.sizes().len() as i64 {
                    result.push((dim, columns.view(columns.geometry().select(0, column)?)?));
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
    if dim > seen.dims() {
        let message = format!("too many indices for a tensor of dimension {} (got {dim})", seen.dims());
        return Err(argument(message));
    }
    Ok((seen, result))
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

/// Checks that an index is int32 or int64.
///
/// # Errors
///
/// Indices of another dtype than int32 and int64.
pub fn check_index_dtype(name: &str, index: &TensorSpec) -> Result<()> {
    match index.dtype() {
        DType::I32 | DType::I64 => Ok(()),
        found => Err(argument(format!("argument `{name}` has dtype {found}, expected int32 or int64"))),
    }
}

/// The dimension that `dim` means.
///
/// # Errors
///
/// One out of range; indices that are no integers, or on another device.
pub fn along(input: &TensorSpec, dim: i64, index: &TensorSpec) -> Result<usize> {
    check_index_dtype("index", index)?;
    dimension(input, dim, index)
}

/// Returns the dimension that `dim` selects, for an index tensor of any dtype without elements.
///
/// # Errors
///
/// One out of range; indices on another device.
pub fn dimension(input: &TensorSpec, dim: i64, index: &TensorSpec) -> Result<usize> {
    let dim = normalise_dim(dim, input.sizes().len())?;
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

/// Samples of indexing.
#[cfg(feature = "samples")]
pub mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    /// The differences from torch of operators that take lists of indices.
    pub const DIFFERENCES: &[Difference] = &[MASKS_WITHOUT_DIMENSIONS, LISTS_WITHOUT_INDICES, MASKS_COUNT];

    const MASKS_WITHOUT_DIMENSIONS: Difference = Difference {
        id: "masks-without-dimensions",
        what: "torch's operator fails an assertion for a mask without dimensions, or ignores it, \
             whether false or not; here it adds a dimension of size 1 or 0, as in torch's Python \
             indexing and in NumPy",
        why: "indexing has one meaning everywhere",
        test: ("opgrid-operators/tests/all/ends_of_ranges.rs", "masks_without_dimensions_add_one"),
        when: |seen| {
            let is_such = |(name, index): &(&str, &Operand)| {
                let is_mask = matches!(index.dtype, DType::Bool | DType::U8);
                *name == "indices" && is_mask && index.geometry.dims() == 0
            };
            seen.tensors().iter().any(is_such)
        },
        directed: Some(Directed {
            operator: "aten::index.Tensor",
            arguments: || {
                vec![
                    ("self", Operand::rows(0, DType::F32, &[2], &[1.0, 2.0]).into()),
                    ("indices", Argument::Tensors(vec![Some(Operand::rows(1, DType::Bool, &[], &[1.0]))])),
                ]
            },
            needs: None,
        }),
    };

    const LISTS_WITHOUT_INDICES: Difference = Difference {
        id: "lists-without-indices",
        what: "torch rejects an empty list of indices, or fails an assertion; here it selects every \
             element. Entries of None are counted before they are checked, and rejected if there are \
             too many",
        why: "`x[...]` and `x[:]` mean the same",
        test: (
            "opgrid-operators/tests/all/differences/computed.rs",
            "an_index_list_without_indices_gives_everything",
        ),
        when: |seen| {
            let words =
                ["at least one index", "masked_fill_ only", "INTERNAL ASSERT", "undefined Tensor", "nullptr"];
            let has_none = match seen.argument("indices") {
                Some(Argument::Tensors(list)) => list.iter().all(Option::is_none),
                _ => false,
            };
            has_none && words.iter().any(|words| seen.torch_refuses(words))
        },
        directed: None,
    };

    const MASKS_COUNT: Difference = Difference {
        id: "masks-count-their-dimensions",
        what: "torch's operator counts the entries of an index list, so that entries after a mask with \
             several dimensions may refer to no dimension; here a mask counts as many dimensions as it \
             has, as in torch's Python indexing",
        why: "indexing has one meaning everywhere",
        test: ("opgrid-operators/tests/all/ends_of_ranges.rs", "masks_count_their_dimensions"),
        when: |seen| {
            let Some(Argument::Tensors(list)) = seen.argument("indices") else { return false };
            let is_mask =
                |index: &Operand| matches!(index.dtype, DType::Bool | DType::U8) && index.geometry.dims() > 1;
            list.iter().flatten().any(is_mask) && seen.we_refuse("too many indices")
        },
        directed: Some(Directed {
            operator: "aten::index.Tensor",
            arguments: || {
                let mask = Operand::rows(1, DType::Bool, &[1, 2], &[1.0, 0.0]);
                vec![
                    ("self", Operand::rows(0, DType::F32, &[1, 2], &[1.0, 2.0]).into()),
                    ("indices", Argument::Tensors(vec![Some(mask), None])),
                ]
            },
            needs: None,
        }),
    };
}
