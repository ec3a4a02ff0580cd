//! A profiler: how long each kernel of each call ran, as a table and as a trace that Perfetto opens.
//!
//! It watches the calls of every thread between [`Profile::start`] and [`Profile::finish`]. Each step of a call is an
//! event: the operator reaching a layer's kernel, and within it the redispatch to the kernel below. Calls that fail
//! and kernels that panic are events too, and marked.
//!
//! While no profile runs, nothing is paid: watching is a bit in a word that every call tests anyway. While one runs, a
//! step costs a few hundred nanoseconds more, most of which fall outside of its own event but inside of those around it.
//! Operators that are defined as [`unobserved`](opgrid_core::OperatorBuilder::unobserved) are left out.
//!
//! # Examples
//!
//! ```
//! use opgrid::prelude::*;
//! use opgrid::profile::Profile;
//!
//! let x = Tensor::from_slice(&[1.0f32, 2.0, 3.0], &[3])?;
//! let profile = Profile::start();
//! x.add(&x)?.mul(&x)?;
//! let timeline = profile.finish();
//!
//! let times = timeline.operators();
//! assert!(times.iter().any(|time| time.operator == "aten::add.Tensor" && time.calls == 1));
//! println!("{timeline}");
//! let path = std::env::temp_dir().join(format!("opgrid-profile-{}.json", std::process::id()));
//! timeline.write_chrome(&path)?;
//! # std::fs::remove_file(&path).unwrap();
//! # Ok::<(), opgrid::Error>(())
//! ```

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use opgrid_core::{Error, Observation, Observer, Result, Step, observe};
use serde_json::{Value as Json, json};

/// A profile that runs. Dropping it without [`finish`](Self::finish) forgets what it has seen.
#[must_use = "a profile ends when it is dropped"]
pub struct Profile {
    recorder: Arc<Recorder>,
    observation: Observation,
}

impl Profile {
    /// Begins to watch the calls of every thread. Calls that run already are seen from their next step on.
    pub fn start() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let recorder = Arc::new(Recorder { number, began: Instant::now(), tracks: Mutex::new(Vec::new()) });
        Self { observation: observe(recorder.clone()), recorder }
    }

    /// Ends the profile. Steps that still run on other threads end here, marked as unfinished.
    pub fn finish(self) -> Timeline {
        drop(self.observation);
        let now = self.recorder.began.elapsed();
        let tracks = std::mem::take(&mut *lock(&self.recorder.tracks));
        let mut timeline = Timeline { events: Vec::new(), threads: Vec::new() };
        for (thread, track) in tracks.iter().enumerate() {
            timeline.threads.push(track.name.clone());
            timeline.events.extend(track.take(thread, now));
        }
        timeline
    }
}

/// The watcher: one track per thread.
struct Recorder {
    number: u64,
    began: Instant,
    tracks: Mutex<Vec<Arc<Track>>>,
}

/// What a thread did. Its lock is the thread's alone until the profile ends.
struct Track {
    thread: ThreadId,
    name: String,
    log: Mutex<Log>,
}

#[derive(Default)]
struct Log {
    /// The steps that run, the innermost last.
    open: Vec<Open>,
    /// The steps that have begun, in that order; `None` until they end.
    events: Vec<Option<TimelineEvent>>,
    /// Whether the profile has ended.
    ended: bool,
}

struct Open {
    step: Step,
    place: usize,
    start: Duration,
    within: Duration,
}

thread_local! {
    /// The track that this thread used last, and the profile that it belongs to.
    static TRACK: RefCell<Option<(u64, Arc<Track>)>> = const { RefCell::new(None) };
}

/// A lock whose holder cannot leave it half-changed, so that a panic elsewhere does not matter.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Recorder {
    fn track(&self) -> Arc<Track> {
        let last = TRACK.try_with(|last| match &*last.borrow() {
            Some((number, track)) if *number == self.number => Some(track.clone()),
            _ => None,
        });
        if let Ok(Some(track)) = last {
            return track;
        }
        let track = self.track_of(thread::current());
        // A thread that ends may have lost its place for the track; then the next step looks again.
        let _ = TRACK.try_with(|last| last.replace(Some((self.number, track.clone()))));
        track
    }

    fn track_of(&self, thread: thread::Thread) -> Arc<Track> {
        let mut tracks = lock(&self.tracks);
        if let Some(track) = tracks.iter().find(|track| track.thread == thread.id()) {
            return track.clone();
        }
        let name = thread.name().map_or_else(|| format!("thread {}", tracks.len() + 1), str::to_owned);
        let track = Arc::new(Track { thread: thread.id(), name, log: Mutex::default() });
        tracks.push(track.clone());
        track
    }

    fn end(&self, step: &Step, outcome: Outcome) {
        let now = self.began.elapsed();
        if !step.unobserved {
            lock(&self.track().log).close(now, outcome);
        }
    }
}

