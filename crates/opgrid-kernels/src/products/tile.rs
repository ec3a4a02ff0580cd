//! Sums products in registers: a tile of the result, some rows by two registers, while the factors pass by.
//!
//! ```text
//!              b[k]  ┌ register ┐┌ register ┐
//! a[0][k]            │ sums     ││ sums     │
//! a[1][k]            │ sums     ││ sums     │      each is added a[row][k] * b[k] for k = 0, 1, …
//!   ⋮                │  ⋮       ││  ⋮       │
//! ```
//!
//! A [`Kernel`] has tiles of several heights, compiled for one kind of processor. The tallest one fills the registers.
#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
use std::sync::LazyLock;

use half::bf16;

#[cfg(target_arch = "x86_64")]
use super::amx;
#[cfg(target_arch = "x86_64")]
use super::lanes::{Avx2, Avx512, Short, Sse2};
use super::lanes::{Lanes, Portable};
use opgrid_array::loops::arithmetic::Arithmetic;
#[cfg(target_arch = "x86_64")]
use opgrid_array::loops::isa::{Isa, isa};

/// Bytes of the largest tile of any kernel.
pub(super) const TILE_BYTES: usize = 32 * 2 * 64;
/// Vectors that [`Kernel::dots`] takes at a time.
pub(super) const ROWS: usize = 4;
/// Sums that it has for each of them, so that additions do not wait for one another.
const SUMS: usize = 2;
/// Registers of a tile of one row: additions do not wait for one another.
const LINE: usize = 6;

/// What some tiles beside each other are made of; strides count numbers.
pub(super) struct Work<F, N> {
    /// Tiles beside each other.
    pub tiles: usize,
    /// Steps along the inner dimension.
    pub steps: usize,
    pub a: *const F,
    /// From a row of `a` to the next.
    pub a_row: usize,
    /// From a step to the next.
    pub a_step: usize,
    pub b: *const F,
    pub b_step: usize,
    /// Where each step begins behind `b`, for tiles whose steps lie apart; `b_step` is that of others.
    pub b_offsets: *const usize,
    /// From a tile to the next.
    pub b_tile: usize,
    /// Factor of the sums.
    pub scale: N,
    pub out: *mut N,
    pub out_row: usize,
    /// Whether the sums are added to what `out` holds.
    pub add: bool,
}

/// How the elements of some lanes, the rows of a left factor or the columns of a right one, lie in a panel.
#[derive(Clone, Copy)]
pub(super) struct Layout {
    pub lanes: usize,
    /// Elements of one lane that lie beside each other.
    pub depth: usize,
    /// Steps of the inner dimension are filled up with zeros to a multiple of this.
    pub unit: usize,
}

impl Layout {
    /// Elements of a panel.
    pub fn size(self, steps: usize) -> usize {
        steps.next_multiple_of(self.unit) * self.lanes
    }
}

type Tile<F, N> = unsafe fn(&Work<F, N>);
type Dots<F, N> = unsafe fn([*const F; ROWS], *const F, usize) -> [N; ROWS];

/// The tiles for factors of type `F` and sums of type `N`.
pub(super) struct Kernel<F, N> {
    /// Rows of each of the tiles, growing.
    pub heights: [usize; 4],
    /// Columns of all tiles.
    pub width: usize,
    /// Factors of one sum that lie beside each other in panels of the right factor.
    pub depth: usize,
    /// Factors of one sum that are adjacent in panels of the left factor. Panels have a multiple of this number of
    /// steps along the inner dimension; those of [`Work`] have exactly this number.
    pub unit: usize,
    /// Factors that [`dots`](Self::dots) takes at a time.
    pub block: usize,
    tiles: [Tile<F, N>; 4],
    /// Tiles for right factors whose steps are not adjacent, where the factors of a sum need not be neighbors.
    apart: Option<[Tile<F, N>; 4]>,
    /// The tile of one row with more registers beside each other, of steps that lie apart.
    line: Option<Tile<F, N>>,
    line_width: usize,
    dots: Dots<F, N>,
}

