//! Reads images at places that a grid names, between elements and beyond the edges.

use opgrid_core::Result;

use crate::parts;
use crate::resampling::check_planes;
use opgrid_array::loops::arithmetic::Arithmetic;
use opgrid_array::{Array, Element, Math};

/// What an element between others is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interpolation {
    /// The neighbours, the nearer the more.
    Linear,
    /// The nearest neighbour.
    Nearest,
    /// Four neighbours in each dimension, by cubic polynomials.
    Cubic,
}

/// What lies beyond the edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beyond {
    /// Zeros.
    Zeros,
    /// The element at the edge.
    Border,
    /// The image, mirrored at the edge.
    Reflection,
}

/// How a grid is read.
#[derive(Clone, Copy, Debug)]
pub struct Sampling {
    /// Between elements.
    pub interpolation: Interpolation,
    /// Beyond the edges.
    pub beyond: Beyond,
    /// Whether -1 and 1 are the middles of the outermost elements, or their outer edges.
    pub align_corners: bool,
}

/// A float that places are reckoned in.
pub trait Coordinate: Arithmetic + Into<f64> {
    /// The nearest of this type.
    fn from_f64(value: f64) -> Self;
}

impl Coordinate for f32 {
    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value as Self
    }
}

impl Coordinate for f64 {
    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value
    }
}

/// The elements of a dimension that a place is made of, with their weights: four at most.
type Taps<M> = ([(Option<usize>, M); 4], usize);

impl Sampling {
    /// The element that a number of the grid means, perhaps between two and beyond the edges.
    fn place<M: Coordinate>(&self, at: M, size: usize) -> M {
        let (size, at) = (M::from_f64(size as f64), at.plus(M::ONE));
        let half = M::from_f64(0.5);
        if self.align_corners {
            at.times(half).times(size.minus(M::ONE))
        } else {
            at.times(size).minus(M::ONE).times(half)
        }
    }

    /// Returns the coordinate within the image, after the padding mode is applied.
    fn within(&self, at: f64, size: usize) -> f64 {
        let last = size as f64 - 1.0;
        let at = match self.beyond {
            Beyond::Zeros => return at,
            Beyond::Border => at,
            Beyond::Reflection => {
                let (low, span) = if self.align_corners { (0.0, last) } else { (-0.5, size as f64) };
                if span == 0.0 {
                    0.0
                } else {
                    let from = (at - low).abs();
                    let (extra, flips) = (from % span, (from / span).floor());
                    if flips % 2.0 == 0.0 { extra + low } else { span - extra + low }
                }
            }
        };
        // What is no number is at the first element.
        at.min(last).max(0.0)
    }

    /// The element with a number, which may lie beyond the edges.
    fn element(&self, at: f64, size: usize) -> Option<usize> {
        ((0.0..size as f64).contains(&at)).then_some(at as usize)
    }

    fn taps<M: Coordinate>(&self, at: M, size: usize) -> Taps<M> {
        let at: f64 = self.place(at, size).into();
        let none = (None, M::ZERO);
        match self.interpolation {
            Interpolation::Nearest => {
                let at = self.within(at, size).round_ties_even();
                ([(self.element(at, size), M::ONE), none, none, none], 1)
            }
            Interpolation::Linear => {
                let at = self.within(at, size);
                let low = at.floor();
                let upper = at - low;
                let taps = [(low, 1.0 - upper), (low + 1.0, upper)];
                let [first, second] = taps.map(|(at, weight)| (self.element(at, size), M::from_f64(weight)));
                ([first, second, none, none], 2)
            }
            Interpolation::Cubic => {
                let low = at.floor();
                let weights = cubic_weights(at - low, -0.75);
                let tap = |k: usize| {
                    let at = self.within(low + k as f64 - 1.0, size);
                    (self.element(at.floor(), size), M::from_f64(weights[k]))
                };
                (std::array::from_fn(tap), 4)
            }
        }
    }
}

/// The weights of four neighbours for a place between the middle two, by the polynomials of R. Keys, Cubic Convolution
/// Interpolation for Digital Image Processing (1981), with the slope `a`.
pub fn cubic_weights(between: f64, a: f64) -> [f64; 4] {
    let near = |x: f64| ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0;
    let far = |x: f64| ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a;
    [far(between + 1.0), near(between), near(1.0 - between), far(2.0 - between)]
}

/// Images, read at the places of a grid whose last dimension names column, row and depth from -1 to 1.
///
/// `image` and `places` are depth, row and column; a dimension that is not there has size 1 and is not in the grid, whose
/// last dimension has `dims` numbers.
///
/// # Errors
///
/// Arrays whose sizes do not fit, overlap, tensors without data or used by others.
pub fn sample<T: Element<Math: Coordinate>>(
    out: &Array,
    input: &Array,
    grid: &Array,
    image: [usize; 3],
    dims: usize,
    sampling: Sampling,
) -> Result<()> {
    let plane: usize = image.iter().product();
    let [batch, channels] = [out.sizes()[0] as usize, out.sizes()[1] as usize];
    let places = grid.spec().numel() as usize / (batch * dims).max(1);
    parts::read::<T, _>(out, input, |input| {
        parts::read::<T, _>(out, grid, |grid| {
            check_planes(input.len(), plane, out, places)?;
            // An image with all its channels is one part, so that each place is reckoned once.
            parts::produce::<T>(out, channels * places, channels * places * 16, |part, out| {
                let input = &input[part * channels * plane..][..channels * plane];
                let grid = &grid[part * places * dims..][..places * dims];
                for (place, at) in grid.chunks_exact(dims).enumerate() {
                    let taps = |dim: usize| match at.get(2 - dim) {
                        Some(at) => sampling.taps(at.widen(), image[dim]),
                        None => ([(Some(0), Math::<T>::ONE); 4], 1),
                    };
                    let [depths, rows, columns] = [taps(0), taps(1), taps(2)];
                    for channel in 0..channels {
                        let input = &input[channel * plane..][..plane];
                        out[channel * places + place] =
                            T::narrow(weighted(input, image, [&depths, &rows, &columns]));
                    }
                }
            })
        })
    })
}

/// The sum of the elements that taps name, weighted.
fn weighted<T: Element<Math: Coordinate>>(
    input: &[T],
    [_, height, width]: [usize; 3],
    taps: [&Taps<Math<T>>; 3],
) -> Math<T> {
    let [depths, rows, columns] = taps.map(|(taps, count)| &taps[..*count]);
    let mut sum = Math::<T>::ZERO;
    for (z, depth_weight) in depths {
        for (y, row_weight) in rows {
            let (Some(z), Some(y)) = (z, y) else { continue };
            let row = &input[(z * height + y) * width..][..width];
            let outer = depth_weight.times(*row_weight);
            for (x, weight) in columns {
                let Some(x) = x else { continue };
                sum = sum.plus(outer.times(*weight).times(row[*x].widen()));
            }
        }
    }
    sum
}
