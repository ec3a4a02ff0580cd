//! Compares opgrid's dispatcher with PyTorch's; `cargo xtask conformance` compiles the driver and starts this.
#![forbid(unsafe_code)]

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use opgrid_conformance::ours::{Answer, Ours};
use opgrid_conformance::program::Program;
use opgrid_conformance::record::Recorder;
use opgrid_conformance::report::Report;
use opgrid_conformance::run::{self, Setting};
use opgrid_core::{Rule, Rules};

/// How many programs show that a rule is missed, when all rules are taken away one after the other.
const PROGRAMS_PER_RULE: u64 = 300;

/// After how many programs the run says how far it is.
const PROGRESS: u64 = 10_000;

/// The command line.
struct Arguments {
    driver: PathBuf,
    schemas: PathBuf,
    first: u64,
    count: u64,
    show: Option<u64>,
    without: Option<Rule>,
    each_rule: bool,
    record: Option<PathBuf>,
}

const USAGE: &str = "opgrid-conformance --driver PROGRAM --schemas FILE [--seeds N] [--seed S] [--show SEED] \
                     [--break RULE|all] [--record FILE]";

impl Arguments {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut arguments = Self {
            driver: PathBuf::new(),
            schemas: PathBuf::new(),
            first: 0,
            count: 10_000,
            show: None,
            without: None,
            each_rule: false,
            record: None,
        };
        while let Some(word) = words.next() {
            let value = words.next().ok_or_else(|| format!("`{word}` needs a value; usage: {USAGE}"))?;
            let number =
                || value.parse::<u64>().map_err(|_| format!("`{word}` needs a number, found `{value}`"));
            match word.as_str() {
                "--driver" => arguments.driver = value.into(),
                "--schemas" => arguments.schemas = value.into(),
                "--seed" => arguments.first = number()?,
                "--seeds" => arguments.count = number()?,
                "--show" => arguments.show = Some(number()?),
                "--break" if value == "all" => arguments.each_rule = true,
                "--break" => arguments.without = Some(run::rule(&value)?),
                "--record" => arguments.record = Some(value.into()),
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
    let result = match (arguments.show, arguments.each_rule) {
        (Some(seed), _) => show(&arguments, seed),
        (None, true) => each_rule(&arguments),
        (None, false) => compare(&arguments),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn setting(arguments: &Arguments) -> Result<Setting, String> {
    let schemas = std::fs::read_to_string(&arguments.schemas)
        .map_err(|error| format!("cannot read {}: {error}", arguments.schemas.display()))?;
    let rules = arguments.without.map_or(Rules::ALL, |rule| Rules::ALL.without(rule));
    Ok(Setting::new(&schemas, rules))
}

fn compare(arguments: &Arguments) -> Result<(), String> {
    let (setting, mut report, start) = (setting(arguments)?, Report::default(), Instant::now());
    run::schemas(&setting, &mut report);
    let mut recorder = Recorder::default();
    let mut seen = 0;
    let watch = |program: &Program, torch: &[Answer]| {
        seen += 1;
        if seen % PROGRESS == 0 {
            eprintln!("{seen} of {} programs, {:.0} s", arguments.count, start.elapsed().as_secs_f64());
        }
        if arguments.record.is_some() {
            recorder.add(program, torch);
        }
    };
    run::programs(&arguments.driver, &setting, arguments.first, arguments.count, &mut report, watch)?;
    if let Some(path) = &arguments.record {
        std::fs::write(path, recorder.text())
            .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    for (difference, step) in report.shown() {
        println!("seed {} step {} {:?}: {step}", difference.seed, difference.place, difference.part);
        println!("    opgrid  {}\n    torch   {}", difference.ours, difference.torch);
    }
    print!("{report}");
    println!("{:.1} s", start.elapsed().as_secs_f64());
    let rare = report.rare_features();
    let unmet = report.unmet_rules();
    match report.unexplained() {
        0 if rare.is_empty() && unmet.is_empty() => Ok(()),
        0 if rare.is_empty() => Err(format!(
            "no program came upon these wanted differences, so that their rules may hide others: {}",
            unmet.join(", ")
        )),
        0 => Err(format!("too few programs have: {}", rare.join(", "))),
        count => Err(format!(
            "{count} differences in {} programs that no rule explains; `--show SEED` prints a program",
            report.differing_programs()
        )),
    }
}

/// Takes each rule of our side away and counts the programs that notice.
fn each_rule(arguments: &Arguments) -> Result<(), String> {
    let mut setting = setting(arguments)?;
    let mut missed = Vec::new();
    for rule in Rule::ALL {
        setting.rules = Rules::ALL.without(rule);
        let mut report = Report::default();
        run::programs(
            &arguments.driver,
            &setting,
            arguments.first,
            PROGRAMS_PER_RULE,
            &mut report,
            |_, _| (),
        )?;
        println!(
            "without {:24} {:4} of {PROGRAMS_PER_RULE} programs differ",
            run::name_of(rule),
            report.differing_programs()
        );
        if report.unexplained() == 0 {
            missed.push(run::name_of(rule));
        }
    }
    if missed.is_empty() {
        Ok(())
    } else {
        Err(format!("nothing noticed that these rules were gone: {}", missed.join(", ")))
    }
}

/// Prints a program step by step with what both sides answer.
fn show(arguments: &Arguments, seed: u64) -> Result<(), String> {
    let (setting, mut report) = (setting(arguments)?, Report::default());
    let mut ours = Ours::new(setting.rules, Arc::clone(&setting.classes));
    run::programs(&arguments.driver, &setting, seed, 1, &mut report, |program, torch| {
        for (place, (step, torch)) in program.steps.iter().zip(torch).enumerate() {
            println!("{place:4} {step}");
            println!("  opgrid  {}", ours.run(step).join("\n          "));
            println!("  torch   {}", torch.join("\n          "));
        }
    })?;
    for (difference, _) in report.shown() {
        println!("first difference: step {} {:?}", difference.place, difference.part);
    }
    Ok(())
}
