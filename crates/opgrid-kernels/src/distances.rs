//! Measures how far points lie from each other, by the norms of their differences.

use opgrid_core::Result;

use crate::parts;
use opgrid_array::{Array, Element};

/// A float that distances are measured in.
pub trait Distance: Element<Math = Self> {
    /// The norm of the differences of the numbers at the same places: the `p`-th root of the sum of `p`-th powers, how many are not
    /// zero for 0, the largest one for infinity. What is no number makes the norm so.
    fn between(a: &[Self], b: &[Self], p: f64) -> Self;
}

/// Sums that are added up beside each other, so that they become vector code.
const LANES: usize = 16;

macro_rules! distance {
    ($($type:ident),*) => {
        $(impl Distance for $type {
            fn between(a: &[Self], b: &[Self], p: f64) -> Self {
                let sum = |f: fn(Self) -> Self| folded(a, b, [0.0; LANES], f, |one, other| one + other);
                match p {
                    0.0 => sum(|x| if x == 0.0 { 0.0 } else if x.is_nan() { x } else { 1.0 }),
                    1.0 => sum(Self::abs),
                    2.0 => sum(|x| x * x).sqrt(),
                    p if p.is_infinite() => {
                        // A comparison with what is no number is false: it stays, and is taken.
                        folded(a, b, [0.0; LANES], Self::abs, |one, other| if one >= other || one.is_nan() { one } else { other })
                    }
                    p => {
                        let power = p as Self;
                        let terms = a.iter().zip(b).map(|(a, b)| (a - b).abs().powf(power));
                        terms.sum::<Self>().powf(1.0 / power)
                    }
                }
            }
        })*
    };
}

distance!(f32, f64);

/// All differences, each changed by `f`, joined in any order.
#[inline(always)]
fn folded<T: Copy + std::ops::Sub<Output = T>>(
    a: &[T],
    b: &[T],
    mut lanes: [T; LANES],
    f: impl Fn(T) -> T,
    join: impl Fn(T, T) -> T,
) -> T {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    for (a, b) in a.iter().zip(b) {
        for (lane, (a, b)) in lanes.iter_mut().zip(a.iter().zip(b)) {
            *lane = join(*lane, f(*a - *b));
        }
    }
    for (lane, (a, b)) in lanes.iter_mut().zip(a_rest.iter().zip(b_rest)) {
        *lane = join(*lane, f(*a - *b));
    }
    let mut half = LANES / 2;
    while half > 0 {
        for at in 0..half {
            lanes[at] = join(lanes[at], lanes[at + half]);
        }
        half /= 2;
    }
    lanes[0]
}

/// The distances of all rows of `a` from all rows of `b`, for as many matrices of both: `out[k, i, j]`.
///
/// # Errors
///
/// Overlap of `out` with an input, tensors without data or used by others.
pub fn between_rows<T: Distance>(
    out: &Array,
    a: &Array,
    b: &Array,
    [rows, others, columns]: [usize; 3],
    p: f64,
) -> Result<()> {
    parts::read::<T, _>(out, a, |a| {
        parts::read::<T, _>(out, b, |b| {
            parts::produce::<T>(out, others, others.saturating_mul(columns), |part, out| {
                let row = &a[part * columns..][..columns];
                let b = &b[part / rows.max(1) * others * columns..][..others * columns];
                for (j, out) in out.iter_mut().enumerate() {
                    *out = T::between(row, &b[j * columns..][..columns], p);
                }
            })
        })
    })
}

/// The distances of all pairs of rows: of the first one from those behind it, of the second one, and so on.
///
/// # Errors
///
/// As [`between_rows`].
pub fn between_pairs<T: Distance>(
    out: &Array,
    input: &Array,
    [rows, columns]: [usize; 2],
    p: f64,
) -> Result<()> {
    // Where the pairs of a row begin.
    let first = |row: usize| row * (2 * rows - row - 1) / 2;
    parts::read::<T, _>(out, input, |input| {
        parts::produce::<T>(out, 1, columns.saturating_add(8), |pair, out| {
            let (mut row, mut end) = (0, rows);
            while end - row > 1 {
                let middle = row.midpoint(end);
                if first(middle) <= pair { row = middle } else { end = middle }
            }
            let other = pair - first(row) + row + 1;
            let of = |row: usize| &input[row * columns..][..columns];
            out[0] = T::between(of(row), of(other), p);
        })
    })
}
