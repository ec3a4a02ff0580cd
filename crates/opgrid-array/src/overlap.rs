//! Decides exactly whether two indices of a geometry lead to one element.
//!
//! Indices `i` and `j` do if `d = i - j` solves
//!
//! ```text
//! d[0] * stride[0] + d[1] * stride[1] + … = 0,    |d[k]| < size[k],    d ≠ 0
//! ```
//!
//! a linear equation with bounds. Each step is for what the ones before leave open:
//!
//! 1. Sorted strides that each lead beyond all elements of the smaller ones: no. That is nearly every geometry.
//! 2. A stride of 0, or two dimensions that meet by themselves: yes.
//! 3. Dimensions whose `d` can only be 0 are dropped: a stride beyond the reach of all others, or one of which only
//!    multiples that are too large are multiples of what the others have in common. No more than two left: no.
//! 4. More elements than positions: yes.
//! 5. A search for `d`, dimension by dimension. What is left to reach bounds each, and it must be a multiple of what
//!    the following strides have in common. The last two dimensions are solved, not searched; they are the largest, so
//!    that three dimensions take no more steps than the cube root of their elements.
//! 6. After [`STEPS`] steps: the positions are marked, one bit each, which takes no longer than to write the elements.
//!
//! The general problem is as hard as the sum of a subset. Geometries of more than [`MARKED`] positions that the search
//! does not decide stay undecided: of three dimensions none, of four only some with more than 2³⁸ elements.

use smallvec::SmallVec;

/// Steps of the search.
const STEPS: u32 = 1 << 21;
/// Positions that are marked at most.
const MARKED: i64 = 1 << 34;

/// A dimension of several elements.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Dim {
    stride: i64,
    /// The largest difference of two indices.
    most: i64,
}

type List = SmallVec<[Dim; 6]>;

/// Whether two indices lead to one element; `None` if that stays undecided. `sizes` and `strides` are those of a
/// [`Geometry`](super::Geometry) with elements, so that positions fit an `i64`.
pub(super) fn overlaps(sizes: &[i64], strides: &[i64]) -> Option<bool> {
    let dims = sizes.iter().zip(strides).filter(|(size, _)| **size > 1);
    let mut dims: List = dims.map(|(&size, &stride)| Dim { stride, most: size - 1 }).collect();
    dims.sort_unstable_by_key(|dim| dim.stride);
    let mut reach = 0;
    let nested = dims.iter().all(|dim| {
        let beyond = dim.stride > reach;
        reach += dim.stride * dim.most;
        beyond
    });
    if nested { Some(false) } else { undecided(dims) }
}

/// Decides whether two indices lead to one element for dimensions, sorted by stride, that are not nested; `None` if
/// it cannot.
#[cold]
fn undecided(mut dims: List) -> Option<bool> {
    let pairs =
        dims.iter().enumerate().flat_map(|(at, one)| dims[at + 1..].iter().map(move |two| (one, two)));
    if dims.iter().any(|dim| dim.stride == 0) || pairs.into_iter().any(|(one, two)| meet(*one, *two)) {
        return Some(true);
    }
    drop_still(&mut dims);
    if dims.len() <= 2 {
        return Some(false);
    }
    let common = dims.iter().fold(0, |common, dim| gcd(common, dim.stride));
    let positions = reach(&dims) / common + 1;
    let elements = dims.iter().try_fold(1i64, |elements, dim| elements.checked_mul(dim.most + 1));
    if elements.is_none_or(|elements| elements > positions) {
        return Some(true);
    }
    Search::new(&dims).run().or_else(|| mark(&dims, common, positions))
}

/// Whether two dimensions alone lead to one element twice.
fn meet(one: Dim, two: Dim) -> bool {
    let common = gcd(one.stride, two.stride);
    two.stride / common <= one.most && one.stride / common <= two.most
}

/// The distance between the first and the last position.
fn reach(dims: &[Dim]) -> i64 {
    dims.iter().map(|dim| dim.stride * dim.most).sum()
}

/// Drops dimensions in which indices of one element are equal.
fn drop_still(dims: &mut List) {
    let mut at = dims.len();
    let mut since_dropped = 0;
    while since_dropped < dims.len() {
        at = at.checked_sub(1).unwrap_or(dims.len() - 1);
        let Dim { stride, most } = dims[at];
        let others = || dims.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, dim)| dim);
        let beyond = stride > others().map(|dim| dim.stride * dim.most).sum();
        let common = others().fold(0, |common, dim| gcd(common, dim.stride));
        // With no other one, which is a common stride of 0, only 0 is left.
        if beyond || common == 0 || common / gcd(common, stride) > most {
            dims.remove(at);
            since_dropped = 0;
        } else {
            since_dropped += 1;
        }
    }
}

/// A dimension in the order of the search.
#[derive(Clone, Copy, Debug)]
struct Level {
    stride: i128,
    most: i128,
    /// How far the following dimensions lead.
    rest: i128,
    /// What its stride and the following ones have in common.
    common: i128,
    /// Every so many differences the following dimensions can make up for it.
    period: i128,
    /// `inverse * (stride / common) = 1` modulo `period`.
    inverse: i128,
}

struct Search {
    levels: SmallVec<[Level; 6]>,
    steps: u32,
}

