//! Every behaviour that is a command, its output and its exit status: those of `commands.txt`, one after the other.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::common::{Folder, Run, root};

const CASES: &str = include_str!("commands.txt");

/// A command with what is expected of it.
#[derive(Default)]
struct Case<'t> {
    line: usize,
    command: &'t str,
    files: Vec<&'t str>,
    input: Option<&'t str>,
    output: Vec<&'t str>,
    output_parts: Vec<&'t str>,
    error_parts: Vec<&'t str>,
    status: Option<i32>,
}

fn cases(text: &str) -> Vec<Case<'_>> {
    let mut cases: Vec<Case> = Vec::new();
    // What stands before the command belongs to it.
    let mut next = Case::default();
    for (number, line) in text.lines().enumerate() {
        let (sign, rest) = line.split_at(line.len().min(1));
        let rest = rest.strip_prefix(' ').unwrap_or(rest);
        match (sign, cases.last_mut()) {
            ("" | "#", _) => {}
            ("+", _) => next.files.push(rest),
            ("<", _) => next.input = Some(rest),
            ("$", _) => cases.push(Case { line: number + 1, command: rest, ..std::mem::take(&mut next) }),
            ("|", Some(case)) => case.output.push(rest),
            ("~", Some(case)) => case.output_parts.push(rest),
            ("!", Some(case)) => case.error_parts.push(rest),
            ("?", Some(case)) => case.status = Some(rest.parse().expect("a status is a number")),
            _ => panic!("line {}: {line}", number + 1),
        }
    }
    cases
}

/// The words of a command, those in quotes without them.
fn words(command: &str) -> Vec<String> {
    let (mut words, mut word, mut quote, mut begun) = (Vec::new(), String::new(), None, false);
    for letter in command.chars() {
        match (quote, letter) {
            (Some(open), letter) if letter == open => quote = None,
            (None, '"' | '\'') => (quote, begun) = (Some(letter), true),
            (None, ' ') => {
                if begun {
                    words.push(std::mem::take(&mut word));
                }
                begun = false;
            }
            (_, letter) => {
                word.push(letter);
                begun = true;
            }
        }
    }
    if begun {
        words.push(word);
    }
    words
}

fn run(args: &[String], input: Option<&str>) -> Run {
    let mut command = Command::new(env!("CARGO_BIN_EXE_opgrid"));
    command
        .args(args)
        .current_dir(root())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary runs");
    let mut stdin = child.stdin.take().expect("the input is a pipe");
    // A command that does not read its input may end before it is written.
    let _ = stdin.write_all(input.unwrap_or_default().as_bytes());
    drop(stdin);
    Run::from_output(child.wait_with_output().expect("the binary ends"))
}

/// What is wrong with an answer, in words.
fn faults(case: &Case, folder: &str, run: &Run) -> String {
    let mut faults = String::new();
    let fill = |text: &str| text.replace("{dir}", folder);
    let status = case.status.unwrap_or(if case.error_parts.is_empty() { 0 } else { 2 });
    if run.status != Some(status) {
        let _ = writeln!(faults, "  status {:?}, expected {status}", run.status);
    }
    let fails = status == 2;
    let exact = !case.output.is_empty() || fails || (case.output_parts.is_empty() && case.status.is_none());
    let expected: String = case.output.iter().map(|line| fill(line) + "\n").collect();
    if exact && run.out != expected {
        let _ = writeln!(faults, "  standard output is not {expected:?}");
    }
    if case.error_parts.is_empty() && !run.err.is_empty() {
        let _ = writeln!(faults, "  standard error is not empty");
    }
    let missing = |parts: &[&str], text: &str| {
        let parts: Vec<_> = parts.iter().map(|part| fill(part)).filter(|part| !text.contains(part)).collect();
        (!parts.is_empty()).then(|| format!("{parts:?}"))
    };
    for (stream, parts, text) in
        [("output", &case.output_parts, &run.out), ("error", &case.error_parts, &run.err)]
    {
        if let Some(missing) = missing(parts, text) {
            let _ = writeln!(faults, "  standard {stream} lacks {missing}");
        }
    }
    if !faults.is_empty() {
        let _ = writeln!(faults, "  out: {}\n  err: {}", run.out.trim_end(), run.err.trim_end());
    }
    faults
}

#[test]
fn commands_answer_as_the_table_says() {
    let folder = Folder::new();
    let path = folder.path().display().to_string();
    let cases = cases(CASES);
    assert!(cases.len() > 60, "{} cases", cases.len());
    let mut report = String::new();
    for case in &cases {
        for file in &case.files {
            let (name, content) = file.split_once(' ').unwrap_or((file, ""));
            std::fs::write(name.replace("{dir}", &path), content).expect("the folder can be written");
        }
        let args = words(&case.command.replace("{dir}", &path));
        let faults = faults(case, &path, &run(&args, case.input));
        if !faults.is_empty() {
            let _ = writeln!(report, "commands.txt:{}: $ {}\n{faults}", case.line, case.command);
        }
    }
    assert!(report.is_empty(), "\n{report}");
}

#[test]
fn colours_are_used_where_they_are_asked_for() {
    let escape = "\x1b[";
    for (args, expected) in [
        (&["table", "aten::neg"][..], false),
        (&["table", "aten::neg", "--color", "always"], true),
        (&["table", "aten::neg", "--color", "never"], false),
        (&["list", "aten::mm", "--color", "always"], true),
    ] {
        let run = run(&args.iter().map(|&arg| arg.to_owned()).collect::<Vec<_>>(), None);
        assert_eq!((run.status, run.out.contains(escape)), (Some(0), expected), "{args:?}");
    }
}
