//! Compares opgrid's dispatcher with PyTorch's; `cargo xtask conformance` compiles the driver and starts this.
#![forbid(unsafe_code)]

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use opgrid_conformance::dispatcher::ours::{Answer, Ours};
use opgrid_conformance::dispatcher::program::Program;
use opgrid_conformance::dispatcher::record::Recorder;
use opgrid_conformance::dispatcher::report::Report;
use opgrid_conformance::dispatcher::run::{self, Setting};
use opgrid_conformance::options::{self, Options};
use opgrid_core::{Rule, Rules};

/// How many programs show that a rule is missed, when each rule is taken away in turn.
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

/// How many programs there are unless the command line says so.
const SEEDS: u64 = 10_000;

const USAGE: &str = "opgrid-conformance-dispatcher --driver PROGRAM --schemas FILE [--seeds N] [--seed S] [--show SEED] \
                     [--break RULE|all] [--record FILE]";

impl Arguments {
    fn from_options(options: &Options) -> Result<Self, String> {
        let broken = options.text("--break");
        Ok(Self {
            driver: options.path("--driver")?,
            schemas: options.path("--schemas")?,
            first: options.number("--seed")?.unwrap_or(0),
            count: options.number("--seeds")?.unwrap_or(SEEDS),
            show: options.number("--show")?,
            without: broken.filter(|rule| *rule != "all").map(run::rule).transpose()?,
            each_rule: broken == Some("all"),
            record: options.text("--record").map(PathBuf::from),
        })
    }
}

fn main() -> ExitCode {
    options::main(USAGE, Arguments::from_options, |arguments| match (arguments.show, arguments.each_rule) {
        (Some(seed), _) => show(arguments, seed),
        (None, true) => each_rule(arguments),
        (None, false) => compare(arguments),
    })
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
    for text in report.tally().shown() {
        println!("{text}");
    }
    print!("{report}");
    println!("{:.1} s", start.elapsed().as_secs_f64());
    let rare = report.rare_features();
    let unmet = report.unmet_rules();
    match report.tally().differences() {
        0 if rare.is_empty() && unmet.is_empty() => Ok(()),
        0 if rare.is_empty() => Err(format!(
            "no program came upon these decided differences, so that their rules may hide others: {}",
            unmet.join(", ")
        )),
        0 => Err(format!("too few programs have: {}", rare.join(", "))),
        count => Err(format!(
            "{count} differences in {} programs that no rule explains; `--show SEED` prints a program",
            report.tally().differing_seeds()
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
            report.tally().differing_seeds()
        );
        if report.tally().differences() == 0 {
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
    for text in report.tally().shown() {
        println!("{text}");
    }
    Ok(())
}
