//! Numbers in disjoint sets, which are joined step by step.

/// Disjoint sets of the numbers from 0 on. The smallest number of a set stands for it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sets(Vec<usize>);

impl Sets {
    /// So many sets of one number each.
    pub(crate) fn new(count: usize) -> Self {
        Self((0..count).collect())
    }

    /// Adds a set with the next number.
    pub(crate) fn push(&mut self) -> usize {
        self.0.push(self.0.len());
        self.0.len() - 1
    }

    /// The number that stands for the set of one.
    pub(crate) fn root(&self, mut number: usize) -> usize {
        while self.0[number] != number {
            number = self.0[number];
        }
        number
    }

    /// Joins two sets. Numbers along the way point to the root afterwards, so that ways stay short.
    pub(crate) fn join(&mut self, a: usize, b: usize) {
        let root = self.root(a).min(self.root(b));
        for mut number in [a, b] {
            while self.0[number] != root {
                number = std::mem::replace(&mut self.0[number], root);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_number_stands_for_a_set() {
        let mut sets = Sets::new(6);
        sets.join(4, 5);
        sets.join(3, 4);
        sets.join(1, 2);
        assert_eq!((0..6).map(|number| sets.root(number)).collect::<Vec<_>>(), [0, 1, 1, 3, 3, 3]);
        sets.join(5, 2);
        let added = sets.push();
        sets.join(added, 3);
        assert_eq!((0..7).map(|number| sets.root(number)).collect::<Vec<_>>(), [0, 1, 1, 1, 1, 1, 1]);
    }
}
