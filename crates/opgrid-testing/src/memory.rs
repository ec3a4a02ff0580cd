//! How the elements of a tensor can lie in memory: the layouts that every input is tried in.

use opgrid_core::Scalar;
use opgrid_samples::{Plain, naive};

/// The order and the gaps of elements in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Memory {
    /// Row by row.
    Contiguous,
    /// The first dimension the fastest.
    Transposed,
    /// With a gap behind each element, and some elements in front.
    Stepped,
    /// Row by row, with some elements in front.
    Offset,
    /// One element for all of the first dimension that has several. The numbers of the sample become such.
    Expanded,
    /// The dimension of channels the fastest, for four and five dimensions; the others as [`Self::Offset`].
    ChannelsLast,
}

impl Memory {
    /// All but [`Self::Contiguous`].
    pub(crate) const STRIDED: [Self; 5] =
        [Self::Transposed, Self::Stepped, Self::Offset, Self::Expanded, Self::ChannelsLast];

    /// Whether some elements are in several places.
    pub(crate) fn repeats(self) -> bool {
        self == Self::Expanded
    }

    /// Strides and offset for these sizes, in elements.
    pub(crate) fn strides(self, sizes: &[i64]) -> (Vec<i64>, i64) {
        let dims = sizes.len();
        let order: Vec<usize> = match self {
            Self::Transposed => (0..dims).rev().collect(),
            Self::ChannelsLast if (4..=5).contains(&dims) => {
                [0].into_iter().chain(2..dims).chain([1]).collect()
            }
            _ => (0..dims).collect(),
        };
        let repeated = if self == Self::Expanded { repeated(sizes) } else { None };
        let mut strides = vec![0; dims];
        let mut next = if self == Self::Stepped { 2 } else { 1 };
        for dim in order.into_iter().rev().filter(|dim| Some(*dim) != repeated) {
            strides[dim] = next;
            next *= sizes[dim].max(1);
        }
        let offset = match self {
            Self::Contiguous | Self::Transposed | Self::Expanded => 0,
            _ => 3,
        };
        (strides, offset)
    }

    /// The numbers as this layout can hold them.
    pub(crate) fn holds(self, plain: &Plain) -> Plain {
        match repeated(plain.sizes()) {
            Some(dim) if self == Self::Expanded => Plain::from_fn(plain.dtype(), plain.sizes(), |position| {
                let mut position = position.to_vec();
                position[dim] = 0;
                plain.at(&position)
            }),
            _ => plain.clone(),
        }
    }

    /// All elements of the memory, with others in the gaps.
    pub(crate) fn spread(self, plain: &Plain) -> Plain {
        let (strides, offset) = self.strides(plain.sizes());
        let place = |position: &[i64]| {
            position.iter().zip(&strides).fold(offset, |place, (index, stride)| place + index * stride)
        };
        let last: Vec<i64> = plain.sizes().iter().map(|size| (size - 1).max(0)).collect();
        // One element more than there is, so that no memory is without any.
        let mut memory = Plain::from_elements(plain.dtype(), &[place(&last) + 2], &[Scalar::Int(1)]);
        for position in naive::positions(plain.sizes()) {
            memory.set(&[place(&position)], plain.at(&position));
        }
        memory
    }
}

/// The first dimension with several elements.
fn repeated(sizes: &[i64]) -> Option<usize> {
    sizes.iter().position(|&size| size > 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use opgrid_core::DType;

    #[test]
    fn elements_lie_where_strides_say() {
        let x = Plain::from_elements(DType::I64, &[2, 3], &[10, 11, 12, 13, 14, 15]);
        let cases = [
            (Memory::Transposed, vec![1, 2], 0, vec![10, 13, 11, 14, 12, 15, 1]),
            (Memory::Stepped, vec![6, 2], 3, vec![1, 1, 1, 10, 1, 11, 1, 12, 1, 13, 1, 14, 1, 15, 1]),
            (Memory::Offset, vec![3, 1], 3, vec![1, 1, 1, 10, 11, 12, 13, 14, 15, 1]),
        ];
        for (memory, strides, offset, elements) in cases {
            assert_eq!(memory.strides(x.sizes()), (strides, offset), "{memory:?}");
            let expected = Plain::from_elements(DType::I64, &[elements.len() as i64], &elements);
            assert_eq!(memory.spread(&x), expected, "{memory:?}");
        }
        assert_eq!(Memory::ChannelsLast.strides(&[2, 3, 4, 5]), (vec![60, 1, 15, 3], 3));
    }

    #[test]
    fn repeated_elements_are_one() {
        let x = Plain::from_elements(DType::I64, &[2, 3], &[10, 11, 12, 13, 14, 15]);
        let held = Memory::Expanded.holds(&x);
        assert_eq!(held, Plain::from_elements(DType::I64, &[2, 3], &[10, 11, 12]));
        assert_eq!(Memory::Expanded.strides(x.sizes()), (vec![0, 1], 0));
    }
}
