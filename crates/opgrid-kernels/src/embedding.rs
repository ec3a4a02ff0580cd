//! Looks up rows of a table by indices, in bags, and adds gradients to the rows that they came from.

use opgrid_core::Result;

use crate::normalise::numbers;
use crate::parts;
use opgrid_array::loops::arithmetic::{Arithmetic, Ordered};
use opgrid_array::loops::math::Inexact;
use opgrid_array::{Array, Element, Math};

/// Rows by the position of what is added to them: `starts[row]..starts[row + 1]` of `places`.
struct Occurrences {
    starts: Vec<usize>,
    places: Vec<usize>,
}

impl Occurrences {
    /// Where each of `rows` rows occurs, but for `skipped`. Indices of other rows do not count.
    fn from_indices(indices: &[i64], rows: usize, skipped: i64) -> Self {
        let row_of = |index: i64| usize::try_from(index).ok().filter(|row| *row < rows && index != skipped);
        let mut starts = vec![0; rows + 1];
        indices.iter().filter_map(|index| row_of(*index)).for_each(|row| starts[row + 1] += 1);
        for row in 0..rows {
            starts[row + 1] += starts[row];
        }
        let mut next = starts.clone();
        let mut places = vec![0; starts[rows]];
        for (place, index) in indices.iter().enumerate() {
            if let Some(row) = row_of(*index) {
                places[next[row]] = place;
                next[row] += 1;
            }
        }
        Self { starts, places }
    }

    fn of_row(&self, row: usize) -> &[usize] {
        &self.places[self.starts[row]..self.starts[row + 1]]
    }
}

/// Writes to each row of `out` the sum of the rows of `grad` that `indices` name it for; no `skipped` one. A weight is asked
/// for the number of terms of a row.
///
/// # Errors
///
/// Overlap, tensors without data or used by others.
pub fn add_rows<T: Element<Math: Arithmetic>>(
    out: &Array,
    grad: &Array,
    indices: &[i64],
    skipped: i64,
    weight: impl Fn(usize) -> Math<T> + Sync,
) -> Result<()> {
    let &[rows, columns] = out.sizes() else { return Ok(()) };
    if rows == 0 || columns == 0 {
        return Ok(());
    }
    let (rows, columns) = (rows as usize, columns as usize);
    let occurrences = Occurrences::from_indices(indices, rows, skipped);
    parts::read::<T, _>(out, grad, |grad| {
        parts::produce::<T>(out, columns, columns, |row, to| {
            let places = occurrences.of_row(row);
            let mut sums = vec![Math::<T>::ZERO; to.len()];
            let weight = weight(places.len());
            for place in places {
                for (sum, term) in sums.iter_mut().zip(&grad[place * columns..]) {
                    *sum = sum.plus(term.widen().times(weight));
                }
            }
            to.iter_mut().zip(sums).for_each(|(to, sum)| *to = T::narrow(sum));
        })
    })
}

/// What bags hold: `starts[bag]..ends[bag]` of the indices.
pub struct Bags {
    /// The rows of the table.
    pub indices: Vec<i64>,
    /// For each bag, the numbers of its first index and of the one after its last.
    pub ranges: Vec<(usize, usize)>,
    /// An index that does not count.
    pub skipped: i64,
}

impl Bags {
    fn entries(&self, bag: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
        let (start, end) = self.ranges[bag];
        let counted = (start..end).filter(|place| self.indices[*place] != self.skipped);
        counted.map(|place| (place, self.indices[place] as usize))
    }

    /// How many indices of a bag count.
    pub fn count(&self, bag: usize) -> usize {
        self.entries(bag).count()
    }
}

/// Writes the sum of the rows of each bag, each times its weight, or their average.
///
/// # Errors
///
/// As [`add_rows`].
pub fn sum_bags<T: Element<Math: Inexact>>(
    out: &Array,
    table: &Array,
    bags: &Bags,
    weights: Option<&Array>,
    is_average: bool,
) -> Result<()> {
    let columns = table.sizes()[1] as usize;
    let weights = weights.map(numbers::<Math<T>>).transpose()?;
    parts::read::<T, _>(out, table, |table| {
        parts::produce::<T>(out, columns, columns * 8, |bag, to| {
            let mut sums = vec![Math::<T>::ZERO; to.len()];
            for (place, row) in bags.entries(bag) {
                let weight = weights.as_ref().map_or(Math::<T>::ONE, |weights| weights[place]);
                for (sum, term) in sums.iter_mut().zip(&table[row * columns..]) {
                    *sum = sum.plus(term.widen().times(weight));
                }
            }
            let count = if is_average { bags.count(bag).max(1) } else { 1 };
            let divisor: Math<T> = (count as f64).cast();
            to.iter_mut().zip(sums).for_each(|(to, sum)| *to = T::narrow(sum.over(divisor)));
        })
    })
}

/// Writes the largest elements of the rows of each bag, and the rows that they are from; zeros for a bag that holds nothing.
///
/// # Errors
///
/// As [`add_rows`].
pub fn largest_of_bags<T: Element<Math: Ordered>>(
    (out, rows): (&Array, &Array),
    table: &Array,
    bags: &Bags,
) -> Result<()> {
    let columns = table.sizes()[1] as usize;
    parts::read::<T, _>(out, table, |table| {
        parts::produce_two::<T, i64>([out, rows], columns, columns * 8, |bag, to, from| {
            for (number, (_, row)) in bags.entries(bag).enumerate() {
                for ((to, from), value) in to.iter_mut().zip(from.iter_mut()).zip(&table[row * columns..]) {
                    if number == 0 || to.widen().is_below(value.widen()) {
                        (*to, *from) = (*value, row as i64);
                    }
                }
            }
        })
    })
}
