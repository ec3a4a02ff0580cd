//! What the programs that measure other Rust libraries have in common: the clock, the numbers and the command line of
//! `opgrid-bench-kernels`. A program has the figures that its library has a call for.
#![forbid(unsafe_code)]

use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// A figure's name, and what makes its call so many times.
pub type Case<'s> = (&'static str, Box<dyn Fn(u32) + 's>);

/// How long a batch of calls should take, and how long a figure is measured.
const BATCH: Duration = Duration::from_micros(100);
const TIME: Duration = Duration::from_millis(30);

/// A case that makes a call again and again; what it returns is dropped as a user's program would drop it.
pub fn case<'s, X>(name: &'static str, call: impl Fn() -> X + 's) -> Case<'s> {
    let repeat = move |count| {
        for _ in 0..count {
            drop(black_box(call()));
        }
    };
    (name, Box::new(repeat))
}

/// Numbers from 0 to below 1, another list for each seed.
pub fn numbers(count: usize, seed: u32) -> Vec<f32> {
    let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(1);
    let next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 24) as f32
    };
    std::iter::repeat_with(next).take(count).collect()
}

/// Prints what was measured: `measure [BEGINNING]`.
pub fn main(cases: &[Case<'_>]) -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let beginning = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["measure"] => "",
        ["measure", beginning] => beginning,
        _ => {
            eprintln!("error: expected `measure`, and perhaps the beginning of the figures' names");
            return ExitCode::from(2);
        }
    };
    for (name, repeat) in cases.iter().filter(|(name, _)| name.starts_with(beginning)) {
        println!("{name} {}", best(repeat));
    }
    ExitCode::SUCCESS
}

/// The best time of one call, in nanoseconds.
fn best(repeat: &dyn Fn(u32)) -> f64 {
    let timed = |count: u32| {
        let start = Instant::now();
        repeat(count);
        start.elapsed().as_nanos() as f64 / f64::from(count)
    };
    // The first call pays for what later ones find ready.
    timed(1);
    let call = timed(1).max(1.0);
    let calls = (BATCH.as_nanos() as f64 / call).clamp(1.0, 5_000.0) as u32;
    let batches = (TIME.as_nanos() as f64 / (call * f64::from(calls))).clamp(3.0, 1000.0) as u32;
    (0..batches).map(|_| timed(calls)).fold(f64::INFINITY, f64::min)
}
