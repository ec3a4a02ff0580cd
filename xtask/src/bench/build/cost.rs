//! What a command costs: time, and the processor's time of all processes that it starts.

use crate::failure::Failure;
use std::time::Instant;

/// How many parts of a second `/proc` counts in: the same on every Linux of this architecture.
const TICKS: f64 = 100.0;

/// Both in seconds.
#[derive(Debug, PartialEq)]
pub struct Cost {
    pub wall: f64,
    pub processor: f64,
}

impl Cost {
    /// The cost of processes that `body` starts and waits for, with those that they wait for.
    ///
    /// # Errors
    /// Those of `body`; the system does not tell.
    pub fn measure(body: impl FnOnce() -> Result<(), Failure>) -> Result<Self, Failure> {
        let (start, before) = (Instant::now(), children()?);
        body()?;
        Ok(Self { wall: start.elapsed().as_secs_f64(), processor: children()? - before })
    }
}

/// The processor's time of the processes that this one has waited for.
fn children() -> Result<f64, Failure> {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    children_in(&text).ok_or_else(|| Failure::new("cannot read processor times from /proc/self/stat"))
}

/// The two fields behind the program's name, which may hold anything, that count what children took.
fn children_in(stat: &str) -> Option<f64> {
    let (_, behind) = stat.rsplit_once(')')?;
    let mut fields = behind.split_whitespace().skip(13);
    let (user, system): (f64, f64) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    Some((user + system) / TICKS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn the_times_of_children_are_the_sixteenth_and_seventeenth_fields() {
        let stat = "7 (a ) b) S 1 7 7 0 -1 4194560 103 5 0 0 1 2 250 50 20 0 1 0 9 9 9";
        assert_eq!(children_in(stat), Some(3.0));
        assert_eq!(children_in("7 (a) S 1 7"), None);
        assert_eq!(children_in(""), None);
    }

    #[test]
    fn a_program_that_works_costs_the_processor_time() {
        let count = || {
            Command::new("sh")
                .args(["-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"])
                .status()
                .unwrap();
            Ok(())
        };
        let cost = Cost::measure(count).unwrap();
        assert!(cost.processor > 0.0 && cost.wall > 0.0, "{cost:?}");
    }
}
