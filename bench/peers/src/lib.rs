//! What the programs that measure other Rust libraries have in common: the clock, the numbers and the command line of
//! `opgrid-bench-kernels`. A program has the figures that its library has a call for.
#![forbid(unsafe_code)]

#[path = "../../ours/src/clock.rs"]
pub mod clock;

use std::convert::Infallible;
use std::hint::black_box;
use std::process::ExitCode;

/// A figure's name, and what makes its call so many times.
pub type Case<'s> = (&'static str, Box<dyn Fn(u32) + 's>);

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
        let batch = |count| -> Result<(), Infallible> { Ok(repeat(count)) };
        let Ok(time) = clock::best_of_any_length(clock::Effort::FULL, batch);
        println!("{name} {time}");
    }
    ExitCode::SUCCESS
}
