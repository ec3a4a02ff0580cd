//! Makes random numbers: the Mersenne Twister, and uniform and normal numbers from its stream.
//!
//! In single and double precision a seed gives the numbers that torch's CPU generator gives for it: uniform ones to the
//! last bit, normal ones up to the rounding of logarithm, sine and cosine. 16-bit floats are those of single precision,
//! rounded.
//!
//! Sources: M. Matsumoto and T. Nishimura, Mersenne Twister, ACM TOMACS 8 (1998); G. E. P. Box and M. E. Muller, A Note
//! on the Generation of Random Normal Deviates (1958); order of draws as observed of PyTorch 2.15.

use std::f64::consts::TAU;
use std::hash::{BuildHasher, RandomState};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use opgrid_core::{Device, DispatchKey, Generator, Result};

use super::math::Inexact;
use super::polynomials::Polynomials;
use super::simd::{VectorLoop, vectorised};
use crate::error::argument;
use crate::tensor::{Geometry, Tensor, TensorSpec};

const WORDS: usize = 624;
const MIDDLE: usize = 397;

/// A stream of random bits, and the normal number that was made but not taken.
pub struct Random {
    state: [u32; WORDS],
    next: usize,
    spare: Option<f64>,
}

impl Random {
    /// The stream of a seed, of which the lowest 32 bits count.
    pub fn new(seed: u64) -> Self {
        let mut state = [seed as u32; WORDS];
        for i in 1..WORDS {
            let before = state[i - 1];
            state[i] = 1_812_433_253u32.wrapping_mul(before ^ (before >> 30)).wrapping_add(i as u32);
        }
        Self { state, next: WORDS, spare: None }
    }

    /// 32 random bits.
    pub fn bits32(&mut self) -> u32 {
        if self.next == WORDS {
            self.twist();
        }
        self.next += 1;
        tempered(self.state[self.next - 1])
    }

    /// As many times 32 random bits as there are places.
    pub fn fill_bits32(&mut self, places: &mut [u32]) {
        let mut rest = places;
        while !rest.is_empty() {
            if self.next == WORDS {
                self.twist();
            }
            let n = rest.len().min(WORDS - self.next);
            let (now, later) = rest.split_at_mut(n);
            let state = &self.state[self.next..self.next + n];
            vectorised(|| {
                now.iter_mut().zip(state).for_each(|(place, word)| *place = tempered(*word));
            });
            self.next += n;
            rest = later;
        }
    }

    /// 64 random bits; the upper half is drawn first.
    pub fn bits64(&mut self) -> u64 {
        let upper = u64::from(self.bits32());
        upper << 32 | u64::from(self.bits32())
    }

    fn twist(&mut self) {
        Twist(&mut self.state).vectorised();
        self.next = 0;
    }

    /// Single-precision numbers from 0 to before 1, as [`uniform`](Self::uniform) gives them one by one.
    pub fn fill_uniform(&mut self, numbers: &mut [f32]) {
        let mut words = [0u32; WORDS];
        for part in numbers.chunks_mut(WORDS) {
            let words = &mut words[..part.len()];
            self.fill_bits32(words);
            vectorised(|| {
                for (number, word) in part.iter_mut().zip(&*words) {
                    // As a signed integer, for which there is an instruction.
                    *number = (word & 0xff_ffff) as i32 as f32 * (1.0 / (1 << 24) as f32);
                }
            });
        }
    }

    /// A number from 0 to before 1, with as many random bits as a fraction of that many bits holds.
    pub fn uniform(&mut self, bits: u32) -> f64 {
        let drawn = if bits > 32 { self.bits64() } else { u64::from(self.bits32()) };
        (drawn & ((1 << bits) - 1)) as f64 / (1u64 << bits) as f64
    }

    /// A normal number of mean 0 and deviation 1, one of a pair.
    pub fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        let (turn, radius) = (self.uniform(53), self.uniform(53));
        let radius = (-2.0 * (-radius).ln_1p()).sqrt();
        let angle = TAU * turn;
        self.spare = Some(radius * angle.sin());
        radius * angle.cos()
    }

    /// Normal numbers of mean 0 and deviation 1 in groups of 16, of which 8 draws give the radius and 8 the angle.
    /// `first` numbers are drawn for whole groups, and for what is left after them the last group anew. At least 16
    /// numbers.
    pub fn fill_normal(&mut self, numbers: &mut [f64], first: usize) {
        numbers.iter_mut().take(first).for_each(|number| *number = self.uniform(53));
        Transform(numbers).vectorised();
        if !numbers.len().is_multiple_of(16)
            && let Some(last) = numbers.last_chunk_mut::<16>()
        {
            last.iter_mut().for_each(|number| *number = self.uniform(53));
            Transform(last).vectorised();
        }
    }

    /// The same in single precision.
    pub fn fill_normal_single(&mut self, numbers: &mut [f32], first: usize) {
        self.fill_uniform(&mut numbers[..first]);
        Transform(numbers).vectorised();
        if !numbers.len().is_multiple_of(16)
            && let Some(last) = numbers.last_chunk_mut::<16>()
        {
            self.fill_uniform(last);
            Transform(last).vectorised();
        }
    }
}

/// A word of the state as it is handed out.
#[inline(always)]
fn tempered(mut y: u32) -> u32 {
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c_5680;
    y ^= (y << 15) & 0xefc6_0000;
    y ^ (y >> 18)
}

