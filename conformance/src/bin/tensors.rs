//! Compares opgrid's tensors with PyTorch's; `cargo xtask conformance tensors` starts this.
#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use opgrid_conformance::options::{self, Options};
use opgrid_conformance::tensors::answer::Answer;
use opgrid_conformance::tensors::case::Case;
use opgrid_conformance::tensors::chains;
use opgrid_conformance::tensors::compare::text;
use opgrid_conformance::tensors::mistakes::Noticed;
use opgrid_conformance::tensors::record;
use opgrid_conformance::tensors::report::Report;
use opgrid_conformance::tensors::run::{self, Make, Setting};
use opgrid_conformance::tensors::torch::Torch;
use opgrid_conformance::tensors::variations;

/// The command line.
struct Arguments {
    python: PathBuf,
    program: PathBuf,
    first: u64,
    count: u64,
    show: Option<u64>,
    record: Option<PathBuf>,
    breaks: bool,
    only: Vec<String>,
}

/// Cases of one call each, of every operator in turn.
const CALLS: (&str, Make) = ("calls", Setting::one_call);

/// Cases of several views, each of the one before.
const CHAINS: (&str, Make) = ("chains of views", chains::chain);

/// Cases of one call each, with the arguments of a sample, varied.
const VARIATIONS: (&str, Make) = ("variations of samples", variations::variation);

/// How many calls there are unless the command line says so.
const SEEDS: u64 = 200_000;

/// How many calls there are for each chain.
const PER_CHAIN: u64 = 5;

/// How many calls there are for each variation of a sample.
const PER_VARIATION: u64 = 2;

/// How many calls there are for each tensor that is printed.
const PER_PRINTED: u64 = 10;

/// After how many calls of an operator it has to be refused by both sides in less than nine of ten.
const ENOUGH: usize = 50;

const USAGE: &str = "opgrid-conformance-tensors --python PYTHON --program FILE [--seeds N] [--seed S] [--show SEED] \
                     [--record FILE] [--break all] [--only NAME,…]";

impl Arguments {
    fn from_options(options: &Options) -> Result<Self, String> {
        let breaks = match options.text("--break") {
            None => false,
            Some("all") => true,
            Some(other) => return Err(format!("`--break` needs `all`, found `{other}`; usage: {USAGE}")),
        };
        Ok(Self {
            python: options.path("--python")?,
            program: options.path("--program")?,
            first: options.number("--seed")?.unwrap_or(0),
            count: options.number("--seeds")?.unwrap_or(SEEDS),
            show: options.number("--show")?,
            record: options.text("--record").map(PathBuf::from),
            breaks,
            only: options
                .text("--only")
                .map(|list| list.split(',').map(String::from).collect())
                .unwrap_or_default(),
        })
    }
}

/// Bytes of addresses for this process and for torch's, each: a case may ask for billions of elements, which both sides
/// are to refuse instead of filling the machine's memory with them.
const MEMORY: u64 = 10 << 30;

fn main() -> ExitCode {
    limit_memory();
    options::main(USAGE, Arguments::from_options, |arguments| match (arguments.show, &arguments.record) {
        _ if arguments.breaks => mistakes(arguments),
        (Some(seed), _) => show(arguments, seed),
        (None, Some(file)) => record(arguments, file),
        (None, None) => compare(arguments),
    })
}

/// The limit is that of the processes that this one starts, too.
fn limit_memory() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let Rlimit { maximum, .. } = getrlimit(Resource::As);
        let limit = maximum.map_or(MEMORY, |maximum| maximum.min(MEMORY));
        // Where that is refused, cases have the memory that there is.
        _ = setrlimit(Resource::As, Rlimit { current: Some(limit), maximum });
    }
}

