//! Samples of tensors with lists of indices and masks, and where the elements come from that they name.

use opgrid_core::{DType, Result};

use super::{Plain, Sample, generate, given, naive, number};

/// A tensor and a list of indices, also negative ones and with gaps.
pub fn inputs(dtype: DType) -> Vec<Sample> {
    let of = |sizes: &[i64], indices: &[i64]| Some(Plain::from_elements(DType::I64, sizes, indices));
    let narrow = Some(Plain::from_elements(DType::I32, &[2], &[1, 0]));
    let cases: [(&[i64], Vec<Option<Plain>>); 7] = [
        (&[3, 4], vec![of(&[3], &[2, 0, -1])]),
        (&[3, 4], vec![None, of(&[1, 2], &[1, -2])]),
        (&[2, 3, 4], vec![of(&[2], &[1, 0]), None, of(&[2], &[3, 1])]),
        (&[2, 3, 4], vec![None, of(&[2, 1], &[0, 2]), of(&[3], &[1, 1, 3])]),
        (&[4], vec![of(&[], &[-1])]),
        (&[2, 3], vec![narrow, of(&[2], &[2, 2])]),
        (&[2, 3], vec![of(&[0], &[])]),
    ];
    let one = |(sizes, indices): (&[i64], Vec<Option<Plain>>)| {
        given(generate::numbers(dtype, sizes, 0)).and(indices)
    };
    cases.into_iter().map(one).collect()
}

/// A tensor and masks.
pub fn masks(dtype: DType) -> Vec<Sample> {
    let mask = |sizes: &[i64]| Some(generate::numbers(DType::Bool, sizes, 1));
    let truth = |value: i64| Some(Plain::number(DType::Bool, value));
    let cases = [
        vec![mask(&[2, 3])],
        vec![mask(&[2])],
        vec![None, mask(&[3])],
        vec![truth(1)],
        vec![None, truth(0)],
        vec![truth(1), Some(Plain::from_elements(DType::I64, &[2], &[1, 0]))],
    ];
    cases.map(|indices| given(generate::numbers(dtype, &[2, 3], 0)).and(indices)).to_vec()
}

/// Where the elements of a tensor lie that indices name.
#[derive(Clone, Debug)]
pub struct Places {
    /// The sizes of what indexing gives.
    sizes: Vec<i64>,
    /// The dimensions of the tensor, each with its indices, and those that masks without dimensions insert.
    dims: Vec<(i64, Option<Plain>)>,
    /// Which of them are not the tensor's.
    added: Vec<usize>,
    /// Where the dimensions of the indices stand in the result, and how many there are.
    start: usize,
    count: usize,
}

impl Places {
    /// Broadcasts the indices and arranges the dimensions of the tensor.
    ///
    /// # Errors
    ///
    /// Indices that do not broadcast.
    pub fn new(tensor: &Plain, indices: &[Option<Plain>]) -> Result<Self> {
        let (mut by_dim, mut seen, mut added): (Vec<Option<Plain>>, _, _) =
            (Vec::new(), tensor.sizes().to_vec(), Vec::new());
        for index in indices {
            match index {
                Some(mask) if mask.dtype() == DType::Bool && mask.sizes().is_empty() => {
                    seen.insert(by_dim.len(), 1);
                    added.push(by_dim.len());
                    by_dim.extend(without_mask(&Some(mask.with_sizes(&[1]))));
                }
                index => by_dim.extend(without_mask(index)),
            }
        }
        by_dim.resize(seen.len(), None);
        let shape = naive::broadcast(by_dim.iter().flatten().map(Plain::sizes))?;
        let dims: Vec<_> = seen.into_iter().zip(by_dim).collect();
        let indexed: Vec<usize> = (0..dims.len()).filter(|&dim| dims[dim].1.is_some()).collect();
        let adjacent = indexed.windows(2).all(|pair| pair[1] == pair[0] + 1);
        let start = if adjacent { indexed.first().copied().unwrap_or(0) } else { 0 };
        let mut sizes: Vec<i64> =
            dims.iter().filter(|(_, index)| index.is_none()).map(|(size, _)| *size).collect();
        sizes.splice(start..start, shape.iter().copied());
        Ok(Self { sizes, dims, added, start, count: shape.len() })
    }

    /// The sizes of what indexing gives.
    pub fn sizes(&self) -> &[i64] {
        &self.sizes
    }

    /// The place in the tensor of a position in what indexing gives.
    pub fn source_position(&self, position: &[i64]) -> Vec<i64> {
        let (before, rest) = position.split_at(self.start);
        let (within, after) = rest.split_at(self.count);
        let mut free = before.iter().chain(after).copied();
        let place = |(size, index): &(i64, Option<Plain>)| match index {
            Some(index) => number::whole(index.at(within)).rem_euclid(*size),
            None => free.next().unwrap_or(0),
        };
        let places = self.dims.iter().map(place).collect::<Vec<_>>().into_iter().enumerate();
        places.filter(|(dim, _)| !self.added.contains(dim)).map(|(_, place)| place).collect()
    }
}

/// An index as it is; a mask as the indices of its true elements, one tensor for each dimension.
fn without_mask(index: &Option<Plain>) -> Vec<Option<Plain>> {
    let Some(mask) = index.as_ref().filter(|index| index.dtype() == DType::Bool) else {
        return vec![index.clone()];
    };
    let places: Vec<_> = naive::positions(mask.sizes()).filter(|place| mask.at(place).to_bool()).collect();
    let column = |dim: usize| places.iter().map(|place| place[dim]).collect::<Vec<_>>();
    let columns = (0..mask.sizes().len()).map(column);
    columns.map(|column| Some(Plain::from_elements(DType::I64, &[column.len() as i64], &column))).collect()
}
