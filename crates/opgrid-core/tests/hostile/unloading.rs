//! After `quiesce` the code of what was dropped before may be unloaded: none of it runs, on any thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use opgrid_core::{DispatchKey, Dispatcher, ErrorKind, Kernel, Provider, Returns, quiesce};

use crate::common::{define, implement};

/// How long a thread is given to do what it must not.
const WHILE: Duration = Duration::from_millis(100);

/// A gate at which one thread waits for another.
#[derive(Default)]
struct Gate(AtomicBool);

impl Gate {
    fn open(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    fn wait(&self) {
        while !self.0.load(Ordering::SeqCst) {
            thread::sleep(Duration::from_micros(200));
        }
    }
}

/// State of a kernel whose destructor says when it begins and takes its time.
struct Slow {
    begun: Arc<Gate>,
    ended: Arc<AtomicBool>,
}

impl Drop for Slow {
    fn drop(&mut self) {
        self.begun.open();
        thread::sleep(WHILE);
        self.ended.store(true, Ordering::SeqCst);
    }
}

#[test]
fn quiesce_waits_for_a_destructor_on_another_thread() {
    let dispatcher = Dispatcher::new();
    let (begun, ended) = (Arc::new(Gate::default()), Arc::new(AtomicBool::new(false)));
    let slow = Slow { begun: begun.clone(), ended: ended.clone() };
    let _defined = define(&dispatcher, "f(int x) -> int").unwrap();
    let kernel = Kernel::closure::<fn(i64) -> i64>(move |(x,)| {
        let _ = &slow;
        Ok(x)
    });
    let registration = implement(&dispatcher, "f", DispatchKey::Cpu, kernel).unwrap();
    let dropping = thread::spawn(move || drop(registration));
    begun.wait();
    quiesce().unwrap();
    assert!(ended.load(Ordering::SeqCst), "quiesce() returned while a destructor ran");
    dropping.join().unwrap();
}

#[test]
fn quiesce_waits_for_the_destructor_of_a_dispatcher_on_another_thread() {
    let dispatcher = Dispatcher::new();
    let (begun, ended) = (Arc::new(Gate::default()), Arc::new(AtomicBool::new(false)));
    let slow = Slow { begun: begun.clone(), ended: ended.clone() };
    dispatcher.on_override(|_| ());
    define(&dispatcher, "f(int x) -> int").unwrap().keep();
    let hidden = Kernel::boxed(move |_| {
        let _ = &slow;
        Ok(())
    });
    // No table holds a kernel that another one was put before.
    implement(&dispatcher, "f", DispatchKey::Cpu, hidden).unwrap().keep();
    implement(&dispatcher, "f", DispatchKey::Cpu, Kernel::boxed(|_| Ok(()))).unwrap().keep();
    let dropping = thread::spawn(move || drop(dispatcher));
    begun.wait();
    quiesce().unwrap();
    assert!(ended.load(Ordering::SeqCst), "quiesce() returned while a destructor ran");
    dropping.join().unwrap();
}

/// What the kernels of one library look at: whether its code was unloaded.
#[derive(Clone, Default)]
struct Code {
    unloaded: Arc<AtomicBool>,
    ran_after: Arc<AtomicU64>,
    freed_after: Arc<AtomicU64>,
}

impl Drop for Code {
    fn drop(&mut self) {
        self.freed_after.fetch_add(u64::from(self.unloaded.load(Ordering::SeqCst)), Ordering::SeqCst);
    }
}

impl Code {
    /// A kernel of this code. It takes a moment, so that callers are met inside of it.
    fn kernel(&self) -> Kernel {
        let code = self.clone();
        Kernel::boxed(move |call| {
            for _ in 0..50 {
                code.ran_after.fetch_add(u64::from(code.unloaded.load(Ordering::SeqCst)), Ordering::SeqCst);
            }
            call.push(1);
            Ok(())
        })
    }
}

/// Loads and unloads kernels while `call` calls them on three threads, which `of` gets ready.
fn unload_under<X: Send>(
    prepare: impl Fn(&Dispatcher) -> X + Sync,
    call: impl Fn(&X) -> bool + Sync,
    refresh: bool,
) {
    let dispatcher = Dispatcher::new();
    dispatcher.on_override(|_| ());
    let _defined = define(&dispatcher, "f(int x) -> int").unwrap();
    let _first = implement(&dispatcher, "f", DispatchKey::Cpu, Code::default().kernel()).unwrap();
    let (done, answered) = (AtomicBool::new(false), AtomicU64::new(0));
    let (ran_after, freed_after) = (Arc::default(), Arc::default());
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut ready = prepare(&dispatcher);
                while !done.load(Ordering::Relaxed) {
                    answered.fetch_add(u64::from(call(&ready)), Ordering::Relaxed);
                    if refresh {
                        ready = prepare(&dispatcher);
                    }
                }
            });
        }
        let end = Instant::now() + Duration::from_millis(1_500);
        while Instant::now() < end {
            let code = Code {
                unloaded: Arc::default(),
                ran_after: Arc::clone(&ran_after),
                freed_after: Arc::clone(&freed_after),
            };
            let registration = implement(&dispatcher, "f", DispatchKey::Cpu, code.kernel()).unwrap();
            let unloaded = code.unloaded.clone();
            drop(code);
            for _ in 0..200 {
                std::hint::spin_loop();
            }
            drop(registration);
            quiesce().unwrap();
            unloaded.store(true, Ordering::SeqCst);
        }
        done.store(true, Ordering::Relaxed);
    });
    assert!(answered.load(Ordering::Relaxed) > 0);
    assert_eq!(ran_after.load(Ordering::SeqCst), 0, "kernels ran after quiesce()");
    assert_eq!(freed_after.load(Ordering::SeqCst), 0, "destructors ran after quiesce()");
}

