//! Measures how long calls take: the best of many short batches, because other programs run on the machine too.

use std::time::{Duration, Instant};

/// How much is done to measure one figure.
#[derive(Clone, Copy)]
pub struct Effort {
    /// How often a batch is repeated; the fastest counts.
    pub batches: u32,
    /// Calls in a batch: some tens to hundreds of microseconds, so that most batches are not interrupted.
    pub calls: u32,
    /// How long a call of unknown length is measured.
    pub time: Duration,
    /// How many operators are registered.
    pub operators: usize,
    /// How often they are registered, in as many namespaces.
    pub registrations: usize,
    /// What numbers of elements are divided by.
    pub shrink: i64,
}

impl Effort {
    /// Enough for figures that can be compared; the program of the peer does the same.
    pub const FULL: Self = Self {
        batches: 300,
        calls: 5_000,
        time: Duration::from_millis(30),
        operators: 3_000,
        registrations: 3,
        shrink: 1,
    };
    /// Enough to see that everything runs.
    pub const SMOKE: Self =
        Self { batches: 2, calls: 100, time: Duration::ZERO, operators: 20, registrations: 1, shrink: 50 };
}

/// The best time of one call, in nanoseconds; `batch` makes as many calls as it is told.
///
/// # Errors
///
/// That of a call.
pub fn best<E>(effort: Effort, batch: impl Fn(u32) -> Result<(), E>) -> Result<f64, E> {
    best_of(effort.batches, effort.calls, &batch)
}

/// How long a batch of calls of unknown length should take.
const BATCH: Duration = Duration::from_micros(100);

/// How long a batch of calls should take that may take some nanoseconds each or some tenths of a second.
///
/// # Errors
///
/// That of a call.
pub fn best_of_any_length<E>(effort: Effort, batch: impl Fn(u32) -> Result<(), E>) -> Result<f64, E> {
    // The first call pays for what later ones find ready.
    batch(1)?;
    let (call, ()) = once(|| batch(1))?;
    let calls = (BATCH.as_nanos() as f64 / call).clamp(1.0, f64::from(effort.calls)) as u32;
    let batches = (effort.time.as_nanos() as f64 / (call * f64::from(calls))).clamp(3.0, 1000.0) as u32;
    best_of(batches, calls, &batch)
}

fn best_of<E>(batches: u32, calls: u32, batch: &impl Fn(u32) -> Result<(), E>) -> Result<f64, E> {
    let mut best = f64::INFINITY;
    for _ in 0..batches {
        let (time, ()) = once(|| batch(calls))?;
        best = best.min(time / f64::from(calls));
    }
    Ok(best)
}

/// How long `body` takes, in nanoseconds, and what it returns.
///
/// # Errors
///
/// That of `body`.
pub fn once<X, E>(body: impl FnOnce() -> Result<X, E>) -> Result<(f64, X), E> {
    let start = Instant::now();
    let result = body()?;
    Ok((start.elapsed().as_nanos() as f64, result))
}
