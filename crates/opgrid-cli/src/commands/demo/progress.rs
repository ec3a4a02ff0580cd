//! A line on standard error that shows how far training is, where that is a terminal; nothing elsewhere.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

const WIDTH: u64 = 30;
/// How often the line is written anew.
const INTERVAL: Duration = Duration::from_millis(100);

pub(super) struct Progress {
    steps: u64,
    done: u64,
    start: Instant,
    /// When the line was written last; `None` where it is not shown.
    shown: Option<Instant>,
}

impl Progress {
    pub(super) fn new(steps: u64) -> Self {
        let start = Instant::now();
        Self { steps, done: 0, start, shown: io::stderr().is_terminal().then_some(start) }
    }

    /// Notes a step and its loss.
    pub(super) fn step(&mut self, loss: f64) {
        self.done += 1;
        let now = Instant::now();
        let Some(shown) = &mut self.shown else { return };
        if now - *shown < INTERVAL {
            return;
        }
        *shown = now;
        let line = line(self.done, self.steps, loss, now - self.start);
        // Whoever closed the terminal does not miss the line.
        let _ = write!(io::stderr(), "\r{line}");
    }
}

impl Drop for Progress {
    /// Takes the line away, also when training fails.
    fn drop(&mut self) {
        if self.shown.is_some() {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

/// `training  ███████████░░░░░░░░░░░░░░░░░░░  step 115 of 304  loss 0.2841  3.1 s`
fn line(done: u64, steps: u64, loss: f64, time: Duration) -> String {
    let filled = WIDTH * done / steps.max(1);
    let bar: String = (0..WIDTH).map(|place| if place < filled { '█' } else { '░' }).collect();
    let seconds = time.as_secs_f64();
    format!("training  {bar}  step {done} of {steps}  loss {loss:.4}  {seconds:.1} s\x1b[K")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_fills() {
        let at = |done| line(done, 60, 0.5, Duration::from_millis(1500));
        assert_eq!(at(0).matches('█').count(), 0);
        assert_eq!(at(30).matches('█').count(), 15);
        assert_eq!(at(60).matches('░').count(), 0);
        assert!(at(30).contains("step 30 of 60  loss 0.5000  1.5 s"), "{}", at(30));
        assert!(line(0, 0, 0.0, Duration::ZERO).contains("step 0 of 0"));
    }
}