#[test]
fn calls_for_one_key_end_before_quiesce_returns() {
    let call = |operator: &opgrid_core::OperatorHandle| {
        operator.call_boxed_for_key(DispatchKey::Cpu, &[1.into()], &mut Returns::new()).is_ok()
    };
    unload_under(|dispatcher| dispatcher.find("test::f").unwrap(), call, false);
}

#[test]
fn calls_of_held_kernels_end_before_quiesce_returns() {
    let call = |held: &opgrid_core::HeldKernel| {
        let keys = DispatchKey::Cpu.key_set();
        (0..20).filter(|_| held.call_boxed(keys, &[1.into()], &mut Returns::new()).is_ok()).count() > 0
    };
    let hold =
        |dispatcher: &Dispatcher| dispatcher.find("test::f").unwrap().held_kernel(DispatchKey::Cpu).unwrap();
    unload_under(hold, call, true);
}

#[test]
fn a_held_kernel_keeps_nothing_of_a_registration_that_was_dropped() {
    let dispatcher = Dispatcher::new();
    dispatcher.on_override(|_| ());
    let _defined = define(&dispatcher, "f(int x) -> int").unwrap();
    let operator = dispatcher.find("test::f").unwrap();
    let hold = || operator.held_kernel(DispatchKey::Cpu).unwrap();
    let call = |held: &opgrid_core::HeldKernel| {
        let mut returns = Returns::new();
        held.call_boxed(DispatchKey::Cpu.key_set(), &[1.into()], &mut returns)?;
        returns.into_single()
    };
    let state = Arc::new(());
    let own = state.clone();
    let kernel = Kernel::closure::<fn(i64) -> i64>(move |_| Ok(Arc::strong_count(&own) as i64));
    let single = implement(&dispatcher, "f", DispatchKey::Cpu, kernel).unwrap();
    let held = hold();
    assert_eq!(call(&held).unwrap(), 2.into());
    drop(single);
    quiesce().unwrap();
    assert_eq!(Arc::strong_count(&state), 1, "a held kernel keeps the kernel's state");
    assert_eq!(call(&held).unwrap_err().kind(), ErrorKind::Stale);
    assert!(!held.is_valid());

    // A cell with several providers, and what follows them.
    let fallback = || {
        let mut library = dispatcher.implementations("_", DispatchKey::Cpu);
        library.fallback(Kernel::boxed(|call| {
            call.push(3);
            Ok(())
        }));
        library.finish().unwrap()
    };
    let provider = |name: &str, accepted: i64| {
        let own = state.clone();
        let provider =
            Provider::<fn(i64) -> i64>::layer(name, move |_, _| Ok(10 * Arc::strong_count(&own) as i64));
        let holds = match accepted {
            1 => |x| Ok(x == 1),
            _ => |_| Ok(false),
        };
        implement(&dispatcher, "f", DispatchKey::Cpu, provider.when("it is asked for", holds).into()).unwrap()
    };
    let below = fallback();
    let (one, two) = (provider("one", 1), provider("two", 2));
    let chain = hold();
    assert_eq!(call(&chain).unwrap(), 30.into());
    // Another kernel makes the chain another one; the held one stays as it was.
    let three = provider("three", 1);
    assert!(chain.is_valid());
    assert_eq!(call(&chain).unwrap(), 40.into());
    drop((two, three));
    assert!(!chain.is_valid());
    assert_eq!(call(&chain).unwrap_err().kind(), ErrorKind::Stale);
    drop(one);
    quiesce().unwrap();
    assert_eq!(Arc::strong_count(&state), 1);

    // What follows the providers belongs to the chain: without it the held chain is another one.
    let _one = provider("one", 2);
    let chain = hold();
    assert_eq!(call(&chain).unwrap(), 3.into());
    drop(below);
    assert_eq!(call(&chain).unwrap_err().kind(), ErrorKind::Stale);
}

