//! The protocols of retirement and of storages' borrows, in every order that their steps can take: `cargo xtask loom`.
//!
//! The modules under test are the dispatcher's own and the tensor library's, compiled here against loom's atomics. loom knows no `membarrier`; both
//! halves of the asymmetric barrier are fences here, and `cargo xtask stress` runs the real one. A table is a cell that
//! only its writer, calls that are marked, and the one who frees it may touch; loom reports any two of them at once.
#![allow(unsafe_code)]
#![cfg(loom)]
#![allow(dead_code)]

#[path = "../../src/calling/retirement/protocol.rs"]
mod protocol;
mod storages;
mod sync;

use std::ptr;

use loom::cell::UnsafeCell;
use loom::model::Builder;
use loom::sync::{Arc, Mutex};
use loom::thread;

use protocol::{Limbo, Mark, Published, flag};

/// What stands in a table that was freed.
const FREED: u32 = 0;

/// One operator's published pointer, the tables that there will be, and the limbo.
struct World {
    limbo: Limbo<usize>,
    published: Published,
    tables: Vec<UnsafeCell<u32>>,
    /// The number of the newest table; writers take turns, as they do under the registry's lock.
    newest: Mutex<usize>,
}

impl World {
    /// A world whose table number 1 is published.
    fn new(tables: usize) -> Arc<Self> {
        let world = Arc::new(Self {
            limbo: Limbo::new(),
            published: Published::new(),
            tables: (0..=tables).map(|_| UnsafeCell::new(FREED)).collect(),
            newest: Mutex::new(0),
        });
        // loom wants every atomic to be made before its threads are.
        world.limbo.set_common_flag(0, true);
        world.limbo.retire(|| vec![0]);
        assert_eq!(world.limbo.take_garbage(&unlisted()).take(), [0]);
        world.publish_next();
        world
    }

    /// Writes the next table and publishes it. Returns the one before, if there was one.
    fn publish_next(&self) -> Option<usize> {
        let mut newest = self.newest.lock().unwrap();
        let before = *newest;
        *newest += 1;
        // SAFETY: nobody knows the table yet; loom checks that.
        self.tables[*newest].with_mut(|table| unsafe { *table = *newest as u32 });
        self.published.publish(ptr::without_provenance_mut(*newest));
        (before != 0).then_some(before)
    }

    /// A registration: publishes, retires what was there, and frees what can be freed.
    fn replace(&self, own: &Mark) {
        self.retire_next();
        self.collect(own);
    }

    /// The part of a registration that calls and those who wait for it see.
    fn retire_next(&self) {
        self.limbo.retire(|| self.publish_next().into_iter().collect());
    }

    fn collect(&self, own: &Mark) {
        let mut garbage = self.limbo.take_garbage(own);
        for table in garbage.take() {
            // SAFETY: nobody reads the table any more; loom checks that.
            self.tables[table].with_mut(|table| unsafe { *table = FREED });
        }
    }

    /// Reads the published table, which the caller's mark keeps.
    fn look(&self) -> usize {
        let number = self.published.read().addr();
        // SAFETY: the mark keeps the table; loom checks that.
        let content = self.tables[number].with(|table| unsafe { *table });
        assert_eq!(content as usize, number, "a call read a table that is not written or was freed");
        number
    }

    /// A call that is not nested.
    fn call(&self, mark: &Mark) -> usize {
        if mark.flags() != 0 {
            self.limbo.report(mark);
        }
        let _counted = self.limbo.count_if_ended(mark);
        let _nested = mark.begin();
        self.look()
    }

    /// A thread's mark, on the list.
    fn joined(&self) -> Arc<Mark> {
        let mark = Arc::new(unlisted());
        // SAFETY: each model lets the thread leave.
        unsafe { self.limbo.join(&mark) };
        mark
    }

    fn waiting(&self) -> usize {
        self.limbo.count(|_| true)
    }

    /// Ends a model: nobody calls any more, so that everything retired can be freed.
    fn end(&self, own: &Mark) {
        self.collect(own);
        assert_eq!(self.waiting(), 0, "a table is left in limbo although nobody calls");
    }
}

/// A thread's mark, before other threads know it.
fn unlisted() -> Mark {
    let mark = Mark::new();
    assert_eq!((mark.depth(), mark.flags()), (0, flag::NEW));
    mark
}

fn explore(has_barrier: bool, preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 10_000;
    builder.check(move || {
        sync::set_barrier(has_barrier);
        model();
    });
}

/// One thread calls `calls` times and leaves while another replaces the table `changes` times.
fn one_caller(calls: usize, changes: usize) {
    let world = World::new(1 + changes);
    let mark = world.joined();
    let caller = thread::spawn({
        let world = world.clone();
        move || {
            let mut last = 0;
            for _ in 0..calls {
                let found = world.call(&mark);
                assert!(last <= found, "a call saw an older table than the call before");
                last = found;
            }
            world.limbo.leave(&mark);
        }
    });
    let own = unlisted();
    (0..changes).for_each(|_| world.replace(&own));
    caller.join().unwrap();
    world.end(&own);
}

#[test]
fn calls_under_the_barrier() {
    explore(true, 5, || one_caller(2, 1));
    explore(true, 3, || one_caller(2, 2));
}

#[test]
fn calls_that_report() {
    explore(false, 5, || one_caller(2, 1));
    explore(false, 3, || one_caller(2, 2));
}

