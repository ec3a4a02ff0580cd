//! Counts of slow paths per thread: one plain addition where the thread has counted the same before.
//!
//! Each thread writes a shard of its own; others only read it. A shard begins with lines, each for one subject. Subjects
//! that get in each other's way on a line move to a map behind the shard's lock, and back when they are counted again.
//! A thread that ends leaves its shard to the next one: counts never shrink, and nothing has to be added up.
#![allow(clippy::mutable_key_type, reason = "operators are compared and hashed by address")]

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::calling::operator::OperatorHandle;
use crate::calling::slow_path::SlowPath;
use crate::calling::thread::with_thread;
use crate::fork::Held;
use crate::keys::key::DispatchKey;
use crate::keys::set::DispatchKeySet;
use crate::sync::lock;

/// What is counted apart.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Subject {
    pub(crate) path: SlowPath,
    pub(crate) operator: OperatorHandle,
    pub(crate) key: Option<DispatchKey>,
}

/// How many lines a shard has: as many as a byte can tell apart.
const LINES: usize = 256;

/// The number of a kernel, by which calls of it are counted: different for any two kernels.
#[derive(Clone, Copy)]
pub(crate) struct Serial {
    number: u64,
    /// The lowest byte of the number, the number of the kernel's first line: apart, so that a call need not take it out.
    line: u8,
}

static NEXT: AtomicU64 = AtomicU64::new(0);

impl Serial {
    /// The number of kernels that are not counted. The line of that number belongs to nobody, so that counting it does
    /// nothing and costs no test.
    pub(crate) const UNCOUNTED: Self = Self::from_number(0);

    const fn from_number(number: u64) -> Self {
        Self { number, line: number as u8 }
    }

    /// A number that no kernel had before. Its lowest byte is not 0.
    pub(crate) fn next() -> Self {
        let next = NEXT.fetch_add(1, Ordering::Relaxed);
        Self::from_number(((next / 255) << 8) | (next % 255 + 1))
    }

    /// How many numbers were given away.
    pub(crate) fn count() -> u64 {
        NEXT.load(Ordering::Relaxed)
    }

    pub(crate) fn is_counted(self) -> bool {
        self.number != 0
    }
}

/// A subject as a word that a line can be compared with.
#[derive(Clone, Copy)]
pub(crate) struct Tag(u64);

impl Tag {
    /// Boxed adaptations for a kernel, which is one operator's.
    pub(crate) fn adapted(serial: Serial) -> Self {
        Self(serial.number)
    }

    /// Refusals of a provider, which is one operator's. Serial numbers never reach the bit that keeps them apart.
    pub(crate) fn refused(serial: Serial) -> Self {
        Self(1 << 62 | serial.number)
    }

    /// Fallbacks of the operator at the highest of these keys.
    ///
    /// The highest bit keeps them apart from serial numbers. Below are the operator's address, which no other operator
    /// gets as long as the subject holds the operator, and 11 bits of the key: addresses have at most 52 bits, and the
    /// lowest three are 0.
    pub(crate) fn fell_back(operator: &OperatorHandle, keys: DispatchKeySet) -> Self {
        let (layer, backend) = ((keys.layers() | 1).ilog2(), (keys.backends() | 1).ilog2());
        let address = Arc::as_ptr(&operator.0).addr() as u64;
        Self((1 << 63) | ((address >> 3) << 11) | u64::from((layer << 5) | backend))
    }

    /// The two lines that may count the subject.
    fn candidates(self) -> [u8; 2] {
        let first = match self.0 >> 63 {
            0 => self.0 as u8,
            _ => (self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8,
        };
        [first.max(1), (first ^ 0x80).max(1)]
    }
}

/// Counts that their thread adds to without a lock.
///
/// Invariant: the tag of a line other than the first is that of the subject which the locked has for the line, or 0;
/// both change under the shard's lock alone, by the shard's thread alone.
pub(crate) struct Lines {
    tags: [AtomicU64; LINES],
    counts: [AtomicU64; LINES],
}

impl Lines {
    const fn new(first: u64) -> Self {
        let mut tags = [const { AtomicU64::new(0) }; LINES];
        tags[0] = AtomicU64::new(first);
        Self { tags, counts: [const { AtomicU64::new(0) }; LINES] }
    }