impl<F, N> Kernel<F, N> {
    /// How the left factor's rows, so many, lie in a panel.
    pub fn left(&self, lanes: usize) -> Layout {
        Layout { lanes, depth: self.unit, unit: self.unit }
    }

    /// How the right factor's columns, so many, lie in a panel.
    pub fn right(&self, lanes: usize) -> Layout {
        Layout { lanes, depth: self.depth, unit: self.unit }
    }

    /// Rows of the tallest tile.
    pub fn tallest(&self) -> usize {
        self.heights[3]
    }

    /// Rows of the tile for so many rows.
    pub fn height(&self, rows: usize) -> usize {
        self.heights.into_iter().find(|height| *height >= rows).unwrap_or(self.tallest())
    }

    /// Whether it takes steps of the right factor that lie apart.
    pub fn takes_apart(&self) -> bool {
        self.apart.is_some()
    }

    /// Whether it has a tile of one row for steps that lie apart.
    pub fn takes_lines(&self) -> bool {
        self.line.is_some()
    }

    /// Columns of that tile.
    pub fn line_width(&self) -> usize {
        self.line_width
    }

    /// Writes tiles of one row and [`line_width`](Self::line_width) columns.
    ///
    /// # Safety
    ///
    /// As [`tile`](Self::tile), with an offset for each step.
    #[inline]
    pub unsafe fn line(&self, work: &Work<F, N>) {
        if let Some(line) = self.line {
            // SAFETY: the caller's promise; the kernel was chosen for this processor.
            unsafe { line(work) }
        }
    }

    /// Writes tiles of `height` rows.
    ///
    /// # Safety
    ///
    /// `height` is one of [`heights`](Self::heights); the factors can be read at all rows and steps, `unit` of them
    /// at each; `out` can be written, and read if it is added to. Where there are offsets, there is one for each step, and the
    /// kernel takes them.
    #[inline]
    pub unsafe fn tile(&self, height: usize, work: &Work<F, N>) {
        let number = self.heights.iter().position(|other| *other == height).unwrap_or(3);
        let tiles = match &self.apart {
            Some(apart) if !work.b_offsets.is_null() => apart,
            _ => &self.tiles,
        };
        // SAFETY: the caller's promise; the kernel was chosen for this processor.
        unsafe { tiles[number](work) }
    }

    /// The sums of products of each row with `vector`.
    ///
    /// # Safety
    ///
    /// Each has `n` factors, a multiple of [`block`](Self::block).
    #[inline]
    pub unsafe fn dots(&self, rows: [*const F; ROWS], vector: *const F, n: usize) -> [N; ROWS] {
        // SAFETY: the caller's promise; the kernel was chosen for this processor.
        unsafe { (self.dots)(rows, vector, n) }
    }
}

/// Sums some tiles, `WIDE` registers beside each other each, of a right factor whose steps lie `APART` or as far from each other all.
///
/// # Safety
///
/// As [`Kernel::tile`]; the processor has the instructions of the lanes.
#[inline(always)]
unsafe fn tile<L: Lanes, const HEIGHT: usize, const WIDE: usize, const APART: bool>(
    work: &Work<L::Factor, L::Number>,
) where
    L::Number: Default,
{
    // SAFETY: the caller vouches for the processor.
    let (nothing, scale) = unsafe { (L::all(L::Number::default()), L::all(work.scale)) };
    for tile in 0..work.tiles {
        let mut sums = [[nothing; WIDE]; HEIGHT];
        let start = work.b.wrapping_add(tile * work.b_tile);
        let (mut a, mut b) = (work.a, start);
        for step in 0..work.steps {
            if APART {
                // SAFETY: the caller promises an offset for each step.
                b = start.wrapping_add(unsafe { work.b_offsets.add(step).read() });
            }
            // SAFETY: the caller promises the registers of `b` at each step.
            let mut right = [unsafe { L::factors(b) }; WIDE];
            for (part, right) in right.iter_mut().enumerate().skip(1) {
                // SAFETY: the caller promises the registers of `b` at each step, all `WIDE` of them.
                *right = unsafe { L::factors(b.wrapping_add(part * L::COUNT * L::DEPTH)) };
            }
            for (row, sums) in sums.iter_mut().enumerate() {
                // SAFETY: the caller promises `a` at each row and step.
                let left = unsafe { L::same(a.wrapping_add(row.wrapping_mul(work.a_row))) };
                for (sum, right) in sums.iter_mut().zip(right) {
                    // SAFETY: the caller vouches for the processor.
                    *sum = unsafe { L::add_product(*sum, left, right) };
                }
            }
            a = a.wrapping_add(work.a_step);
            if !APART {
                b = b.wrapping_add(work.b_step);
            }
        }
        for (row, sums) in sums.into_iter().enumerate() {
            for (part, sum) in sums.into_iter().enumerate() {
                let at =
                    work.out.wrapping_add(row.wrapping_mul(work.out_row) + (tile * WIDE + part) * L::COUNT);
                // SAFETY: the caller promises that `out` can be read if it is added to.
                let before = if work.add { unsafe { L::sums(at) } } else { nothing };
                // SAFETY: and that it can be written.
                unsafe { L::store(L::add_scaled(before, scale, sum), at) };
            }
        }
    }
}

