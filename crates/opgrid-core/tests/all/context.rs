//! The thread's state as one value: what it carries to another thread, and that the thread's own comes back.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use opgrid_core::{
    ContextPart, DispatchKey, Dispatcher, ErrorKind, Kernel, Result, ThreadContext, including, is_included,
    operator, register_context_part, strict,
};

operator! {
    pub Answer = "context::answer(int x) -> int";
}

/// A dispatcher whose `context::answer` adds `more`, by two providers of which the other adds one more.
fn dispatcher(more: i64) -> Dispatcher {
    let dispatcher = Dispatcher::new();
    let mut library = dispatcher.library("context");
    let kernel = |more: i64| Kernel::closure::<fn(i64) -> i64>(move |(x,)| Ok(x + more));
    let composite = DispatchKey::Cpu;
    let _ = library
        .define(Answer)
        .add(kernel(more).named("first").at(composite))
        .add(kernel(more + 1).named("second").at(composite));
    library.finish().unwrap().keep();
    dispatcher
}

thread_local! {
    static MODE: Cell<u32> = const { Cell::new(0) };
}

struct Mode;

impl ContextPart for Mode {
    fn capture(&self) -> Option<Box<dyn Any + Send + Sync>> {
        (MODE.get() != 0).then(|| Box::new(MODE.get()) as _)
    }

    fn within(&self, state: &(dyn Any + Send + Sync), body: &mut dyn FnMut()) {
        let before = MODE.replace(*state.downcast_ref::<u32>().expect("a mode is a number"));
        body();
        MODE.set(before);
    }
}

fn on_another_thread<X: Send>(body: impl FnOnce() -> X + Send) -> X {
    thread::scope(|scope| scope.spawn(body).join().expect("it does not panic"))
}

#[test]
fn another_thread_goes_on_as_this_one_would() -> Result<()> {
    register_context_part(&Mode);
    register_context_part(&Mode);
    let own = dispatcher(10);
    let ask = || including(DispatchKey::Cpu, || Answer.call(1));
    let context = own.within(|| {
        including(DispatchKey::Tracer, || {
            MODE.set(7);
            own.prefer("context::answer", &["second"], || strict(ThreadContext::capture))
        })
    });
    let context = context?;
    MODE.set(0);
    on_another_thread(|| {
        assert!(ask().is_err(), "the global dispatcher has no such operator");
        for _ in 0..2 {
            let (answer, mode, is_traced) =
                context.within(|| (ask(), MODE.get(), is_included(DispatchKey::Tracer)));
            assert_eq!((answer.unwrap(), mode, is_traced), (12, 7, true));
            assert!(!is_included(DispatchKey::Tracer) && MODE.get() == 0 && ask().is_err());
        }
        // The body's own scopes lie within, and its panics leave nothing behind.
        let outcome = catch_unwind(AssertUnwindSafe(|| context.within(|| panic!("in the body"))));
        assert!(outcome.is_err());
        assert!(!is_included(DispatchKey::Tracer) && ask().is_err());
    });
    Ok(())
}

#[test]
fn a_scope_of_a_dispatcher_nests_and_ends() -> Result<()> {
    let (one, ten) = (dispatcher(1), dispatcher(10));
    let ask = || including(DispatchKey::Cpu, || Answer.call(0));
    let both = one.within(|| Ok::<_, opgrid_core::Error>([ask()?, ten.within(ask)?, ask()?]))?;
    assert_eq!(both, [1, 10, 1]);
    assert_eq!(Dispatcher::global().within(|| ask().unwrap_err().kind()), ErrorKind::Unknown);
    assert_eq!(one.within(|| Dispatcher::global().within(ask)).unwrap_err().kind(), ErrorKind::Unknown);
    // The dispatcher lives as long as the scope.
    let result = {
        let gone = dispatcher(5);
        let context = gone.within(ThreadContext::capture);
        drop(gone);
        context.within(ask)
    };
    assert_eq!(result?, 5);
    Ok(())
}

/// A part that runs the body as often as the thread says, or panics.
struct Odd;

thread_local! {
    static TURNS: Cell<Option<u32>> = const { Cell::new(None) };
}

impl ContextPart for Odd {
    fn capture(&self) -> Option<Box<dyn Any + Send + Sync>> {
        TURNS.get().map(|turns| Box::new(turns) as _)
    }

    fn within(&self, state: &(dyn Any + Send + Sync), body: &mut dyn FnMut()) {
        let turns = *state.downcast_ref::<u32>().expect("turns are a number");
        assert!(turns < 9, "a part that panics");
        (0..turns).for_each(|_| body());
    }
}

#[test]
fn a_part_that_does_not_keep_its_word_harms_nobody_else() {
    register_context_part(&Odd);
    let turn = |turns| {
        let context = including(DispatchKey::Tracer, || {
            TURNS.set(Some(turns));
            ThreadContext::capture()
        });
        TURNS.set(None);
        let mut ran = 0;
        let outcome = catch_unwind(AssertUnwindSafe(|| context.within(|| ran += 1)));
        assert!(!is_included(DispatchKey::Tracer));
        (outcome.is_ok(), ran)
    };
    assert_eq!(turn(1), (true, 1));
    assert_eq!(turn(2), (true, 1), "a body runs once");
    assert_eq!(turn(0), (false, 0));
    assert_eq!(turn(9), (false, 0));
}