impl Search {
    /// At least two dimensions, of which no two meet by themselves.
    fn new(dims: &[Dim]) -> Self {
        let mut order = List::from_slice(dims);
        order.sort_unstable_by_key(|dim| dim.most);
        let small = order.len().saturating_sub(2);
        order[..small].sort_unstable_by_key(|dim| std::cmp::Reverse(dim.stride));
        let (mut rest, mut following) = (0, 0);
        let levels = order.iter().rev().map(|dim| {
            let (stride, most) = (i128::from(dim.stride), i128::from(dim.most));
            let common = gcd(dim.stride, following);
            let period = i128::from(following / common);
            let inverse = inverse(stride / i128::from(common), period);
            let level = Level { stride, most, rest, common: i128::from(common), period, inverse };
            (rest, following) = (rest + stride * most, common);
            level
        });
        let mut levels: SmallVec<[Level; 6]> = levels.collect();
        levels.reverse();
        Self { levels, steps: STEPS }
    }

    /// Whether there is a solution; `None` if there were too many steps.
    fn run(mut self) -> Option<bool> {
        self.reaches(0, 0, true)
    }

    /// Whether the dimensions from `level` on can lead to `wanted`; those before have not moved if `still`. Then the
    /// first one that moves may as well move forwards.
    fn reaches(&mut self, level: usize, wanted: i128, still: bool) -> Option<bool> {
        let Level { stride, most, rest, common, period, inverse } = self.levels[level];
        if wanted % common != 0 {
            return Some(false);
        }
        let least = if still { 0 } else { -most };
        let least = least.max(-((rest - wanted).div_euclid(stride)));
        let most = most.min((wanted + rest).div_euclid(stride));
        // The following dimensions can make up for the rest of it, as far as their common divisor goes.
        let fitting = (wanted / common * inverse).rem_euclid(period);
        let mut difference = least + (fitting - least).rem_euclid(period);
        if level + 2 == self.levels.len() {
            // The last dimension alone makes up for the rest. From where nothing has moved these two lead nowhere.
            return Some(!still && difference <= most);
        }
        while difference <= most {
            self.steps = self.steps.checked_sub(1)?;
            if self.reaches(level + 1, wanted - difference * stride, still && difference == 0)? {
                return Some(true);
            }
            difference += period;
        }
        Some(false)
    }
}

/// Visits every element; `None` if there are too many positions, or no memory to mark them.
fn mark(dims: &[Dim], common: i64, positions: i64) -> Option<bool> {
    let words = usize::try_from(positions).ok().filter(|_| positions <= MARKED)?.div_ceil(64);
    let mut marks: Vec<u64> = Vec::new();
    marks.try_reserve_exact(words).ok()?;
    marks.resize(words, 0);
    let mut index: SmallVec<[i64; 6]> = SmallVec::from_elem(0, dims.len());
    let mut at = 0;
    loop {
        let position = (at / common) as usize;
        let (word, bit) = (&mut marks[position / 64], 1 << (position % 64));
        if *word & bit != 0 {
            return Some(true);
        }
        *word |= bit;
        let mut dim = 0;
        while index[dim] == dims[dim].most {
            at -= dims[dim].stride * index[dim];
            index[dim] = 0;
            dim += 1;
            if dim == dims.len() {
                return Some(false);
            }
        }
        index[dim] += 1;
        at += dims[dim].stride;
    }
}

fn gcd(mut one: i64, mut other: i64) -> i64 {
    while other != 0 {
        (one, other) = (other, one % other);
    }
    one
}

/// The number below `period` whose product with `number`, which has no divisor in common with it, leaves 1.
fn inverse(number: i128, period: i128) -> i128 {
    if period <= 1 {
        return 0;
    }
    let (mut rest, mut next) = (period, number.rem_euclid(period));
    let (mut of_rest, mut of_next) = (0i128, 1i128);
    while next != 0 {
        let quotient = rest / next;
        (rest, next) = (next, rest - quotient * next);
        (of_rest, of_next) = (of_next, of_rest - quotient * of_next);
    }
    of_rest.rem_euclid(period)
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn dims(of: &[(i64, i64)]) -> List {
        of.iter().map(|&(size, stride)| Dim { stride, most: size - 1 }).collect()
    }

    fn marked(dims: &[Dim]) -> Option<bool> {
        mark(dims, 1, reach(dims) + 1)
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(3000) })]

        /// Also where elements are few among many positions, so that neither counting nor pairs decide.
        #[test]
        fn the_search_finds_what_marks_find(of in vec((2i64..6, 1i64..400), 3..6)) {
            let dims = dims(&of);
            let pairs_meet = (0..dims.len()).any(|at| dims[at + 1..].iter().any(|two| meet(dims[at], *two)));
            let found = if pairs_meet { Some(true) } else { Search::new(&dims).run() };
            prop_assert_eq!(found, marked(&dims), "{:?}", of);
        }

        #[test]
        fn dropped_dimensions_decide_nothing(of in vec((2i64..6, 1i64..60), 1..6)) {
            let (all, mut left) = (dims(&of), dims(&of));
            drop_still(&mut left);
            let expected = marked(&all);
            prop_assert_eq!(if left.is_empty() { Some(false) } else { marked(&left) }, expected, "{:?}", of);
        }
    }

    #[test]
    fn what_is_too_large_to_search_and_to_mark_stays_undecided() {
        // The sum of a subset in its hard form: as many signs as bits, of numbers without a pattern.
        let mut state = 1u64;
        let of: Vec<(i64, i64)> = (0..36)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (2, (state >> 8) as i64)
            })
            .collect();
        let (sizes, strides): (Vec<i64>, Vec<i64>) = of.into_iter().unzip();
        assert_eq!(overlaps(&sizes, &strides), None);
    }
}
