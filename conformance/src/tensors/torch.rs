//! The other side: a Python program with torch, which answers lines of JSON. A crash costs it one case.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc;

use serde_json::Value as Json;

/// The program, started anew whenever it dies.
pub struct Torch {
    python: PathBuf,
    program: PathBuf,
    running: Option<Running>,
}

struct Running {
    child: Child,
    lines: mpsc::Sender<String>,
    answers: BufReader<ChildStdout>,
}

/// What a dead process leaves instead of an answer.
pub use opgrid_tensor::samples::differences::DIED;

impl Torch {
    /// The program that `python` runs; it starts with the first question.
    pub fn new(python: PathBuf, program: PathBuf) -> Self {
        Self { python, program, running: None }
    }

    /// The answers to these lines, `None` where the program died.
    ///
    /// # Errors
    ///
    /// The program cannot be started, or answers what is not JSON.
    pub fn ask(&mut self, lines: &[String]) -> Result<Vec<Option<Json>>, String> {
        let mut answers = Vec::with_capacity(lines.len());
        while answers.len() < lines.len() {
            let running = match &mut self.running {
                Some(running) => running,
                none => none.insert(start(&self.python, &self.program)?),
            };
            for line in &lines[answers.len()..] {
                // A program that is gone shows below.
                let _ = running.lines.send(line.clone());
            }
            while answers.len() < lines.len() {
                let mut answer = String::new();
                let length = running.answers.read_line(&mut answer).unwrap_or(0);
                if length == 0 {
                    break;
                }
                let json = serde_json::from_str(&answer);
                answers
                    .push(Some(json.map_err(|error| format!("torch answered what is not JSON: {error}"))?));
            }
            if answers.len() < lines.len() {
                self.stop();
                // A line before may have spoilt the memory that this one read: it is asked once more, alone.
                let alone = self.ask_alone(&lines[answers.len()])?;
                answers.push(alone);
            }
        }
        Ok(answers)
    }

    /// The answer of a new program to a line, `None` where it died.
    fn ask_alone(&mut self, line: &str) -> Result<Option<Json>, String> {
        let running = self.running.insert(start(&self.python, &self.program)?);
        let _ = running.lines.send(line.to_owned());
        let mut answer = String::new();
        if running.answers.read_line(&mut answer).unwrap_or(0) == 0 {
            self.stop();
            return Ok(None);
        }
        serde_json::from_str(&answer)
            .map(Some)
            .map_err(|error| format!("torch answered what is not JSON: {error}"))
    }

    fn stop(&mut self) {
        if let Some(mut running) = self.running.take() {
            drop(running.lines);
            let _ = running.child.wait();
        }
    }
}

impl Drop for Torch {
    fn drop(&mut self) {
        self.stop();
    }
}

fn start(python: &PathBuf, program: &PathBuf) -> Result<Running, String> {
    let mut command = Command::new(python);
    command.arg(program).stdin(Stdio::piped()).stdout(Stdio::piped());
    let child = command.spawn().map_err(|error| format!("cannot run {}: {error}", python.display()));
    let mut child = child?;
    let (input, output) = child.stdin.take().zip(child.stdout.take()).ok_or("the program has no pipes")?;
    let (lines, queue) = mpsc::channel();
    // Writing by another thread: the program may wait for us to read before it reads on.
    std::thread::spawn(move || feed(input, queue));
    Ok(Running { child, lines, answers: BufReader::new(output) })
}

fn feed(mut input: ChildStdin, queue: mpsc::Receiver<String>) {
    for line in queue {
        if writeln!(input, "{line}").is_err() {
            return;
        }
    }
}