/// Sums products of rows.
///
/// # Safety
///
/// As [`Kernel::dots`]; the processor has the instructions of the lanes.
#[inline(always)]
unsafe fn dots<L: Lanes>(
    rows: [*const L::Factor; ROWS],
    vector: *const L::Factor,
    n: usize,
) -> [L::Number; ROWS]
where
    L::Number: Arithmetic,
{
    // SAFETY: the caller vouches for the processor.
    let nothing = unsafe { L::all(L::Number::ZERO) };
    let mut sums = [[nothing; SUMS]; ROWS];
    let register = L::COUNT * L::DEPTH;
    for block in (0..n).step_by(SUMS * register) {
        for part in 0..SUMS {
            let at = block + part * register;
            // SAFETY: the caller promises `n` factors, a multiple of what is taken at once.
            let right = unsafe { L::factors(vector.wrapping_add(at)) };
            for (row, sums) in rows.iter().zip(&mut sums) {
                // SAFETY: the caller promises `n` factors of each row, a multiple of what is taken at once.
                let left = unsafe { L::factors(row.wrapping_add(at)) };
                // SAFETY: the caller vouches for the processor.
                sums[part] = unsafe { L::add_product(sums[part], left, right) };
            }
        }
    }
    // A loop, because a closure would be compiled for any processor.
    let mut dots = [L::Number::ZERO; ROWS];
    for (dot, sums) in dots.iter_mut().zip(&sums) {
        let mut numbers = [L::Number::ZERO; SUMS * 32];
        for (part, sum) in sums.iter().enumerate() {
            // SAFETY: a register has at most 32 numbers.
            unsafe { L::store(*sum, numbers.as_mut_ptr().wrapping_add(part * L::COUNT)) };
        }
        *dot = pairwise(&mut numbers, SUMS * L::COUNT);
    }
    dots
}

/// The sum of the first `count` numbers, a power of two, by adding the halves to each other.
#[inline(always)]
fn pairwise<N: Arithmetic>(numbers: &mut [N; SUMS * 32], count: usize) -> N {
    let mut half = count / 2;
    while half > 0 {
        for at in 0..half {
            numbers[at] = numbers[at].plus(numbers[at + half]);
        }
        half /= 2;
    }
    numbers[0]
}

/// The tiles of a kernel, of each height.
macro_rules! tiles {
    ($type:ident, [$low:literal, $middle:literal, $high:literal] by $wide:literal, $apart:literal) => {
        [
            tile::<$type, 1, $wide, $apart>,
            tile::<$type, $low, $wide, $apart>,
            tile::<$type, $middle, $wide, $apart>,
            tile::<$type, $high, $wide, $apart>,
        ]
    };
}

