//! Torch's answers as text, to be compared again without torch.
//!
//! Dumps repeat the same lines over and over, so the distinct lines come first and answers name them by number:
//! `#0 4-7` is a field of lines 0, 4, 5, 6 and 7.

use std::collections::HashMap;
use std::fmt::Write;

use super::ours::Answer;
use super::program::Program;
use super::wire;

/// The line between the distinct lines and the programs.
const PROGRAMS: &str = "programs:";

/// A record while it is made.
#[derive(Debug, Default)]
pub struct Recorder {
    lines: Vec<String>,
    numbers: HashMap<String, usize>,
    programs: String,
}

impl Recorder {
    /// Adds a program's answers.
    pub fn add(&mut self, program: &Program, answers: &[Answer]) {
        let _ = writeln!(self.programs, "seed {}", program.seed);
        for answer in answers {
            let fields: Vec<String> = answer.iter().map(|field| self.field(field)).collect();
            let _ = writeln!(self.programs, "{}", fields.join("\t"));
        }
    }

    fn field(&mut self, field: &str) -> String {
        if !field.contains('\n') && !field.starts_with('#') {
            return wire::escaped(field);
        }
        let numbers: Vec<usize> = field.split('\n').map(|line| self.number(line)).collect();
        let mut runs: Vec<(usize, usize)> = Vec::new();
        for number in numbers {
            match runs.last_mut() {
                Some((_, end)) if number == *end + 1 => *end = number,
                _ => runs.push((number, number)),
            }
        }
        let run = |(start, end): &(usize, usize)| {
            if start == end { start.to_string() } else { format!("{start}-{end}") }
        };
        format!("#{}", runs.iter().map(run).collect::<Vec<_>>().join(" "))
    }

    fn number(&mut self, line: &str) -> usize {
        if let Some(number) = self.numbers.get(line) {
            return *number;
        }
        self.lines.push(line.to_owned());
        self.numbers.insert(line.to_owned(), self.lines.len() - 1);
        self.lines.len() - 1
    }

    /// The whole record.
    pub fn text(&self) -> String {
        let lines: String = self.lines.iter().map(|line| wire::escaped(line) + "\n").collect();
        format!("{lines}{PROGRAMS}\n{}", self.programs)
    }
}

/// The seeds of a record, each with torch's answers.
///
/// # Errors
///
/// The text is no record.
pub fn read(text: &str) -> Result<Vec<(u64, Vec<Answer>)>, String> {
    let (lines, programs) =
        text.split_once(&format!("{PROGRAMS}\n")).ok_or_else(|| format!("no line `{PROGRAMS}`"))?;
    let lines: Vec<String> = lines.lines().flat_map(wire::fields).collect();
    let mut read: Vec<(u64, Vec<Answer>)> = Vec::new();
    for line in programs.lines() {
        match (line.strip_prefix("seed "), read.last_mut()) {
            (Some(seed), _) => {
                let seed = seed.parse().map_err(|_| format!("`{seed}` is no seed"))?;
                read.push((seed, Vec::new()));
            }
            (None, Some((_, answers))) => {
                let fields = wire::fields(line).into_iter().map(|field| whole(&lines, field));
                answers.push(fields.collect::<Result<_, _>>()?);
            }
            (None, None) => return Err(format!("`{line}` belongs to no seed")),
        }
    }
    Ok(read)
}

/// The field with its lines instead of their numbers.
fn whole(lines: &[String], field: String) -> Result<String, String> {
    let Some(runs) = field.strip_prefix('#') else { return Ok(field) };
    let mut found = Vec::new();
    for run in runs.split(' ') {
        let (start, end) = run.split_once('-').unwrap_or((run, run));
        let number = |text: &str| text.parse::<usize>().map_err(|_| format!("`{field}` names no lines"));
        let (start, end) = (number(start)?, number(end)?);
        found.extend_from_slice(lines.get(start..=end).ok_or_else(|| format!("`{field}` names no lines"))?);
    }
    Ok(found.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_recorded_is_read_again() {
        let program = Program { seed: 7, steps: Vec::new(), features: Vec::new() };
        let answers: Vec<Answer> = [&["ok", "a\nb\tc\n", "plain"][..], &["err", "b\tc\na", "#1"], &["ok"]]
            .map(|answer| answer.iter().map(|field| field.to_string()).collect())
            .into();
        let mut recorder = Recorder::default();
        recorder.add(&program, &answers);
        assert_eq!(read(&recorder.text()).unwrap(), [(7, answers)]);
        for wrong in ["", "programs:\nok", "a\nprograms:\nseed 1\nok\t#1", "programs:\nseed x"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
