//! Measures how long calls take: the best of many short batches, because other programs run on the machine too.

use std::time::Instant;

use opgrid::Result;

/// How much is done to measure one figure.
#[derive(Clone, Copy)]
pub struct Effort {
    /// How often a batch is repeated; the fastest counts.
    pub batches: u32,
    /// Calls in a batch: some tens to hundreds of microseconds, so that most batches are not interrupted.
    pub calls: u32,
    /// How many operators are registered.
    pub operators: usize,
    /// How often they are registered, in as many namespaces.
    pub registrations: usize,
}

impl Effort {
    /// Enough for figures that can be compared; the program of the peer does the same.
    pub const FULL: Self = Self { batches: 300, calls: 5_000, operators: 3_000, registrations: 3 };
    /// Enough to see that everything runs.
    #[cfg(test)]
    pub const SMOKE: Self = Self { batches: 2, calls: 100, operators: 20, registrations: 1 };
}

/// The best time of one call, in nanoseconds; `batch` makes as many calls as it is told.
///
/// # Errors
///
/// That of a call.
pub fn best(effort: Effort, batch: impl Fn(u32) -> Result<()>) -> Result<f64> {
    let mut best = f64::INFINITY;
    for _ in 0..effort.batches {
        let start = Instant::now();
        batch(effort.calls)?;
        best = best.min(start.elapsed().as_nanos() as f64 / f64::from(effort.calls));
    }
    Ok(best)
}

/// How long `body` takes, in nanoseconds, and what it returns.
///
/// # Errors
///
/// That of `body`.
pub fn once<X>(body: impl FnOnce() -> Result<X>) -> Result<(f64, X)> {
    let start = Instant::now();
    let result = body()?;
    Ok((start.elapsed().as_nanos() as f64, result))
}
