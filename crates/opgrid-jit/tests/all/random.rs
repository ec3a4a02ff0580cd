//! Random numbers that are the same in every run.

/// A generator of 64 random bits at a time.
///
/// Source: G. L. Steele, D. Lea, C. H. Flood, Fast splittable pseudorandom number generators, OOPSLA 2014 (SplitMix64).
pub struct Random(u64);

impl Random {
    /// The generator of a number.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next bits.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// A number below another.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// A number between -8 and 8.
    pub fn number(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64 * 16.0 - 8.0
    }
}