#[test]
fn quiesce_waits_for_a_call_that_keeps_a_dispatcher() {
    let dispatcher = Dispatcher::new();
    let (inside, leave) = (Arc::new(Gate::default()), Arc::new(Gate::default()));
    let state = Arc::new(());
    define(&dispatcher, "f() -> ()").unwrap().keep();
    let own = (state.clone(), inside.clone(), leave.clone());
    let kernel = Kernel::boxed(move |_| {
        let (_state, inside, leave) = &own;
        inside.open();
        leave.wait();
        Ok(())
    });
    implement(&dispatcher, "f", DispatchKey::CompositeExplicitAutograd, kernel).unwrap().keep();
    let operator = dispatcher.find("test::f").unwrap();
    // What registering has retired is not what is waited for below.
    quiesce().unwrap();
    let calling = thread::spawn(move || operator.call_values(Vec::new()).map(drop));
    inside.wait();
    drop(dispatcher);
    let (sender, returned) = mpsc::channel();
    let waiting = thread::spawn({
        let state = state.clone();
        move || {
            quiesce().unwrap();
            // One handle is the test's, one this thread's.
            sender.send(Arc::strong_count(&state)).unwrap();
        }
    });
    assert!(returned.recv_timeout(WHILE).is_err(), "quiesce() returned while a kernel ran");
    leave.open();
    assert_eq!(returned.recv_timeout(Duration::from_secs(60)), Ok(2), "the kernel's state was freed first");
    waiting.join().unwrap();
    calling.join().unwrap().unwrap();
}

/// What `quiesce` answered in the destructor of a kernel.
struct Waits(Arc<std::sync::Mutex<Vec<ErrorKind>>>);

impl Drop for Waits {
    fn drop(&mut self) {
        self.0.lock().unwrap().extend(quiesce().err().map(|error| error.kind()));
    }
}

#[test]
fn a_destructor_that_would_wait_for_itself_gets_an_error() {
    let answers = Arc::default();
    let dispatcher = Dispatcher::new();
    let _defined = define(&dispatcher, "f() -> ()").unwrap();
    let waits = Waits(Arc::clone(&answers));
    let kernel = Kernel::boxed(move |_| {
        let _ = &waits;
        Ok(())
    });
    drop(implement(&dispatcher, "f", DispatchKey::Cpu, kernel).unwrap());
    quiesce().unwrap();
    assert_eq!(*answers.lock().unwrap(), [ErrorKind::Registration]);

    // A kernel that was never registered belongs to nobody but its thread.
    let waits = Waits(Arc::clone(&answers));
    drop(Kernel::boxed(move |_| {
        let _ = &waits;
        Ok(())
    }));
    assert_eq!(answers.lock().unwrap().len(), 1);
}

#[test]
fn many_threads_may_wait_while_others_register() {
    let dispatcher = Dispatcher::new();
    dispatcher.on_override(|_| ());
    let _defined = define(&dispatcher, "f() -> ()").unwrap();
    let freed = Arc::new(AtomicU32::new(0));
    struct Counted(Arc<AtomicU32>);
    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..100 {
                    let counted = Counted(freed.clone());
                    let kernel = Kernel::boxed(move |_| {
                        let _ = &counted;
                        Ok(())
                    });
                    drop(implement(&dispatcher, "f", DispatchKey::Cpu, kernel).unwrap());
                    quiesce().unwrap();
                }
            });
        }
    });
    assert_eq!(freed.load(Ordering::SeqCst), 400);
}
