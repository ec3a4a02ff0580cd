//! Runs a program under valgrind's callgrind and reads what it counted.
//!
//! The output format is described in the valgrind manual, "Callgrind Format Specification".

use crate::failure::Failure;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a run executed.
#[derive(Debug)]
pub struct Profile {
    /// All executed instructions.
    pub total: u64,
    /// How often each instruction ran: by object file, then by its address in that file.
    executed: BTreeMap<String, BTreeMap<u64, u64>>,
}

impl Profile {
    /// The instructions that ran at least `count` times, by object file, with how often.
    pub fn executed_at_least(&self, count: u64) -> impl Iterator<Item = (&str, Vec<(u64, u64)>)> {
        self.executed.iter().filter_map(move |(object, executed)| {
            let often: Vec<(u64, u64)> = executed
                .iter()
                .filter(|(_, times)| **times >= count)
                .map(|(address, times)| (*address, *times))
                .collect();
            (!often.is_empty()).then_some((object.as_str(), often))
        })
    }
}

/// How many instructions `program case n` executes.
///
/// # Errors
/// Valgrind is missing or the program fails.
pub fn total(program: &Path, case: &str, n: u64) -> Result<u64, Failure> {
    run(program, case, n, &["--callgrind-out-file=/dev/null"])
}

/// Which instructions `program case n` executes, and how often.
///
/// # Errors
/// Valgrind is missing, the program fails, or the profile cannot be read.
pub fn profile(program: &Path, case: &str, n: u64) -> Result<Profile, Failure> {
    let file = ProfileFile::new();
    let out = format!("--callgrind-out-file={}", file.0.display());
    let total =
        run(program, case, n, &["--dump-instr=yes", "--compress-strings=no", "--compress-pos=no", &out])?;
    let text = std::fs::read_to_string(&file.0)
        .map_err(|error| Failure::new(format!("callgrind left no readable profile of `{case}`: {error}")))?;
    Ok(Profile { total, executed: parse(&text) })
}

/// Runs callgrind and returns the number of instructions it collected.
fn run(program: &Path, case: &str, n: u64, options: &[&str]) -> Result<u64, Failure> {
    let mut command = Command::new("valgrind");
    command.arg("--tool=callgrind").args(options).arg(program).args([case, &n.to_string()]);
    let output = command.output().map_err(|error| match error.kind() {
        ErrorKind::NotFound => {
            Failure::new("valgrind is not installed; install it, as with `apt-get install valgrind`")
        }
        _ => Failure::new(format!("cannot run valgrind: {error}")),
    })?;
    let messages = String::from_utf8_lossy(&output.stderr);
    let subject = format!("`{} {case} {n}` under valgrind", program.display());
    if !output.status.success() {
        return Err(Failure::new(format!(
            "{subject} ended with {}: {}",
            output.status,
            own_messages(&messages)
        )));
    }
    parse_total(&messages)
        .ok_or_else(|| Failure::new(format!("{subject} ran, but valgrind printed no `Collected : N`")))
}

/// The messages without valgrind's, which begin with the process id in `==`.
fn own_messages(messages: &str) -> String {
    messages.lines().filter(|line| !line.starts_with("==")).collect::<Vec<_>>().join("\n")
}

/// Reads the number in `==123== Collected : 1882416`.
fn parse_total(messages: &str) -> Option<u64> {
    let (_, rest) = messages.split_once("Collected :")?;
    rest.split_whitespace().next()?.parse().ok()
}

/// Reads how often each instruction ran, from a profile with full names and positions.
///
/// `ob=` lines name the object file of what follows. A cost line is `0xADDRESS LINE COUNT`. The cost line after
/// `calls=` holds what the called function executed, which its own lines already say.
fn parse(profile: &str) -> BTreeMap<String, BTreeMap<u64, u64>> {
    let mut executed: BTreeMap<String, BTreeMap<u64, u64>> = BTreeMap::new();
    let mut object = "";
    let mut is_of_callee = false;
    for line in profile.lines() {
        if let Some(name) = line.strip_prefix("ob=") {
            object = name;
        } else if line.starts_with("calls=") {
            is_of_callee = true;
        } else if let Some((address, count)) = parse_cost(line) {
            if !is_of_callee {
                *executed.entry(object.to_string()).or_default().entry(address).or_default() += count;
            }
            is_of_callee = false;
        }
    }
    executed
}

fn parse_cost(line: &str) -> Option<(u64, u64)> {
    let mut words = line.strip_prefix("0x")?.split_whitespace();
    let address = u64::from_str_radix(words.next()?, 16).ok()?;
    let count = words.nth(1)?.parse().ok()?;
    Some((address, count))
}

/// The file that callgrind writes; removed at the end.
struct ProfileFile(PathBuf);

impl ProfileFile {
    fn new() -> Self {
        Self(std::env::temp_dir().join(format!("xtask-callgrind-{}", std::process::id())))
    }
}

impl Drop for ProfileFile {
    fn drop(&mut self) {
        // Nothing is lost if the file was never written or stays behind.
        let _ = std::fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_read_from_the_messages() {
        assert_eq!(parse_total("==7== Events    : Ir\n==7== Collected : 1882416\n==7==\n"), Some(1_882_416));
        assert_eq!(parse_total("==7== Events    : Ir\n"), None);
    }

    #[test]
    fn the_messages_of_the_program_are_kept() {
        assert_eq!(own_messages("==7== Callgrind\nunknown case\n==7== Refs"), "unknown case");
    }

    const PROFILE: &str = "\
        positions: instr line\nevents: Ir\nsummary: 99\n\n\
        ob=a.out\nfl=a.rs\nfn=main\n0x10 1 1\n0x14 2 200\ncob=libc.so\ncfn=free\ncalls=200 0x30 7\n0x18 3 9999\n0x1a 4 200\n\n\
        ob=libc.so\nfn=free\n0x30 7 200\n\n\
        ob=a.out\nfn=main'2\nfi=b.rs\n0x14 2 50\nfe=a.rs\n0x1c 5 199\n";

    #[test]
    fn executions_are_summed_without_those_of_callees() {
        let executed = parse(PROFILE);
        assert_eq!(executed["a.out"], BTreeMap::from([(0x10, 1), (0x14, 250), (0x1a, 200), (0x1c, 199)]));
        assert_eq!(executed["libc.so"], BTreeMap::from([(0x30, 200)]));
    }

    #[test]
    fn rare_instructions_are_left_out() {
        let profile = Profile { total: 99, executed: parse(PROFILE) };
        let often: Vec<_> = profile.executed_at_least(200).collect();
        assert_eq!(often, [("a.out", vec![(0x14, 250), (0x1a, 200)]), ("libc.so", vec![(0x30, 200)])]);
        assert_eq!(profile.executed_at_least(251).count(), 0);
    }
}