impl Observer for Recorder {
    fn before(&self, step: &Step) {
        if step.unobserved {
            return;
        }
        let track = self.track();
        let mut log = lock(&track.log);
        if log.ended {
            return;
        }
        let place = log.events.len();
        log.events.push(None);
        log.open.push(Open { step: step.clone(), place, start: Duration::ZERO, within: Duration::ZERO });
        // Last, so that what the profiler does is not part of the step.
        if let Some(open) = log.open.last_mut() {
            open.start = self.began.elapsed();
        }
    }

    fn after(&self, step: &Step, error: Option<&Error>) {
        self.end(step, error.map_or(Outcome::Returned, |error| Outcome::Failed(error.to_string())));
    }

    fn panicked(&self, step: &Step) {
        self.end(step, Outcome::Panicked);
    }
}

impl Log {
    /// Ends the innermost step.
    fn close(&mut self, now: Duration, outcome: Outcome) {
        let Some(Open { step, place, start, within }) = self.open.pop() else { return };
        let total = now.saturating_sub(start);
        if let Some(outer) = self.open.last_mut() {
            outer.within += total;
        }
        let recursive = self.open.iter().any(|outer| outer.step.operator == step.operator);
        let own = total.saturating_sub(within);
        self.events[place] = Some(TimelineEvent { step, thread: 0, start, total, own, recursive, outcome });
    }
}

impl Track {
    /// The events of the thread, which is number `thread` of the timeline.
    fn take(&self, thread: usize, now: Duration) -> Vec<TimelineEvent> {
        let mut log = lock(&self.log);
        log.ended = true;
        while !log.open.is_empty() {
            log.close(now, Outcome::Unfinished);
        }
        let events = std::mem::take(&mut log.events);
        events.into_iter().flatten().map(|event| TimelineEvent { thread, ..event }).collect()
    }
}

/// How a step ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The kernel returned a result.
    Returned,
    /// The kernel returned an error that says this.
    Failed(String),
    /// The kernel panicked.
    Panicked,
    /// The kernel still ran when the profile ended.
    Unfinished,
}

/// One step of a call: an operator reaching a kernel.
#[derive(Clone, Debug)]
pub struct TimelineEvent {
    /// Operator, keys, kernel, depth.
    pub step: Step,
    /// The number of the thread in [`Timeline::threads`].
    pub thread: usize,
    /// When the kernel began, counted from the start of the profile.
    pub start: Duration,
    /// How long it ran, with the steps within it.
    pub total: Duration,
    /// How long it ran without the steps within it.
    pub own: Duration,
    /// Whether a step of the same operator runs around it, as around every redispatch.
    pub recursive: bool,
    /// How it ended.
    pub outcome: Outcome,
}

/// What a profile has seen. Prints itself as a table of the operators.
#[derive(Clone, Debug)]
pub struct Timeline {
    events: Vec<TimelineEvent>,
    threads: Vec<String>,
}

/// What the calls of one operator took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperatorTime {
    /// The operator.
    pub operator: String,
    /// How often it was called. A redispatch within a call is part of that call.
    pub calls: u64,
    /// How many of its steps failed or panicked.
    pub failures: u64,
    /// How long its calls took, with the operators that they called. A call within a call of the same operator counts
    /// once.
    pub total: Duration,
    /// How long its kernels took, without the operators that they called.
    pub own: Duration,
}

impl OperatorTime {
    /// How long a call took.
    pub fn mean(&self) -> Duration {
        Duration::from_nanos((self.total.as_nanos() / u128::from(self.calls.max(1))) as u64)
    }
}

/// The unit of trace events.
fn microseconds(duration: Duration) -> f64 {
    duration.as_nanos() as f64 / 1e3
}

impl Timeline {
    /// The events, thread by thread, each in the order in which the steps began.
    pub fn events(&self) -> &[TimelineEvent] {
        &self.events
    }

    /// The names of the threads.
    pub fn threads(&self) -> &[String] {
        &self.threads
    }

