//! Streams as bytes, in which torch keeps the state of its generator.
//!
//! The Mersenne Twister has torch's 5056 bytes, so that a state of either library continues in the other:
//!
//! ```text
//! 0     seed (64 bits)
//! 8     words left until the next twist, counted from 1 (32 bits) │ 1: it was seeded (32 bits)
//! 16    place of the next word (64 bits)
//! 24    624 words, each in 64 bits
//! 5016  0 │ the normal number that was made but not taken │ 0 │ whether there is one (three numbers of 64 bits, one of 32)
//! 5044  0 (12 bytes)
//! ```
//!
//! Philox has the seed, the stream, the words that were drawn, whether there is a normal number, and that number, each in 64 bits.

use opgrid_core::Result;

use super::philox::Philox;
use super::{Bits, Random, Twister, WORDS};
use crate::error::argument;

/// Where the words of the Mersenne Twister begin.
const STATE: usize = 24;
/// Where its normal number is, and after another 64 bits whether there is one.
const SPARE: usize = STATE + 8 * WORDS + 8;
/// Bytes of a Mersenne Twister.
const TWISTER: usize = SPARE + 32;
/// Bytes of a stream of Philox.
const PHILOX: usize = 40;

impl Random {
    /// The stream as bytes, from which [`from_bytes`](Self::from_bytes) makes it again.
    pub fn to_bytes(&self) -> Vec<u8> {
        match &self.bits {
            Bits::Twister(twister) => twister_to_bytes(self.seed, twister, self.spare),
            Bits::Philox(philox) => {
                let (has_spare, spare) = (u64::from(self.spare.is_some()), self.spare.unwrap_or(0.0));
                let numbers = [self.seed, philox.stream(), philox.drawn(), has_spare, spare.to_bits()];
                numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
            }
        }
    }

    /// The stream that [`to_bytes`](Self::to_bytes) or torch's generator wrote.
    ///
    /// # Errors
    ///
    /// Bytes of another length, or of no stream.
    ///
    /// # Examples
    ///
    /// ```
    /// use opgrid_array::random::Random;
    ///
    /// let mut random = Random::new(7);
    /// random.normal();
    /// let mut again = Random::from_bytes(&random.to_bytes())?;
    /// assert_eq!([again.normal(), again.normal()], [random.normal(), random.normal()]);
    /// # Ok::<(), opgrid_core::Error>(())
    /// ```
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        match bytes.len() {
            TWISTER => twister_from_bytes(bytes),
            PHILOX => {
                let [seed, stream, drawn, has_spare, spare] =
                    [0, 8, 16, 24, 32].map(|place| number(bytes, place));
                let spare = (has_spare != 0).then_some(f64::from_bits(spare));
                Ok(Self { seed, bits: Bits::Philox(Philox::at(seed, stream, drawn)), spare })
            }
            length => Err(argument(format!(
                "the state of a random stream has {TWISTER} or {PHILOX} bytes, found {length}; pass what the generator gave"
            ))),
        }
    }
}

fn twister_to_bytes(seed: u64, twister: &Twister, spare: Option<f64>) -> Vec<u8> {
    let mut bytes = vec![0; TWISTER];
    let mut put = |place: usize, part: &[u8]| bytes[place..place + part.len()].copy_from_slice(part);
    put(0, &seed.to_le_bytes());
    put(8, &((WORDS - twister.next + 1) as u32).to_le_bytes());
    put(12, &1u32.to_le_bytes());
    // Where none is left, the next one is that after the twist, as in torch's generator after it is seeded.
    put(16, &((twister.next % WORDS) as u64).to_le_bytes());
    for (i, word) in twister.state.iter().enumerate() {
        put(STATE + 8 * i, &u64::from(*word).to_le_bytes());
    }
    if let Some(spare) = spare {
        put(SPARE, &spare.to_le_bytes());
        put(SPARE + 16, &1u32.to_le_bytes());
    }
    bytes
}

fn twister_from_bytes(bytes: &[u8]) -> Result<Random> {
    let left = number(bytes, 8) as u32 as usize;
    let words: Option<Vec<u32>> =
        (0..WORDS).map(|i| u32::try_from(number(bytes, STATE + 8 * i)).ok()).collect();
    let (true, Some(words)) = ((1..=WORDS).contains(&left), words) else {
        return Err(argument(
            "the bytes are not those of a random stream; pass what the generator gave".to_owned(),
        ));
    };
    let mut twister = Box::new(Twister { state: [0; WORDS], next: WORDS + 1 - left });
    twister.state.copy_from_slice(&words);
    let has_spare = number(bytes, SPARE + 16) as u32 != 0;
    let spare = has_spare.then_some(f64::from_bits(number(bytes, SPARE)));
    Ok(Random { seed: number(bytes, 0), bits: Bits::Twister(twister), spare })
}

/// The 64 bits at a place, which lies so far before the end.
fn number(bytes: &[u8], place: usize) -> u64 {
    bytes[place..place + 8].iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The next numbers of several kinds.
    fn numbers(random: &mut Random) -> Vec<f64> {
        let mut found = vec![random.normal(), random.uniform(24), random.normal(), random.normal()];
        found.extend((0..WORDS).map(|_| random.uniform(53)));
        found
    }

    #[test]
    fn streams_continue_from_their_bytes() {
        for mut random in [Random::new(5), Random::philox(5, 3)] {
            for draws in [0, 1, 2, WORDS - 3, WORDS] {
                (0..draws).for_each(|_| _ = random.bits32());
                for _ in 0..2 {
                    let mut again = Random::from_bytes(&random.to_bytes()).unwrap();
                    assert_eq!(again.initial_seed(), 5);
                    assert_eq!(numbers(&mut again), numbers(&mut random), "after {draws}");
                    random.normal();
                }
            }
        }
    }

    #[test]
    fn the_bytes_are_those_of_torch() {
        // torch.manual_seed(5); torch.rand(3); torch.randn(3, dtype=torch.float64)
        let mut random = Random::new(5);
        let fresh = random.to_bytes();
        assert_eq!(fresh.len(), 5056);
        assert_eq!([8, 12, 16, 24, 32].map(|place| number(&fresh, place) as u32), [1, 1, 0, 5, 472_231_674]);
        (0..3).for_each(|_| _ = random.uniform(24));
        (0..3).for_each(|_| _ = random.normal());
        let drawn = random.to_bytes();
        let found = [0, 8, 16, 24, 32].map(|place| number(&drawn, place) as u32);
        assert_eq!(found, [5, 614, 11, 4_081_643_083, 713_234_725]);
        assert!((f64::from_bits(number(&drawn, 5024)) + 1.413_391_892_838_234_5).abs() < 1e-12);
        assert_eq!(number(&drawn, 5040) as u32, 1);
    }

    #[test]
    fn other_bytes_are_refused() {
        let good = Random::new(1).to_bytes();
        let with = |place: usize, byte: u8| {
            let mut bytes = good.clone();
            bytes[place] = byte;
            bytes
        };
        let none_left = with(8, 0);
        for bytes in [&[][..], &good[1..], &none_left, &with(9, 9), &with(STATE + 4, 1)] {
            assert!(Random::from_bytes(bytes).is_err());
        }
        assert!(Random::from_bytes(&good).is_ok());
    }
}