    /// The lines of threads that have to take the long way: no tag is equal to one of theirs.
    pub(crate) const fn none() -> &'static Self {
        static NONE: Lines = Lines::new(u64::MAX);
        &NONE
    }

    #[inline(always)]
    fn add(&self, line: usize) {
        let count = &self.counts[line];
        count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// Counts a boxed adaptation for a kernel if its first line is its own, or the kernel is not counted; else says
    /// that it has not.
    #[inline(always)]
    pub(crate) fn count_adapted(&self, serial: &Serial) -> bool {
        let line = usize::from(serial.line);
        let own = self.tags[line].load(Ordering::Relaxed) == serial.number;
        if own {
            self.add(line);
        }
        own
    }

    /// Counts a subject if it has a line; else says that it has none.
    #[inline]
    pub(crate) fn count(&self, tag: Tag) -> bool {
        for line in tag.candidates().map(usize::from) {
            if self.tags[line].load(Ordering::Relaxed) == tag.0 {
                self.add(line);
                return true;
            }
        }
        false
    }
}

/// The counts of one thread, and of those that had the shard before it.
pub(crate) struct Shard {
    lines: Lines,
    locked: Mutex<Locked>,
}

/// What a shard has behind its lock: whose its lines are, and what is counted without one.
#[derive(Default)]
struct Locked {
    subjects: Vec<Option<Subject>>,
    counts: HashMap<Subject, u64>,
    /// What the counts were at the last reset.
    before: HashMap<Subject, u64>,
}

/// Every shard, and those that no thread has now. They are as many as threads ran at one time, and never freed.
struct Shards {
    all: Vec<&'static Shard>,
    free: Vec<&'static Shard>,
}

static SHARDS: Mutex<Shards> = Mutex::new(Shards { all: Vec::new(), free: Vec::new() });

/// Gives the thread's shard back when the thread ends.
struct ShardLease(Cell<Option<&'static Shard>>);

impl Drop for ShardLease {
    fn drop(&mut self) {
        if let Some(shard) = self.0.take() {
            with_thread(|thread| thread.lines.set(Lines::none()));
            lock(&SHARDS).free.push(shard);
        }
    }
}

thread_local! {
    static LEASE: ShardLease = const { ShardLease(Cell::new(None)) };
}

impl Shard {
    fn lease() -> &'static Self {
        let mut shards = lock(&SHARDS);
        if let Some(shard) = shards.free.pop() {
            return shard;
        }
        let subjects = (0..LINES).map(|_| None).collect();
        let locked = Mutex::new(Locked { subjects, ..Locked::default() });
        let shard: &'static Self = Box::leak(Box::new(Self { lines: Lines::new(0), locked }));
        shards.all.push(shard);
        shard
    }

    /// Counts `subject` on this thread: on a line if it has a tag, else in the map. `short` says whether the thread may
    /// find its lines by itself from now on.
    pub(crate) fn count(tag: Option<Tag>, subject: Subject, short: bool) {
        let own = LEASE.try_with(|lease| {
            let shard = lease.0.get().unwrap_or_else(Self::lease);
            lease.0.set(Some(shard));
            shard
        });
        // A thread that ends has given its shard back already, and takes one for this count.
        let shard = own.unwrap_or_else(|_| Self::lease());
        match tag {
            Some(tag) if shard.lines.count(tag) => {}
            Some(tag) => shard.settle(tag, subject),
            None => *lock(&shard.locked).counts.entry(subject).or_default() += 1,
        }
        if own.is_err() {
            lock(&SHARDS).free.push(shard);
        } else if short {
            with_thread(|thread| thread.lines.set(&shard.lines));
        }
    }

    /// Gives `subject` a line, and counts it there.
    fn settle(&self, tag: Tag, subject: Subject) {
        let mut locked = lock(&self.locked);
        let [first, second] = tag.candidates().map(usize::from);
        let free = |line: &usize| locked.subjects[*line].is_none();
        let line = [first, second].into_iter().find(free).unwrap_or(first);
        let (tagged, count) = (&self.lines.tags[line], &self.lines.counts[line]);
        if let Some(moved) = locked.subjects[line].replace(subject) {
            *locked.counts.entry(moved).or_default() += count.load(Ordering::Relaxed);
        }
        count.store(1, Ordering::Relaxed);
        tagged.store(tag.0, Ordering::Relaxed);
    }

    /// Adds what was counted since the last reset to `sums`.
    fn add_to(&self, sums: &mut HashMap<Subject, u64>) {
        let locked = lock(&self.locked);
        for (subject, count) in self.totals(&locked) {
            let since = count - locked.before.get(&subject).copied().unwrap_or(0);
            if since != 0 {
                *sums.entry(subject).or_default() += since;
            }
        }
    }

    /// What was counted since the shard was made, or the operator forgotten.
    fn totals(&self, locked: &Locked) -> HashMap<Subject, u64> {
        let mut totals = locked.counts.clone();
        for (subject, count) in locked.subjects.iter().zip(&self.lines.counts) {
            if let Some(subject) = subject {
                *totals.entry(subject.clone()).or_default() += count.load(Ordering::Relaxed);
            }
        }
        totals
    }

    /// Begins to count anew, and forgets what the map has of operators that are gone.
    fn reset(&self) {
        let mut locked = lock(&self.locked);
        locked.counts.retain(|subject, _| !subject.operator.is_gone());
        locked.before = self.totals(&locked);
    }
}

/// What is held while the process forks.
pub(crate) fn hold_at_fork(held: &mut Held) {
    let shards = lock(&SHARDS);
    let all = shards.all.clone();
    held.keep(shards);
    all.into_iter().for_each(|shard| held.lock(&shard.locked));
}

/// What all threads have counted since the last reset.
pub(crate) fn sums() -> HashMap<Subject, u64> {
    let mut sums = HashMap::new();
    lock(&SHARDS).all.iter().for_each(|shard| shard.add_to(&mut sums));
    sums
}

/// Begins to count anew on every thread.
pub(crate) fn reset() {
    lock(&SHARDS).all.iter().for_each(|shard| shard.reset());
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn serial_numbers_leave_the_first_line_alone() {
        let numbers: HashSet<u64> = (0..1_000).map(|_| Serial::next().number).collect();
        assert_eq!(numbers.len(), 1_000);
        assert!(numbers.iter().all(|number| *number as u8 != 0 && Serial::from_number(*number).is_counted()));
        assert!(!Serial::UNCOUNTED.is_counted());
    }

    #[test]
    fn no_tag_counts_on_the_first_line() {
        for word in (0..1_000).chain((0..1_000).map(|word| (1 << 63) | (word << 11))) {
            assert!(!Tag(word).candidates().contains(&0), "{word:x}");
        }
    }

    #[test]
    fn only_own_lines_count() {
        let lines = Lines::new(0);
        let (known, unknown) = (Serial::from_number(0x305), Serial::from_number(0x405));
        lines.tags[5].store(known.number, Ordering::Relaxed);
        assert!(lines.count_adapted(&known) && lines.count(Tag::adapted(known)));
        assert!(!lines.count_adapted(&unknown) && !lines.count(Tag::adapted(unknown)));
        assert!(lines.count_adapted(&Serial::UNCOUNTED));
        assert_eq!(lines.counts[5].load(Ordering::Relaxed), 2);
        for serial in [known, unknown, Serial::UNCOUNTED] {
            assert!(!Lines::none().count_adapted(&serial));
        }
    }
}
