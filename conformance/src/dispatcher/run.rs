//! Runs many programs on both sides at once.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;

use opgrid_core::{Rule, Rules};
use opgrid_schema::FunctionSchema;

use super::compare::compare;
use super::driver::{Commands, Driver};
use super::generate::{Material, program};
use super::keys::Keys;
use super::ours::{Answer, Ours, classes_of};
use super::program::{Program, Step};
use super::record;
use super::report::Report;

/// How many programs the driver may be ahead of our side.
const AHEAD: usize = 64;

/// What programs are made of, and what our side has to know beyond them.
pub struct Setting {
    /// What programs are made of.
    pub material: Material,
    /// The custom classes that the schemas name.
    pub classes: Arc<Vec<String>>,
    /// The rules by which our side resolves.
    pub rules: Rules,
}

impl Setting {
    /// The setting with these schemas, one per line.
    pub fn new(schemas: &str, rules: Rules) -> Self {
        let mut corpus: Vec<String> =
            schemas.lines().filter(|line| !line.is_empty()).map(String::from).collect();
        corpus.sort();
        corpus.dedup();
        let classes = Arc::new(classes_of(&corpus));
        Self { material: Material { keys: Keys::of_torch(), corpus }, classes, rules }
    }
}

/// The rules by the names and numbers that a user gives; the numbers are those of the order of precedence.
const RULES: [(&str, &str, Rule); 12] = [
    ("1", "direct", Rule::Direct),
    ("2", "explicit-non-functional", Rule::ExplicitNonFunctional),
    ("3", "explicit", Rule::Explicit),
    ("4", "backend-first", Rule::BackendFirst),
    ("5", "nested", Rule::Nested),
    ("6", "implicit", Rule::Implicit),
    ("6a", "ambiguous", Rule::Ambiguous),
    ("7", "autograd", Rule::Autograd),
    ("8", "batched", Rule::Batched),
    ("9", "fallback", Rule::Fallback),
    ("10", "missing", Rule::Missing),
    ("11", "passing-on", Rule::BackendFallthrough),
];

/// The rule of that number or name.
///
/// # Errors
///
/// There is none; the message lists them.
pub fn rule(text: &str) -> Result<Rule, String> {
    let found = RULES.iter().find(|(number, name, _)| *number == text || *name == text);
    found.map(|(_, _, rule)| *rule).ok_or_else(|| {
        let known: Vec<String> = RULES.iter().map(|(number, name, _)| format!("{number} ({name})")).collect();
        format!("unknown rule `{text}`; rules are: {}", known.join(", "))
    })
}

/// The name of a rule.
pub fn name_of(rule: Rule) -> &'static str {
    RULES.iter().find(|(_, _, known)| *known == rule).map_or("", |(_, name, _)| name)
}

/// Reads every schema and compares how it is printed.
pub fn schemas(setting: &Setting, report: &mut Report) {
    for schema in &setting.material.corpus {
        let ours = FunctionSchema::parse(schema).map_or_else(|error| error.to_string(), |it| it.to_string());
        report.schema(schema, &ours);
    }
}

/// Runs `count` programs from seed `first` on. `watch` sees each program with torch's answers.
///
/// # Errors
///
/// The driver cannot be started or ends early; the message names the step at which it did.
pub fn programs(
    driver: &Path,
    setting: &Setting,
    first: u64,
    count: u64,
    report: &mut Report,
    mut watch: impl FnMut(&Program, &[Answer]),
) -> Result<(), String> {
    let mut driver = Driver::start(driver)?;
    let mut commands = driver.commands();
    let classes = Arc::new(known_classes(&setting.classes, &mut driver, &mut commands)?);
    let (sender, receiver) = sync_channel::<Program>(AHEAD);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for seed in first..first + count {
                let program = program(seed, &setting.material);
                let lines: Vec<String> = program.steps.iter().map(|step| step.command()).collect();
                // The answers have to be waited for before the commands go out: the driver stops reading when
                // nobody reads what it writes. Where it has ended, whoever reads its answers says so.
                if sender.send(program).is_err() {
                    return;
                }
                let sent = lines.iter().try_for_each(|line| commands.send(line));
                if sent.and_then(|()| commands.flush()).is_err() {
                    return;
                }
            }
        });
        for program in receiver {
            let mut answers = Vec::with_capacity(program.steps.len());
            for step in &program.steps {
                let answer = driver.answer();
                answers.push(answer.map_err(|error| format!("{error}, at seed {}: {step}", program.seed))?);
            }
            watch(&program, &answers);
            let mut ours = Ours::new(setting.rules, classes.clone());
            compare(&program, &mut ours, &answers, report);
        }
        report.end_of_program();
        Ok(())
    })
}

/// Returns the custom classes that the driver's torch has: some come with torch's Python package alone.
fn known_classes(
    classes: &[String],
    driver: &mut Driver,
    commands: &mut Commands,
) -> Result<Vec<String>, String> {
    let mut known = Vec::new();
    for class in classes {
        let step = Step::Parse(format!("f(__torch__.torch.classes.{class} x) -> ()"));
        let sent = commands.send(&step.command()).and_then(|()| commands.flush());
        sent.map_err(|error| format!("the driver takes no commands: {error}"))?;
        if driver.answer()?[0] == "ok" {
            known.push(class.clone());
        }
    }
    Ok(known)
}

/// Compares what was recorded, without a driver.
///
/// # Errors
///
/// The text is no record.
pub fn recorded(text: &str, setting: &Setting, report: &mut Report) -> Result<(), String> {
    for (seed, answers) in record::read(text)? {
        let program = program(seed, &setting.material);
        let mut ours = Ours::new(setting.rules, setting.classes.clone());
        compare(&program, &mut ours, &answers, report);
    }
    report.end_of_program();
    Ok(())
}
