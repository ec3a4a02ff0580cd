//! Random shapes, and the ways in which a tensor of a shape can lie in memory.

use crate::random::Random;

/// A random shape: mostly few dimensions and few elements, sometimes none of either, now and then many elements.
pub fn shape(random: &mut Random) -> Vec<i64> {
    match random.below(100) {
        0..8 => Vec::new(),
        8..13 => with_zero(random),
        13..15 => vec![random.below(600) as i64 + 40],
        15..17 => vec![random.below(20) as i64 + 20, random.below(20) as i64 + 20],
        17..27 => (0..4).map(|_| random.below(4) as i64 + 1).collect(),
        27..31 => (0..5).map(|_| random.below(3) as i64 + 1).collect(),
        _ => small(random),
    }
}

fn small(random: &mut Random) -> Vec<i64> {
    (0..random.below(3) + 1).map(|_| random.below(5) as i64 + 1).collect()
}

fn with_zero(random: &mut Random) -> Vec<i64> {
    let mut sizes = small(random);
    let at = random.below(sizes.len());
    sizes[at] = 0;
    sizes
}

/// A shape that broadcasts to `shape`: leading dimensions away, some dimensions 1.
pub fn narrowed(random: &mut Random, shape: &[i64]) -> Vec<i64> {
    let start = if random.chance(25) { random.below(shape.len() + 1) } else { 0 };
    shape[start..].iter().map(|size| if random.chance(20) { 1 } else { *size }).collect()
}

/// A shape that most likely does not broadcast with `shape`.
pub fn spoilt(random: &mut Random, shape: &[i64]) -> Vec<i64> {
    let mut sizes = shape.to_vec();
    match sizes.len() {
        0 => sizes.push(random.below(3) as i64),
        dims => sizes[random.below(dims)] += 1 + random.below(2) as i64,
    }
    sizes
}

/// Where the elements of a tensor lie.
#[derive(Clone, Debug)]
pub struct Strided {
    /// Strides of the dimensions.
    pub strides: Vec<i64>,
    /// Where the first element lies.
    pub offset: i64,
    /// How many elements the block has.
    pub count: usize,
}

/// How far a layout may be from an ordinary one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Row-major.
    Rows,
    /// Permuted, with gaps and offset.
    Apart,
    /// Strided, with dimensions that repeat elements.
    Stretched,
}

impl Kind {
    /// What an input may be.
    pub fn of_input(random: &mut Random) -> Self {
        match random.below(100) {
            0..40 => Self::Rows,
            40..85 => Self::Apart,
            _ => Self::Stretched,
        }
    }

    /// What a tensor that is written may be; a stretched one is refused.
    pub fn of_output(random: &mut Random) -> Self {
        match random.below(100) {
            0..45 => Self::Rows,
            45..97 => Self::Apart,
            _ => Self::Stretched,
        }
    }
}

/// A random layout of that kind.
pub fn strided(random: &mut Random, sizes: &[i64], kind: Kind) -> Strided {
    let is_rows = kind == Kind::Rows;
    let order = if is_rows { (0..sizes.len()).rev().collect() } else { order(random, sizes) };
    let mut strides = vec![0; sizes.len()];
    let mut step = 1;
    for dim in order {
        if !is_rows && random.chance(12) {
            step *= 2;
        }
        strides[dim] = step;
        if kind == Kind::Stretched && random.chance(40) {
            strides[dim] = 0;
        } else {
            step *= sizes[dim].max(1);
        }
        if sizes[dim] == 1 && !is_rows && random.chance(25) {
            strides[dim] = random.below(9) as i64;
        }
    }
    let offset = if !is_rows && random.chance(30) { random.below(5) as i64 } else { 0 };
    let last: i64 = sizes.iter().zip(&strides).map(|(size, stride)| (size - 1).max(0) * stride).sum();
    let count = if sizes.contains(&0) { offset } else { offset + last + 1 };
    let spare = if random.chance(20) { random.below(3) as i64 } else { 0 };
    Strided { strides, offset, count: (count + spare) as usize }
}

/// The dimensions from the fastest to the slowest.
fn order(random: &mut Random, sizes: &[i64]) -> Vec<usize> {
    let dims = sizes.len();
    if dims >= 4 && random.chance(50) {
        // Channels last: the second dimension is the fastest.
        return std::iter::once(1).chain((2..dims).rev()).chain([0]).collect();
    }
    let mut order: Vec<usize> = (0..dims).rev().collect();
    if random.chance(65) {
        for at in (1..dims).rev() {
            order.swap(at, random.below(at + 1));
        }
    }
    order
}
