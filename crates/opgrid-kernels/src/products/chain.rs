//! In which order a chain of matrices is multiplied: the one with the fewest multiplications.
//!
//! After T. H. Cormen et al., Introduction to Algorithms, chapter on dynamic programming.

/// Where to cut each part of a chain of matrices: `cuts[first][last]` is the last matrix of the left factor. Matrix `i` has
/// `sizes[i]` rows and `sizes[i + 1]` columns.
pub fn cheapest_cuts(sizes: &[i64]) -> Vec<Vec<usize>> {
    let count = sizes.len() - 1;
    let (mut costs, mut cuts) = (vec![vec![0f64; count]; count], vec![vec![0; count]; count]);
    for length in 1..count {
        for first in 0..count - length {
            let last = first + length;
            costs[first][last] = f64::INFINITY;
            for cut in first..last {
                let own = sizes[first] as f64 * sizes[cut + 1] as f64 * sizes[last + 1] as f64;
                let cost = costs[first][cut] + costs[cut + 1][last] + own;
                if cost < costs[first][last] {
                    (costs[first][last], cuts[first][last]) = (cost, cut);
                }
            }
        }
    }
    cuts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_are_cut_where_it_costs_least() {
        // (a b) c takes 7,500 multiplications, a (b c) 75,000.
        assert_eq!(cheapest_cuts(&[10, 100, 5, 50])[0][2], 1);
        assert_eq!(cheapest_cuts(&[50, 5, 100, 10])[0][2], 0);
    }
}