/// Defines how tiles of three heights, and of one, by some registers are compiled for a kind of processor.
macro_rules! compiled {
    (
        $name:ident, $lanes:ident, [$low:literal, $middle:literal, $high:literal] by $wide:literal
        $(, $features:literal)?
    ) => {
        mod $name {
            use super::*;

            /// # Safety
            ///
            /// As [`super::tile`].
            $(#[target_feature(enable = $features)])?
            unsafe fn tile<T, const HEIGHT: usize, const WIDE: usize, const APART: bool>(
                work: &Work<<$lanes<T> as Lanes>::Factor, <$lanes<T> as Lanes>::Number>,
            )
            where
                $lanes<T>: Lanes<Number: Default>,
            {
                // SAFETY: passed on.
                unsafe { super::tile::<$lanes<T>, HEIGHT, WIDE, APART>(work) }
            }

            /// # Safety
            ///
            /// As [`super::dots`].
            $(#[target_feature(enable = $features)])?
            unsafe fn dots<T>(
                rows: [*const <$lanes<T> as Lanes>::Factor; ROWS],
                vector: *const <$lanes<T> as Lanes>::Factor,
                n: usize,
            ) -> [<$lanes<T> as Lanes>::Number; ROWS]
            where
                $lanes<T>: Lanes<Number: Arithmetic>,
            {
                // SAFETY: passed on.
                unsafe { super::dots::<$lanes<T>>(rows, vector, n) }
            }

            pub(super) const fn kernel<T>() -> Kernel<<$lanes<T> as Lanes>::Factor, <$lanes<T> as Lanes>::Number>
            where
                $lanes<T>: Lanes<Number: Arithmetic>,
            {
                Kernel {
                    heights: [1, $low, $middle, $high],
                    width: $wide * <$lanes<T>>::COUNT,
                    depth: <$lanes<T>>::DEPTH,
                    unit: <$lanes<T>>::DEPTH,
                    block: SUMS * <$lanes<T>>::COUNT * <$lanes<T>>::DEPTH,
                    tiles: tiles!(T, [$low, $middle, $high] by $wide, false),
                    apart: match <$lanes<T>>::DEPTH {
                        1 => Some(tiles!(T, [$low, $middle, $high] by $wide, true)),
                        _ => None,
                    },
                    line: match <$lanes<T>>::DEPTH {
                        1 => Some(tile::<T, 1, LINE, true>),
                        _ => None,
                    },
                    line_width: LINE * <$lanes<T>>::COUNT,
                    dots: dots::<T>,
                }
            }
        }
    };
}

compiled!(portable, Portable, [2, 4, 6] by 2);
// Where a factor is repeated by an instruction of its own, and each product is summed by another one, large products take 0.93 of the
// time with three beside each other.
#[cfg(target_arch = "x86_64")]
compiled!(sse2, Sse2, [2, 3, 4] by 3);
#[cfg(target_arch = "x86_64")]
compiled!(avx2, Avx2, [2, 4, 6] by 2, "avx2,fma");
#[cfg(target_arch = "x86_64")]
compiled!(avx512, Avx512, [4, 8, 12] by 2, "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl");
#[cfg(target_arch = "x86_64")]
compiled!(avx512_bf16, Avx512, [4, 8, 12] by 2, "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512bf16");

/// The kinds of x86-64 processors that tiles are compiled for.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Processor {
    Any,
    Avx2,
    Avx512,
    Avx512Bf16,
}

#[cfg(target_arch = "x86_64")]
impl Processor {
    #[inline]
    fn here() -> Self {
        static HERE: LazyLock<Processor> =
            LazyLock::new(|| match (isa(), is_x86_feature_detected!("avx512bf16")) {
                (Isa::Any, _) => Processor::Any,
                (Isa::V3, _) => Processor::Avx2,
                (Isa::V4, false) => Processor::Avx512,
                (Isa::V4, true) => Processor::Avx512Bf16,
            });
        *HERE
    }
}

/// A type that products are summed in.
pub(super) trait Summed: Arithmetic {
    /// The fastest kernel for this processor.
    fn kernel() -> &'static Kernel<Self, Self>;
}

/// With the module of the kernel for any x86-64 processor: floats have one of their own, because the compiler rearranges what sums of
/// arrays would keep in registers.
macro_rules! summed {
    ($($type:ty: $any:ident),*) => {
        $(impl Summed for $type {
            #[inline]
            fn kernel() -> &'static Kernel<Self, Self> {
                #[cfg(target_arch = "x86_64")]
                match Processor::here() {
                    Processor::Any => return const { &$any::kernel::<$type>() },
                    Processor::Avx2 => return const { &avx2::kernel::<$type>() },
                    Processor::Avx512 | Processor::Avx512Bf16 => return const { &avx512::kernel::<$type>() },
                }
                #[cfg(not(target_arch = "x86_64"))]
                const { &portable::kernel::<$type>() }
            }
        })*
    };
}

