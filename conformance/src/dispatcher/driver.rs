//! The driver as a process: commands go in on one thread, answers come out on another.

use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use super::wire;

/// A running driver.
pub struct Driver {
    child: Child,
    commands: Option<BufWriter<ChildStdin>>,
    answers: BufReader<ChildStdout>,
}

/// The commands of a driver.
pub struct Commands(BufWriter<ChildStdin>);

impl Commands {
    /// Sends one command.
    ///
    /// # Errors
    ///
    /// The driver has ended.
    pub fn send(&mut self, command: &str) -> std::io::Result<()> {
        self.0.write_all(command.as_bytes())?;
        self.0.write_all(b"\n")
    }

    /// Makes sure that what was sent is read.
    ///
    /// # Errors
    ///
    /// The driver has ended.
    pub fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

impl Driver {
    /// Starts the program.
    ///
    /// # Errors
    ///
    /// It cannot be started.
    pub fn start(program: &Path) -> Result<Self, String> {
        let child = Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child =
            child.map_err(|error| format!("cannot start the driver {}: {error}", program.display()))?;
        let commands = child.stdin.take().expect("the driver's input is a pipe");
        let answers = child.stdout.take().expect("the driver's output is a pipe");
        let commands = Some(BufWriter::with_capacity(1 << 16, commands));
        Ok(Self { child, commands, answers: BufReader::with_capacity(1 << 18, answers) })
    }

    /// Takes the way in, once; without it, at the latest when it is dropped, the driver ends.
    pub fn commands(&mut self) -> Commands {
        Commands(self.commands.take().expect("the way in is taken once"))
    }

    /// The next answer.
    ///
    /// # Errors
    ///
    /// The driver has ended.
    pub fn answer(&mut self) -> Result<Vec<String>, String> {
        let mut line = String::new();
        let length = self.answers.read_line(&mut line).map_err(|error| error.to_string())?;
        if length == 0 {
            let status =
                self.child.wait().map_or_else(|error| error.to_string(), |status| status.to_string());
            return Err(format!("the driver ended too early, with {status}"));
        }
        Ok(wire::fields(line.trim_end_matches('\n')))
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // It ends by itself when nothing more comes in, unless the run stops early.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
