//! Storages that belong to the thread that made them, until another one comes along.
#![allow(unsafe_code)]

#[path = "../../../../opgrid-array/src/storage/borrows.rs"]
mod borrows;
mod sync;

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

use super::explore;
use borrows::{Borrows, Refusal, Thread};

/// Memory that guards protect; loom reports whoever writes it beside others.
struct Memory {
    borrows: Borrows,
    bytes: UnsafeCell<u32>,
}

impl Memory {
    /// Memory that belongs to that thread.
    fn owned_by(maker: Thread) -> Arc<Self> {
        Arc::new(Self { borrows: Borrows::new(maker.state()), bytes: UnsafeCell::new(0) })
    }

    fn read(&self, me: Thread) -> Result<u32, Refusal> {
        let word = self.borrows.read(me)?;
        // SAFETY: a reader is counted; loom checks that nobody writes.
        let found = self.bytes.with(|bytes| unsafe { *bytes });
        self.borrows.end_read(word);
        Ok(found)
    }

    fn write(&self, me: Thread) -> Result<(), Refusal> {
        let word = self.borrows.write(me)?;
        // SAFETY: a writer is counted; loom checks that it is alone.
        self.bytes.with_mut(|bytes| unsafe { *bytes += 1 });
        self.borrows.end_write(word);
        Ok(())
    }

    fn clear(&self, me: Thread) -> Result<(), Refusal> {
        let word = self.borrows.clear(me)?;
        // SAFETY: a writer is counted; loom checks that it is alone.
        self.bytes.with_mut(|bytes| unsafe { *bytes = 0 });
        self.borrows.end_write(word);
        Ok(())
    }
}

fn threads<const N: usize>() -> [Thread; N] {
    std::array::from_fn(|number| Thread::new(number as isize))
}

/// The maker does `own` while others do `other`; then nobody is counted any more.
fn beside<const OTHERS: usize>(
    own: impl Fn(&Memory, Thread) + Send + 'static,
    other: impl Fn(&Memory, Thread) + Copy + Send + 'static,
) {
    let [maker, last] = threads();
    let memory = Memory::owned_by(maker);
    let others: Vec<_> = (0..OTHERS)
        .map(|number| {
            let memory = memory.clone();
            thread::spawn(move || other(&memory, Thread::new(2 + number as isize)))
        })
        .collect();
    own(&memory, maker);
    others.into_iter().for_each(|other| other.join().unwrap());
    for thread in [maker, last] {
        memory.write(thread).expect("every guard has ended");
        memory.read(thread).expect("every guard has ended");
    }
}

#[test]
fn a_maker_writes_while_another_reads() {
    explore(true, 4, || {
        beside::<1>(|memory, me| drop(memory.write(me)), |memory, me| drop(memory.read(me)));
    });
}

#[test]
fn a_maker_reads_while_another_writes() {
    explore(true, 4, || {
        let reads = |memory: &Memory, me| {
            let _ = memory.read(me);
            let _ = memory.read(me);
        };
        beside::<1>(reads, |memory, me| drop(memory.write(me)));
    });
}

#[test]
fn writers_meet() {
    explore(true, 2, || {
        let writes = |memory: &Memory, me| drop(memory.write(me));
        beside::<2>(writes, writes);
    });
}

#[test]
fn readers_do_not_refuse_one_another() {
    let reads = |memory: &Memory, me| assert_eq!(memory.read(me), Ok(0));
    explore(true, 3, move || beside::<1>(reads, reads));
    explore(true, 1, move || beside::<2>(reads, reads));
}

#[test]
fn who_reads_waits_for_who_clears() {
    explore(true, 3, || {
        let reads = |memory: &Memory, me| assert_eq!(memory.read(me), Ok(0));
        beside::<1>(|memory, me| drop(memory.clear(me)), reads);
    });
}

#[test]
fn without_the_barrier_a_storage_stays_its_makers() {
    explore(false, 3, || {
        let [maker, other] = threads();
        let memory = Memory::owned_by(maker);
        let refused = thread::spawn({
            let memory = memory.clone();
            move || assert_eq!(memory.read(other), Err(Refusal::NoBarrier))
        });
        memory.write(maker).expect("nobody else can");
        memory.read(maker).expect("nobody else can");
        refused.join().unwrap();
        memory.write(maker).expect("nobody else can");
    });
}
