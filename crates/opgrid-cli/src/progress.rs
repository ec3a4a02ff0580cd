//! Lines on standard error that show that something is going on, where that is a terminal; nothing elsewhere.

use std::fmt::Display;
use std::io::{self, IsTerminal};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// What is quicker shows nothing.
const PATIENCE: Duration = Duration::from_millis(500);
const INTERVAL: Duration = Duration::from_millis(100);

/// What bars are made of, from full to empty.
const BLOCKS: &str = "█▉▊▋▌▍▎▏░";

/// Shows what is waited for and for how long, as soon as it takes long.
pub(crate) struct Waiting(Option<Shown>);

struct Shown {
    bar: ProgressBar,
    over: Sender<()>,
    thread: JoinHandle<()>,
}

impl Waiting {
    pub(crate) fn start(subject: impl Display) -> Self {
        if !io::stderr().is_terminal() {
            return Self(None);
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        bar.set_style(style("{spinner} {msg}  {elapsed}"));
        bar.set_message(subject.to_string());
        let (over, waits) = channel();
        let own = bar.clone();
        let thread = thread::spawn(move || {
            let bar = own;
            if waits.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                bar.enable_steady_tick(INTERVAL);
                // Whatever comes next is the end.
                let _ = waits.recv();
            }
            bar.finish_and_clear();
        });
        Self(Some(Shown { bar, over, thread }))
    }

    /// Notes how many parts of the work are done.
    pub(crate) fn reach(&self, done: usize, count: usize) {
        let Some(Shown { bar, .. }) = &self.0 else { return };
        if bar.length().is_none() {
            bar.set_style(style("{msg}  {bar:30.green}  {pos} of {len}  {elapsed}").progress_chars(BLOCKS));
        }
        bar.set_length(count as u64);
        bar.set_position(done as u64);
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(Shown { over, thread, .. }) = self.0.take() {
            drop(over);
            // The line is gone before anything else is printed.
            let _ = thread.join();
        }
    }
}

/// Shows how far training is.
pub(crate) struct Training(ProgressBar);

impl Training {
    pub(crate) fn start(steps: u64) -> Self {
        let bar = ProgressBar::with_draw_target(Some(steps), ProgressDrawTarget::stderr());
        let template = "training  {bar:30.green}  step {pos} of {len}  {msg}  {elapsed}, {eta} left";
        bar.set_style(style(template).progress_chars(BLOCKS));
        bar.enable_steady_tick(INTERVAL);
        Self(bar)
    }

    /// Notes a step and its loss.
    pub(crate) fn step(&mut self, loss: f64) {
        self.0.set_message(format!("loss {loss:.4}"));
        self.0.inc(1);
    }
}

impl Drop for Training {
    /// Takes the line away, also when training fails.
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// A template, all of which stand in this file.
fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_counted_and_nothing_is_shown_in_a_file() {
        let mut training = Training::start(3);
        training.step(0.5);
        training.step(0.25);
        assert_eq!((training.0.position(), training.0.message().as_str()), (2, "loss 0.2500"));
        assert!(training.0.is_hidden() || io::stderr().is_terminal());
        drop(Waiting::start("aten::neg"));
    }
}
