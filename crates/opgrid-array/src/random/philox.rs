//! Philox 4x32-10: random bits as a function of a key and a counter.
//!
//! Every word of the stream can be computed without those before it. So threads fill parts of the memory each on their own,
//! and the numbers do not depend on how many threads there are; and streams of one seed have nothing in common.
//!
//! ```text
//! key      seed (64 bits)
//! counter  number of the block (64 bits) │ stream (64 bits)
//! block    4 words of 32 bits
//! ```
//!
//! Source: J. K. Salmon, M. A. Moraes, R. O. Dror and D. E. Shaw, Parallel Random Numbers: As Easy as 1, 2, 3, SC11.

use crate::Element;
use crate::loops::iter::parts::for_each_chunk;
use crate::loops::simd::VectorLoop;

/// Words of a block.
const WORDS: usize = 4;
/// Blocks that are computed side by side, in vector registers.
const LANES: usize = 8;
/// Words that are worth a thread.
const GRAIN: usize = 1 << 14;

/// A stream of random bits, and how much of it was drawn.
#[derive(Clone, Debug)]
pub(super) struct Philox {
    seed: u64,
    stream: u64,
    /// Words that were drawn.
    drawn: u64,
    /// The block of the word that was drawn last, of which `drawn` says where in it the next one is.
    block: [u32; WORDS],
}

impl Philox {
    /// The beginning of a stream of a seed.
    pub(super) fn new(seed: u64, stream: u64) -> Self {
        Self { seed, stream, drawn: 0, block: [0; WORDS] }
    }

    /// A stream from which so many words were drawn.
    pub(super) fn at(seed: u64, stream: u64, drawn: u64) -> Self {
        let mut philox = Self { drawn, ..Self::new(seed, stream) };
        if !drawn.is_multiple_of(WORDS as u64) {
            philox.block = philox.block_at(drawn / WORDS as u64);
        }
        philox
    }

    /// How many words were drawn.
    pub(super) fn drawn(&self) -> u64 {
        self.drawn
    }

    /// The next word.
    pub(super) fn next(&mut self) -> u32 {
        let place = (self.drawn % WORDS as u64) as usize;
        if place == 0 {
            self.block = self.block_at(self.drawn / WORDS as u64);
        }
        self.drawn = self.drawn.wrapping_add(1);
        self.block[place]
    }

    /// Which of the streams of its seed it is.
    pub(super) fn stream(&self) -> u64 {
        self.stream
    }

    /// The next words.
    pub(super) fn fill(&mut self, places: &mut [u32]) {
        self.fill_with(places, |word| word);
    }

    /// What `make` makes of the next words.
    pub(super) fn fill_with<T: Element>(&mut self, places: &mut [T], make: impl Fn(u32) -> T + Copy + Sync) {
        let until_block = (WORDS - (self.drawn % WORDS as u64) as usize) % WORDS;
        let (first, rest) = places.split_at_mut(until_block.min(places.len()));
        first.iter_mut().for_each(|place| *place = make(self.next()));
        let whole = rest.len() - rest.len() % WORDS;
        let (whole, last) = rest.split_at_mut(whole);
        let (stream, number) = (&*self, self.drawn / WORDS as u64);
        for_each_chunk(whole, GRAIN, &|start, places| {
            let number = number.wrapping_add((start / WORDS) as u64);
            Blocks { stream, number, places, make }.vectorised();
        });
        self.drawn = self.drawn.wrapping_add(whole.len() as u64);
        last.iter_mut().for_each(|place| *place = make(self.next()));
    }

    /// The block of that number.
    fn block_at(&self, number: u64) -> [u32; WORDS] {
        self.blocks::<1>(number).map(|[word]| word)
    }

    /// Some blocks from that number on: the first words of all, the second ones, and so on.
    #[inline(always)]
    #[expect(clippy::needless_range_loop, reason = "loops over lanes become vector code")]
    fn blocks<const N: usize>(&self, number: u64) -> [[u32; N]; WORDS] {
        const MULTIPLIERS: [u64; 2] = [0xd251_1f53, 0xcd9e_8d57];
        const STEPS: [u32; 2] = [0x9e37_79b9, 0xbb67_ae85];
        let mut keys = [self.seed as u32, (self.seed >> 32) as u32];
        let mut words = [[0; N]; WORDS];
        for lane in 0..N {
            let number = number.wrapping_add(lane as u64);
            words[0][lane] = number as u32;
            words[1][lane] = (number >> 32) as u32;
            words[2][lane] = self.stream as u32;
            words[3][lane] = (self.stream >> 32) as u32;
        }
        for _ in 0..10 {
            for lane in 0..N {
                let [a, b, c, d] = [words[0][lane], words[1][lane], words[2][lane], words[3][lane]];
                let (one, two) = (u64::from(a) * MULTIPLIERS[0], u64::from(c) * MULTIPLIERS[1]);
                words[0][lane] = (two >> 32) as u32 ^ b ^ keys[0];
                words[1][lane] = two as u32;
                words[2][lane] = (one >> 32) as u32 ^ d ^ keys[1];
                words[3][lane] = one as u32;
            }
            keys = [keys[0].wrapping_add(STEPS[0]), keys[1].wrapping_add(STEPS[1])];
        }
        words
    }
}

/// Whole blocks from a number on.
struct Blocks<'a, T, F> {
    stream: &'a Philox,
    number: u64,
    places: &'a mut [T],
    make: F,
}

impl<T, F: Fn(u32) -> T> VectorLoop for Blocks<'_, T, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { stream, mut number, places, make } = self;
        for places in places.chunks_mut(WORDS * LANES) {
            let words = stream.blocks::<LANES>(number);
            for (lane, block) in places.chunks_mut(WORDS).enumerate() {
                for (place, word) in block.iter_mut().zip(&words) {
                    *place = make(word[lane]);
                }
            }
            number = number.wrapping_add(LANES as u64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Vectors of the authors' library Random123, `kat_vectors`.
    #[test]
    fn blocks_are_the_published_ones() {
        let block = |seed, stream, number| Philox::new(seed, stream).block_at(number);
        assert_eq!(block(0, 0, 0), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        let ones = [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd];
        assert_eq!(block(u64::MAX, u64::MAX, u64::MAX), ones);
        let digits_of_pi = block(0x299f_31d0_a409_3822, 0x0370_7344_1319_8a2e, 0x85a3_08d3_243f_6a88);
        assert_eq!(digits_of_pi, [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]);
    }

    #[test]
    fn parts_are_those_of_the_whole() {
        let mut whole = vec![0; 100_000];
        Philox::new(7, 1).fill(&mut whole);
        let mut parts = Philox::new(7, 1);
        let mut at = 0;
        for length in [1, 2, 3, 5, 64, 1000, 40_001] {
            let mut part = vec![0; length];
            parts.fill(&mut part);
            assert_eq!(part, whole[at..at + length]);
            at += length;
            assert_eq!(parts.next(), whole[at]);
            at += 1;
        }
        let mut other = vec![0; 100];
        Philox::new(7, 2).fill(&mut other);
        assert_ne!(other, whole[..100]);
    }
}
