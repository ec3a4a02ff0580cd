//! Measures how long it takes until a program whose weights are mapped can run.
#![allow(unsafe_code)]

use std::path::Path;

use opgrid::Result;
use opgrid_bench::clock;
use opgrid_graph::Program;

/// The time of mapping a program, in nanoseconds: the best of so many.
///
/// # Errors
///
/// As [`Program::map`].
pub fn time(path: &Path, tries: u32) -> Result<f64> {
    let mut best = f64::INFINITY;
    for _ in 0..tries {
        // SAFETY: the bench suite wrote the file, and nobody changes it while the suite runs.
        best = best.min(clock::once(|| unsafe { Program::map(path) })?.0);
    }
    Ok(best)
}
