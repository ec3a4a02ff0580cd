//! The other side: a Python program with torch, which answers lines of JSON. A crash of torch costs one case.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc;

use serde_json::Value as Json;

/// The program, which has torch in processes of its own and starts them anew whenever they die.
pub struct Torch {
    python: PathBuf,
    program: PathBuf,
    running: Option<Running>,
    /// The lines of the last question at which torch died, by their numbers.
    deaths: Vec<usize>,
}

struct Running {
    child: Child,
    lines: mpsc::Sender<String>,
    answers: BufReader<ChildStdout>,
}

/// The key under which the program says that torch died, with what another process answers.
const DIES: &str = "died";

/// What a dead process leaves instead of an answer.
pub use opgrid_samples::differences::DIED;

impl Torch {
    /// The program that `python` runs; it starts with the first question.
    pub fn new(python: PathBuf, program: PathBuf) -> Self {
        Self { python, program, running: None, deaths: Vec::new() }
    }

    /// The answers to these lines, `None` where torch died.
    ///
    /// # Errors
    ///
    /// The program cannot be started, ends, or answers what is not JSON.
    pub fn ask(&mut self, lines: &[String]) -> Result<Vec<Option<Json>>, String> {
        self.deaths.clear();
        let running = match &mut self.running {
            Some(running) => running,
            none => none.insert(start(&self.python, &self.program)?),
        };
        for line in lines {
            // A program that is gone shows below.
            let _ = running.lines.send(line.clone());
        }
        let mut answers = Vec::with_capacity(lines.len());
        for at in 0..lines.len() {
            let mut answer = String::new();
            if running.answers.read_line(&mut answer).unwrap_or(0) == 0 {
                return Err(format!("{} ended without an answer", self.program.display()));
            }
            let json = serde_json::from_str(&answer);
            let json: Json = json.map_err(|error| format!("torch answered what is not JSON: {error}"))?;
            answers.push(match json {
                Json::Object(mut told) if told.contains_key(DIES) => {
                    self.deaths.push(at);
                    told.remove(DIES).filter(|again| !again.is_null())
                }
                answer => Some(answer),
            });
        }
        Ok(answers)
    }

    /// The lines of the last question at which torch died, by their numbers. A line that has an answer all the same was
    /// answered by a new process: some line before it had spoilt the memory.
    pub fn deaths(&self) -> &[usize] {
        &self.deaths
    }

    /// The answer of a new process to a line, `None` where it dies.
    ///
    /// # Errors
    ///
    /// The program cannot be started, ends, or answers what is not JSON.
    pub fn ask_anew(&mut self, line: &str) -> Result<Option<Json>, String> {
        Ok(self.ask(&[format!("{{\"anew\": {line}}}")])?.pop().flatten())
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Torch;

    /// Answers each line by itself, but says of 2 and 3 that torch died, which another process of it answers or does not.
    const PROGRAM: &str = "while read line; do case $line in 2) line='{\"died\": 2}';; 3) line='{\"died\": null}';; 5) exit;; esac; \
                           echo $line; done";

    #[test]
    fn a_process_that_dies_costs_the_line_that_kills_it() {
        let file = std::env::temp_dir().join(format!("opgrid-conformance-{}.sh", std::process::id()));
        std::fs::write(&file, PROGRAM).unwrap();
        let mut torch = Torch::new("sh".into(), file.clone());
        let lines = ["0", "1", "2", "3", "4"].map(String::from);
        let answers = torch.ask(&lines).unwrap();
        assert_eq!(answers, [Some(json!(0)), Some(json!(1)), Some(json!(2)), None, Some(json!(4))]);
        assert_eq!(torch.deaths(), [2, 3]);
        assert_eq!(torch.ask(&lines[..2]).unwrap(), [Some(json!(0)), Some(json!(1))]);
        assert!(torch.deaths().is_empty(), "those of the question before are forgotten");
        assert_eq!(torch.ask_anew("6").unwrap(), Some(json!({ "anew": 6 })));
        assert!(torch.ask(&["5".to_owned()]).unwrap_err().contains("ended without an answer"));
        std::fs::remove_file(file).unwrap();
    }
}
