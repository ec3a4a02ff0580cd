//! Compares opgrid's tensors with PyTorch's; `cargo xtask conformance tensors` starts this.
#![forbid(unsafe_code)]

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use opgrid_conformance::tensors::compare::text;
use opgrid_conformance::tensors::report::Report;
use opgrid_conformance::tensors::run::{self, Setting};
use opgrid_conformance::tensors::torch::Torch;

/// The command line.
struct Arguments {
    python: PathBuf,
    program: PathBuf,
    first: u64,
    count: u64,
    show: Option<u64>,
}

const USAGE: &str =
    "opgrid-conformance-tensors --python PYTHON --program FILE [--seeds N] [--seed S] [--show SEED]";

impl Arguments {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut arguments =
            Self { python: PathBuf::new(), program: PathBuf::new(), first: 0, count: 40_000, show: None };
        while let Some(word) = words.next() {
            let value = words.next().ok_or_else(|| format!("`{word}` needs a value; usage: {USAGE}"))?;
            let number =
                || value.parse::<u64>().map_err(|_| format!("`{word}` needs a number, found `{value}`"));
            match word.as_str() {
                "--python" => arguments.python = value.into(),
                "--program" => arguments.program = value.into(),
                "--seed" => arguments.first = number()?,
                "--seeds" => arguments.count = number()?,
                "--show" => arguments.show = Some(number()?),
                _ => return Err(format!("unknown option `{word}`; usage: {USAGE}")),
            }
        }
        Ok(arguments)
    }
}

fn main() -> ExitCode {
    let arguments = match Arguments::parse(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(message) => {
            eprintln!("error: {message}");
            return ExitCode::from(2);
        }
    };
    let result = match arguments.show {
        Some(seed) => show(&arguments, seed),
        None => compare(&arguments),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn compare(arguments: &Arguments) -> Result<(), String> {
    let (setting, mut report, start) = (Setting::new()?, Report::default(), Instant::now());
    let mut torch = Torch::new(arguments.python.clone(), arguments.program.clone());
    let seeds = arguments.first..arguments.first + arguments.count;
    run::cases(&setting, &mut torch, Setting::one_call, seeds, &mut report, |_, _, _| ())?;
    for text in report.shown() {
        println!("{text}");
    }
    print!("{report}");
    println!("{:.1} s", start.elapsed().as_secs_f64());
    match report.differences() {
        0 => Ok(()),
        count => Err(format!(
            "{count} differences in {} cases that no rule explains; `--show SEED` prints a case",
            report.differing_cases()
        )),
    }
}

/// Prints a case with what both sides answer.
fn show(arguments: &Arguments, seed: u64) -> Result<(), String> {
    let (setting, mut report) = (Setting::new()?, Report::default());
    let mut torch = Torch::new(arguments.python.clone(), arguments.program.clone());
    run::cases(&setting, &mut torch, Setting::one_call, seed..seed + 1, &mut report, |case, ours, torch| {
        println!("{case}");
        for (ours, torch) in ours.iter().zip(torch) {
            for (side, answer) in [("opgrid", ours), ("torch", torch)] {
                match &answer.outcome {
                    Ok(values) => {
                        let values: Vec<String> = values.iter().map(text).collect();
                        println!("  {side:6}  {}", values.join(", "));
                    }
                    Err(error) => println!("  {side:6}  error: {error}"),
                }
            }
        }
    })?;
    for text in report.shown() {
        println!("{text}");
    }
    Ok(())
}