#[test]
fn two_callers() {
    explore(true, 3, || {
        let world = World::new(2);
        let callers: Vec<_> = (0..2)
            .map(|_| {
                let (world, mark) = (world.clone(), world.joined());
                thread::spawn(move || {
                    world.call(&mark);
                    world.limbo.leave(&mark);
                })
            })
            .collect();
        let own = unlisted();
        world.replace(&own);
        callers.into_iter().for_each(|caller| caller.join().unwrap());
        world.end(&own);
    });
}

#[test]
fn two_writers() {
    explore(true, 3, || {
        let world = World::new(3);
        let mark = world.joined();
        let caller = thread::spawn({
            let world = world.clone();
            move || {
                world.call(&mark);
                world.limbo.leave(&mark);
            }
        });
        let writer = thread::spawn({
            let world = world.clone();
            move || world.replace(&unlisted())
        });
        let own = unlisted();
        world.replace(&own);
        caller.join().unwrap();
        writer.join().unwrap();
        world.end(&own);
    });
}

/// A kernel replaces its own operator's table while another thread does the same, and goes on reading.
fn a_kernel_registers() {
    let world = World::new(3);
    let mark = world.joined();
    let caller = thread::spawn({
        let world = world.clone();
        move || {
            {
                let _nested = mark.begin();
                let number = world.look();
                world.replace(&mark);
                {
                    let _deeper = mark.begin();
                    assert!(world.look() > number, "a nested call does not see what its thread published");
                }
                // SAFETY: the outer call still holds what it read first; loom checks that.
                let content = world.tables[number].with(|table| unsafe { *table });
                assert_eq!(content as usize, number);
            }
            world.limbo.leave(&mark);
        }
    });
    let own = unlisted();
    world.replace(&own);
    caller.join().unwrap();
    world.end(&own);
}

#[test]
fn kernels_that_register() {
    explore(true, 3, a_kernel_registers);
    explore(false, 3, a_kernel_registers);
}

/// A thread that is past being listed calls.
fn an_unlisted_call() {
    let world = World::new(2);
    let caller = thread::spawn({
        let world = world.clone();
        move || {
            let mark = unlisted();
            world.limbo.join_unlisted(&mark);
            world.call(&mark);
        }
    });
    let own = unlisted();
    world.replace(&own);
    caller.join().unwrap();
    world.end(&own);
}

#[test]
fn unlisted_calls() {
    explore(true, 5, an_unlisted_call);
    explore(false, 5, an_unlisted_call);
}

/// A thread joins, calls, leaves, calls while it is on no list, and its mark's memory ends, all while a writer looks at marks.
fn a_thread_comes_and_goes() {
    let world = World::new(2);
    let caller = thread::spawn({
        let world = world.clone();
        move || {
            let mark = unlisted();
            // SAFETY: the thread leaves below.
            unsafe { world.limbo.join(&mark) };
            world.call(&mark);
            world.limbo.leave(&mark);
            world.call(&mark);
        }
    });
    let own = unlisted();
    world.replace(&own);
    caller.join().unwrap();
    world.end(&own);
}

#[test]
fn threads_that_come_and_go() {
    explore(true, 3, a_thread_comes_and_goes);
    explore(false, 3, a_thread_comes_and_goes);
}

/// A thread leaves inside of a call, as one does that ends the process from a kernel. Its mark's memory ends, and what
/// the call holds stays.
fn a_thread_leaves_inside_a_call() {
    let world = World::new(3);
    let caller = thread::spawn({
        let world = world.clone();
        move || {
            let number = {
                let mark = unlisted();
                // SAFETY: the thread leaves below.
                unsafe { world.limbo.join(&mark) };
                std::mem::forget(mark.begin());
                let number = world.look();
                world.limbo.leave(&mark);
                number
            };
            // SAFETY: the call never ends, so that its table stays; loom checks that.
            let content = world.tables[number].with(|table| unsafe { *table });
            assert_eq!(content as usize, number);
        }
    });
    let own = unlisted();
    world.replace(&own);
    caller.join().unwrap();
    world.replace(&own);
    assert!(world.limbo.has_endless_call());
    assert!(world.waiting() >= 1, "what was replaced after the call began waits for ever");
}

#[test]
fn threads_that_leave_inside_a_call() {
    explore(true, 3, a_thread_leaves_inside_a_call);
    explore(false, 3, a_thread_leaves_inside_a_call);
}

/// Whoever learns that limbo is past a replacement finds the table freed, also where another thread frees it. Whoever
/// finds a newer table finds the older one in limbo, or past it.
fn somebody_waits() {
    let world = World::new(2);
    let writer = thread::spawn({
        let world = world.clone();
        move || world.replace(&unlisted())
    });
    let own = unlisted();
    if world.published.read().addr() == 2 {
        let epoch = world.limbo.current_epoch();
        world.collect(&own);
        if world.limbo.is_past(epoch) {
            // SAFETY: nobody touches a table that limbo is past; loom checks that.
            let content = world.tables[1].with(|table| unsafe { *table });
            assert_eq!(content, FREED, "limbo is past a table that is not freed");
        }
    }
    writer.join().unwrap();
    world.end(&own);
    assert!(world.limbo.is_past(world.limbo.current_epoch()));
}

#[test]
fn those_who_wait() {
    explore(true, 5, somebody_waits);
    explore(false, 5, somebody_waits);
}

#[test]
fn a_common_flag_reaches_threads_that_join() {
    explore(true, 5, || {
        let world = World::new(1);
        let joining = thread::spawn({
            let world = world.clone();
            move || world.joined()
        });
        world.limbo.set_common_flag(flag::WATCHED, true);
        let mark = joining.join().unwrap();
        assert_eq!(mark.flags(), flag::WATCHED);
        world.limbo.leave(&mark);
    });
}