fn compare(arguments: &Arguments) -> Result<(), String> {
    let setting = Setting::new()?.only(arguments.only.clone());
    let (mut report, start) = (Report::default(), Instant::now());
    let mut torch = Torch::new(arguments.python.clone(), arguments.program.clone());
    let seeds = |share: u64| arguments.first..arguments.first + arguments.count.div_ceil(share);
    if setting.is_about_all() {
        run::promotion(&mut torch, &mut report)?;
        run::printing(&mut torch, seeds(PER_PRINTED), &mut report)?;
    }
    run::cases(&setting, &mut torch, CHAINS, seeds(PER_CHAIN), &mut report, |_, _, _| ())?;
    run::cases(&setting, &mut torch, CALLS, seeds(1), &mut report, |_, _, _| ())?;
    run::cases(&setting, &mut torch, VARIATIONS, seeds(PER_VARIATION), &mut report, |_, _, _| ())?;
    let unmet = if arguments.count >= SEEDS && setting.is_about_all() {
        run::directed(&setting, &mut torch, &mut report)?
    } else {
        run::Unmet::default()
    };
    for text in report.tally().shown() {
        println!("{text}");
    }
    print!("{report}{}", report.table(&setting.differences));
    if !unmet.unknown.is_empty() {
        println!("not met, and without a directed call: {}", unmet.unknown.join(" "));
    }
    if setting.is_about_all() {
        println!("torch has, opgrid lacks: {}", run::missing(&setting, &mut torch)?.join(" "));
    }
    println!("{:.1} s", start.elapsed().as_secs_f64());
    let mut rare = report.hardly_compared(ENOUGH);
    rare.retain(|operator| setting.can_be_called(operator));
    match report.tally().differences() {
        0 if !unmet.gone.is_empty() => Err(format!(
            "decided differences that their directed calls do not show any more: {}",
            unmet.gone.join(", ")
        )),
        0 if rare.is_empty() => Ok(()),
        0 => Err(format!("both sides refuse nearly every call of: {}", rare.join(", "))),
        count => Err(format!(
            "{count} differences in {} cases that were not decided; `--show SEED` prints a case",
            report.tally().differing_seeds()
        )),
    }
}

/// Makes mistakes in our answers, each of which has to be noticed.
fn mistakes(arguments: &Arguments) -> Result<(), String> {
    let (setting, mut noticed) = (Setting::new()?.only(arguments.only.clone()), Noticed::default());
    let mut torch = Torch::new(arguments.python.clone(), arguments.program.clone());
    let seeds = arguments.first..arguments.first + arguments.count;
    run::mistakes(&setting, &mut torch, seeds, &mut noticed)?;
    print!("{noticed}");
    match noticed.failures().as_slice() {
        [] => Ok(()),
        failures => Err(format!("the comparison does not notice:\n  {}", failures.join("\n  "))),
    }
}

/// Keeps what torch answers to some cases.
fn record(arguments: &Arguments, file: &Path) -> Result<(), String> {
    let mut torch = Torch::new(arguments.python.clone(), arguments.program.clone());
    let text = record::record(&Setting::new()?, &mut torch)?;
    std::fs::write(file, text).map_err(|error| format!("cannot write {}: {error}", file.display()))
}

/// Prints the cases of a seed with what both sides answer.
fn show(arguments: &Arguments, seed: u64) -> Result<(), String> {
    let (setting, mut report) = (Setting::new()?, Report::default());
    let mut torch = Torch::new(arguments.python.clone(), arguments.program.clone());
    for part in [CALLS, CHAINS, VARIATIONS] {
        println!("{}:", part.0);
        run::cases(&setting, &mut torch, part, seed..seed + 1, &mut report, show_case)?;
    }
    run::printing(&mut torch, seed..seed + 1, &mut report)?;
    for text in report.tally().shown() {
        println!("{text}");
    }
    Ok(())
}

fn show_case(case: &Case, ours: &[Answer], torch: &[Answer]) {
    println!("{case}");
    for (call, (ours, torch)) in case.calls.iter().zip(ours.iter().zip(torch)) {
        println!("{call}");
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
}
