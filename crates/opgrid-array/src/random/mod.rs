//! Makes random numbers: streams of random bits, and numbers of several distributions from them.
//!
//! There are two kinds of streams. With the Mersenne Twister, which is the usual one, a seed gives the numbers that torch's CPU
//! generator gives for it: uniform ones and integers to the last bit, others up to the rounding of logarithm, sine and
//! cosine. 16-bit floats are those of single precision, rounded. Philox gives other numbers, of which large tensors are filled
//! by several threads at once, and any number of streams that have nothing in common.
//!
//! Sources: M. Matsumoto and T. Nishimura, Mersenne Twister, ACM TOMACS 8 (1998); G. E. P. Box and M. E. Muller, A Note
//! on the Generation of Random Normal Deviates (1958); order of draws as observed of PyTorch 2.15.

use std::f64::consts::TAU;
use std::hash::{BuildHasher, RandomState};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use opgrid_core::{Device, DispatchKey, Generator, Result};

use crate::error::argument;
use crate::loops::math::Inexact;
use crate::loops::polynomials::{Elementary, Polynomials};
use crate::loops::simd::{VectorLoop, vectorised};
use crate::{Geometry, TensorSpec};
use philox::Philox;

mod philox;
mod state;

const WORDS: usize = 624;
const MIDDLE: usize = 397;

/// A stream of random bits, the seed that it began with, and the normal number that was made but not taken.
#[derive(Clone, Debug)]
pub struct Random {
    seed: u64,
    bits: Bits,
    spare: Option<f64>,
}

/// Where random bits come from.
#[derive(Clone, Debug)]
enum Bits {
    Twister(Box<Twister>),
    Philox(Philox),
}

/// The Mersenne Twister.
#[derive(Clone, Debug)]
struct Twister {
    state: [u32; WORDS],
    next: usize,
}

impl Twister {
    fn new(seed: u64) -> Self {
        let mut state = [seed as u32; WORDS];
        for i in 1..WORDS {
            let before = state[i - 1];
            state[i] = 1_812_433_253u32.wrapping_mul(before ^ (before >> 30)).wrapping_add(i as u32);
        }
        Self { state, next: WORDS }
    }

    #[inline]
    fn next(&mut self) -> u32 {
        if self.next == WORDS {
            self.twist();
        }
        self.next += 1;
        tempered(self.state[self.next - 1])
    }

    fn fill(&mut self, places: &mut [u32]) {
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

    fn twist(&mut self) {
        Twist(&mut self.state).vectorised();
        self.next = 0;
    }
}

impl Random {
    /// The Mersenne Twister of a seed, of which the lowest 32 bits count.
    pub fn new(seed: u64) -> Self {
        Self { seed, bits: Bits::Twister(Box::new(Twister::new(seed))), spare: None }
    }

    /// A stream of Philox 4x32-10.
    pub fn philox(seed: u64, stream: u64) -> Self {
        Self { seed, bits: Bits::Philox(Philox::new(seed, stream)), spare: None }
    }

    /// The seed that the stream began with.
    pub fn initial_seed(&self) -> u64 {
        self.seed
    }

    /// Begins anew with a seed, in the same kind of stream.
    pub fn reseed(&mut self, seed: u64) {
        *self = match &self.bits {
            Bits::Twister(_) => Self::new(seed),
            Bits::Philox(philox) => Self::philox(seed, philox.stream()),
        };
    }

    /// 32 random bits.
    #[inline]
    pub fn bits32(&mut self) -> u32 {
        match &mut self.bits {
            Bits::Twister(twister) => twister.next(),
            Bits::Philox(philox) => philox.next(),
        }
    }

    /// As many times 32 random bits as there are places.
    pub fn fill_bits32(&mut self, places: &mut [u32]) {
        match &mut self.bits {
            Bits::Twister(twister) => twister.fill(places),
            Bits::Philox(philox) => philox.fill(places),
        }
    }

    /// An integer below `range`, which is no smaller than one; from 32 bits if there are many more of them than numbers.
    pub fn below(&mut self, range: u64) -> u64 {
        let drawn = if range >= 1 << 28 { self.bits64() } else { u64::from(self.bits32()) };
        drawn % range
    }

    /// 64 random bits; the upper half is drawn first.
    pub fn bits64(&mut self) -> u64 {
        let upper = u64::from(self.bits32());
        upper << 32 | u64::from(self.bits32())
    }

