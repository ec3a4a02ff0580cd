//! Random choices that depend on nothing but a seed: SplitMix64, so that a seed means the same program forever.

/// A source of choices.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The choices of a seed.
    pub fn new(seed: u64) -> Self {
        // Neighbouring seeds would begin alike without the first step.
        let mut random = Self(seed.wrapping_mul(0xA24B_AED4_963E_E407));
        random.bits();
        random
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }

    /// A number below `end`, which is not 0. The bias towards small numbers is far below what a test could see.
    pub fn below(&mut self, end: usize) -> usize {
        (self.bits() % end as u64) as usize
    }

    /// True in `percent` of a hundred cases.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of the items; there is one.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_means_the_same_choices_forever() {
        let mut random = Random::new(7);
        let found: Vec<usize> = (0..8).map(|_| random.below(1000)).collect();
        assert_eq!(found, [6, 814, 336, 524, 395, 348, 437, 532]);
        assert_ne!(Random::new(7).bits(), Random::new(8).bits());
    }
}