summed!(f32: sse2, f64: sse2, i16: portable, i32: portable, i64: portable);

/// The kernel for factors of 64 bits that lie between -2^31 and 2^31 - 1, where it is faster than the one for all.
#[inline]
pub(super) fn short() -> Option<&'static Kernel<i64, i64>> {
    #[cfg(target_arch = "x86_64")]
    if Processor::here() == Processor::Avx2 {
        return Some(const { &avx2::kernel::<Short>() });
    }
    None
}

/// The kernel that takes pairs of bfloat16, where the processor has one, for a product of so many rows, steps and columns.
#[inline]
pub(super) fn pairs(sizes: [usize; 3]) -> Option<&'static Kernel<bf16, f32>> {
    #[cfg(target_arch = "x86_64")]
    if Processor::here() == Processor::Avx512Bf16 {
        if amx::is_worth(sizes) && amx::is_available() {
            return Some(const { &amx_kernel() });
        }
        return Some(const { &avx512_bf16::kernel::<bf16>() });
    }
    let _ = sizes;
    None
}

/// Tiles in the registers of AMX; rows are multiplied by vectors as without them.
#[cfg(target_arch = "x86_64")]
const fn amx_kernel() -> Kernel<bf16, f32> {
    Kernel {
        heights: amx::HEIGHTS,
        width: amx::WIDTH,
        unit: amx::STEPS,
        tiles: [amx::tile::<8>, amx::tile::<16>, amx::tile::<24>, amx::tile::<32>],
        ..avx512_bf16::kernel::<bf16>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares every tile of a kernel with plain sums, of numbers so small that none of them is rounded.
    fn check<F: Copy + Default, N: Arithmetic>(
        kernel: &Kernel<F, N>,
        factor: impl Fn(i8) -> F,
        sum: impl Fn(i64) -> N,
    ) {
        let steps = 9;
        let (left, right) = (kernel.left(0), kernel.right(0));
        let weights = [(1, 2, true), (1, 1, true), (0, 1, false)];
        for (height, (before, scale, add)) in
            kernel.heights.into_iter().flat_map(|height| weights.map(|weights| (height, weights)))
        {
            let numbers = |lanes: usize, seed: usize| -> Vec<i8> {
                (0..lanes * steps * kernel.unit).map(|i| ((i * 7 + seed) % 11) as i8 - 3).collect()
            };
            let (lefts, rights) = (numbers(height, 1), numbers(kernel.width, 2));
            let [a, b] =
                [&lefts, &rights].map(|numbers| numbers.iter().map(|n| factor(*n)).collect::<Vec<F>>());
            let mut out = vec![sum(1); height * kernel.width];
            let work = Work {
                tiles: 1,
                steps,
                a: a.as_ptr(),
                a_row: kernel.unit,
                a_step: height * kernel.unit,
                b: b.as_ptr(),
                b_step: kernel.width * kernel.unit,
                b_offsets: std::ptr::null(),
                b_tile: 0,
                scale: sum(scale),
                out: out.as_mut_ptr(),
                out_row: kernel.width,
                add,
            };
            // SAFETY: the kernel's instructions were looked for; all sizes are those of the panels.
            unsafe { kernel.tile(height, &work) };
            if kernel.takes_apart() {
                // The same with the last step first in memory.
                let turned: Vec<F> = b.rchunks(kernel.width).flatten().copied().collect();
                let offsets: Vec<usize> = (0..steps).rev().map(|step| step * kernel.width).collect();
                let mut other = vec![sum(1); out.len()];
                let (b, b_offsets, to) = (turned.as_ptr(), offsets.as_ptr(), other.as_mut_ptr());
                // SAFETY: the kernel's instructions were looked for; all sizes are those of the panels, and
                // there is an offset for each step.
                unsafe { kernel.tile(height, &Work { b, b_offsets, out: to, ..work }) };
                assert_eq!(out, other, "height {height}, steps that lie apart");
            }
            for (at, found) in out.into_iter().enumerate() {
                let (row, column) = (at / kernel.width, at % kernel.width);
                let at = |depth: usize, lanes: usize, lane: usize, step: usize| {
                    (step / depth * lanes + lane) * depth + step % depth
                };
                let product: i64 = (0..steps * kernel.unit)
                    .map(|step| {
                        let left = lefts[at(left.depth, height, row, step)];
                        let right = rights[at(right.depth, kernel.width, column, step)];
                        i64::from(left) * i64::from(right)
                    })
                    .sum();
                assert_eq!(
                    found,
                    sum(before + scale * product),
                    "height {height}, row {row}, column {column}"
                );
            }
        }
        let n = 3 * kernel.block;
        let rows: Vec<F> = (0..ROWS * n).map(|i| factor((i % 5) as i8)).collect();
        let vector: Vec<F> = (0..n).map(|i| factor((i % 3) as i8 - 1)).collect();
        // SAFETY: the kernel's instructions were looked for; rows and the vector have `n` factors.
        let found =
            unsafe { kernel.dots(std::array::from_fn(|row| rows[row * n..].as_ptr()), vector.as_ptr(), n) };
        for (row, found) in found.into_iter().enumerate() {
            let product = (0..n).map(|i| ((row * n + i) % 5) as i64 * ((i % 3) as i64 - 1)).sum();
            assert_eq!(found, sum(product), "row {row}");
        }
    }

    macro_rules! check_all {
        ($level:ident) => {
            check(&$level::kernel::<f32>(), f32::from, |n| n as f32);
            check(&$level::kernel::<f64>(), f64::from, |n| n as f64);
            check(&$level::kernel::<i16>(), i16::from, |n| n as i16);
            check(&$level::kernel::<i32>(), i32::from, |n| n as i32);
            check(&$level::kernel::<i64>(), i64::from, |n| n);
        };
    }

    #[test]
    fn every_processor_sums_the_same() {
        check_all!(portable);
        #[cfg(target_arch = "x86_64")]
        {
            check(&sse2::kernel::<f32>(), f32::from, |n| n as f32);
            check(&sse2::kernel::<f64>(), f64::from, |n| n as f64);
            if Processor::here() >= Processor::Avx2 {
                check_all!(avx2);
            }
            if Processor::here() >= Processor::Avx512 {
                check_all!(avx512);
            }
        }
        // Without AMX and with it, where the processor has it.
        for kernel in [[1; 3], [1000; 3]].into_iter().filter_map(pairs) {
            check(kernel, |n| bf16::from_f32(f32::from(n)), |n| n as f32);
        }
    }

    #[test]
    fn the_lowest_bits_of_products_are_kept() {
        let large = [i64::MAX, i64::MIN + 12_345, -98_765_432_101_234, 1 << 40];
        let levels = [
            Some(portable::kernel::<i64>()),
            #[cfg(target_arch = "x86_64")]
            (Processor::here() >= Processor::Avx2).then(avx2::kernel::<i64>),
        ];
        for kernel in levels.into_iter().flatten() {
            let rows: Vec<i64> = (0..kernel.block).map(|i| large[i % 4]).collect();
            let vector: Vec<i64> = (0..kernel.block).map(|i| large[(i + 1) % 4].wrapping_mul(3)).collect();
            let expected =
                rows.iter().zip(&vector).fold(0i64, |sum, (a, b)| sum.wrapping_add(a.wrapping_mul(*b)));
            // SAFETY: the kernel's instructions were looked for; all have one block.
            let found = unsafe { kernel.dots([rows.as_ptr(); ROWS], vector.as_ptr(), kernel.block) };
            assert_eq!(found, [expected; ROWS]);
        }
    }
}