    /// Single-precision numbers from 0 to before 1, as [`uniform`](Self::uniform) gives them one by one.
    pub fn fill_uniform(&mut self, numbers: &mut [f32]) {
        if let Bits::Philox(philox) = &mut self.bits {
            return philox.fill_with(numbers, fraction);
        }
        let mut words = [0u32; WORDS];
        for part in numbers.chunks_mut(WORDS) {
            let words = &mut words[..part.len()];
            self.fill_bits32(words);
            vectorised(|| {
                part.iter_mut().zip(&*words).for_each(|(number, word)| *number = fraction(*word));
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

    /// Fills memory with normal numbers in single precision.
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

/// 24 random bits as a number from 0 to before 1.
#[inline(always)]
fn fraction(word: u32) -> f32 {
    // As a signed integer, for which there is an instruction.
    (word & 0xff_ffff) as i32 as f32 * (1.0 / (1 << 24) as f32)
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

impl<T: Inexact + Polynomials> Transform<'_, T> {
    #[inline(always)]
    fn transform<const FUSED: bool>(self) {
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
                let logarithm = T::ONE.minus(*first).elementary::<FUSED>(Elementary::Logarithm);
                let radius = Inexact::sqrt(minus_two.times(logarithm));
                let (sine, cosine) = second.sine_and_cosine_of_turn::<FUSED>();
                (*first, *second) = (radius.times(cosine), radius.times(sine));
            }
            for (k, group) in part.chunks_exact_mut(16).enumerate() {
                group[..8].copy_from_slice(&radii[8 * k..8 * k + 8]);
                group[8..].copy_from_slice(&angles[8 * k..8 * k + 8]);
            }
        }
    }
}

impl<T: Inexact + Polynomials> VectorLoop for Transform<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        self.transform::<true>();
    }

    #[inline(always)]
    fn run_unfused(self) {
        self.transform::<false>();
    }
}

/// The stream that operators on the CPU draw from when no generator is given.
static DEFAULT: LazyLock<Generator> = LazyLock::new(|| generator(RandomState::new().hash_one(0)));

/// Starts that stream anew; [`manual_seed`](crate::manual_seed) does so for those of devices too.
pub(crate) fn manual_seed(seed: u64) {
    *default_stream() = Random::new(seed);
}

/// The stream that operators on the CPU draw from when no generator is given.
pub(crate) fn default_generator() -> Generator {
    DEFAULT.clone()
}

fn default_stream() -> MutexGuard<'static, Random> {
    let stream = DEFAULT.state::<Mutex<Random>>().expect("`generator` makes such streams");
    stream.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is held while the process forks.
pub(crate) fn hold_generator_at_fork(held: &mut opgrid_core::fork::Held) {
    held.keep(default_stream());
}

/// Begins a stream anew with that seed, in the same kind of stream.
///
/// # Errors
///
/// A generator that was not made here.
pub fn reseed(generator: &Generator, seed: u64) -> Result<()> {
    draw(Some(generator), |random| random.reseed(seed))
}

/// A stream of its own, for the `generator` argument of operators.
pub fn generator(seed: u64) -> Generator {
    generator_of(Random::new(seed))
}

/// A stream of Philox, for the `generator` argument of operators. Streams of one seed have nothing in common, and large
/// tensors are filled by several threads with numbers that do not depend on how many there are.
///
/// # Examples
///
/// ```
/// use opgrid_array::random::{draw, philox_generator};
///
/// let bits = |stream| draw(Some(&philox_generator(7, stream)), |random| random.bits64());
/// assert_eq!(bits(0)?, bits(0)?);
/// assert_ne!(bits(0)?, bits(1)?);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub fn philox_generator(seed: u64, stream: u64) -> Generator {
    generator_of(Random::philox(seed, stream))
}

fn generator_of(random: Random) -> Generator {
    Generator::new(DispatchKey::Cpu.key_set(), Device::CPU, Mutex::new(random))
}

/// The seed that a stream began with, or the default one.
///
/// # Errors
///
/// A generator that was not made here.
pub fn initial_seed(generator: Option<&Generator>) -> Result<u64> {
    draw(generator, |random| random.initial_seed())
}

/// Begins a stream anew, or the default one, with a seed that is another one each time, and gives that.
///
/// # Errors
///
/// A generator that was not made here.
pub fn seed(generator: Option<&Generator>) -> Result<u64> {
    let seed = RandomState::new().hash_one(0);
    draw(generator, |random| random.reseed(seed)).map(|()| seed)
}

/// Where a stream is, or the default one: its seed, and how far it was drawn.
///
/// # Errors
///
/// A generator that was not made here.
///
/// # Examples
///
/// ```
/// use opgrid_array::random::{draw, generator, set_state, state};
///
/// let generator = generator(3);
/// let before = state(Some(&generator))?;
/// let first = draw(Some(&generator), |random| random.bits32())?;
/// set_state(Some(&generator), before)?;
/// assert_eq!(draw(Some(&generator), |random| random.bits32())?, first);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub fn state(generator: Option<&Generator>) -> Result<Random> {
    draw(generator, |random| random.clone())
}

/// Puts a stream, or the default one, where another one was.
///
/// # Errors
///
/// A generator that was not made here.
pub fn set_state(generator: Option<&Generator>, state: Random) -> Result<()> {
    draw(generator, |random| *random = state)
}

/// Where the numbers that were drawn one after the other belong in `out`: they follow its order in memory.
///
/// # Errors
///
/// An undefined tensor.
pub fn order(spec: &TensorSpec) -> Result<Geometry> {
    Ok(TensorSpec::elementwise(&[spec.geometry()], spec.dtype(), spec.device())?.geometry().clone())
}

/// Draws from `generator`, or from the default stream.
///
/// # Errors
///
/// A generator that was not made by [`generator`].
pub fn draw<R>(generator: Option<&Generator>, body: impl FnOnce(&mut Random) -> R) -> Result<R> {
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