/// A state that becomes the next one.
struct Twist<'a>(&'a mut [u32; WORDS]);

impl VectorLoop for Twist<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let mixed = |word: u32, following: u32, far: u32| {
            let joined = (word & 0x8000_0000) | (following & 0x7fff_ffff);
            far ^ (joined >> 1) ^ (0x9908_b0df & (joined & 1).wrapping_neg())
        };
        let state = self.0;
        // In three parts without a remainder of indices, so that they become vector code.
        for i in 0..WORDS - MIDDLE {
            state[i] = mixed(state[i], state[i + 1], state[i + MIDDLE]);
        }
        for i in WORDS - MIDDLE..WORDS - 1 {
            state[i] = mixed(state[i], state[i + 1], state[i - (WORDS - MIDDLE)]);
        }
        state[WORDS - 1] = mixed(state[WORDS - 1], state[0], state[MIDDLE - 1]);
    }
}

/// Groups of 16 uniform numbers that become normal ones.
struct Transform<'a, T>(&'a mut [T]);

impl<T: Inexact + Polynomials> VectorLoop for Transform<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        /// Groups that are taken apart, computed and put together at once.
        const GROUPS: usize = 16;
        let minus_two = T::ONE.plus(T::ONE).negated();
        for part in self.0.chunks_mut(16 * GROUPS) {
            let (mut radii, mut angles) = ([T::ZERO; 8 * GROUPS], [T::ZERO; 8 * GROUPS]);
            for (k, group) in part.chunks_exact(16).enumerate() {
                radii[8 * k..8 * k + 8].copy_from_slice(&group[..8]);
                angles[8 * k..8 * k + 8].copy_from_slice(&group[8..]);
            }
            for (first, second) in radii.iter_mut().zip(&mut angles) {
                let radius = Inexact::sqrt(minus_two.times(T::ONE.minus(*first).logarithm()));
                let (sine, cosine) = second.sine_and_cosine_of_turn();
                (*first, *second) = (radius.times(cosine), radius.times(sine));
            }
            for (k, group) in part.chunks_exact_mut(16).enumerate() {
                group[..8].copy_from_slice(&radii[8 * k..8 * k + 8]);
                group[8..].copy_from_slice(&angles[8 * k..8 * k + 8]);
            }
        }
    }
}

/// The stream that operators draw from when no generator is given.
static DEFAULT: LazyLock<Mutex<Random>> =
    LazyLock::new(|| Mutex::new(Random::new(RandomState::new().hash_one(0))));

/// Starts the stream that operators draw from when no generator is given anew, for all threads. Without it the stream
/// is another one in each process.
///
/// # Examples
///
/// ```
/// use opgrid_core::{DType, Device};
/// use opgrid_tensor::{Tensor, manual_seed};
///
/// manual_seed(0);
/// let x = Tensor::rand(&[2], DType::F32, Device::CPU)?;
/// assert_eq!(x.to_string(), "tensor([0.4963, 0.7682])");
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub fn manual_seed(seed: u64) {
    *default_stream() = Random::new(seed);
}

fn default_stream() -> MutexGuard<'static, Random> {
    DEFAULT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A stream of its own, for the `generator` argument of operators.
pub fn generator(seed: u64) -> Generator {
    Generator::new(DispatchKey::Cpu.key_set(), Device::CPU, Mutex::new(Random::new(seed)))
}

/// Where the numbers that were drawn one after the other belong in `out`: they follow its order in memory.
///
/// # Errors
///
/// An undefined tensor.
pub(crate) fn order(out: &Tensor) -> Result<Geometry> {
    let spec = out.spec()?;
    Ok(TensorSpec::elementwise(&[spec.geometry()], spec.dtype(), spec.device())?.geometry().clone())
}

/// Draws from `generator`, or from the default stream.
///
/// # Errors
///
/// A generator that was not made by [`generator`].
pub(crate) fn draw<R>(generator: Option<&Generator>, body: impl FnOnce(&mut Random) -> R) -> Result<R> {
    match generator.map(|generator| (generator, generator.state::<Mutex<Random>>())) {
        None => Ok(body(&mut default_stream())),
        Some((_, Some(stream))) => Ok(body(&mut stream.lock().unwrap_or_else(PoisonError::into_inner))),
        Some((generator, None)) => {
            let message = format!(
                "argument `generator` is one for {}, expected one made by `kernels::random::generator`",
                generator.device()
            );
            Err(argument(message))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_the_published_one() {
        let mut random = Random::new(5489);
        assert_eq!(random.bits32(), 3_499_211_612);
        let last = (1..10_000).map(|_| random.bits32()).last();
        assert_eq!(last, Some(4_123_659_995), "the 10000th number, as C++ has it");
        let (mut one, mut other) = (Random::new(5489), Random::new(5489));
        let mut many = [0; 10_000];
        assert_eq!(many.iter().map(|_| one.bits32()).next(), Some(3_499_211_612));
        other.fill_bits32(&mut many[..1000]);
        other.fill_bits32(&mut many[1000..]);
        assert_eq!((many[0], many[9_999]), (3_499_211_612, 4_123_659_995));
    }

    #[test]
    fn a_generator_of_another_library_is_refused() {
        let other = Generator::new(DispatchKey::Cpu.key_set(), Device::CPU, ());
        let error = draw(Some(&other), |random| random.bits32()).unwrap_err().to_string();
        assert!(error.contains("expected one made by"), "{error}");
    }
}
