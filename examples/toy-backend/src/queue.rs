//! The queues of a device: threads that run closures in the order in which they came, and marks between these.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use opgrid::devices::{DeviceEvent, DeviceStream};
use opgrid::{Error, ErrorKind, Result};

/// What a queue runs.
type Job = Box<dyn FnOnce() -> Result<()> + Send>;

/// A queue with a thread of its own. When it is dropped, the thread does what is left and ends.
pub struct Queue(Arc<Shared>);

/// What a queue and its thread share.
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    worker: OnceLock<ThreadId>,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    /// How many jobs came, and how many of them have ended.
    queued: u64,
    done: u64,
    /// The first failure that nobody was notified of.
    failure: Option<Error>,
    is_closed: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self) {
        let mut state = self.lock();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                drop(state);
                let result = catch_unwind(AssertUnwindSafe(job)).unwrap_or_else(|_| {
                    Err(Error::new(
                        ErrorKind::Kernel,
                        "work that was queued has panicked; see what it printed",
                    ))
                });
                state = self.lock();
                state.done += 1;
                if let Err(error) = result {
                    state.failure.get_or_insert(error);
                }
                self.changed.notify_all();
            } else if state.is_closed {
                return;
            } else {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    /// Waits until so many jobs have ended.
    ///
    /// # Errors
    ///
    /// The queue's own thread would wait for itself.
    fn wait(&self, number: u64) -> Result<MutexGuard<'_, State>> {
        let mut state = self.lock();
        while state.done < number {
            if self.worker.get() == Some(&thread::current().id()) {
                let message = "work on a queue waits for work behind it, expected work before it; wait outside of the queue";
                return Err(Error::new(ErrorKind::Argument, message));
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        Ok(state)
    }
}

/// The place behind a job in its queue.
#[derive(Clone)]
pub struct Ticket {
    queue: Arc<Shared>,
    number: u64,
}

impl Ticket {
    /// Whether the queue has come so far.
    pub fn is_done(&self) -> bool {
        self.queue.lock().done >= self.number
    }

    /// Waits until the queue has come so far.
    ///
    /// # Errors
    ///
    /// The queue's own thread would wait for itself.
    pub fn wait(&self) -> Result<()> {
        self.queue.wait(self.number).map(drop)
    }

    /// Waits until the queue has come so far, and returns the failure of an earlier job that nobody was notified of.
    ///
    /// # Errors
    ///
    /// As [`wait`](Self::wait), and that failure.
    pub fn finish(&self) -> Result<()> {
        let failure = self.queue.wait(self.number)?.failure.take();
        failure.map_or(Ok(()), Err)
    }

    /// Whether both are places of one queue.
    pub fn is_beside(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.queue, &other.queue)
    }

    /// The place behind all that its queue got so far.
    pub fn at_the_end(&self) -> Self {
        Self { queue: Arc::clone(&self.queue), number: self.queue.lock().queued }
    }
}

impl Queue {
    /// A queue whose thread has that name.
    ///
    /// # Errors
    ///
    /// The system gives no thread.
    pub fn new(name: &str) -> Result<Self> {
        let shared =
            Arc::new(Shared { state: Mutex::default(), changed: Condvar::new(), worker: OnceLock::new() });
        let of_thread = Arc::clone(&shared);
        let worker = thread::Builder::new().name(name.to_owned()).spawn(move || of_thread.work());
        let worker = worker.map_err(Error::from_source)?;
        let _ = shared.worker.set(worker.thread().id());
        Ok(Self(shared))
    }

    /// Queues work.
    pub fn push(&self, job: impl FnOnce() -> Result<()> + Send + 'static) -> Ticket {
        let mut state = self.0.lock();
        state.jobs.push_back(Box::new(job));
        state.queued += 1;
        let number = state.queued;
        drop(state);
        self.0.changed.notify_all();
        Ticket { queue: Arc::clone(&self.0), number }
    }

    /// The place behind all that was queued so far.
    pub fn end(&self) -> Ticket {
        Ticket { queue: Arc::clone(&self.0), number: self.0.lock().queued }
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.0.lock().is_closed = true;
        self.0.changed.notify_all();
    }
}

impl DeviceStream for Queue {
    fn record(&self, timed: bool) -> Result<Arc<dyn DeviceEvent>> {
        if !timed {
            return Ok(Arc::new(Mark { ticket: self.end(), time: None }));
        }
        let time = Arc::new(OnceLock::new());
        let when = Arc::clone(&time);
        let ticket = self.push(move || {
            let _ = when.set(Instant::now());
            Ok(())
        });
        Ok(Arc::new(Mark { ticket, time: Some(time) }))
    }

    fn wait(&self, mark: &dyn DeviceEvent) -> Result<()> {
        let ticket = Mark::downcast(mark)?.ticket.clone();
        // A queue is behind its own marks already.
        if !Arc::ptr_eq(&ticket.queue, &self.0) && !ticket.is_done() {
            self.push(move || ticket.wait());
        }
        Ok(())
    }

    fn query(&self) -> Result<bool> {
        let state = self.0.lock();
        Ok(state.done == state.queued)
    }

    fn synchronize(&self) -> Result<()> {
        self.end().finish()
    }
}

/// A place in a queue, and when it was reached.
struct Mark {
    ticket: Ticket,
    time: Option<Arc<OnceLock<Instant>>>,
}

impl Mark {
    fn downcast(mark: &dyn DeviceEvent) -> Result<&Self> {
        let any: &dyn Any = mark;
        any.downcast_ref().ok_or_else(|| {
            let message = "found an event of another backend, expected one of this; wait for it by `Event::synchronize`";
            Error::new(ErrorKind::Argument, message)
        })
    }

    fn time(&self) -> Result<Instant> {
        self.time.as_ref().and_then(|time| time.get().copied()).ok_or_else(|| {
            Error::new(ErrorKind::Argument, "found an event without a time, expected one of `Event::timed`")
        })
    }
}

impl DeviceEvent for Mark {
    fn query(&self) -> Result<bool> {
        Ok(self.ticket.is_done())
    }

    fn synchronize(&self) -> Result<()> {
        self.ticket.wait()
    }

    fn elapsed(&self, later: &dyn DeviceEvent) -> Result<Duration> {
        Ok(Self::downcast(later)?.time()?.saturating_duration_since(self.time()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_runs_in_order_and_the_first_failure_is_told_once() {
        let queue = Queue::new("in order").unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        for number in 0..100 {
            let seen = Arc::clone(&seen);
            queue.push(move || {
                seen.lock().unwrap().push(number);
                match number {
                    7 | 8 => Err(Error::new(ErrorKind::Kernel, format!("number {number}"))),
                    9 => panic!("number 9"),
                    _ => Ok(()),
                }
            });
        }
        assert!(queue.synchronize().unwrap_err().to_string().contains("number 7"));
        assert!(queue.synchronize().is_ok() && queue.query().unwrap());
        assert!(seen.lock().unwrap().iter().copied().eq(0..100));
    }

    #[test]
    fn a_queue_that_is_dropped_does_what_is_left_and_never_waits_for_itself() {
        let queue = Arc::new(Queue::new("left").unwrap());
        let (result, own) = (Arc::new(Mutex::new(None)), Arc::clone(&queue));
        let place = Arc::clone(&result);
        let ticket = queue.push(move || {
            *place.lock().unwrap() = Some(own.synchronize());
            Ok(())
        });
        drop(queue);
        ticket.wait().unwrap();
        let error = result.lock().unwrap().take().unwrap().unwrap_err();
        assert!(error.to_string().contains("waits for work behind it"), "{error}");
    }
}