    /// What each operator took, those with the longest total first.
    pub fn operators(&self) -> Vec<OperatorTime> {
        let mut places = HashMap::new();
        let mut times: Vec<OperatorTime> = Vec::new();
        for event in &self.events {
            let operator = event.step.operator.name();
            let place = *places.entry(operator).or_insert(times.len());
            if place == times.len() {
                let (total, own) = (Duration::ZERO, Duration::ZERO);
                times.push(OperatorTime {
                    operator: operator.to_string(),
                    calls: 0,
                    failures: 0,
                    total,
                    own,
                });
            }
            let time = &mut times[place];
            time.own += event.own;
            time.calls += u64::from(!event.recursive || !event.step.kind.is_redispatch());
            time.failures += u64::from(matches!(event.outcome, Outcome::Failed(_) | Outcome::Panicked));
            if !event.recursive {
                time.total += event.total;
            }
        }
        times.sort_by_key(|time| std::cmp::Reverse(time.total));
        times
    }

    /// What each operator took, as JSON; times in microseconds.
    pub fn to_json(&self) -> Json {
        let time = |time: OperatorTime| {
            json!({
                "operator": time.operator,
                "calls": time.calls,
                "failures": time.failures,
                "total_us": microseconds(time.total),
                "self_us": microseconds(time.own),
                "mean_us": microseconds(time.mean()),
            })
        };
        self.operators().into_iter().map(time).collect()
    }

    /// The events in Chrome's trace event format, which Perfetto and `chrome://tracing` open.
    pub fn to_chrome(&self) -> String {
        let process = std::process::id();
        let metadata = |name: &str, thread: usize, value: &str| json!({"name": name, "ph": "M", "pid": process, "tid": thread + 1, "args": {"name": value}});
        let mut lines = vec![metadata("process_name", 0, "opgrid")];
        let threads = self.threads.iter().enumerate();
        lines.extend(threads.map(|(thread, name)| metadata("thread_name", thread, name)));
        lines.extend(self.events.iter().map(|event| event.to_chrome(process)));
        let lines: Vec<_> = lines.iter().map(Json::to_string).collect();
        format!("{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n{}\n]}}\n", lines.join(",\n"))
    }

    /// Writes [`to_chrome`](Self::to_chrome) to a file, whole or not at all.
    ///
    /// # Errors
    ///
    /// Those of the file system.
    pub fn write_chrome(&self, path: impl AsRef<Path>) -> Result<()> {
        crate::files::write_text(path.as_ref(), &self.to_chrome())
    }
}

impl TimelineEvent {
    /// A complete event: a name, a beginning and a duration.
    fn to_chrome(&self, process: u32) -> Json {
        let step = &self.step;
        let mut args = json!({
            "keys": step.keys.iter().map(|key| key.to_string()).collect::<Vec<_>>(),
            "column": step.key.to_string(),
            "kernel": step.kernel.title(),
            "place": step.kernel.place,
            "reason": step.reason.to_string(),
            "kind": step.kind.name(),
            "depth": step.depth,
            "self_us": microseconds(self.own),
        });
        match &self.outcome {
            Outcome::Returned => {}
            Outcome::Failed(error) => args["error"] = json!(error),
            Outcome::Panicked => args["panicked"] = json!(true),
            Outcome::Unfinished => args["unfinished"] = json!(true),
        }
        json!({
            "name": step.operator.name().to_string(),
            "cat": "operator",
            "ph": "X",
            "ts": microseconds(self.start),
            "dur": microseconds(self.total),
            "pid": process,
            "tid": self.thread + 1,
            "args": args,
        })
    }
}

impl fmt::Display for Timeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = |duration: Duration| format!("{:.3}", microseconds(duration));
        let row = |it: &OperatorTime| {
            let failures = if it.failures == 0 { String::new() } else { format!("  {} failed", it.failures) };
            let operator = format!("{}{failures}", it.operator);
            [it.calls.to_string(), time(it.total), time(it.own), time(it.mean()), operator]
        };
        let mut rows = vec![["calls", "total µs", "self µs", "mean µs", "operator"].map(str::to_owned)];
        rows.extend(self.operators().iter().map(row));
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let [calls, totals, owns, means] = [0, 1, 2, 3].map(width);
        for [call, total, own, mean, operator] in &rows {
            writeln!(f, "{call:>calls$}  {total:>totals$}  {own:>owns$}  {mean:>means$}  {operator}")?;
        }
        Ok(())
    }
}
